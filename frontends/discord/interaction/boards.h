/* SPDX-License-Identifier: MIT */
/* The leaderboards that a user may see, kept in memory, so that names complete at once. Loop thread. */
#pragma once

#include <jansson.h>

#include "discord/interaction/interaction.h"

/*
 * fn gets the active boards that the interaction's user may see, in the form of leaderboard.list; at once if they are
 * known. end and arg as for interaction_call.
 */
void boards_get(struct interaction *interaction, interaction_fn fn, kettle_fn end, void *arg);
/* Forgets the lists: a board, or the right to see one, has changed. */
void boards_forget(struct bot *bot);
