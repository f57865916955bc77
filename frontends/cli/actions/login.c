/* SPDX-License-Identifier: MIT */
/* Logs in at a server: shows the code that confirms it, and waits. */
#include <config.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "cli/actions/actions.h"
#include "common/template.h"

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
