/* SPDX-License-Identifier: MIT */
/*
 * Which pages of other sites may read answers, as browsers ask for it (CORS).
 *
 * An answer to a GET or HEAD says so by headers of its own, beside a body that other requests may share. Cookies are never
 * allowed with it.
 */
#include <config.h>

#include <string.h>

#include "base/number.h"
#include "http/server_internal.h"

#define ORIGIN_MAX 260
#define PORT_MAX 65535

/* ---- configuration ---- */

/* Whether a text is what a browser sends: a scheme, a host in lower case, and perhaps a port. */
static bool
is_origin(const char *text)
{
	const char *host = strncmp(text, "https://", 8) == 0 ? text + 8 : strncmp(text, "http://", 7) == 0 ? text + 7 : "";
	size_t size = *host == '[' ? strcspn(host, "]") + 1 : strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-");
	long long port = 1;
	if (strlen(text) > ORIGIN_MAX || size == 0 || size > strlen(host) ||
		(*host == '[' && strspn(host + 1, "0123456789abcdef:.") != size - 2))
		return false;
	const char *rest = host + size;
	return *rest == '\0' ||
		   (*rest == ':' && rest[1] != '+' && number_parse_integer(rest + 1, &port) && port > 0 && port <= PORT_MAX);
}

int
cors_check(const char *const *origins, struct kettle_error *err)
{
	for (; origins && *origins; origins++)
		if (!is_origin(*origins))
			return kettle_blame(err, KETTLE_CAUSE_NONE, "cors_origins",
				kettle_fail(err, KETTLE_EINVAL,
					"`cors_origins` has an element that is not an origin without a path, such as https://site.example: "
					"%.100s",
					*origins));
	return 0;
}

/* ---- requests ---- */

/* The origin of the page that sends a request, if it may read; NULL: it may not. */
static const char *
allowed_origin(const struct http_request *request)
{
	const char *origin = http_header_value(request, "Origin");
	for (size_t i = 0; origin && request->server->origins[i]; i++)
		if (strcmp(request->server->origins[i], origin) == 0)
			return request->server->origins[i];
	return NULL;
}

bool
cors_preflight(struct http_request *request)
{
	const char *method = http_header_value(request, "Access-Control-Request-Method");
	const char *origin = request->method == HTTP_OPTIONS && request->server->origins ? allowed_origin(request) : NULL;
	if (!origin || !method || (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0))
		return false;
	const struct http_header headers[] = {{"Access-Control-Allow-Origin", origin}, {"Vary", "Origin"},
		{"Access-Control-Allow-Methods", "GET, HEAD"},
		{"Access-Control-Allow-Headers", "Authorization, If-None-Match, Last-Event-ID, X-Popcorn-Cli-Id"},
		{"Access-Control-Max-Age", "600"}, {NULL, NULL}};
	http_answer(request, MHD_HTTP_NO_CONTENT, http_content_new(NULL, "", 0, headers));
	return true;
}

/* ---- answers ---- */

static enum MHD_Result
copy_header(void *response, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	return MHD_add_response_header(response, name, value);
}

static void
unref(void *content)
{
	http_content_unref(content);
}

/* A content with the same body, and room for headers of its own. */
static struct http_content *
copy_of(struct http_content *content_take)
{
	const struct http_content *from = content_take;
	struct http_content *copy =
		content_of(MHD_create_response_from_buffer_with_free_callback_cls(from->size, from->body, unref, content_take),
			from->size, NULL, NULL);
	(void)MHD_get_response_headers(from->response, copy_header, copy->response);
	return copy;
}

void
cors_mark(struct http_request *request)
{
	if (!request->server->origins || (request->method != HTTP_GET && request->method != HTTP_HEAD))
		return;
	const char *origin = allowed_origin(request);
	if (!request->content->reads)
		request->content = copy_of(request->content);
	struct MHD_Response *response = request->content->response;
	(void)MHD_add_response_header(response, "Vary", "Origin");
	if (origin)
		(void)MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
	if (origin)
		(void)MHD_add_response_header(response, "Access-Control-Expose-Headers", "ETag, Retry-After");
}
