/* SPDX-License-Identifier: MIT */
/* Tasks in KernelBot's form under Kettle's harness: `harness: kettle` of task.yml. */
/*
 * Theory of operation: a task keeps its files under their names, and Kettle's harness lies beside them in the folder
 * harness/, so a board keeps the harness that it began with, and a task that is read from the board is the same task. In a
 * job's folder both lie together, where modules import each other: kernelbot_path says under which names.
 */
#include <config.h>

#include "kernelbot.h"

#include <kettle/language.h>

#include "base/base.h"
#include "single.h"

#define HARNESS "harness/" /* what the names of the harness's files begin with */
#define UTILS "utils.py"
#define OWN_UTILS "task_utils.py" /* eval_kernelbot.py loads it as the module utils */
#define REFERENCE "reference.py"
#define TASK "task.py"
#define SUBMISSION "submission.py"
/*
 * What a file of a harness says that judges in a process without the submission, and one that reports every key. The
 * task's own modules are no harness, so their comments promise nothing.
 */
#define JUDGES_APART "kettle-judging: referee"
#define REPORTS_ALL "kettle-reports: complete"

bool
kernelbot_is_adopted(const json_t *task)
{
	return json_text_or_null(task, "harness") != NULL;
}

const char *
kernelbot_path(const json_t *files, const char *name)
{
	char kept[256];
	if (strncmp(name, HARNESS, strlen(HARNESS)) == 0)
		return name + strlen(HARNESS);
	(void)snprintf(kept, sizeof(kept), HARNESS "%s", name);
	if (!json_object_get(files, kept))
		return name;
	return strcmp(name, UTILS) == 0 ? OWN_UTILS : NULL;
}

static bool
any_file_says(const json_t *files, const char *words)
{
	json_object_each(files, name, contents)
		if (strcmp(name, REFERENCE) != 0 && strcmp(name, TASK) != 0 &&
			strstr(json_text_or_empty(contents, "text"), words))
			return true;
	return false;
}

const char *
kernelbot_judging(void *self, const json_t *task, const json_t *files, int gpu)
{
	/* Without a solver there is no other process. */
	bool apart = kernelbot_is_adopted(task) || json_object_get(json_object_get(task, "config"), "solver");
	(void)self;
	if (apart && !gpu && any_file_says(files, JUDGES_APART))
		return KETTLE_JUDGING_REFEREE;
	return any_file_says(files, REPORTS_ALL) ? KETTLE_JUDGING_ONE_PROCESS : KETTLE_JUDGING_OWN;
}

/* ---- what the harness needs of a task ---- */

static int
check_reference(const json_t *files, struct kettle_error *err)
{
	static const char *const names[] = {"generate_input", "check_implementation"};
	const json_t *reference = json_object_get(files, REFERENCE), *text = json_object_get(reference, "text");
	if (!reference)
		return kettle_fail(
			err, KETTLE_EINVAL, "Kettle's harness needs a file `" REFERENCE "`, which the task's `files` do not have.");
	if (!text)
		return kettle_fail(
			err, KETTLE_EINVAL, "Kettle's harness cannot read `" REFERENCE "`, which is not UTF-8 text.");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!single_defines(json_string_value(text), json_string_length(text), names[i]))
			return kettle_fail(err, KETTLE_EINVAL,
				"Kettle's harness calls `generate_input` and `check_implementation` of `" REFERENCE
				"`, which does not define `%s`.",
				names[i]);
	return 0;
}

static const char *
submission_of(const json_t *task)
{
	json_array_each(json_object_get(task, "files"), file)
		if (member_is(file, "source", "@SUBMISSION@"))
			return json_text_or_empty(file, "name");
	return "";
}

/* No file may take the place of one of the harness's, but for those that these replace. */
static int
check_names(const json_t *task, const json_t *files, struct kettle_error *err)
{
	const json_t *config = json_object_get(task, "config");
	for (const struct single_file *one = single_harness; one->name; one++)
		if (json_object_get(files, one->name) && strcmp(one->name, UTILS) != 0 && !member_is(config, "main", one->name))
			return kettle_fail(err, KETTLE_EINVAL,
				"the task has a file `%s`, which is the name of a file of Kettle's harness; give the file another "
				"name.",
				one->name);
	json_object_each(files, name, unused)
		if (strncmp(name, HARNESS, strlen(HARNESS)) == 0)
			return kettle_fail(err, KETTLE_EINVAL,
				"the task has a file `%.200s`, and the folder `harness` is that of Kettle's harness; give the file "
				"another "
				"name.",
				name);
	if (json_object_get(files, OWN_UTILS))
		return kettle_fail(err, KETTLE_EINVAL,
			"the task has a file `" OWN_UTILS "`, the name that its `" UTILS
			"` gets beside Kettle's harness; give the file another name.");
	return 0;
}

int
kernelbot_adopt(void *self, const json_t *task, const json_t *files, json_t **ret_files, struct kettle_error *err)
{
	const char *submission = submission_of(task);
	(void)self;
	if (json_object_get(json_object_get(task, "config"), "solver"))
		return kettle_fail(err, KETTLE_EINVAL,
			"the task's `config` names a `solver`, so its harness is already a pair; Kettle's replaces harnesses in "
			"KernelBot's form alone.");
	if (member_true(task, "multi_gpu"))
		return kettle_fail(err, KETTLE_EINVAL,
			"the task has `multi_gpu: true`, and Kettle's harness has no form for runs on several devices.");
	if (strcmp(submission, SUBMISSION) != 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"Kettle's harness imports `" SUBMISSION "`, and the task names the submission `%.100s`.", submission);
	int rc = check_reference(files, err);
	if (rc == 0)
		rc = check_names(task, files, err);
	if (rc)
		return rc;
	*ret_files = json_object();
	for (const struct single_file *one = single_harness; one->name; one++) {
		char name[100];
		(void)snprintf(name, sizeof(name), HARNESS "%s", one->name);
		json_object_set_new(*ret_files, name, json_pack("{s:s}", "text", one->text));
	}
	return 0;
}
