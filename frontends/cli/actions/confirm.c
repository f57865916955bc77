/* SPDX-License-Identifier: MIT */
/* Commands that ask before they do what cannot be undone: a name is typed. Pipes and scripts are not asked. */
#include <config.h>

#include <strings.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "cli/actions/actions.h"
#include "cli/text/template.h"

static void
on_typed(struct run *run, const char *typed, size_t size)
{
	struct kettle_error err = {0};
	const char *name = member_text(run->args.own, "confirm");
	(void)size;
	if (strcasecmp(typed, name) == 0) {
		run_command(run);
		return;
	}
	kettle_fail(&err, KETTLE_EINVAL, "That is not `%s`: %s.", name, member_text(run->args.own, "refused"));
	run_fail(run, &err);
}

/* Carries the command out once name is typed. refused: what is not done else. */
static void
ask(struct run *run, const char *name, const char *refused)
{
	json_object_set_new(run->args.own, "confirm", json_string(name));
	json_object_set_new(run->args.own, "refused", json_string(refused));
	template_put(&run->term, "Type {*confirm} to go on: ", run->args.own, NULL);
	fflush(run->term.out);
	run_read_line(run, on_typed);
}

static bool
is_asked(const struct run *run, const char *option)
{
	return run->term.ask && !run->json && !member_true(run->args.values, option);
}

void
confirm_delete(struct run *run)
{
	AUTO_FREE char *id = template_text("{id}{name}", run->args.values, NULL);
	if (!is_asked(run, "force")) {
		run_command(run);
		return;
	}
	template_put(&run->term, "This deletes the {id?submission|leaderboard} and everything that belongs to it. ",
		run->args.values, NULL);
	ask(run, id, "nothing is deleted");
}

/* Shows who made the code: a user who was talked into typing it sees whom it lets in. */
static void
looked_up(struct run *run, const json_t *result)
{
	static const char user[] =
		"{*user_name} ({identities@{provider} {name}}{role=user?|; {role}}; {submissions} submission{submissions#|s})";
	const json_t *from = json_object_get(result, "from");
	fputs("This joins ", run->term.out);
	template_put(&run->term, user, from, NULL);
	fputs("\ninto you, ", run->term.out);
	template_put(&run->term, user, json_object_get(result, "into"), NULL);
	fputs(": one user from then on, for good.\n", run->term.out);
	json_object_set_new(run->args.values, "confirm", json_true());
	ask(run, member_text(from, "user_name"), "nobody is joined");
}

void
confirm_link(struct run *run)
{
	bool code = json_object_get(run->args.values, "code"), asked = is_asked(run, "confirm");
	if (code && !asked)
		json_object_set_new(run->args.values, "confirm", json_true());
	run_call(run, "user.link", run->args.values, code && asked ? looked_up : run_result);
}
