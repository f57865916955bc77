/* SPDX-License-Identifier: MIT */
/* Fuzzes what the frontend discord makes of other people's text: whatever it is, nothing of it has a meaning in a message. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "discord/rest/download.h"
#include "discord/rest/multipart.h"
#include "discord/rest/route.h"
#include "discord/text/escape.h"
#include "discord/text/snowflake.h"
#include "discord/text/split.h"

#define MESSAGES_MAX 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool holds)
{
	if (!holds)
		abort();
}

/* One line of at most max units, without what hides; with backslashes also without markup. */
static void
check_line(const char *line, size_t max, bool escaped)
{
	size_t size = strlen(line);
	check(split_units(line) <= max && utf8_valid(line, size) && utf8_find_invisible(line, size) == 0);
	for (const char *at = line; *at; at++) {
		check((unsigned char)*at >= ' ');
		if (escaped && *at == '\\')
			check(*++at != '\0' && (unsigned char)*at < 0x80);
		else if (escaped)
			check(strchr("*_~`|<>#@[]:/", *at) == NULL);
	}
}

static size_t
fences(const char *text)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, SPLIT_FENCE)); at += strlen(SPLIT_FENCE))
		count++;
	return count;
}

/* A code block and what is around it, in messages that each have whole blocks. */
static void
check_report(const char *text)
{
	struct buf report = {0};
	AUTO_FREE char *rest = NULL;
	escape_code_block(&report, "python", text);
	check(fences(report.data) == 2 && utf8_valid(report.data, report.len));
	buf_adds(&report, "\nafter it\n");
	AUTO_JSON json_t *messages = split_messages(report.data, MESSAGES_MAX, &rest);
	size_t i, units = 0;
	const json_t *message;
	json_array_foreach(messages, i, message) {
		const char *one = json_string_value(message);
		check(split_units(one) <= SPLIT_UNITS && fences(one) % 2 == 0 && one[strspn(one, " \t\n")] != '\0');
		units += split_units(one);
	}
	/* Only blanks are left out, and only what has no room is left. */
	check(rest ? json_array_size(messages) == MESSAGES_MAX : units + json_array_size(messages) >= strlen("after it"));
	buf_free(&report);
	/* Any text may be split, also one with half a block. */
	AUTO_FREE char *more = NULL;
	AUTO_JSON json_t *raw = split_messages(text, MESSAGES_MAX, &more);
	json_array_foreach(raw, i, message)
		check(split_units(json_string_value(message)) <= SPLIT_UNITS);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const hosts[] = {"cdn.discordapp.com", NULL};
	AUTO_FREE char *text = xstrndup((const char *)data, size);
	size_t max = size > 0 ? 1 + data[0] % 100 : 1;
	AUTO_FREE char *plain = escape_plain(text, max), *markdown = escape_markdown(text, max),
				   *name = multipart_name(text);
	check_line(plain, max, false);
	check_line(markdown, max, true);
	check_report(text);
	check(*name && strlen(name) <= MULTIPART_NAME_MAX && !strpbrk(name, "\"\\\r\n/ "));
	struct route route;
	if (route_parse("PATCH", text, &route, NULL) == 0)
		route_free(&route);
	if (download_check(text, hosts, false, NULL) == 0) {
		const char *host = text + strlen("https://");
		check(strncasecmp(host, hosts[0], strlen(hosts[0])) == 0 && strchr("/?#:", host[strlen(hosts[0])]));
	}
	uint64_t id;
	if (snowflake_parse(text, &id))
		check(id > 0 && strlen(text) < SNOWFLAKE_SIZE);
	return 0;
}
