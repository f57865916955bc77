/* SPDX-License-Identifier: MIT */
/* Units whose GPUs are unfit to score: which there are, how ranked jobs wait for them, and how they become fit. */
/*
 * Theory of operation. kettle-exec looks at the GPUs of a job before it, after each of its steps and at its end, and
 * names the causes for which times on them are no scores (base/gpu_fitness.h). For a ranked job on such a unit:
 *
 *   unfit before its first step ──▶ no step runs, the job is handed back
 *   unfit later                 ──▶ no score counts, the attempt is lost as `unfit`, which uses up none of the three
 *
 * The unit then runs all jobs but ranked ones, which go to other units or wait. The engine has its machine described
 * every ENGINE_TEST_MS; when its GPUs are fit, or an operator enables it, ranked jobs go on. What the machine says while
 * jobs use its GPUs leaves out other processes; then one ranked job finds out whether they are still there. And it has
 * the heat of these jobs: while ranked jobs wait for a unit that load made unfit, no others start there until it was
 * described while idle. If it is still unfit, they may start for ENGINE_TEST_MS; else one ranked job is first.
 *
 * While no unit in order is fit, a job waits at most ENGINE_UNFIT_MAX_MS, from the time at which the last fit one became
 * unfit, or from when it was accepted. Then it starts on such a unit only to end with an error, as the machine's fault.
 * That a unit says it is fit does not end this time, since it may say so again and again; a job that scores does.
 *
 * A submission may heat its GPU so that a slow score is dropped. So after ENGINE_UNFIT_RUNS such runs on units where
 * other jobs score, its score counts, with the remark of the report.
 *
 * Nothing of this is stored: the next engine finds it out by its first ranked job.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/base.h"
#include "base/gpu_fitness.h"
#include "base/log.h"
#include "base/times.h"
#include "judge/unit_facts.h"
#include "model/settings.h"

/* ---- the causes ---- */

static bool
is_from_load(const char *cause)
{
	static const enum gpu_word words[] = {
		GPU_WORD_HARDWARE_SLOWDOWN, GPU_WORD_THERMAL, GPU_WORD_THERMAL_HARDWARE, GPU_WORD_POWER_BRAKE};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(cause, gpu_word(words[i])) == 0)
			return true;
	return false;
}

/* The number of the causes that the load of a job may bring about. */
static size_t
count_from_load(const json_t *causes)
{
	size_t count = 0;
	json_array_each(causes, cause)
		count += is_from_load(json_string_value(cause));
	return count;
}

char *
unit_fitness_why(const json_t *causes)
{
	AUTO_BUF struct buf text = {0};
	gpu_words_explain(causes, &text);
	return xasprintf("its GPU is not fit to score: %s", text.data ? text.data : "");
}

struct fitness_note {
	json_t *data; /* {"device", "unit", "reason", "causes"} */
	bool fit;
};

static int
fitness_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct fitness_note *note = arg;
	return settings_unit_tell_fitness(db, note->data, note->fit, err);
}

static void
on_fitness_told(void *arg, const struct kettle_error *err)
{
	struct fitness_note *note = arg;
	if (err)
		log_write(KETTLE_LOG_WARNING, "engine", "the fitness of unit %s could not be stored as an event: %s",
			json_text_or_null(note->data, "unit"), err->message);
	json_decref(note->data);
	free(note);
}

static void
tell_fitness(struct engine *engine, const struct unit *unit, const char *reason)
{
	struct fitness_note *note = xnew(struct fitness_note, .fit = !unit->fitness.causes,
		.data = json_pack("{s:s, s:s, s:s, s:O*}", "device", unit->device->name, "unit", unit->label, "reason", reason,
			"causes", unit->fitness.causes));
	store_write(engine->setup.store, fitness_op, on_fitness_told, note);
}

void
unit_fitness_take(struct engine *engine, struct unit *unit, const json_t *causes)
{
	bool was = unit->fitness.causes, unfit = json_array_size(causes) > 0;
	bool same = was && unfit && json_equal(unit->fitness.causes, causes);
	if (unfit)
		unit->fitness.test_at_ms = clock_ms(engine->setup.clock) + ENGINE_TEST_MS;
	unit->fitness.trial = false;
	unit->fitness.others_until_ms = was ? unit->fitness.others_until_ms : 0;
	if (same || (!was && !unfit))
		return;
	json_decref(STEAL(unit->fitness.causes));
	unit->fitness.causes = unfit ? json_copy((json_t *)causes) : NULL;
	unit->fitness.since_utc_ms = was && unfit ? unit->fitness.since_utc_ms : clock_utc_ms(engine->setup.clock);
	AUTO_FREE char *why = unfit ? unit_fitness_why(causes) : xstrdup("its GPU is fit to score");
	if (unfit)
		log_write(KETTLE_LOG_WARNING, "engine", "unit %s runs no ranked jobs: %s", unit->label, why);
	else
		log_write(KETTLE_LOG_INFO, "engine", "unit %s runs ranked jobs again", unit->label);
	tell_fitness(engine, unit, why);
	engine->dirty = true;
}

/* The causes that a completion names of one of these GPUs, or of any (NULL). New reference. */
static json_t *
causes_of(const struct completion *completion, const json_t *gpus)
{
	json_t *causes = json_array();
	gpu_words_add_unfit(causes, completion->unfit, gpus);
	return causes;
}

static void
judge_fitness(struct engine *engine, struct unit *unit, const struct completion *completion)
{
	AUTO_JSON json_t *causes = causes_of(completion, unit->gpus);
	/* Of a machine that was there for one job nothing follows for the next one. */
	bool known = unit->runner->ops->describe && (json_array_size(causes) > 0 || json_array_size(completion->checked));
	if (!known || json_array_size(unit->gpus) == 0)
		return;
	unit_fitness_take(engine, unit, causes);
	if (json_array_size(causes) == 0)
		unit->device->unfit.since_ms = 0;
}

json_t *
unit_fitness_judge(struct engine_job *job, const struct completion *completion)
{
	if (!job->ranked || !job->unit)
		return json_array();
	judge_fitness(job->engine, job->unit, completion);
	for (size_t i = 0; i < job->more_count; i++)
		judge_fitness(job->engine, job->more[i], completion);
	return causes_of(completion, NULL);
}

json_t *
unit_fitness_describe(const struct unit *unit)
{
	if (!unit->fitness.causes)
		return NULL;
	AUTO_FREE char *why = unit_fitness_why(unit->fitness.causes);
	return json_pack("{s:s, s:s, s:s, s:O, s:s}", "unit", unit->label, "cause", "unfit", "since",
		TIME_TEXT(unit->fitness.since_utc_ms), "causes", unit->fitness.causes, "error", why);
}

/* ---- jobs that wait ---- */

static size_t
ranked_in_queue(const struct device *device)
{
	return fair_queue_length(device->queue) - device->unranked;
}

/* The first unit in order, if none of these is fit; else NULL. */
static const struct unit *
first_unfit(const struct device *device)
{
	const struct unit *first = NULL;
	for (const struct unit *unit = device->units; unit; unit = unit->next) {
		if (unit_condition(unit) != CONDITION_IN_ORDER)
			continue;
		if (!unit->fitness.causes)
			return NULL;
		first = first ? first : unit;
	}
	return first;
}

const struct unit *
unit_fitness_blocking(const struct engine_job *job)
{
	return job->ranked ? first_unfit(job->device) : NULL;
}

void
unit_fitness_note_wait(const struct engine *engine, struct device *device)
{
	if (!device->unfit.since_ms && first_unfit(device))
		device->unfit.since_ms = clock_ms(engine->setup.clock);
}

/* Whether the job has waited long if it waits since then (0: it does not), or since it was accepted. */
static bool
is_long_since(const struct engine_job *job, uint64_t since_ms)
{
	uint64_t accepted_ms = job->stamps.accepted_ns / 1000000;
	uint64_t from_ms = since_ms > accepted_ms ? since_ms : accepted_ms;
	return since_ms && clock_ms(job->engine->setup.clock) - from_ms >= ENGINE_UNFIT_MAX_MS;
}

bool
unit_fitness_waits_long(const struct engine_job *job)
{
	return is_long_since(job, job->unfit_since_ms) ||
		   (is_long_since(job, job->device->unfit.since_ms) && unit_fitness_blocking(job));
}

static bool
ranked_waits(const struct device *device)
{
	const struct engine_job *held = device->awaiting_units.first;
	while (held && !held->ranked)
		held = held->held.next;
	return held || ranked_in_queue(device) > 0;
}

/* Whether jobs that are not ranked may start on the unfit unit: ranked ones must not wait for it to cool down. */
static bool
takes_others(const struct engine *engine, const struct unit *unit)
{
	uint64_t now = clock_ms(engine->setup.clock);
	return count_from_load(unit->fitness.causes) == 0 || now < unit->fitness.others_until_ms ||
		   !ranked_waits(unit->device);
}

bool
unit_fitness_may_allow(const struct engine *engine, const struct unit *unit)
{
	const struct device *device = unit->device;
	return unit->fitness.trial || device->unfit.expired || (device->unranked > 0 && takes_others(engine, unit));
}

bool
unit_fitness_allows(const struct unit *unit, const struct engine_job *job)
{
	if (!job->ranked)
		return takes_others(job->engine, unit);
	return unit->fitness.trial || (unit->device->unfit.expired && unit_fitness_waits_long(job));
}

bool
unit_fitness_stands(struct engine_job *job, const json_t *causes)
{
	uint64_t scored_ms = job->unit->fitness.scored_ms;
	bool lately = scored_ms && clock_ms(job->engine->setup.clock) - scored_ms < (uint64_t)JOB_CLAIMS_MS;
	if (!lately || count_from_load(causes) < json_array_size(causes))
		return false;
	if (job->unfit_runs >= ENGINE_UNFIT_RUNS)
		return true;
	job->unfit_runs++;
	return false;
}

bool
unit_fitness_runs(struct unit *unit)
{
	bool runs = !unit->fitness.causes || unit->fitness.trial;
	unit->fitness.trial = false;
	return runs;
}

/* ---- tests ---- */

static void
on_fitness_tested(void *arg, struct engine *engine, struct unit *unit, const struct kettle_error *err)
{
	(void)arg;
	(void)err; /* a machine that does not answer stays unfit */
	if (unit)
		unit->fitness.test_at_ms = clock_ms(engine->setup.clock) + ENGINE_TEST_MS;
}

void
unit_fitness_greeted(struct engine *engine, struct unit *unit, const json_t *greeting)
{
	AUTO_JSON json_t *facts = unit_facts(unit->config, greeting), *causes = json_array();
	const json_t *gpus = json_object_get(facts, "gpus");
	if (!unit->fitness.causes || json_array_size(gpus) < json_array_size(unit->gpus))
		return;
	json_array_each(gpus, gpu)
		gpu_words_add_causes(causes, json_object_get(gpu, "unfit"));
	bool idle = unit->active == 0, contested = ranked_in_queue(unit->device) > 0 && unit->device->unranked > 0;
	/* An answer of a busy machine hides other processes; on an idle one that has cooled down, a ranked job comes first. */
	bool trial = idle ? contested && count_from_load(unit->fitness.causes) > 0
					  : list_has_text(unit->fitness.causes, gpu_word(GPU_WORD_PROCESSES));
	if (trial && json_array_size(causes) == 0) {
		unit->fitness.trial = true;
		unit->fitness.others_until_ms = 0;
	} else {
		unit_fitness_take(engine, unit, causes);
		if (idle)
			unit->fitness.others_until_ms = clock_ms(engine->setup.clock) + ENGINE_TEST_MS;
	}
	engine->dirty = true;
}

/* Has the queue searched for jobs that have waited too long, from time to time since that costs much. */
static void
look_for_expired(struct device *device, uint64_t now)
{
	if (!device->unfit.since_ms || now - device->unfit.since_ms < ENGINE_UNFIT_MAX_MS || now < device->unfit.look_at_ms)
		return;
	device->unfit.expired = true;
	device->unfit.look_at_ms = now + ENGINE_TEST_MS;
}

void
unit_fitness_tick(struct engine *engine)
{
	uint64_t now = clock_ms(engine->setup.clock);
	struct kettle_error err = {0};
	for (struct device *device = engine->stop.begun ? NULL : engine->devices; device; device = device->next) {
		look_for_expired(device, now);
		for (struct unit *unit = device->units; unit; unit = unit->next)
			if (unit->fitness.causes && !unit->disabled.testing && !unit->removed && now >= unit->fitness.test_at_ms) {
				unit->fitness.test_at_ms = now + ENGINE_TEST_MS;
				(void)unit_health_test(engine, unit, true, on_fitness_tested, NULL, &err);
			}
	}
}
