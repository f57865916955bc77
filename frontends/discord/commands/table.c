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
#define INTEGER(name_, help_) .name = (name_), .help = (help_), .kind = OPTION_KIND_INTEGER
#define FLAG(name_, help_) .name = (name_), .help = (help_), .kind = OPTION_KIND_FLAG
#define USER(name_, help_) .name = (name_), .help = (help_), .kind = OPTION_KIND_USER, .required = true
#define ATTACHED(name_, help_) .name = (name_), .help = (help_), .kind = OPTION_KIND_FILE
#define BOARD TEXT("leaderboard_name", "The leaderboard"), .completes = COMPLETES_BOARD
#define BOARD_REQUIRED BOARD, .required = true
#define SUBMISSION_ID INTEGER("submission_id", "The number of the submission"), .required = true
#define REASON TEXT("reason", "The reason, which the user reads"), .required = true
#define DEADLINE "2026-07-31, 2026-07-31 18:00 (UTC), +30d, +12h or none"

#define SUBMIT(mode, help_) \
	{ \
		"leaderboard submit " mode, help_, \
			OPTIONS({ATTACHED("script", "The source file"), .required = true}, {BOARD}, \
				{TEXT("gpu", "Devices, with commas between them; default: a menu"), .completes = COMPLETES_DEVICE}), \
			.run = submit_begin \
	}

const struct bot_command discord_commands[] = {
	{"leaderboard create", "Create a leaderboard from a task",
		OPTIONS({TEXT("leaderboard_name", "Letters, digits, . _ and -"), .required = true},
			{TEXT("deadline", DEADLINE), .required = true}, {ATTACHED("task_zip", "A zip of the task's folder")},
			{ATTACHED("reference_code", "Or a single reference file: .py, .cu, .cuh or .cpp")}),
		.run = create_begin},
	{"leaderboard delete", "Delete a leaderboard with all its submissions", OPTIONS({BOARD}), .run = delete_begin,
		.at_once = true},
	{"leaderboard list", "List the leaderboards", OPTIONS({FLAG("all", "Also those that have ended")}),
		.run = discord_board_list},
	{"leaderboard submissions", "List your submissions", OPTIONS({BOARD}), .run = discord_submission_list},
	{"leaderboard join", "Join closed leaderboards with an invite",
		OPTIONS({TEXT("code", "The code of the invite"), .required = true}), .run = discord_user_join},
	{"leaderboard link", "Join this account with your account on the web or the command line",
		OPTIONS({TEXT("code", "A code that you were shown there; default: create a code to enter there")}),
		.run = discord_user_link},
	{"leaderboard show", "Show the rankings of a leaderboard", OPTIONS({BOARD_REQUIRED}), .run = discord_board_show},
	{"leaderboard show-personal", "Show your ranked submissions", OPTIONS({BOARD_REQUIRED}),
		.run = discord_board_personal},
	{"leaderboard task", "Get the files of a leaderboard's task", OPTIONS({BOARD_REQUIRED}), .run = discord_files_task},
	{"leaderboard template", "Get a file to start from",
		OPTIONS({BOARD_REQUIRED},
			{TEXT("lang", "A language or a template by its name; default: all"), .completes = COMPLETES_LANGUAGE}),
		.run = discord_files_template},
	{"leaderboard eval-code", "Get the standard harness of a language",
		OPTIONS({TEXT("language", "A language or an alias of it"), .required = true, .completes = COMPLETES_LANGUAGE}),
		.run = discord_files_harness},
	{"leaderboard get-submission", "Show one of your submissions with its report and code", OPTIONS({SUBMISSION_ID}),
		.run = discord_submission_show},
	{"leaderboard help", "Show what this bot can do", .run = discord_user_help},
	SUBMIT("test", "Check whether your kernel is right"),
	SUBMIT("benchmark", "Measure your kernel, without ranking it"),
	SUBMIT("profile", "Profile your kernel"),
	SUBMIT("ranked", "Submit your kernel to the ranking"),
	{"admin start", "Accept submissions again", .run = discord_admin_start},
	{"admin stop", "Accept no more submissions", .run = discord_admin_stop},
	{"admin show-stats", "Show statistics of use", OPTIONS({FLAG("last_day_only", "Only the last 24 hours")}, {BOARD}),
		.run = discord_admin_stats},
	{"admin ban", "Ban a user", OPTIONS({USER("user", "The user")}, {REASON}), .run = discord_moderate_ban},
	{"admin unban", "Lift a ban", OPTIONS({USER("user", "The user")}), .run = discord_moderate_unban},
	{"admin flag", "Mark a submission as a cheat", OPTIONS({SUBMISSION_ID}, {REASON}), .run = discord_moderate_flag},
	{"admin unflag", "Remove the mark as a cheat", OPTIONS({SUBMISSION_ID}), .run = discord_moderate_unflag},
	{"admin delete-submission", "Delete a submission", OPTIONS({SUBMISSION_ID}), .run = discord_moderate_delete},
	{"admin get-submission", "Show any submission with its report and code", OPTIONS({SUBMISSION_ID}),
		.run = discord_submission_show},
	{"admin rerun", "Run a submission again", OPTIONS({SUBMISSION_ID}), .run = discord_moderate_rerun},
	{"admin update", "Change a leaderboard",
		OPTIONS({BOARD_REQUIRED}, {TEXT("deadline", DEADLINE)},
			{TEXT("visibility", "Who may see it"), .choices_of = {"leaderboard.update", "visibility"}},
			{TEXT("code", "Who may read the code of submissions"),
				.choices_of = {"leaderboard.update", "code_visibility"}}),
		.run = discord_moderate_update},
	{"admin update-problems", "Create and update leaderboards from a repository",
		OPTIONS({TEXT("repository", "OWNER/NAME on GitHub, or the https:// URL of a zip")},
			{TEXT("problem_set", "Only this set")}, {TEXT("branch", "A branch on GitHub")},
			{FLAG("force", "Also changes that drop scores")},
			{FLAG("closed", "New leaderboards are for invited users only")}),
		.run = discord_moderate_update_problems},
	{"admin rate-limit", "Limit the submissions of each user",
		OPTIONS({BOARD_REQUIRED},
			{TEXT("category", "leaderboard: ranked submissions; test: all others"), .required = true,
				.choices_of = {"leaderboard.rate_limit", "category"}},
			{INTEGER("per_hour", "At most so many in an hour"), .required = true}),
		.run = discord_moderate_rate_limit},
	{"admin invite", "Create invites to a closed leaderboard",
		OPTIONS({BOARD_REQUIRED}, {INTEGER("count", "How many, each for one user; default: 1")}),
		.run = discord_moderate_invite},
	{"admin resync", "Register the commands and create missing roles", .run = discord_admin_resync},
	{"ping", "Ask whether the bot is there", .run = discord_user_ping, .at_once = true},
	{"verifyruns", "Run a known submission on each unit", .run = discord_admin_verify_runs},
	{"verifydb", "Check whether the database is in order", .run = discord_admin_verify_db},
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
