/* SPDX-License-Identifier: MIT */
/* Accepts a submission: the checks in their order, then one transaction. */
#include <config.h>

#include "commands/handlers.h"

#include "session/core.h"

#include "base/base.h"
#include "base/file_name.h"
#include "base/popcorn_header.h"
#include "base/text.h"
#include "judge/capture.h"
#include "judge/judging.h"
#include "judge/plan.h"
#include "judge/unit_facts.h"
#include "model/blobs.h"
#include "model/board.h"
#include "model/jobs.h"
#include "model/rate_limit.h"
#include "model/settings.h"
#include "model/submissions.h"

#define FILE_NAME_MAX 120 /* bytes: a file system's names are limited in bytes */

/* A submission that is being checked. */
#define SUBMIT_NOTE_MAX 500 /* characters */

struct submit_request {
	struct db *db;
	const struct command_env *env;
	const struct actor *actor;
	const json_t *args;
	const char *mode;
	char *file_name;
	char *code;
	size_t size;
	struct kettle_error file_err;   /* the error of the file, reported in the order of the checks */
	struct kettle_error header_err; /* likewise of its header */
	json_t *header;
	struct board board;
	json_t *of_board; /* all devices of the board */
	json_t *devices;  /* the chosen ones */
	json_t *jobs;
	char *note;          /* NULL: none */
	const char *request; /* the caller's identifier; NULL: none */
	json_t *capture;     /* of a profile; NULL: none */
	int64_t id;
	bool practice; /* the board is not open yet, or its deadline has passed */
};

static void
free_submit(struct submit_request *submit)
{
	free_all(submit->file_name, submit->code, submit->note);
	json_decref_all(submit->header, submit->of_board, submit->devices, submit->jobs, submit->capture);
}
#define AUTO_SUBMIT __attribute__((cleanup(free_submit)))

static int
fail_with(const struct kettle_error *known, struct kettle_error *err)
{
	if (err)
		*err = *known;
	return known->code;
}

/* ---- the file ---- */

static int
check_submit_name(struct submit_request *submit, const char *name, struct kettle_error *err)
{
	const char *base = file_name_of(name);
	uint32_t invisible = utf8_find_invisible(base, strlen(base));
	if (invisible)
		return kettle_fail(
			err, KETTLE_EINVAL, "The name of the file contains the invisible character U+%04X; rename it.", invisible);
	submit->file_name = sanitize_line(base, FILE_NAME_MAX + 1);
	if (!*submit->file_name)
		return kettle_fail(err, KETTLE_EINVAL, "The file has no name; the extension of the name tells the language.");
	if (strlen(submit->file_name) > FILE_NAME_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "The name of the file is longer than %d bytes.", FILE_NAME_MAX);
	return 0;
}

static int
decode(struct submit_request *submit, const char *base64, struct kettle_error *err)
{
	void *data = NULL;
	size_t length = strlen(base64), limit = (size_t)submit->env->submission_bytes;
	/* Four characters are three bytes: a file over the limit is not decoded. */
	if (length / 4 * 3 > limit + 2)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "The file `%s` exceeds the limit of %zu bytes.", submit->file_name, limit);
	if (base64_decode(base64, length, &data, &submit->size) < 0)
		return kettle_fail(err, KETTLE_EINVAL, "The contents of the file are not base64.");
	submit->code = data;
	return 0;
}

static int
check_contents(struct submit_request *submit, struct kettle_error *err)
{
	size_t limit = (size_t)submit->env->submission_bytes, at = 0;
	if (submit->size == 0)
		return kettle_fail(err, KETTLE_EINVAL, "The file `%s` is empty.", submit->file_name);
	if (submit->size > limit)
		return kettle_fail(err, KETTLE_ETOOBIG, "The file `%s` has %zu bytes; the limit is %zu.", submit->file_name,
			submit->size, limit);
	if (memchr(submit->code, '\0', submit->size))
		return kettle_fail(err, KETTLE_EINVAL, "The file `%s` is binary (it contains a NUL byte), not source code.",
			submit->file_name);
	while (at < submit->size) {
		size_t length = utf8_length(submit->code + at, submit->size - at);
		if (length == 0)
			return kettle_fail(
				err, KETTLE_EINVAL, "The file `%s` is not UTF-8 at byte %zu.", submit->file_name, at + 1);
		at += length;
	}
	return 0;
}

/* Refuses a note that would have to be cut. */
static int
read_note(struct submit_request *submit, struct kettle_error *err)
{
	const char *note = json_text_or_null(submit->args, "note");
	if (!note || !*note)
		return 0;
	AUTO_FREE char *longer = sanitize_text(note, SUBMIT_NOTE_MAX + 1);
	submit->note = sanitize_text(note, SUBMIT_NOTE_MAX);
	return strcmp(longer, submit->note) == 0
			   ? 0
			   : kettle_blame(err, KETTLE_CAUSE_NONE, "note",
					 kettle_fail(err, KETTLE_EINVAL, "A note can have at most %d characters.", SUBMIT_NOTE_MAX));
}

/* Reads file and header. Their errors are kept: other checks come first. */
static void
read_submit_file(struct submit_request *submit)
{
	const json_t *file = json_object_get(submit->args, "file");
	struct kettle_error *err = &submit->file_err;
	if (check_submit_name(submit, json_text_or_null(file, "name"), err) < 0 ||
		decode(submit, json_text_or_null(file, "base64"), err) < 0 || check_contents(submit, err) < 0)
		return;
	(void)popcorn_header_parse(submit->code, submit->size, &submit->header, &submit->header_err);
}

/* An error of the file. */
static int
blame_file(struct kettle_error *err, int code)
{
	return code < 0 ? kettle_blame(err, KETTLE_CAUSE_NONE, "file", code) : code;
}

/* For a check that needs the header: if it could not be read, its error is the answer. */
static int
need_header(const struct submit_request *submit, struct kettle_error *err)
{
	if (submit->file_err.code)
		return blame_file(err, fail_with(&submit->file_err, err));
	return submit->header_err.code ? blame_file(err, fail_with(&submit->header_err, err)) : 0;
}

/* ---- board and devices ---- */

static int
find_board(struct submit_request *submit, struct kettle_error *err)
{
	const char *name = json_text_or_null(submit->args, "leaderboard");
	if (!name) {
		int rc = need_header(submit, err);
		if (rc < 0)
			return rc;
		name = json_text_or_null(submit->header, "leaderboard");
	}
	if (!name) {
		const char *remark = json_string_value(json_array_get(json_object_get(submit->header, "remarks"), 0));
		return kettle_fail(err, KETTLE_EINVAL,
			"No leaderboard is given: name one, or write `!POPCORN leaderboard NAME` in a comment at the top of the "
			"file.%s%s",
			remark ? " " : "", remark ? remark : "");
	}
	/* The first of all checks: the others reveal a board's settings. */
	return board_find_visible(submit->db, submit->actor, name, &submit->board, err);
}

static int
add_submit_device(struct submit_request *submit, const char *word, struct kettle_error *err)
{
	char where[BOARD_NAME_MAX + 32];
	const char *name = NULL;
	(void)snprintf(where, sizeof(where), "The leaderboard `%s` has", submit->board.name);
	int rc = board_pick_device(submit->of_board, word, where, &name, err);
	if (rc < 0)
		return rc;
	if (!list_has_text(submit->devices, name))
		(void)json_array_append_new(submit->devices, json_string(name));
	return 0;
}

/*
 * The argument wins over the header; a board's only device need not be chosen. If none of several is chosen the list
 * stays empty, and check_all refuses that last, so that a frontend asks for a device only if the submission is valid
 * otherwise.
 */
static int
find_devices(struct submit_request *submit, struct kettle_error *err)
{
	const json_t *wanted = json_object_get(submit->args, "device");
	int rc = board_devices(submit->db, submit->board.id, &submit->of_board, err);
	submit->devices = json_array();
	if (rc == 0 && json_array_size(wanted) == 0) {
		if (json_array_size(submit->of_board) > 1)
			rc = need_header(submit, err);
		wanted = json_object_get(submit->header, "gpus");
	}
	if (rc < 0)
		return rc;
	if (json_array_size(wanted) == 0 && json_array_size(submit->of_board) == 1)
		wanted = submit->of_board;
	for (size_t i = 0; i < json_array_size(wanted) && rc == 0; i++)
		rc = add_submit_device(submit, json_string_value(json_array_get(wanted, i)), err);
	return rc;
}

/* ---- the rest of the checks ---- */

static int
check_extension(const struct submit_request *submit, struct kettle_error *err)
{
	char name[BOARD_LANGUAGE_SIZE];
	int rc = board_language(submit->db, &submit->board, name, err);
	if (rc < 0)
		return rc;
	const struct language *language = language_find(submit->env->languages, name);
	if (!language)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The leaderboard `%s` uses the language `%s`, which is not loaded at the moment.", submit->board.name,
			name);
	return blame_file(err, language_takes_file(language, submit->file_name, err));
}

static int
check_accepting(const struct submit_request *submit, struct kettle_error *err)
{
	AUTO_JSON json_t *accepting = NULL;
	int rc = setting_get(submit->db, "accepting", &accepting, err);
	if (rc < 0)
		return rc;
	if (json_is_false(accepting))
		return kettle_fail(err, KETTLE_EUNAVAIL, "No submissions are accepted at the moment; try again later.");
	for (size_t i = 0; i < json_array_size(submit->devices) && rc == 0; i++) {
		const char *name;
		const json_t *units;
		rc = board_configured_units(
			submit->env, json_string_value(json_array_get(submit->devices, i)), &name, &units, err);
	}
	return rc;
}

static int
check_header(const struct submit_request *submit, struct kettle_error *err)
{
	int rc = need_header(submit, err);
	if (rc < 0)
		return rc;
	const char *named = json_text_or_null(submit->header, "leaderboard");
	if (named && strcasecmp(named, submit->board.name) != 0)
		return blame_file(err,
			kettle_fail(err, KETTLE_EINVAL,
				"The header of the file names the leaderboard `%s`, but the file was submitted to `%s`: change one of "
				"them.",
				named, submit->board.name));
	return 0;
}

/* A unit of the device as far as it is known: its section, its device's name, the facts that its machine once reported. */
static json_t *
known_unit(const json_t *stored, const char *device, const json_t *section)
{
	json_t *unit = json_copy((json_t *)section);
	AUTO_FREE char *key = unit_key(section);
	json_object_set_new(unit, "name", json_string(device));
	json_array_each(stored, row)
		if (strcasecmp(json_text_or_empty(row, "device"), device) == 0 &&
			strcmp(json_text_or_empty(row, "key"), key) == 0)
			json_object_set(unit, "facts", json_object_get(row, "facts"));
	return unit;
}

/* Whether a unit of each device has, or may have, a profiler for this capture. */
static int
check_profilers(const struct submit_request *submit, const json_t *bundle, struct kettle_error *err)
{
	AUTO_JSON json_t *stored = NULL;
	int rc = settings_units(submit->db, &stored, err);
	for (size_t i = 0; i < json_array_size(submit->devices) && rc == 0; i++) {
		const char *device = json_string_value(json_array_get(submit->devices, i));
		const json_t *units = NULL;
		rc = board_configured_units(submit->env, device, &device, &units, err);
		for (size_t j = 0; j < json_array_size(units) && (rc == 0 || rc == KETTLE_EINVAL); j++) {
			AUTO_JSON json_t *unit = known_unit(stored, device, json_array_get(units, j));
			rc = plan_check_capture(submit->env->languages, bundle, submit->code, unit, submit->capture, err);
			if (rc == 0)
				break;
		}
	}
	return rc;
}

/* Reads the task only if a choice must be compared with it. */
static int
check_capture(struct submit_request *submit, struct kettle_error *err)
{
	AUTO_JSON json_t *bundle = NULL;
	int rc = capture_read(submit->args, submit->mode, NULL, &submit->capture, err);
	if (rc < 0 || !submit->capture)
		return rc;
	rc = blobs_get_task(submit->db, submit->board.task, &bundle, err);
	if (rc == 0)
		rc = capture_check(submit->capture, json_object_get(bundle, "task"), err);
	return rc < 0 ? rc : check_profilers(submit, bundle, err);
}

static int
check_deadline(struct submit_request *submit, struct kettle_error *err)
{
	char text[TIME_TEXT_SIZE];
	bool late = member_true(submit->args, "late");
	if (late && submit->actor->role < RIGHT_ADMIN)
		return kettle_fail(err, KETTLE_EACCES, "Only admins of the engine may submit after the deadline with `late`.");
	if (submit->board.unopened)
		submit->practice = true;
	if (!board_ended(&submit->board, submit->db->now_ms) || late)
		return 0;
	if (submit->board.practice) {
		submit->practice = true;
		return 0;
	}
	time_text(submit->board.deadline_at, text);
	return kettle_fail(err, KETTLE_EINVAL, "The leaderboard `%s` ended at its deadline, %.10s %.5s UTC.",
		submit->board.name, text, text + 11);
}

static int
check_use(const struct submit_request *submit, const json_t *devices, struct kettle_error *err)
{
	int rc = rate_limit_check(submit->db, &submit->board, submit->actor->user, submit->mode, devices, err);
	return rc < 0 ? rc : device_usage_may_submit(submit->env, submit->db, submit->actor->user, devices, err);
}

/* Whether this device would take the submission now. ERATE, EUNAVAIL: not for reasons of its own. */
static int
check_device(const struct submit_request *submit, json_t *device, struct kettle_error *err)
{
	const char *name;
	const json_t *units;
	AUTO_JSON json_t *alone = json_pack("[O]", device);
	int rc = board_configured_units(submit->env, json_string_value(device), &name, &units, err);
	return rc < 0 ? rc : check_use(submit, alone, err);
}

/* Each device of the board with why it takes nothing now; ret_first: of these refusals the one that ends first. New reference. */
static int
weigh_devices(
	const struct submit_request *submit, json_t **ret_devices, struct kettle_error *ret_first, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = json_array();
	json_array_each(submit->of_board, device) {
		struct kettle_error why = {0};
		int rc = check_device(submit, device, &why);
		if (rc < 0 && rc != KETTLE_ERATE && rc != KETTLE_EUNAVAIL)
			return fail_with(&why, err);
		if (rc < 0 &&
			(ret_first->code == 0 || (why.retry_s && (ret_first->retry_s == 0 || why.retry_s < ret_first->retry_s))))
			*ret_first = why;
		(void)json_array_append_new(
			devices, json_pack("{s:O, s:s?, s:o}", "device", device, "refused", rc < 0 ? why.message : NULL, "retry_s",
						 why.retry_s ? json_integer(why.retry_s) : json_null()));
	}
	*ret_devices = STEAL(devices);
	return 0;
}

/* No device is chosen: says which ones would take the submission, and of each other one why not. */
static int
fail_choose(const struct submit_request *submit, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = NULL, *open = json_array();
	AUTO_BUF struct buf why = {0};
	struct kettle_error first = {0};
	int rc = weigh_devices(submit, &devices, &first, err);
	json_array_each(devices, device)
		if (json_is_null(json_object_get(device, "refused")))
			(void)json_array_append(open, json_object_get(device, "device"));
		else
			buf_printf(&why, " %s", json_text_or_empty(device, "refused"));
	if (rc < 0)
		return rc;
	if (first.code && json_array_size(open) == 0)
		return fail_with(&first, err);
	AUTO_FREE char *names = board_join(open);
	return kettle_blame(err, KETTLE_CAUSE_NONE, "device",
		kettle_fail(err, KETTLE_EINVAL, "The leaderboard `%s` runs on several devices: choose %s%s.%s",
			submit->board.name, json_array_size(open) > 1 ? "from " : "", names ? names : "", why.len ? why.data : ""));
}

static int
check_all(struct submit_request *submit, struct kettle_error *err)
{
	read_submit_file(submit);
	int rc = find_board(submit, err);
	if (rc == 0)
		rc = find_devices(submit, err);
	if (rc == 0 && submit->file_err.code)
		rc = blame_file(err, fail_with(&submit->file_err, err));
	if (rc == 0)
		rc = check_accepting(submit, err);
	if (rc == 0 && submit->actor->banned)
		rc = kettle_fail(
			err, KETTLE_EACCES, "You are banned%s%s.", *submit->actor->banned ? ": " : "", submit->actor->banned);
	if (rc == 0)
		rc = check_extension(submit, err);
	if (rc == 0)
		rc = check_header(submit, err);
	if (rc == 0)
		rc = check_capture(submit, err);
	if (rc == 0)
		rc = check_use(submit, submit->devices, err);
	if (rc == 0)
		rc = check_deadline(submit, err);
	return rc == 0 && json_array_size(submit->devices) == 0 ? fail_choose(submit, err) : rc;
}

/* ---- storing ---- */

static int
submit_store(struct submit_request *submit, struct kettle_error *err)
{
	const struct submission submission = {
		.leaderboard = submit->board.id,
		.task = submit->board.task,
		.user = submit->actor->user,
		.mode = submit->mode,
		.file_name = submit->file_name,
		.code = submit->code,
		.size = submit->size,
		.note = submit->note,
		.request = submit->request,
		.capture = submit->capture,
		.devices = submit->devices,
		.practice = submit->practice,
	};
	return jobs_accept(submit->db, &submission, &submit->id, &submit->jobs, err);
}

void
add_submit_stays(const struct core *core, json_t *result)
{
	(void)json_object_set_new(result, "stays", json_boolean(core->setup.is_server));
}

/* The earlier answer to the same request; *ret_result stays NULL if there was none. */
static int
answer_again(const struct submit_request *submit, json_t **ret_result, struct kettle_error *err)
{
	json_t *answer = NULL;
	int rc = submission_of_request(submit->db, submit->actor->user, submit->request, &answer, err);
	if (rc < 0)
		return rc == KETTLE_ENOENT ? 0 : rc;
	if (!member_true(answer, "practice"))
		(void)json_object_del(answer, "practice");
	*ret_result = answer;
	return 0;
}

int
cmd_submit(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_SUBMIT struct submit_request submit = {
		.db = call->db,
		.env = call->env,
		.actor = call->actor,
		.args = call->args,
		.mode = json_text_or_null(call->args, "mode"),
		.request = json_text_or_null(call->args, "request"),
	};
	json_t *again = NULL;
	int rc = read_note(&submit, err);
	if (rc == 0 && submit.request)
		rc = answer_again(&submit, &again, err);
	if (again)
		*ret_result = again;
	if (rc < 0 || again)
		return rc;
	rc = check_all(&submit, err);
	if (rc == 0)
		rc = submit_store(&submit, err);
	if (rc < 0)
		return rc;
	const json_t *event = json_array_get(call->db->events, json_array_size(call->db->events) - 1);
	*ret_result =
		json_pack("{s:I, s:s, s:s, s:O, s:O, s:O}", "id", (json_int_t)submit.id, "leaderboard", submit.board.name,
			"mode", submit.mode, "devices", submit.devices, "jobs", submit.jobs, "seq", json_object_get(event, "seq"));
	if (submit.practice)
		json_object_set_new(*ret_result, "practice", json_true());
	json_t *remarks = json_object_get(submit.header, "remarks");
	if (remarks)
		json_object_set(*ret_result, "remarks", remarks);
	return 0;
}

/* Adds to each device where the outputs of the board are checked and timed there. */
static int
add_judging(const struct command_call *call, const struct board *board, json_t *devices, struct kettle_error *err)
{
	AUTO_JSON json_t *kept = NULL, *stored = NULL;
	int rc = board_judging(call->db, board, &kept, err);
	if (rc == 0)
		rc = settings_units(call->db, &stored, err);
	json_array_each(rc == 0 ? devices : NULL, device) {
		const char *name = NULL;
		const json_t *units = NULL;
		AUTO_JSON json_t *known = json_array();
		(void)board_configured_units(call->env, json_text_or_empty(device, "device"), &name, &units, NULL);
		json_array_each(units, section)
			json_array_append_new(known, known_unit(stored, name, section));
		(void)json_object_set_new(device, "judging", json_string(judging_on(kept, known)));
	}
	return rc;
}

int
cmd_board_devices(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_SUBMIT struct submit_request submit = {
		.db = call->db,
		.env = call->env,
		.actor = call->actor,
		.mode = json_text_or_null(call->args, "mode"),
	};
	struct kettle_error first = {0};
	AUTO_JSON json_t *devices = NULL, *limits = NULL, *budgets = NULL;
	int rc = board_find_visible(call->db, call->actor, json_text_or_null(call->args, "name"), &submit.board, err);
	if (rc == 0)
		rc = board_devices(call->db, submit.board.id, &submit.of_board, err);
	if (rc == 0)
		rc = rate_limit_left(call->db, &submit.board, call->actor->user, &limits, err);
	if (rc == 0)
		rc = device_usage_left(call->env, call->db, call->actor->user, submit.of_board, &budgets, err);
	if (rc == 0)
		rc = weigh_devices(&submit, &devices, &first, err);
	if (rc == 0)
		rc = add_judging(call, &submit.board, devices, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:O, s:O, s:O}", "leaderboard", submit.board.name, "devices", devices, "limits",
			limits, "budgets", budgets);
	return rc;
}
