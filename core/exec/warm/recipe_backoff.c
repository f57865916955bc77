/* SPDX-License-Identifier: MIT */
/* Recipes that have failed, which interpreters are started without for a while, and the sentences about them. */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include "base/base.h"
#include "base/list.h"
#include "base/text.h"

#define REFUSED_MAX 64  /* recipes that are remembered */
#define TOLD_MAX 64     /* sentences that are remembered */
#define LONGER_TIMES 10 /* times that the delay until the next try doubles: up to three and a half days */

/* A failed recipe. It fails for all boards with the same interpreter and settings. */
struct recipe_backoff {
	struct recipe_backoff *next;
	char *key;
	uint64_t until_ns;
	unsigned times;
};

static char *
backoff_key(const char *path, const json_t *environment, const char *recipe)
{
	AUTO_JSON json_t *key = json_pack("[s, O, s]", path, environment, recipe);
	return json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS);
}

static struct recipe_backoff *
find_backoff(const struct warm *warm, const char *key)
{
	struct recipe_backoff *backoff = warm->refused;
	while (backoff && strcmp(backoff->key, key) != 0)
		backoff = backoff->next;
	return backoff;
}

static void
free_backoff(struct warm *warm, struct recipe_backoff *backoff)
{
	LIST_REMOVE(warm->refused, backoff);
	free_all(backoff->key, backoff);
}

/* Adds an entry, in place of the oldest if there are many. Takes the key. */
static struct recipe_backoff *
add_backoff(struct warm *warm, char *key_take)
{
	unsigned count = 0;
	for (const struct recipe_backoff *one = warm->refused; one; one = one->next)
		count++;
	if (count == REFUSED_MAX)
		free_backoff(warm, warm->refused);
	struct recipe_backoff *backoff = xcalloc(1, sizeof(*backoff));
	backoff->key = key_take;
	LIST_APPEND(warm->refused, backoff);
	return backoff;
}

void
warm_refuse(struct warm_process *process, const char *recipe)
{
	struct warm *warm = process->pool;
	AUTO_FREE char *key = backoff_key(process->order.path, process->order.environment, recipe);
	struct recipe_backoff *backoff = find_backoff(warm, key);
	if (!backoff)
		backoff = add_backoff(warm, STEAL(key));
	backoff->until_ns = process->failed_ns + ((WARM_RETRY_MS * UINT64_C(1000000)) << backoff->times);
	backoff->times += backoff->times < LONGER_TIMES;
}

void
warm_accepted_recipes(const struct warm *warm, const struct warm_key *parts, uint64_t now, struct strings *accepted)
{
	for (size_t i = 0; parts->recipes && i < parts->recipes->count; i++) {
		const char *recipe = parts->recipes->list[i];
		AUTO_FREE char *key = backoff_key(parts->tool->path, parts->environment, recipe);
		const struct recipe_backoff *backoff = find_backoff(warm, key);
		if (!backoff || backoff->until_ns <= now)
			strings_add(accepted, recipe);
	}
}

void
warm_tell_once(struct warm *warm, const char *about, const char *text)
{
	AUTO_BUF struct buf clean = {0};
	AUTO_FREE char *said = xasprintf("%s\n%s", about, text);
	if (strings_have(&warm->told, said))
		return;
	if (warm->told.count == TOLD_MAX)
		strings_free(&warm->told);
	strings_take(&warm->told, STEAL(said));
	(void)utf8_sanitize(text, strlen(text), &clean);
	if (warm->setup.out)
		json_writer_json(warm->setup.out, json_pack("{s:s, s:s}", "event", "error", "error", clean.data));
}

json_t *
warm_told(const struct warm *warm)
{
	json_t *list = json_array();
	for (size_t i = 0; warm && i < warm->told.count; i++)
		json_array_append_new(list, json_writer_text(strrchr(warm->told.list[i], '\n') + 1));
	return list;
}

void
warm_free_backoffs(struct warm *warm)
{
	while (warm->refused)
		free_backoff(warm, warm->refused);
	strings_free(&warm->told);
}
