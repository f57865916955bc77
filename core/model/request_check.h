/* SPDX-License-Identifier: MIT */
/* Checks of a request or a subscription of a plugin, or of another process, that need no database. All [any]. */
#ifndef KETTLE_MODEL_REQUEST_CHECK_H
#define KETTLE_MODEL_REQUEST_CHECK_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/*
 * Checks an actor before it is looked up: an identity, and a known role or none. outside: it came from a client on a
 * network, so a role is refused. EINVAL, EACCES.
 */
int request_check_actor(const json_t *actor, bool outside, struct kettle_error *err);
/* Checks a subscription's filter: {"submission": id}, {"leaderboard": name}, {"task_run": true}, {}, NULL. EINVAL: the member. */
int request_check_filter(const json_t *filter, struct kettle_error *err);

#endif
