/* SPDX-License-Identifier: MIT */
/*
 * Logins by Discord, GitHub or an OpenID Connect provider.
 *
 * Theory of operation. OAuth's code flow with PKCE. The state of a login lies in memory for ten minutes, and is bound to
 * the browser by a cookie. The provider's answer to the user-info request says who the user is. The core then confirms
 * a login as that identity, and its token becomes the session's cookie; or, for who is logged in and wants to add the
 * identity, it makes a code with which the identity's user can be joined, and accounts.c shows both of them.
 */
#include <config.h>

#include "web/accounts/provider.h"

#include <openssl/evp.h>

#include "base/bounded_json.h"
#include "base/base.h"
#include "base/failpoint.h"
#include "base/text.h"
#include "http/percent.h"
#include "web/accounts/session.h"
#include "common/recent.h"
#include "web/visit/caller.h"
#include "web/visit/respond.h"

#define BROWSER "kettle-login"
#define PROVIDER_MS 10000
#define ANSWER_MAX (64u << 10)
#define HASH_SIZE 65
#define VALUES_MAX 1000

/* A kind of provider: where its users log in, by default, and what its user-info answer calls them. */
static const struct provider {
	const char *name, *title, *scope, *subject, *user_name;
	const char *authorize, *token, *user; /* addresses; NULL: by configuration alone */
} providers[] = {
	{"github", "GitHub", "read:user", "id", "login", "https://github.com/login/oauth/authorize",
		"https://github.com/login/oauth/access_token", "https://api.github.com/user"},
	{"discord", "Discord", "identify", "id", "username", "https://discord.com/oauth2/authorize",
		"https://discord.com/api/oauth2/token", "https://discord.com/api/users/@me"},
	{"oidc", "OpenID Connect", "openid profile", "sub", "preferred_username", NULL, NULL, NULL},
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

const struct provider *
provider_find(const struct web *web, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (name && strcmp(providers[i].name, name) == 0 && is_configured(web, &providers[i]))
			return &providers[i];
	return NULL;
}

json_t *
providers_list(const struct web *web)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (is_configured(web, &providers[i]))
			json_array_append_new(
				list, json_pack("{s:s, s:s}", "name", providers[i].name, "title", providers[i].title));
	return list;
}

/* ---- /auth/start/PROVIDER ---- */

/* The verifier's SHA-256, as PKCE has it. */
static char *
challenge_of(const char *verifier)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;
	(void)EVP_Digest(verifier, strlen(verifier), digest, &size, EVP_sha256(), NULL);
	return base64url_encode(digest, size);
}

static void
add_parameter(struct buf *text, const char *name, const char *value)
{
	buf_printf(text, "%s%s=", text->len && text->data[text->len - 1] != '?' ? "&" : "", name);
	percent_add(text, value);
}

static char *
return_address(const struct web *web, const struct provider *provider)
{
	AUTO_FREE char *path = xasprintf("/auth/return/%s", provider->name);
	return web_address(web, path);
}

void
provider_start(struct web *web, struct http_request *request, const struct provider *provider)
{
	char unused[HASH_SIZE];
	AUTO_FREE char *state = random_token("", unused), *verifier = random_token("", unused);
	AUTO_FREE char *nonce = random_token("", unused), *browser = random_token("", unused);
	AUTO_FREE char *challenge = challenge_of(verifier), *back = return_address(web, provider);
	AUTO_FREE char *cookie = session_cookie(web, BROWSER, browser, PROVIDER_STATE_MS / 1000);
	AUTO_JSON json_t *query = visit_query(request, NULL);
	AUTO_BUF struct buf address = {0};
	struct kettle_error err = {0};
	if (recent_count(web->states, "address", http_address(request)) >= PROVIDER_ADDRESS_MAX) {
		(void)kettle_fail(
			&err, KETTLE_ERATE, "Too many logins have begun at your address: finish one, or try again in ten minutes.");
		err.retry_s = PROVIDER_STATE_MS / 1000;
		session_respond_error(web, request, NULL, &err);
		return;
	}
	recent_put(web->states, state,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "address", http_address(request), "provider", provider->name,
			"browser", browser, "verifier", verifier, "nonce", nonce, "next",
			session_local_path(json_text_or_empty(query, "next")), "joins", json_object_get(query, "join") != NULL),
		PROVIDER_STATE_MS, 0);
	const char *const parameters[][2] = {{"response_type", "code"},
		{"client_id", option_of(web, provider, "client_id")}, {"redirect_uri", back}, {"scope", provider->scope},
		{"state", state}, {"nonce", nonce}, {"code_challenge", challenge}, {"code_challenge_method", "S256"}};
	buf_printf(&address, "%s?", address_of(web, provider, "authorize_url", provider->authorize));
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
		add_parameter(&address, parameters[i][0], parameters[i][1]);
	session_redirect(request, address.data, cookie);
}

/* ---- /auth/return/PROVIDER ---- */

/* A member of the login that comes back. */
static const char *
login_text(const struct visit *visit, const char *key)
{
	return json_text_or_empty(json_object_get(visit->data, "login"), key);
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
		visit_refuse(visit, KETTLE_EACCES, "The provider refuses this login: begin again.");
	else
		visit_refuse(visit, KETTLE_EUNAVAIL, "The provider does not work now: try again later.");
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
	int64_t left_ms = callers_ms_until(visit->web->host, json_text_or_empty(result, "expires"));
	failpoint("web.session");
	AUTO_FREE char *cookie =
		session_cookie(visit->web, SESSION, json_text_or_empty(visit->data, "token"), (long)(left_ms / 1000));
	session_redirect(visit->request, login_text(visit, "next"), cookie);
	visit_end(visit);
}

static void
on_begun(struct visit *visit, json_t *login)
{
	json_object_set(visit->data, "token", json_object_get(login, "token"));
	visit_call(visit, "login.confirm", json_pack("{s:O, s:b}", "code", json_object_get(login, "code"), "confirm", 1),
		on_session);
}

void
provider_session(struct visit *visit, json_t *result)
{
	(void)result;
	visit_call_internal(visit, "login.begin",
		json_pack("{s:s, s:s}", "name", SESSION_NAME, "address", http_address(visit->request)), on_begun);
}

/* The identity's user can be joined with this code: the browser's session is shown both. */
static void
on_code(struct visit *visit, json_t *result)
{
	char unused[HASH_SIZE];
	AUTO_FREE char *key = random_token("", unused), *path = xasprintf("/auth/join/%s", key);
	recent_put(visit->web->states, key,
		json_pack(
			"{s:O, s:O}", "session", json_object_get(visit->data, "session"), "code", json_object_get(result, "code")),
		PROVIDER_STATE_MS, 0);
	session_redirect(visit->request, path, NULL);
	visit_end(visit);
}

static void
on_user(struct visit *visit, json_t *user)
{
	const struct provider *provider = visit->about;
	const json_t *subject = json_object_get(user, provider->subject);
	const char *name = json_text_or_empty(user, provider->user_name);
	AUTO_JSON json_t *id = json_is_integer(subject) ? json_sprintf("%lld", (long long)json_integer_value(subject))
													: json_incref((json_t *)subject);
	const json_t *claimed = json_object_get(visit->data, "claimed"); /* by the ID token */
	if (!json_is_string(id) || !*json_string_value(id) || (claimed && !json_equal(id, claimed))) {
		visit_refuse(visit, KETTLE_EACCES, "The provider did not return your account.");
		return;
	}
	json_decref(visit->actor);
	visit->actor = json_pack(
		"{s:s, s:O, s:s}", "provider", provider->name, "subject", id, "name", *name ? name : json_string_value(id));
	if (member_true(json_object_get(visit->data, "login"), "joins"))
		visit_call(visit, "user.link", json_object(), on_code);
	else
		provider_session(visit, NULL);
}

/* The claims of an ID token, which came by TLS from the provider itself, so that its signature adds nothing. */
static json_t *
claims_of(const char *token)
{
	const char *from = strchr(token, '.'), *to = from ? strchr(from + 1, '.') : NULL;
	AUTO_FREE void *data = NULL;
	size_t size = 0;
	if (!to || base64url_decode(from + 1, (size_t)(to - from - 1), &data, &size) < 0)
		return NULL;
	return bounded_json_parse(data, size, VALUES_MAX, 0, NULL);
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
	return for_us && member_is(claims, "iss", issuer) && member_int(claims, "exp") > now_s &&
		   member_is(claims, "nonce", login_text(visit, "nonce"));
}

static void
on_token(struct visit *visit, json_t *answer)
{
	const struct provider *provider = visit->about;
	const char *token = json_text_or_null(answer, "access_token");
	bool has_claims = strcmp(provider->name, "oidc") == 0;
	AUTO_JSON json_t *claims = has_claims ? claims_of(json_text_or_empty(answer, "id_token")) : NULL;
	if (!token) {
		visit_refuse(visit, KETTLE_EACCES, "The provider refuses this login: begin again.");
	} else if (has_claims && !is_ours(visit, provider, claims)) {
		visit_refuse(visit, KETTLE_EACCES, "The provider's answer is not for this login: begin again.");
	} else {
		json_object_set(visit->data, "claimed", json_object_get(claims, "sub"));
		ask_provider(visit, address_of(visit->web, provider, "user_url", provider->user), NULL, token, on_user);
	}
}

static void
exchange(struct visit *visit, json_t *result)
{
	const struct provider *provider = visit->about;
	AUTO_FREE char *back = return_address(visit->web, provider);
	const char *secret = option_of(visit->web, provider, "client_secret");
	const char *const parameters[][2] = {{"grant_type", "authorization_code"},
		{"code", json_text_or_empty(visit->data, "code")}, {"redirect_uri", back},
		{"client_id", option_of(visit->web, provider, "client_id")}, {"code_verifier", login_text(visit, "verifier")},
		{"client_secret", secret}};
	AUTO_BUF struct buf body = {0};
	(void)result;
	for (size_t i = 0; i < ARRAY_SIZE(parameters) && parameters[i][1]; i++)
		add_parameter(&body, parameters[i][0], parameters[i][1]);
	ask_provider(visit, address_of(visit->web, provider, "token_url", provider->token), body.data, NULL, on_token);
}

void
provider_return(struct web *web, struct http_request *request, const struct provider *provider)
{
	char hash[HASH_SIZE];
	AUTO_JSON json_t *query = visit_query(request, NULL);
	const char *browser = session_cookie_value(web, request, BROWSER);
	const char *session = session_cookie_value(web, request, SESSION);
	const char *code = json_text_or_null(query, "code");
	AUTO_JSON json_t *login = recent_take(web->states, json_text_or_empty(query, "state"));
	sha256_hex(session, strlen(session), hash);
	if (!member_is(login, "provider", provider->name) || !*browser || !member_is(login, "browser", browser))
		session_respond(web, request, STATUS_BAD_REQUEST, NULL,
			"This login did not begin in this browser, or more than ten minutes ago: begin again.");
	else if (member_true(login, "joins") && !*session)
		session_respond(web, request, STATUS_BAD_REQUEST, NULL,
			"Log in first: an account is added to the user who is "
			"logged in.");
	else if (!code)
		session_respond(web, request, STATUS_BAD_REQUEST, NULL, "The provider has refused the login.");
	else
		visit_begin(web, request, NULL, 0, exchange, session_fail,
			json_pack("{s:O, s:s, s:s}", "login", login, "code", code, "session", hash), provider);
}
