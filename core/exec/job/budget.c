/* SPDX-License-Identifier: MIT */
/* Limits on what all steps of a job together may report and leave. */
/*
 * Theory of operation. A plan has up to 500 steps, each with limits of its own, while the reader of `done` holds all
 * outcomes in memory and takes at most a line of 16 MiB and 300,000 values. So each outcome is measured as the text
 * that it becomes when it is made, and cut to the job's budget before any event contains it. Its fixed members are
 * small and always stay. A cut result would have another meaning, so it is void and its step has failed.
 */
#include <config.h>

#include "base/base.h"
#include "base/bounded_json.h"
#include "base/text.h"
#include "exec/job/job_internal.h"

_Static_assert(BUDGET_BYTES + (4u << 20) <= BOUNDED_JSON_RESULT_BYTES && BUDGET_VALUES + 100000 <= BOUNDED_JSON_RESULT,
	"the reader takes a full budget and what always stays of 500 steps");

#define MIB(bytes) ((unsigned)((bytes) >> 20))

struct measure {
	uint64_t bytes, values;
	bool quoted, escaped;
};

void
budget_open(struct budget *budget, uint64_t disk)
{
	*budget = (struct budget){
		.bytes = BUDGET_BYTES, .values = BUDGET_VALUES, .events = BUDGET_EVENTS, .files = BUDGET_FILES, .disk = disk};
}

static int
count(const char *text, size_t size, void *arg)
{
	struct measure *measure = arg;
	measure->bytes += size;
	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		if (measure->escaped)
			measure->escaped = false;
		else if (measure->quoted && c == '\\')
			measure->escaped = true;
		else if (c == '"')
			measure->quoted = !measure->quoted;
		else if (!measure->quoted)
			measure->values += c == ',' || c == '[' || c == '{';
	}
	return 0;
}

/* Measures as the reader of `done` counts. */
static struct measure
measure(const json_t *json)
{
	struct measure measure = {.values = 1};
	(void)json_dump_callback(json, count, &measure, JSON_COMPACT | JSON_ENCODE_ANY);
	return measure;
}

static bool
fits(const struct budget *budget, struct measure size)
{
	return size.bytes <= budget->bytes && size.values <= budget->values;
}

static void
take(uint64_t *left, uint64_t size)
{
	*left -= size < *left ? size : *left;
}

bool
budget_take_result(struct budget *budget, struct result *result)
{
	struct measure size = measure(result->values);
	if (fits(budget, size))
		return true;
	json_object_clear(result->values);
	free(result->error);
	static const char what[] = "The results of all steps together exceed the";
	result->error = size.bytes > budget->bytes
						? xasprintf("%s %u MiB that a job may report.", what, MIB(BUDGET_BYTES))
						: xasprintf("%s %u values that a job may report.", what, (unsigned)BUDGET_VALUES);
	return false;
}

/* Removes a text that a program printed, which then counts as cut. False: there is no text. */
static bool
cut_text(json_t *process, const char *name)
{
	json_t *output = json_object_get(process, name);
	json_int_t bytes = json_integer_value(json_object_get(output, "bytes"));
	if (bytes == 0 || json_integer_value(json_object_get(output, "cut")) == bytes)
		return false;
	AUTO_FREE char *text = xasprintf("[... %lld bytes cut ...]\n", (long long)bytes);
	json_object_set_new(
		process, name, json_pack("{s:s, s:I, s:I, s:i}", "text", text, "bytes", bytes, "cut", bytes, "replaced", 0));
	return true;
}

/* The name of the next member to remove; NULL: none is left. Artifacts are limited by their number. */
static const char *
cut_next(json_t *outcome)
{
	static const char *const objects[] = {"packages", "toolkit", "jit"};
	json_t *solver = json_object_get(outcome, "solver");
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		if (json_object_del(outcome, objects[i]) == 0)
			return objects[i];
	if (cut_text(solver, "stdout") || cut_text(solver, "stderr"))
		return "solver";
	if (cut_text(outcome, "stdout"))
		return "stdout";
	if (cut_text(outcome, "stderr"))
		return "stderr";
	return NULL;
}

void
budget_take_outcome(struct budget *budget, json_t *outcome)
{
	struct measure size = measure(outcome);
	AUTO_JSON json_t *cut = json_array();
	const char *name;
	while (!fits(budget, size) && (name = cut_next(outcome))) {
		json_array_append_new(cut, json_string(name));
		size = measure(outcome);
	}
	if (json_array_size(cut) > 0)
		json_object_set(outcome, "cut", cut);
	take(&budget->bytes, size.bytes);
	take(&budget->values, size.values);
}

bool
budget_take_event(struct budget *budget, size_t size)
{
	bool may = size <= budget->events;
	take(&budget->events, may ? size : budget->events);
	return may;
}

/*
 * The bytes that artifacts of an owner's jobs may still take. Artifacts of a reported job belong to its reader, unless
 * they are being removed.
 */
static uint64_t
left_to_owner(const struct job *job)
{
	const struct execconfig *config = &job->exec->config;
	uint64_t left = config->artifacts_max_user_bytes;
	const char *owner = job->line.plan.owner;
	for (const struct job *other = job->exec->jobs; other && owner; other = other->next) {
		const char *whose = other->line.plan.owner;
		bool counts = !job_is_reported(other) || other->status != JOB_DONE;
		if (counts && whose && strcmp(whose, owner) == 0)
			take(&left, config->artifacts_max_bytes - other->budget.disk);
	}
	return left;
}

void
budget_reserve(struct step *step)
{
	struct budget *budget = &step->job->budget;
	uint64_t left = left_to_owner(step->job);
	step->artifacts.owners = left < budget->disk;
	left = step->artifacts.owners ? left : budget->disk;
	step->artifacts.wanted = step->job->status == JOB_DONE && step->plan->artifacts.count > 0;
	if (!step->artifacts.wanted)
		return;
	step->artifacts.bytes_left = left < STEP_SOLVER(step)->limits.disk ? left : STEP_SOLVER(step)->limits.disk;
	step->artifacts.files_left = budget->files;
	budget->disk -= step->artifacts.bytes_left;
}

void
budget_return(struct step *step)
{
	if (!step->artifacts.wanted)
		return;
	step->artifacts.wanted = false;
	step->job->budget.disk += step->artifacts.bytes_left - manifest_bytes(&step->artifacts.manifest);
	take(&step->job->budget.files, step->artifacts.manifest.count);
}
