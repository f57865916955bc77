/* SPDX-License-Identifier: MIT */
/* Bodies of answers with their headers: responses of libmicrohttpd, which any number of requests may share. */
#include <config.h>

#include "http/server_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

struct http_content *
content_of(struct MHD_Response *response_take, uint64_t size, const char *type, const struct http_header *headers)
{
	struct http_content *content = xcalloc(1, sizeof(*content));
	if (!response_take)
		xalloc_fail();
	*content = (struct http_content){.refs = 1, .response = response_take, .size = size};
	if (type)
		(void)MHD_add_response_header(response_take, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (; headers && headers->name; headers++)
		(void)MHD_add_response_header(response_take, headers->name, headers->value);
	return content;
}

struct http_content *
http_content_new(const char *type, const void *body, size_t size, const struct http_header *headers)
{
	void *copy = xmalloc(size + 1);
	(void)memcpy(copy, size ? body : "", size);
	struct http_content *content =
		content_of(MHD_create_response_from_buffer(size, copy, MHD_RESPMEM_MUST_FREE), size, type, headers);
	content->body = copy;
	return content;
}

struct http_content *
http_content_file(const char *type, int fd_take, uint64_t size, const struct http_header *headers)
{
	struct http_content *content = content_of(MHD_create_response_from_fd64(size, fd_take), size, type, headers);
	content->reads = true;
	return content;
}

struct http_content *
http_content_ref(struct http_content *content)
{
	(void)__atomic_add_fetch(&content->refs, 1, __ATOMIC_RELAXED);
	return content;
}

void
http_content_unref(struct http_content *content)
{
	if (!content || __atomic_sub_fetch(&content->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	MHD_destroy_response(content->response);
	free(content);
}
