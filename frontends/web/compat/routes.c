/* SPDX-License-Identifier: MIT */
/* KernelBot's HTTP API: which path is which call. */
#include <config.h>

#include "web/compat/routes.h"

#include <string.h>

#include "base/cleanup.h"
#include "web/accounts/logins.h"
#include "web/compat/compat.h"
#include "web/visit/respond.h"

/* Those of users; the last one is for what no other route has the path of. */
static const struct compat_route routes[] = {
	{HTTP_GET, {"leaderboards"}, 0, compat_leaderboards, NULL},
	{HTTP_GET, {"gpus", "*"}, 0, compat_gpus, NULL},
	{HTTP_GET, {"runner_queue", "*"}, 0, compat_runner_queue, NULL},
	{HTTP_POST, {"submission", "*", "*", "*"}, COMPAT_FILE_MAX + COMPAT_FORM_MAX, compat_submit, NULL},
	{HTTP_POST, {"profile", "*", "*"}, COMPAT_FILE_MAX + COMPAT_FORM_MAX, compat_profile, NULL},
	{HTTP_GET, {"user", "submissions"}, 0, compat_submissions, NULL},
	{HTTP_GET, {"user", "submissions", "*"}, 0, compat_submission, NULL},
	{HTTP_DELETE, {"user", "submissions", "*"}, 0, compat_submission_delete, NULL},
	{HTTP_POST, {"user", "join"}, COMPAT_JSON_MAX, compat_join, NULL},
	{HTTP_GET, {"submissions", "*", "*"}, 0, compat_ranking, NULL},
	{HTTP_GET, {"submission_count", "*", "*"}, 0, compat_ranking_count, NULL},
	{HTTP_GET, {"auth", "init"}, 0, logins_init, NULL},
	{HTTP_GET, {"auth", "cli", "*"}, 0, logins_return, NULL},
	{HTTP_POST, {"*", "*", "*"}, COMPAT_FILE_MAX + COMPAT_FORM_MAX, compat_stream, NULL},
};

/* First words of addresses that are not of this API, but as long as one of a board. */
static const char *const others[] = {"api", "auth", "link", "static"};

static bool
fits(const struct compat_route *route, const struct http_request *request)
{
	for (size_t i = 0; i < COMPAT_SEGMENTS; i++) {
		const char *wanted = route->path[i], *segment = http_segment(request, i);
		if (!wanted || !segment)
			return !wanted && !segment;
		if (strcmp(wanted, "*") != 0 && strcmp(wanted, segment) != 0)
			return false;
	}
	return !http_segment(request, COMPAT_SEGMENTS);
}

static bool
takes(const struct compat_route *route, enum http_method method)
{
	return route->method == method || (route->method == HTTP_GET && method == HTTP_HEAD);
}

/* The route among these that fits and takes the method; *ret_is_known: whether one fits. */
static const struct compat_route *
find_among(const struct compat_route *list, size_t count, const struct http_request *request, bool *ret_is_known)
{
	for (size_t i = 0; i < count; i++)
		if (fits(&list[i], request)) {
			*ret_is_known = true;
			if (takes(&list[i], http_method(request)))
				return &list[i];
		}
	return NULL;
}

/* The route of a request; NULL: it has none. *ret_is_known: whether its path has one with another method. */
static const struct compat_route *
find(const struct http_request *request, bool *ret_is_known)
{
	const size_t named = ARRAY_SIZE(routes) - 1;
	const char *first = http_segment(request, 0);
	*ret_is_known = false;
	if (first && strcmp(first, "admin") == 0)
		return find_among(compat_admin_routes, compat_admin_count, request, ret_is_known);
	const struct compat_route *route = find_among(routes, named, request, ret_is_known);
	bool is_other = *ret_is_known;
	for (size_t i = 0; first && i < ARRAY_SIZE(others); i++)
		is_other = is_other || strcmp(first, others[i]) == 0;
	if (route || is_other || http_method(request) != HTTP_POST)
		return route;
	return find_among(&routes[named], 1, request, ret_is_known);
}

const struct compat_route *
compat_route_of(const struct http_request *request)
{
	bool is_known = false;
	return find(request, &is_known);
}

bool
compat_request(struct web *web, struct http_request *request)
{
	bool is_known = false;
	const struct compat_route *route = find(request, &is_known);
	if (route && route->call)
		compat_admin(web, request, route->call);
	else if (route)
		route->handle(web, request);
	else if (is_known)
		compat_refuse(request, STATUS_NOT_ALLOWED, "This address does not take that method.");
	return is_known;
}

size_t
compat_body_max(const struct http_request *request)
{
	const struct compat_route *route = compat_route_of(request);
	return route ? route->body_max : 0;
}
