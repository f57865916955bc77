/* SPDX-License-Identifier: MIT */
/* A cache of values for a while, in memory alone: JSON by a key, a bounded number of them. All [any]. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>

struct recent;

/* max: entries; one more takes the place of the oldest. */
struct recent *recent_new(const struct kettle_host *host, size_t max);
void recent_free(struct recent *recent); /* NULL is allowed */
/* The number of times that the cache was emptied; for recent_put. */
uint64_t recent_generation(struct recent *recent);
/* Keeps a value for a time in ms, unless the cache was emptied since `generation` was read. */
void recent_put(struct recent *recent, const char *key, json_t *value_take, int64_t ms, uint64_t generation);
/* The value of a key, which stays; NULL: there is none, or its time is over. New reference. */
json_t *recent_get(struct recent *recent, const char *key);
/* The same, which is forgotten: one caller gets it. */
json_t *recent_take(struct recent *recent, const char *key);
/* The number of values whose member is this text, without those whose time is over. */
size_t recent_count(struct recent *recent, const char *member, const char *text);
void recent_forget(struct recent *recent);
