/* SPDX-License-Identifier: MIT */
/* The gateway over real connections: to a server that speaks Discord's protocol, and to ones that speak nonsense. */
#include <config.h>

#include "discord/gateway/gateway.h"

#include <kettle/testing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "unit/discord/websocket_server.h"
#include "unit/scratch.h"

#define PATIENCE_MS 60000
#define STEP_MS 5       /* servers do not wake the loop */
#define HEARTBEATS 3000 /* so far apart that none is late on a full machine */
#define INTERVAL 60000  /* longer than a test, unless it wants heartbeats */

struct fixture {
	struct kettle_fake *fake;
	const struct kettle_host *host;
	struct gateway *gateway;
	struct websocket_server *server;
	char url[100];
	bool withhold; /* GET /gateway/bot has no answer */
	bool asks_system;
	unsigned fetches;
	struct buf log; /* "ready", "event NAME n", … a line each */
	const char *wanted;
	unsigned wanted_count;
	int stopped, server_ended;
};

static char *folder;    /* of the certificates */
static char *authority; /* the file of the one that signed them */

static unsigned
count_lines(const struct fixture *f, const char *text)
{
	unsigned found = 0;
	for (const char *at = f->log.data; at && (at = strstr(at, text)); at += strlen(text))
		found++;
	return found;
}

static void
on_dispatch(void *arg, const char *name, json_t *data_take)
{
	struct fixture *f = arg;
	assert_false(f->stopped);
	buf_printf(&f->log, "event %s %lld\n", name, (long long)member_int(data_take, "n"));
	json_decref(data_take);
}

static void
on_fetch(void *arg)
{
	struct fixture *f = arg;
	f->fetches++;
	if (!f->withhold)
		gateway_fetched(f->gateway, f->url, 1000, 0);
}

static void
on_state(void *arg, enum gateway_state state, const char *sentence)
{
	static const char *const names[] = {"connected", "ready", "resumed", "lost", "fatal"};
	struct fixture *f = arg;
	buf_printf(&f->log, "%s: %s\n", names[state], sentence);
}

static const struct gateway_events events = {.dispatch = on_dispatch, .fetch = on_fetch, .state = on_state};

static int
is_logged(void *arg)
{
	struct fixture *f = arg;
	return count_lines(f, f->wanted) >= f->wanted_count;
}

static int
is_seen(void *arg)
{
	struct fixture *f = arg;
	return websocket_server_saw(f->server, f->wanted) >= f->wanted_count;
}

static int
is_set(void *arg)
{
	return *(int *)arg;
}

static int
has_latency(void *arg)
{
	struct fixture *f = arg;
	return gateway_latency_ms(f->gateway) > 0;
}

static void
wait_for(struct fixture *f, int (*done)(void *arg), const char *text, unsigned count)
{
	f->wanted = text;
	f->wanted_count = count;
	for (unsigned ms = 0; !done(f); ms += STEP_MS) {
		if (ms >= PATIENCE_MS)
			fail_msg("%s did not come %u times; the log:\n%.2000s", text, count, f->log.data ? f->log.data : "");
		(void)kettle_fake_run(f->fake, NULL, NULL, STEP_MS);
	}
}

static void
await_log(struct fixture *f, const char *text, unsigned count)
{
	wait_for(f, is_logged, text, count);
}

static void
await_server(struct fixture *f, const char *text, unsigned count)
{
	wait_for(f, is_seen, text, count);
}

static int
setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	if (kettle_fake_new("discord", &f->fake, NULL) != 0)
		return -1;
	f->host = kettle_fake_host(f->fake);
	*state = f;
	return 0;
}

static void
on_stopped(void *arg)
{
	((struct fixture *)arg)->stopped = 1;
}

static void
stop_gateway(struct fixture *f)
{
	if (!f->gateway)
		return;
	f->stopped = 0;
	gateway_stop(f->gateway, on_stopped, f);
	f->gateway = NULL;
	assert_int_equal(f->stopped, 0);
	assert_int_equal(kettle_fake_run(f->fake, is_set, &f->stopped, PATIENCE_MS), 0);
}

/* Nothing may be left: no thread (its post would come), no timer, no work. */
static int
teardown(void **state)
{
	struct fixture *f = *state;
	struct kettle_error err = {0};
	stop_gateway(f);
	if (f->server) {
		websocket_server_stop(f->server, &f->server_ended);
		if (kettle_fake_run(f->fake, is_set, &f->server_ended, PATIENCE_MS) != 0)
			return -1;
	}
	int rc = kettle_fake_free(f->fake, &err);
	if (rc)
		print_message("# %s\n", err.message);
	buf_free(&f->log);
	free(f);
	return rc;
}

/* With the tests' authority: those of the system take most of a test's time to read. */
static void
start_gateway(struct fixture *f, struct gateway_rules rules)
{
	if (!rules.ca_file && !f->asks_system)
		rules.ca_file = authority;
	rules.token = "T";
	rules.intents = 1;
	rules.retry_ms = 20;
	assert_int_equal(gateway_new(f->host, &rules, &events, f, &f->gateway, NULL), 0);
}

static void
start_server(struct fixture *f, const char *tls, int interval)
{
	f->server = websocket_server_start(f->host, tls, interval);
	assert_non_null(f->server);
	(void)snprintf(
		f->url, sizeof(f->url), tls ? "wss://localhost:%d" : "ws://127.0.0.1:%d", websocket_server_port(f->server));
}

/* A server and a gateway that has a session on it. */
static void
go_live(struct fixture *f, struct gateway_rules rules, int interval)
{
	start_server(f, NULL, interval);
	start_gateway(f, rules);
	await_log(f, "event READY", 1);
}

static void
say_event(struct fixture *f, int seq, size_t padding)
{
	AUTO_FREE char *pad = xmalloc(padding + 1);
	(void)memset(pad, 'x', padding);
	pad[padding] = '\0';
	AUTO_FREE char *text =
		xasprintf("{\"op\":0,\"s\":%d,\"t\":\"EVENT\",\"d\":{\"n\":%d,\"pad\":\"%s\"}}", seq, seq, pad);
	websocket_server_say(f->server, text);
}

static void
lives(void **state)
{
	struct fixture *f = *state;
	go_live(f, (struct gateway_rules){0}, HEARTBEATS);
	assert_int_equal(websocket_server_saw(f->server, "{\"op\":2,\"d\":{\"token\":\"T\",\"intents\":1,"), 1);
	say_event(f, 2, 10);
	say_event(f, 2, 10);
	say_event(f, 3, 1000000);
	await_log(f, "event EVENT 3", 1);
	assert_int_equal(count_lines(f, "event EVENT 2\n"), 1);
	await_server(f, "{\"op\":1,\"d\":3}", 1);
	wait_for(f, has_latency, "a latency", 1); /* once the answer to a heartbeat is there, too */
	assert_int_equal(count_lines(f, "lost"), 0);
	stop_gateway(f);
	await_server(f, "closed 1000", 1);
	assert_int_equal(f->fetches, 1);
}

/* Each end of a connection leads to a RESUME with the number of the last event. */
static void
resumes(void **state)
{
	struct fixture *f = *state;
	unsigned losses = 0;
	go_live(f, (struct gateway_rules){.max_frame = 5000}, INTERVAL);
	for (int kind = 0; kind < 6; kind++) {
		static const char *const reasons[] = {"with the code 4000 (unknown error)", "has ended", "to reconnect",
			"it is longer than 5000 bytes", "it is binary", "it is no valid JSON"};
		switch (kind) {
		case 0:
			websocket_server_close(f->server, 4000);
			break;
		case 1:
			websocket_server_close(f->server, 0);
			break;
		case 2:
			websocket_server_say(f->server, "{\"op\":7,\"d\":null}");
			break;
		case 3:
			say_event(f, 9, 20000);
			break;
		case 4:
			websocket_server_say_binary(f->server, "{\"op\":11}");
			break;
		case 5:
			websocket_server_say(f->server, "{\"op\":11,}");
			break;
		}
		await_log(f, "lost: ", ++losses);
		await_log(f, reasons[kind], 1);
		AUTO_FREE char *resume =
			xasprintf("{\"op\":6,\"d\":{\"token\":\"T\",\"session_id\":\"S1\",\"seq\":%d}}", kind == 0 ? 1 : 10 * kind);
		await_server(f, resume, 1);
		say_event(f, 10 * (kind + 1), 10);
		AUTO_FREE char *event = xasprintf("event EVENT %d\n", 10 * (kind + 1));
		await_log(f, event, 1);
	}
	assert_int_equal(f->fetches, 1);
	/* Closed by this side with a code that keeps the session. */
	assert_int_equal(websocket_server_saw(f->server, "closed 1000"), 0);
	assert_int_equal(websocket_server_saw(f->server, "closed 4000"), 4);
}

static void
notices_a_dead_connection(void **state)
{
	struct fixture *f = *state;
	go_live(f, (struct gateway_rules){0}, 50);
	websocket_server_mute(f->server, true);
	await_log(f, "lost: Discord did not answer a heartbeat", 1);
	websocket_server_mute(f->server, false);
	await_server(f, "{\"op\":6,", 1);
}

static void
stops_for_good_where_told(void **state)
{
	struct fixture *f = *state;
	go_live(f, (struct gateway_rules){0}, INTERVAL);
	websocket_server_close(f->server, 4004);
	await_log(f, "fatal: Discord does not accept the bot's token", 1);
	assert_int_equal(websocket_server_saw(f->server, "connected"), 1);
}

static void
checks_certificates(void **state)
{
	struct fixture *f = *state;
	static const char *const files[] = {"tls.pem", "wrong.pem", "expired.pem"};
	static const char *const wanted[] = {"event READY",
		"lost: The connection to Discord's gateway cannot be made (its certificate is refused: hostname mismatch)",
		"(its certificate is refused: certificate has expired)",
		"(its certificate is refused: unable to get local issuer certificate)"};
	for (size_t i = 0; i <= ARRAY_SIZE(files); i++) {
		AUTO_FREE char *file = path_join(folder, files[i % ARRAY_SIZE(files)]);
		start_server(f, file, INTERVAL);
		/* Last: a good certificate, but of an authority that the system does not know. */
		f->asks_system = i == ARRAY_SIZE(files);
		start_gateway(f, (struct gateway_rules){0});
		await_log(f, wanted[i], 1);
		assert_int_equal(websocket_server_saw(f->server, "connected"), i == 0);
		stop_gateway(f);
		f->server_ended = 0;
		websocket_server_stop(f->server, &f->server_ended);
		f->server = NULL;
		assert_int_equal(kettle_fake_run(f->fake, is_set, &f->server_ended, PATIENCE_MS), 0);
		buf_free(&f->log);
	}
}

/* The address of somebody else must be safe from listeners, and the token is sent to nobody else. */
static void
refuses_addresses(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *url, *reason;
	} cases[] = {{"ws://192.0.2.1", "needs wss://"}, {"https://127.0.0.1", "does not begin with wss://"},
		{"", "does not begin with wss://"}, {"wss://", "names no host"}, {"wss://a@b", "names no host"},
		{"ws://127.0.0.1:0", "no valid port"}, {"ws://127.0.0.1:99999", "no valid port"},
		{"ws://127.0.0.1:123456789", "no valid port"}, {"ws://127.0.0.1?x", "has no path"},
		{"ws://127.0.0.1/ x", "not in ASCII"}, {"ws://127.0.0.1:1", "cannot be made"}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void)snprintf(f->url, sizeof(f->url), "%s", cases[i].url);
		start_gateway(f, (struct gateway_rules){0});
		await_log(f, "lost", 1);
		if (!strstr(f->log.data, cases[i].reason))
			fail_msg("%s: %s", cases[i].url, f->log.data);
		stop_gateway(f);
		buf_free(&f->log);
	}
}

static void
refuses_rules(void **state)
{
	struct fixture *f = *state;
	struct kettle_error err = {0};
	static const char *const tokens[] = {NULL, "", "a b", "a\nb", "\xc3\xa4"};
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
		const struct gateway_rules rules = {.token = tokens[i]};
		assert_int_equal(gateway_new(f->host, &rules, &events, f, &f->gateway, &err), KETTLE_EINVAL);
		assert_null(f->gateway);
	}
	start_gateway(f, (struct gateway_rules){.ca_file = "/nonexistent/ca.pem"});
	await_log(f, "fatal: The gateway cannot check certificates: /nonexistent/ca.pem cannot be read", 1);
	stop_gateway(f);
}

/* Bytes that are no websocket, or that lie. */
static void
survives_nonsense(void **state)
{
	static const struct {
		bool upgrade;
		const char *bytes;
		size_t size;
	} cases[] = {
#define RAW(upgrade, bytes) {upgrade, bytes, sizeof(bytes) - 1}
		RAW(false, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"),
		RAW(false, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
				   "Sec-WebSocket-Accept: nonsense\r\n\r\n"),
		RAW(false, "\x16\x03\x01\xff\xff\xff\xff\r\n\r\n"), RAW(true, "\x83\x02hi"), /* a reserved opcode */
		RAW(true, "\xf1\x02hi"),                                                     /* reserved bits */
		RAW(true, "\x81\x7f\x40\0\0\0\0\0\0\0garbage"), /* a frame of 4 EiB, of which the limit is reached first */
		RAW(true, "\x88\x01x"),                         /* a close frame that is too short */
		RAW(true, "\x89\xfe\x01\xff"),                  /* a masked, long ping */
		RAW(true, "\x81\x02\xff\xfe"),                  /* text that is not UTF-8 */
#undef RAW
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct raw_server *server = raw_server_start(cases[i].upgrade, cases[i].bytes, cases[i].size);
		(void)snprintf(f->url, sizeof(f->url), "ws://127.0.0.1:%d", raw_server_port(server));
		start_gateway(f, (struct gateway_rules){.max_frame = 5});
		await_log(f, "lost: ", 1);
		assert_int_equal(count_lines(f, "event"), 0);
		stop_gateway(f);
		raw_server_stop(server);
		buf_free(&f->log);
	}
}

/* Whatever it does at that time. */
static void
stops_at_any_time(void **state)
{
	struct fixture *f = *state;
	start_gateway(f, (struct gateway_rules){0}); /* at once */
	stop_gateway(f);
	f->withhold = true;
	unsigned before = f->fetches;
	start_gateway(f, (struct gateway_rules){0}); /* without an answer of GET /gateway/bot */
	while (f->fetches == before)
		(void)kettle_fake_run(f->fake, NULL, NULL, 1);
	stop_gateway(f);
	f->withhold = false;
	(void)snprintf(f->url, sizeof(f->url), "ws://127.0.0.1:1");
	start_gateway(f, (struct gateway_rules){0}); /* while it waits for the next try */
	await_log(f, "lost: ", 1);
	stop_gateway(f);
	for (int upgrade = 0; upgrade < 2; upgrade++) { /* while it connects, and while it waits for HELLO */
		struct raw_server *server = raw_server_start(upgrade, "", 0);
		(void)snprintf(f->url, sizeof(f->url), "ws://127.0.0.1:%d", raw_server_port(server));
		start_gateway(f, (struct gateway_rules){0});
		while (raw_server_connections(server) == 0)
			(void)kettle_fake_run(f->fake, NULL, NULL, 1);
		if (upgrade)
			await_log(f, "connected", 1);
		stop_gateway(f);
		raw_server_stop(server);
	}
}

/* A loop that is slow holds up the server, not the memory; nothing is lost. */
static void
reads_no_faster_than_the_loop(void **state)
{
	enum { EVENTS = 1500, BYTES = 10000 };
	struct fixture *f = *state;
	go_live(f, (struct gateway_rules){.max_unread = 10 * BYTES}, INTERVAL);
	for (int i = 0; i < EVENTS; i++)
		say_event(f, 2 + i, BYTES);
	/* The loop is held until the server has filled everything between the two. */
	unsigned before = 0, written = 0;
	for (int same = 0; same < 20; same = written == before ? same + 1 : 0) {
		before = written;
		(void)poll(NULL, 0, 5);
		written = websocket_server_written(f->server);
	}
	assert_true(written < EVENTS);
	AUTO_FREE char *last = xasprintf("event EVENT %d\n", EVENTS + 1);
	await_log(f, last, 1);
	assert_int_equal(count_lines(f, "event EVENT "), EVENTS);
	assert_int_equal(count_lines(f, "lost"), 0);
}

static int
world_setup(void **state)
{
	const char *build = getenv("top_builddir");
	(void)state;
	/* None of them counts. */
	(void)setenv("http_proxy", "http://127.0.0.1:1", 1);
	(void)setenv("all_proxy", "http://127.0.0.1:1", 1);
	folder = scratch_make();
	authority = path_join(folder, "ca.pem");
	AUTO_FREE char *command = xasprintf("%s/tests/peers/certificates %s", build ? build : ".", folder);
	return system(command);
}

static int
world_teardown(void **state)
{
	(void)state;
	scratch_remove(folder);
	free(authority);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(lives, setup, teardown),
	cmocka_unit_test_setup_teardown(resumes, setup, teardown),
	cmocka_unit_test_setup_teardown(notices_a_dead_connection, setup, teardown),
	cmocka_unit_test_setup_teardown(stops_for_good_where_told, setup, teardown),
	cmocka_unit_test_setup_teardown(checks_certificates, setup, teardown),
	cmocka_unit_test_setup_teardown(refuses_addresses, setup, teardown),
	cmocka_unit_test_setup_teardown(refuses_rules, setup, teardown),
	cmocka_unit_test_setup_teardown(survives_nonsense, setup, teardown),
	cmocka_unit_test_setup_teardown(stops_at_any_time, setup, teardown),
	cmocka_unit_test_setup_teardown(reads_no_faster_than_the_loop, setup, teardown),
};

UNIT_TESTS(test_gateway_connection, .words = "waiting tsan", .setup = world_setup, .teardown = world_teardown);
