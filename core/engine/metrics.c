/* SPDX-License-Identifier: MIT */
/*
 * Figures about the engine since its start, for monitoring. They are counted as events and verdicts come, so reading
 * them looks at no table: it takes as long with a million submissions as with none.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/base.h"
#include "base/times.h"
#include "judge/verdict.h"

/* Adds one to the number of this mode and state in {mode: {state: number}}. Both are words of the engine's. */
static void
count_state(json_t **counts, const char *mode, const char *state)
{
	if (!*counts)
		*counts = json_object();
	json_t *states = json_object_get(*counts, mode);
	if (!states) {
		states = json_object();
		(void)json_object_set_new(*counts, mode, states);
	}
	(void)json_object_set_new(states, state, json_integer(member_int(states, state) + 1));
}

void
metrics_event(struct engine *engine, const struct event *event)
{
	const json_t *data = json_object_get(event->json, "data");
	const char *mode = json_text_or_empty(data, "mode");
	if (strcmp(event->kind, "submission.accepted") == 0)
		count_state(&engine->metrics.submissions, mode, "accepted");
	else if (strcmp(event->kind, "submission.done") == 0)
		count_state(&engine->metrics.submissions, mode, json_text_or_empty(data, "state"));
}

static void
add_between(struct histogram *histogram, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns && to_ns >= from_ns)
		histogram_add(histogram, (double)(to_ns - from_ns) / 1e9);
}

/* Of a secret run nothing but whether it passed is counted, as nothing else of it is stored. */
static const char *
run_state(const struct verdict_entry *entry)
{
	bool passed = entry->judged.state == VERDICT_PASSED;
	return passed || !entry->step.secret ? verdict_state_name(entry->judged.state) : "failed";
}

void
metrics_verdict(const struct engine_job *job, const struct verdict *verdict)
{
	struct device_metrics *metrics = &job->device->metrics;
	const struct timing_stamps *stamps = &job->stamps;
	add_between(&metrics->wait, stamps->queued_ns, stamps->started_ns);
	add_between(&metrics->total, stamps->accepted_ns, clock_ns(job->engine->setup.clock));
	for (size_t i = 0; i < verdict->count; i++) {
		const struct verdict_entry *entry = &verdict->entries[i];
		if (entry->step.run)
			count_state(&metrics->runs, entry->step.mode, run_state(entry));
		else if (entry->outcome.cached)
			metrics->cached++;
		else
			metrics->built++;
	}
	if (verdict->count == 0)
		return;
	histogram_add(&metrics->build, (double)member_int(verdict->timing, "build_ns") / 1e9);
	histogram_add(&metrics->run, (double)member_int(verdict->timing, "run_ns") / 1e9);
}

static json_t *
counts_json(const json_t *counts)
{
	return counts ? json_deep_copy(counts) : json_object();
}

/* Counters that alert rules select exist at 0 from the start: Prometheus sees no increase in a counter that is new. */
static json_t *
runs_json(const json_t *runs)
{
	static const char *const modes[] = {"test", "benchmark", "leaderboard", "profile"};
	json_t *counts = counts_json(runs), *none = json_pack("{s:i}", verdict_state_name(VERDICT_ERROR), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		json_t *states = json_object_get(counts, modes[i]);
		if (states)
			(void)json_object_update_missing(states, none);
		else
			(void)json_object_set_new(counts, modes[i], json_copy(none));
	}
	json_decref(none);
	return counts;
}

static json_t *
device_metrics_json(const struct engine *engine, const struct device *device)
{
	const struct device_metrics *metrics = &device->metrics;
	json_int_t active = 0, running = 0;
	json_t *units = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "idle", 0, "building", 0, "running", 0, "waiting", 0,
		"paused", 0, "disabled", 0);
	for (const struct unit *unit = device->units; unit; unit = unit->next) {
		const char *state = engine_unit_state(engine, unit);
		active += unit->active;
		running += unit->running;
		if (!unit->removed || unit->active)
			(void)json_object_set_new(units, state, json_integer(member_int(units, state) + 1));
	}
	return json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:{s:I, s:I}, s:{s:o, s:o, s:o, s:o}}", "name", device->name,
		"queued", (json_int_t)engine_device_queued(device), "active", active, "running", running, "units", units,
		"runs", runs_json(metrics->runs), "builds", "cached", (json_int_t)metrics->cached, "built",
		(json_int_t)metrics->built, "seconds", "wait", histogram_json(&metrics->wait), "build",
		histogram_json(&metrics->build), "run", histogram_json(&metrics->run), "total",
		histogram_json(&metrics->total));
}

json_t *
engine_metrics(const struct engine *engine)
{
	json_t *devices = json_array();
	for (const struct device *device = engine->devices; device; device = device->next)
		(void)json_array_append_new(devices, device_metrics_json(engine, device));
	return json_pack("{s:s, s:o, s:o}", "since", TIME_TEXT(engine->metrics.since_utc_ms), "submissions",
		counts_json(engine->metrics.submissions), "devices", devices);
}
