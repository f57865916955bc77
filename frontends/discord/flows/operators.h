/* SPDX-License-Identifier: MIT */
/* What operators and creators of leaderboards must know, told to them alone. Loop thread. */
#ifndef KETTLE_DISCORD_OPERATORS_H
#define KETTLE_DISCORD_OPERATORS_H

#include "discord/flows/announcement.h"

/* unit.*, storage.*, runner.*: in the operators' channel. */
void operators_told(struct announcement *a);
/* leaderboard.fault: to the board's creator as a direct message, and in the operators' channel. */
void operators_fault(struct announcement *a);

#endif
