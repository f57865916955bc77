/* SPDX-License-Identifier: MIT */
/* Where the time of a job went, in parts that follow each other: from the stamps of the engine and of kettle-exec. */
#include <config.h>

#include "judge/timing.h"

#include "base/base.h"

/* In the order of the answer. */
#define PARTS(X) \
	X(WAIT, wait) \
	X(BUILD, build) X(PREPARE, prepare) X(START, start) X(COMPILE, compile) X(RUN, run) X(COLLECT, collect)
enum part {
#define X(name, key) PART_##name,
	PARTS(X)
#undef X
		PART_SHOWN,
	PART_SECRET = PART_SHOWN, /* all of a secret run: its duration could reveal the secret, so no part shows it */
	PART_COUNT
};
static const char *const part_keys[] = {
#define X(name, key) #key "_ns",
	PARTS(X)
#undef X
};
/* When steps overlap, the first of these counts: a wait counts only while nothing else works. */
static const enum part telling[PART_COUNT] = {
	PART_SECRET, PART_COMPILE, PART_RUN, PART_PREPARE, PART_BUILD, PART_START, PART_COLLECT, PART_WAIT};

#define EDGES_OF_STEP 12 /* two for each stretch of a step */

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

static int64_t
between(int64_t from, int64_t to)
{
	return from > 0 && to > from ? to - from : 0;
}

/* When the program of a step ended; 0: it is not known. */
static int64_t
exit_of(const struct outcome *outcome)
{
	return outcome->start_ns.value > 0 ? outcome->start_ns.value + outcome->wall_ns.value : 0;
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

/* The time in which compilers were at work in a run. */
static int64_t
compile_ns(const struct outcome *outcome, int64_t run)
{
	int64_t ns = member_int(outcome->jit, "compile_ns");
	return ns < 0 || run < 0 ? 0 : ns < run ? ns : run;
}

/* A run has parts of its own; of a build or a preparation all but the wait is one. */
static void
add_step(struct sweep *sweep, const struct outcome *o)
{
	bool run = strcmp(o->kind, "run") == 0;
	enum part before = run ? PART_START : strcmp(o->kind, "build") == 0 ? PART_BUILD : PART_PREPARE;
	int64_t queued = o->queued_ns ? o->queued_ns : o->ended_ns,
			launched = o->launched_ns ? o->launched_ns : o->ended_ns;
	int64_t start = o->start_ns.value, exit = exit_of(o);
	timing_add(sweep, before, o->begun_ns, queued);
	timing_add(sweep, PART_WAIT, queued, launched);
	if (!run || start == 0) {
		timing_add(sweep, before, launched, o->ended_ns);
		return;
	}
	timing_add(sweep, PART_START, launched, start);
	/* It lies anywhere in the run, so it is put at its begin. */
	timing_add(sweep, PART_COMPILE, start, start + compile_ns(o, exit - start));
	timing_add(sweep, PART_RUN, start, exit);
	timing_add(sweep, PART_COLLECT, exit, o->ended_ns);
}

static int
by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

/* The time for which each part was the most telling one. */
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
write_parts(struct sweep *sweep)
{
	int64_t ns[PART_COUNT] = {0}, rest = sweep->to - sweep->from;
	json_t *parts = json_object();
	if (sweep->from <= 0 || rest <= 0)
		return parts;
	measure(sweep, ns);
	for (size_t i = 0; i < PART_COUNT; i++) {
		rest -= ns[i];
		if (i < PART_SHOWN)
			json_object_set_new(parts, part_keys[i], json_integer(ns[i]));
	}
	json_object_set_new(parts, "other_ns", json_integer(rest));
	return parts;
}

static json_t *
write_step(const struct plan *plan, const struct outcome *o, int64_t received)
{
	int64_t start = o->start_ns.value;
	return json_pack("{s:s, s:s*, s:s, s:b, s:I, s:I, s:I, s:I, s:I}", "step", o->step, "title",
		plan_title(plan, o->step), "kind", o->kind, "cached", o->cached, "at_ns",
		(json_int_t)between(received, o->begun_ns), "wait_ns", (json_int_t)between(o->queued_ns, o->launched_ns),
		"start_ns", (json_int_t)between(o->launched_ns, start), "run_ns", (json_int_t)between(start, exit_of(o)),
		"total_ns", (json_int_t)between(o->begun_ns, o->ended_ns));
}

/* The time between two stamps of one clock, if both are known. */
static void
set_between(json_t *parts, const char *key, uint64_t from, uint64_t to)
{
	if (from > 0 && to >= from)
		json_object_set_new(parts, key, json_integer((json_int_t)(to - from)));
}

static void
add_engine(json_t *parts, const struct timing_stamps *stamps, const struct completion *completion)
{
	if (stamps->queued_ns > stamps->accepted_ns)
		set_between(parts, "earlier_ns", stamps->accepted_ns, stamps->queued_ns);
	set_between(parts, "queue_ns", stamps->queued_ns, stamps->started_ns);
	set_between(parts, "plan_ns", stamps->started_ns, stamps->submitted_ns);
	if (stamps->submitted_ns == 0 || stamps->completed_ns < stamps->submitted_ns)
		return;
	/* Two clocks: only durations of each may be compared. */
	int64_t away = (int64_t)(stamps->completed_ns - stamps->submitted_ns);
	int64_t known = between(completion->received_ns, completion->done_ns);
	json_object_set_new(parts, known > 0 ? "transfer_ns" : "other_ns", json_integer(away > known ? away - known : 0));
}

json_t *
timing_of(const struct plan *plan, const struct completion *completion, const struct timing_stamps *stamps)
{
	AUTO_FREE struct edge *edges = xcalloc(completion->count, EDGES_OF_STEP * sizeof(*edges));
	struct sweep sweep = {.from = completion->received_ns, .to = completion->done_ns, .edges = edges};
	json_t *steps = json_array();
	for (size_t i = 0; i < completion->count; i++) {
		const struct outcome *outcome = &completion->outcomes[i];
		if (!outcome->step || !outcome->kind || outcome->begun_ns == 0)
			continue;
		/* By the plan: an outcome comes from another machine. */
		if (plan_is_secret(plan, outcome->step)) {
			timing_add(&sweep, PART_SECRET, outcome->begun_ns, outcome->ended_ns);
			continue;
		}
		add_step(&sweep, outcome);
		json_array_append_new(steps, write_step(plan, outcome, sweep.from));
	}
	json_t *parts = write_parts(&sweep);
	if (stamps)
		add_engine(parts, stamps, completion);
	return json_pack("{s:o, s:o}", "parts", parts, "steps", steps);
}
