/* SPDX-License-Identifier: MIT */
/*
 * The runner slurm between the fake host and programs that play Slurm's commands, most of them badly. Each fault has an
 * instance of the runner of its own, so that they are waited for together. Time is simulated; a command that hangs is one that
 * has stopped itself.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <kettle/testing.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "lib/fake_jobs.h"
#include "lib/unit_test.h"
#include "runners/slurm/slurm_internal.h"
#include "unit/scratch.h"

#define PATIENCE_MS 7200000
#define KEY "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define MOST 16 /* instances */
#define REACHED_NOT "The runner could not reach Slurm for 1 s: "

/* Slurm as it should be, with the queue in a file. Another job's name has a newline, and the partition is a hidden one. */
#define SBATCH \
	"for a; do case $a in --job-name=*) name=${a#*=} ;; esac; done\n" \
	"echo \"7|N/A|PENDING|Priority|$name|.\" >>queue\necho 7\n"
#define SQUEUE \
	"all=\n" \
	"for a; do case $a in --all) all=1 ;; esac; done\n" \
	"printf '%s\\n' '" SQUEUE_HEADER "' '5|N/A|RUNNING|None|two' '' 'lines|.'\n" \
	"[ ! \"$all\" ] || cat queue 2>/dev/null || true\n"
/* Likewise, with a row for each task of an array. */
#define SBATCH_ARRAYS \
	"last=; echo \"$*\" >>sbatch.calls\n" \
	"for a; do case $a in --job-name=*) name=${a#*=} ;; --array=0-*) last=${a#*-*-*-} ;; esac; done\n" \
	"id=$(wc -l <sbatch.calls)\n" \
	"[ ! \"$last\" ] || seq -f \"$id|%g|PENDING|Priority|$name|.\" 0 \"$last\" >>queue\n" \
	"[ \"$last\" ] || echo \"$id|N/A|PENDING|Priority|$name|.\" >>queue\n" \
	"echo $id\n"
#define SCANCEL "rm -f queue; echo >>cancelled\n"
/* In front of sbatch: its first call waits until open_gate, so that what comes meanwhile waits for the next one. */
#define GATE "[ ! -p gate ] || { read line <gate; rm gate; }\n"

struct fault {
	const char *script; /* NULL: the command is missing */
	const char *words;  /* of what is said */
	bool hangs;
};

static const struct fault faults[] = {
	{.words = "cannot be started"},
	{.script = "kill -STOP $$\n", .words = "did not answer within 1 s", .hangs = true},
	{.script = "echo rubbish\n", .words = ""},
	{.script = "printf '\\377\\376|.\\n'\n", .words = ""},
	{.script = "yes rubbish\n", .words = ""},
	{.script = "yes rubbish >&2\n", .words = "wrote more than 1000 lines"},
	{.script = "yes | tr -d '\\n' | head -c 100000\n", .words = ""},
	{.script = "echo 'it is not the day' >&2; exit 1\n", .words = "it is not the day"},
	{.script = "kill -9 $$\n", .words = "signal 9"},
	{.script = "exit 0\n", .words = ""},
};

static char *dir;
static struct kettle_fake *fake;
static struct slurm *instances[MOST];
static size_t count;
static const struct kettle_runner *ops;
static struct kettle_error err;
static int stops;
static int gate = -1; /* a FIFO */

/* ---- instances ---- */

static char *
path_of(size_t number, const char *name)
{
	return xasprintf("%s/%zu/%s", dir, number, name);
}

static void
play(size_t number, const char *command, const char *script)
{
	AUTO_FREE char *path = path_of(number, command), *folder = path_of(number, "");
	(void)unlink(path);
	if (!script)
		return;
	AUTO_FREE char *text = xasprintf("#!/bin/sh\ncd %s\n%s", folder, script);
	assert_int_equal(file_write(path, text, strlen(text), 0700, &err), 0);
}

/* A runner whose Slurm is as it should be; its number. */
static size_t
start(int give_up_s, int command_s)
{
	size_t number = count++;
	void *self;
	AUTO_FREE char *folder = path_of(number, "shared"), *sbatch = path_of(number, "sbatch"),
				   *squeue = path_of(number, "squeue"), *scancel = path_of(number, "scancel"),
				   *key = path_of(number, "shared/key");
	assert_in_range(number, 0, MOST - 1);
	assert_int_equal(file_mkdirs(folder, 0700, &err), 0);
	assert_int_equal(file_write(key, KEY, strlen(KEY), 0600, &err), 0);
	play(number, "sbatch", SBATCH);
	play(number, "squeue", SQUEUE);
	play(number, "scancel", SCANCEL);
	AUTO_JSON json_t *section = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i}", "folder", folder,
		"key", KEY, "exec", "/bin/true", "sbatch", sbatch, "squeue", squeue, "scancel", scancel, "poll_ms", 1000,
		"queue_ms", 2000, "grace_s", 1, "command_s", command_s, "give_up_s", give_up_s);
	assert_int_equal(kettle_plugin.create(kettle_fake_host(fake), &self, &err), 0);
	assert_int_equal(kettle_plugin.configure(self, section, &err), 0);
	assert_int_equal(kettle_plugin.start(self, &err), 0);
	instances[number] = self;
	return number;
}

static void
on_stopped(void *arg)
{
	(void)arg;
	stops++;
}

static int
have_stopped(void *arg)
{
	(void)arg;
	return (size_t)stops == count;
}

static int
setup(void **state)
{
	(void)state;
	dir = scratch_make();
	err = (struct kettle_error){0};
	stops = 0;
	count = 0;
	ops = kettle_plugin.runner;
	if (!dir || kettle_fake_new("slurm", &fake, &err) < 0)
		return -1;
	kettle_fake_simulate(fake, time_now_ms());
	return 0;
}

/* The loop must close with nothing left. */
static int
teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < count; i++)
		kettle_plugin.stop(instances[i], on_stopped, NULL);
	assert_int_equal(kettle_fake_run(fake, have_stopped, NULL, PATIENCE_MS), 0);
	for (size_t i = 0; i < count; i++)
		kettle_plugin.destroy(instances[i]);
	if (kettle_fake_free(fake, &err) != 0)
		fail_msg("%s", err.message);
	if (gate >= 0)
		(void)close(gate);
	gate = -1;
	scratch_remove(dir);
	return 0;
}

/* ---- jobs ---- */

/* The job NUMBER.ATTEMPT of an instance. */
static const char *
ref_of(size_t number, int attempt)
{
	static char texts[4][32];
	static unsigned next;
	char *text = texts[next++ % 4];
	(void)snprintf(text, sizeof(texts[0]), "%zu.%d", number, attempt);
	return text;
}

static void
submit(size_t number, int attempt)
{
	AUTO_JSON json_t *plan = json_pack("{s:i, s:[]}", "version", 1, "steps");
	AUTO_JSON json_t *unit = json_pack("{s:s, s:s, s:i}", "runner", "slurm", "name", "FAR", "slots", 9);
	const char *ref = ref_of(number, attempt);
	AUTO_FREE char *name = xasprintf("kettle-t-%s", ref);
	const struct kettle_job job = {
		.size = sizeof(job), .ref = ref, .name = name, .device = "FAR", .unit = unit, .deadline_ms = 1000};
	assert_int_equal(ops->submit(instances[number], &job, plan, &err), 0);
}

/* It is held open for both ends, so that neither waits for the other to be there. */
static void
close_gate(size_t number)
{
	AUTO_FREE char *path = path_of(number, "gate");
	assert_int_equal(mkfifo(path, 0600), 0);
	gate = open(path, O_RDWR | O_CLOEXEC);
	assert_true(gate >= 0);
}

static void
open_gate(void)
{
	assert_int_equal(write(gate, "\n", 1), 1);
}

static json_t *
reports(const char *ref, const char *kind)
{
	return json_object_get(json_object_get(kettle_fake_jobs(fake), ref), kind);
}

static int
is_complete(void *arg)
{
	return json_array_size(reports(arg, "completions")) > 0;
}

static int
has_started(void *arg)
{
	size_t i;
	const json_t *event;
	json_array_foreach(reports(arg, "events"), i, event)
		if (member_is(event, "event", "started"))
			return true;
	return false;
}

static const json_t *
await(const char *ref, const char *status)
{
	if (kettle_fake_run(fake, is_complete, (void *)ref, PATIENCE_MS) != 0)
		fail_msg("job %s does not end", ref);
	const json_t *done = json_array_get(reports(ref, "completions"), 0);
	assert_int_equal(json_array_size(reports(ref, "completions")), 1);
	assert_string_equal(json_text_or_empty(done, "status"), status);
	return done;
}

static void
await_lost(const char *ref, enum kettle_loss loss, const char *words, const char *more)
{
	const json_t *done = await(ref, "lost");
	const char *error = json_text_or_empty(done, "error");
	if (!strstr(error, words) || !strstr(error, more))
		fail_msg("job %s, not `%s%s`: %s", ref, words, more, error);
	assert_string_equal(json_text_or_empty(done, "loss"), kettle_loss_name(loss));
}

static struct slurm_job *
find(const char *ref)
{
	AUTO_FREE char *name = xasprintf("kettle-t-%s", ref);
	return slurm_job_find(instances[strtoul(ref, NULL, 10)], name);
}

static int
is_in_batch(void *arg)
{
	const struct slurm_job *own = find(arg);
	return own && own->in_batch;
}

static int
waits_for_sbatch(void *arg)
{
	const struct slurm_job *own = find(arg);
	return own && (own->wanted || own->in_batch);
}

static int
is_queued(void *arg)
{
	const struct slurm_job *own = find(arg);
	return own && own->job->phase == REMOTE_SUBMITTED;
}

static void
await_queued(const char *ref)
{
	assert_int_equal(kettle_fake_run(fake, is_queued, (void *)ref, PATIENCE_MS), 0);
}

static int
is_there(void *arg)
{
	return access(arg, F_OK) == 0;
}

static void
await_file(size_t number, const char *name)
{
	AUTO_FREE char *path = path_of(number, name);
	assert_int_equal(kettle_fake_run(fake, is_there, path, PATIENCE_MS), 0);
}

static int
is_away(void *arg)
{
	return access(arg, F_OK) != 0;
}

static void
await_removal(size_t number, const char *name)
{
	AUTO_FREE char *path = path_of(number, name);
	assert_int_equal(kettle_fake_run(fake, is_away, path, PATIENCE_MS), 0);
}

static size_t
logged(const char *text)
{
	size_t found = 0, i;
	const json_t *line;
	json_array_foreach(kettle_fake_log(fake), i, line)
		found += strstr(json_text_or_empty(line, "message"), text) && !member_is(line, "level", "debug");
	return found;
}

/* ---- faults ---- */

static void
test_sbatch(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		play(start(1, faults[i].hangs ? 1 : 60), "sbatch", faults[i].script);
		submit(i, 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		await_lost(ref_of(i, 1), KETTLE_LOSS_AWAY, REACHED_NOT, faults[i].words);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		assert_true(remote_errors(fake, "reached", 0, faults[i].words));
	/* Slurm may have taken one of them: it never begins. */
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		play(i, "sbatch", SBATCH);
		submit(i, 2);
		await_queued(ref_of(i, 2));
	}
}

static void
test_squeue(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		play(start(1, faults[i].hangs ? 1 : 60), "squeue", faults[i].script);
		submit(i, 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		await_lost(ref_of(i, 1), KETTLE_LOSS_AWAY, REACHED_NOT "Slurm's queue cannot be listed: ", faults[i].words);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		assert_true(remote_errors(fake, "reached", 0, faults[i].words));
	/* When it answers again, what is left in the queue is cancelled. */
	play(0, "squeue", SQUEUE);
	await_file(0, "cancelled");
}

static uint64_t cancelled_ms;

static int
has_failed_again(void *arg)
{
	return ((const struct slurm_job *)arg)->cancel_ms > cancelled_ms;
}

static void
test_scancel(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		play(start(60, faults[i].hangs ? 1 : 60), "scancel", faults[i].script);
		submit(i, 1);
		await_queued(ref_of(i, 1));
		ops->cancel(instances[i], ref_of(i, 1));
	}
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		await(ref_of(i, 1), "cancelled");
}

static int
is_uncertain(void *arg)
{
	const struct slurm_job *own = find(arg);
	return own && own->job->phase == REMOTE_FINDING;
}

/* A task that sbatch says it did not submit has begun, and squeue hangs: its own run says which one it is. */
static void
test_scancel_unlisted(void **state)
{
	(void)state;
	size_t one = start(60, 60);
	play(one, "squeue", "kill -STOP $$\n");
	close_gate(one);
	play(one, "sbatch",
		GATE "for a; do case $a in --array=*) echo 'error: Socket timed out' >&2; exit 1 ;; esac; done\necho 7\n");
	play(one, "scancel", "echo \"$*\" >cancelled.new; mv cancelled.new cancelled\n");
	submit(one, 1);
	assert_int_equal(kettle_fake_run(fake, is_in_batch, (void *)ref_of(one, 1), PATIENCE_MS), 0);
	for (int i = 2; i <= 3; i++) {
		submit(one, i);
		assert_int_equal(kettle_fake_run(fake, waits_for_sbatch, (void *)ref_of(one, i), PATIENCE_MS), 0);
	}
	open_gate();
	assert_int_equal(kettle_fake_run(fake, is_uncertain, (void *)ref_of(one, 3), PATIENCE_MS), 0);
	AUTO_FREE char *claim = path_of(one, "shared/jobs/kettle-t-0.3/claim"), *id = path_join(claim, "id"),
				   *told = path_of(one, "cancelled"), *text = NULL;
	size_t size;
	assert_int_equal(mkdir(claim, 0700), 0);
	assert_int_equal(file_write(id, "8\n", 2, 0600, &err), 0);
	ops->cancel(instances[one], ref_of(one, 3));
	await_file(one, "cancelled");
	assert_int_equal(file_read(told, 1000, &text, &size, &err), 0);
	AUTO_FREE char *task = xasprintf("--quiet 8_%zu\n", find(ref_of(one, 3))->task);
	assert_string_equal(text, task);
	assert_int_equal(find(ref_of(one, 3))->job->phase, REMOTE_FINDING);
	await(ref_of(one, 3), "cancelled");
}

/* It is tried again, and said once. */
static void
test_scancel_again(void **state)
{
	(void)state;
	play(start(60, 60), "scancel", NULL);
	submit(0, 1);
	await_queued(ref_of(0, 1));
	ops->cancel(instances[0], ref_of(0, 1));
	await(ref_of(0, 1), "cancelled");
	for (int i = 0; i < 3; i++) {
		struct slurm_job *own = instances[0]->remote.jobs->own;
		cancelled_ms = own->cancel_ms;
		assert_int_equal(kettle_fake_run(fake, has_failed_again, own, PATIENCE_MS), 0);
	}
	assert_int_equal(logged("0/scancel cannot be started"), 1);
	play(0, "scancel", SCANCEL);
	await_file(0, "cancelled");
}

/* The folder: others can write to it, and it goes away while a job is away. */
static void
test_folder(void **state)
{
	(void)state;
	size_t open = start(1, 60), gone = start(1, 60);
	AUTO_FREE char *shared = path_of(open, "shared"), *results = path_of(gone, "shared/results"),
				   *queue = path_of(gone, "queue");
	assert_int_equal(chmod(shared, 0777), 0);
	submit(open, 1);
	submit(gone, 1);
	await_queued(ref_of(gone, 1));
	assert_int_equal(rmdir(results), 0);
	assert_int_equal(unlink(queue), 0);
	await_lost(ref_of(open, 1), KETTLE_LOSS_AWAY, REACHED_NOT, "must belong to the user who runs Kettle");
	await_lost(ref_of(gone, 1), KETTLE_LOSS_AWAY, REACHED_NOT, "shared/results cannot be read");
	assert_int_equal(logged("1/shared/results cannot be read"), 1);
}

/* ---- the runner's own deadline ---- */

static void
set_running(size_t number)
{
	AUTO_FREE char *path = path_of(number, "queue");
	AUTO_FREE char *row = xasprintf("7|N/A|RUNNING|None|kettle-t-%s|.\n", ref_of(number, 1));
	assert_int_equal(file_write(path, row, strlen(row), 0600, &err), 0);
}

static int
is_timed(void *arg)
{
	return ((struct remote_job *)arg)->running;
}

static void
test_deadline(void **state)
{
	(void)state;
	/* One that Slurm lists for ever, and one of which Slurm says nothing any more, though it has begun. */
	size_t listed = start(60, 60), silent = start(1, 60);
	submit(listed, 1);
	submit(silent, 1);
	await_queued(ref_of(listed, 1));
	await_queued(ref_of(silent, 1));
	set_running(listed);
	AUTO_FREE char *claim = path_of(silent, "shared/jobs/kettle-t-1.1/claim");
	assert_int_equal(mkdir(claim, 0700), 0);
	play(silent, "squeue", NULL);
	uint64_t end_ms[2];
	for (size_t i = 0; i < count; i++) {
		const char *ref = ref_of(i, 1);
		struct remote_job *job = instances[i]->remote.jobs;
		assert_int_equal(kettle_fake_run(fake, has_started, (void *)ref, PATIENCE_MS), 0);
		assert_false(is_complete((void *)ref));
		assert_int_equal(kettle_fake_run(fake, is_timed, job, PATIENCE_MS), 0);
		end_ms[i] = job->since + (uint64_t)slurm_unit_minutes(job->unit, 1000) * 60000;
	}
	for (size_t i = 0; i < count; i++) {
		const char *ref = ref_of(i, 1);
		const char *why = i == listed ? "Slurm did not end" : "queue cannot be listed";
		enum kettle_loss loss = i == listed ? KETTLE_LOSS_NODE_FAULT : KETTLE_LOSS_UNREACHED;
		await_lost(ref, loss, "has exceeded its time limit", why);
		assert_in_range(remote_now_ms(&instances[i]->remote), end_ms[i], end_ms[i] + 2 * 60000);
	}
	await_file(listed, "cancelled");
}

/* Jobs whose names begin alike. */
static void
test_losses(void **state)
{
	(void)state;
	size_t one = start(60, 60);
	submit(one, 10);
	await_queued(ref_of(one, 10));
	submit(one, 1);
	await_queued(ref_of(one, 1));
	AUTO_FREE char *queue = path_of(one, "queue"), *rows = xasprintf("9|N/A|FAILED|NonZeroExitCode|kettle-t-%s|.\n"
																	 "9|N/A|FAILED|NonZeroExitCode|kettle-t-%s|.\n",
													   ref_of(one, 1), ref_of(one, 10));
	assert_int_equal(file_write(queue, rows, strlen(rows), 0600, &err), 0);
	await_lost(ref_of(one, 1), KETTLE_LOSS_NODE_FAULT, "Its job in Slurm ended without a result (FAILED)", "");
	await_lost(ref_of(one, 10), KETTLE_LOSS_NODE_FAULT, "Its job in Slurm ended without a result (FAILED)", "");
	await_removal(one, "shared/jobs/kettle-t-0.1");
	await_removal(one, "shared/jobs/kettle-t-0.10");
}

static void
on_doctor(void *arg, const struct kettle_error *answer, json_t *report)
{
	*(struct kettle_error *)arg = *answer;
	assert_null(report);
}

static int
is_idle(void *arg)
{
	const struct slurm *slurm = arg;
	return slurm->remote.jobs && !slurm->commands.list && slurm->busy == 0;
}

/* A stop while a job of a doctor waits in the queue: it finds no folder when it begins. */
static void
test_stop(void **state)
{
	(void)state;
	size_t one = start(60, 60);
	struct kettle_error answer = {0};
	AUTO_JSON json_t *unit = json_pack("{s:s}", "runner", "slurm");
	AUTO_FREE char *jobs = path_of(one, "shared/jobs");
	assert_int_equal(ops->doctor(instances[one], unit, on_doctor, &answer, &err), 0);
	await_file(one, "queue");
	assert_int_equal(kettle_fake_run(fake, is_idle, instances[one], PATIENCE_MS), 0);
	assert_int_not_equal(rmdir(jobs), 0);
	kettle_plugin.stop(instances[one], on_stopped, NULL);
	assert_int_equal(kettle_fake_run(fake, have_stopped, NULL, PATIENCE_MS), 0);
	kettle_plugin.destroy(instances[one]);
	count = 0;
	stops = 0;
	assert_int_equal(answer.code, KETTLE_ECANCELED);
	assert_int_equal(rmdir(jobs), 0);
}

/* ---- many ---- */

/* More than two arrays take; the first one goes alone. */
#define CROWD (2 * SHARED_ARRAY_MAX + 200)

static int
all_are_queued(void *arg)
{
	(void)arg;
	for (int i = CROWD; i > 0; i--)
		if (!is_queued((void *)ref_of(0, i)))
			return 0;
	return 1;
}

static int
has_looked_on(void *arg)
{
	const struct slurm *slurm = instances[0];
	return slurm->taken > *(const uint64_t *)arg;
}

static size_t
lines_of(const char *name)
{
	AUTO_FREE char *path = path_of(0, name), *text = NULL;
	size_t size = 0, lines = 0;
	assert_int_equal(file_read(path, 1 << 20, &text, &size, &err), 0);
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines;
}

/* Jobs that come at once become a few arrays, and one call lists them all. */
static void
test_crowd(void **state)
{
	(void)state;
	(void)start(60, 60);
	const struct slurm *slurm = instances[0];
	close_gate(0);
	play(0, "sbatch", GATE SBATCH_ARRAYS);
	play(0, "squeue", "echo >>squeue.calls\n" SQUEUE);
	for (int i = 1; i <= CROWD; i++)
		submit(0, i);
	for (int i = 1; i <= CROWD; i++)
		assert_int_equal(kettle_fake_run(fake, waits_for_sbatch, (void *)ref_of(0, i), PATIENCE_MS), 0);
	open_gate();
	assert_int_equal(kettle_fake_run(fake, all_are_queued, NULL, PATIENCE_MS), 0);
	assert_in_range(lines_of("sbatch.calls"), 3, 4);
	assert_int_equal(lines_of("queue"), CROWD);
	uint64_t late = slurm->snapshot + 2;
	assert_int_equal(kettle_fake_run(fake, has_looked_on, &late, PATIENCE_MS), 0);
	assert_in_range(lines_of("squeue.calls"), late, slurm->snapshot);
	for (int i = 1; i <= CROWD; i++)
		assert_true(is_queued((void *)ref_of(0, i)) && !is_complete((void *)ref_of(0, i)));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_sbatch, setup, teardown),
	cmocka_unit_test_setup_teardown(test_squeue, setup, teardown),
	cmocka_unit_test_setup_teardown(test_scancel, setup, teardown),
	cmocka_unit_test_setup_teardown(test_scancel_unlisted, setup, teardown),
	cmocka_unit_test_setup_teardown(test_scancel_again, setup, teardown),
	cmocka_unit_test_setup_teardown(test_folder, setup, teardown),
	cmocka_unit_test_setup_teardown(test_deadline, setup, teardown),
	cmocka_unit_test_setup_teardown(test_losses, setup, teardown),
	cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
	cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
};

UNIT_TESTS(test_slurm);
