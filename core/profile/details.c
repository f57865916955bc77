/* SPDX-License-Identifier: MIT */
/* Nsight Compute's details page as text. */
#include <config.h>

#include "profile/profile.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_ID 32 /* bytes of a launch's number */
#define METRIC_WIDTH 45

/* Parts of the names of the sections that are shown; the names themselves differ between versions. */
static const char *const sections[] = {"Speed Of Light", "Compute Workload", "Pipe", "Warp State"};
enum column { ID, KERNEL, GRID, BLOCK, SECTION, METRIC, UNIT, VALUE, COLUMNS };
static const char *const names[COLUMNS] = {[ID] = "ID",
	[KERNEL] = "Kernel Name",
	[GRID] = "Grid Size",
	[BLOCK] = "Block Size",
	[SECTION] = "Section Name",
	[METRIC] = "Metric Name",
	[UNIT] = "Metric Unit",
	[VALUE] = "Metric Value"};

/* Where the text is: the launch and the section that the last line was of. */
struct page {
	struct buf *out;
	int columns[COLUMNS];
	char id[MAX_ID], section[REPORT_MAX_WORD];
	size_t launches, metrics, left_out;
};

static bool
is_shown(const char *section)
{
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (strstr(section, sections[i]))
			return true;
	return false;
}

/* Before the header the profiler reports its progress. */
static bool
find_header(struct csv *csv, struct page *page)
{
	struct csv_row row;
	while (csv_next(csv, &row)) {
		for (int i = 0; i < COLUMNS; i++)
			page->columns[i] = csv_column(&row, names[i]);
		if (page->columns[ID] >= 0 && page->columns[SECTION] >= 0 && page->columns[METRIC] >= 0 &&
			page->columns[VALUE] >= 0)
			return true;
	}
	return false;
}

static void
add_launch(struct page *page, const struct csv_row *row)
{
	const char *grid = csv_field(row, page->columns[GRID]), *block = csv_field(row, page->columns[BLOCK]);
	buf_printf(page->out, "%slaunch %zu: ", page->launches > 1 ? "\n" : "", page->launches);
	report_word(page->out, csv_field(row, page->columns[KERNEL]), REPORT_MAX_WORD);
	buf_adds(page->out, *grid ? ", grid " : "");
	report_word(page->out, grid, MAX_ID);
	buf_adds(page->out, *block ? ", block " : "");
	report_word(page->out, block, MAX_ID);
	buf_adds(page->out, "\n");
}

/* A launch or a section that begins has a line of its own. */
static void
add_headings(struct page *page, const struct csv_row *row)
{
	const char *id = csv_field(row, page->columns[ID]), *section = csv_field(row, page->columns[SECTION]);
	if (page->launches == 0 || strncmp(page->id, id, MAX_ID - 1) != 0) {
		(void)snprintf(page->id, sizeof(page->id), "%s", id);
		page->section[0] = '\0';
		page->metrics = 0;
		page->launches++;
		if (page->launches <= DETAILS_MAX_LAUNCHES)
			add_launch(page, row);
	}
	if (page->launches > DETAILS_MAX_LAUNCHES || strncmp(page->section, section, REPORT_MAX_WORD - 1) == 0)
		return;
	(void)snprintf(page->section, sizeof(page->section), "%s", section);
	buf_adds(page->out, "  ");
	report_word(page->out, section, REPORT_MAX_WORD);
	buf_adds(page->out, "\n");
}

static void
add_metric(struct page *page, const struct csv_row *row)
{
	const char *unit = csv_field(row, page->columns[UNIT]);
	buf_adds(page->out, "    ");
	report_column(page->out, csv_field(row, page->columns[METRIC]), METRIC_WIDTH);
	report_word(page->out, csv_field(row, page->columns[VALUE]), REPORT_MAX_WORD);
	buf_adds(page->out, *unit ? " " : "");
	report_word(page->out, unit, MAX_ID);
	buf_adds(page->out, "\n");
}

static void
add_row(struct page *page, const struct csv_row *row)
{
	/* A row of a rule has no metric; what the rules recommend is in the report itself. */
	if (!is_shown(csv_field(row, page->columns[SECTION])) || !*csv_field(row, page->columns[METRIC]))
		return;
	bool room = report_has_room(page->out);
	if (room)
		add_headings(page, row);
	if (!room || page->launches > DETAILS_MAX_LAUNCHES || page->metrics >= DETAILS_MAX_METRICS) {
		page->left_out++;
		return;
	}
	page->metrics++;
	add_metric(page, row);
}

int
details_names(char *data, size_t size, struct kernel_names *list, struct kettle_error *err)
{
	struct csv csv = {.at = data, .end = data + size, .separator = ','};
	struct csv_row row;
	struct page page = {0};
	if (!find_header(&csv, &page) || page.columns[KERNEL] < 0)
		return kettle_fail(err, KETTLE_EINVAL, "The output of Nsight Compute names no kernels.");
	while (csv_next(&csv, &row))
		if (*csv_field(&row, page.columns[KERNEL]))
			kernel_names_add(list, csv_field(&row, page.columns[KERNEL]));
	return 0;
}

int
details_text(char *data, size_t size, struct buf *out, struct kettle_error *err)
{
	struct csv csv = {.at = data, .end = data + size, .separator = ','};
	struct csv_row row;
	struct page page = {.out = out};
	if (!find_header(&csv, &page))
		return kettle_fail(err, KETTLE_EINVAL,
			"The output of Nsight Compute is not a report: a details page has the columns `ID`, `Section Name`, "
			"`Metric "
			"Name` and `Metric Value`.");
	while (csv_next(&csv, &row))
		add_row(&page, &row);
	if (page.left_out > 0)
		buf_printf(out, "(%zu more lines are in the report itself)\n", page.left_out);
	if (page.launches == 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"Nsight Compute's report has none of the sections Speed Of Light, Compute Workload and Warp State.");
	return 0;
}
