/* SPDX-License-Identifier: MIT */
/* What `kettle runner init github` writes into a repository, and what it refuses. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <kettle/testing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "runners/github/github.h"
#include "sealed/sealed.h"
#include "unit/scratch.h"

#define WAIT_MS 60000
#define READ_MAX 65536

static const char archive[] = "\xfd"
							  "7zXZ\0an archive";

static char *dir, *folder, *packed;
static struct kettle_fake *fake;

struct told {
	int calls;
	struct kettle_error err;
	json_t *result;
};

static int
setup(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	dir = scratch_make();
	folder = path_join(dir, "repository");
	packed = path_join(dir, "kettle-exec.tar.xz");
	assert_int_equal(kettle_fake_new("github", &fake, &err), 0);
	return file_write(packed, archive, sizeof(archive), 0644, &err);
}

static int
teardown(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	assert_int_equal(kettle_fake_free(fake, &err), 0);
	assert_int_equal(file_remove_tree(dir, &err), 0);
	free(dir);
	free(folder);
	free(packed);
	return 0;
}

static void
on_done(void *arg, const struct kettle_error *err, json_t *result)
{
	struct told *told = arg;
	told->calls++;
	told->err = *err;
	told->result = json_incref(result);
}

static int
has_called(void *arg)
{
	return ((const struct told *)arg)->calls > 0;
}

/* Runs init with some options (stolen), and the archive of the section. */
static struct told
init(json_t *options_take, bool force)
{
	struct told told = {0};
	AUTO_JSON json_t *section = json_pack("{s:s}", "exec_archive", packed);
	AUTO_JSON json_t *args = json_pack("{s:s, s:o, s:b}", "folder", folder, "options", options_take, "force", force);
	assert_int_equal(init_run(kettle_fake_host(fake), section, args, setup_write, on_done, &told, &told.err), 0);
	assert_int_equal(told.calls, 0);
	assert_int_equal(kettle_fake_run(fake, has_called, &told, WAIT_MS), 0);
	return told;
}

/* A file of the repository; new. */
static char *
content(const char *name, size_t *ret_size)
{
	AUTO_FREE char *path = path_join(folder, name);
	char *data = NULL;
	assert_int_equal(file_read(path, READ_MAX, &data, ret_size, NULL), 0);
	return data;
}

static void
check_states(const struct told *told, const char *state, size_t count)
{
	const json_t *files = json_object_get(told->result, "files");
	assert_int_equal(json_array_size(files), count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(json_text_or_empty(json_array_get(files, i), "state"), state);
}

static void
test_writes(void **state)
{
	(void)state;
	char digest[65];
	size_t size;
	struct stat stat_key;
	AUTO_FREE char *key = path_join(dir, "kettle.key"), *text = NULL;
	unsigned char bytes[SEALED_KEY_SIZE];
	struct told first = init(json_pack("{s:s, s:s}", "key_file", key, "minutes", "90"), false);
	assert_int_equal(first.err.code, 0);
	check_states(&first, "created", 3);
	assert_true(json_array_size(json_object_get(first.result, "next")) >= 3);
	sha256_hex(archive, sizeof(archive), digest);
	AUTO_FREE char *workflow = content(".github/workflows/kettle.yml", &size);
	assert_non_null(strstr(workflow, digest));
	assert_non_null(strstr(workflow, "timeout-minutes: 90\n"));
	assert_non_null(strstr(workflow, "URL: ''\n"));
	assert_null(strstr(workflow, "@SHA256@"));
	AUTO_FREE char *copy = content(SETUP_ARCHIVE, &size);
	assert_true(size == sizeof(archive) && memcmp(copy, archive, size) == 0);
	assert_int_equal(stat(key, &stat_key), 0);
	assert_int_equal(stat_key.st_mode & 0777, 0600);
	assert_int_equal(file_read(key, READ_MAX, &text, &size, NULL), 0);
	assert_int_equal(sealed_key_parse(text, bytes, NULL), 0);
	/* The key is in no file of the repository and in no answer. */
	AUTO_FREE char *said = json_dumps(first.result, 0);
	text[size - 1] = '\0';
	assert_null(strstr(said, text));
	assert_null(strstr(workflow, text));
	/* Once more: nothing changes, also not the key. */
	struct told again = init(json_pack("{s:s, s:s}", "key_file", key, "minutes", "90"), false);
	check_states(&again, "unchanged", 3);
	/* Another workflow needs force. */
	struct told other = init(json_pack("{s:s}", "minutes", "91"), false);
	assert_int_equal(other.err.code, KETTLE_ECONFLICT);
	struct told forced = init(json_pack("{s:s}", "minutes", "91"), true);
	assert_int_equal(forced.err.code, 0);
	json_decref(first.result);
	json_decref(again.result);
	json_decref(forced.result);
}

/* How often a text is in another one. */
static size_t
count(const char *text, const char *part)
{
	size_t found = 0;
	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		found++;
	return found;
}

/* What keeps the workflow safe from its inputs, from other people's actions and from requests of strangers. */
static void
test_workflow(void **state)
{
	(void)state;
	AUTO_FREE char *text = xstrdup(github_workflow_text);
	char *rest = NULL;
	bool script = false;
	size_t actions = 0;
	/* Only who may write to the repository can start it, and its own token can read, and is not kept. */
	assert_int_equal(count(text, "\non:\n  workflow_dispatch:\n    inputs:\n"), 1);
	assert_int_equal(count(text, "\npermissions:\n  contents: read\n\n"), 1);
	assert_int_equal(count(text, "permissions:"), 1);
	assert_int_equal(count(text, "persist-credentials: false\n"), 1);
	/* The key is in one step, whose shell kettle-exec takes the place of; no other secret is there, and no cache. */
	assert_int_equal(count(text, "secrets."), 1);
	const char *key = strstr(text, "          KETTLE_KEY: ${{ secrets.KETTLE_KEY }}\n");
	assert_non_null(key);
	assert_ptr_equal(
		strstr(key, "- name: "), strstr(strstr(key, "          exec kettle-job/exec/bin/kettle-exec "), "- name: "));
	assert_int_equal(count(text, "github.token") + count(text, "actions/cache"), 0);
	for (const char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		size_t indent = strspn(line, " ");
		const char *action = strstr(line, "uses: ");
		script = strncmp(line + indent, "run: ", 5) == 0 || (script && indent >= 10);
		/* An expression in a script would be code of whom its input comes from. */
		assert_false(script && strstr(line, "${{"));
		actions += action != NULL;
		const char *at = action ? strchr(action, '@') : NULL;
		assert_true(!action || (at && strspn(at + 1, "0123456789abcdef") == 40));
	}
	assert_int_equal(actions, 2);
}

static void
test_url(void **state)
{
	(void)state;
	static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	size_t size;
	struct told told = init(json_pack("{s:s, s:s, s:s}", "url", "https://files.example/k.tar.xz?x=1", "sha256", digest,
								"workflow", "far.yml"),
		false);
	assert_int_equal(told.err.code, 0);
	check_states(&told, "created", 1);
	AUTO_FREE char *workflow = content(".github/workflows/far.yml", &size);
	assert_non_null(strstr(workflow, "URL: 'https://files.example/k.tar.xz?x=1'\n"));
	assert_non_null(strstr(workflow, digest));
	json_decref(told.result);
}

/* Nothing of an option becomes YAML or shell, and nothing is written where one is refused. */
static void
test_refusals(void **state)
{
	(void)state;
	AUTO_FREE char *inside = path_join(folder, "kettle.key");
	const char *const wrong[][2] = {{"minutes", "0"}, {"minutes", "60; rm"}, {"minutes", "60\n"}, {"url", "ftp://x/y"},
		{"url", "https://x/'; echo"}, {"url", "https://x/$(id)"}, {"url", "https://x/\ny"}, {"sha256", "abc"},
		{"sha256", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}, {"workflow", "../x.yml"},
		{"workflow", "kettle"}, {"workflow", ".yml"}, {"colour", "red"}, {"exec_archive", "/nowhere/at/all"}};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct told told = init(json_pack("{s:s}", wrong[i][0], wrong[i][1]), false);
		assert_true(told.err.code < 0 && told.err.message[0] != '\0' && !told.result);
		struct stat there;
		assert_int_equal(stat(folder, &there), -1);
	}
	struct told told = init(json_pack("{s:s}", "key_file", inside), false);
	assert_int_equal(told.err.code, KETTLE_EINVAL);
	assert_non_null(strstr(told.err.message, "must not get into the repository"));
}

static const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_writes, setup, teardown),
	cmocka_unit_test(test_workflow), cmocka_unit_test_setup_teardown(test_url, setup, teardown),
	cmocka_unit_test_setup_teardown(test_refusals, setup, teardown)};

UNIT_TESTS(test_github_setup);
