/* SPDX-License-Identifier: MIT */
/* A heap in shared memory: what malloc puts there, and what forks and threads do to it. */
#include <config.h>

#include "shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit_test.h"

#define MIB ((size_t)1 << 20)
#define OFFSET (4 * MIB)
#define BYTES (64 * MIB)
#define RESULT (8 * MIB)

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			(void)fprintf(stderr, "# line %d: %s\n", __LINE__, #condition); \
			_exit(1); \
		} \
	} while (0)

/* A memfd whose later part lies in the heap, and a second view of that part, as a referee has one. */
struct memory {
	int fd;
	char *heap, *view;
};

static struct memory
share(void)
{
	struct memory memory = {.fd = memfd_create("test", MFD_CLOEXEC)};
	CHECK(memory.fd >= 0 && ftruncate(memory.fd, (off_t)(OFFSET + BYTES)) == 0);
	memory.heap = kettle_share_heap(memory.fd, OFFSET, BYTES);
	CHECK(memory.heap);
	memory.view = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, memory.fd, (off_t)OFFSET);
	CHECK(memory.view != MAP_FAILED);
	return memory;
}

/* A new result, filled with a byte. Whether it is in shared memory. */
static bool
is_inside(const struct memory *memory, const char *result)
{
	return result >= memory->heap && result + RESULT <= memory->heap + BYTES;
}
static char *
make_result(const struct memory *memory, int byte)
{
	char *result = malloc(RESULT);
	CHECK(result);
	memset(result, byte, RESULT);
	CHECK(is_inside(memory, result));
	return result;
}

/* Whether all bytes of a result, as others see it, are this one. */
static bool
is_seen(const struct memory *memory, const char *result, int byte)
{
	const char *seen = memory->view + (result - memory->heap);
	return seen[0] == byte && memcmp(seen, seen + 1, RESULT - 1) == 0;
}

static uint64_t
touched(const struct memory *memory)
{
	struct stat st;
	CHECK(fstat(memory->fd, &st) == 0);
	return (uint64_t)st.st_blocks * 512;
}

static int
wait_for(pid_t pid)
{
	int status = 0;
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

/* Runs a test in a process of its own, since a heap is shared once. */
static void
run_apart(void (*test)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		test();
		_exit(0);
	}
	assert_int_equal(wait_for(pid), 0);
}

/* ---- results ---- */

static void
check_limited(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct rlimit limit = {16 * MIB, RLIM_INFINITY};
	CHECK(fd >= 0 && ftruncate(fd, (off_t)(OFFSET + BYTES)) == 0 && setrlimit(RLIMIT_DATA, &limit) == 0);
	CHECK(!kettle_share_heap(fd, OFFSET, BYTES) && errno == ENOTSUP && !kettle_heap_is_shared());
	limit.rlim_cur = RLIM_INFINITY;
	CHECK(setrlimit(RLIMIT_DATA, &limit) == 0 && kettle_share_heap(fd, OFFSET, BYTES));
}
static void
test_limited(void **state)
{
	(void)state;
	run_apart(check_limited);
}

static void
check_results(void)
{
	struct memory memory = share();
	CHECK(kettle_heap_is_shared() && touched(&memory) <= 16384);
	CHECK(!kettle_share_heap(memory.fd, OFFSET, BYTES) && errno == EALREADY);
	char *one = make_result(&memory, 1), *two = make_result(&memory, 2);
	CHECK(is_seen(&memory, one, 1) && is_seen(&memory, two, 2) && touched(&memory) < 2 * RESULT + 65536);
	free(one);
	/* What is freed is used again, and cleared where that was requested. */
	char *zeros = calloc(1, RESULT);
	CHECK(zeros && is_inside(&memory, zeros) && is_seen(&memory, zeros, 0) && is_seen(&memory, two, 2));
	free(two);
	/* Neither leaves the heap another place than that of the memfd. */
	malloc_trim(0);
	two = make_result(&memory, 3);
	CHECK(is_seen(&memory, two, 3) && is_seen(&memory, zeros, 0));
	/* What finds no place there is elsewhere. */
	char *large = malloc(BYTES + 1);
	CHECK(large && (large >= memory.heap + BYTES || large + BYTES < memory.heap));
	large[0] = large[BYTES] = 1;
	free(large);
}
static void
test_results(void **state)
{
	(void)state;
	run_apart(check_results);
}

/* ---- other processes ---- */

static void
check_fork(void)
{
	struct memory memory = share();
	char *before = make_result(&memory, 1);
	int ends[2];
	char byte = 0;
	CHECK(pipe(ends) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		/* Its parent has written by now; this one sees what there was. Without that end it ends with a parent that fails. */
		CHECK(close(ends[1]) == 0 && read(ends[0], &byte, 1) == 1 && !kettle_heap_is_shared());
		CHECK(before[0] == 1 && memcmp(before, before + 1, RESULT - 1) == 0);
		memset(before, 9, RESULT);
		free(before);
		for (int i = 0; i < 20; i++)
			memset(malloc(RESULT), 9, RESULT);
		_exit(0);
	}
	CHECK(!kettle_heap_is_shared());
	char *after = malloc(RESULT);
	CHECK(after);
	memset(before, 2, RESULT);
	memset(after, 3, RESULT);
	CHECK(write(ends[1], "", 1) == 1 && wait_for(pid) == 0);
	CHECK(before[0] == 2 && memcmp(before, before + 1, RESULT - 1) == 0);
	CHECK(after[0] == 3 && memcmp(after, after + 1, RESULT - 1) == 0);
	/* The memfd has what was there before. */
	CHECK(is_seen(&memory, before, 1));
	free(before);
	free(after);
	pid = fork();
	if (pid == 0) {
		free(malloc(RESULT));
		_exit(0);
	}
	CHECK(wait_for(pid) == 0);
}
static void
test_fork(void **state)
{
	(void)state;
	run_apart(check_fork);
}

/* posix_spawn, vfork and system take the memory as it is. */
static void
check_spawn(void)
{
	extern char **environ;
	struct memory memory = share();
	char *result = make_result(&memory, 1), *argv[] = {strdup("true"), NULL};
	pid_t pid = 0;
	CHECK(posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0 && wait_for(pid) == 0);
	CHECK(system("true") == 0);
	memset(result, 2, RESULT);
	CHECK(kettle_heap_is_shared() && is_seen(&memory, result, 2));
}
static void
test_spawn(void **state)
{
	(void)state;
	run_apart(check_spawn);
}

/* A process that is made past the handlers cannot disturb its parent. */
static void
check_clone(void)
{
	struct memory memory = share();
	char *volatile result = make_result(&memory, 1);
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		result[0] = 9;
		_exit(0);
	}
	int status = wait_for(pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(kettle_heap_is_shared() && is_seen(&memory, result, 1));
}
static void
test_clone(void **state)
{
	(void)state;
	run_apart(check_clone);
}

/* A program that closes descriptors which it did not open, or has opened others since, keeps its own heap. */
static void
check_closed(void)
{
	struct memory memory = share();
	char *volatile result = make_result(&memory, 1);
	for (int fd = 3; fd < 100; fd++)
		(void)close(fd);
	for (int fd = 0; fd < 20;) {
		fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
		CHECK(fd >= 0);
	}
	pid_t pid = fork();
	if (pid == 0) {
		result[0] = 9;
		_exit(0);
	}
	CHECK(WIFSIGNALED(wait_for(pid)));
	CHECK(kettle_heap_is_shared() && is_seen(&memory, result, 1));
}
static void
test_closed(void **state)
{
	(void)state;
	run_apart(check_closed);
}

/* ---- threads that use the heap while another one forks ---- */

#define THREADS 3
#define BLOCKS 16

static atomic_bool stop;

/* Keeps blocks of many sizes, each filled with a byte of its own, and checks them before it frees them. */
static void *
use_heap(void *arg)
{
	unsigned seed = *(unsigned *)arg;
	unsigned char *blocks[BLOCKS] = {0};
	size_t sizes[BLOCKS] = {0};
	for (unsigned round = 0; !stop; round++) {
		unsigned i = (unsigned)rand_r(&seed) % BLOCKS;
		for (size_t at = 0; blocks[i] && at < sizes[i]; at += 61)
			CHECK(blocks[i][at] == (unsigned char)i);
		free(blocks[i]);
		sizes[i] = 1 + (size_t)rand_r(&seed) % (round % 8 == 0 ? 300000 : 2000);
		blocks[i] = malloc(sizes[i]);
		CHECK(blocks[i]);
		memset(blocks[i], (int)i, sizes[i]);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

/* In one thread, as a child that goes on with the heap of its parent: every call checks malloc's own data. */
static void
use_heap_for_a_while(void)
{
	for (size_t i = 0; i < 40; i++) {
		char *block = malloc(i * 977 % 400000 + 1);
		CHECK(block);
		memset(block, 5, i * 977 % 400000 + 1);
		if (i % 3)
			free(block);
	}
	malloc_trim(0);
}

static void
check_threads(void)
{
	pthread_t threads[THREADS];
	unsigned seeds[THREADS];
	(void)mallopt(M_ARENA_MAX, 1);
	(void)share();
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = i + (unsigned)getpid();
		CHECK(pthread_create(&threads[i], NULL, use_heap, &seeds[i]) == 0);
	}
	for (int round = 0; round < 2; round++) {
		use_heap_for_a_while();
		pid_t pid = fork();
		if (pid == 0) {
			use_heap_for_a_while();
			_exit(0);
		}
		CHECK(wait_for(pid) == 0);
	}
	stop = true;
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	malloc_trim(0);
}
static void
test_threads(void **state)
{
	(void)state;
	for (int i = 0; i < (everything_runs() ? 50 : 3); i++)
		run_apart(check_threads);
}

/* Threads that fork at the same time. */
static void *
fork_once(void *arg)
{
	pid_t pid = fork();
	if (pid == 0) {
		use_heap_for_a_while();
		_exit(0);
	}
	CHECK(wait_for(pid) == 0);
	return arg;
}
static void
check_forks(void)
{
	pthread_t threads[THREADS];
	(void)mallopt(M_ARENA_MAX, 1);
	(void)share();
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, fork_once, NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(!kettle_heap_is_shared());
	use_heap_for_a_while();
}
static void
test_forks(void **state)
{
	(void)state;
	for (int i = 0; i < (everything_runs() ? 50 : 3); i++)
		run_apart(check_forks);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_limited),
	cmocka_unit_test(test_results),
	cmocka_unit_test(test_fork),
	cmocka_unit_test(test_spawn),
	cmocka_unit_test(test_clone),
	cmocka_unit_test(test_closed),
	cmocka_unit_test(test_threads),
	cmocka_unit_test(test_forks),
};
/* The C library's malloc alone uses the program break. */
static const char *
lacks_malloc(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return "a sanitizer brings its own malloc";
#else
	return NULL;
#endif
}
UNIT_TESTS(test_shared_heap, .words = "plain", .prepare = lacks_malloc);
