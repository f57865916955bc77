/* SPDX-License-Identifier: MIT */
/* Calls of commands: checked, routed to the store, the engine, the owner's socket or this process, and answered
 * once. */
#include <config.h>

#include "session/core_internal.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "store/db_file.h"
#include "store/db_lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEEK_BUSY_MS 100 /* what a process that only peeks waits for a lock of the database */

static void
free_call(struct call *call)
{
	json_decref(call->actor);
	json_decref(call->args);
	json_decref(call->result);
	free((char *)call->resolved.name);
	free(call->name);
	free(call);
}

void
call_answer(struct call *call, const struct kettle_error *err, json_t *result)
{
	struct kettle_error none = {0};
	if (call->answer)
		call->answer(call->arg, err ? err : &none, err ? NULL : result);
	free_call(call);
}

void
call_fail(struct call *call, int code, const char *format, ...)
{
	struct kettle_error err = {0};
	char message[sizeof(err.message)];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	/* What is quoted may be cut within a character, or no text at all: this makes UTF-8 of it. */
	(void)kettle_fail(&err, code, "%s", message);
	call_answer(call, &err, NULL);
}

static void
unknown(struct call *call)
{
	const char *names[128] = {NULL};
	size_t count = 0;
	for (const struct command *c = call->core->setup.commands; c->name && count < ARRAY_SIZE(names) - 1; c++)
		names[count++] = c->name;
	const char *near = nearest(call->name, names);
	if (near)
		call_fail(call, KETTLE_EINVAL, "There is no command `%.64s`; did you mean `%s`?", call->name, near);
	else
		call_fail(call, KETTLE_EINVAL, "There is no command `%.64s`.", call->name);
}

/* Store's thread: the actor, then the command. */
static int
run_on_store(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	struct actor actor = {0};
	int rc = command_actor(call->command, db, call->actor, &actor, err);
	if (rc < 0)
		return rc;
	const struct command_call request = {.db = db, .env = &call->env, .actor = &actor, .args = call->args};
	return call->command->run(&request, &call->result, err);
}

static void
ran_on_store(void *arg, const struct kettle_error *err)
{
	struct call *call = arg;
	if (!err && call->command->add && call->core->engine)
		call->command->add(call->core, call->result);
	call_answer(call, err, call->result);
}

/* In the pool: a slow read, on a connection of its own. */
static void
run_slow(void *arg)
{
	struct call *call = arg;
	struct db db = {.now_ms = time_now_ms()};
	struct kettle_error *err = &call->err;
	int rc = db_file_open_reader(call->core->setup.database, &db.handle, err);
	if (rc == 0 && call->core->setup.peeks)
		sqlite3_busy_timeout(db.handle, PEEK_BUSY_MS);
	if (rc == 0)
		rc = db_exec(&db, err, "BEGIN", NULL);
	if (rc == 0)
		rc = run_on_store(&db, call, err);
	if (rc < 0 && err->code == 0)
		(void)kettle_fail(err, rc, "The database could not do it.");
	if (rc == 0)
		err->code = 0;
	if (db.handle && !sqlite3_get_autocommit(db.handle))
		(void)db_exec(&db, NULL, "ROLLBACK", NULL);
	db_close(&db);
}

static void
ran_slow(void *arg)
{
	struct call *call = arg;
	call_answer(call, call->err.code < 0 ? &call->err : NULL, call->result);
}

/* Store's thread: only the right to an engine command. */
static int
resolve_on_store(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	struct actor actor = {0};
	int rc = command_actor(call->command, db, call->actor, &actor, err);
	if (rc == 0)
		call->resolved = (struct actor){.user = actor.user,
			.name = xstrdup(actor.name),
			.role = actor.role,
			.caller = (uint64_t)member_int(call->actor, "caller")};
	return rc;
}

static void
run_in_engine(void *arg, const struct kettle_error *err)
{
	struct call *call = arg;
	if (err) {
		call_answer(call, err, NULL);
		return;
	}
	if (!call->core->engine) {
		call_fail(call, KETTLE_ECANCELED, "The engine is stopping.");
		return;
	}
	call->command->engine(call->core, &call->resolved, call->args, call->answer, call->arg);
	free_call(call);
}

static void
run_local(struct call *call)
{
	struct actor actor = {.name = member_text(call->actor, "name"), .role = RIGHT_ADMIN};
	call->command->engine(call->core, &actor, call->args, call->answer, call->arg);
	free_call(call);
}

static void
run_at_owner(struct call *call)
{
	/* This process ends with its own jobs, so it takes none that its caller does not wait for. */
	if (!call->core->setup.stays && member_true(call->args, "no_wait")) {
		call_fail(call, KETTLE_EUNAVAIL,
			"No engine stays on the database %s to run the submission; start `kettle serve`, or submit without "
			"--no-wait.",
			call->core->setup.database);
		return;
	}
	call->env = call->core->env; /* a reload changes the core's while the store's threads work */
	switch (call->command->kind) {
	case COMMAND_READ:
		if (!call->command->slow)
			store_query(call->core->store, run_on_store, ran_on_store, call);
		else if (core_work(call->core, run_slow, ran_slow, call, &call->err) < 0)
			ran_slow(call);
		break;
	case COMMAND_WRITE:
		store_write(call->core->store, run_on_store, ran_on_store, call);
		break;
	case COMMAND_ENGINE:
		/* Behind the load of the jobs and units, for an engine that knows neither yet. */
		(engine_loaded(call->core->engine) ? store_query : store_read)(
			call->core->store, resolve_on_store, run_in_engine, call);
		break;
	case COMMAND_LOCAL:
		run_local(call);
		break;
	}
}

static void
attached(void *arg, const struct kettle_error *err)
{
	if (err)
		call_answer(arg, err, NULL);
	else
		call_route(arg);
}

/* Reads beside the owner, if there is one: what only peeks at a database takes no lock and starts no jobs. */
static void
peek(struct call *call)
{
	if (call->command->kind != COMMAND_READ) {
		call_fail(call, KETTLE_EUNAVAIL, "Only reading is possible beside the owner of the database.");
		return;
	}
	call->env = call->core->env;
	if (core_work(call->core, run_slow, ran_slow, call, &call->err) < 0)
		ran_slow(call);
}

/* Whether the command only reads, from a database that was named and is not there: a slip of the keyboard. */
static bool
is_missing(const struct call *call)
{
	const struct core_setup *setup = &call->core->setup;
	return call->command->kind == COMMAND_READ && setup->chosen && !setup->stays &&
		   access(setup->database, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Whether a server runs there, or this process is going to be one. */
static bool
is_served(const struct core *core)
{
	return core->setup.stays || db_lock_holder(core->setup.database).stays;
}

void
call_route(struct call *call)
{
	struct core *core = call->core;
	if (core->closing) {
		call_fail(call, KETTLE_ECANCELED, "The engine is stopping.");
	} else if (call->command->kind == COMMAND_LOCAL) {
		run_local(call);
	} else if (core->setup.peeks) {
		peek(call);
	} else if (core->role == CORE_DETACHED && call->command->served && !is_served(core)) {
		call_fail(call, KETTLE_EUNAVAIL, "No `kettle serve` is running on the database %s.", core->setup.database);
	} else if (core->role == CORE_DETACHED && is_missing(call)) {
		call_fail(call, KETTLE_ENOENT,
			"There is no database %s, and reading makes none: correct the path, or write to it first.",
			core->setup.database);
	} else {
		switch (core->role) {
		case CORE_DETACHED:
		case CORE_ATTACHING:
			core->when_attached(core, attached, call);
			break;
		case CORE_OWNER:
			run_at_owner(call);
			break;
		case CORE_CLIENT:
			client_call(core->client, call);
			break;
		}
	}
}

/* On the loop: checks what can be checked anywhere, then routes. */
static void
call_begin(void *arg)
{
	struct call *call = arg;
	struct kettle_error err = {0};
	json_t *checked = NULL;
	call->command = command_find(call->core->setup.commands, call->name);
	if (!call->command) {
		unknown(call);
		return;
	}
	if (command_check(call->command, call->args, &checked, &err) < 0) {
		call_answer(call, &err, NULL);
		return;
	}
	json_decref(call->args);
	call->args = checked;
	call_route(call);
}

int
core_call(
	struct core *core, const json_t *actor, const char *command, const json_t *args, kettle_answer done, void *arg)
{
	struct call *call = xmalloc(sizeof(*call));
	/* Copies: the caller's thread keeps its own. */
	*call = (struct call){
		.core = core,
		.actor = json_deep_copy(actor),
		.args = args ? json_deep_copy(args) : json_object(),
		.name = xstrdup(command),
		.answer = done,
		.arg = arg,
	};
	int rc = loop_post(core->setup.io, call_begin, call);
	if (rc < 0)
		free_call(call);
	return rc;
}
