/* SPDX-License-Identifier: MIT */
/* The log: one line an entry on stderr, in a form that journald understands. */
#include <config.h>

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/json_text.h"
#include "base/text.h"

static const char *const format_names[] = {[LOG_TEXT] = "text", [LOG_JSON] = "json", [LOG_JOURNAL] = "journal"};
static const struct {
	const char *name;
	char priority; /* of syslog */
} levels[] = {
	[KETTLE_LOG_ERROR] = {"error", '3'},
	[KETTLE_LOG_WARNING] = {"warning", '4'},
	[KETTLE_LOG_INFO] = {"info", '6'},
	[KETTLE_LOG_DEBUG] = {"debug", '7'},
};

/* A process has one stderr. */
static _Atomic int log_format = LOG_TEXT;
static _Atomic int log_level = KETTLE_LOG_INFO;

#define TAIL 8            /* room kept for the "…", the end of the JSON object and the newline */
#define MESSAGE_ROOM 256u /* kept by fields for the message that follows them */

struct line {
	char data[LOG_LINE_MAX];
	size_t len;
	bool full;  /* nothing is added any more */
	bool lacks; /* a field had no room */
};

void
log_setup(enum log_format format, enum kettle_log_level level)
{
	log_format = (int)format;
	log_level = (int)level;
}

enum log_format
log_format_default(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	unsigned long long device, inode;
	if (!stream || sscanf(stream, "%llu:%llu", &device, &inode) != 2 || fstat(STDERR_FILENO, &st) != 0)
		return LOG_TEXT;
	return st.st_dev == device && st.st_ino == inode ? LOG_JOURNAL : LOG_TEXT;
}

int
log_format_parse(const char *text, enum log_format *ret_format, struct kettle_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(format_names); i++) {
		if (strcmp(text, format_names[i]) == 0) {
			*ret_format = (enum log_format)i;
			return 0;
		}
	}
	return kettle_fail(
		err, KETTLE_EINVAL, "The log format \"%.40s\" is unknown; it must be text, json or journal.", text);
}

int
log_level_parse(const char *text, enum kettle_log_level *ret_level, struct kettle_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (strcmp(text, levels[i].name) == 0) {
			*ret_level = (enum kettle_log_level)i;
			return 0;
		}
	}
	return kettle_fail(
		err, KETTLE_EINVAL, "The log level \"%.40s\" is unknown; it must be error, warning, info or debug.", text);
}

/* Adds a piece whole or not at all, so that no escape sequence and no character is cut. */
static void
put(struct line *line, const char *data, size_t size)
{
	if (line->full || line->len + size > LOG_LINE_MAX - TAIL) {
		line->full = true;
		return;
	}
	memcpy(line->data + line->len, data, size);
	line->len += size;
}

static void
puts_line(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

/* A character that would break the line, as \n or its number. */
static void
put_escaped(struct line *line, unsigned char c, bool json)
{
	char text[8];
	if (c == '\n' || c == '\t')
		(void)snprintf(text, sizeof(text), "\\%c", c == '\n' ? 'n' : 't');
	else
		(void)snprintf(text, sizeof(text), json ? "\\u%04x" : "\\x%02x", c);
	puts_line(line, text);
}

/* An invisible character as its number; in JSON, above U+FFFF, as two surrogates. */
static void
put_invisible(struct line *line, uint32_t c, bool json)
{
	char text[24];
	if (c <= 0xffff)
		(void)snprintf(text, sizeof(text), "\\u%04x", (unsigned)c);
	else if (json)
		(void)snprintf(
			text, sizeof(text), "\\u%04x\\u%04x", 0xd7c0 + (unsigned)(c >> 10), 0xdc00 + (unsigned)(c & 0x3ff));
	else
		(void)snprintf(text, sizeof(text), "\\U%08x", (unsigned)c);
	puts_line(line, text);
}

static void
put_message(struct line *line, const char *text, bool json)
{
	for (size_t left = strlen(text), len; left; text += len, left -= len) {
		unsigned char c = (unsigned char)*text;
		len = utf8_length(text, left);
		bool c1 = len == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0;
		if (len == 0)
			len = 1;
		if (c1)
			put_escaped(line, (unsigned char)text[1], json);
		else if (len > 1 && utf8_is_invisible(utf8_code_point(text, len)))
			put_invisible(line, utf8_code_point(text, len), json);
		else if (c < 0x20 || c == 0x7f || (c >= 0x80 && len == 1))
			put_escaped(line, c, json);
		else if (json && (c == '"' || c == '\\'))
			put(line, (char[]){'\\', (char)c}, 2);
		else
			put(line, text, len);
	}
}

/* Whether a text reads as one word, which ends at the next space. */
static bool
is_word(const char *text)
{
	return *text && !text[strcspn(text, " \"\\=")] && strcmp(text, "true") != 0 && strcmp(text, "false") != 0;
}

static void
put_value(struct line *line, const json_t *value, bool json)
{
	char number[32];
	if (json_is_integer(value)) {
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		puts_line(line, number);
	} else if (!json && json_is_string(value) && is_word(json_string_value(value))) {
		put_message(line, json_string_value(value), false);
	} else {
		AUTO_FREE char *text = json_text(value, JSON_ENCODE_ANY | (json ? JSON_ENSURE_ASCII : 0));
		json ? puts_line(line, text ? text : "null") : put_message(line, text ? text : "null", false);
	}
}

/* Adds each field whole or not at all, as a member of the JSON object or as " name=value", so that the message has room. */
static void
put_fields(struct line *line, const json_t *fields, bool json)
{
	json_object_each(fields, name, value) {
		if (json_is_null(value) || json_is_object(value) || json_is_array(value))
			continue;
		struct line field;
		field.len = 0;
		field.full = false;
		puts_line(&field, json ? ",\"" : " ");
		puts_line(&field, name);
		puts_line(&field, json ? "\":" : "=");
		put_value(&field, value, json);
		if (field.full || line->len + field.len > LOG_LINE_MAX - TAIL - MESSAGE_ROOM)
			line->lacks = true;
		else
			put(line, field.data, field.len);
	}
}

static void
put_head(struct line *line, enum log_format format, enum kettle_log_level level, const char *area, const json_t *fields)
{
	char time[TIME_TEXT_SIZE];
	time_text(time_now_ms(), time);
	switch (format) {
	case LOG_TEXT:
		puts_line(line, time);
		puts_line(line, " ");
		puts_line(line, levels[level].name);
		puts_line(line, " ");
		break;
	case LOG_JSON:
		puts_line(line, "{\"at\":\"");
		puts_line(line, time);
		puts_line(line, "\",\"level\":\"");
		puts_line(line, levels[level].name);
		puts_line(line, "\",\"area\":\"");
		break;
	case LOG_JOURNAL:
		put(line, (char[]){'<', levels[level].priority, '>'}, 3);
		break;
	}
	put_message(line, area, format == LOG_JSON);
	if (format == LOG_JSON) {
		puts_line(line, "\"");
		put_fields(line, fields, true);
		puts_line(line, ",\"message\":\"");
	} else
		puts_line(line, ": ");
}

static void
write_entry(enum kettle_log_level level, const char *area, const char *message, const json_t *fields)
{
	struct line line = {.len = 0};
	enum log_format format = (enum log_format)log_format;
	put_head(&line, format, level, area, fields);
	put_message(&line, message, format == LOG_JSON);
	if (format != LOG_JSON)
		put_fields(&line, fields, false);
	const char *end = format == LOG_JSON ? "\"}\n" : "\n";
	if (line.full || line.lacks) {
		memcpy(line.data + line.len, "…", strlen("…"));
		line.len += strlen("…");
	}
	memcpy(line.data + line.len, end, strlen(end));
	line.len += strlen(end);
	ssize_t written;
	do
		written = write(STDERR_FILENO, line.data, line.len);
	while (written < 0 && errno == EINTR);
}

void
log_vwrite(enum kettle_log_level level, const char *area, const char *format, va_list args)
{
	if ((int)level > log_level)
		return;
	int saved = errno;
	char message[LOG_LINE_MAX];
	if (vsnprintf(message, sizeof(message), format, args) < 0)
		message[0] = '\0';
	write_entry(level, area, message, NULL);
	errno = saved;
}

void
log_write(enum kettle_log_level level, const char *area, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_vwrite(level, area, format, args);
	va_end(args);
}

/* ---- entries with data, of which there may be many ---- */

static struct {
	pthread_mutex_t lock;
	uint64_t second;
	unsigned written;  /* in that second */
	uint64_t left_out; /* since the last one that was written */
} events = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool
log_event_due_at(uint64_t now_ms)
{
	if (log_level < KETTLE_LOG_INFO)
		return false;
	(void)pthread_mutex_lock(&events.lock);
	if (events.second != now_ms / 1000) {
		events.second = now_ms / 1000;
		events.written = 0;
	}
	bool due = events.written < LOG_EVENTS_PER_S;
	if (due)
		events.written++;
	else
		events.left_out++;
	(void)pthread_mutex_unlock(&events.lock);
	return due;
}

bool
log_event_due(void)
{
	return log_event_due_at(time_monotonic_ns() / 1000000);
}

void
log_event(const char *area, const char *message, json_t *fields_take)
{
	AUTO_JSON json_t *given = fields_take, *fields = json_object();
	(void)pthread_mutex_lock(&events.lock);
	uint64_t left_out = events.left_out;
	events.left_out = 0;
	(void)pthread_mutex_unlock(&events.lock);
	if (left_out)
		json_object_set_new(fields, "left_out", json_integer((json_int_t)left_out));
	/* At the end, since it is logged once, and a long field takes the room of those after it. */
	(void)json_object_update(fields, given);
	write_entry(KETTLE_LOG_INFO, area, message, fields);
}
