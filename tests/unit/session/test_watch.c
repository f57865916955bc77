/* SPDX-License-Identifier: MIT */
/*
 * Whatever the host calls back is timed, and names the plugin where it takes too long. The limit is nothing here, so that
 * every call is too long. The plugin is one of tests/fixtures/abi-1.0, which uses all of the host.
 */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "lib/unit_test.h"
#include "loop/watch.h"
#include "plugin/guard.h"
#include "plugin/instance.h"
#include "plugin/loader.h"
#include "session/plugin_host.h"
#include "unit/log_lines.h"

static struct log_lines lines;

static int
setup(void **state)
{
	watch_settings = (struct watch_settings){.level = KETTLE_LOG_WARNING};
	lines = log_lines_begin();
	return cores_setup(state);
}

static int
teardown(void **state)
{
	int rc = cores_teardown(state);
	log_lines_end(&lines);
	return rc;
}

static bool
is_logged(const char *what)
{
	AUTO_FREE char *text = log_lines_text(&lines), *line = NULL;
	if (asprintf(&line, " s in %s.", what) < 0)
		abort();
	const char *found = strstr(text, line);
	while (found && found > text && found[-1] != '\n')
		found--;
	/* TIME level area: message */
	return found && strstr(found, " warning abi_frontend: The plugin blocked the event loop for ");
}

static void
on_stopped(void *arg)
{
	*(bool *)arg = true;
}

static void
test_callbacks(void **state)
{
	(void)state;
	static const char *const all[] = {"`create`", "`configure`", "`start`", "a posted function", "a timer",
		"the `after` of its work", "lines of a child", "the `on_exit` of a child", "the answer of its state",
		"the answer to a call", "an event of a subscription", "`event`", "`stop`"};
	const char *build = getenv("top_builddir");
	AUTO_FREE char *folder = path_join(build ? build : ".", "tests/plugins");
	AUTO_JSON json_t *path = json_pack("[s]", folder), *options = json_pack("{s:s}", "word", "x");
	struct loader *loader = loader_new(path, NULL);
	const struct loaded_plugin *loaded = NULL;
	struct kettle_error err = {0};
	struct core_host host;
	struct instance instance, *list[] = {&instance};
	struct guard guard;
	host_init(&host, cores.io, cores.core[0], "abi_frontend");
	if (loader_load(loader, 0, "abi_frontend", &loaded, &err) != 0 ||
		instance_create(&instance, &loaded->plugin, &host.table, &err) != 0 ||
		instance_configure(&instance, options, &err) != 0 || instance_start(&instance, &err) != 0)
		fail_msg("%s", err.message);
	guard_init(&guard, &loaded->plugin, instance.self);
	AUTO_JSON json_t *event = json_pack("{s:s, s:s, s:i}", "kind", "admin.accepting", "scope", "p", "seq", 1000000);
	guard.plugin.frontend->event(&guard, event);
	until(is_logged("the answer to a call") && is_logged("the `on_exit` of a child"));
	core_publish(cores.core[0], event);
	until(is_logged("an event of a subscription"));
	until(is_logged("the answer of its state") && is_logged("a timer") && is_logged("the `after` of its work"));
	bool stopped = false;
	instances_stop(list, 1, 0, on_stopped, &stopped);
	until(stopped);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!is_logged(all[i]))
			fail_msg("not in the log: %s", all[i]);
	instance_destroy(&instance);
	loader_free(loader);
}

/* What is quick is not named, and callbacks of the core are not at all. */
static void
test_silence(void **state)
{
	(void)state;
	const struct watch one = watch_begin();
	watch_end_callback(&one, (void (*)(void))on_stopped, "a timer");
	watch_settings.hold_ms = UINT64_C(1) << 40;
	const struct watch other = watch_begin();
	watch_end(&other, "abi_frontend", "a timer");
	assert_false(is_logged("a timer"));
	AUTO_FREE char *text = log_lines_text(&lines);
	assert_null(strstr(text, "blocked the event loop"));
}

/* The time of a call into another plugin is not that of the one that led to it. */
static void
test_nested(void **state)
{
	(void)state;
	watch_settings.hold_ms = 60000;
	struct watch outer = watch_begin(), inner = outer;
	outer.began -= UINT64_C(100000000000);
	inner.began -= UINT64_C(90000000000);
	watch_end(&inner, "abi_frontend", "the inner call");
	watch_end(&outer, "abi_frontend", "the outer call");
	assert_true(is_logged("the inner call"));
	assert_false(is_logged("the outer call"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {TEST(test_callbacks), TEST(test_silence), TEST(test_nested)};

UNIT_TESTS(test_watch);
