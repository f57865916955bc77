/* SPDX-License-Identifier: MIT */
/* Event streams, however they are cut. */
#include <config.h>

#include "session/event_reader.h"

#include <string.h>

#include "lib/unit_test.h"

static void
on_event(void *arg, const char *name, const char *data, size_t size)
{
	assert_int_equal(strlen(data), size);
	buf_printf(arg, "[%s|%s]", name, data);
}

static void
test_cuts(void **state)
{
	static const char stream[] =
		": a comment\n\nevent: one\ndata: {\"a\":1}\nid: 7\n\ndata:x\ndata: y\nretry: 5\n\nevent: "
		"none\n\nevent: cut\ndata: never";
	size_t size = sizeof(stream) - 1;
	(void)state;
	for (size_t step = 1; step <= size; step++) {
		struct buf seen = {0};
		struct event_reader reader = {.fn = on_event, .arg = &seen};
		for (size_t at = 0; at < size; at += step)
			assert_int_equal(event_reader_add(&reader, stream + at, step < size - at ? step : size - at, NULL), 0);
		assert_string_equal(seen.data, "[one|{\"a\":1}][|x\ny]");
		event_reader_free(&reader);
		buf_free(&seen);
	}
}

/* A line without an end is refused, and nothing of it is kept. */
static void
test_limit(void **state)
{
	static char part[1u << 20];
	struct buf seen = {0};
	struct event_reader reader = {.fn = on_event, .arg = &seen};
	struct kettle_error err = {0};
	int rc = 0;
	(void)state;
	memset(part, 'x', sizeof(part));
	for (unsigned i = 0; i <= EVENT_READER_MAX / sizeof(part) && rc == 0; i++)
		rc = event_reader_add(&reader, part, sizeof(part), &err);
	assert_int_equal(rc, KETTLE_ETOOBIG);
	assert_null(seen.data);
	event_reader_free(&reader);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_cuts),
	cmocka_unit_test(test_limit),
};

UNIT_TESTS(test_event_reader);
