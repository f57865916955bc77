/* SPDX-License-Identifier: MIT */
/* Who may see what of a leaderboard: invites, the code of others; and how much anybody may submit. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "model/events.h"

#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100")))

static void
close_board(const char *name)
{
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", name, "visibility", "closed"));
}

static int64_t
count(const char *from)
{
	char sql[200];
	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", from);
	return fixture_int(&c.f, sql);
}

static int64_t
ranked(const char *who, double score)
{
	int64_t id = commands_submit(&c, who, "arena", "ranked");
	commands_finish(&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"),
		json_pack("{s:s, s:f, s:[{s:s, s:b, s:b, s:s}]}", "state", "passed", "score", score, "runs", "mode", "test",
			"secret", 0, "passed", 1, "message", "PRIVATE"));
	return id;
}

/* ---- invites ---- */

static void
invite(char code[INVITE_CODE_LENGTH + 1])
{
	commands_must(&c, "owner", "invite.create", json_pack("{s:[s]}", "name", "arena"));
	(void)snprintf(code, INVITE_CODE_LENGTH + 1, "%s", commands_text(c.result, "codes.0"));
}

static json_t *
code_of(const char *code)
{
	return json_pack("{s:s}", "code", code);
}

/* Who has submitted to a board that becomes closed still reads what is their own, and nothing else of it. */
static void
test_own(void **state)
{
	(void)state;
	ranked("alice", 1.0);
	ranked("bob", 2.0);
	close_board("arena");
	json_t *own = json_pack("{s:s, s:b}", "name", "arena", "mine", 1);
	const json_t *result = commands_must(&c, "alice", "leaderboard.show", json_incref(own));
	assert_int_equal(json_array_size(commands_at(result, "rankings.0.entries")), 1);
	assert_string_equal(commands_text(result, "rankings.0.entries.0.user_name"), "alice");
	result = commands_must(&c, "alice", "submission.list", json_pack("{s:s}", "leaderboard", "arena"));
	assert_int_equal(json_array_size(result), 1);
	commands_refused(&c, "eve", "leaderboard.show", own, KETTLE_ENOENT);
	commands_refused(&c, "eve", "submission.list", json_pack("{s:s}", "leaderboard", "arena"), KETTLE_ENOENT);
	static const char *const others[] = {"leaderboard.show", "leaderboard.task", "leaderboard.trend"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		commands_refused(&c, "alice", others[i], json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
}

static void
test_join(void **state)
{
	(void)state;
	char code[INVITE_CODE_LENGTH + 1];
	close_board("arena");
	invite(code);
	assert_int_equal(strlen(code), INVITE_CODE_LENGTH);
	commands_must(&c, "alice", "leaderboard.join", json_pack("{s:s, s:b}", "code", code, "dry_run", 1));
	assert_string_equal(commands_text(c.result, "leaderboards.0"), "arena");
	assert_false(member_true(c.result, "joined"));
	commands_refused(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
	commands_must(&c, "alice", "leaderboard.join", code_of(code));
	assert_true(member_true(c.result, "joined"));
	assert_string_equal(commands_text(c.result, "status"), "ok");
	assert_string_equal(commands_text(c.result, "leaderboards.0"), "arena");
	assert_string_equal(commands_text(fixture_event(&c.f, "leaderboard.joined"), "data.name"), "arena");
	commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	commands_submit(&c, "alice", "arena", "test");
	assert_int_equal(json_array_size(commands_must(&c, "alice", "leaderboard.list", json_object())), 1);
	/* A second time is allowed and makes no event; another user is too late. */
	char shouted[INVITE_CODE_LENGTH + 3];
	(void)snprintf(shouted, sizeof(shouted), " %s\n", code);
	commands_must(&c, "alice", "leaderboard.join", code_of(shouted));
	assert_int_equal(fixture_events(&c.f, "leaderboard.joined"), 1);
	commands_must(&c, "alice", "leaderboard.join", json_pack("{s:s, s:b}", "code", code, "dry_run", 1));
	assert_true(member_true(c.result, "joined"));
	commands_refused(&c, "bob", "leaderboard.join", json_pack("{s:s, s:b}", "code", code, "dry_run", 1), KETTLE_EINVAL);
	commands_refused(&c, "bob", "leaderboard.join", code_of(code), KETTLE_EINVAL);
	commands_refused(&c, "bob", "leaderboard.join", code_of("abc"), KETTLE_EINVAL);
	commands_refused(&c, "bob", "leaderboard.join", code_of("abcdefghijkmnpqrstuvwxyz23456789"), KETTLE_EINVAL);
	commands_refused(&c, "bob", "leaderboard.show", json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
}

static void
test_invites(void **state)
{
	(void)state;
	commands_board(&c, "other", NULL);
	const json_t *result = commands_must(
		&c, "owner", "invite.create", json_pack("{s:[s, s, s], s:i}", "name", "arena", "other", "ARENA", "count", 50));
	assert_int_equal(json_array_size(commands_at(result, "codes")), 50);
	assert_int_equal(json_array_size(commands_at(result, "leaderboards")), 2);
	assert_int_equal(count("invite_boards"), 100);
	/* What opens a board is in no event. */
	AUTO_FREE char *events = json_dumps(c.f.events, 0);
	assert_null(strstr(events, commands_text(result, "codes.7")));
	assert_int_equal(commands_number(fixture_event(&c.f, "invite.created"), "data.count"), 50);
	assert_string_equal(commands_text(fixture_event(&c.f, "invite.created"), "scope"), "a");
	char code[INVITE_CODE_LENGTH + 1];
	(void)snprintf(code, sizeof(code), "%s", commands_text(result, "codes.7"));
	commands_must(&c, "alice", "leaderboard.join", code_of(code));
	assert_int_equal(json_array_size(commands_at(c.result, "leaderboards")), 2);
	result = commands_must(&c, "owner", "invite.list", json_pack("{s:s, s:i}", "name", "other", "limit", 40));
	assert_int_equal(commands_number(result, "count"), 50);
	assert_int_equal(json_array_size(commands_at(result, "invites")), 40);
	result = commands_must(&c, "owner", "invite.list", json_pack("{s:s}", "name", "other"));
	size_t i, claimed = 0;
	json_t *row;
	json_array_foreach(json_object_get(result, "invites"), i, row) {
		bool by_alice = json_is_string(json_object_get(row, "user_name"));
		claimed += by_alice;
		if (by_alice)
			assert_true(
				json_is_string(json_object_get(row, "claimed_at")) && json_is_string(json_object_get(row, "user_id")));
	}
	assert_int_equal(claimed, 1);
	commands_refused(&c, "alice", "invite.list", json_pack("{s:s}", "name", "arena"), KETTLE_EACCES);
	commands_refused(&c, "carol:creator", "invite.list", json_pack("{s:s}", "name", "arena"), KETTLE_EACCES);
	commands_refused(&c, "carol:creator", "invite.create", json_pack("{s:[s]}", "name", "arena"), KETTLE_EACCES);
	commands_refused(
		&c, "owner", "invite.create", json_pack("{s:[s], s:i}", "name", "arena", "count", 1001), KETTLE_EINVAL);
}

static void
test_revoke(void **state)
{
	(void)state;
	char first[INVITE_CODE_LENGTH + 1], second[INVITE_CODE_LENGTH + 1];
	close_board("arena");
	invite(first);
	invite(second);
	commands_must(&c, "alice", "leaderboard.join", code_of(first));
	commands_must(&c, "alice", "leaderboard.join", code_of(second));
	int64_t id = commands_submit(&c, "alice", "arena", "test");
	commands_refused(&c, "carol:creator", "invite.revoke", code_of(first), KETTLE_EACCES);
	commands_must(&c, "owner", "invite.revoke", code_of(first));
	assert_true(json_is_true(commands_at(c.result, "was_claimed")));
	assert_string_equal(commands_text(c.result, "user_name"), "alice");
	/* The other one still lets them in. */
	commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	commands_must(&c, "owner", "invite.revoke", code_of(second));
	commands_refused(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
	commands_must(&c, "alice", "submission.show", json_pack("{s:I}", "id", (json_int_t)id));
	commands_refused(&c, "alice", "leaderboard.join", code_of(first), KETTLE_EINVAL);
	commands_refused(&c, "owner", "invite.revoke", code_of(first), KETTLE_ENOENT);
	assert_int_equal(count("access") + count("invites") + count("invite_boards"), 0);
	assert_int_equal(fixture_events(&c.f, "invite.revoked"), 2);
}

static int
events_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct actor bob = {.user = 0, .name = "bob", .role = RIGHT_ANYBODY};
	int64_t next;
	return events_after(db, &bob, NULL, 0, 0, arg, &next, err);
}

/* A closed board is nowhere to be seen: not in a list, a command, an event. */
static void
test_closed_everywhere(void **state)
{
	(void)state;
	int64_t id = ranked("alice", 1.0);
	close_board("arena");
	static const char *const names[] = {"leaderboard.show", "leaderboard.task", "leaderboard.template",
		"leaderboard.rate_limits", "leaderboard.export", "leaderboard.trend"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (command_find(commands, names[i]))
			commands_refused(&c, "bob", names[i], json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
	commands_refused(&c, "bob", "submission.list", json_pack("{s:s}", "leaderboard", "arena"), KETTLE_ENOENT);
	/* A submission of a board that is not visible is reported like one that does not exist. */
	static const char *const numbered[] = {"submission.unflag", "submission.rerun", "submission.show",
		"submission.delete", "submission.cancel", "submission.watch", "submission.download"};
	for (size_t i = 0; i < ARRAY_SIZE(numbered); i++) {
		commands_refused(&c, "carol:creator", numbered[i], json_pack("{s:I}", "id", (json_int_t)id), KETTLE_ENOENT);
		commands_refused(&c, "carol:creator", numbered[i], json_pack("{s:I}", "id", (json_int_t)id + 1), KETTLE_ENOENT);
	}
	(void)commands_must(&c, "alice", "submission.show", json_pack("{s:I}", "id", (json_int_t)id));
	assert_int_equal(json_array_size(commands_must(&c, "bob", "leaderboard.list", json_pack("{s:b}", "all", 1))), 0);
	AUTO_JSON json_t *events = NULL;
	assert_int_equal(fixture_query(&c.f, events_op, &events, NULL), 0);
	assert_int_equal(json_array_size(events), 0);
}

/* Every argument that the command takes, the board where `which` says. */
static json_t *
fill(const struct command *command, const struct argument *which, const char *board)
{
	json_t *args = json_object();
	for (const struct argument *argument = command->arguments; argument->name; argument++) {
		json_t *value = NULL;
		if (argument != which && !argument->required)
			continue;
		switch (argument->type) {
		case ARGUMENT_BOARD:
			value = json_string(board);
			break;
		case ARGUMENT_USER:
		case ARGUMENT_STRING:
			value = json_string("eve");
			break;
		case ARGUMENT_CHOICE:
			/* What is completed: of a leaderboard, its devices. */
			value = json_string(argument->choices[strcmp(command->name, "complete") == 0]);
			break;
		case ARGUMENT_FILE:
			value = commands_file("a.cpp", "int a;\n");
			break;
		case ARGUMENT_INT:
		case ARGUMENT_ID:
			value = json_integer(1);
			break;
		case ARGUMENT_BOOL:
		case ARGUMENT_DEVICE:
		case ARGUMENT_WHEN:
		case ARGUMENT_PROBLEMS:
		case ARGUMENT_TASK:
		case ARGUMENT_PATH:
			fail_msg("%s: the test has no value for `%s`", command->name, argument->name);
		}
		json_object_set_new(args, argument->name, value);
	}
	return args;
}

/* What is closed to an actor is as if it did not exist: in the words of each command that takes a leaderboard. */
static void
test_closed_or_none(void **state)
{
	static const char *const actors[] = {"eve", "carol:creator"}, *const names[] = {"secret", "SECRET", "secrt"};
	(void)state;
	size_t count = 0;
	commands_board(&c, "secret", NULL);
	close_board("secret");
	commands_submit(&c, "carol", "arena", "test"); /* becomes a user */
	for (const struct command *command = commands; command->name; command++) {
		for (const struct argument *argument = command->arguments; argument && argument->name; argument++) {
			if (argument->type != ARGUMENT_BOARD || !command->run || command->right == RIGHT_ADMIN)
				continue;
			for (size_t i = 0; i < ARRAY_SIZE(actors) * ARRAY_SIZE(names); i++) {
				char wanted[100];
				const char *actor = actors[i % 2], *name = names[i / 2];
				(void)snprintf(wanted, sizeof(wanted), "There is no leaderboard `%s`.", name);
				int rc = commands_run(&c, actor, command->name, fill(command, argument, name));
				if (rc == KETTLE_EACCES && command->right == RIGHT_CREATOR && i % 2 == 0)
					continue; /* before any name is looked at */
				if (rc != KETTLE_ENOENT || strcmp(c.err.message, wanted) != 0)
					fail_msg("%s %s=%s: %s", command->name, argument->name, name, c.err.message);
			}
			count++;
		}
	}
	assert_true(count > 15);
}

/* ---- the code of others ---- */

static json_t *
id_of(int64_t id)
{
	return json_pack("{s:I}", "id", (json_int_t)id);
}

static void
set_board(const char *key, const char *value)
{
	commands_must(&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", key, value));
}

static void
assert_open(bool open)
{
	const json_t *show = commands_must(&c, "bob", "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	assert_true(json_is_true(json_object_get(show, "code_open")) == open);
}

static void
test_code(void **state)
{
	(void)state;
	int64_t id = ranked("alice", 1.5);
	commands_refused(&c, "bob", "submission.show", id_of(id), KETTLE_EACCES);
	assert_open(false);
	set_board("code", "ended");
	set_board("deadline", "+1d");
	commands_refused(&c, "bob", "submission.show", id_of(id), KETTLE_EACCES);
	assert_open(false);
	set_board("deadline", "2020-01-01");
	assert_open(true);
	const json_t *show = commands_must(&c, "bob", "submission.show", id_of(id));
	assert_string_equal(commands_text(show, "code"), "int a;\n");
	assert_string_equal(commands_text(show, "user_name"), "alice");
	assert_string_equal(commands_text(show, "jobs.0.device"), "CPU");
	assert_int_equal(commands_number(show, "jobs.0.rank.rank"), 1);
	assert_int_equal(commands_number(show, "rank.CPU"), 1);
	assert_string_equal(commands_text(show, "job.status"), "succeeded");
	/* What it printed on its way is its owner's, and the board's creator's. */
	AUTO_FREE char *text = json_dumps(show, 0);
	assert_null(strstr(text, "PRIVATE"));
	assert_int_equal(json_array_size(commands_at(show, "jobs.0.runs")), 0);
	set_board("code", "always");
	set_board("deadline", "none");
	commands_must(&c, "bob", "submission.show", id_of(id));
	set_board("code", "owner");
	commands_refused(&c, "bob", "submission.show", id_of(id), KETTLE_EACCES);
}

/* Compares the places of the last job that ended, in its events and as its submission shows them, with JSON. */
static void
places_are(const char *who, int64_t id, const char *rank, const char *better)
{
	AUTO_JSON json_t *wanted = json_loads(rank, JSON_DECODE_ANY, NULL),
					 *other = json_loads(better, JSON_DECODE_ANY, NULL);
	const json_t *done = fixture_event(&c.f, "job.done"), *all = fixture_event(&c.f, "submission.done");
	const json_t *shown = commands_must(&c, who, "submission.show", id_of(id));
	assert_non_null(wanted);
	assert_non_null(other);
	if (!json_equal(commands_at(shown, "jobs.0.rank"), wanted) ||
		!json_equal(commands_at(shown, "jobs.0.better"), other))
		fail_msg("shown are %s and %s", json_dumps(commands_at(shown, "jobs.0.rank"), JSON_ENCODE_ANY),
			json_dumps(commands_at(shown, "jobs.0.better"), JSON_ENCODE_ANY));
	const json_t *place = json_object_get(wanted, "rank");
	assert_true(json_equal(commands_at(shown, "rank.CPU"), place ? place : wanted));
	assert_true(json_equal(commands_at(all, "data.jobs.0.rank"), place ? place : wanted));
	assert_true(json_equal(commands_at(all, "data.jobs.0.better"), other));
	assert_true(json_equal(commands_at(done, "data.better"), other));
	if (place) {
		assert_true(json_equal(commands_at(done, "data.rank_before"), json_object_get(wanted, "before")));
		assert_true(json_equal(commands_at(done, "data.rank"), place));
	}
}

/* What a submission is told of its place is what became of it, not of its user. */
static void
test_places(void **state)
{
	(void)state;
	ranked("bob", 2.0);
	int64_t first = ranked("alice", 3.0);
	places_are("alice", first, "{\"rank\": 2, \"of\": 2, \"before\": null, \"previous_score\": null}", "null");
	int64_t best = ranked("alice", 1.0);
	places_are("alice", best, "{\"rank\": 1, \"of\": 2, \"before\": 2, \"previous_score\": 3.0}", "null");
	AUTO_FREE char *better =
		xasprintf("{\"submission\": %lld, \"score\": 1.0, \"rank\": 1, \"of\": 2}", (long long)best);
	int64_t worse = ranked("alice", 1.5);
	places_are("alice", worse, "null", better);
	places_are("alice", ranked("alice", 1.0), "null", better);
	/* To others it is the best of its user. */
	commands_must(&c, "owner", "submission.show", id_of(worse));
	assert_string_equal(commands_text(c.result, "jobs.0.better.user_name"), "alice");
	/* What cannot count has no better one: another mode, marked as a cheat, of a task that is no more. */
	int64_t test = commands_submit(&c, "alice", "arena", "benchmark");
	commands_finish(
		&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"), json_pack("{s:s, s:f}", "state", "passed", "score", 9.0));
	commands_must(&c, "alice", "submission.show", id_of(test));
	assert_true(
		json_is_null(commands_at(c.result, "jobs.0.rank")) && json_is_null(commands_at(c.result, "jobs.0.better")));
	assert_true(json_is_null(commands_at(fixture_event(&c.f, "submission.done"), "data.jobs.0.rank")));
	commands_must(&c, "owner", "submission.flag", json_pack("{s:I, s:s}", "id", (json_int_t)worse, "reason", "x"));
	commands_must(&c, "alice", "submission.show", id_of(worse));
	assert_true(json_is_null(commands_at(c.result, "jobs.0.better")));
	fixture_sql(&c.f, "UPDATE boards SET counts_from = 1000");
	commands_must(&c, "alice", "submission.show", id_of(first));
	assert_true(json_is_null(commands_at(c.result, "jobs.0.better")));
	/* Events expire; the rank stays. */
	fixture_sql(&c.f, "UPDATE boards SET counts_from = 0; DELETE FROM events");
	commands_must(&c, "alice", "submission.show", id_of(best));
	assert_int_equal(commands_number(c.result, "jobs.0.rank.rank"), 1);
	assert_true(json_is_null(commands_at(c.result, "jobs.0.rank.before")));
}

/* Users who are not ranked on a board are as unknown there as those who do not exist, and so is whose an identity is. */
static void
test_trend(void **state)
{
	(void)state;
	ranked("alice", 2.0);
	ranked("bob", 1.0);
	commands_submit(&c, "eve", "arena", "test");
	const json_t *result = commands_must(&c, "eve", "leaderboard.trend",
		json_pack("{s:s, s:[s, s], s:b, s:s}", "name", "arena", "user", "ALICE", "alice", "mine", 1, "device", "cpu"));
	assert_int_equal(json_array_size(commands_at(result, "trends")), 1);
	assert_int_equal(json_array_size(commands_at(result, "trends.0.series")), 3);
	assert_int_equal(commands_number(result, "trends.0.series.0.count"), 2);
	assert_true(json_is_null(commands_at(result, "trends.0.series.0.user_id")));
	assert_string_equal(commands_text(result, "trends.0.series.1.user_name"), "eve");
	assert_int_equal(commands_number(result, "trends.0.series.1.count"), 0);
	assert_string_equal(commands_text(result, "trends.0.series.2.points.0.user_name"), "alice");
	static const char *const unknown[] = {"eve", "nobody", "#999", "cli:bob"};
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		commands_refused(&c, "alice", "leaderboard.trend",
			json_pack("{s:s, s:[s]}", "name", "arena", "user", unknown[i]), KETTLE_ENOENT);
	static const char *const told[] = {"bob", "dave:admin"};
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		commands_must(&c, told[i], "leaderboard.trend", json_pack("{s:s, s:[s]}", "name", "arena", "user", "cli:bob"));
		assert_string_equal(commands_text(c.result, "trends.0.series.1.user_name"), "bob");
	}
}

static void
test_code_that_is_not_ranked(void **state)
{
	(void)state;
	set_board("code", "always");
	int64_t test = commands_submit(&c, "alice", "arena", "test"), id = ranked("alice", 1.0);
	commands_refused(&c, "bob", "submission.show", id_of(test), KETTLE_EACCES);
	commands_refused(&c, "bob", "submission.show", id_of(999), KETTLE_ENOENT);
	commands_must(&c, "bob", "submission.show", id_of(id));
	fixture_sql(&c.f, "UPDATE submissions SET flagged_at = 1, flag_reason = 'x' WHERE mode = 'ranked'");
	commands_refused(&c, "bob", "submission.show", id_of(id), KETTLE_EACCES);
	fixture_sql(&c.f, "UPDATE submissions SET flagged_at = NULL");
	fixture_sql(&c.f, "UPDATE users SET banned_at = 1 WHERE name = 'alice'");
	commands_refused(&c, "bob", "submission.show", id_of(id), KETTLE_EACCES);
	fixture_sql(&c.f, "UPDATE users SET banned_at = NULL");
	commands_must(&c, "bob", "submission.show", id_of(id));
	close_board("arena");
	commands_refused(&c, "bob", "submission.show", id_of(id), KETTLE_ENOENT);
	commands_must(&c, "owner", "submission.show", id_of(id));
	assert_string_equal(commands_text(c.result, "jobs.0.runs.0.message"), "PRIVATE");
}

/* ---- rate limits ---- */

static json_t *
limit(const char *category, const char *device, int per_hour)
{
	json_t *args = json_pack("{s:s, s:s*, s:s*}", "name", "arena", "category", category, "device", device);
	(void)json_object_set_new(
		args, per_hour < 0 ? "remove" : "per_hour", per_hour < 0 ? json_true() : json_integer(per_hour));
	return args;
}

static void
test_limits(void **state)
{
	(void)state;
	const json_t *result = commands_must(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", "h100", 2));
	assert_string_equal(commands_text(result, "limits.0.device"), "H100");
	assert_string_equal(commands_text(fixture_event(&c.f, "leaderboard.limited"), "data.device"), "H100");
	result = commands_must(&c, "owner", "leaderboard.rate_limit", limit(NULL, NULL, 5));
	assert_int_equal(json_array_size(commands_at(result, "limits")), 3);
	result = commands_must(&c, "alice", "leaderboard.rate_limits", json_pack("{s:s}", "name", "arena"));
	assert_string_equal(commands_text(result, "limits.0.category"), "test");
	assert_true(json_is_null(commands_at(result, "limits.0.device")));
	result = commands_must(
		&c, "alice", "leaderboard.rate_limits", json_pack("{s:s, s:s}", "name", "arena", "device", "H100"));
	assert_int_equal(json_array_size(commands_at(result, "limits")), 1);
	commands_refused(&c, "alice", "leaderboard.rate_limits", json_pack("{s:s, s:s}", "name", "arena", "device", "H200"),
		KETTLE_EINVAL);
	result = commands_must(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", "H100", 3));
	assert_int_equal(json_array_size(commands_at(result, "limits")), 3);
	result = commands_must(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", NULL, -1));
	assert_int_equal(json_array_size(commands_at(result, "limits")), 1);
	assert_true(json_is_null(commands_at(fixture_event(&c.f, "leaderboard.limited"), "data.per_hour")));
	commands_refused(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", NULL, -1), KETTLE_ENOENT);
	commands_refused(&c, "owner", "leaderboard.rate_limit", json_pack("{s:s}", "name", "arena"), KETTLE_EINVAL);
	commands_refused(&c, "owner", "leaderboard.rate_limit",
		json_pack("{s:s, s:b, s:i}", "name", "arena", "remove", 1, "per_hour", 1), KETTLE_EINVAL);
	commands_refused(&c, "owner", "leaderboard.rate_limit", limit(NULL, "T4", 1), KETTLE_EINVAL);
	commands_refused(&c, "alice", "leaderboard.rate_limit", limit(NULL, NULL, 1), KETTLE_EACCES);
	commands_refused(&c, "carol:creator", "leaderboard.rate_limit", limit(NULL, NULL, 1), KETTLE_EACCES);
}

static void
refused_submit(const char *device, bool has_end)
{
	commands_refused(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:s, s:s}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "arena", "mode",
			"ranked", "device", device),
		KETTLE_ERATE);
	assert_true((c.err.retry_s > 0) == has_end);
}

static void
test_limits_of_devices(void **state)
{
	(void)state;
	commands_must(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", "CPU", 1));
	commands_must(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", NULL, 3));
	commands_submit(&c, "alice", "arena", "ranked");
	refused_submit("CPU", true);
	commands_submit(&c, "alice", "arena", "test");
	commands_must(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:s}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "arena", "device", "H100"));
	commands_submit(&c, "bob", "arena", "ranked");
	/* Of two that are used up the answer has the longer wait. */
	fixture_sql(&c.f, "UPDATE submissions SET created_at = created_at - 1800000 WHERE user = (SELECT id FROM users "
					  "WHERE name = 'alice') AND id = 1");
	commands_must(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", NULL, 1));
	refused_submit("CPU", true);
	assert_true(c.err.retry_s > 1800);
	commands_must(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", "CPU", 0));
	refused_submit("CPU", false);
	commands_must(&c, "owner", "leaderboard.rate_limit", limit("leaderboard", NULL, -1));
	commands_submit(&c, "alice", "arena", "ranked");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_own),
	TEST(test_join),
	TEST(test_invites),
	TEST(test_revoke),
	TEST(test_closed_everywhere),
	TEST(test_closed_or_none),
	TEST(test_code),
	TEST(test_places),
	TEST(test_trend),
	TEST(test_code_that_is_not_ranked),
	TEST(test_limits),
	TEST(test_limits_of_devices),
};

UNIT_TESTS(test_board_access);
