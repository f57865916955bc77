/* SPDX-License-Identifier: MIT */
/* Calls of commands: checked, routed to the store, the engine, the owner's socket or this process, answered once each. */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "model/user_ref.h"
#include "session/audit_call.h"
#include "session/web_client.h"
#include "store/db_file.h"

#include <errno.h>
#include <unistd.h>

#define SLOW_MAX 3       /* slow commands that read at once: a thread of the pool is left for what is short */
#define PEEK_BUSY_MS 100 /* how long a process that only peeks waits for a lock of the database */

/* ---- the calls that are not answered ---- */

static struct call **
bucket_of_call(struct core *core, uint64_t number)
{
	return &core->calls[number % CALL_BUCKETS];
}

static void
unlink_call(struct call *call)
{
	if (!call->link)
		return;
	*call->link = call->next_by_number;
	if (call->next_by_number)
		call->next_by_number->link = call->link;
	call->link = NULL;
}

bool
call_is_open(const struct core *core, uint64_t number)
{
	const struct call *call = core->calls[number % CALL_BUCKETS];
	while (call && call->waiter.call != number)
		call = call->next_by_number;
	return call;
}

static void
free_call(struct call *call)
{
	unlink_call(call);
	json_decref_all(call->actor, call->args, call->result, call->trial, call->before, call->ended);
	free_all((char *)call->resolved.name, call->name, call);
}

#ifdef KETTLE_FAILPOINTS
struct expected {
	const struct command *command;
	kettle_answer answer;
	void *arg;
};

static void
answered(void *arg, const struct kettle_error *err, json_t *result)
{
	AUTO_FREE struct expected *expected = arg;
	struct kettle_error why = {0};
	if (err->code == 0 && command_check_answer(expected->command, result, &why) < 0) {
		log_write(KETTLE_LOG_ERROR, "core", "an answer that does not have the shape of its command: %s", why.message);
		abort();
	}
	if (expected->answer)
		expected->answer(expected->arg, err, result);
}

/* In the build for tests, an answer of another form than its command's ends the process. */
static void
expect_form(struct call *call)
{
	struct expected *expected = xnew(struct expected, call->command, call->answer, call->arg);
	call->answer = answered;
	call->arg = expected;
}
#else
#define expect_form(call) ((void)0)
#endif

/* ---- the log of a server: a line for each command that changes something ---- */

/* Whether a server logs the command. Internal commands are no acts of users, and engine commands for anybody only read. */
static bool
is_logged(const struct core *core, const struct command *command)
{
	if (!core->setup.is_server || command->internal)
		return false;
	return command->kind == COMMAND_WRITE || (command->kind == COMMAND_ENGINE && command->right == RIGHT_ADMIN);
}

/* The value as a log line shows it: an identity as PROVIDER:SUBJECT, a list of one as its element. New reference. */
static json_t *
named_value(const json_t *value)
{
	if (json_array_size(value) == 1)
		return json_incref(json_array_get(value, 0));
	if (json_is_object(value))
		return json_sprintf("%s:%s", json_text_or_empty(value, "provider"), json_text_or_empty(value, "subject"));
	return json_incref((json_t *)value);
}

static bool
is_default(const struct argument *argument, const json_t *value)
{
	const char *text = json_string_value(value);
	return text && argument->default_value && strcmp(text, argument->default_value) == 0;
}

/* Adds the arguments that name something. Texts that a user wrote, such as reasons, do not go into the log. */
static void
add_named(json_t *fields, const struct command *command, const json_t *args)
{
	for (const struct argument *argument = command->arguments; argument && argument->name; argument++) {
		const json_t *value = json_object_get(args, argument->name);
		switch (argument->type) {
		case ARGUMENT_INT:
		case ARGUMENT_BOOL:
		case ARGUMENT_CHOICE:
		case ARGUMENT_BOARD:
		case ARGUMENT_DEVICE:
		case ARGUMENT_USER:
		case ARGUMENT_ID:
		case ARGUMENT_WHEN:
			if (value && !json_is_false(value) && !is_default(argument, value))
				json_object_set_new(fields, argument->name, named_value(value));
			break;
		case ARGUMENT_STRING:
		case ARGUMENT_FILE:
		case ARGUMENT_PROBLEMS:
		case ARGUMENT_TASK:
		case ARGUMENT_PATH:
			break;
		}
	}
}

static void
log_call(const struct call *call, const struct kettle_error *err, const json_t *result)
{
	if (!call->began_ns || !call->core->setup.is_server || !log_event_due())
		return;
	static const char *const told[] = {"id", "leaderboard", "name"}; /* members of an answer that name what was made */
	uint64_t ns = clock_ns(loop_clock(call->core->setup.io)) - call->began_ns;
	json_t *fields = json_object();
	json_object_set_new(fields, "actor", named_value(call->actor));
	if (call->resolved.user)
		json_object_set_new(fields, "actor_user", json_integer(call->resolved.user));
	add_named(fields, call->command, call->args);
	for (size_t i = 0; !err && i < ARRAY_SIZE(told); i++)
		if (!json_object_get(fields, told[i]) && json_object_get(result, told[i]))
			json_object_set(fields, told[i], json_object_get(result, told[i]));
	json_object_set_new(fields, "ms", json_real((double)(ns / 1000) / 1000));
	if (err)
		json_object_set_new(fields, "error", json_string(kettle_error_name(err->code)));
	log_event("core", call->command->name, fields);
}

void
call_log_ended(struct core *core, const struct command *command, const json_t *message)
{
	const json_t *ended = json_object_get(message, "ended");
	const struct kettle_error err = {.code = (int)member_int(ended, "code")};
	const struct call call = {.core = core,
		.command = command,
		.actor = json_object_get(message, "actor"),
		.args = json_object_get(message, "args"),
		.began_ns = clock_ns(loop_clock(core->setup.io)) - (uint64_t)member_int(ended, "ns")};
	if (command->right == RIGHT_ADMIN)
		log_call(&call, err.code < 0 ? &err : NULL, NULL);
}

void
call_answer(struct call *call, const struct kettle_error *err, json_t *result)
{
	struct kettle_error none = {0};
	if (call->ended) {
		err = call->err.code < 0 ? &call->err : NULL;
		result = call->result;
	}
	log_call(call, err, result);
	if (call->answer)
		call->answer(call->arg, err ? err : &none, err ? NULL : result);
	free_call(call);
}

static void
call_fail(struct call *call, int code, const char *format, ...)
{
	struct kettle_error err = {0};
	char message[sizeof(err.message)];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	/* A quotation may be cut within a character, or be no text at all: kettle_fail makes UTF-8 of it. */
	(void)kettle_fail(&err, code, "%s", message);
	call_answer(call, &err, NULL);
}

/* On the store's thread: resolves the actor, then runs the command. */
static int
run_on_store(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	struct actor actor = {0};
	struct command command = *call->command;
	/* A plan makes no user; the write that follows refuses one who is banned. */
	if (call->plans)
		command.kind = COMMAND_READ;
	int rc = command_actor(&command, db, call->actor, &actor, err);
	if (rc < 0)
		return rc;
	call->resolved.user = actor.user;
	AUTO_AUDIT struct audit_entry entry = {0};
	/* Once, with the first part, since a command in parts may be interrupted afterwards. */
	bool audited = !call->plans && !call->before && audit_wants(call->command, &actor, call->args);
	if (audited)
		rc = audit_call_begin(db, call->command, call->args, &entry, err);
	if (rc < 0)
		return rc;
	const struct command_call request = {.db = db,
		.env = &call->env,
		.actor = &actor,
		.args = call->args,
		.plans = call->plans,
		.trial = call->trial,
		.before = call->before};
	rc = call->command->run(&request, &call->result, err);
	if (rc == 0 && audited)
		rc = audit_call_end(db, call->command, &actor, call->result, &entry, err);
	return rc;
}

/* Logs on a server when the database begins to refuse changes, and when it takes them again. */
static void
note_write(struct core *core, const struct kettle_error *err)
{
	bool fails = err && err->code == KETTLE_EIO;
	if (!core->setup.is_server || fails == core->unwritable || (err && !fails))
		return;
	core->unwritable = fails;
	if (fails)
		log_write(KETTLE_LOG_ERROR, "core", "submissions and other changes are refused: %s", err->message);
	else
		log_write(KETTLE_LOG_INFO, "core", "the database takes changes again");
}

static void ran_on_store(void *arg, const struct kettle_error *err);

/* Begins the next part of a command in parts; false: there is none, or the call was cancelled. */
static bool
begin_next_part(struct call *call)
{
	struct core *core = call->core;
	if (!call->command->in_parts || !member_true(call->result, "more") || core->closing || !core->engine ||
		!call->answer)
		return false;
	json_decref(call->before);
	call->before = STEAL(call->result);
	store_write(core->store, run_on_store, ran_on_store, call);
	return true;
}

static void
ran_on_store(void *arg, const struct kettle_error *err)
{
	struct call *call = arg;
	if (call->command->kind == COMMAND_WRITE)
		note_write(call->core, err);
	if (!err && begin_next_part(call))
		return;
	if (!err && call->command->add && call->core->engine)
		call->command->add(call->core, call->result);
	call_answer(call, err, call->result);
}

/* ---- what a write runs before it ---- */

static void
on_trial(void *arg, const struct kettle_error *err, json_t *result)
{
	struct call *call = arg;
	if (err->code < 0) {
		call_answer(call, err, NULL);
	} else if (!call->core->engine) {
		call_fail(call, KETTLE_ECANCELED, "The engine is stopping.");
	} else {
		call->trial = json_incref(result);
		store_write(call->core->store, run_on_store, ran_on_store, call);
	}
}

static void
on_planned(void *arg, const struct kettle_error *err)
{
	struct call *call = arg;
	AUTO_JSON json_t *plan = STEAL(call->result);
	call->plans = false;
	if (err)
		call_answer(call, err, NULL);
	else if (!call->core->engine)
		call_fail(call, KETTLE_ECANCELED, "The engine is stopping.");
	else
		call->command->trial(call->core, &call->waiter, plan, on_trial, call);
}

/* In the pool: reads on a connection that no other call has meanwhile. */
static void
run_reader(struct call *call, struct db *db)
{
	struct kettle_error *err = &call->err;
	db->now_ms = clock_utc_ms(loop_clock(call->core->setup.io));
	if (call->core->setup.read_only)
		sqlite3_busy_timeout(db->handle, PEEK_BUSY_MS);
	int rc = db_exec(db, err, "BEGIN", NULL);
	if (rc == 0)
		rc = run_on_store(db, call, err);
	if (rc < 0 && err->code == 0)
		(void)kettle_fail(err, rc, "The database operation failed.");
	if (rc == 0)
		err->code = 0;
	if (!sqlite3_get_autocommit(db->handle))
		(void)db_exec(db, NULL, "ROLLBACK", NULL);
}

static void
run_slow(void *arg)
{
	struct call *call = arg;
	struct db *db = NULL;
	if (readers_take(&call->core->readers, &db, &call->err) < 0)
		return;
	run_reader(call, db);
	readers_give(&call->core->readers, db);
}

/*
 * In the pool: reads although this process could become neither owner nor client, as call->err says. A disk that is
 * full or read-only can still be read; otherwise the error stays.
 */
static void
run_fixed(void *arg)
{
	struct call *call = arg;
	const char *database = call->core->setup.database;
	struct kettle_error why = {0};
	struct db db = {0};
	AUTO_FD int lock = -1;
	AUTO_FREE char *lock_path = xasprintf("%s.lock", database);
	int rc = db_lock_share(database, &lock, &why);
	/* An owner that takes no calls may have a newer answer, so the error stays. */
	if (rc == KETTLE_ECONFLICT && access(lock_path, W_OK) == 0)
		return;
	rc = db_file_open_fixed(database, rc == 0, &db.handle, &why);
	if (rc == 0 || rc == KETTLE_EVERSION)
		call->err = why;
	if (rc == 0)
		run_reader(call, &db);
	db_close(&db);
}

static int
audit_on_store(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	AUTO_AUDIT struct audit_entry entry = {.error = call->err.code < 0 ? kettle_error_name(call->err.code) : NULL};
	int rc = audit_call_begin(db, call->command, call->args, &entry, err);
	return rc < 0 ? rc : audit_call_end(db, call->command, &call->resolved, call->result, &entry, err);
}

/* The engine's work stays done where the audit log cannot take the entry. */
static void
audited_on_store(void *arg, const struct kettle_error *err)
{
	struct call *call = arg;
	if (err)
		log_write(KETTLE_LOG_WARNING, "core", "the log of who did what lacks a call of `%s` by %s: %s",
			call->command->name, call->resolved.name, err->message);
	call_answer(call, call->err.code < 0 ? &call->err : NULL, call->result);
}

/* An engine command that is in the log is answered once it is there; one that failed may have changed something, too. */
static void
command_answered(void *arg, const struct kettle_error *err, json_t *result)
{
	struct call *call = arg;
	const struct core *core = call->core;
	if (call->command->kind != COMMAND_ENGINE || core->closing || !core->store ||
		!audit_wants(call->command, &call->resolved, call->args)) {
		call_answer(call, err->code < 0 ? err : NULL, result);
		return;
	}
	call->err = *err;
	call->result = err->code < 0 ? NULL : json_deep_copy(result); /* the store's thread reads it */
	store_write(core->store, audit_on_store, audited_on_store, call);
}

static void
ran_slow(void *arg)
{
	struct call *call = arg;
	if (call->err.code < 0 || !call->command->finish)
		call_answer(call, call->err.code < 0 ? &call->err : NULL, call->result);
	else
		call->command->finish(call->core, call->result, command_answered, call);
}

static void ran_in_turn(void *arg);

/* Starts queued slow commands up to SLOW_MAX; cancelled ones are answered without running. */
static void
begin_slow(struct core *core)
{
	while (core->slow.waiting && core->slow.running < SLOW_MAX) {
		struct call *call = core->slow.waiting;
		core->slow.waiting = call->next;
		if (!call->answer)
			call_fail(call, KETTLE_ECANCELED, "The call was cancelled.");
		else if (core_work(core, run_slow, ran_in_turn, call, &call->err) < 0)
			ran_slow(call);
		else
			core->slow.running++;
	}
}

static void
ran_in_turn(void *arg)
{
	struct core *core = ((struct call *)arg)->core;
	core->slow.running--;
	ran_slow(arg);
	begin_slow(core);
}

static void
queue_slow(struct call *call)
{
	LIST_APPEND(call->core->slow.waiting, call);
	begin_slow(call->core);
}

/* On the store's thread: checks only the right to an engine command. */
static int
resolve_on_store(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	struct actor actor = {0};
	int rc = command_actor(call->command, db, call->actor, &actor, err);
	if (rc == 0)
		call->resolved =
			(struct actor){.user = actor.user, .name = xstrdup(actor.name), .role = actor.role, .waiter = call->waiter};
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
	call->command->engine(call->core, &call->resolved, call->args, command_answered, call);
}

/* An administrator's local command, such as a backup, is answered once the server of the database has logged its end. */
static void
local_answered(void *arg, const struct kettle_error *err, json_t *result)
{
	struct call *call = arg;
	if (call->command->right != RIGHT_ADMIN) {
		command_answered(call, err, result);
		return;
	}
	uint64_t ns = clock_ns(loop_clock(call->core->setup.io)) - call->began_ns;
	call->err = *err;
	call->result = json_incref(result);
	call->ended = json_pack("{s:i, s:I}", "code", err->code, "ns", (json_int_t)ns);
	call_route(call);
}

static void
run_local(struct call *call)
{
	call->began_ns = clock_ns(loop_clock(call->core->setup.io));
	struct actor actor = {.name = json_text_or_empty(call->actor, "name"), .role = RIGHT_ADMIN, .waiter = call->waiter};
	call->command->engine(call->core, &actor, call->args, local_answered, call);
}

static void
run_at_owner(struct call *call)
{
	/* This process ends with its own jobs, so it takes no job that its caller does not wait for. */
	if (!call->core->setup.is_server && member_true(call->args, "no_wait")) {
		call_fail(call, KETTLE_EUNAVAIL,
			"No `kettle serve` is running on the database %s to judge the submission: start it, or submit without "
			"--no-wait.",
			call->core->setup.database);
		return;
	}
	if (is_logged(call->core, call->command))
		call->began_ns = clock_ns(loop_clock(call->core->setup.io));
	call->env = call->core->env; /* a copy: a reload changes the core's while the store's threads work */
	switch (call->command->kind) {
	case COMMAND_READ:
		if (call->command->slow)
			queue_slow(call);
		else
			store_query(call->core->store, run_on_store, ran_on_store, call);
		break;
	case COMMAND_WRITE:
		call->plans = call->command->trial != NULL;
		if (call->plans)
			store_query(call->core->store, run_on_store, on_planned, call);
		else
			store_write(call->core->store, run_on_store, ran_on_store, call);
		break;
	case COMMAND_ENGINE:
		/* An engine that has not loaded its jobs and units yet answers after that load. */
		(engine_loaded(call->core->engine) ? store_query : store_read)(
			call->core->store, resolve_on_store, run_in_engine, call);
		break;
	case COMMAND_LOCAL:
		run_local(call);
		break;
	}
}

/* Whether the call reads, and attaching may have failed because the disk cannot be written. */
static bool
may_read_fixed(const struct call *call, const struct kettle_error *err)
{
	const struct core *core = call->core;
	return call->command->kind == COMMAND_READ && !core->setup.is_server && !core->closing &&
		   (err->code == KETTLE_EIO || err->code == KETTLE_EACCES);
}

static void
attached(void *arg, const struct kettle_error *err)
{
	struct call *call = arg;
	if (!err) {
		call_route(call);
		return;
	}
	if (!may_read_fixed(call, err)) {
		call_answer(call, err, NULL);
		return;
	}
	call->err = *err;
	call->env = call->core->env;
	if (core_work(call->core, run_fixed, ran_slow, call, NULL) < 0)
		ran_slow(call);
}

/* Reads beside the owner, if there is one, without a lock and without starting jobs. */
static void
peek(struct call *call)
{
	if (call->command->kind != COMMAND_READ) {
		call_fail(call, KETTLE_EUNAVAIL, "Another process owns the database: only reading is possible.");
		return;
	}
	call->env = call->core->env;
	if (core_work(call->core, run_slow, ran_slow, call, &call->err) < 0)
		ran_slow(call);
}

/* Whether the command creates no database and the named one does not exist, probably by a typing error. */
static bool
is_missing(const struct call *call)
{
	const struct core_setup *setup = &call->core->setup;
	bool makes_none = call->command->kind == COMMAND_READ || (call->command->kind == COMMAND_ENGINE && setup->named);
	return makes_none && setup->chosen && !setup->is_server && access(setup->database, F_OK) != 0 &&
		   (errno == ENOENT || errno == ENOTDIR);
}

/* Whether a server owns the database, or this process becomes one. */
static bool
is_served(const struct core *core)
{
	return core->setup.is_server || db_lock_holder(core->setup.database).is_server;
}

/* Whether the end of a local command is sent to the server of the database: once, so that the answer is not late. */
static bool
is_sent(const struct call *call)
{
	const struct core *core = call->core;
	return core->role != CORE_OWNER && !core->web && !core->setup.read_only && call->tries == 0 && is_served(core);
}

void
call_route(struct call *call)
{
	struct core *core = call->core;
	if (core->closing || !call->link) {
		call_fail(call, KETTLE_ECANCELED, "The engine is stopping.");
	} else if (call->ended && !is_sent(call)) {
		call_answer(call, NULL, NULL);
	} else if (call->command->kind == COMMAND_LOCAL && !call->ended) {
		run_local(call);
	} else if (core->web) {
		web_client_call(core->web, call);
	} else if (core->setup.read_only) {
		peek(call);
	} else if (core->role == CORE_DETACHED && call->command->served && !is_served(core)) {
		call_fail(call, KETTLE_EUNAVAIL,
			"No `kettle serve` is running on the database %s: start it, or name another database.",
			core->setup.database);
	} else if (core->role == CORE_DETACHED && is_missing(call)) {
		call_fail(call, KETTLE_ENOENT,
			"There is no database %s, and %s does not create one: correct the path, or write to it first.",
			core->setup.database, call->command->kind == COMMAND_READ ? "a command that only reads" : "this command");
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

static int
check_outside(const struct call *call, struct kettle_error *err)
{
	if (call->outside && call->command->internal)
		return kettle_fail(err, KETTLE_EACCES, "`%s` is for the plugins of the engine.", call->command->name);
	if (call->outside && call->command->kind == COMMAND_LOCAL)
		return kettle_fail(err, KETTLE_EACCES,
			"`%s` works on the caller's own machine and cannot be called from another one.", call->command->name);
	return 0;
}

/* On the loop: checks the command and its arguments, then routes the call. */
static void
call_begin(void *arg)
{
	struct call *call = arg;
	struct kettle_error err = {0};
	json_t *checked = NULL;
	struct call **first = bucket_of_call(call->core, call->waiter.call);
	call->next_by_number = *first;
	if (*first)
		(*first)->link = &call->next_by_number;
	call->link = first;
	*first = call;
	call->command = command_find(call->core->setup.commands, call->name);
	if (!call->command) {
		const char *names[128] = {NULL};
		size_t count = 0;
		for (const struct command *c = call->core->setup.commands; c->name && count < ARRAY_SIZE(names) - 1; c++)
			names[count++] = c->name;
		const char *near = nearest(call->name, names);
		call_fail(call, KETTLE_EINVAL, "There is no command `%.64s`%s%s%s", call->name, NEAREST_END(near));
		return;
	}
	expect_form(call);
	if (check_outside(call, &err) < 0 || command_check(call->command, call->args, &checked, &err) < 0) {
		call_answer(call, &err, NULL);
		return;
	}
	json_decref(call->args);
	call->args = checked;
	call_route(call);
}

int
call_take(struct core *core, const struct call_setup *setup_take, uint64_t *ret_number)
{
	struct call *call = xnew(struct call, .core = core, .actor = setup_take->actor,
		.args = setup_take->args ? setup_take->args : json_object(), .name = xstrdup(setup_take->command),
		.answer = setup_take->done, .arg = setup_take->arg, .owner = setup_take->owner, .outside = setup_take->outside,
		.waiter = {.caller = setup_take->caller, .call = __atomic_add_fetch(&core->next_id, 1, __ATOMIC_RELAXED)});
	uint64_t number = call->waiter.call;
	int rc = loop_post(core->setup.io, call_begin, call);
	if (rc < 0)
		free_call(call);
	else if (ret_number)
		*ret_number = number;
	return rc;
}

int
core_call(
	struct core *core, const json_t *actor, const char *command, const json_t *args, kettle_answer done, void *arg)
{
	/* Copies, since the caller's thread keeps its references. */
	const struct call_setup setup = {
		.actor = json_deep_copy(actor), .args = json_deep_copy(args), .command = command, .done = done, .arg = arg};
	return call_take(core, &setup, NULL);
}

int
core_request(struct core *core, const struct kettle_request *request, const void *owner, uint64_t *ret_number,
	struct kettle_error *err)
{
	int rc = request_check_actor(request->actor, request->outside, err);
	if (rc < 0)
		return rc;
	if (!request->command)
		return kettle_fail(err, KETTLE_EINVAL, "The request names no command.");
	const struct call_setup setup = {.actor = json_deep_copy(request->actor),
		.args = json_deep_copy(request->args),
		.command = request->command,
		.caller = request->caller,
		.owner = owner,
		.outside = request->outside,
		.done = request->done,
		.arg = request->arg};
	rc = call_take(core, &setup, ret_number);
	return rc < 0 ? kettle_fail(err, rc, "The engine is stopping.") : 0;
}

/* ---- cancelling ---- */

/* Answers a call. Its command goes on until it sees that no caller waits, or to its end. */
static void
cancel_call(struct call *call)
{
	const struct kettle_error err = {.code = KETTLE_ECANCELED, .message = "The call was cancelled."};
	const struct core *core = call->core;
	kettle_answer answer = STEAL(call->answer);
	unlink_call(call);
	if (core->role == CORE_CLIENT && core->client && call->tries > 0)
		client_cancel(core->client, call);
	else if (core->web)
		web_client_cancel(core->web, call);
	if (answer)
		answer(call->arg, &err, NULL);
}

struct cancel {
	struct core *core;
	const void *owner;
	uint64_t number;
};

static void
cancel_posted(void *arg)
{
	AUTO_FREE struct cancel *cancel = arg;
	struct call *call = *bucket_of_call(cancel->core, cancel->number);
	while (call && call->waiter.call != cancel->number)
		call = call->next_by_number;
	if (call && call->owner == cancel->owner)
		cancel_call(call);
}

void
core_cancel(struct core *core, const void *owner, uint64_t number)
{
	struct cancel *cancel = xnew(struct cancel, core, owner, number);
	/* Posted behind the begin of the call. A core that takes no posts answers all calls itself. */
	if (loop_post(core->setup.io, cancel_posted, cancel) < 0)
		free(cancel);
}

void
calls_cancel_of(struct core *core, uint64_t caller)
{
	for (size_t i = 0; i < CALL_BUCKETS; i++) {
		struct call *call = core->calls[i];
		while (call) {
			bool found = call->waiter.caller == caller;
			struct call *next = call->next_by_number;
			if (found) {
				cancel_call(call);
				next = core->calls[i]; /* the answer may have changed the chain */
			}
			call = next;
		}
	}
}
