/* SPDX-License-Identifier: MIT */
/* Jobs that need several devices at once: the other units of the same machine. */
/*
 * Theory of operation. How many devices a job needs is known when it is planned, and by then it has its first unit. It
 * takes the other units at once, busy or not, as a reservation: each of them counts the job as its own, so later jobs
 * go to other units, or build and wait behind it. kettle-exec decides which job runs when; it takes the locks of all
 * devices of a job in one order (exec/job/device_lease.c).
 *
 * If a machine has enough units but too few of them are available, the attempt does not count: the job is held beside
 * the queue, so that jobs behind it that need less continue, and comes first again when enough units are available.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/base.h"
#include "judge/unit_facts.h"

#include <assert.h>

static size_t
devices_needed(const struct plan *plan)
{
	json_int_t most = 0;
	for (size_t i = 0; i < plan->count; i++)
		most = plan->steps[i].devices > most ? plan->steps[i].devices : most;
	return (size_t)most;
}

/* The number of devices of a unit: of the GPUs that it lists, or 1. */
static size_t
devices_of(const struct unit *unit)
{
	size_t count = json_array_size(unit->gpus);
	return count ? count : 1;
}

static bool
is_beside(const struct unit *first, const struct unit *other)
{
	const struct kettle_runner *ops = first->runner->ops;
	return other == first || (other->runner == first->runner && !other->removed && ops->same_machine &&
								 ops->same_machine(first->runner->self, first->config, other->config));
}

/* Whether the unit takes part in such jobs. ranked: it must be fit to score. */
static bool
is_available(const struct unit *unit, bool ranked)
{
	return !unit->disabled.cause && (!ranked || !unit->fitness.causes);
}

/* The number of such devices on the unit's machine, with those of units that are not available (all) or without. */
static size_t
count_devices(const struct unit *first, bool ranked, bool all)
{
	size_t count = 0;
	for (const struct unit *unit = first->device->units; unit; unit = unit->next)
		if (is_beside(first, unit) && (all || unit == first || is_available(unit, ranked)))
			count += devices_of(unit);
	return count;
}

bool
multi_device_uses(const struct engine_job *job, const struct unit *unit)
{
	bool uses = unit == job->unit;
	for (size_t i = 0; i < job->more_count; i++)
		uses = uses || job->more[i] == unit;
	return uses;
}

/* The unit with the fewest jobs, of equal ones the first. */
static struct unit *
next_beside(const struct engine_job *job)
{
	struct unit *best = NULL;
	for (struct unit *unit = job->device->units; unit; unit = unit->next)
		if (is_beside(job->unit, unit) && is_available(unit, job->ranked) && !multi_device_uses(job, unit) &&
			(!best || unit->active < best->active))
			best = unit;
	return best;
}

/* Notes since when the job waits only because units are unfit to score, or that it waits for another reason. */
static void
note_unfit(struct engine_job *job, size_t need)
{
	if (!job->ranked || count_devices(job->unit, false, false) < need)
		job->unfit_since_ms = 0;
	else if (!job->unfit_since_ms)
		job->unfit_since_ms = clock_ms(job->engine->setup.clock);
}

static int
multi_device_refuse(struct engine_job *job, size_t need, struct kettle_error *err)
{
	size_t all = count_devices(job->unit, job->ranked, true);
	if (all < need)
		return kettle_fail(err, KETTLE_EINVAL,
			"The task needs %zu devices at once, but `%s` has %zu on one machine; ask the operator of this Kettle.",
			need, job->device->name, all);
	note_unfit(job, need);
	(void)kettle_fail(err, KETTLE_EUNAVAIL,
		"The job needs %zu devices at once, but of the %zu of `%s` only %zu are available.", need, all,
		job->device->name, count_devices(job->unit, job->ranked, false));
	job->held.needs = need;
	job->held.why = xstrdup(err->message);
	return KETTLE_EUNAVAIL;
}

int
multi_device_take(struct engine_job *job, struct kettle_error *err)
{
	size_t need = devices_needed(job->plan), have = devices_of(job->unit);
	/* The runner and its kettle-exec check machines that are elsewhere. */
	if (need <= have || !job->unit->runner->ops->same_machine)
		return 0;
	if (count_devices(job->unit, job->ranked, false) < need)
		return multi_device_refuse(job, need, err);
	job->unfit_since_ms = 0;
	assert(!job->more);
	job->more = xcalloc(need, sizeof(*job->more));
	while (have < need) {
		struct unit *unit = next_beside(job);
		unit->active++;
		have += devices_of(unit);
		job->more[job->more_count++] = unit;
	}
	return 0;
}

void
multi_device_leave(struct engine_job *job)
{
	for (size_t i = 0; i < job->more_count; i++)
		job->more[i]->active--;
	free(STEAL(job->more));
	job->more_count = 0;
}

void
multi_device_run(struct engine_job *job, bool runs)
{
	runs ? job->unit->running++ : job->unit->running--;
	for (size_t i = 0; i < job->more_count; i++)
		runs ? job->more[i]->running++ : job->more[i]->running--;
}

json_t *
multi_device_section(const struct engine_job *job)
{
	if (job->more_count == 0)
		return json_incref(job->unit->config);
	json_t *section = json_copy(job->unit->config), *more = json_array();
	for (size_t i = 0; i < job->more_count; i++)
		json_array_append(more, job->more[i]->config);
	json_object_set_new(section, "more", more);
	return section;
}

/* ---- held jobs ---- */

/* Whether enough units of one machine are available, or no machine has enough at all, which the job must learn. */
static bool
may_go_on(const struct device *device, bool ranked, size_t need)
{
	bool never = false;
	for (const struct unit *unit = device->units; unit; unit = unit->next) {
		if (unit->removed)
			continue;
		if (is_available(unit, ranked) && count_devices(unit, ranked, false) >= need)
			return true;
		never = never || !unit->disabled.cause;
		if (count_devices(unit, ranked, true) >= need)
			return false;
	}
	return never;
}

void
multi_device_release(struct device *device)
{
	struct engine_job *job = device->awaiting_units.first;
	while (job) {
		struct engine_job *next = job->held.next;
		bool expired = job->unfit_since_ms && unit_fitness_waits_long(job);
		device->unfit.expired = device->unfit.expired || expired;
		if (expired || may_go_on(device, job->ranked, job->held.needs))
			engine_job_queue(job);
		job = next;
	}
}

json_t *
multi_device_shortage(const struct device *device)
{
	const struct unit *first = NULL;
	if (device->awaiting_units.first)
		return json_string(device->awaiting_units.first->held.why);
	for (const struct unit *unit = device->units; unit; unit = unit->next) {
		if (unit_condition(unit) == CONDITION_IN_ORDER)
			return NULL;
		first = first || unit->removed ? first : unit;
	}
	if (!first)
		return NULL;
	AUTO_FREE char *waits = unit_health_sentence(first);
	return waits ? json_sprintf("No `%s` unit is available. %s", device->name, waits)
				 : json_sprintf("No `%s` unit is available. %s: %s", device->name, first->label, first->disabled.why);
}
