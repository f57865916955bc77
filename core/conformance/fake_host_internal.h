/* SPDX-License-Identifier: MIT */
/* Shared by the files of the fake host. */
#pragma once

#include <kettle/testing.h>

#include <stdbool.h>
#include <uv.h>

#include "http/http.h"
#include "loop/loop_services.h"

struct subscription {
	struct subscription *next;
	uint64_t id, caller;
	json_t *filter;
	kettle_event_fn fn;
	void *arg;
};

struct caller {
	struct caller *next;
	uint64_t number;
};

struct kettle_fake {
	struct kettle_host host; /* first, then io, as in struct loop_host */
	struct loop_services *io;
	char *name;
	uv_loop_t loop;
	struct http *http;
	char *proxy, *ca_file;
	uv_mutex_t lock; /* of log, requests and callers */
	char *link_base;
	json_t *links;
	json_t *log, *state, *jobs, *commands, *answers, *events, *events_done, *remote;
	kettle_fake_call_fn answer;
	void *answer_arg;
	struct subscription *subscriptions;
	struct answer *requests; /* that are not answered */
	struct caller *callers;
	uint64_t next_id; /* atomic */
	bool closed;
};

/* An answer that comes later. */
struct answer {
	struct kettle_fake *fake;
	kettle_answer done;
	void *arg;
	struct kettle_error err;
	json_t *result; /* of a call that is answered already */
	json_t *actor, *args;
	char *command;               /* NULL: done, no further call */
	uint64_t id, caller;         /* of a request */
	struct answer *next, **link; /* in the list of requests; link NULL: it is in none */
};

static inline struct kettle_fake *
of(const struct kettle_host *host)
{
	return (struct kettle_fake *)host;
}

/* fake_host.c */
struct answer *fake_new_answer(struct kettle_fake *fake, kettle_answer done, void *arg);
void fake_free_answer(struct answer *answer);
/* Runs the command of the answer, calls done and frees the answer. arg: the answer. */
void fake_deliver(void *arg);
int fake_subscribe(const struct kettle_host *host, const json_t *actor, const json_t *filter, int64_t after,
	kettle_event_fn fn, void *arg, uint64_t *ret_id, struct kettle_error *err);
void fake_drop_subscription(struct kettle_fake *fake, uint64_t id);

/* fake_callers.c; see kettle/host.h */
int fake_caller_open(const struct kettle_host *host, uint64_t *ret_caller, struct kettle_error *err);
int fake_caller_close(const struct kettle_host *host, uint64_t number, kettle_fn ended, void *arg);
int fake_request(
	const struct kettle_host *host, const struct kettle_request *given, uint64_t *ret_id, struct kettle_error *err);
void fake_request_cancel(const struct kettle_host *host, uint64_t id);
int fake_follow(const struct kettle_host *host, const struct kettle_subscription *given, uint64_t *ret_id,
	struct kettle_error *err);
/* The request is answered now. */
void fake_unlink_request(struct answer *answer);
size_t fake_callers_count(const struct kettle_fake *fake);
void fake_callers_free(struct kettle_fake *fake);
