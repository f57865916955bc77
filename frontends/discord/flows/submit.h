/* SPDX-License-Identifier: MIT */
/*
 * A submission, from the command to the engine's answer.
 *
 *     command ─▶ attachment fetched ─▶ devices known? ─ no ─▶ menu ─▶ chosen
 *                                         │ yes                        │
 *                                         ▼                            ▼
 *                             state "req/ID" ─▶ submit (request: ID) ─▶ submission_message.h
 *
 * The state is written before the engine is asked. A process that finds it asks again with the same request, and gets the
 * same submission if the engine has taken it already. Loop thread.
 */
#pragma once

#include "discord/interaction/interaction.h"

struct submit; /* the flow's state */

/*
 * Restores the flow after a restart: resubmits what an earlier process had stored but not submitted, then calls done(arg).
 * By then submission_message.h follows those submissions.
 */
struct submit *submit_new(struct bot *bot, kettle_fn done, void *arg);
/* Call this when no answer can come any more. NULL is allowed. */
void submit_free(struct submit *submit);

/* Handles /leaderboard submit MODE. */
void submit_begin(struct interaction *interaction);
/* Handles the menu of devices: "ID", or "ID:OFFSET" for a button to another page. */
void submit_chosen(struct interaction *interaction, const char *arguments);
