/* SPDX-License-Identifier: MIT */
/* The plugin `cli`: finds the typed command in the core's table and runs it. */
#include <config.h>

#include "cli/cli.h"

#include <kettle/plugin.h>

#include "base/buf.h"
#include "base/base.h"
#include "cli/actions/actions.h"
#include "cli/args/help.h"
#include "cli/render/render.h"
#include "cli/run/follow.h"

struct cli {
	const struct kettle_host *host;
	struct run *run; /* the command that runs, or NULL */
};

/* Options of commands that read the task of a leaderboard. */
static const struct args_option board_options[] = {
	{"lang", 0, "LANG", "the language of a single reference file, if its name fits several"},
	{NULL, 0, NULL, NULL},
};

const struct args_ui cli_uis[] = {
	{"leaderboard.create", .own = board_options, .start = follow_trial},
	{"leaderboard.update", .own = board_options, .start = follow_trial},
	{"leaderboard.show", .own = render_board_show_options, .start = render_board_show_start,
		.answer = render_board_show_answer, .render = render_board_show, .json = render_board_show_json},
	{"leaderboard.plot", .own = plot_options, .start = plot_start, .answer = plot_answer},
	{"leaderboard.task", .code = true, .own = board_task_folder_options, .answer = board_task_answer,
		.render = board_task_render},
	{"leaderboard.template", .code = true, .own = board_task_file_options, .answer = board_task_template_answer,
		.render = board_task_template_render},
	{"leaderboard.rate_limit", .start = render_board_limits_start},
	{"leaderboard.export", .own = export_options, .start = export_start},
	{"leaderboard.delete", .own = confirm_options, .start = confirm_delete},
	{"harness.show", .code = true, .own = board_task_folder_options, .answer = board_task_eval_answer,
		.render = board_task_eval_render},
	{"submit", .own = submit_options, .report = true, .start = submit_start, .answer = submit_accepted,
		.render = render_submission_report, .status = render_submission_status},
	{"submission.show", .own = render_submission_options, .render = render_submission_show},
	{"submission.diff", .code = true, .render = render_submission_diff},
	{"submission.watch", .own = task_run_options, .report = true, .answer = submit_watched,
		.render = render_submission_report, .status = render_submission_status},
	{"submission.rerun", .answer = submit_accepted, .render = render_submission_report,
		.status = render_submission_status},
	{"submission.download", .own = artifacts_options, .answer = artifacts_answer, .render = artifacts_render},
	{"submission.delete", .own = confirm_options, .start = confirm_delete},
	{"submission.delete_own", .own = confirm_options, .start = confirm_delete},
	{"submission.delete_all", .own = confirm_options, .start = confirm_delete},
	{"user.delete", .own = confirm_options, .start = confirm_delete},
	{"user.export", .own = export_options, .start = export_start},
	{"user.link", .own = link_options, .start = confirm_link},
	{"admin.stats", .render = render_admin_stats},
	{"admin.verify", .not_ok = RUN_FAILED},
	{"admin.backup", .start = follow_command},
	{"admin.export", .start = follow_command},
	{"admin.gc", .render = render_admin_freed},
	{"task.check", .reads = true, .start = follow_trial, .render = task_check_render, .not_ok = RUN_USAGE},
	{"task.run", .reads = true, .own = task_run_options, .report = true, .start = follow_command,
		.render = render_task_run, .status = render_submission_status},
	{"task.verify", .reads = true, .start = task_verify_start, .render = task_verify_render, .not_ok = RUN_FAILED},
	{"task.pack", .reads = true, .own = task_pack_options, .answer = task_pack_answer},
	{"task.new", .answer = task_new_answer},
	{"competition.sync", .own = competition_options, .start = follow_trial, .render = competition_render,
		.status = competition_status},
	{"login", .answer = login_answer},
	{"login.confirm", .start = confirm_login},
	{"plugin.info", .render = render_plugin_info},
	{"plugin.test", .render = render_plugin_test, .status = render_plugin_test_status},
	{"device.list", .render = render_device_list},
	{"device.calibrate", .start = follow_command, .render = render_device_calibrated, .status = render_device_status},
	{"device.calibrations", .render = render_device_calibrations},
	{"device.doctor", .render = render_device_doctor, .status = render_device_doctor_status},
	{"device.verify", .start = follow_command, .status = render_device_status},
	{"device.enable", .status = render_device_status},
	{"queue.place", .render = render_queue_positions},
	{"config.check", .render = render_config_check, .not_ok = RUN_USAGE},
	{"config.reload", .render = render_config_reload, .not_ok = RUN_FAILED},
	{"version", .render = render_version, .not_ok = RUN_ENGINE},
	{NULL},
};

/* A command line, before its command is known. */
struct line {
	const struct kettle_host *host;
	const json_t *table, *globals;
	int argc;
	const char *const *argv;
	struct term term;
};

static int
usage(const struct line *line, const struct kettle_error *err)
{
	run_print_error(&line->term, json_is_true(json_object_get(line->globals, "json")), err);
	return RUN_USAGE;
}

/* Fails with the words that can follow: "`kettle leaderboard` is followed by one of: create, delete, list, show." */
static int
group_alone(const struct line *line, int words)
{
	struct kettle_error err = {0};
	AUTO_BUF struct buf list = {0};
	AUTO_JSON json_t *names = args_following(line->table, words, line->argv);
	json_object_each(names, name, value)
		buf_printf(&list, "%s%s", list.len ? ", " : "", name);
	kettle_fail(&err, KETTLE_EINVAL, "`kettle %s` needs one of: %s.", line->argv[0], list.data);
	return usage(line, &err);
}

static int
help(const struct line *line)
{
	struct kettle_error err = {0};
	const json_t *command = NULL;
	const char *first = line->argc > 0 ? line->argv[0] : "";
	bool json = json_is_true(json_object_get(line->globals, "json"));
	int words = 0;
	if (strcmp(first, "--manual") == 0)
		help_manual(line->term.out, line->table, cli_uis);
	else if (strcmp(first, "--reference") == 0)
		help_reference(line->term.out, line->table, line->host->answers(line->host), cli_uis);
	else if (help_own(&line->term, first))
		return RUN_OK;
	else if (args_find(line->table, line->argc, line->argv, &command, &words, &err))
		return usage(line, &err);
	else if (json)
		help_json(line->term.out, line->table, line->host->answers(line->host),
			command     ? json_text_or_empty(command, "name")
			: words > 0 ? first
						: "");
	else if (command)
		help_command(&line->term, command, args_ui(cli_uis, command));
	else if (words > 0)
		help_group(&line->term, line->table, words, line->argv);
	else
		help_all(&line->term, line->table);
	return RUN_OK;
}

static bool
asks_for_help(const struct line *line, int words)
{
	return words < line->argc && (strcmp(line->argv[words], "--help") == 0 || strcmp(line->argv[words], "-h") == 0);
}

/* Answers a line that needs no run and returns the exit status; -1: *ret_command must be run. */
static int
answer_at_once(const struct line *line, const json_t **ret_command, int *ret_words)
{
	struct kettle_error err = {0};
	struct line rest = *line;
	if (line->argc > 1 && asks_for_help(line, line->argc - 1) && help_own(&line->term, line->argv[0]))
		return RUN_OK;
	if (line->argc > 0 && strcmp(line->argv[0], "help") == 0) {
		rest.argc--;
		rest.argv++;
		return help(&rest);
	}
	if (line->argc > 0 && strcmp(line->argv[0], "completion") == 0)
		return completion_script(&line->term, line->argc - 1, line->argv + 1, &err) ? usage(line, &err) : RUN_OK;
	if (args_find(line->table, line->argc, line->argv, ret_command, ret_words, &err))
		return usage(line, &err);
	if (*ret_command)
		return -1;
	if (line->argc == 0 || asks_for_help(line, *ret_words)) {
		rest.argc = *ret_words;
		return help(&rest);
	}
	if (*ret_words > 0)
		return group_alone(line, *ret_words);
	args_unknown_global(line->argv[0], &err);
	return usage(line, &err);
}

static int
cli_run(void *self, int argc, const char *const *argv, const json_t *globals, void (*done)(void *arg, int status),
	void *arg, struct kettle_error *err)
{
	struct cli *cli = self;
	struct line line = {
		.host = cli->host, .table = cli->host->commands(cli->host), .globals = globals, .argc = argc, .argv = argv};
	const json_t *command = NULL;
	int words = 0;
	if (cli->run)
		return kettle_fail(err, KETTLE_ECONFLICT, "Another command line is running.");
	if (argc > 0 && strcmp(argv[0], "__complete") == 0) {
		AUTO_JSON json_t *actor = run_actor(globals);
		completion_start(cli->host, actor, cli_uis, argc - 1, argv + 1, done, arg);
		return 0;
	}
	term_init(&line.term, stdout);
	int status = answer_at_once(&line, &command, &words);
	if (status >= 0)
		run_post_done(cli->host, done, arg, status);
	else
		run_start(
			cli->host, globals, command, args_ui(cli_uis, command), argc - words, argv + words, &cli->run, done, arg);
	return 0;
}

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct cli *cli = xcalloc(1, sizeof(*cli));
	(void)err;
	cli->host = host;
	*ret_self = cli;
	return 0;
}

static int
configure(void *self, const json_t *options, struct kettle_error *err)
{
	(void)self;
	(void)options;
	(void)err;
	return 0;
}

/* main calls this at SIGINT, too: a command that still waits prints how to continue, and ends. */
static void
stop(void *self, kettle_fn done, void *arg)
{
	struct cli *cli = self;
	if (cli->run)
		run_interrupt(cli->run, done, arg);
	else
		done(arg);
}

static const struct kettle_frontend frontend = {.size = sizeof(frontend), .run = cli_run};

const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_FRONTEND),
	.name = "cli",
	.version = PACKAGE_VERSION,
	.summary = "the command line: kettle COMMAND",
	.option_size = sizeof(struct kettle_option),
	.create = create,
	.configure = configure,
	.stop = stop,
	.destroy = free,
	.frontend = &frontend,
};
