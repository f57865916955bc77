/* SPDX-License-Identifier: MIT */
/* Makes the folder that a step works in from its declared inputs. */
#include <config.h>

#include "exec/job/folder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "exec/util/collect_outputs.h"
#include "base/text.h"

/* The bytes of contents, wherever the machine has them. New bytes. */
static int
read_contents(const struct folder_sources *sources, const json_t *contents, char **ret_data, size_t *ret_size,
	struct kettle_error *err)
{
	const char *blob = json_string_value(json_object_get(contents, "blob"));
	if (!blob)
		return contents_bytes(contents, ret_data, ret_size, err);
	for (size_t i = 0; sources->blob_dirs[i]; i++) {
		AUTO_FREE char *path = path_join(sources->blob_dirs[i], blob);
		AUTO_FREE char *data = NULL;
		char hex[65];
		if (!path || file_read(path, FOLDER_MAX_BLOB, &data, ret_size, NULL) != 0)
			continue;
		sha256_hex(data, *ret_size, hex);
		if (strcmp(hex, blob) != 0)
			return kettle_fail(err, KETTLE_EIO, "The blob `%s` is damaged: its bytes have another SHA-256.", path);
		*ret_data = STEAL(data);
		return 0;
	}
	return kettle_fail(err, KETTLE_ENOENT, "This machine does not have the blob %s.", blob);
}

static const json_t *
folder_resolve(const struct folder_sources *sources, const json_t *input)
{
	const char *file = json_string_value(json_object_get(input, "file"));
	return file ? json_object_get(sources->files, file) : input;
}

static const struct folder_step *
find_input_step(const struct folder_sources *sources, const char *id)
{
	for (size_t i = 0; i < sources->steps_count; i++)
		if (strcmp(sources->steps[i].id, id) == 0 && sources->steps[i].manifest)
			return &sources->steps[i];
	return NULL;
}

static int
write_contents(const struct folder_sources *sources, const json_t *contents, const char *path, mode_t mode,
	struct kettle_error *err)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = read_contents(sources, contents, &data, &size, err);
	if (rc == 0)
		rc = collect_outputs_make_parents(path, err);
	if (rc == 0)
		rc = file_write(path, data, size, mode, err);
	/* Build tools compare times: the same contents have the same one in every step. */
	const struct timespec times[] = {{.tv_sec = FOLDER_TIME}, {.tv_sec = FOLDER_TIME}};
	if (rc == 0)
		(void)utimensat(AT_FDCWD, path, times, 0);
	return rc;
}

/* What argv[0] names is to be started, whatever mode it came with. */
static bool
is_program(const json_t *process, const char *name)
{
	const char *program = json_string_value(json_array_get(json_object_get(process, "argv"), 0));
	return strncmp(program, "./", 2) == 0 && strcmp(program + 2, name) == 0;
}

static int
place_input(const struct folder_sources *sources, const json_t *process, const char *name, const json_t *input,
	const char *dir, struct kettle_error *err)
{
	const char *id = json_string_value(json_object_get(input, "step"));
	AUTO_FREE char *path = path_join(dir, name);
	if (!path)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a path.");
	if (!id)
		return write_contents(
			sources, folder_resolve(sources, input), path, is_program(process, name) ? 0755 : 0644, err);
	const struct folder_step *step = find_input_step(sources, id);
	if (!step)
		return kettle_fail(err, KETTLE_EINTERNAL, "Step `%s` has no outputs yet.", id);
	return collect_outputs_link(
		step->manifest, step->dir, json_string_value(json_object_get(input, "output")), dir, name, sources->link, err);
}

int
folder_make(const struct folder_sources *sources, const json_t *process, const json_t *cases, const char *dir,
	struct kettle_error *err)
{
	AUTO_FREE char *out = path_join(dir, "out");
	int rc = out ? file_mkdirs(out, 0755, err) : KETTLE_ENOMEM;
	const char *name;
	json_t *input;
	json_object_foreach(json_object_get(process, "inputs"), name, input)
		if (rc == 0)
			rc = place_input(sources, process, name, input, dir, err);
	if (rc != 0 || !cases)
		return rc;
	AUTO_FREE char *path = path_join(dir, json_string_value(json_object_get(cases, "name")));
	if (!path)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a path.");
	return write_contents(sources, cases, path, 0644, err);
}

/* The part of the manifest that an input takes, with its paths as the step will see them. */
static int
digest_outputs(const struct folder_sources *sources, const char *name, const json_t *input, struct sha256 *digest,
	struct kettle_error *err)
{
	const char *id = json_string_value(json_object_get(input, "step"));
	const char *output = json_string_value(json_object_get(input, "output"));
	const struct folder_step *step = find_input_step(sources, id);
	if (!step)
		return kettle_fail(err, KETTLE_EINTERNAL, "Step `%s` has no outputs yet.", id);
	size_t len = strlen(output), i;
	const json_t *entry;
	json_array_foreach(step->manifest, i, entry) {
		const char *path = json_string_value(json_object_get(entry, "path"));
		if (strncmp(path, output, len) != 0 || (path[len] != '\0' && path[len] != '/'))
			continue;
		sha256_field(digest, name);
		sha256_field(digest, path + len);
		sha256_number(digest, (uint64_t)json_integer_value(json_object_get(entry, "mode")));
		sha256_field(digest, json_string_value(json_object_get(entry, "sha256")));
	}
	return 0;
}

static int
digest_contents(const struct folder_sources *sources, const json_t *process, const char *name, const json_t *input,
	struct sha256 *digest, struct kettle_error *err)
{
	const json_t *contents = folder_resolve(sources, input);
	const char *blob = json_string_value(json_object_get(contents, "blob"));
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	char hex[65];
	int rc = blob ? 0 : contents_bytes(contents, &data, &size, err);
	if (rc != 0)
		return rc;
	if (!blob)
		sha256_hex(data, size, hex);
	sha256_field(digest, name);
	sha256_field(digest, "");
	sha256_number(digest, is_program(process, name) ? 0755 : 0644);
	sha256_field(digest, blob ? blob : hex);
	return 0;
}

static int
folder_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int
folder_digest(
	const struct folder_sources *sources, const json_t *process, struct sha256 *digest, struct kettle_error *err)
{
	json_t *inputs = json_object_get(process, "inputs"), *input;
	size_t count = 0;
	AUTO_FREE const char **names = calloc(json_object_size(inputs) + 1, sizeof(*names));
	if (!names)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a list of inputs.");
	const char *name;
	json_object_foreach(inputs, name, input)
		names[count++] = name;
	/* The order in which a plan names its inputs means nothing. */
	qsort(names, count, sizeof(*names), folder_compare);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		input = json_object_get(inputs, names[i]);
		if (json_object_get(input, "step"))
			rc = digest_outputs(sources, names[i], input, digest, err);
		else
			rc = digest_contents(sources, process, names[i], input, digest, err);
	}
	return rc;
}
