/* SPDX-License-Identifier: MIT */
/* Figures of a server for monitoring, and whether it can do its work. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "model/events.h"
#include "model/settings.h"
#include "session/core.h"

#include <sys/stat.h>

/* ---- metrics ---- */

struct metrics_request {
	struct core *core;
	json_t *events;
	int64_t bytes, log_bytes; /* of the database */
	kettle_answer answer;
	void *arg;
};

static int64_t
file_bytes(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 ? status.st_size : 0;
}

static int
read_metrics(struct db *db, void *arg, struct kettle_error *err)
{
	struct metrics_request *request = arg;
	const char *database = request->core->setup.database;
	AUTO_FREE char *log = xasprintf("%s-wal", database);
	request->bytes = file_bytes(database);
	request->log_bytes = file_bytes(log);
	return events_span(db, &request->events, err);
}

static void
on_metrics_read(void *arg, const struct kettle_error *err)
{
	struct metrics_request *request = arg;
	struct core *core = request->core;
	struct kettle_error why = {0};
	AUTO_JSON json_t *result = NULL;
	if (err)
		why = *err;
	else if (!core->engine || !core->store)
		(void)kettle_fail(&why, KETTLE_ECANCELED, "The engine is stopping.");
	if (why.code == 0) {
		result = engine_metrics(core->engine);
		(void)json_object_set(result, "events", request->events);
		(void)json_object_set_new(result, "store",
			json_pack("{s:o, s:I, s:I}", "commits", store_commits(core->store), "bytes", (json_int_t)request->bytes,
				"log_bytes", (json_int_t)request->log_bytes));
	}
	request->answer(request->arg, &why, result);
	json_decref(request->events);
	free(request);
}

void
cmd_engine_metrics(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct metrics_request *request = xmalloc(sizeof(*request));
	(void)actor;
	(void)args;
	*request = (struct metrics_request){.core = core, .answer = answer, .arg = arg};
	store_query(core->store, read_metrics, on_metrics_read, request);
}

/* ---- readiness ---- */

#define READY_PROVEN_NS UINT64_C(5000000000) /* for which a commit proves that the disk takes changes */

struct readiness {
	struct core *core;
	json_t *checks;
	bool ready;
	kettle_answer answer;
	void *arg;
};

/* err->code 0: it is in order. */
static void
add_check(struct readiness *readiness, const char *name, const struct kettle_error *err)
{
	bool ok = err->code == 0;
	readiness->ready = readiness->ready && ok;
	(void)json_array_append_new(
		readiness->checks, json_pack("{s:s, s:b, s:s*, s:s*}", "name", name, "ok", ok, "code",
							   ok ? NULL : kettle_error_name(err->code), "error", ok ? NULL : err->message));
}

static void
answer_readiness(struct readiness *readiness)
{
	const struct kettle_error none = {0};
	AUTO_JSON json_t *result = json_pack("{s:b, s:o}", "ready", readiness->ready, "checks", readiness->checks);
	readiness->answer(readiness->arg, &none, result);
	free(readiness);
}

/* Only a write that reaches the disk proves that one can; without a recent one, this is it. */
static int
ready_op(struct db *db, void *arg, struct kettle_error *err)
{
	AUTO_JSON json_t *now = json_integer(db->now_ms);
	(void)arg;
	return setting_put(db, "ready_at", now, err);
}

static void
on_ready_written(void *arg, const struct kettle_error *err)
{
	struct readiness *readiness = arg;
	const json_t *full = readiness->core->storage.data;
	struct kettle_error why = {0};
	/* So small a write may succeed where others fail. */
	if (err)
		why = *err;
	else if (full)
		(void)kettle_fail(&why, KETTLE_EIO, "%s", json_text_or_empty(full, "error"));
	add_check(readiness, "store", &why);
	why = (struct kettle_error){0};
	if (readiness->core->engine)
		(void)engine_ready(readiness->core->engine, &why);
	else
		(void)kettle_fail(&why, KETTLE_ECANCELED, "The engine is stopping.");
	add_check(readiness, "units", &why);
	answer_readiness(readiness);
}

void
cmd_engine_ready(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct readiness *readiness = xmalloc(sizeof(*readiness));
	struct kettle_error why = {0};
	(void)actor;
	(void)args;
	*readiness = (struct readiness){core, json_array(), true, answer, arg};
	if (core->role != CORE_OWNER)
		(void)kettle_fail(&why, KETTLE_EUNAVAIL, "Another process owns the database at the moment.");
	else if (core->ending.closed)
		(void)kettle_fail(&why, KETTLE_ECANCELED, "The engine is stopping.");
	add_check(readiness, "owner", &why);
	uint64_t wrote_ns = why.code == 0 ? store_wrote_ns(core->store) : 0;
	if (wrote_ns && clock_ns(loop_clock(core->setup.io)) - wrote_ns < READY_PROVEN_NS) {
		on_ready_written(readiness, NULL);
		return;
	}
	if (why.code == 0) {
		store_write(core->store, ready_op, on_ready_written, readiness);
		return;
	}
	add_check(readiness, "store", &why);
	add_check(readiness, "units", &why);
	answer_readiness(readiness);
}
