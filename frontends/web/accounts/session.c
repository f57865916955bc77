/* SPDX-License-Identifier: MIT */
/* Sessions of browsers. */
#include <config.h>

#include "web/accounts/session.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/base.h"
#include "base/contents.h"
#include "http/form.h"
#include "web/render/mustache.h"
#include "web/render/page.h"
#include "web/visit/caller.h"
#include "web/visit/respond.h"

void
session_redirect(struct http_request *request, const char *address, const char *cookie)
{
	const struct http_header headers[] = {
		{"Cache-Control", "no-store"}, {"Location", address}, {cookie ? "Set-Cookie" : NULL, cookie}, {NULL, NULL}};
	http_answer(request, SEE_OTHER, http_content_new("text/plain", "", 0, headers));
}

const char *
session_local_path(const char *path)
{
	return path[0] == '/' && path[1] != '/' && !strchr(path, '\\') ? path : "/";
}

/* ---- pages ---- */

void
session_show(const struct web *web, struct http_request *request, unsigned status, const char *template,
	const char *title, const json_t *actor, json_t *model_take)
{
	const char *user = json_text_or_null(actor, "name");
	AUTO_FREE char *token = user ? session_form_token(web, session_cookie_value(web, request, SESSION)) : NULL;
	AUTO_JSON json_t *model = model_take, *site = page_site(web, http_path(request), template, title, user, token);
	AUTO_BUF struct buf html = {0};
	json_object_set_new(json_object_get(site, "assets"), "kettle", json_null());
	json_object_set_new(site, "operates", json_boolean(session_operates(actor)));
	json_object_set(model, "site", site);
	(void)mustache_render(&html, template, model, NULL);
	respond_page(request, status, &html, (unsigned)member_int(model, "retry_s"));
}

/* title: NULL: that of the status. */
static void
show_message(const struct web *web, struct http_request *request, unsigned status, const char *title,
	const json_t *actor, const char *sentence, unsigned retry_s)
{
	static const struct {
		unsigned status;
		const char *title;
	} titles[] = {{STATUS_NOT_FOUND, "Not found"}, {FORBIDDEN, "Not allowed"},
		{STATUS_UNAVAILABLE, "Not available now"}, {STATUS_TOO_MANY, "Too many requests"}};
	const char *usual = "That did not work";
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		usual = status == titles[i].status ? titles[i].title : usual;
	bool may_help =
		(status == FORBIDDEN || status == STATUS_NOT_FOUND) && !*session_cookie_value(web, request, SESSION);
	session_show(web, request, status, "message", title ? title : usual, actor,
		json_pack("{s:o, s:s, s:b, s:o}", "status", status == STATUS_OK ? json_null() : json_integer(status),
			"sentence", sentence, "login", may_help, "retry_s", retry_s ? json_integer(retry_s) : json_null()));
}

void
session_respond(
	const struct web *web, struct http_request *request, unsigned status, const char *title, const char *sentence)
{
	show_message(web, request, status, title, NULL, sentence, 0);
}

void
session_respond_error(
	const struct web *web, struct http_request *request, const json_t *actor, const struct kettle_error *err)
{
	struct kettle_error told;
	error_tell(web->host, err, &told);
	show_message(web, request, (unsigned)kettle_error_http(err->code), NULL, actor, told.message, err->retry_s);
}

const json_t *
session_actor(const struct visit *visit)
{
	return visit->actor == visit->web->anonymous ? NULL : visit->actor;
}

bool
session_operates(const json_t *actor)
{
	return member_is(actor, STORED_ROLE, "creator") || member_is(actor, STORED_ROLE, "admin");
}

const char *
session_user(const struct visit *visit)
{
	return json_text_or_null(session_actor(visit), "name");
}

void
session_fail(struct visit *visit, const struct kettle_error *err)
{
	session_respond_error(visit->web, visit->request, NULL, err);
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

/* The origin of an address, as browsers write it but for its case: without a path and without the scheme's own port. */
static char *
origin_of(const char *url)
{
	const char *host = strstr(url, "://") + strlen("://");
	const char *port = strncasecmp(url, "https:", strlen("https:")) == 0 ? ":443" : ":80";
	char *origin = xstrndup(url, (size_t)(host - url) + strcspn(host, "/"));
	size_t len = strlen(origin), tail = strlen(port);
	if (len > tail && strcmp(origin + len - tail, port) == 0)
		origin[len - tail] = '\0';
	return origin;
}

bool
session_same_origin(const struct web *web, const struct http_request *request)
{
	const char *origin = http_header_value(request, "Origin"), *host = http_header_value(request, "Host");
	const char *url = json_text_or_null(web->options, "url");
	AUTO_FREE char *own =
		url ? origin_of(url) : xasprintf("http%s://%s", http_is_secure(request) ? "s" : "", host ? host : "");
	return !origin || strcasecmp(origin, own) == 0;
}

bool
session_token_is(const struct web *web, const struct http_request *request, const char *session, const char *token)
{
	AUTO_FREE char *expected = session_form_token(web, session);
	bool good = token && strlen(token) == strlen(expected) && CRYPTO_memcmp(token, expected, strlen(expected)) == 0;
	return good && *session && session_same_origin(web, request);
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
session_tell(struct visit *visit, const char *title, const char *sentence)
{
	show_message(visit->web, visit->request, STATUS_OK, title, session_actor(visit), sentence, 0);
	visit_end(visit);
}

void
session_ask(struct visit *visit, const char *title, const char *about, json_t *value_take, const char *button)
{
	json_t *model = json_pack("{s:n, s:n, s:n, s:s}", "login", "users", "logout", "button", button);
	json_object_set_new(model, about, value_take);
	session_show(visit->web, visit->request, STATUS_OK, "ask", title, session_actor(visit), model);
	visit_end(visit);
}
