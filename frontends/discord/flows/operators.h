/* SPDX-License-Identifier: MIT */
/* Announcements only for operators and creators of leaderboards. Loop thread. */
#ifndef KETTLE_DISCORD_OPERATORS_H
#define KETTLE_DISCORD_OPERATORS_H

#include "discord/flows/announcement.h"

/* unit.*, storage.*, runner.*: posts in the operators' channel. */
void operators_told(struct announcement *a);
/* leaderboard.fault, leaderboard.renamed: sends a direct message to the board's creator, and posts in the operators' channel. */
void operators_creator(struct announcement *a);

#endif
