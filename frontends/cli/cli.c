/* SPDX-License-Identifier: MIT */
/* The plugin `cli`: finds the command that was typed in the core's table and carries it out. */
#include <config.h>

#include "cli/cli.h"

#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/actions/artifacts.h"
#include "base/cleanup.h"
#include "cli/actions/board_files.h"
#include "cli/actions/export.h"
#include "cli/args/help.h"
#include "cli/args/reference.h"
#include "cli/actions/competition.h"
#include "cli/render/render.h"
#include "cli/actions/submit.h"
#include "cli/actions/task_commands.h"
#include "cli/text/json_read.h"

struct cli {
	const struct kettle_host *host;
	struct run *run; /* the command that is being carried out, or NULL */
};

static void
call_command(struct run *run)
{
	run_call(run, value_text(run->command, "name"), run->args.values, run_answered);
}

static void
confirmed(struct run *run, const struct kettle_error *err, const char *line, size_t size)
{
	struct kettle_error no;
	(void)size;
	if (err && err->code) {
		run_fail(run, err);
		return;
	}
	if (strcasecmp(line, value_text(run->args.own, "confirm")) == 0) {
		call_command(run);
		return;
	}
	kettle_fail(&no, KETTLE_EINVAL, "That is not `%s`: nothing is deleted.", value_text(run->args.own, "confirm"));
	run_fail(run, &no);
}

static void
confirm(struct run *run, const char *what, const char *name)
{
	/* Whoever pipes or scripts has made up their mind. */
	if (!run->term.ask || run->json) {
		call_command(run);
		return;
	}
	json_object_set_new(run->args.own, "confirm", json_string(name));
	fprintf(run->term.out, "This deletes %s and everything that belongs to it. Type ", what);
	term_put(&run->term, STYLE_BOLD, name);
	fputs(" to go on: ", run->term.out);
	fflush(run->term.out);
	run_read_line(run, confirmed);
}

static void
delete_board(struct run *run)
{
	if (value_true(run->args.values, "force"))
		call_command(run);
	else
		confirm(run, "the leaderboard", value_text(run->args.values, "name"));
}

static void
delete_submission(struct run *run)
{
	char id[24];
	snprintf(id, sizeof(id), "%lld", (long long)value_int(run->args.values, "id", 0));
	confirm(run, "the submission", id);
}

/* Of commands that take a task. */
static const struct args_option task_options[] = {
	{"lang", 0, "LANG", "the language that a single reference file is meant in"},
	{NULL, 0, NULL, NULL},
};

const struct run_ui cli_uis[] = {
	{.command = "leaderboard.create",
		.own = task_options,
		.render = render_board_created,
		.example = "kettle leaderboard create vectoradd --task tasks/vectoradd_cpp --deadline +30d --device CPU"},
	{.command = "leaderboard.list", .render = render_board_list},
	{.command = "leaderboard.show",
		.start = render_board_show_start,
		.render = render_board_show,
		.json = render_board_show_json},
	{.command = "leaderboard.update",
		.own = task_options,
		.render = render_owner_updated,
		.example = "kettle leaderboard update vectoradd --deadline +7d --code ended"},
	{.command = "leaderboard.task",
		.own = board_task_folder_options,
		.start = board_task_start,
		.render = board_task_render,
		.example = "kettle leaderboard task vectoradd -o vectoradd"},
	{.command = "leaderboard.template",
		.own = board_task_file_options,
		.start = board_task_template_start,
		.render = board_task_template_render,
		.example = "kettle leaderboard template vectoradd -o submission.cpp"},
	{.command = "leaderboard.rate_limit",
		.start = render_owner_limits_start,
		.render = render_owner_limits,
		.example = "kettle leaderboard rate-limit vectoradd --category leaderboard --per-hour 6"},
	{.command = "leaderboard.export",
		.own = export_options,
		.start = export_start,
		.example = "kettle leaderboard export vectoradd -o vectoradd.jsonl"},
	{.command = "leaderboard.join", .render = render_owner_joined},
	{.command = "invite.create",
		.render = render_owner_invited,
		.example = "kettle invite create vectoradd softmax --count 20"},
	{.command = "invite.list", .render = render_owner_invites},
	{.command = "invite.revoke", .render = render_owner_revoked},
	{.command = "eval_code",
		.own = board_task_folder_options,
		.start = board_task_eval_start,
		.render = board_task_eval_render,
		.example = "kettle eval-code cpp -o harness"},
	{.command = "leaderboard.delete", .start = delete_board, .render = render_board_deleted},
	{.command = "submit",
		.own = submit_options,
		.start = submit_start,
		.render = render_submission_report,
		.status = render_submission_status,
		.example = "kettle submit submission.cpp --leaderboard vectoradd --mode ranked"},
	{.command = "submission.list", .render = render_submission_list},
	{.command = "submission.show", .own = render_submission_options, .render = render_submission_show},
	{.command = "submission.rerun",
		.start = submit_rerun,
		.render = render_submission_report,
		.status = render_submission_status,
		.example = "kettle submission rerun 12 --device H100"},
	{.command = "submission.flag",
		.render = render_submission_flagged,
		.example = "kettle submission flag 12 --reason \"it returns the reference's cached output\""},
	{.command = "submission.unflag", .render = render_submission_unflagged},
	{.command = "submission.artifacts",
		.own = artifacts_options,
		.start = artifacts_start,
		.render = artifacts_render,
		.example = "kettle submission artifacts 12 -o profile"},
	{.command = "submission.cancel", .render = render_submission_cancelled},
	{.command = "submission.delete", .start = delete_submission, .render = render_submission_deleted},
	{.command = "user.list", .render = render_user_list},
	{.command = "user.show", .render = render_user_show},
	{.command = "user.ban",
		.render = render_user_banned,
		.example = "kettle user ban mallory --reason \"attacks the machine\""},
	{.command = "user.unban", .render = render_user_unbanned},
	{.command = "user.role", .render = render_user_role, .example = "kettle user role ada creator"},
	{.command = "user.link", .start = render_user_link_start, .render = render_user_link},
	{.command = "user.join", .render = render_user_link, .example = "kettle user join ada-2 ada"},
	{.command = "admin.start", .render = render_admin_accepting},
	{.command = "admin.stop", .render = render_admin_accepting},
	{.command = "admin.stats", .render = render_admin_stats},
	{.command = "admin.backup",
		.start = render_admin_long_start,
		.render = render_admin_backup,
		.example = "kettle admin backup /var/backups/kettle-2026-07-01.db"},
	{.command = "admin.export",
		.start = render_admin_long_start,
		.render = render_admin_export,
		.example = "kettle admin export results --format csv"},
	{.command = "task.check",
		.render = task_work_render_check,
		.status = task_work_check_status,
		.example = "kettle task check tasks/vectoradd_cpp competition.yaml"},
	{.command = "admin.gc", .render = render_admin_freed},
	{.command = "task.run",
		.own = task_run_options,
		.start = submit_task_run,
		.render = render_task_run,
		.status = render_submission_status,
		.example = "kettle task run tasks/vectoradd_cpp submission.cpp --mode test"},
	{.command = "task.verify",
		.start = task_work_verify,
		.render = task_work_render_verify,
		.status = task_work_verify_status,
		.example = "kettle task verify tasks/vectoradd_cpp --mode test"},
	{.command = "task.pack",
		.own = task_pack_options,
		.start = task_work_pack,
		.example = "kettle task pack tasks/vectoradd_cpp -o vectoradd.zip"},
	{.command = "task.new", .start = task_work_new, .example = "kettle task new mine --from vectoradd_cpp"},
	{.command = "problems.sync",
		.own = problems_options,
		.start = problems_start,
		.render = problems_render,
		.status = problems_status,
		.example = "kettle problems sync competition.yaml --dry-run"},
	{.command = "plugin.list", .render = render_local_plugin_list},
	{.command = "plugin.info", .render = render_local_plugin_info},
	{.command = "plugin.test", .render = render_local_plugin_test, .status = render_local_plugin_test_status},
	{.command = "device.list", .render = render_device_list},
	{.command = "queue.place", .hidden = true, .render = render_queue_positions},
	{.command = "device.calibrate",
		.start = render_device_calibrate_start,
		.render = render_device_calibrated,
		.status = render_device_calibrated_status,
		.example = "kettle device calibrate CPU"},
	{.command = "device.disable",
		.render = render_device_changed,
		.example = "kettle device disable H100.1 --reason 'a fan is broken'"},
	{.command = "device.enable",
		.render = render_device_changed,
		.status = render_device_changed_status,
		.example = "kettle device enable H100 --test"},
	{.command = "config.check", .render = render_local_config_check},
	{.command = "version", .render = render_local_version, .status = render_local_version_status},
	{.command = "task.read", .hidden = true},
	{.command = "problems.read", .hidden = true},
	{.command = "submission.artifact", .hidden = true},
	{.command = "leaderboard.rate_limits", .hidden = true},
	{NULL},
};

/* What one line is about, before a command is known. */
struct line {
	struct cli *cli;
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

/* "`kettle leaderboard` is followed by one of: create, delete, list, show." */
static int
group_alone(const struct line *line, int words)
{
	struct kettle_error err;
	char list[400] = "";
	size_t used = 0;
	AUTO_JSON json_t *names = args_following(line->table, words, line->argv);
	const char *name;
	json_t *value;
	json_object_foreach(names, name, value)
		if (used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", name);
	kettle_fail(&err, KETTLE_EINVAL, "`kettle %s` is followed by one of: %s.", line->argv[0], list);
	return usage(line, &err);
}

static int
help(const struct line *line)
{
	struct kettle_error err = {0};
	const json_t *command = NULL;
	int words = 0;
	if (line->argc > 0 && strcmp(line->argv[0], "--manual") == 0) {
		help_manual(line->term.out, line->table, cli_uis);
		return RUN_OK;
	}
	if (line->argc > 0 && strcmp(line->argv[0], "--reference") == 0) {
		reference_write(line->term.out, line->table, cli_uis);
		return RUN_OK;
	}
	if (line->argc > 0 && strcmp(line->argv[0], "--words") == 0) {
		help_words(line->term.out, line->table, cli_uis, line->argc - 1, line->argv + 1);
		return RUN_OK;
	}
	if (args_find(line->table, line->argc, line->argv, &command, &words, &err))
		return usage(line, &err);
	if (command)
		help_command(&line->term, command, command_ui_find(cli_uis, command));
	else if (words > 0)
		help_group(&line->term, line->table, cli_uis, words, line->argv);
	else
		help_all(&line->term, line->table, cli_uis);
	return RUN_OK;
}

static bool
asks_for_help(const struct line *line, int words)
{
	return words < line->argc && (strcmp(line->argv[words], "--help") == 0 || strcmp(line->argv[words], "-h") == 0);
}

/* Everything that is answered at once: the exit status; -1 where *ret_command is to be carried out. */
static int
answer_at_once(const struct line *line, const json_t **ret_command, int *ret_words)
{
	struct kettle_error err = {0};
	struct line rest = *line;
	if (line->argc > 0 && strcmp(line->argv[0], "help") == 0) {
		rest.argc--;
		rest.argv++;
		return help(&rest);
	}
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
	kettle_fail(
		&err, KETTLE_EINVAL, "There is no global option `%s`; `kettle help` lists what there is.", line->argv[0]);
	return usage(line, &err);
}

static int
cli_run(void *self, int argc, const char *const *argv, const json_t *globals, void (*done)(void *arg, int status),
	void *arg, struct kettle_error *err)
{
	struct cli *cli = self;
	struct line line = {
		.cli = cli, .table = cli->host->commands(cli->host), .globals = globals, .argc = argc, .argv = argv};
	const json_t *command = NULL;
	int words = 0;
	if (cli->run)
		return kettle_fail(err, KETTLE_ECONFLICT, "A command line is being carried out already.");
	term_init(&line.term, stdout);
	int status = answer_at_once(&line, &command, &words);
	if (status >= 0)
		run_post_done(cli->host, done, arg, status);
	else
		run_start(cli->host, globals, command, command_ui_find(cli_uis, command), argc - words, argv + words, &cli->run,
			done, arg);
	return 0;
}

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct cli *cli = calloc(1, sizeof(*cli));
	if (!cli)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the command line.");
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

/* main calls it at SIGINT too: a command that still waits ends with what it has to say. */
static void
stop(void *self, kettle_fn done, void *arg)
{
	struct cli *cli = self;
	if (cli->run)
		run_interrupt(cli->run);
	done(arg);
}

static void
destroy(void *self)
{
	free(self);
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
	.destroy = destroy,
	.frontend = &frontend,
};
