/* SPDX-License-Identifier: MIT */
/* Logs this user in and out at another machine's server (kettle --server). The caller's process. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "session/core.h"
#include "session/server_request.h"

#include <unistd.h>

#define ANSWER_MS 30000
#define WAIT_MS 2000 /* between two questions whether the login is confirmed */
#define WATCH_MS 200
#define HOST_MAX 64

struct login {
	struct core *core;
	struct waiter waiter;
	kettle_answer answer;
	void *arg;
	char *token; /* NULL: the login is only begun */
	char *name;  /* of the token, at the server */
	int64_t until_ms;
	uint64_t request;           /* under way */
	struct kettle_timer *timer; /* until the next request */
	struct kettle_timer *watch;
};

static void
finish(struct login *login, const struct kettle_error *err, json_t *result)
{
	struct core *core = login->core;
	loop_timer_stop(core->setup.io, login->timer);
	loop_timer_stop(core->setup.io, login->watch);
	login->answer(login->arg, err, err->code ? NULL : result);
	free_all(login->token, login->name, login);
	core_release(core);
}

static json_t *
parse(const struct kettle_http_answer *told)
{
	return told && told->body ? server_value(told->body, told->body_size) : NULL;
}

static int
ask(struct login *login, const char *method, const char *path, const char *body, kettle_http_fn done,
	struct kettle_error *err)
{
	const struct core_setup *setup = &login->core->setup;
	const struct kettle_http_request request = {
		.method = method, .url = path, .body = body, .total_ms = ANSWER_MS, .done = done, .arg = login};
	return server_send(setup, login->core, login->token, &request, &login->request, err);
}

/* Ends with its caller, and with the engine. */
static void
on_watch(void *arg)
{
	struct login *login = arg;
	struct kettle_error err = {0};
	if (!login->core->closing && core_is_awaited(login->core, &login->waiter))
		return;
	http_cancel(login->core->setup.http, login->core, login->request);
	(void)kettle_fail(&err, KETTLE_ECANCELED, "The command ended before the server had answered.");
	finish(login, &err, NULL);
}

/* A login of this call; NULL: it is answered, since no server is named. */
static struct login *
new_login(struct core *core, const struct actor *actor, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	if (!core->setup.server) {
		(void)kettle_fail(&err, KETTLE_EINVAL, "No server is named: give --server URL, or set KETTLE_SERVER.");
		answer(arg, &err, NULL);
		return NULL;
	}
	struct login *login = xnew(struct login, .core = core, .waiter = actor->waiter, .answer = answer, .arg = arg);
	core_hold(core);
	(void)loop_timer_start(core->setup.io, WATCH_MS, WATCH_MS, on_watch, login, &login->watch, NULL);
	return login;
}

/* ---- login: begins ---- */

static void
on_begun(void *arg, const struct kettle_error *err, const struct kettle_http_answer *told)
{
	struct login *login = arg;
	struct kettle_error why = {0};
	AUTO_JSON json_t *body = parse(told), *result = NULL;
	if (err->code || told->status != 200 || !json_text_or_null(body, "token"))
		server_explain(&login->core->setup, err, told, &why);
	else
		result = json_pack("{s:s, s:s, s:O, s:O, s:O, s:O}", "server", login->core->setup.server, "name", login->name,
			"token", json_object_get(body, "token"), "code", json_object_get(body, "code"), "expires",
			json_object_get(body, "expires"), "confirm_url", json_object_get(body, "confirm_url"));
	finish(login, &why, result);
}

void
cmd_login(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	char host[HOST_MAX + 1] = "";
	struct kettle_error err = {0};
	struct login *login = new_login(core, actor, answer, arg);
	(void)args;
	if (!login)
		return;
	if (gethostname(host, HOST_MAX) != 0 || !*host)
		(void)strcpy(host, "a command line");
	login->name = xasprintf("kettle of %.24s on %.24s", actor->name, host);
	AUTO_JSON json_t *value = json_pack("{s:s}", "name", login->name);
	AUTO_FREE char *body = json_dumps(value, JSON_COMPACT);
	if (ask(login, "POST", "/api/v1/login", body, on_begun, &err) < 0)
		finish(login, &err, NULL);
}

/* ---- login.wait: until it is confirmed ---- */

static void wait_again(void *arg);

static void
on_asked(void *arg, const struct kettle_error *err, const struct kettle_http_answer *told)
{
	struct login *login = arg;
	struct kettle_error why = {0};
	AUTO_JSON json_t *body = parse(told), *result = NULL;
	bool waits = !err->code && (told->status == 401 || told->status == 503);
	if (waits && clock_utc_ms(loop_clock(login->core->setup.io)) < login->until_ms &&
		loop_timer_start(login->core->setup.io, WAIT_MS, 0, wait_again, login, &login->timer, &why) == 0)
		return;
	if (waits)
		(void)kettle_fail(&why, KETTLE_EACCES, "The login was not confirmed in time: log in again.");
	else if (err->code || told->status != 200)
		server_explain(&login->core->setup, err, told, &why);
	else if (server_token_keep(login->core->setup.server, login->token, login->name, &why) == 0)
		result = json_pack(
			"{s:s, s:O?}", "server", login->core->setup.server, "user_name", json_object_get(body, "user_name"));
	finish(login, &why, result);
}

static void
wait_again(void *arg)
{
	struct login *login = arg;
	struct kettle_error err = {0};
	login->timer = NULL;
	if (ask(login, "GET", "/api/v1/user.show", NULL, on_asked, &err) < 0)
		finish(login, &err, NULL);
}

void
cmd_login_wait(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct login *login = new_login(core, actor, answer, arg);
	if (!login)
		return;
	login->token = xstrdup(json_text_or_empty(args, "token"));
	login->name = xstrdup(json_text_or_empty(args, "name"));
	login->until_ms = clock_utc_ms(loop_clock(core->setup.io)) + LOGIN_WAIT_MS;
	wait_again(login);
}

/* ---- logout ---- */

static void
on_revoked(void *arg, const struct kettle_error *err, const struct kettle_http_answer *told)
{
	struct login *login = arg;
	struct kettle_error why = {0};
	AUTO_JSON json_t *result = NULL;
	/* A token that the server does not know any more is as good as revoked. */
	if (err->code || (told->status != 200 && told->status != 401))
		server_explain(&login->core->setup, err, told, &why);
	else if (server_token_keep(login->core->setup.server, NULL, NULL, &why) == 0)
		result = json_pack("{s:s}", "server", login->core->setup.server);
	finish(login, &why, result);
}

void
cmd_logout(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	struct login *login = new_login(core, actor, answer, arg);
	(void)args;
	if (!login)
		return;
	login->token = server_token_read(core->setup.server, &login->name);
	if (!login->name) {
		(void)kettle_fail(&err, KETTLE_ENOENT, "You are not logged in at %s by `kettle login`.", core->setup.server);
		finish(login, &err, NULL);
		return;
	}
	AUTO_JSON json_t *value = json_pack("{s:s}", "name", login->name);
	AUTO_FREE char *body = json_dumps(value, JSON_COMPACT);
	if (ask(login, "POST", "/api/v1/token.revoke", body, on_revoked, &err) < 0)
		finish(login, &err, NULL);
}
