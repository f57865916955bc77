/* SPDX-License-Identifier: MIT */
/* What Slurm's commands print: right, and everything else. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "runners/slurm/slurm_internal.h"

static bool
parse(const char *text, struct squeue_row *ret_row, char **ret_line)
{
	*ret_line = xstrdup(text);
	return squeue_row_parse(*ret_line, ret_row);
}

static void
test_rows(void **state)
{
	(void)state;
	struct squeue_row row;
	AUTO_FREE char *single = NULL, *task = NULL, *odd = NULL;
	assert_true(parse("12|N/A|PENDING|Priority|kettle-1f0c9a3e-12.1|.", &row, &single));
	assert_string_equal(row.id, "12");
	assert_int_equal(row.task, -1);
	assert_string_equal(row.state, "PENDING");
	assert_string_equal(row.reason, "Priority");
	assert_string_equal(row.name, "kettle-1f0c9a3e-12.1");
	assert_true(parse("12|499|RUNNING||a\nb|c|.", &row, &task));
	assert_int_equal(row.task, 499);
	assert_string_equal(row.reason, "");
	assert_string_equal(row.name, "a\nb|c"); /* a name may have anything in it */
	static const char *const wrong[] = {"", "|", "|.", "||||", "||||.", "||||.|.", "12|N/A|PENDING|x|.",
		"|N/A|PENDING|x|name|.", "1x|N/A|PENDING|x|n|.", "-1|N/A|PENDING|x|n|.", "1|[0-9%2]|PENDING|x|n|.",
		"1|-1|PENDING|x|n|.", "1||PENDING|x|n|.", "1|N/A||x|n|.", "1|N/A|R|x||.", "1|99999999999999999999999|R|x|n|.",
		"123456789012345678901234567890|N/A|R|x|n|.", "slurm_load_jobs error: no", "12|N/A|PENDING|x|cut",
		"12|N/A|PENDING|x|cut|"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		AUTO_FREE char *line = NULL;
		if (parse(wrong[i], &row, &line))
			fail_msg("`%s` is a row", wrong[i]);
	}
	assert_false(parse("1|0x1|R|x|n|.", &row, &odd));
}

static void
test_standings(void **state)
{
	(void)state;
	assert_int_equal(slurm_standing("PENDING"), SLURM_PENDING);
	assert_int_equal(slurm_standing("CONFIGURING"), SLURM_PENDING);
	assert_int_equal(slurm_standing("RUNNING"), SLURM_RUNNING);
	assert_int_equal(slurm_standing("COMPLETING"), SLURM_RUNNING);
	assert_int_equal(slurm_standing("A_STATE_OF_THE_FUTURE"), SLURM_RUNNING);
	assert_int_equal(slurm_standing("NODE_FAIL"), SLURM_TAKEN_AWAY);
	assert_int_equal(slurm_standing("PREEMPTED"), SLURM_TAKEN_AWAY);
	assert_int_equal(slurm_standing("FAILED"), SLURM_FAILED);
	assert_int_equal(slurm_standing("OUT_OF_MEMORY"), SLURM_FAILED);
}

static void
test_sbatch(void **state)
{
	(void)state;
	char id[SLURM_ID_SIZE] = "";
	assert_true(sbatch_answer_parse("17", id));
	assert_string_equal(id, "17");
	assert_true(sbatch_answer_parse("18;cluster", id));
	assert_string_equal(id, "18");
	static const char *const wrong[] = {
		"", "x", "-1", " 1", "1 2", "Submitted batch job 17", "123456789012345678901234567890"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(sbatch_answer_parse(wrong[i], id));
	assert_string_equal(id, "18");
}

#define FAILED "sbatch: error: Batch job submission failed: "

static void
test_refusals(void **state)
{
	(void)state;
	static const char *const final[] = {FAILED "Invalid partition name specified",
		FAILED "Requested node configuration is not available", FAILED "Invalid generic resource (gres) specification",
		"sbatch: unrecognized option '--fooo' Try \"sbatch --help\" for more information",
		"sbatch: error: Memory specification can not be satisfied " FAILED
		"Requested node configuration is not available"};
	static const char *const passing[] = {FAILED "Unable to contact slurm controller (connect failure)",
		FAILED "Socket timed out on send/recv operation", FAILED "Zero Bytes were transmitted or received",
		FAILED "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
		FAILED "Slurm temporarily unable to accept job, sleeping and retrying", "",
		"sbatch was terminated by signal 9."};
	const char *reason = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(final); i++)
		if (!sbatch_is_refusal(final[i], &reason))
			fail_msg("`%s` is no refusal", final[i]);
	for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
		if (sbatch_is_refusal(passing[i], &reason))
			fail_msg("`%s` is a refusal", passing[i]);
	assert_true(sbatch_is_refusal(final[0], &reason));
	assert_string_equal(reason, "Invalid partition name specified");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_rows),
	cmocka_unit_test(test_standings),
	cmocka_unit_test(test_sbatch),
	cmocka_unit_test(test_refusals),
};

UNIT_TESTS(test_slurm_answers);
