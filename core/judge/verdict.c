/* SPDX-License-Identifier: MIT */
/* Puts the results of a job's steps together: runs, compile log, score, and the one sentence for the participant. */
#include <config.h>

#include "judge/verdict.h"

#include "base/base.h"
#include "judge/report.h"

/* A verdict while it is made. */
struct verdict_builder {
	const struct language *language;
	const json_t *task;
	const struct plan *plan;
	const struct completion *completion;
	struct verdict *verdict;
	size_t left; /* bytes that may still be kept */
	json_int_t build_ns, run_ns;
	bool secret_failed, ranked, public_scored, secret_scored;
	bool timed; /* a run has reported times */
};

/* ---- the kept parts of an outcome ---- */

#define EXEC_NOTE_SIZE 48 /* of the line by which kettle-exec says how many bytes it cut */

/* Where a cut at `at` falls between characters, not after it. */
static size_t
character_start(const char *text, size_t at)
{
	while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/*
 * Head and tail of a text that is too long: in a compiler's output the important part comes first, in an interpreter's
 * last. cut: bytes that kettle-exec has already left out of the middle.
 */
static json_t *
cut_middle(const char *text, size_t len, size_t most, json_int_t cut)
{
	size_t head = character_start(text, most / 2);
	size_t tail = character_start(text, len - most / 2);
	return json_sprintf("%.*s\n[… %" JSON_INTEGER_FORMAT " bytes omitted; %zu are kept …]\n%s", (int)head, text,
		(json_int_t)(tail - head) + cut, most, text + tail);
}

/* stdout or stderr of an outcome as one string. Where kettle-exec has cut it, its note says how much, and has room. */
static json_t *
keep_output(struct verdict_builder *builder, const struct outcome_output *output)
{
	size_t most = VERDICT_MAX_TEXT + (output->cut > 0 ? EXEC_NOTE_SIZE : 0);
	if (most > builder->left)
		most = builder->left;
	bool cut = output->len > most;
	builder->left -= cut ? most : output->len;
	return cut ? cut_middle(output->text, output->len, most, output->cut > 0 ? output->cut : 0)
			   : json_stringn(output->text, output->len);
}

static json_t *
keep_result(struct verdict_builder *builder, const json_t *result)
{
	json_t *kept = json_object();
	size_t most = builder->left < VERDICT_MAX_RESULT ? builder->left : VERDICT_MAX_RESULT, used = 0, left_out = 0;
	json_object_each(result, key, value) {
		size_t size = strlen(key) + json_string_length(value);
		if (!json_is_string(value) || size > most - used) {
			left_out++;
			continue;
		}
		used += size;
		json_object_set(kept, key, value);
	}
	builder->left -= used;
	if (left_out)
		json_object_set_new(kept, "kettle.left-out", json_sprintf("%zu", left_out));
	return kept;
}

static void
keep_artifacts(json_t *artifacts, const struct plan_step *step, const struct outcome *outcome)
{
	json_array_each(outcome->artifacts, artifact) {
		const char *name = json_text_or_null(artifact, "name"), *sha256 = json_text_or_null(artifact, "sha256");
		if (name && sha256 && json_array_size(artifacts) < VERDICT_MAX_ARTIFACTS)
			json_array_append_new(artifacts, json_pack("{s:s, s:s, s:I, s:s}", "step", step->id, "name", name, "size",
												 member_int(artifact, "size"), "sha256", sha256));
	}
}

/* An object that came from a machine, empty where it is over VERDICT_MAX_SYSTEM. New reference. */
static json_t *
bounded(const json_t *object)
{
	if (!json_is_object(object) || json_dumpb(object, NULL, 0, JSON_COMPACT) > VERDICT_MAX_SYSTEM)
		return json_object();
	return json_incref((json_t *)object);
}

static bool
is_bounded(const json_t *value)
{
	return (json_is_string(value) ? json_string_length(value)
								  : json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY)) <= VERDICT_MAX_SYSTEM;
}

/*
 * An outcome with only the parts that are read after it is judged: a verdict waits for files to be packed and for the
 * database, and a completion may be large.
 */
static struct outcome
keep_outcome(struct verdict_builder *builder, const struct outcome *outcome)
{
	static const char *const names[] = {"limit", "command", "device", "jit", "cut", "artifacts_cut"};
	json_t *kept = json_object(), *value;
	json_array_append_new(builder->verdict->kept, kept);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if ((value = json_object_get(outcome->json, names[i])) && !json_is_null(value) && is_bounded(value))
			json_object_set(kept, names[i], value);
	return (struct outcome){
		.json = kept,
		.state = outcome->state,
		.limit = json_text_or_null(kept, "limit"),
		.limit_value = outcome->limit_value,
		.command = json_text_or_null(kept, "command"),
		.exit = outcome->exit,
		.signal = outcome->signal,
		.start_ns = outcome->start_ns,
		.wall_ns = outcome->wall_ns,
		.memory_peak = outcome->memory_peak,
		.cached = outcome->cached,
		.warm = outcome->warm,
		.prepared = outcome->prepared,
		.out.text = "",
		.err.text = "",
		.device = json_object_get(kept, "device"),
		.jit = json_object_get(kept, "jit"),
	};
}

/* ---- steps ---- */

static void
add_entry(struct verdict_builder *builder, const struct plan_step *step, const struct outcome *outcome,
	const struct step_result *judged)
{
	struct verdict_entry *entry = &builder->verdict->entries[builder->verdict->count++];
	*entry = (struct verdict_entry){.step = *step, .outcome = keep_outcome(builder, outcome), .judged = *judged};
	if (step->secret)
		return;
	*(step->run ? &builder->run_ns : &builder->build_ns) += outcome->wall_ns.value;
	if (step->run)
		entry->result = keep_result(builder, outcome->result);
	entry->err = keep_output(builder, &outcome->err);
	entry->out = keep_output(builder, &outcome->out);
	if (step->run)
		keep_artifacts(builder->verdict->artifacts, step, outcome);
}

static void
take_score(struct verdict_builder *builder, const struct step_result *judged, bool secret)
{
	struct score *slower = &builder->verdict->score;
	if (judged->score.value <= 0)
		return;
	*(secret ? &builder->secret_scored : &builder->public_scored) = true;
	if (judged->score.value > slower->value)
		*slower = judged->score;
}

/*
 * The first step that did not pass decides; skipped steps only follow from it. But if the task's own files do not
 * build, they, or the machine's compiler, are the cause that a step which also reads the submission failed. (Not so for
 * a machine's fault that may pass: the other step did not have it.)
 */
static void
take_state(struct verdict_builder *builder, const struct plan_step *step, const struct step_result *judged)
{
	struct verdict *verdict = builder->verdict;
	bool explains =
		step->task_only && verdict->state == VERDICT_FAILED && judged->state == VERDICT_ERROR && !judged->retry;
	if ((verdict->state && !explains) || judged->state == VERDICT_PASSED || judged->state == VERDICT_SKIPPED)
		return;
	verdict->state = judged->state;
	verdict->blame = judged->blame;
	verdict->retry = judged->retry;
	verdict->claimed = judged->claimed;
	verdict->why = judged->why;
	verdict->stage = verdict_stage(step);
	builder->secret_failed = step->secret;
}

static bool
has_times(const struct outcome *outcome)
{
	return outcome && (result_value(outcome->result, "benchmark", 0, "spec") ||
						  result_value(outcome->result, "benchmark", 0, "mean"));
}

static void
add_step(struct verdict_builder *builder, const struct plan_step *step)
{
	struct step_result judged;
	const struct outcome *outcome = completion_outcome(builder->completion, step->id);
	step_result_read(builder->language, builder->task, step, outcome, &judged);
	/* Nothing depends on it, so its failure explains nothing. */
	if (step->optional && judged.state != VERDICT_PASSED)
		judged.state = VERDICT_SKIPPED;
	/* Runs know each other's times, by the files that they share: no claim of a later run discards them. */
	if (judged.claimed && builder->timed && outcome && outcome->state == OUTCOME_FAILED)
		judged.retry = false;
	builder->timed = builder->timed || has_times(outcome);
	builder->ranked = builder->ranked || strcmp(step->mode, "leaderboard") == 0;
	take_state(builder, step, &judged);
	take_score(builder, &judged, step->secret);
	if (outcome && judged.state != VERDICT_SKIPPED)
		add_entry(builder, step, outcome, &judged);
}

static bool
has_secret(const struct plan *plan)
{
	bool has = false;
	for (size_t i = 0; i < plan->count; i++)
		has = has || plan->steps[i].secret;
	return has;
}

/* ---- the job ---- */

static void
fail_job(struct verdict_builder *builder, bool retry, const char *sentence)
{
	builder->verdict->state = VERDICT_ERROR;
	builder->verdict->blame = retry ? "machine" : NULL;
	builder->verdict->retry = retry;
	builder->verdict->claimed = false;
	builder->secret_failed = false;
	kettle_fail(&builder->verdict->why, KETTLE_EUNAVAIL, "%s", sentence);
}

/* The runner's report on the whole job wins over the outcomes of single steps. */
static void
read_status(struct verdict_builder *builder)
{
	const char *error = builder->completion->error;
	switch (builder->completion->status) {
	case COMPLETION_DONE:
		break;
	case COMPLETION_CANCELLED:
		fail_job(builder, false, error ? error : "It was cancelled.");
		break;
	case COMPLETION_LOST:
		fail_job(builder, true, error ? error : "The machine failed during this job.");
		break;
	}
}

/* Where nothing failed, a run must have been carried out, and a ranked job must have both its scores. */
static void
check_complete(struct verdict_builder *builder)
{
	struct verdict *verdict = builder->verdict;
	bool complete = !builder->ranked || (builder->public_scored && builder->secret_scored), ran = false;
	if (verdict->state)
		return;
	for (size_t i = 0; i < verdict->count; i++)
		ran = ran || verdict->entries[i].step.run;
	verdict->state = VERDICT_PASSED;
	if (!ran || !complete)
		fail_job(builder, true, "The machine did not run every step of the job.");
}

/* The public runs passed, so the sentence must say that a secret one failed. */
static void
mention_secret(struct verdict_builder *builder)
{
	struct kettle_error inner = builder->verdict->why;
	if (!builder->secret_failed || builder->verdict->state == VERDICT_ERROR)
		return;
	if (inner.message[0] == 'T')
		inner.message[0] = 't';
	kettle_fail(
		&builder->verdict->why, inner.code, "It passed the public runs but failed the secret ones: %s", inner.message);
	(void)kettle_blame(&builder->verdict->why, (enum kettle_cause)inner.cause, inner.member, 0);
}

struct verdict *
verdict_make(const struct languages *languages, const json_t *task, const struct plan *plan,
	const struct completion *completion, const struct timing_stamps *stamps)
{
	const char *lang = json_text_or_null(task, "lang");
	struct verdict *verdict = xcalloc(1, sizeof(*verdict));
	struct verdict_builder builder = {
		.language = lang ? language_find(languages, lang) : NULL,
		.task = task,
		.plan = plan,
		.completion = completion,
		.verdict = verdict,
		.left = VERDICT_MAX_TOTAL,
	};
	*verdict = (struct verdict){
		.entries = xcalloc(plan->count, sizeof(*verdict->entries)),
		.system = bounded(completion->system),
		.timing = timing_of(plan, completion, stamps),
		.artifacts = json_array(),
		.plan = json_incref(plan->json),
		.kept = json_array(),
	};
	for (size_t i = 0; i < plan->count; i++)
		if (!plan->steps[i].shared)
			add_step(&builder, &plan->steps[i]);
	read_status(&builder);
	check_complete(&builder);
	mention_secret(&builder);
	if (verdict->state != VERDICT_PASSED)
		verdict->score = (struct score){0};
	/* The stamps also span the secret runs. */
	json_object_update_new(verdict->timing,
		json_pack("{s:o, s:I, s:I}", "stamps", has_secret(plan) ? json_object() : bounded(completion->stamps),
			"build_ns", builder.build_ns, "run_ns", builder.run_ns));
	return verdict;
}

const char *
verdict_stage(const struct plan_step *step)
{
	if (!step->run)
		return member_is(step->json, "kind", "prepare") ? "prepare" : "build";
	return step->secret                           ? "secret"
		   : step->index >= 0                     ? "profile"
		   : strcmp(step->mode, "test") == 0      ? "test"
		   : strcmp(step->mode, "benchmark") == 0 ? "benchmark"
												  : "ranked";
}

const char *
verdict_fault(const struct verdict *verdict)
{
	bool attempt = verdict->retry || verdict->claimed;
	if (verdict->state == VERDICT_PASSED || verdict->fault || !verdict->blame)
		return verdict->state == VERDICT_PASSED ? NULL : verdict->fault;
	return strcmp(verdict->blame, "machine") == 0 && !attempt ? "operator" : verdict->blame;
}

struct verdict *
verdict_error(const char *fault, const char *stage, const char *sentence)
{
	struct verdict *verdict = xnew(struct verdict, .state = VERDICT_ERROR, .fault = fault, .stage = stage);
	kettle_fail(&verdict->why, KETTLE_EUNAVAIL, "%s", sentence);
	return verdict;
}

void
verdict_free(struct verdict *verdict)
{
	if (!verdict)
		return;
	for (size_t i = 0; i < verdict->count; i++) {
		json_decref_all(verdict->entries[i].out, verdict->entries[i].err, verdict->entries[i].result);
	}
	json_decref_all(verdict->system, verdict->timing, verdict->artifacts, verdict->plan, verdict->kept);
	free_all(verdict->entries, verdict);
}

/* ---- as JSON ---- */

static json_t *
write_int(struct optional_int number)
{
	return number.given ? json_integer(number.value) : json_null();
}

/* For a step that ran out of time KernelBot expects 114, whatever signal ended it. */
static json_t *
write_exit(const struct verdict_entry *entry)
{
	return entry->judged.state == VERDICT_TIMED_OUT ? json_integer(VERDICT_EXIT_TIMEOUT)
													: write_int(entry->outcome.exit);
}

static json_t *
write_build(const struct verdict_entry *entry)
{
	const struct step_result *judged = &entry->judged;
	return json_pack("{s:s, s:s?, s:b, s:s, s:o, s:s?, s:O, s:O, s:o, s:b}", "title", entry->step.title, "command",
		entry->outcome.command, "passed", judged->state == VERDICT_PASSED, "state", verdict_state_name(judged->state),
		"exit", write_exit(entry), "message", verdict_message(&judged->why), "stdout", entry->out, "stderr", entry->err,
		"wall_ns", write_int(entry->outcome.wall_ns), "cached", entry->outcome.cached);
}

json_t *
verdict_compilation(const struct verdict *verdict)
{
	json_t *list = verdict->entries ? json_array() : NULL;
	for (size_t i = 0; i < verdict->count; i++)
		if (!verdict->entries[i].step.run)
			json_array_append_new(list, write_build(&verdict->entries[i]));
	return list;
}

json_t *
verdict_run_system(const struct verdict *verdict)
{
	static const char *const keys[] = {"gpu", "count", "cpu", "runtime", "platform", "torch", "host"};
	json_t *system = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(verdict->system, keys[i]))
			json_object_set(system, keys[i], json_object_get(verdict->system, keys[i]));
	return system;
}

/* The run as JSON, with the members that the database has columns for (verdict: of which), or without them (NULL). */
static json_t *
write_run(const struct verdict *verdict, const struct verdict_entry *entry)
{
	const struct step_result *judged = &entry->judged;
	const struct outcome *outcome = &entry->outcome;
	const struct optional_int hidden = {0};
	json_t *run = json_object();
	if (verdict)
		json_object_update_new(
			run, json_pack("{s:s, s:b, s:b, s:s, s:o, s:o, s:o, s:o}", "mode", entry->step.mode, "secret",
					 entry->step.secret, "passed", judged->state == VERDICT_PASSED, "state",
					 verdict_state_name(judged->state), "score", verdict_seconds(judged->score.value), "low",
					 verdict_seconds(judged->score.low), "high", verdict_seconds(judged->score.high), "start_ns",
					 write_int(entry->step.secret ? hidden : outcome->start_ns)));
	json_object_set_new(run, "wall_ns", write_int(entry->step.secret ? hidden : outcome->wall_ns));
	if (entry->step.secret)
		return run;
	/* Clocks and throttling before and after it, where it had a GPU. */
	if (outcome->device)
		json_object_set_new(run, "device", bounded(outcome->device));
	/* Output of compilers in the run. */
	if (outcome->jit)
		json_object_set_new(run, "jit", bounded(outcome->jit));
	json_t *built = report_built(entry->result);
	if (built)
		json_object_set_new(run, "built", built);
	/* Adds what the machine left out of its report on a run, because the job or its owner has too much. */
	json_t *cut = json_object_get(outcome->json, "cut"), *artifacts = json_object_get(outcome->json, "artifacts_cut");
	if (json_is_array(cut) && json_dumpb(cut, NULL, 0, JSON_COMPACT) <= VERDICT_MAX_CUT)
		json_object_set(run, "cut", cut);
	if (json_is_string(artifacts) && json_string_length(artifacts) <= VERDICT_MAX_CUT)
		json_object_set(run, "artifacts_cut", artifacts);
	/* Whether it began as a copy of a warm interpreter: compared runs should have begun alike. */
	json_object_set_new(run, "warm", json_boolean(outcome->warm));
	if (outcome->prepared)
		json_object_set_new(run, "prepared", json_true());
	if (verdict)
		json_object_update_new(run,
			json_pack("{s:o, s:s?}", "system", verdict_run_system(verdict), "message", verdict_message(&judged->why)));
	json_object_update_new(run, json_pack("{s:o, s:o, s:s?, s:o, s:O, s:O}", "exit", write_exit(entry), "signal",
									write_int(outcome->signal), "limit", outcome->limit, "memory_peak",
									write_int(outcome->memory_peak), "stdout", entry->out, "stderr", entry->err));
	if (outcome->limit && outcome->limit_value > 0)
		json_object_set_new(run, "limit_value", json_real(outcome->limit_value));
	if (verdict) {
		json_t *remarks = report_remarks(entry->result, outcome->device);
		json_object_set(run, "result", entry->result);
		if (remarks)
			json_object_set_new(run, "remarks", remarks);
	}
	json_object_update_new(run, json_pack("{s:s?}", "command", outcome->command));
	if (verdict && entry->step.index >= 0)
		json_object_set_new(run, "index", json_integer(entry->step.index));
	return run;
}

json_t *
verdict_run_detail(const struct verdict_entry *entry)
{
	return write_run(NULL, entry);
}

json_t *
verdict_write(const struct verdict *verdict)
{
	json_t *runs = json_array();
	for (size_t i = 0; i < verdict->count; i++)
		if (verdict->entries[i].step.run)
			json_array_append_new(runs, write_run(verdict, &verdict->entries[i]));
	return json_pack("{s:s, s:s?, s:s*, s:s?, s:s?, s:s?, s:b, s:o, s:o, s:o, s:o, s:o, s:O, s:O, s:O}", "state",
		verdict_state_name(verdict->state), "error", verdict_message(&verdict->why), "lacks",
		verdict->why.cause == KETTLE_CAUSE_LACKS ? verdict->why.member : NULL, "blame", verdict->blame, "fault",
		verdict_fault(verdict), "stage", verdict->stage, "retry", verdict->retry, "score",
		verdict_seconds(verdict->score.value), "low", verdict_seconds(verdict->score.low), "high",
		verdict_seconds(verdict->score.high), "runs", runs, "compilation", verdict_compilation(verdict), "system",
		verdict->system, "timing", verdict->timing, "artifacts", verdict->artifacts);
}
