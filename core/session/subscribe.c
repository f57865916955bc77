/* SPDX-License-Identifier: MIT */
/* Subscriptions: stored events from a number on, then live events, for users who may see them. */
#include <config.h>

#include "session/core_internal.h"
#include "session/web_client.h"

#include "base/base.h"
#include "base/log.h"
#include "base/times.h"
#include "loop/watch.h"
#include "model/actor.h"
#include "model/board.h"
#include "model/events.h"
#include "model/user_ref.h"

#include <ctype.h>

#define REPLAY_PAGE 1000

/* ---- lookup ---- */

static struct subscription **
bucket_of_id(struct core *core, uint64_t id)
{
	return &core->subscriptions.by_id[id % SUBSCRIPTION_BUCKETS];
}

static struct subscription **
bucket_of_number(struct core *core, enum interest interest, uint64_t number)
{
	return &core->subscriptions.by_interest[(number * 4 + (uint64_t)interest) % SUBSCRIPTION_BUCKETS];
}

/* Names of boards ignore case. The hash is FNV-1a. */
static struct subscription **
bucket_of_board(struct core *core, const char *board)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (; *board; board++)
		hash = (hash ^ (uint64_t)tolower((unsigned char)*board)) * UINT64_C(1099511628211);
	return bucket_of_number(core, INTEREST_BOARD, hash >> 32);
}

static struct subscription **
bucket_of_interest(const struct subscription *s)
{
	switch (s->interest) {
	case INTEREST_BOARD:
		return bucket_of_board(s->core, json_text_or_empty(s->filter, "leaderboard"));
	case INTEREST_SUBMISSION:
		return bucket_of_number(s->core, s->interest, (uint64_t)member_int(s->filter, "submission"));
	case INTEREST_CALLER:
		return bucket_of_number(s->core, s->interest, s->caller);
	case INTEREST_ALL:
		break;
	}
	return bucket_of_number(s->core, INTEREST_ALL, 0);
}

static enum interest
interest_of(const json_t *filter)
{
	if (member_true(filter, "task_run"))
		return INTEREST_CALLER;
	if (json_object_get(filter, "submission"))
		return INTEREST_SUBMISSION;
	return json_text_or_null(filter, "leaderboard") ? INTEREST_BOARD : INTEREST_ALL;
}

static void
link_subscription(struct subscription *s)
{
	struct subscription **by_id = bucket_of_id(s->core, s->id), **by_interest = bucket_of_interest(s);
	s->next_by_id = *by_id;
	s->link_by_id = by_id;
	if (s->next_by_id)
		s->next_by_id->link_by_id = &s->next_by_id;
	*by_id = s;
	s->next = *by_interest;
	s->link = by_interest;
	if (s->next)
		s->next->link = &s->next;
	*by_interest = s;
	s->core->subscriptions.count++;
}

static void
unlink_subscription(struct subscription *s)
{
	*s->link_by_id = s->next_by_id;
	if (s->next_by_id)
		s->next_by_id->link_by_id = s->link_by_id;
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	s->core->subscriptions.count--;
}

static struct subscription *
find(struct core *core, uint64_t id)
{
	for (struct subscription *s = *bucket_of_id(core, id); s; s = s->next_by_id)
		if (s->id == id)
			return s;
	return NULL;
}

/* Posts ended, so that it never comes before unsubscribe returns. Calls it if nothing can be posted any more. */
static void
say_ended(struct core *core, kettle_fn ended, void *arg)
{
	if (ended && loop_post(core->setup.io, ended, arg) < 0)
		ended(arg);
}

static void
free_subscription(struct subscription *s)
{
	if (s->link_by_id)
		unlink_subscription(s);
	say_ended(s->core, s->ended, s->ended_arg);
	json_decref_all(s->actor, s->filter, s->pending);
	free(s);
}

static void
subscribe_release(struct subscription *subscription)
{
	if (--subscription->busy == 0 && subscription->dead)
		free_subscription(subscription);
}

/* Subscriptions to a board go on when it has another name. */
static void
rename_board(struct subscription *s, const struct event *event)
{
	if (!event->was || strcmp(event->kind, "leaderboard.updated") != 0 ||
		strcasecmp(json_text_or_empty(s->filter, "leaderboard"), event->was) != 0)
		return;
	unlink_subscription(s);
	(void)json_object_set_new(s->filter, "leaderboard", json_string(event->board));
	link_subscription(s);
}

static void
rename_board_of_all(struct core *core, const struct event *event)
{
	for (size_t i = 0; event->was && i < SUBSCRIPTION_BUCKETS; i++)
		for (struct subscription *s = core->subscriptions.by_id[i], *next; s; s = next) {
			next = s->next_by_id;
			rename_board(s, event);
		}
}

/* ---- delivery ---- */

static void
deliver(struct subscription *subscription, const json_t *event)
{
	json_int_t number = member_int(event, "seq");
	if (subscription->dead || (number > 0 && number <= subscription->last))
		return;
	if (number > 0)
		subscription->last = number;
	subscription->busy++;
	const struct watch watch = watch_begin();
	subscription->fn(subscription->arg, event);
	watch_end_callback(&watch, (void (*)(void))subscription->fn, "an event of a subscription");
	subscribe_release(subscription);
}

/* Takes a marker, and delivers it to those who want it. */
static void
deliver_marker(struct subscription *subscription, const json_t *marker)
{
	json_int_t number = member_int(marker, "seq");
	if (member_is(marker, "kind", "reset") || number > subscription->last)
		subscription->last = number;
	subscription->refused = subscription->refused || member_is(marker, "kind", "refused");
	if (subscription->dead || !subscription->markers)
		return;
	subscription->busy++;
	subscription->fn(subscription->arg, marker);
	subscribe_release(subscription);
}

static void
mark(struct subscription *subscription, json_t *marker_take)
{
	AUTO_JSON json_t *marker = marker_take;
	(void)json_object_set_new(
		marker, "at", json_string(TIME_TEXT(clock_utc_ms(loop_clock(subscription->core->setup.io)))));
	deliver_marker(subscription, marker);
}

static bool
is_marker(const json_t *event)
{
	const char *kind = json_text_or_empty(event, "kind");
	return strcmp(kind, "reset") == 0 || strcmp(kind, "caught_up") == 0 || strcmp(kind, "refused") == 0;
}

void
subscriptions_receive(struct core *core, uint64_t id, const json_t *event)
{
	struct subscription *subscription = find(core, id);
	const struct event read = event_read(event);
	if (subscription)
		rename_board(subscription, &read);
	if (subscription)
		(is_marker(event) ? deliver_marker : deliver)(subscription, event);
}

/*
 * A filter names a submission, a board, or the progress of the subscriber's own commands ("task_run"): those that this
 * process calls, that the connection sent, or that the client of a frontend called.
 */
static bool
subscribe_matches(const struct subscription *subscription, const struct event *event)
{
	const json_t *submission = json_object_get(subscription->filter, "submission");
	const char *board = json_text_or_null(subscription->filter, "leaderboard");
	if (event->local != member_true(subscription->filter, "task_run"))
		return false;
	if (event->local && (uint64_t)event->caller != subscription->caller)
		return false;
	if (submission && event->submission != json_integer_value(submission))
		return false;
	return !board || strcasecmp(board, event->board) == 0;
}

static bool
may_see(const struct subscription *subscription, const struct event *event)
{
	if (subscription->admin || event->local)
		return true;
	/* Only the database knows who has joined a closed board: its live events go only to users who surely may see them. */
	if (event->scope[0] == 'p' && !event->closed)
		return true;
	return event->user == subscription->user && subscription->user > 0 && event->scope[0] != 'a';
}

/* Whether the event may change rights of users. */
static bool
changes_rights(const struct event *event)
{
	static const char *const kinds[] = {"user.role", "user.banned", "user.unbanned", "user.merged"};
	bool changes = false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		changes = changes || strcmp(event->kind, kinds[i]) == 0;
	return changes;
}

/*
 * Whether only the database can decide who may see the event: who has joined a closed board, which user an actor has
 * become, which rights a user still has.
 */
static bool
needs_database(const struct subscription *subscription, const struct event *event)
{
	if (event->seq > 0 && changes_rights(event))
		return true;
	if (subscription->admin || event->seq == 0 || !event->scope[0])
		return false;
	if (event->scope[0] == 'p')
		return event->closed && (event->user == 0 || event->user != subscription->user);
	return subscription->user == 0 && strcmp(event->kind, "submission.accepted") == 0;
}

static void read_past(struct subscription *subscription);

/* Offers an event to a subscription that it matches; may free the subscription. */
static void
offer(struct subscription *subscription, const struct event *event)
{
	if (!subscription->live) {
		if (subscription->core->role == CORE_OWNER && !subscription->refused) {
			if (!subscription->pending)
				subscription->pending = json_array();
			(void)json_array_append_new(subscription->pending, json_deep_copy(event->json));
		}
	} else if (needs_database(subscription, event)) {
		/* Leaves the event to the database. All events before it have been delivered. */
		if (subscription->last < event->seq - 1)
			subscription->last = event->seq - 1;
		subscription->live = false;
		read_past(subscription);
	} else if (may_see(subscription, event)) {
		deliver(subscription, event->json);
	}
}

/* Offers an event to a bucket. Callbacks may end subscriptions, so the next one is held. */
static void
offer_bucket(struct subscription *first, enum interest interest, const struct event *event)
{
	struct subscription *next;
	if (first)
		first->busy++;
	for (struct subscription *s = first; s; s = next) {
		if (!s->dead && s->interest == interest && subscribe_matches(s, event))
			offer(s, event);
		next = s->next;
		if (next)
			next->busy++;
		subscribe_release(s);
	}
}

/* Offers a change of rights to all subscriptions, whatever their filters. The progress of own commands needs no rights. */
static void
offer_all(struct core *core, const struct event *event)
{
	for (size_t i = 0; i < SUBSCRIPTION_BUCKETS; i++) {
		struct subscription *next = NULL, *first = core->subscriptions.by_id[i];
		if (first)
			first->busy++;
		for (struct subscription *s = first; s; s = next) {
			if (!s->dead && s->interest != INTEREST_CALLER)
				offer(s, event);
			next = s->next_by_id;
			if (next)
				next->busy++;
			subscribe_release(s);
		}
	}
}

void
core_publish(struct core *core, const json_t *json)
{
	const struct event event = event_read(json);
	if (event.local) {
		offer_bucket(*bucket_of_number(core, INTEREST_CALLER, (uint64_t)event.caller), INTEREST_CALLER, &event);
	} else if (changes_rights(&event)) {
		offer_all(core, &event);
	} else {
		rename_board_of_all(core, &event);
		offer_bucket(*bucket_of_number(core, INTEREST_ALL, 0), INTEREST_ALL, &event);
		offer_bucket(
			*bucket_of_number(core, INTEREST_SUBMISSION, (uint64_t)event.submission), INTEREST_SUBMISSION, &event);
		offer_bucket(*bucket_of_board(core, event.board), INTEREST_BOARD, &event);
	}
}

/* One page of the past, read on the store's thread. */
struct replay {
	struct subscription *subscription;
	int64_t after, user, next;
	bool admin;
	json_t *actor, *filter, *events;
	bool begins, checked, reset; /* checked: whether there is such a board; reset: `after` is the number that is left */
	int64_t oldest, newest;
	struct kettle_error refused; /* code 0: it is not */
	struct board renamed;        /* if there is no such board: the one that had the name; id 0: none */
};

/* At its begin: whether the board is there, and the events above `after`. */
static int
replay_begin(struct db *db, const struct actor *actor, struct replay *replay, struct kettle_error *err)
{
	const char *name = json_text_or_null(replay->filter, "leaderboard");
	struct board board;
	int rc = name && replay->checked ? board_find_visible(db, actor, name, &board, &replay->refused) : 0;
	if (rc == KETTLE_ENOENT)
		(void)board_find_former(db, actor, name, &replay->renamed, NULL);
	if (rc < 0 && rc != KETTLE_ENOENT && rc != KETTLE_EACCES) {
		*err = replay->refused;
		return rc;
	}
	replay->reset = replay->after >= 0 && (replay->after > replay->newest || replay->after < replay->oldest - 1);
	if (replay->reset)
		replay->after = replay->after > replay->newest ? replay->newest : replay->oldest - 1;
	return 0;
}

static int
replay_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct replay *replay = arg;
	struct actor actor = {0};
	int rc = actor_resolve(db, replay->actor, NULL, &actor, err);
	if (rc < 0)
		return rc;
	replay->user = actor.user;
	replay->admin = actor.role == RIGHT_ADMIN;
	rc = events_range(db, &replay->oldest, &replay->newest, err);
	if (rc == 0 && replay->begins)
		rc = replay_begin(db, &actor, replay, err);
	if (rc < 0 || replay->refused.code < 0 || replay->after < 0)
		return rc;
	return events_after(db, &actor, replay->filter, replay->after, REPLAY_PAGE, &replay->events, &replay->next, err);
}

/* Delivers nothing until the past can be read, since the subscriber's rights are unknown as well. */
static void
replay_failed(struct subscription *subscription, const struct kettle_error *err)
{
	if (!subscription->failed)
		log_write(KETTLE_LOG_WARNING, "core",
			"earlier events of a subscription cannot be read yet; Kettle tries again: %s", err->message);
	subscription->failed = true;
	subscriptions_read_later(subscription->core);
}

static void
read_again(void *arg)
{
	struct core *core = arg;
	core->read_timer = NULL;
	for (size_t i = 0; i < SUBSCRIPTION_BUCKETS; i++) {
		for (struct subscription *s = core->subscriptions.by_id[i]; s; s = s->next_by_id) {
			if (!s->failed || s->dead || s->busy > 0)
				continue;
			/* Stored events are read again; of the others only new ones matter after so long. */
			json_decref(STEAL(s->pending));
			read_past(s);
		}
	}
	event_feed_wake(core->feed);
}

void
subscriptions_read_later(struct core *core)
{
	if (!core->read_timer && core->store)
		(void)loop_timer_start(core->setup.io, EVENTS_RETRY_MS, 0, read_again, core, &core->read_timer, NULL);
}

void
subscriptions_stop(struct core *core)
{
	loop_timer_stop(core->setup.io, STEAL(core->read_timer));
}

/* Everything that was stored is delivered. */
static void
catch_up(struct subscription *subscription, const struct replay *replay)
{
	AUTO_JSON json_t *pending = STEAL(subscription->pending);
	subscription->live = true;
	json_array_each(pending, event) {
		const struct event read = event_read(event);
		if (!subscription->dead && (read.seq == 0 || read.seq > subscription->last))
			offer(subscription, &read);
	}
	if (subscription->dead || !subscription->live || subscription->told)
		return;
	int64_t seq = replay->newest > subscription->last ? replay->newest : subscription->last;
	subscription->told = true;
	mark(subscription, json_pack("{s:s, s:I, s:I, s:I}", "kind", "caught_up", "oldest", (json_int_t)replay->oldest,
						   "newest", (json_int_t)replay->newest, "seq", (json_int_t)seq));
}

/* The answer to the begin of a subscription. False: nothing more comes. */
static bool
take_begin(struct subscription *subscription, const struct replay *replay)
{
	subscription->begins = false;
	if (replay->refused.code < 0)
		mark(subscription,
			json_pack("{s:s, s:s, s:s, s:s*}", "kind", "refused", "code", kettle_error_name(replay->refused.code),
				"error", replay->refused.message, "now", replay->renamed.id ? replay->renamed.name : NULL));
	else if (replay->reset)
		mark(subscription, json_pack("{s:s, s:I}", "kind", "reset", "seq", (json_int_t)replay->after));
	return !subscription->dead && !subscription->refused;
}

/* Delivers the page, then reads the next one or goes live. */
static void
take_page(struct subscription *subscription, const struct replay *replay)
{
	subscription->failed = false;
	subscription->user = replay->user;
	subscription->admin = replay->admin;
	/* The board was renamed meanwhile. */
	if (!json_equal(subscription->filter, replay->filter)) {
		read_past(subscription);
		return;
	}
	if (replay->begins && !take_begin(subscription, replay))
		return;
	json_array_each(replay->events, event)
		deliver(subscription, event);
	if (subscription->dead)
		return;
	if (replay->next == 0) {
		catch_up(subscription, replay);
		return;
	}
	/* Includes events that the subscriber may not see. */
	if (subscription->last < replay->next)
		subscription->last = replay->next;
	read_past(subscription);
}

static void
on_replayed(void *arg, const struct kettle_error *err)
{
	struct replay *replay = arg;
	struct subscription *subscription = replay->subscription;
	/* An invalid actor has no rights, now and later. */
	if (!err || err->code == KETTLE_EINVAL)
		take_page(subscription, replay);
	else if (err->code != KETTLE_ECANCELED)
		replay_failed(subscription, err);
	subscribe_release(subscription);
	json_decref_all(replay->actor, replay->filter, replay->events);
	free(replay);
}

static void
read_past(struct subscription *subscription)
{
	if (!subscription->core->store)
		return; /* closing: nothing more comes */
	struct replay *replay = xnew(struct replay, .subscription = subscription, .after = subscription->last,
		.actor = json_deep_copy(subscription->actor), .filter = json_deep_copy(subscription->filter),
		.begins = subscription->begins, .checked = subscription->markers);
	subscription->busy++;
	store_read(subscription->core->store, replay_op, on_replayed, replay);
}

static void
subscribe_begin(struct subscription *subscription)
{
	struct core *core = subscription->core;
	if (core->closing || subscription->refused)
		return;
	subscription->begins = true;
	subscription->told = false;
	/* Progress has no past. The progress of commands in this process comes without the owner, too. */
	subscription->live = member_true(subscription->filter, "task_run");
	if (core->web)
		web_client_subscribe(core->web, subscription);
	else if (core->role == CORE_CLIENT)
		client_subscribe(core->client, subscription);
	else if (core->role == CORE_OWNER && !subscription->live)
		read_past(subscription);
}

void
subscriptions_resume(struct core *core)
{
	for (size_t i = 0; i < SUBSCRIPTION_BUCKETS; i++)
		for (struct subscription *s = core->subscriptions.by_id[i]; s; s = s->next_by_id)
			if (!s->dead)
				subscribe_begin(s);
}

/* On the loop. */
static void
insert(void *arg)
{
	struct subscription *subscription = arg;
	link_subscription(subscription);
	subscribe_begin(subscription);
}

static int
check_subscription(const struct core_subscription *setup, struct kettle_error *err)
{
	int rc = setup->lenient ? 0 : request_check_actor(setup->actor, setup->outside, err);
	return rc < 0 ? rc : request_check_filter(setup->filter, err);
}

int
core_follow(struct core *core, const struct core_subscription *setup, uint64_t *ret_id, struct kettle_error *err)
{
	int rc = check_subscription(setup, err);
	if (rc < 0)
		return rc;
	struct subscription *subscription = xnew(struct subscription, .core = core,
		.id = __atomic_add_fetch(&core->next_id, 1, __ATOMIC_RELAXED), .actor = json_deep_copy(setup->actor),
		.filter = setup->filter ? json_deep_copy(setup->filter) : json_object(),
		.last = setup->after < 0 ? -1 : setup->after, .caller = setup->caller, .markers = setup->markers,
		.fn = setup->fn, .arg = setup->arg);
	subscription->interest = interest_of(subscription->filter);
	uint64_t id = subscription->id;
	uv_thread_t self = uv_thread_self();
	if (uv_thread_equal(&self, &core->thread)) {
		insert(subscription);
	} else if (loop_post(core->setup.io, insert, subscription) < 0) {
		json_decref_all(subscription->actor, subscription->filter);
		free(subscription);
		return kettle_fail(err, KETTLE_ECANCELED, "The engine is stopping.");
	}
	*ret_id = id;
	return 0;
}

static void
end_subscription(struct subscription *subscription)
{
	const struct core *core = subscription->core;
	subscription->dead = true;
	if (core->web)
		web_client_unsubscribe(core->web, subscription->id);
	else if (core->role == CORE_CLIENT && core->client)
		client_unsubscribe(core->client, subscription->id);
	if (subscription->busy == 0)
		free_subscription(subscription);
}

void
subscriptions_end_of(struct core *core, uint64_t caller)
{
	for (size_t i = 0; i < SUBSCRIPTION_BUCKETS; i++)
		for (struct subscription *s = core->subscriptions.by_id[i], *next; s; s = next) {
			next = s->next_by_id;
			if (s->caller == caller && !s->dead)
				end_subscription(s);
		}
}

struct subscription_end {
	struct core *core;
	uint64_t id;
	kettle_fn ended;
	void *arg;
};

static void
subscribe_end(void *arg)
{
	struct subscription_end *ending = arg;
	struct core *core = ending->core;
	struct subscription *subscription = find(core, ending->id);
	if (subscription && !subscription->dead) {
		subscription->ended = ending->ended;
		subscription->ended_arg = ending->arg;
		end_subscription(subscription);
	} else {
		say_ended(core, ending->ended, ending->arg);
	}
	free(ending);
}

int
core_unsubscribe(struct core *core, uint64_t id, kettle_fn ended, void *arg)
{
	struct subscription_end *ending = xnew(struct subscription_end, core, id, ended, arg);
	uv_thread_t self = uv_thread_self();
	int rc = 0;
	if (uv_thread_equal(&self, &core->thread))
		subscribe_end(ending); /* on the loop it takes effect at once */
	else if ((rc = loop_post(core->setup.io, subscribe_end, ending)) < 0)
		free(ending);
	return rc;
}

void
subscriptions_free(struct core *core)
{
	for (size_t i = 0; i < SUBSCRIPTION_BUCKETS; i++)
		while (core->subscriptions.by_id[i])
			free_subscription(core->subscriptions.by_id[i]);
}
