/* SPDX-License-Identifier: MIT */
/* Chooses the language of a single reference file: one that runs it on the devices at hand. Loop thread. */
#pragma once

#include "session/core.h"

/* A task that is to be read: by its path, else a file that was sent. */
struct task_source {
	const char *path, *name;
	const void *data;
	size_t size;
};

/* Reads it in a language; NULL: see task_read_as. [any] */
int task_source_read(const struct languages *languages, const struct task_source *source, const char *lang,
	json_t **ret_bundle, struct kettle_error *err);
/*
 * Reads a single reference file in each language that can make a task of it, and plans a test of each for the first unit of
 * each device (as for local_job_devices). A unit with a GPU is planned with what its machine reports, if that answers.
 * done gets, once, perhaps before this returns, a borrowed array of the languages with a plan. It is empty if none has one,
 * if the source is no such file or only one language takes it, or if lang is not NULL. The source is borrowed until then.
 */
void task_choose(struct core *core, const struct task_source *source, const char *lang, const json_t *devices,
	void (*done)(void *arg, const json_t *languages), void *arg);
/* Stores the only language as `lang` of the arguments. EINVAL, with that member: there are several. */
int task_choice_take(const json_t *languages, const char *file, json_t *args, struct kettle_error *err);
