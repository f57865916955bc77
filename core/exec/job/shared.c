/* SPDX-License-Identifier: MIT */
/* Results that Kettle makes once for all jobs, such as torch's precompiled header. */
/*
 * Theory of operation. A build step with `shared` is looked up as any step with `cache`, but in a cache with a budget
 * of its own. If its result is missing, the job continues without it, since making it takes longer than it saves. After
 * the job's `done`, a job of kettle-exec's own makes the missing results one after the other, without events. Such a
 * step gets nothing from a submission (check_shared in plan.c), and other steps see its results read-only. Prepare
 * steps, whose other inputs are copied into a folder of limited size, see them by a mount.
 */
#include <config.h>

#include <sys/statvfs.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/job/job_internal.h"

#define OWN_JOB "shared"
/* Times that a result is made which is not found afterwards. A step that fails is not tried again. */
#define TRIES_MAX 3

static json_int_t
tries_of(const struct step *step)
{
	return json_integer_value(json_object_get(step->job->exec->tried, step->cache.key));
}

static void
note_tries(const struct step *step, json_int_t tries)
{
	json_object_set_new(step->job->exec->tried, step->cache.key, json_integer(tries));
}

bool
shared_is_used(const struct job *job)
{
	/* Without a sandbox, a step could write to the files that other jobs use. */
	return job->exec->config.cache_shared_bytes > 0 && job->line.unit.level != SANDBOX_LEVEL_OFF;
}

const struct cache *
shared_cache(const struct step *step)
{
	struct exec_context *exec = step->job->exec;
	return step->job->own || step->plan->shared ? &exec->shared : &exec->cache;
}

bool
shared_is_missing(const struct job *job, const struct plan_input *input)
{
	return input->step && input->step->shared && job->steps[input->step - job->line.plan.steps].state != STEP_PASSED;
}

bool
shared_is_shown(const struct step *step, const struct plan_input *input)
{
	return input->step && input->step->shared && step->plan->kind == STEP_PREPARE &&
		   !shared_is_missing(step->job, input);
}

void
shared_list(const struct step_process *process, struct strings *paths)
{
	const struct step *step = process->step;
	for (size_t i = 0; i < process->plan->inputs_count; i++) {
		const struct plan_input *input = &process->plan->inputs[i];
		if (!shared_is_shown(step, input))
			continue;
		const struct step *source = &step->job->steps[input->step - step->job->line.plan.steps];
		AUTO_FREE char *from = path_join(source->files.kept, input->output), *to = path_join(SANDBOX_JOB, input->path);
		strings_add(paths, from);
		strings_add(paths, to);
	}
}

static void
emit_error(struct exec_context *exec, char *text_take)
{
	AUTO_FREE char *text = text_take;
	exec_context_emit(exec, json_pack("{s:s, s:o}", "event", "error", "error", json_writer_text(text)));
}

/* Whether the disk has room for shared results. Reports once that it does not. */
static bool
has_room(struct exec_context *exec)
{
	struct statvfs st = {0};
	uint64_t needed = exec->config.cache_shared_bytes + SHARED_KEEP_FREE;
	uint64_t free = statvfs(exec->shared.dir, &st) == 0 ? (uint64_t)st.f_bavail * st.f_frsize : 0;
	if (free < needed && !exec->told_room)
		emit_error(
			exec, xasprintf("`%s` has %llu MiB free, but shared precompiled headers need %llu, so submissions are "
							"compiled without them. Free some space, or set `cache: {shared_bytes: 0}` in exec.yml.",
					  exec->config.state, (unsigned long long)(free >> 20), (unsigned long long)(needed >> 20)));
	exec->told_room = exec->told_room || free < needed;
	return free >= needed;
}

static bool
must_make(const struct step *step)
{
	return step->plan->shared && step->state == STEP_SKIPPED && step->cache.key[0] && tries_of(step) < TRIES_MAX;
}

/* Copies of the steps to make. Each needs the one before it. New reference. */
static json_t *
copy_steps(const struct job *job)
{
	json_t *list = json_array();
	const json_t *steps = json_object_get(json_object_get(job->line.object, "plan"), "steps");
	const char *before = NULL;
	for (size_t i = 0; i < job->count; i++) {
		const struct step *step = &job->steps[i];
		if (!must_make(step))
			continue;
		note_tries(step, tries_of(step) + 1);
		json_t *copy = json_copy(json_array_get(steps, i));
		json_object_del(copy, "shared");
		if (before)
			json_object_set_new(copy, "needs", json_pack("[s]", before));
		before = step->plan->id;
		json_array_append_new(list, copy);
	}
	return list;
}

json_t *
shared_make_line(const struct job *job)
{
	struct exec_context *exec = job->exec;
	bool missing = false;
	for (size_t i = 0; i < job->count; i++)
		missing = missing || must_make(&job->steps[i]);
	if (!missing || exec->alone || exec->sharing || job->own || job->status != JOB_DONE || !has_room(exec))
		return NULL;
	const json_t *plan = json_object_get(job->line.object, "plan");
	return json_pack("{s:s, s:{s:i, s:O*, s:o}, s:{s:s}, s:O*}", "job", OWN_JOB, "plan", "version", 1, "files",
		json_object_get(plan, "files"), "steps", copy_steps(job), "unit", "sandbox",
		sandbox_level_name(job->line.unit.level), "blobs", json_object_get(job->line.object, "blobs"));
}

/* The reason for a failure: its sentence, or the end of the step's output. New string. */
static char *
find_reason(const struct step *step)
{
	const char *sentence = json_text_or_null(step->outcome, "error");
	const char *text = json_text_or_empty(json_object_get(step->outcome, "stderr"), "text");
	size_t len = strlen(text);
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	size_t start = len;
	while (start > 0 && text[start - 1] != '\n')
		start--;
	return sentence ? xstrdup(sentence) : xasprintf("%.*s", (int)(len - start), text + start);
}

void
shared_tell(const struct job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		const struct step *step = &job->steps[i];
		if (job->status == JOB_CANCELLED || step->phase != STEP_ENDED || step->state == STEP_PASSED ||
			step->state == STEP_SKIPPED || step->state == STEP_CANCELLED)
			continue;
		note_tries(step, TRIES_MAX);
		AUTO_FREE char *reason = find_reason(step);
		emit_error(job->exec, xasprintf("Jobs continue without the shared output of the step \"%s\": %s",
								  step->plan->title ? step->plan->title : step->plan->id, reason));
	}
}
