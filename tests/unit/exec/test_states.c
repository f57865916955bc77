/* SPDX-License-Identifier: MIT */
/* The states of jobs, steps and their processes: what may follow what, and that nothing else does. */
#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/job/job_internal.h"
#include "lib/unit_test.h"

#define STATES 32

static bool
step_follows(unsigned from, unsigned to)
{
	return step_may_follow((enum step_phase)from, (enum step_phase)to);
}

static bool
job_follows(unsigned from, unsigned to)
{
	return job_may_follow((enum job_stage)from, (enum job_stage)to);
}

/* The states, a bit for each, that can follow this one at some time, on ways that avoid another one. */
static unsigned
reach(bool (*follows)(unsigned from, unsigned to), unsigned last, unsigned from, unsigned avoided)
{
	unsigned all = 0, before = ~0u;
	while (all != before) {
		before = all;
		for (unsigned state = 0; state <= last; state++)
			for (unsigned next = 0; next <= last; next++)
				if (next != avoided && (state == from || all & 1u << state) && follows(state, next))
					all |= 1u << next;
	}
	return all;
}

static void
steps_end_once(void **state)
{
	(void)state;
	unsigned all = (1u << (STEP_ENDED + 1)) - 1;
	assert_int_equal(reach(step_follows, STEP_ENDED, STEP_IDLE, STATES), all & ~(1u << STEP_IDLE));
	for (unsigned phase = STEP_IDLE; phase < STEP_ENDED; phase++)
		assert_true(reach(step_follows, STEP_ENDED, phase, STATES) & 1u << STEP_ENDED);
	assert_int_equal(reach(step_follows, STEP_ENDED, STEP_ENDED, STATES), 0);
	/* Processes never run in folders that others have used. */
	assert_false(reach(step_follows, STEP_ENDED, STEP_RUNNING, STEP_RESETTING) & 1u << STEP_RUNNING);
	/* Nothing runs after the outputs were taken, and nothing takes them that has not run. */
	assert_int_equal(reach(step_follows, STEP_ENDED, STEP_COLLECTING, STATES), 1u << STEP_ENDED);
	assert_false(reach(step_follows, STEP_ENDED, STEP_IDLE, STEP_RUNNING) & 1u << STEP_COLLECTING);
}

static void
jobs_report_once(void **state)
{
	(void)state;
	unsigned reported = 1u << JOB_GIVEN_UP | 1u << JOB_REPORTED;
	for (unsigned stage = JOB_RUNNING; stage < JOB_REPORTED; stage++)
		assert_true(reach(job_follows, JOB_REPORTED, stage, STATES) & 1u << JOB_REPORTED);
	assert_int_equal(reach(job_follows, JOB_REPORTED, JOB_REPORTED, STATES), 0);
	/* What was given up was reported; what has ended cannot be given up. */
	assert_int_equal(reach(job_follows, JOB_REPORTED, JOB_GIVEN_UP, STATES), 1u << JOB_REPORTED);
	assert_int_equal(reach(job_follows, JOB_REPORTED, JOB_ENDED, STATES), 1u << JOB_REPORTED);
	for (unsigned stage = JOB_RUNNING; stage <= JOB_REPORTED; stage++)
		assert_int_equal(job_is_reported(&(struct job){.stage = (enum job_stage)stage}), (reported >> stage) & 1);
}

/* Whether the call ends the process by an assertion. */
static bool
aborts(void (*call)(void))
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		const struct rlimit no_core = {0};
		if (setrlimit(RLIMIT_CORE, &no_core) != 0 || !freopen("/dev/null", "w", stderr))
			_exit(1);
		call();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
begin_twice(void)
{
	const struct plan_step plan = {.ended = NULL};
	struct step step = {.plan = &plan, .phase = STEP_RUNNING};
	step_begin(&step);
}

static void
start_twice(void)
{
	struct process process = {.state = PROCESS_RUNNING};
	process_start(&process, NULL, &(struct process_config){0}, NULL, NULL, NULL);
}

static void
kill_without_reason(void)
{
	struct process process = {.state = PROCESS_RUNNING};
	process_kill(&process, SANDBOX_LIMIT_NONE);
}

static void
other_orders_abort(void **state)
{
	(void)state;
	assert_true(aborts(begin_twice));
	assert_true(aborts(start_twice));
	assert_true(aborts(kill_without_reason));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(steps_end_once),
	cmocka_unit_test(jobs_report_once),
	cmocka_unit_test(other_orders_abort),
};

UNIT_TESTS(test_states);
