/* SPDX-License-Identifier: MIT */
/*
 * The interpreter's stand-in: the program at the interpreter's path in the sandbox of a warm run.
 *
 * Theory of operation. Such a sandbox shows this program at the interpreter's path, the interpreter at another one, and
 * the memory of the warm process as a file (dump.h). Started as `python …`, it checks that a new interpreter would reach
 * the state in that memory: same options, same environment (except variables that are read later), same limits, cores and
 * signals. If so, it maps the memory privately and continues there. If not, or if a step fails, it executes the
 * interpreter with its own arguments and environment. Up to the jump it changes only its own mappings, which an exec
 * discards.
 *
 * There is no server: the process keeps its id, parent, session, group, descriptors, limits, signals, working directory,
 * exit status, domains and filters. It can do what the interpreter could do in its place, and nothing more; a confined
 * process stays confined. The file is the same for all, read-only, and holds nothing of any job.
 *
 * The memory and this program are at fixed addresses that kernels do not use by themselves. It has no C library, which
 * would register data of its own with the kernel. If this process's stack overlaps the memory (five starts in a thousand),
 * the program executes itself again.
 */
#include <config.h>

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "dump.h"
#include "exec/warm/image.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define PAGE 4096u
#define NOTES_AT UINT64_C(0x2f8000000000) /* address of the header, near this program */
#define NOTES_MAX (8u << 20)
#define PATHS_MAX 4096
#define SIGNALS 64
#define SIGNAL_CANCEL 32
#define SIGNAL_SETXID 33
#define STACK_AWAY (1u << 20) /* free bytes around the memory's stack */
#define FAILED_COLD 127
#define TRIES 64 /* average number of tries to get a stack that does not overlap */
#define CORES_MAX DUMP_CORES_MAX

/* The kernel's struct sigaction. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* The start of this process. */
struct process_start {
	char **argv, **envp;
	const uint64_t *auxiliary;
};

static char real_path[PATHS_MAX];
static struct dump_start handed_over;

/* ---- the system, and strings ---- */

static long
standin_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall"
					 : "=a"(result)
					 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
					 : "rcx", "r11", "memory");
	return result;
}
#define CALL(number, a, b, c, d) standin_call((number), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static long
map(uint64_t start, uint64_t size, int protection, int flags, int fd, uint64_t offset)
{
	return standin_call(SYS_mmap, (long)start, (long)size, protection, flags, fd, (long)offset);
}

static size_t
length(const char *text)
{
	size_t n = 0;
	while (text[n])
		n++;
	return n;
}

/* Whether text begins with all of start. */
static bool
begins(const char *text, const char *start)
{
	while (*start && *text == *start) {
		text++;
		start++;
	}
	return !*start;
}

static bool
equals(const char *a, const char *b)
{
	return begins(a, b) && length(a) == length(b);
}

static bool
has(const char *letters, char letter)
{
	while (*letters && *letters != letter)
		letters++;
	return letter && *letters;
}

/* ---- where the interpreter is ---- */

static uint64_t
auxiliary(const struct process_start *started, uint64_t type)
{
	for (const uint64_t *at = started->auxiliary; at[0] != AT_NULL; at += 2)
		if (at[0] == type)
			return at[1];
	return 0;
}

/* Copies text with its NUL. Returns the NUL's address, or NULL if there is no room. */
static char *
append(char *to, const char *end, const char *text)
{
	while (to && *text)
		to = to + 1 < end ? (*to = *text++, to + 1) : NULL;
	if (to)
		*to = '\0';
	return to;
}

/* The last `slashes` components of a path. */
static const char *
behind(const char *path, int slashes)
{
	const char *at = path + length(path);
	while (at > path && slashes > 0)
		slashes -= *--at == '/';
	return at + (*at == '/');
}

/*
 * Finds the interpreter: IMAGE_HOME/bin/python3.11 shows PREFIX/bin/python3.11. If the process was started by a link
 * beside that, uses the link, which names the process. False: the path is unknown.
 */
static bool
find_real(const struct process_start *started)
{
	const char *end = real_path + sizeof(real_path), *given = (const char *)auxiliary(started, AT_EXECFN);
	char own[PATHS_MAX], target[PATHS_MAX];
	long size = CALL(SYS_readlink, "/proc/self/exe", own, sizeof(own) - 1, 0);
	if (size <= 0)
		return false;
	own[size] = '\0';
	char *name = append(append(real_path, end, IMAGE_HOME "/"), end, behind(own, 2));
	if (!name || !given)
		return name;
	while (name[-1] != '/')
		name--;
	const char *file = behind(own, 1);
	(void)append(name, end, behind(given, 1));
	size = CALL(SYS_readlink, real_path, target, sizeof(target) - 1, 0);
	target[size > 0 ? size : 0] = '\0';
	/* Does not use a link that could lead back to this program. */
	return equals(target, file) || append(name, end, file);
}

static void __attribute__((noreturn)) go_cold(const struct process_start *started)
{
	static const char sentence[] = "kettle: the interpreter of this sandbox cannot be executed\n";
	(void)CALL(SYS_execve, real_path, started->argv, started->envp, 0);
	(void)CALL(SYS_write, 2, sentence, sizeof(sentence) - 1, 0);
	for (;;)
		(void)CALL(SYS_exit_group, FAILED_COLD, 0, 0, 0);
}

/* ---- whether the memory fits ---- */

/* Variables that nothing reads before the script; resume.py applies PYTHONPATH. */
static const char free_names[][32] = {"PATH", "PWD", "OLDPWD", "SHLVL", "_", "PYTHONPATH", "MASTER_ADDR", "MASTER_PORT",
	"RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR",
	"JAX_COMPILATION_CACHE_DIR", "NUMBA_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH", "TORCH_WARM_POOL"};

static bool
is_free(const char *variable)
{
	if (begins(variable, "KETTLE_") || begins(variable, "POPCORN_") || equals(variable, "LD_LIBRARY_PATH="))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(free_names); i++)
		if (begins(variable, free_names[i]) && variable[length(free_names[i])] == '=')
			return true;
	return false;
}

static bool
fits_environment(const struct dump_header *header, const char *text, char **envp)
{
	const char *known = text + header->environment;
	for (char **item = envp; *item; item++) {
		const char *at = known;
		uint32_t i = 0;
		for (; i < header->environment_count && !equals(at, *item); i++)
			at += length(at) + 1;
		if (i == header->environment_count && !is_free(*item))
			return false;
	}
	for (uint32_t i = 0; i < header->environment_count; i++, known += length(known) + 1) {
		char **item = envp;
		while (*item && !equals(*item, known))
			item++;
		if (!*item && !is_free(known))
			return false;
	}
	return true;
}

/* The value of PATH, or NULL. */
static const char *
path_of(char **envp)
{
	for (; *envp; envp++)
		if (begins(*envp, "PATH="))
			return *envp + 5;
	return NULL;
}

/* Whether the interpreter, with this name and PATH, would have the same sys.executable. */
static bool
fits_name(const char *executable, const char *name, char **envp)
{
	const char *path = path_of(envp);
	char candidate[PATHS_MAX];
	if (has(name, '/') || !path)
		return equals(name, executable);
	while (*path) {
		size_t used = 0;
		for (; *path && *path != ':'; path++)
			if (used < sizeof(candidate) - 2)
				candidate[used++] = *path;
		path += *path == ':';
		candidate[used++] = '/';
		for (size_t i = 0; name[i] && used < sizeof(candidate) - 1; i++)
			candidate[used++] = name[i];
		candidate[used] = '\0';
		if (CALL(SYS_access, candidate, 1, 0, 0) == 0)
			return equals(candidate, executable);
	}
	return false;
}

/* Accepts options without effect, then `-c TEXT`, `-m NAME` or NAME.py. */
static bool
fits_arguments(const char *letters, char **argv)
{
	char **at = argv + 1;
	for (; *at && (*at)[0] == '-' && (*at)[1]; at++) {
		if (equals(*at, "-c") || equals(*at, "-m"))
			return at[1] != NULL;
		for (const char *letter = *at + 1; *letter; letter++)
			if (!has(letters, *letter))
				return false;
	}
	size_t size = *at ? length(*at) : 0;
	return size > 3 && equals(*at + size - 3, ".py");
}

/*
 * Whether all signals have their default action, except two that interpreters ignore and two that the C library
 * handles.
 */
static bool
fits_signals(void)
{
	for (int number = 1; number <= SIGNALS; number++) {
		struct action action = {0};
		if (number == SIGPIPE || number == SIGXFSZ || number == SIGNAL_CANCEL || number == SIGNAL_SETXID)
			continue;
		if (CALL(SYS_rt_sigaction, number, NULL, &action, sizeof(uint64_t)) == 0 && action.handler != SIG_DFL)
			return false;
	}
	return true;
}

static bool
fits_limits(const struct dump_header *header)
{
	struct rlimit limit = {0};
	uint8_t cores[CORES_MAX];
	long size = CALL(SYS_sched_getaffinity, 0, sizeof(cores), cores, 0);
	if (CALL(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit) != 0 || limit.rlim_cur != header->stack_limit)
		return false;
	if (CALL(SYS_personality, 0xffffffff, 0, 0, 0) != (long)header->personality || size != (long)header->cores_size)
		return false;
	for (long i = 0; i < size; i++)
		if (cores[i] != header->cores[i])
			return false;
	return true;
}

static bool
fits(const struct dump_header *header, const struct process_start *started)
{
	const char *text = (const char *)header + header->text;
	return fits_arguments(header->letters, started->argv) &&
		   fits_name(text + header->executable, started->argv[0], started->envp) &&
		   fits_environment(header, text, started->envp) && fits_signals() && fits_limits(header);
}

/* ---- the memory ---- */

static bool
is_same_file(int fd, const struct dump_file *file)
{
	struct stat st;
	return CALL(SYS_fstat, fd, &st, 0, 0) == 0 && st.st_ino == file->inode && (uint64_t)st.st_size == file->size &&
		   (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec == file->changed_ns;
}

static bool
standin_fill(int image, const struct dump_region *region)
{
	for (uint64_t done = 0; done < region->size;) {
		long n = CALL(SYS_pread64, image, region->start + done, region->size - done, region->offset + done);
		if (n <= 0)
			return false;
		done += (uint64_t)n;
	}
	return true;
}

/* `file`: the open file of a DUMP_FILE. */
static bool
make_region(const struct dump_region *region, int image, int file)
{
	int flags = region->over ? MAP_FIXED : MAP_FIXED_NOREPLACE;
	long start = (long)region->start;
	switch ((enum dump_kind)region->kind) {
	case DUMP_ZERO:
		flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
		return map(region->start, region->size, region->protection, flags, -1, 0) == start;
	case DUMP_FILE:
		flags |= region->shared ? MAP_SHARED : MAP_PRIVATE;
		return map(region->start, region->size, region->protection, flags, file, region->offset) == start;
	case DUMP_KEPT:
		return map(region->start, region->size, region->protection, flags | MAP_PRIVATE, image, region->offset) ==
			   start;
	case DUMP_STACK:
		flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_STACK;
		return map(region->start, region->size, region->protection, flags, -1, 0) == start;
	case DUMP_FILL:
		return standin_fill(image, region);
	case DUMP_GUARD:
		return CALL(SYS_mprotect, region->start, region->size, region->protection, 0) == 0;
	}
	return false;
}

/* Most mappings of a file follow each other, so one file is open at a time. */
static bool
make_regions(const struct dump_header *header, int image)
{
	const struct dump_region *regions = (const void *)((const char *)header + header->regions);
	const struct dump_file *files = (const void *)((const char *)header + header->files);
	const char *text = (const char *)header + header->text;
	uint32_t number = header->files_count;
	long fd = -1;
	bool made = true;
	for (uint32_t i = 0; made && i < header->regions_count; i++) {
		const struct dump_region *region = &regions[i];
		if (region->kind == DUMP_FILE && region->file != number) {
			if (fd >= 0)
				(void)CALL(SYS_close, fd, 0, 0, 0);
			number = region->file;
			fd = CALL(SYS_openat, AT_FDCWD, text + files[number].path, O_RDONLY | O_CLOEXEC, 0);
			made = fd >= 0 && is_same_file((int)fd, &files[number]);
		}
		made = made && make_region(region, image, (int)fd);
	}
	if (fd >= 0)
		(void)CALL(SYS_close, fd, 0, 0, 0);
	return made;
}

/* Moves the kernel's own mappings to the dumped addresses. */
static bool
move_own(const struct dump_header *header, const struct process_start *started)
{
	uint64_t vdso = auxiliary(started, AT_SYSINFO_EHDR);
	for (uint32_t i = 0; i < header->moved_count; i++) {
		const struct dump_kernel_region *moved = &header->moved[i];
		uint64_t from = vdso + (uint64_t)moved->from_vdso;
		if (!vdso ||
			(from != moved->start && standin_call(SYS_mremap, (long)from, (long)moved->size, (long)moved->size,
										 MREMAP_MAYMOVE | MREMAP_FIXED, (long)moved->start, 0) != (long)moved->start))
			return false;
	}
	return true;
}

/* The next field of /proc/self/stat. */
static uint64_t
next_number(const char **at)
{
	uint64_t value = 0;
	while (**at == ' ')
		++*at;
	for (; **at >= '0' && **at <= '9'; ++*at)
		value = value * 10 + (uint64_t)(**at - '0');
	while (**at && **at != ' ')
		++*at;
	return value;
}

/* Sets the heap's end to the memory's; the arguments stay this process's own. */
static bool
set_places(const struct dump_header *header)
{
	char text[1024];
	uint64_t fields[53] = {0};
	long fd = CALL(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
	long size = fd >= 0 ? CALL(SYS_read, fd, text, sizeof(text) - 1, 0) : -1;
	if (fd >= 0)
		(void)CALL(SYS_close, fd, 0, 0, 0);
	if (size <= 0)
		return false;
	text[size] = '\0';
	while (size > 0 && text[size] != ')')
		size--;
	const char *at = text + size + 1;
	for (int i = 3; i < 53; i++)
		fields[i] = next_number(&at);
	const struct prctl_mm_map places = {.start_code = header->start_code,
		.end_code = header->end_code,
		.start_data = header->start_data,
		.end_data = header->end_data,
		.start_brk = header->start_brk,
		.brk = header->brk,
		.start_stack = fields[28],
		.arg_start = fields[48],
		.arg_end = fields[49],
		.env_start = fields[50],
		.env_end = fields[51],
		.exe_fd = (uint32_t)-1};
	return CALL(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &places, sizeof(places)) == 0;
}

/* Whether this process's stack is clear of the range that the memory's stack may grow into. */
static bool
is_away(const struct dump_header *header, const struct process_start *started)
{
	uint64_t own = (uint64_t)(uintptr_t)started->argv;
	return own + STACK_AWAY < header->stack_low || own > header->stack_high + STACK_AWAY;
}

/*
 * Executes this program again to get another stack address. An exec keeps no counter, so the kernel's random bytes
 * decide when to stop; this also ends where addresses are not random. Does nothing if the process was started by
 * another name than the interpreter's (a script by its #! line), since that name would be lost.
 */
static void
try_again(const struct process_start *started)
{
	const char *given = (const char *)auxiliary(started, AT_EXECFN);
	const uint8_t *random = (const uint8_t *)auxiliary(started, AT_RANDOM);
	if (random && *random % TRIES != 0 && equals(behind(given, 1), behind(real_path, 1)))
		(void)CALL(SYS_execve, given, started->argv, started->envp, 0);
}

static void __attribute__((noreturn)) jump(const struct dump_header *header)
{
	(void)CALL(SYS_arch_prctl, ARCH_SET_FS, header->thread_pointer, 0, 0);
	__asm__ volatile("mov %0, %%rsp\n\t"
					 "xor %%ebp, %%ebp\n\t"
					 "push %%rbp\n\t"
					 "jmp *%1"
					 :
					 : "r"(header->stack_pointer), "r"(header->resume), "D"(&handed_over)
					 : "memory");
	__builtin_unreachable();
}

/* Continues in the memory; returns if that is not possible. */
static void
standin_go_on(const struct process_start *started)
{
	struct dump_header first;
	long image = CALL(SYS_openat, AT_FDCWD, IMAGE_SHOWN, O_RDONLY | O_CLOEXEC, 0);
	if (image < 0 || CALL(SYS_pread64, image, &first, sizeof(first), 0) != (long)sizeof(first) ||
		!equals(first.magic, DUMP_MAGIC) || first.size > NOTES_MAX)
		return;
	const struct dump_header *header = (const void *)(uintptr_t)NOTES_AT; /* NOLINT: a fixed address */
	if (map(NOTES_AT, first.size, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, (int)image, 0) != (long)NOTES_AT)
		return;
	if (!fits(header, started))
		return;
	if (!is_away(header, started)) {
		try_again(started);
		return;
	}
	if (!make_regions(header, (int)image) || !move_own(header, started) || !set_places(header))
		return;
	(void)CALL(SYS_close, image, 0, 0, 0);
	handed_over = (struct dump_start){.argv = started->argv, .envp = started->envp, .real = real_path};
	jump(header);
}

/* The entry point; the stack holds argc, argv, the environment and the auxiliary vector. */
static void __attribute__((noreturn, used)) begin(char **stack)
{
	struct process_start started = {.argv = stack + 1};
	char **end = started.argv;
	while (*end)
		end++;
	started.envp = ++end;
	while (*end)
		end++;
	started.auxiliary = (const uint64_t *)(const void *)(end + 1);
	if (find_real(&started) && started.argv[0])
		standin_go_on(&started);
	go_cold(&started);
}

__asm__(".globl _start\n"
		"_start:\n\t"
		"xor %ebp, %ebp\n\t"
		"mov %rsp, %rdi\n\t"
		"and $-16, %rsp\n\t"
		"call begin\n");
