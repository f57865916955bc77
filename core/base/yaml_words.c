/* SPDX-License-Identifier: MIT */
/* Plain scalars that readers of YAML 1.1 read differently: yaml.org/type, as PyYAML resolves them. */
#include <config.h>

#include "base/yaml.h"

#include <yaml.h>

#include "base/base.h"

#define DIGITS "0123456789"

/* The rest of text after a digit and all digits and underscores behind it; NULL: it does not begin with a digit. */
static const char *
skip_digits(const char *text)
{
	return *text >= '0' && *text <= '9' ? text + strspn(text, DIGITS "_") : NULL;
}

/* Digits with underscores among them; the value in *ret_number, or -1 where it is too large. */
static bool
is_integer(const char *text, const char *digits, int base, long long *ret_number)
{
	char plain[24];
	size_t len = 0;
	for (const char *at = text; *at && len < sizeof(plain) - 1; at++) {
		if (*at != '_' && !strchr(digits, *at))
			return false;
		if (*at != '_')
			plain[len++] = *at;
	}
	plain[len] = '\0';
	*ret_number = len < 18 ? strtoll(plain, NULL, base) : -1;
	return len > 0;
}

/* `1:30`, which is 90 in YAML 1.1: parts below sixty follow the first; with a point it is a fraction. */
static bool
is_sixties(const char *text)
{
	const char *at = skip_digits(text);
	size_t parts = 0;
	for (; at && *at == ':'; parts++) {
		size_t len = strspn(++at, DIGITS);
		if (len == 0 || len > 2 || (len == 2 && *at > '5'))
			return false;
		at += len;
	}
	return parts > 0 && (*at == '\0' || (*at == '.' && at[1 + strspn(at + 1, DIGITS "_")] == '\0'));
}

/* In YAML 1.1 a fraction has a point, and an exponent a sign: `1e5` is a word. */
static bool
is_fraction(const char *text)
{
	const char *at = *text == '.' ? text : skip_digits(text);
	if (!at || *at != '.' || (at == text && !skip_digits(at + 1)))
		return false;
	at += 1 + strspn(at + 1, DIGITS "_");
	if (*at == '\0')
		return true;
	if ((*at != 'e' && *at != 'E') || (at[1] != '-' && at[1] != '+'))
		return false;
	return at[2] && at[2 + strspn(at + 2, DIGITS)] == '\0';
}

static bool
is_date(const char *text)
{
	return strlen(text) == 10 && strspn(text, DIGITS) == 4 && text[4] == '-' && strspn(text + 5, DIGITS) == 2 &&
		   text[7] == '-' && strspn(text + 8, DIGITS) == 2;
}

/* The integer of a scalar in YAML 1.1; *ret_number -1: an integer that is not computed. */
static bool
old_integer(const char *text, long long *ret_number)
{
	bool minus = *text == '-';
	text += *text == '-' || *text == '+';
	bool is = strncmp(text, "0b", 2) == 0   ? is_integer(text + 2, "01", 2, ret_number)
			  : strncmp(text, "0x", 2) == 0 ? is_integer(text + 2, DIGITS "abcdefABCDEF", 16, ret_number)
			  : *text == '0' && text[1]     ? is_integer(text + 1, "01234567", 8, ret_number)
											: skip_digits(text) && is_integer(text, DIGITS, 10, ret_number);
	if (is && minus && *ret_number >= 0)
		*ret_number = -*ret_number;
	return is;
}

/* Reads a scalar as YAML 1.1. True: it means something else there, which `out` names. */
static bool
reads_otherwise(const char *text, const json_t *here, char *out, size_t size)
{
	static const char *const words[][2] = {{"yes", "true"}, {"Yes", "true"}, {"YES", "true"}, {"on", "true"},
		{"On", "true"}, {"ON", "true"}, {"no", "false"}, {"No", "false"}, {"NO", "false"}, {"off", "false"},
		{"Off", "false"}, {"OFF", "false"}};
	const char *unsigned_text = text + (*text == '-' || *text == '+');
	long long number = 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i][0]) == 0)
			return snprintf(out, size, "`%s`", words[i][1]) > 0;
	if (old_integer(text, &number)) {
		if (json_is_integer(here) && (json_integer_value(here) == number || number == -1))
			return false;
		return snprintf(out, size, number == -1 ? "a number" : "the number %lld", number) > 0;
	}
	if (is_sixties(unsigned_text))
		return snprintf(out, size, "a number to the base of sixty") > 0;
	if (is_fraction(*unsigned_text == '.' ? text : unsigned_text)) /* none of them begins with `-.` */
		return !json_is_real(here) && snprintf(out, size, "a number") > 0;
	if (is_date(text))
		return snprintf(out, size, "a date") > 0;
	return json_is_number(here) && snprintf(out, size, "a word") > 0;
}

static void
remark(const char *name, const yaml_event_t *event, json_t *remarks)
{
	const char *text = (const char *)event->data.scalar.value;
	AUTO_JSON json_t *here = NULL;
	char there[80];
	if (!event->data.scalar.plain_implicit || event->data.scalar.tag ||
		yaml_scalar(text, event->data.scalar.length, &here, NULL) != 0 ||
		!reads_otherwise(text, here, there, sizeof(there)))
		return;
	json_array_append_new(remarks,
		json_sprintf(
			"%s:%zu:%zu: `%.40s` is %s here, but %s for programs that read YAML 1.1, such as those in Python: write "
			"what both read alike, or quote it.",
			name, event->start_mark.line + 1, event->start_mark.column + 1, text,
			json_is_number(here) ? "a number" : "a word", there));
}

void
yaml_add_remarks(const char *name, const char *text, size_t size, const char *own_key, json_t *remarks)
{
	bool own = false;
	yaml_parser_t parser;
	yaml_event_t event;
	size_t most = json_array_size(remarks) + YAML_MAX_REMARKS;
	if (!yaml_parser_initialize(&parser))
		return;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	for (bool more = true; more && json_array_size(remarks) < most && yaml_parser_parse(&parser, &event);) {
		bool scalar = event.type == YAML_SCALAR_EVENT;
		if (scalar && !own)
			remark(name, &event, remarks);
		own = scalar && strcmp((const char *)event.data.scalar.value, own_key) == 0;
		more = event.type != YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
}
