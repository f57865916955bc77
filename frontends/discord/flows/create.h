/* SPDX-License-Identifier: MIT */
/*
 * A new leaderboard, from the command to the board.
 *
 *     command ─▶ attachment fetched ─▶ task.unpack ─▶ devices and language known? ─ no ─▶ menu ─▶ chosen
 *                        ▲                                 │ yes                             │  │
 *                        │                                 └─▶ leaderboard.create ◀───────────┘  │
 *                        └────────────── where several languages fit the file ──────────────────┘
 *
 * While a menu waits, the task is in memory, unless several languages fit it, and the rest of the request is the state
 * "make/ID": after a restart the attachment is fetched again. Loop thread.
 */
#pragma once

#include "discord/interaction/interaction.h"

struct creations; /* the flow's state */

/* Also removes old menus of an earlier process. */
struct creations *creations_new(struct bot *bot);
/* Call this after rest_free, when no request is under way. NULL is allowed. */
void creations_free(struct creations *creations);

/* Handles /leaderboard create. */
void create_begin(struct interaction *interaction);
/* Handles the menus of devices and languages: "ID", or "OFFSET:ID" for a button to another page. */
void create_chosen(struct interaction *interaction, const char *arguments);
/*
 * interaction_call, with a message on the leaderboard that is being tried until the answer. boards: an object whose keys
 * are the names of those that the command may create (stolen).
 */
void trial_call(struct interaction *interaction, const char *command, json_t *args_take, json_t *boards_take,
	interaction_fn fn, kettle_fn end, void *arg);
