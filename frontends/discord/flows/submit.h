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
#ifndef KETTLE_DISCORD_FLOWS_SUBMIT_H
#define KETTLE_DISCORD_FLOWS_SUBMIT_H

#include "discord/interaction/interaction.h"

struct submit; /* what the flow remembers */

/* done(arg): what an earlier process left was asked again, and submission_message.h has its submissions. */
struct submit *submit_new(struct bot *bot, kettle_fn done, void *arg);
/* NULL is allowed. When no answer can come any more. */
void submit_free(struct submit *submit);

/* /leaderboard submit MODE. */
void submit_begin(struct interaction *interaction);
/* The menu of devices: "ID", or "ID:OFFSET" of a button to another page of it. */
void submit_chosen(struct interaction *interaction, const char *arguments);

#endif
