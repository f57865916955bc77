/* SPDX-License-Identifier: MIT */
/* exec.yml: what kettle-exec must know of its machine. */
#ifndef KETTLE_EXEC_MACHINE_EXECCONFIG_H
#define KETTLE_EXEC_MACHINE_EXECCONFIG_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdint.h>

#include "exec/plan/limits.h"
#include "exec/util/cores.h"
#include "sandbox/sandbox.h"

#define EXECCONFIG_CACHE_BYTES (UINT64_C(4) << 30)
#define EXECCONFIG_CACHE_DAYS 30
#define EXECCONFIG_MAX_WALL (3600 * LIMITS_SECOND)
#define EXECCONFIG_MAX_PROCESSES 4096

struct execconfig {
	json_t *root; /* the checked file; owns those below */
	json_t *tools, *env, *read, *report;
	const char *gpu_helper, *gpu_nvml, *gpu_rocm_smi; /* NULL: the default */
	uint64_t gpu_left;                                /* bytes that may stay in use of a GPU */
	char *file;                                       /* where it came from; NULL: defaults alone */
	char *state, *locks;
	struct cores build_cores; /* empty: the ones that no device uses */
	unsigned build_jobs;
	uint64_t cache_max_bytes;
	unsigned cache_max_age_days;
	struct limits max;
	enum sandbox_level level;
};

/*
 * Reads `path`; NULL: $XDG_CONFIG_HOME/kettle/exec.yml, else the system's kettle/exec.yml, else defaults. `state`
 * and `level` (from the command line, may be NULL) win over the file. Folders are not made here. The result is closed
 * with execconfig_close, also after a failure. `settings`: the same keys as the file's as JSON text; each of its keys
 * takes the place of the file's (NULL: none).
 */
int execconfig_load(struct execconfig *ret_config, const char *path, const char *settings, const char *state,
	const char *level, struct kettle_error *err);
void execconfig_close(struct execconfig *config);

#endif
