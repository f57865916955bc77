/* SPDX-License-Identifier: MIT */
/* Requests to another machine's server, and what it answers. */
#include <config.h>

#include "session/server_request.h"

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/base.h"
#include "base/file.h"

#define UNAUTHORIZED 401

/* The address of a path at a server, whose own address may end in a slash. New string. */
static char *
url_of(const char *server, const char *path)
{
	size_t len = strlen(server);
	return xasprintf("%.*s%s", (int)(len && server[len - 1] == '/' ? len - 1 : len), server, path);
}

int
server_send(const struct core_setup *setup, const void *owner, const char *token,
	const struct kettle_http_request *request, uint64_t *ret_id, struct kettle_error *err)
{
	AUTO_FREE char *url = url_of(setup->server, request->url);
	AUTO_FREE char *credential = token ? xasprintf("Authorization: Bearer %s", token) : NULL;
	const char *headers[4] = {request->on_part ? "Accept: text/event-stream" : "Accept: application/json"};
	size_t count = 1;
	struct kettle_http_request sent = *request;
	if (request->body)
		headers[count++] = "Content-Type: application/json";
	if (credential)
		headers[count++] = credential;
	sent.size = sizeof(sent);
	sent.url = url;
	sent.headers = headers;
	sent.body_size = request->body ? strlen(request->body) : 0;
	return http_send(setup->http, owner, &sent, ret_id, err);
}

json_t *
server_value(const char *text, size_t size)
{
	AUTO_BUF struct buf object = {0};
	buf_adds(&object, "{\"value\":");
	buf_add(&object, text, size);
	buf_adds(&object, "}");
	AUTO_JSON json_t *parsed = bounded_json_parse(object.data, object.len, BOUNDED_JSON_VALUES, 0, NULL);
	return json_incref(json_object_get(parsed, "value"));
}

void
server_read_error(const struct core_setup *setup, const json_t *error, int status, struct kettle_error *ret_err)
{
	static const struct {
		const char *name;
		int code;
	} codes[] = {
#define X(name, value, wire, text) {wire, value},
		KETTLE_ERRORS(X)
#undef X
	};
	const char *name = json_text_or_empty(error, "code"), *message = json_text_or_null(error, "message");
	int code = KETTLE_EUNAVAIL;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(codes[i].name, name) == 0)
			code = codes[i].code;
	bool refused = status == UNAUTHORIZED;
	if (!message)
		(void)kettle_fail(ret_err, code,
			"The server answered with HTTP %d: check that the address is that of a Kettle server.", status);
	else if (!setup->token && (refused || code == KETTLE_EACCES || code == KETTLE_ENOENT))
		(void)kettle_fail(ret_err, refused ? KETTLE_EACCES : code,
			"%.800s%sYou are not logged in at %.300s: `kettle login` logs in there.", refused ? "" : message,
			refused ? "" : " ", setup->server);
	else if (refused)
		(void)kettle_fail(ret_err, KETTLE_EACCES,
			"%.300s does not accept your token: `kettle login` makes a new one, and KETTLE_TOKEN must not name "
			"another.",
			setup->server);
	else
		(void)kettle_fail(ret_err, code, "%s", message);
	ret_err->retry_s = (unsigned)member_int(error, "retry_s");
	(void)kettle_blame(
		ret_err, kettle_cause_find(json_text_or_null(error, "cause")), json_text_or_empty(error, "member"), 0);
}

void
server_explain(const struct core_setup *setup, const struct kettle_error *err, const struct kettle_http_answer *told,
	struct kettle_error *ret_err)
{
	AUTO_JSON json_t *body = told && told->body ? server_value(told->body, told->body_size) : NULL;
	if (err->code)
		*ret_err = *err;
	else
		server_read_error(setup, json_object_get(body, "error"), told->status, ret_err);
}

/* ---- the token for the server ---- */

#define FILE_NAME "tokens.json"
#define FILE_MAX (1u << 20)
#define FILE_MODE 0600
#define FOLDER_MODE 0700

static char *
folder_of_user(void)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	if (base && *base == '/')
		return path_join(base, "kettle");
	return home && *home == '/' ? path_join(home, ".config/kettle") : NULL;
}

/* The contents of the file; an empty object if there is no file. New reference; NULL: it cannot be read, or is not of this form. */
static json_t *
read_tokens(const char *path, struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	int rc = file_read(path, FILE_MAX, &text, &size, err);
	if (rc == KETTLE_ENOENT) {
		*err = (struct kettle_error){0};
		return json_object();
	}
	AUTO_JSON json_t *tokens = rc == 0 ? json_loadb(text, size, 0, NULL) : NULL;
	if (rc == 0 && !json_is_object(tokens))
		(void)kettle_fail(
			err, KETTLE_EIO, "%s is damaged: it holds no JSON object. Remove it, and log in again.", path);
	return json_is_object(tokens) ? STEAL(tokens) : NULL;
}

char *
server_token_read(const char *server, char **ret_name)
{
	const char *given = getenv("KETTLE_TOKEN");
	AUTO_FREE char *folder = folder_of_user(), *key = url_of(server, "");
	AUTO_FREE char *path = folder ? path_join(folder, FILE_NAME) : NULL;
	struct kettle_error ignored = {0};
	if (ret_name)
		*ret_name = NULL;
	if (given && *given)
		return xstrdup(given);
	AUTO_JSON json_t *tokens = path ? read_tokens(path, &ignored) : NULL;
	const json_t *kept = json_object_get(tokens, key);
	const char *token = json_text_or_null(kept, "token");
	if (token && ret_name)
		*ret_name = xstrdup(json_text_or_empty(kept, "name"));
	return token ? xstrdup(token) : NULL;
}

int
server_token_keep(const char *server, const char *token, const char *name, struct kettle_error *err)
{
	AUTO_FREE char *folder = folder_of_user(), *key = url_of(server, "");
	if (!folder)
		return kettle_fail(err, KETTLE_EIO, "The token cannot be kept: HOME is not set.");
	AUTO_FREE char *path = path_join(folder, FILE_NAME);
	AUTO_JSON json_t *tokens = read_tokens(path, err);
	if (!tokens)
		return err->code;
	if (token)
		json_object_set_new(tokens, key, json_pack("{s:s, s:s}", "token", token, "name", name));
	else
		(void)json_object_del(tokens, key);
	AUTO_FREE char *text = json_dumps(tokens, JSON_INDENT(2));
	int rc = file_mkdirs(folder, FOLDER_MODE, err);
	return rc < 0 ? rc : file_write(path, text, strlen(text), FILE_MODE, err);
}
