/* SPDX-License-Identifier: MIT */
/* A column of a table for people: of a command's answer, or of what a frontend draws itself. */
#pragma once

#include <stdbool.h>

struct view_column {
	const char *title;
	const char *cell; /* template over a row, see session/command.h */
	bool right;       /* numbers */
	bool cut;         /* where the terminal is too narrow: cut if spare is set, else broken between words */
	unsigned spare;   /* where that is not enough, columns are left out: 1 first, then 2 and so on; 0: never */
};

/* Columns as initializers; SPARE_: with their place in the order in which they are left out. */
#define COLUMN(title, cell) SPARE_COLUMN(0, title, cell)
#define COLUMN_RIGHT(title, cell) SPARE_COLUMN_RIGHT(0, title, cell)
#define COLUMN_CUT(title, cell) SPARE_COLUMN_CUT(0, title, cell)
#define SPARE_COLUMN(order, title, cell) \
	{ \
		title, cell, false, false, order \
	}
#define SPARE_COLUMN_RIGHT(order, title, cell) \
	{ \
		title, cell, true, false, order \
	}
#define SPARE_COLUMN_CUT(order, title, cell) \
	{ \
		title, cell, false, true, order \
	}
