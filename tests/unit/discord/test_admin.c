/* SPDX-License-Identifier: MIT */
/* The commands of admins: who may use them, what the engine is asked, what is shown. */
#include <config.h>

#include "unit/discord/bot_fixture.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/commands/table.h"
#include "lib/unit_test.h"

static int
admin_setup(void **state)
{
	(void)fixture_setup(state);
	((struct bot_fixture *)*state)->role = "50";
	return 0;
}

/* Nothing of /admin reaches the engine, whatever the core would let a creator do. */
static void
test_refused(void **state)
{
	struct bot_fixture *f = *state;
	static const char *const roles[] = {NULL, "51", "52"};
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		for (const struct bot_command *command = discord_commands; command->path; command++) {
			if (strncmp(command->path, "admin ", 6) != 0 || (i > 0 && strcmp(command->path, "admin rate-limit") != 0))
				continue;
			f->role = roles[i];
			fixture_says(
				fixture_run(f, command->path, NULL), "Only <@&50> and administrators of this server may use `/admin`.");
		}
	f->bot.roles[BOT_ADMIN][0] = '\0';
	fixture_says(fixture_run(f, "admin stop", NULL), "Only administrators of this server may use `/admin`.");
	assert_int_equal(json_array_size(f->calls), 0);
}

static void
test_roles(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "admin.pause", json_pack("{s:b}", "accepts_jobs", 0));
	f->role = NULL;
	f->permissions = "8"; /* an administrator of the guild */
	fixture_says(fixture_run(f, "admin stop", NULL),
		"Kettle accepts no more submissions until `/admin start`; those that it has accepted still run.");
	const json_t *call = json_array_get(f->calls, 0);
	assert_string_equal(json_text_or_empty(json_object_get(call, "actor"), "role"), "admin");
	fixture_called(f, 0, "admin.pause", json_object());
	fixture_answer(f, "admin.resume", json_pack("{s:b}", "accepts_jobs", 1));
	fixture_says(fixture_run(f, "admin start", NULL), "Kettle accepts submissions.");
	fixture_called(f, 0, "admin.resume", json_object());
}

static void
test_stats(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "admin.stats",
		json_pack("{s:b, s:{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f}}", "accepts_jobs", 0, "stats",
			"num_submissions", 2, "sub_waiting", 1, "num_users", 1, "num_unique_codes", 2, "num_run.CPU", 3,
			"runs_passed.CPU", 2, "runs_scored.CPU", 1, "avg_delay.CPU", 0.5, "total_runtime.CPU", 2.0));
	const json_t *message =
		fixture_run(f, "admin show-stats", json_pack("{s:b, s:s}", "last_day_only", 1, "leaderboard_name", "x"));
	fixture_called(f, 0, "admin.stats", json_pack("{s:b, s:s}", "last_day", 1, "leaderboard", "x"));
	fixture_has(message,
		"2 submissions (1 of them open) of 1 user, 2 different files.\nKettle accepts no submissions at the "
		"moment.\n```\ndevice  runs");
	fixture_has(message, "CPU        3");
	fixture_run(f, "admin show-stats", NULL);
	fixture_called(f, 0, "admin.stats", json_object());
}

static void
test_verify(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "device.verify",
		json_pack("{s:[{s:s, s:s, s:s, s:[{s:s, s:s}]}, {s:s, s:s, s:s, s:[]}]}", "units", "device", "CPU", "unit",
			"CPU.1", "state", "passed", "tasks", "name", "vectoradd", "state", "passed", "device", "H100", "unit",
			"H100.1", "state", "failed", "tasks"));
	const json_t *message = fixture_run(f, "verifyruns", NULL);
	fixture_called(f, 0, "device.verify", json_object());
	fixture_has(message, "```\nCPU.1: passed\n  vectoradd: passed\nH100.1:");
	fixture_answer(f, "admin.verify",
		json_pack("{s:b, s:[{s:s, s:[]}, {s:s, s:[s]}]}", "ok", 0, "checks", "what", "the file", "violations", "what",
			"rankings", "violations", "board 3 ```"));
	message = fixture_run(f, "verifydb", NULL);
	fixture_called(f, 0, "admin.verify", json_object());
	fixture_says(message, "```\nok  the file\nrankings:\n  board 3 `` `\n```");
	f->role = NULL;
	fixture_says(
		fixture_run(f, "verifydb", NULL), "Only <@&50> and administrators of this server may use `/verifydb`.");
	fixture_called(f, 0, "admin.verify", json_object());
}

static void
test_resync(void **state)
{
	struct bot_fixture *f = *state;
	f->bot.settings.roles[BOT_PARTICIPANTS] = "60";
	server_step(&f->server, "GET /api/applications/900/guilds/1/commands", 200, NULL, "[]");
	server_step(
		&f->server, "GET /api/guilds/1/roles", 200, NULL, "[{\"id\": \"50\", \"name\": \"leaderboard admin\"}]");
	server_step(&f->server, "POST /api/guilds/1/roles", 200, NULL, "{\"id\": \"51\"}");
	const json_t *message = fixture_run(f, "admin resync", NULL);
	fixture_says(message, "The commands are registered\\.\nCreated the role **Leaderboard Creator**.\nThe server has "
						  "no role with the id 60, which the configuration names: correct it.");
	assert_int_equal(server_seen(&f->server, "PUT /api/applications/900/guilds/1/commands"), 1);
	assert_int_equal(server_seen(&f->server, "POST /api/guilds/1/roles"), 1);
	assert_string_equal(f->bot.roles[BOT_ADMIN], "50");
	assert_string_equal(f->bot.roles[BOT_CREATOR], "51");
	/* The bot may lack the permission. */
	server_step(&f->server, "GET /api/applications/900/guilds/1/commands", 200, NULL, "[]");
	server_step(
		&f->server, "GET /api/guilds/1/roles", 200, NULL, "[{\"id\": \"50\", \"name\": \"Leaderboard Admin\"}]");
	server_step(
		&f->server, "POST /api/guilds/1/roles", 403, NULL, "{\"message\": \"Missing Permissions\", \"code\": 50013}");
	fixture_has(fixture_run(f, "admin resync", NULL), "Discord did not create a role: ");
	server_step(&f->server, "GET /api/applications/900/guilds/1/commands", 200, NULL, "[]");
	server_step(&f->server, "GET /api/guilds/1/roles", 403, NULL, "{}");
	fixture_has(fixture_run(f, "admin resync", NULL), "Kettle could not read the server's roles: ");
}

/* Who may manage roles cannot make himself an admin by a role of the same name. */
static void
test_same_name(void **state)
{
	struct bot_fixture *f = *state;
	AUTO_JSON json_t *roles =
		json_loads("[{\"id\": \"60\", \"name\": \"Leaderboard Admin\"}, {\"id\": \"7\", \"name\": \"leaderboard "
				   "admin\"}, {\"id\": \"100\", \"name\": \"Leaderboard Admin\"}, {\"id\": 3, \"name\": "
				   "\"Leaderboard Admin\"}, {\"id\": \"61\", \"name\": \"60\"}]",
			0, NULL);
	f->bot.settings.roles[BOT_CREATOR] = "60";
	bot_take_roles(&f->bot, roles);
	assert_string_equal(f->bot.roles[BOT_ADMIN], "7");
	assert_string_equal(f->bot.roles[BOT_CREATOR], "60"); /* an id is no name */
	bot_take_roles(&f->bot, NULL);
	assert_string_equal(f->bot.roles[BOT_ADMIN], "");
	f->bot.settings.roles[BOT_CREATOR] = "Leaderboard Creator";
}

/* ---- users and submissions ---- */

static void
test_ban(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "user.ban", json_pack("{s:s, s:[i, i]}", "user_name", "m@llory", "cancelled", 1, 2));
	fixture_says(fixture_run(f, "admin ban", json_pack("{s:s, s:s}", "user", FIXTURE_BOB, "reason", "attacks")),
		"Banned **m\\@llory** (<@78>); cancelled 2 submissions.");
	fixture_called(f, 0, "user.ban",
		json_pack("{s:{s:s, s:s}, s:s}", "name", "provider", "discord", "subject", "78", "reason", "attacks"));
	fixture_answer(f, "user.unban", json_pack("{s:s}", "user_name", "mallory"));
	fixture_says(fixture_run(f, "admin unban", json_pack("{s:s}", "user", FIXTURE_BOB)),
		"**mallory** (<@78>) is no longer banned.");
	fixture_called(f, 0, "user.unban", json_pack("{s:{s:s, s:s}}", "name", "provider", "discord", "subject", "78"));
}

static void
test_flag(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "submission.flag", json_pack("{s:i, s:s}", "id", 12, "status", "hacked"));
	fixture_says(fixture_run(f, "admin flag", json_pack("{s:i, s:s}", "submission_id", 12, "reason", "cached")),
		"Marked submission 12 as a cheat; it no longer counts\\.");
	fixture_called(f, 0, "submission.flag", json_pack("{s:i, s:s}", "id", 12, "reason", "cached"));
	fixture_answer(f, "submission.unflag", json_pack("{s:i, s:s}", "id", 12, "status", "ok"));
	fixture_says(fixture_run(f, "admin unflag", json_pack("{s:i}", "submission_id", 12)),
		"Submission 12 is no longer marked as a cheat and counts again\\.");
	fixture_called(f, 0, "submission.unflag", json_pack("{s:i}", "id", 12));
}

static void
test_drop(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(
		f, "submission.show", json_pack("{s:i, s:s, s:s}", "id", 12, "leaderboard_name", "x_y", "user_name", "bob"));
	const json_t *message = fixture_run(f, "admin delete-submission", json_pack("{s:i}", "submission_id", 12));
	fixture_called(f, 0, "submission.show", json_pack("{s:i}", "id", 12));
	fixture_says(message, "Delete submission 12 of **bob** to **x\\_y**? This cannot be undone.");
	assert_string_equal(fixture_button(message, 0, 0), "drop:12");
	assert_string_equal(fixture_button(message, 0, 1), "drop:keep");
	message = fixture_pressed(f, "drop:keep", NULL);
	fixture_says(message, "Nothing was deleted.");
	assert_int_equal(json_array_size(json_object_get(message, "components")), 0);
	assert_int_equal(json_array_size(f->calls), 1);
	fixture_answer(f, "submission.delete", json_pack("{s:i, s:s}", "id", 12, "status", "ok"));
	fixture_says(fixture_pressed(f, "drop:12", NULL), "Deleted submission 12.");
	fixture_called(f, 0, "submission.delete", json_pack("{s:i}", "id", 12));
	/* What no button has is the core's to refuse. */
	fixture_fail(f, "submission.delete", KETTLE_EINVAL, "`id` must be the number of a submission, not 0.");
	fixture_has(fixture_pressed(f, "drop:12x", NULL), "must be the number of a submission");
	fixture_called(f, 0, "submission.delete", json_pack("{s:i}", "id", 0));
}

static void
test_rerun(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "submission.rerun", json_pack("{s:i, s:[s, s]}", "id", 12, "devices", "CPU", "H100"));
	fixture_says(fixture_run(f, "admin rerun", json_pack("{s:i}", "submission_id", 12)),
		"Submission 12 runs again on CPU, H100; until it ends, the earlier verdict counts.");
	fixture_called(f, 0, "submission.rerun", json_pack("{s:i, s:b}", "id", 12, "no_wait", 1));
}

/* ---- boards ---- */

static void
test_update(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "leaderboard.update",
		json_pack("{s:[s, s], s:{s:s}, s:[]}", "changes", "deadline", "code", "leaderboard", "name", "x", "remarks"));
	fixture_says(fixture_run(f, "admin update",
					 json_pack("{s:s, s:s, s:s, s:s}", "leaderboard_name", "x", "deadline", "+7d", "visibility",
						 "closed", "code", "ended")),
		"```\nUpdated leaderboard x: deadline and code.\n  deadline: none\n```");
	fixture_called(f, 0, "leaderboard.update",
		json_pack("{s:s, s:s, s:s, s:s}", "name", "x", "deadline", "+7d", "visibility", "closed", "code_visibility",
			"ended"));
}

static void
test_limits(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "leaderboard.rate_limit",
		json_pack(
			"{s:s, s:[{s:s, s:n, s:i}]}", "leaderboard", "x", "limits", "category", "test", "device", "per_hour", 6));
	fixture_has(fixture_run(f, "admin rate-limit",
					json_pack("{s:s, s:s, s:i}", "leaderboard_name", "x", "category", "test", "per_hour", 6)),
		"test      all together        6");
	fixture_called(
		f, 0, "leaderboard.rate_limit", json_pack("{s:s, s:s, s:i}", "name", "x", "category", "test", "per_hour", 6));
}

static void
test_invite(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "invite.create", json_pack("{s:[s], s:[s, s]}", "leaderboards", "x", "codes", "AAAA", "BBBB"));
	fixture_says(fixture_run(f, "admin invite", json_pack("{s:s, s:i}", "leaderboard_name", "x", "count", 2)),
		"Each code opens **x** to one user, with `/leaderboard join`:\n```\nAAAA\nBBBB\n```");
	fixture_called(f, 0, "invite.create", json_pack("{s:[s], s:i}", "name", "x", "count", 2));
	/* Too many for a message. */
	json_t *codes = json_array();
	for (int i = 0; i < 300; i++)
		(void)json_array_append_new(codes, json_sprintf("CODE%06d", i));
	fixture_answer(f, "invite.create", json_pack("{s:[s], s:o}", "leaderboards", "x", "codes", codes));
	const json_t *message =
		fixture_run(f, "admin invite", json_pack("{s:s, s:i}", "leaderboard_name", "x", "count", 300));
	fixture_says(message, "Each code opens **x** to one user, with `/leaderboard join`:");
	assert_int_equal(json_array_size(json_object_get(message, "attachments")), 1);
}

static void
test_problems(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(
		f, "competition.fetch", json_pack("{s:[{s:s}], s:s}", "sets", "name", "Spring", "source", "https://x"));
	fixture_answer(f, "competition.sync",
		json_pack("{s:[s, s], s:[s], s:[], s:[{s:s, s:s}], s:[{s:s, s:s}], s:[s]}", "created", "a_1", "b", "updated",
			"c", "unchanged", "skipped", "name", "d", "reason", "use `force`", "errors", "name", "e", "error",
			"no task.yml", "absent", "old"));
	const json_t *message = fixture_run(f, "admin update-problems",
		json_pack("{s:s, s:s, s:s, s:b, s:b, s:s}", "repository", "o/n", "problem_set", "Spring", "branch", "main",
			"force", 1, "closed", 1, "harness", "kettle"));
	fixture_says(message,
		"Created: a\\_1, b\nUpdated: c\nNo longer in the repository, and unchanged here: old\n\n```\nskipped d: use "
		"\"force\"\nerror e: no task.yml\n```");
	fixture_called(f, 1, "competition.fetch",
		json_pack("{s:s, s:s, s:s}", "repository", "o/n", "branch", "main", "set", "Spring"));
	fixture_called(f, 0, "competition.sync",
		json_pack("{s:{s:[{s:s}]}, s:b, s:s, s:s}", "problems", "sets", "name", "Spring", "force", 1, "visibility",
			"closed", "harness", "kettle"));
	fixture_answer(f, "competition.sync", json_object());
	fixture_says(fixture_run(f, "admin update-problems", json_pack("{s:s}", "repository", "o/n")),
		"The repository has no leaderboard.");
	fixture_called(f, 0, "competition.sync",
		json_pack(
			"{s:{s:[{s:s}]}, s:b, s:s}", "problems", "sets", "name", "Spring", "force", 0, "visibility", "public"));
	fixture_fail(f, "competition.fetch", KETTLE_EUNAVAIL, "The repository <@1> is not there.");
	fixture_says(fixture_run(f, "admin update-problems", json_pack("{s:s}", "repository", "o/n")),
		"The repository \\<\\@1\\> is not there\\.");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, admin_setup, fixture_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_refused),
	TEST(test_roles),
	TEST(test_stats),
	TEST(test_verify),
	TEST(test_resync),
	TEST(test_same_name),
	TEST(test_ban),
	TEST(test_flag),
	TEST(test_drop),
	TEST(test_rerun),
	TEST(test_update),
	TEST(test_limits),
	TEST(test_invite),
	TEST(test_problems),
};

UNIT_TESTS(test_admin);
