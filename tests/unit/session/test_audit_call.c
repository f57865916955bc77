/* SPDX-License-Identifier: MIT */
/* The log of who did what: which calls it has, what of them, and for whom. */
#include <config.h>

#include "unit/core_fixture.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

#include <string.h>

/* A further argument of an entry, or NULL. */
static const json_t *
with(const json_t *entry, const char *name)
{
	json_array_each(json_object_get(entry, "with"), one)
		if (member_is(one, "name", name))
			return json_object_get(one, "value");
	return NULL;
}

/* The newest entry, as an admin sees it. */
static const json_t *
newest(void)
{
	return commands_at(cores_must(0, "root:admin", "admin.log", json_pack("{s:i}", "limit", 1)), "entries.0");
}

static size_t
logged(json_t *args)
{
	return json_array_size(json_object_get(cores_must(0, "root:admin", "admin.log", args), "entries"));
}

/* Fails unless the newest entry has this command, of this actor. */
static const json_t *
expect(const char *actor, const char *command)
{
	const json_t *entry = newest();
	assert_string_equal(commands_text(entry, "command"), command);
	assert_string_equal(commands_text(entry, "actor"), actor);
	return entry;
}

/* An organizer's and an admin's changes, with what they concern. */
static void
test_changes(void **state)
{
	(void)state;
	assert_string_equal(commands_text(expect("owner", "leaderboard.create"), "leaderboards.0"), "arena");
	cores_must(0, "owner:creator", "leaderboard.rate_limit",
		json_pack("{s:s, s:i, s:s}", "name", "ARENA", "per_hour", 6, "category", "test"));
	const json_t *entry = expect("owner", "leaderboard.rate_limit");
	assert_string_equal(commands_text(entry, "leaderboards.0"), "arena");
	assert_int_equal(json_array_size(commands_at(entry, "leaderboards")), 1);
	assert_int_equal(json_integer_value(with(entry, "per_hour")), 6);
	assert_string_equal(json_string_value(with(entry, "category")), "test");
	json_int_t id = json_integer_value(json_object_get(cores_must(0, "ada", "submit", cores_file("arena")), "id"));
	cores_must(0, "owner:creator", "submission.flag", json_pack("{s:I, s:s}", "id", id, "reason", "a private word"));
	entry = expect("owner", "submission.flag");
	assert_int_equal(commands_number(entry, "submission"), id);
	assert_string_equal(commands_text(entry, "leaderboards.0"), "arena");
	assert_string_equal(commands_text(entry, "users.0"), "ada");
	assert_int_equal(json_array_size(commands_at(entry, "with")), 0);
	cores_must(0, "root:admin", "user.ban", json_pack("{s:s, s:s}", "name", "cli:new", "reason", "a private word"));
	entry = expect("root", "user.ban");
	assert_string_equal(commands_text(entry, "users.0"), "new");
	assert_int_equal(json_array_size(commands_at(entry, "leaderboards")), 0);
	cores_must(0, "root:admin", "user.role", json_pack("{s:s, s:s}", "name", "ada", "role", "creator"));
	assert_string_equal(json_string_value(with(expect("root", "user.role"), "role")), "creator");
	cores_must(0, "root:admin", "device.disable", json_pack("{s:s, s:s}", "unit", "CPU.0", "reason", "a private word"));
	entry = expect("root", "device.disable");
	assert_string_equal(json_string_value(json_array_get(with(entry, "unit"), 0)), "CPU.0");
	assert_int_equal(json_array_size(commands_at(entry, "with")), 1);
	cores_must(0, "owner:creator", "leaderboard.update", json_pack("{s:s, s:s}", "name", "Arena", "rename", "stadium"));
	entry = expect("owner", "leaderboard.update");
	assert_int_equal(json_array_size(commands_at(entry, "leaderboards")), 2);
	assert_string_equal(commands_text(entry, "leaderboards.1"), "stadium");
	cores_must(0, "owner:creator", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "stadium", "force", 1));
	assert_string_equal(commands_text(expect("owner", "leaderboard.delete"), "leaderboards.0"), "stadium");
}

/* Neither texts that users wrote nor secrets are there; what failed, was only planned, or is a user's own is not, either. */
static void
test_nothing_else(void **state)
{
	(void)state;
	cores_must(0, "owner:creator", "invite.create", json_pack("{s:s}", "name", "arena"));
	AUTO_JSON json_t *code = json_incref((json_t *)commands_at(cores_answer.result, "codes.0"));
	cores_must(0, "owner:creator", "invite.revoke", json_pack("{s:O}", "code", code));
	assert_string_equal(commands_text(expect("owner", "invite.revoke"), "leaderboards.0"), "arena");
	cores_must(0, "root:admin", "token.create", json_pack("{s:s}", "name", "laptop"));
	AUTO_JSON json_t *token = json_incref((json_t *)commands_at(cores_answer.result, "token"));
	assert_int_equal(json_array_size(commands_at(expect("root", "token.create"), "with")), 0);
	size_t before = logged(json_object());
	cores_must(0, "ada", "token.create", json_pack("{s:s}", "name", "mine"));
	assert_int_equal(
		cores_run(0, "ada", "user.ban", json_pack("{s:s, s:s}", "name", "owner", "reason", "x")), KETTLE_EACCES);
	assert_int_equal(cores_run(0, "root:admin", "user.ban", json_pack("{s:s, s:s}", "name", "nobody", "reason", "x")),
		KETTLE_ENOENT);
	cores_must(0, "ada", "submit", cores_file("arena"));
	cores_must(0, "root:admin", "user.list", json_object());
	assert_int_equal(logged(json_object()), before);
	AUTO_FREE char *all = json_dumps(cores_must(0, "root:admin", "admin.log", json_object()), 0);
	assert_null(strstr(all, json_string_value(code)));
	assert_null(strstr(all, json_string_value(token)));
}

/* Commands that also show, that are in parts, or that name a submission by a word. */
static void
test_forms(void **state)
{
	(void)state;
	cores_must(0, "root:admin", "user.role", json_pack("{s:s, s:s}", "name", "cli:ada", "role", "admin"));
	size_t before = logged(json_object());
	cores_must(0, "ada", "user.link", json_object());
	AUTO_JSON json_t *code = json_incref((json_t *)commands_at(cores_answer.result, "code"));
	cores_must(0, "owner:creator", "user.link", json_pack("{s:O}", "code", code));
	assert_int_equal(logged(json_object()), before);
	json_int_t id =
		json_integer_value(json_object_get(cores_must(0, "owner:creator", "submit", cores_file("arena")), "id"));
	cores_must(0, "owner:creator", "submission.cancel", json_pack("{s:s}", "id", "latest"));
	const json_t *entry = expect("owner", "submission.cancel");
	assert_int_equal(commands_number(entry, "submission"), id);
	assert_string_equal(commands_text(entry, "leaderboards.0"), "arena");
	cores_must(0, "owner:creator", "submission.delete_own", json_pack("{s:s}", "leaderboard", "arena"));
	assert_string_equal(commands_text(expect("owner", "submission.delete_own"), "leaderboards.0"), "arena");
	assert_int_equal(logged(json_object()), before + 2);
	cores_must(0, "owner:creator", "user.link", json_pack("{s:O, s:b}", "code", code, "confirm", 1));
	entry = expect("owner", "user.link");
	assert_int_equal(json_array_size(commands_at(entry, "with")), 1);
	assert_int_equal(json_array_size(commands_at(entry, "users")), 2);
}

/* What the engine began may stay although the command failed. */
static void
test_failed(void **state)
{
	(void)state;
	assert_int_equal(
		cores_run(0, "root:admin", "device.disable", json_pack("{s:s}", "unit", "nowhere")), KETTLE_ENOENT);
	const json_t *entry = expect("root", "device.disable");
	assert_string_equal(commands_text(entry, "error"), kettle_error_name(KETTLE_ENOENT));
	cores_must(0, "root:admin", "device.disable", json_pack("{s:s}", "unit", "CPU.0"));
	assert_true(json_is_null(commands_at(expect("root", "device.disable"), "error")));
}

/* Of one user, of one board, page by page; only admins read it. */
static void
test_pages(void **state)
{
	(void)state;
	cores_board(0, "other", true);
	cores_must(0, "root:admin", "admin.pause", json_object());
	cores_must(0, "root:admin", "admin.resume", json_object());
	assert_int_equal(cores_run(0, "carol:creator", "admin.log", json_object()), KETTLE_EACCES);
	assert_int_equal(logged(json_pack("{s:s}", "of", "root")), 2);
	assert_int_equal(logged(json_pack("{s:s}", "of", "owner")), 2);
	assert_int_equal(logged(json_pack("{s:s}", "leaderboard", "OTHER")), 1);
	const json_t *page = cores_must(0, "root:admin", "admin.log", json_pack("{s:i}", "limit", 3));
	json_int_t next = commands_number(page, "next");
	assert_string_equal(commands_text(page, "entries.0.command"), "admin.resume");
	page = cores_must(0, "root:admin", "admin.log", json_pack("{s:I}", "before", next));
	assert_int_equal(json_array_size(commands_at(page, "entries")), 1);
	assert_string_equal(commands_text(page, "entries.0.leaderboards.0"), "arena");
	assert_true(json_is_null(commands_at(page, "next")));
	/* A user who is deleted has another name there, too. */
	cores_must(0, "root:admin", "user.role", json_pack("{s:s, s:s}", "name", "cli:ada", "role", "creator"));
	cores_must(0, "root:admin", "user.delete", json_pack("{s:s}", "name", "ada"));
	AUTO_FREE char *all = json_dumps(cores_must(0, "root:admin", "admin.log", json_object()), 0);
	assert_null(strstr(all, "\"ada\""));
	assert_non_null(strstr(all, "deleted-"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cores_setup, cores_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_changes),
	TEST(test_nothing_else),
	TEST(test_forms),
	TEST(test_failed),
	TEST(test_pages),
};

UNIT_TESTS(test_audit_call);
