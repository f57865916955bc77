/* SPDX-License-Identifier: MIT */
/* For the operators of the server: readiness, and metrics in Prometheus' text format. */
#include <config.h>

#include "web/api/operations.h"

#include <openssl/crypto.h>

#include "base/buf.h"
#include "base/base.h"
#include "web/visit/caller.h"
#include "web/visit/respond.h"
#include "web/visit/visit.h"

#define LIMIT_MS 5000

/* ---- who may ask ---- */

bool
operations_token_is(const char *token, const char *expected)
{
	return token && expected && strlen(token) == strlen(expected) &&
		   CRYPTO_memcmp(token, expected, strlen(expected)) == 0;
}

/* Without a token of the configuration only this machine may ask, and no proxy on it for others. */
static bool
may_ask(const struct web *web, const struct http_request *request)
{
	const char *expected = json_text_or_null(web->options, "metrics_token");
	if (expected)
		return operations_token_is(callers_bearer(request), expected);
	const char *from = http_address(request);
	bool is_here = strcmp(from, "127.0.0.1") == 0 || strcmp(from, "::1") == 0 || strcmp(from, "unix") == 0;
	return is_here && !http_header_value(request, "X-Forwarded-For");
}

/* ---- readiness ---- */

static void
answer_ready(struct visit *visit, json_t *result)
{
	respond_json(visit->request, member_true(result, "ready") ? STATUS_OK : STATUS_UNAVAILABLE, result);
	visit_end(visit);
}

/* ---- metrics ---- */

/* A label, its value escaped. */
static void
add_label(struct buf *page, const char *name, const char *value)
{
	buf_printf(page, "%s=\"", name);
	for (; *value; value++)
		if (*value == '\\' || *value == '"')
			buf_printf(page, "\\%c", *value);
		else if (*value != '\n')
			buf_add(page, value, 1);
	buf_adds(page, "\"");
}

/* Adds a sample: its name and suffix, its labels in the form of add_label, joined by commas, and its value. */
static void
add_sample(struct buf *page, const char *name, const char *suffix, const char *labels, const json_t *value)
{
	buf_printf(page, *labels ? "%s%s{%s} " : "%s%s%s ", name, suffix, labels);
	if (json_is_real(value))
		buf_printf(page, "%.17g\n", json_real_value(value));
	else
		buf_printf(page, "%lld\n", (long long)json_integer_value(value));
}

static void
add_histogram(struct buf *page, const char *name, const char *labels, const json_t *histogram)
{
	json_array_each(json_object_get(histogram, "buckets"), bucket) {
		const json_t *limit = json_object_get(bucket, "le");
		AUTO_FREE char *le = json_is_number(limit) ? xasprintf("%g", json_number_value(limit)) : xstrdup("+Inf");
		AUTO_FREE char *all = xasprintf("%s%sle=\"%s\"", labels, *labels ? "," : "", le);
		add_sample(page, name, "_bucket", all, json_object_get(bucket, "count"));
	}
	add_sample(page, name, "_sum", labels, json_object_get(histogram, "sum"));
	add_sample(page, name, "_count", labels, json_object_get(histogram, "count"));
}

/*
 * Adds a value, or an object of values, whose keys become the label `names[0]`; of objects of those likewise `names[1]`.
 */
static void
add_values(struct buf *page, const char *name, const char *labels, const char *const *names, json_t *value)
{
	if (json_is_number(value))
		add_sample(page, name, "", labels, value);
	json_object_each(value, key, member) {
		AUTO_BUF struct buf all = {0};
		buf_printf(&all, "%s%s", labels, *labels ? "," : "");
		add_label(&all, names[0], key);
		add_values(page, name, all.data, names + 1, member);
	}
}

/* A family of metrics: a member of each device's row, or of a group in it or in the whole answer. */
struct family {
	const char *name, *type, *help, *group, *member, *labels[2];
};

static void
add_family(struct buf *page, const struct family *family)
{
	buf_printf(page, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name, family->type);
}

static void
add_member(struct buf *page, const struct family *family, const char *labels, const json_t *object)
{
	const json_t *group = family->group ? json_object_get(object, family->group) : object;
	json_t *value = json_object_get(group, family->member);
	if (strcmp(family->type, "histogram") == 0)
		add_histogram(page, family->name, labels, value);
	else
		add_values(page, family->name, labels, family->labels, value);
}

/* clang-format off */
static const struct family of_devices[] = {
	{"kettle_queued_jobs", "gauge", "Jobs that wait.", NULL, "queued", {NULL}},
	{"kettle_active_jobs", "gauge", "Jobs that units have.", NULL, "active", {NULL}},
	{"kettle_running_jobs", "gauge", "Jobs that run.", NULL, "running", {NULL}},
	{"kettle_units", "gauge", "Units by state.", NULL, "units", {"state"}},
	{"kettle_builds_total", "counter", "Build steps of jobs that ended, by whether the cache had them.",
		NULL, "builds", {"result"}},
	{"kettle_runs_total", "counter", "Runs that ended, by mode and state.", NULL, "runs", {"mode", "state"}},
	{"kettle_wait_seconds", "histogram", "Time in the queue before the last attempt, of jobs that ended.",
		"seconds", "wait", {NULL}},
	{"kettle_build_seconds", "histogram", "Time of building, of jobs that ended.", "seconds", "build", {NULL}},
	{"kettle_run_seconds", "histogram", "Time of public runs, of jobs that ended.", "seconds", "run", {NULL}},
	{"kettle_total_seconds", "histogram", "Time from acceptance to the stored verdict, of jobs that ended.",
		"seconds", "total", {NULL}},
};
static const struct family of_all[] = {
	{"kettle_submissions_total", "counter", "Submissions, by mode: accepted, and by state those that ended.",
		NULL, "submissions", {"mode", "state"}},
	{"kettle_store_commit_seconds", "histogram", "Time of commits to the database.", "store", "commits", {NULL}},
	{"kettle_store_bytes", "gauge", "Size of the database file.", "store", "bytes", {NULL}},
	{"kettle_store_log_bytes", "gauge", "Size of its write-ahead log.", "store", "log_bytes", {NULL}},
	{"kettle_events_oldest", "gauge", "Number of the oldest stored event.", "events", "oldest", {NULL}},
	{"kettle_events_newest", "gauge", "Number of the newest event.", "events", "newest", {NULL}},
	{"kettle_events_cursor", "gauge", "Number of the last event that a frontend has dealt with.",
		"events", "cursors", {"frontend"}},
};
/* clang-format on */

static void
answer_metrics(struct visit *visit, json_t *result)
{
	AUTO_BUF struct buf page = {0};
	for (size_t i = 0; i < ARRAY_SIZE(of_all); i++) {
		add_family(&page, &of_all[i]);
		add_member(&page, &of_all[i], "", result);
	}
	for (size_t i = 0; i < ARRAY_SIZE(of_devices); i++) {
		add_family(&page, &of_devices[i]);
		json_array_each(json_object_get(result, "devices"), device) {
			AUTO_BUF struct buf labels = {0};
			add_label(&labels, "device", json_text_or_empty(device, "name"));
			add_member(&page, &of_devices[i], labels.data, device);
		}
	}
	respond_text(visit->request, STATUS_OK, "text/plain; version=0.0.4; charset=utf-8", page.data);
	visit_end(visit);
}

/* ---- requests ---- */

/* A page for operators: a command, and the function that answers with its result. */
struct question {
	const char *command;
	visit_fn answer;
};

static void
ask(struct visit *visit, json_t *result)
{
	const struct question *question = visit->about;
	(void)result;
	visit_call_internal(visit, question->command, json_object(), question->answer);
}

void
operations_request(struct web *web, struct http_request *request, bool is_ready)
{
	static const struct question ready = {"engine.ready", answer_ready}, metrics = {"engine.metrics", answer_metrics};
	if (!may_ask(web, request))
		respond_refusal(request, STATUS_UNAUTHORIZED, kettle_error_name(KETTLE_EACCES),
			"Only the operator may read this: send the token of the configuration (metrics_token_env), or ask on the "
			"machine itself.");
	else
		visit_begin(web, request, NULL, LIMIT_MS, ask, visit_respond_error, NULL, is_ready ? &ready : &metrics);
}
