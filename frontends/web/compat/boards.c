/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: boards, devices, rankings. */
#include <config.h>

#include "web/compat/compat.h"

#include "base/base.h"
#include "web/compat/results.h"
#include "web/visit/respond.h"

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

void
compat_answer_leaderboards(struct visit *visit, json_t *result)
{
	static const char *const names[] = {
		"id", "name", "description", "task", "deadline", "gpu_types", "visibility", NULL};
	size_t count = json_array_size(result);
	AUTO_FREE json_t **rows = xcalloc(count + 1, sizeof(json_t *));
	json_t *boards = json_array();
	for (size_t i = 0; i < count; i++)
		rows[i] = json_array_get(result, i);
	qsort(rows, count, sizeof(rows[0]), compare_boards);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(boards, results_members(rows[i], names));
	compat_answer(visit, STATUS_OK, boards);
}

/* ---- GET /gpus/BOARD ---- */

void
compat_answer_gpus(struct visit *visit, json_t *result)
{
	json_t *names = json_array();
	json_array_each(json_object_get(result, "devices"), device)
		json_array_append(names, json_object_get(device, "device"));
	compat_answer(visit, STATUS_OK, names);
}

/* ---- GET /runner_queue/DEVICE ---- */

/* Sums the units of a device that can take jobs. */
static void
count_units(const json_t *device, json_int_t *ret_running, json_int_t *ret_slots, const char **ret_reason)
{
	json_array_each(json_object_get(device, "units"), unit) {
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
	json_int_t running = 0, slots = 0;
	const char *reason = NULL;
	json_array_each(devices, device) {
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

void
compat_answer_queue(struct visit *visit, json_t *result)
{
	const char *name = http_segment(visit->request, 1);
	json_t *queue = compat_queue(result, name);
	if (json_is_null(queue))
		visit_refuse(visit, KETTLE_ENOENT, "There is no device `%.60s`.", name);
	else
		compat_answer(visit, STATUS_OK, queue);
}

/* ---- GET /submissions/BOARD/DEVICE, /submission_count/BOARD/DEVICE ---- */

static const json_t *
ranking_of(const json_t *result)
{
	return json_array_get(json_object_get(result, "rankings"), 0);
}

void
compat_answer_ranking(struct visit *visit, json_t *result)
{
	json_t *entries = json_deep_copy(json_object_get(ranking_of(result), "entries"));
	/* A number here alone: everywhere else KernelBot has it as text. */
	json_array_each(entries, entry)
		json_object_set_new(entry, "user_id", json_integer(strtoll(json_text_or_empty(entry, "user_id"), NULL, 10)));
	compat_answer(visit, STATUS_OK, entries ? entries : json_array());
}

static void
answer_count(struct visit *visit, json_t *result)
{
	const json_t *counted = json_object_get(result, "rankings") ? ranking_of(result) : result;
	compat_answer(visit, STATUS_OK, json_pack("{s:I}", "count", member_int(counted, "count")));
}

/* The entries of the ranking, or with `user_id` that user's ranked submissions. */
void
compat_count_ranking(struct visit *visit, json_t *result)
{
	json_t *args = json_object_get(visit->data, "args");
	const char *user = json_text_or_null(json_object_get(visit->data, "query"), "user_id");
	(void)result;
	if (user)
		json_object_update_new(args, json_pack("{s:O, s:o, s:s}", "leaderboard", json_object_get(args, "name"), "of",
										 compat_user(user), "mode", "ranked"));
	if (user)
		(void)json_object_del(args, "name");
	compat_command(visit, user ? "submission.count" : "leaderboard.show", json_incref(args), answer_count);
}

/* ---- POST /user/join ---- */

/* A code that is not there is a wrong request here. */
void
compat_fail_join(struct visit *visit, const struct kettle_error *err)
{
	struct kettle_error why = *err;
	if (why.code == KETTLE_ENOENT)
		why.code = KETTLE_EINVAL;
	compat_fail(visit, &why);
}
