/* SPDX-License-Identifier: MIT */
/* The build cache: the results of builds, by the digest of everything that they depend on. */
#include <config.h>

#include "exec/build/build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"

#define CACHE_VERSION 1
#define KEY_LENGTH (DIGEST_HEX_SIZE - 1)
#define CACHE_MAX_OWNER 64
#define NS_PER_S INT64_C(1000000000)
#define CACHE_FILE_BYTES 512 /* added for each file or folder, since many empty ones fill a disk too */

int
cache_open(struct cache *cache, const char *state, uint64_t max_bytes, uint64_t max_user_bytes, unsigned max_age_days,
	struct kettle_error *err)
{
	*cache = (struct cache){.dir = path_join(state, "cache"), .max_bytes = max_bytes, .max_user_bytes = max_user_bytes};
	cache->max_age_s = (int64_t)max_age_days * 24 * 3600;
	return file_mkdirs(cache->dir, 0700, err);
}

void
cache_close(struct cache *cache)
{
	free(cache->dir);
	*cache = (struct cache){0};
}

uint64_t
cache_share(const struct cache *cache, const char *owner)
{
	/* Boards leave a quarter of the cache to submissions. */
	return owner ? cache->max_user_bytes : cache->max_bytes - cache->max_bytes / 4;
}

/* Moves an entry away before it removes it, so that no reader finds half an entry. */
static void
cache_drop(const char *entry, const char *scratch)
{
	char dest[PATH_MAX];
	unsigned random = 0;
	random_bytes(&random, sizeof(random));
	(void)snprintf(dest, sizeof(dest), "%s.dropped-%08x", scratch ? scratch : entry, random);
	if (rename(entry, dest) == 0)
		(void)file_remove_tree(dest, NULL);
}

/* The manifest without its files, a new reference; NULL: there is none. */
static json_t *
read_manifest(const char *entry, struct manifest *ret_files)
{
	AUTO_FREE char *path = path_join(entry, "manifest.json");
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	if (file_read(path, CACHE_MAX_MANIFEST, &text, &size, NULL) != 0)
		return NULL;
	AUTO_JSON json_t *manifest = json_loadb(text, size, 0, NULL);
	if (member_int(manifest, "version") != CACHE_VERSION ||
		!manifest_read(json_object_get(manifest, "files"), ret_files))
		return NULL;
	json_object_del(manifest, "version");
	json_object_del(manifest, "files");
	(void)utimensat(AT_FDCWD, path, NULL, 0);
	return STEAL(manifest);
}

static bool
is_sound(const struct cache *cache, const struct output_file *file, const char *dir)
{
	if (file->folder)
		return true;
	AUTO_FREE char *full = path_join(dir, file->path);
	AUTO_FD int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t size = 0;
	char hex[DIGEST_HEX_SIZE];
	struct stat st;
	if (cache->large)
		return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == file->size;
	return fd >= 0 && sha256_copy(fd, -1, UINT64_MAX, &size, hex, NULL) == 0 && strcmp(hex, file->sha256) == 0;
}

static bool
is_current(const char *entry)
{
	AUTO_FREE char *path = path_join(entry, "reads");
	AUTO_FREE char *records = NULL;
	size_t size = 0;
	return file_read(path, READS_MAX_BYTES, &records, &size, NULL) == 0 && reads_hold(records, size);
}

json_t *
cache_get(const struct cache *cache, const char *key, const char *to, bool may_link, struct manifest *ret_files)
{
	AUTO_FREE char *entry = path_join(cache->dir, key);
	AUTO_FREE char *from = path_join(entry, "files");
	if (access(entry, F_OK) != 0)
		return NULL;
	struct manifest files = {0};
	AUTO_JSON json_t *more = is_current(entry) ? read_manifest(entry, &files) : NULL;
	bool sound = more != NULL;
	for (size_t i = 0; sound && i < files.count; i++)
		sound = is_sound(cache, &files.files[i], from) &&
				collect_outputs_transfer(&files.files[i], from, to, may_link, NULL) == 0;
	if (sound) {
		*ret_files = files;
		return STEAL(more);
	}
	manifest_free(&files);
	/* The entry is damaged, out of date, or removed meanwhile: the step builds again, in an empty folder. */
	cache_drop(entry, NULL);
	(void)file_remove_tree(to, NULL);
	(void)file_mkdirs(to, 0755, NULL);
	return NULL;
}

/* Link only if every step has a sandbox: a step without one could write through links into the cache. */
static int
copy_files(const struct manifest *files, const char *from, const char *dest, bool link, struct kettle_error *err)
{
	AUTO_FREE char *to = path_join(dest, "files");
	int rc = file_mkdirs(to, 0755, err);
	for (size_t i = 0; rc == 0 && i < files->count; i++)
		rc = collect_outputs_transfer(&files->files[i], from, to, link, err);
	return rc;
}

/* Moves files; copies them if they are on another file system. */
static int
move_files(const struct manifest *files, const char *from, const char *dest, struct kettle_error *err)
{
	AUTO_FREE char *to = path_join(dest, "files");
	int rc = file_mkdirs(dest, 0755, err);
	return rc != 0 || rename(from, to) == 0 ? rc : copy_files(files, from, dest, false, err);
}

/* Writes everything of an entry except its files. */
static int
write_entry(const struct manifest *files, const char *owner, const struct reads *reads, const json_t *more,
	const char *dest, struct kettle_error *err)
{
	AUTO_FREE char *owner_path = path_join(dest, "owner"), *reads_path = path_join(dest, "reads");
	AUTO_FREE char *manifest_path = path_join(dest, "manifest.json");
	int rc = file_write(owner_path, owner ? owner : "", owner ? strlen(owner) : 0, 0600, err);
	if (rc == 0)
		rc = file_write(reads_path, reads ? reads->records.data : "", reads ? reads->records.len : 0, 0600, err);
	if (rc != 0)
		return rc;
	AUTO_JSON json_t *manifest = json_pack("{s:i, s:o}", "version", CACHE_VERSION, "files", manifest_json(files));
	json_object_update(manifest, (json_t *)more);
	AUTO_FREE char *text = json_dumps(manifest, JSON_COMPACT);
	return file_write(manifest_path, text, strlen(text), 0600, err);
}

/*
 * Replaces an entry; where the file system can exchange two folders, there is one at each moment. The old one is in
 * scratch then.
 */
static int
exchange(const char *scratch, const char *entry)
{
	if (renameat2(AT_FDCWD, scratch, AT_FDCWD, entry, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != ENOENT)
		cache_drop(entry, scratch);
	return rename(scratch, entry);
}

int
cache_replace(const struct cache *cache, const char *key, const char *owner, const struct manifest *files,
	const char *from, const char *scratch, struct kettle_error *err)
{
	AUTO_FREE char *entry = path_join(cache->dir, key);
	AUTO_JSON json_t *nothing = json_object();
	if (manifest_bytes(files) > cache_share(cache, owner))
		return kettle_fail(err, KETTLE_ETOOBIG, "The files exceed their share of the cache.");
	int rc = move_files(files, from, scratch, err);
	if (rc == 0)
		rc = write_entry(files, owner, NULL, nothing, scratch, err);
	if (rc == 0 && exchange(scratch, entry) != 0)
		rc = kettle_fail(err, KETTLE_EIO, "The cache entry `%s` could not be created: %s.", entry, strerror(errno));
	return rc;
}

int
cache_put(const struct cache *cache, const char *key, const char *owner, const struct manifest *files, const char *from,
	const struct reads *reads, const json_t *more, const char *scratch, struct kettle_error *err)
{
	AUTO_FREE char *entry = path_join(cache->dir, key);
	if (manifest_bytes(files) > cache_share(cache, owner))
		return kettle_fail(err, KETTLE_ETOOBIG, "The outputs exceed their share of the cache.");
	int rc = copy_files(files, from, scratch, cache->large, err);
	if (rc == 0)
		rc = write_entry(files, owner, reads, more, scratch, err);
	if (rc == 0 && rename(scratch, entry) != 0 && errno != ENOTEMPTY && errno != EEXIST)
		rc = kettle_fail(err, KETTLE_EIO, "The cache entry `%s` could not be created: %s.", entry, strerror(errno));
	/* scratch still exists only if it was not renamed. */
	(void)file_remove_tree(scratch, NULL);
	return rc;
}

struct cache_entry {
	char key[KEY_LENGTH + 1], owner[CACHE_MAX_OWNER + 1];
	int64_t used_ns;
	uint64_t bytes;
};

static uint64_t
tree_bytes(const char *path)
{
	AUTO_DIR DIR *folder = opendir(path);
	const struct dirent *entry;
	uint64_t bytes = 0;
	while (folder && (entry = readdir(folder))) {
		struct stat st;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		AUTO_FREE char *below = S_ISDIR(st.st_mode) ? path_join(path, entry->d_name) : NULL;
		bytes += CACHE_FILE_BYTES + (below ? tree_bytes(below) : (uint64_t)st.st_size);
	}
	return bytes;
}

static int
by_owner_and_use(const void *a, const void *b)
{
	const struct cache_entry *x = a, *y = b;
	int owners = strcmp(x->owner, y->owner);
	return owners ? owners : x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

/* False: this version made no such entry. */
static bool
read_entry(const char *dir, const char *key, struct cache_entry *ret_entry)
{
	AUTO_FREE char *manifest = path_join(dir, "manifest.json"), *path = path_join(dir, "owner");
	AUTO_FREE char *owner = NULL;
	size_t size = 0;
	struct stat st;
	if (strlen(key) != KEY_LENGTH || stat(manifest, &st) != 0 ||
		file_read(path, CACHE_MAX_OWNER, &owner, &size, NULL) != 0)
		return false;
	*ret_entry =
		(struct cache_entry){.used_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec, .bytes = tree_bytes(dir)};
	memcpy(ret_entry->key, key, KEY_LENGTH + 1);
	memcpy(ret_entry->owner, owner, size);
	return true;
}

/*
 * Lists all entries by owner, the oldest first. Removes other files, such as an entry whose process ended while
 * dropping it.
 */
static size_t
list_entries(const struct cache *cache, struct cache_entry **ret_list)
{
	AUTO_DIR DIR *folder = opendir(cache->dir);
	const struct dirent *found;
	struct cache_entry *list = NULL;
	size_t count = 0;
	while (folder && (found = readdir(folder))) {
		AUTO_FREE char *dir = path_join(cache->dir, found->d_name);
		struct cache_entry entry;
		if (found->d_name[0] == '.')
			continue;
		if (!read_entry(dir, found->d_name, &entry)) {
			(void)file_remove_tree(dir, NULL);
			continue;
		}
		list = xreallocarray(list, count + 1, sizeof(*list));
		list[count++] = entry;
	}
	if (count > 0)
		qsort(list, count, sizeof(*list), by_owner_and_use);
	*ret_list = list;
	return count;
}

/* The entries of one owner that remain. */
struct cache_owner {
	const struct cache_entry *oldest, *end;
	uint64_t bytes;
};

/* Removes the owner's oldest entry. Returns the bytes that this frees. */
static uint64_t
drop_oldest(const struct cache *cache, struct cache_owner *owner, const char *scratch)
{
	const struct cache_entry *entry = owner->oldest++;
	AUTO_FREE char *dir = path_join(cache->dir, entry->key);
	cache_drop(dir, scratch);
	owner->bytes -= entry->bytes;
	return entry->bytes;
}

/* The owners of a sorted list, after removing entries that are too old or beyond an owner's share. */
static size_t
trim_owners(const struct cache *cache, const struct cache_entry *list, size_t count, const char *scratch,
	struct cache_owner **ret_owners)
{
	struct cache_owner *owners = NULL;
	size_t found = 0;
	int64_t oldest_ns = (time(NULL) - cache->max_age_s) * NS_PER_S;
	for (size_t begin = 0, end; begin < count; begin = end) {
		struct cache_owner owner = {.oldest = list + begin};
		uint64_t share = cache_share(cache, *list[begin].owner ? list[begin].owner : NULL);
		for (end = begin; end < count && strcmp(list[end].owner, list[begin].owner) == 0; end++)
			owner.bytes += list[end].bytes;
		owner.end = list + end;
		while (owner.oldest < owner.end && (owner.bytes > share || owner.oldest->used_ns < oldest_ns))
			(void)drop_oldest(cache, &owner, scratch);
		owners = xreallocarray(owners, found + 1, sizeof(*owners));
		owners[found++] = owner;
	}
	*ret_owners = owners;
	return found;
}

void
cache_trim(const struct cache *cache, const char *scratch)
{
	AUTO_FREE struct cache_entry *list = NULL;
	AUTO_FREE struct cache_owner *owners = NULL;
	size_t count = list_entries(cache, &list);
	uint64_t bytes = 0;
	count = trim_owners(cache, list, count, scratch, &owners);
	for (size_t i = 0; i < count; i++)
		bytes += owners[i].bytes;
	while (bytes > cache->max_bytes) {
		struct cache_owner *most = NULL;
		for (size_t i = 0; i < count; i++)
			if (owners[i].oldest < owners[i].end && *owners[i].oldest->owner &&
				(!most || owners[i].bytes > most->bytes))
				most = &owners[i];
		if (!most)
			return;
		bytes -= drop_oldest(cache, most, scratch);
	}
}
