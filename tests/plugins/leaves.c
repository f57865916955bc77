/* SPDX-License-Identifier: MIT */
/*
 * The language `leaves`, for tests: a submission is a shell script that is run as it is, and whatever it writes as
 * out/small.txt and out/folder travels back.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <stdlib.h>

static int
leaves_create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)host;
	*ret_self = malloc(1);
	return *ret_self ? 0 : kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
}

static int
leaves_configure(void *self, const json_t *options, struct kettle_error *err)
{
	(void)self;
	(void)options;
	(void)err;
	return 0;
}

static int
leaves_start(void *self, struct kettle_error *err)
{
	(void)self;
	(void)err;
	return 0;
}

static void
leaves_stop(void *self, kettle_fn done, void *arg)
{
	(void)self;
	done(arg);
}

static void
leaves_destroy(void *self)
{
	free(self);
}

static int
leaves_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	json_t *runs = json_deep_copy(request->runs), *step;
	size_t i;
	(void)self;
	json_array_foreach(runs, i, step) {
		const json_t *mode = json_object_get(json_object_get(step, "run"), "mode");
		json_object_set_new(step, "argv", json_pack("[s, s, O]", "sh", request->submission, mode));
		json_object_set_new(step, "inputs", json_pack("{s:{s:s}}", request->submission, "file", request->submission));
		json_object_set_new(step, "artifacts", json_pack("[s, s]", "small.txt", "folder"));
	}
	*ret_plan = json_pack("{s:i, s:O, s:o}", "version", 1, "files", request->files, "steps", runs);
	return *ret_plan ? 0 : kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
}

static const char *const extensions[] = {".sh", NULL};
static const char *const template_names[] = {"Leaves", NULL};

static const struct kettle_language language = {
	.size = sizeof(language),
	.extensions = extensions,
	.comment = "#",
	.template_names = template_names,
	.config_schema = "{\"type\": \"object\"}",
	.skeleton_size = sizeof(struct kettle_skeleton),
	.harness_file_size = sizeof(struct kettle_harness_file),
	.plan = leaves_plan,
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_LANGUAGE),
	.name = "leaves",
	.version = "1",
	.summary = "shell scripts that leave files",
	.option_size = sizeof(struct kettle_option),
	.create = leaves_create,
	.configure = leaves_configure,
	.start = leaves_start,
	.stop = leaves_stop,
	.destroy = leaves_destroy,
	.language = &language,
};
