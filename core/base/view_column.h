/* SPDX-License-Identifier: MIT */
/* A column of a table for people: of a command's answer, or of what a frontend draws itself. */
#ifndef KETTLE_BASE_VIEW_COLUMN_H
#define KETTLE_BASE_VIEW_COLUMN_H

#include <stdbool.h>

struct view_column {
	const char *title;
	const char *cell; /* template over a row, see session/command.h */
	bool right;       /* numbers */
	bool cut;         /* may be shortened where the terminal is too narrow */
};

/* Columns as initializers. */
#define COLUMN(title, cell) \
	{ \
		title, cell, false, false \
	}
#define COLUMN_RIGHT(title, cell) \
	{ \
		title, cell, true, false \
	}
#define COLUMN_CUT(title, cell) \
	{ \
		title, cell, false, true \
	}

#endif
