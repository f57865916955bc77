/* SPDX-License-Identifier: MIT */
/* Tokens, logins, and users by identity; what is stored about a user. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/submissions.h"

#include <string.h>

#define STEPS 100

COMMANDS_FIXTURE(commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100")))

static json_t *
named(const char *key, const char *value)
{
	return json_pack("{s:s}", key, value);
}

static char *
text_of(const json_t *value, const char *path)
{
	return strdup(commands_text(value, path));
}

static const json_t *
check(const char *token)
{
	return commands_must(&c, "web", "token.check", named("token", token));
}

static void
invalid(const char *token, int code)
{
	commands_refused(&c, "web", "token.check", named("token", token), code);
}

static void
test_token(void **state)
{
	(void)state;
	AUTO_FREE char *token = text_of(commands_must(&c, "alice", "token.create", named("name", "laptop")), "token");
	assert_int_equal(strlen(token), 4 + 43);
	/* The database has only its hash. */
	AUTO_FREE char *sql = NULL;
	assert_true(
		asprintf(&sql, "SELECT count(*) FROM tokens WHERE hash = '%s' OR data_json LIKE '%%%s%%'", token, token) > 0);
	assert_int_equal(fixture_int(&c.f, sql), 0);
	const json_t *found = check(token);
	assert_string_equal(commands_text(found, "user_name"), "alice");
	assert_string_equal(commands_text(found, "kind"), "token");
	assert_string_equal(commands_text(found, "actor.provider"), "cli");
	assert_string_equal(commands_text(found, "actor.subject"), "alice");
	/* Who checks does not become a user, and the use is noted once a minute. */
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM users WHERE name = 'web'"), 0);
	assert_true(fixture_int(&c.f, "SELECT used_at FROM tokens") > 0);
	fixture_sql(&c.f, "UPDATE tokens SET used_at = used_at - 1000");
	int64_t used = fixture_int(&c.f, "SELECT used_at FROM tokens");
	(void)check(token);
	assert_int_equal(fixture_int(&c.f, "SELECT used_at FROM tokens"), used);
	fixture_sql(&c.f, "UPDATE tokens SET used_at = used_at - 100000");
	(void)check(token);
	assert_true(fixture_int(&c.f, "SELECT used_at FROM tokens") >= used);

	commands_refused(&c, "alice", "token.create", named("name", "laptop"), KETTLE_ECONFLICT);
	commands_refused(&c, "alice", "token.create", named("name", ""), KETTLE_EINVAL);
	commands_refused(&c, "alice", "token.create", named("name", "l\xd0\xb0ptop"), KETTLE_EINVAL);
	commands_refused(&c, "alice", "token.create", named("name", "\xef\xbd\x8c"), KETTLE_EINVAL);
	commands_refused(&c, "web", "login.begin",
		json_pack("{s:s, s:s}", "name", "p\xd0\xbepcorn-cli", "address", "192.0.2.1"), KETTLE_EINVAL);
	commands_refused(
		&c, "alice", "token.create", json_pack("{s:s, s:s}", "name", "old", "expires", "2020-01-01"), KETTLE_EINVAL);
	const json_t *list = commands_must(&c, "alice", "token.list", json_object());
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(commands_text(list, "0.name"), "laptop");
	assert_null(json_object_get(json_array_get(list, 0), "token"));
	assert_null(json_object_get(json_array_get(list, 0), "hash"));
	commands_refused(&c, "bob", "token.list", named("of", "alice"), KETTLE_EACCES);
	commands_refused(&c, "bob", "token.revoke", named("name", "laptop"), KETTLE_ENOENT);
	commands_refused(
		&c, "bob", "token.revoke", json_pack("{s:s, s:s}", "name", "laptop", "of", "alice"), KETTLE_EACCES);
	(void)commands_must(&c, "dave:admin", "token.revoke", json_pack("{s:s, s:s}", "name", "laptop", "of", "alice"));
	invalid(token, KETTLE_EACCES);
	invalid("", KETTLE_EACCES);
}

/* The user of the newest event of the kind, which names the token and is no secret. */
static void
assert_revoked(const char *event_kind, const char *kind, const char *name, const char *user)
{
	const json_t *event = fixture_event(&c.f, event_kind);
	assert_string_equal(commands_text(event, "scope"), "u");
	assert_string_equal(commands_text(event, "user_name"), user);
	assert_string_equal(commands_text(event, "data.kind"), kind);
	assert_string_equal(commands_text(event, "data.name"), name);
	assert_int_equal(json_object_size(commands_at(event, "data")), 2);
}

/* Who keeps the answers of token.check hears of each that is right no more. */
static void
test_revoked_events(void **state)
{
	(void)state;
	(void)commands_must(&c, "alice", "token.create", json_pack("{s:s, s:s}", "name", "a", "expires", "+1h"));
	AUTO_FREE char *token = text_of(c.result, "token");
	assert_non_null(strstr(commands_text(check(token), "expires"), "T"));
	(void)commands_must(&c, "alice", "token.create", named("name", "b"));
	AUTO_FREE char *code = text_of(
		commands_must(&c, "web", "login.begin", json_pack("{s:s, s:s}", "name", "b", "address", "192.0.2.1")), "code");
	(void)commands_must(&c, "alice", "login.confirm", json_pack("{s:s, s:b}", "code", code, "confirm", 1));
	assert_int_equal(commands_run(&c, "alice", "token.revoke", named("name", "none")), KETTLE_ENOENT);
	assert_int_equal(fixture_events(&c.f, "token.revoked") + fixture_events(&c.f, "login.revoked"), 0);
	(void)commands_must(&c, "alice", "token.revoke", named("name", "b"));
	assert_int_equal(commands_number(c.result, "revoked"), 2);
	assert_revoked("token.revoked", "token", "b", "alice");
	assert_revoked("login.revoked", "session", "b", "alice");
	/* The end of the user is the end of the rest. */
	(void)commands_must(&c, "alice", "user.delete", json_object());
	assert_int_equal(fixture_events(&c.f, "token.revoked"), 2);
	assert_int_equal(fixture_events(&c.f, "login.revoked"), 1);
	assert_string_equal(commands_text(fixture_event(&c.f, "token.revoked"), "data.name"), "a");
}

static void
test_token_limits(void **state)
{
	(void)state;
	char name[20];
	for (int i = 0; i < TOKENS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "t%d", i);
		(void)commands_must(&c, "alice", "token.create", named("name", name));
	}
	commands_refused(&c, "alice", "token.create", named("name", "more"), KETTLE_ETOOBIG);
	AUTO_FREE char *token = text_of(
		commands_must(&c, "bob", "token.create", json_pack("{s:s, s:s}", "name", "short", "expires", "+1h")), "token");
	(void)check(token);
	fixture_sql(&c.f, "UPDATE tokens SET expires_at = 5 WHERE name = 'short'");
	invalid(token, KETTLE_EACCES);
	(void)commands_must(&c, "mallory", "token.create", named("name", "x"));
	(void)commands_must(&c, "dave:admin", "user.ban", json_pack("{s:s, s:s}", "name", "mallory", "reason", "no"));
	commands_refused(&c, "mallory", "token.create", named("name", "y"), KETTLE_EACCES);
}

static json_t *
login(const char *address)
{
	return json_pack("{s:s, s:s}", "name", "popcorn-cli", "address", address);
}

static void
test_login(void **state)
{
	(void)state;
	const json_t *begun = commands_must(&c, "web", "login.begin", login("192.0.2.1"));
	AUTO_FREE char *token = text_of(begun, "token"), *code = text_of(begun, "code");
	assert_string_not_equal(token, code);
	invalid(token, KETTLE_EUNAVAIL);
	/* The code is no credential. */
	invalid(code, KETTLE_EACCES);
	commands_refused(&c, "alice", "login.confirm", named("code", "AAAAA-AAAAA"), KETTLE_ENOENT);
	const json_t *shown = commands_must(&c, "alice", "login.confirm", named("code", code));
	assert_string_equal(commands_text(shown, "name"), "popcorn-cli");
	assert_false(json_is_true(commands_at(shown, "confirmed")));
	assert_string_equal(commands_text(shown, "address"), "192.0.2.1");
	assert_true(json_is_null(commands_at(shown, "expires")));
	invalid(token, KETTLE_EUNAVAIL);
	shown = commands_must(&c, "alice", "login.confirm", json_pack("{s:s, s:b}", "code", code, "confirm", 1));
	AUTO_FREE char *expires = text_of(shown, "expires");
	assert_string_equal(commands_text(check(token), "expires"), expires);
	assert_string_equal(commands_text(check(token), "user_name"), "alice");
	assert_string_equal(commands_text(check(token), "kind"), "session");
	/* It works once. */
	commands_refused(&c, "bob", "login.confirm", json_pack("{s:s, s:b}", "code", code, "confirm", 1), KETTLE_ENOENT);
	assert_int_equal(fixture_events(&c.f, "user.login"), 1);
	(void)commands_must(&c, "alice", "token.revoke", named("name", "popcorn-cli"));
	invalid(token, KETTLE_EACCES);
}

/* The confirmation of a login that says so ends the user's earlier ones of its name, and no other user's. */
static void
test_login_reset(void **state)
{
	(void)state;
	static const char *const users[] = {"alice", "bob", "alice"};
	char *tokens[ARRAY_SIZE(users)] = {NULL};
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		const json_t *begun = commands_must(&c, "web", "login.begin", login("192.0.2.1"));
		bool resets = i == ARRAY_SIZE(users) - 1;
		AUTO_FREE char *code = text_of(begun, "code");
		tokens[i] = text_of(begun, "token");
		if (resets)
			(void)commands_must(&c, "web", "login.reset", named("token", tokens[i]));
		begun = commands_must(&c, users[i], "login.confirm", named("code", code));
		assert_int_equal(json_is_true(commands_at(begun, "resets")), resets);
		for (size_t k = 0; k < i; k++)
			assert_string_equal(commands_text(check(tokens[k]), "user_name"), users[k]);
		(void)commands_must(&c, users[i], "login.confirm", json_pack("{s:s, s:b}", "code", code, "confirm", 1));
	}
	invalid(tokens[0], KETTLE_EACCES);
	assert_revoked("login.revoked", "session", "popcorn-cli", "alice");
	/* What is confirmed, and what never was, cannot be marked. */
	assert_int_equal(commands_run(&c, "web", "login.reset", named("token", "ktl_none")), KETTLE_ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		if (i > 0)
			assert_string_equal(commands_text(check(tokens[i]), "user_name"), users[i]);
		assert_int_equal(commands_run(&c, "web", "login.reset", named("token", tokens[i])), KETTLE_ENOENT);
		free(tokens[i]);
	}
}

static void
test_logins_end(void **state)
{
	(void)state;
	for (int i = 0; i < LOGINS_OF_ADDRESS; i++)
		(void)commands_must(&c, "web", "login.begin", login("192.0.2.1"));
	commands_refused(&c, "web", "login.begin", login("192.0.2.1"), KETTLE_ERATE);
	assert_int_equal(c.err.retry_s, LOGIN_MS / 1000);
	AUTO_FREE char *code = text_of(commands_must(&c, "web", "login.begin", login("192.0.2.2")), "code");
	fixture_sql(&c.f, "UPDATE tokens SET expires_at = 5");
	commands_refused(&c, "alice", "login.confirm", json_pack("{s:s, s:b}", "code", code, "confirm", 1), KETTLE_ENOENT);
	(void)commands_must(&c, "web", "login.begin", login("192.0.2.1"));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM tokens"), 2);
}

static void
test_identity(void **state)
{
	(void)state;
	(void)commands_must(&c, "alice", "token.list", json_object());
	(void)commands_must(&c, "alice", "token.create", named("name", "a"));
	json_t *args =
		json_pack("{s:s, s:s, s:s, s:s}", "user", "alice", "provider", "github", "subject", "77", "name", "al");
	const json_t *added = commands_at(commands_must(&c, "web", "identity.add", json_incref(args)), "added");
	assert_true(json_is_true(added));
	added = commands_at(commands_must(&c, "web", "identity.add", json_incref(args)), "added");
	assert_true(json_is_false(added));
	(void)json_object_set_new(args, "user", json_string("owner"));
	commands_refused(&c, "web", "identity.add", args, KETTLE_ECONFLICT);
	/* By identity, where a user is taken; one who never wrote becomes a user in what writes alone. */
	const json_t *shown = commands_must(&c, "dave:admin", "user.show", named("name", "github:77"));
	assert_string_equal(commands_text(shown, "user_name"), "alice");
	commands_refused(&c, "dave:admin", "user.show", named("name", "discord:123"), KETTLE_ENOENT);
	commands_refused(&c, "dave:admin", "user.show", named("name", "discord:"), KETTLE_EINVAL);
	(void)commands_must(&c, "dave:admin", "user.ban", json_pack("{s:s, s:s}", "name", "discord:123", "reason", "spam"));
	assert_true(json_is_true(commands_at(c.result, "made")));
	(void)commands_must(&c, "dave:admin", "user.unban", named("name", "discord:123"));
	assert_null(json_object_get(c.result, "made")); /* one who was banned was known */
	(void)commands_must(&c, "dave:admin", "user.ban", json_pack("{s:s, s:s}", "name", "discord:123", "reason", "spam"));
	assert_true(json_is_false(commands_at(c.result, "made")));
	shown = commands_must(&c, "dave:admin", "user.show", named("name", "discord:123"));
	assert_string_equal(commands_text(shown, "ban_reason"), "spam");
	assert_string_equal(commands_text(shown, "identities.0.provider"), "discord");
	(void)commands_must(&c, "dave:admin", "user.role", json_pack("{s:s, s:s}", "name", "github:78", "role", "creator"));
	commands_refused(
		&c, "dave:admin", "user.role", json_pack("{s:s, s:s}", "name", "nobody", "role", "creator"), KETTLE_ENOENT);
}

static void
finish(double score)
{
	commands_finish(&c, fixture_int(&c.f, "SELECT max(id) FROM jobs"),
		json_pack("{s:s, s:f, s:[]}", "state", "passed", "score", score, "runs"));
}

static int64_t
count(const char *who, const char *key, const char *value)
{
	json_t *args = json_pack("{s:s}", "leaderboard", "arena");
	if (key)
		(void)json_object_set_new(args, key, json_string(value));
	return commands_number(commands_must(&c, who, "submission.count", args), "count");
}

static void
test_count(void **state)
{
	(void)state;
	commands_submit(&c, "alice", "arena", "ranked");
	finish(1.0);
	commands_submit(&c, "alice", "arena", "test");
	commands_submit(&c, "bob", "arena", "ranked");
	assert_int_equal(count("carol", NULL, NULL), 3);
	assert_int_equal(count("carol", "mode", "leaderboard"), 2);
	assert_int_equal(count("carol", "state", "passed"), 1);
	assert_int_equal(count("alice", "user", "alice"), 2);
	assert_int_equal(count("owner", "user", "bob"), 1);
	assert_int_equal(count("carol", "device", "H100"), 0);
	json_t *args = json_pack("{s:s, s:s}", "leaderboard", "arena", "user", "bob");
	commands_refused(&c, "alice", "submission.count", json_incref(args), KETTLE_EACCES);
	(void)json_object_set_new(args, "user", json_string("nobody"));
	commands_refused(&c, "alice", "submission.count", args, KETTLE_EACCES);
}

/* Each stands for STEPS steps of SQLite's machine. */
static int
count_steps(void *arg)
{
	++*(int64_t *)arg;
	return 0;
}

static int
watch_steps(struct db *db, void *arg, struct kettle_error *err)
{
	(void)err;
	sqlite3_progress_handler(db->handle, arg ? STEPS : 0, count_steps, arg);
	return 0;
}

/* However many submissions there are, a count takes a bounded number of steps, and says if that is not all of them. */
static void
test_count_steps(void **state)
{
	(void)state;
	commands_submit(&c, "bob", "arena", "ranked");
	commands_submit(&c, "alice", "arena", "ranked");
	fixture_sql(&c.f,
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) INSERT INTO submissions "
		"(leaderboard, task, user, mode, file_name, code, created_at) SELECT leaderboard, task, user, mode, "
		"file_name, code, created_at FROM submissions JOIN n WHERE id = 2");
	static const struct {
		const char *who, *key, *value;
		int64_t count;
		bool more;
	} asked[] = {{"bob", "user", "bob", 1, false}, {"alice", "user", "alice", SUBMISSION_COUNT_MOST, true},
		{"bob", NULL, NULL, SUBMISSION_COUNT_MOST, true}, {"bob", "mode", "ranked", SUBMISSION_COUNT_MOST, true},
		{"bob", "state", "passed", 0, true}, {"bob", "device", "H100", 0, true}};
	int64_t steps = 0;
	assert_int_equal(fixture_query(&c.f, watch_steps, &steps, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		steps = 0;
		assert_int_equal(count(asked[i].who, asked[i].key, asked[i].value), asked[i].count);
		assert_int_equal(json_is_true(json_object_get(c.result, "more")), asked[i].more);
		assert_true(steps * STEPS < INT64_C(30) * SUBMISSION_COUNT_MOST);
	}
	steps = 0;
	assert_int_equal(count("bob", "user", "bob"), 1);
	assert_true(steps * STEPS < 5000);
	assert_int_equal(fixture_query(&c.f, watch_steps, NULL, NULL), 0);
}

static void
test_delete_all(void **state)
{
	(void)state;
	json_t *args = json_pack("{s:s, s:s}", "leaderboard", "arena", "user", "alice");
	commands_submit(&c, "alice", "arena", "ranked");
	finish(1.0);
	commands_submit(&c, "alice", "arena", "ranked");
	commands_submit(&c, "bob", "arena", "ranked");
	finish(2.0);
	commands_refused(&c, "bob", "submission.delete_all", json_incref(args), KETTLE_EACCES);
	commands_refused(&c, "carol:creator", "submission.delete_all", json_incref(args), KETTLE_EACCES);
	fixture_sql(&c.f, "UPDATE users SET role = 'creator' WHERE name = 'owner'");
	fixture_sql(&c.f, "UPDATE submissions SET flagged_at = 5, flag_reason = 'x' WHERE id = 1");
	commands_refused(&c, "owner", "submission.delete_all", json_incref(args), KETTLE_EACCES);
	fixture_sql(&c.f, "UPDATE submissions SET flagged_at = NULL");
	/* Of no submissions, which is the first deletion of this connection. */
	const json_t *gone = commands_must(
		&c, "owner", "submission.delete_all", json_pack("{s:s, s:s}", "leaderboard", "arena", "user", "owner"));
	assert_int_equal(commands_number(gone, "submissions"), 0);
	fixture_sql(
		&c.f, "INSERT INTO blobs VALUES (901, printf('%064d', 1), 1, x'61'), (902, printf('%064d', 2), 1, x'62')");
	fixture_sql(&c.f, "UPDATE submissions SET code = 900 + id WHERE id < 3");
	gone = commands_must(&c, "owner", "submission.delete_all", args);
	assert_int_equal(commands_number(gone, "submissions"), 2);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM blobs WHERE id > 900"), 0);
	assert_int_equal(commands_number(gone, "jobs"), 2);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 1);
	assert_int_equal(fixture_events(&c.f, "submission.deleted"), 2);
	const json_t *shown = commands_must(&c, "bob", "leaderboard.show", named("name", "arena"));
	assert_string_equal(commands_text(shown, "rankings.0.entries.0.user_name"), "bob");
}

static void
test_user_data(void **state)
{
	(void)state;
	json_t *args = json_pack("{s:s, s:s, s:s, s:o, s:s}", "leaderboard", "arena", "mode", "ranked", "device", "CPU",
		"file", commands_file("a.cpp", "int secret_name;\n"), "note", "mine");
	(void)commands_must(&c, "alice", "submit", args);
	finish(1.0);
	(void)commands_must(&c, "alice", "token.create", named("name", "laptop"));
	const json_t *page = commands_must(&c, "alice", "user.export", json_object());
	assert_string_equal(commands_text(page, "user.user_name"), "alice");
	assert_string_equal(commands_text(page, "user.tokens.0.name"), "laptop");
	assert_string_equal(commands_text(page, "submissions.0.code"), "int secret_name;\n");
	assert_string_equal(commands_text(page, "submissions.0.note"), "mine");
	assert_string_equal(commands_text(page, "submissions.0.devices.0.state"), "passed");
	assert_true(json_is_null(commands_at(page, "next")));
	page = commands_must(&c, "alice", "user.export", json_pack("{s:i}", "after", 1));
	assert_true(json_is_null(commands_at(page, "user")) && json_array_size(commands_at(page, "submissions")) == 0);
	commands_refused(&c, "bob", "user.export", named("name", "alice"), KETTLE_EACCES);
	commands_refused(&c, "stranger", "user.export", json_object(), KETTLE_ENOENT);
}

static void
test_user_delete(void **state)
{
	(void)state;
	commands_submit(&c, "alice", "arena", "ranked");
	finish(1.0);
	commands_submit(&c, "alice", "arena", "ranked");
	(void)commands_must(&c, "alice", "token.create", named("name", "laptop"));
	commands_refused(&c, "bob", "user.delete", named("name", "alice"), KETTLE_EACCES);
	int64_t id = fixture_int(&c.f, "SELECT id FROM users WHERE name = 'alice'");
	/* A new user could submit as often again; what was deleted counts, too. */
	fixture_sql(&c.f, "INSERT INTO rate_limits SELECT id, 'leaderboard', '', 3 FROM leaderboards WHERE name = 'arena'");
	commands_refused(&c, "alice", "user.delete", json_object(), KETTLE_ERATE);
	assert_true(c.err.retry_s > 3500 && c.err.retry_s <= 3600);
	(void)commands_must(&c, "carla", "token.create", named("name", "laptop"));
	(void)commands_must(&c, "carla", "user.delete", json_object());
	fixture_sql(&c.f, "UPDATE submissions SET created_at = created_at - 3600000;"
					  "INSERT INTO rate_spent SELECT leaderboard, user, created_at + 3600000, 99, 'CPU', 'test' FROM "
					  "submissions WHERE id = 1");
	commands_refused(&c, "alice", "user.delete", json_object(), KETTLE_ERATE);
	/* So would one have the day's budgets of devices again. */
	fixture_sql(&c.f,
		"DELETE FROM rate_spent; INSERT INTO device_usage (device, day, user, ms) SELECT 'CPU', now_ms() / 86400000 "
		"+ n, id, 5 FROM users JOIN (SELECT -1 AS n UNION ALL SELECT 0) WHERE name = 'alice'");
	commands_refused(&c, "alice", "user.delete", json_object(), KETTLE_ERATE);
	assert_true(c.err.retry_s > 0 && c.err.retry_s <= 86400);
	fixture_sql(&c.f, "DELETE FROM device_usage WHERE day = (SELECT max(day) FROM device_usage)");
	const json_t *gone = commands_must(&c, "alice", "user.delete", json_object());
	char name[40];
	(void)snprintf(name, sizeof(name), "deleted-%lld", (long long)id);
	assert_string_equal(commands_text(gone, "user_name"), name);
	assert_int_equal(json_array_size(commands_at(gone, "cancelled")), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM tokens"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM identities WHERE subject = 'alice'"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM events WHERE user_name = 'alice'"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions"), 2);
	const json_t *shown = commands_must(&c, "bob", "leaderboard.show", named("name", "arena"));
	assert_string_equal(commands_text(shown, "rankings.0.entries.0.user_name"), name);
	/* The same account is a new user. */
	commands_submit(&c, "alice", "arena", "test");
	assert_int_equal(fixture_int(&c.f, "SELECT id > 0 AND id <> (SELECT user FROM submissions WHERE id = 1) FROM users "
									   "WHERE name = 'alice'"),
		1);
	(void)commands_must(&c, "dave:admin", "user.ban", json_pack("{s:s, s:s}", "name", "alice", "reason", "no"));
	commands_refused(&c, "alice", "user.delete", json_object(), KETTLE_EACCES);
	fixture_sql(&c.f, "UPDATE users SET role = iif(name = 'owner', 'admin', 'user')");
	commands_refused(&c, "dave:admin", "user.delete", named("name", "owner"), KETTLE_ECONFLICT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_token),
	TEST(test_revoked_events),
	TEST(test_token_limits),
	TEST(test_login),
	TEST(test_login_reset),
	TEST(test_logins_end),
	TEST(test_identity),
	TEST(test_count),
	TEST(test_count_steps),
	TEST(test_delete_all),
	TEST(test_user_data),
	TEST(test_user_delete),
};

UNIT_TESTS(test_cmd_token);
