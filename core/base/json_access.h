/* SPDX-License-Identifier: MIT */
/* Reading members of JSON objects that may be absent, or NULL, or of another type. Results belong to the object. All [any]. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Loops over an array and over the members of an object, which may be NULL. They declare `item`, `key` and `value`. */
#define json_array_each(array, item) json_array_each_at(array, item##_index, item)
#define json_array_each_at(array, i, item) \
	for (json_t * item, *item##_looped = (json_t *)(array); item##_looped; item##_looped = NULL) \
		for (size_t i = 0; (item = json_array_get(item##_looped, i)); i++)
#define json_object_each(object, key, value) \
	for (json_t * value, *value##_looped = (json_t *)(object); value##_looped; value##_looped = NULL) \
		for (const char *key = json_object_iter_key(json_object_iter(value##_looped)); \
			 key && (value = json_object_iter_value(json_object_key_to_iter(key))); \
			 key = json_object_iter_key(json_object_iter_next(value##_looped, json_object_key_to_iter(key))))

/* The text of a member; NULL: there is none. */
static inline const char *
json_text_or_null(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* The text of a member, "" where there is none. */
static inline const char *
json_text_or_empty(const json_t *object, const char *key)
{
	const char *text = json_text_or_null(object, key);
	return text ? text : "";
}

/* Whether a member is exactly this text. */
static inline bool
member_is(const json_t *object, const char *key, const char *text)
{
	return json_object_get(object, key) && strcmp(json_text_or_empty(object, key), text) == 0;
}

/* A member that is an integer, such as an id; 0 where there is none. */
static inline json_int_t
member_int(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* A member that is a number of any kind; NAN where there is none (by a builtin: this header is used widely, math.h is long). */
static inline double
member_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : __builtin_nan("");
}

/* The value at a path of members and array indices, "a.0.b", of this length; NULL: there is none. */
static inline json_t *
json_at(const json_t *value, const char *path, size_t len)
{
	for (size_t size; len > 0 && value; path += size, len -= size) {
		const char *dot = (const char *)memchr(path, '.', len);
		size = dot ? (size_t)(dot - path) : len;
		value = !json_is_array(value)          ? json_object_getn(value, path, size)
				: *path >= '0' && *path <= '9' ? json_array_get(value, strtoul(path, NULL, 10))
											   : NULL;
		size += dot != NULL;
	}
	return (json_t *)value;
}

/* Whether a member is true. */
static inline bool
member_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* Whether an array has a text. */
static inline bool
list_has_text(const json_t *list, const char *text)
{
	json_array_each(list, item)
		if (json_is_string(item) && strcmp(json_string_value(item), text) == 0)
			return true;
	return false;
}

/* The text of an array that equals this one without case, or NULL; borrowed. */
static inline const char *
list_find_text(const json_t *list, const char *text)
{
	json_array_each(list, item)
		if (json_is_string(item) && strcasecmp(json_string_value(item), text) == 0)
			return json_string_value(item);
	return NULL;
}

/* The first object of an array whose member is this text, or NULL; borrowed. */
static inline json_t *
list_find(const json_t *list, const char *key, const char *text)
{
	json_array_each(list, item)
		if (member_is(item, key, text))
			return item;
	return NULL;
}
