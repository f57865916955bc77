/* SPDX-License-Identifier: MIT */
/* Whether a source may have lambdas of device code, which need a flag of nvcc that slows down compiling. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define LAMBDA_MAX_DEPTH 20 /* of files that include each other */

/*
 * False: neither the source nor a file that it includes has such a lambda. True: one of them may have one. files: name
 * → contents, as in a plan. Pure. [any]
 */
bool lambda_may_be_in(const json_t *files, const char *source);
