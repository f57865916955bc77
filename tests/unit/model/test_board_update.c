/* SPDX-License-Identifier: MIT */
/* Leaderboards that are changed, also while submissions are queued or running. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/jobs.h"

#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "arena", json_pack("[s, s]", "CPU", "H100")))

static const json_t *
update(const char *who, json_t *args_take)
{
	(void)json_object_set_new(args_take, "name", json_string("arena"));
	return commands_must(&c, who, "leaderboard.update", args_take);
}

static void
refused(const char *who, json_t *args_take, int code)
{
	(void)json_object_set_new(args_take, "name", json_string("arena"));
	commands_refused(&c, who, "leaderboard.update", args_take, code);
}

/* Of the only submission there is, or the newest. */
static int64_t
newest_job(void)
{
	return fixture_int(&c.f, "SELECT max(id) FROM jobs");
}

static json_t *
passed(double score)
{
	return json_pack("{s:s, s:f, s:[]}", "state", "passed", "score", score, "runs");
}

static int64_t
ranked(const char *who, double score)
{
	int64_t id = commands_submit(&c, who, "arena", "ranked");
	commands_finish(&c, newest_job(), passed(score));
	return id;
}

static int64_t
count(const char *from)
{
	char sql[200];
	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", from);
	return fixture_int(&c.f, sql);
}

/* The task of the fixture with another case: it runs differently. */
static json_t *
other_task(void)
{
	json_t *task = commands_task(NULL);
	json_t *files = json_object_get(task, "files");
	(void)json_object_set_new(files, "eval.cpp", json_pack("{s:s}", "text", "int other;\n"));
	return task;
}

static json_t *
described_task(const char *description)
{
	json_t *task = commands_task(NULL);
	AUTO_FREE char *yml = strdup(json_string_value(json_object_get(task, "yml")));
	char *at = strstr(yml, "description: adds");
	assert_non_null(at);
	*at = '\0';
	const char *rest = strchr(at + 1, '\n');
	(void)json_object_set_new(task, "yml", json_sprintf("%sdescription: %s%s", yml, description, rest));
	return task;
}

/* ---- the row ---- */

static void
test_settings(void **state)
{
	(void)state;
	const json_t *result =
		update("owner", json_pack("{s:s, s:s, s:s, s:s, s:s}", "deadline", "2030-01-02", "visibility", "closed", "code",
							"ended", "jit_cache", "no", "description", "Better."));
	assert_int_equal(json_array_size(commands_at(result, "changes")), 5);
	assert_string_equal(json_string_value(json_array_get(commands_at(result, "changes"), 2)), "code_visibility");
	assert_string_equal(commands_text(result, "leaderboard.jit_cache"), "no");
	assert_string_equal(commands_text(result, "leaderboard.deadline"), "2030-01-02T23:59:59.999Z");
	assert_string_equal(commands_text(result, "leaderboard.visibility"), "closed");
	assert_string_equal(commands_text(result, "leaderboard.code"), "ended");
	assert_string_equal(commands_text(result, "leaderboard.description"), "Better.");
	const json_t *event = fixture_event(&c.f, "leaderboard.updated");
	assert_string_equal(commands_text(event, "data.scores"), "kept");
	assert_string_equal(commands_text(event, "data.changes.0"), "deadline");
	assert_true(json_is_true(commands_at(event, "closed")));
	/* The same again changes nothing, and nobody is told. */
	result =
		update("owner", json_pack("{s:s, s:s, s:s}", "deadline", "2030-01-02", "code", "ended", "jit_cache", "no"));
	assert_int_equal(json_array_size(commands_at(result, "changes")), 0);
	assert_int_equal(fixture_events(&c.f, "leaderboard.updated"), 1);
	result = update("owner", json_pack("{s:s}", "deadline", "none"));
	assert_true(json_is_null(commands_at(result, "leaderboard.deadline")));
	result = update("owner", json_pack("{s:s}", "deadline", "2020-01-01"));
	assert_non_null(strstr(commands_text(result, "remarks.0"), "already passed"));
	fixture_sql(&c.f, "UPDATE boards SET ended_at = 5");
	update("owner", json_pack("{s:s}", "deadline", "+2d"));
	assert_int_equal(count("leaderboards WHERE ended_at IS NULL"), 1);
}

/* All that a board has goes on under its new name. */
static void
test_rename(void **state)
{
	(void)state;
	const json_t *result = update("owner", json_pack("{s:s}", "rename", "Stadium"));
	assert_string_equal(commands_text(result, "changes.0"), "name");
	assert_string_equal(commands_text(result, "leaderboard.name"), "Stadium");
	assert_string_equal(commands_text(result, "scores"), "kept");
	const json_t *event = fixture_event(&c.f, "leaderboard.updated");
	assert_string_equal(commands_text(event, "leaderboard_name"), "Stadium");
	assert_string_equal(commands_text(event, "data.name"), "Stadium");
	assert_string_equal(commands_text(event, "data.was"), "arena");
	commands_refused(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
	commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "stadium"));
	/* The old name is free, the new one is not. */
	commands_board(&c, "arena", json_pack("[s]", "CPU"));
	refused("owner", json_pack("{s:s}", "rename", "stadium"), KETTLE_ECONFLICT);
	refused("owner", json_pack("{s:s}", "rename", "boards"), KETTLE_EINVAL);
	refused("owner", json_pack("{s:s}", "rename", "a b"), KETTLE_EINVAL);
	assert_int_equal(fixture_events(&c.f, "leaderboard.updated"), 1);
	/* In other letters' cases it is the same name. */
	update("owner", json_pack("{s:s}", "rename", "Arena"));
	assert_string_equal(
		commands_text(
			commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena")), "leaderboard.name"),
		"Arena");
	assert_int_equal(
		json_array_size(commands_at(update("owner", json_pack("{s:s}", "rename", "Arena")), "changes")), 0);
}

static void
test_rights(void **state)
{
	(void)state;
	refused("alice", json_pack("{s:s}", "code", "always"), KETTLE_EACCES);
	refused("carol:creator", json_pack("{s:s}", "code", "always"), KETTLE_EACCES);
	update("dave:admin", json_pack("{s:s}", "code", "always"));
	refused("owner", json_object(), KETTLE_EINVAL);
	refused("owner", json_pack("{s:s}", "device", "H200"), KETTLE_EINVAL);
	refused("owner", json_pack("{s:{s:s}}", "task", "yml", ""), KETTLE_EINVAL);
	commands_refused(
		&c, "owner", "leaderboard.update", json_pack("{s:s, s:s}", "name", "aren", "code", "owner"), KETTLE_ENOENT);
}

static void
test_devices(void **state)
{
	(void)state;
	ranked("alice", 1.0);
	const json_t *result = update("owner", json_pack("{s:[s]}", "device", "h100"));
	assert_string_equal(commands_text(result, "leaderboard.gpu_types.0"), "H100");
	assert_int_equal(json_array_size(commands_at(result, "leaderboard.gpu_types")), 1);
	commands_refused(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:s}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "arena", "device", "CPU"),
		KETTLE_EINVAL);
	/* Its ranking is there again with it. */
	update("owner", json_pack("{s:[s, s, s]}", "device", "H100", "CPU", "cpu"));
	const json_t *show = commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	assert_int_equal(commands_number(show, "rankings.1.count"), 1);
	assert_int_equal(commands_number(show, "rankings.1.entries.0.rank"), 1);
}

/* ---- the task ---- */

static void
test_task_that_only_reads_differently(void **state)
{
	(void)state;
	int64_t first = ranked("alice", 1.0);
	const json_t *result = update("owner", json_pack("{s:o}", "task", described_task("adds two")));
	assert_string_equal(commands_text(result, "scores"), "kept");
	assert_string_equal(commands_text(result, "changes.0"), "task");
	assert_string_equal(commands_text(result, "changes.1"), "description");
	assert_string_equal(commands_text(result, "leaderboard.description"), "adds two");
	assert_int_equal(count("best"), 1);
	assert_int_equal(commands_number(result, "counts_from"), 0);
	/* A description of the board's own stays. */
	update("owner", json_pack("{s:s}", "description", "mine"));
	result = update("owner", json_pack("{s:o}", "task", described_task("adds three")));
	assert_string_equal(commands_text(result, "leaderboard.description"), "mine");
	/* The version that the submission ran on stays for it, the one in between was nobody's. */
	assert_int_equal(count("tasks"), 2);
	commands_must(&c, "alice", "submission.delete", json_pack("{s:I}", "id", (json_int_t)first));
	assert_int_equal(count("tasks"), 1);
	assert_int_equal(json_array_size(commands_at(update("owner", json_pack("{s:o}", "task",
																	 described_task("adds "
																					"three"))),
						 "changes")),
		0);
}

static void
test_task_that_runs_differently(void **state)
{
	(void)state;
	refused("owner", json_pack("{s:o}", "task", other_task()), KETTLE_ECONFLICT);
	ranked("alice", 1.0);
	int64_t last = ranked("bob", 2.0);
	refused("owner", json_pack("{s:o}", "task", other_task()), KETTLE_ECONFLICT);
	assert_string_equal(c.err.member, "force");
	assert_int_equal(count("best"), 2);
	const json_t *result = update("owner", json_pack("{s:o, s:b}", "task", other_task(), "force", 1));
	assert_string_equal(commands_text(result, "scores"), "left");
	assert_string_equal(commands_text(result, "differs.0"), "eval.cpp");
	assert_int_equal(commands_number(result, "ranked"), 2);
	assert_int_equal(commands_number(result, "counts_from"), last + 1);
	assert_string_equal(commands_text(fixture_event(&c.f, "leaderboard.updated"), "data.scores"), "left");
	const json_t *show = commands_must(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	assert_int_equal(commands_number(show, "rankings.0.count"), 0);
	assert_int_equal(json_array_size(commands_at(show, "rankings.0.entries")), 0);
	assert_int_equal(count("best_counts"), 0);
	/* The old ones do not come back when somebody's entry is computed anew. */
	int64_t next = ranked("alice", 5.0);
	commands_must(&c, "alice", "submission.delete", json_pack("{s:I}", "id", (json_int_t)next));
	assert_int_equal(count("best"), 0);
	ranked("bob", 3.0);
	assert_int_equal(fixture_int(&c.f, "SELECT ranked FROM leaderboard_devices WHERE device = 'CPU'"), 1);
	assert_true(last < next);
}

static void
test_differences_are_named(void **state)
{
	(void)state;
	json_t *task = commands_task("ranking_by: mean\ntest_timeout: 7\n");
	AUTO_FREE char *yml = strdup(json_string_value(json_object_get(task, "yml")));
	char *size = strstr(yml, "size: 1");
	size[6] = '3';
	(void)json_object_set_new(task, "yml", json_string(yml));
	refused("owner", json_pack("{s:o}", "task", task), KETTLE_ECONFLICT);
	assert_non_null(strstr(c.err.message, "earlier submissions"));
}

/* ---- while something is open ---- */

struct start {
	int64_t job, attempt;
};

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct start *start = arg;
	return jobs_start(db, start->job, &(struct job_unit){"CPU.0", "CPU", "local"}, &start->attempt, err);
}

struct finish {
	struct start start;
	json_t *verdict;
};

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct finish *finish = arg;
	return commands_jobs_finish(db, finish->start.job, finish->start.attempt, finish->verdict, err);
}

static struct start
begin(int64_t job)
{
	struct start start = {.job = job};
	struct kettle_error err = {0};
	assert_int_equal(fixture_write(&c.f, start_op, &start, &err), 0);
	return start;
}

static int
end(struct start start, double score)
{
	AUTO_JSON json_t *verdict = passed(score);
	struct finish finish = {start, verdict};
	return fixture_write(&c.f, finish_op, &finish, NULL);
}

struct material {
	int64_t job;
	struct job_material of;
};

static int
material_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct material *material = arg;
	return jobs_material(db, material->job, &material->of, err);
}

static void
test_update_while_running(void **state)
{
	(void)state;
	int64_t id = commands_submit(&c, "alice", "arena", "ranked");
	struct start start = begin(newest_job());
	commands_submit(&c, "bob", "arena", "ranked");
	const json_t *result = update("owner", json_pack("{s:o, s:b}", "task", other_task(), "force", 1));
	assert_int_equal(commands_number(result, "open"), 2);
	/* What is queued runs on the version on which it was submitted. */
	struct material material = {.job = newest_job()};
	assert_int_equal(fixture_read(&c.f, material_op, &material, NULL), 0);
	const json_t *file = json_object_get(commands_at(material.of.bundle, "files"), "eval.cpp");
	assert_string_equal(commands_text(file, "text"), "int main;\n");
	job_material_clear(&material.of);
	assert_int_equal(end(start, 1.0), 0);
	const json_t *show = commands_must(&c, "alice", "submission.show", json_pack("{s:I}", "id", (json_int_t)id));
	assert_string_equal(commands_text(show, "state"), "passed");
	assert_true(json_is_null(commands_at(show, "rank.CPU")));
	assert_int_equal(count("best"), 0);
}

static void
test_delete_while_running(void **state)
{
	(void)state;
	commands_submit(&c, "alice", "arena", "ranked");
	struct start start = begin(newest_job());
	commands_submit(&c, "bob", "arena", "ranked");
	commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "arena", "force", 1));
	assert_int_equal(json_array_size(commands_at(fixture_event(&c.f, "leaderboard.deleted"), "data.jobs")), 2);
	/* The outcome that comes too late is dropped, and leaves nothing behind. */
	size_t done = fixture_events(&c.f, "job.done");
	assert_true(end(start, 1.0) < 0);
	assert_int_equal(fixture_events(&c.f, "job.done"), done);
	static const char *const tables[] = {"jobs", "submissions", "runs", "best", "best_counts", "tasks", "blobs"};
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		assert_int_equal(count(tables[i]), 0);
	commands_board(&c, "arena", NULL);
	ranked("alice", 2.0);
	assert_int_equal(count("best"), 1);
}

static void
test_closed_while_queued(void **state)
{
	(void)state;
	int64_t id = commands_submit(&c, "alice", "arena", "ranked");
	update("owner", json_pack("{s:s}", "visibility", "closed"));
	assert_int_equal(end(begin(newest_job()), 1.0), 0);
	/* What was accepted is judged, and stays its owner's; the board is seen by those who may. */
	const json_t *show = commands_must(&c, "alice", "submission.show", json_pack("{s:I}", "id", (json_int_t)id));
	assert_int_equal(commands_number(show, "rank.CPU"), 1);
	commands_refused(&c, "alice", "leaderboard.show", json_pack("{s:s}", "name", "arena"), KETTLE_ENOENT);
	commands_refused(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:s}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "arena", "device", "CPU"),
		KETTLE_ENOENT);
	assert_int_equal(json_array_size(commands_must(&c, "alice", "leaderboard.list", json_object())), 0);
	assert_true(json_is_true(commands_at(fixture_event(&c.f, "rank.changed"), "closed")));
}

static void
test_deadline_while_queued(void **state)
{
	(void)state;
	int64_t id = commands_submit(&c, "alice", "arena", "ranked");
	update("owner", json_pack("{s:s}", "deadline", "2020-01-01"));
	commands_refused(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:s}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "arena", "device", "CPU"),
		KETTLE_EINVAL);
	/* The time at which it was accepted counts. */
	assert_int_equal(end(begin(newest_job()), 1.0), 0);
	const json_t *show = commands_must(&c, "alice", "submission.show", json_pack("{s:I}", "id", (json_int_t)id));
	assert_int_equal(commands_number(show, "rank.CPU"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_settings),
	TEST(test_rename),
	TEST(test_rights),
	TEST(test_devices),
	TEST(test_task_that_only_reads_differently),
	TEST(test_task_that_runs_differently),
	TEST(test_differences_are_named),
	TEST(test_update_while_running),
	TEST(test_delete_while_running),
	TEST(test_closed_while_queued),
	TEST(test_deadline_while_queued),
};

UNIT_TESTS(test_board_update);
