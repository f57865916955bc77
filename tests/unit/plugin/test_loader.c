/* SPDX-License-Identifier: MIT */
/* The loader refuses what does not fit, with one line; instances live and stop in order. */
#include <config.h>

#include "plugin/loader.h"

#include <string.h>
#include <kettle/testing.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "plugin/instance.h"
#include "unit/scratch.h"

struct fixture {
	char *folder, *scratch;
	struct loader *loader;
	struct kettle_error err;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *build = getenv("top_builddir");
	f->folder = path_join(build ? build : ".", "tests/plugins");
	f->scratch = scratch_make();
	AUTO_JSON json_t *path = json_pack("[sss]", "/no/such/folder", f->folder, f->scratch);
	*state = f;
	f->loader = loader_new(path, NULL);
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	loader_free(f->loader);
	scratch_remove(f->scratch);
	free(f->folder);
	free(f);
	return 0;
}

static void
refuse(struct fixture *f, const char *name, uint32_t kind, int code, const char *part)
{
	const struct loaded_plugin *loaded = NULL;
	size_t before = loader_count(f->loader);
	f->err = (struct kettle_error){0};
	int rc = loader_load(f->loader, kind, name, &loaded, &f->err);
	if (rc != code || !strstr(f->err.message, part) || !strstr(f->err.message, name))
		fail_msg("%s: %d \"%s\", not %d and \"%s\"", name, rc, f->err.message, code, part);
	assert_null(loaded);
	assert_null(strchr(f->err.message, '\n'));
	assert_int_equal(loader_count(f->loader), before);
}

static const struct loaded_plugin *
load(struct fixture *f, const char *name)
{
	const struct loaded_plugin *loaded = NULL;
	if (loader_load(f->loader, 0, name, &loaded, &f->err) != 0)
		fail_msg("%s", f->err.message);
	return loaded;
}

/* Whether the library is mapped into this process. */
static bool
is_mapped(const char *name)
{
	AUTO_FILE FILE *maps = fopen("/proc/self/maps", "r");
	char line[5000];
	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, name))
			return true;
	}
	return false;
}

static void
test_good(void **state)
{
	struct fixture *f = *state;
	const struct loaded_plugin *loaded = load(f, "fix_good");
	assert_string_equal(loaded->plugin.name, "fix_good");
	assert_int_equal(loaded->plugin.options_count, 1);
	assert_string_equal(loaded->plugin.language->skeletons[0].file_name, "submission.fix");
	assert_null(loaded->plugin.language->interpret);
	assert_non_null(strstr(loaded->file, "fix_good.so"));
	assert_true(is_mapped("fix_good.so"));
	assert_ptr_equal(loader_at(f->loader, 0), loaded);
	refuse(f, "fix_good", 0, KETTLE_ECONFLICT, "a plugin `fix_good` is already loaded, from ");
}

/* The options of a runner's units; a runner that is older than those has none that are checked. */
static void
test_unit_options(void **state)
{
	struct fixture *f = *state;
	struct kettle_plugin plugin = load(f, "fix_runner")->plugin;
	struct option_table table;
	assert_true(loader_unit_options(&plugin, &table));
	assert_int_equal(table.count, 1);
	assert_string_equal(table.options[0].key, "repo");
	struct kettle_runner bare = *plugin.runner;
	bare.unit_options = NULL;
	bare.unit_options_count = 0;
	plugin.runner = &bare;
	assert_true(loader_unit_options(&plugin, &table));
	assert_int_equal(table.count, 0);
	assert_false(loader_unit_options(&load(f, "fix_good")->plugin, &table));
}

static void
test_refusals(void **state)
{
	struct fixture *f = *state;
	refuse(f, "fix_magic", 0, KETTLE_EINVAL, "is not a Kettle plugin: its magic number is 0x12345678");
	refuse(f, "fix_major", 0, KETTLE_EVERSION, "was built for ABI 2.");
	refuse(f, "fix_minor", 0, KETTLE_EVERSION, "was built for the newer ABI 1.9; this Kettle takes 1.");
	refuse(f, "fix_later", 0, KETTLE_EVERSION, "was built for the newer ABI 1.");
	refuse(f, "fix_size", 0, KETTLE_EINVAL, "it states that its description has 100000 bytes");
	refuse(f, "fix_symbol", 0, KETTLE_EINVAL, "it has no symbol `kettle_plugin`");
	refuse(f, "fix_kind", 0, KETTLE_EINVAL, "9 is not a kind of plugin");
	refuse(f, "fix_runner", KETTLE_LANGUAGE, KETTLE_EINVAL, "is a runner, not a language: it belongs under `runners`");
	refuse(f, "fix_nocreate", 0, KETTLE_EINVAL, "it lacks the operation `create`");
	refuse(f, "fix_noconfigure", 0, KETTLE_EINVAL, "it lacks the operation `configure`");
	refuse(f, "fix_nodestroy", 0, KETTLE_EINVAL, "it lacks the operation `destroy`");
	refuse(f, "fix_noplan", 0, KETTLE_EINVAL, "it lacks the operation `language.plan`");
	refuse(f, "fix_noops", 0, KETTLE_EINVAL, "a language must set `language`");
	refuse(f, "fix_nounithelp", 0, KETTLE_EINVAL, "its options of units: The option `repo` has no help");
	refuse(f, "fix_nohelp", 0, KETTLE_EINVAL, "The option `count` has no help");
	refuse(f, "fix_schema", 0, KETTLE_EINVAL, "did you mean `type`?");
	refuse(f, "fix_badname", 0, KETTLE_EINVAL, "its name is not of the form");
	refuse(f, "fix_othername", 0, KETTLE_EINVAL, "contains the plugin `fix_good`, not `fix_othername`");
	assert_false(is_mapped("fix_magic.so"));
	assert_false(is_mapped("fix_schema.so"));
}

static void
test_not_found(void **state)
{
	struct fixture *f = *state;
	refuse(f, "fix_goood", 0, KETTLE_ENOENT, "did you mean `fix_good`?");
	refuse(f, "entirely_else", 0, KETTLE_ENOENT, "is in none of the folders /no/such/folder, ");
	refuse(f, "../evil", 0, KETTLE_EINVAL, "is not a name of a plugin");
}

/* Copies the first bytes of a library. */
static void
copy_start(struct fixture *f, const char *from, const char *to, size_t most)
{
	AUTO_FREE char *source = path_join(f->folder, from), *target = path_join(f->scratch, to), *data = NULL;
	size_t size = 0;
	assert_int_equal(file_read(source, 10u << 20, &data, &size, &f->err), 0);
	assert_int_equal(file_write(target, data, size < most ? size : most, 0700, &f->err), 0);
}

static void
test_files_that_are_none(void **state)
{
	struct fixture *f = *state;
	free(scratch_write(f->scratch, "text.so", "hello\n"));
	refuse(f, "text", 0, KETTLE_EINVAL, "it is not a shared library");
	free(scratch_write(f->scratch, "empty.so", ""));
	refuse(f, "empty", 0, KETTLE_EINVAL, "it is not a shared library");
	AUTO_FREE char *folder = path_join(f->scratch, "folder.so");
	assert_int_equal(file_mkdirs(folder, 0700, NULL), 0);
	refuse(f, "folder", 0, KETTLE_EINVAL, "it is not a shared library");
	const size_t cuts[] = {64, 100, 1000, 4096, 5000, 12000};
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		copy_start(f, "fix_good.so", "cut.so", cuts[i]);
		refuse(f, "cut", 0, KETTLE_EINVAL, "cut.so");
	}
	copy_start(f, "fix_good.so", "renamed.so", SIZE_MAX);
	refuse(f, "renamed", 0, KETTLE_EINVAL, "contains the plugin `fix_good`, not `renamed`");
	(void)load(f, "fix_good");
	copy_start(f, "fix_good.so", "fix_good.so", SIZE_MAX);
	AUTO_FREE char *second = path_join(f->scratch, "fix_good.so");
	const struct loaded_plugin *loaded = NULL;
	assert_int_equal(loader_open(f->loader, 0, NULL, second, &loaded, &f->err), KETTLE_ECONFLICT);
	assert_int_equal(loader_open(f->loader, 0, NULL, "/no/such/file.so", &loaded, &f->err), KETTLE_ENOENT);
}

/* Built with later headers, for this version of them. */
static void
test_asks_for_older(void **state)
{
	struct fixture *f = *state;
	const struct kettle_plugin *plugin = &load(f, "fix_asks")->plugin;
	assert_int_equal(plugin->abi_minor, KETTLE_ABI_MINOR);
	assert_int_equal(plugin->size, sizeof(*plugin));
}

/* A host of a later minor: what the older plugin's structures lack reads as NULL. */
static void
test_older_minor(void **state)
{
	struct fixture *f = *state;
	const struct loader_abi later = {KETTLE_ABI_MAJOR, KETTLE_ABI_MINOR + 1};
	AUTO_JSON json_t *path = json_pack("[s]", f->folder);
	loader_free(f->loader);
	f->loader = loader_new(path, &later);
	const struct kettle_plugin *plugin = &load(f, "fix_older")->plugin;
	assert_null(plugin->runner);
	assert_null(plugin->frontend);
	assert_non_null(plugin->language->plan);
	assert_null(plugin->language->interpret);
	assert_null(plugin->language->single_file);
	assert_int_equal(plugin->language->size, sizeof(struct kettle_language));
}

/* ---- life ---- */

static int
up(struct fixture *f, const char *name, struct instance *instance, const struct kettle_host *host)
{
	AUTO_JSON json_t *options = json_pack("{s:i}", "count", 3);
	int rc = instance_create(instance, &load(f, name)->plugin, host, &f->err);
	if (rc == 0)
		rc = instance_configure(instance, options, &f->err);
	return rc ? rc : instance_start(instance, &f->err);
}

static void
test_failures(void **state)
{
	struct fixture *f = *state;
	const struct kettle_host host = {.size = sizeof(host)};
	struct instance instance;
	assert_int_equal(up(f, "fix_create", &instance, &host), KETTLE_EUNAVAIL);
	assert_string_equal(f->err.message, "The language `fix_create` cannot be created: The moon is not full.");
	instance_destroy(&instance);
	assert_int_equal(up(f, "fix_configure", &instance, &host), KETTLE_EINTERNAL);
	assert_string_equal(f->err.message, "The language `fix_configure` cannot be configured: it does not say why.");
	instance_destroy(&instance);
	assert_int_equal(up(f, "fix_start", &instance, &host), KETTLE_EIO);
	assert_string_equal(f->err.message, "The language `fix_start` cannot start: The door is locked.");
	instance_destroy(&instance);
}

/* Plugins that write down when they are asked to stop, and answer when they are told. */
struct probe {
	struct buf *order;
	const char *name;
	kettle_fn done;
	void *arg;
	bool later;
};

static void
probe_stop(void *self, kettle_fn done, void *arg)
{
	struct probe *probe = self;
	buf_printf(probe->order, "%s ", probe->name);
	probe->done = done;
	probe->arg = arg;
	if (!probe->later)
		done(arg);
}

static void
count_done(void *arg)
{
	++*(int *)arg;
}

static int
is_done(void *arg)
{
	return *(int *)arg == 1;
}

static int
all_were_asked(void *arg)
{
	const struct buf *order = arg;
	return strcmp(order->data, "f2 f1 l1 r1 ") == 0;
}

static void
test_stop_order(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf order = {0};
	struct kettle_fake *fake = NULL;
	assert_int_equal(kettle_fake_new("f", &fake, &f->err), 0);
	const struct kettle_plugin runner = {.kind = KETTLE_RUNNER, .name = "r", .stop = probe_stop};
	const struct kettle_plugin language = {.kind = KETTLE_LANGUAGE, .name = "l", .stop = probe_stop};
	const struct kettle_plugin frontend = {.kind = KETTLE_FRONTEND, .name = "f", .stop = probe_stop};
	const struct kettle_plugin quiet = {.kind = KETTLE_FRONTEND, .name = "q"};
	struct probe probes[] = {{.name = "r1", .later = true}, {.name = "f1", .later = true}, {.name = "l1"},
		{.name = "f2", .later = true}, {.name = "q"}, {.name = "never"}};
	const struct kettle_plugin *plugins[] = {&runner, &frontend, &language, &frontend, &quiet, &runner};
	struct instance instances[ARRAY_SIZE(probes)], *list[ARRAY_SIZE(probes)];
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].order = &order;
		instances[i] = (struct instance){.plugin = plugins[i],
			.host = kettle_fake_host(fake),
			.self = &probes[i],
			.state = i < 5 ? INSTANCE_STARTED : INSTANCE_NONE};
		list[i] = &instances[i];
	}
	int done = 0;
	instances_stop(list, ARRAY_SIZE(list), 0, count_done, &done);
	assert_string_equal(order.data, "f2 f1 ");
	probes[1].done(probes[1].arg);
	probes[1].done(probes[1].arg); /* logged */
	assert_string_equal(order.data, "f2 f1 ");
	/* What follows is done by the loop, since the plugin may have said so in the middle of something. */
	probes[3].done(probes[3].arg);
	assert_string_equal(order.data, "f2 f1 ");
	assert_int_equal(kettle_fake_run(fake, all_were_asked, &order, 30000), 0);
	assert_int_equal(done, 0);
	probes[0].done(probes[0].arg);
	assert_int_equal(done, 0);
	assert_int_equal(kettle_fake_run(fake, is_done, &done, 30000), 0);
	probes[0].done(probes[0].arg); /* logged */
	assert_int_equal(done, 1);
	assert_int_equal(instances[0].state, INSTANCE_STOPPED);
	instances_stop(list, ARRAY_SIZE(list), 0, count_done, &done);
	assert_int_equal(done, 2);
	assert_int_equal(kettle_fake_free(fake, &f->err), 0);
}

/* One of them never stops: the others go on, and it is left as it is, also when it calls back later. */
static void
test_stop_overdue(void **state)
{
	struct fixture *f = *state;
	AUTO_BUF struct buf order = {0};
	struct kettle_fake *fake = NULL;
	assert_int_equal(kettle_fake_new("f", &fake, &f->err), 0);
	const struct kettle_plugin runner = {.kind = KETTLE_RUNNER, .name = "r", .stop = probe_stop};
	const struct kettle_plugin frontend = {.kind = KETTLE_FRONTEND, .name = "f", .stop = probe_stop};
	struct probe probes[] = {{.name = "r"}, {.name = "hangs", .later = true}, {.name = "f"}};
	const struct kettle_plugin *plugins[] = {&runner, &frontend, &frontend};
	struct instance instances[ARRAY_SIZE(probes)], *list[ARRAY_SIZE(probes)];
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].order = &order;
		instances[i] = (struct instance){
			.plugin = plugins[i], .host = kettle_fake_host(fake), .self = &probes[i], .state = INSTANCE_STARTED};
		list[i] = &instances[i];
	}
	int done = 0;
	instances_stop(list, ARRAY_SIZE(list), 50, count_done, &done);
	assert_int_equal(done, 0);
	assert_int_equal(kettle_fake_run(fake, is_done, &done, 30000), 0);
	assert_string_equal(order.data, "f hangs r ");
	for (size_t i = 0; i < ARRAY_SIZE(instances); i++)
		assert_int_equal(instances[i].state, i == 1 ? INSTANCE_HUNG : INSTANCE_STOPPED);
	instance_destroy(&instances[1]); /* not: it has no destroy to call */
	assert_int_equal(instances[1].state, INSTANCE_HUNG);
	probes[1].done(probes[1].arg); /* logged */
	assert_int_equal(done, 1);
	assert_int_equal(kettle_fake_free(fake, &f->err), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_good),
	TEST(test_unit_options),
	TEST(test_refusals),
	TEST(test_not_found),
	TEST(test_files_that_are_none),
	TEST(test_asks_for_older),
	TEST(test_older_minor),
	TEST(test_failures),
	TEST(test_stop_order),
	TEST(test_stop_overdue),
};

UNIT_TESTS(test_loader);
