/* SPDX-License-Identifier: MIT */
/* The content of a sealed result: a completion and its files. */
#include <config.h>

#include "sealed/result_package.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/utf8.h"

#define MAX_VERSION 64 /* characters that are shown of another side's version */

/* Whether it is a step's name, a slash and a name below the step's folder, each within its length. EINVAL. */
static int
check_path(const char *path, struct kettle_error *err)
{
	const char *slash = strchr(path, '/');
	if (!slash)
		return kettle_fail(err, KETTLE_EINVAL, "The path \"%.40s\" of a result must be STEP/NAME.", path);
	AUTO_FREE char *step = xstrndup(path, (size_t)(slash - path));
	int rc = path_check_inside(step, err);
	return rc ? rc : path_check_inside(slash + 1, err);
}

/* ---- writing ---- */

struct packing {
	const char *spool;
	size_t left, line_left; /* bytes of the package, and of its line, that files may still take */
	json_t *files;
	struct buf bytes;
};

/* A file for which there is no room is left out: the job's result stands without it. */
static int
pack_file(struct packing *packing, const char *step, const json_t *artifact, struct kettle_error *err)
{
	const char *sha256 = json_text_or_empty(artifact, "sha256");
	json_int_t size = member_int(artifact, "size");
	AUTO_FREE char *path = xasprintf("%s/%s", step, json_text_or_empty(artifact, "name")), *data = NULL;
	AUTO_FREE char *from = path_join(packing->spool, path);
	AUTO_JSON json_t *file = json_pack("{s:s, s:I, s:s}", "path", path, "size", size, "sha256", sha256);
	size_t line = json_dumpb(file, NULL, 0, JSON_COMPACT) + 1, len = 0;
	char found[65];
	int rc = check_path(path, err);
	if (rc == 0 && (line > packing->line_left || line > packing->left || (uint64_t)size > packing->left - line))
		return 0;
	if (rc == 0)
		rc = file_read(from, (size_t)size + 1, &data, &len, err);
	if (rc && rc != KETTLE_ETOOBIG)
		return rc;
	sha256_hex(data ? data : "", len, found);
	if (rc || (json_int_t)len != size || strcmp(found, sha256) != 0)
		return kettle_fail(err, KETTLE_EIO, "The artifact %s is no longer what its step left.", path);
	json_array_append(packing->files, file);
	buf_add(&packing->bytes, data, len);
	packing->left -= line + len;
	packing->line_left -= line;
	return 0;
}

static int
pack_files(struct packing *packing, const json_t *completion, struct kettle_error *err)
{
	json_array_each(json_object_get(completion, "outcomes"), outcome)
		json_array_each(json_object_get(outcome, "artifacts"), artifact) {
			int rc = pack_file(packing, json_text_or_empty(outcome, "step"), artifact, err);
			if (rc)
				return rc;
		}
	return 0;
}

int
result_package_write(const json_t *completion, const char *spool, const char *run, size_t max_size, char **ret_data,
	size_t *ret_size, struct kettle_error *err)
{
	AUTO_JSON json_t *files = json_array();
	AUTO_JSON json_t *head = json_pack("{s:i, s:s, s:s*, s:O, s:O}", "protocol", RESULT_PACKAGE_PROTOCOL, "version",
		PACKAGE_VERSION, "run", run, "completion", completion, "files", files);
	size_t most = max_size < RESULT_PACKAGE_MAX_LINE ? max_size : RESULT_PACKAGE_MAX_LINE;
	size_t bare = json_dumpb(head, NULL, 0, JSON_COMPACT) + 1; /* without files */
	if (bare == 1)
		return kettle_fail(err, KETTLE_EINVAL, "The result cannot be written as JSON.");
	if (bare > most)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "The result of the job exceeds the %zu bytes that a sealed result takes.", most);
	struct packing packing = {.spool = spool, .left = max_size - bare, .line_left = most - bare, .files = files};
	AUTO_BUF struct buf package = {0};
	int rc = pack_files(&packing, completion, err);
	if (rc == 0) {
		AUTO_FREE char *line = json_dumps(head, JSON_COMPACT);
		buf_adds(&package, line ? line : "");
		buf_adds(&package, "\n");
		buf_add(&package, packing.bytes.data, packing.bytes.len);
	}
	buf_free(&packing.bytes);
	if (rc)
		return rc;
	*ret_size = package.len;
	*ret_data = buf_take(&package);
	return 0;
}

/* ---- reading ---- */

static int
fail_damaged(struct kettle_error *err, const char *why)
{
	return kettle_fail(err, KETTLE_EINVAL, "The result that kettle-exec made is damaged: %s.", why);
}

/* Reads the members of the line, the protocol first: in another protocol all others may differ. */
static int
check_head(const json_t *head, struct kettle_error *err)
{
	const json_t *protocol = json_object_get(head, "protocol"), *version = json_object_get(head, "version");
	const json_t *run = json_object_get(head, "run");
	if (!json_is_integer(protocol) || !json_is_string(version))
		return fail_damaged(err, "its first line must have `protocol` and `version`");
	AUTO_FREE char *shown = sanitize_line(json_string_value(version), MAX_VERSION);
	if (json_integer_value(protocol) != RESULT_PACKAGE_PROTOCOL)
		return kettle_fail(err, KETTLE_EVERSION,
			"The result was made by kettle-exec %s in format %lld, and Kettle %s reads format %d; use the kettle-exec "
			"of "
			"Kettle %s there.",
			shown, (long long)json_integer_value(protocol), PACKAGE_VERSION, RESULT_PACKAGE_PROTOCOL, PACKAGE_VERSION);
	if (!json_is_object(json_object_get(head, "completion")) || !json_is_array(json_object_get(head, "files")) ||
		(run && !json_is_string(run)))
		return fail_damaged(err, "`completion` must be an object, `files` an array, and `run` a string");
	return 0;
}

/* Checks what the line announces, before any of it is taken; `left`: bytes for the files. */
static int
check_files(const json_t *files, uint64_t left, struct kettle_error *err)
{
	json_array_each(files, file) {
		const json_t *size = json_object_get(file, "size");
		int rc = check_path(json_text_or_empty(file, "path"), err);
		if (rc)
			return rc;
		if (!json_is_integer(size) || json_integer_value(size) < 0)
			return fail_damaged(err, "a file has no size");
		if ((uint64_t)json_integer_value(size) > left)
			return kettle_fail(
				err, KETTLE_ETOOBIG, "The result that kettle-exec made announces more files than are allowed.");
		left -= (uint64_t)json_integer_value(size);
	}
	return 0;
}

struct result_reader {
	char *spool, *stage; /* stage: the folder of the files until they are proven; NULL: files are only checked */
	uint64_t max_size;
	struct buf line;
	size_t line_size; /* of the line, once it was read */
	json_t *head;     /* of the line, once it was read */
	size_t number;    /* of the file that is being read */
	/* Of that file. */
	struct sha256 *sha256; /* NULL: there is none */
	uint64_t left;
	int fd; /* -1: it is only checked */
};

struct result_reader *
result_reader_new(const char *spool, uint64_t max_size)
{
	struct result_reader *reader = xnew(struct result_reader, .max_size = max_size, .fd = -1,
		.spool = spool ? xstrdup(spool) : NULL, .stage = spool ? xasprintf("%s" RESULT_PACKAGE_STAGE, spool) : NULL);
	return reader;
}

size_t
result_reader_line_size(const struct result_reader *reader)
{
	return reader->line_size;
}

void
result_reader_free(struct result_reader *reader)
{
	if (!reader)
		return;
	sha256_free(reader->sha256);
	if (reader->fd >= 0)
		close(reader->fd);
	if (reader->stage)
		(void)file_remove_tree(reader->stage, NULL);
	json_decref(reader->head);
	buf_free(&reader->line);
	free_all(reader->spool, reader->stage, reader);
}

static const json_t *
current_file(const struct result_reader *reader)
{
	return json_array_get(json_object_get(reader->head, "files"), reader->number);
}

static int
fail_write(const char *path, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EIO, "The artifact %s cannot be written: %s.", path, strerror(errno));
}

static int
make_file(struct result_reader *reader, const char *name, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(reader->stage, name);
	AUTO_FREE char *folder = path_above(path, 1);
	int rc = file_mkdirs(folder, 0700, err);
	if (rc)
		return rc;
	reader->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return reader->fd < 0 ? fail_write(path, err) : 0;
}

static int
end_file(struct result_reader *reader, struct kettle_error *err)
{
	const json_t *file = current_file(reader);
	const char *path = json_text_or_empty(file, "path");
	char found[65];
	sha256_end(reader->sha256, found);
	sha256_free(STEAL(reader->sha256));
	if (!member_is(file, "sha256", found))
		return kettle_fail(
			err, KETTLE_EINVAL, "The artifact %s differs from the digest that kettle-exec gave it.", path);
	/* Only ftruncate makes a hole at the end, and on some file systems only close reports a full disk. */
	if (reader->fd >= 0 && (ftruncate(reader->fd, (off_t)member_int(file, "size")) || close(STEAL_FD(reader->fd))))
		return fail_write(path, err);
	reader->number++;
	return 0;
}

/* Begins the next file that has bytes; empty ones before it end at once. */
static int
next_file(struct result_reader *reader, struct kettle_error *err)
{
	int rc = 0;
	const json_t *file;
	while (rc == 0 && !reader->sha256 && (file = current_file(reader))) {
		reader->left = (uint64_t)member_int(file, "size");
		reader->sha256 = sha256_new();
		if (reader->stage)
			rc = make_file(reader, json_text_or_empty(file, "path"), err);
		if (rc == 0 && reader->left == 0)
			rc = end_file(reader, err);
	}
	return rc;
}

static int
read_line(struct result_reader *reader, struct kettle_error *err)
{
	struct kettle_error why = {0};
	uint64_t size = reader->line.len + 1;
	reader->line_size = reader->line.len;
	reader->head = bounded_json_parse(reader->line.data ? reader->line.data : "", reader->line.len, BOUNDED_JSON_RESULT,
		JSON_REJECT_DUPLICATES, &why);
	buf_free(&reader->line);
	int rc = reader->head ? check_head(reader->head, err)
			 : why.code == KETTLE_ETOOBIG
				 ? kettle_fail(err, KETTLE_ETOOBIG, "The report in the result that kettle-exec made is not read: %s.",
					   why.message)
				 : fail_damaged(err, why.message);
	if (rc == 0)
		rc = check_files(
			json_object_get(reader->head, "files"), size < reader->max_size ? reader->max_size - size : 0, err);
	/* An engine that was killed may have left a part of it. */
	if (rc == 0 && reader->stage)
		rc = file_remove_tree(reader->stage, err);
	return rc == 0 ? next_file(reader, err) : rc;
}

/* Takes bytes of the line, its end included; *ret_size: how many. */
static int
take_line(struct result_reader *reader, const char *data, size_t size, size_t *ret_size, struct kettle_error *err)
{
	const char *end = memchr(data, '\n', size);
	size_t len = end ? (size_t)(end - data) : size;
	if (reader->line.len + len >= RESULT_PACKAGE_MAX_LINE)
		return kettle_fail(err, KETTLE_ETOOBIG, "The report in the result that kettle-exec made has more than %u MiB.",
			RESULT_PACKAGE_MAX_LINE >> 20);
	buf_add(&reader->line, data, len);
	*ret_size = end ? len + 1 : len;
	return end ? read_line(reader, err) : 0;
}

static int
take_file(struct result_reader *reader, const char *data, size_t size, size_t *ret_size, struct kettle_error *err)
{
	size_t len = size < reader->left ? size : (size_t)reader->left;
	if (!reader->sha256)
		return fail_damaged(err, "bytes follow its last file");
	if (reader->fd >= 0 && write_sparse(reader->fd, data, len))
		return fail_write(json_text_or_empty(current_file(reader), "path"), err);
	sha256_add(reader->sha256, data, len);
	reader->left -= len;
	*ret_size = len;
	int rc = reader->left ? 0 : end_file(reader, err);
	return rc == 0 ? next_file(reader, err) : rc;
}

int
result_reader_take(void *reader, const void *data, size_t size, struct kettle_error *err)
{
	struct result_reader *self = reader;
	const char *at = data;
	int rc = 0;
	while (rc == 0 && size) {
		size_t taken = 0;
		rc = self->head ? take_file(self, at, size, &taken, err) : take_line(self, at, size, &taken, err);
		at += taken;
		size -= taken;
	}
	return rc;
}

static int
publish(struct result_reader *reader, struct kettle_error *err)
{
	int rc = file_remove_tree(reader->spool, err);
	if (rc == 0 && reader->number && rename(reader->stage, reader->spool) != 0)
		rc = fail_write(reader->spool, err);
	return rc;
}

int
result_reader_finish(struct result_reader *reader, json_t **ret_completion, char **ret_run, struct kettle_error *err)
{
	if (!reader->head)
		return fail_damaged(err, "its first line has no end");
	if (current_file(reader))
		return fail_damaged(err, "a file is longer than what is left of it");
	int rc = reader->spool ? publish(reader, err) : 0;
	if (rc)
		return rc;
	const char *run = json_text_or_null(reader->head, "run");
	*ret_completion = json_incref(json_object_get(reader->head, "completion"));
	*ret_run = run ? xstrdup(run) : NULL;
	return 0;
}
