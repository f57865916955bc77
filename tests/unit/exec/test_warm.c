/* SPDX-License-Identifier: MIT */
/* Warm processes that are given up before they have begun. */
#include <config.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "exec/warm/warm_internal.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static size_t
count_files(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;
	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir));)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return count;
}

/* The folders for its imports are being made when it ends: they go as well. */
static void
test_end_while_prepared(void **state)
{
	uv_loop_t loop;
	char *spool = scratch_make();
	const struct warm_setup setup = {.loop = &loop, .spool = spool};
	const struct tool python = {.name = "python", .path = "/usr/bin/env", .real = "/usr/bin/env"};
	const struct strings modules = {0};
	const struct cores cores = {0};
	AUTO_JSON json_t *environment = json_object();
	struct warm_waiter wait = {0};
	(void)state;
	if (!KETTLE_HAVE_WARM)
		skip();
	assert_int_equal(uv_loop_init(&loop), 0);
	struct warm *warm = warm_open(&setup);
	free(warm->module);
	warm->module = xstrdup("/kettle/warm/python.so"); /* the program of this test is in no installation */
	assert_true(warm_request(warm,
		&(struct warm_key){.tool = &python, .modules = &modules, .environment = environment, .cores = &cores}, &wait));
	warm_cancel_request(&wait);
	warm_close(warm);
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	warm_free(warm);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_int_equal(count_files(spool), 0);
	scratch_remove(spool);
}

/* A machine that imports slowly compiles slowly: its recipes get more time, unless exec.yml says how much. */
static void
test_recipe_limit(void **state)
{
	(void)state;
	assert_int_equal(warm_recipe_ms(0, 0), 30000);
	assert_int_equal(warm_recipe_ms(0, 750), 30000);
	assert_int_equal(warm_recipe_ms(0, 2000), 80000);
	assert_int_equal(warm_recipe_ms(0, 3600000), 144000000);
	assert_int_equal(warm_recipe_ms(5000, 2000), 5000);
	assert_int_equal(warm_recipe_ms(280000, 0), 280000);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_end_while_prepared),
	cmocka_unit_test(test_recipe_limit),
};

UNIT_TESTS(test_warm);
