/* SPDX-License-Identifier: MIT */
/* A cache of values for a while, in memory alone. */
#include <config.h>

#include "common/recent.h"

#include <pthread.h>

#include "base/base.h"

struct recent {
	const struct kettle_host *host;
	size_t max;
	pthread_mutex_t lock;
	/* Under the lock. */
	json_t *entries; /* key → {"value", "until_ms"} */
	uint64_t generation;
};

struct recent *
recent_new(const struct kettle_host *host, size_t max)
{
	struct recent *recent =
		xnew(struct recent, .host = host, .max = max, .lock = PTHREAD_MUTEX_INITIALIZER, .entries = json_object());
	return recent;
}

void
recent_free(struct recent *recent)
{
	if (!recent)
		return;
	json_decref(recent->entries);
	(void)pthread_mutex_destroy(&recent->lock);
	free(recent);
}

uint64_t
recent_generation(struct recent *recent)
{
	(void)pthread_mutex_lock(&recent->lock);
	uint64_t generation = recent->generation;
	(void)pthread_mutex_unlock(&recent->lock);
	return generation;
}

void
recent_put(struct recent *recent, const char *key, json_t *value_take, int64_t ms, uint64_t generation)
{
	json_int_t until_ms = (json_int_t)recent->host->monotonic_ms(recent->host) + ms;
	AUTO_JSON json_t *entry = json_pack("{s:o, s:I}", "value", value_take, "until_ms", until_ms);
	(void)pthread_mutex_lock(&recent->lock);
	/* The first one is the oldest. */
	if (json_object_size(recent->entries) >= recent->max)
		(void)json_object_del(recent->entries, json_object_iter_key(json_object_iter(recent->entries)));
	if (generation == recent->generation)
		json_object_set(recent->entries, key, entry);
	(void)pthread_mutex_unlock(&recent->lock);
}

static json_t *
find(struct recent *recent, const char *key, bool takes)
{
	json_int_t now_ms = (json_int_t)recent->host->monotonic_ms(recent->host);
	(void)pthread_mutex_lock(&recent->lock);
	const json_t *entry = json_object_get(recent->entries, key);
	bool is_over = entry && member_int(entry, "until_ms") <= now_ms;
	json_t *value = is_over ? NULL : json_incref(json_object_get(entry, "value"));
	if (takes || is_over)
		(void)json_object_del(recent->entries, key);
	(void)pthread_mutex_unlock(&recent->lock);
	return value;
}

json_t *
recent_get(struct recent *recent, const char *key)
{
	return find(recent, key, false);
}

json_t *
recent_take(struct recent *recent, const char *key)
{
	return find(recent, key, true);
}

size_t
recent_count(struct recent *recent, const char *member, const char *text)
{
	json_int_t now_ms = (json_int_t)recent->host->monotonic_ms(recent->host);
	size_t count = 0;
	(void)pthread_mutex_lock(&recent->lock);
	json_object_each(recent->entries, key, entry)
		count += member_int(entry, "until_ms") > now_ms && member_is(json_object_get(entry, "value"), member, text);
	(void)pthread_mutex_unlock(&recent->lock);
	return count;
}

void
recent_forget(struct recent *recent)
{
	(void)pthread_mutex_lock(&recent->lock);
	(void)json_object_clear(recent->entries);
	recent->generation++;
	(void)pthread_mutex_unlock(&recent->lock);
}
