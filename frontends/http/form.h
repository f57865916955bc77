/* SPDX-License-Identifier: MIT */
/* Parsers of bodies and queries: multipart forms and queries, over the whole text. Pure. [any] */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

#define FORM_PARTS_MAX 128
#define QUERY_MAX 64 /* parameters */

/* A part of a form; data is a piece of the body. */
struct form_part {
	char *name, *file_name; /* valid UTF-8; file_name without folders, NULL: a plain field */
	const char *data;
	size_t size;
};

struct form {
	struct form_part parts[FORM_PARTS_MAX];
	size_t count;
};

/*
 * Reads a body of multipart/form-data; type is the value of Content-Type. ret_form points into body and is freed by
 * form_free. EINVAL: it is malformed; EVERSION: type is another one.
 */
int form_parse(const char *type, const char *body, size_t size, struct form *ret_form, struct kettle_error *err);
void form_free(struct form *form);
/* The first part of that name; NULL: there is none. */
const struct form_part *form_part(const struct form *form, const char *name);

struct query {
	char *text; /* holds what names and values point to */
	struct {
		const char *name, *value; /* decoded; valid UTF-8 without control characters */
	} parameters[QUERY_MAX];
	size_t count;
};

/* Reads a query or a body of application/x-www-form-urlencoded; freed by query_free. EINVAL. */
int query_parse(const char *text, struct query *ret_query, struct kettle_error *err);
void query_free(struct query *query);
/* Checks that all parameters have one of these names (a list that ends with NULL), each at most once. EINVAL. */
int query_check(const struct query *query, const char *const *names, struct kettle_error *err);
/* The first value of that name; NULL: there is none. */
const char *query_value(const struct query *query, const char *name);
