/* SPDX-License-Identifier: MIT */
/* The pages of logins: sign in and out in a browser. */
#include <config.h>

#include "web/accounts/accounts.h"

#include "base/base.h"
#include "base/text.h"
#include "web/accounts/provider.h"
#include "web/accounts/session.h"
#include "http/form.h"
#include "http/percent.h"
#include "common/recent.h"
#include "web/visit/respond.h"

#define HASH_SIZE 65
#define CODE_MAX 32
#define CODE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"

/* ---- /login ---- */

/* Where to log in, or to add an account to the actor (NULL: none). code: of the login of a program, or NULL. */
static void
show_providers(struct web *web, struct http_request *request, const json_t *actor, const char *next, const char *code)
{
	AUTO_BUF struct buf encoded = {0};
	percent_add(&encoded, session_local_path(next));
	session_show(web, request, STATUS_OK, "login", code ? "Confirm a login" : "Log in", actor,
		json_pack("{s:o, s:s, s:s, s:s?}", "providers", providers_list(web), "next", encoded.data, "next_path",
			session_local_path(next), "code", code));
}

static void
show_login(struct visit *visit, json_t *result)
{
	AUTO_JSON json_t *query = visit_query(visit->request, NULL);
	(void)result;
	show_providers(visit->web, visit->request, session_actor(visit), json_text_or_empty(query, "next"), NULL);
}

static void
start_login(struct visit *visit, json_t *result)
{
	show_login(visit, result);
	visit_end(visit);
}

/* A session that has ended is none. */
static void
fail_login(struct visit *visit, const struct kettle_error *err)
{
	if (err->code == KETTLE_EACCES)
		show_login(visit, NULL);
	else
		session_fail(visit, err);
}

/* A token that was pasted: its user gets a session. Another site must not log its visitors in as a user of its own. */
static void
take_token(struct web *web, struct http_request *request)
{
	size_t size = 0;
	struct query form = {0};
	struct kettle_error err = {0};
	bool parsed = query_parse(http_body(request, &size), &form, &err) == 0;
	const char *token = parsed ? query_value(&form, "token_text") : NULL;
	const char *next = parsed ? query_value(&form, "next") : NULL;
	if (!token || !*token || !session_same_origin(web, request))
		session_respond(web, request, FORBIDDEN, NULL, "The form has no token, or comes from another site.");
	else
		visit_begin(web, request, token, 0, provider_session, session_fail,
			json_pack("{s:{s:s}}", "login", "next", session_local_path(next ? next : "")), NULL);
	query_free(&form);
}

static void
serve_login(struct web *web, struct http_request *request)
{
	if (http_method(request) == HTTP_POST)
		take_token(web, request);
	else if (http_reads(request))
		visit_begin(web, request, session_cookie_value(web, request, SESSION), 0, start_login, fail_login, NULL, NULL);
	else
		respond_not_allowed(request, "GET, HEAD, POST");
}

/* ---- questions that a button answers ---- */

/* Without a session: where to log in, and how else the login with this code is confirmed; "": it is another question. */
static void
show_entry(struct web *web, struct http_request *request, const char *login)
{
	AUTO_FREE char *path = xasprintf("/link/%s", login);
	if (*login)
		show_providers(web, request, NULL, path, login);
	else
		session_redirect(request, "/login", NULL);
}

/* A session that has ended is none; its forms are refused. */
static void
fail(struct visit *visit, const struct kettle_error *err)
{
	bool has_ended = err->code == KETTLE_EACCES && visit->actor == visit->web->anonymous;
	if (has_ended && http_method(visit->request) != HTTP_POST)
		show_entry(visit->web, visit->request, json_text_or_empty(visit->data, "login"));
	else
		session_respond_error(visit->web, visit->request, session_actor(visit), err);
}

/* A question that a button answers: a command that takes a code, and tells what would happen, or with a POST does it. */
struct question {
	const char *command;
	visit_fn show, done;
};

static void
ask(struct visit *visit, json_t *result)
{
	const struct question *question = visit->about;
	bool posts = http_method(visit->request) == HTTP_POST;
	(void)result;
	visit_call(visit, question->command,
		json_pack("{s:O, s:b}", "code", json_object_get(visit->data, "code"), "confirm", posts),
		posts ? question->done : question->show);
}

/*
 * Serves an address that shows a question to a session and takes its form: begins with `start`, with the method GET or
 * POST. login: the code of a login to confirm, "" for another question; code, question: of `ask`.
 */
static void
serve_question(struct web *web, struct http_request *request, visit_fn start, const char *login, const char *code,
	const struct question *question)
{
	enum http_method method = http_method(request);
	const char *session = session_cookie_value(web, request, SESSION);
	if (!http_reads(request) && method != HTTP_POST)
		respond_not_allowed(request, "GET, HEAD, POST");
	else if (method == HTTP_POST && !session_sent_form(web, request, session))
		session_respond(web, request, FORBIDDEN, NULL, "The form belongs to another session: open the page again.");
	else if (!*session)
		show_entry(web, request, login);
	else
		visit_begin(
			web, request, session, 0, start, fail, json_pack("{s:s, s:s}", "login", login, "code", code), question);
}

/* The end of a question. */
static void
respond_done(struct visit *visit, const char *title, const char *one, const char *words, const char *other)
{
	AUTO_FREE char *sentence = xasprintf("%s is %s %s. You can close this page.", one, words, other);
	session_tell(visit, title, sentence);
}

/* ---- /link/CODE ---- */

static void
show_asking(struct visit *visit, json_t *asking)
{
	session_ask(visit, "Confirm a login", "login", json_incref(asking), "Confirm");
}

static void
show_confirmed(struct visit *visit, json_t *result)
{
	respond_done(visit, "Confirmed", json_text_or_empty(result, "name"), "logged in as",
		json_text_or_empty(result, "user_name"));
}

static void
serve_code(struct web *web, struct http_request *request, const char *code)
{
	static const struct question question = {"login.confirm", show_asking, show_confirmed};
	if (strlen(code) > CODE_MAX || code[strspn(code, CODE_LETTERS)])
		session_respond(web, request, STATUS_NOT_FOUND, "Confirm a login", "There is no such code.");
	else
		serve_question(web, request, ask, code, code, &question);
}

/* ---- /auth/join/KEY ---- */

static void
show_both(struct visit *visit, json_t *result)
{
	session_ask(visit, "Join two users", "users", json_incref(result), "Join them");
}

static void
show_joined(struct visit *visit, json_t *result)
{
	respond_done(visit, "Joined", json_text_or_empty(json_object_get(result, "from"), "user_name"), "now part of",
		json_text_or_empty(json_object_get(result, "into"), "user_name"));
}

/* The key is of the session alone in which the other user has logged in. */
static void
serve_join(struct web *web, struct http_request *request, const char *key)
{
	static const struct question question = {"user.link", show_both, show_joined};
	char hash[HASH_SIZE];
	const char *session = session_cookie_value(web, request, SESSION);
	AUTO_JSON json_t *state = recent_get(web->states, key);
	sha256_hex(session, strlen(session), hash);
	if (!*session || !member_is(state, "session", hash))
		session_respond(web, request, STATUS_NOT_FOUND, "Join two users",
			"There are no users to join: log in, and begin again within ten minutes.");
	else
		serve_question(web, request, ask, "", json_text_or_empty(state, "code"), &question);
}

/* ---- /logout ---- */

static void
forget_session(struct visit *visit, json_t *result)
{
	(void)result;
	AUTO_FREE char *cookie = session_cookie(visit->web, SESSION, "", 0);
	session_redirect(visit->request, "/login", cookie);
	visit_end(visit);
}

/* Ends all sessions of the user's browsers. */
static void
ask_logout(struct visit *visit, json_t *result)
{
	(void)result;
	if (http_method(visit->request) == HTTP_POST)
		visit_call(visit, "token.revoke", json_pack("{s:s}", "name", SESSION_NAME), forget_session);
	else
		session_ask(visit, "Log out", "logout", json_true(), "Log out");
}

/* ---- routes ---- */

static bool
serve_auth(struct web *web, struct http_request *request)
{
	const char *step = http_segment(request, 1), *name = step ? http_segment(request, 2) : NULL;
	if (!name || http_segment(request, 3))
		return false;
	if (strcmp(step, "join") == 0) {
		serve_join(web, request, name);
		return true;
	}
	bool begins = strcmp(step, "start") == 0;
	const struct provider *provider = provider_find(web, name);
	if (!begins && strcmp(step, "return") != 0)
		return false;
	if (http_method(request) != HTTP_GET)
		respond_not_allowed(request, "GET");
	else if (!provider)
		session_respond(web, request, STATUS_NOT_FOUND, "Log in", "This server has no login provider of this name.");
	else
		(begins ? provider_start : provider_return)(web, request, provider);
	return true;
}

bool
accounts_request(struct web *web, struct http_request *request)
{
	const char *first = http_segment(request, 0), *second = first ? http_segment(request, 1) : NULL;
	if (!first)
		return false;
	if (strcmp(first, "auth") == 0)
		return serve_auth(web, request);
	if (strcmp(first, "link") == 0 && second && !http_segment(request, 2))
		serve_code(web, request, second);
	else if (strcmp(first, "login") == 0 && !second)
		serve_login(web, request);
	else if (strcmp(first, "logout") == 0 && !second)
		serve_question(web, request, ask_logout, "", "", NULL);
	else
		return false;
	return true;
}

size_t
accounts_body_max(const struct http_request *request)
{
	static const char *const forms[] = {"link", "login", "logout", "auth"};
	const char *first = http_segment(request, 0);
	for (size_t i = 0; first && i < ARRAY_SIZE(forms); i++)
		if (strcmp(first, forms[i]) == 0)
			return ACCOUNTS_FORM_MAX;
	return 0;
}
