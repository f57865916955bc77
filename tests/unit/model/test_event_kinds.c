/* SPDX-License-Identifier: MIT */
/* The kinds of events: docs/plugins.md has each of them, as its row says; what is written is one of them. */
#include <config.h>

#include "model/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

#define HEAD "| kind | who gets it | `data` |\n|---|---|---|\n"

static void
test_page(void **state)
{
	(void)state;
	const char *top = getenv("top_srcdir");
	AUTO_FREE char *path = xasprintf("%s/docs/plugins.md", top ? top : "."), *page = NULL;
	size_t size = 0;
	assert_int_equal(file_read(path, 1u << 20, &page, &size, NULL), 0);
	const char *at = strstr(page, HEAD);
	assert_non_null(at);
	at += strlen(HEAD);
	for (const struct event_kind *row = event_kinds; row->kind; row++) {
		AUTO_FREE char *line = xasprintf("| `%s` | %s | %s |\n", row->kind, event_scope_text(row->scope), row->data);
		if (strncmp(at, line, strlen(line)) != 0)
			fail_msg("docs/plugins.md lacks at its place: %s", line);
		at += strlen(line);
	}
	assert_int_equal(*at, '\n');
}

static void
refused(const char *event_text)
{
	AUTO_JSON json_t *event = json_loads(event_text, 0, NULL);
	struct kettle_error err = {0};
	assert_int_equal(event_kind_check(event, &err), KETTLE_EINVAL);
	assert_sentence(err.message);
}

static void
test_check(void **state)
{
	(void)state;
	AUTO_JSON json_t *event =
		json_pack("{s:s, s:s, s:{s:s}}", "kind", "token.revoked", "scope", "u", "data", "name", "x");
	assert_int_equal(event_kind_check(event, NULL), 0);
	refused("{\"kind\": \"token.revokd\", \"scope\": \"u\"}");
	refused("{\"kind\": \"token.revoked\", \"scope\": \"p\"}");
	refused("{\"kind\": \"token.revoked\", \"scope\": \"u\", \"data\": {\"name\": \"x\", \"token\": \"secret\"}}");
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_page), cmocka_unit_test(test_check)};

UNIT_TESTS(test_event_kinds);
