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
 * jobs use its GPUs leaves out other processes; then one ranked job finds out whether they are still there.
 *
 * A job waits at most ENGINE_UNFIT_MAX_MS from the first time that a unit was unfit for it. Then it starts on such a
 * unit only to end with an error, as the machine's fault. Nothing of this is stored: the next engine finds it out by its
 * first ranked job.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/cleanup.h"
#include "base/gpu_fitness.h"
#include "base/json_access.h"
#include "base/log.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "judge/unit_facts.h"
#include "model/settings.h"

#include <stdlib.h>
#include <string.h>

/* ---- the causes ---- */

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
	if (known && json_array_size(unit->gpus) > 0)
		unit_fitness_take(engine, unit, causes);
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

bool
unit_fitness_waits_long(const struct engine_job *job)
{
	return job->unfit_since_ms && clock_ms(job->engine->setup.clock) - job->unfit_since_ms >= ENGINE_UNFIT_MAX_MS;
}

bool
unit_fitness_allows(const struct unit *unit, struct engine_job *job)
{
	if (!job->ranked || !unit->fitness.causes || unit->fitness.trial)
		return true;
	if (!job->unfit_since_ms)
		job->unfit_since_ms = clock_ms(job->engine->setup.clock);
	return unit_fitness_waits_long(job);
}

bool
unit_fitness_runs(struct unit *unit)
{
	bool runs = !unit->fitness.causes || unit->fitness.trial;
	unit->fitness.trial = false;
	return runs;
}

const struct unit *
unit_fitness_blocking(const struct engine_job *job)
{
	const struct unit *first = NULL;
	for (const struct unit *unit = job->ranked ? job->device->units : NULL; unit; unit = unit->next) {
		if (unit_condition(unit) != CONDITION_IN_ORDER)
			continue;
		if (!unit->fitness.causes)
			return NULL;
		first = first ? first : unit;
	}
	return first;
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
	bool hidden = unit->active > 0 && list_has_text(unit->fitness.causes, gpu_word(GPU_WORD_PROCESSES));
	if (hidden && json_array_size(causes) == 0) {
		unit->fitness.trial = true;
		engine->dirty = true;
	} else {
		unit_fitness_take(engine, unit, causes);
	}
}

void
unit_fitness_tick(struct engine *engine)
{
	uint64_t now = clock_ms(engine->setup.clock);
	struct kettle_error err = {0};
	for (struct device *device = engine->stop.begun ? NULL : engine->devices; device; device = device->next)
		for (struct unit *unit = device->units; unit; unit = unit->next)
			if (unit->fitness.causes && !unit->disabled.testing && !unit->removed && now >= unit->fitness.test_at_ms) {
				unit->fitness.test_at_ms = now + ENGINE_TEST_MS;
				(void)unit_health_test(engine, unit, true, on_fitness_tested, NULL, &err);
			}
}
