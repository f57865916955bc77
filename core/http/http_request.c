/* SPDX-License-Identifier: MIT */
/* A checked copy of a caller's request. */
#include <config.h>

#include "http/http_internal.h"

#include <sys/un.h>

#include "base/base.h"

#define METHOD_MAX 32

/* A character of a token (RFC 9110, 5.6.2). */
static bool
is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		   (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t
token_length(const char *text)
{
	size_t length = 0;
	while (is_token(text[length]))
		length++;
	return length;
}

bool
http_header_is(const char *line, const char *name)
{
	size_t length = strlen(name);
	return strncasecmp(line, name, length) == 0 && (line[length] == ':' || line[length] == '\0');
}

bool
http_method_repeatable(const char *method)
{
	static const char *const names[] = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(method, names[i]) == 0)
			return true;
	return false;
}

/* ---- checks ---- */

static int
check_url(const char *url, struct kettle_error *err)
{
	const char *host = url && strncasecmp(url, "http://", 7) == 0    ? url + 7
					   : url && strncasecmp(url, "https://", 8) == 0 ? url + 8
																	 : NULL;
	if (!host)
		return kettle_fail(err, KETTLE_EINVAL, "The URL of an HTTP request begins with http:// or https://.");
	if (strlen(url) > HTTP_URL_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "The URL of an HTTP request is longer than %d bytes.", HTTP_URL_MAX);
	for (const char *at = url; *at; at++)
		if (*at <= ' ' || *at > '~')
			return kettle_fail(err, KETTLE_EINVAL,
				"The URL of an HTTP request has a space, a control character or one outside of ASCII: write it as "
				"%%XX.");
	size_t length = strcspn(host, "/?#");
	if (length == 0)
		return kettle_fail(err, KETTLE_EINVAL, "The URL of an HTTP request names no host.");
	if (memchr(host, '@', length) || memchr(host, '\\', length))
		return kettle_fail(err, KETTLE_EINVAL,
			"The URL of an HTTP request contains a user or a password: send them in the header Authorization.");
	return 0;
}

/* Headers that describe the connection or the body's length. */
static bool
is_reserved(const char *line)
{
	static const char *const names[] = {"Connection", "Content-Length", "Expect", "Host", "Keep-Alive",
		"Proxy-Authorization", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (http_header_is(line, names[i]))
			return true;
	return false;
}

/* The sentences name a header, never its value. */
static int
check_header(const char *line, struct kettle_error *err)
{
	size_t length = token_length(line);
	if (length == 0 || line[length] != ':')
		return kettle_fail(err, KETTLE_EINVAL, "A header of an HTTP request is not of the form \"Name: value\".");
	for (const char *at = line + length; *at; at++)
		if ((*at > 0 && *at < ' ' && *at != '\t') || *at == 0x7f)
			return kettle_fail(err, KETTLE_EINVAL,
				"The header %.*s of an HTTP request contains a line break or another control character.",
				(int)(length < 64 ? length : 64), line);
	if (is_reserved(line))
		return kettle_fail(err, KETTLE_EINVAL,
			"The header %.*s of an HTTP request is set by Kettle, not by the caller.", (int)length, line);
	return 0;
}

static int
check_headers(const char *const *headers, struct kettle_error *err)
{
	size_t count = 0, bytes = 0;
	for (; headers && headers[count]; count++) {
		bytes += strlen(headers[count]);
		if (count >= HTTP_REQUEST_HEADERS_MAX || bytes > HTTP_REQUEST_HEADER_BYTES)
			return kettle_fail(err, KETTLE_ETOOBIG,
				"An HTTP request has more than %d headers, or more than %u bytes of them.", HTTP_REQUEST_HEADERS_MAX,
				HTTP_REQUEST_HEADER_BYTES);
		int rc = check_header(headers[count], err);
		if (rc)
			return rc;
	}
	return 0;
}

static int
check_rest(const struct kettle_http_request *wanted, struct kettle_error *err)
{
	size_t length = wanted->method ? token_length(wanted->method) : 1;
	if (length == 0 || length > METHOD_MAX || (wanted->method && wanted->method[length]))
		return kettle_fail(err, KETTLE_EINVAL, "The method of an HTTP request is not a word such as GET.");
	if (wanted->method && strcmp(wanted->method, "CONNECT") == 0)
		return kettle_fail(err, KETTLE_EINVAL, "The method CONNECT is for proxies.");
	if (wanted->body && wanted->body_file)
		return kettle_fail(err, KETTLE_EINVAL, "An HTTP request has a body or a body_file, not both.");
	if (!wanted->body && wanted->body_size)
		return kettle_fail(err, KETTLE_EINVAL, "An HTTP request has a body_size and no body.");
	if (wanted->body_size > HTTP_BODY_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG,
			"The body of an HTTP request is over %u MiB: put it into a file (body_file).", HTTP_BODY_MAX >> 20);
	if (wanted->on_part && wanted->answer_file)
		return kettle_fail(err, KETTLE_EINVAL, "An HTTP request has an answer_file or an on_part, not both.");
	if (wanted->idle_ms && !wanted->on_part)
		return kettle_fail(err, KETTLE_EINVAL, "An HTTP request has idle_ms and no on_part.");
	if (wanted->unix_socket && strlen(wanted->unix_socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return kettle_fail(err, KETTLE_EINVAL, "The path of the socket of an HTTP request is too long.");
	return 0;
}

/* ---- the copy ---- */

static char *
copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static uint32_t
or_default(uint32_t value, uint32_t other)
{
	return value ? value : other;
}

static void
set_limits(struct http_request *request, const struct kettle_http_request *wanted)
{
	uint32_t total = or_default(wanted->total_ms, HTTP_TOTAL_MS);
	request->total_ms = total < HTTP_TOTAL_MAX_MS ? total : HTTP_TOTAL_MAX_MS;
	request->connect_ms = or_default(wanted->connect_ms, HTTP_CONNECT_MS);
	request->max_headers = wanted->max_headers ? wanted->max_headers : HTTP_HEADER_BYTES;
	request->idle_ms = wanted->idle_ms;
	request->max_body = wanted->max_body                         ? wanted->max_body
						: wanted->answer_file || wanted->on_part ? HTTP_FILE_MAX
																 : HTTP_MEMORY_MAX;
	request->max_redirects = wanted->max_redirects;
	request->retries = wanted->retries;
}

int
http_request_new(const struct kettle_http_request *given, struct http_request **ret_request, struct kettle_error *err)
{
	struct kettle_http_request wanted = {0};
	/* A caller of an older minor has a smaller struct. */
	memcpy(&wanted, given, given->size < sizeof(wanted) ? given->size : sizeof(wanted));
	int rc = check_url(wanted.url, err);
	if (rc == 0)
		rc = check_headers(wanted.headers, err);
	if (rc == 0)
		rc = check_rest(&wanted, err);
	if (rc)
		return rc;
	struct http_request *request = xnew(struct http_request, .method = xstrdup(wanted.method ? wanted.method : "GET"),
		.url = xstrdup(wanted.url), .body_file = copy_text(wanted.body_file),
		.answer_file = copy_text(wanted.answer_file), .unix_socket = copy_text(wanted.unix_socket),
		.body = wanted.body ? xmemdup(wanted.body, wanted.body_size) : NULL, .body_size = wanted.body_size,
		.done = wanted.done, .on_part = wanted.on_part, .streams = wanted.on_part != NULL, .arg = wanted.arg);
	size_t count = 0;
	while (wanted.headers && wanted.headers[count])
		count++;
	request->headers = xcalloc(count, sizeof(*request->headers));
	request->headers_count = count;
	for (size_t i = 0; i < count; i++)
		request->headers[i] = xstrdup(wanted.headers[i]);
	set_limits(request, &wanted);
	*ret_request = request;
	return 0;
}

void
http_request_free(struct http_request *request)
{
	for (size_t i = 0; i < request->headers_count; i++)
		free(request->headers[i]);
	free_all(request->headers, request->method, request->url, request->body, request->body_file, request->answer_file,
		request->unix_socket, request->answer.url);
	buf_free(&request->answer.head);
	buf_free(&request->answer.body);
	buf_free(&request->parts);
	buf_free(&request->taken);
	free(request);
}
