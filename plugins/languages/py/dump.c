/* SPDX-License-Identifier: MIT */
/*
 * Writes the memory of a warm process to a file.
 *
 * Theory of operation. A fork of the warm process, made only for this, walks through its mappings and writes how to
 * make each of them again: from a file of the machine, with the changed pages over it; from pages of the written file;
 * or from zero pages. /proc/self/pagemap tells changed pages from others. A program that maps all this into itself
 * (python_shim.c), sets its thread pointer and calls `resume` has the memory of the warm process and keeps everything
 * else of its own: ids, parent, descriptors, limits, signals, domains. It registers again what the kernel knows about
 * the memory: the C library's data of the thread, the signal stack, and the end of the heap (in python_shim.c).
 *
 * The fork allocates nothing meanwhile; its notes are in a mapping of their own, which it does not write. If a mapping
 * cannot be made again (shared memory, a deleted file, anything unknown), there is no file.
 */
#include <config.h>

#include "dump.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PAGE 4096u
#define MAPS_MAX (4u << 20) /* bytes of /proc/self/maps */
#define STAT_MAX 2048
#define STAT_FIELDS 52
#define CONTENTS (4u << 20) /* offset of the pages in the file */
#define GAP 16              /* unchanged pages between changed ones that are written too, to save a mapping */
#define CHUNK 512           /* entries of pagemap per read */
#define NO_PAGE UINT64_MAX
#define RSEQ_BYTES 32
#define RSEQ_SIGNATURE 0x53053053
#define RSEQ_FAILED ((int32_t)-2) /* the C library then uses getcpu */
#define ARCH_GET_PERMISSIONS 0x1022
#define ARCH_ASK_PERMISSION 0x1023
#define TILE_DATA 18 /* the only state that needs a permission */

#ifndef SYS_rseq
#define SYS_rseq 334
#endif

/* Registered with the kernel; dump_restore_kernel_state registers it again. */
static struct {
	pid_t *tid;
	void *robust;
	size_t robust_size;
	stack_t stack;
	uint64_t permissions;
} kept;

/* A line of /proc/self/maps. */
struct mapping {
	uint64_t start, end, offset, inode;
	char flags[5]; /* rwxp */
	char *name;    /* "" for none */
};

/* In a mapping of its own, which is not written. */
struct notes {
	struct dump_header header;
	struct dump_region regions[DUMP_REGIONS_MAX];
	struct dump_file files[DUMP_FILES_MAX];
	char text[DUMP_TEXT_MAX];
	char maps[MAPS_MAX];
	uint64_t pages[CHUNK];
	uint32_t text_used;
	int fd, pagemap;
	uint64_t end; /* offset behind the written pages */
	const struct dump_process *process;
};

/* ---- notes ---- */

/* Copies a text into the notes. Returns the copy's offset; 0 (the empty text) if there is no room. */
static uint32_t
add_text(struct notes *notes, const char *text)
{
	size_t size = strlen(text) + 1;
	if (size > DUMP_TEXT_MAX - notes->text_used)
		return 0;
	uint32_t at = notes->text_used;
	memcpy(notes->text + at, text, size);
	notes->text_used += (uint32_t)size;
	return at;
}

static int
add_region(struct notes *notes, const struct dump_region *region)
{
	if (notes->header.regions_count == DUMP_REGIONS_MAX)
		return -1;
	notes->regions[notes->header.regions_count++] = *region;
	return 0;
}

static uint8_t
protection_of(const struct mapping *mapping)
{
	return (uint8_t)((mapping->flags[0] == 'r' ? PROT_READ : 0) | (mapping->flags[1] == 'w' ? PROT_WRITE : 0) |
					 (mapping->flags[2] == 'x' ? PROT_EXEC : 0));
}

/* Appends pages to the file; returns their offset, or NO_PAGE. */
static uint64_t
write_pages(struct notes *notes, uint64_t start, uint64_t size)
{
	uint64_t at = notes->end;
	for (uint64_t done = 0; done < size;) {
		ssize_t n = pwrite(notes->fd, (const char *)(uintptr_t)start + done, size - done, (off_t)(at + done));
		if (n <= 0)
			return NO_PAGE;
		done += (uint64_t)n;
	}
	notes->end += size;
	return at;
}

/* ---- pages ---- */

/* Whether a page belongs to the process alone: swapped out, or present and not a file's. */
static bool
is_own(uint64_t entry)
{
	bool present = entry >> 63 & 1, swapped = entry >> 62 & 1, files = entry >> 61 & 1;
	return swapped || (present && !files);
}

/* The first page from `at` on with is_own(page) == own; `end` if there is none, NO_PAGE on failure. */
static uint64_t
find_page(struct notes *notes, uint64_t at, uint64_t end, bool own)
{
	while (at < end) {
		uint64_t count = (end - at) / PAGE < CHUNK ? (end - at) / PAGE : CHUNK;
		ssize_t n =
			pread(notes->pagemap, notes->pages, count * sizeof(uint64_t), (off_t)(at / PAGE * sizeof(uint64_t)));
		if (n < (ssize_t)sizeof(uint64_t))
			return NO_PAGE;
		for (size_t i = 0; i < (size_t)n / sizeof(uint64_t); i++, at += PAGE)
			if (is_own(notes->pages[i]) == own)
				return at;
	}
	return end;
}

/* The next run of own pages from `at` on, with gaps of up to GAP pages. 1; 0: none; -1: failure. */
static int
find_run(struct notes *notes, uint64_t at, uint64_t end, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = find_page(notes, at, end, true), stop = start;
	if (start == NO_PAGE || start == end)
		return start == end ? 0 : -1;
	for (;;) {
		stop = find_page(notes, stop, end, false);
		uint64_t next = stop == NO_PAGE ? NO_PAGE : find_page(notes, stop, end, true);
		if (next == NO_PAGE)
			return -1;
		if (next == end || next - stop > GAP * PAGE)
			break;
		stop = next;
	}
	*ret_start = start;
	*ret_end = stop;
	return 1;
}

/* ---- mappings ---- */

/*
 * Writes changed pages of a mapping. Pages of code are read into memory later, not mapped: the file may be on a noexec
 * mount.
 */
static int
keep_run(struct notes *notes, const struct mapping *mapping, uint64_t start, uint64_t end, bool over)
{
	uint8_t protection = protection_of(mapping);
	uint64_t at = protection & PROT_READ ? write_pages(notes, start, end - start) : NO_PAGE;
	if (at == NO_PAGE)
		return -1;
	struct dump_region region = {.start = start, .size = end - start, .offset = at, .kind = DUMP_KEPT, .over = over};
	region.protection = protection;
	if (!(protection & PROT_EXEC))
		return add_region(notes, &region);
	struct dump_region zero = region, fill = region, guard = region;
	fill.over = guard.over = true;
	zero.kind = DUMP_ZERO;
	zero.protection = PROT_READ | PROT_WRITE;
	fill.kind = DUMP_FILL;
	guard.kind = DUMP_GUARD;
	return add_region(notes, &zero) || add_region(notes, &fill) || add_region(notes, &guard) ? -1 : 0;
}

static int
add_zero(struct notes *notes, const struct mapping *mapping, uint64_t start, uint64_t end)
{
	const struct dump_region region = {
		.start = start, .size = end - start, .kind = DUMP_ZERO, .protection = protection_of(mapping)};
	return start == end ? 0 : add_region(notes, &region);
}

static int
keep_plain(struct notes *notes, const struct mapping *mapping)
{
	uint64_t at = mapping->start, start = 0, end = 0;
	int rc;
	while ((rc = find_run(notes, at, mapping->end, &start, &end)) > 0) {
		if (add_zero(notes, mapping, at, start) || keep_run(notes, mapping, start, end, false))
			return -1;
		at = end;
	}
	return rc ? rc : add_zero(notes, mapping, at, mapping->end);
}

static int
keep_stack(struct notes *notes, const struct mapping *mapping)
{
	struct dump_region region = {.start = mapping->start,
		.size = mapping->end - mapping->start,
		.kind = DUMP_STACK,
		.protection = protection_of(mapping)};
	uint64_t start = find_page(notes, mapping->start, mapping->end, true);
	uint64_t limit = notes->header.stack_limit;
	if (start == NO_PAGE || start == mapping->end || add_region(notes, &region))
		return -1;
	notes->header.stack_high = mapping->end;
	notes->header.stack_low = limit < mapping->end ? mapping->end - limit : 0;
	region.start = start;
	region.size = mapping->end - start;
	region.kind = DUMP_FILL;
	region.offset = write_pages(notes, start, region.size);
	return region.offset == NO_PAGE ? -1 : add_region(notes, &region);
}

/* Returns the index of a mapping's file in the header; -1: it cannot be opened again. */
static int
number_of(struct notes *notes, const struct mapping *mapping)
{
	uint32_t count = notes->header.files_count;
	struct stat st;
	for (uint32_t i = count; i-- > 0;)
		if (notes->files[i].inode == mapping->inode && strcmp(notes->text + notes->files[i].path, mapping->name) == 0)
			return (int)i;
	if (count == DUMP_FILES_MAX || stat(mapping->name, &st) || st.st_ino != mapping->inode)
		return -1;
	notes->files[count] = (struct dump_file){.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
		.path = add_text(notes, mapping->name)};
	notes->header.files_count++;
	return notes->files[count].path ? (int)count : -1;
}

/* Whether the mapping is this extension's, whose file a sandbox may not show. */
static bool
is_own_code(const struct mapping *mapping)
{
	Dl_info info = {0};
	return dladdr(&kept, &info) && info.dli_fname && strcmp(info.dli_fname, mapping->name) == 0;
}

static int
keep_file(struct notes *notes, const struct mapping *mapping)
{
	bool shared = mapping->flags[3] == 's';
	if (is_own_code(mapping))
		return mapping->flags[0] == 'r' ? keep_run(notes, mapping, mapping->start, mapping->end, false)
										: add_zero(notes, mapping, mapping->start, mapping->end);
	int number = number_of(notes, mapping);
	if (number < 0 || (shared && mapping->flags[1] == 'w'))
		return -1;
	const struct dump_region region = {.start = mapping->start,
		.size = mapping->end - mapping->start,
		.offset = mapping->offset,
		.file = (uint32_t)number,
		.kind = DUMP_FILE,
		.protection = protection_of(mapping),
		.shared = shared};
	if (add_region(notes, &region))
		return -1;
	uint64_t at = mapping->start, end = 0;
	int rc = 0;
	while (!shared && (rc = find_run(notes, at, mapping->end, &at, &end)) > 0) {
		if (keep_run(notes, mapping, at, end, true))
			return -1;
		at = end;
	}
	return rc;
}

static int
keep_moved(struct notes *notes, const struct mapping *mapping)
{
	struct dump_header *header = &notes->header;
	if (header->moved_count == DUMP_MOVED_MAX)
		return -1;
	header->moved[header->moved_count++] = (struct dump_kernel_region){.start = mapping->start,
		.size = mapping->end - mapping->start,
		.from_vdso = (int64_t)(mapping->start - getauxval(AT_SYSINFO_EHDR))};
	return 0;
}

static int
dump_keep(struct notes *notes, struct mapping *mapping)
{
	if (mapping->start == (uint64_t)(uintptr_t)notes || strcmp(mapping->name, "[vsyscall]") == 0)
		return 0;
	if (strncmp(mapping->name, "[v", 2) == 0)
		return keep_moved(notes, mapping);
	if (strcmp(mapping->name, "[stack]") == 0)
		return keep_stack(notes, mapping);
	if (mapping->name[0] == '/')
		return keep_file(notes, mapping);
	if (mapping->flags[3] != 'p')
		return -1;
	bool plain = !mapping->name[0] || strcmp(mapping->name, "[heap]") == 0 || strncmp(mapping->name, "[anon:", 6) == 0;
	return plain ? keep_plain(notes, mapping) : -1;
}

/* Parses and terminates the line. Returns the next one, or NULL. */
static char *
read_mapping(char *line, struct mapping *ret_mapping)
{
	char *end = strchr(line, '\n');
	unsigned long start = 0, stop = 0, offset = 0, inode = 0;
	int name = 0;
	if (!end)
		return NULL;
	*end = '\0';
	if (sscanf(line, "%lx-%lx %4s %lx %*s %lu %n", &start, &stop, ret_mapping->flags, &offset, &inode, &name) < 5)
		return NULL;
	ret_mapping->start = start;
	ret_mapping->end = stop;
	ret_mapping->offset = offset;
	ret_mapping->inode = inode;
	ret_mapping->name = line + name;
	return end + 1;
}

/* Reads a small file of /proc, NUL-terminated. Returns its bytes; 0: too long or not readable. */
static size_t
read_dump_all(const char *path, char *into, size_t size)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 0;
	while (fd >= 0 && used < size && (n = read(fd, into + used, size - used)) > 0)
		used += (size_t)n;
	if (fd < 0 || n < 0 || used == size)
		return 0;
	into[used] = '\0';
	return used;
}

static int
keep_all(struct notes *notes)
{
	struct mapping mapping = {0};
	if (!read_dump_all("/proc/self/maps", notes->maps, sizeof(notes->maps)))
		return -1;
	for (char *line = notes->maps; line[0];) {
		line = read_mapping(line, &mapping);
		if (!line || dump_keep(notes, &mapping))
			return -1;
	}
	return notes->header.stack_high && notes->header.moved_count ? 0 : -1;
}

/* ---- what the kernel knows ---- */

/* The addresses of code, data and heap. */
static int
note_places(struct dump_header *header)
{
	char text[STAT_MAX];
	unsigned long fields[STAT_FIELDS + 1] = {0};
	const char *at = read_dump_all("/proc/self/stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	for (int i = 3; at && i <= STAT_FIELDS; i++) {
		at = strchr(at + 1, ' ');
		if (at)
			fields[i] = strtoul(at + 1, NULL, 10);
	}
	header->start_code = fields[26];
	header->end_code = fields[27];
	header->start_data = fields[45];
	header->end_data = fields[46];
	header->start_brk = fields[47];
	header->brk = (uint64_t)(uintptr_t)sbrk(0);
	return header->start_code && header->start_brk && header->start_brk <= header->brk ? 0 : -1;
}

static int
note_thread(void)
{
	if (prctl(PR_GET_TID_ADDRESS, &kept.tid, 0, 0, 0) || !kept.tid || *kept.tid != getpid())
		return -1;
	if (syscall(SYS_get_robust_list, 0, &kept.robust, &kept.robust_size) || sigaltstack(NULL, &kept.stack))
		return -1;
#ifdef __x86_64__
	if (syscall(SYS_arch_prctl, ARCH_GET_PERMISSIONS, &kept.permissions))
		kept.permissions = 0;
#endif
	return 0;
}

static int
note_process(struct notes *notes)
{
	struct dump_header *header = &notes->header;
	struct rlimit limit;
	long cores = syscall(SYS_sched_getaffinity, 0, sizeof(header->cores), header->cores);
	if (getrlimit(RLIMIT_STACK, &limit) || cores < 0)
		return -1;
	header->stack_limit = limit.rlim_cur;
	header->cores_size = (uint32_t)cores;
	header->personality = (uint32_t)personality(0xffffffff);
	(void)snprintf(header->letters, sizeof(header->letters), "%s", notes->process->letters);
	header->executable = add_text(notes, notes->process->executable);
	header->environment = notes->text_used;
	for (char **item = environ; *item; item++, header->environment_count++)
		if (!add_text(notes, *item))
			return -1;
	return header->executable ? 0 : -1;
}

/* Sandboxes show the interpreter's file at another path. */
static int
rename_interpreter(struct notes *notes)
{
	for (uint32_t i = 0; i < notes->header.files_count; i++)
		if (strcmp(notes->text + notes->files[i].path, notes->process->real) == 0)
			return (notes->files[i].path = add_text(notes, notes->process->shown)) ? 0 : -1;
	return -1;
}

/* Writes the magic last, so that an incomplete file is not valid. */
static int
write_notes(struct notes *notes)
{
	struct dump_header *header = &notes->header;
	header->regions = sizeof(*header);
	header->files = header->regions + header->regions_count * sizeof(*notes->regions);
	header->text = header->files + header->files_count * sizeof(*notes->files);
	header->size = header->text + notes->text_used;
	const struct {
		const void *data;
		uint64_t size, at;
	} parts[] = {{notes->regions, header->files - header->regions, header->regions},
		{notes->files, header->text - header->files, header->files}, {notes->text, notes->text_used, header->text},
		{header, sizeof(*header), 0}};
	memcpy(header->magic, DUMP_MAGIC, sizeof(header->magic));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (pwrite(notes->fd, parts[i].data, parts[i].size, (off_t)parts[i].at) != (ssize_t)parts[i].size)
			return -1;
	return header->size <= CONTENTS ? 0 : -1;
}

int __attribute__((noinline)) dump_write(int fd, const struct dump_process *process)
{
	/* Shared, so that the kernel merges it with no other mapping. */
	struct notes *notes =
		mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (notes == MAP_FAILED)
		return -1;
	struct dump_header *header = &notes->header;
	notes->fd = fd;
	notes->end = CONTENTS;
	notes->text_used = 1;
	notes->process = process;
	notes->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	header->resume = (uint64_t)(uintptr_t)process->resume;
	header->thread_pointer = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	/* `resume` needs no deeper frame. */
	header->stack_pointer = (uint64_t)(uintptr_t)__builtin_frame_address(0) & ~UINT64_C(15);
	int rc = notes->pagemap < 0 || note_places(header) || note_thread() || note_process(notes) || keep_all(notes) ||
					 rename_interpreter(notes) || write_notes(notes)
				 ? -1
				 : 0;
	if (notes->pagemap >= 0)
		close(notes->pagemap);
	munmap(notes, sizeof(*notes));
	return rc;
}

/* ---- in the process that continues ---- */

/* Registers the C library's struct rseq, which is in the thread's memory. */
static void
settle_rseq(void)
{
	const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
	const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
	if (!offset || !size || !*size)
		return;
	struct {
		uint32_t start;
		int32_t core;
		uint64_t section;
	} *place = (void *)((char *)__builtin_thread_pointer() + *offset);
	place->start = 0;
	place->core = -1;
	place->section = 0;
	if (syscall(SYS_rseq, place, RSEQ_BYTES, 0, RSEQ_SIGNATURE))
		place->core = RSEQ_FAILED;
}

void
dump_restore_kernel_state(void)
{
	*kept.tid = (pid_t)syscall(SYS_set_tid_address, kept.tid);
	(void)syscall(SYS_set_robust_list, kept.robust, kept.robust_size);
	if (!(kept.stack.ss_flags & SS_DISABLE))
		(void)sigaltstack(&kept.stack, NULL);
#ifdef __x86_64__
	if (kept.permissions >> TILE_DATA & 1)
		(void)syscall(SYS_arch_prctl, ARCH_ASK_PERMISSION, TILE_DATA);
#endif
	settle_rseq();
}
