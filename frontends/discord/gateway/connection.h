/* SPDX-License-Identifier: MIT */
/*
 * One websocket connection at a time, as a client. All functions and events are called on the thread of a service
 * (service.h). An event never comes while a function of the connection runs.
 */
#ifndef KETTLE_DISCORD_CONNECTION_H
#define KETTLE_DISCORD_CONNECTION_H

#include <kettle/error.h>
#include <libwebsockets.h>
#include <stdbool.h>
#include <stddef.h>

#define CONNECTION_CLOSE_MS 3000 /* until a server that does not answer a close frame is disconnected */

struct connection;

struct connection_events {
	void (*opened)(void *arg);
	/* A complete text frame; borrowed. */
	void (*text)(void *arg, const char *text, size_t len);
	/* A frame that is binary or too long; the rest of it is dropped. */
	void (*refused)(void *arg, const char *why);
	/*
	 * Once for each connection_open: the connection has ended or could not be made. code: of the server's close frame,
	 * or 0.
	 */
	void (*closed)(void *arg, int code, const char *why);
};

/* The protocols for the context; valid for its whole life. */
const struct lws_protocols *connection_protocols(void);

/* events is borrowed. max_frame: bytes of the longest accepted frame. */
struct connection *connection_new(
	struct lws_context *context, size_t max_frame, const struct connection_events *events, void *arg);
/* Call this after the context was destroyed; no event follows. NULL is allowed. */
void connection_free(struct connection *connection);

/*
 * Opens url: wss://, with the certificate checked, or ws:// to this machine. Resolves the name on this thread, which
 * has nothing else to do without a connection. Call this only after `closed` of the connection before.
 */
void connection_open(struct connection *connection, const char *url);
/* Queues a text frame. */
void connection_send(struct connection *connection, const char *text, size_t len);
/*
 * Ends the connection with a close frame of this code, or stops making it. `closed` comes within CONNECTION_CLOSE_MS.
 */
void connection_close(struct connection *connection, int code);
/* Stops or resumes reading, also for later connections: meanwhile the server's frames wait in the network. */
void connection_pause(struct connection *connection, bool pause);

#endif
