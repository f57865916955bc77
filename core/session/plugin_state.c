/* SPDX-License-Identifier: MIT */
/* What plugins store (host.h: state_get, state_put, state_list, credential), in the process that owns the database. */
#include <config.h>

#include "session/plugin_host.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/sanitize_text.h"
#include "base/xalloc.h"
#include "loop/watch.h"
#include "model/settings.h"

#include <stdlib.h>
#include <string.h>

/* One access under way. */
struct state_access {
	struct core_host *host;
	store_op op;
	bool write;
	char *key;   /* or the prefix */
	char *after; /* of state_list */
	unsigned limit;
	json_t *value; /* to store, or what was read */
	kettle_answer done;
	void *arg;
};

static int
get_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct state_access *access = arg;
	return settings_state_get(db, access->host->name, access->key, &access->value, err);
}

static int
put_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct state_access *access = arg;
	return settings_state_put(db, access->host->name, access->key, access->value, err);
}

static int
list_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct state_access *access = arg;
	return settings_state_list(db, access->host->name, access->key, access->after, access->limit, &access->value, err);
}

static void
free_access(struct state_access *access)
{
	json_decref(access->value);
	free(access->key);
	free(access->after);
	free(access);
}

static void
state_done(void *arg, const struct kettle_error *err)
{
	struct state_access *access = arg;
	struct kettle_error none = {0};
	const struct watch watch = watch_begin();
	if (access->done) {
		access->done(access->arg, err ? err : &none, err ? NULL : access->value);
		watch_end(&watch, access->host->name, "the answer of its state");
	} else if (err)
		log_write(
			KETTLE_LOG_WARNING, access->host->name, "cannot access the state `%s`: %s", access->key, err->message);
	free_access(access);
}

static void
state_attached(void *arg, const struct kettle_error *err)
{
	struct state_access *access = arg;
	struct core *core = access->host->core;
	struct kettle_error not_here = {.code = KETTLE_EUNAVAIL,
		.message = "Only the process that runs the engine of a database keeps the state of plugins."};
	if (err || core->role != CORE_OWNER || !core->store)
		state_done(access, err ? err : &not_here);
	else
		(access->write ? store_write : store_read)(core->store, access->op, state_done, access);
}

static void
state_begin(void *arg)
{
	struct state_access *access = arg;
	core_attach(access->host->core, state_attached, access);
}

/* Whether the caller is on the loop thread of the owner: then it joins the store's queue at once, in the order of the calls. */
static bool
is_at_store(const struct core *core)
{
	uv_thread_t self = uv_thread_self();
	return core && core->role == CORE_OWNER && core->store && uv_thread_equal(&self, &core->thread);
}

/* Takes what the request points to. */
static int
begin(struct state_access request, const char *key)
{
	struct state_access *access = xmalloc(sizeof(*access));
	int rc = 0;
	*access = request;
	access->key = xstrdup(key);
	if (strlen(key) > STATE_KEY_MAX)
		rc = KETTLE_ETOOBIG;
	else if (is_at_store(access->host->core))
		state_attached(access, NULL);
	else
		rc = loop_post(access->host->io, state_begin, access);
	if (rc < 0)
		free_access(access);
	return rc;
}

int
host_state_get(const struct kettle_host *table, const char *key, kettle_answer done, void *arg)
{
	return begin((struct state_access){.host = host_of(table), .op = get_op, .done = done, .arg = arg}, key);
}

int
host_state_put(const struct kettle_host *table, const char *key, const json_t *value, kettle_answer done, void *arg)
{
	if (value && json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) > STATE_VALUE_MAX)
		return KETTLE_ETOOBIG;
	struct state_access access = {.host = host_of(table), .op = put_op, .write = true, .done = done, .arg = arg};
	access.value = value ? json_deep_copy(value) : NULL;
	return begin(access, key);
}

int
host_state_list(const struct kettle_host *table, const char *prefix, const char *after, unsigned limit,
	kettle_answer done, void *arg)
{
	if (after && strlen(after) > STATE_KEY_MAX)
		return KETTLE_ETOOBIG;
	struct state_access access = {.host = host_of(table), .op = list_op, .limit = limit, .done = done, .arg = arg};
	access.after = xstrdup(after ? after : "");
	return begin(access, prefix ? prefix : "");
}

/* ---- a credential that is refused ---- */

#define CREDENTIAL_ERROR_MAX 500 /* characters */

struct credential_note {
	struct core_host *host;
	json_t *data;
};

static int
credential_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct credential_note *note = arg;
	return db_event(db, "runner.credential_failed", 'a', 0, 0, 0, note->data, err);
}

/* What could not be stored is tried again when the runner says it again. */
static void
credential_noted(void *arg, const struct kettle_error *err)
{
	struct credential_note *note = arg;
	if (err)
		note->host->told = false;
	json_decref(note->data);
	free(note);
}

void
host_credential(const struct kettle_host *table, const char *error)
{
	struct core_host *host = host_of(table);
	struct core *core = host->core;
	AUTO_FREE char *line = error ? sanitize_line(error, CREDENTIAL_ERROR_MAX) : NULL;
	if (!error && host->refused)
		log_write(KETTLE_LOG_INFO, host->name, "the remote side accepts the credential again");
	if (line && !host->refused)
		log_write(KETTLE_LOG_ERROR, host->name, "the remote side refuses the credential: %s", line);
	host->refused = error != NULL;
	host->told = host->told && error;
	/* A process that does not own the database has no events; the owner's runner has its own say. */
	if (!error || host->told || !core || !core->store || core->closing)
		return;
	host->told = true;
	struct credential_note *note = xmalloc(sizeof(*note));
	*note = (struct credential_note){host, json_pack("{s:s, s:s}", "runner", host->name, "error", line ? line : "")};
	store_write(core->store, credential_op, credential_noted, note);
}
