/* SPDX-License-Identifier: MIT */
/* Runs the conformance checks over the plugins given and prints TAP; with --options, the names of their options. */
#include <config.h>

#include "conformance/conformance.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "plugin/loader.h"

static int
test_one(const char *file, size_t *number)
{
	const char *slash = strrchr(file, '/');
	/* Several instances of what listens need a port each. */
	bool listens = strcmp(slash ? slash + 1 : file, "web.so") == 0;
	AUTO_JSON json_t *options = listens ? json_pack("{s:s}", "listen", "127.0.0.1:0") : NULL, *results = NULL;
	const struct conformance_setup setup = {.file = file, .options = options};
	struct kettle_error err = {0};
	if (conformance_run(&setup, &results, &err) != 0) {
		printf("Bail out! %s\n", err.message);
		return 1;
	}
	size_t i;
	json_t *test;
	json_array_foreach(json_object_get(results, "tests"), i, test) {
		const char *message = json_string_value(json_object_get(test, "message"));
		/* Of the built plugins a check is skipped only where it does not apply, so it counts as passed. */
		bool passed = json_is_true(json_object_get(test, "passed")) || json_is_true(json_object_get(test, "skipped"));
		printf("%s %zu - %s: %s\n", passed ? "ok" : "not ok", ++*number, slash ? slash + 1 : file,
			json_string_value(json_object_get(test, "name")));
		if (message)
			printf("# %s\n", message);
		fflush(stdout);
	}
	return !json_is_true(json_object_get(results, "ok"));
}

/* "PLUGIN OPTION" lines. */
static int
print_options(const char *file)
{
	struct kettle_error err = {0};
	struct loader *loader = loader_new(NULL, NULL);
	const struct loaded_plugin *loaded = NULL;
	int rc = loader_open(loader, 0, NULL, file, &loaded, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.message);
	const struct option_table table = rc ? (struct option_table){0} : loader_options(&loaded->plugin);
	for (size_t i = 0; i < table.count; i++) {
		struct kettle_option option;
		option_table_get(&table, i, &option);
		printf("%s %s\n", loaded->plugin.name, option.key);
	}
	loader_free(loader);
	return rc != 0;
}

int
main(int argc, char **argv)
{
	size_t number = 0;
	int failed = 0;
	if (argc > 1 && strcmp(argv[1], "--options") == 0) {
		for (int i = 2; i < argc; i++)
			failed |= print_options(argv[i]);
		return failed;
	}
	for (int i = 1; i < argc; i++)
		failed |= test_one(argv[i], &number);
	printf("1..%zu\n", number);
	return failed;
}
