/* SPDX-License-Identifier: MIT */
/* For whoever runs the server: readiness, and metrics in Prometheus' text format. */
#include <config.h>

#include "web/api/operations.h"

#include <openssl/crypto.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
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
	static const char *const here[] = {"127.0.0.1", "::1", "unix"};
	const char *expected = json_text_or_null(web->options, "metrics_token");
	if (expected)
		return operations_token_is(callers_bearer(request), expected);
	bool is_here = false;
	for (size_t i = 0; i < ARRAY_SIZE(here); i++)
		is_here = is_here || strcmp(http_address(request), here[i]) == 0;
	return is_here && !http_header_value(request, "X-Forwarded-For");
}

/* Begins a visit of somebody who may ask. */
static void
ask(struct web *web, struct http_request *request, visit_fn start)
{
	if (!may_ask(web, request))
		respond_refusal(request, STATUS_UNAUTHORIZED, kettle_error_name(KETTLE_EACCES),
			"Only the operator may read this: send the token of the configuration (metrics_token_env), or ask on the "
			"machine itself.");
	else
		visit_begin(web, request, NULL, LIMIT_MS, start, visit_respond_error, NULL, NULL);
}

/* ---- readiness ---- */

static void
answer_ready(struct visit *visit, json_t *result)
{
	respond_json(visit->request, member_true(result, "ready") ? STATUS_OK : STATUS_UNAVAILABLE, result);
	visit_end(visit);
}

static void
ask_ready(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call_internal(visit, "engine.ready", json_object(), answer_ready);
}

void
operations_ready(struct web *web, struct http_request *request)
{
	ask(web, request, ask_ready);
}

/* ---- metrics ---- */

static void
add_family(struct buf *page, const char *name, const char *type, const char *help)
{
	buf_printf(page, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

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

/* Up to three labels of a sample; those whose name is NULL are left out. */
struct labels {
	const char *names[3], *values[3];
};

static void
add_labels(struct buf *page, const struct labels *labels, const char *le)
{
	bool first = true;
	for (size_t i = 0; i < ARRAY_SIZE(labels->names); i++)
		if (labels->names[i]) {
			buf_adds(page, first ? "{" : ",");
			add_label(page, labels->names[i], labels->values[i]);
			first = false;
		}
	if (le) {
		buf_adds(page, first ? "{" : ",");
		add_label(page, "le", le);
		first = false;
	}
	buf_adds(page, first ? " " : "} ");
}

static void
add_number(struct buf *page, const json_t *value)
{
	if (json_is_real(value))
		buf_printf(page, "%.17g\n", json_real_value(value));
	else
		buf_printf(page, "%lld\n", (long long)json_integer_value(value));
}

static void
add_sample(struct buf *page, const char *name, const struct labels *labels, const json_t *value)
{
	buf_adds(page, name);
	add_labels(page, labels, NULL);
	add_number(page, value);
}

static void
add_histogram(struct buf *page, const char *name, const struct labels *labels, const json_t *histogram)
{
	size_t i;
	const json_t *bucket;
	json_array_foreach(json_object_get(histogram, "buckets"), i, bucket) {
		const json_t *limit = json_object_get(bucket, "le");
		char le[32] = "+Inf";
		if (json_is_number(limit))
			(void)snprintf(le, sizeof(le), "%g", json_number_value(limit));
		buf_printf(page, "%s_bucket", name);
		add_labels(page, labels, le);
		add_number(page, json_object_get(bucket, "count"));
	}
	buf_printf(page, "%s_sum", name);
	add_labels(page, labels, NULL);
	add_number(page, json_object_get(histogram, "sum"));
	buf_printf(page, "%s_count", name);
	add_labels(page, labels, NULL);
	add_number(page, json_object_get(histogram, "count"));
}

/* Counts by mode and state. */
static void
add_counts(struct buf *page, const char *name, const char *device, json_t *counts)
{
	const char *mode, *state;
	json_t *states, *count;
	json_object_foreach(counts, mode, states)
		json_object_foreach(states, state, count) {
			const struct labels labels = {
				.names = {device ? "device" : NULL, "mode", "state"}, .values = {device, mode, state}};
			add_sample(page, name, &labels, count);
		}
}

/* Counts by one name. */
static void
add_map(struct buf *page, const char *name, const char *device, const char *label, json_t *map)
{
	const char *key;
	json_t *value;
	json_object_foreach(map, key, value) {
		const struct labels labels = {.names = {device ? "device" : NULL, label}, .values = {device, key}};
		add_sample(page, name, &labels, value);
	}
}

/* The families that each device has, of a member of its row each. */
static void
add_devices(struct buf *page, const json_t *devices)
{
	static const struct {
		const char *name, *type, *help, *member, *label;
	} families[] = {
		{"kettle_queued_jobs", "gauge", "Jobs that wait.", "queued", NULL},
		{"kettle_active_jobs", "gauge", "Jobs that units have.", "active", NULL},
		{"kettle_running_jobs", "gauge", "Jobs that run.", "running", NULL},
		{"kettle_units", "gauge", "Units by state.", "units", "state"},
		{"kettle_builds_total", "counter", "Build steps of jobs that ended, by whether the cache had them.", "builds",
			"result"},
	};
	size_t i;
	const json_t *device;
	for (size_t k = 0; k < ARRAY_SIZE(families); k++) {
		add_family(page, families[k].name, families[k].type, families[k].help);
		json_array_foreach(devices, i, device) {
			const char *name = json_text_or_empty(device, "name");
			json_t *value = json_object_get(device, families[k].member);
			const struct labels labels = {.names = {"device"}, .values = {name}};
			if (families[k].label)
				add_map(page, families[k].name, name, families[k].label, value);
			else
				add_sample(page, families[k].name, &labels, value);
		}
	}
	add_family(page, "kettle_runs_total", "counter", "Runs that ended, by mode and state.");
	json_array_foreach(devices, i, device)
		add_counts(page, "kettle_runs_total", json_text_or_empty(device, "name"), json_object_get(device, "runs"));
}

static void
add_durations(struct buf *page, const json_t *devices)
{
	static const struct {
		const char *name, *help, *member;
	} families[] = {
		{"kettle_wait_seconds", "Time in the queue before the last attempt, of jobs that ended.", "wait"},
		{"kettle_build_seconds", "Time of building, of jobs that ended.", "build"},
		{"kettle_run_seconds", "Time of public runs, of jobs that ended.", "run"},
		{"kettle_total_seconds", "Time from acceptance to the stored verdict, of jobs that ended.", "total"},
	};
	size_t i;
	const json_t *device;
	for (size_t k = 0; k < ARRAY_SIZE(families); k++) {
		add_family(page, families[k].name, "histogram", families[k].help);
		json_array_foreach(devices, i, device) {
			const struct labels labels = {.names = {"device"}, .values = {json_text_or_empty(device, "name")}};
			add_histogram(page, families[k].name, &labels,
				json_object_get(json_object_get(device, "seconds"), families[k].member));
		}
	}
}

static void
add_value(struct buf *page, const char *name, const char *help, const json_t *value)
{
	const struct labels none = {0};
	if (!json_is_number(value))
		return;
	add_family(page, name, "gauge", help);
	add_sample(page, name, &none, value);
}

static void
answer_metrics(struct visit *visit, json_t *result)
{
	AUTO_BUF struct buf page = {0};
	const json_t *devices = json_object_get(result, "devices"), *store = json_object_get(result, "store");
	const json_t *events = json_object_get(result, "events");
	const struct labels none = {0};
	add_family(
		&page, "kettle_submissions_total", "counter", "Submissions, by mode: accepted, and by state those that ended.");
	add_counts(&page, "kettle_submissions_total", NULL, json_object_get(result, "submissions"));
	add_devices(&page, devices);
	add_durations(&page, devices);
	add_family(&page, "kettle_store_commit_seconds", "histogram", "Time of commits to the database.");
	add_histogram(&page, "kettle_store_commit_seconds", &none, json_object_get(store, "commits"));
	add_value(&page, "kettle_store_bytes", "Size of the database file.", json_object_get(store, "bytes"));
	add_value(&page, "kettle_store_log_bytes", "Size of its write-ahead log.", json_object_get(store, "log_bytes"));
	add_value(&page, "kettle_events_oldest", "Number of the oldest stored event.", json_object_get(events, "oldest"));
	add_value(&page, "kettle_events_newest", "Number of the newest event.", json_object_get(events, "newest"));
	add_family(&page, "kettle_events_cursor", "gauge", "Number of the last event that a frontend has dealt with.");
	add_map(&page, "kettle_events_cursor", NULL, "frontend", json_object_get(events, "cursors"));
	respond_text(visit->request, STATUS_OK, "text/plain; version=0.0.4; charset=utf-8", page.data);
	visit_end(visit);
}

static void
ask_metrics(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call_internal(visit, "engine.metrics", json_object(), answer_metrics);
}

void
operations_metrics(struct web *web, struct http_request *request)
{
	ask(web, request, ask_metrics);
}
