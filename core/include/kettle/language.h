/* SPDX-License-Identifier: MIT */
/* A language: makes a plan of a task's files and a submission, and explains outcomes. */
#ifndef KETTLE_LANGUAGE_H
#define KETTLE_LANGUAGE_H

#include <jansson.h>
#include <kettle/abi.h>
#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The arguments of plan; all are borrowed and read-only.
 *
 * runs: the run steps of the job in order, made by the core from the task's cases, the mode and the
 * seed, each a JSON object that already has id, kind, needs (the run before it), run (mode and
 * secret), cases, result, pass, secret, limits and device. The language completes a deep copy of
 * each: argv (append the arguments of the harness with kettle's convention "<mode> <cases file>",
 * both in run.args), inputs, environment, and `needs` on its own build steps for the first of them.
 */
struct kettle_plan_request {
	uint32_t size;
	/*
	 * The checked task.yml, defaults filled in; with "imported" where that is known: names of modules that the task's
	 * template and reference had loaded when it was tried.
	 */
	const json_t *task;
	const json_t *
		files; /* object: name in the job's folder → contents ({"text"}, {"base64"} or {"blob"}), submission included */
	const char *submission; /* the name under which files holds the submission */
	const char *mode;       /* "test", "benchmark", "profile", "ranked" */
	const json_t
		*device; /* the unit's section of the configuration with "name", and, where its machine is known, "facts": its
							   "gpu" as in device.list: "compute" or "gfx", "name", "memory" */
	const json_t *runs; /* array of prepared run steps */
};

/* A harness file of `harness show`: name for people, path relative to the installed tasks/harness folder. */
struct kettle_harness_file {
	const char *name, *path;
};

/* A starter per template name; text has no header (the core writes that as comments). */
struct kettle_skeleton {
	const char *template_name, *file_name, *text;
};

#if KETTLE_PLUGIN_ABI_MINOR >= 4
/* Where outputs are checked and timed: words of `judging`. */
#define KETTLE_JUDGING_REFEREE "referee"         /* in a process that never has the submission */
#define KETTLE_JUDGING_ONE_PROCESS "one process" /* in that of the submission */
#define KETTLE_JUDGING_OWN "own harness"         /* by a harness of the task's own, of which nothing is known */
#endif

/*
 * All functions are pure: no I/O, no state except that of configure in self. They are called on any thread, also
 * several at once. Lists of strings end with NULL. Members beyond `size` read as NULL.
 */
struct kettle_language {
	uint32_t size;
	const char *const *aliases;        /* other names, for `harness show`: "c++" */
	const char *const *extensions;     /* of a submission, with the dot: ".cpp" */
	const char *comment;               /* line comment prefix: "//" */
	const char *const *template_names; /* keys of task.yml's templates that belong to it: "CPP" */
	const char *config_schema;         /* JSON Schema (the subset in docs/plugins.md) of task.yml's config */
	const struct kettle_skeleton *skeletons;
	size_t skeletons_count, skeleton_size; /* element size: sizeof(struct kettle_skeleton) */
	const struct kettle_harness_file *harness;
	size_t harness_count, harness_file_size;

	/*
	 * The steps of the job: {"version": 1, "files": …, "steps": […]} (plan.schema.json). KETTLE_EINVAL: the task
	 * itself cannot be planned; KETTLE_EUNAVAIL: not on this device, whose section lacks something. The core also
	 * makes a plan when it checks a task, with an empty submission and a device with a name only.
	 */
	int (*plan)(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err);

	/*
	 * The meaning of the outcome of one step ($defs/outcome of event.schema.json). The step has the member `task_only`:
	 * true if it builds without any part of the submission. A submission can make a compiler or a linker that reads it
	 * print any line, so the output of a build is a reason to blame machine or task only where task_only is true.
	 * Returns {"passed": bool, "state": "passed"|"failed"|"timed_out"|"error", "message": sentence or null, "blame":
	 * "participant"|"task"|"machine", "retry": bool (an error of the machine: whether another attempt may help; absent:
	 * true), "lacks": what the machine lacks for it, where that is the reason}. It may explain a failure or turn a pass
	 * into one, but not the reverse. For a step of a secret run its message is not shown. The outcome of a
	 * step with a referee reads like that of one process: of the one that explains the failure. NULL: the core's own
	 * reading (exit status, limits, the POPCORN result protocol).
	 */
	int (*interpret)(
		void *self, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err);

	/*
	 * A single reference file becomes a task. name is the file's own. Returns {"task": what task.yml would hold, "files":
	 * {name in the job's folder → {"text"} or {"base64"}: all that the task's `files` name but the submission, the
	 * harness too, which the plugin therefore carries inside}, "templates": {language → {"file_name", "text"}}, "remarks":
	 * [sentences for the author], both where there are any}; all of it is checked like any other task. KETTLE_EINVAL: the
	 * reference lacks something.
	 * NULL: the language has no such form.
	 */
	int (*single_file)(
		void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err);

	/* Endings of the reference files that make a board of this language; NULL: its `extensions`. */
	const char *const *references;
	/*
	 * Endings of reference files that this language takes only with --lang, because by default they make a board of
	 * another language; and the message where that language is not loaded, which completes "`FILE` …" to a sentence.
	 * Both or none.
	 */
	const char *const *other_references;
	const char *other_hint;

	/*
	 * The tools that its plans start with this configuration: an array of names and absolute paths, a new
	 * reference. Machines report their versions and packages. NULL: only the well-known tools.
	 */
	json_t *(*tools)(void *self);

	/*
	 * A plan of build steps that pass if the device's machine has what the task needs for any submission: libraries,
	 * headers of further parts of a toolkit. request has no runs and an empty submission. `interpret` explains a failure.
	 * KETTLE_ENOENT: the task needs nothing of the kind. Else errors as plan. NULL: no task needs it.
	 */
	int (*probe)(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err);

	/*
	 * A remark on all scores with this configuration: a part of a sentence without a full stop, shown with the device.
	 * Valid as long as self. The result or the member may be NULL: no remark.
	 */
	const char *(*remark)(void *self);

#if KETTLE_PLUGIN_ABI_MINOR >= 4
	/*
	 * Where outputs are checked and timed on a device with a GPU (gpu), or on one without: KETTLE_JUDGING_….
	 * task, files: of a checked task, without a submission. NULL: in one process.
	 */
	const char *(*judging)(void *self, const json_t *task, const json_t *files, int gpu);

	/*
	 * Files of the language's own harness, {name → {"text"}}, for a task that says `harness: kettle`: it judges in place
	 * of the harness among the task's files. The core adds them to the task's files, where `plan` finds them. Their names
	 * must be none that tasks use. KETTLE_EINVAL: the harness cannot judge this task; the sentence, which a place in
	 * task.yml or the task's name precedes, names what is missing. NULL: the language has no harness for tasks in KernelBot's form.
	 */
	int (*adopt)(void *self, const json_t *task, const json_t *files, json_t **ret_files, struct kettle_error *err);
#endif
};

/* The members of struct kettle_language that name tables, which are arrays. */
#define KETTLE_LANGUAGE_SKELETONS(table) \
	.skeletons = (table), .skeletons_count = sizeof(table) / sizeof((table)[0]), .skeleton_size = sizeof((table)[0])
#define KETTLE_LANGUAGE_HARNESS(table) \
	.harness = (table), .harness_count = sizeof(table) / sizeof((table)[0]), .harness_file_size = sizeof((table)[0])

#ifdef __cplusplus
}
#endif
#endif
