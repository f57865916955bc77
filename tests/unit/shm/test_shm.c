/* SPDX-License-Identifier: MIT */
/* Cold cache lines, and requests for a shared heap that are refused. */
#include <config.h>

#include "shm/shm.h"

#include <errno.h>
#include <kettle/control_page.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/unit_test.h"

#define OFFSET ((size_t)4 << 20)
#define BYTES ((size_t)64 << 20)

/* ---- the control page, whose places docs/protocol.md and exchange.py name by numbers ---- */

static void
test_control_page(void **state)
{
	(void)state;
	assert_int_equal(sizeof(KETTLE_CONTROL_MAGIC) - 1, 8);
	assert_int_equal(offsetof(struct kettle_control_page, head.magic), 0);
	assert_int_equal(offsetof(struct kettle_control_page, head.inputs), 8);
	assert_int_equal(offsetof(struct kettle_control_page, head.outputs), 16);
	assert_int_equal(offsetof(struct kettle_control_page, head.outputs_end), 24);
	assert_int_equal(offsetof(struct kettle_control_page, input.structure), 64);
	assert_int_equal(offsetof(struct kettle_control_page, input.structure_bytes), 72);
	assert_int_equal(offsetof(struct kettle_control_page, input.buffers), 80);
	assert_int_equal(offsetof(struct kettle_control_page, input.buffers_count), 88);
	assert_int_equal(offsetof(struct kettle_control_page, input.structure_late), 96);
	assert_int_equal(offsetof(struct kettle_control_page, answer.nonce), 128);
	assert_int_equal(offsetof(struct kettle_control_page, answer.status), 136);
	assert_int_equal(offsetof(struct kettle_control_page, answer.table), 144);
	assert_int_equal(offsetof(struct kettle_control_page, answer.table_bytes), 152);
	assert_int_equal(sizeof(struct kettle_control_page), 192);
	assert_int_equal(offsetof(struct kettle_control_buffer, bytes), 8);
	assert_int_equal(sizeof(struct kettle_control_buffer), 16);
	assert_int_equal(offsetof(struct kettle_control_message, nonce), 8);
	assert_int_equal(sizeof(struct kettle_control_message), 16);
}

/* ---- caches ---- */

static void
test_flush(void **state)
{
	static unsigned char bytes[3 * 4096];
	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7);
#if defined(__x86_64__) || defined(__aarch64__)
	const int expected = 0;
#else
	const int expected = -1;
#endif
	assert_int_equal(kettle_flush(bytes, sizeof(bytes)), expected);
	assert_int_equal(kettle_flush(bytes + 1, 130), expected);
	assert_int_equal(kettle_flush(bytes, 0), expected);
	assert_int_equal(kettle_flush(NULL, 0), expected);
	uint64_t ns[3] = {0};
	kettle_probe(ns);
	assert_true(ns[0] > 0 && ns[1] > 0 && ns[2] > 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], (unsigned char)(i * 7));
}

static int
make_memfd(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(OFFSET + BYTES)), 0);
	return fd;
}

static void
test_refused(void **state)
{
	int fd = make_memfd();
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct {
		int fd;
		size_t offset, bytes;
		int error;
	} cases[] = {
		{-1, 0, BYTES, EBADF},
		{fd, 0, 0, EINVAL},
		{fd, 1, BYTES, EINVAL},
		{fd, 0, BYTES + 1, EINVAL},
		{fd, OFFSET + page, BYTES, EINVAL},
		{fd, OFFSET + BYTES + page, page, EINVAL},
		{fd, SIZE_MAX - page + 1, page, EINVAL},
		{fd, page, SIZE_MAX - page + 1, EINVAL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		errno = 0;
		assert_null(kettle_share_heap(cases[i].fd, cases[i].offset, cases[i].bytes));
		assert_int_equal(errno, cases[i].error);
		assert_int_equal(kettle_heap_is_shared(), 0);
	}
	close(fd);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* A sanitizer's malloc does not use the program break, and goes on. */
static void
test_other_malloc(void **state)
{
	(void)state;
	int fd = make_memfd();
	assert_null(kettle_share_heap(fd, OFFSET, BYTES));
	assert_int_equal(errno, ENOTSUP);
	free(malloc(BYTES));
	close(fd);
}
#endif

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_control_page),
	cmocka_unit_test(test_flush),
	cmocka_unit_test(test_refused),
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	cmocka_unit_test(test_other_malloc),
#endif
};
UNIT_TESTS(test_shm);
