/* SPDX-License-Identifier: MIT */
/*
 * Deletes a leaderboard: a menu if the command names none, then a form in which the user must type its name. Loop
 * thread.
 */
#pragma once

#include "discord/interaction/interaction.h"

/* Handles /leaderboard delete, which is not deferred: a form cannot follow a deferral. */
void delete_begin(struct interaction *interaction);
/* Handles the menu of boards: "", or "OFFSET:" for a button to another page. */
void delete_chosen(struct interaction *interaction, const char *arguments);
/* Handles the form: "NAME". */
void delete_confirmed(struct interaction *interaction, const char *arguments);
