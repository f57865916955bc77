/* SPDX-License-Identifier: MIT */
/* Says which leaderboard is being tried while a command creates some. */
#include <config.h>

#include "discord/flows/trial.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/interaction/answer.h"
#include "discord/render/message.h"

struct trial {
	struct interaction *interaction; /* which the call holds */
	json_t *boards;
	uint64_t subscription;
	bool subscribed, said;
	interaction_fn fn;
	kettle_fn end;
	void *arg;
};

/* A menu stays as it is, since the user can choose again if the board is refused: one message below it names the board. */
static void
on_event(void *arg, const json_t *event)
{
	struct trial *trial = arg;
	const json_t *report = json_object_get(event, "event");
	const char *name = json_text_or_empty(report, "name");
	bool menu = trial->interaction->kind != INTERACTION_COMMAND;
	json_int_t count = member_int(report, "count");
	if (!member_is(report, "event", "trying") || !json_object_get(trial->boards, name) || (menu && trial->said))
		return;
	AUTO_FREE char *bold = answer_bold(name);
	json_t *message = count > 1 ? message_printf("Trying the task of %s (%lld of %lld)…", bold,
									  (long long)member_int(report, "index"), (long long)count)
								: message_printf("Trying the task of %s…", bold);
	trial->said = true;
	if (menu)
		interaction_follow_up(trial->interaction, message);
	else
		(void)interaction_edit(trial->interaction, message, NULL, NULL);
}

static void
unsubscribe(struct trial *trial)
{
	const struct kettle_host *host = trial->interaction->bot->host;
	if (trial->subscribed)
		(void)host->unsubscribe(host, trial->subscription, NULL, NULL);
	trial->subscribed = false;
}

static void
on_answer(struct interaction *interaction, const json_t *result, void *arg)
{
	struct trial *trial = arg;
	unsubscribe(trial);
	trial->fn(interaction, result, trial->arg);
}

static void
on_end(void *arg)
{
	struct trial *trial = arg;
	unsubscribe(trial);
	if (trial->end)
		trial->end(trial->arg);
	json_decref(trial->boards);
	free(trial);
}

void
trial_call(struct interaction *interaction, const char *command, json_t *args_take, json_t *boards_take,
	interaction_fn fn, kettle_fn end, void *arg)
{
	const struct kettle_host *host = interaction->bot->host;
	struct trial *trial =
		xnew(struct trial, .interaction = interaction, .boards = boards_take, .fn = fn, .end = end, .arg = arg);
	AUTO_JSON json_t *filter = json_pack("{s:b}", "task_run", 1);
	trial->subscribed =
		host->subscribe(host, interaction->actor, filter, -1, on_event, trial, &trial->subscription, NULL) == 0;
	interaction_call(interaction, command, args_take, on_answer, on_end, trial);
}
