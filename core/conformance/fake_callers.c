/* SPDX-License-Identifier: MIT */
/*
 * The part of the fake host for frontends that serve others: callers, requests, subscriptions on their behalf.
 *
 * Theory of operation. The lists of callers and requests have a lock, since any thread may call. A request is posted, and
 * answered in its turn; cancelling leaves an error in it, which is its answer then.
 */
#include <config.h>

#include "conformance/fake_host_internal.h"

#include "base/base.h"
#include "base/times.h"
#include "model/user_ref.h"

void
fake_unlink_request(struct answer *answer)
{
	uv_mutex_lock(&answer->fake->lock);
	if (answer->link) {
		*answer->link = answer->next;
		if (answer->next)
			answer->next->link = answer->link;
		answer->link = NULL;
	}
	uv_mutex_unlock(&answer->fake->lock);
}

/* An open caller; the lock is held. */
static struct caller **
find_caller(struct kettle_fake *fake, uint64_t number)
{
	struct caller **link = &fake->callers;
	while (*link && (*link)->number != number)
		link = &(*link)->next;
	return link;
}

int
fake_caller_open(const struct kettle_host *host, uint64_t *ret_caller, struct kettle_error *err)
{
	struct kettle_fake *fake = of(host);
	struct caller *caller = xmalloc(sizeof(*caller));
	(void)err;
	*caller = (struct caller){.number = __atomic_add_fetch(&fake->next_id, 1, __ATOMIC_RELAXED)};
	*ret_caller = caller->number;
	uv_mutex_lock(&fake->lock);
	caller->next = fake->callers;
	fake->callers = caller;
	uv_mutex_unlock(&fake->lock);
	return 0;
}

static int
check_caller(struct kettle_fake *fake, uint64_t number, struct kettle_error *err)
{
	uv_mutex_lock(&fake->lock);
	bool open = number == 0 || *find_caller(fake, number);
	uv_mutex_unlock(&fake->lock);
	return open ? 0
				: kettle_blame(err, KETTLE_CAUSE_NONE, "caller",
					  kettle_fail(err, KETTLE_EINVAL, "The caller %llu is not open.", (unsigned long long)number));
}

/* Marks the requests with this number, or of this caller, as cancelled: they are answered in their turn. */
static void
cancel_requests(struct kettle_fake *fake, uint64_t id, uint64_t caller)
{
	uv_mutex_lock(&fake->lock);
	for (struct answer *at = fake->requests; at; at = at->next)
		if ((id && at->id == id) || (caller && at->caller == caller))
			(void)kettle_fail(&at->err, KETTLE_ECANCELED, "The call was cancelled.");
	uv_mutex_unlock(&fake->lock);
}

int
fake_request(
	const struct kettle_host *host, const struct kettle_request *given, uint64_t *ret_id, struct kettle_error *err)
{
	struct kettle_fake *fake = of(host);
	struct kettle_request request = {0};
	memcpy(&request, given, given->size < sizeof(request) ? given->size : sizeof(request));
	int rc = check_caller(fake, request.caller, err);
	if (rc == 0)
		rc = request_check_actor(request.actor, request.outside, err);
	if (rc == 0 && !request.command)
		rc = kettle_fail(err, KETTLE_EINVAL, "The request names no command.");
	if (rc < 0)
		return rc;
	struct answer *answer = fake_new_answer(fake, request.done, request.arg);
	answer->actor = json_deep_copy(request.actor);
	answer->args = request.args ? json_deep_copy(request.args) : json_object();
	answer->command = xstrdup(request.command);
	answer->caller = request.caller;
	uint64_t id = answer->id = __atomic_add_fetch(&fake->next_id, 1, __ATOMIC_RELAXED);
	uv_mutex_lock(&fake->lock);
	answer->next = fake->requests;
	if (answer->next)
		answer->next->link = &answer->next;
	answer->link = &fake->requests;
	fake->requests = answer;
	uv_mutex_unlock(&fake->lock);
	rc = loop_post(fake->io, fake_deliver, answer);
	if (rc < 0) {
		fake_unlink_request(answer);
		fake_free_answer(answer);
		return kettle_fail(err, rc, "The engine is stopping.");
	}
	if (ret_id)
		*ret_id = id;
	return 0;
}

void
fake_request_cancel(const struct kettle_host *host, uint64_t id)
{
	cancel_requests(of(host), id, 0);
}

int
fake_follow(
	const struct kettle_host *host, const struct kettle_subscription *given, uint64_t *ret_id, struct kettle_error *err)
{
	struct kettle_fake *fake = of(host);
	struct kettle_subscription subscription = {0};
	memcpy(&subscription, given, given->size < sizeof(subscription) ? given->size : sizeof(subscription));
	int rc = check_caller(fake, subscription.caller, err);
	if (rc == 0)
		rc = request_check_actor(subscription.actor, subscription.outside, err);
	if (rc == 0)
		rc = request_check_filter(subscription.filter, err);
	if (rc == 0)
		rc = fake_subscribe(host, subscription.actor, subscription.filter, subscription.after, subscription.fn,
			subscription.arg, ret_id, err);
	if (rc < 0)
		return rc;
	struct subscription *made = fake->subscriptions;
	while (made && made->id != *ret_id)
		made = made->next;
	if (made)
		made->caller = subscription.caller;
	if (!made || member_true(subscription.filter, "task_run"))
		return 0; /* ended by an event, or without a past */
	json_int_t newest = (json_int_t)json_array_size(fake->events);
	AUTO_JSON json_t *marker = json_pack("{s:s, s:i, s:I, s:I, s:s}", "kind", "caught_up", "oldest", 1, "newest",
		newest, "seq", newest, "at", TIME_TEXT(clock_utc_ms(loop_clock(fake->io))));
	subscription.fn(subscription.arg, marker);
	return 0;
}

/* A caller that is being closed. */
struct closing_caller {
	struct kettle_fake *fake;
	uint64_t number;
	kettle_fn ended;
	void *arg;
};

static void
caller_closed(void *arg)
{
	AUTO_FREE struct closing_caller *closing = arg;
	for (struct subscription *at = closing->fake->subscriptions, *next; at; at = next) {
		next = at->next;
		if (at->caller == closing->number)
			fake_drop_subscription(closing->fake, at->id);
	}
	if (closing->ended)
		closing->ended(closing->arg);
}

int
fake_caller_close(const struct kettle_host *host, uint64_t number, kettle_fn ended, void *arg)
{
	struct kettle_fake *fake = of(host);
	uv_mutex_lock(&fake->lock);
	struct caller **link = find_caller(fake, number), *found = *link;
	if (found)
		*link = found->next;
	uv_mutex_unlock(&fake->lock);
	if (!found)
		return KETTLE_EINVAL;
	free(found);
	cancel_requests(fake, 0, number);
	struct closing_caller *closing = xnew(struct closing_caller, fake, number, ended, arg);
	/* Behind the answers of its requests. */
	int rc = loop_post(fake->io, caller_closed, closing);
	if (rc < 0)
		free(closing);
	return rc;
}

size_t
fake_callers_count(const struct kettle_fake *fake)
{
	size_t count = 0;
	for (const struct caller *at = fake->callers; at; at = at->next)
		count++;
	return count;
}

void
fake_callers_free(struct kettle_fake *fake)
{
	for (struct caller *next; fake->callers; fake->callers = next) {
		next = fake->callers->next;
		free(fake->callers);
	}
}
