/* SPDX-License-Identifier: MIT */
/* `kettle runner init`: the files that it writes, and what the operator does next. */
#include <config.h>

#include "runners/common/init_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/io.h"
#include "sealed/sealed.h"

#define MAX_FILE (64u << 20) /* bytes of an existing file that is compared */
#define MAX_KEY_FILE 4096

static void
work(void *arg)
{
	struct init *init = arg;
	/* Reading a file that does not exist yet may have set init->err. */
	if (init->write(init, &init->err) == 0)
		init->err = (struct kettle_error){0};
}

static void
free_init(struct init *init)
{
	json_decref_all(init->section, init->args, init->files, init->next);
	free(init);
}

static void
after(void *arg)
{
	struct init *init = arg;
	AUTO_JSON json_t *result = json_pack("{s:O, s:O}", "files", init->files, "next", init->next);
	init->done(init->arg, &init->err, init->err.code < 0 ? NULL : result);
	free_init(init);
}

int
init_run(const struct kettle_host *host, const json_t *section, const json_t *args,
	int (*write)(struct init *init, struct kettle_error *err), kettle_answer done, void *arg, struct kettle_error *err)
{
	struct init *init = xnew(struct init, .section = json_deep_copy(section), .args = json_deep_copy(args),
		.files = json_array(), .next = json_array(), .write = write, .done = done, .arg = arg);
	int rc = host->work(host, work, after, init, err);
	if (rc < 0)
		free_init(init);
	return rc;
}

void
init_file_add(json_t *files, const char *path, const char *state)
{
	json_array_append_new(files, json_pack("{s:s, s:s}", "path", path, "state", state));
}

void
init_say(struct init *init, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	json_array_append_new(init->next, json_vsprintf(format, args));
	va_end(args);
}

int
init_file_write(
	struct init *init, const char *name, const void *data, size_t size, mode_t mode, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(json_text_or_empty(init->args, "folder"), name), *folder = path_above(path, 1);
	AUTO_FREE char *old = NULL;
	size_t old_size = 0;
	int rc = file_read(path, MAX_FILE, &old, &old_size, err);
	bool same = rc == 0 && old_size == size && memcmp(old, data, size) == 0;
	if (rc == 0 && !same && !member_true(init->args, "force"))
		return kettle_fail(err, KETTLE_ECONFLICT,
			"%s exists and differs from what would be written: give `--force` to replace it.", path);
	if (rc < 0 && rc != KETTLE_ENOENT)
		return rc;
	const char *state = same ? "unchanged" : rc == 0 ? "replaced" : "created";
	rc = same ? 0 : file_mkdirs(folder, 0777, err);
	if (rc == 0 && !same)
		rc = file_write(path, data, size, mode, err);
	if (rc == 0)
		init_file_add(init->files, path, state);
	return rc;
}

/* Creates the key's file, which must not exist. */
static int
write_new(const char *path, const char *text, struct kettle_error *err)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write_all(fd, text, strlen(text)) != 0 || fsync(fd) != 0)
		return kettle_fail(err, KETTLE_EIO, "The key cannot be written to `%s`: %s.", path, strerror(errno));
	return 0;
}

int
init_key_write(struct init *init, const char *path, struct kettle_error *err)
{
	unsigned char key[SEALED_KEY_SIZE];
	AUTO_FREE char *there = NULL;
	size_t size = 0;
	int rc = file_read(path, MAX_KEY_FILE, &there, &size, err);
	const char *state = rc == 0 ? "unchanged" : "created";
	if (rc == 0) {
		there[strcspn(there, "\r\n")] = '\0';
		rc = sealed_key_parse(there, key, err);
		explicit_bzero(there, size);
	} else if (rc == KETTLE_ENOENT) {
		random_bytes(key, sizeof(key));
		AUTO_FREE char *text = sealed_to_text(key, sizeof(key)), *line = xasprintf("%s\n", text);
		rc = write_new(path, line, err);
		explicit_bzero(text, strlen(text));
		explicit_bzero(line, strlen(line));
	}
	explicit_bzero(key, sizeof(key));
	if (rc == 0)
		init_file_add(init->files, path, state);
	return rc;
}

const char *
init_option(const json_t *args, const char *name)
{
	return json_text_or_null(json_object_get(args, "options"), name);
}

int
init_options_check(const json_t *args, const char *const *names, struct kettle_error *err)
{
	AUTO_BUF struct buf known = {0};
	for (size_t i = 0; names[i]; i++)
		buf_printf(&known, "%s`%s`", i ? ", " : "", names[i]);
	json_object_each(json_object_get(args, "options"), name, value) {
		size_t i = 0;
		while (names[i] && strcmp(names[i], name) != 0)
			i++;
		if (!names[i])
			return kettle_fail(err, KETTLE_EINVAL, "This runner has no option `%s` for `init`; it has %s.", name,
				known.data ? known.data : "none");
	}
	return 0;
}
