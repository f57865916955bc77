/* SPDX-License-Identifier: MIT */
/* The bot's commands and the verbs of its buttons, menus and forms. */
#include <config.h>

#include "discord/commands/table.h"

#include "discord/commands/handlers.h"
#include "discord/flows/create.h"
#include "discord/flows/delete.h"
#include "discord/flows/submit.h"

#define OPTIONS(...) \
	.options = (const struct option[]) \
	{ \
		__VA_ARGS__, \
		{ \
			0 \
		} \
	}
#define TEXT(name_, help_) .name = (name_), .help = (help_), .kind = OPTION_KIND_TEXT
#define FLAG(name_, help_) .name = (name_), .help = (help_), .kind = OPTION_KIND_FLAG
#define ATTACHED(name_, help_) .name = (name_), .help = (help_), .kind = OPTION_KIND_FILE

#define SUBMIT(mode, help_) \
	{ \
		"leaderboard submit " mode, help_, "submit", "leaderboard", \
			OPTIONS({ATTACHED("script", "The source file"), .required = true}, \
				{TEXT("gpu", "Devices, with commas between them; default: a menu"), .completes = true}), \
			.run = submit_begin \
	}

const struct bot_command discord_commands[] = {
	{"leaderboard create", NULL, "leaderboard.create", "name=leaderboard_name deadline! force harness",
		OPTIONS({ATTACHED("task_zip", "A zip of the task's folder")},
			{ATTACHED("reference_code", "Or a single reference file: .py, .cu, .cuh or .cpp")}),
		.run = create_begin},
	{"leaderboard delete", "Delete a leaderboard with all its submissions", "leaderboard.delete", "name?",
		.run = delete_begin, .at_once = true},
	{"leaderboard list", NULL, "leaderboard.list", "all", .run = discord_board_list},
	{"leaderboard submissions", "List your submissions", "submission.list", "leaderboard", .with = "{\"limit\": 20}",
		.answered = discord_submission_list},
	{"leaderboard join", NULL, "leaderboard.join", .args = "code"},
	{"leaderboard link", "Join this account with your account on the web or the command line", "user.link", "code",
		.run = discord_user_link},
	{"leaderboard show", "Show the rankings of a leaderboard", "leaderboard.show", "name", .run = discord_board_show},
	{"leaderboard show-personal", "Show your ranked submissions", "leaderboard.show", "name",
		.with = "{\"mine\": true, \"limit\": 20}", .answered = discord_board_personal},
	{"leaderboard task", "Get the files of a leaderboard's task", "leaderboard.task", "name",
		.answered = discord_files_task},
	{"leaderboard template", "Get a file to start from", "leaderboard.template", "name lang",
		.answered = discord_files_template},
	{"leaderboard eval-code", "Get the standard harness of a language", "harness.show", "language",
		.answered = discord_files_harness},
	{"leaderboard get-submission", "Show one of your submissions, by default the last, with its report and code",
		"submission.show", "id", .answered = discord_submission_show},
	{"leaderboard help", "Show what this bot can do", .run = discord_user_help},
	SUBMIT("test", "Check whether your kernel is right"),
	SUBMIT("benchmark", "Measure your kernel, without ranking it"),
	SUBMIT("profile", "Profile your kernel"),
	SUBMIT("ranked", "Submit your kernel to the ranking"),
	{"admin start", NULL, "admin.resume", .says = "Kettle accepts submissions."},
	{"admin stop", NULL, "admin.pause",
		.says = "Kettle accepts no more submissions until `/admin start`; those that it has accepted still run."},
	{"admin show-stats", NULL, "admin.stats", "last_day=last_day_only leaderboard", .answered = discord_admin_stats},
	{"admin ban", NULL, "user.ban", "*", .answered = discord_moderate_ban},
	{"admin unban", NULL, "user.unban", "*", .answered = discord_moderate_unban},
	{"admin flag", NULL, "submission.flag", .args = "*"},
	{"admin unflag", NULL, "submission.unflag", .args = "*"},
	{"admin delete-submission", "Delete a submission", "submission.show", "id!", .answered = discord_moderate_delete},
	{"admin get-submission", "Show any submission with its report and code", "submission.show", "id!",
		.answered = discord_submission_show},
	{"admin rerun", NULL, "submission.rerun", "id", .with = "{\"no_wait\": true}",
		.says = "Submission {id} runs again{devices? on {devices}}; until it ends, the earlier verdict counts."},
	{"admin update", NULL, "leaderboard.update", .args = "* -force -no_try -harness"},
	{"admin update-problems", "Create and update leaderboards from a repository", "competition.fetch",
		"repository! branch set=problem_set",
		OPTIONS({FLAG("force", "Also apply changes that drop scores")},
			{FLAG("closed", "New leaderboards are for invited users only")},
			{TEXT("harness", "Kettle's harness judges tasks in KernelBot's form, in place of their own"),
				.choices = (const char *const[]){"kettle", NULL}}),
		.answered = discord_moderate_update_problems},
	{"admin rate-limit", NULL, "leaderboard.rate_limit", .args = "*"},
	{"admin invite", NULL, "invite.create", "name count", .answered = discord_moderate_invite},
	{"admin resync", "Register the commands and create missing roles", .run = discord_admin_resync},
	{"ping", "Check whether the bot answers", .run = discord_user_ping, .at_once = true},
	{"verifyruns", .of = "device.verify"},
	{"verifydb", .of = "admin.verify"},
	{NULL},
};

const struct verb discord_verbs[] = {
	{"submit", submit_chosen},
	{"cancel", discord_submission_cancel},
	{"list", discord_board_list_page},
	{"show", discord_board_show_devices},
	{"page", discord_board_show_page},
	{"link", discord_user_link_confirm},
	{"create", create_chosen},
	{"delete", delete_chosen},
	{"deleted", delete_confirmed},
	{"drop", discord_moderate_delete_confirm},
	{NULL},
};
