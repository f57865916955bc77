/* SPDX-License-Identifier: MIT */
/* Pages of a leaderboard: one that nothing is kept of, and one in which a result has changed since. */
#include <config.h>

#include "budgets/budget.h"
#include "unit/command_fixture.h"

#define USERS 30

static struct commands_fixture commands_of;

static void
rank(int user, double score)
{
	char name[32];
	(void)snprintf(name, sizeof(name), "user-%d", user);
	(void)commands_submit(&commands_of, name, "arena", "ranked");
	commands_finish(&commands_of, fixture_int(&commands_of.f, "SELECT max(id) FROM jobs"),
		json_pack("{s:s, s:f, s:[]}", "state", "passed", "score", score, "runs"));
}

static void
show(int limit, const char *name)
{
	json_t *args = json_pack("{s:s, s:i}", "name", "arena", "limit", limit);
	budget_begin();
	(void)commands_must(&commands_of, "alice", "leaderboard.show", args);
	budget_end(name);
}

void
budget_boards(void)
{
	commands_open(&commands_of);
	commands_board(&commands_of, "arena", NULL);
	for (int i = 0; i < USERS; i++)
		rank(i, 1 + i);
	/* What is kept answers the same request alone. */
	for (int i = 0; i < BUDGET_TIMES; i++)
		show(100 - i, "board_first");
	for (int i = 0; i < BUDGET_TIMES; i++) {
		rank(USERS - 1, USERS - 0.1 * (i + 1)); /* still the last */
		show(100, "board_changed");
	}
	commands_close(&commands_of);
}
