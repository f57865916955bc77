/* SPDX-License-Identifier: MIT */
/* The key of a unit: taken from environment or file, and overwritten there. */
#include <config.h>

#include "exec/sealed/sealed_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/file.h"

#define MAX_FILE 4096

int
sealed_key_protect(struct kettle_error *err)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return kettle_fail(
			err, KETTLE_EINTERNAL, "This process cannot be closed to other processes: %s.", strerror(errno));
	return 0;
}

/* The memory in which execve put the environment is what /proc/PID/environ shows: it is overwritten in place. */
static void
wipe_environment(void)
{
	size_t len = strlen(SEALED_KEY_VARIABLE);
	for (char **variable = environ; variable && *variable; variable++)
		if (strncmp(*variable, SEALED_KEY_VARIABLE, len) == 0 && (*variable)[len] == '=')
			explicit_bzero(*variable + len + 1, strlen(*variable + len + 1));
	(void)unsetenv(SEALED_KEY_VARIABLE);
}

static int
parse_file(const char *file, unsigned char ret_key[SEALED_KEY_SIZE], struct kettle_error *err)
{
	char *text = NULL;
	size_t size = 0;
	int rc = file_read_at(AT_FDCWD, file, MAX_FILE, &text, &size, err);
	if (rc)
		return rc;
	rc = sealed_key_parse(text, ret_key, err);
	explicit_bzero(text, size);
	free(text);
	return rc;
}

int
sealed_key_take(const char *file, unsigned char ret_key[SEALED_KEY_SIZE], struct kettle_error *err)
{
	const char *text = getenv(SEALED_KEY_VARIABLE);
	int rc = 0;
	if (file)
		rc = parse_file(file, ret_key, err);
	else if (text && *text)
		rc = sealed_key_parse(text, ret_key, err);
	else
		rc = kettle_fail(err, KETTLE_EINVAL,
			"The key of the unit is missing: set the environment variable " SEALED_KEY_VARIABLE
			", or use --key-file FILE.");
	wipe_environment();
	return rc;
}
