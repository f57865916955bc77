/* SPDX-License-Identifier: MIT */
/* Lists of processor cores: "1", "2-3,6". */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORES_MAX 1024

/* A list of cores in order. Empty: all cores are allowed. Zero-initialise; call cores_free at the end. */
struct cores {
	int *list;
	size_t count;
};

/* Reads a list. Each number is at most CORES_MAX - 1 and occurs once. */
int cores_parse(const char *text, struct cores *ret_cores, struct kettle_error *err);
/* The cores that this process may use. */
int cores_allowed(struct cores *ret_cores, struct kettle_error *err);
bool cores_has(const struct cores *cores, int core);
/* The cores of `all` that are not in `without`; all of them if none would be left. */
struct cores cores_without(const struct cores *all, const struct cores *without);
/* Adds the cores of `more` that are missing. */
void cores_join(struct cores *cores, const struct cores *more);
/* Converts the list for sched_setaffinity. */
void cores_set(const struct cores *cores, cpu_set_t *ret_set);
/*
 * The clock ticks (_SC_CLK_TCK a second) for which these cores together have been idle, from the text of /proc/stat.
 * False: the text lacks one of them.
 */
bool cores_idle_ticks(const struct cores *cores, const char *stat, uint64_t *ret_ticks);
/* "2,3,6"; new string. */
char *cores_text(const struct cores *cores);
void cores_free(struct cores *cores);
