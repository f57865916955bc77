/* SPDX-License-Identifier: MIT */
/* A message with files as one body (multipart/form-data). */
#include <config.h>

#include "discord/rest/multipart.h"

#include "base/base.h"
#include "base/hash.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

char *
multipart_name(const char *name)
{
	char *plain = *name ? xstrndup(name, MULTIPART_NAME_MAX) : xstrdup("file");
	for (char *at = plain; *(at += strspn(at, NAME_CHARACTERS));)
		*at = '_';
	return plain;
}

/* A boundary that occurs in none of the parts. New string. */
static char *
boundary_of(const char *payload, const struct rest_file *files, size_t count)
{
	for (;;) {
		AUTO_FREE char *boundary = random_token("kettle-", (char[65]){0});
		bool occurs = strstr(payload, boundary) != NULL;
		for (size_t i = 0; i < count; i++)
			occurs = occurs || memmem(files[i].data_take, files[i].size, boundary, strlen(boundary));
		if (!occurs)
			return STEAL(boundary);
	}
}

char *
multipart_make(const char *payload, const struct rest_file *files, size_t count, struct buf *out)
{
	AUTO_FREE char *boundary = boundary_of(payload, files, count);
	buf_printf(out,
		"--%s\r\nContent-Disposition: form-data; name=\"payload_json\"\r\nContent-Type: application/json\r\n\r\n",
		boundary);
	buf_adds(out, payload);
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *name = multipart_name(files[i].name);
		buf_printf(out,
			"\r\n--%s\r\nContent-Disposition: form-data; name=\"files[%zu]\"; filename=\"%s\"\r\nContent-Type: "
			"%s\r\n\r\n",
			boundary, i, name, files[i].content_type ? files[i].content_type : "application/octet-stream");
		buf_add(out, files[i].data_take, files[i].size);
	}
	buf_printf(out, "\r\n--%s--\r\n", boundary);
	return xasprintf("multipart/form-data; boundary=%s", boundary);
}
