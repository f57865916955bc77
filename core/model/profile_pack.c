/* SPDX-License-Identifier: MIT */
/* The files of a profile as one zip with a manifest. */
#include <config.h>

#include "model/profile_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "base/zip_cleanup.h"

#define FORMAT 1     /* of the manifest */
#define FAST 1       /* level of compression: a machine that measures has better things to do */
#define MAX_SAID 200 /* bytes of a profiler's text in the manifest */

/* One profile while it is packed. */
struct packing {
	const char *folder; /* SPOOL/ATTEMPT.run */
	const char *step;
	json_t *files; /* its entries of the verdict's artifacts, borrowed */
	int64_t left;  /* bytes */
	zip_t *zip;
	char *manifest;
};

static int
fail_zip(zip_error_t *error, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EIO, "The profile cannot be packed: %s.", zip_error_strerror(error));
}

/* ---- the manifest ---- */

/* {"sha256": of the lines "HASH  NAME" in the order of the names, "files": {name: hash}} of a plan's files. New reference. */
static json_t *
describe_sources(const json_t *plan)
{
	AUTO_BUF struct buf lines = {0};
	AUTO_JSON json_t *hashes = json_object();
	json_object_each(json_object_get(plan, "files"), name, contents) {
		const char *blob = json_text_or_null(contents, "blob");
		AUTO_FREE char *data = NULL;
		char hex[65] = "";
		size_t size = 0;
		if (!blob && contents_bytes(contents, &data, &size, NULL) == 0)
			sha256_hex(data, size, hex);
		json_object_set_new(hashes, name, json_string(blob ? blob : hex));
	}
	/* As text with sorted keys, and read again: then the order of the object is that of the names. */
	AUTO_FREE char *sorted = json_dumps(hashes, JSON_SORT_KEYS | JSON_COMPACT);
	json_t *ordered = json_loads(sorted, 0, NULL);
	json_object_each(ordered, name, hash)
		buf_printf(&lines, "%s  %s\n", json_string_value(hash), name);
	char all[65];
	sha256_hex(lines.data ? lines.data : "", lines.len, all);
	return json_pack("{s:s, s:o}", "sha256", all, "files", ordered);
}

/* A word of the result, which the submission may have written: cut. New reference. */
static json_t *
said(const json_t *result, const char *key)
{
	AUTO_FREE char *text = sanitize_line(json_text_or_empty(result, key), MAX_SAID);
	return *text ? json_string(text) : json_null();
}

static json_t *
describe_files(const json_t *files)
{
	json_t *list = json_array();
	json_array_each(files, file)
		json_array_append_new(list, json_pack("{s:O, s:O, s:O}", "name", json_object_get(file, "name"), "size",
										json_object_get(file, "size"), "sha256", json_object_get(file, "sha256")));
	return list;
}

/* New string. */
static char *
make_manifest(const struct profile_pack_job *job, const struct verdict *verdict, const struct verdict_entry *entry,
	const json_t *files)
{
	const json_t *capture = json_object_get(entry->step.json, "capture");
	const json_t *benchmarks = json_object_get(job->task, "benchmarks");
	AUTO_JSON json_t *options = capture ? json_copy((json_t *)capture) : json_object();
	AUTO_JSON json_t *manifest = json_pack("{s:i, s:I, s:I, s:I, s:O*, s:O, s:{s:o, s:o}, s:{s:s, s:o}, s:s, s:o, s:o}",
		"format", FORMAT, "submission", (json_int_t)job->submission, "job", (json_int_t)job->job, "benchmark",
		(json_int_t)entry->step.index, "case", json_array_get(benchmarks, (size_t)entry->step.index), "options",
		options, "tool", "name", said(entry->result, "profile.tool"), "version", said(entry->result, "profile.version"),
		"device", "name", job->device, "system", verdict_run_system(verdict), "state",
		verdict_state_name(entry->judged.state), "sources", describe_sources(verdict->plan), "files",
		describe_files(files));
	return json_dumps(manifest, JSON_INDENT(2));
}

/* ---- the archive ---- */

static int
add_source(struct packing *packing, const char *name, zip_source_t *source, struct kettle_error *err)
{
	zip_int64_t index = source ? zip_file_add(packing->zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
	if (index < 0 && source)
		zip_source_free(source);
	if (index < 0 || zip_file_set_dostime(packing->zip, (zip_uint64_t)index, 0, ZIP_FIRST_DATE, 0) != 0 ||
		zip_set_file_compression(packing->zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, FAST) != 0)
		return fail_zip(zip_get_error(packing->zip), err);
	return 0;
}

/* Opens a file that is what its runner reported. */
static int
open_reported(const struct packing *packing, const json_t *artifact, int *ret_fd, struct kettle_error *err)
{
	const char *name = json_text_or_empty(artifact, "name");
	struct stat status;
	char hash[65] = "";
	int rc = path_check_inside(name, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *path = xasprintf("%s/%s/%s", packing->folder, packing->step, name);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) != 0)
		return kettle_fail(err, KETTLE_EIO, "The file `%s` cannot be read: %s.", name, strerror(errno));
	if (!S_ISREG(status.st_mode) || status.st_size != member_int(artifact, "size") || status.st_size > packing->left ||
		sha256_fd(fd, hash) != 0 || strcmp(hash, json_text_or_empty(artifact, "sha256")) != 0 ||
		lseek(fd, 0, SEEK_SET) != 0)
		return kettle_fail(err, KETTLE_EIO, "The file `%s` is too large, or not what its runner reported.", name);
	*ret_fd = STEAL_FD(fd);
	return 0;
}

static int
add_file(struct packing *packing, const json_t *artifact, struct kettle_error *err)
{
	int fd = -1, rc = open_reported(packing, artifact, &fd, err);
	FILE *file = rc == 0 ? fdopen(fd, "rb") : NULL;
	if (rc == 0 && !file) {
		close(fd);
		rc = kettle_fail(err, KETTLE_EIO, "A file cannot be read: %s.", strerror(errno));
	}
	if (rc < 0)
		return rc;
	packing->left -= member_int(artifact, "size");
	zip_source_t *source = zip_source_filep(packing->zip, file, 0, -1);
	if (!source)
		(void)fclose(file);
	return add_source(packing, json_text_or_empty(artifact, "name"), source, err);
}

/* Writes the zip; nothing is left of one that is not whole. */
static int
write_zip(struct packing *packing, const char *path, struct kettle_error *err)
{
	int number = 0, rc = 0;
	zip_error_t why;
	AUTO_ZIP zip_t *zip = packing->zip = zip_open(path, ZIP_CREATE | ZIP_EXCL, &number);
	if (!zip) {
		zip_error_init_with_code(&why, number);
		rc = fail_zip(&why, err);
		zip_error_fini(&why);
		return rc;
	}
	json_array_each(packing->files, file)
		rc = rc ? rc : add_file(packing, file, err);
	if (rc == 0)
		rc = add_source(packing, PROFILE_PACK_MANIFEST,
			zip_source_buffer(zip, packing->manifest, strlen(packing->manifest), 0), err);
	if (rc == 0 && zip_close(zip) != 0)
		rc = fail_zip(zip_get_error(zip), err);
	else if (rc == 0)
		zip = NULL;
	packing->zip = NULL;
	return rc;
}

/* The entry of the verdict's artifacts for the zip; new reference. */
static int
describe_zip(const struct packing *packing, const char *path, json_t **ret_artifact, struct kettle_error *err)
{
	struct stat status;
	char hash[65];
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &status) != 0 || sha256_fd(fd, hash) != 0)
		return kettle_fail(err, KETTLE_EIO, "`%s` cannot be read: %s.", path, strerror(errno));
	*ret_artifact = json_pack("{s:s, s:s, s:I, s:s}", "step", packing->step, "name", PROFILE_PACK_NAME, "size",
		(json_int_t)status.st_size, "sha256", hash);
	return 0;
}

/* ---- the profiles of a verdict ---- */

/* The artifacts of a step, or all others. New reference. */
static json_t *
select_files(const json_t *artifacts, const char *step, bool same)
{
	json_t *list = json_array();
	json_array_each(artifacts, artifact)
		if (member_is(artifact, "step", step) == same)
			json_array_append(list, artifact);
	return list;
}

static int
pack_entry(const struct profile_pack_job *job, const char *folder, int64_t max_bytes, struct verdict *verdict,
	const struct verdict_entry *entry, struct kettle_error *err)
{
	AUTO_JSON json_t *files = select_files(verdict->artifacts, entry->step.id, true), *zip = NULL;
	if (json_array_size(files) == 0 || path_check_inside(entry->step.id, NULL) < 0)
		return 0;
	AUTO_FREE char *manifest = make_manifest(job, verdict, entry, files);
	AUTO_FREE char *path = xasprintf("%s/%s/%s", folder, entry->step.id, PROFILE_PACK_NAME);
	struct packing packing = {
		.folder = folder, .step = entry->step.id, .files = files, .left = max_bytes, .manifest = manifest};
	int rc = write_zip(&packing, path, err);
	if (rc == 0)
		rc = describe_zip(&packing, path, &zip, err);
	if (rc < 0)
		return rc;
	json_t *others = select_files(verdict->artifacts, entry->step.id, false);
	json_array_append(others, zip);
	json_decref(verdict->artifacts);
	verdict->artifacts = others;
	return 0;
}

int
profile_pack(const char *spool, const char *attempt, int64_t max_bytes, const struct profile_pack_job *job,
	struct verdict *verdict, struct kettle_error *err)
{
	AUTO_FREE char *folder = xasprintf("%s/%s.run", spool, attempt);
	struct kettle_error first = {0};
	for (size_t i = 0; i < verdict->count; i++) {
		const struct verdict_entry *entry = &verdict->entries[i];
		struct kettle_error one = {0};
		if (strcmp(entry->step.mode, "profile") == 0 && !entry->step.secret &&
			pack_entry(job, folder, max_bytes, verdict, entry, &one) < 0 && first.code == 0)
			first = one;
	}
	return first.code < 0 ? kettle_fail(err, first.code, "%s", first.message) : 0;
}
