/* SPDX-License-Identifier: MIT */
/* Arithmetic expressions from files: `2 * m * n * k`. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

#define EXPRESSION_MAX 200  /* bytes of one */
#define EXPRESSION_DEPTH 20 /* parentheses inside each other */

/*
 * The value of an expression of numbers (digits, and at most one point among them), names, `+ - * /`, parentheses and
 * spaces; names stand for the integers of an object. What is computed is a double. EINVAL, with a sentence that goes on
 * after "the expression ": it is too long or too deep, no expression, has a name that is not an integer of the object,
 * or a step of it has no finite result. [any]
 */
int expression_value(const char *text, const json_t *names, double *ret_value, struct kettle_error *err);
