/* SPDX-License-Identifier: MIT */
/* A name never passes for an identity or a number: every command of the table that takes a user, with every trap. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "model/actor.h"

#include <string.h>

static struct commands_fixture c;

/*
 * Bob, user 2, has the identities cli:bob and discord:4242. The others are called what reads as bob's identities and number,
 * which a database could hold before its schema 16. All are ranked, bob first.
 */
#define BOB 2
static const char people[] =
	"INSERT INTO users (id, name, created_at) VALUES (3, 'discord:4242', 1), (4, '#2', 1), (5, 'cli:bob', 1);"
	"INSERT INTO identities (provider, subject, user, name, created_at) SELECT 'cli', 'other' || id, id, 'x', 1 FROM "
	"users WHERE id > 2;"
	"INSERT INTO identities (provider, subject, user, name, created_at) VALUES ('discord', '4242', 2, 'b', 1);"
	"INSERT INTO best (leaderboard, device, user, submission, job, score, low, high, bucket) SELECT leaderboard, "
	"device, "
	"u.id, submission, job, score + u.id, low, high, bucket FROM best, users u WHERE u.id > 2;"
	"INSERT INTO tokens (hash, kind, user, name, created_at) SELECT id, 'token', id, 'x', 1 FROM users;"
	"UPDATE users SET created_at = 1";

static void
setup_people(void)
{
	commands_open(&c);
	clock_simulate(&c.f.clock, 1700000000000);
	commands_board(&c, "arena", NULL);
	int64_t submission = commands_submit(&c, "bob", "arena", "ranked");
	assert_int_equal(fixture_int(&c.f, "SELECT user FROM submissions"), BOB);
	commands_finish(&c, submission, json_pack("{s:s, s:f}", "state", "passed", "score", 1.0));
	fixture_sql(&c.f, people);
}

/* One try of a command: its code and answer, and what is stored about the namesakes afterwards. */
struct attempt {
	const struct command *command;
	json_t *args;
	int code;
	struct kettle_error err;
	json_t *result, *namesakes;
	int64_t users;
};

static void
free_attempt(struct attempt *attempt)
{
	json_decref(attempt->args);
	json_decref(attempt->result);
	json_decref(attempt->namesakes);
}
#define AUTO_ATTEMPT __attribute__((cleanup(free_attempt)))

/* Always fails, so that the people stay as they were. */
static int
attempt_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct attempt *attempt = arg;
	struct actor actor;
	AUTO_JSON json_t *who = json_pack("{s:s, s:s}", "provider", "cli", "subject", "owner");
	assert_int_equal(command_actor(attempt->command, db, who, &actor, err), 0);
	struct command_call call = {.db = db, .env = &c.env, .actor = &actor, .args = attempt->args};
	attempt->code = attempt->command->run(&call, &attempt->result, &attempt->err);
	if (attempt->code < 0)
		attempt->result = json_string(attempt->err.message);
	assert_int_equal(
		db_object(db, &attempt->namesakes, err,
			"SELECT (SELECT json_group_array(json_array(id, name, role, banned_at, merged_into)) FROM users "
			"WHERE id > 2) || (SELECT json_group_array(json_array(provider, subject)) FROM identities WHERE "
			"user > 2) || (SELECT json_group_array(name) FROM tokens WHERE user > 2) || (SELECT "
			"json_group_array(user) FROM best WHERE user > 2) AS stored",
			NULL),
		0);
	assert_int_equal(db_int(db, &attempt->users, err, "SELECT count(*) FROM users", NULL), 0);
	return KETTLE_ECANCELED;
}

/* Arguments that the command takes, with the user where `which` says. */
static json_t *
fill(const struct command *command, const struct argument *which, const json_t *user)
{
	json_t *args = json_object();
	for (const struct argument *argument = command->arguments; argument->name; argument++) {
		json_t *value = NULL;
		if (argument == which)
			value = argument->repeated ? json_pack("[O]", user) : json_incref((json_t *)user);
		else if (!argument->required)
			continue;
		else if (argument->type == ARGUMENT_BOARD)
			value = json_string("arena");
		else if (argument->type == ARGUMENT_USER)
			value = json_string("owner");
		else if (argument->type == ARGUMENT_CHOICE)
			value = json_string(argument->choices[0]);
		else if (argument->type == ARGUMENT_STRING)
			value = json_string("x");
		else
			fail_msg("%s: the test has no value for `%s`", command->name, argument->name);
		json_object_set_new(args, argument->name, value);
	}
	return args;
}

static void
try_with(const struct command *command, const struct argument *argument, const json_t *user, struct attempt *attempt)
{
	AUTO_JSON json_t *args = fill(command, argument, user);
	*attempt = (struct attempt){.command = command};
	attempt->code = command_check(command, args, &attempt->args, &attempt->err);
	if (attempt->code < 0)
		return;
	assert_int_equal(fixture_write(&c.f, attempt_op, attempt, NULL), KETTLE_ECANCELED);
}

/* All of these are bob. */
static void
check_means_bob(const struct command *command, const struct argument *argument)
{
	AUTO_JSON json_t *same = json_pack("[{s:s, s:s}, s, s, s, s, s, s, {s:s}]", "provider", "discord", "subject",
		"4242", "discord:4242", "cli:bob", "#2", "bob", "BOB", "\xef\xbd\x82ob", "name", "bob");
	AUTO_JSON json_t *number = json_pack("{s:i}", "number", BOB);
	AUTO_ATTEMPT struct attempt wanted = {0};
	size_t i;
	const json_t *user;
	try_with(command, argument, number, &wanted);
	/* That bob is not banned is about bob, too. */
	if (wanted.code < 0 && wanted.code != KETTLE_ECONFLICT)
		fail_msg("%s %s: %s", command->name, argument->name, wanted.err.message);
	json_array_foreach(same, i, user) {
		AUTO_ATTEMPT struct attempt attempt = {0};
		AUTO_FREE char *text = json_dumps(user, JSON_ENCODE_ANY);
		try_with(command, argument, user, &attempt);
		if (attempt.code != wanted.code || !json_equal(attempt.result, wanted.result) ||
			!json_equal(attempt.namesakes, wanted.namesakes))
			fail_msg("%s %s=%s is somebody else: %s", command->name, argument->name, text, attempt.err.message);
	}
}

/* None of these is anybody, and nobody becomes a user by them. */
static void
check_means_nobody(const struct command *command, const struct argument *argument)
{
	static const char *const texts[] = {"Discord:4242", "discord:", ":4242", ":", " discord:4242", "discord :4242",
		"dis\xd1\x81ord:4242", "#0", "#", "# 2", "#2x", " #2", "#-2", "#02", "#99999999999999999999", "bob\xe2\x80\x8b",
		"b\xd0\xbe\x62",
		"discord\xef\xbc\x9a"
		"4242",
		"\xef\xbc\x83\x32", ""};
	AUTO_JSON json_t *wrong = json_pack("[{s:s}, {s:s}, {s:s}, {s:i}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s, s:s}, {}, i]",
		"name", "discord:4242", "name", "#2", "number", "2", "number", 0, "provider", "Discord", "subject", "4242",
		"provider", "discord", "subject", "", "provider", "discord", "subject", "4242", "name", "bob", 2);
	size_t i;
	const json_t *user;
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(json_array_append_new(wrong, json_string(texts[i])), 0);
	int64_t users = fixture_int(&c.f, "SELECT count(*) FROM users");
	json_array_foreach(wrong, i, user) {
		AUTO_ATTEMPT struct attempt attempt = {0};
		AUTO_FREE char *text = json_dumps(user, JSON_ENCODE_ANY);
		try_with(command, argument, user, &attempt);
		if ((attempt.code != KETTLE_EINVAL && attempt.code != KETTLE_ENOENT) ||
			(attempt.users && attempt.users != users))
			fail_msg("%s %s=%s is taken: %s", command->name, argument->name, text, attempt.err.message);
	}
}

static void
test_every_command(void **state)
{
	size_t count = 0;
	(void)state;
	setup_people();
	for (const struct command *command = commands; command->name; command++) {
		for (const struct argument *argument = command->arguments; argument && argument->name; argument++) {
			if (argument->type != ARGUMENT_USER)
				continue;
			assert_true(command->kind == COMMAND_READ || command->kind == COMMAND_WRITE);
			check_means_bob(command, argument);
			check_means_nobody(command, argument);
			count++;
		}
	}
	assert_true(count >= 12);
	commands_close(&c);
}

/* ---- new users ---- */

struct made {
	const char *provider, *subject, *name;
};

static int
make_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct made *made = arg;
	int64_t user;
	return actor_make(db, made->provider, made->subject, made->name, &user, err);
}

static void
test_new_names(void **state)
{
	static const char *const names[][2] = {{"discord:4242", "discord-4242"}, {"Discord:4242", "Discord-4242-2"},
		{"#12", "12"}, {"# 12", "12-2"}, {" \xe2\x80\x8b#12", "12-3"}, {"##", "subject-9"}, {":", "-"},
		{"a:b#c", "a-b#c"}, {"", "subject-9-2"}, /* forms of letters, of a colon and of a number sign */
		{"\xef\xbd\x82\xef\xbd\x8f\xef\xbd\x82", "bob"}, {"\xf0\x9d\x90\x9b\xf0\x9d\x90\xa8\xf0\x9d\x90\x9b", "bob-2"},
		{"e\xcc\x81t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},
		{"discord\xef\xbc\x9a"
		 "4242",
			"discord-4242-3"},
		{"\xef\xbc\x83\xef\xbc\x92", "2"},
		/* Scripts: r, Cyrillic o, ot. */
		{"r\xd0\xbeot", "subject-9-3"}, {"\xd0\xb8\xd0\xb2\xd0\xb0\xd0\xbd", "\xd0\xb8\xd0\xb2\xd0\xb0\xd0\xbd"},
		/* Words of KernelBot's addresses, and names of removed users. */
		{"submissions", "submissions-2"}, {"join", "join-2"}, {"deleted-5", "subject-9-4"},
		{"Deleted-12-2", "subject-9-5"}, {"#deleted:5", "subject-9-6"}, {"deleted-user", "deleted-user"}};
	(void)state;
	commands_open(&c);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *subject = xasprintf("subject:%d", 9), *provider = xasprintf("p%zu", i);
		AUTO_FREE char *sql =
			xasprintf("SELECT count(*) FROM users u JOIN identities i ON i.user = u.id WHERE i.provider = "
					  "'%s' AND u.name = '%s'",
				provider, names[i][1]);
		struct made made = {provider, subject, names[i][0]};
		assert_int_equal(fixture_write(&c.f, make_op, &made, &c.err), 0);
		if (fixture_int(&c.f, sql) != 1)
			fail_msg("`%s` did not become `%s`", names[i][0], names[i][1]);
	}
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE name LIKE '%:%' OR name LIKE '#%'"), 0);
	struct made wrong = {"Discord", "1", NULL};
	assert_int_equal(fixture_write(&c.f, make_op, &wrong, &c.err), KETTLE_EINVAL);
	assert_says(&c.err, "lower-case");
	/* The longest identity is an argument, too. */
	char subject[ACTOR_SUBJECT_MAX + 1] = {0};
	memset(subject, 'x', ACTOR_SUBJECT_MAX);
	AUTO_JSON json_t *longest = json_sprintf("a2345678901234567890123456789012:%s", subject);
	commands_must(&c, "owner", "user.ban", json_pack("{s:O, s:s}", "name", longest, "reason", "x"));
	commands_must(&c, "owner", "user.show", json_pack("{s:O}", "name", longest));
	assert_string_equal(commands_text(c.result, "ban_reason"), "x");
	commands_close(&c);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_every_command),
	cmocka_unit_test(test_new_names),
};

UNIT_TESTS(test_user_refs);
