/* SPDX-License-Identifier: MIT */
/* The owner's side of a sandbox: start, kill, wait, report. See sandbox.h for the theory of operation. */
#include <config.h>

#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "sandbox/init.h"
#include "sandbox/message.h"
#include "sandbox/probe.h"
#include "sandbox/root.h"
#include "sandbox/seccomp.h"
#include "sandbox/spawn.h"

#define MACHINE_SPARE_AGE_NS (UINT64_C(600) * 1000000000)
#define MACHINE_DISKS_MAX 16
#define PROCESSES_FORKING_PART 8 /* of the limit of processes */
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
	bool started, broken;
	struct spare_init spare;
};

struct sandbox {
	struct sandbox_child child;
	pid_t pid; /* stays after it was reaped */
	int out, cache;
	bool reaped;
	int usage; /* duplicate of its group's, if its plan is grouped; else -1 */
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
	warm->spare.mounts = -1;
	return warm;
}

void
sandbox_warm_prepare(struct sandbox_warm *warm, struct sandbox_machine *machine)
{
	if (!warm->started) {
		warm->spare.last = machine->spare.last;
		warm->spare.last.warm = &warm->socket;
	}
	if (!warm->broken && warm->spare.last.protections & SANDBOX_PID)
		make_spare(&warm->spare, machine);
	warm->broken = warm->broken || !warm->spare.present;
}

bool
sandbox_warm_works(const struct sandbox_warm *warm)
{
	return !warm->broken;
}

void
sandbox_warm_free(struct sandbox_warm *warm)
{
	if (warm)
		drop_spare(&warm->spare);
	free(warm);
}

static int
get_warm_child(
	struct sandbox_warm *warm, struct sandbox_spawn *how, struct sandbox_child *ret_child, struct kettle_error *err)
{
	if (warm->broken || !(how->protections & SANDBOX_PID))
		return kettle_fail(err, KETTLE_EUNAVAIL, "The warm process cannot be used.");
	how->warm = &warm->socket;
	warm->started = true;
	int rc = get_child(&warm->spare, how, ret_child, err);
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
		bool known = stat(path, &st) || S_ISCHR(st.st_mode);
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

static int
complete_plan(struct sandbox_machine *machine, const struct sandbox_config *config, struct sandbox_child *child,
	struct kettle_error *err)
{
	struct sandbox_plan *plan = child->plan;
	int rc = sandbox_plan_fill(plan, config, err);
	if (!rc)
		rc = plan->protections & SANDBOX_MOUNT ? sandbox_root_plan(plan, config, err) : plan_off(plan, config, err);
	if (!rc)
		rc = limit_run(config, child, err);
	if (!rc && plan->protections & SANDBOX_SECCOMP)
		rc = plan_filter(machine, plan, config, err);
	return rc;
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

static int
sandbox_begin(struct sandbox_machine *machine, const struct sandbox_config *config, struct sandbox **ret_sandbox,
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
	rc = complete_plan(machine, config, &sandbox->child, err);
	if (!rc)
		rc = join_group(sandbox, config->group, err);
	if (!rc)
		rc = sandbox_spawn_release(&sandbox->child, config->fds, config->keep, sandbox->usage, err);
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
		sandbox_spawn_kill(&sandbox->child);
		return;
	}
	/* Without a pid namespace the payload would outlive init. */
	char message = SANDBOX_KILL;
	(void)send(sandbox->child.control, &message, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static uint64_t
largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
report_end(const struct sandbox_result *result, struct sandbox_report *report)
{
	report->exit_status = -1;
	report->start_ns = result->start_ns;
	report->end_ns = result->end_ns ? result->end_ns : time_monotonic_ns();
	report->left_behind = result->left_behind;
	if (!result->end_ns)
		report->signal = SIGKILL;
	else if (WIFEXITED(result->status))
		report->exit_status = WEXITSTATUS(result->status);
	else
		report->signal = WTERMSIG(result->status);
}

static void
report_most(const struct sandbox_plan *plan, struct sandbox_report *report)
{
	const struct sandbox_limits *limits = &plan->limits;
	uint64_t *most = report->most;
	most[SANDBOX_LIMIT_CPU] = limits->cpu_ns;
	most[SANDBOX_LIMIT_MEMORY] = limits->memory;
	most[SANDBOX_LIMIT_PROCESSES] = limits->processes;
	most[SANDBOX_LIMIT_DISK] = most[SANDBOX_LIMIT_TMP] = limits->disk;
	most[SANDBOX_LIMIT_SHM] = limits->shm;
	most[SANDBOX_LIMIT_CACHE] = plan->cache_bytes;
	most[SANDBOX_LIMIT_FILES] = plan->result.files_max ? plan->result.files_max : limits->inodes;
	most[SANDBOX_LIMIT_FILE_SIZE] = limits->file_size;
	most[SANDBOX_LIMIT_OPEN_FILES] = limits->open_files;
	most[SANDBOX_LIMIT_SOCKETS] = plan->sockets_max;
}

/*
 * Whether a run without a cgroup for processes has reached its limit: the kernel counts no refusals. While hundreds of
 * processes fork, those that are refused in a moment count as well, and the others stay below the limit.
 */
static bool
reached_processes(const struct sandbox_plan *plan, enum sandbox_limit killed_by)
{
	bool by_user = plan->protections & SANDBOX_USER && !(plan->protections & SANDBOX_PIDS_CGROUP);
	uint64_t most = plan->limits.processes;
	bool late = killed_by == SANDBOX_LIMIT_WALL || killed_by == SANDBOX_LIMIT_CPU;
	return by_user && most && plan->result.processes_peak >= (late ? most - most / PROCESSES_FORKING_PART : most);
}

static void
report_usage(const struct sandbox_child *child, const struct rusage *usage, struct sandbox_report *report)
{
	const struct sandbox_result *result = &child->plan->result;
	const struct sandbox_cgroup *cgroup = &child->cgroup;
	report->cpu_ns = largest(
		largest(result->total_cpu_ns, result->cpu_ns), sandbox_plan_since(sandbox_plan_used(usage), result->before_ns));
	report->memory_peak = largest(result->memory_peak, result->finished ? 0 : (uint64_t)usage->ru_maxrss * 1024);
	report->hits = result->hits | (report->signal == SIGXFSZ ? 1u << SANDBOX_LIMIT_FILE_SIZE : 0);
	if (child->has_cgroup && cgroup->cpu >= 0)
		report->cpu_ns = sandbox_plan_since(sandbox_cgroup_cpu_ns(cgroup->cpu, cgroup->unified), result->before_ns);
	/* It may have ended, or reached RLIMIT_CPU, before the next poll. */
	uint64_t cpu_limit = child->plan->limits.cpu_ns;
	if (report->limit == SANDBOX_LIMIT_NONE && cpu_limit && report->cpu_ns >= cpu_limit)
		report->limit = SANDBOX_LIMIT_CPU;
	if (reached_processes(child->plan, report->limit))
		report->hits |= 1u << SANDBOX_LIMIT_PROCESSES;
	if (!child->has_cgroup)
		return;
	uint64_t peak = sandbox_cgroup_memory_peak(cgroup);
	report->memory_peak = peak ? peak : report->memory_peak;
	if (report->limit == SANDBOX_LIMIT_NONE && sandbox_cgroup_oom_kills(cgroup))
		report->limit = SANDBOX_LIMIT_MEMORY;
	if (sandbox_cgroup_forks_refused(cgroup))
		report->hits |= 1u << SANDBOX_LIMIT_PROCESSES;
}

static void
report_message(const struct sandbox_child *child, int status, struct sandbox_report *report)
{
	const struct sandbox_result *result = &child->plan->result;
	if (result->finished || report->limit != SANDBOX_LIMIT_NONE)
		return;
	bool path = result->failed_path[0];
	if (result->failed[0])
		(void)snprintf(report->message, sizeof(report->message), "The sandbox could not %.60s%s%.120s%s: %s.",
			result->failed, path ? " `" : "", result->failed_path, path ? "`" : "", strerror(result->failed_errno));
	else
		(void)snprintf(report->message, sizeof(report->message),
			"The sandbox's init ended before its report, with %s %d.", WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
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
	const struct sandbox_result *result = &child->plan->result;
	struct sandbox_report report = {
		.started = result->started,
		.limit = (enum sandbox_limit)result->limit,
		.protections = child->plan->protections & ~(result->unlocked ? SANDBOX_LOCKS : 0u),
		.warm = result->begun,
		.layered = result->layered,
	};
	report_end(result, &report);
	report_most(child->plan, &report);
	report_usage(child, &usage, &report);
	report.lost = report.started && !result->finished && report.limit == SANDBOX_LIMIT_NONE && WIFSIGNALED(status) &&
				  (child->plan->protections & SANDBOX_PID);
	report_message(child, status, &report);
	if (child->has_cgroup)
		sandbox_cgroup_remove(&child->cgroup);
	child->has_cgroup = false;
	*ret_report = report;
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
	free(sandbox);
}
