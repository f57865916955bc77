/* SPDX-License-Identifier: MIT */
/* Lists of processor cores: "1", "2-3,6". */
#ifndef KETTLE_EXEC_UTIL_CORES_H
#define KETTLE_EXEC_UTIL_CORES_H

#include <jansson.h>
#include <kettle/error.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORES_MAX 1024

/* Zero-initialise; cores_free at the end. In order. Empty: not restricted. */
struct cores {
	int *list;
	size_t count;
};

/* Parses; every number at most CORES_MAX - 1, each once. */
int cores_parse(const char *text, struct cores *ret_cores, struct kettle_error *err);
/* The cores that this process may use. */
int cores_allowed(struct cores *ret_cores, struct kettle_error *err);
bool cores_has(const struct cores *cores, int core);
/* Those of all that are not in without; all of them when nothing would be left. */
struct cores cores_without(const struct cores *all, const struct cores *without);
/* Adds what is missing in cores. */
void cores_join(struct cores *cores, const struct cores *more);
/* As sched_setaffinity takes them. */
void cores_set(const struct cores *cores, cpu_set_t *ret_set);
/*
 * For how many ticks of the clock (_SC_CLK_TCK a second) these cores have had nothing to do, together, by the text of
 * /proc/stat. False: it does not say so of all.
 */
bool cores_idle_ticks(const struct cores *cores, const char *stat, uint64_t *ret_ticks);
/* "2,3,6"; new string. */
char *cores_text(const struct cores *cores);
void cores_free(struct cores *cores);

#endif
