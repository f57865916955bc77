/* SPDX-License-Identifier: MIT */
/* The content of a sealed result: a completion and its files. */
#include <config.h>

#include "sealed/result_package.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/json_access.h"
#include "base/sanitize_text.h"
#include "base/xalloc.h"

#define MAX_VERSION 64 /* characters that are shown of another side's version */

/* Whether it is a step's name and, behind a slash, a name below the step's folder, each of them as long as it may be. EINVAL. */
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

/* One for which there is no room is left out: the job has ended as it has, however much it left. */
static int
pack_file(struct packing *packing, const char *step, const json_t *artifact, struct kettle_error *err)
{
	const char *sha256 = member_text(artifact, "sha256");
	json_int_t size = member_int(artifact, "size");
	AUTO_FREE char *path = xasprintf("%s/%s", step, member_text(artifact, "name")), *data = NULL;
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
		return kettle_fail(err, KETTLE_EIO, "The artifact %s is not what its step left any more.", path);
	json_array_append(packing->files, file);
	buf_add(&packing->bytes, data, len);
	packing->left -= line + len;
	packing->line_left -= line;
	return 0;
}

static int
pack_files(struct packing *packing, const json_t *completion, struct kettle_error *err)
{
	size_t i, n;
	const json_t *outcome, *artifact;
	json_array_foreach(json_object_get(completion, "outcomes"), i, outcome)
		json_array_foreach(json_object_get(outcome, "artifacts"), n, artifact) {
			int rc = pack_file(packing, member_text(outcome, "step"), artifact, err);
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

/* The members of the line, the protocol first: another one may differ in all others. */
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

/* Every file lies in the bytes where the line says, and nothing is left. */
static int
check_files(const json_t *files, const char *bytes, size_t left, struct kettle_error *err)
{
	size_t i;
	const json_t *file;
	json_array_foreach(files, i, file) {
		char sha256[65];
		const json_t *size = json_object_get(file, "size");
		int rc = check_path(member_text(file, "path"), err);
		if (rc)
			return rc;
		if (!json_is_integer(size) || json_integer_value(size) < 0 || (uint64_t)json_integer_value(size) > left)
			return fail_damaged(err, "a file is longer than what is left of it");
		sha256_hex(bytes, (size_t)json_integer_value(size), sha256);
		if (!member_is(file, "sha256", sha256))
			return kettle_fail(err, KETTLE_EINVAL, "The artifact %s differs from the digest that kettle-exec gave it.",
				member_text(file, "path"));
		bytes += json_integer_value(size);
		left -= (size_t)json_integer_value(size);
	}
	return left ? fail_damaged(err, "bytes follow its last file") : 0;
}

static int
write_file(const char *spool, const char *name, const void *data, size_t size, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(spool, name);
	AUTO_FREE char *folder = path_above(path, 1);
	int rc = file_mkdirs(folder, 0700, err);
	if (rc)
		return rc;
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write_all(fd, data, size) || close(STEAL_FD(fd)))
		return kettle_fail(err, KETTLE_EIO, "The artifact %s cannot be written: %s.", path, strerror(errno));
	return 0;
}

static int
write_files(const json_t *files, const char *spool, const char *bytes, struct kettle_error *err)
{
	size_t i;
	const json_t *file;
	int rc = 0;
	json_array_foreach(files, i, file) {
		size_t size = (size_t)member_int(file, "size");
		rc = write_file(spool, member_text(file, "path"), bytes, size, err);
		if (rc)
			return rc;
		bytes += size;
	}
	return 0;
}

int
result_package_read(
	const void *data, size_t size, const char *spool, json_t **ret_completion, char **ret_run, struct kettle_error *err)
{
	const char *start = data,
			   *end = memchr(data, '\n', size < RESULT_PACKAGE_MAX_LINE ? size : RESULT_PACKAGE_MAX_LINE);
	if (!end)
		return fail_damaged(err, "its first line has no end");
	struct kettle_error why = {0};
	AUTO_JSON json_t *head =
		bounded_json_parse(start, (size_t)(end - start), BOUNDED_JSON_RESULT, JSON_REJECT_DUPLICATES, &why);
	const json_t *files = json_object_get(head, "files");
	int rc = head ? check_head(head, err) : fail_damaged(err, why.message);
	if (rc == 0)
		rc = check_files(files, end + 1, size - (size_t)(end + 1 - start), err);
	if (rc == 0 && spool)
		rc = write_files(files, spool, end + 1, err);
	if (rc)
		return rc;
	const char *run = member_string(head, "run");
	*ret_completion = json_incref(json_object_get(head, "completion"));
	*ret_run = run ? xstrdup(run) : NULL;
	return 0;
}
