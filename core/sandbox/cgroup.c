/* SPDX-License-Identifier: MIT */
/*
 * cgroups of runs.
 *
 * Theory of operation. Below a base there is one folder per owner, PID-START (its start in ticks, so that no later process
 * has the same name), with one folder per run in it. An owner holds a lock (flock) on its folder while it lives; a later
 * owner removes folders without a lock. A lock, unlike a process number, means the same in every PID namespace, so
 * containers may share a hierarchy. With v1 these folders exist below each of memory, pids and cpuacct, and init writes
 * itself into their cgroup.procs. The first such write waits about 10 ms for RCU, so a spare does it ahead. With v2 the
 * clone starts in the folder.
 *
 * Runs may share a limit of memory: then their folders in that hierarchy are below a further one, of their group, which is
 * named like that of a run.
 *
 * Some limits hold where the kernel offers them: v2 has cpu and io besides if they can be enabled, v1 has cpu if it is
 * mounted together with cpuacct. A cgroup with a share of CPU time of its own takes its processes out of autogroups.
 *
 * v2 allows processes in leaves only. Where the caller's cgroup is delegated (systemd's Delegate=yes), all its processes
 * move to kettle-main beside KETTLE; a root without delegation uses the top of the hierarchy, which is exempt.
 */
#include <config.h>

#include "sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "sandbox/protections.h"

#define CGROUP_BASE "kettle"
#define CGROUP_MAIN "kettle-main"
#define CGROUP_RUN "run-"
#define CGROUP_TEXT_SIZE 4096
#define CGROUP_KILL_ROUNDS 100
#define CGROUP_LINE_MAX 8192
#define CGROUP_RMDIR_TRIES 20
#define CGROUP_RMDIR_PAUSE_NS 1000000
#define CGROUP_BASE_TRIES 5
#define CGROUP_MOVE_TRIES 100
#define CGROUP_OWNERS_MAX 1000
#define CGROUP_NAME_SIZE 64
#define CGROUP_START_FIELD 22 /* of /proc/PID/stat */
#define CGROUP_CPU_PERIOD_US 100000
#define CGROUP_CPU_SHARES 1024 /* v1: of nice 0; a step more is a fifth less */

static const char *const v1_names[SANDBOX_CG_COUNT] = {"memory", "pids", "cpuacct"};

static ssize_t
read_at(int dir, const char *name, char *text, size_t size)
{
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? -1 : read(fd, text, size - 1);
	text[count > 0 ? count : 0] = '\0';
	return count;
}

static int
write_at(int dir, const char *name, const char *text)
{
	AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int
write_number(int dir, const char *name, uint64_t value)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return write_at(dir, name, text);
}

/* The number behind a key at the start of a line. */
static uint64_t
keyed_number(const char *text, const char *key)
{
	size_t len = strlen(key);
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, key, len) && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	return 0;
}

static uint64_t
number_at(int dir, const char *name, const char *key)
{
	char text[CGROUP_TEXT_SIZE];
	if (dir < 0 || read_at(dir, name, text, sizeof(text)) <= 0)
		return 0;
	return key ? keyed_number(text, key) : strtoull(text, NULL, 10);
}

/* Owners: PID-START */

static void
remove_folder(int parent, const char *name)
{
	const struct timespec pause = {.tv_nsec = CGROUP_RMDIR_PAUSE_NS};
	for (int i = 0; i < CGROUP_RMDIR_TRIES; i++) {
		if (!unlinkat(parent, name, AT_REMOVEDIR) || errno != EBUSY)
			return;
		(void)nanosleep(&pause, NULL); /* the kernel still tears a process down */
	}
}

/* Kills each process of a list. Skips an incomplete last line, which would name another process. */
static void
kill_listed(const char *text)
{
	char *end;
	for (const char *at = text; *at; at = end + 1) {
		long pid = strtol(at, &end, 10);
		if (end == at || *end != '\n')
			break;
		if (pid > 1)
			(void)kill((pid_t)pid, SIGKILL);
	}
}

static void
kill_members(int dir)
{
	char text[CGROUP_TEXT_SIZE];
	if (!write_at(dir, "cgroup.kill", "1"))
		return;
	/* Repeats: one read may return a part of the list, and its processes may have forked since. */
	for (int i = 0; i < CGROUP_KILL_ROUNDS && read_at(dir, "cgroup.procs", text, sizeof(text)) > 0; i++)
		kill_listed(text);
}

/* Removes the folders of runs below `parent`, down to those in groups, and kills what is in them. */
static void
remove_runs(int parent, unsigned depth)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (strncmp(entry->d_name, CGROUP_RUN, strlen(CGROUP_RUN)))
			continue;
		AUTO_FD int run = openat(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (run >= 0)
			kill_members(run);
		if (run >= 0 && depth > 1)
			remove_runs(run, depth - 1);
		remove_folder(parent, entry->d_name);
	}
}

/* Removes an owner's folder, locked by the caller as `folder`, and its runs. Closes `folder`. */
static void
remove_owner(int base, const char *name, int folder)
{
	remove_runs(folder, 2);
	remove_folder(base, name);
	close(folder);
}

/* Opens and locks an owner's folder. Returns the descriptor; -1: another owner holds it, or it does not exist. */
static int
lock_owner(int base, const char *name)
{
	struct stat held, named;
	AUTO_FD int folder = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB))
		return -1;
	/* Another process may have removed it before the lock was taken. */
	bool there = !fstat(folder, &held) && !fstatat(base, name, &named, AT_SYMLINK_NOFOLLOW);
	if (!there || held.st_ino != named.st_ino) {
		errno = ENOENT;
		return -1;
	}
	return STEAL_FD(folder);
}

static void
remove_dead_owners(int base)
{
	int copy = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		int end = 0;
		(void)sscanf(entry->d_name, "%*[0-9]-%*[0-9]%n", &end);
		if (end == 0 || entry->d_name[end])
			continue;
		int folder = lock_owner(base, entry->d_name);
		if (folder >= 0)
			remove_owner(base, entry->d_name, folder);
	}
}

/* When this process started, in ticks since boot; 0: unknown. */
static long long
own_start(void)
{
	char text[CGROUP_TEXT_SIZE];
	ssize_t len = read_at(AT_FDCWD, "/proc/self/stat", text, sizeof(text));
	const char *at = len > 0 ? strrchr(text, ')') : NULL;
	for (int field = 2; at && field < CGROUP_START_FIELD; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoll(at, NULL, 10) : 0;
}

/* Makes and locks this process's folder below `base`; stores its name (CGROUP_NAME_SIZE bytes). -1 with errno. */
static int
make_cgroup_folder(int base, char *ret_name)
{
	long long start = own_start();
	for (int number = 0; number < CGROUP_OWNERS_MAX; number++) {
		(void)snprintf(ret_name, CGROUP_NAME_SIZE, "%d-%lld", (int)getpid(), start + number);
		bool made = !mkdirat(base, ret_name, 0755);
		if (!made && errno != EEXIST)
			return -1;
		int own = made ? lock_owner(base, ret_name) : -1;
		/* A concurrent clean-up may have locked it to remove it; the next name is free. */
		if (own >= 0 || (made && errno != EWOULDBLOCK))
			return own;
	}
	return -1;
}

/* Enables v2 controllers below a cgroup: the needed ones, and others where possible. -1: not all needed ones. */
static int
enable(int dir)
{
	if (write_at(dir, "cgroup.subtree_control", "+memory +pids"))
		return -1;
	(void)write_at(dir, "cgroup.subtree_control", "+cpu");
	(void)write_at(dir, "cgroup.subtree_control", "+io");
	return 0;
}

/* Cleans BASE and makes BASE/OWNER, locked; without a path if it cannot. With v2, enables controllers below both. */
static struct sandbox_cgroup_owner
try_owner(const char *parent, bool unified)
{
	const struct sandbox_cgroup_owner none = {.lock = -1};
	AUTO_BUF struct buf path = {0};
	char name[CGROUP_NAME_SIZE];
	buf_printf(&path, "%s/" CGROUP_BASE, parent);
	if (mkdir(path.data, 0755) && errno != EEXIST)
		return none;
	AUTO_FD int base = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base < 0 || (unified && enable(base)))
		return none;
	remove_dead_owners(base);
	AUTO_FD int own = make_cgroup_folder(base, name);
	if (own < 0)
		return none;
	if (faccessat(own, "cgroup.procs", W_OK, AT_EACCESS) || (unified && enable(own))) {
		(void)unlinkat(base, name, AT_REMOVEDIR);
		return none;
	}
	buf_printf(&path, "/%s", name);
	return (struct sandbox_cgroup_owner){.path = buf_take(&path), .lock = STEAL_FD(own)};
}

/* Retries, since a leaving owner may remove the empty base in between. */
static struct sandbox_cgroup_owner
make_owner(const char *parent, bool unified)
{
	struct sandbox_cgroup_owner owner = {.lock = -1};
	for (int i = 0; i < CGROUP_BASE_TRIES && !owner.path; i++) {
		errno = 0;
		owner = try_owner(parent, unified);
		if (!owner.path && errno != ENOENT)
			break;
	}
	return owner;
}

/* The caller's path in the hierarchy of a v1 controller, or of v2 (NULL). New string or NULL. */
static char *
own_path(const char *controller)
{
	AUTO_FILE FILE *file = fopen("/proc/self/cgroup", "re");
	char line[CGROUP_LINE_MAX];
	while (file && fgets(line, sizeof(line), file)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		names++;
		if (!controller && !*names)
			return xstrdup(path);
		char *save = NULL;
		for (char *name = strtok_r(names, ",", &save); controller && name; name = strtok_r(NULL, ",", &save))
			if (!strcmp(name, controller))
				return xstrdup(path);
	}
	return NULL;
}

static bool
has_option(const char *options, const char *name)
{
	size_t len = strlen(name);
	for (const char *at = options; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ',' || at[len] == '\n'))
			return true;
	return false;
}

/* The mount point of a hierarchy; *ret_root_len: bytes of the mounted root to cut from paths. New string or NULL. */
static char *
mount_point(const char *controller, size_t *ret_root_len)
{
	AUTO_FILE FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[CGROUP_LINE_MAX], root[PATH_MAX], point[PATH_MAX];
	while (file && fgets(line, sizeof(line), file)) {
		char *rest = strstr(line, " - ");
		if (!rest || sscanf(line, "%*d %*d %*s %4095s %4095s", root, point) != 2)
			continue;
		bool v2 = !strncmp(rest + 3, "cgroup2 ", 8), v1 = !strncmp(rest + 3, "cgroup ", 7);
		if (!(controller ? v1 && has_option(strrchr(rest, ' ') + 1, controller) : v2))
			continue;
		*ret_root_len = strcmp(root, "/") ? strlen(root) : 0;
		return xstrdup(point);
	}
	return NULL;
}

/* The caller's folder in a hierarchy and the hierarchy's top. New strings; false: not mounted. */
static bool
own_folder(const char *controller, char **ret_folder, char **ret_top)
{
	size_t cut = 0;
	AUTO_FREE char *top = mount_point(controller, &cut);
	AUTO_FREE char *path = own_path(controller);
	if (!top || !path)
		return false;
	AUTO_BUF struct buf folder = {0};
	const char *below = strlen(path) >= cut ? path + cut : "";
	buf_printf(&folder, "%s%s", top, strcmp(below, "/") ? below : "");
	*ret_folder = buf_take(&folder);
	*ret_top = STEAL(top);
	return true;
}

/* v2 */

static bool
is_delegated(int dir)
{
	char value[2];
	struct stat st;
	if (geteuid() == 0)
		return (fgetxattr(dir, "trusted.delegate", value, sizeof(value)) >= 1 && value[0] == '1') ||
			   (fgetxattr(dir, "user.delegate", value, sizeof(value)) >= 1 && value[0] == '1');
	return !fstat(dir, &st) && st.st_uid == geteuid() && !faccessat(dir, "cgroup.subtree_control", W_OK, AT_EACCESS);
}

/* Moves all processes of a cgroup to a leaf below it, so that it can enable controllers. */
static int
move_to_leaf(int dir)
{
	char text[CGROUP_TEXT_SIZE];
	if (mkdirat(dir, CGROUP_MAIN, 0755) && errno != EEXIST)
		return -1;
	for (int rounds = 0; rounds < CGROUP_MOVE_TRIES && read_at(dir, "cgroup.procs", text, sizeof(text)) > 0; rounds++) {
		text[strcspn(text, "\n")] = '\0';
		if (write_at(dir, CGROUP_MAIN "/cgroup.procs", text))
			return -1;
	}
	return 0;
}

/* The folder for a v2 base, with memory and pids enabled for its children; new string or NULL. */
static char *
unified_parent(void)
{
	AUTO_FREE char *own = NULL;
	AUTO_FREE char *top = NULL;
	if (!own_folder(NULL, &own, &top))
		return NULL;
	size_t len = strlen(own), suffix = strlen("/" CGROUP_MAIN);
	if (len > suffix && !strcmp(own + len - suffix, "/" CGROUP_MAIN))
		own[len - suffix] = '\0';
	AUTO_FD int dir = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char controllers[CGROUP_TEXT_SIZE];
	if (dir < 0)
		return NULL;
	if (is_delegated(dir)) {
		if (read_at(dir, "cgroup.controllers", controllers, sizeof(controllers)) > 0 && strstr(controllers, "memory") &&
			strstr(controllers, "pids") && !move_to_leaf(dir) && !enable(dir))
			return STEAL(own);
		return NULL;
	}
	AUTO_FD int above = geteuid() == 0 ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (above >= 0 && read_at(above, "cgroup.controllers", controllers, sizeof(controllers)) > 0 &&
		strstr(controllers, "memory") && strstr(controllers, "pids") && !enable(above))
		return STEAL(top);
	return NULL;
}

struct sandbox_cgroup_root *
sandbox_cgroup_root(struct kettle_error *reason)
{
	struct sandbox_cgroup_root root = {.owners = {{.lock = -1}, {.lock = -1}, {.lock = -1}}};
	AUTO_FREE char *parent = unified_parent();
	if (parent)
		root.owners[0] = make_owner(parent, true);
	root.unified = root.owners[0].path != NULL;
	bool any = root.unified;
	for (size_t i = 0; !root.unified && i < SANDBOX_CG_COUNT; i++) {
		AUTO_FREE char *own = NULL;
		AUTO_FREE char *top = NULL;
		if (own_folder(v1_names[i], &own, &top))
			root.owners[i] = make_owner(own, false);
		any = any || root.owners[i].path;
	}
	if (any)
		return xmemdup(&root, sizeof(root));
	kettle_fail(reason, KETTLE_EUNAVAIL, "No cgroup can be created on this machine; %s. Limits are polled instead.",
		SANDBOX_HOW_CGROUP);
	return NULL;
}

/* Removes an owner's folder, folders of dead owners beside it, and the folder above if it is then empty. */
static void
leave_owner(struct sandbox_cgroup_owner *owner)
{
	char *name = strrchr(owner->path, '/');
	*name++ = '\0';
	AUTO_FD int base = open(owner->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base >= 0) {
		remove_owner(base, name, owner->lock);
		remove_dead_owners(base); /* whose processes had not ended yet when this one began */
	} else {
		close(owner->lock);
	}
	(void)rmdir(owner->path); /* fails while there are other owners */
	free(owner->path);
}

void
sandbox_cgroup_leave(struct sandbox_cgroup_root *root)
{
	for (size_t i = 0; root && i < SANDBOX_CG_COUNT; i++)
		if (root->owners[i].path)
			leave_owner(&root->owners[i]);
	free(root);
}

unsigned
sandbox_cgroup_protections(const struct sandbox_cgroup_root *root)
{
	static const unsigned bits[SANDBOX_CG_COUNT] = {SANDBOX_MEMORY_CGROUP, SANDBOX_PIDS_CGROUP, SANDBOX_CPU_CGROUP};
	unsigned protections = 0;
	for (size_t i = 0; root && i < SANDBOX_CG_COUNT; i++)
		protections |= root->unified || root->owners[i].path ? bits[i] : 0;
	return protections;
}

/* Runs */

static int
dir_of(const struct sandbox_cgroup *cgroup, enum sandbox_controller controller)
{
	return cgroup->dir[cgroup->unified ? SANDBOX_CG_MEMORY : controller];
}

/* v1 reports running out of memory with an eventfd, v2 with a change of memory.events. */
static int
open_oom(const struct sandbox_cgroup *cgroup)
{
	int dir = dir_of(cgroup, SANDBOX_CG_MEMORY);
	if (dir < 0)
		return -1;
	if (cgroup->unified) {
		int fd = openat(dir, "memory.events", O_RDONLY | O_CLOEXEC);
		(void)sandbox_cgroup_oom_happened(fd, true); /* the first read arms the notification */
		return fd;
	}
	AUTO_FD int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	AUTO_FD int control = openat(dir, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	char text[64];
	(void)snprintf(text, sizeof(text), "%d %d", event, control);
	if (event < 0 || control < 0 || write_at(dir, "cgroup.event_control", text))
		return -1;
	return STEAL_FD(event);
}

static int
make_run(const char *parent, const char *name, char **ret_path, int *ret_dir, struct kettle_error *err)
{
	AUTO_BUF struct buf path = {0};
	buf_printf(&path, "%s/%s", parent, name);
	if (mkdir(path.data, 0755))
		return kettle_fail(err, KETTLE_EUNAVAIL, "The cgroup `%s` cannot be created: %s.", path.data, strerror(errno));
	*ret_dir = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret_path = buf_take(&path);
	if (*ret_dir < 0)
		return kettle_fail(err, KETTLE_EIO, "The cgroup `%s` cannot be opened: %s.", *ret_path, strerror(errno));
	return 0;
}

/* A name that no other run of this owner has (CGROUP_NAME_SIZE bytes). */
static void
name_run(char *ret_name)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	(void)snprintf(ret_name, CGROUP_NAME_SIZE, CGROUP_RUN "%lld.%09ld", (long long)now.tv_sec, now.tv_nsec);
}

struct sandbox_cgroup_group {
	bool unified;
	atomic_uint references; /* a spare of a warm process may be dropped on another thread */
	char *path;
	int dir;
};

struct sandbox_cgroup_group *
sandbox_cgroup_group_new(const struct sandbox_cgroup_root *root)
{
	const char *parent = root ? root->owners[SANDBOX_CG_MEMORY].path : NULL;
	char name[CGROUP_NAME_SIZE];
	if (!parent)
		return NULL;
	struct sandbox_cgroup_group *group = xcalloc(1, sizeof(*group));
	group->unified = root->unified;
	group->references = 1;
	group->dir = -1;
	name_run(name);
	bool made = !make_run(parent, name, &group->path, &group->dir, NULL);
	if (made && group->unified)
		made = !enable(group->dir);
	else if (made) /* absent, or without effect, since Linux 5.11, where it is always so */
		(void)write_at(group->dir, "memory.use_hierarchy", "1");
	if (!made) {
		sandbox_cgroup_group_unref(group);
		return NULL;
	}
	return group;
}

void
sandbox_cgroup_group_unref(struct sandbox_cgroup_group *group)
{
	if (!group || --group->references > 0)
		return;
	if (group->dir >= 0)
		close(group->dir);
	if (group->path)
		remove_folder(AT_FDCWD, group->path);
	free(group->path);
	free(group);
}

int
sandbox_cgroup_make(const struct sandbox_cgroup_root *root, struct sandbox_cgroup_group *group,
	struct sandbox_cgroup *ret_cgroup, struct kettle_error *err)
{
	struct sandbox_cgroup cgroup = {
		.unified = root->unified, .dir = {-1, -1, -1}, .procs = {-1, -1, -1}, .oom = -1, .cpu = -1, .group = group};
	char name[CGROUP_NAME_SIZE];
	if (group)
		group->references++;
	name_run(name);
	for (size_t i = 0; i < SANDBOX_CG_COUNT; i++) {
		const char *parent = group && i == SANDBOX_CG_MEMORY ? group->path : root->owners[i].path;
		int rc = parent ? make_run(parent, name, &cgroup.path[i], &cgroup.dir[i], err) : 0;
		if (rc) {
			sandbox_cgroup_remove(&cgroup);
			return rc;
		}
		if (parent)
			cgroup.procs[i] = openat(cgroup.dir[i], "cgroup.procs", O_WRONLY | O_CLOEXEC);
	}
	cgroup.oom = open_oom(&cgroup);
	if (dir_of(&cgroup, SANDBOX_CG_CPU) >= 0)
		cgroup.cpu = openat(
			dir_of(&cgroup, SANDBOX_CG_CPU), cgroup.unified ? "cpu.stat" : "cpuacct.usage", O_RDONLY | O_CLOEXEC);
	*ret_cgroup = cgroup;
	return 0;
}

static int
limit_memory(int dir, bool unified, uint64_t memory)
{
	if (!memory || dir < 0)
		return 0;
	int rc = write_number(dir, unified ? "memory.max" : "memory.limit_in_bytes", memory);
	/* Optional: not every kernel has them. */
	if (unified) {
		(void)write_at(dir, "memory.swap.max", "0");
		(void)write_at(dir, "memory.oom.group", "1");
	} else {
		(void)write_number(dir, "memory.memsw.limit_in_bytes", memory);
	}
	return rc;
}

int
sandbox_cgroup_group_limit(const struct sandbox_cgroup_group *group, uint64_t memory, struct kettle_error *err)
{
	if (limit_memory(group->dir, group->unified, memory) == 0)
		return 0;
	return kettle_fail(err, KETTLE_EIO, "The limits of a cgroup cannot be set: %s.", strerror(errno));
}

static bool
limit_cpu(const struct sandbox_cgroup *cgroup, int nice, unsigned cores)
{
	int dir = dir_of(cgroup, SANDBOX_CG_CPU);
	uint64_t quota = (uint64_t)cores * CGROUP_CPU_PERIOD_US, shares = CGROUP_CPU_SHARES;
	char text[64];
	(void)snprintf(text, sizeof(text), "%llu %d", (unsigned long long)quota, CGROUP_CPU_PERIOD_US);
	if (cores && dir >= 0 && cgroup->unified)
		(void)write_at(dir, "cpu.max", text);
	else if (cores && dir >= 0)
		(void)write_number(dir, "cpu.cfs_quota_us", quota);
	for (int i = 0; i < nice; i++)
		shares -= shares / 5;
	if (!nice || dir < 0)
		return false;
	return !(cgroup->unified ? write_number(dir, "cpu.weight.nice", (uint64_t)nice)
							 : write_number(dir, "cpu.shares", shares));
}

/* The disk that a file's device is, or is a partition of, as "MAJOR:MINOR"; false: no disk can be told. */
static bool
find_disk(dev_t device, char *text, size_t size)
{
	char path[96], whole[32] = "";
	if (major(device) == 0)
		return false;
	(void)snprintf(text, size, "%u:%u", major(device), minor(device));
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%s/partition", text);
	if (access(path, F_OK) != 0)
		return true;
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%s/../dev", text);
	if (read_at(AT_FDCWD, path, whole, sizeof(whole)) <= 0)
		return false;
	(void)snprintf(text, size, "%.*s", (int)strcspn(whole, "\n"), whole);
	return true;
}

static void
limit_disks(const struct sandbox_cgroup *cgroup, const struct sandbox_cgroup_limits *limits)
{
	AUTO_BUF struct buf most = {0};
	if (!cgroup->unified || (!limits->io_bytes && !limits->io_operations))
		return;
	unsigned long long bytes = limits->io_bytes, operations = limits->io_operations;
	if (bytes)
		buf_printf(&most, " rbps=%llu wbps=%llu", bytes, bytes);
	if (operations)
		buf_printf(&most, " riops=%llu wiops=%llu", operations, operations);
	for (size_t i = 0; i < limits->disks_count; i++) {
		char disk[32], line[256];
		if (!find_disk(limits->disks[i], disk, sizeof(disk)))
			continue;
		(void)snprintf(line, sizeof(line), "%s%s", disk, most.data);
		(void)write_at(dir_of(cgroup, SANDBOX_CG_MEMORY), "io.max", line);
	}
}

int
sandbox_cgroup_limit(const struct sandbox_cgroup *cgroup, const struct sandbox_cgroup_limits *limits, bool *ret_weighed,
	struct kettle_error *err)
{
	int pids = dir_of(cgroup, SANDBOX_CG_PIDS);
	int rc = limit_memory(dir_of(cgroup, SANDBOX_CG_MEMORY), cgroup->unified, limits->memory);
	if (!rc && limits->processes && pids >= 0)
		rc = write_number(pids, "pids.max", limits->processes + 1);
	if (rc)
		return kettle_fail(err, KETTLE_EIO, "The limits of a cgroup cannot be set: %s.", strerror(errno));
	*ret_weighed = limit_cpu(cgroup, limits->nice, limits->cores);
	limit_disks(cgroup, limits);
	return 0;
}

void
sandbox_cgroup_remove(struct sandbox_cgroup *cgroup)
{
	for (size_t i = 0; i < SANDBOX_CG_COUNT; i++) {
		if (cgroup->dir[i] >= 0)
			close(cgroup->dir[i]);
		if (cgroup->procs[i] >= 0)
			close(cgroup->procs[i]);
		if (cgroup->path[i])
			remove_folder(AT_FDCWD, cgroup->path[i]);
		free(cgroup->path[i]);
		cgroup->path[i] = NULL;
		cgroup->dir[i] = cgroup->procs[i] = -1;
	}
	if (cgroup->oom >= 0)
		close(cgroup->oom);
	if (cgroup->cpu >= 0)
		close(cgroup->cpu);
	cgroup->oom = cgroup->cpu = -1;
	sandbox_cgroup_group_unref(cgroup->group);
	cgroup->group = NULL;
}

uint64_t
sandbox_cgroup_memory_peak(const struct sandbox_cgroup *cgroup)
{
	return number_at(
		dir_of(cgroup, SANDBOX_CG_MEMORY), cgroup->unified ? "memory.peak" : "memory.max_usage_in_bytes", NULL);
}

uint64_t
sandbox_cgroup_oom_kills(const struct sandbox_cgroup *cgroup)
{
	return number_at(
		dir_of(cgroup, SANDBOX_CG_MEMORY), cgroup->unified ? "memory.events" : "memory.oom_control", "oom_kill");
}

uint64_t
sandbox_cgroup_forks_refused(const struct sandbox_cgroup *cgroup)
{
	return number_at(dir_of(cgroup, SANDBOX_CG_PIDS), "pids.events", "max");
}

ssize_t
sandbox_cgroup_tasks(const struct sandbox_cgroup *cgroup, pid_t *list, size_t max)
{
	int dir = dir_of(cgroup, SANDBOX_CG_PIDS);
	AUTO_FD int fd = dir < 0 ? -1 : openat(dir, cgroup->unified ? "cgroup.threads" : "tasks", O_RDONLY | O_CLOEXEC);
	AUTO_FILE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	size_t count = 0;
	int pid;
	if (!file)
		return -1;
	fd = -1;
	while (count < max && fscanf(file, "%d\n", &pid) == 1)
		list[count++] = pid;
	return ferror(file) || !feof(file) ? -1 : (ssize_t)count;
}

uint64_t
sandbox_cgroup_cpu_ns(int cpu, bool unified)
{
	char text[1024];
	ssize_t size = pread(cpu, text, sizeof(text) - 1, 0);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	return unified ? keyed_number(text, "usage_usec") * 1000 : strtoull(text, NULL, 10);
}

bool
sandbox_cgroup_oom_happened(int oom, bool unified)
{
	char text[1024];
	uint64_t count = 0;
	if (!unified)
		return read(oom, &count, sizeof(count)) == sizeof(count);
	ssize_t size = pread(oom, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	return keyed_number(text, "oom_kill") > 0;
}
