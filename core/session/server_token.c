/* SPDX-License-Identifier: MIT */
/* The tokens of this user at servers. */
#include <config.h>

#include "session/server_token.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

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

/* What the file holds; an empty object where there is none. New reference; NULL: it cannot be read, or is none of ours. */
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
server_url(const char *server, const char *path)
{
	size_t len = strlen(server);
	return xasprintf("%.*s%s", (int)(len && server[len - 1] == '/' ? len - 1 : len), server, path);
}

char *
server_token_read(const char *server, char **ret_name)
{
	const char *given = getenv("KETTLE_TOKEN");
	AUTO_FREE char *folder = folder_of_user(), *key = server_url(server, "");
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
	AUTO_FREE char *folder = folder_of_user(), *key = server_url(server, "");
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
