/* SPDX-License-Identifier: MIT */
/*
 * Measures the first page of a board, one after the other, as the engine answers it, while verdicts are written as fast
 * as the database takes them. usage: board_page DATABASE BOARD SECONDS; one JSON object on stdout.
 */
/*
 * Theory of operation. One loop, the store with its two threads. Two chains go on side by side: a page is requested when
 * the one before it has come, and a verdict when the one before it was committed (a job is started and ended, as two
 * transactions). The time of a page is from the call on the loop to the answer on the loop. The pages end when the time
 * is over, the verdicts with them or when no job is left.
 */
#include <config.h>

#include "commands/handlers.h"
#include "model/jobs.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/xalloc.h"

#define BENCH_PAGES_MAX 1000000

struct bench {
	uv_loop_t loop;
	struct store *store;
	struct command_env env;
	const struct command *show;
	json_t *actor, *args;
	struct verdict *verdict;
	json_t *page, *last;     /* the newest one, and the one before it */
	json_t *pages;           /* µs */
	json_t *changed;         /* µs of those in which something differs from the one before */
	json_t *changed_cpu;     /* and of the reader's thread in them */
	json_t *cpu;             /* µs of the reader\'s thread in each; its own until the end */
	json_t *jobs, *verdicts; /* that wait; µs */
	int64_t job, attempt;
	size_t next;
	uint64_t end_ns, asked_ns, started_ns;
	int failed;
	bool closing; /* what was on its way is answered with an error, and does not count */
};

static bool
is_over(const struct bench *bench)
{
	return bench->failed || bench->closing || time_monotonic_ns() >= bench->end_ns ||
		   json_array_size(bench->pages) >= BENCH_PAGES_MAX;
}

static void
fail(struct bench *bench, const struct kettle_error *err)
{
	if (bench->closing)
		return;
	fprintf(stderr, "board_page: %s\n", err->message);
	bench->failed = 1;
}

/* ---- pages ---- */

static double
cpu_us(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int
page_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct bench *bench = arg;
	struct actor actor = {0};
	double start = cpu_us();
	int code = command_actor(bench->show, db, bench->actor, &actor, err);
	const struct command_call call = {.db = db, .env = &bench->env, .actor = &actor, .args = bench->args};
	if (code == 0)
		code = bench->show->run(&call, &bench->page, err);
	(void)json_array_append_new(bench->cpu, json_real(cpu_us() - start));
	return code;
}

static void ask(struct bench *bench);

/* The reader's thread has done with this page, and has no other yet: its figure is the last one. */
static void
note_changed(struct bench *bench, double us)
{
	(void)json_array_append_new(bench->changed, json_real(us));
	(void)json_array_append(bench->changed_cpu, json_array_get(bench->cpu, json_array_size(bench->cpu) - 1));
}

static void
page_came(void *arg, const struct kettle_error *err)
{
	struct bench *bench = arg;
	uint64_t took = time_monotonic_ns() - bench->asked_ns;
	if (err)
		fail(bench, err);
	else
		(void)json_array_append_new(bench->pages, json_real((double)took / 1000));
	if (!err && bench->page != bench->last)
		note_changed(bench, (double)took / 1000);
	if (!is_over(bench))
		ask(bench);
}

static void
ask(struct bench *bench)
{
	json_decref(bench->last);
	bench->last = STEAL(bench->page);
	bench->asked_ns = time_monotonic_ns();
	store_query(bench->store, page_op, page_came, bench);
}

/* ---- verdicts ---- */

static void verdict_next(struct bench *bench);

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct bench *bench = arg;
	return jobs_start(db, bench->job, &(struct job_unit){"CPU.0", "CPU", "local"}, &bench->attempt, err);
}

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct bench *bench = arg;
	return jobs_finish(db, bench->job, bench->attempt, bench->verdict, err);
}

static void
finished(void *arg, const struct kettle_error *err)
{
	struct bench *bench = arg;
	uint64_t took = time_monotonic_ns() - bench->started_ns;
	if (err)
		fail(bench, err);
	else
		(void)json_array_append_new(bench->verdicts, json_real((double)took / 1000));
	verdict_next(bench);
}

static void
started(void *arg, const struct kettle_error *err)
{
	struct bench *bench = arg;
	if (err)
		fail(bench, err);
	else
		store_write(bench->store, finish_op, finished, bench);
}

static void
verdict_next(struct bench *bench)
{
	const json_t *job = json_array_get(bench->jobs, bench->next++);
	if (is_over(bench) || !job)
		return;
	bench->job = json_integer_value(job);
	/* Every third one is a new best. */
	bench->verdict->score.value = (bench->next % 3 ? 2e-3 : 0.5e-3) + 1e-9 * (double)bench->job;
	bench->started_ns = time_monotonic_ns();
	store_write(bench->store, start_op, started, bench);
}

/* ---- the whole ---- */

static int
add_job(void *arg, sqlite3_stmt *row)
{
	(void)json_array_append_new(arg, json_integer(sqlite3_column_int64(row, 0)));
	return 0;
}

static int
jobs_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct bench *bench = arg;
	return db_query(db, err, add_job, bench->jobs, "SELECT id FROM jobs WHERE state = 'queued' ORDER BY id", NULL);
}

/* A verdict of a ranked job with its six runs. */
static struct verdict *
make_verdict(void)
{
	static const char *const modes[] = {"test", "benchmark", "leaderboard"};
	struct verdict *verdict = verdict_error(NULL, NULL, "");
	verdict->state = VERDICT_PASSED;
	verdict->score = (struct score){.low = 1e-4, .high = 1e-2};
	verdict->entries = xcalloc(6, sizeof(*verdict->entries));
	verdict->system = json_pack("{s:s}", "cpu", "x");
	verdict->timing = json_pack("{s:i}", "run_ns", 5400);
	for (int i = 0; i < 6; i++)
		verdict->entries[verdict->count++] = (struct verdict_entry){
			.step = {.run = true, .mode = modes[i % 3], .secret = i >= 3, .index = -1},
			.outcome = {.start_ns = {true, 1000 * i}, .wall_ns = {true, 900}},
			.judged.state = VERDICT_PASSED,
			.out = json_string(""),
			.err = json_string(""),
			.result =
				json_pack("{s:s, s:s, s:s, s:s, s:s}", "check", "pass", "benchmark-count", "1", "benchmark.0.mean",
					"1234567.8", "benchmark.0.spec", "size: 1048576; seed: 93246", "benchmark.0.runs", "321"),
		};
	return verdict;
}

static void
jobs_came(void *arg, const struct kettle_error *err)
{
	struct bench *bench = arg;
	if (err) {
		fail(bench, err);
		return;
	}
	ask(bench);
	verdict_next(bench);
}

static int
run(struct bench *bench, const char *database, const char *board, double seconds, struct kettle_error *err)
{
	struct clock real;
	clock_init(&real, NULL, NULL);
	int rc = store_open(&bench->loop, &real, database, "", NULL, NULL, &bench->store, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *named = json_pack("{s:s}", "name", board);
	rc = command_check(bench->show, named, &bench->args, err);
	bench->end_ns = time_monotonic_ns() + (uint64_t)(seconds * 1e9);
	if (rc == 0)
		store_query(bench->store, jobs_op, jobs_came, bench);
	/* The store keeps the loop alive: turn it until both chains have ended. */
	while (rc == 0 && !is_over(bench))
		(void)uv_run(&bench->loop, UV_RUN_ONCE);
	bench->closing = true;
	store_close(bench->store, NULL, NULL);
	(void)uv_run(&bench->loop, UV_RUN_DEFAULT);
	return rc;
}

int
main(int argc, char **argv)
{
	struct bench bench = {.show = command_find(commands, "leaderboard.show"),
		.actor = json_pack("{s:s, s:s, s:s}", "provider", "cli", "subject", "reader", "name", "reader"),
		.pages = json_array(),
		.changed = json_array(),
		.changed_cpu = json_array(),
		.cpu = json_array(),
		.verdicts = json_array(),
		.jobs = json_array(),
		.verdict = make_verdict()};
	struct kettle_error err = {0};
	double seconds = argc == 4 ? strtod(argv[3], NULL) : 0;
	if (seconds <= 0 || uv_loop_init(&bench.loop) != 0) {
		fprintf(stderr, "usage: board_page DATABASE BOARD SECONDS\n");
		return 2;
	}
	bench.env.devices = json_object();
	int rc = run(&bench, argv[1], argv[2], seconds, &err);
	if (rc < 0)
		fail(&bench, &err);
	AUTO_JSON json_t *answer = json_pack("{s:o, s:o, s:o, s:o, s:o}", "pages_us", bench.pages, "changed_us",
		bench.changed, "changed_cpu_us", bench.changed_cpu, "cpu_us", bench.cpu, "verdicts_us", bench.verdicts);
	(void)json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(7));
	putchar('\n');
	json_decref(bench.page);
	json_decref(bench.last);
	json_decref(bench.args);
	json_decref(bench.jobs);
	json_decref(bench.actor);
	verdict_free(bench.verdict);
	json_decref((json_t *)bench.env.devices);
	(void)uv_loop_close(&bench.loop);
	return bench.failed;
}
