/* SPDX-License-Identifier: MIT */
/* Places in a submission, as compilers and interpreters name them in a sandbox, with the path that the user knows. Pure. */
#ifndef KETTLE_FRONTENDS_COMMON_SOURCE_PATH_H
#define KETTLE_FRONTENDS_COMMON_SOURCE_PATH_H

#include <jansson.h>

/*
 * The text with `path` in the place of `name` (the file in a job's folder, with or without /job/ before it) where a line
 * follows: "name:12:3", "name(12)" and "name line 12" become "path:12…", `"/job/name", line 12` keeps its form; so does "name: In function" at the begin of a line. New string.
 */
char *source_path_put(const char *text, const char *name, const char *path);
/* A copy of a value with this done to every string in it. New reference. */
json_t *source_path_put_all(const json_t *value, const char *name, const char *path);

#endif
