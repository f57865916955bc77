/* SPDX-License-Identifier: MIT */
/*
 * Servers that a test of the gateway connects to, on threads of their own: one that speaks Discord's gateway over
 * libwebsockets, and one that sends raw bytes. Functions are called on the loop thread of the test.
 */
#pragma once

#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>

struct websocket_server;
struct raw_server;

/* tls: a PEM file with certificate and key, or NULL for ws://. interval: of HELLO, in ms. NULL: it cannot be started. */
struct websocket_server *websocket_server_start(const struct kettle_host *host, const char *tls, int interval);
int websocket_server_port(const struct websocket_server *server);
/* How often a text came in, or "connected", or "closed CODE". */
unsigned websocket_server_saw(struct websocket_server *server, const char *text);
/* Texts that were written to a connection. */
unsigned websocket_server_written(struct websocket_server *server);
/* Sends a text to the connection that is there, in pieces if it is long. */
void websocket_server_say(struct websocket_server *server, const char *text);
void websocket_server_say_binary(struct websocket_server *server, const char *text);
/* Closes with a code; 0: cuts the connection. */
void websocket_server_close(struct websocket_server *server, int code);
/* Whether heartbeats are answered; they are at first. */
void websocket_server_mute(struct websocket_server *server, bool mute);
/* Ends it; *ret_ended is set on the loop. */
void websocket_server_stop(struct websocket_server *server, int *ret_ended);

/* Accepts one connection after the other, upgrades it if `upgrade`, sends the bytes and ends them; without bytes it is silent. */
struct raw_server *raw_server_start(bool upgrade, const void *bytes, size_t size);
int raw_server_port(const struct raw_server *server);
unsigned raw_server_connections(struct raw_server *server);
void raw_server_stop(struct raw_server *server);
