/* SPDX-License-Identifier: MIT */
/* Comma-separated values, RFC 4180, for programs and for spreadsheets. */
#include <config.h>

#include "base/csv.h"

#include "base/base.h"
#include "base/json_text.h"

static void
put_field(FILE *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		(void)fputs(text, out);
		return;
	}
	(void)fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			(void)fputc('"', out);
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

/* Whether a spreadsheet may evaluate a text as a formula; some do so for the full-width forms of the signs, too. */
static bool
is_formula(const char *text)
{
	static const char *const wide[] = {"\uff1d", "\uff0b", "\uff0d", "\uff20"};
	for (size_t i = 0; i < ARRAY_SIZE(wide); i++)
		if (strncmp(text, wide[i], strlen(wide[i])) == 0)
			return true;
	return *text && strchr("=+-@\t\r\n", *text);
}

static void
put_value(FILE *out, const json_t *value)
{
	if (json_is_null(value))
		return;
	if (json_is_string(value)) {
		const char *text = json_string_value(value);
		AUTO_FREE char *quoted = is_formula(text) ? xasprintf("'%s", text) : NULL;
		put_field(out, quoted ? quoted : text);
		return;
	}
	AUTO_FREE char *text = json_text(value, JSON_COMPACT | JSON_ENCODE_ANY);
	put_field(out, text ? text : "");
}

void
csv_put(FILE *out, const json_t *row, bool names)
{
	const char *between = "";
	json_object_each(row, name, value) {
		(void)fputs(between, out);
		if (names)
			put_field(out, name);
		else
			put_value(out, value);
		between = ",";
	}
	(void)fputs("\r\n", out);
}
