/* SPDX-License-Identifier: MIT */
/* References to users: an identity, a number or a name; the forms cannot be confused. */
#include <config.h>

#include "model/user_ref.h"

#include "base/base.h"
#include "base/number.h"
#include "base/text.h"

#define PROVIDER_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_-"

static bool
sound(const char *text, size_t max)
{
	size_t len = text ? strlen(text) : 0;
	if (len == 0 || len > max || !utf8_valid(text, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

int
user_ref_check_identity(const char *provider, const char *subject, struct kettle_error *err)
{
	if (sound(provider, ACTOR_PROVIDER_MAX) && provider[strspn(provider, PROVIDER_LETTERS)] == '\0' &&
		sound(subject, ACTOR_SUBJECT_MAX))
		return 0;
	return kettle_fail(err, KETTLE_EINVAL,
		"An actor must have a provider of 1 to %d lower-case letters, digits, `_` and `-`, and a subject of 1 to %d "
		"bytes "
		"without control characters.",
		ACTOR_PROVIDER_MAX, ACTOR_SUBJECT_MAX);
}

static int
set_identity(const char *provider, const char *subject, struct user_ref *ref, struct kettle_error *err)
{
	int rc = user_ref_check_identity(provider, subject, err);
	if (rc < 0)
		return rc;
	ref->kind = USER_REF_IDENTITY;
	(void)snprintf(ref->provider, sizeof(ref->provider), "%s", provider);
	(void)snprintf(ref->text, sizeof(ref->text), "%s", subject);
	return 0;
}

static int
set_number(long long number, struct user_ref *ref, struct kettle_error *err)
{
	if (number < 1)
		return kettle_fail(err, KETTLE_EINVAL, "The number of a user is a whole number from 1, such as #12.");
	ref->kind = USER_REF_NUMBER;
	ref->number = number;
	return 0;
}

static int
set_name(const char *name, struct user_ref *ref, struct kettle_error *err)
{
	uint32_t invisible = utf8_find_invisible(name, strlen(name));
	if (!sound(name, REQUEST_NAME_MAX))
		return kettle_fail(err, KETTLE_EINVAL, "The name of a user must have 1 to %d bytes without control characters.",
			REQUEST_NAME_MAX);
	if (invisible)
		return kettle_fail(err, KETTLE_EINVAL,
			"The name contains the invisible character U+%04X, which no user's name has; retype it.", invisible);
	if (*name == '#' || strchr(name, ':'))
		return kettle_fail(
			err, KETTLE_EINVAL, "No user has the name `%.200s`: names have no `:` and begin with no `#`.", name);
	ref->kind = USER_REF_NAME;
	(void)snprintf(ref->text, sizeof(ref->text), "%s", name);
	return 0;
}

static int
read_text(const char *text, struct user_ref *ref, struct kettle_error *err)
{
	char provider[ACTOR_PROVIDER_MAX + 1];
	const char *colon = strchr(text, ':');
	if (*text == '#') {
		long long number = 0;
		if (text[1] >= '1' && text[1] <= '9')
			(void)number_parse_integer(text + 1, &number);
		return set_number(number, ref, err);
	}
	if (!colon)
		return set_name(text, ref, err);
	(void)snprintf(
		provider, sizeof(provider), "%.*s", (size_t)(colon - text) < sizeof(provider) ? (int)(colon - text) : 0, text);
	if (set_identity(provider, colon + 1, ref, NULL) == 0)
		return 0;
	return kettle_fail(err, KETTLE_EINVAL,
		"`%.200s` is not an identity: these are PROVIDER:SUBJECT, such as discord:123, with a provider of lower-case "
		"letters, digits, `_` and `-`.",
		text);
}

int
user_ref_read(const json_t *value, struct user_ref *ret_ref, struct kettle_error *err)
{
	struct user_ref ref = {0};
	const char *text = json_string_value(value), *provider = json_text_or_null(value, "provider"),
			   *subject = json_text_or_null(value, "subject"), *name = json_text_or_null(value, "name");
	const json_t *number = json_object_get(value, "number");
	int rc = KETTLE_EINVAL;
	if (text && strlen(text) == json_string_length(value))
		rc = read_text(text, &ref, err);
	else if (json_object_size(value) == 2 && provider && subject)
		rc = set_identity(provider, subject, &ref, err);
	else if (json_object_size(value) == 1 && json_is_integer(number))
		rc = set_number(json_integer_value(number), &ref, err);
	else if (json_object_size(value) == 1 && name)
		rc = set_name(name, &ref, err);
	else
		rc = kettle_fail(err, rc,
			"A user is a text (a name, #NUMBER or PROVIDER:SUBJECT), {\"name\"}, {\"number\"} or {\"provider\", "
			"\"subject\"}.");
	if (rc == 0)
		*ret_ref = ref;
	return rc;
}

char *
user_ref_text(const struct user_ref *ref)
{
	switch (ref->kind) {
	case USER_REF_IDENTITY:
		return xasprintf("%s:%s", ref->provider, ref->text);
	case USER_REF_NUMBER:
		return xasprintf("#%lld", (long long)ref->number);
	case USER_REF_NAME:
		return xstrdup(ref->text);
	}
	return xstrdup("");
}

/* ---- checks of requests and subscriptions that need no database ---- */

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
		return kettle_fail(err, KETTLE_EINVAL, "The filter of a subscription must be an object.");
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
					  "`%s` of a filter must be the number of a submission, the name of a leaderboard, or true.", key)
				: kettle_fail(err, KETTLE_EINVAL, "A filter has no member `%.40s`%s%s%s", key,
					  near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "."));
	}
	return 0;
}
