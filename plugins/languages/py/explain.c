/* SPDX-License-Identifier: MIT */
/*
 * Explains the outcome of a step in Python from its output: a module or a device that the machine lacks, the lines of the
 * submission in a traceback, an extension that does not compile.
 */
#include <config.h>

#include "explain.h"

#include <kettle/explain.h>

#include "base/base.h"

#define MAX_FRAMES 3    /* of the submission, the innermost ones */
#define MAX_PACKAGES 30 /* that a sentence lists */

/* A borrowed piece of a text. */
struct span {
	const char *start;
	size_t len;
};

struct frame {
	long line;
	struct span function;
};

/* A traceback. */
struct trace {
	struct frame frames[MAX_FRAMES]; /* the innermost last */
	size_t count;
	bool submission;   /* it has a frame of the submission */
	bool inner;        /* the innermost frame below /job is the submission's, not the task's */
	struct span error; /* "ValueError: no"; len 0: none was found */
};

static struct span
line_at(const char *text)
{
	return (struct span){text, strcspn(text, "\n")};
}

static struct kettle_sentence
quoted(struct span line)
{
	struct kettle_sentence quote = {0};
	kettle_sentence_quote(&quote, line.start, line.len);
	return quote;
}

static const char *
explain_after(struct span line)
{
	return line.start + line.len + (line.start[line.len] == '\n');
}

static bool
begins(struct span line, const char *with)
{
	size_t len = strlen(with);
	return line.len >= len && memcmp(line.start, with, len) == 0;
}

static const char *
within(struct span line, const char *what)
{
	return memmem(line.start, line.len, what, strlen(what));
}

/* A variable of the process that has the submission. */
static const char *
variable(const json_t *step, const char *name)
{
	const json_t *solver = json_object_get(step, "solver");
	return kettle_json_text(json_object_get(solver ? solver : step, "env"), name);
}

/* ---- tracebacks ---- */

/* `  File "/job/submission.py", line 12, in f`; faulthandler writes it without the second comma. */
static bool
read_frame(struct span line, struct span *ret_file, struct frame *ret_frame)
{
	if (!begins(line, "  File \""))
		return false;
	struct span file = {line.start + strlen("  File \""), 0};
	const char *end = within((struct span){file.start, line.len - strlen("  File \"")}, "\", line ");
	if (!end)
		return false;
	file.len = (size_t)(end - file.start);
	char *rest = NULL;
	ret_frame->line = strtol(end + strlen("\", line "), &rest, 10);
	rest += *rest == ',';
	size_t left = (size_t)(line.start + line.len - rest);
	ret_frame->function =
		left > 4 && memcmp(rest, " in ", 4) == 0 ? (struct span){rest + 4, left - 4} : (struct span){0};
	*ret_file = file;
	return true;
}

static bool
is_file(struct span file, const char *name)
{
	size_t len = strlen(name);
	return len && file.len > len && file.start[file.len - len - 1] == '/' &&
		   memcmp(file.start + file.len - len, name, len) == 0;
}

static void
add_frame(struct trace *trace, struct frame frame)
{
	if (trace->count == MAX_FRAMES) {
		memmove(trace->frames, trace->frames + 1, (MAX_FRAMES - 1) * sizeof(frame));
		trace->count--;
	}
	trace->frames[trace->count++] = frame;
}

/* Reads the frames of one traceback, from the line after its head to the exception. */
static const char *
read_traceback(const char *at, const char *submission, struct trace *trace)
{
	while (*at) {
		struct span line = line_at(at), file;
		struct frame frame;
		at = explain_after(line);
		if (read_frame(line, &file, &frame)) {
			bool own = is_file(file, submission);
			if (own)
				add_frame(trace, frame);
			trace->submission = trace->submission || own;
			if (own || begins(file, "/job/"))
				trace->inner = own;
		} else if (line.len && line.start[0] != ' ') {
			trace->error = line;
			break;
		}
	}
	return at;
}

/* The last traceback with a frame of the submission, else the last one: a pool prints the worker's before its own. */
static struct trace
find_trace(const char *text, const char *submission)
{
	struct trace found = {0};
	while (*text) {
		struct span line = line_at(text);
		text = explain_after(line);
		if (!begins(line, "Traceback (most recent call last):"))
			continue;
		struct trace trace = {0};
		text = read_traceback(text, submission, &trace);
		if (trace.error.len && (trace.submission || !found.submission))
			found = trace;
	}
	return found;
}

/* ---- missing modules and devices ---- */

/* Finds the module of the last `No module named 'X'`; len 0: none. */
static struct span
missing_module(const char *text)
{
	static const char words[] = "No module named '";
	struct span found = {0};
	for (const char *at = text; (at = strstr(at, words)); at++) {
		const char *name = at + strlen(words);
		size_t len = strcspn(name, "'\n");
		if (len && len <= 100 && name[len] == '\'')
			found = (struct span){name, len};
	}
	return found;
}

/* "; it has numpy 1.24.2, scipy 1.10.1" */
static struct kettle_sentence
listed_packages(const json_t *packages)
{
	struct kettle_sentence list = {0};
	unsigned count = 0;
	json_object_each(packages, name, version)
		if (count < MAX_PACKAGES && json_is_string(version))
			kettle_sentence_add(&list, "%s%s %s", count++ ? ", " : "; it has ", name, json_string_value(version));
	return list;
}

/*
 * Explains a module that neither the job nor the interpreter has. No retry: neither another submission nor another
 * attempt to import it from the task's files would help.
 */
static int
explain_module(
	const json_t *outcome, struct span module, const struct trace *trace, json_t **ret_result, struct kettle_error *err)
{
	bool task = trace->error.len && !trace->inner;
	AUTO_FREE char *name = strndup(module.start, module.len);
	return kettle_explain_lacks(name, !task, ret_result, err, "The machine lacks `%s`%s.", name,
		listed_packages(json_object_get(outcome, "packages")).text);
}

static bool
lacks_device(const char *text)
{
	static const char *const words[] = {"No CUDA GPUs are available", "Found no NVIDIA driver on your system",
		"Torch not compiled with CUDA enabled", "no CUDA-capable device is detected",
		"CUDA driver version is insufficient", "libcuda.so cannot found", "0 active drivers", "CUDA error: no device"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static int
explain_device(const json_t *step, const struct trace *trace, json_t **ret_result, struct kettle_error *err)
{
	const char *device = variable(step, EXPLAIN_DEVICE);
	bool own = trace->inner || (trace->submission && !trace->error.len);
	return kettle_explain(own ? "failed" : "error", own ? "participant" : "task", false, ret_result, err,
		"%s needs a CUDA device; %s has none.", own ? "The submission" : "This task",
		device[0] ? device : "this device");
}

/* Finds the last line in which compile.py names a broken file of the task; len 0: none. */
static struct span
broken_file(const json_t *outcome, const char *text)
{
	static const char head[] = "kettle: ";
	struct span found = {0};
	if (json_integer_value(json_object_get(outcome, "exit")) != EXPLAIN_BROKEN)
		return found;
	for (const char *at = text; *at; at = explain_after(line_at(at))) {
		struct span line = line_at(at);
		if (begins(line, head) && within(line, " does not compile: "))
			found = (struct span){at + strlen(head), line.len - strlen(head)};
	}
	return found;
}

/*
 * Explains a file of the task that does not compile, or an interpreter that does not start or is too old. The first
 * line of the output says which.
 */
static int
explain_bytecode(
	const json_t *step, const json_t *outcome, const char *text, json_t **ret_result, struct kettle_error *err)
{
	struct span line = line_at(text), broken = broken_file(outcome, text);
	const char *program = json_string_value(json_array_get(json_object_get(step, "argv"), 0));
	if (json_is_integer(json_object_get(outcome, "signal")))
		return kettle_explain_nothing(err);
	if (broken.len)
		return kettle_explain("error", "task", false, ret_result, err, "The task is at fault, not the submission: %s",
			quoted(broken).text);
	return kettle_explain("error", "machine", false, ret_result, err,
		"The machine has no Python 3.9 or newer as `%.200s`: %s", program ? program : "python3",
		line.len ? quoted(line).text : "it fails without output.");
}

/* ---- what went wrong in the submission ---- */

/* " (submission.py line 30 in custom_kernel, line 12 in helper)" */
static struct kettle_sentence
listed_frames(const struct trace *trace, const json_t *step)
{
	struct kettle_sentence list = {0};
	for (size_t i = 0; i < trace->count; i++) {
		const struct frame *frame = &trace->frames[i];
		if (i == 0)
			kettle_sentence_add(&list, " (%s ", variable(step, EXPLAIN_SUBMISSION));
		kettle_sentence_add(&list, "%sline %ld", i ? ", " : "", frame->line);
		if (frame->function.len && frame->function.start[0] != '<')
			kettle_sentence_add(&list, " in %.*s", (int)frame->function.len, frame->function.start);
	}
	if (trace->count)
		kettle_sentence_add(&list, ").");
	return list;
}

static int
explain_exception(const json_t *step, const struct trace *trace, json_t **ret_result, struct kettle_error *err)
{
	return kettle_explain("failed", "participant", false, ret_result, err, "The %s run failed: %s%s",
		kettle_json_text(json_object_get(step, "run"), "mode"), quoted(trace->error).text,
		listed_frames(trace, step).text);
}

/* Reads faulthandler's report of a crash in native code: the signal and the submission's frames, innermost first. */
static bool
find_crash(const char *text, const char *submission, struct trace *ret_trace)
{
	static const char head[] = "Fatal Python error: ";
	const char *at = strstr(text, head);
	*ret_trace = (struct trace){0};
	if (!at)
		return false;
	ret_trace->error = line_at(at + strlen(head));
	for (at = explain_after(ret_trace->error); *at && ret_trace->count == 0;) {
		struct span line = line_at(at), file;
		struct frame frame;
		at = explain_after(line);
		if (begins(line, "Traceback") || begins(line, head))
			break;
		if (read_frame(line, &file, &frame) && is_file(file, submission))
			add_frame(ret_trace, frame);
	}
	return true;
}

/* Explains a crash. The outcome may be a timeout, since a pool waits forever for a worker that crashed. */
static int
explain_crash(
	const json_t *step, const json_t *outcome, const struct trace *crash, json_t **ret_result, struct kettle_error *err)
{
	bool waited = kettle_json_is(outcome, "state", "limit");
	return kettle_explain(waited ? "timed_out" : "failed", "participant", false, ret_result, err,
		"A process of the %s run crashed: %s%s%s", kettle_json_text(json_object_get(step, "run"), "mode"),
		quoted(crash->error).text, listed_frames(crash, step).text,
		waited ? " The run waited for this process until the time limit." : "");
}

/*
 * Finds the header in `/usr/include/torch/x.h:13:10: fatal error: pybind11/pybind11.h: No such file or directory`.
 * True: the machine should have it, since the machine's own headers or every extension include it. False: it is the
 * submission's.
 */
static bool
find_header(struct span line, struct span *ret_header)
{
	static const char *const always[] = {"torch/extension.h", "Python.h", "cuda_runtime.h"};
	static const char head[] = ": fatal error: ", tail[] = ": No such file or directory";
	const char *from = within(line, head), *to = within(line, tail);
	if (!from || !to || to < from)
		return false;
	from += strlen(head);
	*ret_header = (struct span){from, (size_t)(to - from)};
	bool machine = !begins(line, "/job/") && line.start[0] == '/';
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		machine = machine || (ret_header->len == strlen(always[i]) && begins(*ret_header, always[i]));
	return machine;
}

/* Quotes the first error line of a compiler or linker. The submission prints there too, so the machine is never blamed. */
static int
explain_compilation(const char *text, json_t **ret_result, struct kettle_error *err)
{
	static const char *const words[] = {
		": error: ", ": fatal error: ", ": undefined reference to ", "ld: cannot find ", ": error : ", "error: "};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *found = strstr(text, words[i]);
		if (!found)
			continue;
		while (found > text && found[-1] != '\n')
			found--;
		struct span line = line_at(found), header;
		if (find_header(line, &header))
			return kettle_explain("failed", "participant", false, ret_result, err,
				"The submission's extension does not compile: it needs the header `%.*s`, which the machine "
				"lacks.",
				(int)header.len, header.start);
		return kettle_explain("failed", "participant", false, ret_result, err,
			"The submission's extension does not compile: %s", quoted(line).text);
	}
	return kettle_explain_nothing(err);
}

/* ---- the outcome of a step ---- */

/* Explains a run that ended with an exception, or whose harness reported failures. */
static int
explain_failure(const json_t *step, const json_t *outcome, const char *text, const char *reported, json_t **ret_result,
	struct kettle_error *err)
{
	const char *submission = variable(step, EXPLAIN_SUBMISSION);
	struct trace trace = find_trace(text, submission), crash;
	AUTO_JSON json_t *line = json_stringn(trace.error.start ? trace.error.start : "", trace.error.len);
	const char *error = json_string_value(line);
	struct span module = missing_module(error);
	if (!module.len)
		module = missing_module(reported);
	if (module.len)
		return explain_module(outcome, module, &trace, ret_result, err);
	if (lacks_device(error) || lacks_device(reported))
		return explain_device(step, &trace, ret_result, err);
	if (find_crash(text, submission, &crash))
		return explain_crash(step, outcome, &crash, ret_result, err);
	if (trace.submission && json_integer_value(json_object_get(outcome, "exit")) == 1 &&
		!json_object_get(json_object_get(outcome, "result"), "check"))
		return explain_exception(step, &trace, ret_result, err);
	return kettle_explain_nothing(err);
}

int
explain_outcome(void *self, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err)
{
	(void)self;
	const char *text = kettle_json_text(json_object_get(outcome, "stderr"), "text");
	struct trace crash;
	if (kettle_json_is(step, "id", EXPLAIN_BYTECODE) && kettle_json_is(outcome, "state", "failed"))
		return explain_bytecode(step, outcome, text, ret_result, err);
	if (kettle_json_is(step, "kind", "prepare") && kettle_json_is(outcome, "state", "failed"))
		return explain_compilation(text, ret_result, err);
	if (kettle_json_is(step, "kind", "run") && kettle_json_is(outcome, "limit", "wall") &&
		find_crash(text, variable(step, EXPLAIN_SUBMISSION), &crash))
		return explain_crash(step, outcome, &crash, ret_result, err);
	if (!kettle_json_is(step, "kind", "run") || !kettle_json_is(outcome, "state", "failed"))
		return kettle_explain_nothing(err);
	AUTO_FREE char *reported = kettle_explain_reported(outcome);
	return explain_failure(step, outcome, text, reported ? reported : "", ret_result, err);
}
