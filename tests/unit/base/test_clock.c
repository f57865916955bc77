/* SPDX-License-Identifier: MIT */
/* The clock: the order of timers, what they may do to each other, and the two times of a simulated one. */
#include <config.h>

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/times.h"
#include "lib/unit_test.h"

#define NOON INT64_C(1790000000000)

/* A timer of the test: it writes its name and the time into the diary. */
struct alarm {
	struct clock_timer timer;
	char name;
	struct alarm *starts, *stops; /* what it does when it fires */
};

static struct clock clock_;
static uint64_t begun;
static char diary[500];

static void
note(void *arg)
{
	const struct alarm *alarm = arg;
	size_t used = strlen(diary);
	(void)snprintf(diary + used, sizeof(diary) - used, "%c%" PRIu64 " ", alarm->name, clock_ms(&clock_) - begun);
	if (alarm->starts)
		clock_timer_start(&clock_, &alarm->starts->timer, 0, 0, note, alarm->starts);
	if (alarm->stops)
		clock_timer_stop(&alarm->stops->timer);
}

static void
begin(struct alarm *alarm, uint64_t delay_ms, uint64_t repeat_ms)
{
	clock_timer_start(&clock_, &alarm->timer, delay_ms, repeat_ms, note, alarm);
}

static int
setup(void **state)
{
	(void)state;
	clock_simulate(&clock_, NOON);
	begun = clock_ms(&clock_);
	diary[0] = '\0';
	return 0;
}

static void
test_order(void **state)
{
	struct alarm a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'};
	(void)state;
	assert_int_equal(clock_wait_ms(&clock_), UINT64_MAX);
	begin(&a, 30, 0);
	begin(&b, 10, 0);
	begin(&c, 10, 25);
	begin(&d, UINT64_MAX, 0);
	assert_int_equal(clock_wait_ms(&clock_), 10);
	clock_advance(&clock_, 9);
	assert_string_equal(diary, "");
	clock_advance(&clock_, 1);
	assert_string_equal(diary, "b10 c10 ");
	clock_advance(&clock_, 50);
	assert_string_equal(diary, "b10 c10 a30 c35 c60 ");
	assert_int_equal(clock_ms(&clock_) - begun, 60);
	begin(&c, 5, 0); /* anew */
	clock_advance(&clock_, 100);
	assert_string_equal(diary, "b10 c10 a30 c35 c60 c65 ");
	assert_ptr_equal(clock_.first, &d.timer);
	assert_ptr_equal(clock_.last, &d.timer);
	clock_timer_stop(&d.timer);
	clock_timer_stop(&d.timer);
	assert_null(clock_.first);
	assert_null(clock_.last);
}

/* A timer may stop itself, one that is due at the same time, and start others. */
static void
test_from_within(void **state)
{
	struct alarm a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'};
	(void)state;
	a.stops = &a, a.starts = &d;
	b.stops = &c;
	begin(&a, 10, 10);
	begin(&b, 20, 0);
	begin(&c, 20, 0);
	clock_advance(&clock_, 100);
	assert_string_equal(diary, "a10 d10 b20 ");
	assert_null(clock_.first);
}

/* What was due during a stall runs after it, in its order, and a repeated one only once. */
static void
test_stall(void **state)
{
	struct alarm a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};
	(void)state;
	begin(&a, 20, 0);
	begin(&b, 10, 10);
	begin(&c, 2000, 0);
	clock_stall(&clock_, 1000);
	assert_string_equal(diary, "b1000 a1000 ");
	clock_advance(&clock_, 10);
	assert_string_equal(diary, "b1000 a1000 b1010 ");
}

static void
test_two_times(void **state)
{
	(void)state;
	uint64_t ns = clock_ns(&clock_);
	assert_int_equal(clock_utc_ms(&clock_), NOON);
	clock_advance(&clock_, 1500);
	assert_int_equal(clock_utc_ms(&clock_), NOON + 1500);
	assert_int_equal(clock_ns(&clock_) - ns, UINT64_C(1500000000));
	/* The calendar is corrected: no timer notices. */
	struct alarm a = {.name = 'a'};
	begin(&a, 100, 0);
	clock_set_utc(&clock_, NOON - 86400000);
	clock_advance(&clock_, 99);
	assert_int_equal(clock_utc_ms(&clock_), NOON - 86400000 + 99);
	assert_string_equal(diary, "");
	clock_advance(&clock_, 1);
	assert_string_equal(diary, "a1600 ");
}

static uint64_t alarm_ms;

static void
set_alarm(void *arg, uint64_t delay_ms)
{
	++*(int *)arg;
	alarm_ms = delay_ms;
}

/* The alarm of a real clock is set for its first timer, and nothing runs before it is due. */
static void
test_real(void **state)
{
	struct alarm late = {.name = 'l'}, a = {.name = 'a'}, b = {.name = 'b'};
	int alarms = 0;
	(void)state;
	clock_init(&clock_, set_alarm, &alarms);
	begun = clock_ms(&clock_);
	begin(&late, 3600000, 0);
	assert_int_equal(alarms, 1);
	assert_in_range(alarm_ms, 3000000, 3600000);
	begin(&b, 7200000, 0);
	assert_int_equal(alarms, 1);
	clock_run(&clock_);
	assert_string_equal(diary, "");
	assert_int_equal(alarms, 2);
	/* One that starts others that are due at once: they wait for the next alarm. */
	a.starts = &b;
	b.starts = &a;
	begin(&a, 0, 0);
	assert_int_equal(alarms, 3);
	assert_int_equal(alarm_ms, 0);
	clock_run(&clock_);
	assert_int_equal(diary[0], 'a');
	assert_null(strchr(diary, 'b'));
	assert_int_equal(alarms, 4);
	assert_int_equal(alarm_ms, 0);
	clock_run(&clock_);
	assert_non_null(strchr(diary, 'b'));
	clock_timer_stop(&a.timer);
	clock_timer_stop(&late.timer);
	/* It is the system's clocks. */
	uint64_t before_ns = time_monotonic_ns(), now_ns = clock_ns(&clock_);
	assert_in_range(now_ns, before_ns, time_monotonic_ns());
	int64_t before_ms = time_now_ms(), now_ms = clock_utc_ms(&clock_);
	assert_true(now_ms >= before_ms - 1 && now_ms <= time_now_ms() + 1);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)
static const struct CMUnitTest tests[] = {
	TEST(test_order),
	TEST(test_from_within),
	TEST(test_stall),
	TEST(test_two_times),
	TEST(test_real),
};

UNIT_TESTS(test_clock);
