/* SPDX-License-Identifier: MIT */
/* `kettle submit`: a file, a choice of devices, progress, a report. */
#include <config.h>

#include "cli/actions/actions.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/popcorn_header.h"
#include "base/xalloc.h"
#include "cli/run/follow.h"

const struct args_option submit_options[] = {
	{"output", 'o', "FILE", "writes the report (with --json the document) to this file as well"},
	{"file-name", 0, "NAME", "what the submission is called when FILE is - (standard input)"},
	{NULL, 0, NULL, NULL},
};

const struct args_option task_run_options[] = {
	{"output", 'o', "FILE", "writes the report (with --json the document) to this file as well"},
	{NULL, 0, NULL, NULL},
};

static const char *
device_named(const char *word, const json_t *devices)
{
	long long number = 0;
	size_t i;
	const json_t *device;
	json_array_foreach(devices, i, device)
		if (strcasecmp(word, json_string_value(device)) == 0)
			return json_string_value(device);
	if (!number_parse_integer(word, &number) || number < 1)
		return NULL;
	return json_string_value(json_array_get(devices, (size_t)number - 1));
}

json_t *
submit_choice(const char *line, const json_t *devices)
{
	AUTO_JSON json_t *chosen = json_array();
	AUTO_FREE char *copy = xstrdup(line);
	char *rest = NULL;
	for (char *word = strtok_r(copy, " ,\t", &rest); word; word = strtok_r(NULL, " ,\t", &rest)) {
		const char *name = device_named(word, devices);
		if (!name)
			return NULL;
		if (!list_has_text(chosen, name))
			json_array_append_new(chosen, json_string(name));
	}
	return json_array_size(chosen) > 0 ? STEAL(chosen) : NULL;
}

static void
say_accepted(const struct term *term, int64_t id, const json_t *result)
{
	size_t i;
	const json_t *remark;
	fprintf(term->out, "Accepted submission %lld%s.\n", (long long)id,
		member_true(result, "practice") ? " as practice: the deadline has passed, so it is not ranked" : "");
	json_array_foreach(json_object_get(result, "remarks"), i, remark) {
		term_put(term, STYLE_YELLOW, "Remark: ");
		term_sanitize(term->out, json_string_value(remark), 0);
		fputc('\n', term->out);
	}
}

void
submit_accepted(struct run *run, const json_t *result)
{
	int64_t id = member_int(result, "id");
	if (!member_true(run->args.values, "no_wait")) {
		if (!run->json && !run->quiet)
			say_accepted(&run->term, id, result);
		follow_submission(run, id, member_int(result, "seq"), json_object_get(result, "jobs"),
			json_is_false(json_object_get(result, "stays")));
		return;
	}
	if (run->json)
		run_print_json(&run->term, result);
	else
		fprintf(run->term.out, "%lld\n", (long long)id);
	run_finish(run, RUN_OK);
}

void
submit_watched(struct run *run, const json_t *result)
{
	AUTO_JSON json_t *args = json_pack("{s:O}", "id", json_object_get(result, "id"));
	if (member_true(result, "done"))
		run_call(run, "submission.show", args, run_result);
	else
		follow_submission(
			run, member_int(result, "id"), member_int(result, "seq"), json_object_get(result, "jobs"), false);
}

static void prompt_devices(struct run *run);

static void
devices_typed(struct run *run, const char *line, size_t size)
{
	(void)size;
	json_t *chosen = submit_choice(line, json_object_get(run->args.own, "devices"));
	if (!chosen) {
		prompt_devices(run);
		return;
	}
	json_object_set_new(run->args.values, "device", chosen);
	run_command(run);
}

static void
prompt_devices(struct run *run)
{
	FILE *out = run->term.out;
	size_t i;
	const json_t *device;
	json_array_foreach(json_object_get(run->args.own, "devices"), i, device) {
		fprintf(out, "  %zu  ", i + 1);
		term_sanitize(out, json_string_value(device), 0);
		fputc('\n', out);
	}
	fputs("Which devices? Numbers or names, separated by spaces: ", out);
	fflush(out);
	run_read_line(run, devices_typed);
}

/* The answer to leaderboard.list: where the board has several devices, the user chooses. */
static void
boards_listed(struct run *run, const json_t *result)
{
	const json_t *board;
	const char *name = member_text(run->args.own, "board");
	size_t i;
	json_array_foreach(result, i, board) {
		json_t *devices = json_object_get(board, "gpu_types");
		if (strcasecmp(member_text(board, "name"), name) != 0 || json_array_size(devices) < 2)
			continue;
		fprintf(run->term.out, "`%s` runs on several devices:\n", member_text(board, "name"));
		json_object_set(run->args.own, "devices", devices);
		prompt_devices(run);
		return;
	}
	run_command(run);
}

/* Whether to offer a menu: the board is known, and neither an argument nor the file names a device. */
static bool
wants_menu(struct run *run)
{
	const json_t *file = json_object_get(run->args.values, "file");
	const char *base64 = member_text(file, "base64"), *named = member_text(run->args.values, "leaderboard");
	AUTO_FREE void *code = NULL;
	AUTO_JSON json_t *header = NULL;
	size_t size = 0;
	if (!run->term.ask || run->json || json_object_get(run->args.values, "device"))
		return false;
	if (base64_decode(base64, strlen(base64), &code, &size))
		return false;
	/* The engine reports the errors of a header. */
	if (popcorn_header_parse(code, size, &header, NULL) != 0 || json_object_get(header, "gpus"))
		return false;
	const char *board = *named ? named : member_text(header, "leaderboard");
	json_object_set_new(run->args.own, "board", json_string(board));
	return *board;
}

void
submit_start(struct run *run)
{
	if (wants_menu(run)) {
		AUTO_JSON json_t *args = json_object();
		run_call(run, "leaderboard.list", args, boards_listed);
	} else {
		run_command(run);
	}
}
