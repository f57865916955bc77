/* SPDX-License-Identifier: MIT */
/* Tasks, plugins and the configuration for people. */
#include <config.h>

#include "cli/render/render.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "cli/text/json_read.h"

#define LOCAL_TEXT_SIZE 300

/* The list in a result: itself, or a member. Borrowed. */
static const json_t *
list_of(const json_t *result, const char *member)
{
	return json_is_array(result) ? result : json_object_get(result, member);
}

static void
put_line(const struct term *term, const char *prefix, const char *text)
{
	fputs(prefix, term->out);
	term_sanitize(term->out, text, 0);
	fputc('\n', term->out);
}

static int
check_status(const json_t *list, const char *member, int bad)
{
	size_t i;
	const json_t *entry;
	json_array_foreach(list, i, entry)
		if (!value_true(entry, member))
			return bad;
	return RUN_OK;
}

int
render_local_plugin_list(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "name"}, {.title = "kind"}, {.title = "version"},
		{.title = "state", .cut = true}, {.title = "summary", .cut = true}, {.title = "file", .cut = true}};
	AUTO_JSON json_t *rows = json_array();
	size_t i;
	const json_t *plugin;
	json_array_foreach(list_of(result, "plugins"), i, plugin) {
		const char *error = value_text(plugin, "error");
		table_row(rows, 6, value_text(plugin, "name"), value_text(plugin, "kind"), value_text(plugin, "version"),
			*error ? error : value_text(plugin, "state"), value_text(plugin, "summary"), value_text(plugin, "file"));
	}
	table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	return RUN_OK;
}

/* "integer, 1 to 16, default 4": what one option takes. */
static void
option_facts(const json_t *option, char text[LOCAL_TEXT_SIZE])
{
	const json_t *min = json_object_get(option, "min"), *max = json_object_get(option, "max"), *choice,
				 *choices = json_object_get(option, "choices");
	const char *default_value = value_text(option, "default");
	size_t used, i;
	used = (size_t)snprintf(text, LOCAL_TEXT_SIZE, "%s", value_text(option, "type"));
	if (json_is_number(min) && json_is_number(max) && used < LOCAL_TEXT_SIZE)
		used += (size_t)snprintf(
			text + used, LOCAL_TEXT_SIZE - used, ", %.16g to %.16g", json_number_value(min), json_number_value(max));
	else if (json_is_number(min) && used < LOCAL_TEXT_SIZE)
		used += (size_t)snprintf(text + used, LOCAL_TEXT_SIZE - used, ", at least %.16g", json_number_value(min));
	json_array_foreach(choices, i, choice)
		if (used < LOCAL_TEXT_SIZE)
			used += (size_t)snprintf(
				text + used, LOCAL_TEXT_SIZE - used, "%s%s", i > 0 ? "|" : ", ", json_string_value(choice));
	if (used < LOCAL_TEXT_SIZE)
		snprintf(text + used, LOCAL_TEXT_SIZE - used, "%s%s%s", value_true(option, "required") ? ", required" : "",
			*default_value ? ", default " : "", default_value);
}

int
render_local_plugin_info(struct run *run, const json_t *result)
{
	static const char *const facts[] = {"kind", "version", "state", "file", "error"};
	const struct term *term = &run->term;
	size_t i;
	const json_t *option, *options = json_object_get(result, "options");
	term_put(term, STYLE_BOLD, value_text(result, "name"));
	put_line(term, "  ", value_text(result, "summary"));
	for (i = 0; i < ARRAY_SIZE(facts); i++)
		if (*value_text(result, facts[i])) {
			fprintf(term->out, "  %-8s ", facts[i]);
			put_line(term, "", value_text(result, facts[i]));
		}
	if (json_array_size(options) == 0)
		fputs("  It has no options.\n", term->out);
	json_array_foreach(options, i, option) {
		char text[LOCAL_TEXT_SIZE];
		option_facts(option, text);
		fputs("\n  ", term->out);
		term_put(term, STYLE_BOLD, value_text(option, "key"));
		put_line(term, "  ", text);
		term_block(term->out, value_text(option, "help"), 6, 0);
	}
	return RUN_OK;
}

int
render_local_plugin_test_status(const json_t *result)
{
	return check_status(list_of(result, "tests"), "passed", RUN_FAILED);
}

/* The Test Anything Protocol, and a line for people. */
int
render_local_plugin_test(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	const json_t *tests = list_of(result, "tests"), *test;
	size_t i, passed = 0;
	if (!run->quiet)
		fprintf(term->out, "1..%zu\n", json_array_size(tests));
	json_array_foreach(tests, i, test) {
		bool ok = value_true(test, "passed");
		passed += ok;
		if (run->quiet && ok)
			continue;
		fprintf(term->out, "%s %zu - ", ok ? "ok" : "not ok", i + 1);
		put_line(term, "", value_text(test, "name"));
		if (*value_text(test, "message"))
			put_line(term, "# ", value_text(test, "message"));
	}
	fprintf(term->out, "# %zu of %zu passed\n", passed, json_array_size(tests));
	return render_local_plugin_test_status(result);
}

/* "nvcc (local) has CUDA's runtime, cuBLAS", and a line for each part that it lacks. */
static void
put_toolkit(const struct term *term, const json_t *toolkit)
{
	const json_t *part;
	size_t i, present = 0;
	term_sanitize(term->out, value_text(toolkit, "tool"), 0);
	fputs(" (", term->out);
	term_sanitize(term->out, value_text(toolkit, "runner"), 0);
	fputs(") has ", term->out);
	json_array_foreach(json_object_get(toolkit, "parts"), i, part)
		if (value_true(part, "present")) {
			fputs(present++ ? ", " : "", term->out);
			term_sanitize(term->out, value_text(part, "name"), 0);
		}
	fputs(present ? "\n" : "nothing\n", term->out);
	json_array_foreach(json_object_get(toolkit, "parts"), i, part)
		if (!value_true(part, "present")) {
			fputs("  lacks ", term->out);
			term_sanitize(term->out, value_text(part, "name"), 0);
			put_line(term, "; to get it: ", value_text(part, "how"));
		}
}

int
render_local_config_check(struct run *run, const json_t *result)
{
	const char *file = value_text(result, "file");
	size_t i;
	const json_t *warning;
	json_array_foreach(json_object_get(result, "warnings"), i, warning)
		put_line(&run->term, "warning: ", json_string_value(warning));
	if (run->quiet)
		return RUN_OK;
	put_line(
		&run->term, *file ? "The configuration is right: " : "There is no configuration file; this is in force:", file);
	run_print_json(&run->term, json_object_get(result, "config"));
	const json_t *toolkit;
	json_array_foreach(json_object_get(result, "toolkits"), i, toolkit)
		put_toolkit(&run->term, toolkit);
	return RUN_OK;
}

int
render_local_version_status(const json_t *result)
{
	return value_true(result, "ok") ? RUN_OK : RUN_ENGINE;
}

int
render_local_version(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "part"}, {.title = "found"}, {.title = "where"}};
	AUTO_JSON json_t *rows = json_array();
	const char *config = value_text(result, "config");
	size_t i;
	const json_t *part, *warning;
	json_array_foreach(json_object_get(result, "warnings"), i, warning)
		put_line(&run->term, "warning: ", json_string_value(warning));
	json_array_foreach(json_object_get(result, "parts"), i, part)
		if (!run->quiet || !value_true(part, "found"))
			table_row(rows, 3, value_text(part, "part"), value_true(part, "found") ? "yes" : "MISSING",
				value_text(part, "path"));
	if (!run->quiet) {
		fprintf(run->term.out, "kettle %s on %s, Linux %s, GNU C library %s\n", value_text(result, "version"),
			value_text(result, "machine"), value_text(result, "kernel"), value_text(result, "libc"));
		table_row(rows, 3, "configuration", *config ? "yes" : "none", config);
		table_row(rows, 3, "database", "", value_text(result, "database"));
	}
	table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	return render_local_version_status(result);
}
