/* SPDX-License-Identifier: MIT */
/*
 * The tools of this machine: the program behind a name in a plan, its version, and a fingerprint of everything it uses.
 */
#include <config.h>

#include "exec/tools/tools.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"

/* A tool and the facts about it. */
struct entry {
	struct tool tool;        /* first: a tool's address is its entry's */
	struct tool_facts facts; /* their json is owned */
	bool fresh;              /* this process has found the facts */
	struct strings watch;    /* paths in the fingerprint; empty: not known */
	char fingerprint[DIGEST_HEX_SIZE];
	uint64_t looked_ns;
	bool busy; /* a thread probes it without the lock */
	struct entry *next;
};

struct toolchain {
	const struct execconfig *config;
	struct entry *entries;
	char *memory_file;
	json_t *memory; /* real path → facts */
	bool memory_changed;
	atomic_bool stop; /* set to stop all probes */
	pthread_mutex_t lock;
	pthread_cond_t idle; /* an entry is no longer busy */
	bool locked;
};

#define MEMORY_MAX_BYTES (8u << 20)
#define MAX_LINKS 40 /* the kernel's limit */

const char *const toolchain_known[] = {"g++", "gcc", "clang++", "clang", "nvcc", "hipcc", "python3", "rustc", NULL};

struct toolchain *
toolchain_new(const struct execconfig *config, const char *memory)
{
	struct toolchain *toolchain = xcalloc(1, sizeof(*toolchain));
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	toolchain->config = config;
	(void)pthread_mutex_init(&toolchain->lock, NULL);
	(void)pthread_cond_init(&toolchain->idle, NULL);
	toolchain->memory_file = xstrdup(memory);
	/* A damaged or missing memory only costs some milliseconds. */
	if (file_read(memory, MEMORY_MAX_BYTES, &text, &size, NULL) == 0)
		toolchain->memory = json_loadb(text, size, 0, NULL);
	if (!json_is_object(toolchain->memory)) {
		json_decref(toolchain->memory);
		toolchain->memory = json_object();
	}
	return toolchain;
}

static void
entry_free(struct entry *entry)
{
	free_all(entry->tool.name, entry->tool.path, entry->tool.real, entry->tool.packages);
	for (size_t i = 0; i < entry->tool.roots_count; i++)
		free(entry->tool.roots[i]);
	json_decref(entry->facts.json);
	strings_free(&entry->watch);
	free(entry);
}

void
toolchain_free(struct toolchain *toolchain)
{
	if (!toolchain)
		return;
	while (toolchain->entries) {
		struct entry *entry = toolchain->entries;
		toolchain->entries = entry->next;
		entry_free(entry);
	}
	json_decref(toolchain->memory);
	(void)pthread_cond_destroy(&toolchain->idle);
	(void)pthread_mutex_destroy(&toolchain->lock);
	free_all(toolchain->memory_file, toolchain);
}

void
toolchain_lock(struct toolchain *toolchain)
{
	(void)pthread_mutex_lock(&toolchain->lock);
	toolchain->locked = true;
}

void
toolchain_unlock(struct toolchain *toolchain)
{
	toolchain->locked = false;
	(void)pthread_mutex_unlock(&toolchain->lock);
}

/* Gives the lock to other threads meanwhile. False: this thread alone uses the toolchain. */
static bool
pause_lock(struct toolchain *toolchain)
{
	bool locked = toolchain->locked;
	if (locked)
		toolchain_unlock(toolchain);
	return locked;
}

static void
resume_lock(struct toolchain *toolchain, bool locked)
{
	if (locked)
		toolchain_lock(toolchain);
}

/* Waits for another thread that probes the same tool; its answer serves both. */
static void
wait_for_entry(struct toolchain *toolchain, const struct entry *entry)
{
	while (entry->busy) {
		(void)pthread_cond_wait(&toolchain->idle, &toolchain->lock);
		toolchain->locked = true;
	}
}

/* Probes tools without the lock. */
static void
probe(struct toolchain *toolchain, const struct tool **tools, size_t count, json_t **ret_facts)
{
	for (size_t i = 0; i < count; i++)
		((struct entry *)tools[i])->busy = true;
	bool locked = pause_lock(toolchain);
	tool_probe_run(toolchain->config, tools, count, &toolchain->stop, ret_facts);
	resume_lock(toolchain, locked);
	for (size_t i = 0; i < count; i++)
		((struct entry *)tools[i])->busy = false;
	(void)pthread_cond_broadcast(&toolchain->idle);
}

/* Writes the memory. If two processes write, the last one wins, and lost facts are probed again. */
static void
memory_save(struct toolchain *toolchain)
{
	AUTO_FREE char *text = toolchain->memory_changed ? json_dumps(toolchain->memory, JSON_COMPACT) : NULL;
	toolchain->memory_changed = false;
	if (text)
		(void)file_write(toolchain->memory_file, text, strlen(text), 0600, NULL);
}

static bool
is_executable(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The first match in PATH, without its relative parts. New string or NULL. */
static char *
find_in_path(const char *name)
{
	const char *path = getenv("PATH");
	for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
		size_t len = strcspn(at, ":");
		AUTO_FREE char *dir = xstrndup(at, len);
		AUTO_FREE char *file = path_join(dir, name);
		if (dir[0] == '/' && is_executable(file))
			return STEAL(file);
		at += len + (at[len] == ':');
	}
	return NULL;
}

/* Whether every sandbox sees the path. */
static bool
is_system(const char *path)
{
	static const char *const folders[] = {"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/lib32/"};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	return false;
}

/* Whether the folder contains people's own files: a home, or a folder above one. */
static bool
is_too_wide(const char *folder)
{
	const char *home = getenv("HOME");
	size_t len = strlen(folder), slashes = 0;
	for (const char *at = folder; *at; at++)
		slashes += *at == '/';
	if (len <= 1 || strcmp(folder, "/root") == 0 || (strncmp(folder, "/home/", 6) == 0 && slashes < 3))
		return true;
	return home && strncmp(home, folder, len) == 0 && (home[len] == '\0' || home[len] == '/');
}

/* The folder that a tool needs: /opt/venv for /opt/venv/bin/python3; without a prefix, the tool's own. NULL: none. */
static char *
prefix_of(const char *path)
{
	if (is_system(path))
		return NULL;
	AUTO_FREE char *folder = path_above(path, 1);
	AUTO_FREE char *prefix = path_above(path, 2);
	const char *last = folder + strlen(prefix);
	bool programs = strcmp(last, "/bin") == 0 || strcmp(last, "/sbin") == 0 || strcmp(last, "/shims") == 0;
	if (programs && !is_too_wide(prefix))
		return STEAL(prefix);
	return folder[0] ? STEAL(folder) : NULL;
}

/* Takes a folder (or NULL) for the list of folders that the sandbox must show. */
static void
add_root(struct tool *tool, char *folder_take)
{
	bool known = !folder_take || tool->roots_count == TOOLCHAIN_MAX_ROOTS;
	for (size_t i = 0; i < tool->roots_count && !known; i++)
		known = strcmp(tool->roots[i], folder_take) == 0;
	if (known)
		free(folder_take);
	else
		tool->roots[tool->roots_count++] = folder_take;
}

/* The target of the link at path, one link further. New string; NULL: it is no link. */
static char *
next_link(const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return NULL;
	target[len] = '\0';
	AUTO_FREE char *folder = xstrdup(path);
	strrchr(folder, '/')[1] = '\0';
	AUTO_FREE char *next = path_join(folder, target);
	if (!strstr(next, "/../") && !strstr(next, "/./"))
		return STEAL(next);
	/* Resolves `..`, since a sandbox shows no path that contains it. */
	char *name = strrchr(next, '/') + 1;
	AUTO_FREE char *above = xstrndup(next, (size_t)(name - next));
	AUTO_FREE char *real = realpath(above, NULL);
	return real ? path_join(real, name) : NULL;
}

/*
 * Adds every folder on the way: links lead from one to the next, and an environment to the one that it was made from.
 */
static void
find_roots(struct tool *tool)
{
	char *at = xstrdup(tool->path);
	for (int i = 0; at && i < MAX_LINKS; i++) {
		add_root(tool, prefix_of(at));
		char *next = next_link(at);
		free(at);
		at = next;
	}
	free(at);
	add_root(tool, prefix_of(tool->real));
	AUTO_FREE char *base = interpreter_base(tool->path);
	if (base)
		add_root(tool, prefix_of(base));
	for (const char *const *apart = toolkit_extra_folders(tool->name); *apart; apart++)
		if (access(*apart, R_OK | X_OK) == 0)
			add_root(tool, xstrdup(*apart));
}

/* Makes an entry; NULL: the file was removed meanwhile. */
static struct entry *
entry_new(const char *name, char *path_take, char *packages_take)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));
	entry->tool.name = xstrdup(name);
	entry->tool.path = path_take;
	entry->tool.packages = packages_take;
	entry->tool.real = realpath(path_take, NULL);
	if (!entry->tool.real) {
		entry_free(entry);
		return NULL;
	}
	find_roots(&entry->tool);
	return entry;
}

/* Finds a tool by its name: in exec.yml, else in PATH, else in its usual places. New string or NULL. */
static char *
find_by_name(const struct toolchain *toolchain, const char *name)
{
	const char *given = json_text_or_null(toolchain->config->tools, name);
	if (given)
		return is_executable(given) ? xstrdup(given) : NULL;
	char *path = find_in_path(name);
	const char *const *defaults = toolkit_default_paths(name);
	for (size_t i = 0; !path && defaults[i]; i++)
		path = is_executable(defaults[i]) ? xstrdup(defaults[i]) : NULL;
	return path;
}

/* Finds the nvcc of the packages, else this machine's nvcc with the packages. */
static int
locate_packaged(const struct toolchain *toolchain, const char *folder, char **ret_path, char **ret_packages)
{
	AUTO_FREE char *packages = toolparts_packages(folder);
	AUTO_FREE char *path = packages ? toolparts_nvcc(packages) : NULL;
	if (packages && !path)
		path = find_by_name(toolchain, "nvcc");
	if (!path || !is_executable(path))
		return KETTLE_ENOENT;
	*ret_path = STEAL(path);
	*ret_packages = STEAL(packages);
	return 0;
}

/* The PREFIX of PREFIX/bin/NAME. New string; NULL: the path has another form. */
static char *
prefix_above(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash || slash - path < 4 || strncmp(slash - 4, "/bin", 4) != 0)
		return NULL;
	return xstrndup(path, (size_t)(slash - path) - 4);
}

/* Finds an nvcc in the environment of an interpreter that plans may start. */
static int
locate_beside_interpreters(const struct toolchain *toolchain, char **ret_path, char **ret_packages)
{
	json_array_each(execconfig_reported(toolchain->config), name) {
		const char *word = json_string_value(name);
		AUTO_FREE char *path = word[0] == '/' ? xstrdup(word) : find_by_name(toolchain, word);
		AUTO_FREE char *prefix = path && interpreter_is(path) ? prefix_above(path) : NULL;
		if (prefix && locate_packaged(toolchain, prefix, ret_path, ret_packages) == 0)
			return 0;
	}
	return KETTLE_ENOENT;
}

/* Says why the path is not a program that can be started. */
static int
fail_toolchain_path(const char *name, struct kettle_error *err)
{
	AUTO_FREE char *prefix = toolkit_is_nvcc(name) ? prefix_above(name) : NULL;
	AUTO_FREE char *packages = prefix ? toolparts_packages(prefix) : NULL;
	AUTO_FREE char *packaged = packages ? toolparts_nvcc(packages) : NULL;
	const char *there = packaged ? packaged : name;
	if (access(there, F_OK) == 0)
		return kettle_fail(err, KETTLE_ENOENT,
			"This machine has `%s`, which cannot be started: it is not executable, or is on a file system that is "
			"mounted noexec.",
			there);
	if (packages)
		return kettle_fail(err, KETTLE_ENOENT,
			"This machine has no nvcc: the Python packages of CUDA in %s lack it (`pip install nvidia-cuda-nvcc`), and "
			"there is no other.",
			packages);
	if (prefix)
		return kettle_fail(
			err, KETTLE_ENOENT, "This machine has no `%s`, nor Python packages of CUDA in %s.", name, prefix);
	return kettle_fail(err, KETTLE_ENOENT, "This machine has no `%s`, or it cannot be executed.", name);
}

/* Finds the path of a tool and the packages that belong to it (or NULL), both new strings. */
static int
locate(
	const struct toolchain *toolchain, const char *name, char **ret_path, char **ret_packages, struct kettle_error *err)
{
	const char *given = json_text_or_null(toolchain->config->tools, name);
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *packages = NULL;
	if (given && !is_executable(given))
		return kettle_fail(err, KETTLE_ENOENT,
			"This machine has no `%s`: exec.yml sets it to %s, which cannot be executed.", name, given);
	if (given || name[0] != '/')
		path = find_by_name(toolchain, name);
	else if (is_executable(name))
		path = xstrdup(name);
	AUTO_FREE char *prefix = toolkit_is_nvcc(name) ? prefix_above(path ? path : name) : NULL;
	if (path && prefix && name[0] == '/')
		packages = toolparts_packages(prefix);
	else if (!path && prefix)
		(void)locate_packaged(toolchain, prefix, &path, &packages);
	else if (!path && strcmp(name, "nvcc") == 0)
		(void)locate_beside_interpreters(toolchain, &path, &packages);
	if (!path && name[0] == '/')
		return fail_toolchain_path(name, err);
	const char *const *defaults = toolkit_default_paths(name);
	if (!path)
		return kettle_fail(err, KETTLE_ENOENT,
			"This machine has no `%s`: it is neither in PATH%s%s nor among the tools of exec.yml.", name,
			defaults[0] ? " nor at " : "", defaults[0] ? defaults[0] : "");
	char *behind = interpreter_of_wrapper(path);
	*ret_path = behind ? behind : STEAL(path);
	*ret_packages = STEAL(packages);
	return 0;
}

static const struct tool *
known_tool(const struct toolchain *toolchain, const char *name)
{
	for (struct entry *entry = toolchain->entries; entry; entry = entry->next)
		if (strcmp(entry->tool.name, name) == 0)
			return &entry->tool;
	return NULL;
}

int
toolchain_find(struct toolchain *toolchain, const char *name, const struct tool **ret_tool, struct kettle_error *err)
{
	const struct tool *known = known_tool(toolchain, name);
	char *path = NULL, *packages = NULL;
	if (known) {
		*ret_tool = known;
		return 0;
	}
	bool locked = pause_lock(toolchain);
	int rc = locate(toolchain, name, &path, &packages, err);
	struct entry *entry = rc == 0 ? entry_new(name, path, packages) : NULL;
	resume_lock(toolchain, locked);
	if (rc != 0)
		return rc;
	if (!entry)
		return kettle_fail(err, KETTLE_ENOENT, "`%s` no longer exists.", name);
	if ((known = known_tool(toolchain, name))) {
		/* Another thread found the same tool first. */
		entry_free(entry);
		*ret_tool = known;
		return 0;
	}
	entry->next = toolchain->entries;
	toolchain->entries = entry;
	*ret_tool = &entry->tool;
	return 0;
}

int
toolchain_find_beside(
	struct toolchain *toolchain, const char *name, const struct tool **ret_tool, struct kettle_error *err)
{
	AUTO_FREE char *dir = path_program_dir();
	AUTO_FREE char *beside = dir ? path_join(dir, name) : NULL;
	bool there = beside && access(beside, X_OK) == 0;
	return toolchain_find(toolchain, there ? beside : name, ret_tool, err);
}

/* The key in the memory. Interpreters have other packages under each of their names, and nvcc has other parts. */
static const char *
memory_key(const struct entry *entry)
{
	if (entry->tool.packages)
		return entry->tool.name;
	return interpreter_is(entry->tool.path) ? entry->tool.path : entry->tool.real;
}

/* Takes facts from the memory if the file is unchanged. */
static bool
toolchain_remember(struct toolchain *toolchain, struct entry *entry)
{
	struct tool_facts facts = tool_facts_of(json_object_get(toolchain->memory, memory_key(entry)));
	if (!entry->facts.json && tool_probe_is_current(&facts, entry->tool.real)) {
		entry->facts = facts;
		json_incref(facts.json);
	}
	return entry->facts.json != NULL;
}

static void
toolchain_forget(struct entry *entry)
{
	json_decref(entry->facts.json);
	entry->facts = tool_facts_of(NULL);
}

static void
toolchain_learn(struct toolchain *toolchain, struct entry *entry, json_t *facts_take)
{
	json_decref(entry->facts.json);
	strings_free(&entry->watch);
	entry->facts = tool_facts_of(facts_take);
	entry->fresh = true;
	json_object_set(toolchain->memory, memory_key(entry), facts_take);
	toolchain->memory_changed = true;
}

/*
 * Makes facts for a fingerprint known. A script's output may depend on more than the script, so each process probes it
 * once.
 */
static int
know(struct toolchain *toolchain, struct entry *entry, struct kettle_error *err)
{
	wait_for_entry(toolchain, entry);
	bool same = tool_probe_is_current(&entry->facts, entry->tool.real);
	if (entry->fresh && same)
		return 0;
	if (!same)
		toolchain_forget(entry);
	if (toolchain_remember(toolchain, entry) && !entry->facts.script)
		return 0;
	const struct tool *tool = &entry->tool;
	json_t *facts = NULL;
	probe(toolchain, &tool, 1, &facts);
	if (!facts)
		return kettle_fail(err, KETTLE_EIO, "`%s` no longer exists.", entry->tool.path);
	toolchain_learn(toolchain, entry, facts);
	return 0;
}

/* Digests all watched paths. Makes the list of them if there is none. */
static void
toolchain_look(struct entry *entry, char ret_hex[DIGEST_HEX_SIZE])
{
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	if (entry->watch.count == 0)
		tool_probe_watch(&entry->facts, entry->tool.real, TOOLCHAIN_MAX_FOLDERS, &entry->watch);
	sha256_field(digest, entry->tool.real);
	sha256_field(digest, entry->facts.banner);
	for (size_t i = 0; i < entry->watch.count; i++)
		tool_probe_stamp(entry->watch.list[i], digest);
	sha256_end(digest, ret_hex);
}

/*
 * Compares everything with the remembered fingerprint, which another process may have made. If it differs, there may be
 * new folders, so all folders are listed again, which takes about ten times as long.
 */
static int
renew(struct toolchain *toolchain, struct entry *entry, struct kettle_error *err)
{
	int rc = know(toolchain, entry, err);
	if (rc != 0)
		return rc;
	json_t *facts = entry->facts.json;
	const char *known = json_text_or_null(facts, "fingerprint");
	if (entry->watch.count == 0)
		strings_read(&entry->watch, json_object_get(facts, "watch"));
	if (entry->watch.count > 0 && known) {
		toolchain_look(entry, entry->fingerprint);
		if (strcmp(entry->fingerprint, known) == 0)
			return 0;
	}
	strings_free(&entry->watch);
	toolchain_look(entry, entry->fingerprint);
	/* Several tools that are the same file share these facts, so struct tool_facts has neither. */
	json_object_set_new(facts, "watch", strings_json(&entry->watch));
	json_object_set_new(facts, "fingerprint", json_string(entry->fingerprint));
	toolchain->memory_changed = true;
	return 0;
}

/* The compiler that a device compiler uses for host code: the one that exec.yml gives nvcc, else g++. */
static const char *
host_compiler(const struct toolchain *toolchain, const struct tool *tool)
{
	const char *named = json_text_or_null(json_object_get(toolchain->config->env, tool->name), "NVCC_CCBIN");
	return named ? named : "g++";
}

static int
join_host(struct toolchain *toolchain, const struct tool *tool, char hex[DIGEST_HEX_SIZE])
{
	const struct tool *host = NULL;
	char host_hex[DIGEST_HEX_SIZE];
	if (toolchain_find(toolchain, host_compiler(toolchain, tool), &host, NULL) != 0)
		return 0;
	int rc = toolchain_fingerprint(toolchain, host, host_hex, NULL);
	if (rc != 0)
		return rc;
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	sha256_field(digest, hex);
	sha256_field(digest, host_hex);
	sha256_end(digest, hex);
	return 0;
}

int
toolchain_fingerprint(
	struct toolchain *toolchain, const struct tool *tool, char ret_hex[DIGEST_HEX_SIZE], struct kettle_error *err)
{
	struct entry *entry = (struct entry *)tool;
	uint64_t now = time_monotonic_ns();
	if (!entry->fingerprint[0] || now - entry->looked_ns > TOOLCHAIN_TRUST_MS * UINT64_C(1000000)) {
		int rc = renew(toolchain, entry, err);
		if (rc != 0)
			return rc;
		entry->looked_ns = now;
		memory_save(toolchain);
	}
	memcpy(ret_hex, entry->fingerprint, DIGEST_HEX_SIZE);
	bool device = toolkit_is_nvcc(tool->name) || toolkit_is_hipcc(tool->name);
	return device ? join_host(toolchain, tool, ret_hex) : 0;
}

const struct tool_facts *
toolchain_facts(struct toolchain *toolchain, const struct tool *tool)
{
	struct entry *entry = (struct entry *)tool;
	return know(toolchain, entry, NULL) == 0 ? &entry->facts : NULL;
}

int
toolchain_check(struct toolchain *toolchain, const struct tool *tool, struct kettle_error *err)
{
	const struct tool_facts *facts = toolkit_is_nvcc(tool->name) ? toolchain_facts(toolchain, tool) : NULL;
	const json_t *lacking = facts ? toolparts_lacking(facts->parts) : NULL;
	if (facts && facts->foreign)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The Python packages of CUDA in %s are of another version than this machine's nvcc, which is %s: install "
			"those of its major version, or nvidia-cuda-nvcc beside them.",
			tool->packages, facts->version);
	if (!lacking)
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL, "This machine's CUDA toolkit in %s lacks %s; to get it: %s.", facts->home,
		json_text_or_null(lacking, "name"), json_text_or_null(lacking, "how"));
}

/* Whether one of the paths is the folder or above it. */
static bool
is_covered(const struct strings *paths, const char *folder)
{
	for (size_t i = 0; i < paths->count; i++) {
		size_t len = strlen(paths->list[i]);
		if (strncmp(paths->list[i], folder, len) == 0 && (folder[len] == '/' || folder[len] == '\0'))
			return true;
	}
	return false;
}

static void
add_toolchain_folder(const char *folder, struct strings *paths)
{
	if (folder && !is_system(folder) && !is_too_wide(folder) && !is_covered(paths, folder))
		strings_add(paths, folder);
}

void
toolchain_roots(struct toolchain *toolchain, const struct tool *tool, struct strings *paths)
{
	const struct tool_facts *facts = toolkit_is_nvcc(tool->name) ? toolchain_facts(toolchain, tool) : NULL;
	const json_t *folder;
	size_t i;
	for (i = 0; i < tool->roots_count; i++)
		strings_add(paths, tool->roots[i]);
	if (!facts)
		return;
	/* A wrapper may lie outside of its toolkit. */
	add_toolchain_folder(facts->home, paths);
	json_array_foreach(facts->includes, i, folder)
		add_toolchain_folder(json_string_value(folder), paths);
	json_array_foreach(facts->libraries, i, folder)
		add_toolchain_folder(json_string_value(folder), paths);
}

/* Probes all tools without known facts, side by side. */
static void
know_all(struct toolchain *toolchain, const struct tool **tools, size_t count)
{
	const struct tool *unknown[TOOLCHAIN_MAX_TOOLS] = {0};
	json_t *facts[TOOLCHAIN_MAX_TOOLS] = {0};
	size_t probed = 0;
	for (size_t i = 0; i < count; i++)
		if (!toolchain_remember(toolchain, (struct entry *)tools[i]))
			unknown[probed++] = tools[i];
	probe(toolchain, unknown, probed, facts);
	for (size_t i = 0; i < probed; i++)
		if (facts[i])
			toolchain_learn(toolchain, (struct entry *)unknown[i], facts[i]);
	memory_save(toolchain);
}

/* Adds a tool once, if this machine has it. */
static void
list_tool(struct toolchain *toolchain, const char *name, const struct tool **tools, size_t *count)
{
	const struct tool *tool = NULL;
	if (*count == TOOLCHAIN_MAX_TOOLS || toolchain_find(toolchain, name, &tool, NULL) != 0)
		return;
	for (size_t i = 0; i < *count; i++)
		if (tools[i] == tool)
			return;
	tools[(*count)++] = tool;
}

struct tool_report
toolchain_report(struct toolchain *toolchain)
{
	struct tool_report report = {json_object(), json_object(), json_object(), json_object()};
	const struct tool *tools[TOOLCHAIN_MAX_TOOLS];
	size_t count = 0, i;
	const char *name;
	json_t *value;
	for (i = 0; toolchain_known[i]; i++)
		list_tool(toolchain, toolchain_known[i], tools, &count);
	json_object_foreach(toolchain->config->tools, name, value)
		list_tool(toolchain, name, tools, &count);
	json_array_foreach(execconfig_reported(toolchain->config), i, value)
		list_tool(toolchain, json_string_value(value), tools, &count);
	know_all(toolchain, tools, count);
	for (i = 0; i < count; i++) {
		const struct tool_facts *facts = &((const struct entry *)tools[i])->facts;
		bool known = facts->version && facts->version[0];
		name = tools[i]->name;
		json_object_set_new(report.versions, name, json_string(known ? facts->version : "unknown"));
		json_object_set_new(report.paths, name, json_string(tools[i]->path));
		json_object_set(report.packages, name, facts->packages);
		json_object_set(report.parts, name, facts->parts);
	}
	return report;
}

void
tool_report_free(struct tool_report *report)
{
	json_decref_all(report->versions, report->paths, report->packages, report->parts);
	*report = (struct tool_report){0};
}

const struct tool_facts *
toolchain_describe(struct toolchain *toolchain, const struct tool *tool)
{
	struct entry *entry = (struct entry *)tool;
	wait_for_entry(toolchain, entry);
	if (!tool_probe_is_current(&entry->facts, tool->real)) {
		toolchain_forget(entry);
		know_all(toolchain, &tool, 1);
	}
	return &entry->facts;
}

void
toolchain_stop(struct toolchain *toolchain)
{
	atomic_store(&toolchain->stop, true);
}

void
toolchain_merge(struct toolchain *toolchain, const struct toolchain *other)
{
	toolchain_lock(toolchain);
	json_object_each(other->memory, key, json) {
		struct tool_facts known = tool_facts_of(json_object_get(toolchain->memory, key)), facts = tool_facts_of(json);
		if (known.json && known.size == facts.size && known.mtime == facts.mtime)
			continue;
		json_object_set(toolchain->memory, key, json);
		toolchain->memory_changed = true;
	}
	memory_save(toolchain);
	toolchain_unlock(toolchain);
}
