/* SPDX-License-Identifier: MIT */
/* Copies a config into memory shared with init, so that nothing is allocated after the clone. */
#include <config.h>

#include "sandbox/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PLAN_ALIGN 16u
#define PLAN_SOCKETS_MIN 64
#define PLAN_SOCKETS_MAX 4096
#define PLAN_SOCKETS_PART 4
#define PLAN_MEMORY_DEFAULT (UINT64_C(4) << 30)
#define PLAN_PROCESSES_DEFAULT 512
#define PLAN_DISK_DEFAULT (UINT64_C(1) << 30)
#define PLAN_INODES_DEFAULT 65536
#define PLAN_SHM_DEFAULT (UINT64_C(256) << 20)
#define PLAN_FILES_DEFAULT 1024
#define PLAN_STACK_DEFAULT (UINT64_C(64) << 20)
#define PLAN_STRINGS_MAX 65536 /* arguments; variables */
/*
 * Addresses of plans that another process maps as well: between the addresses that Linux uses for programs and for
 * libraries. The time selects a slot; if that is in use, the kernel selects another address.
 */
#define PLAN_SLOTS 4096
#define PLAN_SLOT_NS 1000000
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define PLAN_HINT UINT64_C(0x200000000000)
#else
#define PLAN_HINT UINT64_C(0)
#endif

/* A shared mapping at an address that other processes are unlikely to use. */
static void *
map_memory(int *ret_memory)
{
	int memory = memfd_create("kettle-plan", MFD_CLOEXEC);
	if (memory < 0 || ftruncate(memory, SANDBOX_ARENA_SIZE)) {
		if (memory >= 0)
			close(memory);
		return MAP_FAILED;
	}
	uint64_t slot = sandbox_plan_now() / PLAN_SLOT_NS % PLAN_SLOTS;
	void *hint = PLAN_HINT ? (void *)(uintptr_t)(PLAN_HINT + slot * SANDBOX_ARENA_SIZE) : NULL;
	void *base = mmap(hint, SANDBOX_ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
	if (base == MAP_FAILED)
		close(memory);
	else
		*ret_memory = memory;
	return base;
}

struct sandbox_plan *
sandbox_plan_map(int *ret_memory)
{
	void *base = ret_memory ? map_memory(ret_memory)
							: mmap(NULL, SANDBOX_ARENA_SIZE, PROT_READ | PROT_WRITE,
								  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	struct sandbox_plan *plan = base;
	plan->used = (sizeof(*plan) + PLAN_ALIGN - 1) & ~(size_t)(PLAN_ALIGN - 1);
	plan->cgroup_cpu = plan->cgroup_oom = plan->alive = -1;
	plan->payload_stack = sandbox_plan_alloc(plan, SANDBOX_STACK_SIZE);
	plan->watch_memory = sandbox_plan_alloc(plan, SANDBOX_WATCH_MEMORY);
	return plan;
}

struct sandbox_plan *
sandbox_plan_map_at(uint64_t address, int memory)
{
	void *hint = (void *)(uintptr_t)address;
	void *base = mmap(
		hint, SANDBOX_ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, memory, 0);
	if (base == hint)
		return base;
	/* A kernel before 4.17 ignores MAP_FIXED_NOREPLACE. */
	if (base != MAP_FAILED) {
		munmap(base, SANDBOX_ARENA_SIZE);
		errno = EEXIST;
	}
	return NULL;
}

void
sandbox_plan_unmap(struct sandbox_plan *plan)
{
	if (plan)
		munmap(plan, SANDBOX_ARENA_SIZE);
}

void *
sandbox_plan_alloc(struct sandbox_plan *plan, size_t size)
{
	if (size > SANDBOX_ARENA_SIZE - PLAN_ALIGN - plan->used)
		return NULL;
	void *memory = (char *)plan + plan->used;
	plan->used += (size + PLAN_ALIGN - 1) & ~(size_t)(PLAN_ALIGN - 1);
	return memory;
}

char *
sandbox_plan_text(struct sandbox_plan *plan, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = sandbox_plan_alloc(plan, size);
	return copy ? memcpy(copy, text, size) : NULL;
}

const char *
sandbox_plan_own(struct sandbox_plan *plan, const char *text)
{
	if (!text || (text >= (const char *)plan && text < (const char *)plan + SANDBOX_ARENA_SIZE))
		return text;
	return sandbox_plan_text(plan, text);
}

char *
sandbox_plan_printf(struct sandbox_plan *plan, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int size = vsnprintf(NULL, 0, format, args) + 1;
	va_end(args);
	char *text = size > 0 ? sandbox_plan_alloc(plan, (size_t)size) : NULL;
	if (!text)
		return NULL;
	va_start(args, format);
	(void)vsnprintf(text, (size_t)size, format, args);
	va_end(args);
	return text;
}

static void
copy_text(char *to, const char *text)
{
	size_t len = strnlen(text, SANDBOX_FAILED_MAX - 1);
	memcpy(to, text, len);
	to[len] = '\0';
}

int
sandbox_plan_failed(struct sandbox_plan *plan, const char *what, const char *path)
{
	plan->result.failed_errno = errno;
	copy_text(plan->result.failed, what);
	copy_text(plan->result.failed_path, path ? path : "");
	return -1;
}

static int
copy_strings(struct sandbox_plan *plan, const char *const *strings, size_t more, char ***ret_copy, size_t *ret_count,
	struct kettle_error *err)
{
	size_t count = 0, bytes = 0;
	for (; strings[count]; count++) {
		bytes += strlen(strings[count]) + 1 + PLAN_ALIGN;
		if (count >= PLAN_STRINGS_MAX || bytes > SANDBOX_TEXT_MAX / 2)
			return kettle_fail(err, KETTLE_ETOOBIG,
				"The arguments or the environment of the program are too large; at most %d strings of %d bytes in "
				"total are allowed.",
				PLAN_STRINGS_MAX, SANDBOX_TEXT_MAX / 2);
	}
	char **copy = sandbox_plan_alloc(plan, (count + more + 1) * sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = sandbox_plan_text(plan, strings[i]);
		if (!copy[i])
			copy = NULL;
	}
	if (!copy)
		return kettle_fail(err, KETTLE_ETOOBIG, "The plan of the sandbox has no room for the arguments.");
	*ret_copy = copy;
	*ret_count = count;
	return 0;
}

static bool
has_variable(char *const *envp, const char *name)
{
	size_t len = strlen(name);
	for (; *envp; envp++)
		if (!strncmp(*envp, name, len) && (*envp)[len] == '=')
			return true;
	return false;
}

int
sandbox_plan_fill_text(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	size_t count = 0;
	int rc = copy_strings(plan, config->argv, 0, &plan->argv, &count, err);
	if (rc)
		return rc;
	if (count == 0)
		return kettle_fail(err, KETTLE_EINVAL, "The program in the sandbox needs at least its argv[0].");
	rc = copy_strings(plan, config->envp, 2, &plan->envp, &count, err);
	if (rc)
		return rc;
	if (!has_variable(plan->envp, "HOME"))
		plan->envp[count++] = sandbox_plan_text(plan, "HOME=" SANDBOX_HOME);
	if (!has_variable(plan->envp, "TMPDIR"))
		plan->envp[count++] = sandbox_plan_text(plan, "TMPDIR=/tmp");
	plan->file = sandbox_plan_text(plan, config->file);
	return plan->file ? 0 : kettle_fail(err, KETTLE_ETOOBIG, "The path of the program is too long.");
}

static int
fill_fds(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	unsigned standard = 0;
	if (config->fds_count > SANDBOX_FDS_MAX || config->keep_count > SANDBOX_FDS_MAX)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "A sandbox takes at most %d descriptors of each kind.", SANDBOX_FDS_MAX);
	for (size_t i = 0; i < config->fds_count; i++) {
		int target = config->fds[i].target;
		if (target < 0 || target > SANDBOX_TARGET_MAX)
			return kettle_fail(err, KETTLE_EINVAL,
				"Descriptor number %d cannot be given to a sandbox; 0 to %d are possible.", target, SANDBOX_TARGET_MAX);
		for (size_t j = 0; j < i; j++)
			if (plan->fd_targets[j] == target)
				return kettle_fail(err, KETTLE_EINVAL, "Descriptor number %d is given to the sandbox twice.", target);
		plan->fd_targets[i] = target;
		standard |= target < 3 ? 1u << target : 0;
	}
	if (standard != 7)
		return kettle_fail(err, KETTLE_EINVAL, "A sandbox needs the descriptors 0, 1 and 2.");
	plan->fds_count = config->fds_count;
	plan->keep_count = config->keep_count;
	return 0;
}

static void
fill_limits(struct sandbox_limits *limits)
{
#define DEFAULT(field, value) limits->field = limits->field ? limits->field : (value)
	DEFAULT(memory, PLAN_MEMORY_DEFAULT);
	DEFAULT(processes, PLAN_PROCESSES_DEFAULT);
	DEFAULT(disk, PLAN_DISK_DEFAULT);
	DEFAULT(inodes, PLAN_INODES_DEFAULT);
	DEFAULT(shm, PLAN_SHM_DEFAULT);
	DEFAULT(file_size, limits->disk);
	DEFAULT(open_files, PLAN_FILES_DEFAULT);
	DEFAULT(stack, PLAN_STACK_DEFAULT);
#undef DEFAULT
}

static int
fill_cores(const int *cores, size_t count, bool *ret_has, cpu_set_t *ret_set, struct kettle_error *err)
{
	CPU_ZERO(ret_set);
	for (size_t i = 0; i < count; i++) {
		if (cores[i] < 0 || cores[i] >= CPU_SETSIZE)
			return kettle_fail(err, KETTLE_EINVAL, "Core %d is not between 0 and %d.", cores[i], CPU_SETSIZE - 1);
		CPU_SET(cores[i], ret_set);
	}
	*ret_has = count > 0;
	return 0;
}

/* The number of sockets that together can hold a part of the machine's TCP memory without being slowed down. */
static uint64_t
most_sockets(void)
{
	char text[96] = "";
	AUTO_FD int fd = open("/proc/sys/net/ipv4/tcp_mem", O_RDONLY | O_CLOEXEC);
	uint64_t pages = 0;
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "%*u %" SCNu64, &pages) != 1)
		return PLAN_SOCKETS_MAX; /* in a container */
	uint64_t most = pages * (uint64_t)sysconf(_SC_PAGESIZE) / PLAN_SOCKETS_PART / SANDBOX_SOCKET_BYTES;
	most = most > PLAN_SOCKETS_MIN ? most : PLAN_SOCKETS_MIN;
	return most < PLAN_SOCKETS_MAX ? most : PLAN_SOCKETS_MAX;
}

int
sandbox_plan_fill_run(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	if (!config->file || !config->argv || !config->envp || !config->job_dir || !config->fds)
		return kettle_fail(err, KETTLE_EINVAL, "A sandbox needs file, argv, envp, job_dir and descriptors.");
	int rc = sandbox_plan_fill_text(plan, config, err);
	return rc ? rc : fill_fds(plan, config, err);
}

int
sandbox_plan_fill_limits(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err)
{
	int rc = fill_cores(config->cores, config->cores ? config->cores_count : 0, &plan->has_cores, &plan->cores, err);
	if (!rc)
		rc = fill_cores(config->init_cores, config->init_cores ? config->init_cores_count : 0, &plan->has_init_cores,
			&plan->init_cores, err);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	plan->machine_cores = online > 0 ? (unsigned)online : 1;
	plan->sockets_max = most_sockets();
	plan->nice = config->nice;
	plan->record = config->record;
	plan->limits = config->limits;
	fill_limits(&plan->limits);
	return rc;
}

uint64_t
sandbox_plan_now(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
sandbox_plan_used(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
		   (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
}

uint64_t
sandbox_plan_since(uint64_t count, uint64_t before)
{
	return count > before ? count - before : 0;
}

void
sandbox_plan_note_processes(struct sandbox_plan *plan, uint64_t count)
{
	if (count > plan->result.processes_peak)
		plan->result.processes_peak = count;
}
