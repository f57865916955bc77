/* SPDX-License-Identifier: MIT */
/*
 * Common parts of languages of GPU boards, besides kettle/compiled.h: the architecture of a unit, and explanations of
 * outcomes from the output of compilers and programs. All functions are pure. [any]
 */
#ifndef KETTLE_GPU_H
#define KETTLE_GPU_H

#include <jansson.h>
#include <kettle/compiled.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `config_schema` of a language whose rules begin with kettle_gpu_begin. */
#define KETTLE_GPU_CONFIG \
	KETTLE_COMPILED_CONFIG( \
		KETTLE_COMPILED_STANDARD ", \"rdc\": {\"type\": \"boolean\"}, \"rtc\": {\"type\": \"boolean\"}, " \
								 "\"rtc_flags\": {\"$ref\": \"#/$defs/words\"}")

/* A model by its device's name: "H100" is also H100-PCIe and H100x8, and not H1000. */
struct kettle_gpu_model {
	const char *name, *target;
};

/* The first and the last version of the toolkit that knows an architecture; last NULL: all later ones do. */
struct kettle_gpu_since {
	const char *target, *first, *last;
};

/* Compiling device code by a library, with `rtc` of config. */
struct kettle_gpu_rtc {
	const char *api;            /* "nvrtc" */
	const char *ending;         /* of the output: ".cubin" */
	const char *target;         /* prefix of the target: "--gpu-architecture=sm_" */
	const char *const *options; /* further options; ends with NULL */
};

/*
 * A vendor's GPUs and its toolkit: the rules of the language, for kettle_compiled_create, and data for the functions
 * below. Tables end with an entry of NULLs, lists of words with NULL.
 */
struct kettle_gpu_vendor {
	struct kettle_compiled_rules rules; /* first: the functions find the vendor by it */
	const char *lang, *template_name;   /* of boards that are made of a single reference file: "cu", "CUDA" */
	const char *key;                    /* of a device's section: "sm" */
	const char *fact;                   /* of a unit's facts: "compute" */
	const char *prefix;                 /* of targets in messages: "sm_"; "" if the target has it */
	const char *product;                /* "CUDA": before version numbers */
	const char *device;                 /* "a CUDA device" */
	const char *toolkit;                /* "the CUDA toolkit" */
	const char *compiler;               /* key of the option that names the compiler */
	const char *variable, *value;       /* of the environment of every step, for the toolkit; NULL: none */
	const struct kettle_gpu_model *models;
	const struct kettle_gpu_since *since;
	struct kettle_gpu_rtc rtc;
	/* Writes a fact ("9.0") or a setting ("sm_90a") as a target ("90a"). False: it is not valid. */
	bool (*read_target)(const char *text, bool fact, char ret_target[KETTLE_COMPILED_TARGET_SIZE]);
	/* Words of messages of the compiler ... */
	const char *const *unknown_target; /* it does not know the architecture */
	const char *const *bad_option;     /* it does not know an argument */
	const char *const *bad_machine;    /* it cannot work on this machine */
	/* ... and of programs. */
	const char *const *no_device;    /* there is no device, or no driver for it */
	const char *const *wrong_target; /* the program was built for another device */
	const char *const *fault;        /* a kernel failed */
};

/*
 * `begin` of the rules. Sets builder->target to the architecture of the unit: that of its section under `key`, else that of
 * its facts (facts.gpu), else that of the device's name in `models`; `native` in the section means the facts. With `rtc` of
 * config it appends two steps: one builds the compiler, one compiles the submission. KETTLE_EUNAVAIL with a sentence that
 * names the device: the architecture is not known; KETTLE_EINVAL: that of the section is not valid.
 */
int kettle_gpu_begin(struct kettle_compiled_builder *builder, struct kettle_error *err);
/* `finish_step`: the folders of the machine that the device's configuration names. */
void kettle_gpu_finish_step(const struct kettle_compiled_builder *builder, json_t *step);
/*
 * Whether the program is built for kettle-host: a file of the task contains `kettle-host: supervised`. Its objects are
 * then position-independent, and it is a shared object, whose `kettle_harness_start` runs before any other code of it; for
 * a profile an executable. kettle_gpu_add_host appends the linker's flags for that, if it is, each behind `prefix`
 * ("-Wl,").
 */
bool kettle_gpu_has_host(const struct kettle_compiled_builder *builder);
void kettle_gpu_add_host(const struct kettle_compiled_builder *builder, const char *prefix, json_t *argv);
/* `finish_run`: kettle-host, the device's name, the toolkit, the device's folders of libraries. */
void kettle_gpu_finish_run(const struct kettle_compiled_builder *builder, json_t *step);

/* `interpret`, `tools` and `single_file` of kettle/language.h. */
int kettle_gpu_interpret(
	void *self, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err);
json_t *kettle_gpu_tools(void *self);
int kettle_gpu_single_file(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err);

/* Endings of headers, for the rules; and the harness files that come with Kettle. */
extern const char *const kettle_gpu_headers[];
#define KETTLE_GPU_HARNESS_COUNT 5
extern const struct kettle_harness_file kettle_gpu_harness[KETTLE_GPU_HARNESS_COUNT];

/* The members of struct kettle_compiled_rules that all such languages have; finish_step may be a function of their own. */
#define KETTLE_GPU_RULES .headers = kettle_gpu_headers, .begin = kettle_gpu_begin, .finish_run = kettle_gpu_finish_run
/* The members of struct kettle_language that all have. */
#define KETTLE_GPU_LANGUAGE \
	.size = sizeof(struct kettle_language), .comment = "//", .config_schema = KETTLE_GPU_CONFIG, \
	KETTLE_LANGUAGE_HARNESS(kettle_gpu_harness), .plan = kettle_compiled_plan, .interpret = kettle_gpu_interpret, \
	.single_file = kettle_gpu_single_file, .tools = kettle_gpu_tools, .probe = kettle_compiled_probe

#ifdef __cplusplus
}
#endif
#endif
