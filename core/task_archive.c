/* SPDX-License-Identifier: MIT */
/*
 * Zip archives as they come from outside: unpacked into memory within limits, and written. Nothing is ever unpacked
 * onto a disk, so that a name can do no more harm than not to be found.
 */
#include <config.h>

#include "task_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "cleanup.h"
#include "contents.h"
#include "file.h"
#include "task_zip.h"
#include "utf8.h"

#define CHUNK 65536
#define FREE_BYTES (1u << 20) /* that any archive may unpack to */
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
};

static int
fail_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the archive.");
}

/*
 * libarchive translates names into the charset of the thread's locale and loses what that cannot express: for its time
 * the thread speaks UTF-8.
 */
struct speech {
	locale_t ours, before;
};

static struct speech
speak_utf8(void)
{
	struct speech speech = {.ours = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0)};
	if (speech.ours)
		speech.before = uselocale(speech.ours);
	return speech;
}

static void
speak_as_before(struct speech *speech)
{
	if (!speech->ours)
		return;
	(void)uselocale(speech->before);
	freelocale(speech->ours);
}
#define AUTO_SPEECH __attribute__((cleanup(speak_as_before)))

static void
end_reader(struct archive **reader)
{
	if (*reader)
		(void)archive_read_free(*reader);
}
#define AUTO_READER __attribute__((cleanup(end_reader)))

/* ---- reading ---- */

static int
fail_damaged(const struct task_archive *archive, struct archive *reader, struct kettle_error *err)
{
	const char *why = archive_error_string(reader);
	AUTO_BUF struct buf clean = {0};
	if (why)
		(void)utf8_clean(why, strlen(why), &clean);
	return kettle_fail(err, KETTLE_EINVAL, "%s: the archive is damaged, or no zip: %s.", archive->label,
		clean.data ? clean.data : "it cannot be read");
}

/* The message names the entry, cleaned and shortened. */
static int
fail_entry(const struct task_archive *archive, const char *name, const char *what, struct kettle_error *err)
{
	AUTO_BUF struct buf clean = {0};
	(void)utf8_clean(name, strnlen(name, SHOWN_NAME), &clean);
	for (char *at = clean.data; at && *at; at++)
		*at = *at == '\n' || *at == '\t' ? ' ' : *at;
	return kettle_fail(
		err, KETTLE_EINVAL, "%s: the entry `%s` %s.", archive->label, clean.data ? clean.data : "", what);
}

/* What systems leave in archives that nobody meant to send. */
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
check_name(const struct task_archive *archive, const char *name, struct kettle_error *err)
{
	struct kettle_error why = {0};
	if (!utf8_valid(name, strlen(name)))
		return fail_entry(archive, name, "has a name that is no UTF-8", err);
	if (name[0] == '/')
		return fail_entry(archive, name, "has an absolute name; names must be relative", err);
	if (strlen(name) > PATH_INSIDE_MAX)
		return fail_entry(archive, name, "has a name of more than 200 bytes", err);
	if (path_check_inside(name, &why))
		return fail_entry(archive, name,
			"has a name that does not stay inside the archive: no part of it may be empty, `.`, `..` or hold control "
			"characters",
			err);
	return 0;
}

/* 1: a regular file; 0: a folder. */
static int
check_type(const struct task_archive *archive, struct archive_entry *entry, const char *name, struct kettle_error *err)
{
	if (archive_entry_is_encrypted(entry))
		return fail_entry(archive, name, "is encrypted; send the archive without a password", err);
	if (archive_entry_symlink(entry) || archive_entry_hardlink(entry) || archive_entry_filetype(entry) == AE_IFLNK)
		return fail_entry(archive, name, LINK, err);
	if (archive_entry_filetype(entry) == AE_IFDIR)
		return 0;
	return archive_entry_filetype(entry) == AE_IFREG ? 1 : fail_entry(archive, name, SPECIAL, err);
}

/* What libarchive takes for a file or a folder although the directory says otherwise. */
static int
check_types(const struct task_archive *archive, const void *data, size_t size, struct kettle_error *err)
{
	struct task_zip_entry entry;
	for (size_t at = 0; task_zip_special(data, size, &at, &entry);) {
		AUTO_FREE char *name = strndup(entry.name, entry.name_len);
		if (!name)
			return fail_memory(err);
		if (!is_ignored(name))
			return fail_entry(archive, name, entry.type == S_IFLNK ? LINK : SPECIAL, err);
	}
	return 0;
}

/* Counts unpacked bytes, before they are kept. */
static int
count_bytes(struct task_archive *archive, struct file *file, size_t more, struct kettle_error *err)
{
	file->size += more;
	archive->total += more;
	if (file->size > TASK_ARCHIVE_MAX_FILE)
		return kettle_fail(err, KETTLE_ETOOBIG, "%s: the file `%s` is larger than the %u MiB that a file may have.",
			archive->label, file->path, TASK_ARCHIVE_MAX_FILE >> 20);
	if (archive->total > TASK_ARCHIVE_MAX_TOTAL)
		return kettle_fail(err, KETTLE_ETOOBIG, "%s: its files have more than the %u MiB that they may have together.",
			archive->label, TASK_ARCHIVE_MAX_TOTAL >> 20);
	if (archive->total > archive->most)
		return kettle_fail(err, KETTLE_ETOOBIG,
			"%s: it unpacks to more than %d times its size, which no honest task does.", archive->label,
			TASK_ARCHIVE_MAX_RATIO);
	return 0;
}

static int
read_data(struct task_archive *archive, struct archive *reader, struct file *file, struct kettle_error *err)
{
	AUTO_BUF struct buf data = {0};
	char chunk[CHUNK];
	for (la_ssize_t got; (got = archive_read_data(reader, chunk, sizeof(chunk))) != 0;) {
		if (got < 0)
			return fail_damaged(archive, reader, err);
		int rc = count_bytes(archive, file, (size_t)got, err);
		if (rc)
			return rc;
		if (buf_add(&data, chunk, (size_t)got))
			return fail_memory(err);
	}
	file->data = buf_take(&data);
	return file->data ? 0 : fail_memory(err);
}

static int
add_file(struct task_archive *archive, struct archive *reader, const char *name, struct kettle_error *err)
{
	if (archive->count == archive->room) {
		size_t room = archive->room ? 2 * archive->room : 64;
		struct file *files = realloc(archive->files, room * sizeof(*files));
		if (!files)
			return fail_memory(err);
		archive->files = files;
		archive->room = room;
	}
	struct file *file = &archive->files[archive->count++];
	*file = (struct file){.path = strdup(name)};
	return file->path ? read_data(archive, reader, file, err) : fail_memory(err);
}

static int
take_entry(struct task_archive *archive, struct archive *reader, struct archive_entry *entry, struct kettle_error *err)
{
	const char *raw = archive_entry_pathname(entry);
	if (!raw || !*raw)
		return fail_entry(archive, raw ? raw : "?", "has no name that can be read; names must be UTF-8", err);
	if (is_ignored(raw))
		return 0;
	AUTO_FREE char *name = strdup(raw);
	if (!name)
		return fail_memory(err);
	size_t len = strlen(name);
	int type = check_type(archive, entry, name, err);
	if (type == 0 && len > 1 && name[len - 1] == '/')
		name[len - 1] = '\0';
	int rc = type < 0 ? type : check_name(archive, name, err);
	return rc || type == 0 ? rc : add_file(archive, reader, name, err);
}

static int
read_entries(struct task_archive *archive, struct archive *reader, struct kettle_error *err)
{
	for (size_t entries = 0;; entries++) {
		struct archive_entry *entry;
		int status = archive_read_next_header(reader, &entry);
		if (status == ARCHIVE_EOF)
			break;
		if (status < ARCHIVE_WARN)
			return fail_damaged(archive, reader, err);
		if (entries == TASK_ARCHIVE_MAX_ENTRIES)
			return kettle_fail(err, KETTLE_ETOOBIG, "%s: it has more than the %d entries that it may have.",
				archive->label, TASK_ARCHIVE_MAX_ENTRIES);
		int rc = take_entry(archive, reader, entry, err);
		if (rc)
			return rc;
	}
	if (archive->count == 0)
		return kettle_fail(err, KETTLE_EINVAL, "%s: there is no file in the archive.", archive->label);
	return 0;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static const struct file *
find(const struct task_archive *archive, const char *path)
{
	struct file key = {.path = (char *)path};
	return archive->count ? bsearch(&key, archive->files, archive->count, sizeof(key), by_path) : NULL;
}

/* No name twice, and none that is both a file and a folder. */
static int
check_tree(const struct task_archive *archive, struct kettle_error *err)
{
	for (size_t i = 0; i < archive->count; i++) {
		const char *path = archive->files[i].path;
		if (i && strcmp(archive->files[i - 1].path, path) == 0)
			return fail_entry(archive, path, "stands twice in the archive", err);
		AUTO_FREE char *above = strdup(path);
		if (!above)
			return fail_memory(err);
		for (char *slash; (slash = strrchr(above, '/'));) {
			*slash = '\0';
			if (find(archive, above))
				return fail_entry(archive, above, "is both a file and a folder", err);
		}
	}
	return 0;
}

static int
open_reader(const struct task_archive *archive, const void *data, size_t size, struct archive **ret_reader,
	struct kettle_error *err)
{
	AUTO_READER struct archive *reader = archive_read_new();
	if (!reader)
		return fail_memory(err);
	if (archive_read_support_format_zip_seekable(reader) != ARCHIVE_OK ||
		archive_read_open_memory(reader, data, size) != ARCHIVE_OK)
		return fail_damaged(archive, reader, err);
	*ret_reader = STEAL(reader);
	return 0;
}

static void
free_archive(struct task_archive **archive)
{
	task_archive_free(*archive);
}

int
task_archive_read(
	const char *label, const void *data, size_t size, struct task_archive **ret_archive, struct kettle_error *err)
{
	__attribute__((cleanup(free_archive))) struct task_archive *archive = calloc(1, sizeof(*archive));
	if (!archive || !(archive->label = strdup(label)))
		return fail_memory(err);
	if (size > TASK_ARCHIVE_MAX_PACKED)
		return kettle_fail(err, KETTLE_ETOOBIG, "%s: the archive is larger than the %u MiB that it may have.", label,
			TASK_ARCHIVE_MAX_PACKED >> 20);
	archive->most = FREE_BYTES + TASK_ARCHIVE_MAX_RATIO * size;
	AUTO_SPEECH struct speech speech = speak_utf8();
	AUTO_READER struct archive *reader = NULL;
	int rc = open_reader(archive, data, size, &reader, err);
	if (rc == 0)
		rc = read_entries(archive, reader, err);
	if (rc == 0)
		rc = check_types(archive, data, size, err);
	if (rc)
		return rc;
	qsort(archive->files, archive->count, sizeof(*archive->files), by_path);
	rc = check_tree(archive, err);
	if (rc == 0)
		*ret_archive = STEAL(archive);
	return rc;
}

void
task_archive_free(struct task_archive *archive)
{
	if (!archive)
		return;
	for (size_t i = 0; i < archive->count; i++) {
		free(archive->files[i].path);
		free(archive->files[i].data);
	}
	free(archive->files);
	free(archive->label);
	free(archive);
}

const char *
task_archive_label(const struct task_archive *archive)
{
	return archive->label;
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
	const struct file *file = find(archive, path);
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
end_writer(struct archive **writer)
{
	if (*writer)
		(void)archive_write_free(*writer);
}
#define AUTO_WRITER __attribute__((cleanup(end_writer)))

static void
end_entry(struct archive_entry **entry)
{
	if (*entry)
		archive_entry_free(*entry);
}

static la_ssize_t
keep(struct archive *writer, void *arg, const void *data, size_t size)
{
	if (buf_add(arg, data, size) == 0)
		return (la_ssize_t)size;
	archive_set_error(writer, ENOMEM, "there is not enough memory");
	return -1;
}

static int
fail_writing(struct archive *writer, struct kettle_error *err)
{
	const char *why = archive_error_string(writer);
	return kettle_fail(err, KETTLE_EIO, "The archive cannot be written: %s.", why ? why : "libarchive cannot");
}

/* Without a time an entry has the first one that a zip knows, so that nothing but the files decides the bytes. */
static int
write_file(struct archive *writer, const char *top, const char *path, const json_t *contents, struct kettle_error *err)
{
	__attribute__((cleanup(end_entry))) struct archive_entry *entry = archive_entry_new();
	AUTO_FREE char *data = NULL, *name = path_join(top, path);
	size_t size = 0;
	int rc = contents_bytes(contents, &data, &size, err);
	if (rc)
		return rc;
	if (!entry || !name)
		return fail_memory(err);
	archive_entry_copy_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)size);
	if (archive_write_header(writer, entry) != ARCHIVE_OK || archive_write_data(writer, data, size) != (la_ssize_t)size)
		return fail_writing(writer, err);
	return 0;
}

static int
name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of an object in the order of their bytes. New list, the names borrowed; NULL: no memory. */
static const char **
sorted_names(const json_t *files)
{
	const char **names = calloc(json_object_size(files) + 1, sizeof(*names)), *name;
	size_t count = 0;
	json_t *value;
	json_object_foreach((json_t *)files, name, value)
		if (names)
			names[count++] = name;
	if (names)
		qsort(names, count, sizeof(*names), name_order);
	return names;
}

int
task_archive_write(const char *top, const json_t *files, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_SPEECH struct speech speech = speak_utf8();
	AUTO_BUF struct buf out = {0};
	AUTO_FREE const char **names = sorted_names(files);
	AUTO_WRITER struct archive *writer = archive_write_new();
	if (!writer || !names)
		return fail_memory(err);
	if (archive_write_set_format_zip(writer) != ARCHIVE_OK || archive_write_add_filter_none(writer) != ARCHIVE_OK ||
		archive_write_set_bytes_in_last_block(writer, 1) != ARCHIVE_OK ||
		archive_write_open(writer, &out, NULL, keep, NULL) != ARCHIVE_OK)
		return fail_writing(writer, err);
	for (size_t i = 0; names[i]; i++) {
		int rc = write_file(writer, top, names[i], json_object_get(files, names[i]), err);
		if (rc)
			return rc;
	}
	if (archive_write_close(writer) != ARCHIVE_OK)
		return fail_writing(writer, err);
	*ret_size = out.len;
	*ret_data = buf_take(&out);
	return *ret_data ? 0 : fail_memory(err);
}
