/* SPDX-License-Identifier: MIT */
/* Shows the progress of a submission: finished lines, and below them one live line on a terminal. */
#include <config.h>

#include "common/progress.h"

#include <math.h>
#include <time.h>

#include "base/base.h"
#include "common/format.h"
#include "common/value.h"
#include "common/wrap.h"

#define PROGRESS_STATE_SIZE 160
#define PROGRESS_NAME_SIZE 72
#define PROGRESS_ROUNDED 0.999 /* for rounding, when comparing a mean with the times of its calls */
#define PROGRESS_CASES 1000000 /* more than any task has */
#define PROGRESS_DEVICES 64    /* further devices are not shown live; the report has all */

struct device {
	char name[PROGRESS_NAME_SIZE];
	char state[PROGRESS_STATE_SIZE]; /* "queued", "running test"; "" when it is done */
	bool begun;                      /* it has left its queue */
	json_t *results;                 /* step → key → value, until now */
};

struct progress {
	const struct term *term;
	bool silent;
	char *drawn; /* the live line on the terminal, or NULL */
	char *kept;  /* what an interruption keeps, or NULL */
	struct timespec start;
	size_t count;
	struct device devices[PROGRESS_DEVICES];
};

struct progress *
progress_new(const struct term *term, bool silent)
{
	struct progress *progress = xnew(struct progress, .term = term, .silent = silent);
	clock_gettime(CLOCK_MONOTONIC, &progress->start);
	return progress;
}

void
progress_free(struct progress *progress)
{
	if (!progress)
		return;
	progress_hide(progress);
	for (size_t i = 0; i < progress->count; i++)
		json_decref(progress->devices[i].results);
	free_all(progress->kept, progress);
}

static bool
live(const struct progress *progress)
{
	return progress->term->tty && !progress->silent;
}

void
progress_hide(struct progress *progress)
{
	if (progress->drawn) {
		fputs("\r\033[K", progress->term->out);
		fflush(progress->term->out); /* later text may go to standard error */
	}
	free(STEAL(progress->drawn));
}

char *
progress_text(const struct progress *progress, const char *between)
{
	char *text = NULL;
	size_t size = 0, shown = 0;
	FILE *out = term_memory(&text, &size);
	for (size_t i = 0; i < progress->count; i++) {
		const struct device *device = &progress->devices[i];
		if (device->state[0])
			fprintf(out, "%s%s: %s", shown++ ? between : "", device->name, device->state);
	}
	fclose(out);
	if (shown == 0)
		free(STEAL(text));
	return text;
}

static char *
live_text(const struct progress *progress)
{
	struct timespec now;
	AUTO_FREE char *text = progress_text(progress, " · ");
	clock_gettime(CLOCK_MONOTONIC, &now);
	long seconds = (long)(now.tv_sec - progress->start.tv_sec);
	return text ? xasprintf("[%ld:%02ld] %s", seconds / 60, seconds % 60, text) : NULL;
}

void
progress_tick(struct progress *progress)
{
	if (!live(progress))
		return;
	AUTO_FREE char *text = live_text(progress);
	if (text && progress->drawn && strcmp(text, progress->drawn) == 0)
		return;
	progress_hide(progress);
	if (text) {
		/* One column less: a full line would wrap on some terminals, and \r would then not reach its beginning. */
		term_sanitize(progress->term->out, text, progress->term->width - 1);
		progress->drawn = STEAL(text);
	}
	fflush(progress->term->out);
}

static struct device *
device_of(struct progress *progress, const char *name)
{
	for (size_t i = 0; i < progress->count; i++)
		if (strcmp(progress->devices[i].name, name) == 0)
			return &progress->devices[i];
	if (progress->count == PROGRESS_DEVICES || strlen(name) >= PROGRESS_NAME_SIZE)
		return NULL;
	struct device *device = &progress->devices[progress->count++];
	snprintf(device->name, sizeof(device->name), "%s", name);
	device->results = json_object();
	return device;
}

/* Prints a line that stays, with a sign in a style. */
static void
print_line(
	struct progress *progress, const struct device *device, enum term_style style, const char *sign, const char *text)
{
	if (progress->silent)
		return;
	progress_hide(progress);
	struct term term = *progress->term;
	struct wrap_part part;
	wrap_part_begin(&part, &term);
	term_put(&term, STYLE_DIM, device->name);
	fputs(": ", term.out);
	if (*sign) {
		term_put(&term, style, sign);
		fputc(' ', term.out);
	}
	term_sanitize(term.out, text, 0);
	fputc('\n', term.out);
	wrap_part_end(&part, false);
	fflush(term.out);
}

/* Sets the device's state; prints it as a line if there is no live line. */
static void
set_state(struct progress *progress, struct device *device, const char *state)
{
	if (strcmp(device->state, state) == 0)
		return;
	snprintf(device->state, sizeof(device->state), "%s", state);
	if (!live(progress) && *state)
		print_line(progress, device, STYLE_NONE, "", state);
}

/* Makes "queued, 3 before it, begins in about 2 minutes". */
static void
queue_text(char ret_text[PROGRESS_STATE_SIZE], int64_t position, int64_t wait_s)
{
	char begins[FORMAT_SIZE];
	int used = position < 0    ? snprintf(ret_text, PROGRESS_STATE_SIZE, "queued")
			   : position == 0 ? snprintf(ret_text, PROGRESS_STATE_SIZE, "queued, next")
							   : snprintf(ret_text, PROGRESS_STATE_SIZE, "queued, %lld before it", (long long)position);
	if (position < 0 || wait_s <= 0)
		return;
	format_wait(wait_s, begins);
	snprintf(ret_text + used, PROGRESS_STATE_SIZE - (size_t)used, ", begins %s", begins);
}

void
progress_queued(struct progress *progress, const char *name, int64_t position, int64_t wait_s, const char *waits)
{
	struct device *device = device_of(progress, name);
	char state[PROGRESS_STATE_SIZE];
	if (!device || device->begun)
		return;
	if (*waits)
		snprintf(state, sizeof(state), "waits: %s", waits);
	else
		queue_text(state, position, wait_s);
	set_state(progress, device, state);
	progress_tick(progress);
}

void
progress_begun(struct progress *progress, const char *name)
{
	struct device *device = device_of(progress, name);
	if (!device)
		return;
	device->begun = true;
	set_state(progress, device, "running");
}

bool
progress_waits(const struct progress *progress)
{
	for (size_t i = 0; i < progress->count; i++)
		if (!progress->devices[i].begun)
			return true;
	return false;
}

/* A parsed event. Texts are borrowed, "" if absent. */
struct event {
	const char *name; /* of a running job's report ("step"), else the kind of the event ("job.done") */
	const char *device, *state, *step, *title, *key, *value;
	bool secret, cached;
	double done, total; /* of a copy */
	const json_t *report, *outcome;
};

static struct event
read_event(const json_t *json)
{
	const char *kind = json_text_or_empty(json, "kind");
	bool stored = json_object_get(json, "data"), reported = strcmp(kind, "progress") == 0;
	const json_t *data = stored ? json_object_get(json, "data") : json,
				 *report = reported ? json_object_get(data, "event") : data,
				 *outcome = json_object_get(report, "outcome");
	return (struct event){
		.name = reported ? json_text_or_empty(report, "event") : kind,
		.device = json_text_or_empty(data, "device"),
		.state = json_text_or_empty(outcome ? outcome : report, "state"),
		.step = json_text_or_empty(outcome ? outcome : report, "step"),
		.title = json_text_or_empty(outcome ? outcome : report, "title"),
		.key = json_text_or_empty(report, "key"),
		.value = json_text_or_empty(report, "value"),
		.secret = member_true(report, "secret"),
		.cached = member_true(report, "cached"),
		.done = member_number(report, "done"),
		.total = member_number(report, "total"),
		.report = report,
		.outcome = outcome ? outcome : report,
	};
}

/*
 * Returns the name of a step, as in the report. Run steps have the names of their modes; users know KernelBot's
 * "leaderboard" mode as ranked. New string.
 */
static char *
step_label(const struct event *event)
{
	if (event->secret)
		return xstrdup("secret run");
	if (strncmp(event->step, "leaderboard", strlen("leaderboard")) == 0)
		return xstrdup("ranked run");
	return term_sanitized(*event->title ? event->title : event->step);
}

static void
on_step(struct progress *progress, struct device *device, const struct event *event)
{
	char text[PROGRESS_STATE_SIZE];
	AUTO_FREE char *label = step_label(event);
	bool runs = strcmp(event->state, "running") == 0;
	if (!runs && event->cached)
		return;
	/* The title of a step without a run says what it does: "compile submission.cpp". */
	if (runs)
		snprintf(text, sizeof(text), "running %s", label);
	else
		snprintf(text, sizeof(text), "%s", *event->title ? label : event->state);
	set_state(progress, device, text);
}

/* Returns the index in "test.12.status" if prefix and field fit, else -1. */
static json_int_t
index_of(const char *key, const char *prefix, const char *field)
{
	char *end;
	size_t len = strlen(prefix);
	if (strncmp(key, prefix, len) != 0 || key[len] != '.')
		return -1;
	long long index = strtoll(key + len + 1, &end, 10);
	bool number = end != key + len + 1 && index >= 0 && index < PROGRESS_CASES;
	return number && *end == '.' && strcmp(end + 1, field) == 0 ? index : -1;
}

/* Writes "3/17", or "3" if the result does not say how many there are. */
static void
count_text(const json_t *result, const char *key, json_int_t index, char text[FORMAT_SIZE])
{
	double count = value_number(result, key);
	if (count > 0 && count <= PROGRESS_CASES)
		snprintf(text, FORMAT_SIZE, "%lld/%.0f", (long long)index + 1, count);
	else
		snprintf(text, FORMAT_SIZE, "%lld", (long long)index + 1);
}

static void
test_done(struct progress *progress, struct device *device, const json_t *result, json_int_t index)
{
	char count[FORMAT_SIZE], text[400];
	struct value_case test = value_case(result, "test", index);
	bool passed = strcmp(test.status, "pass") == 0;
	count_text(result, "test-count", index, count);
	snprintf(text, sizeof(text), "running test %s", count);
	if (progress->silent)
		set_state(progress, device, text);
	snprintf(text, sizeof(text), "test %s  %s", count, test.spec);
	print_line(progress, device, passed ? STYLE_GREEN : STYLE_RED, passed ? "✓" : "✗", text);
}

static void
benchmark_done(
	struct progress *progress, struct device *device, const char *step, const json_t *result, json_int_t index)
{
	char count[FORMAT_SIZE], time[FORMAT_SIZE], text[400];
	struct value_case benchmark = value_case(result, "benchmark", index);
	bool failed = *benchmark.error || strcmp(benchmark.status, "fail") == 0;
	count_text(result, "benchmark-count", index, count);
	format_ns_error(benchmark.mean, benchmark.off, time);
	const char *what = strncmp(step, "leaderboard", strlen("leaderboard")) == 0 ? "ranked benchmark" : "benchmark";
	snprintf(text, sizeof(text), "running %s %s", what, count);
	if (progress->silent)
		set_state(progress, device, text);
	/* The report explains this. */
	bool outside = benchmark.mean < PROGRESS_ROUNDED * value_of_case(result, "benchmark", index, "best") ||
				   benchmark.mean * PROGRESS_ROUNDED > value_of_case(result, "benchmark", index, "worst");
	snprintf(text, sizeof(text), "%s %s  %s  %s%s", what, count, benchmark.spec, failed ? benchmark.error : time,
		outside && !failed ? "  (not between its calls' times: see the report)" : "");
	print_line(progress, device, failed ? STYLE_RED : STYLE_GREEN, failed ? "✗" : "✓", text);
}

static void
on_result(struct progress *progress, struct device *device, const struct event *event)
{
	const char *step = event->step, *key = event->key;
	json_t *result = json_object_get(device->results, step);
	json_int_t index;
	if (!result)
		json_object_set_new(device->results, step, result = json_object());
	json_object_set_new(result, key, json_string(event->value));
	if ((index = index_of(key, "test", "status")) >= 0)
		test_done(progress, device, result, index);
	else if ((index = index_of(key, "benchmark", "worst")) >= 0 || (index = index_of(key, "benchmark", "error")) >= 0)
		benchmark_done(progress, device, step, result, index);
}

/* Writes "reached its limit: memory, 64.0 MiB". Limits of event.schema.json that are not named here are in bytes. */
static void
limit_text(const json_t *outcome, char text[PROGRESS_STATE_SIZE])
{
	static const struct {
		const char *limit, *name, *unit;
	} named[] = {{"wall", "time", " s"}, {"cpu", "CPU time", " s"}, {"processes", "processes and threads", ""},
		{"files", "files and folders", ""}, {"open_files", "open files", ""}, {"sockets", "sockets", ""}};
	const char *limit = json_text_or_empty(outcome, "limit"), *unit = NULL;
	double value = member_number(outcome, "limit_value");
	char name[FORMAT_SIZE], shown[FORMAT_SIZE] = "";
	format_word(limit, name);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		if (strcmp(limit, named[i].limit) == 0) {
			snprintf(name, sizeof(name), "%s", named[i].name);
			unit = named[i].unit;
		}
	if (value > 0 && unit)
		snprintf(shown, sizeof(shown), "%.6g%s", value, unit);
	else if (value > 0)
		format_bytes(value, shown);
	snprintf(text, PROGRESS_STATE_SIZE, "reached %s%s%s%s", *limit ? "its limit: " : "a limit", name,
		*shown ? ", " : "", shown);
}

static void
on_outcome(struct progress *progress, struct device *device, const struct event *event)
{
	const char *state = event->state;
	char limit[PROGRESS_STATE_SIZE];
	if (strcmp(state, "passed") == 0 || strcmp(state, "skipped") == 0 || strcmp(state, "cancelled") == 0)
		return;
	AUTO_FREE char *label = step_label(event);
	limit_text(event->outcome, limit);
	AUTO_FREE char *text = xasprintf("%s: %s", label, strcmp(state, "limit") == 0 ? limit : state);
	print_line(progress, device, STYLE_RED, "✗", text);
}

/* Shows copied bytes on the live line only. */
static void
on_copied(struct progress *progress, struct device *device, const struct event *event)
{
	char text[PROGRESS_STATE_SIZE];
	if (!live(progress) || !(event->total > 0))
		return;
	snprintf(text, sizeof(text), "%.0f %%", 100 * fmin(1, event->done / event->total));
	set_state(progress, device, text);
}

/* Writes "leaderboard conv2d (2 of 7), run 1 of 5". */
static void
on_measuring(struct progress *progress, struct device *device, const struct event *event)
{
	char text[PROGRESS_STATE_SIZE];
	AUTO_FREE char *name = term_sanitized(json_text_or_empty(event->report, "name"));
	snprintf(text, sizeof(text), "%s %.80s (%lld of %lld), run %lld of %lld", json_text_or_empty(event->report, "what"),
		name, (long long)member_int(event->report, "index"), (long long)member_int(event->report, "count"),
		(long long)member_int(event->report, "run"), (long long)member_int(event->report, "runs"));
	set_state(progress, device, text);
}

/* Shows the leaderboard whose task is tried: "trying conv2d (2 of 7)". */
static void
on_trying(struct progress *progress, struct device *device, const struct event *event)
{
	char text[PROGRESS_STATE_SIZE];
	AUTO_FREE char *name = term_sanitized(json_text_or_empty(event->report, "name"));
	json_int_t count = member_int(event->report, "count");
	int used = snprintf(text, sizeof(text), "trying %.80s", name);
	if (count > 1)
		snprintf(text + used, sizeof(text) - (size_t)used, " (%lld of %lld)",
			(long long)member_int(event->report, "index"), (long long)count);
	set_state(progress, device, text);
}

static void
on_kept(struct progress *progress, struct device *device, const struct event *event)
{
	(void)device;
	free(progress->kept);
	progress->kept = term_sanitized(json_text_or_empty(event->report, "text"));
}

const char *
progress_kept(const struct progress *progress)
{
	return progress->kept;
}

static void
on_job_done(struct progress *progress, struct device *device, const struct event *event)
{
	char word[FORMAT_SIZE];
	bool passed = strcmp(event->state, "passed") == 0;
	device->state[0] = '\0';
	format_word(*event->state ? event->state : "done", word);
	print_line(progress, device, passed ? STYLE_GREEN : STYLE_RED, passed ? "✓" : "✗", word);
}

void
progress_event(struct progress *progress, const json_t *json)
{
	static const struct {
		const char *name;
		void (*handle)(struct progress *progress, struct device *device, const struct event *event);
		const char *state; /* the state if there is no function */
	} handlers[] = {
		{"step", on_step, NULL},
		{"result", on_result, NULL},
		{"outcome", on_outcome, NULL},
		{"copied", on_copied, NULL},
		{"measuring", on_measuring, NULL},
		{"trying", on_trying, NULL},
		{"kept", on_kept, NULL},
		{"job.done", on_job_done, NULL},
		{"waiting", NULL, "waiting for the device"},
		{"assigned", NULL, "started"},
		{"started", NULL, "started"},
		{"job.started", NULL, "started"},
		{"job.requeued", NULL, "back in the queue"},
	};
	struct event event = read_event(json);
	struct device *device = *event.device ? device_of(progress, event.device) : NULL;
	if (!device)
		return;
	device->begun = strcmp(event.name, "job.queued") != 0 && strcmp(event.name, "job.requeued") != 0;
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		if (strcmp(event.name, handlers[i].name) != 0)
			continue;
		if (handlers[i].handle)
			handlers[i].handle(progress, device, &event);
		else
			set_state(progress, device, handlers[i].state);
	}
	progress_tick(progress);
}
