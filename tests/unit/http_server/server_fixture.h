/* SPDX-License-Identifier: MIT */
/* A server with a frontend that does what the path says, and its clients over real sockets. */
#pragma once

#include <kettle/testing.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "http/server.h"

#define PATIENCE_MS 600000
#define HELD_MAX 16
#define SMALL 1000       /* bytes of a body that are accepted */
#define LARGE (1u << 20) /* below /large */

/*
 * The paths: /echo and /large answer at once with what came, /loop on the loop, /forbidden already to the head, /none
 * with 204, /same with 304, /file with a file; /held waits for the test, /stream too, and is a stream then.
 */
struct fixture {
	struct kettle_fake *fake;
	struct http_server *server;
	struct http_rules rules;
	char *folder;
	int stopped;
	/* Counts of events, atomic. */
	unsigned requests, gone, gone_early, answered, closed;
	/* Protected by the lock. */
	pthread_mutex_t lock;
	struct http_request *held[HELD_MAX];
	unsigned held_count;
	unsigned last_status;
	uint64_t last_bytes;
	char last_path[100], last_method[20], last_address[50];
};

/* Fixture functions of cmocka; simulated: the host's time moves only where the test says so. */
int server_setup(void **state);
int server_setup_simulated(void **state);
int server_teardown(void **state);

/* Starts the server by the fixture's rules; on a free port if they do not say where. */
void server_start(struct fixture *f);
int server_try(struct fixture *f, struct kettle_error *err);
/* Stops it without waiting, and waits. */
void server_stop(struct fixture *f);
void server_await_stop(struct fixture *f);
/* Runs the loop until the count is reached; not by simulated time, which would jump. */
void await(struct fixture *f, const unsigned *count, unsigned wanted);
/* Waits for the request number `index` that is held. */
struct http_request *await_held(struct fixture *f, unsigned index);
void answer_held(struct http_request *request, const char *text);
void on_closed(void *fixture);

int client_open(const struct fixture *f);
void client_send(int fd, const char *text);
/* false: the server has closed the connection. */
bool client_send_bytes(int fd, const char *data, size_t size);
/* Sends so many bytes of no meaning. */
bool client_fill(int fd, size_t size);
/*
 * Reads one answer. Its status, 0: the connection has ended before. What was read beyond it stays in *input; the answer's
 * head and body are added to *ret_head and *ret_body (NULL: dropped).
 */
int client_answer(int fd, struct buf *input, struct buf *ret_head, struct buf *ret_body);
/* Reads until *input has the text. */
void client_until(int fd, struct buf *input, const char *text);
/* Whether nothing more comes; the connection is closed here. */
bool client_ended(int fd);
/* A request on a connection of its own: the status. */
int client_ask(const struct fixture *f, const char *text);
