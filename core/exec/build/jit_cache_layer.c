/* SPDX-License-Identifier: MIT */
/* Layers: files of compilers from one run, for later runs to begin with. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/build/build.h"

/* ---- periods of time that may overlap, and their total ---- */

void
interval_sum_add(struct interval_sum *spans, int64_t from, int64_t to)
{
	/* Doubles the array when it is full. */
	if ((spans->count & (spans->count - 1)) == 0)
		spans->list = xreallocarray(spans->list, spans->count ? 2 * spans->count : 1, sizeof(*spans->list));
	spans->list[spans->count++] = (struct interval){from, to < from ? from : to};
}

/* Orders periods by begin, then by end, since files of one tick of the file system's clock have the same begin. */
static int
by_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	int begins = (x->from > y->from) - (x->from < y->from);
	return begins ? begins : (x->to > y->to) - (x->to < y->to);
}

int64_t
interval_sum_union(const struct interval_sum *spans, struct interval *ret_whole)
{
	int64_t total = 0;
	if (spans->count == 0)
		return 0;
	qsort(spans->list, spans->count, sizeof(*spans->list), by_begin);
	struct interval whole = {spans->list[0].from, spans->list[0].from};
	for (size_t i = 0; i < spans->count; i++) {
		const struct interval *span = &spans->list[i];
		if (span->to <= whole.to)
			continue;
		total += span->to - (span->from > whole.to ? span->from : whole.to);
		whole.to = span->to;
	}
	*ret_whole = whole;
	return total;
}

void
interval_sum_free(struct interval_sum *spans)
{
	free(spans->list);
	*spans = (struct interval_sum){0};
}

#define FOLDER_MODE 0777 /* of a layer: runs are other users, and the folder above is closed */
#define FILE_MODE 0666
#define PROGRAM_MODE 0777
#define UNIT_DEPTH 2 /* depth of the folders that one compilation fills; those above belong to a compiler */
#define NS_PER_S INT64_C(1000000000)

/* One transfer. */
struct taker {
	const struct jit_cache_source *source;
	const char *to;
	struct jit_cache_layer *layer;
	bool counts; /* nothing is copied; only the limits are checked */
	size_t seen, entries;
	uint64_t bytes;
	struct interval *unit; /* of the present folder; NULL: its files are unrelated */
	struct kettle_error *err;
};

void
jit_cache_layer_free(struct jit_cache_layer *layer)
{
	manifest_free(&layer->files);
	json_decref(layer->folders);
	interval_sum_free(&layer->work);
	free(layer->path);
	*layer = (struct jit_cache_layer){0};
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return S_ISREG(b->st_mode) && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		   a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/*
 * Whether the run began with the file. Nothing may replace a file from below the job's own layers, neither a file nor a
 * folder.
 */
static bool
is_known(const struct taker *taker, const char *path, const struct stat *st)
{
	const struct jit_cache_source *source = taker->source;
	for (size_t i = 0; i < source->count; i++) {
		AUTO_FREE char *below = path_join(source->below[i], path);
		struct stat there;
		bool ours = i >= source->own;
		if (lstat(below, &there) != 0)
			continue;
		if (!S_ISDIR(st->st_mode))
			return ours || is_same(st, &there);
		if (ours && !S_ISDIR(there.st_mode))
			return true;
	}
	return false;
}

static bool
is_below(const struct taker *taker, const char *path)
{
	for (size_t i = 0; i < taker->source->count; i++) {
		AUTO_FREE char *below = path_join(taker->source->below[i], path);
		if (access(below, F_OK) == 0)
			return true;
	}
	return false;
}

/* Counts a file by the first folder of its path. The run chooses how many such folders there are. */
static void
count_file(struct jit_cache_layer *layer, const char *path)
{
	AUTO_FREE char *first = strchr(path, '/') ? xstrndup(path, strcspn(path, "/")) : xstrdup(JIT_CACHE_LAYER_OTHERS);
	bool named =
		json_object_get(layer->folders, first) || json_object_size(layer->folders) < JIT_CACHE_LAYER_MAX_FOLDERS;
	const char *name = named ? first : JIT_CACHE_LAYER_OTHERS;
	json_int_t before = json_integer_value(json_object_get(layer->folders, name));
	json_object_set_new(layer->folders, name, json_integer(before + 1));
}

static int
too_much(const struct taker *taker)
{
	return kettle_fail(taker->err, KETTLE_ETOOBIG,
		"What compilers wrote during this run is not cached for later runs: with what is cached already, it exceeds %u "
		"files or %llu MiB.",
		JIT_CACHE_LAYER_MAX_FILES, (unsigned long long)(JIT_CACHE_LAYER_MAX_BYTES >> 20));
}

static int
make_place(const char *path, bool folder, mode_t mode, struct kettle_error *err)
{
	int fd = folder ? mkdir(path, mode) : open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* The mode as given, whatever the umask says. */
	if (fd >= 0 && chmod(path, mode) == 0)
		return fd;
	int rc = kettle_fail(err, KETTLE_EIO, "`%s` could not be created: %s.", path, strerror(errno));
	if (fd >= 0 && !folder)
		close(fd);
	return rc;
}

/* The time of creation in ns, or of the last change if the file system does not know it. */
static int64_t
birth_of(int dir, const char *name, int64_t changed_ns)
{
	struct statx st;
	if (statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) != 0 || !(st.stx_mask & STATX_BTIME))
		return changed_ns;
	return st.stx_btime.tv_sec * NS_PER_S + st.stx_btime.tv_nsec;
}

static void
note_times(struct taker *taker, int dir, const char *name, const struct stat *st)
{
	int64_t changed = st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec, born = birth_of(dir, name, changed);
	if (!taker->unit) {
		interval_sum_add(&taker->layer->work, born, changed);
		return;
	}
	if (born < taker->unit->from)
		taker->unit->from = born;
	if (changed > taker->unit->to)
		taker->unit->to = changed;
}

static int
copy_file(struct taker *taker, int dir, const char *name, const char *path, const struct stat *st)
{
	struct output_file file = {.path = (char *)path, .mode = st->st_mode & 0100 ? 0755 : 0644};
	struct jit_cache_layer *layer = taker->layer;
	AUTO_FD int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from < 0)
		return 0;
	AUTO_FREE char *target = path_join(taker->to, path);
	AUTO_FD int to = make_place(target, false, st->st_mode & 0100 ? PROGRAM_MODE : FILE_MODE, taker->err);
	int rc = to < 0 ? to : sha256_copy(from, to, (uint64_t)st->st_size, &file.size, file.sha256, taker->err);
	if (rc != 0)
		return rc;
	/* Keeps the times, which compilers compare. */
	(void)futimens(to, (const struct timespec[]){st->st_atim, st->st_mtim});
	layer->bytes += file.size;
	layer->count++;
	count_file(layer, path);
	manifest_add(&layer->files, &file);
	return 0;
}

static int
take_file(struct taker *taker, int dir, const char *name, const char *path, const struct stat *st)
{
	if (st->st_nlink != 1 || (st->st_size >= 0 && output_is_lock(path, (uint64_t)st->st_size)))
		return 0;
	if (st->st_size < 0 || (uint64_t)st->st_size > JIT_CACHE_LAYER_MAX_BYTES - taker->source->bytes - taker->bytes)
		return too_much(taker);
	taker->bytes += (uint64_t)st->st_size;
	if (!taker->counts)
		return copy_file(taker, dir, name, path, st);
	note_times(taker, dir, name, st);
	return 0;
}

static int take_folder(struct taker *taker, int dir, const char *name, const char *path, unsigned depth);

static int
take_entry(struct taker *taker, int dir, const char *name, const char *path, unsigned depth)
{
	struct stat st;
	/* Links, sockets and devices are left out. An overlay marks a removed file by a device. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) ||
		is_known(taker, path, &st))
		return 0;
	if (taker->entries++ + taker->source->entries >= JIT_CACHE_LAYER_MAX_FILES)
		return too_much(taker);
	return S_ISDIR(st.st_mode) ? take_folder(taker, dir, name, path, depth) : take_file(taker, dir, name, path, &st);
}

static int
take_folder(struct taker *taker, int dir, const char *name, const char *path, unsigned depth)
{
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_DIR DIR *folder = fd >= 0 && depth <= OUTPUT_MAX_DEPTH ? fdopendir(fd) : NULL;
	if (!folder)
		return 0;
	struct interval unit = {.from = path && is_below(taker, path) ? INT64_MAX : birth_of(dir, name, INT64_MAX)};
	struct interval *above = taker->unit;
	int own = STEAL_FD(fd), rc = 0;
	size_t before = taker->layer->files.count;
	AUTO_FREE char *target = path && !taker->counts ? path_join(taker->to, path) : NULL;
	if (target) {
		rc = make_place(target, true, FOLDER_MODE, taker->err);
		manifest_add(&taker->layer->files, &(struct output_file){.path = (char *)path, .folder = true});
	}
	taker->unit = depth >= UNIT_DEPTH ? &unit : NULL;
	for (const struct dirent *entry; rc == 0 && (entry = readdir(folder));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		AUTO_FREE char *below = path ? path_join(path, entry->d_name) : xstrdup(entry->d_name);
		if (++taker->seen > JIT_CACHE_LAYER_MAX_SEEN)
			rc = too_much(taker);
		else if (path_check_inside(below, NULL) == 0) /* compilers give no other names */
			rc = take_entry(taker, own, entry->d_name, below, depth + 1);
	}
	if (rc == 0 && target)
		manifest_drop_empty(&taker->layer->files, before, target);
	taker->unit = above;
	/* Only if the folder has a new file. */
	if (unit.to > 0)
		interval_sum_add(&taker->layer->work, unit.from, unit.to);
	return rc;
}

static int
take_all(struct taker *taker, int from, bool counts)
{
	taker->counts = counts;
	taker->seen = taker->entries = 0;
	taker->bytes = 0;
	return take_folder(taker, from, ".", NULL, 0);
}

int
jit_cache_layer_take(int from, const struct jit_cache_source *source, const char *to, struct jit_cache_layer *ret_layer,
	struct kettle_error *err)
{
	struct jit_cache_layer layer = {.folders = json_object(), .path = xstrdup(to)};
	struct taker taker = {.source = source, .to = to, .layer = &layer, .err = err};
	int rc = take_all(&taker, from, true);
	if (rc == 0)
		rc = make_place(to, true, FOLDER_MODE, err);
	if (rc == 0)
		rc = take_all(&taker, from, false);
	if (rc == 0) {
		*ret_layer = layer;
		return 0;
	}
	jit_cache_layer_free(&layer);
	(void)file_remove_tree(to, NULL);
	return rc;
}

void
jit_cache_layer_open(const char *folder, const struct manifest *files)
{
	(void)chmod(folder, FOLDER_MODE);
	for (size_t i = 0; i < files->count; i++) {
		const struct output_file *file = &files->files[i];
		AUTO_FREE char *path = path_join(folder, file->path);
		(void)chmod(path, file->folder ? FOLDER_MODE : file->mode & 0100 ? PROGRAM_MODE : FILE_MODE);
	}
}
