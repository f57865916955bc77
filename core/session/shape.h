/* SPDX-License-Identifier: MIT */
/* The form of a command's answer, as a table in the command's row. It is published as JSON Schema. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum shape_type {
	SHAPE_ANY, /* any JSON: a plan, an option's value */
	SHAPE_BOOL,
	SHAPE_INT,
	SHAPE_NUMBER,
	SHAPE_STRING,
	SHAPE_TIME, /* text, ISO 8601 in UTC: 2026-01-31T12:00:00.000Z */
	SHAPE_OBJECT,
	SHAPE_ARRAY,
	SHAPE_MAP, /* an object whose keys are data: names of devices, numbers of jobs */
};

/* A member of an object, or a value without a name. All texts and tables are constants. */
struct shape {
	const char *name; /* NULL: an element of an array or a map, or a whole answer */
	enum shape_type type;
	const char *help;            /* says what the name does not; no capital, no full stop; or NULL */
	const char *unit;            /* of a number: "s", "ns", "bytes", "ms", "%"; or NULL */
	bool null;                   /* it may be null */
	bool optional;               /* the member may be missing */
	const char *const *choices;  /* of a STRING: the allowed values, until NULL; or NULL: any */
	const char *title;           /* of an OBJECT that several answers have: its name; or NULL */
	const struct shape *members; /* of an OBJECT, until a NULL name */
	const struct shape *element; /* of an ARRAY or a MAP */
};

/* A member with its other attributes: MEMBER("score", SHAPE_NUMBER, .unit = "s", .null = true). */
#define MEMBER(text, ...) \
	{ \
		.name = (text), .type = __VA_ARGS__ \
	}
/* Types that contain others. An OBJECT contains MEMBERs. */
#define OBJECT(...) \
	SHAPE_OBJECT, .members = (const struct shape[]) \
	{ \
		__VA_ARGS__, \
		{ \
			0 \
		} \
	}
/* An OBJECT that several answers have. array: its members, ended by {0}. */
#define SHARED(text, array) SHAPE_OBJECT, .title = (text), .members = (array)
#define ARRAY(...) \
	SHAPE_ARRAY, .element = &(const struct shape) \
	{ \
		.type = __VA_ARGS__ \
	}
#define MAP(...) \
	SHAPE_MAP, .element = &(const struct shape) \
	{ \
		.type = __VA_ARGS__ \
	}
/* For a row of the command table. */
#define ANSWER(...) \
	.answer = &(const struct shape) \
	{ \
		.type = __VA_ARGS__ \
	}
