/* SPDX-License-Identifier: MIT */
/*
 * Plans and builds the payload's file system.
 *
 * Theory of operation. The owner inspects the machine (which of /bin, /lib … exist, and which are links) and writes a
 * list of operations into the plan. Init mounts a tmpfs, pivots into it with the old root at /.old, executes the list
 * and detaches /.old. It executes the operations that are the same for all runs as soon as it starts, which may be long
 * before the run. The owner resolves the sources, since absolute links below /.old would lead elsewhere. /proc is
 * mounted before the old root is detached, because the kernel requires a fully visible /proc for that.
 *
 * Read-only files of the machine are shown by overlays, so that locks on them stay inside. An overlay shows one file
 * system, and the kernel refuses it for a folder below which something is mounted, as GPU drivers are on rented
 * machines: such a folder is made in the root, and its entries get operations of their own. A folder that holds files,
 * or in which a server's file system is mounted, is shown as it is: looking into a mount whose server does not answer
 * would block.
 */
#include <config.h>

#include "sandbox/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "sandbox/copy_tree.h"
#include "sandbox/proc.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define ROOT_BASE "/usr"       /* exists on every machine; the new root is mounted on it */
#define ROOT_EMPTY "/.empty"   /* the second layer of overlays that show one folder */
#define ROOT_FOLDER "/.folder" /* where the folder of a file is shown until the file is mounted elsewhere */
#define ROOT_ENTRIES_MAX 64    /* entries of a folder below which something is mounted; an overlay takes 40 µs */
#define ROOT_AT_RECURSIVE 0x8000
#define ROOT_LOCAL "-" /* before a mount point in plan->mounts */
#define ROOT_REMOTE "@"

/* Layers of the cache, its private part and the overlay's own folder, until the payload starts. */
#define ROOT_LAYERS "/.layers"
#define ROOT_LAYER ROOT_LAYERS "/%zu"
#define ROOT_NEW ROOT_LAYERS "/new"
#define ROOT_WORK ROOT_LAYERS "/work"
#define ROOT_PLACE_SIZE 512 /* bytes of the path of a writable file system */

struct root_mount_attr {
	uint64_t attr_set, attr_clr, propagation, userns_fd;
};

static const char *const system_dirs[] = {"/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", NULL};
/* The files that compilers, interpreters and GPU libraries read there. */
static const char *const etc_binds[] = {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
	"/etc/localtime", "/etc/OpenCL", NULL};
static const char *const device_nodes[] = {"/dev/null", SANDBOX_ZERO, "/dev/full", "/dev/random", "/dev/urandom", NULL};
/* Beginnings of names of file systems whose server, on another machine or a process, may leave a call unanswered. */
static const char *const remote_types[] = {
	"afs", "autofs", "beegfs", "ceph", "cifs", "fuse", "gpfs", "lustre", "nfs", "orangefs", "smb"};
static const char *const sys_binds[] = {"/sys/devices/system/cpu", "/sys/devices/system/node", NULL};

static const struct {
	const char *path, *text;
} etc_files[] = {
	{"/etc/passwd", "root:x:0:0:root:/:/bin/false\nkettle:x:1000:1000:kettle:" SANDBOX_HOME
					":/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"},
	{"/etc/group", "root:x:0:\nkettle:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/hosts", "127.0.0.1 localhost kettle\n::1 localhost\n"},
	{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
	{"/etc/resolv.conf", ""},
	{"/etc/hostname", "kettle\n"},
};
static const struct {
	const char *path, *target;
} dev_links[] = {
	{"/dev/fd", "/proc/self/fd"},
	{"/dev/stdin", "/proc/self/fd/0"},
	{"/dev/stdout", "/proc/self/fd/1"},
	{"/dev/stderr", "/proc/self/fd/2"},
};

static const char out_options[] = "mode=0755,uid=1000,gid=1000";

/* The next operation. A NULL target, or no room, marks the plan as too big. */
static struct sandbox_op *
add_op(struct sandbox_plan *plan, enum sandbox_op_kind kind, const char *target)
{
	if (plan->ops_count >= SANDBOX_OPS_MAX || !target) {
		plan->ops_count = SANDBOX_OPS_MAX + 1;
		return &plan->ops[SANDBOX_OPS_MAX]; /* never executed */
	}
	struct sandbox_op *op = &plan->ops[plan->ops_count++];
	*op = (struct sandbox_op){.kind = kind, .target = target, .mode = 0755};
	return op;
}

static bool
is_planned(const struct sandbox_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops_count && i < SANDBOX_OPS_MAX; i++)
		if (!strcmp(plan->ops[i].target, path))
			return true;
	return false;
}

/* Whether the path is below a planned bind or link, so that nothing can or must be made there. */
static bool
is_covered(const struct sandbox_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->ops_count && i < SANDBOX_OPS_MAX; i++) {
		const struct sandbox_op *op = &plan->ops[i];
		size_t len = strlen(op->target);
		if ((op->kind == SANDBOX_OP_BIND || op->kind == SANDBOX_OP_LINK) && !strncmp(path, op->target, len) &&
			path[len] == '/')
			return true;
	}
	return false;
}

static void
add_parents(struct sandbox_plan *plan, const char *path)
{
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		char *parent = sandbox_plan_printf(plan, "%.*s", (int)(slash - path), path);
		if (parent && !is_planned(plan, parent) && !is_covered(plan, parent))
			add_op(plan, SANDBOX_OP_DIR, parent);
	}
}

static bool
is_remote_type(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(remote_types); i++)
		if (!strncmp(type, remote_types[i], strlen(remote_types[i])))
			return true;
	return false;
}

static char *
read_mounts(void)
{
	struct mntent entry;
	char line[2 * PATH_MAX];
	AUTO_BUF struct buf paths = {0};
	FILE *file = setmntent("/proc/self/mounts", "re");
	while (file && getmntent_r(file, &entry, line, sizeof(line))) {
		buf_add(&paths, is_remote_type(entry.mnt_type) ? ROOT_REMOTE : ROOT_LOCAL, 1);
		buf_add(&paths, entry.mnt_dir, strlen(entry.mnt_dir) + 1);
	}
	if (file)
		(void)endmntent(file);
	buf_add(&paths, "", 1);
	return buf_take(&paths);
}

static bool
has_mount_below(const struct sandbox_plan *plan, const char *folder)
{
	size_t len = strlen(folder);
	for (const char *mount = plan->mounts; mount && *mount; mount += strlen(mount) + 1)
		if (!strncmp(mount + 1, folder, len) && mount[1 + len] == '/')
			return true;
	return false;
}

static bool
is_remote(const struct sandbox_plan *plan, const char *path)
{
	for (const char *mount = plan->mounts; mount && *mount; mount += strlen(mount) + 1)
		if (*mount == *ROOT_REMOTE && !strcmp(mount + 1, path))
			return true;
	return false;
}

static bool
add_link(struct sandbox_plan *plan, const char *path, const char *target)
{
	char link[PATH_MAX];
	ssize_t len = readlink(path, link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = '\0';
	add_op(plan, SANDBOX_OP_LINK, target)->source = sandbox_plan_text(plan, link);
	return len > 0;
}

static bool add_apart(struct sandbox_plan *plan, const char *folder, const char *target);

/*
 * Plans one entry of a folder that is made in the root; false: the folder must be shown as it is. type: from readdir; a
 * mount on the entry does not change it.
 */
static bool
add_entry(struct sandbox_plan *plan, const char *path, const char *target, unsigned type)
{
	struct stat st = {.st_mode = 0755};
	if (!path || !target || is_remote(plan, path))
		return false;
	bool deep = has_mount_below(plan, path);
	if ((deep || type == DT_UNKNOWN) && lstat(path, &st))
		return false;
	if (type == DT_UNKNOWN)
		type = IFTODT(st.st_mode);
	if (type == DT_LNK)
		return add_link(plan, path, target);
	if (type != DT_DIR)
		return false;
	add_op(plan, SANDBOX_OP_DIR, target)->mode = st.st_mode & 0777;
	if (deep && add_apart(plan, path, target))
		return true;
	struct sandbox_op *op = add_op(plan, SANDBOX_OP_BIND, target);
	op->source = sandbox_plan_printf(plan, ROOT_OLD "%s", path);
	op->optional = op->apart = true;
	return true;
}

/* Plans the entries of a folder, each apart; false: it holds files, a server's file system, or too many entries. */
static bool
add_entries(struct sandbox_plan *plan, const char *folder, const char *target)
{
	DIR *dir = opendir(folder);
	bool ok = dir != NULL;
	size_t count = 0;
	for (struct dirent *entry; ok && (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			ok = ++count <= ROOT_ENTRIES_MAX &&
				 add_entry(plan, sandbox_plan_printf(plan, "%s/%s", folder, entry->d_name),
					 sandbox_plan_printf(plan, "%s/%s", target, entry->d_name), entry->d_type);
	if (dir)
		closedir(dir);
	return ok;
}

/* Plans a folder below which something is mounted, entry by entry; false: it cannot be, and nothing is planned. */
static bool
add_apart(struct sandbox_plan *plan, const char *folder, const char *target)
{
	size_t before = plan->ops_count;
	if (!has_mount_below(plan, folder))
		return false;
	if (add_entries(plan, folder, target))
		return true;
	plan->ops_count = before;
	return false;
}

/* Plans a bind of the source's real path, and the folder or file to mount on before it. */
static int
add_bind(struct sandbox_plan *plan, const char *source, const char *target, const struct sandbox_bind *how,
	struct kettle_error *err)
{
	AUTO_FREE char *real = realpath(source, NULL);
	struct stat st;
	if (!real || stat(real, &st)) {
		if (how->optional)
			return 0;
		return kettle_fail(err, KETTLE_ENOENT, "The sandbox cannot show `%s`: %s.", source, strerror(errno));
	}
	/* A bind above shows it already; only more rights need a mount of their own. */
	if (is_covered(plan, target) && !strcmp(real, target) && !how->writable && !how->device)
		return 0;
	bool above = is_covered(plan, target);
	add_parents(plan, target);
	target = sandbox_plan_text(plan, target);
	if (target && !above && !is_planned(plan, target)) {
		struct sandbox_op *point = add_op(plan, S_ISDIR(st.st_mode) ? SANDBOX_OP_DIR : SANDBOX_OP_FILE, target);
		point->text = "";
	}
	/* Layers of the cache are below an overlay anyway. */
	bool apart = plan->protections & SANDBOX_LOCKS && !how->writable && !how->device &&
				 strncmp(target ? target : "", ROOT_LAYERS, strlen(ROOT_LAYERS)) != 0;
	if (apart && !above && S_ISDIR(st.st_mode) && add_apart(plan, real, target))
		return 0;
	struct sandbox_op *op = add_op(plan, SANDBOX_OP_BIND, target);
	op->source = sandbox_plan_printf(plan, ROOT_OLD "%s", real);
	op->writable = how->writable || how->device;
	op->device = how->device;
	op->optional = how->optional;
	op->apart = apart;
	return 0;
}

static void
add_tmpfs(struct sandbox_plan *plan, const char *target, uint64_t size, const char *more)
{
	add_op(plan, SANDBOX_OP_TMPFS, sandbox_plan_text(plan, target))->text = sandbox_plan_printf(
		plan, "size=%llu,nr_inodes=%llu,%s", (unsigned long long)size, (unsigned long long)plan->limits.inodes, more);
}

static int
plan_system(struct sandbox_plan *plan, struct kettle_error *err)
{
	static const struct sandbox_bind needed = {.optional = false}, wanted = {.optional = true},
									 node = {.device = true, .optional = true};
	int rc = add_bind(plan, "/usr", "/usr", &needed, err);
	for (const char *const *dir = system_dirs; !rc && *dir; dir++) {
		char link[PATH_MAX];
		ssize_t len = readlink(*dir, link, sizeof(link) - 1);
		if (len < 0) {
			rc = add_bind(plan, *dir, *dir, &wanted, err);
			continue;
		}
		link[len] = '\0';
		add_op(plan, SANDBOX_OP_LINK, *dir)->source = sandbox_plan_text(plan, link);
	}
	add_op(plan, SANDBOX_OP_DIR, "/etc");
	for (const char *const *path = etc_binds; !rc && *path; path++)
		rc = add_bind(plan, *path, *path, &wanted, err);
	for (size_t i = 0; i < ARRAY_SIZE(etc_files); i++)
		add_op(plan, SANDBOX_OP_FILE, etc_files[i].path)->text = etc_files[i].text;
	add_op(plan, SANDBOX_OP_DIR, "/dev");
	bool zero = plan->protections & (SANDBOX_MEMORY_CGROUP | SANDBOX_LANDLOCK);
	for (const char *const *path = device_nodes; !rc && *path; path++)
		if (zero || strcmp(*path, SANDBOX_ZERO))
			rc = add_bind(plan, *path, *path, &node, err);
	for (size_t i = 0; i < ARRAY_SIZE(dev_links); i++)
		add_op(plan, SANDBOX_OP_LINK, dev_links[i].path)->source = dev_links[i].target;
	for (const char *const *path = sys_binds; !rc && *path; path++)
		rc = add_bind(plan, *path, *path, &wanted, err);
	return rc;
}

/*
 * Plans the cache; *ret_new: where init finds the files that the payload writes there. The layers are shown at other
 * places, because their own paths may contain the characters that separate an overlay's options.
 */
static int
plan_cache(struct sandbox_plan *plan, const struct sandbox_cache *cache, const char **ret_new, struct kettle_error *err)
{
	static const struct sandbox_bind wanted = {.optional = true};
	char options[sizeof("lowerdir=,upperdir=" ROOT_NEW ",workdir=" ROOT_WORK ",xino=off,userxattr") +
				 SANDBOX_LAYERS_MAX * sizeof(ROOT_LAYER)];
	size_t used = (size_t)snprintf(options, sizeof(options), "lowerdir=");
	if (!cache->name[0] || cache->name[0] == '.' || strchr(cache->name, '/') || cache->count > SANDBOX_LAYERS_MAX)
		return kettle_fail(
			err, KETTLE_EINVAL, "The cache must be a folder in out/ of at most %d layers.", SANDBOX_LAYERS_MAX);
	char *folder = sandbox_plan_printf(plan, SANDBOX_JOB "/out/%s", cache->name);
	add_op(plan, SANDBOX_OP_DIR, folder)->owned = true;
	*ret_new = folder;
	if (cache->count == 0)
		return 0;
	add_op(plan, SANDBOX_OP_DIR, ROOT_LAYERS);
	add_op(plan, SANDBOX_OP_TMPFS, ROOT_LAYERS)->text = sandbox_plan_printf(plan, "size=%llu,nr_inodes=%llu,mode=0755",
		(unsigned long long)cache->bytes, (unsigned long long)cache->inodes);
	add_op(plan, SANDBOX_OP_DIR, ROOT_NEW)->owned = true;
	add_op(plan, SANDBOX_OP_DIR, ROOT_WORK);
	for (size_t i = 0; i < cache->count; i++) {
		char *layer = sandbox_plan_printf(plan, ROOT_LAYER, i);
		add_op(plan, SANDBOX_OP_DIR, layer);
		int rc = layer ? add_bind(plan, cache->layers[i], layer, &wanted, err) : 0;
		if (rc)
			return rc;
		used += (size_t)snprintf(options + used, sizeof(options) - used, "%s" ROOT_LAYER, i ? ":" : "", i);
	}
	(void)snprintf(
		options + used, sizeof(options) - used, ",upperdir=" ROOT_NEW ",workdir=" ROOT_WORK ",xino=off,userxattr");
	struct sandbox_op *op = add_op(plan, SANDBOX_OP_LAYERS, folder);
	op->source = *ret_new = ROOT_NEW;
	op->text = sandbox_plan_text(plan, options);
	op->layers = (unsigned)cache->count;
	plan->cache_directory = folder;
	plan->cache_bytes = cache->bytes;
	plan->cache_inodes = cache->inodes;
	return 0;
}

static int
plan_job(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	static const struct sandbox_bind needed = {.optional = false};
	plan->directory = SANDBOX_JOB;
	add_op(plan, SANDBOX_OP_DIR, SANDBOX_JOB);
	AUTO_FREE char *real = realpath(config->job_dir, NULL);
	if (!real)
		return kettle_fail(
			err, KETTLE_ENOENT, "The job's folder `%s` cannot be used: %s.", config->job_dir, strerror(errno));
	if (config->job_writable) {
		add_tmpfs(plan, SANDBOX_JOB, plan->limits.disk, out_options);
		add_op(plan, SANDBOX_OP_COPY, SANDBOX_JOB)->source = sandbox_plan_printf(plan, ROOT_OLD "%s", real);
		struct sandbox_op *out = add_op(plan, SANDBOX_OP_DIR, SANDBOX_JOB "/out");
		out->owned = true;
	} else {
		size_t bind = plan->ops_count;
		int rc = add_bind(plan, config->job_dir, SANDBOX_JOB, &needed, err);
		if (rc)
			return rc;
		plan->ops[bind].hidden = true;
		if (plan->ahead)
			add_op(plan, SANDBOX_OP_MOVE, SANDBOX_JOB "/out")->source = ROOT_OUT;
		else
			add_tmpfs(plan, SANDBOX_JOB "/out", plan->limits.disk, out_options);
		if (config->out_filled)
			add_op(plan, SANDBOX_OP_COPY, SANDBOX_JOB "/out")->source =
				sandbox_plan_printf(plan, ROOT_OLD "%s/out", real);
	}
	const char *new = NULL;
	int rc = config->cache.name ? plan_cache(plan, &config->cache, &new, err) : 0;
	add_op(plan, SANDBOX_OP_OUT, SANDBOX_JOB "/out")->source = new;
	if (plan->cache_directory)
		add_op(plan, SANDBOX_OP_DETACH, ROOT_LAYERS);
	return rc;
}

/* in_job: binds below /job, which must be there, else the others. */
static int
plan_binds(struct sandbox_plan *plan, const struct sandbox_config *config, bool in_job, struct kettle_error *err)
{
	for (size_t i = 0; i < config->binds_count; i++) {
		const struct sandbox_bind *bind = &config->binds[i];
		const char *target = bind->target ? bind->target : bind->source;
		if (bind->source[0] != '/' || target[0] != '/' || !target[1] || strstr(target, "/../"))
			return kettle_fail(err, KETTLE_EINVAL, "The sandbox cannot show `%s` at `%s`: both must be absolute paths.",
				bind->source, target);
		bool below = strncmp(target, SANDBOX_JOB "/", sizeof(SANDBOX_JOB)) == 0;
		int rc = below == in_job ? add_bind(plan, bind->source, target, bind, err) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

bool
sandbox_root_has_device(const struct sandbox_config *config)
{
	for (size_t i = 0; i < config->binds_count; i++)
		if (config->binds[i].device)
			return true;
	return false;
}

static void
plan_private(struct sandbox_plan *plan)
{
	add_op(plan, SANDBOX_OP_DIR, "/tmp");
	add_tmpfs(plan, "/tmp", plan->limits.disk, "mode=1777");
	add_op(plan, SANDBOX_OP_DIR, SANDBOX_HOME)->owned = true;
	add_op(plan, SANDBOX_OP_DIR, "/dev/shm");
	add_tmpfs(plan, "/dev/shm", plan->limits.shm, "mode=1777");
}

/* Copies all texts into the plan, since init may be a copy of another program. -1: no room. */
static int
own_texts(struct sandbox_plan *plan, size_t from)
{
	for (size_t i = from; i < plan->ops_count; i++) {
		struct sandbox_op *op = &plan->ops[i];
		const char *source = sandbox_plan_own(plan, op->source), *text = sandbox_plan_own(plan, op->text);
		op->target = sandbox_plan_own(plan, op->target);
		if (!op->target || (op->source && !source) || (op->text && !text))
			return -1;
		op->source = source;
		op->text = text;
	}
	return 0;
}

static int
root_complete(struct sandbox_plan *plan, size_t from, struct kettle_error *err)
{
	plan->directory = sandbox_plan_own(plan, plan->directory);
	plan->cache_directory = sandbox_plan_own(plan, plan->cache_directory);
	if (plan->ops_count <= SANDBOX_OPS_MAX && own_texts(plan, from) == 0)
		return 0;
	return kettle_fail(err, KETTLE_ETOOBIG, "The paths that the sandbox shows are too many or too deep.");
}

int
sandbox_root_plan_base(struct sandbox_plan *plan, struct kettle_error *err)
{
	plan->ops = sandbox_plan_alloc(plan, (SANDBOX_OPS_MAX + 1) * sizeof(*plan->ops));
	AUTO_FREE char *mounts = read_mounts();
	plan->mounts = mounts;
	add_op(plan, SANDBOX_OP_DIR, ROOT_EMPTY);
	add_op(plan, SANDBOX_OP_TMPFS, ROOT_EMPTY)->text = "size=4k,nr_inodes=1,mode=0555";
	add_op(plan, SANDBOX_OP_DIR, ROOT_FOLDER);
	add_op(plan, SANDBOX_OP_DIR, "/proc");
	add_op(plan, SANDBOX_OP_PROC, "/proc");
	int rc = plan_system(plan, err);
	plan->mounts = NULL;
	plan->ops_base = plan->ops_count;
	return rc ? rc : root_complete(plan, 0, err);
}

int
sandbox_root_plan_device(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	if (config->binds_count > SANDBOX_BINDS_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "A sandbox shows at most %d paths.", SANDBOX_BINDS_MAX);
	AUTO_FREE char *mounts = read_mounts();
	plan->mounts = mounts;
	plan_private(plan);
	/* Landlock's rules know it by itself, wherever it is mounted later. */
	if (plan->ahead) {
		add_op(plan, SANDBOX_OP_DIR, ROOT_OUT);
		add_tmpfs(plan, ROOT_OUT, plan->limits.disk, out_options);
	}
	int rc = plan_binds(plan, config, false, err);
	if (!rc && sandbox_root_has_device(config))
		add_op(plan, SANDBOX_OP_PROC_OWN, "/proc");
	plan->mounts = NULL;
	return rc ? rc : root_complete(plan, plan->ops_base, err);
}

int
sandbox_root_plan_job(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	AUTO_FREE char *mounts = read_mounts();
	size_t from = plan->ops_count;
	plan->mounts = mounts;
	int rc = plan_job(plan, config, err);
	if (!rc)
		rc = plan_binds(plan, config, true, err);
	plan->mounts = NULL;
	return rc ? rc : root_complete(plan, from, err);
}

/* ---- init: nothing below allocates ---- */

/* Without mount_setattr (before 5.12, gVisor): restricts the top mount; mounts below keep the owner's flags. */
static int
restrict_old(const struct sandbox_op *op)
{
	struct statvfs st;
	if (statvfs(op->target, &st))
		return -1;
	unsigned long flags =
		MS_REMOUNT | MS_BIND | MS_NOSUID | (op->writable ? 0 : MS_RDONLY) | (op->device ? 0 : MS_NODEV);
	flags |= st.f_flag & ST_RDONLY ? MS_RDONLY : 0;
	flags |= st.f_flag & ST_NODEV ? MS_NODEV : 0;
	flags |= st.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
	flags |= st.f_flag & ST_NOATIME ? MS_NOATIME : 0;
	flags |= st.f_flag & ST_NODIRATIME ? MS_NODIRATIME : 0;
	flags |= st.f_flag & ST_RELATIME ? MS_RELATIME : 0;
	return mount(NULL, op->target, NULL, flags, NULL);
}

/*
 * Shows a folder by an overlay, whose files have locks and leases of their own, while their pages are those of the
 * machine's files. mountinfo shows the source path of a bind, but of an overlay only its options: "." and an empty folder,
 * as a second layer is required. It takes 40 µs. User namespaces can mount overlays from Linux 5.11 on.
 */
static int
overlay_folder(const char *source, const char *target)
{
	if (chdir(source))
		return -1;
	int rc = mount(
		"overlay", target, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, "lowerdir=.:" ROOT_EMPTY ",xino=off,userxattr");
	return chdir("/") ? -1 : rc;
}

/* A file of an overlay of its folder, unless something else is mounted on that file. */
static int
overlay_file(const char *source, const struct stat *st, const char *target)
{
	char folder[PATH_MAX], file[PATH_MAX];
	struct stat found;
	const char *name = strrchr(source, '/');
	if ((size_t)snprintf(folder, sizeof(folder), "%.*s", (int)(name - source), source) >= sizeof(folder) ||
		(size_t)snprintf(file, sizeof(file), ROOT_FOLDER "%s", name) >= sizeof(file) ||
		overlay_folder(folder, ROOT_FOLDER))
		return -1;
	bool same = stat(file, &found) == 0 && found.st_ino == st->st_ino && found.st_size == st->st_size;
	int rc = same ? mount(file, target, NULL, MS_BIND, NULL) : -1;
	return umount2(ROOT_FOLDER, MNT_DETACH) ? -1 : rc;
}

/* Shows it so that a lock on it does not lock the machine's file. */
static int
do_apart(const struct sandbox_op *op)
{
	struct stat st;
	if (stat(op->source, &st))
		return -1;
	if (S_ISDIR(st.st_mode))
		return overlay_folder(op->source, op->target);
	return S_ISREG(st.st_mode) ? overlay_file(op->source, &st, op->target) : -1;
}

static int
do_bind(struct sandbox_plan *plan, const struct sandbox_op *op)
{
	if ((op->hidden || op->apart) && do_apart(op) == 0)
		return 0;
	if (mount(op->source, op->target, NULL, MS_BIND | MS_REC, NULL))
		return -1;
	plan->result.unlocked = plan->result.unlocked || op->apart;
	struct root_mount_attr attr = {
		.attr_set = ROOT_ATTR_NOSUID | (op->writable ? 0 : ROOT_ATTR_RDONLY) | (op->device ? 0 : ROOT_ATTR_NODEV)};
	if (!syscall(SYS_mount_setattr, AT_FDCWD, op->target, ROOT_AT_RECURSIVE, &attr, sizeof(attr)))
		return 0;
	return errno == ENOSYS ? restrict_old(op) : -1;
}

static int
do_file(const struct sandbox_op *op)
{
	AUTO_FD int fd = open(op->target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -1;
	size_t size = strlen(op->text);
	return size == 0 || write(fd, op->text, size) == (ssize_t)size ? 0 : -1;
}

static int
do_dir(const struct sandbox_op *op)
{
	if (mkdir(op->target, op->mode) && errno != EEXIST)
		return -1;
	return op->owned ? lchown(op->target, SANDBOX_ID, SANDBOX_ID) : 0;
}

/* ---- the list of operations ---- */

/* State of the operations besides the plan. */
struct builder {
	int *ret_proc;
	int (*send_out)(void *arg, const int *fds, size_t count);
	void *arg;
};

/* A tmpfs may be used as the upper layer, and a user namespace can mount overlays, from Linux 5.11 on. */
static int
do_layers(struct sandbox_plan *plan, const struct sandbox_op *op)
{
	plan->result.layered = !mount("overlay", op->target, "overlay", MS_NOSUID | MS_NODEV, op->text);
	for (size_t i = 0; i < op->layers && !plan->result.layered; i++) {
		char layer[sizeof(ROOT_LAYER) + 20];
		(void)snprintf(layer, sizeof(layer), ROOT_LAYER, i);
		/* A cache without room for everything still works. */
		if (copy_tree(layer, op->source, plan->root_owner ? SANDBOX_ID : -1) && errno != ENOSPC)
			return -1;
	}
	return plan->result.layered ? 0 : mount(op->source, op->target, NULL, MS_BIND, NULL);
}

static int
do_out(const struct sandbox_op *op, const struct builder *builder)
{
	AUTO_FD int out = open(op->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	AUTO_FD int new = op->source ? open(op->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
	const int fds[] = {out, new};
	return out < 0 || (op->source && new < 0) ? -1 : builder->send_out(builder->arg, fds, op->source ? 2 : 1);
}

static int
do_op(struct sandbox_plan *plan, const struct sandbox_op *op, const struct builder *builder)
{
	switch (op->kind) {
	case SANDBOX_OP_DIR:
		return do_dir(op);
	case SANDBOX_OP_FILE:
		return do_file(op);
	case SANDBOX_OP_LINK:
		return symlink(op->source, op->target);
	case SANDBOX_OP_BIND:
		return do_bind(plan, op) && !op->optional ? -1 : 0;
	case SANDBOX_OP_TMPFS:
		return mount("tmpfs", op->target, "tmpfs", MS_NOSUID | MS_NODEV, op->text);
	case SANDBOX_OP_PROC:
		return sandbox_proc_mount(op->target, builder->ret_proc);
	case SANDBOX_OP_PROC_OWN:
		return sandbox_proc_open_own(op->target);
	case SANDBOX_OP_COPY:
		return copy_tree(op->source, op->target, plan->root_owner ? SANDBOX_ID : -1);
	case SANDBOX_OP_LAYERS:
		return do_layers(plan, op);
	case SANDBOX_OP_MOVE:
		return mount(op->source, op->target, NULL, MS_MOVE, NULL) || rmdir(op->source) ? -1 : 0;
	case SANDBOX_OP_OUT:
		return do_out(op, builder);
	case SANDBOX_OP_DETACH:
		return umount2(op->target, MNT_DETACH) || rmdir(op->target) ? -1 : 0;
	}
	return 0;
}

/* Names of operations in messages: "The sandbox could not … `path`". */
static const char *const op_names[] = {
#define X(name, text) [SANDBOX_OP_##name] = text,
	SANDBOX_OPS(X)
#undef X
};

static int
pivot(struct sandbox_plan *plan)
{
	if (mount("tmpfs", ROOT_BASE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m,nr_inodes=16384"))
		return sandbox_plan_failed(plan, "mount a tmpfs for", "/");
	if (chdir(ROOT_BASE) || mkdir(&ROOT_OLD[1], 0700) || syscall(SYS_pivot_root, ".", &ROOT_OLD[1]) || chdir("/"))
		return sandbox_plan_failed(plan, "change the root to", "/");
	return 0;
}

/* The operations until `to` that are left. */
static int
do_ops(struct sandbox_plan *plan, size_t to, const struct builder *builder)
{
	for (; plan->ops_done < to; plan->ops_done++)
		if (do_op(plan, &plan->ops[plan->ops_done], builder))
			return sandbox_plan_failed(
				plan, op_names[plan->ops[plan->ops_done].kind], plan->ops[plan->ops_done].target);
	return 0;
}

int
sandbox_root_build_base(struct sandbox_plan *plan, int *ret_proc)
{
	const struct builder builder = {.ret_proc = ret_proc};
	return pivot(plan) ? -1 : do_ops(plan, plan->ops_base, &builder);
}

int
sandbox_root_build_device(struct sandbox_plan *plan)
{
	const struct builder builder = {0};
	return do_ops(plan, plan->ops_count, &builder);
}

int
sandbox_root_build(struct sandbox_plan *plan, int (*send_out)(void *arg, const int *fds, size_t count), void *arg)
{
	const struct builder builder = {.send_out = send_out, .arg = arg};
	if (do_ops(plan, plan->ops_count, &builder))
		return -1;
	if (umount2(ROOT_OLD, MNT_DETACH) || rmdir(ROOT_OLD))
		return sandbox_plan_failed(plan, "detach", ROOT_OLD);
	/* Of a removed folder an overlay could not be listed, but of a detached mount it can. */
	if (umount2(ROOT_EMPTY, MNT_DETACH) || rmdir(ROOT_EMPTY) || rmdir(ROOT_FOLDER))
		return sandbox_plan_failed(plan, "remove", ROOT_EMPTY);
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL))
		return sandbox_plan_failed(plan, "make read-only", "/");
	return 0;
}

bool
sandbox_root_hits(struct sandbox_plan *plan, pid_t init)
{
	const struct {
		const char *path;
		enum sandbox_limit limit;
		uint64_t inodes;
	} places[] = {{SANDBOX_JOB "/out", SANDBOX_LIMIT_DISK, plan->limits.inodes},
		{"/tmp", SANDBOX_LIMIT_TMP, plan->limits.inodes}, {"/dev/shm", SANDBOX_LIMIT_SHM, plan->limits.inodes},
		{plan->cache_directory, SANDBOX_LIMIT_CACHE, plan->cache_inodes}};
	bool known = true;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct statvfs st;
		char path[ROOT_PLACE_SIZE];
		if (!places[i].path)
			continue;
		int size = init ? snprintf(path, sizeof(path), "/proc/%d/root%s", (int)init, places[i].path)
						: snprintf(path, sizeof(path), "%s", places[i].path);
		bool read = size < (int)sizeof(path) && statvfs(path, &st) == 0;
		known = known && read;
		if (!read)
			continue;
		if (st.f_bavail == 0)
			plan->result.hits |= 1u << places[i].limit;
		if (st.f_favail == 0) {
			plan->result.hits |= 1u << SANDBOX_LIMIT_FILES;
			plan->result.files_max = places[i].inodes;
		}
	}
	return known;
}
