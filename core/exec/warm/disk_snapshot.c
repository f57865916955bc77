/* SPDX-License-Identifier: MIT */
/* Checks of the disk for a warm process, on threads of work, and the layer of files that its recipes compiled. */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"

#define PATHS_MAX 4096           /* paths that are watched for changes */
#define GROWTH_BYTES (64u << 20) /* allowed growth, besides half of the initial memory */

uint64_t
warm_memory_of(pid_t pid, uint64_t *ret_own)
{
	char path[64];
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	unsigned long long resident = 0, shared = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	AUTO_FILE FILE *file = fopen(path, "re");
	if (!file || getline(&text, &size, file) <= 0 || sscanf(text, "%*s %llu %llu", &resident, &shared) != 2)
		return 0;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_own = (resident > shared ? resident - shared : 0) * page;
	return resident * page;
}

/* A value that changes with the file or folder; 0: it does not exist. */
static json_int_t
stamp_of(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return 0;
	return ((json_int_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec) ^ (json_int_t)(st.st_ino << 20);
}

/* ---- layers ---- */

/* The files that recipes compiled, below all other layers in the caches of steps that begin with the process. */
struct warm_layer {
	uv_loop_t *loop;
	struct jit_cache_layer files;
	unsigned users; /* the process counts as one */
	struct work removal;
};

/* Empties the cache. Its folder may be in a file system that only the warm process sees. */
static void
empty_cache(int fd)
{
	int copy = dup(fd);
	AUTO_DIR DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		AUTO_FREE char *path = xasprintf("/proc/self/fd/%d/%s", fd, entry->d_name);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)file_remove_tree(path, NULL);
	}
}

/*
 * Whether the folder belongs to the warm process's user. This process may have rights to read and remove that the other
 * has not.
 */
static bool
is_own(const struct warm_process *process, int folder)
{
	char path[64];
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	unsigned uid;
	struct stat st;
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)process->child.pid);
	AUTO_FILE FILE *file = fopen(path, "re");
	while (file && getline(&line, &size, file) > 0)
		if (sscanf(line, "Uid: %u", &uid) == 1)
			return fstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid;
	return false;
}

/* Takes the files that recipes compiled, and frees them in the process's own memory. */
static void
take_layer(struct warm_process *process)
{
	static const struct jit_cache_source nothing = {0};
	struct kettle_error error = {0};
	if (!is_own(process, process->cache_fd)) {
		process->trouble = xstrdup("their folder belongs to another user");
		return;
	}
	AUTO_FREE char *folder = xasprintf("%s/layer-%u", process->pool->setup.spool, process->number);
	struct jit_cache_layer files = {0};
	int rc = jit_cache_layer_take(process->cache_fd, &nothing, folder, &files, &error);
	empty_cache(process->cache_fd);
	if (rc != 0) {
		process->trouble = xstrdup(error.message);
		return;
	}
	process->layer = xcalloc(1, sizeof(*process->layer));
	*process->layer = (struct warm_layer){.loop = process->pool->setup.loop, .files = files, .users = 1};
}

static void
work_remove_layer(void *arg)
{
	struct warm_layer *layer = arg;
	(void)file_remove_tree(layer->files.path, NULL);
}

static void
remove_layer_done(void *arg)
{
	struct warm_layer *layer = arg;
	jit_cache_layer_free(&layer->files);
	free(layer);
}

struct warm_layer *
warm_layer_use(struct warm_process *process)
{
	if (!process || !process->layer)
		return NULL;
	process->layer->users++;
	return process->layer;
}

uint64_t
warm_layer_bytes(const struct warm_layer *layer)
{
	return layer ? layer->files.bytes : 0;
}

const char *
warm_layer_path(const struct warm_layer *layer)
{
	return layer->files.path;
}

void
warm_layer_release(struct warm_layer *layer)
{
	if (layer && --layer->users == 0)
		work_start(&layer->removal, layer->loop, work_remove_layer, remove_layer_done, layer);
}

void
warm_layer_forget(struct warm_layer *layer)
{
	if (layer && --layer->users == 0)
		remove_layer_done(layer);
}

/* ---- checks of the disk ---- */

void
warm_work_remove(void *arg)
{
	struct warm_process *process = arg;
	if (process->private)
		(void)file_remove_tree(process->private, NULL);
	free(STEAL(process->private));
}

static int
make_private(struct warm_process *process, struct kettle_error *err)
{
	static const char *const names[] = {WARM_HOME, WARM_TEMPORARY, WARM_CACHE};
	AUTO_FREE char *folder = xasprintf("%s/home-XXXXXX", process->pool->setup.spool);
	warm_work_remove(process);
	/* The interpreter itself checks the rest of sys.path before it imports the modules (warm.py). */
	int rc = interpreter_check(process->order.path, process->order.environment, NULL, err);
	if (rc != 0)
		return rc;
	bool made = mkdtemp(folder) != NULL;
	for (size_t i = 0; made && i < ARRAY_SIZE(names); i++) {
		AUTO_FREE char *path = path_join(folder, names[i]);
		made = mkdir(path, 0700) == 0;
	}
	if (!made)
		return kettle_fail(err, KETTLE_EIO, "No folder could be created for its imports: %s.", strerror(errno));
	process->private = STEAL(folder);
	return 0;
}

void
warm_work_prepare(void *arg)
{
	struct warm_process *process = arg;
	struct kettle_error error = {0};
	if (make_private(process, &error) != 0)
		process->trouble = xstrdup(error.message);
}

void
warm_work_stamp(void *arg)
{
	struct warm_process *process = arg;
	char *rest = process->lines;
	process->paths = json_array();
	for (const char *path; (path = strsep(&rest, "\n"));)
		if (*path && json_array_size(process->paths) < PATHS_MAX)
			json_array_append_new(process->paths, json_pack("[s, I]", path, stamp_of(path)));
	struct stat image;
	process->memory = warm_memory_of(process->child.pid, &process->bytes);
	if (process->image.memory && fstat(process->image.fd, &image) == 0)
		process->bytes += (uint64_t)image.st_blocks * 512;
	if (process->order.recipes.count > 0)
		take_layer(process);
	warm_work_remove(process);
}

void
warm_work_snapshot(void *arg)
{
	struct warm_process *process = arg;
	json_array_each(process->paths, entry)
		if (stamp_of(json_string_value(json_array_get(entry, 0))) != json_integer_value(json_array_get(entry, 1)))
			process->changed = true;
	uint64_t own, memory = warm_memory_of(process->child.pid, &own);
	if (memory == 0 || memory > process->memory + process->memory / 2 + GROWTH_BYTES)
		process->changed = true;
}
