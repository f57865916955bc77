/* SPDX-License-Identifier: MIT */
/* The runner modal with a simulated Modal: cases of faults, losses and restarts, each drawn from a seed. */
#include <config.h>

#include "lib/unit_test.h"
#include "peers/remote/sides.h"

static void
test_cases(void **state)
{
	(void)state;
	world_test(&side_modal);
}

static void
test_parts(void **state)
{
	(void)state;
	world_test_parts(&side_modal);
}

static void
test_replay(void **state)
{
	(void)state;
	world_test_replay(&side_modal);
}

static void
test_forms(void **state)
{
	(void)state;
	world_test_forms(&side_modal);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_parts),
	cmocka_unit_test(test_replay), cmocka_unit_test(test_forms)};

UNIT_TESTS(test_simulated_modal);
