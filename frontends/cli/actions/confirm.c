/* SPDX-License-Identifier: MIT */
/*
 * Commands that cannot be undone: on a terminal the user types a name first; without a terminal they need --yes. The
 * login at a server, which shows the code that confirms it, and waits.
 */
#include <config.h>

#include "base/base.h"
#include "cli/actions/actions.h"
#include "common/template.h"

static void
on_typed(struct run *run, const char *typed, size_t size)
{
	struct kettle_error err = {0};
	const char *name = json_text_or_empty(run->args.own, "confirm");
	(void)size;
	if (strcasecmp(typed, name) == 0) {
		run_command(run);
		return;
	}
	kettle_fail(&err, KETTLE_EINVAL, "That is not `%s`: %s.", name, json_text_or_empty(run->args.own, "refused"));
	run_fail(run, &err);
}

/* Calls the command when the user has typed the name. refused: for the message if another word is typed. */
static void
prompt_name(struct run *run, const char *name, const char *refused)
{
	json_object_set_new(run->args.own, "confirm", json_string(name));
	json_object_set_new(run->args.own, "refused", json_string(refused));
	template_put(&run->term, "Type {*confirm} to confirm: ", run->args.own, NULL);
	fflush(run->term.out);
	run_read_line(run, on_typed);
}

const struct args_option confirm_options[] = {
	{"yes", 'y', NULL, "delete without confirmation"},
	{NULL, 0, NULL, NULL},
};

/* The effect of the command, as a template over its arguments. */
static const char *
effect_of(const char *command)
{
	if (strcmp(command, "user.delete") == 0)
		return "This removes the user's name, identities and tokens, and cannot be undone. ";
	if (strcmp(command, "submission.delete_own") == 0)
		return "This deletes all of your submissions{leaderboard? to {leaderboard}}, and everything that belongs to "
			   "them. ";
	return "This deletes {id?the submission|{user?all submissions of the user to {leaderboard}|the leaderboard}} and "
		   "everything that belongs to {user?them|it}. ";
}

void
confirm_delete(struct run *run)
{
	/*
	 * The command has one of these: a submission, a user's submissions, a leaderboard or a user. Without one it is for
	 * oneself.
	 */
	AUTO_FREE char *given = template_text("{id}{user}{name}", run->args.values, NULL);
	const char *id = *given ? given : run->user, *command = json_text_or_empty(run->command, "name");
	struct kettle_error err = {0};
	if (args_flag(&run->args, "yes")) {
		run_command(run);
		return;
	}
	if (!run->term.ask || run->json) {
		kettle_fail(&err, KETTLE_EINVAL,
			"Nothing is deleted: there is no terminal to confirm on; add --yes to delete without confirmation.");
		run_fail(run, &err);
		return;
	}
	template_put(&run->term, effect_of(command), run->args.values, NULL);
	prompt_name(run, id, "nothing is deleted");
}

const struct args_option link_options[] = {
	{"yes", 'y', NULL, "merge without confirmation"},
	{NULL, 0, NULL, NULL},
};

/* Shows the user who made the code: a user who was persuaded to type it then sees who would get access. */
static void
looked_up(struct run *run, const json_t *result)
{
	static const char user[] =
		"{*user_name} ({identities@{provider} {name}}; role: {role}; {submissions} submission{submissions#|s})";
	const json_t *from = json_object_get(result, "from");
	fputs("This merges ", run->term.out);
	template_put(&run->term, user, from, NULL);
	fputs("\ninto you, ", run->term.out);
	template_put(&run->term, user, json_object_get(result, "into"), NULL);
	fputs(": from then on they are one user, and this cannot be undone.\nContinue only if you created the code "
		  "yourself: its creator can then do all that you can.\n",
		run->term.out);
	json_object_set_new(run->args.values, "confirm", json_true());
	prompt_name(run, json_text_or_empty(from, "user_name"), "no users are merged");
}

void
confirm_link(struct run *run)
{
	bool code = json_object_get(run->args.values, "code");
	bool yes = args_flag(&run->args, "yes") || member_true(run->args.values, "confirm");
	bool prompt = run->term.ask && !run->json;
	struct kettle_error err = {0};
	if (code && !yes && !prompt) {
		kettle_fail(&err, KETTLE_EINVAL,
			"No users are merged: there is no terminal to confirm on; add --yes if you created the code yourself.");
		run_fail(run, &err);
		return;
	}
	if (code && yes)
		json_object_set_new(run->args.values, "confirm", json_true());
	run_call(run, "user.link", run->args.values, code && !yes ? looked_up : run_result);
}

static void
login_looked_up(struct run *run, const json_t *result)
{
	template_put(&run->term,
		"{*name} wants to log in as {*user_name}; it began {begun:time}{address?, from {address=unix?this "
		"machine|{address}}}.\nContinue only if you began this login yourself.\n",
		result, NULL);
	json_object_set_new(run->args.values, "confirm", json_true());
	prompt_name(run, json_text_or_empty(result, "user_name"), "the login is not confirmed");
}

void
confirm_login(struct run *run)
{
	bool prompt = run->term.ask && !run->json && !member_true(run->args.values, "confirm");
	run_call(run, "login.confirm", run->args.values, prompt ? login_looked_up : run_result);
}

/* ---- login at a server ---- */

static void
on_confirmed(struct run *run, const json_t *result)
{
	run_finish_facts(run, json_deep_copy(result), "Logged in at {server} as {*user_name}.\n");
}

void
login_answer(struct run *run, const json_t *result)
{
	struct term term;
	/* Standard output is for the result. */
	term_init(&term, stderr);
	template_put(&term,
		"{confirm_url?Open {*confirm_url} and confirm it, or call|Call} `kettle login confirm {*code}` where you are "
		"known "
		"(until {expires:time}).\n",
		result, NULL);
	AUTO_JSON json_t *args =
		json_pack("{s:O, s:O}", "token", json_object_get(result, "token"), "name", json_object_get(result, "name"));
	run_call(run, "login.wait", args, on_confirmed);
}
