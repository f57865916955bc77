/* SPDX-License-Identifier: MIT */
/* Who waits for what: device locks, build slots, builds of the same. */
#include <config.h>

#include <dirent.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/build/build.h"
#include "exec/machine/machine.h"
#include "exec/util/work.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static char granted[16];

static void
note(void *arg)
{
	strcat(granted, arg);
}

static void
names_stay_inside(void **state)
{
	(void)state;
	static const struct {
		const char *name, *wanted; /* a prefix where it ends with a dot */
	} cases[] = {{"gpu-0", "gpu-0"}, {"cores-1,2", "cores-1,2"}, {"../x", "_._x."}, {"", "."}, {".", "_."},
		{"a/b", "a_b."}, {"a b", "a_b."}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *name = devlock_name(cases[i].name);
		size_t len = strlen(cases[i].wanted);
		bool prefix = cases[i].wanted[len - 1] == '.';
		assert_int_equal(strncmp(name, cases[i].wanted, len), 0);
		assert_int_equal(strlen(name), prefix ? len + 16 : len);
		assert_null(strchr(name, '/'));
	}
	char big[1000];
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	AUTO_FREE char *name = devlock_name(big);
	assert_true(strlen(name) < 200);
}

static void
run(uv_loop_t *loop, const char *until)
{
	for (int i = 0; i < 1000 && strcmp(granted, until) != 0; i++)
		(void)uv_run(loop, UV_RUN_ONCE);
	assert_string_equal(granted, until);
}

/* Two tables are as two processes: their locks are of different open files. */
static void
locks_exclude(void **state)
{
	(void)state;
	char *dir = scratch_make();
	uv_loop_t loop;
	struct devlock_table one, two;
	struct devlock a = {.fd = -1}, b = a, c = a, d = a, e = a;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(devlock_open(&one, &loop, dir, NULL), 0);
	assert_int_equal(devlock_open(&two, &loop, dir, NULL), 0);
	granted[0] = '\0';
	assert_false(devlock_others_hold(&two));
	assert_int_equal(devlock_acquire(&one, &a, "x", 1, 10, note, "a", NULL), 1);
	assert_true(devlock_others_hold(&two));
	assert_false(devlock_others_hold(&one));
	assert_int_equal(devlock_acquire(&two, &b, "x", 1, 1, note, "b", NULL), 0);
	assert_true(devlock_others_hold(&two));
	assert_int_equal(devlock_acquire(&one, &c, "x", 1, 30, note, "c", NULL), 0);
	assert_int_equal(devlock_acquire(&one, &d, "x", 1, 20, note, "d", NULL), 0);
	/* Another device is another matter. */
	assert_int_equal(devlock_acquire(&one, &e, "y", 1, 40, note, "e", NULL), 1);
	assert_string_equal(granted, "");
	devlock_release(&two, &b);
	devlock_release(&one, &a);
	run(&loop, "d");
	assert_true(d.waited_ns > 0);
	devlock_release(&one, &d);
	run(&loop, "dc");
	assert_int_equal(devlock_acquire(&two, &b, "x", 1, 1, note, "b", NULL), 0);
	devlock_release(&one, &c);
	run(&loop, "dcb");
	devlock_release(&two, &b);
	devlock_release(&two, &b);
	devlock_release(&one, &e);
	assert_false(devlock_others_hold(&one));
	assert_false(devlock_others_hold(&two));
	devlock_close(&one);
	devlock_close(&two);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	scratch_remove(dir);
}

static void
locks_have_slots(void **state)
{
	(void)state;
	char *dir = scratch_make();
	uv_loop_t loop;
	struct devlock_table table;
	struct devlock a = {.fd = -1}, b = a, c = a;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(devlock_open(&table, &loop, dir, NULL), 0);
	granted[0] = '\0';
	assert_int_equal(devlock_acquire(&table, &a, "x", 2, 1, note, "a", NULL), 1);
	assert_int_equal(devlock_acquire(&table, &b, "x", 2, 1, note, "b", NULL), 1);
	assert_int_equal(devlock_acquire(&table, &c, "x", 2, 1, note, "c", NULL), 0);
	assert_int_not_equal(a.slot, b.slot);
	devlock_release(&table, &b);
	run(&loop, "c");
	assert_int_equal(c.slot, 1);
	devlock_release(&table, &a);
	devlock_release(&table, &c);
	devlock_close(&table);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	scratch_remove(dir);
}

static void
slots_are_counted(void **state)
{
	(void)state;
	struct build_slots builds = {.max = 2};
	struct build_waiter a = {0}, b = a, c = a, d = a, e = a;
	granted[0] = '\0';
	assert_true(build_slots_acquire(&builds, &a, note, "a"));
	assert_true(build_slots_acquire(&builds, &b, note, "b"));
	assert_false(build_slots_acquire(&builds, &c, note, "c"));
	assert_false(build_slots_acquire(&builds, &d, note, "d"));
	assert_false(build_slots_acquire(&builds, &e, note, "e"));
	build_slots_release(&builds, &d);
	build_slots_release(&builds, &a);
	assert_string_equal(granted, "c");
	build_slots_release(&builds, &a);
	build_slots_release(&builds, &b);
	assert_string_equal(granted, "ce");
	build_slots_release(&builds, &c);
	build_slots_release(&builds, &e);
	assert_int_equal(builds.running, 0);
	assert_null(builds.queue);
}

static void
same_builds_follow_each_other(void **state)
{
	(void)state;
	struct build_slots builds = {.max = 2};
	struct build_inflight a = {0}, b = a, c = a, other = a;
	char key[DIGEST_HEX_SIZE] = "k", second[DIGEST_HEX_SIZE] = "l";
	granted[0] = '\0';
	assert_true(build_slots_begin(&builds, &a, key, note, "a"));
	assert_false(build_slots_begin(&builds, &b, key, note, "b"));
	assert_false(build_slots_begin(&builds, &c, key, note, "c"));
	assert_true(build_slots_begin(&builds, &other, second, note, "o"));
	build_slots_end(&builds, &b);
	build_slots_end(&builds, &a);
	assert_string_equal(granted, "c");
	build_slots_end(&builds, &a);
	build_slots_end(&builds, &c);
	build_slots_end(&builds, &other);
	assert_null(builds.flights);
	assert_string_equal(granted, "c");
}

/* ---- work ---- */

#define MANY 9 /* more than libuv's pool has threads */
#define PATIENCE_MS 60000

struct waiting_work {
	struct work work;
	int ends[2]; /* a pipe, whose end the last one closes */
	bool last, late;
	unsigned *left;
};

static void
wait_for_last(void *arg)
{
	struct waiting_work *one = arg;
	struct pollfd end = {.fd = one->ends[0], .events = POLLIN};
	if (one->last)
		close(one->ends[1]);
	one->late = poll(&end, 1, PATIENCE_MS) != 1;
}

static void
waited(void *arg)
{
	struct waiting_work *one = arg;
	--*one->left;
}

static void
work_holds_up_no_other(void **state)
{
	(void)state;
	uv_loop_t loop;
	struct waiting_work works[MANY];
	unsigned left = MANY;
	int ends[2];
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(pipe(ends), 0);
	for (size_t i = 0; i < MANY; i++) {
		works[i] = (struct waiting_work){.ends = {ends[0], ends[1]}, .last = i == MANY - 1, .left = &left};
		work_start(&works[i].work, &loop, wait_for_last, waited, &works[i]);
	}
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(left, 0);
	for (size_t i = 0; i < MANY; i++)
		assert_false(works[i].late);
	close(ends[0]);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(work_holds_up_no_other),
	cmocka_unit_test(names_stay_inside),
	cmocka_unit_test(locks_exclude),
	cmocka_unit_test(locks_have_slots),
	cmocka_unit_test(slots_are_counted),
	cmocka_unit_test(same_builds_follow_each_other),
};

UNIT_TESTS(test_waiting);
