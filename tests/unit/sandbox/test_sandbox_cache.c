/* SPDX-License-Identifier: MIT */
/* The cache: layers below it, what is new in it, and its bounds. */
#include <config.h>

#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "unit/sandbox/sandbox_fixture.h"

/* A layer of two files, one of them in a folder, as the layers' owner must leave them. */
static void
make_layer(const char *folder, const char *name, const char *text)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/kernels", folder);
	(void)file_remove_tree(folder, NULL);
	assert_int_equal(mkdir(folder, 0777), 0);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chmod(folder, 0777) || chmod(path, 0777), 0);
	fixture_put_file(folder, "both", text, 0666);
	fixture_put_file(path, name, text, 0666);
}

static void
assert_holds(int folder, const char *name, const char *wanted)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	assert_int_equal(file_read_at(folder, name, 100, &data, &size, NULL), 0);
	assert_string_equal(data, wanted);
}

/* Runs a script on a cache of two layers, the second of which is behind a link and a path with separators. */
static void
run_on_layers(struct fixture *fixture, const char *script)
{
	static char first[96], second[96], missing[96];
	(void)snprintf(first, sizeof(first), "%s/first", fixture->folder);
	(void)snprintf(second, sizeof(second), "%s/a:b,c=", fixture->folder);
	(void)snprintf(missing, sizeof(missing), "%s/missing", fixture->folder);
	make_layer(first, "one", "first\n");
	make_layer(second, "two", "second\n");
	fixture_put_file(fixture->job, "run", script, 0755);
	fixture->config.cache = (struct sandbox_cache){
		.name = "cache", .layers = {first, missing, second}, .count = 3, .bytes = 1u << 20, .inodes = 100};
	fixture->config.file = "./run";
	FIXTURE_RUN(fixture, "x");
	int before = open(second, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(before >= 0);
	assert_holds(before, "both", "second\n");
	assert_holds(before, "kernels/two", "second\n");
	assert_int_not_equal(faccessat(before, "kernels/new", F_OK, 0), 0);
	close(before);
}

#define CACHE_SCRIPT \
	"#!/bin/sh\nset -e\ncd out/cache\ncat both kernels/one kernels/two\necho new >kernels/new\necho more " \
	">>kernels/two\n" \
	"mv both kernels/moved\nmkdir own\nls -d /.layers 2>&1 || grep -c /.layers/0 /proc/self/mountinfo\nls . kernels\n"

static void
test_cache_layers(void **state)
{
	struct fixture *fixture = *state;
	run_on_layers(fixture, CACHE_SCRIPT);
	assert_said(fixture, "first\nfirst\nsecond\n");
	assert_said(fixture, "No such file");
	assert_said(fixture, ".:\nkernels\nown\n\nkernels:\nmoved\nnew\none\ntwo\n");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_true(fixture->report.layered);
	int cache = sandbox_cache_fd(fixture->sandbox);
	assert_true(cache >= 0);
	assert_holds(cache, "kernels/new", "new\n");
	assert_holds(cache, "kernels/two", "second\nmore\n");
	assert_holds(cache, "kernels/moved", "first\n");
	assert_int_not_equal(faccessat(cache, "kernels/one", F_OK, 0), 0);
	assert_int_equal(faccessat(cache, "own", F_OK, 0), 0);
}

/* Where the machine has no overlay: none takes a layer that is itself an overlay of an overlay. */
static void
test_cache_copied(void **state)
{
	struct fixture *fixture = *state;
	char folder[96], empty[96], stack[256];
	if (fixture_is_user())
		return; /* who may not mount what it takes */
	(void)snprintf(folder, sizeof(folder), "%s/first", fixture->folder);
	(void)snprintf(empty, sizeof(empty), "%s/empty", fixture->folder);
	(void)snprintf(stack, sizeof(stack), "lowerdir=%s:%s", folder, empty);
	make_layer(folder, "one", "first\n");
	assert_int_equal(mkdir(empty, 0755), 0);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(mount("overlay", folder, "overlay", MS_RDONLY, stack), 0);
	fixture->config.cache =
		(struct sandbox_cache){.name = "cache", .layers = {folder}, .count = 1, .bytes = 1u << 20, .inodes = 100};
	fixture->config.file = "./run";
	fixture_put_file(
		fixture->job, "run", "#!/bin/sh\ncd out/cache && cat both && echo new >kernels/one && chmod 600 both\n", 0755);
	FIXTURE_RUN(fixture, "x");
	assert_said(fixture, "first\n");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_false(fixture->report.layered);
	assert_holds(sandbox_cache_fd(fixture->sandbox), "kernels/one", "new\n");
	assert_holds(sandbox_cache_fd(fixture->sandbox), "both", "first\n");
	for (int i = 0; i < 2; i++)
		assert_int_equal(umount2(folder, MNT_DETACH), 0);
}

static void
test_cache_empty(void **state)
{
	struct fixture *fixture = *state;
	fixture_put_file(
		fixture->job, "run", "#!/bin/sh\necho x >out/cache/x\nmv out/cache out/away\nmkdir out/cache\n", 0755);
	fixture->config.cache = (struct sandbox_cache){.name = "cache"};
	fixture->config.file = "./run";
	FIXTURE_RUN(fixture, "x");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_false(fixture->report.layered);
	assert_holds(sandbox_cache_fd(fixture->sandbox), "x", "x\n");
}

static void
test_cache_bounded(void **state)
{
	struct fixture *fixture = *state;
	run_on_layers(fixture,
		"#!/bin/sh\nhead -c 2000000 /dev/zero 2>/dev/null >out/cache/large\necho $?\nhead -c 2000000 /dev/zero "
		">out/large && echo other\n");
	assert_said(fixture, "1\nother\n");
	assert_int_equal(fixture->report.hits, 1u << SANDBOX_LIMIT_CACHE);
	assert_int_equal(fixture->report.most[SANDBOX_LIMIT_CACHE], 1u << 20);
}

static void
test_cache_refused(void **state)
{
	static const char *const names[] = {"", "..", "a/b"};
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	struct sandbox *sandbox = NULL;
	static const char *const argv[] = {"x", NULL};
	fixture->config.argv = argv;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		fixture->config.cache = (struct sandbox_cache){.name = names[i]};
		assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EINVAL);
	}
}

static const struct CMUnitTest tests[] = {
	FIXTURE_TEST(test_cache_layers),
	FIXTURE_TEST(test_cache_copied),
	FIXTURE_TEST(test_cache_empty),
	FIXTURE_TEST(test_cache_bounded),
	FIXTURE_TEST(test_cache_refused),
};

SANDBOX_TESTS(test_sandbox_cache);
