/* SPDX-License-Identifier: MIT */
/* Deletes a leaderboard: a menu where none is named, then a form in which its name must be typed. Loop thread. */
#ifndef KETTLE_DISCORD_FLOWS_DELETE_H
#define KETTLE_DISCORD_FLOWS_DELETE_H

#include "discord/interaction/interaction.h"

/* /leaderboard delete, which is not deferred: a form cannot follow a deferral. */
void delete_begin(struct interaction *interaction);
/* The menu of boards: "", or "OFFSET:" of a button to another page of it. */
void delete_chosen(struct interaction *interaction, const char *arguments);
/* The form: "NAME". */
void delete_confirmed(struct interaction *interaction, const char *arguments);

#endif
