/* SPDX-License-Identifier: MIT */
/* Fuzzes a runner's completion: whatever JSON a remote machine sends, there is a verdict that JSON can hold. */
#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/run_steps.h"
#include "judge/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A ranked job with one build step. */
static struct plan *
make_plan(const json_t *task)
{
	json_t *runs = NULL, *steps = json_pack("[{s:s, s:s, s:[s]}]", "id", "build", "kind", "build", "argv", "true");
	if (run_steps_make(task, "ranked", "7", NULL, NULL, &runs, NULL) || json_array_extend(steps, runs))
		abort();
	json_decref(runs);
	return plan_read(json_pack("{s:i, s:o}", "version", 1, "steps", steps));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char states[] = "passed failed timed_out error";
	AUTO_JSON json_t *json = json_loadb((const char *)data, size, 0, NULL);
	AUTO_COMPLETION struct completion completion = completion_read(json);
	AUTO_JSON json_t *task = json_pack("{s:s, s:s, s:i, s:i, s:i, s:[], s:[{s:i}], s:[{s:i}]}", "lang", "none",
		"ranking_by", "geom", "test_timeout", 1, "benchmark_timeout", 1, "ranked_timeout", 1, "files", "tests", "n", 1,
		"benchmarks", "n", 1);
	AUTO_PLAN struct plan *plan = make_plan(task);
	const struct languages languages = {0};
	AUTO_VERDICT struct verdict *made = verdict_make(&languages, task, plan, &completion, NULL);
	AUTO_JSON json_t *verdict = verdict_write(made);
	AUTO_FREE char *text = json_dumps(verdict, 0);
	const char *state = json_string_value(json_object_get(verdict, "state"));
	bool scored = json_is_real(json_object_get(verdict, "score"));
	if (!text || !state || !strstr(states, state) || scored != (strcmp(state, "passed") == 0))
		abort();
	return 0;
}
