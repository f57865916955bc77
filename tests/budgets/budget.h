/* SPDX-License-Identifier: MIT */
/* Operations that have a budget of instructions, and the places where callgrind begins and ends to count. */
#pragma once

/* Of the times that each operation is performed, the test takes the cheapest of the last five: the first ones fill caches. */
#define BUDGET_TIMES 8

/*
 * The test starts callgrind with --zero-before=budget_begin --dump-before=budget_end: a dump has what all threads did between
 * these calls. The second one prints the name, so that the lines that a program prints belong to its dumps, in their order.
 */
void budget_begin(void);
void budget_end(const char *name);

/* Each performs operations on a database of its own. */
void budget_core(void);   /* core_budgets.c */
void budget_engine(void); /* engine_budgets.c */
void budget_boards(void); /* board_budgets.c */
