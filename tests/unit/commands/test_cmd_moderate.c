/* SPDX-License-Identifier: MIT */
/* Submissions judged: marked as a cheat, cleared, run again, at whatever moment. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/jobs.h"

#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "arena", NULL))

static json_t *
passed(double score)
{
	return json_pack("{s:s, s:f}", "state", "passed", "score", score);
}

static json_t *
ended(const char *state)
{
	return json_pack("{s:s, s:s}", "state", state, "error", "It is broken.");
}

/* The newest job of a submission on a device. */
static int64_t
job_of(int64_t submission, const char *device)
{
	char sql[200];
	(void)snprintf(sql, sizeof(sql), "SELECT max(id) FROM jobs WHERE submission = %lld AND device = '%s'",
		(long long)submission, device);
	return fixture_int(&c.f, sql);
}

static int64_t
ranked(const char *who, double score)
{
	int64_t id = commands_submit(&c, who, "arena", "ranked");
	commands_finish(&c, job_of(id, "CPU"), passed(score));
	return id;
}

#define ID(id) json_pack("{s:I}", "id", (json_int_t)(id))
#define FLAG(id, why) json_pack("{s:I, s:s}", "id", (json_int_t)(id), "reason", why)

static const json_t *
show(const char *who, int64_t id)
{
	return commands_must(&c, who, "submission.show", ID(id));
}

/* The rank of a user on the CPU; 0: none. */
static int64_t
rank_of(const char *who)
{
	const json_t *board = commands_must(&c, who, "leaderboard.show", json_pack("{s:s}", "name", "arena"));
	size_t i;
	json_t *entry;
	json_array_foreach(commands_at(board, "rankings.0.entries"), i, entry) {
		if (strcmp(commands_text(entry, "user_name"), who) == 0)
			return commands_number(entry, "rank");
	}
	return 0;
}

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	int64_t attempt = 0;
	return jobs_start(db, *(int64_t *)arg, &(struct job_unit){"CPU.0", "CPU", "local"}, &attempt, err);
}

/* A submission whose job runs. */
static int64_t
running(const char *who)
{
	struct kettle_error err = {0};
	int64_t id = commands_submit(&c, who, "arena", "ranked"), job = job_of(id, "CPU");
	assert_int_equal(fixture_write(&c.f, start_op, &job, &err), 0);
	return id;
}

struct finish {
	int64_t job;
	json_t *verdict;
};

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct finish *finish = arg;
	return commands_jobs_finish(db, finish->job, 1, finish->verdict, err);
}

/* The verdict on a job that runs; the code. */
static int
finish(int64_t job, json_t *verdict_take)
{
	AUTO_JSON json_t *verdict = verdict_take;
	struct finish finish = {job, verdict};
	struct kettle_error err = {0};
	return fixture_write(&c.f, finish_op, &finish, &err);
}

/* ---- flag ---- */

static void
test_flag(void **state)
{
	(void)state;
	int64_t best = ranked("alice", 1.0), next = ranked("alice", 3.0);
	ranked("bob", 2.0);
	commands_must(&c, "owner", "submission.flag", FLAG(best, "it  reads\tthe answers"));
	assert_string_equal(commands_text(c.result, "status"), "hacked");
	assert_int_equal(rank_of("bob"), 1);
	assert_int_equal(rank_of("alice"), 2);
	const json_t *event = fixture_event(&c.f, "submission.flagged");
	assert_string_equal(commands_text(event, "data.reason"), "it reads the answers");
	assert_string_equal(commands_text(event, "user_name"), "alice");
	assert_string_equal(commands_text(event, "scope"), "u");
	assert_string_equal(commands_text(show("alice", best), "job.status"), "hacked");
	assert_string_equal(commands_text(c.result, "flagged"), "it reads the answers");
	commands_must(&c, "alice", "submission.list", json_object());
	assert_string_equal(commands_text(c.result, "1.flagged"), "it reads the answers");
	assert_true(json_is_null(commands_at(c.result, "0.flagged")));
	/* The evidence stays. */
	show("alice", best);
	assert_string_equal(commands_text(c.result, "code"), "int a;\n");
	commands_refused(&c, "alice", "submission.delete", ID(best), KETTLE_EACCES);
	commands_refused(&c, "owner", "submission.flag", FLAG(best, "again"), KETTLE_ECONFLICT);
	commands_must(&c, "owner", "submission.flag", FLAG(next, "this too"));
	assert_int_equal(rank_of("alice"), 0);
	commands_must(&c, "owner", "submission.unflag", ID(best));
	assert_int_equal(rank_of("alice"), 1);
	assert_int_equal(fixture_events(&c.f, "submission.unflagged"), 1);
	assert_string_equal(commands_text(show("alice", best), "job.status"), "succeeded");
	commands_refused(&c, "owner", "submission.unflag", ID(best), KETTLE_ECONFLICT);
	commands_must(&c, "owner", "submission.delete", ID(next));
	assert_int_equal(fixture_int(&c.f, "SELECT ranked FROM leaderboard_devices"), 2);
}

static void
test_rights(void **state)
{
	(void)state;
	int64_t id = ranked("alice", 1.0);
	static const char *const names[] = {"submission.flag", "submission.unflag", "submission.rerun"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *args = i == 0 ? FLAG(id, "x") : ID(id);
		commands_refused(&c, "alice", names[i], json_incref(args), KETTLE_EACCES);
		commands_refused(&c, "carol:creator", names[i], args, KETTLE_EACCES);
		commands_refused(&c, "owner", names[i], i == 0 ? FLAG(999, "x") : ID(999), KETTLE_ENOENT);
	}
	commands_refused(&c, "owner", "submission.flag", FLAG(id, " \t "), KETTLE_EINVAL);
	commands_refused(&c, "owner", "submission.flag", ID(id), KETTLE_EINVAL);
	/* A creator judges what is on a board of their own, and so sees it. */
	commands_must(&c, "carol:creator", "leaderboard.create",
		json_pack("{s:s, s:o, s:[s]}", "name", "hers", "task", commands_task(NULL), "device", "CPU"));
	int64_t hers = commands_submit(&c, "alice", "hers", "ranked");
	commands_finish(&c, job_of(hers, "CPU"), passed(1.0));
	assert_string_equal(commands_text(show("carol:creator", hers), "code"), "int a;\n");
	commands_must(&c, "carol:creator", "submission.flag", FLAG(hers, "x"));
	commands_must(&c, "carol:creator", "submission.rerun", ID(hers));
	commands_refused(&c, "carol:creator", "submission.delete", ID(hers), KETTLE_EACCES);
	commands_refused(&c, "carol:creator", "submission.show", ID(id), KETTLE_EACCES);
}

/* Marked while it runs: it ends, its verdict is stored, and it counts for nothing. */
static void
test_flag_while_running(void **state)
{
	(void)state;
	int64_t id = running("alice");
	commands_must(&c, "owner", "submission.flag", FLAG(id, "x"));
	assert_string_equal(commands_text(show("alice", id), "job.status"), "hacked");
	assert_true(json_is_false(commands_at(c.result, "done")));
	assert_int_equal(finish(job_of(id, "CPU"), passed(1.0)), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 0);
	assert_null(commands_at(fixture_event(&c.f, "job.done"), "data.rank"));
	assert_true(json_is_true(commands_at(show("alice", id), "done")));
	assert_string_equal(commands_text(c.result, "job.status"), "hacked");
	commands_must(&c, "owner", "submission.unflag", ID(id));
	assert_int_equal(rank_of("alice"), 1);
}

static void
test_deleted_while_running(void **state)
{
	(void)state;
	int64_t id = running("alice"), job = job_of(id, "CPU");
	commands_must(&c, "alice", "submission.delete", ID(id));
	assert_int_equal(finish(job, passed(1.0)), KETTLE_ECONFLICT);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs"), 0);
}

/* ---- rerun ---- */

static void
test_rerun(void **state)
{
	(void)state;
	int64_t id = ranked("alice", 1.0), first = job_of(id, "CPU");
	ranked("bob", 2.0);
	const json_t *answer = commands_must(&c, "owner", "submission.rerun", ID(id));
	int64_t second = commands_number(answer, "jobs.0.job");
	assert_int_not_equal(second, first);
	assert_string_equal(commands_text(answer, "devices.0"), "CPU");
	assert_int_equal(commands_number(answer, "seq"), commands_number(fixture_event(&c.f, "submission.rerun"), "seq"));
	assert_int_equal(fixture_int(&c.f, "SELECT count(DISTINCT seed) FROM jobs WHERE submission = 1"), 2);
	/* It is open again, and counts as before. */
	assert_true(json_is_false(commands_at(show("alice", id), "done")));
	assert_string_equal(commands_text(c.result, "job.status"), "initial");
	assert_true(json_is_true(commands_at(c.result, "jobs.0.rerun")));
	assert_int_equal(json_array_size(commands_at(c.result, "jobs")), 1);
	assert_int_equal(rank_of("alice"), 1);
	commands_refused(&c, "owner", "submission.rerun", ID(id), KETTLE_ECONFLICT);
	commands_finish(&c, second, passed(3.0));
	assert_int_equal(rank_of("bob"), 1);
	assert_int_equal(rank_of("alice"), 2);
	const json_t *done = fixture_event(&c.f, "job.done");
	assert_int_equal(commands_number(done, "data.rank"), 2);
	assert_int_equal(commands_number(done, "data.rank_before"), 1);
	assert_true(json_is_null(commands_at(done, "data.better")));
	assert_string_equal(commands_text(show("alice", id), "job.status"), "succeeded");
	assert_int_equal(commands_number(c.result, "jobs.0.job"), second);
	/* One that fails takes the old one's place as well. */
	commands_must(&c, "owner", "submission.rerun", ID(id));
	commands_finish(&c, job_of(id, "CPU"), ended("failed"));
	assert_int_equal(rank_of("alice"), 0);
	assert_string_equal(commands_text(show("alice", id), "job.status"), "failed");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs WHERE submission = 1 AND NOT superseded"), 1);
}

/* A machine's failure or a cancel is no statement about the code. */
static void
test_rerun_comes_to_nothing(void **state)
{
	(void)state;
	int64_t id = ranked("alice", 1.0), first = job_of(id, "CPU");
	for (int i = 0; i < 2; i++) {
		commands_must(&c, "owner", "submission.rerun", ID(id));
		commands_finish(&c, job_of(id, "CPU"), ended("error"));
		assert_int_equal(rank_of("alice"), 1);
		assert_string_equal(commands_text(show("alice", id), "job.status"), "succeeded");
		assert_int_equal(commands_number(c.result, "jobs.0.job"), first);
		assert_string_equal(commands_text(c.result, "jobs.0.rerun_failed.error"), "It is broken.");
	}
	commands_must(&c, "owner", "submission.rerun", ID(id));
	/* Its owner cannot keep the old result that way. */
	commands_refused(&c, "alice", "submission.cancel", ID(id), KETTLE_EACCES);
	commands_must(&c, "owner", "submission.cancel", ID(id));
	assert_int_equal(rank_of("alice"), 1);
	assert_string_equal(commands_text(show("alice", id), "jobs.0.rerun_failed.state"), "cancelled");
	commands_must(&c, "owner", "submission.rerun", ID(id));
	commands_finish(&c, job_of(id, "CPU"), passed(2.0));
	assert_null(commands_at(show("alice", id), "jobs.0.rerun_failed"));
	assert_int_equal(rank_of("alice"), 1);
}

static void
test_rerun_of_some(void **state)
{
	(void)state;
	commands_board(&c, "two", json_pack("[s, s]", "CPU", "H100"));
	const json_t *submitted = commands_must(&c, "alice", "submit",
		json_pack("{s:o, s:s, s:[s, s]}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "two", "device", "CPU",
			"H100"));
	int64_t id = commands_number(submitted, "id");
	commands_refused(&c, "owner", "submission.rerun", ID(id), KETTLE_ECONFLICT);
	commands_finish(&c, job_of(id, "CPU"), passed(1.0));
	commands_finish(&c, job_of(id, "H100"), ended("error"));
#define ON(device) json_pack("{s:I, s:[s]}", "id", (json_int_t)id, "device", device)
	commands_refused(&c, "owner", "submission.rerun", ON("H10"), KETTLE_EINVAL);
	const json_t *answer = commands_must(&c, "owner", "submission.rerun", ON("h100"));
	assert_int_equal(json_array_size(commands_at(answer, "jobs")), 1);
	assert_int_equal(json_array_size(commands_at(show("alice", id), "jobs")), 2);
	assert_string_equal(commands_text(c.result, "job.status"), "running");
	commands_finish(&c, job_of(id, "H100"), passed(1.0));
	assert_string_equal(commands_text(show("alice", id), "job.status"), "succeeded");
	assert_int_equal(commands_number(c.result, "rank.H100"), 1);
	json_object_del((json_t *)c.env.devices, "H100");
	commands_refused(&c, "owner", "submission.rerun", ID(id), KETTLE_EUNAVAIL);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs WHERE done_at IS NULL"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_flag),
	TEST(test_rights),
	TEST(test_flag_while_running),
	TEST(test_deleted_while_running),
	TEST(test_rerun),
	TEST(test_rerun_comes_to_nothing),
	TEST(test_rerun_of_some),
};

UNIT_TESTS(test_cmd_moderate);
