/* SPDX-License-Identifier: MIT */
/* Leaderboards that are created and deleted on Discord: menus, forms, restarts, and who may press what. */
#include <config.h>

#include "unit/discord/bot_fixture.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

#define ZIP "PK zip"

/* ---- creating ---- */

static json_t *
attached(struct bot_fixture *f, const char *name, json_int_t size)
{
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/files/%s", f->server.port, name);
	return json_pack("{s:s, s:s, s:s, s:I}", "id", "300", "filename", name, "url", url, "size", size);
}

static json_t *
request(struct bot_fixture *f, const char *option, const char *file)
{
	return json_pack(
		"{s:s, s:s, s:o}", "leaderboard_name", "new_one", "deadline", "+30d", option, attached(f, file, 6));
}

/* The engine's answers until the board is there. gpus: what the task names. */
static void
prepare(struct bot_fixture *f, json_t *gpus_take)
{
	fixture_answer(f, "task.unpack", json_pack("{s:s, s:{s:o}}", "name", "t", "task", "gpus", gpus_take));
	fixture_answer(f, "leaderboard.check_name", json_pack("{s:s}", "name", "new_one"));
	fixture_answer(f, "device.list", json_pack("[{s:s}, {s:s}]", "name", "CPU", "name", "H100"));
	fixture_answer(f, "leaderboard.create",
		json_pack("{s:s, s:s, s:[s, s], s:[s]}", "name", "new_one", "deadline", "2026-07-01T10:00:00Z", "gpu_types",
			"CPU", "H100", "remarks", "No test has a `seed`."));
	server_step(&f->server, "GET /files/", 200, NULL, ZIP);
}

static void
assert_created(struct bot_fixture *f, const json_t *message, json_t *devices_take)
{
	fixture_says(message, "Created leaderboard **new\\_one** on CPU, H100; it ends <t:1782900000:f>.\nRemark: No test "
						  "has a `seed`\\.");
	fixture_called(f, 0, "leaderboard.create",
		json_pack("{s:s, s:s, s:O, s:o*}", "name", "new_one", "deadline", "+30d", "task",
			json_object_get(f->answers, "task.unpack"), "device", devices_take));
	assert_int_equal(json_object_size(kettle_fake_state(f->fake)), 0);
}

static void
test_menu(void **state)
{
	struct bot_fixture *f = *state;
	prepare(f, json_array());
	const json_t *message = fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip"));
	AUTO_FREE char *base64 = base64_encode(ZIP, strlen(ZIP));
	fixture_called(
		f, 1, "task.unpack", json_pack("{s:{s:s, s:s}, s:b}", "file", "name", "t.zip", "base64", base64, "choose", 1));
	fixture_called(f, 0, "device.list", json_pack("{s:b}", "known", 1));
	fixture_says(
		message, "Which devices should **new\\_one** be ranked on? You may choose several; each has its own ranking.");
	AUTO_FREE char *id = xstrdup(fixture_button(message, 0, 0));
	assert_int_equal(json_object_size(kettle_fake_state(f->fake)), 1);
	f->user = FIXTURE_BOB;
	fixture_says(fixture_pressed(f, id, json_pack("[s]", "CPU")), "This menu belongs to another user.");
	f->user = FIXTURE_ADA;
	/* Refused by the core: the menu can be used again. */
	AUTO_JSON json_t *created = json_incref(json_object_get(f->answers, "leaderboard.create"));
	fixture_fail(f, "leaderboard.create", KETTLE_ECONFLICT, "The leaderboard `new_one` already exists.");
	message = fixture_pressed(f, id, json_pack("[s, s]", "CPU", "H100"));
	fixture_says(message, "The leaderboard `new_one` already exists\\.");
	assert_true(member_true(message, "_follow_up"));
	fixture_answer(f, "leaderboard.create", json_incref(created));
	assert_created(f, fixture_pressed(f, id, json_pack("[s, s]", "CPU", "H100")), json_pack("[s, s]", "CPU", "H100"));
	fixture_has(fixture_pressed(f, id, json_pack("[s]", "CPU")), "This menu is no longer valid");
	fixture_has(fixture_pressed(f, "create:", json_pack("[s]", "CPU")), "This menu is no longer valid");
}

/* The task names its devices, or there is one alone: no menu. */
static void
test_no_menu(void **state)
{
	struct bot_fixture *f = *state;
	prepare(f, json_pack("[s]", "CPU"));
	assert_created(f, fixture_run(f, "leaderboard create", request(f, "reference_code", "t.CUH")), NULL);
	prepare(f, json_array());
	fixture_answer(f, "device.list", json_pack("[{s:s}]", "name", "CPU"));
	assert_created(f, fixture_run(f, "leaderboard create", request(f, "reference_code", "t.py")), NULL);
}

/* Several languages fit the reference file: after the devices, and again when they are known, the user chooses one. */
static void
test_language(void **state)
{
	struct bot_fixture *f = *state;
	prepare(f, json_array());
	AUTO_JSON json_t *task = json_incref(json_object_get(f->answers, "task.unpack")), *several = json_deep_copy(task);
	json_object_set_new(several, "languages", json_pack("[s, s]", "cu", "cpp"));
	fixture_answer(f, "task.unpack", json_incref(several));
	AUTO_FREE char *id =
		xstrdup(fixture_button(fixture_run(f, "leaderboard create", request(f, "reference_code", "t.cpp")), 0, 0));
	server_step(&f->server, "GET /files/", 200, NULL, ZIP);
	const json_t *message = fixture_pressed(f, id, json_pack("[s]", "H100"));
	fixture_has(message, "several languages");
	AUTO_FREE char *base64 = base64_encode(ZIP, strlen(ZIP));
	fixture_called(f, 0, "task.unpack",
		json_pack(
			"{s:{s:s, s:s}, s:b, s:[s]}", "file", "name", "t.cpp", "base64", base64, "choose", 1, "device", "H100"));
	fixture_answer(f, "task.unpack", json_incref(task));
	server_step(&f->server, "GET /files/", 200, NULL, ZIP);
	assert_created(f, fixture_pressed(f, id, json_pack("[s]", "cpp")), json_pack("[s]", "H100"));
	fixture_called(f, 1, "task.unpack",
		json_pack("{s:{s:s, s:s}, s:b, s:s, s:[s]}", "file", "name", "t.cpp", "base64", base64, "choose", 1, "lang",
			"cpp", "device", "H100"));
	assert_int_equal(server_seen(&f->server, "GET /files/t.cpp"), 3);
}

/* A board that is created although its deadline has passed, or no submission could pass. */
static void
test_forced(void **state)
{
	struct bot_fixture *f = *state;
	prepare(f, json_pack("[s]", "CPU"));
	AUTO_JSON json_t *task = json_incref(json_object_get(f->answers, "task.unpack"));
	json_t *forced = request(f, "task_zip", "t.zip");
	(void)json_object_set_new(forced, "force", json_true());
	(void)json_object_set_new(forced, "deadline", json_string("2020-01-01"));
	(void)fixture_run(f, "leaderboard create", forced);
	fixture_called(f, 2, "leaderboard.check_name",
		json_pack("{s:s, s:s, s:b}", "name", "new_one", "deadline", "2020-01-01", "force", 1));
	fixture_called(f, 0, "leaderboard.create",
		json_pack("{s:s, s:s, s:O, s:b}", "name", "new_one", "deadline", "2020-01-01", "task", task, "force", 1));
}

static struct bot_fixture *tried;

/* An engine that tries the leaderboard before it answers, and another one for another user. */
static int
try_first(const json_t *actor, const char *command, const json_t *args, json_t **ret_result, struct kettle_error *err)
{
	static const char *const names[] = {"other", "new_one"};
	(void)actor, (void)args, (void)err;
	for (size_t i = 0; i < 2 && strcmp(command, "leaderboard.create") == 0; i++) {
		AUTO_JSON json_t *event = json_pack("{s:s, s:b, s:s, s:{s:s, s:s, s:i, s:i}}", "kind", "progress", "task_run",
			1, "device", "CPU", "event", "event", "trying", "name", names[i], "index", 1, "count", 1);
		assert_int_equal(kettle_fake_event(tried->fake, event), 0);
	}
	*ret_result = json_deep_copy(json_object_get(tried->answers, command));
	return 0;
}

/* While a task is tried a message below the menu says so, once. */
static void
test_trying(void **state)
{
	struct bot_fixture *f = tried = *state;
	prepare(f, json_array());
	AUTO_FREE char *id =
		xstrdup(fixture_button(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")), 0, 0));
	size_t before = fixture_count(f), says = 0;
	f->engine = try_first;
	(void)fixture_pressed(f, id, json_pack("[s]", "CPU"));
	(void)fixture_message(f, before + 1);
	for (size_t at = before; at < fixture_count(f); at++) {
		const char *content = json_text_or_empty(fixture_message(f, at), "content");
		assert_null(strstr(content, "other"));
		says += strcmp(content, "Trying the task of **new\\_one**…") == 0;
	}
	assert_int_equal(says, 1);
}

/* A crash while the menu waits: what it was for is fetched again. */
static void
test_restart(void **state)
{
	struct bot_fixture *f = *state;
	prepare(f, json_array());
	AUTO_FREE char *id =
		xstrdup(fixture_button(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")), 0, 0));
	fixture_restart(f);
	prepare(f, json_array());
	assert_created(f, fixture_pressed(f, id, json_pack("[s]", "H100")), json_pack("[s]", "H100"));
	assert_int_equal(server_seen(&f->server, "GET /files/t.zip"), 2);
	/* Too old. */
	json_object_set_new(kettle_fake_state(f->fake), "make/5", json_pack("{s:s, s:i}", "user", FIXTURE_ADA, "begun", 1));
	fixture_has(fixture_pressed(f, "create:5", json_pack("[s]", "CPU")), "no longer valid");
	fixture_restart(f);
	assert_int_equal(kettle_fake_run(f->fake, NULL, NULL, 1), 0);
	assert_int_equal(json_object_size(kettle_fake_state(f->fake)), 0);
}

/* Twenty menus may wait, each with its task; the oldest goes. */
static void
test_many(void **state)
{
	struct bot_fixture *f = *state;
	prepare(f, json_array());
	AUTO_FREE char *first = NULL;
	for (int i = 0; i < 21; i++) {
		const json_t *message = fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip"));
		if (!first)
			first = xasprintf("make/%s", strchr(fixture_button(message, 0, 0), ':') + 1);
		assert_true(i == 20 || json_object_get(kettle_fake_state(f->fake), first));
	}
	assert_int_equal(json_object_size(kettle_fake_state(f->fake)), 20);
	assert_null(json_object_get(kettle_fake_state(f->fake), first));
}

static void
test_refusals(void **state)
{
	struct bot_fixture *f = *state;
	json_t *both = request(f, "task_zip", "t.zip");
	(void)json_object_set_new(both, "reference_code", attached(f, "t.py", 1));
	static const char *const choose = "Attach either `task_zip` or `reference_code`.";
	fixture_answer(f, "leaderboard.check_name", json_pack("{s:s}", "name", "new_one"));
	fixture_says(fixture_run(f, "leaderboard create", both), choose);
	fixture_says(fixture_run(f, "leaderboard create", json_pack("{s:s}", "leaderboard_name", "x")), choose);
	fixture_has(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.py")), "must be a .zip");
	fixture_has(
		fixture_run(f, "leaderboard create", request(f, "reference_code", "t.txt")), "must be a .py, .cu, .cuh");
	json_t *large = request(f, "task_zip", "t.zip");
	(void)json_object_set_new(large, "task_zip", attached(f, "t.zip", 1001));
	fixture_says(fixture_run(f, "leaderboard create", large), "The file has 1001 bytes; the limit is 1000.");
	json_t *elsewhere = request(f, "task_zip", "t.zip");
	(void)json_object_set_new(elsewhere, "task_zip",
		json_pack("{s:s, s:s, s:i}", "filename", "t.zip", "url", "https://other.example/t.zip", "size", 1));
	assert_string_not_equal(json_text_or_empty(fixture_run(f, "leaderboard create", elsewhere), "content"), "");
	assert_int_equal(json_array_size(f->calls), 1);
	fixture_called(f, 0, "leaderboard.check_name", json_pack("{s:s, s:s}", "name", "new_one", "deadline", "+30d"));
	/* Gone; larger than Discord said; and what the task's check says. */
	server_step(&f->server, "GET /files/", 404, NULL, "");
	assert_string_not_equal(
		json_text_or_empty(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")), "content"), "");
	static char over[1200];
	memset(over, 'x', sizeof(over) - 1);
	server_step(&f->server, "GET /files/", 200, NULL, over);
	fixture_has(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")), "1000");
	assert_int_equal(json_array_size(f->calls), 3);
	fixture_fail(f, "task.unpack", KETTLE_EINVAL, "t.zip: task.yml:1:3: `a*` is no key.");
	server_step(&f->server, "GET /files/", 200, NULL, ZIP);
	fixture_says(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")),
		"t\\.zip\\: task\\.yml\\:1\\:3\\: `a*` is no key\\.");
	/* A name that cannot be is refused before the file is fetched and before devices are asked for. */
	fixture_fail(f, "leaderboard.check_name", KETTLE_ECONFLICT, "It is taken.");
	fixture_says(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")), "It is taken\\.");
	fixture_called(f, 0, "leaderboard.check_name", json_pack("{s:s, s:s}", "name", "new_one", "deadline", "+30d"));
}

/* Nothing is fetched for who may not create boards; the engine may say more of a user than Discord. */
static void
test_creators(void **state)
{
	struct bot_fixture *f = *state;
	prepare(f, json_pack("[s]", "CPU"));
	f->role = NULL;
	static const char *const refused = "Only <@&51>, <@&50> and administrators of this server may create leaderboards.";
	fixture_says(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")), refused);
	fixture_answer(f, "user.show", json_pack("{s:s}", "role", "user"));
	fixture_says(fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")), refused);
	assert_int_equal(server_seen(&f->server, "GET"), 0);
	fixture_answer(f, "user.show", json_pack("{s:s}", "role", "creator"));
	assert_created(f, fixture_run(f, "leaderboard create", request(f, "task_zip", "t.zip")), NULL);
}

/* ---- deleting ---- */

static void
test_form(void **state)
{
	struct bot_fixture *f = *state;
	const json_t *form = fixture_run(f, "leaderboard delete", json_pack("{s:s}", "leaderboard_name", "old_one"));
	assert_true(member_true(form, "_form"));
	assert_string_equal(json_text_or_empty(form, "custom_id"), "deleted:old_one");
	assert_int_equal(json_array_size(f->calls), 0);
	size_t before = fixture_count(f);
	fixture_form(f, "deleted:old_one", json_pack("{s:s}", "name", "old *one"));
	fixture_says(fixture_message(f, before),
		"You typed **old \\*one**, but the leaderboard is **old\\_one**. Nothing was deleted.");
	assert_int_equal(json_array_size(f->calls), 0);
	fixture_answer(f, "leaderboard.delete", json_pack("{s:s, s:i}", "name", "old_one", "submissions", 12));
	before = fixture_count(f);
	fixture_form(f, "deleted:old_one", json_pack("{s:s}", "name", " OLD_one "));
	fixture_says(fixture_message(f, before), "Deleted leaderboard **old\\_one** and its 12 submissions.");
	fixture_called(f, 0, "leaderboard.delete", json_pack("{s:s, s:b}", "name", "old_one", "force", 1));
	fixture_fail(f, "leaderboard.delete", KETTLE_EACCES, "The leaderboard `old_one` belongs to another user.");
	before = fixture_count(f);
	fixture_form(f, "deleted:old_one", json_pack("{s:s}", "name", "old_one"));
	fixture_has(fixture_message(f, before), "belongs to another user");
}

/* Names that no custom id can hold, or that no board has. */
static void
test_bad_names(void **state)
{
	struct bot_fixture *f = *state;
	AUTO_FREE char *longest = xmalloc(200);
	memset(longest, 'x', 199);
	longest[199] = '\0';
	fixture_has(fixture_run(f, "leaderboard delete", json_pack("{s:s}", "leaderboard_name", longest)),
		"There is no leaderboard");
	fixture_says(fixture_run(f, "leaderboard delete", json_pack("{s:s}", "leaderboard_name", "@here :x")),
		"There is no leaderboard **\\@here \\:x**.");
	size_t before = fixture_count(f);
	fixture_form(f, "deleted:", json_pack("{s:s}", "name", ""));
	fixture_has(fixture_message(f, before), "Nothing was deleted.");
	assert_int_equal(json_array_size(f->calls), 0);
}

static const json_t *
choices(const json_t *message)
{
	return json_object_get(
		json_array_get(json_object_get(json_array_get(json_object_get(message, "components"), 0), "components"), 0),
		"options");
}

static void
test_delete_menu(void **state)
{
	struct bot_fixture *f = *state;
	json_t *boards = json_array();
	for (int i = 0; i < 30; i++) {
		AUTO_FREE char *name = xasprintf("b%02d", i);
		(void)json_array_append_new(boards, json_pack("{s:s, s:s}", "name", name, "creator", i == 3 ? "ADA" : "bob"));
	}
	fixture_answer(f, "leaderboard.list", boards);
	fixture_fail(f, "user.show", KETTLE_ENOENT, "You are not a user here yet.");
	fixture_says(fixture_run(f, "leaderboard delete", NULL), "There is no leaderboard that you may delete.");
	fixture_called(f, 1, "leaderboard.list", json_pack("{s:b, s:b}", "all", 1, "short", 1));
	fixture_answer(f, "user.show", json_pack("{s:s, s:s}", "user_name", "ada", "role", "creator"));
	const json_t *message = fixture_run(f, "leaderboard delete", NULL);
	assert_int_equal(json_array_size(choices(message)), 1);
	assert_string_equal(json_text_or_empty(json_array_get(choices(message), 0), "value"), "b03");
	f->role = "50";
	message = fixture_run(f, "leaderboard delete", NULL);
	assert_int_equal(json_array_size(choices(message)), 25);
	assert_string_equal(fixture_button(message, 1, 0), "delete:25:");
	message = fixture_pressed(f, "delete:25:", NULL);
	assert_int_equal(json_array_size(choices(message)), 5);
	assert_string_equal(fixture_button(message, 0, 0), "delete:");
	const json_t *form = fixture_pressed(f, "delete:", json_pack("[s]", "b29"));
	assert_string_equal(json_text_or_empty(form, "custom_id"), "deleted:b29");
	fixture_has(fixture_pressed(f, "delete:x", NULL), "earlier version");
}

static int
creator_setup(void **state)
{
	(void)fixture_setup(state);
	((struct bot_fixture *)*state)->role = "51";
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, creator_setup, fixture_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_menu),
	TEST(test_no_menu),
	TEST(test_language),
	TEST(test_forced),
	TEST(test_trying),
	TEST(test_restart),
	TEST(test_many),
	TEST(test_refusals),
	TEST(test_creators),
	TEST(test_form),
	TEST(test_bad_names),
	TEST(test_delete_menu),
};

UNIT_TESTS(test_boards);
