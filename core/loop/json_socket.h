/* SPDX-License-Identifier: MIT */
/* One end of the database's socket: JSON objects, a line each, in both directions. Loop thread. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <uv.h>

#define JSON_SOCKET_MAX_LINE (64u << 20)   /* a task of TASK_MAX_BYTES in base64 fits */
#define JSON_SOCKET_MAX_UNSENT (64u << 20) /* a reader that is further behind is dropped */
#define JSON_SOCKET_MAX_HELD (256u << 20)  /* bytes of all peers of a pool: incomplete lines, and what is unsent */
/*
 * Limits of one peer in a turn of the loop, so that signals and other peers come between: one read of 64 KiB, and this
 * many messages (some 20 us each until they are queued for the database). The next turn continues.
 */
#define JSON_SOCKET_TURN_MESSAGES 64
/*
 * A line of at least this many bytes is read on a thread of the pool, one at a time of all peers of a json_socket_pool.
 * The peer's further lines wait for it.
 */
#define JSON_SOCKET_LONG (256u << 10)
#define JSON_SOCKET_PAUSE_UNSENT (1u << 20) /* with `ready`: as long as more is unsent, nothing is read */

struct json_socket;
/* Peers that share JSON_SOCKET_MAX_HELD; beyond it, the peer that holds most is closed. All zero at first. */
struct json_socket_pool {
	size_t held;  /* bytes of all of them */
	bool reading; /* a long line of one of them */
	struct json_socket *peers;
};
struct json_socket_events {
	/* One message; borrowed. size: of its line. */
	void (*message)(void *arg, const json_t *message, size_t size);
	/* Whether to go on to the next message; until then it stays unread, first here and then in the socket, whose other
	 * end has to wait. Called again after json_socket_resume and whenever something was sent. NULL: always. */
	bool (*ready)(void *arg);
	/* Once: the other end closed, sent something else than lines of JSON, or json_socket_close was called. The peer is
	 * freed after it. */
	void (*closed)(void *arg);
	/* Of peers that hold a bounded number of bytes together. Must outlive them. NULL: not counted. */
	struct json_socket_pool *pool;
	/* Of one message, about: a line with more commas, brackets and braces closes the peer, since each value of a few bytes
	 * takes a hundred times as much memory. 0: any number. */
	size_t most_values;
};

/* Takes the next connection of a listening pipe. */
int json_socket_accept(uv_stream_t *listener, const struct json_socket_events *events, void *arg,
	struct json_socket **ret_peer, struct kettle_error *err);
/* Takes a connected socket over. The descriptor is the peer's, also on failure. */
int json_socket_open(uv_loop_t *loop, int fd_take, const struct json_socket_events *events, void *arg,
	struct json_socket **ret_peer, struct kettle_error *err);
/* Queues a message (borrowed). A peer that is closing drops it. */
void json_socket_send(struct json_socket *peer, const json_t *message);
/* `ready` may be true now: continues with waiting messages, in the next turn of the loop. */
void json_socket_resume(struct json_socket *peer);
void json_socket_close(struct json_socket *peer);
/* Closes after everything that was sent is written, for which the other end has no time limit. */
void json_socket_finish(struct json_socket *peer);

/*
 * The address of a socket beside the database. Paths that are too long for a socket address go through the folder's
 * descriptor, which must stay open while the address is used: *ret_dir (-1: none needed).
 */
int json_socket_address(const char *path, char ret_address[108], int *ret_dir, struct kettle_error *err);
