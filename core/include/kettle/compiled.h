/* SPDX-License-Identifier: MIT */
/*
 * Common parts of languages of compiled sources: each source is a cached build step of its own, the objects are linked
 * into ./program, and the runs start the program. A language defines in struct kettle_compiled_rules how it compiles
 * and links, and names functions of this header in its tables. docs/plugins.md has a complete one.
 *
 * Link with `pkg-config --libs kettle-language`: every plugin has its own copy inside. All functions are pure. [any]
 */
#ifndef KETTLE_COMPILED_H
#define KETTLE_COMPILED_H

#include <jansson.h>
#include <kettle/plugin.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KETTLE_COMPILED_PROGRAM "program" /* the file that is built and that the runs start */
#define KETTLE_COMPILED_MAX_SOURCES 100
#define KETTLE_COMPILED_TARGET_SIZE 64
#define KETTLE_COMPILED_SCRIPT_ARGUMENTS 4 /* first in the argv of a step's script: sh -c SCRIPT sh ... */
#define KETTLE_COMPILED_MAX_SECTIONS 30000 /* of a submission's object that is set apart, and its symbols */
#define KETTLE_COMPILED_MAX_SYMBOLS 100000

/*
 * `config_schema` of a language: the keys of task.yml's config that all of them take, and `more` of its own, as text that
 * begins with a comma: "" or ", \"key\": {\"type\": \"boolean\"}". A list of words is {"$ref": "#/$defs/words"}.
 * Commands honour them by kettle_compiled_add_config and kettle_compiled_add_libraries.
 */
#define KETTLE_COMPILED_CONFIG(more) \
	"{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {" \
	"\"sources\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 100, \"items\": {\"type\": \"string\"}}," \
	"\"include_dirs\": {\"$ref\": \"#/$defs/words\"}," \
	"\"defines\": {\"type\": \"object\", \"maxProperties\": 200," \
	" \"propertyNames\": {\"pattern\": \"^[A-Za-z_][A-Za-z0-9_]*$\"}," \
	" \"additionalProperties\": {\"type\": [\"string\", \"integer\", \"boolean\", \"null\"], \"maxLength\": 1000}}," \
	"\"compile_flags\": {\"$ref\": \"#/$defs/words\"}," \
	"\"libraries\": {\"$ref\": \"#/$defs/words\"}" more "}, \"$defs\": {" \
	"\"words\": {\"type\": \"array\", \"maxItems\": 100," \
	" \"items\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000}}}}"

/* The key `standard` for `more`, for languages whose commands call kettle_compiled_add_standard. */
#define KETTLE_COMPILED_STANDARD \
	", \"standard\": {\"type\": \"string\", \"pattern\": \"^(c|gnu)(\\\\+\\\\+)?[0-9][0-9a-z]$\"}"

struct kettle_compiled_builder;

/* One language. Lists end with NULL; endings have the dot and are compared without case. */
struct kettle_compiled_rules {
	const char *title;          /* for messages: "C or C++" */
	const char *const *sources; /* endings of the files that are compiled */
	const char *const *headers; /* endings of files that are not compiled and that no run gets; NULL: none */
	/*
	 * The command that compiles a source, a new list; `-c SOURCE -o out/BASE.o` is appended. NULL: there are no objects;
	 * link compiles all sources at once, which builder->sources lists.
	 */
	json_t *(*compile)(const struct kettle_compiled_builder *builder, const char *source);
	/* The command that makes out/program of all objects, a new list. */
	json_t *(*link)(const struct kettle_compiled_builder *builder);

	/* The members below may be NULL. */

	/*
	 * Whether the submission may define only symbols that the task's objects and libraries lack. The objects must be of
	 * GNU binutils' kind, and `link` must take -Xlinker. NULL: it may define any symbol.
	 */
	bool (*apart)(const struct kettle_compiled_builder *builder);

	/* Runs when the sources are known and before any step is made: appends steps of its own, sets builder->target. */
	int (*begin)(struct kettle_compiled_builder *builder, struct kettle_error *err);
	/* Complete every build step, and every run. */
	void (*finish_step)(const struct kettle_compiled_builder *builder, json_t *step);
	void (*finish_run)(const struct kettle_compiled_builder *builder, json_t *step);
	/* The profiler that a profile is run under (plan.schema.json), and the files that it leaves. */
	const char *profiler;
	const char *const *profile_files;
	/* Beginnings of headers that a machine may lack though it has the compiler; for kettle_compiled_probe. */
	const char *const *probe_headers;
};

/* A plan while it is built. All members are borrowed; rules change only `steps` and `target`. */
struct kettle_compiled_builder {
	const struct kettle_plan_request *request;
	const struct kettle_compiled_rules *rules;
	const json_t *options, *config;           /* of the plugin, of task.yml */
	json_t *sources, *steps;                  /* names of the sources in order, the finished steps */
	char target[KETTLE_COMPILED_TARGET_SIZE]; /* the architecture, if `begin` sets it */
};

/* ---- an instance: functions for the tables of a plugin ---- */

/* Its state: the rules (NULL: it is no language of compiled sources), and a copy of the options. */
struct kettle_compiled {
	const struct kettle_compiled_rules *rules;
	json_t *options;
};

/* For the plugin's own `create`. ENOMEM. */
int kettle_compiled_create(const struct kettle_compiled_rules *rules, void **ret_self, struct kettle_error *err);
/* `configure` and `destroy` of struct kettle_plugin. */
int kettle_compiled_configure(void *self, const json_t *options, struct kettle_error *err);
void kettle_compiled_destroy(void *self);
/*
 * `plan` of struct kettle_language: the sources that the task lists, or every file that is one; compile steps, the link
 * step, the runs.
 */
int kettle_compiled_plan(
	void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err);
/*
 * `probe`: the plan of a program that links the task's libraries and includes those of `probe_headers` that the task's own
 * files include; with `rtc` also of an empty kernel. For languages that compile C.
 */
int kettle_compiled_probe(
	void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err);
/* `interpret`: explains a library that the machine lacks. */
int kettle_compiled_interpret(
	void *self, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err);

/* ---- commands ---- */

/* Appends one formatted string, which must be UTF-8. */
void kettle_args_add(json_t *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the strings of a list that NULL ends. */
void kettle_args_add_words(json_t *args, const char *const *words);
/* Appends each string of a list, which may be NULL, with a prefix. */
void kettle_args_add_list(json_t *args, const char *prefix, const json_t *list);

/* The string of an option of the plugin; NULL: there is none. Borrowed. */
const char *kettle_compiled_option(const struct kettle_compiled_builder *builder, const char *key);
/* Whether the plan is for a profile. */
bool kettle_compiled_profiles(const struct kettle_compiled_builder *builder);
bool kettle_compiled_ends_in(const char *name, const char *const *endings);
/* Whether a source is in C, by its ending. */
bool kettle_compiled_is_c(const char *source);

/* Appends -std: the task's standard if it is of the source's language, else `c` or `cxx` (NULL: no -std). */
void kettle_compiled_add_standard(
	const struct kettle_compiled_builder *builder, const char *source, const char *c, const char *cxx, json_t *args);
/* Appends -D of the task. */
void kettle_compiled_add_defines(const struct kettle_compiled_builder *builder, json_t *args);
/* Appends -D, -I and compile_flags of the task. */
void kettle_compiled_add_config(const struct kettle_compiled_builder *builder, json_t *args);
/* Appends the objects of all sources (without `compile` the sources themselves) and -o out/program. */
void kettle_compiled_add_objects(const struct kettle_compiled_builder *builder, json_t *args);
/* Appends -l of config and task. */
void kettle_compiled_add_libraries(const struct kettle_compiled_builder *builder, json_t *args);

/* ---- a language's own steps ---- */

/* Whether the submission is compiled apart from the sources (`rtc` of config), so that nothing else depends on it. */
bool kettle_compiled_rtc(const struct kettle_compiled_builder *builder);
/* The inputs of a source's step: the source and all files that are no sources. New. */
json_t *kettle_compiled_inputs(const struct kettle_compiled_builder *builder, const char *source);
/* Adds an id to the beginning of `needs` of a step. */
void kettle_compiled_need(json_t *step, const char *id);

/* ---- boards of a single reference file, for languages like C ---- */

/* The parts that differ between languages. */
struct kettle_compiled_single {
	const char *lang, *template_name;   /* "cpp", "CPP" */
	const char *reference, *submission; /* the names by which the harness includes them */
	const char *measured;            /* what the time includes, after "in less time": ", all copies included" or "" */
	const char *const (*harness)[2]; /* name and text of each file, the one that is compiled first */
	size_t harness_count;
};

/* `single_file` of kettle/language.h. The board's one source is the harness; `text` is UTF-8. */
int kettle_compiled_single(const struct kettle_compiled_single *single, const char *name, const char *text,
	json_t **ret_task, struct kettle_error *err);

#ifdef __cplusplus
}
#endif
#endif
