/* SPDX-License-Identifier: MIT */
/*
 * What clients send in bodies and queries.
 *
 * A form is read from its whole body: parts begin behind lines of two dashes and the boundary, have headers and an empty
 * line, and end where the next such line begins. What a part does not need is refused, not guessed.
 */
#include <config.h>

#include "http/form.h"

#include "base/base.h"
#include "http/head.h"
#include "http/percent.h"

#define BOUNDARY_MAX 70  /* bytes, by RFC 2046 */
#define HEADERS_MAX 4096 /* bytes of the headers of a part */
#define DELIMITER_MAX (BOUNDARY_MAX + 4)

/* A piece of text that is being read. */
struct text {
	const char *at, *end;
};

static int
fault(struct kettle_error *err, const char *what)
{
	return kettle_fail(err, KETTLE_EINVAL, "The form cannot be read: %s.", what);
}

/* ---- headers with parameters ---- */

static void
skip_blanks(struct text *text)
{
	while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
		text->at++;
}

static struct text
take_token(struct text *text)
{
	struct text token = {text->at, text->at};
	while (text->at < text->end && head_is_token(text->at, 1))
		text->at++;
	token.end = text->at;
	return token;
}

static bool
text_is(struct text text, const char *word)
{
	size_t len = strlen(word);
	return (size_t)(text.end - text.at) == len && strncasecmp(text.at, word, len) == 0;
}

/* A token, or a text in quotes, in which `\` stands before `"` and `\`. NULL: neither. New string. */
static char *
take_value(struct text *text)
{
	if (text->at == text->end || *text->at != '"') {
		struct text token = take_token(text);
		return token.at == token.end ? NULL : xstrndup(token.at, (size_t)(token.end - token.at));
	}
	char *value = xmalloc((size_t)(text->end - text->at)), *to = value;
	for (text->at++; text->at < text->end && *text->at != '"'; text->at++) {
		if (*text->at == '\\' && text->end - text->at > 1 && (text->at[1] == '"' || text->at[1] == '\\'))
			text->at++;
		*to++ = *text->at;
	}
	*to = '\0';
	if (text->at < text->end) {
		text->at++;
		return value;
	}
	free(value);
	return NULL;
}

/*
 * Takes the next "; name=value". 1: there was one; 0: nothing is left; -1: it is malformed. *ret_value is new.
 */
static int
take_parameter(struct text *text, struct text *ret_name, char **ret_value)
{
	skip_blanks(text);
	if (text->at == text->end)
		return 0;
	if (*text->at++ != ';')
		return -1;
	skip_blanks(text);
	*ret_name = take_token(text);
	if (ret_name->at == ret_name->end || text->at == text->end || *text->at++ != '=')
		return -1;
	*ret_value = take_value(text);
	return *ret_value ? 1 : -1;
}

/* The delimiter of a form: two dashes and the boundary that its type names. */
static int
read_boundary(const char *type, char ret_delimiter[DELIMITER_MAX], struct kettle_error *err)
{
	struct text text = {type, type + strlen(type)}, name;
	char *value;
	int found;
	size_t len = 0;
	while (text.at < text.end && (head_is_token(text.at, 1) || *text.at == '/'))
		text.at++;
	if (!text_is((struct text){type, text.at}, "multipart/form-data"))
		return kettle_fail(err, KETTLE_EVERSION, "The body is not a form (multipart/form-data).");
	while ((found = take_parameter(&text, &name, &value)) > 0) {
		bool boundary = text_is(name, "boundary") && len == 0;
		len = boundary ? strlen(value) : len;
		bool fits = !boundary || (len > 0 && len <= BOUNDARY_MAX && value[len - 1] != ' ' &&
									 strspn(value, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
												   "'()+_,-./:=? ") == len);
		if (boundary && fits)
			(void)snprintf(ret_delimiter, DELIMITER_MAX, "--%s", value);
		free(value);
		if (!fits)
			return fault(err, "its boundary is malformed");
	}
	return found < 0 || len == 0 ? fault(err, "its type names no boundary") : 0;
}

/* ---- parts ---- */

/* Keeps the last part of a path, of either kind. */
static void
keep_last(char *path)
{
	const char *last = path;
	for (const char *at = path; *at; at++)
		if (*at == '/' || *at == '\\')
			last = at + 1;
	(void)memmove(path, last, strlen(last) + 1);
}

static int
read_disposition(struct text value, struct form_part *part, struct kettle_error *err)
{
	struct text name;
	char *text;
	int found;
	if (part->name)
		return fault(err, "a part has two names");
	if (!text_is(take_token(&value), "form-data"))
		return fault(err, "a part is not form-data");
	while ((found = take_parameter(&value, &name, &text)) > 0) {
		char **to = text_is(name, "name") ? &part->name : text_is(name, "filename") ? &part->file_name : NULL;
		bool fits = !to || (!*to && percent_is_text(text, strlen(text)));
		if (to && fits)
			*to = text;
		else
			free(text);
		if (!fits)
			return fault(err, "the name of a part or of its file is malformed");
	}
	if (part->file_name)
		keep_last(part->file_name);
	return found < 0 ? fault(err, "the name of a part is malformed") : 0;
}

static int
read_header(struct text line, struct form_part *part, struct kettle_error *err)
{
	struct text name = take_token(&line);
	if (name.at == name.end || line.at == line.end || *line.at++ != ':')
		return fault(err, "a header of a part is malformed");
	if (!head_is_value(line.at, line.end))
		return fault(err, "a header of a part has a control character");
	skip_blanks(&line);
	if (text_is(name, "content-disposition"))
		return read_disposition(line, part, err);
	if (text_is(name, "content-type") && line.end - line.at >= 10 && strncasecmp(line.at, "multipart/", 10) == 0)
		return fault(err, "it has a form in a part");
	if (text_is(name, "content-transfer-encoding") && !text_is(line, "binary") && !text_is(line, "8bit") &&
		!text_is(line, "7bit"))
		return fault(err, "a part is encoded");
	return 0;
}

/* Reads the headers of a part, up to and with the empty line. */
static int
read_headers(struct text *body, struct form_part *part, struct kettle_error *err)
{
	struct text head = {body->at, body->end - body->at > HEADERS_MAX ? body->at + HEADERS_MAX : body->end};
	for (;;) {
		const char *end = memmem(head.at, (size_t)(head.end - head.at), "\r\n", 2);
		if (!end)
			return fault(err, head.end < body->end ? "the headers of a part are too long" : "a part has no end");
		struct text line = {head.at, end};
		head.at = end + 2;
		if (line.at == line.end)
			break;
		int rc = read_header(line, part, err);
		if (rc < 0)
			return rc;
	}
	body->at = head.at;
	return part->name && *part->name ? 0 : fault(err, "a part has no name");
}

/* Behind a delimiter: 1: a part follows; 0: it was the last one; -1: it is malformed. */
static int
end_delimiter(struct text *body)
{
	bool last = body->end - body->at >= 2 && memcmp(body->at, "--", 2) == 0;
	body->at += last ? 2 : 0;
	skip_blanks(body);
	if (last && body->at == body->end)
		return 0;
	if (body->end - body->at < 2 || memcmp(body->at, "\r\n", 2) != 0)
		return -1;
	body->at += 2;
	return !last;
}

/* Moves to behind the next delimiter; returns what is before it, NULL for at: there is none. */
static struct text
find_delimiter(struct text *body, const char *delimiter)
{
	char line[DELIMITER_MAX + 2] = "\r\n";
	size_t len = strlen(delimiter) + 2;
	(void)strcpy(line + 2, delimiter);
	const char *from = body->at, *at = memmem(from, (size_t)(body->end - from), line, len);
	if (!at)
		return (struct text){NULL, NULL};
	body->at = at + len;
	return (struct text){from, at};
}

static int
read_parts(struct text body, const char *delimiter, struct form *form, struct kettle_error *err)
{
	size_t len = strlen(delimiter);
	int more, rc;
	if ((size_t)(body.end - body.at) >= len && memcmp(body.at, delimiter, len) == 0)
		body.at += len;
	else if (!find_delimiter(&body, delimiter).at)
		return fault(err, "its boundary is missing");
	while ((more = end_delimiter(&body)) > 0) {
		if (form->count == FORM_PARTS_MAX)
			return fault(err, "it has more than 128 parts");
		struct form_part *part = &form->parts[form->count++];
		/* The line end before a delimiter is the delimiter's: that of an empty part is the one of its headers. */
		if ((rc = read_headers(&body, part, err)) < 0)
			return rc;
		body.at -= 2;
		struct text data = find_delimiter(&body, delimiter);
		if (!data.at)
			return fault(err, "its end is missing");
		part->data = data.end - data.at >= 2 ? data.at + 2 : data.end;
		part->size = (size_t)(data.end - part->data);
	}
	return more < 0 ? fault(err, "its boundary is in its content") : 0;
}

int
form_parse(const char *type, const char *body, size_t size, struct form *ret_form, struct kettle_error *err)
{
	char delimiter[DELIMITER_MAX];
	struct form form = {.count = 0};
	int rc = read_boundary(type ? type : "", delimiter, err);
	if (rc == 0)
		rc = read_parts((struct text){body, body + size}, delimiter, &form, err);
	if (rc < 0)
		form_free(&form);
	else
		*ret_form = form;
	return rc;
}

void
form_free(struct form *form)
{
	for (size_t i = 0; i < form->count; i++) {
		free_all(form->parts[i].name, form->parts[i].file_name);
	}
	form->count = 0;
}

const struct form_part *
form_part(const struct form *form, const char *name)
{
	for (size_t i = 0; i < form->count; i++)
		if (strcmp(form->parts[i].name, name) == 0)
			return &form->parts[i];
	return NULL;
}

/* ---- queries ---- */

int
query_parse(const char *text, struct query *ret_query, struct kettle_error *err)
{
	/* Each name and each value needs a NUL, where the text has a `=`, a `&` or its end; a name may have no `=`. */
	AUTO_FREE char *room = xmalloc(2 * strlen(text) + 2);
	struct query query = {.text = room};
	char *to = room;
	for (const char *at = text; *at; at += *at == '&') {
		size_t size = strcspn(at, "&"), name = strcspn(at, "=&"), value = name < size ? name + 1 : size;
		if (size > 0) {
			if (query.count == QUERY_MAX)
				return kettle_fail(err, KETTLE_EINVAL, "The query has more than %d parameters.", QUERY_MAX);
			query.parameters[query.count].name = to;
			bool fits = percent_decode(at, name, true, to);
			to += fits ? strlen(to) + 1 : 0;
			query.parameters[query.count++].value = to;
			if (!fits || !percent_decode(at + value, size - value, true, to))
				return kettle_fail(
					err, KETTLE_EINVAL, "The query has an escape that is not UTF-8, or a control character.");
			to += strlen(to) + 1;
		}
		at += size;
	}
	*ret_query = query;
	ret_query->text = STEAL(room);
	return 0;
}

void
query_free(struct query *query)
{
	free(query->text);
	*query = (struct query){.count = 0};
}

int
query_check(const struct query *query, const char *const *names, struct kettle_error *err)
{
	for (size_t i = 0; i < query->count; i++) {
		const char *name = query->parameters[i].name, *const *known = names;
		while (*known && strcmp(*known, name) != 0)
			known++;
		if (!*known)
			return kettle_fail(err, KETTLE_EINVAL, "There is no parameter `%.60s`.", name);
		if (query_value(query, name) != query->parameters[i].value)
			return kettle_fail(err, KETTLE_EINVAL, "The parameter `%.60s` is given twice.", name);
	}
	return 0;
}

const char *
query_value(const struct query *query, const char *name)
{
	for (size_t i = 0; i < query->count; i++)
		if (strcmp(query->parameters[i].name, name) == 0)
			return query->parameters[i].value;
	return NULL;
}
