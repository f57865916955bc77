/* SPDX-License-Identifier: MIT */
/* Reads the outcome of one step: state, blame, and a sentence for the participant. */
#include <config.h>

#include "judge/step_verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/json_access.h"

#define MAX_LINE 300    /* bytes of a line of output that a sentence repeats */
#define MAX_MESSAGE 500 /* bytes of a harness's own message */

static const char participant[] = "participant", task_author[] = "task", machine[] = "machine";

/* What is read, and where the reading goes. */
struct reader {
	const json_t *task, *step, *outcome;
	bool secret;
	char name[120]; /* "the secret test run", "the step `link`" */
	struct step_result *step_result;
};

const char *
verdict_state_name(enum verdict_state state)
{
	switch (state) {
	case VERDICT_PASSED:
		return "passed";
	case VERDICT_FAILED:
		return "failed";
	case VERDICT_TIMED_OUT:
		return "timed_out";
	case VERDICT_ERROR:
		return "error";
	case VERDICT_SKIPPED:
		return "skipped";
	}
	return "error";
}

static bool
outcome_is(const struct reader *reader, const char *state)
{
	const char *found = member_string(reader->outcome, "state");
	return found && strcmp(found, state) == 0;
}

/* Sets the reading; the sentence follows. */
static struct kettle_error *
read_as(const struct reader *reader, enum verdict_state state, const char *blame, bool retry)
{
	reader->step_result->state = state;
	reader->step_result->blame = blame;
	reader->step_result->retry = retry;
	return &reader->step_result->why;
}

/* How sentences name the step. */
static void
name_step(struct reader *reader)
{
	const json_t *run = json_object_get(reader->step, "run");
	const char *mode = member_string(run, "mode"), *title = member_string(reader->step, "title");
	const json_t *index = json_object_get(run, "index");
	if (index)
		(void)snprintf(reader->name, sizeof(reader->name), "the profile of benchmark %lld",
			(long long)json_integer_value(index) + 1);
	else if (mode)
		(void)snprintf(reader->name, sizeof(reader->name), "the %s%s run", reader->secret ? "secret " : "", mode);
	else
		(void)snprintf(
			reader->name, sizeof(reader->name), "the step `%.80s`", title ? title : member_string(reader->step, "id"));
}

/* ---- what the step itself said ---- */

/* One line of text as a sentence may repeat it; empty where there is none. */
static void
clip_line(const char *text, size_t len, size_t most, struct buf *out)
{
	bool cut = len > most;
	len = cut ? most : len;
	while (cut && len && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	(void)utf8_sanitize(text, len, out);
	if (cut)
		buf_adds(out, "…");
}

/* The first line that speaks of an error (compilers), else the last that is not empty (interpreters). */
static void
telling_line(const char *text, bool first, struct buf *out)
{
	const char *best = NULL;
	size_t best_len = 0;
	for (const char *line = text; line && *line;) {
		size_t len = strcspn(line, "\n");
		if (len)
			best = line, best_len = len;
		/* In this line alone: a log without the word is looked through once, not once for each of its lines. */
		if (first && memmem(line, len, "error", strlen("error")))
			break;
		line += len + (line[len] == '\n');
	}
	if (best)
		clip_line(best, best_len, MAX_LINE, out);
}

/* ": LINE" of stderr, or ".": how a sentence about a failure ends. A secret run tells nothing. */
static void
end_sentence(const struct reader *reader, bool first_error, struct buf *out)
{
	AUTO_BUF struct buf line = {0};
	if (!reader->secret)
		telling_line(member_string(json_object_get(reader->outcome, "stderr"), "text"), first_error, &line);
	buf_printf(out, line.len ? ": %s" : ".", line.len ? line.data : "");
}

/* How many cases the run was given. */
static size_t
count_cases(const struct reader *reader)
{
	size_t count = 0;
	const char *text = member_string(json_object_get(reader->step, "cases"), "text");
	for (; text && *text; text++)
		count += *text == '\n';
	return count;
}

/* "test.3.error" */
static const char *
case_value(const struct reader *reader, const char *noun, size_t index, const char *what)
{
	char key[64];
	(void)snprintf(key, sizeof(key), "%s.%zu.%s", noun, index, what);
	return member_string(json_object_get(reader->outcome, "result"), key);
}

static const char *
case_noun(const struct reader *reader)
{
	const char *mode = member_string(json_object_get(reader->step, "run"), "mode");
	return mode && strcmp(mode, "test") == 0 ? "test" : "benchmark";
}

/* The number of cases reported as failed; *ret_first is the first of them. */
static size_t
count_failed(const struct reader *reader, const char *noun, size_t *ret_first)
{
	size_t failed = 0;
	for (size_t i = 0, count = count_cases(reader); i < count; i++) {
		const char *status = case_value(reader, noun, i, "status");
		if (!status || strcmp(status, "pass") == 0)
			continue;
		*ret_first = failed ? *ret_first : i;
		failed++;
	}
	return failed;
}

/* "2 of 5 tests failed; the first is test 3 (size: 127): …" */
static void
say_failed(const struct reader *reader, struct kettle_error *why)
{
	const char *noun = case_noun(reader);
	size_t first = 0, failed = count_failed(reader, noun, &first), count = count_cases(reader);
	AUTO_BUF struct buf detail = {0}, spec = {0};
	if (reader->secret || failed == 0) {
		kettle_fail(why, KETTLE_EINVAL, "The harness of %s reported a failure.", reader->name);
		return;
	}
	const char *error = case_value(reader, noun, first, "error");
	const char *given = case_value(reader, noun, first, "spec");
	if (error)
		clip_line(error, strlen(error), MAX_MESSAGE, &detail);
	if (given)
		clip_line(given, strlen(given), MAX_LINE, &spec);
	kettle_fail(why, KETTLE_EINVAL, "%zu of %zu %s%s failed; the first is %s %zu%s%s%s%s%s", failed, count, noun,
		count == 1 ? "" : "s", noun, first + 1, spec.len ? " (" : "", spec.len ? spec.data : "", spec.len ? ")" : "",
		detail.len ? ": " : ".", detail.len ? detail.data : "");
}

/* ---- limits, signals, exits ---- */

static void
read_limit(const struct reader *reader)
{
	static const struct {
		const char *limit, *text;
		bool time;
	} limits[] = {
		{"wall", "did not end in the time it has", true},
		{"cpu", "used up the CPU time it has", true},
		{"memory", "needed more memory than it may have", false},
		{"processes", "started more processes than it may have", false},
		{"disk", "wrote more to the disk than it may", false},
		{"output", "printed more than it may", false},
		{"result", "reported more than the result channel takes", false},
	};
	const char *limit = member_string(reader->outcome, "limit"), *text = "went over a limit";
	bool time = false;
	for (size_t i = 0; limit && i < ARRAY_SIZE(limits); i++)
		if (strcmp(limit, limits[i].limit) == 0) {
			text = limits[i].text;
			time = limits[i].time;
		}
	struct kettle_error *why = read_as(reader, time ? VERDICT_TIMED_OUT : VERDICT_FAILED, participant, false);
	const json_t *value = json_object_get(json_object_get(reader->step, "limits"), limit ? limit : "");
	if (time && json_is_number(value))
		kettle_fail(why, KETTLE_EINVAL, "%s %s (%g s) and was stopped.", reader->name, text, json_number_value(value));
	else
		kettle_fail(why, KETTLE_EINVAL, "%s %s and was stopped.", reader->name, text);
}

static const char *
signal_meaning(json_int_t number)
{
	static const struct {
		int number;
		const char *meaning;
	} signals[] = {{4, "illegal instruction"}, {6, "aborted"}, {7, "bus error"}, {8, "arithmetic error"}, {9, "killed"},
		{11, "invalid memory access"}, {13, "broken pipe"}, {15, "terminated"},
		{31, "a system call that the sandbox forbids"}};
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].number == number)
			return signals[i].meaning;
	return "see signal(7)";
}

/* Exit statuses by which a harness says whose fault it is. They prove nothing, a submission can leave with them too,
 * so that nothing hangs on them but the blame, and whether it is tried again. */
static bool
read_protocol_exit(const struct reader *reader, json_int_t status)
{
	if (status == VERDICT_EXIT_GPU)
		kettle_fail(read_as(reader, VERDICT_ERROR, machine, true), KETTLE_EINVAL,
			"%s ended because the GPU's programming interface reported an error (exit status 110).", reader->name);
	else if (status == VERDICT_EXIT_CHANNEL)
		kettle_fail(read_as(reader, VERDICT_ERROR, machine, true), KETTLE_EINVAL,
			"The harness of %s found no result channel (exit status 111).", reader->name);
	else if (status == VERDICT_EXIT_CASE)
		kettle_fail(read_as(reader, VERDICT_ERROR, task_author, false), KETTLE_EINVAL,
			"The harness of %s could not read a case of the task (exit status 113).", reader->name);
	else if (status == VERDICT_EXIT_USAGE)
		kettle_fail(read_as(reader, VERDICT_ERROR, task_author, false), KETTLE_EINVAL,
			"The harness of %s does not understand how it is called (exit status 2).", reader->name);
	else
		return false;
	return true;
}

/* Ended by itself, but not with an exit status that passes. */
static void
read_exit(const struct reader *reader, json_int_t status)
{
	bool run = json_object_get(reader->step, "run") != NULL;
	if (run && read_protocol_exit(reader, status))
		return;
	struct kettle_error *why = read_as(reader, VERDICT_FAILED, participant, false);
	const char *check = member_string(json_object_get(reader->outcome, "result"), "check");
	if (run && status == VERDICT_EXIT_FAILED && check && strcmp(check, "pass") == 0) {
		kettle_fail(why, KETTLE_EINVAL, "%s is void: its harness reported `check: pass` and yet that a test failed.",
			reader->name);
		return;
	}
	if (run && status == VERDICT_EXIT_FAILED) {
		say_failed(reader, why);
		return;
	}
	AUTO_BUF struct buf end = {0};
	end_sentence(reader, !run, &end);
	kettle_fail(why, KETTLE_EINVAL, "%s failed with exit status %lld%s", reader->name, (long long)status,
		end.data ? end.data : ".");
}

/* ---- conditions ---- */

static bool
exit_passes(const struct reader *reader, const json_t *status)
{
	const json_t *allowed = json_object_get(json_object_get(reader->step, "pass"), "exit");
	size_t i;
	json_t *one;
	if (!json_is_integer(status))
		return false;
	if (!allowed)
		return json_integer_value(status) == 0;
	json_array_foreach((json_t *)allowed, i, one)
		if (json_equal(one, status))
			return true;
	return false;
}

/* The result keys of the pass condition. */
static bool
result_passes(const struct reader *reader)
{
	const char *key;
	json_t *wanted;
	const json_t *result = json_object_get(reader->outcome, "result");
	json_object_foreach(json_object_get(json_object_get(reader->step, "pass"), "result"), key, wanted)
		if (!json_equal(json_object_get(result, key), wanted))
			return false;
	return true;
}

static void
read_condition(const struct reader *reader)
{
	struct kettle_error *why = read_as(reader, VERDICT_FAILED, participant, false);
	const char *error = member_string(reader->outcome, "result_error");
	const json_t *result = json_object_get(reader->outcome, "result");
	if (error && !reader->secret)
		kettle_fail(why, KETTLE_EINVAL, "%s is void: %.400s", reader->name, error);
	else if (error)
		kettle_fail(why, KETTLE_EINVAL, "%s is void: what it reported is not in order.", reader->name);
	else if (member_string(result, "check"))
		say_failed(reader, why);
	else
		kettle_fail(why, KETTLE_EINVAL,
			"%s ended with exit status 0, but its harness never reported whether the results are right.", reader->name);
}

/* A count that the harness reported must be the number of cases it was given. */
static bool
count_contradicts(const struct reader *reader)
{
	char key[32], expected[32];
	const char *noun = case_noun(reader);
	(void)snprintf(key, sizeof(key), "%s-count", noun);
	(void)snprintf(expected, sizeof(expected), "%zu", count_cases(reader));
	const char *reported = member_string(json_object_get(reader->outcome, "result"), key);
	if (!reported || strcmp(reported, expected) == 0)
		return false;
	AUTO_BUF struct buf numbers = {0};
	if (!reader->secret)
		buf_printf(&numbers, ": %.20s, not %s", reported, expected);
	kettle_fail(read_as(reader, VERDICT_FAILED, participant, false), KETTLE_EINVAL,
		"%s is void: its harness reported another number of %ss than it was given%s.", reader->name, noun,
		numbers.data ? numbers.data : "");
	return true;
}

/* A run that passed must not say anything else besides, and a timed one must have its times. */
static void
read_passed_run(const struct reader *reader)
{
	const char *mode = member_string(json_object_get(reader->step, "run"), "mode");
	size_t first = 0;
	if (!mode || count_contradicts(reader))
		return;
	if (count_failed(reader, case_noun(reader), &first)) {
		kettle_fail(read_as(reader, VERDICT_FAILED, participant, false), KETTLE_EINVAL,
			"%s is void: its harness reported `check: pass` and yet a failure of %s %zu.", reader->name,
			case_noun(reader), first + 1);
		return;
	}
	if (strcmp(mode, "benchmark") != 0 && strcmp(mode, "leaderboard") != 0)
		return;
	struct kettle_error inner = {0};
	const char *ranking = member_string(reader->task, "ranking_by");
	if (verdict_score(json_object_get(reader->outcome, "result"), count_cases(reader), ranking ? ranking : "last",
			&reader->step_result->score, &inner)) {
		kettle_fail(read_as(reader, VERDICT_FAILED, participant, false), KETTLE_EINVAL, "%s is void: %s", reader->name,
			reader->secret ? "the times that its harness reported make no score." : inner.message);
		return;
	}
	reader->step_result->scored = strcmp(mode, "leaderboard") == 0;
}

/* ---- the machine ---- */

static void
read_error(const struct reader *reader)
{
	const char *missing = member_string(reader->outcome, "missing"), *error = member_string(reader->outcome, "error");
	struct kettle_error *why = read_as(reader, VERDICT_ERROR, machine, !missing);
	if (missing)
		kettle_fail(why, KETTLE_EUNAVAIL, "The board's machine lacks `%.100s`.", missing);
	else
		kettle_fail(why, KETTLE_EUNAVAIL, "The machine could not carry out %s: %.500s", reader->name,
			error ? error : "it did not say why.");
}

/* The core's own reading. */
static void
read_outcome(const struct reader *reader)
{
	const json_t *status = json_object_get(reader->outcome, "exit");
	const json_t *signal = json_object_get(reader->outcome, "signal");
	bool known = outcome_is(reader, "passed") || outcome_is(reader, "failed");
	if (!reader->outcome)
		kettle_fail(read_as(reader, VERDICT_ERROR, machine, true), KETTLE_EUNAVAIL,
			"The machine did not say what became of %s.", reader->name);
	else if (outcome_is(reader, "skipped"))
		(void)read_as(reader, VERDICT_SKIPPED, NULL, false);
	else if (outcome_is(reader, "limit"))
		read_limit(reader);
	else if (outcome_is(reader, "error") || !known)
		read_error(reader);
	else if (json_integer_value(signal) > 0)
		kettle_fail(read_as(reader, VERDICT_FAILED, participant, false), KETTLE_EINVAL,
			"%s was ended by signal %lld (%s).", reader->name, (long long)json_integer_value(signal),
			signal_meaning(json_integer_value(signal)));
	else if (!exit_passes(reader, status))
		read_exit(reader, json_is_integer(status) ? json_integer_value(status) : -1);
	else if (!result_passes(reader) || member_string(reader->outcome, "result_error"))
		read_condition(reader);
	else if (outcome_is(reader, "failed"))
		kettle_fail(read_as(reader, VERDICT_FAILED, participant, false), KETTLE_EINVAL, "%s failed: %.400s",
			reader->name,
			member_string(reader->outcome, "error") ? member_string(reader->outcome, "error") : "it left no output.");
	else
		(void)read_as(reader, VERDICT_PASSED, NULL, false);
}

/* ---- the language's word ---- */

static bool
take_explanation(const struct reader *reader, const json_t *said)
{
	static const enum verdict_state states[] = {VERDICT_FAILED, VERDICT_TIMED_OUT, VERDICT_ERROR};
	static const char *const blames[] = {participant, task_author, machine};
	const char *state = member_string(said, "state"), *blame = member_string(said, "blame"),
			   *message = member_string(said, "message");
	for (size_t i = 0; state && i < ARRAY_SIZE(states); i++) {
		if (strcmp(state, verdict_state_name(states[i])) != 0)
			continue;
		const char *found = blames[0];
		for (size_t k = 0; blame && k < ARRAY_SIZE(blames); k++)
			found = strcmp(blame, blames[k]) == 0 ? blames[k] : found;
		bool retry = states[i] == VERDICT_ERROR && found == machine && !json_object_get(reader->outcome, "missing") &&
					 !json_is_false(json_object_get(said, "retry"));
		struct kettle_error *why = read_as(reader, states[i], found, retry);
		if (message && !reader->secret)
			kettle_fail(why, KETTLE_EINVAL, "%s", message);
		else if (!why->message[0])
			kettle_fail(why, KETTLE_EINVAL, "%s did not pass.", reader->name);
		return true;
	}
	return false;
}

/* A language explains a failure, or sees one where the core saw none; it never makes a step pass. */
static void
ask_language(const struct reader *reader, const struct language *language)
{
	AUTO_JSON json_t *said = NULL;
	struct kettle_error unheard = {0}; /* a language that cannot explain leaves the core's own reading */
	if (!language || !language->ops->interpret || !reader->outcome || reader->step_result->state == VERDICT_SKIPPED)
		return;
	if (language->ops->interpret(language->self, reader->step, reader->outcome, &said, &unheard) == 0)
		(void)take_explanation(reader, said);
}

void
verdict_step_read(const struct language *language, const json_t *task, const json_t *step, const json_t *outcome,
	struct step_result *ret_reading)
{
	*ret_reading = (struct step_result){0};
	struct reader reader = {
		.task = task,
		.step = step,
		.outcome = json_is_object(outcome) ? outcome : NULL,
		.secret = member_true(json_object_get(step, "run"), "secret"),
		.step_result = ret_reading,
	};
	name_step(&reader);
	read_outcome(&reader);
	ask_language(&reader, language);
	if (ret_reading->state == VERDICT_PASSED)
		read_passed_run(&reader);
	/* Sentences begin with the step's name. */
	if (ret_reading->why.message[0] == 't')
		ret_reading->why.message[0] = 'T';
}
