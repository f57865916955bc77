/* SPDX-License-Identifier: MIT */
/* Sessions of browsers. */
#include <config.h>

#include "web/accounts/session.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "http/form.h"
#include "http/html.h"
#include "web/visit/respond.h"

void
session_redirect(struct http_request *request, const char *address, const char *cookie)
{
	const struct http_header headers[] = {
		{"Cache-Control", "no-store"}, {"Location", address}, {cookie ? "Set-Cookie" : NULL, cookie}, {NULL, NULL}};
	http_answer(request, SEE_OTHER, http_content_new("text/plain", "", 0, headers));
}

/* ---- pages ---- */

void
session_respond(struct http_request *request, unsigned status, const char *title, const char *sentence)
{
	AUTO_BUF struct buf content = {0};
	html_printf(&content, "<p>%s</p>\n", sentence);
	html_respond(request, status, title, &content, 0);
}

void
session_respond_error(const struct web *web, struct http_request *request, const struct kettle_error *err)
{
	struct kettle_error told;
	AUTO_BUF struct buf content = {0};
	error_tell(web->host, err, &told);
	html_printf(&content, "<p>%s</p>\n", told.message);
	html_respond(request, (unsigned)kettle_error_http(err->code), FAILED_TITLE, &content, err->retry_s);
}

void
session_fail(struct visit *visit, const struct kettle_error *err)
{
	session_respond_error(visit->web, visit->request, err);
}

/* ---- forms ---- */

char *
session_form_token(const struct web *web, const char *session)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;
	(void)HMAC(EVP_sha256(), web->form_key, sizeof(web->form_key), (const unsigned char *)session, strlen(session),
		digest, &size);
	return base64url_encode(digest, size);
}

bool
session_token_is(const struct web *web, const struct http_request *request, const char *session, const char *token)
{
	const char *origin = http_header_value(request, "Origin");
	AUTO_FREE char *own = web_address(web, ""), *expected = session_form_token(web, session);
	bool good = token && strlen(token) == strlen(expected) && CRYPTO_memcmp(token, expected, strlen(expected)) == 0;
	return good && *session && (!origin || strcmp(origin, own) == 0);
}

bool
session_sent_form(const struct web *web, const struct http_request *request, const char *session)
{
	size_t size = 0;
	struct query form = {0};
	struct kettle_error err = {0};
	const char *token = query_parse(http_body(request, &size), &form, &err) == 0 ? query_value(&form, "token") : NULL;
	bool good = session_token_is(web, request, session, token);
	query_free(&form);
	return good;
}

void
session_ask(struct visit *visit, const char *title, const char *sentence, const char *button)
{
	AUTO_FREE char *token = session_form_token(visit->web, session_cookie_value(visit->web, visit->request, SESSION));
	AUTO_BUF struct buf content = {0};
	html_printf(&content,
		"<p>%s</p>\n<form method=\"post\"><input type=\"hidden\" name=\"token\" "
		"value=\"%s\"><button>%s</button></form>\n",
		sentence, token, button);
	html_respond(visit->request, STATUS_OK, title, &content, 0);
	visit_end(visit);
}
