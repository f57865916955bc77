/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: sending, following, listing and deleting submissions. */
#include <config.h>

#include "web/compat/compat.h"

#include "base/base.h"
#include "base/utf8.h"
#include "web/compat/results.h"
#include "web/visit/respond.h"

#define NAME_SHOWN 19 /* bytes of a file's name at which a client cuts */

/* ---- POST /submission/BOARD/DEVICE/MODE ---- */

static void
put_accepted(struct visit *visit, const json_t *devices)
{
	const json_t *id = json_object_get(visit->data, "id");
	AUTO_JSON json_t *value = json_pack("{s:{s:O, s:O}, s:o, s:s}", "details", "id", id, "job_status_id", id,
		"runner_queue", compat_queue(devices, json_text_or_empty(visit->data, "device")), "status", "accepted");
	respond_json(visit->request, STATUS_ACCEPTED, value);
}

/* The submission is there, whether the queue can be told or not. */
static void
accept_alone(struct visit *visit, const struct kettle_error *err)
{
	(void)err;
	put_accepted(visit, NULL);
}

static void
answer_accepted(struct visit *visit, json_t *devices)
{
	put_accepted(visit, devices);
	visit_end(visit);
}

void
compat_accepted(struct visit *visit, json_t *result)
{
	const json_t *job = json_array_get(json_object_get(result, "jobs"), 0);
	json_object_set(visit->data, "id", json_object_get(result, "id"));
	json_object_set(visit->data, "device", json_object_get(job, "device"));
	visit->fail = accept_alone;
	visit_call(visit, "device.list", json_pack("{s:b}", "known", 1), answer_accepted);
}

/* ---- GET /user/submissions ---- */

/* A name that clients can cut at any byte: without characters outside of ASCII, where it is long. */
static json_t *
shown_name(const char *name)
{
	AUTO_FREE char *copy = xstrdup(name);
	char *to = copy;
	if (strlen(name) <= NAME_SHOWN)
		return json_string(name);
	for (const char *from = name; *from;) {
		size_t len = utf8_length(from, strlen(from));
		*to++ = len == 1 ? *from : '_';
		from += len ? len : 1;
	}
	*to = '\0';
	return json_string(copy);
}

static json_t *
listed_runs(const json_t *row)
{
	json_t *runs = json_array();
	json_array_each(json_object_get(row, "runs"), run)
		if (json_is_number(json_object_get(run, "score")))
			json_array_append_new(runs, json_pack("{s:O, s:O}", "gpu_type", json_object_get(run, "gpu_type"), "score",
											json_object_get(run, "score")));
	return runs;
}

void
compat_answer_submissions(struct visit *visit, json_t *result)
{
	static const char *const names[] = {"id", "leaderboard_name", "submission_time", "done", NULL};
	json_t *rows = json_array();
	json_array_each(result, row) {
		json_t *shown = results_members(row, names);
		json_object_set_new(shown, "file_name", shown_name(json_text_or_empty(row, "file_name")));
		json_object_set_new(shown, "runs", listed_runs(row));
		json_array_append_new(rows, shown);
	}
	compat_answer(visit, STATUS_OK, rows);
}

/* ---- GET /user/submissions/ID ---- */

static void
answer_submission(struct visit *visit, json_t *devices)
{
	json_t *shown = json_object_get(visit->data, "shown");
	const json_t *job = json_array_get(json_object_get(visit->data, "jobs"), 0);
	json_object_set_new(shown, "runner_queue", compat_queue(devices, json_text_or_empty(job, "device")));
	compat_answer(visit, STATUS_OK, json_incref(shown));
}

void
compat_show_submission(struct visit *visit, json_t *result)
{
	/* Of another user's submission there is no note. */
	if (!json_object_get(result, "note")) {
		visit_refuse(visit, KETTLE_EACCES, "The submission belongs to another user.");
		return;
	}
	json_object_set_new(visit->data, "shown", results_shown(result));
	json_object_set(visit->data, "jobs", json_object_get(result, "jobs"));
	visit_call(visit, "device.list", json_pack("{s:b}", "known", 1), answer_submission);
}
