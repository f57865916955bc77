/* SPDX-License-Identifier: MIT */
/*
 * A new leaderboard, from the command to the board.
 *
 *     command ─▶ attachment fetched ─▶ task.unpack ─▶ devices known? ─ no ─▶ menu ─▶ chosen
 *                                                          │ yes                       │
 *                                                          └────▶ leaderboard.create ◀─┘
 *
 * While a menu waits, the task is in memory and the rest of the request is the state "make/ID": after a restart the attachment
 * is fetched again. Loop thread.
 */
#ifndef KETTLE_DISCORD_FLOWS_CREATE_H
#define KETTLE_DISCORD_FLOWS_CREATE_H

#include "discord/interaction/interaction.h"

struct creations; /* what the flow remembers */

/* Also removes what an earlier process has left for too long. */
struct creations *creations_new(struct bot *bot);
/* NULL is allowed. After rest_free, so that nothing is under way. */
void creations_free(struct creations *creations);

/* /leaderboard create. */
void create_begin(struct interaction *interaction);
/* The menu of devices: "ID", or "OFFSET:ID" of a button to another page of it. */
void create_chosen(struct interaction *interaction, const char *arguments);

#endif
