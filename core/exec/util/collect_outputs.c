/* SPDX-License-Identifier: MIT */
/* Collects files that a step has left: regular files and folders, limited, never through a link. */
#include <config.h>

#include "exec/util/collect_outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/file_name.h"

/* The state of one collection. */
struct collector {
	const char *to;
	uint64_t left; /* bytes */
	unsigned files, max_files;
	bool cache; /* of compilers */
	struct manifest *manifest;
	struct kettle_error *err;
};

/* ---- manifests ---- */

void
manifest_add(struct manifest *manifest, const struct output_file *file)
{
	/* Doubles the array when it is full. */
	if ((manifest->count & (manifest->count - 1)) == 0)
		manifest->files =
			xreallocarray(manifest->files, manifest->count ? 2 * manifest->count : 1, sizeof(*manifest->files));
	manifest->files[manifest->count] = *file;
	manifest->files[manifest->count++].path = xstrdup(file->path);
}

uint64_t
manifest_bytes(const struct manifest *manifest)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < manifest->count; i++)
		bytes += manifest->files[i].size;
	return bytes;
}

void
manifest_drop_empty(struct manifest *manifest, size_t folder, const char *path)
{
	if (manifest->count != folder + 1)
		return;
	free(manifest->files[--manifest->count].path);
	(void)rmdir(path);
}

void
manifest_free(struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->count; i++)
		free(manifest->files[i].path);
	free(manifest->files);
	*manifest = (struct manifest){0};
}

json_t *
manifest_json(const struct manifest *manifest)
{
	json_t *list = json_array();
	for (size_t i = 0; i < manifest->count; i++) {
		const struct output_file *file = &manifest->files[i];
		json_array_append_new(list, file->folder
										? json_pack("{s:s, s:b}", "path", file->path, "folder", 1)
										: json_pack("{s:s, s:i, s:I, s:s}", "path", file->path, "mode", file->mode,
											  "size", (json_int_t)file->size, "sha256", file->sha256));
	}
	return list;
}

bool
manifest_read(const json_t *list, struct manifest *ret_manifest)
{
	struct manifest manifest = {0};
	json_array_each(list, entry) {
		struct output_file file = {.path = (char *)json_text_or_empty(entry, "path"),
			.folder = member_true(entry, "folder"),
			.mode = (int)member_int(entry, "mode"),
			.size = (uint64_t)member_int(entry, "size")};
		const char *sha256 = json_text_or_empty(entry, "sha256");
		if (path_check_inside(file.path, NULL) != 0 || strlen(sha256) >= sizeof(file.sha256)) {
			manifest_free(&manifest);
			return false;
		}
		strcpy(file.sha256, sha256);
		manifest_add(&manifest, &file);
	}
	*ret_manifest = manifest;
	return json_is_array(list);
}

/* ---- locks ---- */

static bool
is_lock_word(const char *text, size_t length)
{
	static const char *const words[] = {"lock", "locks", "lockfile", "lck", "pid", "pidfile", "baton"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == length && strncasecmp(text, words[i], length) == 0)
			return true;
	return false;
}

/*
 * Whether the last part of a path, or a part of it between full stops, is a word for a lock, or ends in one behind `_`
 * or `-`, such as my_lock. spin_lock.json is a kernel's.
 */
static bool
is_lock_name(const char *path)
{
	const char *name = file_name_of(path), *end = name + strlen(name), *last = end;
	while (last > name && last[-1] != '_' && last[-1] != '-')
		last--;
	if (is_lock_word(last, (size_t)(end - last)))
		return true;
	for (size_t length; *name; name += length + (name[length] == '.')) {
		length = strcspn(name, ".");
		if (is_lock_word(name, length))
			return true;
	}
	return false;
}

bool
output_is_lock(const char *path, uint64_t size)
{
	AUTO_FREE char *folder = path_above(path, 1);
	if (size == 0 || size > OUTPUT_MAX_LOCK)
		return size == 0;
	return is_lock_name(path) || is_lock_name(folder);
}

/* ---- collecting ---- */

int
collect_outputs_make_parents(const char *path, struct kettle_error *err)
{
	AUTO_FREE char *parent = path_above(path, 1);
	return parent[0] ? file_mkdirs(parent, 0755, err) : 0;
}

/* Creates a new file, never through a link that is there. */
static int
create_file(const char *path, int mode, struct kettle_error *err)
{
	int rc = collect_outputs_make_parents(path, err);
	if (rc != 0)
		return rc;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return kettle_fail(err, KETTLE_EIO, "`%s` could not be created: %s.", path, strerror(errno));
	/* The mode as given, whatever the umask says. */
	if (fchmod(fd, (mode_t)mode) != 0) {
		close(fd);
		return kettle_fail(err, KETTLE_EIO, "The mode of `%s` could not be set: %s.", path, strerror(errno));
	}
	return fd;
}

/* Reports a fault of the step, with a sentence about the file at path. */
static int
refuse_kind(struct collector *collector, const char *path, const struct stat *st)
{
	const char *kind = S_ISLNK(st->st_mode)    ? "a symbolic link"
					   : S_ISFIFO(st->st_mode) ? "a FIFO"
					   : S_ISSOCK(st->st_mode) ? "a socket"
					   : S_ISREG(st->st_mode)  ? "a file with several names (a hard link)"
											   : "a device";
	return kettle_fail(
		collector->err, KETTLE_EINVAL, "`out/%s` is %s; a step may leave only regular files and folders.", path, kind);
}

/* Keeps the times of files, which build tools compare. A failure is ignored. */
static void
keep_times(int fd, const struct stat *st)
{
	const struct timespec times[] = {st->st_atim, st->st_mtim};
	(void)futimens(fd, times);
}

static int
collect_file(struct collector *collector, int fd, const char *path, const struct stat *st)
{
	struct output_file file = {.path = (char *)path, .mode = st->st_mode & 0100 ? 0755 : 0644};
	AUTO_FREE char *target = path_join(collector->to, path);
	AUTO_FD int to = create_file(target, file.mode, collector->err);
	if (to < 0)
		return to;
	int rc = sha256_copy(fd, to, collector->left, &file.size, file.sha256, collector->err);
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(collector->err, rc, "The files below out/ exceed the limit of the step.");
	if (rc != 0)
		return rc;
	keep_times(to, st);
	collector->left -= file.size;
	manifest_add(collector->manifest, &file);
	return 0;
}

static int outputs_collect(struct collector *collector, int dir, const char *name, const char *path, unsigned depth);

static int
collect_folder(struct collector *collector, int fd, const char *path, unsigned depth)
{
	AUTO_FREE char *target = path_join(collector->to, path);
	int rc = file_mkdirs(target, 0755, collector->err);
	if (rc != 0)
		return rc;
	size_t before = collector->manifest->count;
	manifest_add(collector->manifest, &(struct output_file){.path = (char *)path, .folder = true});
	AUTO_FD int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	AUTO_DIR DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
	if (!folder)
		return kettle_fail(collector->err, KETTLE_EIO, "`out/%s` could not be read: %s.", path, strerror(errno));
	(void)STEAL_FD(copy);
	const struct dirent *entry;
	while (rc == 0 && (entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		AUTO_FREE char *below = path_join(path, entry->d_name);
		rc = outputs_collect(collector, fd, entry->d_name, below, depth + 1);
	}
	if (rc == 0 && collector->cache && depth > 0)
		manifest_drop_empty(collector->manifest, before, target);
	return rc;
}

/* Collects one name in a folder. path: the same, from out/ on. */
static int
outputs_collect(struct collector *collector, int dir, const char *name, const char *path, unsigned depth)
{
	struct stat st;
	struct kettle_error inner = {0};
	if (depth > OUTPUT_MAX_DEPTH)
		return kettle_fail(collector->err, KETTLE_EINVAL, "The folders below out/ are nested deeper than %d levels.",
			OUTPUT_MAX_DEPTH);
	if (path_check_inside(path, &inner) != 0)
		return kettle_fail(collector->err, KETTLE_EINVAL, "A name below out/ cannot be kept: %s", inner.message);
	if (++collector->files > collector->max_files)
		return kettle_fail(
			collector->err, KETTLE_ETOOBIG, "There are more than %u files below out/.", collector->max_files);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return kettle_fail(
			collector->err, KETTLE_ENOENT, "`out/%s` is declared as an output but does not exist.", path);
	/* Checks before opening: opening a FIFO would block, and opening a device may have effects. */
	if (!S_ISDIR(st.st_mode) && (!S_ISREG(st.st_mode) || st.st_nlink != 1))
		return refuse_kind(collector, path, &st);
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return kettle_fail(collector->err, KETTLE_EINVAL, "`out/%s` cannot be read: %s.", path, strerror(errno));
	if (fstat(fd, &st) != 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return refuse_kind(collector, path, &st);
	if (S_ISREG(st.st_mode) && collector->cache && depth > 0 && output_is_lock(path, (uint64_t)st.st_size))
		return 0;
	return S_ISDIR(st.st_mode) ? collect_folder(collector, fd, path, depth) : collect_file(collector, fd, path, &st);
}

/* Walks to the folder with the last part of a declared name. Refuses a link on the way. */
static int
open_parent(struct collector *collector, int from, const char *name, const char **ret_last)
{
	int dir = fcntl(from, F_DUPFD_CLOEXEC, 0);
	const char *at = name, *slash;
	while (dir >= 0 && (slash = strchr(at, '/'))) {
		AUTO_FREE char *part = xstrndup(at, (size_t)(slash - at));
		int next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int why = errno;
		close(dir);
		if (next < 0 && (why == ELOOP || why == ENOTDIR))
			return kettle_fail(collector->err, KETTLE_EINVAL, "`%s` in out/%s is not a folder.", part, name);
		if (next < 0)
			return kettle_fail(
				collector->err, KETTLE_ENOENT, "`out/%s` is declared as an output but does not exist.", name);
		dir = next;
		at = slash + 1;
	}
	*ret_last = at;
	return dir >= 0 ? dir : kettle_fail(collector->err, KETTLE_EIO, "out/ could not be opened: %s.", strerror(errno));
}

static bool
is_collected(const struct manifest *manifest, const char *path)
{
	for (size_t i = 0; i < manifest->count; i++)
		if (strcmp(manifest->files[i].path, path) == 0)
			return true;
	return false;
}

int
collect_outputs_collect(int from, const struct strings *names, const char *to, uint64_t max_bytes,
	enum outputs_kind kind, struct manifest *manifest, struct kettle_error *err)
{
	bool artifacts = kind == OUTPUTS_ARTIFACTS;
	struct collector collector = {.to = to,
		.cache = kind == OUTPUTS_CACHE,
		.left = max_bytes,
		.max_files = artifacts ? OUTPUT_MAX_ARTIFACTS : OUTPUT_MAX_FILES,
		.manifest = manifest,
		.err = err};
	for (size_t i = 0; i < names->count; i++) {
		const char *path = names->list[i], *last = NULL;
		if (is_collected(manifest, path))
			continue;
		AUTO_FD int dir = open_parent(&collector, from, path, &last);
		int rc = dir < 0 ? dir : outputs_collect(&collector, dir, last, path, 0);
		if (rc != 0 && !(rc == KETTLE_ENOENT && artifacts))
			return rc;
	}
	return 0;
}

/* ---- transfer to another folder ---- */

static int
transfer(const struct output_file *file, const char *from, const char *to, bool may_link, struct kettle_error *err)
{
	int rc = file->folder ? file_mkdirs(to, 0755, err) : collect_outputs_make_parents(to, err);
	if (rc != 0 || file->folder || (may_link && link(from, to) == 0))
		return rc;
	AUTO_FD int source = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (source < 0)
		return kettle_fail(err, KETTLE_EIO, "`%s` could not be opened: %s.", from, strerror(errno));
	AUTO_FD int target = create_file(to, file->mode & 0100 ? 0755 : 0644, err);
	if (target < 0)
		return target;
	uint64_t size = 0;
	char hex[DIGEST_HEX_SIZE];
	struct stat st;
	int copied = sha256_copy(source, target, UINT64_MAX, &size, hex, err);
	if (copied == 0 && fstat(source, &st) == 0)
		keep_times(target, &st);
	return copied;
}

int
collect_outputs_transfer(
	const struct output_file *file, const char *from, const char *to, bool may_link, struct kettle_error *err)
{
	AUTO_FREE char *source = path_join(from, file->path);
	AUTO_FREE char *target = path_join(to, file->path);
	return transfer(file, source, target, may_link, err);
}

int
collect_outputs_link(const struct manifest *manifest, const char *from, const char *name, const char *to,
	const char *as, bool may_link, struct kettle_error *err)
{
	bool found = false;
	for (size_t i = 0; i < manifest->count; i++) {
		const struct output_file *file = &manifest->files[i];
		const char *rest = path_below(file->path, name);
		if (!rest)
			continue;
		AUTO_FREE char *source = path_join(from, file->path);
		AUTO_FREE char *target = xasprintf("%s/%s%s", to, as, rest);
		int rc = transfer(file, source, target, may_link, err);
		if (rc != 0)
			return rc;
		found = true;
	}
	return found ? 0 : kettle_fail(err, KETTLE_ENOENT, "There is no `%s` among the outputs of that step.", name);
}
