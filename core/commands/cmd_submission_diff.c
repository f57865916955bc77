/* SPDX-License-Identifier: MIT */
/* Two submissions side by side: their code, and the time of each case. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/interval.h"
#include "base/line_diff.h"
#include "base/number.h"
#include "base/text.h"
#include "judge/completion.h"
#include "judge/score.h"
#include "model/submissions.h"

#include <math.h>

#define DIFF_TEXT_MAX (1u << 20) /* bytes */
#define DIFF_CASES_MAX 1000      /* of a run */
#define NORMAL_95 1.959964       /* standard errors on each side of a mean that hold 95 % */
#define NS_PER_S 1e9

/* One of the two. */
struct side {
	json_t *row;
	bool whole;     /* its runs may be read too, not only its code and scores */
	json_t *jobs;   /* for each device the one that counts */
	json_t *result; /* of the compared run, or NULL */
};

struct sides {
	struct side items[2];
};

static void
free_sides(struct sides *sides)
{
	for (size_t i = 0; i < 2; i++) {
		json_decref_all(sides->items[i].row, sides->items[i].jobs, sides->items[i].result);
	}
}
#define AUTO_SIDES __attribute__((cleanup(free_sides)))

static int
load_side(const struct command_call *call, int64_t id, struct side *side, struct kettle_error *err)
{
	AUTO_JSON json_t *code = NULL;
	int rc = submission_find(call, id, true, &side->row, err);
	side->whole = rc == 0;
	if (rc == KETTLE_EACCES)
		rc = submission_find_open(call, id, &side->row, err);
	else if (rc == 0)
		rc = submission_code(call->db, id, &code, err);
	if (rc == 0 && code)
		(void)json_object_set(side->row, "code", json_object_get(code, "code"));
	return rc < 0 ? rc : submission_scores(call->db, id, !side->whole, &side->jobs, err);
}

/* ---- times ---- */

static struct interval
read_interval(const json_t *object, const char *value)
{
	double middle = member_number(object, value), low = member_number(object, "low"),
		   high = member_number(object, "high");
	return (struct interval){
		.known = isfinite(low) && isfinite(high), .value = middle, .below = middle - low, .above = high - middle};
}

/* Adds to a row with the members `a` and `b` the difference in percent of a, and whether it is more than chance. */
static void
add_change(json_t *row, const char *value)
{
	struct interval a = read_interval(json_object_get(row, "a"), value),
					b = read_interval(json_object_get(row, "b"), value);
	bool both = a.value > 0 && b.value > 0, known = both && a.known && b.known;
	bool close = a.value < b.value ? interval_is_close(&a, &b) : interval_is_close(&b, &a);
	(void)json_object_set_new(row, "percent", both ? json_real(100 * (b.value - a.value) / a.value) : json_null());
	(void)json_object_set_new(row, "significant", known ? json_boolean(!close) : json_null());
}

static double
result_number(const json_t *result, size_t index, const char *what)
{
	double number = NAN;
	return number_parse(result_value(result, "benchmark", index, what), &number) ? number : NAN;
}

/* A finite number; null else. */
static json_t *
seconds(double ns)
{
	return isfinite(ns) ? json_real(ns / NS_PER_S) : json_null();
}

/*
 * A case in seconds, with its interval of 95 %: of a plain mean from its standard error, of a ratio to a calibrator and
 * of sessions from the harness's report, if such intervals are known to hold. NULL: it has no time. New reference.
 */
static json_t *
read_case(const json_t *result, size_t index)
{
	double mean = result_number(result, index, "mean"), error = result_number(result, index, "err"), low = NAN,
		   high = NAN;
	bool plain = !result_value(result, "benchmark", index, "calibrator") &&
				 !result_value(result, "benchmark", index, "sessions");
	if (!(mean > 0))
		return NULL;
	if (score_interval_is_known(result, index)) {
		low = result_number(result, index, "low");
		high = result_number(result, index, "high");
	} else if (plain && error > 0) {
		low = mean - NORMAL_95 * error;
		high = mean + NORMAL_95 * error;
	}
	return json_pack("{s:o, s:o, s:o}", "mean", seconds(mean), "low", seconds(low), "high", seconds(high));
}

/* The specifications of a run's cases in their order, and read_case's result for each that has a time. New reference. */
static json_t *
read_cases(const json_t *result)
{
	json_t *cases = json_object();
	for (size_t i = 0; i < DIFF_CASES_MAX; i++) {
		const char *spec = result_value(result, "benchmark", i, "spec");
		json_t *one = spec ? read_case(result, i) : NULL;
		if (!spec)
			break;
		if (one && !json_object_get(cases, spec))
			(void)json_object_set_new(cases, spec, one);
		else
			json_decref(one);
	}
	return cases;
}

static void
add_case(json_t *rows, const char *spec, json_t *a, json_t *b)
{
	json_t *row = json_pack("{s:s, s:O?, s:O?}", "spec", spec, "a", a, "b", b);
	if (!row)
		return;
	add_change(row, "mean");
	(void)json_array_append_new(rows, row);
}

/* The cases of both runs, those with the same specification in one row. New reference. */
static json_t *
compare_cases(const struct sides *sides)
{
	AUTO_JSON json_t *first = read_cases(sides->items[0].result), *second = read_cases(sides->items[1].result);
	json_t *rows = json_array();
	json_object_each(first, spec, one)
		add_case(rows, spec, one, json_object_get(second, spec));
	json_object_each(second, spec, one)
		if (!json_object_get(first, spec))
			add_case(rows, spec, NULL, one);
	return rows;
}

/* Adds the cases of the run that both jobs have: the ranked one, else the benchmarks. */
static int
add_cases(struct db *db, struct sides *sides, json_t *const jobs[2], json_t *row, struct kettle_error *err)
{
	static const char *const modes[] = {"leaderboard", "benchmark"};
	json_t *results[2] = {NULL, NULL};
	int rc = 0;
	(void)json_object_set_new(row, "run", json_null());
	for (size_t s = 0; s < 2 && rc == 0; s++)
		if (sides->items[s].whole && jobs[s])
			rc = submission_results(db, member_int(jobs[s], "job"), &results[s], err);
	for (size_t m = 0; m < ARRAY_SIZE(modes) && rc == 0; m++) {
		if (!json_object_get(results[0], modes[m]) || !json_object_get(results[1], modes[m]))
			continue;
		for (size_t s = 0; s < 2; s++) {
			json_decref(sides->items[s].result);
			sides->items[s].result = json_incref(json_object_get(results[s], modes[m]));
		}
		(void)json_object_set_new(row, "run", json_string(m == 0 ? "ranked" : modes[m]));
		(void)json_object_set_new(row, "cases", compare_cases(sides));
		break;
	}
	if (!json_object_get(row, "cases"))
		(void)json_object_set_new(row, "cases", json_array());
	json_decref_all(results[0], results[1]);
	return rc;
}

static json_t *
find_job(const struct side *side, const char *device)
{
	return list_find(side->jobs, "device", device);
}

/* State and score of a job, which may be NULL. New reference. */
static json_t *
job_score(const json_t *job)
{
	return job ? json_pack("{s:O, s:O, s:O, s:O}", "state", json_object_get(job, "state"), "score",
					 json_object_get(job, "score"), "low", json_object_get(job, "low"), "high",
					 json_object_get(job, "high"))
			   : json_null();
}

static int
add_device(struct db *db, struct sides *sides, const char *device, json_t *devices, struct kettle_error *err)
{
	json_t *const jobs[2] = {find_job(&sides->items[0], device), find_job(&sides->items[1], device)};
	json_t *row = json_pack("{s:s, s:o, s:o}", "device", device, "a", job_score(jobs[0]), "b", job_score(jobs[1]));
	add_change(row, "score");
	(void)json_array_append_new(devices, row);
	return add_cases(db, sides, jobs, row, err);
}

/* The devices of both, those of the first one first. New reference. */
static int
compare_devices(struct db *db, struct sides *sides, json_t **ret_devices, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = json_array();
	int rc = 0;
	json_array_each(sides->items[0].jobs, job) {
		rc = add_device(db, sides, json_text_or_empty(job, "device"), devices, err);
		if (rc < 0)
			return rc;
	}
	json_array_each(sides->items[1].jobs, job) {
		const char *device = json_text_or_empty(job, "device");
		rc = find_job(&sides->items[0], device) ? 0 : add_device(db, sides, device, devices, err);
		if (rc < 0)
			return rc;
	}
	*ret_devices = STEAL(devices);
	return 0;
}

/* ---- the answer ---- */

/* The members of a submission besides code and times. New reference. */
static json_t *
head_of(const struct side *side)
{
	static const char *const names[] = {
		"id", "leaderboard_name", "file_name", "user_name", "submission_time", "mode", "state", "practice"};
	json_t *head = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)json_object_set(head, names[i], json_object_get(side->row, names[i]));
	return head;
}

static void
add_code(const struct sides *sides, json_t *answer)
{
	struct line_diff diff = {0};
	struct line_diff_text texts[2];
	char *names[2];
	for (size_t s = 0; s < 2; s++) {
		const json_t *row = sides->items[s].row, *code = json_object_get(row, "code");
		AUTO_FREE char *name = sanitize_text(json_text_or_empty(row, "file_name"), REQUEST_NAME_MAX);
		names[s] = xasprintf("%lld/%s", (long long)member_int(row, "id"), name);
		texts[s] = (struct line_diff_text){names[s], json_text_or_empty(row, "code"), json_string_length(code)};
	}
	line_diff(&texts[0], &texts[1], DIFF_TEXT_MAX, &diff);
	(void)json_object_set_new(answer, "diff", json_stringn(diff.text, strlen(diff.text)));
	(void)json_object_set_new(answer, "added", json_integer((json_int_t)diff.added));
	(void)json_object_set_new(answer, "removed", json_integer((json_int_t)diff.removed));
	(void)json_object_set_new(answer, "truncated", json_boolean(diff.truncated));
	free_all(diff.text, names[0], names[1]);
}

int
cmd_submission_diff(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	static const char *const names[] = {"a", "b"};
	AUTO_SIDES struct sides sides = {0};
	AUTO_JSON json_t *devices = NULL;
	int rc = 0;
	for (size_t s = 0; s < 2 && rc == 0; s++)
		rc = load_side(call, member_int(call->args, names[s]), &sides.items[s], err);
	if (rc < 0)
		return rc;
	bool comparable =
		member_int(sides.items[0].row, "leaderboard_id") == member_int(sides.items[1].row, "leaderboard_id");
	rc = comparable ? compare_devices(call->db, &sides, &devices, err) : 0;
	if (rc < 0)
		return rc;
	json_t *answer = json_pack("{s:o, s:o, s:o, s:b}", "a", head_of(&sides.items[0]), "b", head_of(&sides.items[1]),
		"devices", devices ? json_incref(devices) : json_array(), "cases_shown",
		(int)(sides.items[0].whole && sides.items[1].whole));
	add_code(&sides, answer);
	*ret_result = answer;
	return 0;
}
