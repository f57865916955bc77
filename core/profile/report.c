/* SPDX-License-Identifier: MIT */
/* Text for people from a profiler's output. */
#include <config.h>

#include "profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define LINE_MAX_BYTES 1024 /* no line of a report is longer */
#define NUMBER_MAX 1e15     /* larger ones are written with an exponent */

void
report_word(struct buf *out, const char *text, size_t most)
{
	size_t len = strnlen(text, most + 1), start = out->len;
	bool cut = len > most;
	while (cut && len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	(void)utf8_sanitize(text, cut && len > most ? most : len, out);
	for (size_t i = start; i < out->len; i++)
		if (out->data[i] == '\n' || out->data[i] == '\t')
			out->data[i] = ' ';
	if (cut)
		buf_adds(out, "…");
}

void
report_column(struct buf *out, const char *text, size_t width)
{
	size_t start = out->len;
	report_word(out, text, REPORT_MAX_WORD);
	size_t used = out->len - start;
	buf_printf(out, "%*s", used < width ? (int)(width - used) : 1, "");
}

bool
report_has_room(const struct buf *out)
{
	return out->len + LINE_MAX_BYTES < REPORT_MAX_BYTES;
}

void
report_number(double value, int digits, char ret_text[REPORT_NUMBER_SIZE])
{
	char plain[REPORT_NUMBER_SIZE];
	if (!isfinite(value) || fabs(value) >= NUMBER_MAX) {
		(void)snprintf(ret_text, REPORT_NUMBER_SIZE, "%.4g", value);
		return;
	}
	(void)snprintf(plain, sizeof(plain), "%.*f", digits, value);
	size_t whole = strcspn(plain, "."), first = plain[0] == '-', to = 0;
	for (size_t i = 0; plain[i]; i++) {
		if (i > first && i < whole && (whole - i) % 3 == 0)
			ret_text[to++] = ',';
		ret_text[to++] = plain[i];
	}
	ret_text[to] = '\0';
}
