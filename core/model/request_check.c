/* SPDX-License-Identifier: MIT */
/* Checks of requests and subscriptions that need no database. */
#include <config.h>

#include "model/request_check.h"

#include "base/json_access.h"
#include "base/nearest.h"
#include "model/user_ref.h"

#include <string.h>

static bool
is_role(const char *text)
{
	return text && (strcmp(text, "user") == 0 || strcmp(text, "creator") == 0 || strcmp(text, "admin") == 0);
}

int
request_check_actor(const json_t *actor, bool outside, struct kettle_error *err)
{
	const json_t *role = json_object_get(actor, "role");
	const char *text = json_string_value(role);
	int rc = user_ref_check_identity(json_text_or_null(actor, "provider"), json_text_or_null(actor, "subject"), err);
	if (rc < 0)
		return rc;
	if (json_object_get(actor, "caller"))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "caller",
			kettle_fail(err, outside ? KETTLE_EACCES : KETTLE_EINVAL,
				"An actor has no `caller`: it is a member of the request."));
	if (role && outside)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "role",
			kettle_fail(err, KETTLE_EACCES, "An actor from outside has no `role`: it has the one that is stored."));
	if (!role || is_role(text))
		return 0;
	return kettle_blame(err, KETTLE_CAUSE_NONE, "role",
		kettle_fail(err, KETTLE_EINVAL, "There is no role `%.40s`: it is `user`, `creator` or `admin`.",
			text ? text : "(no text)"));
}

int
request_check_filter(const json_t *filter, struct kettle_error *err)
{
	static const char *const known[] = {"submission", "leaderboard", "task_run", NULL};
	if (filter && !json_is_object(filter))
		return kettle_fail(err, KETTLE_EINVAL, "The filter of a subscription is an object.");
	json_object_each(filter, key, value) {
		bool right = (strcmp(key, known[0]) == 0 && json_integer_value(value) > 0) ||
					 (strcmp(key, known[1]) == 0 && json_string_length(value) > 0) ||
					 (strcmp(key, known[2]) == 0 && json_is_boolean(value));
		bool is_known = strcmp(key, known[0]) == 0 || strcmp(key, known[1]) == 0 || strcmp(key, known[2]) == 0;
		const char *near = is_known ? NULL : nearest(key, known);
		if (right)
			continue;
		return kettle_blame(err, KETTLE_CAUSE_NONE, key,
			is_known
				? kettle_fail(err, KETTLE_EINVAL,
					  "`%s` of a filter is not the number of a submission, the name of a leaderboard, or true.", key)
				: kettle_fail(err, KETTLE_EINVAL, "A filter has no member `%.40s`%s%s%s", key,
					  near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "."));
	}
	return 0;
}
