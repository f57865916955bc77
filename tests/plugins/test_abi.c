/* SPDX-License-Identifier: MIT */
/*
 * Plugins that were built for ABI 1.0 (tests/fixtures/abi-1.0) run on a host of a later minor version: this program and what
 * it is linked from of the host are compiled with headers whose structures have grown (raise_abi.awk).
 */
#include <config.h>

#include "plugin/loader.h"

#include <stdlib.h>
#include <string.h>
#include <kettle/testing.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "lib/unit_test.h"
#include "loop/watch.h"
#include "plugin/instance.h"
#include "unit/log_lines.h"

_Static_assert(KETTLE_ABI_MINOR > 0, "The headers are not those of a later minor version.");
/* Plugins allocate errors, too: what came later is where ABI 1.0 has the end of the message. */
_Static_assert(sizeof(struct kettle_error) == 2 * sizeof(int) + 1000, "Errors are not of the size of ABI 1.0.");

struct fixture {
	struct loader *loader;
	struct kettle_fake *fake;
	const struct kettle_plugin *plugin;
	struct instance instance;
	struct kettle_error err;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *build = getenv("top_builddir");
	AUTO_FREE char *folder = path_join(build ? build : ".", "tests/plugins");
	AUTO_JSON json_t *path = json_pack("[s]", folder);
	f->loader = loader_new(path, NULL);
	*state = f;
	return kettle_fake_new("abi", &f->fake, &f->err);
}

static void
on_stopped(void *arg)
{
	*(bool *)arg = true;
}

static int
is_true(void *arg)
{
	return *(bool *)arg;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	struct instance *list[] = {&f->instance};
	bool stopped = false;
	instances_stop(list, 1, 0, on_stopped, &stopped);
	int rc = kettle_fake_run(f->fake, is_true, &stopped, 30000);
	instance_destroy(&f->instance);
	if (rc == 0)
		rc = kettle_fake_free(f->fake, &f->err);
	loader_free(f->loader);
	free(f);
	return rc;
}

/* Loads and starts it, with its options' defaults. */
static void
begin(struct fixture *f, const char *name)
{
	const struct loaded_plugin *loaded = NULL;
	const struct option_section where = {.pointer = ""};
	AUTO_JSON json_t *options = NULL, *none = json_object();
	if (loader_load(f->loader, 0, name, &loaded, &f->err) != 0)
		fail_msg("%s", f->err.message);
	f->plugin = &loaded->plugin;
	const struct option_table table = loader_options(f->plugin);
	if (option_table_read(&table, none, &where, &options, &f->err) != 0 ||
		instance_create(&f->instance, f->plugin, kettle_fake_host(f->fake), &f->err) != 0 ||
		instance_configure(&f->instance, options, &f->err) != 0 || instance_start(&f->instance, &f->err) != 0)
		fail_msg("%s", f->err.message);
}

/* How often the plugin has said a word. */
static int
count_said(struct fixture *f, const char *word)
{
	size_t i;
	json_t *line;
	int count = 0;
	json_array_foreach(kettle_fake_log(f->fake), i, line)
		count += strcmp(json_text_or_empty(line, "message"), word) == 0;
	return count;
}

static int
has_heard_all(void *arg)
{
	static const char *const words[] = {"post", "timer", "work", "line", "exit", "answer", "heard"};
	bool all = count_said(arg, "state") == 3 && count_said(arg, "http") + count_said(arg, "host without http") == 1;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		all = all && count_said(arg, words[i]) == 1;
	return all;
}

static void
test_frontend(void **state)
{
	struct fixture *f = *state;
	begin(f, "abi_frontend");
	assert_null(f->plugin->later);
	assert_null(f->plugin->frontend->later);
	assert_null(f->plugin->frontend->run);
	/* Every callback takes too long: of requests, which need a host that has them, it is seen here. */
	watch_settings = (struct watch_settings){.level = KETTLE_LOG_WARNING};
	struct log_lines lines = log_lines_begin();
	AUTO_JSON json_t *event = json_pack("{s:s, s:i}", "kind", "board.created", "seq", 7);
	assert_int_equal(kettle_fake_event(f->fake, event), 0);
	/* All that start has begun calls back. */
	if (kettle_fake_run(f->fake, has_heard_all, f, 30000) != 0) {
		AUTO_FREE char *text = json_dumps(kettle_fake_log(f->fake), JSON_INDENT(1));
		fail_msg("%s", text);
	}
	AUTO_FREE char *text = log_lines_text(&lines);
	log_lines_end(&lines);
	watch_settings.hold_ms = WATCH_HOLD_MS;
	if (count_said(f, "http"))
		assert_non_null(strstr(text, " s in the `done` of a request."));
	assert_non_null(strstr(text, "warning abi_frontend: The plugin blocked the event loop for "));
	f->plugin->frontend->event(f->instance.self, event);
	assert_int_equal(json_integer_value(json_array_get(kettle_fake_events_done(f->fake), 0)), 7);
}

static void
test_language(void **state)
{
	struct fixture *f = *state;
	begin(f, "abi_language");
	const struct kettle_language *language = f->plugin->language;
	AUTO_JSON json_t *none = json_object(), *runs = json_pack("[{s:s}]", "id", "test");
	AUTO_JSON json_t *plan = NULL, *result = NULL, *tools = language->tools(f->instance.self);
	const struct kettle_plan_request request = {
		.size = sizeof(request), .task = none, .files = none, .submission = "a", .mode = "test", .runs = runs};
	assert_int_equal(language->plan(f->instance.self, &request, &plan, &f->err), 0);
	assert_string_equal(json_text_or_empty(json_array_get(json_object_get(plan, "steps"), 0), "id"), "test");
	assert_int_equal(language->interpret(f->instance.self, none, none, &result, &f->err), 0);
	assert_true(member_true(result, "passed"));
	assert_int_equal(json_array_size(tools), 1);
	assert_string_equal(language->remark(f->instance.self), "built for 1.0");
	assert_string_equal(language->extensions[0], ".abi");
	assert_int_equal(language->skeletons_count, 1);
	assert_string_equal(language->skeletons[0].file_name, "submission.abi");
	assert_null(language->skeletons[0].later);
	assert_null(language->probe);
	assert_null(language->later);
}

static int
has_completed(void *arg)
{
	struct fixture *f = arg;
	return json_array_size(json_object_get(json_object_get(kettle_fake_jobs(f->fake), "1.1"), "completions")) == 1;
}

static void
test_runner(void **state)
{
	struct fixture *f = *state;
	begin(f, "abi_runner");
	const struct kettle_runner *runner = f->plugin->runner;
	const struct kettle_job job = {.size = sizeof(job), .ref = "1.1", .device = "CPU", .name = "kettle-0-1.1"};
	AUTO_JSON json_t *none = json_object();
	unsigned slots = 0, prefetch = 0;
	assert_int_equal(runner->capacity(f->instance.self, none, &slots, &prefetch, &f->err), 0);
	assert_int_equal(slots, 3);
	assert_int_equal(runner->submit(f->instance.self, &job, none, &f->err), 0);
	assert_int_equal(kettle_fake_run(f->fake, has_completed, f, 30000), 0);
	const json_t *seen = json_object_get(kettle_fake_jobs(f->fake), "1.1");
	assert_string_equal(json_text_or_empty(seen, "handle"), "kettle-0-1.1");
	assert_string_equal(json_text_or_empty(json_array_get(json_object_get(seen, "events"), 0), "event"), "started");
	assert_int_equal(runner->recover(f->instance.self, &job, "x", &f->err), KETTLE_ENOENT);
	runner->cancel(f->instance.self, "gone");
	assert_int_equal(count_said(f, "gone"), 1);
	assert_true(runner->same_machine(f->instance.self, none, none));
	assert_null(runner->describe);
	assert_null(runner->later);
}

/* Built with headers of this minor: for it, and (KETTLE_PLUGIN_ABI_MINOR) for the one before. */
static void
test_versions(void **state)
{
	struct fixture *f = *state;
	const struct loaded_plugin *loaded = NULL;
	assert_int_equal(loader_load(f->loader, 0, "fix_later", &loaded, &f->err), 0);
	assert_int_equal(loaded->plugin.abi_minor, KETTLE_ABI_MINOR);
	assert_int_equal(loader_load(f->loader, 0, "fix_asks", &loaded, &f->err), 0);
	assert_int_equal(loaded->plugin.abi_minor, KETTLE_ABI_MINOR - 1);
	assert_true(loaded->plugin.size < sizeof(struct kettle_plugin));
	begin(f, "fix_good"); /* built with the headers as they are */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_frontend),
	TEST(test_language),
	TEST(test_runner),
	TEST(test_versions),
};

UNIT_TESTS(test_abi);
