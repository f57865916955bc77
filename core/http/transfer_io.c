/* SPDX-License-Identifier: MIT */
/* The callbacks of libcurl: headers and body of an answer as they come, within the limits, and the body of the request. */
#include <config.h>

#include "http/transfer.h"

#if KETTLE_HAVE_HTTP
#include <errno.h>
#include <unistd.h>

#include "base/base.h"

#define REDIRECT_BODY_MAX (64u << 10) /* bytes that are read, so that the connection can be reused */

/* ---- headers ---- */

static bool
is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

void
transfer_forget_answer(struct transfer *transfer)
{
	struct http_answer *answer = &transfer->request->answer;
	answer->status = 0;
	answer->head.len = 0;
	answer->headers_count = 0;
	answer->body.len = 0;
	answer->body_size = 0;
	answer->in_file = answer->in_parts = false;
	free_all(STEAL(transfer->location), STEAL(transfer->retry_after));
	transfer->in_body = transfer->redirecting = false;
}

/* All headers have come: decides where the body goes. */
static void
begin_body(struct transfer *transfer)
{
	const struct http_request *request = transfer->request;
	struct http_answer *answer = &transfer->request->answer;
	transfer->in_body = true;
	transfer->redirecting = request->max_redirects && transfer->location && is_redirect(answer->status);
	bool good = answer->status >= 200 && answer->status < 300;
	answer->in_file = request->answer_file && good;
	answer->in_parts = request->streams && good;
	transfer->limit = request->max_body;
	if (transfer->redirecting)
		transfer->limit = REDIRECT_BODY_MAX;
	else if ((request->answer_file || request->streams) && !good && transfer->limit > HTTP_OTHER_MAX)
		transfer->limit = HTTP_OTHER_MAX;
	transfer_extend(transfer);
}

static void
keep_header(struct transfer *transfer, const char *line, size_t size)
{
	struct http_answer *answer = &transfer->request->answer;
	const char *colon = memchr(line, ':', size), *value = colon ? colon + 1 : NULL, *end = line + size;
	if (!colon || colon == line)
		return;
	while (end > value && strchr(" \t\r\n", end[-1]))
		end--;
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	AUTO_FREE char *name = xstrndup(line, (size_t)(colon - line)), *text = xstrndup(value, (size_t)(end - value));
	for (char *at = name; *at; at++)
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at - 'A' + 'a');
	buf_add(&answer->head, name, strlen(name) + 1);
	buf_add(&answer->head, text, strlen(text) + 1);
	answer->headers_count++;
	char **kept = strcmp(name, "location") == 0      ? &transfer->location
				  : strcmp(name, "retry-after") == 0 ? &transfer->retry_after
													 : NULL;
	if (kept && !*kept)
		*kept = STEAL(text);
}

/* One line at a time: the status line, headers, an empty line; again after an interim answer; trailers after the body. */
size_t
transfer_on_header(char *line, size_t one, size_t size, void *arg)
{
	struct transfer *transfer = arg;
	long status = 0;
	size *= one;
	transfer->header_bytes += size;
	if (transfer->header_bytes > transfer->request->max_headers || ++transfer->headers_count > HTTP_HEADERS_MAX) {
		transfer->fault = TRANSFER_HEADERS;
		return 0;
	}
	if (transfer->in_body)
		return size;
	if (size > 5 && memcmp(line, "HTTP/", 5) == 0) {
		transfer_forget_answer(transfer);
	} else if (line[0] == '\r' || line[0] == '\n') {
		(void)transfer->context->curl->easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
		transfer->request->answer.status = (int)status;
		if (status >= 200)
			begin_body(transfer);
	} else {
		keep_header(transfer, line, size);
	}
	return size;
}

/* ---- the body of the answer ---- */

static bool
write_all(struct transfer *transfer, const char *data, size_t size)
{
	while (size) {
		ssize_t done = write(transfer->answer_fd, data, size);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			transfer->fault = TRANSFER_WRITE;
			transfer->fault_errno = done < 0 ? errno : ENOSPC;
			return false;
		}
		data += done;
		size -= (size_t)done;
	}
	return true;
}

static bool
announces_more(const struct transfer *transfer)
{
	curl_off_t length = -1;
	(void)transfer->context->curl->easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	return length > 0 && (uint64_t)length > transfer->limit;
}

size_t
transfer_on_body(char *data, size_t one, size_t size, void *arg)
{
	struct transfer *transfer = arg;
	struct http_answer *answer = &transfer->request->answer;
	size *= one;
	if (__atomic_load_n(&transfer->request->cancelled, __ATOMIC_ACQUIRE)) {
		transfer->fault = TRANSFER_CANCELLED;
		return 0;
	}
	if (size > transfer->limit - answer->body_size || (answer->body_size == 0 && announces_more(transfer))) {
		transfer->fault = transfer->redirecting ? TRANSFER_ENOUGH : TRANSFER_BODY;
		return 0;
	}
	if (answer->in_parts && !transfer->context->keep_part(transfer->context, transfer->request, data, size)) {
		if (transfer->request->idle_ms)
			transfer->deadline_ns = UINT64_MAX; /* the loop is late, not the server */
		return CURL_WRITEFUNC_PAUSE;
	}
	transfer_extend(transfer);
	if (transfer->redirecting || answer->in_parts)
		;
	else if (!answer->in_file)
		buf_add(&answer->body, data, size);
	else if (!write_all(transfer, data, size))
		return 0;
	answer->body_size += size;
	return size;
}

/* ---- the body of the request ---- */

size_t
transfer_on_read(char *into, size_t one, size_t size, void *arg)
{
	struct transfer *transfer = arg;
	const struct http_request *request = transfer->request;
	uint64_t left = transfer->body_size - transfer->body_at;
	size *= one;
	if (size > left)
		size = (size_t)left;
	ssize_t got = (ssize_t)size;
	if (request->body)
		memcpy(into, (const char *)request->body + transfer->body_at, size);
	else if (size)
		do
			got = pread(transfer->body_fd, into, size, (off_t)transfer->body_at);
		while (got < 0 && errno == EINTR);
	if (got < 0 || (got == 0 && size)) {
		transfer->fault = TRANSFER_READ;
		transfer->fault_errno = got < 0 ? errno : 0;
		return CURL_READFUNC_ABORT;
	}
	transfer->body_at += (size_t)got;
	return (size_t)got;
}

/*
 * The library sends a body again when a reused connection turns out to be closed. The server may already have acted on
 * the part that it got, so a request that must not be repeated ends here.
 */
int
transfer_on_seek(void *arg, curl_off_t offset, int origin)
{
	struct transfer *transfer = arg;
	const struct http_request *request = transfer->request;
	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > transfer->body_size)
		return CURL_SEEKFUNC_FAIL;
	if ((uint64_t)offset != transfer->body_at && !request->retries && !http_method_repeatable(request->method))
		return CURL_SEEKFUNC_FAIL;
	transfer->body_at = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}
#endif
