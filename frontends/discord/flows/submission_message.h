/* SPDX-License-Identifier: MIT */
/*
 * A submission that the engine has taken: the live message, the private thread with the report of each device, the public
 * thread of each ranked result.
 *
 * The live message is the answer to the user's command, edited from the progress events for as long as its token lives (15
 * minutes), then a message of the bot's in a private thread. State "sub/NUMBER" has what a later process needs; it is
 * removed when all has been said. Loop thread.
 */
#ifndef KETTLE_DISCORD_FLOWS_LIVE_H
#define KETTLE_DISCORD_FLOWS_LIVE_H

#include "discord/interaction/interaction.h"

struct submission_messages;

/* done(arg): the submissions that an earlier process followed are followed again. */
struct submission_messages *lives_new(struct bot *bot, kettle_fn done, void *arg);
/* Ends what goes on by itself. NULL is allowed. */
void lives_stop(struct submission_messages *lives);
/* NULL is allowed. After lives_stop, when no answer can come any more. */
void lives_free(struct submission_messages *lives);

/*
 * Follows a submission. submission: as `submit` answers; file_name: of the submitted file. stored: the state is
 * written, or cannot be.
 */
void lives_open(
	struct interaction *interaction, const json_t *submission, const char *file_name, kettle_answer stored, void *arg);
/*
 * Deals with an event of a submission: says host->event_done when all of it has been told. false: it is none of a submission
 * that was made here. event is borrowed.
 */
bool lives_event(struct bot *bot, const json_t *event);

#endif
