/* SPDX-License-Identifier: MIT */
/* The log: one line an entry, whatever the message holds. */
#include <config.h>

#include "base/log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

struct fixture {
	char *dir, *path;
	int saved;
};

/* stderr becomes a file. */
static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	f->dir = scratch_make();
	f->path = path_join(f->dir, "log");
	f->saved = dup(STDERR_FILENO);
	int fd = open(f->path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	*state = f;
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		return -1;
	close(fd);
	return 0;
}

static void
restore(struct fixture *f)
{
	if (f->saved >= 0)
		(void)dup2(f->saved, STDERR_FILENO);
	if (f->saved >= 0)
		close(f->saved);
	f->saved = -1;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	restore(f);
	log_setup(LOG_TEXT, KETTLE_LOG_INFO);
	scratch_remove(f->dir);
	free(f->path);
	free(f);
	return 0;
}

/* What was written; stderr is itself again. New string. */
static char *
written(struct fixture *f)
{
	char *data = NULL;
	size_t size = 0;
	restore(f);
	assert_int_equal(file_read(f->path, 1u << 20, &data, &size, NULL), 0);
	assert_int_equal(strlen(data), size);
	return data;
}

static void
test_text(void **state)
{
	struct fixture *f = *state;
	log_setup(LOG_TEXT, KETTLE_LOG_INFO);
	log_write(KETTLE_LOG_WARNING, "engine",
		"two\nlines \x1b[31m \xff \xc3\xa9 \xc2\x9b %d%% \xe2\x80\xae\xf3\xa0\x81\x81", 7);
	log_write(KETTLE_LOG_DEBUG, "engine", "not shown");
	AUTO_FREE char *text = written(f);
	assert_int_equal(text[10], 'T');
	assert_string_equal(
		text + 24, " warning engine: two\\nlines \\x1b[31m \\xff \xc3\xa9 \\x9b 7% \\u202e\\U000e0041\n");
}

static void
test_journal(void **state)
{
	struct fixture *f = *state;
	log_setup(LOG_JOURNAL, KETTLE_LOG_DEBUG);
	log_write(KETTLE_LOG_ERROR, "a", "x");
	log_write(KETTLE_LOG_WARNING, "a", "x");
	log_write(KETTLE_LOG_INFO, "a", "x");
	log_write(KETTLE_LOG_DEBUG, "a", "x");
	AUTO_FREE char *text = written(f);
	assert_string_equal(text, "<3>a: x\n<4>a: x\n<6>a: x\n<7>a: x\n");
}

static void
test_json(void **state)
{
	struct fixture *f = *state;
	log_setup(LOG_JSON, KETTLE_LOG_INFO);
	log_write(
		KETTLE_LOG_INFO, "a\"b", "quote \" back \\ nl \n nul-free \xe2\x80\xae\xf3\xa0\x81\x81 \x01 \xff \xc3\xa9");
	AUTO_FREE char *text = written(f);
	assert_non_null(strstr(text, "nul-free \\u202e\\udb40\\udc41 "));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	AUTO_JSON json_t *entry = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_string_equal(json_string_value(json_object_get(entry, "area")), "a\"b");
	assert_string_equal(json_string_value(json_object_get(entry, "level")), "info");
	assert_non_null(strstr(json_string_value(json_object_get(entry, "message")), "quote \" back \\ nl \n nul-free"));
}

static json_t *
fields(void)
{
	return json_pack("{s:s, s:s, s:I, s:f, s:b, s:n, s:[s]}", "board", "vectors", "name", "a \"b\"\n\xe2\x80\xae",
		"job", (json_int_t)12, "ms", 0.1, "best", 1, "none", "list", "x");
}

/* An entry with data: members of the object, or words after the message; what has no plain value is left out. */
static void
test_fields(void **state)
{
	struct fixture *f = *state;
	log_setup(LOG_TEXT, KETTLE_LOG_INFO);
	log_event("engine", "verdict", fields());
	log_setup(LOG_JSON, KETTLE_LOG_INFO);
	log_event("engine", "verdict", fields());
	AUTO_FREE char *text = written(f);
	char *second = strchr(text, '\n') + 1;
	second[-1] = '\0';
	assert_string_equal(
		text + 24, " info engine: verdict board=vectors name=\"a \\\"b\\\"\\n\\u202e\" job=12 ms=0.1 best=true");
	AUTO_JSON json_t *entry = json_loads(second, JSON_REJECT_DUPLICATES, NULL);
	AUTO_JSON json_t *wanted = fields();
	json_object_del(wanted, "none");
	json_object_del(wanted, "list");
	json_object_set_new(wanted, "level", json_string("info"));
	json_object_set_new(wanted, "area", json_string("engine"));
	json_object_set_new(wanted, "message", json_string("verdict"));
	assert_int_equal(json_object_del(entry, "at"), 0);
	assert_true(json_equal(entry, wanted));
}

/* Fields that leave no room for each other are left out whole; the entry stays an object, and says its message. */
static void
test_long_fields(void **state)
{
	struct fixture *f = *state;
	char value[1501] = {0}, huge[2 * LOG_LINE_MAX + 1] = {0};
	memset(value, 'y', sizeof(value) - 1);
	memset(huge, '\n', sizeof(huge) - 1);
	for (enum log_format format = LOG_TEXT; format <= LOG_JSON; format++) {
		log_setup(format, KETTLE_LOG_INFO);
		log_event("engine", "verdict",
			json_pack(
				"{s:s, s:s, s:s, s:s, s:I}", "huge", huge, "a", value, "b", value, "c", value, "job", (json_int_t)12));
	}
	AUTO_FREE char *text = written(f);
	char *second = strchr(text, '\n') + 1;
	second[-1] = '\0';
	assert_non_null(strstr(text, "verdict a=yyy"));
	assert_null(strstr(text, " c="));
	assert_string_equal(second - 1 - strlen(" job=12…"), " job=12…");
	AUTO_JSON json_t *entry = json_loads(second, JSON_REJECT_DUPLICATES, NULL);
	assert_string_equal(json_string_value(json_object_get(entry, "message")), "verdict…");
	assert_string_equal(json_string_value(json_object_get(entry, "b")), value);
	assert_null(json_object_get(entry, "c"));
	assert_int_equal(json_integer_value(json_object_get(entry, "job")), 12);
}

/* Of more entries than a second may have the number is told by the next one that is written. */
static void
test_many_events(void **state)
{
	struct fixture *f = *state;
	uint64_t now = UINT64_C(1) << 40;
	log_setup(LOG_TEXT, KETTLE_LOG_WARNING);
	assert_false(log_event_due_at(now));
	log_setup(LOG_TEXT, KETTLE_LOG_INFO);
	for (int i = 0; i < LOG_EVENTS_PER_S + 7; i++)
		assert_int_equal(log_event_due_at(now + (uint64_t)i), i < LOG_EVENTS_PER_S);
	assert_true(log_event_due_at(now + 1000));
	log_event("a", "x", json_object());
	log_event("a", "x", json_object());
	AUTO_FREE char *text = written(f);
	char *second = strchr(text, '\n') + 1;
	second[-1] = '\0';
	assert_string_equal(text + 24, " info a: x left_out=7");
	assert_string_equal(second + 24, " info a: x\n");
}

/* That number has room beside fields that take all of it, such as the names that a flood of calls brings. */
static void
test_many_long_events(void **state)
{
	struct fixture *f = *state;
	uint64_t now = UINT64_C(1) << 41;
	char value[LOG_LINE_MAX] = {0};
	memset(value, 'y', LOG_LINE_MAX - 300);
	for (enum log_format format = LOG_TEXT; format <= LOG_JSON; format++) {
		log_setup(format, KETTLE_LOG_INFO);
		now += 1000;
		for (int i = 0; i <= LOG_EVENTS_PER_S; i++)
			(void)log_event_due_at(now);
		log_event("core", "submit", json_pack("{s:s, s:s}", "leaderboard", value, "device", value + 40));
	}
	AUTO_FREE char *text = written(f);
	char *second = strchr(text, '\n') + 1;
	second[-1] = '\0';
	assert_non_null(strstr(text, " left_out=1"));
	AUTO_JSON json_t *entry = json_loads(second, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(entry, "left_out")), 1);
}

static void
test_long_lines(void **state)
{
	struct fixture *f = *state;
	char big[3 * LOG_LINE_MAX];
	for (size_t i = 0; i + 2 < sizeof(big); i += 2)
		memcpy(big + i, "\xc3\xa9", 3);
	log_setup(LOG_JSON, KETTLE_LOG_INFO);
	log_write(KETTLE_LOG_INFO, "a", "%s", big);
	log_setup(LOG_TEXT, KETTLE_LOG_INFO);
	log_write(KETTLE_LOG_INFO, "a", "%s", big);
	AUTO_FREE char *text = written(f);
	char *second = strchr(text, '\n') + 1;
	assert_true((size_t)(second - text) <= LOG_LINE_MAX && second - text > LOG_LINE_MAX - 20);
	assert_true(strlen(second) <= LOG_LINE_MAX && strlen(second) > LOG_LINE_MAX - 20);
	assert_true(utf8_valid(text, strlen(text)));
	assert_non_null(strstr(second, "…\n"));
	second[-1] = '\0';
	AUTO_JSON json_t *entry = json_loads(text, 0, NULL);
	assert_non_null(entry);
}

static void
test_names(void **state)
{
	(void)state;
	enum log_format format;
	enum kettle_log_level level;
	struct kettle_error err = {0};
	assert_int_equal(log_format_parse("json", &format, &err), 0);
	assert_int_equal(format, LOG_JSON);
	assert_int_equal(log_format_parse("xml", &format, &err), KETTLE_EINVAL);
	assert_non_null(strstr(err.message, "text, json or journal"));
	assert_int_equal(log_level_parse("debug", &level, &err), 0);
	assert_int_equal(level, KETTLE_LOG_DEBUG);
	assert_int_equal(log_level_parse("", &level, &err), KETTLE_EINVAL);
}

static void
test_journal_stream(void **state)
{
	(void)state;
	struct stat st;
	char text[100];
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	(void)snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	(void)setenv("JOURNAL_STREAM", text, 1);
	assert_int_equal(log_format_default(), LOG_JOURNAL);
	(void)setenv("JOURNAL_STREAM", "1:2", 1);
	assert_int_equal(log_format_default(), LOG_TEXT);
	(void)setenv("JOURNAL_STREAM", "nonsense", 1);
	assert_int_equal(log_format_default(), LOG_TEXT);
	(void)unsetenv("JOURNAL_STREAM");
	assert_int_equal(log_format_default(), LOG_TEXT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_text),
	TEST(test_journal),
	TEST(test_json),
	TEST(test_fields),
	TEST(test_long_fields),
	TEST(test_many_events),
	TEST(test_many_long_events),
	TEST(test_long_lines),
	TEST(test_names),
	TEST(test_journal_stream),
};

UNIT_TESTS(test_log);
