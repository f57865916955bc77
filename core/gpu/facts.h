/* SPDX-License-Identifier: MIT */
/* What the makers' libraries of kettle-gpu share: opening one, and noting what it says. */
#ifndef KETTLE_GPU_FACTS_H
#define KETTLE_GPU_FACTS_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FACTS_TEXT_SIZE 128
#define FACTS_GPUS_MAX 256      /* of one maker; more are left out */
#define FACTS_PROCESSES_MAX 256 /* of one GPU: more, and none is named */
#define FACTS_PROCESSES_SHOWN 16

/* A function to look up: its name, and where its address goes. */
struct facts_symbol {
	const char *name;
	void *address; /* of a pointer to a function */
	bool optional;
};

/*
 * Opens a library and looks the functions up; those that are optional and missing become NULL. KETTLE_ENOENT: it is not
 * installed; KETTLE_EUNAVAIL: it cannot be loaded, or lacks a function. It stays open until the process ends.
 */
int facts_open(const char *path, const struct facts_symbol *symbols, size_t count, struct kettle_error *err);
/* Set a member, a text only where rc is 0; what a GPU does not say has no member. */
void facts_text(json_t *gpu, const char *key, int rc, const char *text);
void facts_number(json_t *gpu, const char *key, uint64_t number);

#endif
