/* SPDX-License-Identifier: MIT */
/* Commands run as the core runs them, on a database of their own. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "lib/languages.h"
#include "lib/unit_test.h"
#include "model/jobs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
commands_open(struct commands_fixture *c)
{
	memset(c, 0, sizeof(*c));
	fixture_open(&c->f);
	c->env = (struct command_env){
		.languages = languages_new(),
		.devices = json_pack("{s:{s:[]}, s:{s:[]}}", "CPU", "units", "H100", "units"),
		.submission_bytes = 1000000,
	};
}

void
commands_close(struct commands_fixture *c)
{
	json_decref(c->result);
	fixture_close(&c->f);
	languages_free((struct languages *)c->env.languages);
	json_decref((json_t *)c->env.devices);
}

struct call {
	const struct command *command;
	const struct command_env *env;
	json_t *actor, *args, *result, *before;
};

static int
run_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	struct actor actor = {0};
	int code = command_actor(call->command, db, call->actor, &actor, err);
	const struct command_call request = {
		.db = db, .env = call->env, .actor = &actor, .args = call->args, .before = call->before};
	return code < 0 ? code : call->command->run(&request, &call->result, err);
}

static json_t *
actor_of(const char *who)
{
	char name[300];
	(void)snprintf(name, sizeof(name), "%s", who);
	char *role = strchr(name, ':');
	if (role)
		*role++ = '\0';
	return json_pack("{s:s, s:s, s:s, s:s*}", "provider", "cli", "subject", name, "name", name, "role", role);
}

int
commands_run(struct commands_fixture *c, const char *who, const char *command, json_t *args_take)
{
	AUTO_JSON json_t *args = args_take, *actor = actor_of(who), *checked = NULL;
	json_decref(STEAL(c->result));
	memset(&c->err, 0, sizeof(c->err));
	assert_non_null(args);
	struct call call = {.command = command_find(commands, command), .env = &c->env, .actor = actor};
	assert_non_null(call.command);
	int code = command_check(call.command, args, &checked, &c->err);
	if (code < 0)
		return code;
	call.args = checked;
	bool reads = call.command->kind == COMMAND_READ;
	for (c->parts = 0; c->parts == 0 || (code == 0 && call.command->in_parts && member_true(call.result, "more"));
		 c->parts++) {
		json_decref(call.before);
		call.before = STEAL(call.result);
		code = reads ? fixture_query(&c->f, run_op, &call, &c->err) : fixture_write(&c->f, run_op, &call, &c->err);
	}
	json_decref(call.before);
#ifdef KETTLE_FAILPOINTS
	/* As core/session/call.c does; what the engine adds is not there yet. */
	struct kettle_error err = {0};
	if (code >= 0 && !call.command->add && !call.command->finish &&
		command_check_answer(call.command, call.result, &err) < 0)
		fail_msg("%s", err.message);
#endif
	if (code < 0)
		json_decref(call.result);
	else
		c->result = call.result;
	return code;
}

const json_t *
commands_must(struct commands_fixture *c, const char *who, const char *command, json_t *args_take)
{
	if (commands_run(c, who, command, args_take) < 0)
		fail_msg("%s: %s", command, c->err.message);
	return c->result;
}

void
commands_refused(struct commands_fixture *c, const char *who, const char *command, json_t *args_take, int code)
{
	int got = commands_run(c, who, command, args_take);
	if (got == 0)
		fail_msg("%s was not refused", command);
	assert_int_equal(got, code);
	assert_sentence(c->err.message);
	size_t len = strlen(c->err.message);
	assert_true(len > 0 && strchr(".?", c->err.message[len - 1]));
}

json_t *
commands_task(const char *more_yml)
{
	AUTO_JSON json_t *yml = json_sprintf(
		"lang: cpp\ndescription: adds\nfiles:\n  - {name: eval.cpp, source: eval.cpp}\n"
		"  - {name: submission.cpp, source: \"@SUBMISSION@\"}\nconfig:\n  sources: [eval.cpp, submission.cpp]\n"
		"tests:\n  - {size: 1}\nbenchmarks:\n  - {size: 2}\n%s",
		more_yml ? more_yml : "");
	return json_pack("{s:s, s:O, s:{s:{s:s}}}", "name", "tiny", "yml", yml, "files", "eval.cpp", "text", "int main;\n");
}

json_t *
commands_file(const char *name, const char *code)
{
	AUTO_FREE char *base64 = base64_encode(code, strlen(code));
	return json_pack("{s:s, s:s}", "name", name, "base64", base64);
}

void
commands_board(struct commands_fixture *c, const char *name, json_t *devices_take)
{
	if (!devices_take)
		devices_take = json_pack("[s]", "CPU");
	commands_must(c, "owner", "leaderboard.create",
		json_pack("{s:s, s:o, s:o}", "name", name, "task", commands_task(NULL), "device", devices_take));
}

int64_t
commands_submit(struct commands_fixture *c, const char *who, const char *board, const char *mode)
{
	const json_t *result = commands_must(c, who, "submit",
		json_pack("{s:o, s:s, s:s, s:s}", "file", commands_file("a.cpp", "int a;\n"), "leaderboard", board, "mode",
			mode, "device", "CPU"));
	return commands_number(result, "id");
}

static struct verdict_entry
read_entry(const json_t *json)
{
	bool passed = member_true(json, "passed");
	double score = member_number(json, "score");
	struct verdict_entry entry = {
		.step = {.title = json_text_or_empty(json, "title"),
			.run = json_object_get(json, "mode"),
			.mode = json_text_or_empty(json, "mode"),
			.secret = member_true(json, "secret"),
			.index = -1},
		.outcome = {.start_ns = {true, member_int(json, "start_ns")}, .wall_ns = {true, member_int(json, "wall_ns")}},
		.judged = {.state = passed ? VERDICT_PASSED : VERDICT_FAILED, .score.value = isfinite(score) ? score : 0},
		.out = json_object_get(json, "stdout") ? json_incref(json_object_get(json, "stdout")) : json_string(""),
		.err = json_string(""),
		.result = json_incref(json_object_get(json, "result")),
	};
	(void)snprintf(
		entry.judged.why.message, sizeof(entry.judged.why.message), "%s", json_text_or_empty(json, "message"));
	return entry;
}

int
commands_jobs_finish(struct db *db, int64_t job, int64_t attempt, const json_t *json, struct kettle_error *err)
{
	const json_t *runs = json_object_get(json, "runs"), *builds = json_object_get(json, "compilation"), *one;
	AUTO_VERDICT struct verdict *verdict = verdict_error(NULL, NULL, json_text_or_empty(json, "error"));
	double numbers[] = {member_number(json, "score"), member_number(json, "low"), member_number(json, "high")};
	size_t i;
	for (int state = VERDICT_PASSED; state <= VERDICT_ERROR; state++)
		if (member_is(json, "state", verdict_state_name(state)))
			verdict->state = state;
	verdict->score = (struct score){isfinite(numbers[0]) ? numbers[0] : 0, isfinite(numbers[1]) ? numbers[1] : 0,
		isfinite(numbers[2]) ? numbers[2] : 0};
	verdict->blame = member_is(json, "blame", "task") ? "task" : NULL;
	verdict->claimed = json_is_true(json_object_get(json, "claimed"));
	verdict->system = json_incref(json_object_get(json, "system"));
	verdict->timing = json_incref(json_object_get(json, "timing"));
	verdict->artifacts = json_incref(json_object_get(json, "artifacts"));
	verdict->entries = xcalloc(json_array_size(runs) + json_array_size(builds), sizeof(*verdict->entries));
	json_array_foreach(runs, i, one)
		verdict->entries[verdict->count++] = read_entry(one);
	json_array_foreach(builds, i, one)
		verdict->entries[verdict->count++] = read_entry(one);
	return jobs_finish(db, job, attempt, verdict, err);
}

struct finish {
	int64_t job;
	json_t *verdict;
};

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct finish *finish = arg;
	int64_t attempt = 0;
	int code = jobs_start(db, finish->job, &(struct job_unit){"CPU.0", "CPU", "local"}, &attempt, err);
	return code < 0 ? code : commands_jobs_finish(db, finish->job, attempt, finish->verdict, err);
}

void
commands_finish(struct commands_fixture *c, int64_t job, json_t *verdict_take)
{
	AUTO_JSON json_t *verdict = verdict_take;
	struct finish finish = {job, verdict};
	struct kettle_error err = {0};
	assert_non_null(verdict);
	if (fixture_write(&c->f, finish_op, &finish, &err) < 0)
		fail_msg("%s", err.message);
}

const json_t *
commands_at(const json_t *value, const char *path)
{
	while (value && *path) {
		char key[100];
		size_t len = strcspn(path, ".");
		(void)snprintf(key, sizeof(key), "%.*s", (int)len, path);
		value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10)) : json_object_get(value, key);
		path += len + (path[len] == '.');
	}
	return value;
}

int64_t
commands_number(const json_t *value, const char *path)
{
	const json_t *found = commands_at(value, path);
	if (!json_is_integer(found))
		fail_msg("no number at %s", path);
	return json_integer_value(found);
}

const char *
commands_text(const json_t *value, const char *path)
{
	const json_t *found = commands_at(value, path);
	if (!json_is_string(found))
		fail_msg("no text at %s", path);
	return json_string_value(found);
}
