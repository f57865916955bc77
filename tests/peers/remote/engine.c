/* SPDX-License-Identifier: MIT */
/* The engine of a simulated world: it submits, cancels and recovers jobs, and checks what a runner says of them. */
#include <config.h>

#include "peers/remote/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "peers/remote/life.h"

#define STEP_MS 1000
#define CANCEL_MS 30000  /* kettle/runner.h */
#define RECOVER_MS 60000 /* likewise */
#define STOP_MS 20000
#define LOST_MS 30000 /* for so long an answer is waited for that was lost before the calm */
#define COUNTED_MAX 3

static void submit(void *arg);

void
engine_plan(struct job *job, uint64_t delay_ms)
{
	if (job->count == WORLD_ATTEMPTS) {
		world_fail(job->world, "job %u needs more than %d attempts", job->number, WORLD_ATTEMPTS);
		return;
	}
	struct attempt *attempt = &job->attempts[job->count++];
	*attempt = (struct attempt){.job = job};
	(void)snprintf(attempt->ref, sizeof(attempt->ref), "%u.%u", job->number, job->count);
	(void)snprintf(attempt->name, sizeof(attempt->name), "kettle-1f0c9a3e-%u.%u", job->number, job->count);
	AUTO_JSON json_t *plan = world_plan(attempt);
	AUTO_FREE char *text = json_dumps(plan, JSON_COMPACT | JSON_SORT_KEYS);
	sha256_hex(text, strlen(text), attempt->hash);
	if (job->world->parts) {
		struct attempt *first = attempt->first = xmalloc(sizeof(*first));
		*first = *attempt;
		first->first = NULL;
		first->whole = attempt;
		(void)snprintf(first->name, sizeof(first->name), "%.40s.build", attempt->name);
	}
	world_after(job->world, delay_ms, submit, attempt);
}

static void
end_job(struct job *job, const char *how)
{
	world_say(job->world, "job %u has ended: %s", job->number, how);
	job->ended = true;
}

/* The attempt came to nothing. */
static void
again(struct attempt *attempt, uint64_t delay_ms)
{
	attempt->state = ATTEMPT_ENDED;
	if (attempt->job->cancelled)
		end_job(attempt->job, "cancelled");
	else if (attempt->job->counted >= COUNTED_MAX ||
			 (attempt->job->world->endless && attempt->job->count >= COUNTED_MAX))
		end_job(attempt->job, "all attempts were lost");
	else
		engine_plan(attempt->job, delay_ms);
}

static struct kettle_job
describe(const struct attempt *attempt, const json_t *unit, const char *spool)
{
	return (struct kettle_job){.size = sizeof(struct kettle_job),
		.ref = attempt->ref,
		.device = "FAR",
		.unit = unit,
		.deadline_ms = 300000,
		.name = attempt->name,
		.spool = spool,
		.plan_hash = attempt->hash};
}

static void
on_cancel_due(void *arg)
{
	struct attempt *attempt = arg;
	struct world *world = attempt->job->world;
	if (attempt->state == ATTEMPT_IN_FLIGHT && attempt->cancel_ms && world_now(world) - attempt->cancel_ms >= CANCEL_MS)
		world_fail(world, "%s has not completed within 30 s of its cancel", attempt->ref);
}

static void
cancel_attempt(struct attempt *attempt)
{
	struct world *world = attempt->job->world;
	world_say(world, "cancel %s", attempt->ref);
	attempt->cancel_ms = world_now(world);
	bool is_heard = world->climate == FAIR || world_now(world) >= world->calm_ms + LOST_MS;
	attempt->cancelled_in = is_heard && world_is_calm(world) ? world->life : NULL;
	world_after(world, CANCEL_MS, on_cancel_due, attempt);
	world->side->plugin->runner->cancel(world->life->self, attempt->ref);
}

static struct attempt *
last_attempt(struct job *job)
{
	return job->count ? &job->attempts[job->count - 1] : NULL;
}

void
engine_cancel(void *arg)
{
	struct job *job = arg;
	struct attempt *attempt = last_attempt(job);
	if (job->ended || job->cancelled)
		return;
	job->cancelled = true;
	if (attempt->state == ATTEMPT_IN_FLIGHT && job->world->life)
		cancel_attempt(attempt);
	else if (attempt->state == ATTEMPT_PLANNED)
		again(attempt, 0);
}

void
engine_move(void *arg)
{
	struct world *world = arg;
	world_say(world, "-- the device moves to another unit --");
	for (unsigned i = 0; i < world->job_count && world->life && !world->life->dead && !world->life->stopping; i++) {
		struct attempt *attempt = last_attempt(&world->jobs[i]);
		if (!attempt || attempt->state != ATTEMPT_IN_FLIGHT || attempt->said_to_run || attempt->cancel_ms)
			continue;
		attempt->excused = true; /* the cancel is not stored: a killed engine takes up what it has stopped */
		cancel_attempt(attempt);
	}
}

static void
submit(void *arg)
{
	struct attempt *attempt = arg;
	struct world *world = attempt->job->world;
	struct kettle_error err = {0};
	if (attempt->state != ATTEMPT_PLANNED || world->failure)
		return;
	if (!world->life || world->life->stopping || world->life->dead) {
		world_after(world, STEP_MS, submit, attempt);
		return;
	}
	AUTO_JSON json_t *unit = world->side->unit(world), *plan = world_plan(attempt);
	AUTO_FREE char *spool = world->parts ? xasprintf("%s/%s.run", world->folder, attempt->ref) : NULL;
	const struct kettle_job job = describe(attempt, unit, spool);
	world_say(world, "submit %s", attempt->ref);
	attempt->state = ATTEMPT_IN_FLIGHT;
	attempt->said_to_run = false;
	attempt->submitted_ms = world_now(world);
	if (world->side->plugin->runner->submit(world->life->self, &job, plan, &err) < 0 && !world->life->dead) {
		world_say(world, "%s is refused: %s", attempt->ref, err.message);
		again(attempt, STEP_MS);
	}
}

static bool
has_settled(const struct world *world, uint64_t ms)
{
	return !world->endless && (world->climate == FAIR || ms >= world->calm_ms + world->side->settle_ms);
}

static void
check_loss(struct attempt *attempt, const json_t *completion)
{
	struct world *world = attempt->job->world;
	const char *loss = json_text_or_empty(completion, "loss");
	bool counts = strcmp(loss, "failed") == 0 || strcmp(loss, "gone") == 0;
	/* What a remote side never had, or a connection did not carry. */
	bool never = strcmp(loss, "unstarted") == 0 || strcmp(loss, "away") == 0;
	if (strcmp(loss, "final") == 0)
		world_fail(world, "%s is said to fail whatever is tried", attempt->ref);
	else if (has_settled(world, attempt->submitted_ms))
		world_fail(world, "%s is lost in a calm world", attempt->ref);
	else if (counts && world->climate != HOSTILE && !attempt->excused)
		world_fail(world, "%s is lost, and counts, though what went wrong passes", attempt->ref);
	else if (never && world_part(attempt)->starts > 0 && !world_part(attempt)->doubted)
		world_fail(world, "%s has begun, and is said not to have", attempt->ref);
	attempt->denied = never;
	attempt->job->counted += counts;
}

struct completion {
	struct completion *next;
	struct attempt *attempt;
	struct life *life;
	json_t *what;
};

/* What a completion leads to once the store has it. */
static void
commit(void *arg)
{
	struct completion *completion = arg;
	struct attempt *attempt = completion->attempt;
	struct world *world = attempt->job->world;
	const char *status = json_text_or_empty(completion->what, "status");
	/* Killed meanwhile, and then it is as if it had never come. */
	if (!completion->life->dead && attempt->state == ATTEMPT_COMPLETED) {
		attempt->state = ATTEMPT_ENDED;
		if (strcmp(status, "done") == 0)
			end_job(attempt->job, "done");
		else if (strcmp(status, "lost") == 0)
			again(
				attempt, member_is(completion->what, "loss", "unusable") ? RECOVER_MS : 1000 + world_draw(world, 5000));
		else
			again(attempt, STEP_MS);
	}
	struct completion **link = &world->completions;
	while (*link != completion)
		link = &(*link)->next;
	*link = completion->next;
	json_decref(completion->what);
	free(completion);
}

static void
check_completion(struct attempt *attempt, const json_t *completion)
{
	struct world *world = attempt->job->world;
	const char *status = json_text_or_empty(completion, "status");
	if (attempt->state != ATTEMPT_IN_FLIGHT)
		world_fail(world, "%s completes, and is not in flight", attempt->ref);
	else if (strcmp(status, "lost") == 0)
		check_loss(attempt, completion);
	else if (strcmp(status, "cancelled") == 0 && !attempt->cancel_ms && !world->life->stopping)
		world_fail(world, "%s completes as cancelled, and was not", attempt->ref);
	else if (strcmp(status, "done") == 0 && !attempt->finished)
		world_fail(world, "%s is said to have run, and has not", attempt->ref);
	else if (strcmp(status, "done") == 0 &&
			 !json_equal(json_object_get(completion, "outcomes"), json_object_get(attempt->made, "outcomes")))
		world_fail(world, "%s completes with a result that was not made for it", attempt->ref);
	else if (strcmp(status, "done") != 0 && strcmp(status, "cancelled") != 0)
		world_fail(world, "%s completes as `%s`", attempt->ref, status);
}

void
engine_takes_completion(struct world *world, const char *ref, json_t *completion_take)
{
	struct attempt *attempt = world_attempt_by_ref(world, ref);
	AUTO_FREE char *text = json_dumps(completion_take, JSON_COMPACT);
	world_say(world, "%s completes: %s", ref, text);
	if (strstr(text, WORLD_SECRET) || strstr(text, WORLD_KEY))
		world_fail(world, "a secret is in the completion of %s", ref);
	if (!attempt) {
		world_fail(world, "a job `%s` completes, which is none", ref);
		json_decref(completion_take);
		return;
	}
	check_completion(attempt, completion_take);
	attempt->state = ATTEMPT_COMPLETED;
	struct completion *completion = xmalloc(sizeof(*completion));
	*completion = (struct completion){
		.next = world->completions, .attempt = attempt, .life = world->life, .what = completion_take};
	world->completions = completion;
	world_after(world, world_draw(world, world_strikes(world, 100) ? 8000 : 10), commit, completion);
}

void
engine_takes_handle(struct world *world, const char *ref, const char *handle)
{
	struct attempt *attempt = world_attempt_by_ref(world, ref);
	if (!attempt || attempt->state == ATTEMPT_ENDED)
		return;
	free(attempt->handle);
	attempt->handle = xstrdup(handle);
}

void
engine_takes_event(struct world *world, const char *ref, const json_t *event)
{
	struct attempt *attempt = world_attempt_by_ref(world, ref);
	const char *name = json_text_or_empty(event, "event");
	world_say(world, "%s: %s", ref, name);
	if (!attempt || attempt->state != ATTEMPT_IN_FLIGHT)
		world_fail(world, "%s says `%s`, and is not in flight", ref, name);
	else if (strcmp(name, "started") == 0 && world_part(attempt)->starts == 0 && !world_part(attempt)->doubted)
		world_fail(world, "%s is said to have begun, and has not", ref);
	if (attempt && strcmp(name, "started") == 0)
		attempt->said_to_run = true;
}

static void recover_attempt(void *arg);

static void
recover_now(struct attempt *attempt)
{
	struct world *world = attempt->job->world;
	struct kettle_error err = {0};
	AUTO_JSON json_t *unit = world->side->unit(world);
	AUTO_FREE char *spool = world->parts ? xasprintf("%s/%s.run", world->folder, attempt->ref) : NULL;
	const struct kettle_job job = describe(attempt, unit, spool);
	AUTO_FREE char *handle = xstrdup(attempt->handle);
	world_say(world, "recover %s by %s", attempt->ref, handle);
	attempt->state = ATTEMPT_IN_FLIGHT;
	attempt->said_to_run = false;
	attempt->cancel_ms = 0;
	int rc = world->side->plugin->runner->recover(world->life->self, &job, handle, &err);
	if (rc == KETTLE_EUNAVAIL && !world->life->dead) {
		attempt->state = ATTEMPT_LIMBO;
		world_after(world, RECOVER_MS, recover_attempt, attempt);
	} else if (rc < 0 && !world->life->dead) {
		world_fail(world, "%s is not recovered: %s", attempt->ref, err.message);
	} else if (attempt->job->cancelled && attempt->state == ATTEMPT_IN_FLIGHT && !world->life->dead) {
		cancel_attempt(attempt);
	}
}

static void
recover_attempt(void *arg)
{
	struct attempt *attempt = arg;
	const struct world *world = attempt->job->world;
	if (attempt->state == ATTEMPT_LIMBO && world->life && !world->life->dead && !world->life->stopping)
		recover_now(attempt);
}

/* Calls fn for every attempt that was in flight when the last life ended. */
static void
each_in_limbo(struct world *world, void (*fn)(struct attempt *attempt))
{
	for (unsigned i = 0; i < world->job_count && world->life && !world->life->dead; i++) {
		struct attempt *attempt = last_attempt(&world->jobs[i]);
		if (attempt && attempt->state == ATTEMPT_LIMBO)
			fn(attempt);
	}
}

static void
take_up(struct attempt *attempt)
{
	if (attempt->handle && attempt->job->world->side->plugin->runner->recover)
		recover_now(attempt);
	else
		again(attempt, STEP_MS);
}

/* ---- lives ---- */

/* Puts what is in flight aside for the next life. */
static void
to_limbo(struct world *world)
{
	for (unsigned i = 0; i < world->job_count; i++) {
		struct attempt *attempt = last_attempt(&world->jobs[i]);
		if (attempt && (attempt->state == ATTEMPT_IN_FLIGHT || attempt->state == ATTEMPT_COMPLETED))
			attempt->state = ATTEMPT_LIMBO;
	}
}

void
engine_start(void *arg)
{
	struct world *world = arg;
	if (world->failure || world->over || world->life)
		return;
	world_say(world, "-- the engine begins --");
	world->life = life_new(world);
	/* At most one kill is planned at a time; in the calm none is. */
	if (!world_is_calm(world) && world->kills > 0 && world->kills--)
		world->life->calls_left = 1 + (unsigned)world_draw(world, world_draw(world, 2) ? 40 : 400);
	each_in_limbo(world, take_up);
}

static void
on_stop_due(void *arg)
{
	struct life *life = arg;
	if (!life->stopped && !life->dead)
		world_fail(life->world, "the plugin does not stop within %d s", STOP_MS / 1000);
}

/* As the engine does it: what is found again is detached, all else is cancelled by the plugin. */
void
engine_end(struct world *world)
{
	const struct kettle_plugin *plugin = world->side->plugin;
	struct life *life = world->life;
	world_say(world, "-- the engine stops --");
	life->stopping = true;
	for (unsigned i = 0; i < world->job_count && !life->dead; i++) {
		struct attempt *attempt = last_attempt(&world->jobs[i]);
		if (!attempt || attempt->state != ATTEMPT_IN_FLIGHT || !attempt->handle || !plugin->runner->detach)
			continue;
		plugin->runner->detach(life->self, attempt->ref);
		if (!life->dead)
			attempt->state = ATTEMPT_LIMBO;
	}
	if (life->dead)
		return;
	life_stop(life);
	world_after(world, STOP_MS, on_stop_due, life);
}

void
engine_stop(void *arg)
{
	struct world *world = arg;
	if (world->life && !world->life->dead && !world->life->stopping && !world->over && !world_is_calm(world))
		engine_end(world);
}

/* Looks after the life that is, between two turns of the loop. */
void
engine_tend(struct world *world)
{
	struct life *life = world->life;
	if (!life || (!life->dead && !life->stopped))
		return;
	if (!life->dead) {
		for (unsigned i = 0; i < world->job_count; i++)
			if (last_attempt(&world->jobs[i]) && last_attempt(&world->jobs[i])->state == ATTEMPT_IN_FLIGHT)
				world_fail(
					world, "the plugin has stopped, and %s has not completed", last_attempt(&world->jobs[i])->ref);
		life_destroy(life);
	}
	world->life = NULL;
	to_limbo(world);
	if (!world->over)
		world_after(world, 200 + world_draw(world, world_draw(world, 2) ? 500 : 30000), engine_start, world);
}

void
engine_free(struct world *world)
{
	while (world->completions) {
		struct completion *completion = world->completions;
		world->completions = completion->next;
		json_decref(completion->what);
		free(completion);
	}
	for (unsigned i = 0; i < world->job_count; i++)
		for (unsigned k = 0; k < world->jobs[i].count; k++) {
			struct attempt *attempt = &world->jobs[i].attempts[k];
			free(attempt->handle);
			json_decref(attempt->made);
			if (attempt->first)
				json_decref(attempt->first->made);
			free(attempt->first);
		}
}
