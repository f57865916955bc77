/* SPDX-License-Identifier: MIT */
/* References to users: an identity, a number or a name; the forms cannot be confused. */
#pragma once

#include "model/access.h"

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#define ACTOR_PROVIDER_MAX 32 /* bytes */
#define ACTOR_SUBJECT_MAX 200 /* bytes */

/* The kinds of references. No user's name has a `:` or begins with a `#`. */
enum user_ref_kind {
	USER_REF_IDENTITY = 1, /* "PROVIDER:SUBJECT", {"provider", "subject"} */
	USER_REF_NUMBER,       /* "#12", {"number": 12} */
	USER_REF_NAME,         /* all other texts, {"name"} */
};

struct user_ref {
	enum user_ref_kind kind;
	int64_t number;
	char provider[ACTOR_PROVIDER_MAX + 1];
	char text[ACTOR_SUBJECT_MAX + 1]; /* the subject, or the name */
};

/*
 * Reads an argument: a text, as people type it, or one of the objects, as frontends pass what they know. EINVAL: it is none
 * of the three, and the sentence says why. [any]
 */
int user_ref_read(const json_t *value, struct user_ref *ret_ref, struct kettle_error *err);
/* The text that is read as this reference. New string. [any] */
char *user_ref_text(const struct user_ref *ref);
/* Whether an actor can have this identity. EINVAL: it cannot, for example because a part is too long. [any] */
int user_ref_check_identity(const char *provider, const char *subject, struct kettle_error *err);

/* ---- checks of requests and subscriptions that need no database ---- */

/* Checks an actor's identity and role before it is looked up. outside: from a network, so without a role. EINVAL, EACCES. */
int request_check_actor(const json_t *actor, bool outside, struct kettle_error *err);
/* Checks a subscription's filter: {"submission": id}, {"leaderboard": name}, {"task_run": true}, {}, NULL. EINVAL: the member. */
int request_check_filter(const json_t *filter, struct kettle_error *err);
