/* SPDX-License-Identifier: MIT */
/* Where the time of a job went, in parts that follow each other: from the stamps of the engine and of kettle-exec. */
#include <config.h>

#include "judge/timing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "base/json_access.h"

/* In the order of the answer. */
#define PARTS(X) X(WAIT, wait) X(BUILD, build) X(PREPARE, prepare) X(START, start) X(RUN, run) X(COLLECT, collect)
enum part {
#define X(name, key) PART_##name,
	PARTS(X)
#undef X
		PART_COUNT
};
static const char *const part_keys[] = {
#define X(name, key) #key "_ns",
	PARTS(X)
#undef X
};
/* Of steps that go on side by side the first of these counts: a wait is none while something else works. */
static const enum part telling[PART_COUNT] = {PART_RUN, PART_PREPARE, PART_BUILD, PART_START, PART_COLLECT, PART_WAIT};

#define EDGES_OF_STEP 10 /* two for each stretch of a step */

struct edge {
	int64_t at;
	enum part part;
	int change;
};

/* The stretches of all steps between the job's receipt and its end. */
struct sweep {
	int64_t from, to;
	struct edge *edges;
	size_t count;
};

/* The stamps of a step. */
struct step_stamps {
	int64_t begun, queued, launched, start, exit, ended;
};

static int64_t
between(int64_t from, int64_t to)
{
	return from > 0 && to > from ? to - from : 0;
}

static struct step_stamps
moments_of(const json_t *outcome)
{
	const json_t *stamps = json_object_get(outcome, "stamps");
	struct step_stamps m = {
		.begun = member_int(stamps, "begun_ns"),
		.queued = member_int(stamps, "queued_ns"),
		.launched = member_int(stamps, "launched_ns"),
		.ended = member_int(stamps, "ended_ns"),
		.start = member_int(outcome, "start_ns"),
	};
	/* From another machine: what cannot be added has no end. */
	if (m.start <= 0 || __builtin_add_overflow(m.start, member_int(outcome, "wall_ns"), &m.exit))
		m.exit = 0;
	return m;
}

static void
timing_add(struct sweep *sweep, enum part part, int64_t from, int64_t to)
{
	from = from < sweep->from ? sweep->from : from;
	to = to > sweep->to ? sweep->to : to;
	if (from >= to)
		return;
	sweep->edges[sweep->count++] = (struct edge){from, part, 1};
	sweep->edges[sweep->count++] = (struct edge){to, part, -1};
}

/* A run has parts of its own; of a build or a preparation all but the wait is one. */
static void
add_step(struct sweep *sweep, const char *kind, const struct step_stamps *m)
{
	bool run = strcmp(kind, "run") == 0;
	enum part before = run ? PART_START : strcmp(kind, "build") == 0 ? PART_BUILD : PART_PREPARE;
	if (m->begun == 0)
		return;
	int64_t queued = m->queued ? m->queued : m->ended, launched = m->launched ? m->launched : m->ended;
	timing_add(sweep, before, m->begun, queued);
	timing_add(sweep, PART_WAIT, queued, launched);
	if (!run || m->start == 0) {
		timing_add(sweep, before, launched, m->ended);
		return;
	}
	timing_add(sweep, PART_START, launched, m->start);
	timing_add(sweep, PART_RUN, m->start, m->exit);
	timing_add(sweep, PART_COLLECT, m->exit, m->ended);
}

static int
by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

/* How long each part was the most telling one. */
static void
measure(struct sweep *sweep, int64_t ret_ns[PART_COUNT])
{
	int open[PART_COUNT] = {0};
	qsort(sweep->edges, sweep->count, sizeof(*sweep->edges), by_time);
	for (size_t i = 0; i < sweep->count; i++) {
		const struct edge *edge = &sweep->edges[i];
		for (size_t k = 0; i > 0 && k < PART_COUNT; k++)
			if (open[telling[k]] > 0) {
				ret_ns[telling[k]] += edge->at - sweep->edges[i - 1].at;
				break;
			}
		open[edge->part] += edge->change;
	}
}

static json_t *
describe_parts(struct sweep *sweep)
{
	int64_t ns[PART_COUNT] = {0}, rest = sweep->to - sweep->from;
	json_t *parts = json_object();
	if (sweep->from <= 0 || rest <= 0)
		return parts;
	measure(sweep, ns);
	for (size_t i = 0; i < PART_COUNT; i++) {
		rest -= ns[i];
		json_object_set_new(parts, part_keys[i], json_integer(ns[i]));
	}
	json_object_set_new(parts, "other_ns", json_integer(rest));
	return parts;
}

static json_t *
describe_step(const json_t *outcome, const struct step_stamps *m, int64_t received)
{
	return json_pack("{s:O, s:O, s:b, s:I, s:I, s:I, s:I, s:I}", "step", json_object_get(outcome, "step"), "kind",
		json_object_get(outcome, "kind"), "cached", member_true(outcome, "cached"), "at_ns",
		(json_int_t)between(received, m->begun), "wait_ns", (json_int_t)between(m->queued, m->launched), "start_ns",
		(json_int_t)between(m->launched, m->start), "run_ns", (json_int_t)between(m->start, m->exit), "total_ns",
		(json_int_t)between(m->begun, m->ended));
}

/* The secret steps by the plan: an outcome comes from another machine. */
static bool
is_secret(const json_t *plan, const char *id)
{
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(plan, "steps"), i, step) {
		const char *name = member_string(step, "id");
		if (name && strcmp(name, id) == 0)
			return member_true(json_object_get(step, "run"), "secret");
	}
	return true;
}

json_t *
timing_of(const json_t *plan, const json_t *completion)
{
	const json_t *outcomes = json_object_get(completion, "outcomes"), *stamps = json_object_get(completion, "stamps");
	struct sweep sweep = {.from = member_int(stamps, "received_ns"), .to = member_int(stamps, "done_ns")};
	AUTO_FREE struct edge *edges = xcalloc(json_array_size(outcomes) + 1, EDGES_OF_STEP * sizeof(*edges));
	AUTO_JSON json_t *steps = json_array();
	size_t i;
	json_t *outcome;
	sweep.edges = edges;
	json_array_foreach(outcomes, i, outcome) {
		const char *id = member_string(outcome, "step");
		const char *kind = member_string(outcome, "kind");
		struct step_stamps m = moments_of(outcome);
		if (!id || !kind || m.begun == 0)
			continue;
		add_step(&sweep, kind, &m);
		if (!is_secret(plan, id))
			json_array_append_new(steps, describe_step(outcome, &m, sweep.from));
	}
	return json_pack("{s:o, s:O}", "parts", describe_parts(&sweep), "steps", steps);
}

/* What lies between two stamps of one clock, where there are both. */
static void
set_between(json_t *parts, const char *key, uint64_t from, uint64_t to)
{
	if (from > 0 && to >= from)
		json_object_set_new(parts, key, json_integer((json_int_t)(to - from)));
}

void
timing_add_engine(json_t *timing, const struct timing_stamps *stamps, const json_t *completion)
{
	const json_t *theirs = json_object_get(completion, "stamps");
	json_t *parts = json_object_get(timing, "parts");
	if (!parts)
		return;
	if (stamps->queued_ns > stamps->accepted_ns)
		set_between(parts, "earlier_ns", stamps->accepted_ns, stamps->queued_ns);
	set_between(parts, "queue_ns", stamps->queued_ns, stamps->started_ns);
	set_between(parts, "plan_ns", stamps->started_ns, stamps->submitted_ns);
	if (stamps->submitted_ns == 0 || stamps->completed_ns < stamps->submitted_ns)
		return;
	/* Two clocks: only durations of each may be compared. */
	int64_t away = (int64_t)(stamps->completed_ns - stamps->submitted_ns);
	int64_t known = between(member_int(theirs, "received_ns"), member_int(theirs, "done_ns"));
	json_object_set_new(parts, known > 0 ? "transfer_ns" : "other_ns", json_integer(away > known ? away - known : 0));
}
