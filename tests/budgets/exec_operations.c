/* SPDX-License-Identifier: MIT */
/*
 * exec_operations RUN_LINE: performs what tests/budgets/budgets.test counts the instructions of in kettle-exec, and prints the
 * name of each. The file has the run line of a ranked submission to the board of tasks/vectoradd_cpp, without what its files
 * contain.
 */
#include <config.h>

#include "budgets/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "exec/context/exec_context.h"
#include "exec/job/job_internal.h"
#include "exec/plan/plan.h"

#define LINES_OF_A_FILE 50

static void
fail(const char *why)
{
	(void)fprintf(stderr, "exec_operations: %s\n", why);
	exit(1);
}

/* The line as a runner writes it. */
static char *
read_line(const char *path)
{
	json_error_t why;
	AUTO_JSON json_t *line = json_load_file(path, 0, &why);
	AUTO_BUF struct buf text = {0};
	const char *name;
	json_t *contents;
	if (!line)
		fail(why.text);
	for (int i = 0; i < LINES_OF_A_FILE; i++)
		buf_printf(&text, "\tsum += \"%d\\n\"[i] * a[i]; /* π */\n", i);
	json_object_foreach(json_object_get(json_object_get(line, "plan"), "files"), name, contents) {
		json_object_clear(contents);
		json_object_set_new(contents, "text", json_string(text.data));
	}
	return json_dumps(line, JSON_COMPACT);
}

static void
read_job(const struct exec_context *exec, const char *text, size_t size)
{
	struct kettle_error err = {0};
	struct run_line line;
	json_error_t why;
	budget_begin();
	json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
	int rc = run_line_open(object, &line, &err);
	if (rc == 0)
		rc = run_line_read(exec, &line, &err);
	budget_end("exec_plan");
	if (rc < 0)
		fail(err.message);
	run_line_close(&line);
}

int
main(int argc, char **argv)
{
	struct exec_context exec = {.plan_schema = plan_schema()};
	if (argc != 2)
		fail("usage: exec_operations RUN_LINE");
	json_object_seed(1); /* otherwise each run has other collisions */
	AUTO_FREE char *text = read_line(argv[1]);
	for (int i = 0; i < BUDGET_TIMES; i++)
		read_job(&exec, text, strlen(text));
	json_decref(exec.plan_schema);
	return 0;
}
