/* SPDX-License-Identifier: MIT */
/* Files that plugins publish. */
#include <config.h>

#include "web/api/links.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "web/visit/respond.h"

void
links_send(struct visit *visit, const json_t *file, const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	struct stat about;
	const char *path = json_text_or_empty(file, "path"), *slash = name ? strrchr(name, '/') : NULL;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	(void)unlink(path);
	if (fd < 0 || fstat(fd, &about) != 0) {
		visit_refuse(visit, KETTLE_EIO, "The file cannot be read.");
		return;
	}
	AUTO_FREE char *plain = xstrdup(slash ? slash + 1 : name ? name : "");
	for (char *at = plain; *at; at++)
		*at = strchr(letters, *at) ? *at : '_';
	AUTO_FREE char *disposition = xasprintf("attachment; filename=\"%s\"", plain);
	const struct http_header headers[] = {
		respond_uncached[0], respond_uncached[1], {name ? "Content-Disposition" : NULL, disposition}, {NULL, NULL}};
	http_answer(visit->request, STATUS_OK,
		http_content_file("application/octet-stream", STEAL_FD(fd), (uint64_t)about.st_size, headers));
	visit_end(visit);
}

static void
on_taken(struct visit *visit, json_t *result)
{
	links_send(visit, result, NULL);
}

static void
take(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call_internal(
		visit, "link.take", json_pack("{s:O}", "token", json_object_get(visit->data, "token")), on_taken);
}

void
links_request(struct web *web, struct http_request *request, const char *token)
{
	if (http_method(request) != HTTP_GET)
		respond_not_allowed(request, "GET");
	else
		visit_begin(web, request, NULL, 0, take, visit_respond_error, json_pack("{s:s}", "token", token), NULL);
}
