/* SPDX-License-Identifier: MIT */
/* "Did you mean …": the known name that a mistyped one was meant to be. */
#include <config.h>

#include "base/nearest.h"

#include "base/base.h"

#include <ctype.h>

/* Longer names are no typing errors of one another, and the tables stay on the stack. */
#define LONGEST 64
#define SHORTEST_BEGINNING 3 /* letters of a beginning that is a hint */

struct best {
	const char *name;
	size_t distance;
};

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int
lower(const char *text, size_t at)
{
	return tolower((unsigned char)text[at]);
}

/* One row of the table of distances: to the first i letters of a from the first 0…m of b. */
static void
next_row(const char *a, size_t i, const char *b, size_t m, size_t rows[3][LONGEST + 1])
{
	const size_t *before = rows[(i + 1) % 3], *above = rows[(i + 2) % 3];
	size_t *row = rows[i % 3];
	row[0] = i;
	for (size_t j = 1; j <= m; j++) {
		int x = lower(a, i - 1), y = lower(b, j - 1);
		row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
		if (i > 1 && j > 1 && x == lower(b, j - 2) && y == lower(a, i - 2))
			row[j] = least(row[j], before[j - 2] + 1);
	}
}

static size_t
distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][LONGEST + 1];
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++)
		next_row(a, i, b, m, rows);
	return rows[n % 3][m];
}

static void
consider(const char *word, const char *candidate, struct best *best)
{
	size_t n = strlen(word), m = strlen(candidate);
	if (n > LONGEST || m > LONGEST || n == 0)
		return;
	size_t allowed = n / 3 > 1 ? n / 3 : 1;
	size_t found = distance(word, n, candidate, m);
	/* One letter is never a hint of another, nor of a word that has it. */
	bool near = found <= allowed && found < n && found < m;
	/*
	 * A word that begins a name is a hint of it, but a typing error is nearer; of several such names the shortest is
	 * nearest.
	 */
	if (!near && n >= SHORTEST_BEGINNING && strncasecmp(word, candidate, n) == 0) {
		near = true;
		found = LONGEST + m;
	}
	if (!near || (best->name && found >= best->distance))
		return;
	*best = (struct best){candidate, found};
}

const char *
nearest(const char *word, const char *const *candidates)
{
	struct best best = {0};
	for (; *candidates; candidates++)
		consider(word, *candidates, &best);
	return best.name;
}

const char *
nearest_key(const char *word, const json_t *object)
{
	struct best best = {0};
	json_object_each(object, key, value)
		consider(word, key, &best);
	return best.name;
}
