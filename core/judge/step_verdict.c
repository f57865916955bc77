/* SPDX-License-Identifier: MIT */
/* Reads the outcome of one step: state, blame, and a sentence for the participant. */
#include <config.h>

#include "judge/step_verdict.h"

#include <signal.h>

#include "base/base.h"
#include "base/text.h"
#include "judge/report.h"

#define MAX_LINE 300          /* bytes of a line of output that a sentence repeats */
#define MUCH_MEMORY (1 << 30) /* bytes of memory from which the message of a time-out names them */
#define MAX_MESSAGE 500       /* bytes of a harness's own message */

static const char participant[] = "participant", task_author[] = "task", machine[] = "machine";

/* The step that is judged, and the place of the result. */
struct reader {
	const json_t *task;
	const struct plan_step *step;
	const struct outcome *outcome; /* NULL: there is none */
	char name[120];                /* "the secret test run", "the step `link`" */
	struct step_result *ret;
};

const char *
verdict_state_name(enum verdict_state state)
{
	static const char *const names[] = {
		[VERDICT_PASSED] = "passed",
		[VERDICT_FAILED] = "failed",
		[VERDICT_TIMED_OUT] = "timed_out",
		[VERDICT_ERROR] = "error",
		[VERDICT_SKIPPED] = "skipped",
	};
	return names[state];
}

/* Sets everything in the result but its sentence, which it returns. */
static struct kettle_error *
read_as(const struct reader *reader, enum verdict_state state, const char *blame, bool retry)
{
	reader->ret->state = state;
	reader->ret->blame = blame;
	reader->ret->retry = retry;
	return &reader->ret->why;
}

/* The participant's failure, with its sentence. */
#define FAIL(reader, ...) kettle_fail(read_as(reader, VERDICT_FAILED, participant, false), KETTLE_EINVAL, __VA_ARGS__)

static void
name_step(struct reader *reader)
{
	const struct plan_step *step = reader->step;
	if (step->index >= 0)
		(void)snprintf(reader->name, sizeof(reader->name), "the profile of benchmark %lld", (long long)step->index);
	else if (step->run)
		(void)snprintf(reader->name, sizeof(reader->name), "the %s%s run", step->secret ? "secret " : "", step->mode);
	else
		(void)snprintf(reader->name, sizeof(reader->name), "the step `%.80s`", step->title);
}

/* ---- what the step itself reported ---- */

/* One line of text, safe to repeat in a sentence; empty where there is none. */
static void
clip_line(const char *text, size_t len, size_t most, struct buf *out)
{
	bool cut = len > most;
	len = cut ? most : len;
	while (cut && len && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	AUTO_BUF struct buf valid = {0};
	(void)utf8_sanitize(text, len, &valid);
	AUTO_FREE char *line = sanitize_line(valid.data ? valid.data : "", len);
	buf_adds(out, line);
	if (cut)
		buf_adds(out, "…");
}

/* The first line with the word error (compilers), else the last that is not empty (interpreters). */
static void
telling_line(const char *text, bool first, struct buf *out)
{
	const char *best = NULL;
	size_t best_len = 0;
	for (const char *line = text; line && *line;) {
		size_t len = strcspn(line, "\n");
		if (len)
			best = line, best_len = len;
		/* In this line alone: a log without the word is searched once, not once for each line. */
		if (first && memmem(line, len, "error", strlen("error")))
			break;
		line += len + (line[len] == '\n');
	}
	if (best)
		clip_line(best, best_len, MAX_LINE, out);
}

/* ": LINE" of stderr, or ".": how a sentence about a failure ends. Of a secret run nothing is repeated. */
static void
end_sentence(const struct reader *reader, bool first_error, struct buf *out)
{
	AUTO_BUF struct buf line = {0};
	if (!reader->step->secret)
		telling_line(reader->outcome->err.text, first_error, &line);
	buf_printf(out, line.len ? ": %s" : ".", line.len ? line.data : "");
}

/* The number of cases reported as failed; *ret_first is the first of them. */
static size_t
count_failed(const struct reader *reader, const char *noun, size_t *ret_first)
{
	size_t failed = 0;
	for (size_t i = 0; i < reader->step->cases; i++) {
		const char *status = result_value(reader->outcome->result, noun, i, "status");
		if (!status || strcmp(status, "pass") == 0)
			continue;
		*ret_first = failed ? *ret_first : i;
		failed++;
	}
	return failed;
}

/* "2 of 5 tests failed; the first is test 3 (size: 127): …" */
static void
fail_cases(const struct reader *reader)
{
	const char *noun = report_noun(reader->step);
	size_t first = 0, failed = count_failed(reader, noun, &first), count = reader->step->cases;
	AUTO_BUF struct buf detail = {0}, spec = {0};
	if (reader->step->secret || failed == 0) {
		FAIL(reader, "The harness of %s reported a failure.", reader->name);
		return;
	}
	const char *error = result_value(reader->outcome->result, noun, first, "error");
	const char *given = result_value(reader->outcome->result, noun, first, "spec");
	if (error)
		clip_line(error, strlen(error), MAX_MESSAGE, &detail);
	if (given)
		clip_line(given, strlen(given), MAX_LINE, &spec);
	FAIL(reader, "%zu of %zu %s%s failed; the first is %s %zu%s%s%s%s%s", failed, count, noun, count == 1 ? "" : "s",
		noun, first + 1, spec.len ? " (" : "", spec.len ? spec.data : "", spec.len ? ")" : "", detail.len ? ": " : ".",
		detail.len ? detail.data : "");
}

/* ---- limits, signals, exits ---- */

/* "60 s", "19.5 GiB", "64 KiB", "512". */
static void
limit_text(double value, const char *unit, char *text, size_t size)
{
	static const char *const bytes[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	size_t k = 0;
	for (; *unit == 'b' && value >= 1024 && k + 1 < ARRAY_SIZE(bytes); k++)
		value /= 1024;
	(void)snprintf(text, size, "%.*f%s%s", value == (double)(int64_t)value ? 0 : 1, value, *unit ? " " : "",
		*unit == 'b' ? bytes[k] : unit);
}

/* The words about a limit: with its value between them, or without it. */
static const struct limit_words {
	const char *limit, *unit, *before, *after, *unknown;
	bool time;
} limit_words[] = {
	{"wall", "s", "exceeded its time limit of ", "", "exceeded its time limit", true},
	{"cpu", "s", "exceeded its limit of ", " of CPU time", "exceeded its limit of CPU time", true},
	{"memory", "bytes", "exceeded its memory limit of ", "", "exceeded its memory limit", false},
	{"processes", "", "exceeded its limit of ", " processes and threads", "exceeded its limit of processes", false},
	{"disk", "bytes", "exceeded its limit of ", " of files in `out/`", "exceeded its limit of files in `out/`", false},
	{"tmp", "bytes", "exceeded its limit of ", " of files in `/tmp`", "exceeded its limit of files in `/tmp`", false},
	{"shm", "bytes", "exceeded its limit of ", " in `/dev/shm`", "exceeded its limit of `/dev/shm`", false},
	{"cache", "bytes", "exceeded its limit of ", " in the cache of compilers",
		"exceeded its limit of the cache of compilers", false},
	{"files", "", "exceeded its limit of ", " files and folders", "exceeded its limit of files and folders", false},
	{"file_size", "bytes", "exceeded its limit of ", " for one file", "exceeded its limit of the size of a file",
		false},
	{"open_files", "", "exceeded its limit of ", " open files", "exceeded its limit of open files", false},
	{"sockets", "", "exceeded its limit of ", " sockets", "exceeded its limit of sockets", false},
	{"output", "bytes", "printed far more than the ", " that are kept", "printed too much", false},
	{"result", "bytes", "exceeded its limit of ", " of results", "exceeded its limit of results", false},
	{NULL, "", "exceeded a limit of ", "", "exceeded a limit", false},
};

static const struct limit_words *
find_words(const char *limit)
{
	const struct limit_words *words = limit_words;
	while (words->limit && (!limit || strcmp(limit, words->limit) != 0))
		words++;
	return words;
}

/* Where a limit of the step is set, as an addition in brackets; "": nowhere that can be changed for one task. */
static const char *
limit_place(const struct plan_step *step, const char *limit)
{
	static const struct {
		const char *mode, *place;
	} times[] = {{"test", " (`test_timeout` of the task)"}, {"benchmark", " (`benchmark_timeout` of the task)"},
		{"leaderboard", " (`ranked_timeout` of the task)"}, {"profile", " (`benchmark_timeout` of the task)"}};
	bool by_task = json_object_get(json_object_get(step->json, "limits"), "memory");
	if (step->run && strcmp(limit, "memory") == 0)
		return by_task ? " (`memory` of the task)" : " (`memory` of the device)";
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (step->run && strcmp(limit, "wall") == 0 && strcmp(step->mode, times[i].mode) == 0)
			return times[i].place;
	return "";
}

/*
 * Adds to the message of a time-out the other limit that the run had reached, and a large use of memory: either may be
 * why it took so long.
 */
static void
add_also(const struct reader *reader)
{
	const json_t *also = json_object_get(reader->outcome->json, "also");
	const struct limit_words *words = find_words(json_text_or_null(also, "limit"));
	const struct optional_int *peak = &reader->outcome->memory_peak;
	struct kettle_error before = reader->ret->why;
	AUTO_BUF struct buf more = {0};
	char value[40];
	if (reader->step->secret)
		return;
	limit_text(member_number(also, "value"), words->unit, value, sizeof(value));
	if (words->limit)
		buf_printf(&more, " It had also reached its limit of %s%s.", value, words->after);
	limit_text((double)peak->value, "bytes", value, sizeof(value));
	if (peak->value >= MUCH_MEMORY)
		buf_printf(&more, " Its memory use peaked at %s.", value);
	if (more.len == 0)
		return;
	kettle_fail(&reader->ret->why, before.code, "%s%s", before.message, more.data);
	(void)kettle_blame(&reader->ret->why, (enum kettle_cause)before.cause, before.member, 0);
}

static void
read_limit(const struct reader *reader)
{
	const char *limit = reader->outcome->limit;
	const struct limit_words *words = find_words(limit);
	double most = reader->outcome->limit_value;
	if (most <= 0 && words->time)
		most = strcmp(limit, "cpu") == 0 ? reader->step->cpu_s : reader->step->wall_s;
	char value[40] = "";
	limit_text(most, words->unit, value, sizeof(value));
	bool known = most > 0;
	kettle_fail(read_as(reader, words->time ? VERDICT_TIMED_OUT : VERDICT_FAILED, participant, false), KETTLE_EINVAL,
		"%s %s%s%s%s.", reader->name, known ? words->before : words->unknown, known ? value : "",
		known ? words->after : "", limit && known ? limit_place(reader->step, limit) : "");
	if (words->time)
		add_also(reader);
}

/* Adds its number to a failure that names a limit without it. */
static void
add_limit(const struct reader *reader)
{
	const struct outcome *outcome = reader->outcome;
	struct kettle_error before = reader->ret->why;
	if (!outcome || outcome->state != OUTCOME_FAILED || !outcome->limit || outcome->limit_value <= 0 ||
		reader->step->secret || !before.message[0])
		return;
	const struct limit_words *words = find_words(outcome->limit);
	size_t len = strlen(before.message);
	char value[40];
	limit_text(outcome->limit_value, words->unit, value, sizeof(value));
	kettle_fail(&reader->ret->why, before.code, "%s%s The limit is %s%s.", before.message,
		before.message[len - 1] == '.' ? "" : ".", value, words->after);
	(void)kettle_blame(&reader->ret->why, (enum kettle_cause)before.cause, before.member, 0);
}

static const char *
signal_meaning(json_int_t number)
{
	static const struct {
		int number;
		const char *meaning;
	} signals[] = {{4, "illegal instruction"}, {6, "aborted"},
		{7, "bus error: a mapped file ended, or its file system was full"}, {8, "arithmetic error"}, {9, "killed"},
		{11, "invalid memory access"}, {13, "broken pipe"}, {15, "terminated"},
		{31, "a system call that the sandbox forbids"}};
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].number == number)
			return signals[i].meaning;
	return "see signal(7)";
}

/* Whether the harness says so on the result channel, which a submission does not have. */
static bool
is_claimed(const struct reader *reader, const char *blame)
{
	return member_is(reader->outcome->result, "fault", blame);
}

/*
 * Whether timing has begun: from then on nothing that a run reports gets it another try, or a submission could discard
 * times that it does not like.
 */
static bool
has_begun_timing(const struct reader *reader)
{
	return result_value(reader->outcome->result, "benchmark", 0, "spec");
}

/*
 * Exit statuses by which a harness says whose fault it is. A submission can exit with them too, so they count only
 * together with the same word on the result channel.
 */
static bool
read_protocol_exit(const struct reader *reader, json_int_t status)
{
	static const struct {
		int status;
		const char *blame, *format;
	} exits[] = {
		{VERDICT_EXIT_GPU, machine,
			"%s ended because the GPU's programming interface reported an error (exit status 110)%s"},
		{VERDICT_EXIT_CASE, task_author, "The harness of %s reported an error in the task (exit status 113)%s"},
		{VERDICT_EXIT_USAGE, task_author, "The harness of %s rejected its arguments (exit status 2)%s"},
	};
	AUTO_BUF struct buf end = {0};
	if (status == VERDICT_EXIT_CASE)
		end_sentence(reader, false, &end);
	else
		buf_adds(&end, ".");
	for (size_t i = 0; i < ARRAY_SIZE(exits); i++)
		if (exits[i].status == status && is_claimed(reader, exits[i].blame)) {
			bool retry = exits[i].blame == machine && !has_begun_timing(reader);
			struct kettle_error *why = read_as(reader, VERDICT_ERROR, exits[i].blame, retry);
			reader->ret->claimed = true;
			kettle_fail(why, KETTLE_EINVAL, exits[i].format, reader->name, end.data);
			return true;
		}
	return false;
}

/* Judges a step that ended by itself, but without an exit status that passes. */
static void
read_exit(const struct reader *reader, json_int_t status)
{
	bool run = reader->step->run;
	if (run && read_protocol_exit(reader, status))
		return;
	AUTO_BUF struct buf end = {0};
	if (run && status == VERDICT_EXIT_FAILED && member_is(reader->outcome->result, "check", "pass")) {
		FAIL(reader, "%s is void: its harness reported `check: pass` but also a failed test.", reader->name);
	} else if (run && status == VERDICT_EXIT_FAILED) {
		fail_cases(reader);
	} else {
		end_sentence(reader, !run, &end);
		FAIL(reader, "%s failed with exit status %lld%s", reader->name, (long long)status, end.data);
	}
}

/* ---- conditions ---- */

static bool
exit_passes(const struct reader *reader)
{
	struct optional_int status = reader->outcome->exit;
	if (!reader->step->pass_exit)
		return status.given && status.value == 0;
	json_array_each(reader->step->pass_exit, one)
		if (status.given && json_integer_value(one) == status.value)
			return true;
	return false;
}

static bool
result_passes(const struct reader *reader)
{
	json_object_each(reader->step->pass_result, key, wanted)
		if (!json_equal(json_object_get(reader->outcome->result, key), wanted))
			return false;
	return true;
}

static void
read_condition(const struct reader *reader)
{
	const char *error = reader->outcome->result_error;
	if (error && !reader->step->secret)
		FAIL(reader, "%s is void: %.400s", reader->name, error);
	else if (error)
		FAIL(reader, "%s is void: its report is malformed.", reader->name);
	else if (json_text_or_null(reader->outcome->result, "check"))
		fail_cases(reader);
	else
		FAIL(reader, "%s ended with exit status 0, but its harness never reported whether the results are correct.",
			reader->name);
}

/* A run that passed must not contradict itself, and a timed one must have its times. */
static void
read_passed_run(const struct reader *reader)
{
	const char *mode = reader->step->mode;
	struct kettle_error inner = {0};
	if (!reader->step->run)
		return;
	if (report_check(reader->step, reader->outcome->result, &inner)) {
		FAIL(reader, "%s is void: %s", reader->name, reader->step->secret ? "its report is malformed." : inner.message);
		return;
	}
	const char *trouble = json_text_or_null(reader->outcome->result, "profile.trouble");
	if (member_is(reader->outcome->result, "profile.caught", "none")) {
		FAIL(reader, "%s captured no kernel launch. %.700s", reader->name, trouble ? trouble : "");
		return;
	}
	if (strcmp(mode, "benchmark") != 0 && strcmp(mode, "leaderboard") != 0)
		return;
	struct score score = {0};
	const char *ranking = json_text_or_null(reader->task, "ranking_by");
	int rc =
		score_check_time(reader->outcome->result, reader->step->cases, (double)reader->outcome->wall_ns.value, &inner);
	if (rc == 0)
		rc = score_read(reader->outcome->result, reader->step->cases, ranking ? ranking : "last", score_interval_kinds,
			&score, &inner);
	if (rc == KETTLE_EUNAVAIL) {
		kettle_fail(read_as(reader, VERDICT_ERROR, machine, true), KETTLE_EUNAVAIL, "The machine could not time %s: %s",
			reader->name, inner.message);
		reader->ret->claimed = true;
	} else if (rc)
		FAIL(reader, "%s is void: %s", reader->name,
			reader->step->secret ? "the times that its harness reported do not give a score." : inner.message);
	else if (strcmp(mode, "leaderboard") == 0)
		reader->ret->score = score;
}

/* ---- the machine ---- */

static void
read_error(const struct reader *reader)
{
	const char *missing = reader->outcome->missing, *error = reader->outcome->error;
	struct kettle_error *why = read_as(reader, VERDICT_ERROR, machine, !missing);
	if (missing)
		(void)kettle_blame(why, KETTLE_CAUSE_LACKS, missing,
			kettle_fail(why, KETTLE_EUNAVAIL, "The machine lacks `%.100s`.", missing));
	else
		kettle_fail(why, KETTLE_EUNAVAIL, "The machine could not run %s: %.500s", reader->name,
			error ? error : "no reason was given.");
}

/* No process of the step ran, and the machine is not at fault. */
static bool
is_unbegun(const struct outcome *outcome)
{
	return outcome->state == OUTCOME_FAILED && !outcome->exit.given && !outcome->signal.given && outcome->error;
}

/* The core's own reading of the outcome. */
static void
read_outcome(const struct reader *reader)
{
	const struct outcome *outcome = reader->outcome;
	if (!outcome)
		kettle_fail(read_as(reader, VERDICT_ERROR, machine, true), KETTLE_EUNAVAIL,
			"The machine did not report the result of %s.", reader->name);
	else if (outcome->state == OUTCOME_SKIPPED)
		reader->ret->state = VERDICT_SKIPPED;
	else if (outcome->state == OUTCOME_LIMIT)
		read_limit(reader);
	else if (outcome->state != OUTCOME_PASSED && outcome->state != OUTCOME_FAILED)
		read_error(reader);
	else if (is_unbegun(outcome))
		FAIL(reader, "%s could not begin: %.400s", reader->name, outcome->error);
	else if (outcome->signal.value > 0)
		FAIL(reader, "%s was terminated by signal %lld (%s).", reader->name, (long long)outcome->signal.value,
			signal_meaning(outcome->signal.value));
	else if (outcome->left_early)
		FAIL(reader, "%s ended with exit status 0 before its tests were over.", reader->name);
	else if (!exit_passes(reader))
		read_exit(reader, outcome->exit.given ? outcome->exit.value : -1);
	else if (!result_passes(reader) || outcome->result_error)
		read_condition(reader);
	else if (outcome->state == OUTCOME_FAILED)
		FAIL(reader, "%s failed: %.400s", reader->name, outcome->error ? outcome->error : "it printed nothing.");
	else
		reader->ret->state = VERDICT_PASSED;
}

/* ---- the language's explanation ---- */

/*
 * Whether a language may conclude from the output of a run that machine or task is at fault. The submission prints
 * there too, so where the harness reports such faults itself, only its own report counts.
 */
static bool
is_believed(const struct reader *reader, const char *blame)
{
	bool accuses = reader->step->run && reader->outcome->state == OUTCOME_FAILED && strcmp(blame, participant) != 0;
	return !accuses || !reader->step->complete || json_text_or_null(reader->outcome->result, "fault");
}

/* Takes over the answer of a language's `interpret`. */
static void
take_explanation(const struct reader *reader, const json_t *answer)
{
	static const enum verdict_state states[] = {VERDICT_FAILED, VERDICT_TIMED_OUT, VERDICT_ERROR};
	static const char *const blames[] = {participant, task_author, machine};
	const char *message = json_text_or_null(answer, "message"), *lacks = json_text_or_null(answer, "lacks"),
			   *blame = participant;
	size_t state = 0;
	while (state < ARRAY_SIZE(states) && !member_is(answer, "state", verdict_state_name(states[state])))
		state++;
	if (state == ARRAY_SIZE(states))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(blames); i++)
		blame = member_is(answer, "blame", blames[i]) ? blames[i] : blame;
	if (!is_believed(reader, blame))
		return;
	/* Only a participant's own fault is a failure. */
	enum verdict_state means = blame == participant ? states[state] : VERDICT_ERROR;
	/* The submission's own process runs in both, and can print anything. */
	bool runs = reader->step->run || member_is(reader->step->json, "kind", "prepare");
	bool claimed = runs && reader->outcome->state != OUTCOME_ERROR && blame && blame != participant;
	bool retry = blame == machine && !reader->outcome->missing && !json_is_false(json_object_get(answer, "retry")) &&
				 (!claimed || !reader->step->run || (is_claimed(reader, machine) && !has_begun_timing(reader)));
	struct kettle_error *why = read_as(reader, means, blame, retry);
	reader->ret->claimed = claimed;
	if (message && !reader->step->secret)
		kettle_fail(why, KETTLE_EINVAL, "%s", message);
	if (lacks && !reader->step->secret)
		(void)kettle_blame(why, KETTLE_CAUSE_LACKS, lacks, 0);
	if (!why->message[0])
		kettle_fail(why, KETTLE_EINVAL, "%s did not pass.", reader->name);
}

/*
 * Whether something outside of the sandbox killed the step or, as its driver reports, a part of the compiler. A step
 * that the sandbox's own limits kill has the state of a limit.
 */
static bool
is_killed(const struct outcome *outcome)
{
	static const char *const words[] = {
		"Killed signal terminated program",  /* gcc */
		"unable to execute command: Killed", /* clang */
		"died due to signal 9",              /* nvcc */
	};
	bool killed = outcome->signal.value == SIGKILL;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		killed = killed || (outcome->err.text && strstr(outcome->err.text, words[i]));
	return killed && outcome->state == OUTCOME_FAILED;
}

/* A failure that no submission had a part in is the task's: every submission would fail so; unless the machine killed it. */
static void
blame_task(const struct reader *reader)
{
	struct step_result *ret = reader->ret;
	struct kettle_error inner = ret->why;
	if (!reader->step->task_only || !ret->blame || strcmp(ret->blame, participant) != 0)
		return;
	if (is_killed(reader->outcome)) {
		kettle_fail(read_as(reader, VERDICT_ERROR, machine, true), KETTLE_EUNAVAIL,
			"The machine killed %s, probably because it ran out of memory.", reader->name);
		return;
	}
	if (inner.message[0] == 'T')
		inner.message[0] = 't';
	kettle_fail(read_as(reader, VERDICT_ERROR, task_author, false), inner.code,
		"The task is at fault, not the submission: %s", inner.message);
	(void)kettle_blame(&ret->why, (enum kettle_cause)inner.cause, inner.member, 0);
}

/* Has the language explain the outcome. The language gets the step and whether a submission has a part in it. */
static void
request_explanation(const struct reader *reader, const struct language *language)
{
	AUTO_JSON json_t *step = json_copy((json_t *)reader->step->json), *answer = NULL;
	struct kettle_error ignored = {0}; /* a language that cannot explain leaves the core's own result */
	json_object_set_new(step, "task_only", json_boolean(reader->step->task_only));
	if (language->ops->interpret(language->self, step, reader->outcome->json, &answer, &ignored) == 0)
		take_explanation(reader, answer);
}

void
step_result_read(const struct language *language, const json_t *task, const struct plan_step *step,
	const struct outcome *outcome, struct step_result *ret_result)
{
	*ret_result = (struct step_result){0};
	struct reader reader = {.task = task, .step = step, .outcome = outcome, .ret = ret_result};
	name_step(&reader);
	read_outcome(&reader);
	/* A language explains a failure, or sees one where the core saw none; it never makes a step pass. */
	if (language && language->ops->interpret && outcome && ret_result->state != VERDICT_SKIPPED)
		request_explanation(&reader, language);
	add_limit(&reader);
	blame_task(&reader);
	if (ret_result->state == VERDICT_PASSED)
		read_passed_run(&reader);
	/* Sentences begin with the step's name. */
	if (ret_result->why.message[0] == 't')
		ret_result->why.message[0] = 'T';
}
