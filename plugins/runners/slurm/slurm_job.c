/* SPDX-License-Identifier: MIT */
/*
 * Jobs of the runner slurm: turns the state of Slurm and of the shared folder into answers for runners/common.
 *
 * Theory of operation. A job is identified by its unique name, or as a task of an array with a unique name. Slurm uses
 * ids again after its controller has crashed, so an id is used only while the newest snapshot has it with the name or,
 * until there is a snapshot, if the run of the job itself has told it.
 *
 * The `claim` in a job's folder decides once whether the job may begin: the first run of the job makes it as a folder,
 * or the engine makes it as a link to give the job up. So a job that the controller has forgotten, or starts a second
 * time, runs at most once, and the engine knows whether it ever began.
 *
 * Threads of the pool do all work in the shared folder. Their findings and squeue's are kept in the job, and answer
 * the next request of runners/common.
 *
 * A job that has ended stays ORPHANED for some time after it has left the queue: if Slurm still runs it, or if a
 * crashed controller lists it again, it is cancelled. Its result, or the claim of a job without one, stays in the
 * folder for a day, since the engine may be killed before it has stored the verdict or the loss.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <unistd.h>

#include "base/base.h"
#include "base/failpoint.h"

#define CANCEL_AGAIN_MS 3000
#define CANCEL_TASKS 100    /* tasks of one scancel */
#define LEFT_OVER_MS 8000   /* after this a job that has ended and is still listed is cancelled */
#define REMEMBER_MS 600000  /* for which a job that has left the queue is remembered */
#define REMEMBERED_MS 30000 /* between two looks at a remembered job */
#define FORGET_MS 86400000  /* for which a job that has ended is remembered if no snapshot comes */
#define OVERDUE_MS 60000    /* beyond the time that Slurm was given for a job */
#define DOCTOR_MS 150000    /* the command itself waits for three minutes */

static struct slurm *
slurm_of(const struct slurm_job *own)
{
	return own->job->remote->self;
}

/* ---- the table ---- */

struct slurm_job *
slurm_job_find(const struct slurm *slurm, const char *name)
{
	const struct remote_job *job = remote_find_name(&slurm->remote, name);
	return job ? job->own : NULL;
}

struct slurm_job *
slurm_job_of_row(const struct slurm *slurm, const struct squeue_row *row)
{
	char number[24];
	(void)snprintf(number, sizeof(number), "%ld", row->task);
	const char *name = row->task < 0 ? row->name : json_text_or_null(json_object_get(slurm->arrays, row->name), number);
	struct slurm_job *own = name ? slurm_job_find(slurm, name) : NULL;
	return own && !own->array == (row->task < 0) ? own : NULL;
}

void
slurm_job_set_array(struct slurm_job *own, char *array_take, size_t task)
{
	json_t *arrays = slurm_of(own)->arrays, *tasks = json_object_get(arrays, array_take);
	char number[24];
	(void)snprintf(number, sizeof(number), "%zu", task);
	if (!tasks)
		json_object_set_new(arrays, array_take, tasks = json_object());
	if (json_object_get(tasks, number)) { /* two folders name the same task: a user has changed one */
		free(array_take);
		return;
	}
	json_object_set_new(tasks, number, json_string(own->job->name));
	own->array = array_take;
	own->task = task;
}

static void
leave_array(struct slurm_job *own)
{
	json_t *arrays = slurm_of(own)->arrays, *tasks = own->array ? json_object_get(arrays, own->array) : NULL;
	char number[24];
	(void)snprintf(number, sizeof(number), "%zu", own->task);
	(void)json_object_del(tasks, number);
	if (tasks && json_object_size(tasks) == 0)
		(void)json_object_del(arrays, own->array);
	free(own->array);
}

/* Whether `fits` holds for any task of the job's array. */
static bool
any_task(const struct slurm_job *own, bool (*fits)(const struct slurm_job *task, const struct slurm_job *own))
{
	json_t *tasks = own->array ? json_object_get(slurm_of(own)->arrays, own->array) : NULL;
	json_object_each(tasks, number, name) {
		const struct slurm_job *task = slurm_job_find(slurm_of(own), json_string_value(name));
		if (task && fits(task, own))
			return true;
	}
	return false;
}

/* The job's name in Slurm. */
static const char *
slurm_name(const struct slurm_job *own)
{
	return own->array ? own->array : own->job->name;
}

bool
slurm_job_is_listed(const struct slurm_job *own)
{
	return own->seen > 0 && own->seen == slurm_of(own)->taken;
}

/* ---- threads of the pool ---- */

void
slurm_work(struct slurm *slurm, kettle_fn work, kettle_fn after, void *arg)
{
	struct kettle_error err = {0};
	slurm->busy++;
	if (slurm->remote.host->work(slurm->remote.host, work, after, arg, &err) < 0)
		after(arg); /* the engine is closing: `after` runs without results of `work` */
}

void
slurm_work_done(struct slurm *slurm)
{
	slurm->busy--;
	slurm_finish_stop(slurm);
}

void
slurm_finish_stop(void *arg)
{
	struct slurm *slurm = arg;
	if (slurm->remote.ended && slurm->busy == 0 && !slurm->commands.list)
		remote_stopped(&slurm->remote);
}

int
slurm_run(struct slurm *slurm, const struct arguments *arguments, struct command_use use, struct kettle_error *err)
{
	use.limit_ms = slurm->command_ms;
	return command_run(&slurm->commands, arguments, &use, err);
}

struct visit {
	struct slurm *slurm;
	uint64_t serial; /* of the job, which may have ended when the visit does */
	char *folder, *name, *array;
	size_t task;
	bool places, claims, retires; /* find the job's array; claim the job; remove its files */
	bool recovered;
	bool there; /* the folder can be reached, so array is right */
	bool has_result;
	int claimed; /* result of shared_folder_claim */
	char *id;    /* of a job that has begun; result of shared_folder_claim_id */
	char *words;
	/* The loop's. */
	void (*then)(struct slurm_job *own, const struct visit *visit);
	char *why; /* for a job that is given up */
};

static void
claim(struct visit *visit)
{
	AUTO_FREE char *result = shared_folder_result(visit->folder, visit->name);
	/* Claims first: after that, an earlier run has left its result or never will. */
	visit->claimed = shared_folder_claim(visit->folder, visit->name, NULL);
	visit->has_result = access(result, F_OK) == 0;
	bool is_known = shared_folder_has(visit->folder, visit->name);
	/* A file that is not seen means nothing if the folder has gone away meanwhile. */
	if (visit->claimed == 0 && !shared_folder_is_there(visit->folder))
		visit->claimed = KETTLE_EUNAVAIL;
	else if (visit->claimed == 0 && visit->recovered && !is_known)
		visit->claimed = 1; /* it was never sent */
	if (visit->claimed == 0)
		visit->id = shared_folder_claim_id(visit->folder, visit->name);
	visit->words = shared_folder_last_words(visit->folder, visit->name, visit->array, visit->task);
}

static void
visit_folder(void *arg)
{
	struct visit *visit = arg;
	if (visit->places) {
		shared_folder_restore(visit->folder, visit->name);
		visit->array = shared_folder_array(visit->folder, visit->name, &visit->task);
		visit->there = shared_folder_is_there(visit->folder);
	}
	if (visit->claims)
		claim(visit);
	if (visit->retires)
		shared_folder_retire(visit->folder, visit->name, visit->array);
}

static void
on_visited(void *arg)
{
	struct visit *visit = arg;
	struct slurm *slurm = visit->slurm;
	struct slurm_job *own = visit->retires ? NULL : slurm_job_find(slurm, visit->name);
	if (visit->retires)
		failpoint("slurm.retired");
	if (own && own->serial == visit->serial) {
		own->visiting = false;
		if (visit->there) {
			own->unplaced = false;
			own->since_snapshot = slurm->snapshot;
			if (visit->array)
				slurm_job_set_array(own, STEAL(visit->array), visit->task);
		}
		visit->then(own, visit);
	}
	free_all(visit->folder, visit->name, visit->array, visit->words, visit->id, visit->why, visit);
	slurm_go_on(slurm);
	slurm_work_done(slurm);
}

static struct visit *
visit_new(const struct slurm_job *own, bool claims, void (*then)(struct slurm_job *own, const struct visit *visit))
{
	struct visit *visit = xnew(struct visit, .slurm = slurm_of(own), .serial = own->serial,
		.folder = xstrdup(slurm_of(own)->folder), .name = xstrdup(own->job->name),
		.array = own->array ? xstrdup(own->array) : NULL, .task = own->task, .places = own->unplaced, .claims = claims,
		.recovered = own->recovered, .claimed = KETTLE_EUNAVAIL, .then = then);
	return visit;
}

static void
start_visit(struct slurm_job *own, struct visit *visit)
{
	own->visiting = true;
	slurm_work(slurm_of(own), visit_folder, on_visited, visit);
}

/* Has the next request sent later, when more is known. */
static void
wait_for_more(const struct slurm_job *own)
{
	remote_wait(own->job, remote_now_ms(own->job->remote) + slurm_of(own)->poll_ms);
}

/* ---- removing its files ---- */

static bool
needs_list(const struct slurm_job *task, const struct slurm_job *own)
{
	return task != own && !task->retired;
}

/* Removes the job's files from the shared folder, except its result, which stays in done/ for a while. */
static void
retire(struct slurm_job *own)
{
	struct visit *visit = visit_new(own, false, NULL);
	own->retired = visit->retires = true;
	visit->places = false;
	/* The last task removes the array's list. */
	if (any_task(own, needs_list))
		free(STEAL(visit->array));
	slurm_work(visit->slurm, visit_folder, on_visited, visit);
}

/* ---- losses ---- */

static void
take_lost(struct slurm_job *own, const struct visit *visit)
{
	struct remote_job *job = own->job;
	const char *words = visit->words;
	const char *final = own->standing == SLURM_TAKEN_AWAY || own->standing == SLURM_FAILED ? own->state : "";
	failpoint("slurm.claimed");
	/* If the folder cannot be reached, or a result has come, the next look decides. */
	if (job->phase != REMOTE_SUBMITTED || job->cancelled || !own->missing_ms || visit->claimed < 0 || visit->has_result)
		return;
	/* The job is lost. The sentences are for operators and participants. */
	if (own->standing == SLURM_FAILED)
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its job in Slurm ended without a result (%s)%s%s", final,
			*words ? ": " : ".", words);
	else if (visit->claimed == 1)
		remote_lost(job, KETTLE_LOSS_NOT_STARTED, "Slurm %s before it began%s%s%s.",
			*final ? "gave its job up" : "does not have its job, which had left the queue", *final ? " (" : "", final,
			*final ? ")" : "");
	else if (*final)
		remote_lost(job, KETTLE_LOSS_UNKNOWN_JOB, "Slurm ended its job while it ran (%s).", final);
	else
		remote_lost(job, KETTLE_LOSS_UNKNOWN_JOB, "Slurm no longer knows its job, which left no result.");
}

void
slurm_job_lose(struct slurm_job *own)
{
	if (!own->visiting)
		start_visit(own, visit_new(own, true, take_lost));
}

static void
take_given_up(struct slurm_job *own, const struct visit *visit)
{
	struct remote_job *job = own->job;
	failpoint("slurm.given_up");
	if (job->phase >= REMOTE_FETCHING || job->cancelled)
		return;
	if (!visit->has_result && visit->claimed != 0) {
		remote_lost(job, visit->claimed == 1 ? KETTLE_LOSS_AWAY : KETTLE_LOSS_UNREACHED, "%s", visit->why);
		return;
	}
	/* The job has begun; its time to run counts from now on. */
	remote_accepted(job);
	remote_update(job, visit->has_result ? REMOTE_ENDED : REMOTE_RUNNING, visit->why);
}

static void
give_up(struct remote_job *job, const char *why)
{
	struct slurm_job *own = job->own;
	if (!own->written) {
		remote_lost(job, KETTLE_LOSS_AWAY, "%s", why);
	} else if (own->visiting) {
		wait_for_more(own);
	} else {
		struct visit *visit = visit_new(own, true, take_given_up);
		visit->why = xstrdup(why);
		start_visit(own, visit);
	}
}

/* ---- scancel ---- */

/*
 * Whether the job needs a scancel now. A task can only be named by its id. So the newest snapshot must show that the
 * id still belongs to its array or, if no snapshot has come since sbatch was called, the task's own run must have told
 * the id. A job that sbatch has not accepted may run nevertheless; if Slurm gets it later, slurm_job_accepted has it
 * cancelled again.
 */
static bool
needs_cancel(const struct slurm_job *own, uint64_t now)
{
	const struct remote_job *job = own->job;
	bool listed = slurm_job_is_listed(own), left = job->phase == REMOTE_ORPHANED;
	if (!own->sent || own->unplaced || own->cancel_ms > now || !job->cancelled)
		return false;
	if (left && !own->unwanted && (!listed || (!own->retired && now - own->left_ms <= LEFT_OVER_MS)))
		return false;
	if (own->cancel_sent)
		return listed && own->seen > own->cancel_snapshot;
	if (own->array && own->id_told && slurm_of(own)->taken <= own->since_snapshot)
		return true;
	return own->array || (left && own->missing_ms) ? listed : true;
}

/* Records the end of a scancel. A failed one is repeated every few seconds, and logged once. */
static void
take_cancelled(struct slurm *slurm, bool worked, const char *why)
{
	const char *name = "a job";
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next) {
		struct slurm_job *own = job->own;
		if (!own || !own->cancelling) /* one scancel runs at a time */
			continue;
		name = slurm_name(own);
		own->cancelling = false;
		own->cancel_sent = worked;
		own->cancel_ms = remote_now_ms(&slurm->remote) + CANCEL_AGAIN_MS;
		own->cancel_snapshot = slurm->snapshot;
	}
	if (!worked)
		slurm->remote.host->log(slurm->remote.host, slurm->cancel_failed ? KETTLE_LOG_DEBUG : KETTLE_LOG_WARNING,
			"%s cannot be cancelled: %s", name, why);
	slurm->cancel_failed = !worked;
	slurm->cancelling = false;
}

static void
on_cancel_ended(void *arg, const struct command_end *end)
{
	struct slurm *slurm = arg;
	failpoint("slurm.cancelled");
	take_cancelled(slurm, end->worked, end->why);
	slurm_queue_soon(slurm);
	slurm_go_on(slurm);
}

/* Runs one scancel for a job or several tasks of an array, if one is wanted and none runs. */
static void
cancel_next(struct slurm *slurm)
{
	uint64_t now = remote_now_ms(&slurm->remote);
	AUTO_ARGUMENTS struct arguments arguments = {0};
	struct kettle_error err = {0};
	const struct slurm_job *first = NULL;
	unsigned tasks = 0;
	for (const struct remote_job *job = slurm->cancelling ? NULL : slurm->remote.jobs; job && tasks < CANCEL_TASKS;
		 job = job->next) {
		struct slurm_job *own = job->own;
		if (!own || !needs_cancel(own, now) || (first && strcmp(slurm_name(own), slurm_name(first)) != 0))
			continue;
		if (!first) {
			arguments_add(&arguments, "%s", slurm->scancel);
			arguments_add(&arguments, "--quiet");
		}
		/* Together with one of these options, scancel takes ID_TASK for the whole array. */
		if (!own->array) {
			arguments_add(&arguments, "--user=%s", slurm->uid);
			arguments_add(&arguments, "--name=%s", job->name);
		} else {
			arguments_add(&arguments, "%s_%zu", own->id, own->task);
		}
		first = own;
		own->cancelling = true;
		tasks++;
	}
	if (!first)
		return;
	const struct command_use use = {.on_end = on_cancel_ended, .arg = slurm, .max_lines = 1000};
	slurm->cancelling = true;
	if (slurm_run(slurm, &arguments, use, &err) < 0)
		take_cancelled(slurm, false, err.message);
}

static void
take_claimed(struct slurm_job *own, const struct visit *visit)
{
	struct remote_job *job = own->job;
	own->claimed = visit->claimed >= 0;
	own->id_told = visit->id && strlen(visit->id) < sizeof(own->id) && slurm_of(own)->taken <= own->since_snapshot;
	if (own->id_told)
		memcpy(own->id, visit->id, strlen(visit->id) + 1);
	if (job->phase >= REMOTE_ORPHANED || !job->cancelled)
		return;
	/* The job has not begun and never will: only its place in the queue is left. */
	if (visit->claimed == 1)
		remote_cancelled(job);
	else
		remote_update(job, REMOTE_PENDING, NULL);
}

/* Cleans up after a completed job: its place in the queue first, then its files. */
static void
tend(struct slurm_job *own)
{
	struct remote_job *job = own->job;
	uint64_t now = remote_now_ms(own->job->remote);
	own->left_ms = own->left_ms ? own->left_ms : now;
	if (own->missing_ms && !own->retired)
		retire(own);
	if (own->missing_ms ? now - own->missing_ms > REMEMBER_MS : now - own->left_ms > FORGET_MS)
		remote_cancelled(job);
	else
		remote_update(job, REMOTE_PENDING, NULL);
}

static void
cancel(struct remote_job *job)
{
	struct slurm_job *own = job->own;
	own->wanted = own->asked = false;
	if (job->phase == REMOTE_ORPHANED) {
		tend(own);
		return;
	}
	own->unwanted = true;
	if (job->phase == REMOTE_SENDING && !own->written && !own->in_batch)
		remote_cancelled(job);
	else if (own->visiting || !own->written) /* the visit or the batch ends first, before sbatch */
		wait_for_more(own);
	else if (!own->claimed)
		start_visit(own, visit_new(own, true, take_claimed));
	else
		remote_update(job, own->missing_ms ? REMOTE_ABSENT : REMOTE_PENDING, NULL);
}

/* ---- the other operations of remote.h ---- */

void
slurm_go_on(struct slurm *slurm)
{
	slurm_look_next(slurm);
	slurm_submit_next(slurm);
	cancel_next(slurm);
	slurm_queue_next(slurm);
}

static void
flush(struct remote *remote)
{
	slurm_go_on(remote->self);
}

struct slurm_job *
slurm_job_new(struct remote_job *job)
{
	struct slurm *slurm = job->remote->self;
	struct slurm_job *own = job->own = xcalloc(1, sizeof(*own));
	bool recovered = !job->envelope && !job->report;
	*own = (struct slurm_job){.job = job,
		.serial = ++slurm->serials,
		.began_ms = remote_now_ms(&slurm->remote),
		.written = recovered,
		.sent = recovered,
		.recovered = recovered,
		.unplaced = recovered,
		.since_snapshot = SLURM_NOT_SENT};
	return own;
}

static bool
begin(struct remote_job *job)
{
	(void)slurm_job_new(job);
	job->most_ms = (uint64_t)slurm_unit_minutes(job->unit, job->deadline_ms) * 60000 + OVERDUE_MS;
	return false;
}

void
slurm_job_accepted(struct slurm_job *own)
{
	struct remote_job *job = own->job;
	failpoint("slurm.accepted");
	own->since_snapshot = slurm_of(own)->snapshot;
	own->missing_ms = 0;
	own->cancel_sent = false; /* Slurm may not have had it then */
	if (job->phase == REMOTE_ORPHANED)
		return;
	remote_accepted(job);
	remote_update(job, REMOTE_PENDING, NULL);
}

static void
take_found(struct slurm_job *own, const struct visit *visit)
{
	if (!visit->there) {
		remote_update(own->job, REMOTE_NO_ANSWER, "its shared folder cannot be reached.");
		return;
	}
	slurm_queue_soon(slurm_of(own));
	slurm_job_accepted(own);
}

static bool
has_come(const struct slurm_job *task, const struct slurm_job *own)
{
	return slurm_job_is_listed(task) && task->seen > own->since_snapshot;
}

/* Finds a job: after a restart in its folder, otherwise in the next snapshot. */
static void
find(struct remote_job *job)
{
	struct slurm_job *own = job->own;
	const struct slurm *slurm = job->remote->self;
	if (own->unplaced && !own->visiting)
		start_visit(own, visit_new(own, false, take_found));
	else if (has_come(own, own) || any_task(own, has_come)) /* it may have ended already */
		slurm_job_accepted(own);
	else if (own->missing_ms)
		remote_update(job, REMOTE_ABSENT, NULL);
	else if (slurm->unlisted)
		remote_update(job, REMOTE_NO_ANSWER, slurm->unlisted);
	else
		wait_for_more(own);
}

static void
ask(struct remote_job *job)
{
	struct slurm_job *own = job->own;
	const struct slurm *slurm = job->remote->self;
	uint64_t now = remote_now_ms(&slurm->remote);
	if (job->report && now - own->began_ms > DOCTOR_MS)
		remote_report(job, NULL, "Slurm did not run the job within 150 s; see what it waits for with `squeue`.");
	else if (now < slurm->look_ms)
		remote_wait(job, slurm->look_ms); /* together with all others */
	else
		own->asked = true;
}

static void
fetch(struct remote_job *job)
{
	const struct slurm *slurm = job->remote->self;
	failpoint("slurm.result");
	AUTO_FREE char *path = shared_folder_result(slurm->folder, job->name);
	remote_result(job, -1, path);
}

static bool
remains(struct remote_job *job)
{
	struct slurm_job *own = job->own;
	if (!own || !own->sent)
		return false;
	failpoint("slurm.ended");
	if (own->since_snapshot == SLURM_NOT_SENT && !own->in_batch)
		own->since_snapshot = slurm_of(own)->snapshot;
	own->asked = own->wanted = false;
	own->left_ms = remote_now_ms(own->job->remote);
	return true;
}

static void
release(struct remote_job *job)
{
	struct slurm_job *own = job->own;
	if (!own)
		return;
	slurm_submit_leave(own);
	if (own->written && !own->retired && !job->detached)
		retire(own);
	leave_array(own);
	free(own);
	job->own = NULL;
}

static uint64_t
interval_ms(const struct remote_job *job, uint64_t now)
{
	const struct slurm_job *own = job->own;
	const struct slurm *slurm = job->remote->self;
	(void)now;
	if (job->phase != REMOTE_ORPHANED)
		return slurm->poll_ms;
	return own->retired ? REMEMBERED_MS : slurm->queue_ms;
}

static int
check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err)
{
	(void)remote;
	return slurm_unit_check(unit, err);
}

static bool
end(struct remote *remote)
{
	struct slurm *slurm = remote->self;
	commands_kill(&slurm->commands);
	return slurm->busy == 0 && !slurm->commands.list;
}

const struct remote_ops slurm_remote_ops = {
	.begin = begin,
	.send = slurm_submit,
	.find = find,
	.ask = ask,
	.flush = flush,
	.fetch = fetch,
	.cancel = cancel,
	.give_up = give_up,
	.remains = remains,
	.release = release,
	.status = slurm_queue_status,
	.interval_ms = interval_ms,
	.end = end,
	.check_unit = check_unit,
	.unit_options = slurm_unit_options,
	.unit_options_count = SLURM_UNIT_OPTIONS,
};
