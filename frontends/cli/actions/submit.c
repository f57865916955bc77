/* SPDX-License-Identifier: MIT */
/*
 * `kettle submit` and `submission watch`: the menu on a terminal, progress and a report. The user chooses a leaderboard
 * if neither the command line nor the file's header names one, then the mode if the command line does not name it, and
 * devices if the leaderboard has several and nothing names them.
 */
#include <config.h>

#include "cli/actions/actions.h"

#include "base/base.h"
#include "base/popcorn_header.h"
#include "base/text.h"
#include "cli/render/render.h"
#include "cli/run/follow.h"
#include "cli/run/input.h"
#include "common/wrap.h"

json_t *
submit_choice(const char *line, const json_t *devices)
{
	AUTO_JSON json_t *chosen = json_array();
	AUTO_FREE char *copy = xstrdup(line);
	char *rest = NULL;
	for (char *word = strtok_r(copy, " ,\t", &rest); word; word = strtok_r(NULL, " ,\t", &rest)) {
		const char *name = input_option(word, devices);
		if (!name)
			return NULL;
		if (!list_has_text(chosen, name))
			json_array_append_new(chosen, json_string(name));
	}
	return json_array_size(chosen) > 0 ? STEAL(chosen) : NULL;
}

static json_t *
options_of(const struct run *run, const char *kind)
{
	return json_object_get(run->args.own, kind);
}

static void
prompt(struct run *run, const json_t *options, const char *question, run_bytes fn)
{
	input_menu(run->term.out, options, question);
	run_read_line(run, fn);
}

/* ---- devices ---- */

static void prompt_devices(struct run *run);

static void
devices_typed(struct run *run, const char *line, size_t size)
{
	(void)size;
	json_t *chosen = submit_choice(line, options_of(run, "devices"));
	if (!chosen) {
		input_unknown(run->term.out, line);
		prompt_devices(run);
		return;
	}
	json_object_set_new(run->args.values, "device", chosen);
	run_command(run);
}

static void
prompt_devices(struct run *run)
{
	prompt(run, options_of(run, "devices"), "Which devices? Numbers or names, separated by spaces", devices_typed);
}

/* Lets the user choose devices of the board if it has several and none is named. */
static void
choose_devices(struct run *run)
{
	const char *name = json_text_or_empty(run->args.own, "board");
	json_array_each(options_of(run, "boards"), board) {
		json_t *devices = json_object_get(board, "gpu_types");
		if (member_true(run->args.own, "devices-named") || strcasecmp(json_text_or_empty(board, "name"), name) != 0 ||
			json_array_size(devices) < 2)
			continue;
		fprintf(run->term.out, "`%s` runs on several devices:\n", json_text_or_empty(board, "name"));
		json_object_set(run->args.own, "devices", devices);
		prompt_devices(run);
		return;
	}
	run_command(run);
}

/* ---- mode ---- */

/* Returns the modes of the command's argument, without the synonym of ranked. New reference. */
static json_t *
modes_of(const json_t *command)
{
	json_t *modes = json_array();
	json_array_each(json_object_get(command, "args"), argument) {
		if (!member_is(argument, "name", "mode"))
			continue;
		json_array_each(json_object_get(argument, "choices"), mode)
			if (strcmp(json_string_value(mode), "leaderboard") != 0)
				json_array_append(modes, mode);
	}
	return modes;
}

static void prompt_mode(struct run *run);

static void
mode_typed(struct run *run, const char *line, size_t size)
{
	(void)size;
	const char *mode = input_chosen(line, options_of(run, "modes"));
	if (!mode && line[strspn(line, " \t")]) {
		input_unknown(run->term.out, line);
		prompt_mode(run);
		return;
	}
	if (mode)
		json_object_set_new(run->args.values, "mode", json_string(mode));
	choose_devices(run);
}

static void
prompt_mode(struct run *run)
{
	prompt(run, options_of(run, "modes"), "Which mode? A number or a name; empty: ranked", mode_typed);
}

/* ---- leaderboard ---- */

static void prompt_board(struct run *run);

static void
board_typed(struct run *run, const char *line, size_t size)
{
	(void)size;
	const char *name = input_chosen(line, options_of(run, "names"));
	if (!name) {
		input_unknown(run->term.out, line);
		prompt_board(run);
		return;
	}
	json_object_set_new(run->args.own, "board", json_string(name));
	json_object_set_new(run->args.values, "leaderboard", json_string(name));
	if (json_object_get(run->args.values, "mode")) {
		choose_devices(run);
		return;
	}
	json_object_set_new(run->args.own, "modes", modes_of(run->command));
	prompt_mode(run);
}

static void
prompt_board(struct run *run)
{
	prompt(run, options_of(run, "names"), "Which leaderboard? A number or a name", board_typed);
}

static void
no_board(struct run *run)
{
	struct kettle_error err = {0};
	kettle_fail(&err, KETTLE_EINVAL, "No open leaderboard takes `%s`; `kettle leaderboard list` shows all of them.",
		json_text_or_empty(json_object_get(run->args.values, "file"), "name"));
	run_fail(run, &err);
}

/* Handles the answer to leaderboard.list. */
static void
boards_listed(struct run *run, const json_t *result)
{
	json_t *names = json_array();
	json_array_each(result, board)
		json_array_append(names, json_object_get(board, "name"));
	json_object_set_new(run->args.own, "names", names);
	json_object_set(run->args.own, "boards", (json_t *)result);
	if (*json_text_or_empty(run->args.own, "board"))
		choose_devices(run);
	else if (json_array_size(names) > 0)
		prompt_board(run);
	else
		no_board(run);
}

/* Whether there is something to choose, on a terminal. */
static bool
wants_menu(struct run *run)
{
	const json_t *file = json_object_get(run->args.values, "file");
	const char *base64 = json_text_or_empty(file, "base64"),
			   *named = json_text_or_empty(run->args.values, "leaderboard");
	AUTO_FREE void *code = NULL;
	AUTO_JSON json_t *header = NULL;
	size_t size = 0;
	if (!run->term.ask || run->json || base64_decode(base64, strlen(base64), &code, &size))
		return false;
	/* The engine reports the errors of a header. */
	if (popcorn_header_parse(code, size, &header, NULL) != 0)
		return false;
	const char *board = *named ? named : json_text_or_empty(header, "leaderboard");
	bool devices = json_object_get(run->args.values, "device") || json_object_get(header, "gpus");
	json_object_set_new(run->args.own, "board", json_string(board));
	json_object_set_new(run->args.own, "devices-named", json_boolean(devices));
	return !*board || !devices;
}

void
submit_start(struct run *run)
{
	if (wants_menu(run)) {
		const json_t *file = json_object_get(run->args.values, "file");
		bool named = *json_text_or_empty(run->args.own, "board");
		AUTO_JSON json_t *args =
			json_pack("{s:b, s:O*}", "short", 1, "takes", named ? NULL : json_object_get(file, "name"));
		run_call(run, "leaderboard.list", args, boards_listed);
	} else {
		run_command(run);
	}
}

/* ---- progress and a report ---- */

const struct args_option submit_options[] = {
	{"output", 'o', "FILE", "also write the report (with --json: the document) to this file"},
	RENDER_VERBOSE,
	{"file-name", 0, "NAME", "the file name of the submission if FILE is - (standard input)"},
	{NULL, 0, NULL, NULL},
};

const struct args_option task_run_options[] = {
	{"output", 'o', "FILE", "also write the report (with --json: the document) to this file"},
	RENDER_VERBOSE,
	{NULL, 0, NULL, NULL},
};

static void
say_accepted(struct term *term, int64_t id, bool again, const json_t *result)
{
	struct wrap_part part;
	wrap_part_begin(&part, term);
	fprintf(term->out, "%s submission %lld%s.\n", again ? "Rerunning" : "Accepted", (long long)id,
		member_true(result, "practice") ? " as practice, outside of the ranking" : "");
	json_array_each(json_object_get(result, "remarks"), remark) {
		term_put(term, STYLE_YELLOW, "Remark: ");
		term_sanitize(term->out, json_string_value(remark), 0);
		fputc('\n', term->out);
	}
	wrap_part_end(&part, false);
}

void
submit_accepted(struct run *run, const json_t *result)
{
	int64_t id = member_int(result, "id");
	bool waits = !member_true(run->args.values, "no_wait");
	/* Programs read only the number. */
	if (!run->json && !run->quiet && (waits || run->term.tty))
		say_accepted(&run->term, id, member_is(run->command, "name", "submission.rerun"), result);
	if (waits) {
		follow_submission(run, id, member_int(result, "seq"), json_object_get(result, "jobs"),
			json_is_false(json_object_get(result, "stays")));
		return;
	}
	if (run->json)
		run_print_json(&run->term, result);
	else if (run->term.tty)
		fprintf(run->term.out, "`kettle submission watch %lld` follows it.\n", (long long)id);
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
