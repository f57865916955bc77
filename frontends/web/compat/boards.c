/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: boards, devices, rankings. */
#include <config.h>

#include "web/compat/compat.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "http/form.h"
#include "web/visit/respond.h"

#define VALUES_MAX 1000 /* of the body of a join */
#define RANKING_MAX 1000

/* ---- GET /leaderboards ---- */

/* Open boards first, the nearest deadline first; then the ended ones, the latest first. */
static int
compare_boards(const void *a, const void *b)
{
	const json_t *one = *(json_t *const *)a, *other = *(json_t *const *)b;
	const char *soon = json_text_or_null(one, "deadline"), *late = json_text_or_null(other, "deadline");
	bool ended = member_true(one, "ended");
	if (ended != member_true(other, "ended"))
		return ended ? 1 : -1;
	if (!soon || !late)
		return (soon ? 0 : 1) - (late ? 0 : 1);
	return ended ? strcmp(late, soon) : strcmp(soon, late);
}

static json_t *
board_of(const json_t *row)
{
	static const char *const members[] = {"id", "name", "description", "task", "deadline", "gpu_types", "visibility"};
	json_t *board = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_object_set(board, members[i], json_object_get(row, members[i]));
	return board;
}

static void
answer_leaderboards(struct visit *visit, json_t *result)
{
	size_t count = json_array_size(result);
	AUTO_FREE json_t **rows = xcalloc(count + 1, sizeof(json_t *));
	AUTO_JSON json_t *boards = json_array();
	for (size_t i = 0; i < count; i++)
		rows[i] = json_array_get(result, i);
	qsort(rows, count, sizeof(rows[0]), compare_boards);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(boards, board_of(rows[i]));
	compat_answer(visit, STATUS_OK, boards);
}

static void
list_leaderboards(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call(visit, "leaderboard.list", json_pack("{s:b}", "all", 1), answer_leaderboards);
}

void
compat_leaderboards(struct web *web, struct http_request *request)
{
	compat_visit(web, request, list_leaderboards, NULL);
}

/* ---- GET /gpus/BOARD ---- */

static void
answer_gpus(struct visit *visit, json_t *result)
{
	AUTO_JSON json_t *names = json_array();
	size_t i;
	const json_t *device;
	json_array_foreach(json_object_get(result, "devices"), i, device)
		json_array_append(names, json_object_get(device, "device"));
	compat_answer(visit, STATUS_OK, names);
}

static void
list_gpus(struct visit *visit, json_t *result)
{
	(void)result;
	compat_call_board(visit, "leaderboard.devices", json_incref(visit->data), answer_gpus);
}

void
compat_gpus(struct web *web, struct http_request *request)
{
	compat_visit(web, request, list_gpus, json_pack("{s:s}", "name", http_segment(request, 1)));
}

/* ---- GET /runner_queue/DEVICE ---- */

/* Sums the units of a device that can take jobs. */
static void
count_units(const json_t *device, json_int_t *ret_running, json_int_t *ret_slots, const char **ret_reason)
{
	size_t i;
	const json_t *unit;
	json_array_foreach(json_object_get(device, "units"), i, unit) {
		const char *state = json_text_or_empty(unit, "state");
		*ret_running += member_int(unit, "running");
		if (strcmp(state, "disabled") != 0 && strcmp(state, "removed") != 0)
			*ret_slots += member_int(unit, "slots");
		else
			*ret_reason = json_text_or_null(unit, "reason");
	}
}

json_t *
compat_queue(const json_t *devices, const char *name)
{
	size_t i;
	const json_t *device;
	json_int_t running = 0, slots = 0;
	const char *reason = NULL;
	json_array_foreach(devices, i, device) {
		const char *known = json_text_or_empty(device, "name");
		if (strcasecmp(known, name) != 0)
			continue;
		count_units(device, &running, &slots, &reason);
		const json_t *unit = json_array_get(json_object_get(device, "units"), 0);
		bool serves = slots > 0 && !member_true(device, "paused");
		return json_pack("{s:s?, s:s, s:I, s:I, s:I, s:s, s:s?}", "runner", json_text_or_null(unit, "runner"), "gpu",
			known, "queued_jobs", member_int(device, "queued"), "running_jobs", running, "available_runners", slots,
			"status", serves ? "available" : "unavailable", "error", serves ? NULL : reason);
	}
	return json_null();
}

static void
answer_queue(struct visit *visit, json_t *result)
{
	struct kettle_error err = {0};
	const char *name = json_text_or_empty(visit->data, "device");
	AUTO_JSON json_t *queue = compat_queue(result, name);
	if (json_is_null(queue)) {
		(void)kettle_fail(&err, KETTLE_ENOENT, "There is no device `%.60s`.", name);
		visit_fail(visit, &err);
	} else {
		compat_answer(visit, STATUS_OK, queue);
	}
}

static void
list_devices(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call(visit, "device.list", json_pack("{s:b}", "known", 1), answer_queue);
}

void
compat_runner_queue(struct web *web, struct http_request *request)
{
	visit_begin(web, request, NULL, COMPAT_LIMIT_MS, list_devices, compat_fail,
		json_pack("{s:s}", "device", http_segment(request, 1)));
}

/* ---- GET /submissions/BOARD/DEVICE, /submission_count/BOARD/DEVICE ---- */

/* Takes a number of the query into args, where it is given. */
static int
take_number(
	const struct query *query, const char *name, long long min, long long max, json_t *args, struct kettle_error *err)
{
	const char *text = query_value(query, name);
	long long number = 0;
	if (!text)
		return 0;
	if (!number_parse_integer(text, &number) || number < min || number > max)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` must be a number from %lld to %lld.", name, min, max);
	json_object_set_new(args, name, json_integer(number));
	return 0;
}

int
compat_take_page(const struct http_request *request, long long limit_max, json_t *args, struct query *ret_query,
	struct kettle_error *err)
{
	int rc = query_parse(http_query(request), ret_query, err);
	if (rc == 0)
		rc = take_number(ret_query, "limit", 1, limit_max, args, err);
	if (rc == 0)
		rc = take_number(ret_query, "offset", 0, INT32_MAX, args, err);
	return rc;
}

json_t *
compat_user(const char *text)
{
	long long number = 0;
	return number_parse_integer(text, &number) ? json_pack("{s:I}", "number", (json_int_t)number) : json_string(text);
}

static const json_t *
ranking_of(const json_t *result)
{
	return json_array_get(json_object_get(result, "rankings"), 0);
}

static void
answer_ranking(struct visit *visit, json_t *result)
{
	AUTO_JSON json_t *entries = json_deep_copy(json_object_get(ranking_of(result), "entries"));
	size_t i;
	json_t *entry;
	if (!entries)
		entries = json_array();
	/* A number here alone: everywhere else KernelBot has it as text. */
	json_array_foreach(entries, i, entry)
		json_object_set_new(entry, "user_id", json_integer(strtoll(json_text_or_empty(entry, "user_id"), NULL, 10)));
	compat_answer(visit, STATUS_OK, entries);
}

static void
answer_ranking_count(struct visit *visit, json_t *result)
{
	const json_t *count = json_object_get(visit->data, "of") ? json_object_get(result, "count")
															 : json_object_get(ranking_of(result), "count");
	AUTO_JSON json_t *value = json_pack("{s:I}", "count", json_integer_value(count));
	compat_answer(visit, STATUS_OK, value);
}

static void
show_ranking(struct visit *visit, json_t *result)
{
	(void)result;
	compat_call_board(visit, "leaderboard.show", json_incref(visit->data), answer_ranking);
}

static void
count_ranking(struct visit *visit, json_t *result)
{
	(void)result;
	compat_call_board(visit, json_object_get(visit->data, "of") ? "submission.count" : "leaderboard.show",
		json_incref(visit->data), answer_ranking_count);
}

void
compat_ranking(struct web *web, struct http_request *request)
{
	struct kettle_error err = {0};
	struct query query = {0};
	AUTO_JSON json_t *args =
		json_pack("{s:s, s:s}", "name", http_segment(request, 1), "device", http_segment(request, 2));
	if (compat_take_page(request, RANKING_MAX, args, &query, &err) < 0)
		compat_refuse(request, STATUS_BAD_REQUEST, err.message);
	else
		compat_visit(web, request, show_ranking, STEAL(args));
	query_free(&query);
}

void
compat_ranking_count(struct web *web, struct http_request *request)
{
	struct kettle_error err = {0};
	struct query query = {0};
	if (query_parse(http_query(request), &query, &err) < 0) {
		compat_refuse(request, STATUS_BAD_REQUEST, err.message);
		return;
	}
	const char *user = query_value(&query, "user_id");
	json_t *args = json_pack(
		"{s:s, s:s}", user ? "leaderboard" : "name", http_segment(request, 1), "device", http_segment(request, 2));
	if (user) {
		json_object_set_new(args, "of", compat_user(user));
		json_object_set_new(args, "mode", json_string("ranked"));
	}
	compat_visit(web, request, count_ranking, args);
	query_free(&query);
}

/* ---- POST /user/join ---- */

/* A code that is not there is a wrong request here. */
static void
fail_join(struct visit *visit, const struct kettle_error *err)
{
	struct kettle_error why = *err;
	if (why.code == KETTLE_ENOENT)
		why.code = KETTLE_EINVAL;
	compat_fail(visit, &why);
}

static void
answer_join(struct visit *visit, json_t *result)
{
	compat_answer(visit, STATUS_OK, result);
}

static void
join(struct visit *visit, json_t *result)
{
	(void)result;
	visit->fail = fail_join;
	visit_call(visit, "leaderboard.join", json_incref(visit->data), answer_join);
}

void
compat_join(struct web *web, struct http_request *request)
{
	size_t size = 0;
	const char *body = http_body(request, &size);
	AUTO_JSON json_t *value = bounded_json_parse(body, size, VALUES_MAX, 0, NULL);
	const char *code = json_text_or_null(value, "code");
	if (!code || !*code)
		compat_refuse(request, STATUS_BAD_REQUEST, "The body must be {\"code\": the code of the invite}.");
	else
		compat_visit_user(web, request, join, json_pack("{s:s}", "code", code));
}
