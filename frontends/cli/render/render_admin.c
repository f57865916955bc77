/* SPDX-License-Identifier: MIT */
/* Prints statistics, and the space that gc freed. */
#include <config.h>

#include "cli/render/render.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "common/table.h"

/* Returns the statistics of one device: the members "NAME.DEVICE". */
static json_t *
device_figures(const json_t *stats, const char *device)
{
	static const char *const figures[] = {
		"num_run", "runs_passed", "runs_scored", "runs_secret", "avg_delay", "max_delay", "total_runtime"};
	json_t *row = json_pack("{s:s}", "device", device);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		AUTO_FREE char *key = xasprintf("%s.%s", figures[i], device);
		json_object_set(row, figures[i], json_object_get(stats, key));
	}
	return row;
}

void
render_admin_stats(struct run *run, const json_t *result)
{
	static const struct view_column columns[] = {COLUMN_CUT("device", "{device}"),
		COLUMN_RIGHT("runs", "{num_run:count}"), SPARE_COLUMN_RIGHT(5, "passed", "{runs_passed:count}"),
		SPARE_COLUMN_RIGHT(2, "scored", "{runs_scored:count}"), SPARE_COLUMN_RIGHT(1, "secret", "{runs_secret:count}"),
		SPARE_COLUMN_RIGHT(4, "waited", "{avg_delay:seconds}"), SPARE_COLUMN_RIGHT(3, "at most", "{max_delay:seconds}"),
		COLUMN_RIGHT("ran", "{total_runtime:seconds}")};
	static const char prefix[] = "num_run.";
	AUTO_JSON json_t *rows = json_array();
	json_t *stats = json_object_get(result, "stats");
	run_view(run, result);
	json_object_each(stats, key, value)
		if (strncmp(key, prefix, strlen(prefix)) == 0)
			json_array_append_new(rows, device_figures(stats, key + strlen(prefix)));
	if (json_array_size(rows) > 0)
		TABLE_PRINT(&run->term, columns, rows, 0);
}

void
render_admin_freed(struct run *run, const json_t *result)
{
	static const struct view_column columns[] = {COLUMN_CUT("freed", "{title}"), COLUMN_RIGHT("how many", "{count}"),
		COLUMN_RIGHT("size", "{size@{bytes:bytes}}")};
	static const char *const lines[][3] = {
		{"files that jobs left", "artifacts", "artifact_bytes"},
		{"logs of jobs", "logs", ""},
		{"events", "events", ""},
		{"log of who did what", "audit", ""},
		{"codes that expired", "tokens", ""},
		{"contents", "blobs", "blob_bytes"},
		{"folders of the spool", "folders", "folder_bytes"},
		{"of the database", "", "database_bytes"},
		{"of its log", "", "log_bytes"},
	};
	AUTO_JSON json_t *rows = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		json_t *bytes = json_object_get(result, lines[i][2]);
		json_array_append_new(
			rows, json_pack("{s:s, s:O*, s:o*}", "title", lines[i][0], "count", json_object_get(result, lines[i][1]),
					  "size", bytes ? json_pack("{s:O}", "bytes", bytes) : NULL));
	}
	TABLE_PRINT(&run->term, columns, rows, 0);
}
