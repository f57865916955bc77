/* SPDX-License-Identifier: MIT */
/*
 * A submission that the engine has accepted: its live message, the private thread with the report of each device, the
 * public thread of each ranked result.
 *
 * The live message is the answer to the user's command, edited after progress events while its token lives (15
 * minutes), then a message of the bot's in a private thread. State "sub/NUMBER" has everything that a later process
 * needs; it is removed when all is posted. Loop thread.
 */
#pragma once

#include "discord/interaction/interaction.h"

struct submission_messages;

/* Calls done(arg) when it follows the submissions of an earlier process again. */
struct submission_messages *lives_new(struct bot *bot, kettle_fn done, void *arg);
/* Stops following; events that are not done come again. NULL is allowed. */
void lives_stop(struct submission_messages *lives);
/* Call this after lives_stop, when no answer can come any more. NULL is allowed. */
void lives_free(struct submission_messages *lives);

/*
 * Follows a submission. submission: the answer of `submit`; file_name: the submitted file's. Calls stored(arg) when
 * the state is written, or cannot be.
 */
void lives_open(
	struct interaction *interaction, const json_t *submission, const char *file_name, kettle_answer stored, void *arg);
/*
 * Handles an event of a submission: calls host->event_done when everything about it is posted. false: the submission
 * was not made here. event is borrowed.
 */
bool lives_event(struct bot *bot, const json_t *event);
