/* SPDX-License-Identifier: MIT */
/* Requests to the server of tests/peers/http_server.py, one server for all tests of a program. */
#pragma once

#include "http/http.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "unit/scratch.h"

struct fixture {
	uv_loop_t loop;
	struct loop_services *io;
	struct http *http;
	bool closed;
	struct http_settings settings;
};

/* What came of one request. */
struct outcome {
	int calls, code, status;
	char sentence[1000], url[1000], etag[100];
	size_t headers;
	struct buf body;
	bool in_memory;
	uint64_t size;
	size_t largest; /* part */
	int received;   /* bytes in parts, which are in body as well */
};

struct world {
	char *folder; /* with the certificates and the server's socket */
	FILE *server;
	json_t *ports;
};
extern struct world world;

int world_setup(void **state);
int world_teardown(void **state);
/* A loop without settings for HTTP; the certificate of the server is accepted. */
int fixture_setup(void **state);
/* Ends it; fails where something is left. */
int fixture_teardown(void **state);
/* Closes HTTP and begins it again with other settings. */
void fixture_restart(struct fixture *f, const char *proxy, const char *ca_file);

/* "http://127.0.0.1:PORT/PATH" of a port of the server by its name; valid until the sixteenth call after it. */
const char *address(const char *port, const char *path);
/* The same for a host of that name. */
const char *address_at(const char *scheme, const char *host, const char *port, const char *path);
/* A path of the folder; as address. */
const char *in_folder(const char *name);
bool is_there(const char *path);

/* For `done` of a request: notes it. Also checks what holds for each. */
void note(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer);
/* For `on_part` of a request: notes it. */
void note_part(void *arg, const void *data, size_t size);
/* Sends for the owner `f`; returns its id. */
uint64_t send_request(struct fixture *f, struct kettle_http_request *request, struct outcome *outcome);
/* Runs the loop until *value has reached wanted. */
void run_until(struct fixture *f, const int *value, int wanted);
void run_for(struct fixture *f, unsigned ms);
/* Sends it and waits for its end. */
void exchange(struct fixture *f, struct kettle_http_request *request, struct outcome *outcome);
/* The same for GET of an address. */
void get(struct fixture *f, const char *url, struct outcome *outcome);
/* The body as JSON; new reference. */
json_t *body_json(const struct outcome *outcome);
/* What the server has seen of a path: {"count", "last"}; new reference. */
json_t *server_saw(struct fixture *f, const char *path);
void outcome_free(struct outcome *outcome);

#define AUTO_OUTCOME __attribute__((cleanup(outcome_free)))
#define REQUEST(...) \
	{ \
		.size = sizeof(struct kettle_http_request), __VA_ARGS__ \
	}
