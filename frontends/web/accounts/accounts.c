/* SPDX-License-Identifier: MIT */
/* Who people are in a browser: the pages of logins. */
#include <config.h>

#include "web/accounts/accounts.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "web/accounts/provider.h"
#include "web/accounts/session.h"
#include "http/html.h"
#include "common/recent.h"
#include "web/visit/respond.h"

#define HASH_SIZE 65
#define CODE_MAX 32
#define CODE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"

/* ---- /login ---- */

static void
show_login(struct web *web, struct http_request *request)
{
	AUTO_JSON json_t *query = visit_query(request, NULL);
	AUTO_BUF struct buf content = {0};
	const char *session = session_cookie_value(web, request, SESSION);
	if (!providers_add_links(web, &content, "Log in by", "", json_text_or_empty(query, "next")))
		buf_adds(&content, "<p>This server has no provider of logins. Make a token with <code>kettle token "
						   "create</code>.</p>\n");
	else if (*session)
		(void)providers_add_links(
			web, &content, "Add to the user who is logged in here an account of", "join=1&amp;", "");
	html_respond(request, STATUS_OK, "Log in", &content, 0);
}

/* ---- questions that a button answers ---- */

/* Without a session: where to log in, and how else the login with this code is confirmed; "": it is another question. */
static void
show_entry(struct web *web, struct http_request *request, const char *login)
{
	AUTO_BUF struct buf content = {0};
	AUTO_FREE char *path = xasprintf("/link/%s", login);
	html_printf(&content,
		"<p>A program wants to act as you. Confirm only a login that you began yourself.</p>\n<p>On a command line "
		"where you are a user: <code>kettle login confirm %s</code></p>\n",
		login);
	(void)providers_add_links(web, &content, "Log in by", "", path);
	if (*login)
		html_respond(request, STATUS_OK, "Confirm a login", &content, 0);
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
		session_fail(visit, err);
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
	if (method != HTTP_GET && method != HTTP_HEAD && method != HTTP_POST)
		respond_not_allowed(request, "GET, HEAD, POST");
	else if (method == HTTP_POST && !session_sent_form(web, request, session))
		session_respond(request, FORBIDDEN, FAILED_TITLE, "The form belongs to another session: open the page again.");
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
	session_respond(visit->request, STATUS_OK, title, sentence);
	visit_end(visit);
}

/* ---- /link/CODE ---- */

static void
show_asking(struct visit *visit, json_t *asking)
{
	const char *address = json_text_or_null(asking, "address");
	bool is_here = !address || strcmp(address, "unix") == 0;
	AUTO_FREE char *sentence = xasprintf("%s wants to act as you, %s. It began at %.16s UTC, from %s. %sConfirm only a "
										 "login that you began yourself.",
		json_text_or_empty(asking, "name"), json_text_or_empty(asking, "user_name"),
		json_text_or_empty(asking, "begun"), is_here ? "this machine" : address,
		member_true(asking, "resets") ? "Your earlier logins of that name end. " : "");
	session_ask(visit, "Confirm a login", sentence, "Confirm");
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
		session_respond(request, STATUS_NOT_FOUND, "Confirm a login", "There is no such code.");
	else
		serve_question(web, request, ask, code, code, &question);
}

/* ---- /auth/join/KEY ---- */

/* Adds a user with all by which it is known: "ada (github: ada, discord: ada_l; 3 submissions)". */
static void
add_user(struct buf *text, const json_t *user)
{
	size_t i;
	const json_t *identity;
	buf_printf(text, "%s (", json_text_or_empty(user, "user_name"));
	json_array_foreach(json_object_get(user, "identities"), i, identity)
		buf_printf(text, "%s%s: %s", i ? ", " : "", json_text_or_empty(identity, "provider"),
			json_text_or_empty(identity, "name"));
	buf_printf(text, "; submissions: %lld)", (long long)member_int(user, "submissions"));
}

static void
show_both(struct visit *visit, json_t *result)
{
	const json_t *from = json_object_get(result, "from"), *into = json_object_get(result, "into");
	AUTO_BUF struct buf text = {0};
	buf_adds(&text, "You are logged in as ");
	add_user(&text, into);
	buf_adds(&text, ". The account that you have just logged in to belongs to ");
	add_user(&text, from);
	buf_printf(&text,
		". Join them, and %s gets the accounts, submissions, leaderboards and access of %s, which then is no longer a "
		"separate user. This cannot be undone.",
		json_text_or_empty(into, "user_name"), json_text_or_empty(from, "user_name"));
	session_ask(visit, "Join two users", text.data, "Join them");
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
		session_respond(request, STATUS_NOT_FOUND, "Join two users",
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
		session_ask(visit, "Log out", "This logs you out in all browsers.", "Log out");
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
		session_respond(request, STATUS_NOT_FOUND, "Log in", "This server has no login provider of this name.");
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
		show_login(web, request);
	else if (strcmp(first, "logout") == 0 && !second)
		serve_question(web, request, ask_logout, "", "", NULL);
	else
		return false;
	return true;
}

size_t
accounts_body_max(const struct http_request *request)
{
	static const char *const forms[] = {"link", "logout", "auth"};
	const char *first = http_segment(request, 0);
	for (size_t i = 0; first && i < ARRAY_SIZE(forms); i++)
		if (strcmp(first, forms[i]) == 0)
			return ACCOUNTS_FORM_MAX;
	return 0;
}
