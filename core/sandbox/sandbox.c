/* SPDX-License-Identifier: MIT */
/* The owner's side of a sandbox: start, kill, wait, report. See sandbox.h for the theory of operation. */
#include <config.h>

#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/times.h"
#include "sandbox/exiting.h"
#include "sandbox/init.h"
#include "sandbox/message.h"
#include "sandbox/prepared_wire.h"
#include "sandbox/probe.h"
#include "sandbox/report.h"
#include "sandbox/root.h"
#include "sandbox/seccomp.h"
#include "sandbox/spawn.h"

#define MACHINE_SPARE_AGE_NS (UINT64_C(600) * 1000000000)
#define MACHINE_DISKS_MAX 16
#define WARM_SPARES 2 /* a referee and its solver may begin from one process */
#define MACHINE_CGROUPS (SANDBOX_MEMORY_CGROUP | SANDBOX_PIDS_CGROUP | SANDBOX_CPU_CGROUP)

/* An init made ahead of its run. */
struct spare_init {
	bool present;
	struct sandbox_spawn last; /* parameters of the last start, for the next spare, but for its group */
	bool grouped;              /* it was of a group with a cgroup */
	struct sandbox_spawn how;
	struct sandbox_child child;
	uint64_t born_ns;
	int mounts; /* /proc/self/mountinfo: POLLPRI once it has changed */
};

struct sandbox_group {
	struct sandbox_cgroup_group *cgroup; /* NULL: usages are added up */
	int usage;                           /* the file of these; -1: there is a cgroup */
	uint64_t bytes;
	unsigned count;
};

struct sandbox_machine {
	unsigned protections;
	const struct sandbox_cgroup_root *cgroup;   /* its owner's */
	struct sock_fprog filters[SANDBOX_FILTERS]; /* by their kind; built on first use */
	struct spare_init spare;
	struct sandbox_cgroup_group *next_group; /* for spares, and for the next sandbox_group; NULL: none */
};

struct sandbox_warm {
	int socket;
	bool broken;
	unsigned taken;  /* copies since spares were made */
	unsigned wanted; /* spares: as many as were taken before */
	struct spare_init spares[WARM_SPARES];
};

struct sandbox {
	struct sandbox_child child;
	pid_t pid; /* stays after it was reaped */
	int out, cache;
	bool reaped;
	int usage;     /* duplicate of its group's, if its plan is grouped; else -1 */
	char *key;     /* of a prepared one that has no run yet; else NULL */
	bool ready;    /* it has opened its device */
	bool program;  /* it executes its file for that */
	pid_t payload; /* its first process, for exiting.c */
};

static const char *const limit_names[] = {
#define X(name, wire) wire,
	SANDBOX_LIMITS(X)
#undef X
};

const char *
sandbox_limit_name(enum sandbox_limit limit)
{
	return limit_names[limit];
}

int
sandbox_machine_new(
	const struct sandbox_cgroup_root *cgroup, struct sandbox_machine **ret_machine, struct kettle_error *err)
{
	struct sandbox_machine *machine = xcalloc(1, sizeof(*machine));
	machine->spare.mounts = -1;
	machine->cgroup = cgroup;
	machine->protections = sandbox_probe() | sandbox_cgroup_protections(cgroup);
	if (machine->protections & SANDBOX_SECCOMP) {
		int rc = sandbox_seccomp_build(0, &machine->filters[0], err);
		if (rc) {
			sandbox_machine_free(machine);
			return rc;
		}
	}
	machine->spare.last.protections = machine->protections;
	*ret_machine = machine;
	return 0;
}

unsigned
sandbox_machine_protections(const struct sandbox_machine *machine)
{
	return machine->protections;
}

void
sandbox_machine_disable(struct sandbox_machine *machine, unsigned protections)
{
	machine->protections &= ~protections;
	machine->spare.last.protections &= ~protections;
}

static void
drop_spare(struct spare_init *spare)
{
	if (spare->present)
		sandbox_spawn_end(&spare->child);
	if (spare->mounts >= 0)
		close(spare->mounts);
	spare->present = false;
	spare->mounts = -1;
}

static bool
has_cgroups(const struct sandbox_machine *machine)
{
	return machine->protections & SANDBOX_MEMORY_CGROUP;
}

/* The group of the next runs that have one: a spare can be made in it before they start. NULL: it cannot be made. */
static struct sandbox_cgroup_group *
prepare_group(struct sandbox_machine *machine)
{
	if (!machine->next_group && has_cgroups(machine))
		machine->next_group = sandbox_cgroup_group_new(machine->cgroup);
	return machine->next_group;
}

int
sandbox_group_new(
	struct sandbox_machine *machine, uint64_t bytes, struct sandbox_group **ret_group, struct kettle_error *err)
{
	struct sandbox_group group = {.cgroup = prepare_group(machine), .usage = -1, .bytes = bytes};
	int rc = 0;
	machine->next_group = NULL;
	if (group.cgroup)
		rc = sandbox_cgroup_group_limit(group.cgroup, bytes, err);
	else if (has_cgroups(machine))
		rc = kettle_fail(err, KETTLE_EUNAVAIL, "A cgroup for two sandboxes cannot be created.");
	else if ((group.usage = memfd_create("kettle-usage", MFD_CLOEXEC)) < 0)
		rc = kettle_fail(err, KETTLE_EIO, "The memory of two sandboxes cannot be added up: %s.", strerror(errno));
	if (rc)
		sandbox_cgroup_group_unref(group.cgroup);
	else
		*ret_group = xmemdup(&group, sizeof(group));
	return rc;
}

uint64_t
sandbox_group_bytes(const struct sandbox_group *group)
{
	return group ? group->bytes : 0;
}

void
sandbox_group_free(struct sandbox_group *group)
{
	if (!group)
		return;
	sandbox_cgroup_group_unref(group->cgroup);
	if (group->usage >= 0)
		close(group->usage);
	free(group);
}

static void
make_spare(struct spare_init *spare, struct sandbox_machine *machine)
{
	if (spare->present)
		return;
	spare->how = spare->last;
	spare->how.cgroup = machine->cgroup;
	spare->how.group = spare->grouped ? prepare_group(machine) : NULL;
	spare->born_ns = time_monotonic_ns();
	spare->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	spare->present = !sandbox_spawn_child(&spare->how, &spare->child, NULL);
	if (!spare->present)
		drop_spare(spare);
}

void
sandbox_machine_prepare(struct sandbox_machine *machine)
{
	make_spare(&machine->spare, machine);
}

bool
sandbox_machine_ready(const struct sandbox_machine *machine)
{
	return machine->spare.present && machine->spare.child.plan->result.prepared;
}

void
sandbox_machine_free(struct sandbox_machine *machine)
{
	if (!machine)
		return;
	drop_spare(&machine->spare);
	sandbox_cgroup_group_unref(machine->next_group);
	for (size_t i = 0; i < SANDBOX_FILTERS; i++)
		free(machine->filters[i].filter);
	free(machine);
}

static bool
is_alike(const struct sandbox_spawn *a, const struct sandbox_spawn *b)
{
	return a->protections == b->protections && a->group == b->group && a->uid == b->uid &&
		   a->groups_count == b->groups_count && !memcmp(a->groups, b->groups, a->groups_count * sizeof(*a->groups));
}

/* A spare is bound to the mounts, and to files such as ld.so.cache, at the time it was made. */
static bool
is_fresh(const struct spare_init *spare)
{
	struct pollfd fds[] = {{.fd = spare->mounts, .events = POLLPRI}, {.fd = spare->child.pidfd, .events = POLLIN}};
	return time_monotonic_ns() - spare->born_ns < MACHINE_SPARE_AGE_NS && spare->mounts >= 0 &&
		   poll(fds, ARRAY_SIZE(fds), 0) == 0;
}

/* An init for a run: the spare if it fits, else a new one. */
static int
get_child(struct spare_init *spare, const struct sandbox_spawn *how, struct sandbox_child *ret_child,
	struct kettle_error *err)
{
	spare->last = *how;
	spare->last.group = NULL;
	spare->grouped = how->group != NULL;
	bool use = spare->present && is_alike(&spare->how, how) && is_fresh(spare);
	if (use) {
		*ret_child = spare->child;
		spare->present = false;
	}
	drop_spare(spare);
	return use ? 0 : sandbox_spawn_child(how, ret_child, err);
}

struct sandbox_warm *
sandbox_warm_new(int socket)
{
	struct sandbox_warm *warm = xcalloc(1, sizeof(*warm));
	warm->socket = socket;
	for (size_t i = 0; i < WARM_SPARES; i++)
		warm->spares[i].mounts = -1;
	return warm;
}

void
sandbox_warm_prepare(struct sandbox_warm *warm, struct sandbox_machine *machine)
{
	if (warm->taken > 0)
		warm->wanted = warm->taken < WARM_SPARES ? warm->taken : WARM_SPARES;
	warm->taken = 0;
	for (size_t i = 0; i == 0 || i < warm->wanted; i++) {
		struct spare_init *spare = &warm->spares[i];
		if (!spare->last.warm)
			spare->last = machine->spare.last;
		spare->last.warm = &warm->socket;
		if (!warm->broken && spare->last.protections & SANDBOX_PID)
			make_spare(spare, machine);
		warm->broken = warm->broken || !spare->present;
	}
	for (size_t i = warm->wanted > 1 ? warm->wanted : 1; i < WARM_SPARES; i++)
		drop_spare(&warm->spares[i]);
}

bool
sandbox_warm_works(const struct sandbox_warm *warm)
{
	return !warm->broken;
}

void
sandbox_warm_free(struct sandbox_warm *warm)
{
	for (size_t i = 0; warm && i < WARM_SPARES; i++)
		drop_spare(&warm->spares[i]);
	free(warm);
}

static int
get_warm_child(
	struct sandbox_warm *warm, struct sandbox_spawn *how, struct sandbox_child *ret_child, struct kettle_error *err)
{
	if (warm->broken || !(how->protections & SANDBOX_PID))
		return kettle_fail(err, KETTLE_EUNAVAIL, "The warm process cannot be used.");
	struct spare_init *spare = &warm->spares[warm->taken++ % WARM_SPARES];
	for (size_t i = 0; i < WARM_SPARES; i++)
		if (!spare->present && warm->spares[i].present)
			spare = &warm->spares[i];
	how->warm = &warm->socket;
	int rc = get_child(spare, how, ret_child, err);
	warm->broken = rc != 0;
	return rc;
}

/* The payload gets the groups of device nodes that are closed to others. Without root it keeps its owner's groups. */
static void
find_groups(const struct sandbox_config *config, struct sandbox_spawn *how)
{
	for (size_t i = 0; i < config->binds_count && how->protections & SANDBOX_OWN_UID; i++) {
		struct stat st;
		if (!config->binds[i].device || stat(config->binds[i].source, &st) || (st.st_mode & 0006) == 0006 ||
			(st.st_mode & 0060) != 0060 || st.st_gid == 0)
			continue;
		bool known = false;
		for (size_t j = 0; j < how->groups_count; j++)
			known = known || how->groups[j] == st.st_gid;
		if (!known && how->groups_count < SANDBOX_GROUPS_MAX)
			how->groups[how->groups_count++] = st.st_gid;
	}
}

/* Without a root of its own the payload works in the job's folder itself. */
static int
plan_off(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	plan->directory = sandbox_plan_text(plan, config->job_dir);
	plan->out_directory = sandbox_plan_printf(plan, "%s/out", config->job_dir);
	if (plan->directory && plan->out_directory)
		return 0;
	return kettle_fail(err, KETTLE_ETOOBIG, "The path of the job's folder is too long.");
}

static int
plan_filter(struct sandbox_machine *machine, struct sandbox_plan *plan, const struct sandbox_config *config,
	struct kettle_error *err)
{
	unsigned kind = config->counts ? SANDBOX_FILTER_COUNTS : 0;
	kind |= sandbox_root_has_device(config) ? SANDBOX_FILTER_DEVICE : 0;
	kind |= plan->protections & SANDBOX_MEMORY_CGROUP ? 0 : SANDBOX_FILTER_POLLED;
	kind |= plan->autogroup ? SANDBOX_FILTER_SESSION : 0;
	struct sock_fprog *filter = &machine->filters[kind];
	int rc = filter->filter ? 0 : sandbox_seccomp_build(kind, filter, err);
	if (rc)
		return rc;
	size_t size = filter->len * sizeof(*filter->filter);
	struct sock_filter *copy = sandbox_plan_alloc(plan, size);
	if (!copy)
		return kettle_fail(err, KETTLE_ETOOBIG, "The plan of the sandbox has no room for the list of system calls.");
	memcpy(copy, filter->filter, size);
	plan->filter = (struct sock_fprog){.len = filter->len, .filter = copy};
	return 0;
}

/* The devices of the file systems that the payload sees, at most `max`. Returns how many. */
static size_t
find_devices(const struct sandbox_config *config, dev_t *list, size_t max)
{
	size_t count = 0;
	for (size_t i = 0; i < config->binds_count + 2; i++) {
		const char *path = i == 0 ? "/usr" : i == 1 ? config->job_dir : config->binds[i - 2].source;
		struct stat st;
		bool known = !path || stat(path, &st) || S_ISCHR(st.st_mode);
		for (size_t j = 0; j < count; j++)
			known = known || list[j] == st.st_dev;
		if (!known && count < max)
			list[count++] = st.st_dev;
	}
	return count;
}

/* Whether the kernel shares CPU time out among sessions. */
static bool
has_autogroups(void)
{
	char byte = '0';
	AUTO_FD int fd = open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &byte, 1) == 1 && byte == '1';
}

static int
limit_run(const struct sandbox_config *config, struct sandbox_child *child, struct kettle_error *err)
{
	struct sandbox_plan *plan = child->plan;
	dev_t disks[MACHINE_DISKS_MAX];
	bool weighed = false;
	struct sandbox_cgroup_limits limits = {
		.memory = plan->limits.memory,
		.processes = plan->limits.processes,
		.nice = plan->nice,
		.cores = plan->limits.cores,
		.io_bytes = plan->limits.io_bytes,
		.io_operations = plan->limits.io_operations,
		.disks = disks,
	};
	if (child->has_cgroup && child->cgroup.unified && (limits.io_bytes || limits.io_operations))
		limits.disks_count = find_devices(config, disks, ARRAY_SIZE(disks));
	int rc = child->has_cgroup ? sandbox_cgroup_limit(&child->cgroup, &limits, &weighed, err) : 0;
	plan->autogroup = !rc && plan->nice > 0 && !weighed && has_autogroups();
	return rc;
}

/* Completes the part of a plan that does not depend on the job. */
static int
plan_device(struct sandbox_machine *machine, const struct sandbox_config *config, struct sandbox_child *child,
	struct kettle_error *err)
{
	struct sandbox_plan *plan = child->plan;
	int rc = sandbox_plan_fill_limits(plan, config, err);
	if (!rc && plan->protections & SANDBOX_MOUNT)
		rc = sandbox_root_plan_device(plan, config, err);
	if (!rc)
		rc = limit_run(config, child, err);
	if (!rc && plan->protections & SANDBOX_SECCOMP)
		rc = plan_filter(machine, plan, config, err);
	return rc;
}

/* Completes the rest. */
static int
plan_run(const struct sandbox_config *config, struct sandbox_child *child, struct kettle_error *err)
{
	struct sandbox_plan *plan = child->plan;
	int rc = sandbox_plan_fill_run(plan, config, err);
	if (rc)
		return rc;
	return plan->protections & SANDBOX_MOUNT ? sandbox_root_plan_job(plan, config, err) : plan_off(plan, config, err);
}

/* Without a cgroup: gives the run a place in the file of its group. */
static int
join_group(struct sandbox *sandbox, struct sandbox_group *group, struct kettle_error *err)
{
	struct sandbox_plan *plan = sandbox->child.plan;
	if (!group || group->usage < 0)
		return 0;
	sandbox->usage = group->count < SANDBOX_GROUP_MAX ? fcntl(group->usage, F_DUPFD_CLOEXEC, 0) : -1;
	if (sandbox->usage < 0)
		return kettle_fail(err, KETTLE_EIO, "The sandbox cannot share a limit of memory.");
	plan->grouped = true;
	plan->group_index = group->count++;
	plan->group_memory = group->bytes;
	return 0;
}

/* Of a run that has ended, the others of its group need not count anything. */
static void
leave_group(struct sandbox *sandbox)
{
	const struct sandbox_usage none = {0};
	off_t place = (off_t)(sandbox->child.plan->group_index * sizeof(none));
	if (sandbox->usage >= 0 && pwrite(sandbox->usage, &none, sizeof(none), place) >= 0)
		close(STEAL_FD(sandbox->usage));
}

/* Makes a sandbox whose init waits for its plan. */
static int
sandbox_make(struct sandbox_machine *machine, const struct sandbox_config *config, struct sandbox **ret_sandbox,
	struct kettle_error *err)
{
	struct sandbox_spawn how = {.protections = machine->protections, .cgroup = machine->cgroup, .uid = config->uid};
	if (config->level == SANDBOX_LEVEL_OFF)
		how.protections &= MACHINE_CGROUPS;
	how.group = config->group ? config->group->cgroup : NULL;
	int rc = sandbox_level_check(how.protections, config->level, err);
	if (rc)
		return rc;
	find_groups(config, &how);
	struct sandbox *sandbox = xcalloc(1, sizeof(*sandbox));
	sandbox->out = sandbox->cache = sandbox->usage = -1;
	if (config->warm)
		rc = get_warm_child(config->warm, &how, &sandbox->child, err);
	else
		rc = get_child(&machine->spare, &how, &sandbox->child, err);
	if (rc) {
		free(sandbox);
		return rc;
	}
	sandbox->pid = sandbox->child.pid;
	atomic_store(&sandbox->child.plan->wanted, true);
	*ret_sandbox = sandbox;
	return 0;
}

static int
sandbox_begin(struct sandbox_machine *machine, const struct sandbox_config *config, struct sandbox **ret_sandbox,
	struct kettle_error *err)
{
	struct sandbox *sandbox = NULL;
	int rc = sandbox_make(machine, config, &sandbox, err);
	if (rc)
		return rc;
	rc = plan_device(machine, config, &sandbox->child, err);
	if (!rc)
		rc = plan_run(config, &sandbox->child, err);
	if (!rc)
		rc = join_group(sandbox, config->group, err);
	if (!rc)
		rc = sandbox_spawn_release(&sandbox->child, -1, config->fds, config->keep, sandbox->usage, err);
	if (rc)
		sandbox_free(sandbox);
	else
		*ret_sandbox = sandbox;
	return rc;
}

int
sandbox_start(const struct sandbox_config *config, struct sandbox **ret_sandbox, struct kettle_error *err)
{
	if (config->machine)
		return sandbox_begin(config->machine, config, ret_sandbox, err);
	struct sandbox_machine *machine = NULL;
	int rc = sandbox_machine_new(config->cgroup, &machine, err);
	if (!rc)
		rc = sandbox_begin(machine, config, ret_sandbox, err);
	sandbox_machine_free(machine);
	return rc;
}

/* ---- prepared sandboxes ---- */

static bool
is_below_job(const struct sandbox_bind *bind)
{
	const char *target = bind->target ? bind->target : bind->source;
	return strncmp(target, SANDBOX_JOB "/", sizeof(SANDBOX_JOB)) == 0;
}

char *
sandbox_prepared_key(const struct sandbox_config *config)
{
	const struct sandbox_limits *limits = &config->limits;
	AUTO_BUF struct buf key = {0};
	const uint64_t numbers[] = {config->level, config->counts, (uint64_t)config->nice, config->uid, limits->cpu_ns,
		limits->memory, limits->processes, limits->disk, limits->inodes, limits->shm, limits->file_size,
		limits->open_files, limits->stack, limits->io_bytes, limits->io_operations, limits->cores,
		sandbox_group_bytes(config->group)};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		buf_printf(&key, "%llu ", (unsigned long long)numbers[i]);
	for (size_t i = 0; config->cores && i < config->cores_count; i++)
		buf_printf(&key, "%d,", config->cores[i]);
	for (size_t i = 0; i < config->binds_count; i++) {
		const struct sandbox_bind *bind = &config->binds[i];
		if (!is_below_job(bind))
			buf_printf(&key, "\n%d%d%d %s\t%s", bind->writable, bind->optional, bind->device, bind->source,
				bind->target ? bind->target : "");
	}
	if (!config->warm)
		buf_printf(&key, "\n%s", config->file);
	return buf_take(&key);
}

/* A program is told by a variable where its socket is. */
static int
plan_program(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	struct sandbox_config program = *config;
	char variable[64];
	size_t count = 0;
	while (config->envp[count])
		count++;
	AUTO_FREE const char **envp = xcalloc(count + 2, sizeof(*envp));
	memcpy(envp, config->envp, count * sizeof(*envp));
	(void)snprintf(variable, sizeof(variable), SANDBOX_PREPARED_VARIABLE "=%d", SANDBOX_PREPARED_FD);
	envp[count] = variable;
	program.envp = envp;
	return sandbox_plan_fill_text(plan, &program, err);
}

int
sandbox_prepare(const struct sandbox_config *config, struct sandbox **ret_sandbox, struct kettle_error *err)
{
	const unsigned needed = SANDBOX_NEED_REDUCED;
	struct sandbox *sandbox = NULL;
	if (!config->machine || config->level == SANDBOX_LEVEL_OFF || config->record || config->job_writable ||
		config->nice > 0 || (config->machine->protections & needed) != needed)
		return kettle_fail(err, KETTLE_EUNAVAIL, "Such a sandbox cannot be prepared.");
	int rc = sandbox_make(config->machine, config, &sandbox, err);
	if (rc)
		return rc;
	sandbox->key = sandbox_prepared_key(config);
	sandbox->program = !config->warm;
	sandbox->child.plan->ahead = true;
	rc = plan_device(config->machine, config, &sandbox->child, err);
	if (!rc && sandbox->program)
		rc = plan_program(sandbox->child.plan, config, err);
	if (!rc)
		rc = sandbox_spawn_open(&sandbox->child, err);
	if (rc)
		sandbox_free(sandbox);
	else
		*ret_sandbox = sandbox;
	return rc;
}

int
sandbox_control_fd(const struct sandbox *sandbox)
{
	return sandbox->child.control;
}

int
sandbox_look_prepared(struct sandbox *sandbox, struct kettle_error *err)
{
	const struct sandbox_result *result = &sandbox->child.plan->result;
	char byte = 0;
	ssize_t got = recv(sandbox->child.control, &byte, 1, MSG_DONTWAIT);
	if (got == 1 && byte == SANDBOX_OPENED)
		sandbox->ready = true;
	else if (got >= 0 || errno != EAGAIN)
		return kettle_fail(err, KETTLE_EUNAVAIL, "%s%s%s%.160s%s%s", result->failed[0] ? "could not " : "it ended",
			result->failed, result->refused[0] ? ": " : "", result->refused, result->failed[0] ? ": " : "",
			result->failed[0] ? strerror(result->failed_errno) : "");
	return sandbox->ready;
}

/* A sealed file with the arguments and the environment of a program's run. -1 with errno. */
static int
make_run_file(const struct sandbox_plan *plan)
{
	struct sandbox_prepared_run run = {.fds = (uint32_t)plan->fds_count};
	AUTO_BUF struct buf texts = {0};
	(void)snprintf(run.directory, sizeof(run.directory), "%s", plan->directory);
	for (size_t i = 0; i < plan->fds_count; i++)
		run.targets[i] = plan->fd_targets[i];
	for (; plan->argv[run.argc]; run.argc++)
		buf_add(&texts, plan->argv[run.argc], strlen(plan->argv[run.argc]) + 1);
	for (; plan->envp[run.envc]; run.envc++)
		buf_add(&texts, plan->envp[run.envc], strlen(plan->envp[run.envc]) + 1);
	AUTO_FD int fd = memfd_create("kettle-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || write_all(fd, (const char *)&run, sizeof(run)) || write_all(fd, texts.data, texts.len) ||
		lseek(fd, 0, SEEK_SET) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return -1;
	return STEAL_FD(fd);
}

/* Whether a config's descriptors have numbers that are held for them. */
static bool
has_places(const struct sandbox_config *config)
{
	bool has = config->fds_count <= SANDBOX_PREPARED_FD;
	for (size_t i = 0; has && i < config->fds_count; i++)
		has = config->fds[i].target < SANDBOX_PREPARED_FD;
	return has;
}

int
sandbox_resume(struct sandbox *sandbox, const struct sandbox_config *config, struct kettle_error *err)
{
	struct sandbox_plan *plan = sandbox->child.plan;
	AUTO_FREE char *key = STEAL(sandbox->key);
	AUTO_FREE char *wanted = sandbox_prepared_key(config);
	AUTO_FD int run = -1;
	int ready = sandbox_look_prepared(sandbox, err);
	if (ready < 0)
		return ready;
	if (!ready || !key || strcmp(key, wanted) != 0 || !has_places(config) || config->record || config->job_writable)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The sandbox was not prepared for such a run.");
	const char *file = plan->file;
	int rc = plan_run(config, &sandbox->child, err);
	if (!rc && sandbox->program) {
		plan->file = file;
		run = make_run_file(plan);
		rc = run < 0 ? kettle_fail(err, KETTLE_EIO, "The run cannot be handed over: %s.", strerror(errno)) : 0;
	}
	if (!rc)
		rc = limit_run(config, &sandbox->child, err);
	if (!rc)
		rc = join_group(sandbox, config->group, err);
	if (!rc)
		rc = sandbox_spawn_release(&sandbox->child, run, config->fds, config->keep, sandbox->usage, err);
	/* Its place in the group is for the start that follows. */
	if (rc && sandbox->usage >= 0)
		config->group->count--;
	return rc;
}

int
sandbox_pidfd(const struct sandbox *sandbox)
{
	return sandbox->child.pidfd;
}

pid_t
sandbox_pid(const struct sandbox *sandbox)
{
	return sandbox->pid;
}

int
sandbox_out_fd(struct sandbox *sandbox)
{
	char byte;
	int fds[2] = {-1, -1};
	size_t count = ARRAY_SIZE(fds);
	if (sandbox->out < 0 && sandbox_message_receive(sandbox->child.control, &byte, 1, MSG_DONTWAIT, fds, &count) == 1) {
		sandbox->out = fds[0];
		sandbox->cache = fds[1];
	}
	return sandbox->out;
}

int
sandbox_cache_fd(struct sandbox *sandbox)
{
	(void)sandbox_out_fd(sandbox);
	return sandbox->cache;
}

void
sandbox_kill(struct sandbox *sandbox, enum sandbox_limit limit)
{
	struct sandbox_plan *plan = sandbox->child.plan;
	int none = SANDBOX_LIMIT_NONE;
	if (sandbox->reaped || plan->result.finished)
		return;
	atomic_compare_exchange_strong(&plan->result.limit, &none, (int)limit);
	if (plan->protections & SANDBOX_PID) {
		plan->result.killed = true;
		sandbox_spawn_kill(&sandbox->child);
		return;
	}
	/* Without a pid namespace the payload would outlive init. */
	char message = SANDBOX_KILL;
	(void)send(sandbox->child.control, &message, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool
sandbox_look_ended(struct sandbox *sandbox, struct sandbox_report *ret_report)
{
	struct sandbox_plan *plan = sandbox->child.plan;
	struct rusage none = {0};
	int status = -1;
	if (sandbox->reaped || (plan->protections & MACHINE_CGROUPS) != MACHINE_CGROUPS ||
		!sandbox_exiting_look(&sandbox->child, &sandbox->payload, &status))
		return false;
	/* Cgroups v2 keep their peak since Linux 5.19; init, which notes it elsewhere, has not yet. */
	if (sandbox_cgroup_memory_peak(&sandbox->child.cgroup) == 0)
		return false;
	if (status >= 0 && plan->protections & SANDBOX_MOUNT && !sandbox_root_hits(plan, sandbox->pid) && status != 0)
		return false;
	if (status >= 0)
		plan->result.status = status, plan->result.end_ns = time_monotonic_ns();
	sandbox_report_make(&sandbox->child, -1, &none, ret_report);
	return true;
}

int
sandbox_wait(struct sandbox *sandbox, struct sandbox_report *ret_report, struct kettle_error *err)
{
	struct sandbox_child *child = &sandbox->child;
	struct rusage usage = {0};
	if (sandbox->reaped)
		return kettle_fail(err, KETTLE_EINVAL, "The end of this sandbox was already reported.");
	int status = sandbox_spawn_reap(child, &usage);
	sandbox->reaped = true;
	leave_group(sandbox);
	(void)sandbox_out_fd(sandbox);
	sandbox_report_make(child, status, &usage, ret_report);
	if (child->has_cgroup)
		sandbox_cgroup_remove(&child->cgroup);
	child->has_cgroup = false;
	return 0;
}

void
sandbox_drop_out(struct sandbox *sandbox)
{
	if (sandbox->out >= 0)
		close(STEAL_FD(sandbox->out));
	if (sandbox->cache >= 0)
		close(STEAL_FD(sandbox->cache));
}

void
sandbox_free(struct sandbox *sandbox)
{
	if (!sandbox)
		return;
	sandbox_spawn_end(&sandbox->child);
	sandbox_drop_out(sandbox);
	if (sandbox->usage >= 0)
		close(sandbox->usage);
	free_all(sandbox->key, sandbox);
}
