/* SPDX-License-Identifier: MIT */
/*
 * The difference of two texts by lines.
 *
 * Theory of operation. Lines become numbers, the same for equal lines: by sorting them, since a hash could be made to
 * collide. A box, a range of lines of each text, loses the lines that both begin and end with; if lines are left in
 * both, the middle of a shortest way through it splits it in two. A search that found no way within SEARCH_EDITS splits
 * at the point that it came furthest to.
 */
#include <config.h>

#include "base/line_diff.h"

#include "base/base.h"
#include "base/text.h"

#define SEARCH_EDITS 1024   /* of one search, from each end */
#define WORK_MAX (48 << 20) /* lines that are compared and diagonals that are visited, in all */
#define DIAGONALS (2 * SEARCH_EDITS + 3)

struct line {
	const char *data;
	size_t size; /* with its newline */
	uint32_t number;
	bool changed;
};

struct lines {
	struct line *items;
	long count;
};

struct differ {
	struct lines texts[2];
	long work;                                /* work left */
	long forward[DIAGONALS], back[DIAGONALS]; /* furthest line of the first text on each diagonal */
};

/* Lines first..end of each text. */
struct box {
	long first[2], end[2];
};

static struct lines
split(const struct line_diff_text *text)
{
	struct lines lines = {0};
	long room = 0;
	const char *at = text->data, *end = at + text->size;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *next = newline ? newline + 1 : end;
		if (lines.count == room) {
			room = room ? room * 2 : 64;
			lines.items = xreallocarray(lines.items, (size_t)room, sizeof(*lines.items));
		}
		lines.items[lines.count++] = (struct line){.data = at, .size = (size_t)(next - at)};
		at = next;
	}
	return lines;
}

static int
compare_lines(const void *a, const void *b)
{
	const struct line *one = *(struct line *const *)a, *other = *(struct line *const *)b;
	size_t shorter = one->size < other->size ? one->size : other->size;
	int order = memcmp(one->data, other->data, shorter);
	return order ? order : (one->size > other->size) - (one->size < other->size);
}

static void
number_lines(struct lines texts[2])
{
	size_t count = (size_t)(texts[0].count + texts[1].count), n = 0;
	AUTO_FREE struct line **sorted = xcalloc(count + 1, sizeof(struct line *));
	uint32_t number = 0;
	for (size_t t = 0; t < 2; t++)
		for (long i = 0; i < texts[t].count; i++)
			sorted[n++] = &texts[t].items[i];
	qsort(sorted, count, sizeof(*sorted), compare_lines);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && compare_lines(&sorted[i - 1], &sorted[i]) != 0)
			number++;
		sorted[i]->number = number;
	}
}

static bool
same(const struct differ *differ, long x, long y)
{
	return differ->texts[0].items[x].number == differ->texts[1].items[y].number;
}

/* Cuts off the lines that both begin and end with. */
static void
trim(struct differ *differ, struct box *box)
{
	while (box->first[0] < box->end[0] && box->first[1] < box->end[1] && same(differ, box->first[0], box->first[1])) {
		box->first[0]++;
		box->first[1]++;
		differ->work--;
	}
	while (
		box->first[0] < box->end[0] && box->first[1] < box->end[1] && same(differ, box->end[0] - 1, box->end[1] - 1)) {
		box->end[0]--;
		box->end[1]--;
		differ->work--;
	}
}

/* The middle of the array is diagonal 0 of the end that the search began at. */
static long *
on(long *reached, long diagonal)
{
	return &reached[diagonal + SEARCH_EDITS + 1];
}

/* The line of each text that a search comes to next at a point: forward from the start of the box, else from its end. */
static bool
goes_on(const struct differ *differ, const struct box *box, bool forward, long x, long y)
{
	return forward ? same(differ, box->first[0] + x, box->first[1] + y)
				   : same(differ, box->end[0] - 1 - x, box->end[1] - 1 - y);
}

/*
 * The furthest line of the first text on a diagonal: by one more edit from a diagonal beside it, then by equal lines. -1:
 * no way within the box leads there. One that the edge cuts off is no loss: from the edge it is nearer to the end.
 */
static long
step(struct differ *differ, const struct box *box, bool forward, long edits, long diagonal)
{
	long *reached = forward ? differ->forward : differ->back;
	long width = box->end[0] - box->first[0], height = box->end[1] - box->first[1], x = edits == 0 ? 0 : -1;
	long left = diagonal > -edits ? *on(reached, diagonal - 1) : -1,
		 above = diagonal < edits ? *on(reached, diagonal + 1) : -1;
	if (left >= 0 && left < width)
		x = left + 1;
	if (above > x && above - diagonal <= height)
		x = above;
	while (x >= 0 && x < width && x - diagonal < height && differ->work > 0 &&
		   goes_on(differ, box, forward, x, x - diagonal)) {
		x++;
		differ->work--;
	}
	differ->work--;
	return *on(reached, diagonal) = x;
}

/* The point of the forward search that is furthest from its start. */
static void
furthest(struct differ *differ, const struct box *box, long edits, long ret_point[2])
{
	long best = -1;
	for (long diagonal = -edits; diagonal <= edits; diagonal += 2) {
		long x = *on(differ->forward, diagonal), y = x - diagonal;
		if (x < 0 || x + y <= best)
			continue;
		best = x + y;
		ret_point[0] = box->first[0] + x;
		ret_point[1] = box->first[1] + y;
	}
}

/* One more edit from both ends. True: they met at *ret_point. */
static bool
search(struct differ *differ, const struct box *box, long edits, long ret_point[2])
{
	long width = box->end[0] - box->first[0], height = box->end[1] - box->first[1], delta = width - height;
	bool odd = delta & 1;
	for (long diagonal = -edits; diagonal <= edits; diagonal += 2) {
		long x = step(differ, box, true, edits, diagonal), other = delta - diagonal;
		if (odd && labs(other) <= edits - 1 && x + *on(differ->back, other) >= width) {
			ret_point[0] = box->first[0] + x;
			ret_point[1] = box->first[1] + x - diagonal;
			return true;
		}
	}
	for (long diagonal = -edits; diagonal <= edits; diagonal += 2) {
		long x = step(differ, box, false, edits, diagonal), other = delta - diagonal;
		if (!odd && labs(other) <= edits && x + *on(differ->forward, other) >= width) {
			ret_point[0] = box->end[0] - x;
			ret_point[1] = box->end[1] - (x - diagonal);
			return true;
		}
	}
	return false;
}

/* Where to split a trimmed box that is empty in neither text; false: nowhere, since there is no work left. */
static bool
find_split(struct differ *differ, const struct box *box, long ret_point[2])
{
	for (long edits = 0; edits <= SEARCH_EDITS; edits++) {
		if (differ->work <= 0)
			return false;
		if (search(differ, box, edits, ret_point))
			return true;
	}
	furthest(differ, box, SEARCH_EDITS, ret_point);
	return true;
}

/* Calls itself for the first part, whose way is half as long or was found by one search, so not deep. */
static void
compare(struct differ *differ, struct box box)
{
	for (;;) {
		long point[2] = {box.first[0], box.first[1]};
		trim(differ, &box);
		bool empty = box.first[0] == box.end[0] || box.first[1] == box.end[1];
		if (empty || !find_split(differ, &box, point) || (point[0] == box.first[0] && point[1] == box.first[1]) ||
			(point[0] == box.end[0] && point[1] == box.end[1])) {
			for (size_t t = 0; t < 2; t++)
				for (long i = box.first[t]; i < box.end[t]; i++)
					differ->texts[t].items[i].changed = true;
			return;
		}
		struct box first = box;
		for (size_t t = 0; t < 2; t++)
			first.end[t] = box.first[t] = point[t];
		compare(differ, first);
	}
}

/* ---- the unified form ---- */

static void
put_line(struct buf *text, char sign, const struct line *line)
{
	buf_add(text, &sign, 1);
	buf_add(text, line->data, line->size);
	if (line->data[line->size - 1] != '\n')
		buf_adds(text, "\n\\ No newline at end of file\n");
}

/* Whether the point behind a group of changes is the end of its hunk; else *at moves to the next change. */
static bool
hunk_ends(const struct lines texts[2], long at[2])
{
	long equal = 0;
	for (; equal <= 2 * LINE_DIFF_CONTEXT; equal++) {
		bool left[2] = {at[0] + equal < texts[0].count, at[1] + equal < texts[1].count};
		bool changed =
			(left[0] && texts[0].items[at[0] + equal].changed) || (left[1] && texts[1].items[at[1] + equal].changed);
		if (!changed && left[0] && left[1])
			continue;
		if (changed) {
			at[0] += equal;
			at[1] += equal;
		}
		return !changed;
	}
	return true;
}

static void
put_range(struct buf *text, char sign, long first, long count)
{
	buf_printf(text, " %c%ld", sign, count > 0 ? first + 1 : first);
	if (count != 1)
		buf_printf(text, ",%ld", count);
}

static void
put_hunk(struct buf *text, const struct lines texts[2], const struct box *box)
{
	long at[2] = {box->first[0], box->first[1]};
	buf_adds(text, "@@");
	put_range(text, '-', box->first[0], box->end[0] - box->first[0]);
	put_range(text, '+', box->first[1], box->end[1] - box->first[1]);
	buf_adds(text, " @@\n");
	while (at[0] < box->end[0] || at[1] < box->end[1]) {
		if (at[0] < box->end[0] && texts[0].items[at[0]].changed)
			put_line(text, '-', &texts[0].items[at[0]++]);
		else if (at[1] < box->end[1] && texts[1].items[at[1]].changed)
			put_line(text, '+', &texts[1].items[at[1]++]);
		else
			put_line(text, ' ', &texts[0].items[(at[1]++, at[0]++)]);
	}
}

/* The hunk that the change at a point begins; *at moves behind it. */
static struct box
next_hunk(const struct lines texts[2], long at[2])
{
	struct box box;
	long before = at[0] < at[1] ? at[0] : at[1];
	before = before < LINE_DIFF_CONTEXT ? before : LINE_DIFF_CONTEXT;
	for (size_t t = 0; t < 2; t++)
		box.first[t] = at[t] - before;
	do {
		/* Moves behind the changed lines at a point. */
		for (size_t t = 0; t < 2; t++)
			while (at[t] < texts[t].count && texts[t].items[at[t]].changed)
				at[t]++;
	} while (!hunk_ends(texts, at));
	long after = texts[0].count - at[0];
	after = after < LINE_DIFF_CONTEXT ? after : LINE_DIFF_CONTEXT;
	for (size_t t = 0; t < 2; t++)
		box.end[t] = at[t] + after;
	return box;
}

static void
put_hunks(struct buf *text, const struct lines texts[2], size_t max_bytes)
{
	long at[2] = {0, 0};
	while (text->len <= max_bytes && (at[0] < texts[0].count || at[1] < texts[1].count)) {
		bool changed = (at[0] < texts[0].count && texts[0].items[at[0]].changed) ||
					   (at[1] < texts[1].count && texts[1].items[at[1]].changed);
		if (!changed) {
			at[0]++;
			at[1]++;
			continue;
		}
		struct box hunk = next_hunk(texts, at);
		put_hunk(text, texts, &hunk);
	}
}

static size_t
count_changed(const struct lines *lines)
{
	size_t count = 0;
	for (long i = 0; i < lines->count; i++)
		count += lines->items[i].changed;
	return count;
}

/* Cuts the text after the last line that ends within the limit. */
static bool
cut(struct buf *text, size_t max_bytes)
{
	if (text->len <= max_bytes)
		return false;
	while (max_bytes > 0 && text->data[max_bytes - 1] != '\n')
		max_bytes--;
	text->len = max_bytes;
	text->data[max_bytes] = '\0';
	return true;
}

void
line_diff(
	const struct line_diff_text *before, const struct line_diff_text *after, size_t max_bytes, struct line_diff *ret)
{
	struct differ *differ = xcalloc(1, sizeof(*differ));
	AUTO_BUF struct buf text = {0};
	differ->work = WORK_MAX;
	differ->texts[0] = split(before);
	differ->texts[1] = split(after);
	number_lines(differ->texts);
	compare(differ, (struct box){.end = {differ->texts[0].count, differ->texts[1].count}});
	ret->removed = count_changed(&differ->texts[0]);
	ret->added = count_changed(&differ->texts[1]);
	buf_adds(&text, "");
	if (ret->added + ret->removed > 0)
		buf_printf(&text, "--- %s\n+++ %s\n", before->name, after->name);
	put_hunks(&text, differ->texts, max_bytes);
	ret->truncated = cut(&text, max_bytes);
	ret->text = buf_take(&text);
	free_all(differ->texts[0].items, differ->texts[1].items, differ);
}
