/* SPDX-License-Identifier: MIT */
/*
 * Counts and limits of the processes below init.
 *
 * Theory of operation. It reads the files of the cgroup if there is one, else every process of init's /proc. CPU time
 * is the sum over live processes, their reaped children and the processes that init reaped; children of a process that
 * ignores SIGCHLD are lost once they have ended. Memory is the sum of resident, unshared memory, page tables and swap,
 * plus the largest shared part, plus memory that no process shows: the files in /tmp, /dev/shm and out/, and the
 * buffers of pipes and of more sockets than usual. That counts pages shared by fork, and mapped files, several times,
 * so proportional sizes without those files decide before a kill and make the peak. All other memory that no process
 * shows is refused (seccomp.c), but for shared memory without a file in runs with a device, which can be hidden by
 * unmapping it. Sockets are counted in any case, as all network namespaces share the memory that TCP may have. With
 * namespaces the tree is all of /proc but init; without, init's descendants, with orphans, as init is a child
 * subreaper. Nothing is allocated.
 *
 * Runs of a group write their memory to a file that all their inits have. If the plain sums of all exceed the limit, each
 * counts exactly in its next poll, and the first one to find the exact sums above the limit ends.
 *
 * The number of processes and threads is noted too: where RLIMIT_NPROC limits them, nothing else shows that a run has
 * reached the limit. Processes are counted more often than they are read.
 */
#include <config.h>

#include "sandbox/watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/base.h"
#include "sandbox/cgroup.h"

#define WATCH_OFF_MS 100     /* interval without namespaces, which reads all processes of the machine */
#define WATCH_SOCKETS_MS 100 /* with a cgroup: between two counts of sockets */
#define WATCH_HIGHER_PART 8  /* an eighth more needs a new exact count */
#define WATCH_CPU_MIN_MS 5
#define WATCH_CPU_MAX_MS 1000
#define WATCH_TREE_MAX 4096
#define WATCH_NAME_SIZE 64
#define WATCH_TEXT_SIZE 8192
#define WATCH_PLACES 4              /* file systems in memory */
#define WATCH_DESCRIPTORS 64        /* of a process, as many as every process has room for */
#define WATCH_DESCRIPTOR_BYTES 4096 /* of a pipe's end, beyond the pages that all pipes of a user may have */
#define WATCH_SOCKETS 32            /* of a run, free */
#define WATCH_DENTS_SIZE 4096
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

struct watch_process {
	pid_t pid, parent;
	bool below;       /* init */
	uint64_t threads; /* at least 1: RLIMIT_NPROC counts a process that has ended until it is reaped */
	uint64_t cpu_ticks;
	uint64_t resident, shared; /* bytes; shared is a part of resident */
	uint64_t more;             /* bytes: page tables, swap, what pipes can hold */
};
struct watch_tree {
	struct watch_process list[WATCH_TREE_MAX];
	size_t count;
};
_Static_assert(sizeof(struct watch_tree) <= SANDBOX_WATCH_MEMORY, "the plan has room for the list of processes");
struct watch_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* Writes PID/NAME to path (WATCH_NAME_SIZE bytes). */
static void
path_below(pid_t pid, const char *name, char *path)
{
	char digits[16];
	size_t at = sizeof(digits);
	for (unsigned value = (unsigned)pid; value || at == sizeof(digits); value /= 10)
		digits[--at] = (char)('0' + value % 10);
	size_t len = sizeof(digits) - at;
	memcpy(path, digits + at, len);
	path[len] = '/';
	memcpy(path + len + 1, name, strlen(name) + 1);
}

/* Reads PID/NAME below proc; false if the process is gone. */
static bool
read_text(int proc, pid_t pid, const char *name, char *text)
{
	char path[WATCH_NAME_SIZE];
	path_below(pid, name, path);
	AUTO_FD int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, WATCH_TEXT_SIZE - 1);
	if (size <= 0)
		return false;
	text[size] = '\0';
	return true;
}

static uint64_t
next_number(char **at)
{
	return strtoull(*at, at, 10);
}

/* The number behind "\nNAME:" in a text; 0: there is none. */
static uint64_t
field(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Where the list of groups is so long that the lines about memory are cut off. */
static bool
read_statm(int proc, pid_t pid, struct watch_process *ret)
{
	char text[WATCH_TEXT_SIZE], *at = text;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (!read_text(proc, pid, "statm", text))
		return false;
	(void)next_number(&at);
	ret->resident = next_number(&at) * page;
	ret->shared = next_number(&at) * page;
	return ret->resident > 0;
}

static bool
read_memory(int proc, pid_t pid, struct watch_process *ret)
{
	char text[WATCH_TEXT_SIZE];
	if (!read_text(proc, pid, "status", text))
		return false;
	ret->resident = field(text, "\nVmRSS:") * 1024;
	if (ret->resident == 0)
		return read_statm(proc, pid, ret);
	ret->shared = (field(text, "\nRssFile:") + field(text, "\nRssShmem:")) * 1024;
	uint64_t descriptors = field(text, "\nFDSize:");
	ret->more = (field(text, "\nVmPTE:") + field(text, "\nVmSwap:")) * 1024;
	ret->more += descriptors > WATCH_DESCRIPTORS ? (descriptors - WATCH_DESCRIPTORS) * WATCH_DESCRIPTOR_BYTES : 0;
	return true;
}

/* For a process whose first thread has ended: the kernel shows its memory with the other threads only. */
static void
read_memory_of_threads(int proc, pid_t pid, struct watch_process *ret)
{
	_Alignas(8) char dents[WATCH_DENTS_SIZE];
	char path[WATCH_NAME_SIZE];
	path_below(pid, "task", path);
	AUTO_FD int tasks = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long size = tasks < 0 ? 0 : syscall(SYS_getdents64, tasks, dents, sizeof(dents));
	for (long at = 0; at < size;) {
		const struct watch_dirent *entry = (const struct watch_dirent *)(dents + at);
		at += entry->reclen;
		pid_t thread = entry->name[0] >= '1' && entry->name[0] <= '9' ? atoi(entry->name) : 0;
		if (thread > 0 && thread != pid && read_memory(tasks, thread, ret))
			return;
	}
}

static bool
read_process(int proc, pid_t pid, struct watch_process *ret)
{
	char text[WATCH_TEXT_SIZE];
	if (!read_text(proc, pid, "stat", text))
		return false;
	char *at = strrchr(text, ')'); /* the name may contain any byte */
	if (!at || strlen(at) < 4)
		return false;
	char state = at[2];
	at += 3; /* ") S" */
	*ret = (struct watch_process){.pid = pid, .parent = (pid_t)next_number(&at)};
	for (int field = 5; field < 14; field++)
		(void)strtoll(at, &at, 10);
	for (int field = 14; field < 18; field++)
		ret->cpu_ticks += next_number(&at);
	for (int field = 18; field < 20; field++)
		(void)strtoll(at, &at, 10);
	ret->threads = next_number(&at);
	ret->threads += ret->threads == 0;
	if (!read_memory(proc, pid, ret) && state == 'Z')
		read_memory_of_threads(proc, pid, ret);
	return true;
}

static void
mark_descendants(struct watch_tree *tree, pid_t init)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < tree->count; i++) {
			struct watch_process *process = &tree->list[i];
			bool below = process->parent == init;
			for (size_t j = 0; !process->below && !below && j < tree->count; j++)
				below = tree->list[j].below && tree->list[j].pid == process->parent;
			if (below && !process->below)
				process->below = changed = true;
		}
	}
}

/*
 * The number of processes; their ids go into `tree` if it is not NULL. This needs far less time than reading them, which
 * takes many seconds beside hundreds of busy ones.
 */
static size_t
list_tree(int proc, struct watch_tree *tree)
{
	_Alignas(8) char dents[WATCH_DENTS_SIZE];
	pid_t self = getpid();
	long size;
	size_t count = 0;
	(void)lseek(proc, 0, SEEK_SET);
	while ((size = syscall(SYS_getdents64, proc, dents, sizeof(dents))) > 0)
		for (long at = 0; at < size && count < WATCH_TREE_MAX;) {
			const struct watch_dirent *entry = (const struct watch_dirent *)(dents + at);
			at += entry->reclen;
			pid_t pid = entry->name[0] >= '1' && entry->name[0] <= '9' ? atoi(entry->name) : 0;
			if (pid <= 0 || pid == self)
				continue;
			if (tree)
				tree->list[count].pid = pid;
			count++;
		}
	if (tree)
		tree->count = count;
	return count;
}

/* Reads the listed processes; those that are gone leave the list. */
static void
read_tree(int proc, bool namespaces, struct watch_tree *tree)
{
	size_t listed = tree->count;
	tree->count = 0;
	for (size_t i = 0; i < listed; i++) {
		struct watch_process *process = &tree->list[tree->count];
		if (read_process(proc, tree->list[i].pid, process)) {
			process->below = namespaces;
			tree->count++;
		}
	}
	if (!namespaces)
		mark_descendants(tree, getpid());
}

/* The file systems in memory that the payload writes to, and the bytes in them. */
struct watch_places {
	dev_t list[WATCH_PLACES];
	size_t count;
	uint64_t bytes;
};

static void
read_places(const struct sandbox_plan *plan, struct watch_places *ret)
{
	const char *const paths[WATCH_PLACES] = {SANDBOX_JOB "/out", "/tmp", "/dev/shm", plan->cache_directory};
	*ret = (struct watch_places){.count = 0};
	for (size_t i = 0; i < WATCH_PLACES && plan->protections & SANDBOX_MOUNT; i++) {
		struct statvfs fs;
		struct stat st;
		if (!paths[i] || statvfs(paths[i], &fs) || stat(paths[i], &st))
			continue;
		ret->list[ret->count++] = st.st_dev;
		ret->bytes += (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
	}
}

/* The number of sockets. The namespace counts them, including those in flight and those that wait for their end. */
static uint64_t
count_sockets(const struct sandbox_plan *plan, int proc)
{
	char text[WATCH_TEXT_SIZE];
	AUTO_FD int fd = plan->protections & SANDBOX_NET ? openat(proc, "net/sockstat", O_RDONLY | O_CLOEXEC) : -1;
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	return field(text, "sockets: used");
}

/* One mapping of a process, from lines of smaps. */
struct watch_mapping {
	const struct watch_places *places;
	bool placed; /* it is of a file in one of the places */
	uint64_t size, own;
	uint64_t sum; /* of all: bytes of those files; pages that were copied on write are the process's own */
};

static void
end_mapping(struct watch_mapping *mapping)
{
	if (mapping->placed && mapping->size > mapping->own)
		mapping->sum += (mapping->size - mapping->own) * 1024;
	mapping->placed = false;
	mapping->size = mapping->own = 0;
}

static void
take_line(struct watch_mapping *mapping, const char *line)
{
	unsigned major = 0, minor = 0;
	if (strncmp(line, "Pss:", 4) == 0)
		mapping->size = strtoull(line + 4, NULL, 10);
	else if (strncmp(line, "Anonymous:", 10) == 0)
		mapping->own = strtoull(line + 10, NULL, 10);
	else if (sscanf(line, "%*x-%*x %*s %*x %x:%x", &major, &minor) == 2) {
		end_mapping(mapping);
		for (size_t i = 0; i < mapping->places->count; i++)
			mapping->placed = mapping->placed || mapping->places->list[i] == makedev(major, minor);
	}
}

/* The bytes that a process has mapped of files in those places. */
static uint64_t
mapped_size(int proc, pid_t pid, const struct watch_places *places)
{
	char path[WATCH_NAME_SIZE], text[WATCH_TEXT_SIZE];
	struct watch_mapping mapping = {.places = places};
	size_t len = 0;
	bool skips = false; /* the rest of a line that is longer than the buffer: its start has been taken */
	ssize_t size;
	path_below(pid, "smaps", path);
	AUTO_FD int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (size = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
		char *line = text, *end;
		len += (size_t)size;
		text[len] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1, skips = false) {
			*end = '\0';
			if (!skips)
				take_line(&mapping, line);
		}
		len -= (size_t)(line - text);
		memmove(text, line, len);
		if (len == sizeof(text) - 1) {
			text[len] = '\0';
			if (!skips)
				take_line(&mapping, text);
			skips = true;
			len = 0;
		}
	}
	end_mapping(&mapping);
	return mapping.sum;
}

/* Notes how many processes were listed: with namespaces, all of them are of the run. */
static void
note_processes(struct sandbox_plan *plan, size_t listed)
{
	plan->watch_counted_ns = sandbox_plan_now();
	if (plan->protections & SANDBOX_PID)
		sandbox_plan_note_processes(plan, listed);
}

/* Counts the processes again if the last count is old: to read the memory of one that forks may take a second. */
static void
count_again(struct sandbox_plan *plan, int proc)
{
	if (sandbox_plan_since(sandbox_plan_now(), plan->watch_counted_ns) >= SANDBOX_WATCH_MS * NS_PER_MS)
		note_processes(plan, list_tree(proc, NULL));
}

/* Proportional set size of a process in bytes, without files in those places; 0: it is gone. */
static uint64_t
proportional_size(int proc, pid_t pid, const struct watch_places *places)
{
	char text[WATCH_TEXT_SIZE];
	struct watch_process now = {0};
	bool has = read_text(proc, pid, "smaps_rollup", text) && strstr(text, "\nPss:");
	uint64_t size = has ? field(text, "\nPss:") * 1024 : 0;
	if (has)
		return sandbox_plan_since(size, places->bytes ? mapped_size(proc, pid, places) : 0);
	/* The process lives, but the kernel lacks that file. */
	return read_process(proc, pid, &now) ? now.resident - now.shared : 0;
}

static uint64_t
exact_memory(struct sandbox_plan *plan, int proc, const struct watch_tree *tree, const struct watch_places *places)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < tree->count; i++) {
		if (tree->list[i].below)
			sum += proportional_size(proc, tree->list[i].pid, places) + tree->list[i].more;
		count_again(plan, proc);
	}
	return sum + places->bytes;
}

/* Tells the other runs of the group what this one uses, and returns what they use, together. */
static struct sandbox_usage
exchange_usage(const struct sandbox_plan *plan, struct sandbox_usage own)
{
	struct sandbox_usage all[SANDBOX_GROUP_MAX] = {0}, others = {0};
	if (!plan->grouped)
		return others;
	off_t place = (off_t)(plan->group_index * sizeof(own));
	if (pwrite(plan->group_usage, &own, sizeof(own), place) < 0 || pread(plan->group_usage, all, sizeof(all), 0) < 0)
		return others;
	for (unsigned i = 0; i < SANDBOX_GROUP_MAX; i++) {
		others.sum += i == plan->group_index ? 0 : all[i].sum;
		others.exact += i == plan->group_index ? 0 : all[i].exact;
	}
	return others;
}

/* Whether a run has more than its own limit, or its group, with what the others have, more than that of all. */
static bool
is_over(const struct sandbox_plan *plan, uint64_t own, uint64_t others)
{
	return own > plan->limits.memory || (plan->grouped && own + others > plan->group_memory);
}

/* The plain sum is never too low. The exact one costs more: it is taken at the limit and at a new maximum. */
static uint64_t
tree_memory(
	struct sandbox_plan *plan, int proc, const struct watch_tree *tree, uint64_t socket_count, uint64_t *ret_others)
{
	uint64_t sum = 0, shared = 0, sockets = sandbox_plan_since(socket_count, WATCH_SOCKETS) * SANDBOX_SOCKET_BYTES;
	struct watch_places places;
	read_places(plan, &places);
	for (size_t i = 0; i < tree->count; i++) {
		const struct watch_process *process = &tree->list[i];
		if (!process->below)
			continue;
		sum += (process->resident > process->shared ? process->resident - process->shared : 0) + process->more;
		shared = process->shared > shared ? process->shared : shared;
	}
	sum += shared + places.bytes + sockets;
	bool plain = tree->count <= 1 && places.bytes == 0;
	struct sandbox_usage others =
		exchange_usage(plan, (struct sandbox_usage){sum, plain || sum < plan->watch_exact ? sum : plan->watch_exact});
	*ret_others = others.exact;
	if (plain) {
		plan->watch_exact = sum;
		return sum;
	}
	bool higher = sum > plan->watch_highest + plan->watch_highest / WATCH_HIGHER_PART;
	if (!higher && !is_over(plan, sum, others.sum))
		return 0;
	plan->watch_highest = higher ? sum : plan->watch_highest;
	uint64_t exact = exact_memory(plan, proc, tree, &places) + sockets;
	/* Counts once more: a part may be counted several times while processes that share it end. */
	if (is_over(plan, exact, others.exact)) {
		uint64_t again = exact_memory(plan, proc, tree, &places) + sockets;
		exact = again < exact ? again : exact;
	}
	exact = exact < sum ? exact : sum;
	plan->watch_exact = exact;
	*ret_others = exchange_usage(plan, (struct sandbox_usage){sum, exact}).exact;
	return exact;
}

static uint64_t
tree_cpu(const struct watch_tree *tree)
{
	uint64_t ticks = 0, hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct rusage usage = {0};
	for (size_t i = 0; i < tree->count; i++)
		ticks += tree->list[i].below ? tree->list[i].cpu_ticks : 0;
	(void)getrusage(RUSAGE_CHILDREN, &usage);
	return ticks * (NS_PER_S / hz) + sandbox_plan_used(&usage);
}

static uint64_t
tree_threads(const struct watch_tree *tree)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < tree->count; i++)
		sum += tree->list[i].below ? tree->list[i].threads : 0;
	return sum;
}

/* With a count by the cgroup: the time in which all cores together could use the rest. */
static int
cpu_wait_ms(const struct sandbox_plan *plan, uint64_t used)
{
	if (!plan->limits.cpu_ns)
		return -1;
	uint64_t left = plan->limits.cpu_ns > used ? plan->limits.cpu_ns - used : 0;
	uint64_t ms = left / (plan->machine_cores ? plan->machine_cores : 1) / 1000000 + WATCH_CPU_MIN_MS;
	return ms > WATCH_CPU_MAX_MS ? WATCH_CPU_MAX_MS : (int)ms;
}

bool
sandbox_watch_needed(const struct sandbox_plan *plan)
{
	return !plan->cgroup_memory || plan->limits.cpu_ns || plan->protections & SANDBOX_NET;
}

enum sandbox_limit
sandbox_watch_check(struct sandbox_plan *plan, int proc, int *ret_wait_ms)
{
	bool namespaces = plan->protections & SANDBOX_PID;
	uint64_t cpu = 0, memory = 0, others = 0, sockets = count_sockets(plan, proc);
	*ret_wait_ms = plan->protections & SANDBOX_NET ? WATCH_SOCKETS_MS : -1;
	if (!plan->cgroup_memory || plan->cgroup_cpu < 0) {
		struct watch_tree *tree = (struct watch_tree *)plan->watch_memory;
		note_processes(plan, list_tree(proc, tree));
		read_tree(proc, namespaces, tree);
		cpu = sandbox_plan_since(tree_cpu(tree), plan->result.parked_ns);
		memory = tree_memory(plan, proc, tree, sockets, &others);
		sandbox_plan_note_processes(plan, tree_threads(tree));
		*ret_wait_ms = namespaces ? SANDBOX_WATCH_MS : WATCH_OFF_MS;
	}
	if (plan->cgroup_cpu >= 0) {
		cpu = sandbox_plan_since(sandbox_cgroup_cpu_ns(plan->cgroup_cpu, plan->cgroup_unified), plan->result.before_ns);
		int wait = cpu_wait_ms(plan, cpu);
		if (*ret_wait_ms < 0 || (wait >= 0 && wait < *ret_wait_ms))
			*ret_wait_ms = wait;
	}
	plan->result.cpu_ns = cpu;
	if (memory > plan->result.memory_peak)
		plan->result.memory_peak = memory;
	if (plan->limits.cpu_ns && cpu >= plan->limits.cpu_ns)
		return SANDBOX_LIMIT_CPU;
	if (sockets > plan->sockets_max)
		return SANDBOX_LIMIT_SOCKETS;
	bool over = !plan->cgroup_memory && memory > 0 && is_over(plan, memory, others);
	return over ? SANDBOX_LIMIT_MEMORY : SANDBOX_LIMIT_NONE;
}

void
sandbox_watch_kill(const struct sandbox_plan *plan, int proc)
{
	if (plan->protections & SANDBOX_PID) {
		(void)kill(-1, SIGKILL);
		return;
	}
	struct watch_tree *tree = (struct watch_tree *)plan->watch_memory;
	(void)list_tree(proc, tree);
	read_tree(proc, false, tree);
	/* Stop all first, so that none forks meanwhile. */
	for (int signal = SIGSTOP; signal; signal = signal == SIGSTOP ? SIGKILL : 0)
		for (size_t i = 0; i < tree->count; i++)
			if (tree->list[i].below)
				(void)kill(tree->list[i].pid, signal);
}
