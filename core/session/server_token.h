/* SPDX-License-Identifier: MIT */
/*
 * The tokens of this user at servers (kettle login), in a file of mode 0600 below the user's configuration:
 * {ADDRESS: {"token", "name"}}. All [any], all blocking.
 */
#ifndef KETTLE_SESSION_SERVER_TOKEN_H
#define KETTLE_SESSION_SERVER_TOKEN_H

#include <kettle/error.h>

/* The address of a path at a server, whose own address may end in a slash. New string. */
char *server_url(const char *server, const char *path);
/*
 * The token for the server with this address: KETTLE_TOKEN, or that of the file. New string; NULL: there is none.
 * *ret_name, which may be NULL: what the server calls the token; a new string, NULL for KETTLE_TOKEN.
 */
char *server_token_read(const char *server, char **ret_name);
/* Keeps a token and its name; token NULL: removes both. EACCES, EIO. */
int server_token_keep(const char *server, const char *token, const char *name, struct kettle_error *err);

#endif
