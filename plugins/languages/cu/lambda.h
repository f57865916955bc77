/* SPDX-License-Identifier: MIT */
/* Whether a source may have lambdas of device code, which nvcc takes by a flag that makes everything slower. */
#ifndef KETTLE_CU_LAMBDA_H
#define KETTLE_CU_LAMBDA_H

#include <jansson.h>
#include <stdbool.h>

#define LAMBDA_MAX_DEPTH 20 /* of files that include each other */

/*
 * False: nothing in the source, or in what it includes, can be one. True where it may be, and wherever that cannot be
 * told. files: name → contents, as in a plan. Pure. [any]
 */
bool lambda_may_be_in(const json_t *files, const char *source);

#endif
