/* SPDX-License-Identifier: MIT */
/* The one list of the kinds of events: who may read them, and the members of their data. docs/plugins.md has the same rows. */
#ifndef KETTLE_MODEL_EVENT_KINDS_H
#define KETTLE_MODEL_EVENT_KINDS_H

#include <jansson.h>
#include <kettle/error.h>

struct event_kind {
	const char *kind;
	char scope; /* as stored: 'p', 'u', 'a'; '-': it is never stored */
	const char
		*data; /* its members, each between backticks, and their meaning; a member that does not apply is absent */
};

extern const struct event_kind event_kinds[]; /* ends with a NULL kind */

/* Who may read events of a scope, in words. */
const char *event_scope_text(char scope);
/* Checks that a stored event is as its row says: scope, and no member of data that the row lacks. EINVAL. [any] */
int event_kind_check(const json_t *event, struct kettle_error *err);

#endif
