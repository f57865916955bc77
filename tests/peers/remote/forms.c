/* SPDX-License-Identifier: MIT */
/* The forms of a simulated side's answers beside recorded ones (record.py). */
#include <config.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "peers/remote/world.h"

static int
type_of(const json_t *value)
{
	return json_is_false(value) ? JSON_TRUE : json_typeof(value);
}

/* A line of a command: its fields, of which a number is one, and any other text is. */
static bool
same_line(const char *recorded, const char *line)
{
	while (*recorded && *line) {
		size_t size = strcspn(recorded, "|"), other = strcspn(line, "|");
		bool number = strspn(recorded, "0123456789") == size, number_there = strspn(line, "0123456789") == other;
		if (number != number_there)
			return false;
		recorded += size + (recorded[size] == '|');
		line += other + (line[other] == '|');
	}
	return !*recorded && !*line;
}

/* Whether the answer has no member that the record lacks, and each has the record's type; null fits all. New string: which not. */
static char *
find_misfit(const json_t *record, const json_t *answer, const char *where)
{
	const char *key;
	const json_t *value;
	size_t i;
	if (json_is_null(record) || json_is_null(answer))
		return NULL;
	if (type_of(record) != type_of(answer))
		return xstrdup(where);
	json_object_foreach((json_t *)answer, key, value) {
		const json_t *there = json_object_get(record, key);
		AUTO_FREE char *path = xasprintf("%s.%s", where, key);
		char *misfit = there ? find_misfit(there, value, path) : xstrdup(path);
		if (misfit)
			return misfit;
	}
	json_array_foreach(answer, i, value) {
		const json_t *there = json_array_get(record, 0);
		char *misfit = there ? find_misfit(there, value, where) : NULL;
		if (misfit)
			return misfit;
	}
	return NULL;
}

static const json_t *
record_of(struct world *world, const char *key)
{
	const json_t *record = json_object_get(world->records, key);
	if (record)
		json_object_set_new(world->shown, key, json_true());
	return record;
}

void
world_shows(struct world *world, const char *key, const json_t *answer)
{
	const json_t *record = record_of(world, key);
	AUTO_FREE char *misfit = record ? find_misfit(record, answer, key) : NULL;
	if (misfit)
		world_fail(world, "`%s` is not as it was recorded", misfit);
}

void
world_shows_line(struct world *world, const char *key, const char *line)
{
	const json_t *record = record_of(world, key), *recorded;
	size_t i;
	json_array_foreach(record, i, recorded)
		if (same_line(json_string_value(recorded), line))
			return;
	if (record)
		world_fail(world, "`%s` writes a line that was not recorded: %s", key, line);
}
