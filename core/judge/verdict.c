/* SPDX-License-Identifier: MIT */
/* Puts the readings of a job's steps together: runs, compile log, score, and the one sentence for the participant. */
#include <config.h>

#include "judge/verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "judge/timing.h"
#include "base/utf8.h"
#include "base/json_access.h"
#include "judge/step_verdict.h"

/* A verdict while it is made. */
struct verdict_builder {
	const struct language *language;
	const json_t *task, *plan, *completion;
	json_t *runs, *compilation, *artifacts; /* new */
	size_t left;                            /* bytes that may still be kept */
	json_int_t build_ns, run_ns;
	enum verdict_state state; /* of the first step that decides; 0: none so far */
	bool retry, secret_failed, public_scored, secret_scored;
	const char *blame;
	struct verdict_score score; /* the slower one */
	struct kettle_error why;
};

static void
free_making(struct verdict_builder *builder)
{
	json_decref(builder->runs);
	json_decref(builder->compilation);
	json_decref(builder->artifacts);
}
#define AUTO_MAKING __attribute__((cleanup(free_making)))

/* ---- what is kept of an outcome ---- */

/* Where a cut at `at` falls between characters, not after it. */
static size_t
character_start(const char *text, size_t at)
{
	while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* Head and tail of a text that is too long: compilers begin with what matters, interpreters end with it. */
static json_t *
cut_middle(const char *text, size_t len, size_t most)
{
	size_t head = character_start(text, most / 2);
	size_t tail = character_start(text, len - most / 2);
	return json_sprintf("%.*s\n[… %zu bytes left out …]\n%s", (int)head, text, tail - head, text + tail);
}

/* stdout or stderr of an outcome as one string. */
static json_t *
keep_output(struct verdict_builder *builder, const json_t *outcome, const char *which)
{
	const json_t *captured = json_object_get(outcome, which), *text = json_object_get(captured, "text");
	size_t len = json_string_length(text), most = builder->left < VERDICT_MAX_TEXT ? builder->left : VERDICT_MAX_TEXT;
	json_int_t cut = member_int(captured, "cut");
	const char *bytes = json_is_string(text) ? json_string_value(text) : "";
	AUTO_JSON json_t *kept = len > most ? cut_middle(bytes, len, most) : json_stringn(bytes, len);
	builder->left -= len > most ? most : len;
	if (cut <= 0)
		return STEAL(kept);
	return json_sprintf("%s\n[… %" JSON_INTEGER_FORMAT " bytes more were cut …]\n", json_string_value(kept), cut);
}

/* The result's keys and values, as many as there is room for. */
static json_t *
keep_result(struct verdict_builder *builder, const json_t *outcome)
{
	json_t *kept = json_object(), *value;
	const char *key;
	size_t most = builder->left < VERDICT_MAX_RESULT ? builder->left : VERDICT_MAX_RESULT, used = 0, left_out = 0;
	json_object_foreach(json_object_get(outcome, "result"), key, value) {
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

/* A value of an outcome when it is of the type that it should be, else null. */
static json_t *
keep_value(const json_t *outcome, const char *key, json_type type)
{
	json_t *value = json_object_get(outcome, key);
	return value && json_typeof(value) == type ? json_incref(value) : json_null();
}

static json_t *
seconds(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static json_t *
message_of(const struct kettle_error *why)
{
	return why->message[0] ? json_string(why->message) : json_null();
}

/* For a step that ran out of time KernelBot expects 114, whatever signal ended it. */
static json_t *
exit_of(const struct step_result *read, const json_t *outcome)
{
	if (read->state == VERDICT_TIMED_OUT)
		return json_integer(VERDICT_EXIT_TIMEOUT);
	return keep_value(outcome, "exit", JSON_INTEGER);
}

static void
keep_artifacts(struct verdict_builder *builder, const json_t *step, const json_t *outcome)
{
	size_t i;
	json_t *artifact;
	json_array_foreach(json_object_get(outcome, "artifacts"), i, artifact) {
		const char *name = member_string(artifact, "name"), *sha256 = member_string(artifact, "sha256");
		if (!name || !sha256 || json_array_size(builder->artifacts) >= VERDICT_MAX_ARTIFACTS)
			continue;
		json_t *kept = json_pack("{s:s, s:s, s:I, s:s}", "step", member_string(step, "id"), "name", name, "size",
			member_int(artifact, "size"), "sha256", sha256);
		json_array_append_new(builder->artifacts, kept);
	}
}

/* ---- steps ---- */

static void
add_compilation(
	struct verdict_builder *builder, const json_t *step, const json_t *outcome, const struct step_result *read)
{
	const char *title = member_string(step, "title");
	builder->build_ns += member_int(outcome, "wall_ns");
	json_t *entry = json_pack("{s:s, s:o, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:b}", "title",
		title ? title : member_string(step, "id"), "command", keep_value(outcome, "command", JSON_STRING), "passed",
		read->state == VERDICT_PASSED, "state", verdict_state_name(read->state), "exit", exit_of(read, outcome),
		"message", message_of(&read->why), "stdout", keep_output(builder, outcome, "stdout"), "stderr",
		keep_output(builder, outcome, "stderr"), "wall_ns", keep_value(outcome, "wall_ns", JSON_INTEGER), "cached",
		member_true(outcome, "cached"));
	json_array_append_new(builder->compilation, entry);
}

/* An object that came from a machine, unless it is larger than anything honest. */
static json_t *
bounded(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);
	if (!json_is_object(value) || json_dumpb(value, NULL, 0, JSON_COMPACT) > VERDICT_MAX_SYSTEM)
		return json_object();
	return json_incref(value);
}

/* What the run ran on, as KernelBot's records have it. New reference. */
static json_t *
system_of(const struct verdict_builder *builder)
{
	static const char *const keys[] = {"gpu", "count", "cpu", "runtime", "platform", "torch", "host"};
	AUTO_JSON json_t *all = bounded(builder->completion, "system");
	json_t *system = json_object();
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_get(all, keys[i]))
			json_object_set(system, keys[i], json_object_get(all, keys[i]));
	return system;
}

/* What only a public run shows. */
static void
add_details(struct verdict_builder *builder, json_t *entry, const json_t *step, const json_t *outcome,
	const struct step_result *read)
{
	AUTO_JSON json_t *details =
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "message", message_of(&read->why), "exit",
			exit_of(read, outcome), "signal", keep_value(outcome, "signal", JSON_INTEGER), "limit",
			keep_value(outcome, "limit", JSON_STRING), "memory_peak", keep_value(outcome, "memory_peak", JSON_INTEGER),
			"stdout", keep_output(builder, outcome, "stdout"), "stderr", keep_output(builder, outcome, "stderr"),
			"result", keep_result(builder, outcome), "command", keep_value(outcome, "command", JSON_STRING));
	json_t *index = json_object_get(json_object_get(step, "run"), "index");
	/* Clocks and throttling before and after it, where it had a GPU. */
	if (json_object_get(outcome, "device"))
		json_object_set_new(entry, "device", bounded(outcome, "device"));
	/* Whether it began as a copy of a warm interpreter: what is compared should have begun alike. */
	json_object_set_new(entry, "warm", json_boolean(member_true(outcome, "warm")));
	json_object_set_new(entry, "system", system_of(builder));
	json_object_update(entry, details);
	if (index)
		json_object_set(entry, "index", index);
	keep_artifacts(builder, step, outcome);
}

static void
add_verdict_run(
	struct verdict_builder *builder, const json_t *step, const json_t *outcome, const struct step_result *read)
{
	const json_t *run = json_object_get(step, "run");
	bool secret = member_true(run, "secret");
	builder->run_ns += member_int(outcome, "wall_ns");
	json_t *entry = json_pack("{s:s, s:b, s:b, s:s, s:o, s:o, s:o, s:o, s:o}", "mode", member_string(run, "mode"),
		"secret", secret, "passed", read->state == VERDICT_PASSED, "state", verdict_state_name(read->state), "score",
		seconds(read->scored ? read->score.value : 0), "low", seconds(read->scored ? read->score.low : 0), "high",
		seconds(read->scored ? read->score.high : 0), "start_ns", keep_value(outcome, "start_ns", JSON_INTEGER),
		"wall_ns", keep_value(outcome, "wall_ns", JSON_INTEGER));
	json_array_append_new(builder->runs, entry);
	if (!secret)
		add_details(builder, entry, step, outcome, read);
}

static void
take_score(struct verdict_builder *builder, const struct step_result *read, bool secret)
{
	if (!read->scored)
		return;
	*(secret ? &builder->secret_scored : &builder->public_scored) = true;
	if (read->score.value > builder->score.value)
		builder->score = read->score;
}

/* The first step that did not pass decides; those that were skipped only follow from it. */
static void
take_state(struct verdict_builder *builder, const struct step_result *read, bool secret)
{
	if (builder->state || read->state == VERDICT_PASSED || read->state == VERDICT_SKIPPED)
		return;
	builder->state = read->state;
	builder->blame = read->blame;
	builder->retry = read->retry;
	builder->secret_failed = secret;
	builder->why = read->why;
}

static const json_t *
find_outcome(const struct verdict_builder *builder, const char *id)
{
	size_t i;
	json_t *outcome;
	json_array_foreach(json_object_get(builder->completion, "outcomes"), i, outcome) {
		const char *step = member_string(outcome, "step");
		if (step && strcmp(step, id) == 0)
			return outcome;
	}
	return NULL;
}

static void
add_step(struct verdict_builder *builder, const json_t *step)
{
	struct step_result read;
	const json_t *run = json_object_get(step, "run"), *outcome = find_outcome(builder, member_string(step, "id"));
	bool secret = member_true(run, "secret");
	verdict_step_read(builder->language, builder->task, step, outcome, &read);
	take_state(builder, &read, secret);
	take_score(builder, &read, secret);
	if (!outcome || read.state == VERDICT_SKIPPED)
		return;
	if (run)
		add_verdict_run(builder, step, outcome, &read);
	else
		add_compilation(builder, step, outcome, &read);
}

/* ---- the job ---- */

static void
fail_job(struct verdict_builder *builder, bool retry, const char *sentence)
{
	builder->state = VERDICT_ERROR;
	builder->blame = retry ? "machine" : NULL;
	builder->retry = retry;
	builder->secret_failed = false;
	kettle_fail(&builder->why, KETTLE_EUNAVAIL, "%s", sentence);
}

/* What the runner says of the whole job wins over what single steps look like. */
static void
read_status(struct verdict_builder *builder)
{
	const char *status = member_string(builder->completion, "status"),
			   *error = member_string(builder->completion, "error");
	if (status && strcmp(status, "cancelled") == 0)
		fail_job(builder, false, error ? error : "It was cancelled.");
	else if (!status || strcmp(status, "done") != 0)
		fail_job(builder, true, error ? error : "The machine was lost while it worked on this.");
}

static bool
is_ranked(const struct verdict_builder *builder)
{
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(builder->plan, "steps"), i, step) {
		const char *mode = member_string(json_object_get(step, "run"), "mode");
		if (mode && strcmp(mode, "leaderboard") == 0)
			return true;
	}
	return false;
}

/* Nothing failed; then something must have run, and a ranked job have both its scores. */
static void
check_complete(struct verdict_builder *builder)
{
	bool ranked = is_ranked(builder);
	if (builder->state)
		return;
	builder->state = VERDICT_PASSED;
	if (json_array_size(builder->runs) == 0 || (ranked && !(builder->public_scored && builder->secret_scored)))
		fail_job(builder, true, "The machine did not carry out every step of the job.");
}

/* A half that failed alone must not read like a whole: the public runs look fine, so say what did not. */
static void
say_secret(struct verdict_builder *builder)
{
	struct kettle_error inner = builder->why;
	if (!builder->secret_failed || builder->state == VERDICT_ERROR)
		return;
	if (inner.message[0] == 'T')
		inner.message[0] = 't';
	kettle_fail(&builder->why, inner.code, "It passed the public runs, but not the secret ones: %s", inner.message);
}

static json_t *
describe_timing(const struct verdict_builder *builder)
{
	json_t *timing = timing_of(builder->plan, builder->completion);
	AUTO_JSON json_t *more = json_pack("{s:o, s:I, s:I}", "stamps", bounded(builder->completion, "stamps"), "build_ns",
		builder->build_ns, "run_ns", builder->run_ns);
	json_object_update(timing, more);
	return timing;
}

static json_t *
result(struct verdict_builder *builder)
{
	bool scored = builder->state == VERDICT_PASSED;
	return json_pack("{s:s, s:o, s:s?, s:b, s:o, s:o, s:o, s:O, s:O, s:o, s:o, s:O}", "state",
		verdict_state_name(builder->state), "error", message_of(&builder->why), "blame", builder->blame, "retry",
		builder->retry, "score", seconds(scored ? builder->score.value : 0), "low",
		seconds(scored ? builder->score.low : 0), "high", seconds(scored ? builder->score.high : 0), "runs",
		builder->runs, "compilation", builder->compilation, "system", bounded(builder->completion, "system"), "timing",
		describe_timing(builder), "artifacts", builder->artifacts);
}

json_t *
verdict_make(const struct languages *languages, const json_t *task, const json_t *plan, const json_t *completion)
{
	const char *lang = member_string(task, "lang");
	AUTO_MAKING struct verdict_builder builder = {
		.language = lang ? language_find(languages, lang) : NULL,
		.task = task,
		.plan = plan,
		.completion = completion,
		.runs = json_array(),
		.compilation = json_array(),
		.artifacts = json_array(),
		.left = VERDICT_MAX_TOTAL,
	};
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(plan, "steps"), i, step)
		add_step(&builder, step);
	read_status(&builder);
	check_complete(&builder);
	say_secret(&builder);
	return result(&builder);
}
