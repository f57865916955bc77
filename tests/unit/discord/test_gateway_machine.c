/* SPDX-License-Identifier: MIT */
/* The state machine of Discord's gateway: each transition, each close code. */
#include <config.h>

#include "discord/gateway/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

#define URL "wss://gateway.test"
#define RESUME_URL "wss://resume.test/"
#define INTERVAL 40000
#define READY_FRAME \
	"{\"op\":0,\"s\":1,\"t\":\"READY\",\"d\":{\"v\":10,\"session_id\":\"S1\",\"resume_gateway_url\":\"" RESUME_URL \
	"\"}}"
#define HELLO_FRAME "{\"op\":10,\"d\":{\"heartbeat_interval\":40000}}"

/* What the machine does, as lines: "fetch", "connect URL", "send {…}", "close N", "event NAME", "state N". */
struct recorder {
	struct machine *machine;
	uint64_t now;
	struct buf log;
	char sentence[700], sent[MACHINE_SEND_MAX + 1];
	unsigned events, sends;
};

static void
on_fetch(void *arg)
{
	buf_adds(&((struct recorder *)arg)->log, "fetch\n");
}

static void
on_connect(void *arg, const char *url)
{
	buf_printf(&((struct recorder *)arg)->log, "connect %s\n", url);
}

static void
on_send(void *arg, const char *text, size_t len)
{
	struct recorder *r = arg;
	assert_true(len <= MACHINE_SEND_MAX);
	(void)snprintf(r->sent, sizeof(r->sent), "%.*s", (int)len, text);
	r->sends++;
	buf_printf(&r->log, "send %.*s\n", (int)len, text);
}

static void
on_close(void *arg, int code)
{
	buf_printf(&((struct recorder *)arg)->log, "close %d\n", code);
}

static void
on_dispatch(void *arg, const char *name, json_t *data_take)
{
	struct recorder *r = arg;
	r->events++;
	buf_printf(&r->log, "event %s\n", name);
	json_decref(data_take);
}

static void
on_state(void *arg, enum gateway_state state, const char *sentence)
{
	struct recorder *r = arg;
	static const char *const names[] = {"connected", "ready", "resumed", "lost", "fatal"};
	(void)snprintf(r->sentence, sizeof(r->sentence), "%s", sentence);
	assert_true(strlen(sentence) > 10 && sentence[strlen(sentence) - 1] == '.');
	buf_printf(&r->log, "%s\n", names[state]);
}

static const struct machine_actions actions = {
	.fetch = on_fetch,
	.connect = on_connect,
	.send = on_send,
	.close = on_close,
	.dispatch = on_dispatch,
	.state = on_state,
};

static int
setup(void **state)
{
	struct recorder *r = xcalloc(1, sizeof(*r));
	const struct machine_rules rules = {.token = "T", .intents = 1, .random_seed = 7};
	r->machine = machine_new(&rules, &actions, r);
	r->now = 1000000;
	*state = r;
	return 0;
}

static int
teardown(void **state)
{
	struct recorder *r = *state;
	machine_free(r->machine);
	buf_free(&r->log);
	free(r);
	return 0;
}

/* What was done since the last call is exactly this. */
static void
expect(struct recorder *r, const char *wanted)
{
	AUTO_FREE char *done = buf_take(&r->log);
	assert_string_equal(done, wanted);
}

static void
frame(struct recorder *r, const char *text)
{
	machine_frame(r->machine, r->now, text, strlen(text));
}

/* Goes to the next time that the machine wants; returns how far that was. */
static uint64_t
wait_due(struct recorder *r)
{
	uint64_t due = machine_due(r->machine), before = r->now;
	assert_true(due != MACHINE_NEVER);
	r->now = due > r->now ? due : r->now;
	machine_timer(r->machine, r->now);
	return r->now - before;
}

/* From nothing to a connection that was told HELLO; IDENTIFY was sent. */
static void
go_hello(struct recorder *r)
{
	machine_start(r->machine, r->now);
	machine_fetched(r->machine, r->now, URL, 1000, 0);
	machine_connected(r->machine, r->now);
	frame(r, HELLO_FRAME);
}

static void
go_live(struct recorder *r)
{
	go_hello(r);
	frame(r, READY_FRAME);
	buf_free(&r->log);
	r->events = 0;
}

/* The connection is gone: the machine waits, connects again to `url` and gets HELLO. Its first text is of this op. */
static void
come_back(struct recorder *r, const char *wanted_url, int op)
{
	buf_free(&r->log);
	(void)wait_due(r);
	if (r->log.data && strcmp(r->log.data, "fetch\n") == 0) {
		buf_free(&r->log);
		machine_fetched(r->machine, r->now, URL, 1000, 0);
		if (!r->log.data)
			(void)wait_due(r);
	}
	AUTO_FREE char *wanted = xasprintf("connect %s?v=10&encoding=json\n", wanted_url);
	expect(r, wanted);
	machine_connected(r->machine, r->now);
	frame(r, HELLO_FRAME);
	AUTO_JSON json_t *sent = json_loads(r->sent, 0, NULL);
	assert_int_equal(member_int(sent, "op"), op);
	buf_free(&r->log);
}

static void
begins_a_session(void **state)
{
	struct recorder *r = *state;
	machine_start(r->machine, r->now);
	expect(r, "fetch\n");
	machine_fetched(r->machine, r->now, URL, 1000, 0);
	expect(r, "connect " URL "/?v=10&encoding=json\n");
	machine_connected(r->machine, r->now);
	expect(r, "connected\n");
	frame(r, HELLO_FRAME);
	expect(r,
		"send {\"op\":2,\"d\":{\"token\":\"T\",\"intents\":1,\"properties\":{\"os\":\"linux\",\"browser\":\"kettle\","
		"\"device\":\"kettle\"}}}\n");
	frame(r, READY_FRAME);
	expect(r, "ready\nevent READY\n");
	frame(r, "{\"op\":0,\"s\":2,\"t\":\"GUILD_CREATE\",\"d\":{}}");
	frame(r, "{\"op\":0,\"s\":2,\"t\":\"GUILD_CREATE\",\"d\":{}}");
	frame(r, "{\"op\":0,\"s\":1,\"t\":\"GUILD_CREATE\",\"d\":{}}");
	expect(r, "event GUILD_CREATE\n");
	frame(r, "{\"op\":99,\"d\":null}");
	frame(r, HELLO_FRAME);
	expect(r, "");
}

/* Events before READY belong to no session. */
static void
ignores_what_comes_early(void **state)
{
	struct recorder *r = *state;
	machine_start(r->machine, r->now);
	frame(r, HELLO_FRAME);
	machine_connected(r->machine, r->now);
	machine_closed(r->machine, r->now, 4004, NULL);
	expect(r, "fetch\n");
	machine_fetched(r->machine, r->now, URL, 1000, 0);
	machine_connected(r->machine, r->now);
	frame(r, READY_FRAME);
	buf_free(&r->log);
	frame(r, HELLO_FRAME);
	frame(r, "{\"op\":0,\"s\":7,\"t\":\"GUILD_CREATE\",\"d\":{}}");
	assert_int_equal(r->events, 0);
	frame(r, READY_FRAME);
	assert_int_equal(r->events, 1);
}

static void
beats(void **state)
{
	struct recorder *r = *state;
	go_live(r);
	uint64_t first = wait_due(r);
	assert_true(first < INTERVAL);
	expect(r, "send {\"op\":1,\"d\":1}\n");
	assert_int_equal(machine_latency_ms(r->machine), 0);
	r->now += 55;
	frame(r, "{\"op\":11}");
	assert_int_equal(machine_latency_ms(r->machine), 55);
	frame(r, "{\"op\":0,\"s\":9,\"t\":\"X\",\"d\":null}");
	assert_int_equal(wait_due(r), INTERVAL - 55);
	expect(r, "event X\nsend {\"op\":1,\"d\":9}\n");
	/* Asked for: at once, and it does not count as the answer to its own. */
	frame(r, "{\"op\":1,\"d\":null}");
	expect(r, "send {\"op\":1,\"d\":9}\n");
	assert_int_equal(wait_due(r), INTERVAL);
	expect(r, "close 4000\n");
	frame(r, "{\"op\":0,\"s\":10,\"t\":\"X\",\"d\":null}");
	expect(r, "");
	machine_closed(r->machine, r->now, 0, NULL);
	assert_non_null(strstr(r->sentence, "did not answer a heartbeat; Kettle resumes the session in "));
	come_back(r, RESUME_URL, 6);
	assert_string_equal(r->sent, "{\"op\":6,\"d\":{\"token\":\"T\",\"session_id\":\"S1\",\"seq\":9}}");
	frame(r, "{\"op\":0,\"s\":10,\"t\":\"X\",\"d\":null}");
	frame(r, "{\"op\":0,\"s\":11,\"t\":\"RESUMED\",\"d\":{}}");
	expect(r, "event X\nresumed\nevent RESUMED\n");
}

/* The first heartbeat comes after a random part of the interval. */
static void
jitters_the_first_heartbeat(void **state)
{
	uint64_t least = INTERVAL, most = 0;
	(void)state;
	for (unsigned seed = 0; seed < 50; seed++) {
		struct recorder r = {.now = 1000000};
		const struct machine_rules rules = {.token = "T", .intents = 1, .random_seed = seed};
		r.machine = machine_new(&rules, &actions, &r);
		go_live(&r);
		uint64_t first = wait_due(&r);
		least = first < least ? first : least;
		most = first > most ? first : most;
		machine_free(r.machine);
		buf_free(&r.log);
	}
	assert_true(least < INTERVAL / 5 && most > INTERVAL / 5 * 4 && most < INTERVAL);
}

/* However often the server asks, no more than 120 texts are sent in a minute, and its own heartbeats still are. */
static void
keeps_the_limit_of_texts(void **state)
{
	struct recorder *r = *state;
	go_live(r);
	r->sends = 0;
	for (int i = 0; i < 1000; i++)
		frame(r, "{\"op\":1,\"d\":null}");
	assert_true(r->sends > 50 && r->sends < MACHINE_SENDS_MINUTE);
	buf_free(&r->log);
	(void)wait_due(r);
	expect(r, "send {\"op\":1,\"d\":1}\n");
	/* A minute later it may again. */
	frame(r, "{\"op\":11}");
	r->now += 60000;
	frame(r, "{\"op\":1,\"d\":null}");
	expect(r, "send {\"op\":1,\"d\":1}\n");
}

/* An interval that asks for more texts than allowed. */
static void
beats_no_faster_than_allowed(void **state)
{
	struct recorder *r = *state;
	machine_start(r->machine, r->now);
	machine_fetched(r->machine, r->now, URL, 1000, 0);
	machine_connected(r->machine, r->now);
	frame(r, "{\"op\":10,\"d\":{\"heartbeat_interval\":20}}");
	frame(r, READY_FRAME);
	uint64_t end = r->now + 59000;
	while (machine_due(r->machine) < end) {
		(void)wait_due(r);
		frame(r, "{\"op\":11}");
	}
	assert_int_equal(r->sends, MACHINE_SENDS_MINUTE);
	assert_null(strstr(r->log.data, "close"));
}

static void
reconnects_when_told(void **state)
{
	struct recorder *r = *state;
	go_live(r);
	frame(r, "{\"op\":7,\"d\":null}");
	expect(r, "close 4000\n");
	machine_closed(r->machine, r->now, 0, NULL);
	expect(r, "lost\n");
	come_back(r, RESUME_URL, 6);
	/* Not now: the same session, after one to five seconds. */
	frame(r, "{\"op\":9,\"d\":true}");
	expect(r, "close 4000\n");
	machine_closed(r->machine, r->now, 0, NULL);
	assert_true(machine_due(r->machine) - r->now >= 1000 && machine_due(r->machine) - r->now <= 5000);
	come_back(r, RESUME_URL, 6);
	/* Not any more: a new one. */
	frame(r, "{\"op\":9,\"d\":false}");
	expect(r, "close 4000\n");
	machine_closed(r->machine, r->now, 0, NULL);
	assert_non_null(strstr(r->sentence, "connects again"));
	come_back(r, URL "/", 2);
}

/* IDENTIFY is sent at most every five seconds, and not at all where Discord allows no further session. */
static void
keeps_the_limits_of_sessions(void **state)
{
	struct recorder *r = *state;
	go_hello(r);
	uint64_t identified = r->now;
	for (int i = 0; i < 3; i++) {
		machine_closed(r->machine, r->now, 4000, NULL);
		come_back(r, URL "/", 2);
		assert_true(r->now - identified >= MACHINE_SPACING_MS);
		identified = r->now;
	}
	machine_closed(r->machine, r->now, 4000, NULL);
	(void)wait_due(r);
	buf_free(&r->log);
	machine_fetched(r->machine, r->now, URL, 0, 7200000);
	expect(r, "lost\n");
	assert_non_null(strstr(r->sentence, "no further session"));
	assert_int_equal(wait_due(r), 7200000);
	expect(r, "fetch\n");
	/* Not even for ever. */
	machine_fetched(r->machine, r->now, URL, 0, UINT64_MAX);
	assert_int_equal(wait_due(r), 86400000);
	expect(r, "lost\nfetch\n");
	machine_fetch_failed(r->machine, r->now, 90000, "503");
	assert_non_null(strstr(r->sentence, "(503)"));
	assert_int_equal(wait_due(r), 90000);
}

static void
obeys_each_close_code(void **state)
{
	static const int fatal[] = {4004, 4010, 4011, 4012, 4013, 4014};
	(void)state;
	for (int code = 0; code < 5000; code += code == 0 ? 1000 : code == 1015 ? 2985 : code == 4020 ? 980 : 1) {
		struct recorder r = {.now = 1000000};
		const struct machine_rules rules = {.token = "T", .intents = 1, .random_seed = (uint64_t)code};
		r.machine = machine_new(&rules, &actions, &r);
		go_live(&r);
		machine_closed(r.machine, r.now, code, NULL);
		bool dies = false;
		for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
			dies |= code == fatal[i];
		expect(&r, dies ? "fatal\n" : "lost\n");
		if (dies) {
			AUTO_FREE char *number = xasprintf("(close code %d)", code);
			assert_non_null(strstr(r.sentence, number));
			assert_true(machine_due(r.machine) == MACHINE_NEVER);
			assert_false(machine_stop(r.machine));
		} else if (code == 4007 || code == 4009) {
			come_back(&r, URL "/", 2);
		} else {
			come_back(&r, RESUME_URL, 6);
		}
		machine_free(r.machine);
		buf_free(&r.log);
	}
}

static void
refuses_malformed_frames(void **state)
{
	static const char *const frames[] = {"", "nonsense", "[]", "{}", "{\"op\":\"0\"}", "{\"op\":0}",
		"{\"op\":0,\"s\":2,\"d\":{}}", "{\"op\":0,\"s\":\"2\",\"t\":\"X\",\"d\":{}}",
		"{\"op\":0,\"s\":-2,\"t\":\"X\",\"d\":{}}", "{\"op\":0,\"s\":2,\"t\":\"X\"}",
		"{\"op\":0,\"s\":2,\"t\":3,\"d\":{}}", "{\"op\":0,\"s\":99999999999999999999,\"t\":\"X\",\"d\":{}}",
		"{\"op\":11}\xff", "{\"op\":0,\"s\":2,\"t\":\"\xc3\",\"d\":{}}", "{\"op\":1e999}"};
	struct recorder *r = *state;
	go_live(r);
	json_int_t seq = 1;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		frame(r, frames[i]);
		expect(r, "close 4000\n");
		machine_closed(r->machine, r->now, 0, NULL);
		assert_non_null(strstr(r->sentence, "refused (it "));
		come_back(r, RESUME_URL, 6);
		AUTO_FREE char *next = xasprintf("{\"op\":0,\"s\":%d,\"t\":\"X\",\"d\":{}}", (int)++seq);
		frame(r, next);
		expect(r, "event X\n");
		frame(r, "{\"op\":0,\"s\":0,\"t\":\"X\",\"d\":{}}");
		expect(r, "close 4000\n");
		machine_closed(r->machine, r->now, 0, NULL);
		come_back(r, RESUME_URL, 6);
	}
	assert_int_equal(machine_malformed(r->machine), 2 * ARRAY_SIZE(frames));
}

/* What is malformed each time it is replayed must not hold the bot up for ever. */
static void
gives_up_a_session_that_cannot_go_on(void **state)
{
	struct recorder *r = *state;
	go_live(r);
	for (int i = 1; i <= MACHINE_MALFORMED_MAX; i++) {
		machine_bad_frame(r->machine, r->now, "it is longer than 16777216 bytes");
		machine_closed(r->machine, r->now, 0, NULL);
		come_back(r, i < MACHINE_MALFORMED_MAX ? RESUME_URL : URL "/", i < MACHINE_MALFORMED_MAX ? 6 : 2);
	}
	frame(r, READY_FRAME);
	for (int i = 0; i <= MACHINE_RESUMES_MAX; i++) {
		machine_closed(r->machine, r->now, 4003, NULL);
		come_back(r, i < MACHINE_RESUMES_MAX ? RESUME_URL : URL "/", i < MACHINE_RESUMES_MAX ? 6 : 2);
	}
}

/* Levels and values are counted before anything is parsed. */
static void
bounds_what_it_parses(void **state)
{
	struct recorder *r = *state;
	AUTO_BUF struct buf text = {0};
	go_live(r);
	buf_adds(&text, "{\"op\":99,\"d\":");
	for (int i = 0; i < 100; i++)
		buf_adds(&text, "[");
	frame(r, text.data);
	expect(r, "close 4000\n");
	machine_closed(r->machine, r->now, 0, NULL);
	assert_non_null(strstr(r->sentence, "levels"));
	come_back(r, RESUME_URL, 6);
	text.len = 0;
	buf_adds(&text, "{\"op\":99,\"d\":[");
	for (int i = 0; i < 600000; i++)
		buf_adds(&text, "1,");
	buf_adds(&text, "1]}");
	frame(r, text.data);
	expect(r, "close 4000\n");
	machine_closed(r->machine, r->now, 0, NULL);
	assert_non_null(strstr(r->sentence, "values"));
	come_back(r, RESUME_URL, 6);
	/* Brackets in strings count for nothing. */
	text.len = 0;
	buf_adds(&text, "{\"op\":0,\"s\":5,\"t\":\"X\",\"d\":\"\\\"\\\\");
	for (int i = 0; i < 1000; i++)
		buf_adds(&text, "[{");
	buf_adds(&text, "\"}");
	frame(r, text.data);
	expect(r, "event X\n");
}

static void
refuses_a_hello_or_ready_that_is_useless(void **state)
{
	static const char *const hellos[] = {"{\"op\":10}", "{\"op\":10,\"d\":{\"heartbeat_interval\":0}}",
		"{\"op\":10,\"d\":{\"heartbeat_interval\":-5}}", "{\"op\":10,\"d\":{\"heartbeat_interval\":\"40000\"}}",
		"{\"op\":10,\"d\":{\"heartbeat_interval\":9000000000}}"};
	struct recorder *r = *state;
	machine_start(r->machine, r->now);
	for (size_t i = 0; i < ARRAY_SIZE(hellos); i++) {
		machine_fetched(r->machine, r->now, URL, 1000, 0);
		machine_connected(r->machine, r->now);
		buf_free(&r->log);
		frame(r, hellos[i]);
		expect(r, "close 4000\n");
		machine_closed(r->machine, r->now, 0, NULL);
		(void)wait_due(r);
		expect(r, "lost\nfetch\n");
	}
	machine_fetched(r->machine, r->now, URL, 1000, 0);
	machine_connected(r->machine, r->now);
	frame(r, HELLO_FRAME);
	buf_free(&r->log);
	AUTO_FREE char *long_id = xmalloc(1000);
	(void)memset(long_id, 'x', 999);
	long_id[999] = '\0';
	AUTO_FREE char *ready = xasprintf(
		"{\"op\":0,\"s\":1,\"t\":\"READY\",\"d\":{\"session_id\":\"%s\",\"resume_gateway_url\":\"\"}}", long_id);
	frame(r, ready);
	expect(r, "close 4000\n");
}

/* Every wait for the server ends. */
static void
waits_for_nothing_for_ever(void **state)
{
	struct recorder *r = *state;
	machine_start(r->machine, r->now);
	machine_fetched(r->machine, r->now, URL, 1000, 0);
	buf_free(&r->log);
	assert_int_equal(wait_due(r), MACHINE_CONNECT_MS);
	expect(r, "close 4000\n");
	machine_closed(r->machine, r->now, 0, "refused");
	(void)wait_due(r);
	machine_fetched(r->machine, r->now, URL, 1000, 0);
	machine_connected(r->machine, r->now);
	buf_free(&r->log);
	assert_int_equal(wait_due(r), MACHINE_HELLO_MS);
	expect(r, "close 4000\n");
	machine_closed(r->machine, r->now, 0, NULL);
	(void)wait_due(r);
	machine_fetched(r->machine, r->now, URL, 1000, 0);
	machine_connected(r->machine, r->now);
	frame(r, HELLO_FRAME);
	uint64_t end = r->now + MACHINE_READY_MS;
	buf_free(&r->log);
	while (!r->log.data || !strstr(r->log.data, "close")) {
		(void)wait_due(r);
		frame(r, "{\"op\":11}");
	}
	assert_true(r->now == end);
}

/* Longer and longer, up to a limit; a session that lived ends that. */
static void
backs_off(void **state)
{
	struct recorder *r = *state;
	go_live(r);
	for (int i = 0; i < 40; i++) {
		machine_closed(r->machine, r->now, 0, "reset");
		uint64_t delay = machine_due(r->machine) - r->now, window = i < 6 ? UINT64_C(1000) << i : MACHINE_DELAY_MAX_MS;
		assert_true(delay <= window && (i == 0 || delay >= window / 2));
		(void)wait_due(r);
		if (strstr(r->log.data, "fetch"))
			machine_fetched(r->machine, r->now, URL, 1000, 0);
		/* The session stays, but after some failures its address is not tried any more. */
		const char *wanted = i < 3 ? "connect " RESUME_URL "?v" : "connect " URL "/?v";
		assert_non_null(strstr(r->log.data, wanted));
		buf_free(&r->log);
	}
	/* A session that goes on, even for a moment, brings it back to the second step. */
	machine_connected(r->machine, r->now);
	frame(r, HELLO_FRAME);
	frame(r, "{\"op\":0,\"s\":2,\"t\":\"RESUMED\",\"d\":{}}");
	machine_closed(r->machine, r->now, 0, "reset");
	uint64_t short_delay = machine_due(r->machine) - r->now;
	assert_true(short_delay >= 1000 && short_delay <= 2000);
	(void)wait_due(r);
	machine_connected(r->machine, r->now);
	frame(r, HELLO_FRAME);
	assert_string_equal(r->sent, "{\"op\":6,\"d\":{\"token\":\"T\",\"session_id\":\"S1\",\"seq\":2}}");
	frame(r, "{\"op\":0,\"s\":3,\"t\":\"RESUMED\",\"d\":{}}");
	r->now += MACHINE_STABLE_MS;
	machine_closed(r->machine, r->now, 0, "reset");
	assert_true(machine_due(r->machine) - r->now <= 1000);
}

static void
stops(void **state)
{
	struct recorder *r = *state;
	go_live(r);
	assert_true(machine_stop(r->machine));
	expect(r, "close 1000\n");
	frame(r, "{\"op\":0,\"s\":2,\"t\":\"X\",\"d\":null}");
	machine_closed(r->machine, r->now, 1000, NULL);
	machine_timer(r->machine, r->now + 1000000);
	assert_true(machine_due(r->machine) == MACHINE_NEVER);
	expect(r, "");
	assert_false(machine_stop(r->machine));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(begins_a_session, setup, teardown),
	cmocka_unit_test_setup_teardown(ignores_what_comes_early, setup, teardown),
	cmocka_unit_test_setup_teardown(beats, setup, teardown),
	cmocka_unit_test(jitters_the_first_heartbeat),
	cmocka_unit_test_setup_teardown(keeps_the_limit_of_texts, setup, teardown),
	cmocka_unit_test_setup_teardown(beats_no_faster_than_allowed, setup, teardown),
	cmocka_unit_test_setup_teardown(reconnects_when_told, setup, teardown),
	cmocka_unit_test_setup_teardown(keeps_the_limits_of_sessions, setup, teardown),
	cmocka_unit_test(obeys_each_close_code),
	cmocka_unit_test_setup_teardown(refuses_malformed_frames, setup, teardown),
	cmocka_unit_test_setup_teardown(gives_up_a_session_that_cannot_go_on, setup, teardown),
	cmocka_unit_test_setup_teardown(bounds_what_it_parses, setup, teardown),
	cmocka_unit_test_setup_teardown(refuses_a_hello_or_ready_that_is_useless, setup, teardown),
	cmocka_unit_test_setup_teardown(waits_for_nothing_for_ever, setup, teardown),
	cmocka_unit_test_setup_teardown(backs_off, setup, teardown),
	cmocka_unit_test_setup_teardown(stops, setup, teardown),
};

UNIT_TESTS(test_gateway_machine);
