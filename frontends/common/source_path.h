/* SPDX-License-Identifier: MIT */
/*
 * Replaces the sandbox's name of the submission by the path that the user knows, in messages of compilers and
 * interpreters. Pure.
 */
#pragma once

#include <jansson.h>

/*
 * The text with `path` in place of `name` (the file in a job's folder, with or without /job/) if a line number
 * follows: "name:12:3", "name(12)" and "name line 12" become "path:12…", and `"/job/name", line 12` keeps its form.
 * Also replaces "name: In function" at the beginning of a line. New string.
 */
char *source_path_put(const char *text, const char *name, const char *path);
/* Such a text with these places as parts of their own: [{"text", "line": of the file, or null}]. New reference. */
json_t *source_path_parts(const char *text, const char *name, const char *path);
/* A copy of a value in which source_path_put has changed every string. New reference. */
json_t *source_path_put_all(const json_t *value, const char *name, const char *path);
