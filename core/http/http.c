/* SPDX-License-Identifier: MIT */
/*
 * Outgoing HTTP: the loop's side.
 *
 * Theory of operation. Each owner has a list of its requests; up to HTTP_OPEN_MAX of them are with the thread
 * (http_thread.c), the others wait in the order in which they came. The thread hands back every request that it got,
 * also a cancelled one: it puts it into a queue and posts `deliver` when the queue was empty. So a request is always
 * freed here, and cancelling only clears `done` and tells the thread. Posts that are still on their way at http_close
 * find the struct closed; the last of them frees it.
 */
#include <config.h>

#include "http/http_internal.h"

#include <unistd.h>

#include "base/base.h"
#include "base/list.h"
#include "loop/watch.h"

struct http_owner {
	struct http_owner *next;
	const void *who;
	struct http_request *requests;        /* all */
	struct http_request *waiting, **last; /* that wait for their turn */
	size_t open, queued;
};

struct http {
	struct loop_services *io;
	struct http_settings settings;
	struct http_thread *thread; /* NULL: no request came yet */
	struct http_owner *owners;
	uint64_t last_id;
	int posted; /* atomic: how often deliver will still come */
	bool closed;
};

struct http *
http_new(struct loop_services *io, const struct http_settings *settings)
{
	struct http *http = xnew(struct http, .io = io);
	if (settings)
		http->settings = *settings;
	return http;
}

/* ---- owners ---- */

static struct http_owner *
find_owner(const struct http *http, const void *who)
{
	struct http_owner *owner = http->owners;
	while (owner && owner->who != who)
		owner = owner->next;
	return owner;
}

static struct http_owner *
get_owner(struct http *http, const void *who)
{
	struct http_owner *owner = find_owner(http, who);
	if (!owner) {
		owner = xcalloc(1, sizeof(*owner));
		*owner = (struct http_owner){.next = http->owners, .who = who, .last = &owner->waiting};
		http->owners = owner;
	}
	return owner;
}

static void
forget_owner(struct http *http, struct http_owner *owner)
{
	if (owner->requests)
		return;
	LIST_REMOVE(http->owners, owner);
	free(owner);
}

static void
drop_request(struct http_request *request)
{
	*request->link = request->sibling;
	if (request->sibling)
		request->sibling->link = request->link;
	http_request_free(request);
}

static void
give_turns(struct http *http, struct http_owner *owner)
{
	while (owner->waiting && owner->open < HTTP_OPEN_MAX) {
		struct http_request *request = owner->waiting;
		owner->waiting = request->next;
		if (!owner->waiting)
			owner->last = &owner->waiting;
		owner->queued--;
		request->next = NULL;
		if (request->cancelled) {
			drop_request(request);
		} else {
			owner->open++;
			http_thread_give(http->thread, request);
		}
	}
}

/* ---- the way back ---- */

static void
call_done(struct http_request *request)
{
	struct http_answer *from = &request->answer;
	struct kettle_http_header *headers = xcalloc(from->headers_count, sizeof(*headers));
	const char *at = from->head.data;
	for (size_t i = 0; i < from->headers_count; i++) {
		headers[i].name = at;
		headers[i].value = at + strlen(at) + 1;
		at = headers[i].value + strlen(headers[i].value) + 1;
	}
	const struct kettle_http_answer answer = {
		.size = sizeof(answer),
		.status = from->status,
		.url = from->url,
		.headers = headers,
		.headers_count = from->headers_count,
		.body = from->in_file || from->in_parts ? NULL
				: from->body.data               ? from->body.data
												: "",
		.body_size = from->body_size,
	};
	kettle_http_fn done = STEAL(request->done);
	const struct watch watch = watch_begin();
	done(request->arg, &request->err, request->err.code ? NULL : &answer);
	watch_end_callback(&watch, (void (*)(void))done, "the `done` of a request");
	free(headers);
}

static void
remove_file(void *arg)
{
	(void)unlink(arg);
	free(arg);
}

/* Removes a file that arrived just before its request was cancelled. In the pool, since removing may take long. */
static void
drop_file(const struct http *http, struct http_request *request)
{
	struct kettle_error ignored = {0};
	if (!request->cancelled || !request->answer.kept)
		return;
	if (loop_work(http->io, remove_file, NULL, request->answer_file, &ignored) == 0)
		request->answer_file = NULL;
}

static void
call_part(struct http_request *request)
{
	struct buf part = request->taken;
	request->taken = (struct buf){0};
	/* on_part may cancel its request, which clears it. */
	void (*on_part)(void *arg, const void *data, size_t size) = request->on_part;
	const struct watch watch = watch_begin();
	if (on_part) {
		on_part(request->arg, part.data, part.len);
		watch_end_callback(&watch, (void (*)(void))on_part, "the `on_part` of a request");
	}
	buf_free(&part);
}

/* A callback cannot free the owner or the request: both have this request left. */
static void
deliver(void *arg)
{
	struct http *http = arg;
	int posted = __atomic_sub_fetch(&http->posted, 1, __ATOMIC_ACQ_REL);
	if (http->closed) {
		if (posted == 0)
			free(http);
		return;
	}
	struct http_request *parted, *ended = http_thread_take(http->thread, &parted);
	for (; parted; parted = parted->next_taken)
		call_part(parted);
	for (struct http_request *request = ended, *next; request; request = next) {
		struct http_owner *owner = request->owner;
		next = request->next;
		if (request->done)
			call_done(request);
		drop_file(http, request);
		drop_request(request);
		owner->open--;
		give_turns(http, owner);
		forget_owner(http, owner);
	}
}

/* On the thread. */
static void
on_finished(void *arg)
{
	struct http *http = arg;
	(void)__atomic_add_fetch(&http->posted, 1, __ATOMIC_ACQ_REL);
	if (loop_post(http->io, deliver, http) < 0)
		(void)__atomic_sub_fetch(&http->posted, 1, __ATOMIC_ACQ_REL);
}

/* ---- calls ---- */

int
http_send(struct http *http, const void *who, const struct kettle_http_request *wanted, uint64_t *ret_id,
	struct kettle_error *err)
{
	struct http_request *request = NULL;
	const struct http_owner *known = find_owner(http, who);
	if (known && known->queued >= HTTP_WAITING_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "%d HTTP requests wait for their turn already.", HTTP_WAITING_MAX);
	int rc = http_request_new(wanted, &request, err);
	if (rc == 0 && !http->thread)
		rc = http_thread_start(&http->settings, on_finished, http, &http->thread, err);
	if (rc < 0) {
		if (request)
			http_request_free(request);
		return rc;
	}
	struct http_owner *owner = get_owner(http, who);
	request->id = ++http->last_id;
	if (ret_id)
		*ret_id = request->id;
	request->owner = owner;
	request->sibling = owner->requests;
	request->link = &owner->requests;
	if (request->sibling)
		request->sibling->link = &request->sibling;
	owner->requests = request;
	*owner->last = request;
	owner->last = &request->next;
	owner->queued++;
	give_turns(http, owner);
	return 0;
}

/* A waiting request that is cancelled is freed when its turn comes. */
static void
cancel(struct http_request *request)
{
	request->done = NULL;
	request->on_part = NULL;
	__atomic_store_n(&request->cancelled, 1, __ATOMIC_RELEASE);
}

void
http_cancel(struct http *http, const void *who, uint64_t id)
{
	struct http_owner *owner = find_owner(http, who);
	struct http_request *request = owner ? owner->requests : NULL;
	while (request && request->id != id)
		request = request->sibling;
	if (!request)
		return;
	cancel(request);
	http_thread_wake(http->thread);
}

void
http_cancel_all(struct http *http, const void *who)
{
	struct http_owner *owner = find_owner(http, who);
	if (!owner)
		return;
	for (struct http_request *request = owner->requests; request; request = request->sibling)
		cancel(request);
	http_thread_wake(http->thread);
}

size_t
http_left(const struct http *http)
{
	size_t count = 0;
	for (const struct http_owner *owner = http->owners; owner; owner = owner->next)
		for (const struct http_request *request = owner->requests; request; request = request->sibling)
			count += request->done != NULL;
	return count;
}

void
http_close(struct http *http)
{
	if (!http)
		return;
	if (http->thread)
		http_thread_join(STEAL(http->thread));
	for (struct http_owner *owner; (owner = http->owners); forget_owner(http, owner))
		while (owner->requests) {
			if (owner->requests->answer.kept)
				(void)unlink(owner->requests->answer_file);
			drop_request(owner->requests);
		}
	http->closed = true;
	if (!__atomic_load_n(&http->posted, __ATOMIC_ACQUIRE))
		free(http);
}
