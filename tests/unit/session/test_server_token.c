/* SPDX-License-Identifier: MIT */
/* The file with the tokens of a user at servers. */
#include <config.h>

#include "session/server_request.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static int
setup(void **state)
{
	*state = scratch_make();
	(void)unsetenv("KETTLE_TOKEN");
	return setenv("XDG_CONFIG_HOME", *state, 1);
}

static int
teardown(void **state)
{
	scratch_remove(*state);
	return 0;
}

static void
assert_kept(const char *server, const char *token, const char *name)
{
	AUTO_FREE char *kept_name = NULL, *kept = server_token_read(server, &kept_name);
	if (!token) {
		assert_null(kept);
		return;
	}
	assert_string_equal(kept, token);
	assert_string_equal(kept_name, name);
}

/* Each server has its own; a slash at the end of its address does not count. */
static void
test_servers(void **state)
{
	struct kettle_error err = {0};
	struct stat info;
	assert_kept("http://a", NULL, NULL);
	assert_int_equal(server_token_keep("http://a/", "one", "laptop", &err), 0);
	assert_int_equal(server_token_keep("http://b", "two", "desk", &err), 0);
	AUTO_FREE char *path = path_join(*state, "kettle/tokens.json");
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	assert_kept("http://a", "one", "laptop");
	assert_int_equal(server_token_keep("http://a", NULL, NULL, &err), 0);
	assert_kept("http://a", NULL, NULL);
	assert_kept("http://b/", "two", "desk");
}

/* A damaged file is left as it is, with the tokens that may still be in it. */
static void
test_damaged(void **state)
{
	AUTO_FREE char *folder = path_join(*state, "kettle"), *path = path_join(folder, "tokens.json"), *text = NULL;
	struct kettle_error err = {0};
	size_t size = 0;
	assert_int_equal(file_mkdirs(folder, 0700, &err), 0);
	assert_int_equal(file_write(path, "{\"http://a\"", 11, 0600, &err), 0);
	assert_kept("http://a", NULL, NULL);
	assert_int_equal(server_token_keep("http://b", "two", "desk", &err), KETTLE_EIO);
	assert_int_equal(err.code, KETTLE_EIO);
	assert_int_equal(file_read(path, 100, &text, &size, &err), 0);
	assert_string_equal(text, "{\"http://a\"");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_servers, setup, teardown),
	cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
};

UNIT_TESTS(test_server_token);
