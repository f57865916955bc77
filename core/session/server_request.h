/* SPDX-License-Identifier: MIT */
/* Requests to another machine's server (core_setup.server), and what it answers. All on the loop thread. */
#pragma once

#include "session/core.h"

#include <kettle/error.h>

/* Sends a request as http_send does; `url` is a path, the body JSON, headers are set here. token: credential or NULL. */
int server_send(const struct core_setup *setup, const void *owner, const char *token,
	const struct kettle_http_request *request, uint64_t *ret_id, struct kettle_error *err);
/* Any JSON value from the server, bounded. New reference; NULL: it is none. */
json_t *server_value(const char *text, size_t size);
/* Reads the error of an answer; EUNAVAIL where it is none of Kettle's. Without a token it says how to log in. */
void server_read_error(const struct core_setup *setup, const json_t *error, int status, struct kettle_error *ret_err);
/* Why a request has no result: err of its `done`, or the error in the answer. */
void server_explain(const struct core_setup *setup, const struct kettle_error *err,
	const struct kettle_http_answer *told, struct kettle_error *ret_err);

/*
 * The tokens of this user at servers (kettle login), in a file of mode 0600 below the user's configuration:
 * {ADDRESS: {"token", "name"}}. All [any], all blocking.
 */

/*
 * The token for the server with this address: KETTLE_TOKEN, or that of the file. New string; NULL: there is none.
 * *ret_name, which may be NULL: what the server calls the token; a new string, NULL for KETTLE_TOKEN.
 */
char *server_token_read(const char *server, char **ret_name);
/* Keeps a token and its name; token NULL: removes both. EACCES, EIO. */
int server_token_keep(const char *server, const char *token, const char *name, struct kettle_error *err);
