/* SPDX-License-Identifier: MIT */
/*
 * Who people are in a browser.
 *
 * Theory of operation. OAuth's code flow with PKCE. The state of a login lies in memory for ten minutes, and is bound to
 * the browser by a cookie. The provider's answer to the user-info request says who the user is; the core then confirms a
 * login as that identity, and its token becomes the session's cookie. A form has a token made of the session, so that
 * no other site can send it.
 */
#include <config.h>

#include "web/accounts/accounts.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/contents.h"
#include "base/failpoint.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "http/form.h"
#include "web/visit/html.h"
#include "web/visit/respond.h"
#include "web/visit/visit.h"

#define STATE_MS 600000
#define PROVIDER_MS 10000
#define ANSWER_MAX (64u << 10)
#define HASH_SIZE 65
#define CODE_MAX 32
#define CODE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
#define SESSION_S 2592000
#define SEE_OTHER 303
#define FORBIDDEN 403
#define VALUES_MAX 1000

/* A kind of provider: where its users log in, by default, and what its user-info answer calls them. */
static const struct provider {
	const char *name, *scope, *subject, *user_name;
	const char *authorize, *token, *user; /* addresses; NULL: by configuration alone */
} providers[] = {
	{"github", "read:user", "id", "login", "https://github.com/login/oauth/authorize",
		"https://github.com/login/oauth/access_token", "https://api.github.com/user"},
	{"discord", "identify", "id", "username", "https://discord.com/oauth2/authorize",
		"https://discord.com/api/oauth2/token", "https://discord.com/api/users/@me"},
	{"oidc", "openid profile", "sub", "preferred_username", NULL, NULL, NULL},
};

struct accounts {
	struct web *web;
	unsigned char key[32]; /* of the forms' tokens, new with each process */
	pthread_mutex_t lock;
	json_t *states; /* state → {"provider", "browser", "verifier", "nonce", "next", "until_ms"}; under the lock */
};

/* ---- configuration ---- */

/* An option of a provider, such as github_client_id. NULL: it is not set. */
static const char *
option_of(const struct web *web, const struct provider *provider, const char *name)
{
	char key[64];
	(void)snprintf(key, sizeof(key), "%s_%s", provider->name, name);
	return json_text_or_null(web->options, key);
}

static const char *
address_of(const struct web *web, const struct provider *provider, const char *name, const char *usual)
{
	const char *given = option_of(web, provider, name);
	return given ? given : usual;
}

static bool
is_configured(const struct web *web, const struct provider *provider)
{
	return option_of(web, provider, "client_id") && json_text_or_null(web->options, "url") &&
		   address_of(web, provider, "authorize_url", provider->authorize) &&
		   address_of(web, provider, "token_url", provider->token) &&
		   address_of(web, provider, "user_url", provider->user);
}

/* The configured provider of that name; NULL: there is none. */
static const struct provider *
find_provider(const struct web *web, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (name && strcmp(providers[i].name, name) == 0 && is_configured(web, &providers[i]))
			return &providers[i];
	return NULL;
}

static char *
own_address(const struct web *web, const char *path)
{
	const char *url = json_text_or_empty(web->options, "url");
	size_t len = strlen(url);
	return xasprintf("%.*s%s", (int)(len && url[len - 1] == '/' ? len - 1 : len), url, path);
}

static bool
is_https(const struct web *web)
{
	return strncmp(json_text_or_empty(web->options, "url"), "https://", strlen("https://")) == 0;
}

/* ---- text ---- */

static void
add_escaped(struct buf *text, const char *value)
{
	for (const unsigned char *at = (const unsigned char *)value; *at; at++)
		if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
			strchr("-._~", *at))
			buf_add(text, at, 1);
		else
			buf_printf(text, "%%%02X", *at);
}

static void
add_parameter(struct buf *text, const char *name, const char *value)
{
	buf_printf(text, "%s%s=", text->len && text->data[text->len - 1] != '?' ? "&" : "", name);
	add_escaped(text, value);
}

static void
respond_sentence(struct http_request *request, unsigned status, const char *title, const char *sentence)
{
	AUTO_BUF struct buf content = {0};
	buf_adds(&content, "<p>");
	html_add(&content, sentence);
	buf_adds(&content, "</p>\n");
	html_respond(request, status, title, &content);
}

static void
fail(struct visit *visit, const struct kettle_error *err)
{
	struct kettle_error told;
	error_tell(visit->web->host, err, &told);
	respond_sentence(visit->request, (unsigned)kettle_error_http(err->code), "That did not work", told.message);
}

static void
redirect(struct http_request *request, const char *address, const char *cookie)
{
	const struct http_header headers[] = {
		{"Cache-Control", "no-store"}, {"Location", address}, {cookie ? "Set-Cookie" : NULL, cookie}, {NULL, NULL}};
	http_answer(request, SEE_OTHER, http_content_new("text/plain", "", 0, headers));
}

/* ---- cookies, and tokens of forms ---- */

/* A cookie as it is set. `__Host-` needs Secure, so it is left out where the address is plain http, as on loopback. */
static char *
cookie_of(const struct web *web, const char *name, const char *value, long seconds)
{
	bool secure = is_https(web);
	return xasprintf("%s%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%ld%s", secure ? "__Host-" : "", name, value,
		seconds, secure ? "; Secure" : "");
}

/* The value of a cookie of the request; new string, "" where there is none. */
static char *
own_cookie(const struct web *web, const struct http_request *request, const char *name)
{
	AUTO_FREE char *full = xasprintf("%s%s", is_https(web) ? "__Host-" : "", name);
	return cookie_value(http_header_value(request, "Cookie"), full);
}

#define SESSION "kettle"
#define BROWSER "kettle-login"

/* The token of a session's forms: no other site knows it. */
static void
form_token(const struct accounts *accounts, const char *session, char ret_token[HASH_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;
	(void)HMAC(EVP_sha256(), accounts->key, sizeof(accounts->key), (const unsigned char *)session, strlen(session),
		digest, &size);
	for (unsigned i = 0; i < size && 2 * i + 2 < HASH_SIZE; i++)
		(void)snprintf(ret_token + 2 * i, 3, "%02x", digest[i]);
}

/* Whether a form comes from a page of this session: by its token, and by Origin where the browser says it. */
static bool
is_own_form(struct web *web, const struct http_request *request, const char *session)
{
	char expected[HASH_SIZE];
	size_t size = 0;
	struct query form = {0};
	struct kettle_error err = {0};
	const char *origin = http_header_value(request, "Origin");
	AUTO_FREE char *own = own_address(web, "");
	form_token(web->accounts, session, expected);
	const char *token = query_parse(http_body(request, &size), &form, &err) == 0 ? query_value(&form, "token") : NULL;
	bool good = token && strlen(token) == strlen(expected) && CRYPTO_memcmp(token, expected, strlen(expected)) == 0;
	query_free(&form);
	return good && *session && (!origin || strcmp(origin, own) == 0);
}

/* ---- /login ---- */

/* Where to go after a login: a path of this server, never another one. */
static const char *
local_path(const char *path)
{
	return path && path[0] == '/' && path[1] != '/' && !strchr(path, '\\') ? path : "/docs";
}

static void
show_login(struct web *web, struct http_request *request)
{
	struct query query = {0};
	struct kettle_error err = {0};
	AUTO_BUF struct buf content = {0};
	(void)query_parse(http_query(request), &query, &err);
	const char *next = local_path(query_value(&query, "next"));
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (is_configured(web, &providers[i])) {
			AUTO_BUF struct buf link = {0};
			buf_printf(&link, "/auth/start/%s?", providers[i].name);
			add_parameter(&link, "next", next);
			buf_adds(&content, "<p><a href=\"");
			html_add(&content, link.data);
			buf_printf(&content, "\">Log in by %s</a></p>\n", providers[i].name);
		}
	if (!content.len)
		buf_adds(&content, "<p>This server has no provider of logins. Make a token with <code>kettle token "
						   "create</code>.</p>\n");
	query_free(&query);
	html_respond(request, STATUS_OK, "Log in", &content);
}

/* ---- /auth/start/PROVIDER ---- */

/* URL-safe base64 without padding of a SHA-256, as PKCE has it. */
static char *
challenge_of(const char *verifier)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;
	(void)EVP_Digest(verifier, strlen(verifier), digest, &size, EVP_sha256(), NULL);
	char *text = base64_encode(digest, size);
	for (char *at = text; *at; at++)
		*at = *at == '+' ? '-' : *at == '/' ? '_' : *at == '=' ? '\0' : *at;
	return text;
}

static void
keep_state(struct accounts *accounts, const char *state, json_t *login_take)
{
	uint64_t now_ms = accounts->web->host->monotonic_ms(accounts->web->host);
	json_object_set_new(login_take, "until_ms", json_integer((json_int_t)(now_ms + STATE_MS)));
	(void)pthread_mutex_lock(&accounts->lock);
	if (json_object_size(accounts->states) >= ACCOUNTS_STATES_MAX)
		(void)json_object_clear(accounts->states);
	json_object_set_new(accounts->states, state, login_take);
	(void)pthread_mutex_unlock(&accounts->lock);
}

/* Takes a login that is under way, once. NULL: there is none. New reference. */
static json_t *
take_state(struct accounts *accounts, const char *state)
{
	json_int_t now_ms = (json_int_t)accounts->web->host->monotonic_ms(accounts->web->host);
	(void)pthread_mutex_lock(&accounts->lock);
	json_t *login = json_incref(json_object_get(accounts->states, state));
	(void)json_object_del(accounts->states, state);
	(void)pthread_mutex_unlock(&accounts->lock);
	if (login && member_int(login, "until_ms") < now_ms) {
		json_decref(login);
		return NULL;
	}
	return login;
}

static char *
return_address(const struct web *web, const struct provider *provider)
{
	AUTO_FREE char *path = xasprintf("/auth/return/%s", provider->name);
	return own_address(web, path);
}

static void
start_login(struct web *web, struct http_request *request, const struct provider *provider)
{
	char unused[HASH_SIZE];
	AUTO_FREE char *state = random_token("", unused), *verifier = random_token("", unused);
	AUTO_FREE char *nonce = random_token("", unused), *browser = random_token("", unused);
	AUTO_FREE char *challenge = challenge_of(verifier), *back = return_address(web, provider);
	AUTO_FREE char *cookie = cookie_of(web, BROWSER, browser, STATE_MS / 1000);
	struct query query = {0};
	struct kettle_error err = {0};
	AUTO_BUF struct buf address = {0};
	(void)query_parse(http_query(request), &query, &err);
	keep_state(web->accounts, state,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "provider", provider->name, "browser", browser, "verifier", verifier,
			"nonce", nonce, "next", local_path(query_value(&query, "next"))));
	query_free(&query);
	buf_printf(&address, "%s?", address_of(web, provider, "authorize_url", provider->authorize));
	add_parameter(&address, "response_type", "code");
	add_parameter(&address, "client_id", option_of(web, provider, "client_id"));
	add_parameter(&address, "redirect_uri", back);
	add_parameter(&address, "scope", provider->scope);
	add_parameter(&address, "state", state);
	add_parameter(&address, "nonce", nonce);
	add_parameter(&address, "code_challenge", challenge);
	add_parameter(&address, "code_challenge_method", "S256");
	redirect(request, address.data, cookie);
}

/* ---- /auth/return/PROVIDER ---- */

static void
fail_visit(struct visit *visit, int code, const char *sentence)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, code, "%s", sentence);
	visit_fail(visit, &err);
}

static void
on_told(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct visit *visit = arg;
	AUTO_JSON json_t *value = answer && answer->status == STATUS_OK
								  ? bounded_json_parse(answer->body, answer->body_size, VALUES_MAX, 0, NULL)
								  : NULL;
	if (value)
		visit->then(visit, value);
	else if (err->code)
		visit_fail(visit, err);
	else if (answer->status < STATUS_INTERNAL)
		fail_visit(visit, KETTLE_EACCES, "The provider refuses this login: begin again.");
	else
		fail_visit(visit, KETTLE_EUNAVAIL, "The provider does not work now: try again later.");
}

/* Sends a request to the provider; its JSON answer goes to `then`. */
static void
ask_provider(struct visit *visit, const char *url, const char *body, const char *token, visit_fn then)
{
	const struct kettle_host *host = visit->web->host;
	struct kettle_error err = {0};
	AUTO_FREE char *credential = token ? xasprintf("Authorization: Bearer %s", token) : NULL;
	const char *const headers[] = {"Accept: application/json", "User-Agent: kettle",
		body ? "Content-Type: application/x-www-form-urlencoded" : credential, NULL};
	visit->then = then;
	const struct kettle_http_request request = {.size = sizeof(request),
		.method = body ? "POST" : "GET",
		.url = url,
		.headers = headers,
		.body = body,
		.body_size = body ? strlen(body) : 0,
		.max_body = ANSWER_MAX,
		.total_ms = PROVIDER_MS,
		.done = on_told,
		.arg = visit};
	if (host->http(host, &request, NULL, &err) < 0)
		visit_fail(visit, &err);
}

/* The session is confirmed: the browser gets it. */
static void
on_session(struct visit *visit, json_t *result)
{
	(void)result;
	failpoint("web.session");
	AUTO_FREE char *cookie = cookie_of(visit->web, SESSION, json_text_or_empty(visit->data, "session"), SESSION_S);
	redirect(visit->request, json_text_or_empty(json_object_get(visit->data, "login"), "next"), cookie);
	visit_end(visit);
}

static void
on_begun(struct visit *visit, json_t *login)
{
	json_object_set(visit->data, "session", json_object_get(login, "token"));
	json_decref(visit->actor);
	visit->actor = json_incref(json_object_get(visit->data, "identity"));
	visit_call(visit, "login.confirm", json_pack("{s:O, s:b}", "code", json_object_get(login, "code"), "confirm", 1),
		on_session);
}

static void
on_user(struct visit *visit, json_t *user)
{
	const struct provider *provider =
		find_provider(visit->web, json_text_or_empty(json_object_get(visit->data, "login"), "provider"));
	const json_t *subject = provider ? json_object_get(user, provider->subject) : NULL;
	const char *name = provider ? json_text_or_empty(user, provider->user_name) : "";
	json_t *id = json_is_integer(subject) ? json_sprintf("%lld", (long long)json_integer_value(subject))
										  : json_incref((json_t *)subject);
	const json_t *claimed = json_object_get(visit->data, "claimed"); /* by the ID token */
	if (!json_is_string(id) || !*json_string_value(id) || (claimed && !json_equal(id, claimed))) {
		json_decref(id);
		fail_visit(visit, KETTLE_EACCES, "The provider does not say who you are.");
		return;
	}
	json_object_set_new(visit->data, "identity",
		json_pack("{s:s, s:O, s:s}", "provider", provider->name, "subject", id, "name",
			*name ? name : json_string_value(id)));
	json_decref(id);
	visit_call_internal(visit, "login.begin",
		json_pack("{s:s, s:s}", "name", "browser", "address", http_address(visit->request)), on_begun);
}

/* The claims of an ID token, which came by TLS from the provider itself, so that its signature adds nothing. */
static json_t *
claims_of(const char *token)
{
	const char *from = strchr(token, '.'), *to = from ? strchr(from + 1, '.') : NULL;
	void *data = NULL;
	size_t size = 0;
	if (!to)
		return NULL;
	AUTO_BUF struct buf text = {0};
	buf_add(&text, from + 1, (size_t)(to - from - 1));
	for (size_t i = 0; i < text.len; i++)
		text.data[i] = text.data[i] == '-' ? '+' : text.data[i] == '_' ? '/' : text.data[i];
	while (text.len % 4)
		buf_adds(&text, "=");
	if (base64_decode(text.data, text.len, &data, &size) < 0)
		return NULL;
	json_t *claims = bounded_json_parse(data, size, VALUES_MAX, 0, NULL);
	free(data);
	return claims;
}

/* Whether the ID token is of this provider, for this client, of this login, and not expired. */
static bool
is_ours(struct visit *visit, const struct provider *provider, const json_t *claims)
{
	const char *issuer = option_of(visit->web, provider, "issuer"),
			   *client = option_of(visit->web, provider, "client_id");
	const json_t *audience = json_object_get(claims, "aud");
	bool for_us = member_is(claims, "aud", client) || list_has_text(audience, client);
	int64_t now_s = visit->web->host->utc_ms(visit->web->host) / 1000;
	return for_us && (!issuer || member_is(claims, "iss", issuer)) && member_int(claims, "exp") > now_s &&
		   member_is(claims, "nonce", json_text_or_empty(json_object_get(visit->data, "login"), "nonce"));
}

static void
on_token(struct visit *visit, json_t *answer)
{
	const struct provider *provider =
		find_provider(visit->web, json_text_or_empty(json_object_get(visit->data, "login"), "provider"));
	const char *token = json_text_or_null(answer, "access_token");
	bool has_claims = provider && strcmp(provider->name, "oidc") == 0;
	AUTO_JSON json_t *claims = has_claims ? claims_of(json_text_or_empty(answer, "id_token")) : NULL;
	if (!provider || !token) {
		fail_visit(visit, KETTLE_EACCES, "The provider refuses this login: begin again.");
	} else if (has_claims && !is_ours(visit, provider, claims)) {
		fail_visit(visit, KETTLE_EACCES, "The provider's answer is not for this login: begin again.");
	} else {
		json_object_set(visit->data, "claimed", json_object_get(claims, "sub"));
		ask_provider(visit, address_of(visit->web, provider, "user_url", provider->user), NULL, token, on_user);
	}
}

static void
exchange(struct visit *visit, json_t *result)
{
	const json_t *login = json_object_get(visit->data, "login");
	const struct provider *provider = find_provider(visit->web, json_text_or_empty(login, "provider"));
	AUTO_FREE char *back = return_address(visit->web, provider);
	const char *secret = option_of(visit->web, provider, "client_secret");
	AUTO_BUF struct buf body = {0};
	(void)result;
	add_parameter(&body, "grant_type", "authorization_code");
	add_parameter(&body, "code", json_text_or_empty(visit->data, "code"));
	add_parameter(&body, "redirect_uri", back);
	add_parameter(&body, "client_id", option_of(visit->web, provider, "client_id"));
	if (secret)
		add_parameter(&body, "client_secret", secret);
	add_parameter(&body, "code_verifier", json_text_or_empty(login, "verifier"));
	ask_provider(visit, address_of(visit->web, provider, "token_url", provider->token), body.data, NULL, on_token);
}

static void
end_login(struct web *web, struct http_request *request, const struct provider *provider)
{
	struct query query = {0};
	struct kettle_error err = {0};
	AUTO_FREE char *browser = own_cookie(web, request, BROWSER);
	(void)query_parse(http_query(request), &query, &err);
	const char *state = query_value(&query, "state"), *code = query_value(&query, "code");
	AUTO_JSON json_t *login = state ? take_state(web->accounts, state) : NULL;
	if (!login || !member_is(login, "provider", provider->name) || !*browser || !member_is(login, "browser", browser))
		respond_sentence(request, STATUS_BAD_REQUEST, "That did not work",
			"This login did not begin in this browser, or more than ten minutes ago: begin again.");
	else if (!code)
		respond_sentence(request, STATUS_BAD_REQUEST, "That did not work", "The provider has refused the login.");
	else
		visit_begin(web, request, NULL, 0, exchange, fail, json_pack("{s:O, s:s}", "login", login, "code", code));
	query_free(&query);
}

/* ---- /link/CODE, /logout ---- */

/* A page with a button that sends the session's token. */
static void
respond_form(struct visit *visit, const char *title, const char *sentence, const char *button)
{
	char token[HASH_SIZE];
	AUTO_FREE char *session = own_cookie(visit->web, visit->request, SESSION);
	AUTO_BUF struct buf content = {0};
	form_token(visit->web->accounts, session, token);
	buf_adds(&content, "<p>");
	html_add(&content, sentence);
	buf_printf(&content,
		"</p>\n<form method=\"post\"><input type=\"hidden\" name=\"token\" value=\"%s\"><button>%s</button></form>\n",
		token, button);
	html_respond(visit->request, STATUS_OK, title, &content);
}

static void
show_asking(struct visit *visit, json_t *asking)
{
	AUTO_FREE char *sentence =
		xasprintf("%.200s wants to act as you, %.200s. It began at %.16s UTC. Confirm only what you "
				  "began yourself.",
			json_text_or_empty(asking, "name"), json_text_or_empty(asking, "user_name"),
			json_text_or_empty(asking, "begun"));
	respond_form(visit, "Confirm a login", sentence, "Confirm");
	visit_end(visit);
}

static void
show_confirmed(struct visit *visit, json_t *result)
{
	AUTO_FREE char *sentence = xasprintf("%.200s is logged in as %.200s. You can close this page.",
		json_text_or_empty(result, "name"), json_text_or_empty(result, "user_name"));
	respond_sentence(visit->request, STATUS_OK, "Confirmed", sentence);
	visit_end(visit);
}

static void
ask_code(struct visit *visit, json_t *result)
{
	bool confirm = http_method(visit->request) == HTTP_POST;
	(void)result;
	visit_call(visit, "login.confirm",
		json_pack("{s:O, s:b}", "code", json_object_get(visit->data, "code"), "confirm", confirm),
		confirm ? show_confirmed : show_asking);
}

/* Without a session: how else a code is confirmed, and where to log in. */
static void
show_ways(struct web *web, struct http_request *request, const char *code)
{
	AUTO_BUF struct buf content = {0};
	buf_printf(&content,
		"<p>A program wants to act as you. Confirm only what you began yourself.</p>\n"
		"<p>On a command line where you are known: <code>kettle login confirm %s</code></p>\n",
		code);
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (is_configured(web, &providers[i]))
			buf_printf(&content, "<p><a href=\"/auth/start/%s?next=%%2Flink%%2F%s\">Log in by %s</a></p>\n",
				providers[i].name, code, providers[i].name);
	html_respond(request, STATUS_OK, "Confirm a login", &content);
}

/* A session that has ended is none. */
static void
fail_code(struct visit *visit, const struct kettle_error *err)
{
	bool has_ended = err->code == KETTLE_EACCES && visit->actor == visit->web->nobody;
	if (has_ended && http_method(visit->request) != HTTP_POST)
		show_ways(visit->web, visit->request, json_text_or_empty(visit->data, "code"));
	else
		fail(visit, err);
}

static void
serve_code(struct web *web, struct http_request *request, const char *code)
{
	enum http_method method = http_method(request);
	AUTO_FREE char *session = own_cookie(web, request, SESSION);
	if (strlen(code) > CODE_MAX || code[strspn(code, CODE_LETTERS)])
		respond_sentence(request, STATUS_NOT_FOUND, "Confirm a login", "There is no such code.");
	else if (method != HTTP_GET && method != HTTP_HEAD && method != HTTP_POST)
		respond_not_allowed(request, "GET, HEAD, POST");
	else if (method == HTTP_POST && !is_own_form(web, request, session))
		respond_sentence(
			request, FORBIDDEN, "That did not work", "The form is not of this session: open the page again.");
	else if (!*session)
		show_ways(web, request, code);
	else
		visit_begin(web, request, session, 0, ask_code, fail_code, json_pack("{s:s}", "code", code));
}

static void
forget_session(struct visit *visit, json_t *result)
{
	(void)result;
	AUTO_FREE char *cookie = cookie_of(visit->web, SESSION, "", 0);
	redirect(visit->request, "/login", cookie);
	visit_end(visit);
}

/* Ends all sessions of the user's browsers. */
static void
revoke_sessions(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call(visit, "token.revoke", json_pack("{s:s}", "name", "browser"), forget_session);
}

static void
show_logout(struct visit *visit, json_t *result)
{
	(void)result;
	respond_form(visit, "Log out", "This logs you out in all browsers.", "Log out");
	visit_end(visit);
}

static void
serve_logout(struct web *web, struct http_request *request)
{
	AUTO_FREE char *session = own_cookie(web, request, SESSION);
	bool posts = http_method(request) == HTTP_POST;
	if (!*session)
		redirect(request, "/login", NULL);
	else if (posts && !is_own_form(web, request, session))
		respond_sentence(
			request, FORBIDDEN, "That did not work", "The form is not of this session: open the page again.");
	else
		visit_begin(web, request, session, 0, posts ? revoke_sessions : show_logout, fail, NULL);
}

/* ---- routes ---- */

static bool
serve_provider(struct web *web, struct http_request *request)
{
	const char *step = http_segment(request, 1), *name = step ? http_segment(request, 2) : NULL;
	bool begins = step && strcmp(step, "start") == 0, ends = step && strcmp(step, "return") == 0;
	const struct provider *provider = find_provider(web, name);
	if ((!begins && !ends) || !name || http_segment(request, 3))
		return false;
	if (http_method(request) != HTTP_GET)
		respond_not_allowed(request, "GET");
	else if (!provider)
		respond_sentence(request, STATUS_NOT_FOUND, "Log in", "This server has no such provider of logins.");
	else if (begins)
		start_login(web, request, provider);
	else
		end_login(web, request, provider);
	return true;
}

bool
accounts_request(struct web *web, struct http_request *request)
{
	const char *first = http_segment(request, 0), *second = first ? http_segment(request, 1) : NULL;
	if (!first)
		return false;
	if (strcmp(first, "auth") == 0)
		return serve_provider(web, request);
	if (strcmp(first, "link") == 0 && second && !http_segment(request, 2))
		serve_code(web, request, second);
	else if (strcmp(first, "login") == 0 && !second)
		show_login(web, request);
	else if (strcmp(first, "logout") == 0 && !second)
		serve_logout(web, request);
	else
		return false;
	return true;
}

size_t
accounts_body_max(const struct http_request *request)
{
	const char *first = http_segment(request, 0);
	return first && (strcmp(first, "link") == 0 || strcmp(first, "logout") == 0) ? ACCOUNTS_FORM_MAX : 0;
}

struct accounts *
accounts_new(struct web *web)
{
	struct accounts *accounts = xcalloc(1, sizeof(*accounts));
	*accounts = (struct accounts){.web = web, .lock = PTHREAD_MUTEX_INITIALIZER, .states = json_object()};
	random_bytes(accounts->key, sizeof(accounts->key));
	return accounts;
}

void
accounts_free(struct accounts *accounts)
{
	if (!accounts)
		return;
	json_decref(accounts->states);
	(void)pthread_mutex_destroy(&accounts->lock);
	OPENSSL_cleanse(accounts->key, sizeof(accounts->key));
	free(accounts);
}
