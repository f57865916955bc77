/* SPDX-License-Identifier: MIT */
/*
 * What languages of compiled sources have in common: each source is a cached build step of its own, the objects are
 * linked into ./program, and that is what runs.
 */
#ifndef KETTLE_COMPILED_H
#define KETTLE_COMPILED_H

#include <jansson.h>
#include <kettle/plugin.h>
#include <stdbool.h>

#define COMPILED_PROGRAM "program" /* what the link step makes and the runs start */
#define COMPILED_MAX_SOURCES 100

/* Keys of task.yml's config that all of them take, as members of a schema's "properties" (without a last comma). */
#define COMPILED_CONFIG_PROPERTIES \
	"\"sources\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 100, \"items\": {\"type\": \"string\"}}," \
	"\"include_dirs\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"$ref\": \"#/$defs/word\"}}," \
	"\"defines\": {\"type\": \"object\", \"maxProperties\": 200," \
	" \"propertyNames\": {\"pattern\": \"^[A-Za-z_][A-Za-z0-9_]*$\"}," \
	" \"additionalProperties\": {\"type\": [\"string\", \"integer\", \"boolean\", \"null\"], \"maxLength\": 1000}}," \
	"\"compile_flags\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"$ref\": \"#/$defs/word\"}}," \
	"\"libraries\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"$ref\": \"#/$defs/word\"}}," \
	"\"standard\": {\"type\": \"string\", \"pattern\": \"^(c|gnu)(\\\\+\\\\+)?[0-9][0-9a-z]$\"}"
#define COMPILED_CONFIG_DEFS "\"word\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000}"

struct compiled_making;

/* One language. Lists of endings have the dot and end with NULL; they are compared without case. */
struct compiled_rules {
	const char *const *sources; /* what is compiled */
	const char *const *headers; /* what is neither compiled nor wanted by a run */
	const char *wanted;         /* "a source in C or C++ ends in .cpp, .cc, .cxx or .c" */
	const char *found;          /* "none of its files ends in .cpp, .cc, .cxx or .c" */
	/* New: how sources[index] is compiled into out/BASE.o, and how all objects are linked into out/program. */
	json_t *(*compile)(const struct compiled_making *making, const char *source);
	json_t *(*link)(const struct compiled_making *making);
	/* Appends steps of the language's own before the others; NULL: it has none. */
	int (*add_steps)(struct compiled_making *making, struct kettle_error *err);
	/* Completes what every step, and every run, has; NULL: nothing. */
	void (*finish_step)(const struct compiled_making *making, json_t *step);
	void (*finish_run)(const struct compiled_making *making, json_t *step);
	/* The profiler that a profile is run under (plan.schema.json), and the files that it leaves, ended by NULL. NULL: none. */
	const char *profiler;
	const char *const *profile_files;
};

/* A plan while it is made; everything but the lists is borrowed. */
struct compiled_making {
	const struct kettle_plan_request *request;
	const struct compiled_rules *rules;
	const json_t *options, *config;
	const void *arg;         /* the language's own */
	json_t *sources, *steps; /* new: names of the sources in order, the finished steps */
};

/* All of these are pure and may be called on any thread. */

bool compiled_ends_in(const char *name, const char *const *endings);
bool compiled_list_has(const json_t *list, const char *word);
/* What follows the last slash; borrowed. */
const char *compiled_base(const char *path);
/* Whether the submission is compiled apart from the sources (`rtc` of config), so that nothing else depends on it. */
bool compiled_rtc(const struct compiled_making *making);
/* Whether what is planned is a profile. */
bool compiled_profiles(const struct compiled_making *making);
/* The string of an option; NULL where there is none. Borrowed. */
const char *compiled_option(const struct compiled_making *making, const char *key);

/* Appends one formatted string. A list that ran out of memory becomes NULL, which json_pack then refuses. */
void compiled_add(json_t **list, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends each string of a list, which may be NULL, behind a prefix. */
void compiled_add_all(json_t **list, const char *prefix, const json_t *words);
/* -D of the task. */
void compiled_add_defines(const struct compiled_making *making, json_t **argv);
/* -D, -I and compile_flags of the task. */
void compiled_add_config(const struct compiled_making *making, json_t **argv);
/* The objects of all sources. */
void compiled_add_objects(const struct compiled_making *making, json_t **argv);
/* -l of config and task. */
void compiled_add_libraries(const struct compiled_making *making, json_t **argv);

/* Files that a source may include, as inputs: all that are not sources themselves. New. */
json_t *compiled_inputs(const struct compiled_making *making, const char *source);
/* Sets `needs` of a copied run: further steps (a list, borrowed) before what it has. */
void compiled_need(json_t *step, const json_t *needs);

/*
 * The whole plan: sources as the task lists them, or every file that is one; compile steps, the link step, the runs.
 * making has request, rules, options, arg; the rest is made here. EINVAL with a sentence, ENOMEM.
 */
int compiled_plan(struct compiled_making *making, json_t **ret_plan, struct kettle_error *err);
/*
 * As `probe` of kettle/language.h: the plan, by the language's own `plan`, of a program that links the task's libraries and
 * includes those headers, with names that begin as `headers` says (ended by NULL), which the task's own files include; with
 * `rtc` of a submission that does nothing, too.
 */
int compiled_probe(void *self, const struct kettle_plan_request *request, const struct compiled_rules *rules,
	const char *const *headers,
	int (*plan)(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err),
	json_t **ret_plan, struct kettle_error *err);
/* "There is not enough memory to plan the job." */
int compiled_fail_memory(struct kettle_error *err);

/* What a single reference file must define; the rest is for the compiler to say. EINVAL names what is missing. */
int compiled_check_reference(const char *name, const char *text, struct kettle_error *err);

/* An instance whose only state is a copy of its options: create, configure and destroy of struct kettle_plugin. */
struct compiled_self {
	json_t *options;
};
int compiled_create(const struct kettle_host *host, void **ret_self, struct kettle_error *err);
int compiled_configure(void *self, const json_t *section, struct kettle_error *err);
void compiled_destroy(void *self);

#endif
