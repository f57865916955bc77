/* SPDX-License-Identifier: MIT */
/*
 * A long life of the gateway, time compressed: the machine against a model of Discord in which everything fails at random.
 * No event is lost while its session can be resumed, none comes twice, and no limit of Discord is exceeded.
 *
 * KETTLE_SOAK_GATEWAY_HOURS and KETTLE_SEED change how long and what.
 */
#include <config.h>

#include "discord/gateway/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

#define HOURS 24
#define LIVES 4 /* of so many hours, with different seeds */
#define EVENT_MS 15000
#define FAULT_MS 120000 /* means of the times between them */
#define INTERVAL 41250
#define QUIET_MS 900000 /* without faults, at the end */
#define READY (-1)
#define RESUMED (-2)

enum kind { CONNECTED, FRAME, GARBAGE, CLOSED, FETCHED, FETCH_FAILED, TEXT };

/* Something under way. */
struct item {
	enum kind kind;
	uint64_t at, order, connection;
	int code;
	char *text;
};

struct world {
	struct machine *machine;
	uint64_t now, random, orders, arrival, next_event, next_fault, quiet_from;
	struct item *items;
	size_t count, cap;
	/* The connection: number 0 is none. */
	uint64_t connection, connections;
	bool open, mute, silent, bound; /* at the server; silent: says no HELLO; bound: to the session */
	uint64_t mute_since, down_until;
	bool hangs; /* what is down: no answer at all */
	/* The session at the server. */
	int64_t session, known, first, *log; /* known: to the client, by READY */
	size_t seq, log_cap;
	bool resumable;
	int64_t next_n;
	unsigned remaining;
	uint64_t reset_at;
	/* What the client was seen to do. */
	int64_t wanted;
	uint64_t identified, sent[MACHINE_SENDS_MINUTE];
	size_t sent_count;
	unsigned garbage_row, resumes_row;
	unsigned long events, sessions, resumes, faults, heartbeats;
};

static uint64_t
random_below(struct world *w, uint64_t below)
{
	w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (w->random >> 33) % below;
}

static void
add(struct world *w, enum kind kind, uint64_t at, const char *text, int code)
{
	if (w->count == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 64;
		w->items = xreallocarray(w->items, w->cap, sizeof(*w->items));
	}
	w->items[w->count++] = (struct item){.kind = kind,
		.at = at,
		.order = w->orders++,
		.connection = w->connection,
		.code = code,
		.text = text ? xstrdup(text) : NULL};
}

/* To the client, in order, after the time that it takes. */
static void
tell(struct world *w, enum kind kind, const char *text, int code)
{
	uint64_t at = w->now + 10 + random_below(w, 190);
	w->arrival = at > w->arrival ? at : w->arrival;
	if (!w->mute)
		add(w, kind, w->arrival, text, code);
}

/* ---- the server ---- */

static void
send_event(struct world *w, size_t seq)
{
	AUTO_FREE char *text = NULL;
	int64_t n = w->log[seq - 1];
	if (n == READY)
		text = xasprintf(
			"{\"op\":0,\"s\":%zu,\"t\":\"READY\",\"d\":{\"session_id\":\"%lld\",\"resume_gateway_url\":\"wss://r\"}}",
			seq, (long long)w->session);
	else if (n == RESUMED)
		text = xasprintf("{\"op\":0,\"s\":%zu,\"t\":\"RESUMED\",\"d\":{}}", seq);
	else
		text = xasprintf("{\"op\":0,\"s\":%zu,\"t\":\"EVENT\",\"d\":{\"n\":%lld}}", seq, (long long)n);
	tell(w, FRAME, text, 0);
}

static void
append(struct world *w, int64_t n)
{
	if (w->seq == w->log_cap) {
		w->log_cap = w->log_cap ? 2 * w->log_cap : 64;
		w->log = xreallocarray(w->log, w->log_cap, sizeof(*w->log));
	}
	w->log[w->seq++] = n;
	if (w->open && w->bound)
		send_event(w, w->seq);
}

static void
take_identify(struct world *w)
{
	/* A new session only where the old one has ended, or cannot go on as the client sees it, or its READY never arrived. */
	assert_true(!w->resumable || w->known != w->session || w->garbage_row >= MACHINE_MALFORMED_MAX ||
				w->resumes_row >= MACHINE_RESUMES_MAX);
	assert_true(w->remaining > 0);
	w->remaining--;
	w->session++;
	w->sessions++;
	w->seq = 0;
	w->first = w->next_n;
	w->resumable = w->bound = true;
	append(w, READY);
}

static void
take_resume(struct world *w, const json_t *data)
{
	size_t seq = (size_t)member_int(data, "seq");
	w->resumes++;
	if (!w->resumable || atoll(json_text_or_empty(data, "session_id")) != w->session) {
		tell(w, FRAME, "{\"op\":9,\"d\":false}", 0);
		return;
	}
	assert_true(seq >= 1 && seq <= w->seq);
	for (size_t i = seq + 1; i <= w->seq; i++)
		send_event(w, i);
	w->bound = true;
	append(w, RESUMED);
}

static void
take_text(struct world *w, const char *text)
{
	AUTO_JSON json_t *frame = json_loads(text, 0, NULL);
	json_t *data = json_object_get(frame, "d");
	assert_non_null(frame);
	if (!w->open)
		return;
	switch (member_int(frame, "op")) {
	case 1:
		w->heartbeats++;
		tell(w, FRAME, "{\"op\":11}", 0);
		break;
	case 2:
		take_identify(w);
		break;
	case 6:
		take_resume(w, data);
		break;
	default:
		fail_msg("the client sent %s", text);
	}
}

/* ---- faults ---- */

/* The connection breaks: what is under way is lost, in both directions. */
static void
cut(struct world *w, int code)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->items[i].connection == w->connection && (w->items[i].kind <= CLOSED || w->items[i].kind == TEXT))
			w->items[i].connection = 0;
	w->open = w->bound = w->mute = false;
	if (w->connection)
		add(w, CLOSED, w->now + random_below(w, 1000), NULL, code);
}

static void
close_by_server(struct world *w)
{
	static const int codes[] = {1000, 1001, 1006, 4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009};
	int code = codes[random_below(w, ARRAY_SIZE(codes))];
	if (!w->open)
		return;
	if (code == 4007 || code == 4009)
		w->resumable = false;
	tell(w, CLOSED, NULL, code);
	w->open = w->bound = false;
}

/* Instead of an event, which the server believes to have sent. */
static void
garble(struct world *w)
{
	static const char *const texts[] = {
		"", "{\"op\":0,\"s\":", "{\"op\":0,\"t\":\"EVENT\",\"d\":{}}", "[[[[", "\xff\xfe"};
	if (!w->open || !w->bound)
		return;
	w->bound = false;
	append(w, w->next_n++);
	w->bound = true;
	tell(w, GARBAGE, texts[random_below(w, ARRAY_SIZE(texts))], 0);
}

static void
say(struct world *w, const char *text)
{
	if (w->open)
		tell(w, FRAME, text, 0);
}

static void
harm(struct world *w)
{
	w->faults++;
	switch (random_below(w, 12)) {
	case 0:
		cut(w, 0);
		break;
	case 1:
	case 2:
		close_by_server(w);
		break;
	case 3:
		say(w, "{\"op\":7,\"d\":null}");
		break;
	case 4:
		say(w, "{\"op\":9,\"d\":true}");
		break;
	case 5:
		w->resumable = w->resumable && random_below(w, 2);
		say(w, w->resumable ? "{\"op\":1,\"d\":null}" : "{\"op\":9,\"d\":false}");
		break;
	case 6: /* half a connection: nothing comes any more */
		w->mute_since = w->mute ? w->mute_since : w->now;
		w->mute = w->open;
		break;
	case 7:
		garble(w);
		break;
	case 8:
		w->down_until = w->now + random_below(w, 300000);
		w->hangs = random_below(w, 2);
		cut(w, 0);
		break;
	case 9:
		w->silent = true;
		cut(w, 1006);
		break;
	case 10:
		w->remaining = (unsigned)random_below(w, 2);
		w->reset_at = w->now + random_below(w, 3600000);
		break;
	case 11:
		for (size_t i = 1 + random_below(w, 5); w->open && w->bound && i <= w->seq && i < 10; i++)
			send_event(w, i);
		say(w, "{\"op\":77,\"d\":{\"x\":[]}}");
		break;
	}
}

/* ---- the client's actions ---- */

static void
on_fetch(void *arg)
{
	struct world *w = arg;
	bool good = w->now >= w->down_until;
	if (w->now >= w->reset_at) {
		w->remaining = 1000;
		w->reset_at = w->now + UINT64_C(86400000);
	}
	add(w, good ? FETCHED : FETCH_FAILED, w->now + 50, NULL, 0);
}

static void
on_connect(void *arg, const char *url)
{
	struct world *w = arg;
	assert_true(strcmp(url, "wss://g/?v=10&encoding=json") == 0 || strcmp(url, "wss://r/?v=10&encoding=json") == 0);
	assert_int_equal(w->connection, 0);
	w->connection = ++w->connections;
	w->sent_count = 0;
	w->open = w->bound = w->mute = false;
	if (w->now >= w->down_until)
		add(w, CONNECTED, w->now + 20 + random_below(w, 200), NULL, 0);
	else if (!w->hangs)
		add(w, CLOSED, w->now + random_below(w, 500), NULL, 0);
}

static void
on_send(void *arg, const char *text, size_t len)
{
	struct world *w = arg;
	assert_true(w->connection != 0 && len == strlen(text) && len <= MACHINE_SEND_MAX);
	uint64_t *slot = &w->sent[w->sent_count++ % MACHINE_SENDS_MINUTE];
	assert_true(w->sent_count <= MACHINE_SENDS_MINUTE || *slot + 60000 <= w->now);
	*slot = w->now;
	if (strstr(text, "\"op\":2")) {
		assert_true(w->identified == 0 || w->now - w->identified >= 5000);
		w->identified = w->now;
	}
	w->resumes_row += strstr(text, "\"op\":6") != NULL;
	/* The way to the server takes the same time always, so that order is kept. */
	add(w, TEXT, w->now + 60, text, 0);
}

static void
on_close(void *arg, int code)
{
	struct world *w = arg;
	assert_true(code != 1000 && code != 1001 && w->connection != 0);
	cut(w, 0);
}

static void
on_dispatch(void *arg, const char *name, json_t *data_take)
{
	struct world *w = arg;
	AUTO_JSON json_t *data = data_take;
	w->garbage_row = w->resumes_row = 0;
	if (strcmp(name, "READY") == 0) {
		w->wanted = w->first;
		w->known = w->session;
	}
	if (strcmp(name, "EVENT") != 0)
		return;
	assert_int_equal(member_int(data, "n"), w->wanted);
	w->wanted++;
	w->events++;
}

static void
on_state(void *arg, enum gateway_state state, const char *sentence)
{
	(void)arg;
	assert_true(state != GATEWAY_FATAL && strlen(sentence) > 10);
}

static const struct machine_actions actions = {
	.fetch = on_fetch,
	.connect = on_connect,
	.send = on_send,
	.close = on_close,
	.dispatch = on_dispatch,
	.state = on_state,
};

/* ---- time ---- */

static void
take_connected(struct world *w)
{
	AUTO_FREE char *hello = xasprintf("{\"op\":10,\"d\":{\"heartbeat_interval\":%d}}", INTERVAL);
	w->open = true;
	w->arrival = w->now;
	machine_connected(w->machine, w->now);
	if (!w->silent)
		tell(w, FRAME, hello, 0);
	w->silent = false;
}

static void
deliver(struct world *w, const struct item *item)
{
	bool of_connection = item->kind <= CLOSED || item->kind == TEXT;
	if (of_connection && (item->connection != w->connection || w->connection == 0))
		return;
	switch (item->kind) {
	case CONNECTED:
		take_connected(w);
		break;
	case GARBAGE:
		w->garbage_row++;
		machine_frame(w->machine, w->now, item->text, strlen(item->text));
		break;
	case FRAME:
		machine_frame(w->machine, w->now, item->text, strlen(item->text));
		break;
	case CLOSED:
		w->connection = 0;
		w->open = w->bound = w->mute = false;
		machine_closed(w->machine, w->now, item->code, "broken");
		break;
	case FETCHED:
		machine_fetched(w->machine, w->now, "wss://g", w->remaining, w->reset_at > w->now ? w->reset_at - w->now : 0);
		break;
	case FETCH_FAILED:
		machine_fetch_failed(w->machine, w->now, 0, "no answer");
		break;
	case TEXT:
		take_text(w, item->text);
		break;
	}
}

/* Index of the earliest item; count: there is none. */
static size_t
earliest(const struct world *w)
{
	size_t best = w->count;
	for (size_t i = 0; i < w->count; i++)
		if (best == w->count || w->items[i].at < w->items[best].at ||
			(w->items[i].at == w->items[best].at && w->items[i].order < w->items[best].order))
			best = i;
	return best;
}

static void
step(struct world *w)
{
	size_t at = earliest(w);
	uint64_t item_at = at < w->count ? w->items[at].at : UINT64_MAX, due = machine_due(w->machine);
	uint64_t next = item_at < due ? item_at : due;
	next = w->next_event < next ? w->next_event : next;
	next = w->next_fault < next ? w->next_fault : next;
	w->now = next > w->now ? next : w->now;
	/* A half connection is noticed after two intervals at the latest. */
	assert_true(!w->mute || w->now - w->mute_since <= 2 * INTERVAL + 1000);
	if (item_at == next) {
		struct item item = w->items[at];
		w->items[at] = w->items[--w->count];
		deliver(w, &item);
		free(item.text);
	} else if (due <= next) {
		machine_timer(w->machine, w->now);
	} else if (w->next_event == next) {
		w->next_event = w->now + random_below(w, 2 * EVENT_MS);
		if (w->resumable)
			append(w, w->next_n++);
	} else {
		w->next_fault = w->now + random_below(w, 2 * FAULT_MS);
		if (w->next_fault > w->quiet_from)
			w->next_fault = UINT64_MAX;
		harm(w);
	}
}

static void
live(uint64_t seed, uint64_t hours)
{
	struct world w = {.now = 1000, .random = seed, .next_fault = FAULT_MS, .remaining = 1000};
	const struct machine_rules rules = {.token = "T", .intents = 1, .random_seed = seed};
	w.reset_at = UINT64_C(86400000);
	uint64_t end = w.now + hours * 3600000;
	/* The last hour has no new faults; those before may still have to be waited for. */
	w.quiet_from = end;
	w.machine = machine_new(&rules, &actions, &w);
	machine_start(w.machine, w.now);
	while (w.now < end)
		step(&w);
	w.next_fault = UINT64_MAX;
	w.down_until = w.reset_at = 0;
	end = w.now + 3600000 + QUIET_MS;
	while (w.now < end)
		step(&w);
	/* What is still to come of the last events. */
	w.next_event = UINT64_MAX;
	end = w.now + 1000;
	while (machine_due(w.machine) < end || earliest(&w) < w.count)
		step(&w);
	print_message("# seed %llu, %llu hours: %lu events, %lu faults, %lu sessions, %lu resumes, %lu heartbeats\n",
		(unsigned long long)seed, (unsigned long long)hours, w.events, w.faults, w.sessions, w.resumes, w.heartbeats);
	assert_true(w.open && w.bound && w.resumable);
	assert_int_equal(w.wanted, w.next_n);
	assert_true(w.sessions >= hours / 4 && w.resumes >= hours * 4 && w.events >= hours * 100);
	machine_free(w.machine);
	for (size_t i = 0; i < w.count; i++)
		free(w.items[i].text);
	free(w.items);
	free(w.log);
}

static void
loses_nothing(void **state)
{
	const char *hours = getenv("KETTLE_SOAK_GATEWAY_HOURS"), *seed = getenv("KETTLE_SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
	(void)state;
	for (uint64_t i = 0; i < LIVES; i++)
		live(first + i, hours ? strtoull(hours, NULL, 10) : HOURS);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(loses_nothing)};

UNIT_TESTS(test_gateway_life);
