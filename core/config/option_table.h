/* SPDX-License-Identifier: MIT */
/* Option tables: as a schema, as JSON, and applied to a section of the configuration. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/option.h>
#include <stdbool.h>

#include "base/buf.h"

#define OPTIONS_MAX 200                  /* options of one table */
#define OPTIONS_FAULTS 100               /* most of one section that are collected */
#define OPTIONS_SECRET_BYTES (64u << 10) /* of a secret's file */

/* A table as a plugin gives it: `size` is that of its elements, which may be smaller than this host's. Borrowed. */
struct option_table {
	const struct kettle_option *options;
	size_t count, size;
};

/* The place of a section; everything is borrowed. */
struct option_section {
	const char *name;     /* of the file, for messages; NULL: there is none */
	const json_t *places; /* of the file, or NULL */
	const char *pointer;  /* of the section: "/runners/local" */
	const char *base;     /* folder that relative paths start from; NULL: they stay as they are */
	json_t *warnings;     /* array that takes sentences, or NULL */
	bool as_given;        /* defaults are not filled in, nor secrets */
	json_t *faults;       /* array that takes the sentence of each fault, or NULL: the first one is the error */
};

/* The i-th option in this host's size; members that the plugin's size does not cover are zero. [any] */
void option_table_get(const struct option_table *table, size_t i, struct kettle_option *ret_option);
/* Checks the table itself: keys, types, ranges, defaults that pass, help for each, no key twice. EINVAL. [any] */
int option_table_check(const struct option_table *table, struct kettle_error *err);
/*
 * Checks a section (NULL or null: an empty one) and returns the options for configure, a new reference: with defaults,
 * a list where a single string stands for one, absolute paths, and for every pair NAME_env, NAME_file in the table the
 * secret itself as NAME: an environment variable's, or a file's without its last newlines; a world-readable file adds
 * a warning. The result must not be logged or stored. EINVAL; ENOENT, EACCES, EIO of a secret's file. Where `faults`
 * takes them, EINVAL with an empty message after all of them, and the options are those without fault.
 */
int option_table_read(const struct option_table *table, const json_t *section, const struct option_section *in,
	json_t **ret_options, struct kettle_error *err);
/* Takes back an option that was given: its default, if it has one, replaces it. False: it was not given. */
bool option_table_drop(const struct option_table *table, json_t *options, const char *key);
/* [{"key", "type", "required", "default", "min", "max", "choices", "help"}]; new reference; NULL: text of the table is not UTF-8. [any] */
json_t *option_table_json(const struct option_table *table);
/* A path of the configuration made absolute: `~/` by HOME, a relative one by base. New string. [any] */
char *option_table_path(const char *path, const char *base);
