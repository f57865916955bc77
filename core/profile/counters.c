/* SPDX-License-Identifier: MIT */
/* What `perf stat -x ;` counted, as text. */
#include <config.h>

#include "profile/profile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define NAME_WIDTH 20
#define VALUE_WIDTH 16

/* Fields of a line: value;unit;event;time;percent;metric;its unit. */
enum { VALUE, UNIT, EVENT, METRIC = 5, METRIC_UNIT = 6, FIELDS_MIN = 5 };

static void
add_counter(struct buf *out, const struct csv_row *row, const char *name, double value)
{
	char number[REPORT_NUMBER_SIZE];
	const char *metric = csv_field(row, METRIC), *unit = csv_field(row, UNIT);
	report_number(value, strchr(csv_field(row, VALUE), '.') ? 2 : 0, number);
	buf_adds(out, "  ");
	report_column(out, name, NAME_WIDTH);
	buf_printf(out, "%*s ", VALUE_WIDTH, number);
	report_word(out, unit, NAME_WIDTH);
	if (*metric && *csv_field(row, METRIC_UNIT)) {
		buf_printf(out, "%*s", (int)(8 - (strlen(unit) < 7 ? strlen(unit) : 7)), "");
		report_word(out, metric, NAME_WIDTH);
		buf_adds(out, " ");
		report_word(out, csv_field(row, METRIC_UNIT), REPORT_MAX_WORD);
	}
	buf_adds(out, "\n");
}

int
counters_text(char *data, size_t size, struct buf *out, struct kettle_error *err)
{
	struct csv csv = {.at = data, .end = data + size, .separator = ';'};
	struct csv_row row;
	AUTO_BUF struct buf missing = {0};
	size_t count = 0;
	while (count < COUNTERS_MAX && report_has_room(out) && csv_next(&csv, &row)) {
		const char *text = csv_field(&row, VALUE);
		char *end = NULL;
		double value = strtod(text, &end);
		bool lacks = text[0] == '<'; /* "<not supported>", "<not counted>" */
		if (row.count < FIELDS_MIN || !*csv_field(&row, EVENT) || (!lacks && (end == text || *end)))
			continue;
		/* "cycles:u" is counted in the program alone; what it counts is "cycles". */
		AUTO_FREE char *name = xstrndup(csv_field(&row, EVENT), strcspn(csv_field(&row, EVENT), ":"));
		count++;
		if (!lacks) {
			add_counter(out, &row, name, value);
			continue;
		}
		buf_adds(&missing, missing.len ? ", " : "");
		report_word(&missing, name, REPORT_MAX_WORD);
	}
	if (missing.len > 0)
		buf_printf(out, "  not supported by this machine: %s\n", missing.data);
	return count > 0 ? 0 : kettle_fail(err, KETTLE_EINVAL, "The output of `perf stat` has no counters.");
}
