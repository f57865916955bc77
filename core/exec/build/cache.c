/* SPDX-License-Identifier: MIT */
/* The build cache: what a build left, by the digest of all that it depends on. */
#include <config.h>

#include "exec/build/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/util/sha256.h"
#include "base/file.h"
#include "exec/util/collect_outputs.h"
#include "base/text.h"

#define CACHE_VERSION 1
#define KEY_LENGTH (DIGEST_HEX_SIZE - 1)

int
cache_open(struct cache *cache, const char *state, uint64_t max_bytes, unsigned max_age_days, struct kettle_error *err)
{
	*cache = (struct cache){.dir = path_join(state, "cache"), .max_bytes = max_bytes};
	cache->max_age_s = (int64_t)max_age_days * 24 * 3600;
	if (!cache->dir)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a path.");
	return file_mkdirs(cache->dir, 0700, err);
}

void
cache_close(struct cache *cache)
{
	free(cache->dir);
	*cache = (struct cache){0};
}

/* Moves an entry away first, so that nobody finds it half removed. */
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

static json_t *
read_manifest(const char *entry)
{
	AUTO_FREE char *path = path_join(entry, "manifest.json");
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	if (!path || file_read(path, CACHE_MAX_MANIFEST, &text, &size, NULL) != 0)
		return NULL;
	AUTO_JSON json_t *manifest = json_loadb(text, size, 0, NULL);
	if (json_integer_value(json_object_get(manifest, "version")) != CACHE_VERSION ||
		!json_is_array(json_object_get(manifest, "files")))
		return NULL;
	(void)utimensat(AT_FDCWD, path, NULL, 0);
	return STEAL(manifest);
}

static bool
is_sound(const json_t *file, const char *dir)
{
	const char *path = json_string_value(json_object_get(file, "path"));
	const char *want = json_string_value(json_object_get(file, "sha256"));
	if (!path || path_check_inside(path, NULL) != 0)
		return false;
	if (json_is_true(json_object_get(file, "folder")))
		return true;
	AUTO_FREE char *full = path_join(dir, path);
	AUTO_FD int fd = full ? open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	uint64_t size = 0;
	char hex[DIGEST_HEX_SIZE];
	return fd >= 0 && want && sha256_copy(fd, -1, UINT64_MAX, &size, hex, NULL) == 0 && strcmp(hex, want) == 0;
}

/* One file or folder of the manifest, checked where it lies, then brought along. */
static int
take_file(const json_t *file, const char *from, const char *to, bool may_link)
{
	if (!is_sound(file, from))
		return KETTLE_EIO;
	const char *path = json_string_value(json_object_get(file, "path"));
	AUTO_FREE char *source = path_join(from, path);
	AUTO_FREE char *target = path_join(to, path);
	if (!source || !target)
		return KETTLE_ENOMEM;
	if (json_is_true(json_object_get(file, "folder")))
		return file_mkdirs(target, 0755, NULL);
	int mode = json_integer_value(json_object_get(file, "mode")) & 0100 ? 0755 : 0644;
	return collect_outputs_transfer(source, target, mode, may_link, NULL);
}

json_t *
cache_get(const struct cache *cache, const char *key, const char *to, bool may_link)
{
	AUTO_FREE char *entry = path_join(cache->dir, key);
	AUTO_FREE char *from = entry ? path_join(entry, "files") : NULL;
	if (!from || access(entry, F_OK) != 0)
		return NULL;
	AUTO_JSON json_t *manifest = read_manifest(entry);
	const json_t *file;
	size_t i;
	int rc = manifest ? 0 : KETTLE_EIO;
	json_array_foreach(json_object_get(manifest, "files"), i, file)
		if (rc == 0)
			rc = take_file(file, from, to, may_link);
	if (rc == 0)
		return STEAL(manifest);
	/* Damaged, or taken away under our hands: it is made anew, in an empty folder. */
	cache_drop(entry, NULL);
	(void)file_remove_tree(to, NULL);
	(void)file_mkdirs(to, 0755, NULL);
	return NULL;
}

static int
write_entry(const json_t *files, const char *from, const json_t *more, const char *dest, struct kettle_error *err)
{
	AUTO_FREE char *to = path_join(dest, "files");
	AUTO_FREE char *manifest_path = path_join(dest, "manifest.json");
	int rc = to && manifest_path ? file_mkdirs(to, 0755, err) : KETTLE_ENOMEM;
	const json_t *file;
	size_t i;
	json_array_foreach(files, i, file) {
		const char *path = json_string_value(json_object_get(file, "path"));
		AUTO_FREE char *source = path_join(from, path);
		AUTO_FREE char *target = rc == 0 ? path_join(to, path) : NULL;
		if (rc == 0 && json_is_true(json_object_get(file, "folder")))
			rc = file_mkdirs(target, 0755, err);
		else if (rc == 0)
			/* Never a link: who runs without a sandbox could write through it into the cache. */
			rc = collect_outputs_transfer(
				source, target, (int)json_integer_value(json_object_get(file, "mode")), false, err);
	}
	if (rc != 0)
		return rc;
	AUTO_JSON json_t *manifest = json_pack("{s:i, s:O}", "version", CACHE_VERSION, "files", files);
	if (!manifest || json_object_update((json_t *)manifest, (json_t *)more) != 0)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a cache entry.");
	AUTO_FREE char *text = json_dumps(manifest, JSON_COMPACT);
	if (!text)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a cache entry.");
	return file_write(manifest_path, text, strlen(text), 0600, err);
}

int
cache_put(const struct cache *cache, const char *key, const json_t *files, const char *from, const json_t *more,
	const char *scratch, struct kettle_error *err)
{
	AUTO_FREE char *entry = path_join(cache->dir, key);
	if (!entry)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a path.");
	int rc = write_entry(files, from, more, scratch, err);
	if (rc == 0 && rename(scratch, entry) != 0 && errno != ENOTEMPTY && errno != EEXIST)
		rc = kettle_fail(err, KETTLE_EIO, "The cache entry `%s` could not be made: %s.", entry, strerror(errno));
	/* Gone if it was renamed; else it is ours to clear away. */
	(void)file_remove_tree(scratch, NULL);
	return rc;
}

struct cache_age {
	char key[KEY_LENGTH + 1];
	int64_t used_s;
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
		bytes += below ? tree_bytes(below) : (uint64_t)st.st_size;
	}
	return bytes;
}

static int
by_use(const void *a, const void *b)
{
	int64_t x = ((const struct cache_age *)a)->used_s, y = ((const struct cache_age *)b)->used_s;
	return x < y ? -1 : x > y;
}

/* All entries; what is none (an entry that was being dropped when its process died) is removed. */
static size_t
list_entries(const struct cache *cache, struct cache_age **ret_list)
{
	AUTO_DIR DIR *folder = opendir(cache->dir);
	const struct dirent *found;
	struct cache_age *list = NULL;
	size_t count = 0, cap = 0;
	while (folder && (found = readdir(folder))) {
		AUTO_FREE char *entry = path_join(cache->dir, found->d_name);
		AUTO_FREE char *manifest = entry ? path_join(entry, "manifest.json") : NULL;
		struct stat st;
		if (found->d_name[0] == '.' || !manifest)
			continue;
		if (strlen(found->d_name) != KEY_LENGTH || stat(manifest, &st) != 0) {
			(void)file_remove_tree(entry, NULL);
			continue;
		}
		if (count == cap) {
			cap = cap ? 2 * cap : 64;
			struct cache_age *more = realloc(list, cap * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		list[count] = (struct cache_age){.used_s = st.st_mtim.tv_sec, .bytes = tree_bytes(entry)};
		memcpy(list[count++].key, found->d_name, KEY_LENGTH + 1);
	}
	*ret_list = list;
	return count;
}

void
cache_trim(const struct cache *cache, const char *scratch)
{
	AUTO_FREE struct cache_age *list = NULL;
	size_t count = list_entries(cache, &list);
	uint64_t bytes = 0;
	int64_t now = time(NULL);
	for (size_t i = 0; i < count; i++)
		bytes += list[i].bytes;
	if (count > 0)
		qsort(list, count, sizeof(*list), by_use);
	for (size_t i = 0; i < count; i++) {
		if (bytes <= cache->max_bytes && now - list[i].used_s <= cache->max_age_s)
			break;
		AUTO_FREE char *entry = path_join(cache->dir, list[i].key);
		if (entry)
			cache_drop(entry, scratch);
		bytes -= list[i].bytes;
	}
}
