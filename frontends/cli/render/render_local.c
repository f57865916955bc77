/* SPDX-License-Identifier: MIT */
/* Prints plugins, the configuration, the version and statistics. */
#include <config.h>

#include "cli/render/render.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/table.h"
#include "common/template.h"
#include "common/value.h"
#include "common/wrap.h"

static void
put_options(const struct term *term, const json_t *options)
{
	json_array_each(options, option) {
		bool min = json_is_number(json_object_get(option, "min")), max = json_is_number(json_object_get(option, "max"));
		template_put(term, "\n  {*key}  {type}", option, NULL);
		template_put(term, min && max ? ", {min} to {max}" : min ? ", at least {min}" : "", option, NULL);
		/* "a|b" */
		json_array_each_at(json_object_get(option, "choices"), k, choice)
			template_put(term, k > 0 ? "|{}" : ", {}", choice, NULL);
		template_put(term, "{required?, required}{default?, default {default}}\n", option, NULL);
		term_block(term->out, json_text_or_empty(option, "help"), 6, 0);
	}
}

void
render_plugin_info(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	const json_t *options = json_object_get(result, "options"), *units = json_object_get(result, "unit_options");
	template_put(term,
		"{*name}  {summary}\n{kind?  kind     {kind}\n}{version?  version  {version}\n}{state?  state    {state}\n}"
		"{file?  file     {file}\n}{load?  to load  {load}\n}",
		result, NULL);
	if (json_array_size(options) == 0)
		fputs("  It has no options.\n", term->out);
	put_options(term, options);
	if (json_array_size(units) > 0)
		fputs("\nOptions of its units, under `options` in `devices`:\n", term->out);
	put_options(term, units);
}

int
render_plugin_test_status(const json_t *result)
{
	json_array_each(json_object_get(result, "tests"), test)
		if (!member_true(test, "passed") && !member_true(test, "skipped"))
			return RUN_FAILED;
	return RUN_OK;
}

/* Prints the Test Anything Protocol, with a skipped test as "ok N - NAME # SKIP REASON", and a line with the counts. */
void
render_plugin_test(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	const json_t *tests = json_object_get(result, "tests");
	size_t passed = 0, skipped = 0;
	if (!run->quiet)
		fprintf(term->out, "1..%zu\n", json_array_size(tests));
	json_array_each_at(tests, i, test) {
		bool ok = member_true(test, "passed"), skip = member_true(test, "skipped");
		passed += ok;
		skipped += skip;
		if (run->quiet && (ok || skip))
			continue;
		fprintf(term->out, "%s %zu - ", ok || skip ? "ok" : "not ok", i + 1);
		template_put(term, skip ? "{name} # SKIP {message}\n" : "{name}\n{message?# {message}\n}", test, NULL);
	}
	fprintf(term->out, "# %zu of %zu passed", passed, json_array_size(tests));
	if (skipped)
		fprintf(term->out, ", %zu skipped", skipped);
	fputc('\n', term->out);
}

/* Prints "nvcc (local) has CUDA's runtime, cuBLAS", and a line for each missing part. */
static void
put_toolkit(const struct term *term, const json_t *toolkit)
{
	AUTO_JSON json_t *present = json_array();
	json_array_each(json_object_get(toolkit, "parts"), part)
		if (member_true(part, "present"))
			json_array_append(present, json_object_get(part, "name"));
	template_put(term, "{tool} ({runner}) has ", toolkit, NULL);
	template_put(term, json_array_size(present) > 0 ? "{}\n" : "nothing\n", present, NULL);
	template_put(term, "{parts@@{present?|  lacks {name}; to get it: {how}\n}}", toolkit, NULL);
}

void
render_config_check(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	struct term errors;
	struct wrap_part part;
	term_init(&errors, stderr);
	wrap_part_begin(&part, &errors);
	template_put(&errors, "{warnings@@warning: {}\n}{faults@@error: {}\n}", result, NULL);
	wrap_part_end(&part, false);
	if (run->quiet || !member_true(result, "ok"))
		return;
	template_put(term,
		"{file?The configuration is valid: {file}|There is no configuration file; these values apply:}\n", result,
		NULL);
	run_print_json(term, json_object_get(result, "config"));
	json_array_each(json_object_get(result, "toolkits"), toolkit)
		put_toolkit(term, toolkit);
}

void
render_config_reload(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	if (!run->quiet)
		template_put(term,
			"{reloaded?|{restart?|Reloaded {file?{file}|the defaults}: nothing has changed.\n}}"
			"{reloaded@@Reloaded: {key} {change}\n}",
			result, NULL);
	template_put(term, "{restart@@Needs a restart: {key} {change}\n}", result, NULL);
}

void
render_version(struct run *run, const json_t *result)
{
	static const struct view_column columns[] = {
		COLUMN("part", "{part}"), COLUMN("found", "{state}"), COLUMN_CUT("where", "{path}")};
	AUTO_JSON json_t *rows = json_array();
	template_put(&run->term, "{warnings@@warning: {}\n}", result, NULL);
	json_array_each(json_object_get(result, "parts"), part)
		if (!run->quiet || !member_true(part, "found"))
			json_array_append_new(
				rows, json_pack("{s:O, s:s, s:O*}", "part", json_object_get(part, "part"), "state",
						  member_true(part, "found") ? "yes" : "MISSING", "path", json_object_get(part, "path")));
	if (!run->quiet) {
		const char *config = json_text_or_empty(result, "config");
		template_put(&run->term, "kettle {version} on {machine}, Linux {kernel}, GNU C library {libc}\n", result, NULL);
		json_array_append_new(rows,
			json_pack("{s:s, s:s, s:s}", "part", "configuration", "state", *config ? "yes" : "none", "path", config));
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "part", "database", "state", "", "path",
										json_text_or_empty(result, "database")));
	}
	TABLE_PRINT(&run->term, columns, rows, 0);
}

/* ---- statistics, and the space that gc freed ---- */

void
render_admin_stats(struct run *run, const json_t *result)
{
	static const struct view_column columns[] = {COLUMN_CUT("device", "{device}"),
		COLUMN_RIGHT("runs", "{num_run:count}"), SPARE_COLUMN_RIGHT(5, "passed", "{runs_passed:count}"),
		SPARE_COLUMN_RIGHT(2, "scored", "{runs_scored:count}"), SPARE_COLUMN_RIGHT(1, "secret", "{runs_secret:count}"),
		SPARE_COLUMN_RIGHT(4, "waited", "{avg_delay:seconds}"), SPARE_COLUMN_RIGHT(3, "at most", "{max_delay:seconds}"),
		COLUMN_RIGHT("ran", "{total_runtime:seconds}")};
	AUTO_JSON json_t *rows = value_device_stats(json_object_get(result, "stats"));
	run_view(run, result);
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
