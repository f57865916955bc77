/* SPDX-License-Identifier: MIT */
/*
 * Zip archives as they come from outside: unpacked into memory within limits, and written. Nothing is unpacked onto a
 * disk, so a hostile name cannot reach a file. Entries are those of the archive's directory; its other bytes are
 * ignored.
 */
#include <config.h>

#include "task/archive.h"

#include <sys/stat.h>
#include <zip.h>

#include "base/base.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/text.h"
#include "base/zip_cleanup.h"

#define CHUNK 65536
#define FREE_BYTES (1u << 20) /* bytes to which any archive may unpack */
#define SHOWN_NAME 120        /* bytes of a bad name in a message */
#define LINK "is a link; put the file itself into the archive"
#define SPECIAL "is a device, a FIFO or a socket, not a regular file"

struct file {
	char *path, *data;
	size_t size;
};

struct task_archive {
	char *label;
	struct file *files; /* by path */
	size_t count, room, total, most;
	bool leaves_out; /* skips entries that are neither files nor folders */
};

/* ---- reading ---- */

static int
fail_damaged(const struct task_archive *archive, zip_error_t *error, struct kettle_error *err)
{
	const char *why = zip_error_strerror(error);
	AUTO_BUF struct buf clean = {0};
	(void)utf8_sanitize(why, strlen(why), &clean);
	return kettle_fail(err, KETTLE_EINVAL, "%s: the archive is damaged or not a zip: %s.", archive->label,
		clean.data ? clean.data : "it cannot be read");
}

/* The message names the entry, cleaned and shortened. */
static int
fail_entry(const struct task_archive *archive, const char *name, const char *what, struct kettle_error *err)
{
	AUTO_BUF struct buf clean = {0};
	(void)utf8_sanitize(name, strnlen(name, SHOWN_NAME), &clean);
	for (char *at = clean.data; at && *at; at++)
		*at = *at == '\n' || *at == '\t' ? ' ' : *at;
	return kettle_fail(
		err, KETTLE_EINVAL, "%s: the entry `%s` %s.", archive->label, clean.data ? clean.data : "", what);
}

static int
fail_method(const struct task_archive *archive, const char *name, unsigned method, struct kettle_error *err)
{
	static const char *const names[] = {
		[9] = "Deflate64", [12] = "bzip2", [14] = "LZMA", [93] = "Zstandard", [95] = "XZ"};
	const char *known = method < ARRAY_SIZE(names) ? names[method] : NULL;
	AUTO_FREE char *what =
		xasprintf("is compressed by the method %u%s%s%s, which is not supported; pack the archive anew, "
				  "with the usual Deflate",
			method, known ? " (" : "", known ? known : "", known ? ")" : "");
	return fail_entry(archive, name, what, err);
}

/* Files that systems add to archives by themselves. */
static bool
is_ignored(const char *name)
{
	static const char folder[] = "__MACOSX", file[] = ".DS_Store";
	const char *slash = strrchr(name, '/');
	size_t len = strlen(folder);
	if (strncmp(name, folder, len) == 0 && (name[len] == '/' || name[len] == '\0'))
		return true;
	return strcmp(slash ? slash + 1 : name, file) == 0;
}

static int
check_archive_name(const struct task_archive *archive, const char *name, struct kettle_error *err)
{
	struct kettle_error why = {0};
	if (!utf8_valid(name, strlen(name)))
		return fail_entry(archive, name, "has a name that is not UTF-8", err);
	if (name[0] == '/')
		return fail_entry(archive, name, "has an absolute name; names must be relative", err);
	if (strlen(name) > PATH_INSIDE_MAX)
		return fail_entry(archive, name, "has a name of more than 200 bytes", err);
	if (path_check_inside(name, &why))
		return fail_entry(archive, name,
			"has a name that does not stay inside the archive: no part of it may be empty, `.`, `..` or hold control "
			"or invisible characters",
			err);
	return 0;
}

/* S_IFMT of an entry's mode; 0: the system that it was made on has none. */
static mode_t
type_of(zip_t *zip, zip_uint64_t index, zip_uint8_t *ret_system)
{
	zip_uint32_t attributes = 0;
	if (zip_file_get_external_attributes(zip, index, 0, ret_system, &attributes) != 0)
		*ret_system = ZIP_OPSYS_UNIX;
	bool has_mode = *ret_system == ZIP_OPSYS_UNIX || *ret_system == ZIP_OPSYS_OS_X;
	return has_mode ? (mode_t)(attributes >> 16) & S_IFMT : 0;
}

/* Counts unpacked bytes, before they are kept. */
static int
count_bytes(struct task_archive *archive, struct file *file, size_t more, struct kettle_error *err)
{
	file->size += more;
	archive->total += more;
	if (file->size > TASK_ARCHIVE_MAX_FILE)
		return kettle_fail(err, KETTLE_ETOOBIG, "%s: the file `%s` exceeds the limit of %u MiB for a file.",
			archive->label, file->path, TASK_ARCHIVE_MAX_FILE >> 20);
	if (archive->total > TASK_ARCHIVE_MAX_TOTAL)
		return kettle_fail(err, KETTLE_ETOOBIG, "%s: its files together exceed the limit of %u MiB.", archive->label,
			TASK_ARCHIVE_MAX_TOTAL >> 20);
	if (archive->total > archive->most)
		return kettle_fail(err, KETTLE_ETOOBIG, "%s: it unpacks to more than %d times its size, which is not allowed.",
			archive->label, TASK_ARCHIVE_MAX_RATIO);
	return 0;
}

static int
read_data(struct task_archive *archive, zip_t *zip, zip_file_t *packed, struct file *file, struct kettle_error *err)
{
	AUTO_BUF struct buf data = {0};
	char chunk[CHUNK];
	if (!packed)
		return fail_damaged(archive, zip_get_error(zip), err);
	for (zip_int64_t got; (got = zip_fread(packed, chunk, sizeof(chunk))) != 0;) {
		if (got < 0)
			return fail_damaged(archive, zip_file_get_error(packed), err);
		int rc = count_bytes(archive, file, (size_t)got, err);
		if (rc)
			return rc;
		buf_add(&data, chunk, (size_t)got);
	}
	file->data = buf_take(&data);
	return 0;
}

static int
add_archive_file(
	struct task_archive *archive, zip_t *zip, zip_uint64_t index, const char *name, struct kettle_error *err)
{
	if (archive->count == archive->room) {
		size_t room = archive->room ? 2 * archive->room : 64;
		archive->files = xreallocarray(archive->files, room, sizeof(*archive->files));
		archive->room = room;
	}
	struct file *file = &archive->files[archive->count++];
	*file = (struct file){.path = xstrdup(name)};
	zip_file_t *packed = zip_fopen_index(zip, index, 0);
	int rc = read_data(archive, zip, packed, file, err);
	if (packed)
		(void)zip_fclose(packed);
	return rc;
}

static int
take_entry(struct task_archive *archive, zip_t *zip, zip_uint64_t index, struct kettle_error *err)
{
	zip_stat_t facts;
	zip_uint8_t system;
	if (zip_stat_index(zip, index, ZIP_FL_ENC_RAW, &facts) != 0)
		return fail_damaged(archive, zip_get_error(zip), err);
	mode_t type = type_of(zip, index, &system);
	AUTO_FREE char *name = xstrdup(facts.valid & ZIP_STAT_NAME ? facts.name : "");
	/* A name with slashes; some archives made on Windows have backslashes. */
	bool windows = system == ZIP_OPSYS_DOS || system == ZIP_OPSYS_WINDOWS_NTFS;
	for (char *at = windows && !strchr(name, '/') ? name : ""; *at; at++)
		*at = *at == '\\' ? '/' : *at;
	if (is_ignored(name))
		return 0;
	if (facts.valid & ZIP_STAT_ENCRYPTION_METHOD && facts.encryption_method != ZIP_EM_NONE)
		return fail_entry(archive, name, "is encrypted; send the archive without a password", err);
	if (facts.valid & ZIP_STAT_COMP_METHOD && !zip_compression_method_supported(facts.comp_method, 0))
		return fail_method(archive, name, facts.comp_method, err);
	bool special = type != 0 && type != S_IFREG && type != S_IFDIR;
	if (special && archive->leaves_out)
		return 0;
	if (special)
		return fail_entry(archive, name, type == S_IFLNK ? LINK : SPECIAL, err);
	size_t len = strlen(name);
	bool folder = type == S_IFDIR || (len > 1 && name[len - 1] == '/');
	if (folder && len > 1 && name[len - 1] == '/')
		name[len - 1] = '\0';
	int rc = check_archive_name(archive, name, err);
	return rc || folder ? rc : add_archive_file(archive, zip, index, name, err);
}

static int
read_entries(struct task_archive *archive, zip_t *zip, struct kettle_error *err)
{
	zip_int64_t count = zip_get_num_entries(zip, 0);
	if (count > TASK_ARCHIVE_MAX_ENTRIES)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "%s: it exceeds the limit of %d entries.", archive->label, TASK_ARCHIVE_MAX_ENTRIES);
	for (zip_int64_t i = 0; i < count; i++) {
		int rc = take_entry(archive, zip, (zip_uint64_t)i, err);
		if (rc)
			return rc;
	}
	if (archive->count == 0)
		return kettle_fail(err, KETTLE_EINVAL, "%s: there is no file in the archive.", archive->label);
	return 0;
}

static const struct file *
archive_find(const struct task_archive *archive, const char *path)
{
	struct file key = {.path = (char *)path};
	return archive->count ? bsearch(&key, archive->files, archive->count, sizeof(key), file_name_order) : NULL;
}

/* No name occurs twice, and none is both a file and a folder. */
static int
check_tree(const struct task_archive *archive, struct kettle_error *err)
{
	for (size_t i = 0; i < archive->count; i++) {
		const char *path = archive->files[i].path;
		if (i && strcmp(archive->files[i - 1].path, path) == 0)
			return fail_entry(archive, path, "occurs twice in the archive", err);
		AUTO_FREE char *above = xstrdup(path);
		for (char *slash; (slash = strrchr(above, '/'));) {
			*slash = '\0';
			if (archive_find(archive, above))
				return fail_entry(archive, above, "is both a file and a folder", err);
		}
	}
	return 0;
}

static int
open_zip(const struct task_archive *archive, const void *data, size_t size, zip_t **ret_zip, struct kettle_error *err)
{
	zip_error_t error;
	zip_error_init(&error);
	zip_source_t *source = zip_source_buffer_create(data, size, 0, &error);
	zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
	int rc = zip ? 0 : fail_damaged(archive, &error, err);
	if (!zip)
		zip_source_free(source);
	zip_error_fini(&error);
	*ret_zip = zip;
	return rc;
}

static void
free_archive(struct task_archive **archive)
{
	task_archive_free(*archive);
}

static int
unpack(const char *label, const void *data, size_t size, bool leaves_out, struct task_archive **ret_archive,
	struct kettle_error *err)
{
	__attribute__((cleanup(free_archive))) struct task_archive *archive = xcalloc(1, sizeof(*archive));
	archive->label = xstrdup(label);
	archive->leaves_out = leaves_out;
	if (size > TASK_ARCHIVE_MAX_PACKED)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "%s: the archive exceeds the limit of %u MiB.", label, TASK_ARCHIVE_MAX_PACKED >> 20);
	archive->most = FREE_BYTES + TASK_ARCHIVE_MAX_RATIO * size;
	AUTO_ZIP zip_t *zip = NULL;
	int rc = open_zip(archive, data, size, &zip, err);
	if (rc == 0)
		rc = read_entries(archive, zip, err);
	if (rc)
		return rc;
	qsort(archive->files, archive->count, sizeof(*archive->files), file_name_order);
	rc = check_tree(archive, err);
	if (rc == 0)
		*ret_archive = STEAL(archive);
	return rc;
}

int
task_archive_read(
	const char *label, const void *data, size_t size, struct task_archive **ret_archive, struct kettle_error *err)
{
	return unpack(label, data, size, false, ret_archive, err);
}

int
task_archive_read_repository(
	const char *label, const void *data, size_t size, struct task_archive **ret_archive, struct kettle_error *err)
{
	return unpack(label, data, size, true, ret_archive, err);
}

void
task_archive_free(struct task_archive *archive)
{
	if (!archive)
		return;
	for (size_t i = 0; i < archive->count; i++) {
		free_all(archive->files[i].path, archive->files[i].data);
	}
	free_all(archive->files, archive->label, archive);
}

const char *
task_archive_label(const struct task_archive *archive)
{
	return archive->label;
}

char *
task_archive_top(const struct task_archive *archive)
{
	const char *first = task_archive_path(archive, 0), *slash = strchr(first, '/');
	size_t len = slash ? (size_t)(slash - first) + 1 : 0;
	for (size_t i = 0; i < archive->count; i++)
		if (strncmp(archive->files[i].path, first, len) != 0)
			return xstrdup("");
	return xstrndup(first, len ? len - 1 : 0);
}

size_t
task_archive_count(const struct task_archive *archive)
{
	return archive->count;
}

const char *
task_archive_path(const struct task_archive *archive, size_t index)
{
	return archive->files[index].path;
}

const char *
task_archive_find(const struct task_archive *archive, const char *path, size_t *ret_size)
{
	const struct file *file = archive_find(archive, path);
	if (file)
		*ret_size = file->size;
	return file ? file->data : NULL;
}

bool
task_archive_has_folder(const struct task_archive *archive, const char *path)
{
	size_t len = strlen(path);
	for (size_t i = 0; i < archive->count; i++)
		if (len == 0 || (strncmp(archive->files[i].path, path, len) == 0 && archive->files[i].path[len] == '/'))
			return true;
	return false;
}

/* ---- writing ---- */

static void
end_source(zip_source_t **source)
{
	zip_source_free(*source);
}
#define AUTO_SOURCE __attribute__((cleanup(end_source)))

static int
fail_writing(zip_error_t *error, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EIO, "The archive cannot be written: %s.", zip_error_strerror(error));
}

/* Every entry gets the earliest time of the zip format, so the bytes depend on the files alone. */
static int
write_file(zip_t *zip, const char *top, const char *path, const json_t *contents, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL, *name = path_join(top, path);
	size_t size = 0;
	int rc = contents_bytes(contents, &data, &size, err);
	if (rc)
		return rc;
	zip_source_t *source = zip_source_buffer(zip, size ? data : NULL, size, size > 0);
	if (size > 0)
		data = NULL; /* of the source, which needs a pointer for an empty file too */
	zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8);
	if (index < 0)
		zip_source_free(source);
	if (index < 0 || zip_file_set_dostime(zip, (zip_uint64_t)index, 0, ZIP_FIRST_DATE, 0) != 0 ||
		zip_file_set_external_attributes(
			zip, (zip_uint64_t)index, 0, ZIP_OPSYS_UNIX, (zip_uint32_t)(S_IFREG | 0644) << 16) != 0)
		return fail_writing(zip_get_error(zip), err);
	return 0;
}

static int
name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of an object in the order of their bytes. New list, the names borrowed. */
static const char **
sorted_names(const json_t *files)
{
	const char **names = xcalloc(json_object_size(files) + 1, sizeof(*names));
	size_t count = 0;
	json_object_each(files, name, value)
		names[count++] = name;
	qsort(names, count, sizeof(*names), name_order);
	return names;
}

static int
take_written(zip_source_t *source, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_BUF struct buf out = {0};
	char chunk[CHUNK];
	zip_int64_t got = zip_source_open(source);
	if (got != 0)
		return fail_writing(zip_source_error(source), err);
	while ((got = zip_source_read(source, chunk, sizeof(chunk))) > 0)
		buf_add(&out, chunk, (size_t)got);
	(void)zip_source_close(source);
	if (got < 0)
		return fail_writing(zip_source_error(source), err);
	*ret_size = out.len;
	*ret_data = buf_take(&out);
	return 0;
}

int
task_archive_write(const char *top, const json_t *files, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_FREE const char **names = sorted_names(files);
	AUTO_SOURCE zip_source_t *out = zip_source_buffer_create(NULL, 0, 0, NULL);
	if (!out)
		xalloc_fail();
	zip_source_keep(out); /* keeps it for the read at the end */
	AUTO_ZIP zip_t *zip = zip_open_from_source(out, ZIP_TRUNCATE, NULL);
	if (!zip)
		xalloc_fail();
	for (size_t i = 0; names[i]; i++) {
		int rc = write_file(zip, top, names[i], json_object_get(files, names[i]), err);
		if (rc)
			return rc;
	}
	if (zip_close(zip) != 0)
		return fail_writing(zip_get_error(zip), err);
	zip = NULL;
	return take_written(out, ret_data, ret_size, err);
}
