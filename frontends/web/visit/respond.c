/* SPDX-License-Identifier: MIT */
/* Answers as JSON, and errors. */
#include <config.h>

#include "web/visit/respond.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#define JSON_TYPE "application/json"
#define RETRY_S 5 /* seconds after which a request that could not be served is worth another try */
#define NUMBER_SIZE 24
#define HASH_SIZE 65
#define TAG_DIGITS 32

/* A page loads nothing but what this server has, and runs no script that stands in it. */
#define POLICY \
	{ \
		"Content-Security-Policy", \
			"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " \
			"base-uri 'none'; form-action 'self'; frame-ancestors 'none'" \
	}
#define REFERRER \
	{ \
		"Referrer-Policy", "same-origin" \
	}

const struct http_header respond_uncached[] = {
	{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}, {NULL, NULL}};

/* Answers with a value and one more header; name NULL: none. */
static void
respond_with(struct http_request *request, unsigned status, const json_t *value, const char *name, const char *text)
{
	const struct http_header headers[] = {respond_uncached[0], respond_uncached[1], {name, text}, {NULL, NULL}};
	AUTO_FREE char *body = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	http_answer(request, status, http_content_new(JSON_TYPE, body, strlen(body), headers));
}

struct http_content *
respond_content(const json_t *value, size_t *ret_size)
{
	AUTO_FREE char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	*ret_size = strlen(text);
	return http_content_new(JSON_TYPE, text, *ret_size, respond_uncached);
}

void
respond_json(struct http_request *request, unsigned status, const json_t *value)
{
	respond_with(request, status, value, NULL, NULL);
}

void
respond_page(struct http_request *request, unsigned status, const struct buf *html, unsigned retry_s)
{
	char after[NUMBER_SIZE];
	(void)snprintf(after, sizeof(after), "%u", retry_s);
	const struct http_header headers[] = {respond_uncached[0], respond_uncached[1], POLICY, REFERRER,
		{retry_s ? "Retry-After" : NULL, after}, {NULL, NULL}};
	http_answer(request, status, http_content_new(HTML_TYPE, html->data, html->len, headers));
}

void
respond_text(struct http_request *request, unsigned status, const char *type, const char *text)
{
	http_answer(request, status, http_content_new(type, text, strlen(text), respond_uncached));
}

/* ---- errors ---- */

void
error_tell(const struct kettle_host *host, const struct kettle_error *err, struct kettle_error *ret_told)
{
	uint32_t number = 0;
	AUTO_FREE char *clean = sanitize_text(err->message, sizeof(err->message));
	*ret_told = *err;
	utf8_copy(ret_told->message, sizeof(ret_told->message), clean);
	if (kettle_error_http(err->code) != STATUS_INTERNAL)
		return;
	random_bytes(&number, sizeof(number));
	host->log(host, KETTLE_LOG_ERROR, "Fault %08" PRIx32 ": %s", number, err->message);
	(void)kettle_fail(
		ret_told, err->code, "The server has an internal error, which its log has as %08" PRIx32 ".", number);
}

json_t *
error_value(const struct kettle_host *host, const struct kettle_error *err)
{
	struct kettle_error told;
	error_tell(host, err, &told);
	json_t *value = json_pack("{s:s, s:s}", "code", kettle_error_name(told.code), "message", told.message);
	if (*told.member)
		json_object_set_new(value, "member", json_string(told.member));
	if (kettle_cause_name(told.cause))
		json_object_set_new(value, "cause", json_string(kettle_cause_name(told.cause)));
	if (told.retry_s)
		json_object_set_new(value, "retry_s", json_integer(told.retry_s));
	return value;
}

void
respond_retry(struct http_request *request, unsigned status, const json_t *value, unsigned retry_s)
{
	char after[NUMBER_SIZE];
	if (retry_s == 0 && status == STATUS_UNAVAILABLE)
		retry_s = RETRY_S;
	(void)snprintf(after, sizeof(after), "%u", retry_s);
	respond_with(request, status, value, retry_s ? "Retry-After" : NULL, after);
}

void
respond_error(struct http_request *request, const struct kettle_host *host, const struct kettle_error *err)
{
	AUTO_JSON json_t *value = json_pack("{s:o}", "error", error_value(host, err));
	respond_retry(request, (unsigned)kettle_error_http(err->code), value, err->retry_s);
}

void
respond_detail(struct http_request *request, unsigned status, const char *sentence, const char *name, const char *text)
{
	AUTO_FREE char *clean = sanitize_text(sentence, strlen(sentence));
	AUTO_JSON json_t *value = json_pack("{s:s}", "detail", clean);
	respond_with(request, status, value, name, text);
}

static void
refuse(struct http_request *request, unsigned status, const char *code, const char *message, const char *name,
	const char *text)
{
	AUTO_FREE char *clean = sanitize_text(message, strlen(message));
	AUTO_JSON json_t *value = json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", clean);
	respond_with(request, status, value, name, text);
}

void
respond_refusal(struct http_request *request, unsigned status, const char *code, const char *message)
{
	bool unknown = status == STATUS_UNAUTHORIZED;
	refuse(request, status, code, message, unknown ? "WWW-Authenticate" : NULL, "Bearer");
}

void
respond_not_allowed(struct http_request *request, const char *methods)
{
	char message[80];
	(void)snprintf(message, sizeof(message), "This address accepts only %s.", methods);
	refuse(request, STATUS_NOT_ALLOWED, kettle_error_name(KETTLE_EINVAL), message, "Allow", methods);
}

/* ---- what clients may keep ---- */

struct http_content *
respond_kept(const char *type, const void *data, size_t size, char ret_tag[TAG_SIZE])
{
	char hash[HASH_SIZE];
	sha256_hex(data, size, hash);
	(void)snprintf(ret_tag, TAG_SIZE, "\"%.*s\"", TAG_DIGITS, hash);
	const struct http_header html[] = {
		{"Cache-Control", "no-cache"}, {"ETag", ret_tag}, respond_uncached[1], POLICY, REFERRER, {NULL, NULL}};
	const struct http_header other[] = {
		{"Cache-Control", "no-cache"}, {"ETag", ret_tag}, respond_uncached[1], {NULL, NULL}};
	const struct http_header *headers = strcmp(type, HTML_TYPE) == 0 ? html : other;
	return http_content_new(type, data, size, headers);
}

void
respond_known(struct http_request *request, struct http_content *content_take, const char *tag)
{
	const char *known = http_header_value(request, "If-None-Match");
	bool is_known = known && (strcmp(known, "*") == 0 || strstr(known, tag));
	http_answer(request, is_known ? STATUS_NOT_MODIFIED : STATUS_OK, content_take);
}
