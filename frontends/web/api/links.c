/* SPDX-License-Identifier: MIT */
/* Files that plugins publish. */
#include <config.h>

#include "web/api/links.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "web/visit/respond.h"
#include "web/visit/visit.h"

/* Sends the file, which is this request's own, and removes its name. */
static void
on_taken(struct visit *visit, json_t *result)
{
	struct stat about;
	const char *path = json_text_or_empty(result, "path");
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	(void)unlink(path);
	if (fd < 0 || fstat(fd, &about) != 0) {
		visit_refuse(visit, KETTLE_EIO, "The file of the link cannot be read.");
		return;
	}
	http_answer(visit->request, STATUS_OK,
		http_content_file("application/octet-stream", STEAL_FD(fd), (uint64_t)about.st_size, respond_uncached));
	visit_end(visit);
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
