/* SPDX-License-Identifier: MIT */
/* Reads the path of a request: its order, its limits, the message in it. */
#include <config.h>

#include "discord/rest/route.h"

#include "base/buf.h"
#include "base/base.h"

#define PATH_MAX_BYTES 2000
#define PARTS_MAX 8
#define MESSAGE_REPLY 4 /* types of a callback whose data is a message */
#define MESSAGE_UPDATE 7

static const char *const methods[] = {"GET", "PUT", "PATCH", "DELETE", "POST"};

struct parts {
	char *text; /* the path without its query; its slashes are NULs */
	const char *at[PARTS_MAX];
	size_t count;
};

static void
split_path(const char *path, struct parts *parts)
{
	parts->text = xstrndup(path + 1, strcspn(path + 1, "?"));
	char *rest = parts->text, *part;
	while (parts->count < PARTS_MAX && (part = strsep(&rest, "/")))
		parts->at[parts->count++] = part;
}

static bool
part_is(const struct parts *parts, size_t number, const char *text)
{
	return number < parts->count && strcmp(parts->at[number], text) == 0;
}

/* Whether the third part of the path is a token. */
static bool
has_token(const struct parts *parts)
{
	return parts->count > 2 && (part_is(parts, 0, "webhooks") || part_is(parts, 0, "interactions"));
}

static char *
name_of(const char *method, const struct parts *parts)
{
	struct buf name = {0};
	buf_printf(&name, "%s ", method);
	for (size_t i = 0; i < parts->count; i++) {
		const char *part = parts->at[i];
		bool id = *part && part[strspn(part, "0123456789")] == '\0';
		buf_printf(&name, "/%s", i == 2 && has_token(parts) ? ":token" : id ? ":id" : part);
	}
	return buf_take(&name);
}

static char *
major_of(const struct parts *parts)
{
	if (has_token(parts))
		return xasprintf("%s/%s/%s", parts->at[0], parts->at[1], parts->at[2]);
	if (parts->count > 1 &&
		(part_is(parts, 0, "channels") || part_is(parts, 0, "guilds") || part_is(parts, 0, "webhooks")))
		return xasprintf("%s/%s", parts->at[0], parts->at[1]);
	return xstrdup("");
}

static enum route_body
body_of(const char *method, const struct parts *parts, enum route_class class)
{
	bool post = strcmp(method, "POST") == 0;
	if (!post && strcmp(method, "PATCH") != 0)
		return ROUTE_OTHER;
	if (class == ROUTE_CALLBACK)
		return ROUTE_CALLBACK_DATA;
	if (class == ROUTE_FOLLOW_UP)
		return ROUTE_MESSAGE;
	if (!part_is(parts, 0, "channels"))
		return ROUTE_OTHER;
	if (part_is(parts, 2, "threads"))
		return ROUTE_THREAD_MESSAGE;
	return part_is(parts, 2, "messages") && parts->count == (post ? 3 : 4) ? ROUTE_MESSAGE : ROUTE_OTHER;
}

int
route_parse(const char *method, const char *path, struct route *ret_route, struct kettle_error *err)
{
	size_t known = 0;
	while (known < ARRAY_SIZE(methods) && strcmp(methods[known], method) != 0)
		known++;
	if (known == ARRAY_SIZE(methods))
		return kettle_fail(
			err, KETTLE_EINVAL, "The method of a request to Discord must be GET, PUT, PATCH, DELETE or POST.");
	bool valid = *path == '/' && strlen(path) <= PATH_MAX_BYTES;
	for (const char *at = path; *at; at++)
		valid = valid && *at > ' ' && *at < 0x7f && *at != '#';
	if (!valid)
		return kettle_fail(err, KETTLE_EINVAL,
			"The path of a request to Discord must begin with a slash and have at most %d printable characters.",
			PATH_MAX_BYTES);
	struct parts parts = {0};
	split_path(path, &parts);
	struct route route = {.class = ROUTE_BOT};
	if (has_token(&parts))
		route.class = part_is(&parts, 0, "interactions") ? ROUTE_CALLBACK : ROUTE_FOLLOW_UP;
	route.body = body_of(method, &parts, route.class);
	route.idempotent = strcmp(method, "POST") != 0 || route.class == ROUTE_CALLBACK;
	route.name = name_of(method, &parts);
	route.major = major_of(&parts);
	if (has_token(&parts))
		route.lane = xasprintf("token %s", parts.at[2]);
	else if (part_is(&parts, 0, "channels") && part_is(&parts, 2, "messages") && strcmp(method, "GET") != 0)
		route.lane = xasprintf("messages %s", parts.at[1]);
	else
		route.lane = xasprintf("%s %s", route.name, route.major);
	free(parts.text);
	*ret_route = route;
	return 0;
}

void
route_free(struct route *route)
{
	free_all(route->name, route->major, route->lane);
}

json_t *
route_message(const struct route *route, json_t *body)
{
	json_int_t type = member_int(body, "type");
	json_t *message = NULL;
	switch (route->body) {
	case ROUTE_OTHER:
		break;
	case ROUTE_MESSAGE:
		message = body;
		break;
	case ROUTE_THREAD_MESSAGE:
		message = json_object_get(body, "message");
		break;
	case ROUTE_CALLBACK_DATA:
		message = type == MESSAGE_REPLY || type == MESSAGE_UPDATE ? json_object_get(body, "data") : NULL;
		break;
	}
	return json_is_object(message) ? message : NULL;
}
