/* SPDX-License-Identifier: MIT */
/*
 * Slurm: sbatch, squeue and scancel as their 22.05 answers, a controller that may be away or forget, and nodes that do what
 * slurm-job.sh does in the shared folder, which is a real one and may be away, too.
 */
#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "peers/remote/sides.h"
#include "runners/slurm/slurm_internal.h"

#define LISTED_MS 300000 /* MinJobAge: for so long a job that has ended is known */
#define LATE_MS 5000     /* after which a file of a node is seen at the latest; less than the grace time */
#define AWAY_MS 1000     /* between two tries of a node to reach the folder */

struct queued {
	struct world *world;
	struct queued *next; /* the newest first */
	unsigned id;
	long task;          /* -1: of no array */
	char *name, *first; /* in Slurm; of the attempt: that of the list, for a task */
	const char *state, *reason;
	uint64_t ended_ms; /* 0: it has not */
	struct attempt *of;
	bool cancelled;
	bool late; /* its result is written, and not seen yet */
};

struct slurm_side {
	struct queued *jobs;
	unsigned next_id;
	char *folder, *away; /* away: where the folder is while it cannot be reached */
	bool is_away;
};

static void put_result(void *arg);

static void
slurm_begin(struct world *world)
{
	struct slurm_side *slurm = world->own = xcalloc(1, sizeof(*slurm));
	struct kettle_error err = {0};
	slurm->next_id = 7;
	slurm->folder = path_join(world->folder, "shared");
	slurm->away = path_join(world->folder, "away");
	AUTO_FREE char *key = path_join(slurm->folder, "key");
	/* As `kettle runner init` leaves it. */
	if (file_mkdirs(slurm->folder, 0700, &err) < 0 || shared_folder_make(slurm->folder, &err) < 0 ||
		file_write(key, WORLD_KEY, strlen(WORLD_KEY), 0600, &err) < 0)
		abort();
}

static void
slurm_end(struct world *world)
{
	struct slurm_side *slurm = world->own;
	while (slurm->jobs) {
		struct queued *job = slurm->jobs;
		slurm->jobs = job->next;
		free(job->name);
		free(job->first);
		free(job);
	}
	free(slurm->folder);
	free(slurm->away);
	free(slurm);
}

static void
on_back(void *arg)
{
	struct slurm_side *slurm = ((struct world *)arg)->own;
	if (slurm->is_away && rename(slurm->away, slurm->folder) != 0)
		abort();
	slurm->is_away = false;
	for (struct queued *job = slurm->jobs; job; job = job->next)
		put_result(job);
}

/* The folder's server is away for a while. */
static void
on_folder_trouble(void *arg)
{
	struct world *world = arg;
	struct slurm_side *slurm = world->own;
	if (world_is_calm(world) || slurm->is_away)
		return;
	if (rename(slurm->folder, slurm->away) != 0)
		abort();
	slurm->is_away = true;
	world_say(world, "the folder is away");
	world_after(world, world_draw(world, world_draw(world, 2) ? 1000 : 20000), on_back, world);
}

static json_t *
slurm_section(struct world *world)
{
	const struct slurm_side *slurm = world->own;
	for (unsigned troubles = 0; troubles < 3 && world_strikes(world, 500); troubles++)
		world_after(world, world_draw(world, 40000), on_folder_trouble, world);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i}", "folder", slurm->folder, "key",
		WORLD_KEY, "exec", "/bin/true", "sbatch", "sbatch", "squeue", "squeue", "scancel", "scancel", "poll_ms", 500,
		"queue_ms", 2000, "grace_s", 10, "command_s", 60, "give_up_s", 3600);
}

static json_t *
slurm_unit(struct world *world)
{
	json_t *options = world_options(world, json_object(), json_pack("{s:s}", "partition", "cpu"));
	return json_pack("{s:s, s:s, s:i, s:o}", "runner", "slurm", "name", "FAR", "slots", 9, "options", options);
}

/* ---- nodes ---- */

static void
leave_queue(struct queued *job, const char *state, const char *reason)
{
	job->state = state;
	job->reason = reason;
	job->ended_ms = world_now(job->world);
	world_say(job->world, "%s (%u) leaves the queue: %s", job->first, job->id, state);
}

static bool
has_ended(const struct queued *job)
{
	return job->ended_ms > 0;
}

/* The path of what a job has in the folder. New string. */
static char *
job_path(const struct queued *job, const char *what)
{
	const struct slurm_side *slurm = job->world->own;
	return xasprintf("%s/jobs/%s/%s", slurm->folder, job->first, what);
}

static void
put_result(void *arg)
{
	struct queued *job = arg;
	struct world *world = job->world;
	const struct slurm_side *slurm = world->own;
	AUTO_FREE char *path = xasprintf("%s/results/%s", slurm->folder, job->first), *run = xasprintf("%u", job->id),
				   *sealed = NULL;
	size_t size;
	if (slurm->is_away || !job->late)
		return; /* it is there when the folder is back */
	job->late = false;
	sealed = world_strikes(world, world->weather.lies) ? world_seal_other(world, job->of, run, false, &size)
													   : world_seal(world, job->of, run, &size);
	if (world_strikes(world, world->weather.lies))
		size /= 2;
	if (file_write(path, sealed, size, 0600, NULL) < 0)
		abort();
}

static void
on_job_over(void *arg)
{
	static const char *const ends[] = {"NODE_FAIL", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "PREEMPTED"};
	struct queued *job = arg;
	struct world *world = job->world;
	const struct slurm_side *slurm = world->own;
	if (has_ended(job))
		return;
	if (job->cancelled) {
		leave_queue(job, "CANCELLED", "None");
	} else if (world_strikes(world, world->weather.deaths)) {
		leave_queue(job, ends[world_draw(world, ARRAY_SIZE(ends))], "None");
	} else if (slurm->is_away) {
		world_after(world, AWAY_MS, on_job_over, job);
	} else {
		job->late = true;
		world_after(world, world_strikes(world, 200) ? world_draw(world, LATE_MS) : 0, put_result, job);
		leave_queue(job, "COMPLETED", "None");
	}
}

static void
say_progress(const struct queued *job)
{
	AUTO_FREE char *path = job_path(job, "progress");
	FILE *file = fopen(path, "a");
	if (file && fputs("{\"event\": \"device\"}\n{\"event\": \"step\", \"step\": \"run\", \"state\": \"running\"}\nrubb",
					file) < 0)
		abort();
	if (file)
		(void)fclose(file);
}

/* As slurm-job.sh: who makes the folder `claim` has the job. */
static void
on_node(void *arg)
{
	struct queued *job = arg;
	struct world *world = job->world;
	const struct slurm_side *slurm = world->own;
	AUTO_FREE char *claim = job_path(job, "claim"), *plan = job_path(job, "plan.kettle"), *data = NULL;
	size_t size;
	if (has_ended(job))
		return;
	if (slurm->is_away) {
		world_after(world, AWAY_MS, on_node, job);
		return;
	}
	if (mkdir(claim, 0700) != 0) {
		leave_queue(job, "FAILED", "NonZeroExitCode");
		return;
	}
	AUTO_FREE char *id_file = path_join(claim, "id"), *id = xasprintf("%u\n", job->id);
	if (job->task >= 0 && file_write(id_file, id, strlen(id), 0600, NULL) < 0)
		abort();
	if (file_read(plan, 1 << 20, &data, &size, NULL) == 0)
		job->of = world_open(world, job->first, data, size);
	if (!job->of) {
		world_fail(world, "%s has no plan", job->first);
		return;
	}
	world_begins(world, job->of);
	job->state = "RUNNING";
	job->reason = "None";
	say_progress(job);
	world_after(world, 100 + world_draw(world, world_draw(world, 2) ? 2000 : 60000), on_job_over, job);
}

/* The controller has it; now and then it gives it to a node twice, or to none. */
static void
queue_job(struct world *world, unsigned id, long task, const char *name, const char *first)
{
	struct slurm_side *slurm = world->own;
	struct queued *job = xcalloc(1, sizeof(*job));
	*job = (struct queued){.world = world,
		.next = slurm->jobs,
		.id = id,
		.task = task,
		.name = xstrdup(name),
		.first = xstrdup(first),
		.state = "PENDING",
		.reason = "Priority"};
	slurm->jobs = job;
	uint64_t wait = world_draw(world, world_draw(world, 2) ? 1000 : 30000);
	world_after(world, wait, on_node, job);
	if (world_strikes(world, world->weather.deaths / 2))
		world_after(world, wait + world_draw(world, 3000), on_node, job);
}

/* ---- commands ---- */

/* What a command is asked, and how it ends. */
struct asked {
	enum { WORKS, FAILS, FAILS_LATE, HANGS, BABBLES } how;
};

static const char *
argument(const struct child *child, const char *option)
{
	for (size_t i = 1; child->argv[i]; i++)
		if (strncmp(child->argv[i], option, strlen(option)) == 0)
			return child->argv[i] + strlen(option);
	return NULL;
}

/* The line of an array's list. New string. */
static char *
line_of(const struct slurm_side *slurm, const char *array, long number)
{
	AUTO_FREE char *path = xasprintf("%s/jobs/%s/list", slurm->folder, array), *text = NULL;
	size_t size;
	if (file_read(path, 1 << 20, &text, &size, NULL) < 0)
		return NULL;
	char *line = text;
	for (; line && number > 0; number--)
		line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
	return line ? xstrndup(line, strcspn(line, "\n")) : NULL;
}

/* One as Slurm writes it. */
static void
say_line(struct child *child, const char *line)
{
	world_shows_line(child->world, child->argv[0], line);
	child_says(child, false, line);
}

static void
do_sbatch(struct child *child)
{
	struct world *world = child->world;
	struct slurm_side *slurm = world->own;
	const char *name = argument(child, "--job-name="), *array = argument(child, "--array=0-");
	unsigned id = slurm->next_id++;
	bool builds = argument(child, "--partition=cpu") != NULL;
	if (!name || !argument(child, "--parsable") || !argument(child, "--no-requeue")) {
		world_fail(world, "sbatch is called without what it needs");
		return;
	}
	for (long task = 0; array && task <= atol(array); task++) {
		AUTO_FREE char *first = line_of(slurm, name, task);
		if (!first || !first[0])
			continue; /* the task ends at once: it was cancelled before */
		world_placed(world, world_attempt(world, first), builds);
		queue_job(world, id, task, name, first);
	}
	if (!array) {
		world_placed(world, world_attempt(world, name), builds);
		queue_job(world, id, -1, name, name);
	}
	AUTO_FREE char *line = xasprintf("%u", id);
	say_line(child, line);
}

/* A row ends with |. and its name may have lines. */
static void
say_row(struct child *child, const struct queued *job)
{
	AUTO_FREE char *task = job->task < 0 ? xstrdup("N/A") : xasprintf("%ld", job->task);
	AUTO_FREE char *row = xasprintf("%u|%s|%s|%s|%s" SQUEUE_END, job->id, task, job->state, job->reason, job->name);
	say_line(child, row);
}

static void
do_squeue(struct child *child)
{
	struct world *world = child->world;
	const struct slurm_side *slurm = world->own;
	const char *format = argument(child, "--format=");
	bool all = argument(child, "--states=all") != NULL;
	if (!format || strcmp(format, SQUEUE_FORMAT) != 0 || !argument(child, "--array") || !argument(child, "--user="))
		world_fail(world, "squeue is called without what it needs");
	say_line(child, SQUEUE_HEADER);
	if (world_draw(world, 2)) {
		child_says(child, false, "5|N/A|RUNNING|None|two");
		child_says(child, false, "lines" SQUEUE_END);
	}
	for (const struct queued *job = slurm->jobs; job; job = job->next)
		if (!has_ended(job) || (all && world_now(world) - job->ended_ms < LISTED_MS))
			say_row(child, job);
}

static void
do_scancel(struct child *child)
{
	const struct slurm_side *slurm = child->world->own;
	const char *name = argument(child, "--name=");
	for (struct queued *job = slurm->jobs; job; job = job->next) {
		AUTO_FREE char *task = xasprintf("%u_%ld", job->id, job->task);
		if (has_ended(job) || (name ? strcmp(name, job->name) != 0 : !argument(child, task)))
			continue;
		job->cancelled = true;
		if (strcmp(job->state, "PENDING") == 0)
			leave_queue(job, "CANCELLED", "None");
		else
			world_after(child->world, world_draw(child->world, 3000), on_job_over, job);
	}
}

static void
do_command(struct child *child)
{
	if (strcmp(child->argv[0], "sbatch") == 0)
		do_sbatch(child);
	else if (strcmp(child->argv[0], "squeue") == 0)
		do_squeue(child);
	else
		do_scancel(child);
}

/* A controller that has crashed may forget what it took last, or all of it; the numbers are used again. */
static void
forget(struct world *world)
{
	struct slurm_side *slurm = world->own;
	world_say(world, "the controller has lost its state");
	for (struct queued *job = slurm->jobs; job; job = job->next) {
		if (has_ended(job) || world_draw(world, 2))
			continue;
		if (job->of)
			job->of->doubted = true;
		leave_queue(job, "FORGOTTEN", "None");
		job->ended_ms = 1; /* long ago */
	}
	slurm->next_id = 7;
}

static void
complain(struct child *child)
{
	AUTO_FREE char *key = xasprintf("%s without a controller", child->argv[0]);
	const char *line = strcmp(child->argv[0], "squeue") == 0
						   ? "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
						   : "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
							 "failure)";
	world_shows_line(child->world, key, line);
	child_says(child, true, line);
}

static void
on_command(void *arg)
{
	struct child *child = arg;
	struct world *world = child->world;
	const struct asked *asked = child->own;
	if (child->ended)
		return;
	if (asked->how == WORKS || asked->how == FAILS_LATE || (asked->how == HANGS && world_draw(world, 2)))
		do_command(child);
	world_say(world, "%s %s", child->argv[0],
		(const char *const[]){"works", "fails", "fails after all", "hangs", "babbles"}[asked->how]);
	if (asked->how == FAILS || asked->how == FAILS_LATE)
		complain(child);
	if (asked->how == BABBLES)
		child_says(child, false, world_draw(world, 2) ? "rubbish" : SQUEUE_HEADER);
	if (asked->how != HANGS)
		child_ends(child, asked->how == FAILS || asked->how == FAILS_LATE ? 1 : 0, 0);
}

static void
slurm_start(struct child *child)
{
	struct world *world = child->world;
	const struct weather *weather = &world->weather;
	struct asked *asked = child->own = xcalloc(1, sizeof(*asked));
	if (world_strikes(world, weather->lies / 16))
		forget(world);
	if (world_is_out(world, 0) || world_strikes(world, weather->lost) || world_strikes(world, weather->errors))
		asked->how = FAILS;
	else if (world_is_out(world, 1) || world_strikes(world, weather->unheard))
		asked->how = FAILS_LATE;
	else if (world_strikes(world, weather->slow / 4))
		asked->how = HANGS;
	else if (world_strikes(world, weather->lies))
		asked->how = BABBLES;
	world_after(world, 5 + world_draw(world, world_strikes(world, weather->slow) ? 20000 : 200), on_command, child);
}

static void
slurm_check(struct world *world)
{
	const struct slurm_side *slurm = world->own;
	for (const struct queued *job = slurm->jobs; job; job = job->next)
		if (world->climate == FAIR && !has_ended(job))
			world_fail(world, "%s goes on in Slurm though its job has ended", job->first);
}

extern const struct kettle_plugin kettle_plugin;

const struct side side_slurm = {
	.name = "slurm",
	.plugin = &kettle_plugin,
	.outlives = true,
	.most_jobs = 12,
	.settle_ms = 120000,
	.linger_ms = 60000,
	/* A loss that was told, and not stored before the engine was killed; a cancel while the queue cannot be listed; jobs that
	 * wait for one another while the controller stays away. */
	.cases = {1885894512, 105299216, 2952056295, 1971580270, 644909762},
	.begin = slurm_begin,
	.end = slurm_end,
	.section = slurm_section,
	.unit = slurm_unit,
	.start = slurm_start,
	.check = slurm_check,
};
