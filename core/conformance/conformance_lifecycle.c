/* SPDX-License-Identifier: MIT */
/* Conformance of any plugin: its facts, its options, its life. */
#include <config.h>

#include "conformance/conformance_internal.h"

#include <dirent.h>
#include <errno.h>
#include <kettle/testing.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/schema.h"
#include "base/utf8.h"
#include "conformance/elf_symbols.h"
#include "plugin/instance.h"

#define LIVES 3
#define SETTLE_TRIES 200 /* of 10 ms: a thread that ended may still be listed */

static int
life_fail(struct kettle_error *err, const char *sentence)
{
	return kettle_fail(err, KETTLE_EINVAL, "%s", sentence);
}

int
conformance_symbols(struct subject *subject, struct kettle_error *err)
{
	AUTO_JSON json_t *names = NULL;
	int rc = elf_symbols_read(subject->setup->file, &names, err);
	size_t i;
	json_t *name;
	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);
		if (rc == 0 && strcmp(text, "kettle_plugin") != 0)
			rc = kettle_fail(err, KETTLE_EINVAL,
				"It exports `%s` as well (%zu symbols in all); link with -export-symbols-regex '^kettle_plugin$'.",
				text, json_array_size(names));
	}
	return rc;
}

static bool
is_one_line(const char *text)
{
	return text && *text && utf8_valid(text, strlen(text)) && !strchr(text, '\n') && strlen(text) <= 200;
}

int
conformance_facts(struct subject *subject, struct kettle_error *err)
{
	const struct kettle_plugin *plugin = &subject->loaded->plugin;
	if (!is_one_line(plugin->version))
		return life_fail(err, "Its `version` is not a line of text.");
	if (!is_one_line(plugin->summary))
		return life_fail(err, "Its `summary` is not a line of text of at most 200 bytes.");
	return 0;
}

/* A value that no option of the type takes. */
static json_t *
wrong_value(enum kettle_option_type type)
{
	switch (type) {
	case KETTLE_OPTION_STRING:
	case KETTLE_OPTION_PATH:
	case KETTLE_OPTION_INT:
	case KETTLE_OPTION_NUMBER:
	case KETTLE_OPTION_BOOL:
		return json_array();
	case KETTLE_OPTION_STRINGS:
	case KETTLE_OPTION_MAP:
		return json_integer(7);
	case KETTLE_OPTION_ANY:
		break;
	}
	return NULL;
}

/* Whether a section is refused. */
static bool
is_refused(const struct option_table *table, json_t *section_take)
{
	const struct option_section where = {.pointer = ""};
	AUTO_JSON json_t *section = section_take, *options = NULL;
	return option_table_read(table, section, &where, &options, NULL) != 0;
}

int
conformance_options(struct subject *subject, struct kettle_error *err)
{
	const struct option_table table = loader_options(&subject->loaded->plugin);
	for (size_t i = 0; i < table.count; i++) {
		struct kettle_option option;
		option_table_get(&table, i, &option);
		if (!utf8_valid(option.help, strlen(option.help)))
			return kettle_fail(err, KETTLE_EINVAL, "The help of `%s` is not text in UTF-8.", option.key);
		json_t *wrong = wrong_value(option.type);
		if (wrong && !is_refused(&table, json_pack("{s:o}", option.key, wrong)))
			return kettle_fail(err, KETTLE_EINVAL, "A wrong value of `%s` is taken.", option.key);
	}
	if (!is_refused(&table, json_pack("{s:b}", "an_option_that_nobody_has", 1)))
		return life_fail(err, "An unknown option is taken.");
	return 0;
}

int
conformance_create_only(struct subject *subject, struct kettle_error *err)
{
	const struct kettle_plugin *plugin = &subject->loaded->plugin;
	struct kettle_fake *fake = NULL;
	struct instance instance;
	int rc = kettle_fake_new(plugin->name, &fake, err);
	if (rc)
		return rc;
	plugin->destroy(NULL);
	rc = instance_create(&instance, plugin, kettle_fake_host(fake), err);
	instance_destroy(&instance);
	int left = kettle_fake_free(fake, rc ? NULL : err);
	return rc ? rc : left;
}

/* ---- a life ---- */

static void
on_stopped(void *arg)
{
	*(bool *)arg = true;
}

static int
has_stopped(void *arg)
{
	return *(bool *)arg;
}

/* create, configure, start; the loop turns once. */
static int
rise(struct subject *subject, struct kettle_fake *fake, struct instance *instance, struct kettle_error *err)
{
	int rc = instance_create(instance, &subject->loaded->plugin, kettle_fake_host(fake), err);
	if (rc == 0)
		rc = instance_configure(instance, subject->options, err);
	if (rc == 0)
		rc = instance_start(instance, err);
	if (rc)
		instance_destroy(instance);
	else
		(void)kettle_fake_run(fake, NULL, NULL, 1);
	return rc;
}

static int
fall(struct subject *subject, struct kettle_fake *fake, struct instance *instance, struct kettle_error *err)
{
	bool stopped = false;
	unsigned limit = subject->setup->stop_ms ? subject->setup->stop_ms : CONFORMANCE_STOP_MS;
	instances_stop(&instance, 1, on_stopped, &stopped);
	if (kettle_fake_run(fake, has_stopped, &stopped, limit) != 0)
		return kettle_fail(err, KETTLE_EINTERNAL, "It does not stop: done was not called within %u ms.", limit);
	instance_destroy(instance);
	return 0;
}

static int
inflight(struct subject *subject, struct kettle_error *err)
{
	struct kettle_fake *fake = NULL;
	struct instance instance;
	int rc = kettle_fake_new(subject->loaded->plugin.name, &fake, err);
	if (rc)
		return rc;
	rc = rise(subject, fake, &instance, err);
	if (rc == 0)
		rc = fall(subject, fake, &instance, err);
	int left = kettle_fake_free(fake, rc ? NULL : err);
	return rc ? rc : left;
}

static int
skip_without_options(const struct subject *subject, struct kettle_error *err)
{
	if (subject->options)
		return 0;
	(void)kettle_fail(err, CONFORMANCE_SKIP, "%s", subject->why_not);
	return CONFORMANCE_SKIP;
}

int
conformance_life(struct subject *subject, struct kettle_error *err)
{
	int rc = skip_without_options(subject, err);
	for (int i = 0; i < LIVES && rc == 0; i++)
		rc = inflight(subject, err);
	return rc;
}

int
conformance_two_instances(struct subject *subject, struct kettle_error *err)
{
	struct kettle_fake *one = NULL, *other = NULL;
	struct instance first, second;
	int rc = skip_without_options(subject, err);
	if (rc == 0)
		rc = kettle_fake_new(subject->loaded->plugin.name, &one, err);
	if (rc == 0)
		rc = kettle_fake_new(subject->loaded->plugin.name, &other, err);
	if (rc == 0)
		rc = rise(subject, one, &first, err);
	if (rc == 0)
		rc = rise(subject, other, &second, err);
	/* The first goes while the second lives. */
	if (rc == 0)
		rc = fall(subject, one, &first, err);
	if (rc == 0)
		rc = fall(subject, other, &second, err);
	int left = kettle_fake_free(one, rc ? NULL : err);
	rc = rc ? rc : left;
	left = kettle_fake_free(other, rc ? NULL : err);
	return rc ? rc : left;
}

/* ---- what is left ---- */

static size_t
count_entries(const char *path)
{
	size_t count = 0;
	AUTO_DIR DIR *dir = opendir(path);
	while (dir && readdir(dir))
		count++;
	return count;
}

static size_t
settled_threads(size_t wanted)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	size_t threads = count_entries("/proc/self/task");
	for (int i = 0; i < SETTLE_TRIES && threads > wanted; i++) {
		(void)nanosleep(&pause, NULL);
		threads = count_entries("/proc/self/task");
	}
	return threads;
}

static void
nothing(void *arg)
{
	(void)arg;
}

/* libuv keeps its pool and some descriptors for the life of the process: they are there before anything is counted. */
static int
warm_up(struct kettle_error *err)
{
	struct kettle_fake *fake = NULL;
	int rc = kettle_fake_new("warm", &fake, err);
	if (rc)
		return rc;
	const struct kettle_host *host = kettle_fake_host(fake);
	rc = host->work(host, nothing, NULL, NULL, err);
	int left = kettle_fake_free(fake, rc ? NULL : err);
	return rc ? rc : left;
}

int
conformance_leaks(struct subject *subject, struct kettle_error *err)
{
	int rc = skip_without_options(subject, err);
	if (rc == 0)
		rc = warm_up(err);
	size_t descriptors = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
	if (rc == 0)
		rc = inflight(subject, err);
	if (rc)
		return rc;
	size_t now = count_entries("/proc/self/fd");
	if (now > descriptors)
		return kettle_fail(err, KETTLE_EINVAL, "It leaves %zu descriptor(s) open after destroy.", now - descriptors);
	now = settled_threads(threads);
	if (now > threads)
		return kettle_fail(err, KETTLE_EINVAL, "It leaves %zu thread(s) running after destroy.", now - threads);
	/* This process is a child of its own, so nobody else's are reaped here. */
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		return life_fail(err, "It leaves a child process behind that nobody waits for.");
	return 0;
}
