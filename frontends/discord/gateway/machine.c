/* SPDX-License-Identifier: MIT */
/*
 * The protocol of Discord's gateway as a state machine.
 *
 * Theory of operation. Without a session the machine fetches the gateway's address, connects, waits for HELLO and
 * sends IDENTIFY; READY begins a session. With a session it connects to the address that READY named and sends RESUME;
 * the server replays missed events. A failure ends the connection, not the session: every frame that was not accepted
 * comes again. A session ends only by op 9, by a close code that says so, or when the same frame is malformed each
 * time. Events whose numbers were seen before are dropped, so each event is dispatched once.
 */
#include <config.h>

#include "discord/gateway/machine.h"

#include "base/bounded_json.h"
#include "base/base.h"

#define MINUTE_MS 60000
#define SENDS_OWN 20 /* of a minute's texts: reserved for texts that the server did not request */
#define SENDS_RETRY_MS 1000
#define FAILURES_LIVE \
	1 /* failures that count after a resumed session: a RESUME uses no IDENTIFY, of which there are few */
#define CLOSE_RESUME 4000 /* any code except 1000 and 1001, which end the session */
#define CLOSE_FOR_GOOD 1000
#define INTERVAL_LEAST_MS 10
#define INTERVAL_MOST_MS 3600000
#define WAIT_MOST_MS (UINT64_C(86400) * 1000) /* limit of any wait that Discord demands */
#define INVALID_LEAST_MS 1000
#define INVALID_RANGE_MS 4000 /* after op 9: 1 to 5 s */

enum op {
	OP_DISPATCH = 0,
	OP_HEARTBEAT = 1,
	OP_IDENTIFY = 2,
	OP_RESUME = 6,
	OP_RECONNECT = 7,
	OP_INVALID_SESSION = 9,
	OP_HELLO = 10,
	OP_ACK = 11
};

/* Phases from PHASE_CONNECTING to PHASE_CLOSING have a connection, or are making one. */
enum phase {
	PHASE_NEW,
	PHASE_FETCH_WAIT,
	PHASE_FETCHING,
	PHASE_CONNECT_WAIT,
	PHASE_CONNECTING,
	PHASE_HELLO,
	PHASE_IDENTIFYING,
	PHASE_RESUMING,
	PHASE_LIVE,
	PHASE_CLOSING,
	PHASE_STOPPED
};

struct machine {
	char *token;
	unsigned intents;
	const struct machine_actions *actions;
	void *arg;
	uint64_t random, retry_ms;
	enum phase phase;
	uint64_t due; /* the end of the phase's wait, or its deadline */
	char *url, *session, *resume_url;
	json_int_t seq; /* of the session's last event */
	uint64_t interval, heartbeat_due, heartbeat_sent;
	bool unanswered; /* the last heartbeat has no answer */
	unsigned latency;
	bool has_identified;
	uint64_t identified, submission_message_since;
	unsigned failures, unreachable, malformed_row, malformed;
	unsigned resumes;     /* sent since the session's last event */
	uint64_t least_delay; /* before the next connection */
	uint64_t sent[MACHINE_SENDS_MINUTE];
	size_t sent_count;
	char why[300]; /* why this side closes */
};

struct machine *
machine_new(const struct machine_rules *rules, const struct machine_actions *actions, void *arg)
{
	struct machine *m =
		xnew(struct machine, .token = xstrdup(rules->token), .intents = rules->intents, .random = rules->random_seed,
			.retry_ms = rules->retry_ms ? rules->retry_ms : MACHINE_RETRY_MS, .actions = actions, .arg = arg);
	m->due = m->heartbeat_due = MACHINE_NEVER;
	return m;
}

void
machine_free(struct machine *m)
{
	if (!m)
		return;
	free_all(m->token, m->url, m->session, m->resume_url, m);
}

/* Returns a number from 0 to below `below` (SplitMix64). */
static uint64_t
random_below(struct machine *m, uint64_t below)
{
	uint64_t x = m->random += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	x ^= x >> 31;
	return below ? x % below : 0;
}

static void
set_text(char **text, const char *value)
{
	free(*text);
	*text = value ? xstrdup(value) : NULL;
}

static void
drop_session(struct machine *m)
{
	set_text(&m->session, NULL);
	set_text(&m->resume_url, NULL);
	m->seq = 0;
	m->malformed_row = m->resumes = 0;
}

/* ---- before a connection ---- */

/* Returns an exponential delay with jitter. The first one after a session that lived is short. */
static uint64_t
back_off(struct machine *m)
{
	uint64_t window = m->failures < 6 ? m->retry_ms << m->failures : MACHINE_DELAY_MAX_MS;
	window = window < MACHINE_DELAY_MAX_MS ? window : MACHINE_DELAY_MAX_MS;
	uint64_t least = m->failures ? window / 2 : 0;
	return least + random_below(m, window - least + 1);
}

/* Waits, then starts again. why: a clause that begins a sentence. */
static void
try_again(struct machine *m, uint64_t now, uint64_t least_ms, const char *why)
{
	char sentence[600];
	uint64_t delay = back_off(m);
	delay = delay < least_ms ? least_ms : delay;
	delay = delay < WAIT_MOST_MS ? delay : WAIT_MOST_MS;
	if (m->failures < 100)
		m->failures++;
	bool lost_way = m->unreachable >= MACHINE_UNREACHABLE;
	if (lost_way) {
		set_text(&m->resume_url, NULL);
		m->unreachable = 0;
	}
	m->phase = m->session && !lost_way ? PHASE_CONNECT_WAIT : PHASE_FETCH_WAIT;
	m->due = now + delay;
	m->heartbeat_due = MACHINE_NEVER;
	(void)snprintf(sentence, sizeof(sentence), "%s; Kettle %s in %.1f s.", why,
		m->session ? "resumes the session" : "connects again", (double)delay / 1000);
	m->actions->state(m->arg, GATEWAY_LOST, sentence);
}

static void
fetch(struct machine *m)
{
	m->phase = PHASE_FETCHING;
	m->due = MACHINE_NEVER;
	m->actions->fetch(m->arg);
}

static void
connect_now(struct machine *m, uint64_t now)
{
	char url[MACHINE_URL_MAX + 32];
	const char *base = m->session && m->resume_url ? m->resume_url : m->url;
	size_t len = strlen(base);
	(void)snprintf(url, sizeof(url), "%s%s?v=10&encoding=json", base, len && base[len - 1] == '/' ? "" : "/");
	m->phase = PHASE_CONNECTING;
	m->due = now + MACHINE_CONNECT_MS;
	m->submission_message_since = 0;
	m->sent_count = 0;
	m->unanswered = false;
	m->actions->connect(m->arg, url);
}

void
machine_start(struct machine *m, uint64_t now)
{
	(void)now;
	if (m->phase == PHASE_NEW)
		fetch(m);
}

void
machine_fetched(struct machine *m, uint64_t now, const char *url, unsigned remaining, uint64_t reset_after_ms)
{
	if (m->phase != PHASE_FETCHING)
		return;
	if (strlen(url) > MACHINE_URL_MAX) {
		try_again(m, now, 0, "Discord named an address of the gateway that is too long");
		return;
	}
	set_text(&m->url, url);
	if (!m->session && remaining == 0) {
		try_again(m, now, reset_after_ms, "Discord allows the bot no further session at this time");
		return;
	}
	uint64_t due = now;
	if (!m->session && m->has_identified && m->identified + MACHINE_SPACING_MS > now)
		due = m->identified + MACHINE_SPACING_MS;
	m->phase = PHASE_CONNECT_WAIT;
	m->due = due;
	if (due == now)
		connect_now(m, now);
}

void
machine_fetch_failed(struct machine *m, uint64_t now, uint64_t retry_after_ms, const char *why)
{
	char clause[400];
	if (m->phase != PHASE_FETCHING)
		return;
	(void)snprintf(clause, sizeof(clause), "The gateway's address cannot be fetched (%.300s)", why);
	try_again(m, now, retry_after_ms, clause);
}

void
machine_connected(struct machine *m, uint64_t now)
{
	if (m->phase != PHASE_CONNECTING)
		return;
	m->phase = PHASE_HELLO;
	m->due = now + MACHINE_HELLO_MS;
	m->actions->state(m->arg, GATEWAY_CONNECTED, "Kettle has connected to Discord's gateway.");
}

/* ---- sending ---- */

static unsigned
sent_in_minute(const struct machine *m, uint64_t now)
{
	unsigned found = 0;
	for (size_t i = 0; i < m->sent_count && i < MACHINE_SENDS_MINUTE; i++)
		found += m->sent[i] + MINUTE_MS > now;
	return found;
}

/* Sends a frame. False: it did not, since `most` were sent in this minute. */
static bool
send_op(struct machine *m, uint64_t now, enum op op, json_t *data_take, unsigned most)
{
	AUTO_JSON json_t *frame = json_pack("{s:i, s:o}", "op", (int)op, "d", data_take);
	if (sent_in_minute(m, now) >= most)
		return false;
	AUTO_FREE char *text = json_dumps(frame, JSON_COMPACT);
	size_t len = text ? strlen(text) : 0;
	/* The limits of token, session and numbers keep the text shorter. */
	if (len == 0 || len > MACHINE_SEND_MAX)
		return false;
	m->sent[m->sent_count++ % MACHINE_SENDS_MINUTE] = now;
	m->actions->send(m->arg, text, len);
	return true;
}

static json_t *
heartbeat_data(const struct machine *m)
{
	return m->seq ? json_integer(m->seq) : json_null();
}

static void
close_to_resume(struct machine *m, const char *why)
{
	(void)snprintf(m->why, sizeof(m->why), "%s", why);
	m->phase = PHASE_CLOSING;
	m->due = m->heartbeat_due = MACHINE_NEVER;
	m->actions->close(m->arg, CLOSE_RESUME);
}

static void
beat(struct machine *m, uint64_t now)
{
	if (m->unanswered) {
		close_to_resume(m, "Discord did not answer a heartbeat");
		return;
	}
	if (!send_op(m, now, OP_HEARTBEAT, heartbeat_data(m), MACHINE_SENDS_MINUTE)) {
		m->heartbeat_due = now + SENDS_RETRY_MS;
		return;
	}
	m->unanswered = true;
	m->heartbeat_sent = now;
	m->heartbeat_due = now + m->interval;
}

/* Sends the first text after HELLO. */
static void
open_session(struct machine *m, uint64_t now)
{
	json_t *data;
	if (m->session) {
		data = json_pack("{s:s, s:s, s:I}", "token", m->token, "session_id", m->session, "seq", m->seq);
		m->phase = PHASE_RESUMING;
		m->resumes++;
		m->due = now + MACHINE_REPLAY_MS;
	} else {
		data = json_pack("{s:s, s:I, s:{s:s, s:s, s:s}}", "token", m->token, "intents", (json_int_t)m->intents,
			"properties", "os", "linux", "browser", "kettle", "device", "kettle");
		m->phase = PHASE_IDENTIFYING;
		m->due = now + MACHINE_READY_MS;
		m->has_identified = true;
		m->identified = now;
	}
	(void)send_op(m, now, m->session ? OP_RESUME : OP_IDENTIFY, data, MACHINE_SENDS_MINUTE);
}

/* ---- receiving ---- */

void
machine_bad_frame(struct machine *m, uint64_t now, const char *why)
{
	char clause[200];
	(void)now;
	if (m->phase < PHASE_HELLO || m->phase >= PHASE_CLOSING)
		return;
	m->malformed++;
	(void)snprintf(clause, sizeof(clause), "A frame of the gateway was refused (%.120s)", why);
	if (++m->malformed_row >= MACHINE_MALFORMED_MAX)
		drop_session(m);
	close_to_resume(m, clause);
}

static void
take_hello(struct machine *m, uint64_t now, const json_t *data)
{
	json_int_t interval = member_int(data, "heartbeat_interval");
	if (m->phase != PHASE_HELLO)
		return;
	if (interval < INTERVAL_LEAST_MS || interval > INTERVAL_MOST_MS) {
		machine_bad_frame(m, now, "it has no usable heartbeat_interval");
		return;
	}
	m->interval = (uint64_t)interval;
	m->heartbeat_due = now + random_below(m, m->interval);
	m->unreachable = 0;
	open_session(m, now);
}

static void
take_ack(struct machine *m, uint64_t now)
{
	if (!m->unanswered)
		return;
	uint64_t latency = now - m->heartbeat_sent;
	m->unanswered = false;
	m->latency = latency < UINT32_MAX ? (latency ? (unsigned)latency : 1) : UINT32_MAX;
}

static void
take_invalid_session(struct machine *m, const json_t *data)
{
	m->least_delay = INVALID_LEAST_MS + random_below(m, INVALID_RANGE_MS + 1);
	if (!json_is_true(data))
		drop_session(m);
	close_to_resume(m, m->session ? "Discord refused the session for now (op 9)" : "Discord ended the session (op 9)");
}

/* Whether READY names a session, which it stores. */
static bool
take_ready(struct machine *m, const json_t *data)
{
	const char *session = json_text_or_null(data, "session_id"), *url = json_text_or_null(data, "resume_gateway_url");
	if (!session || !*session || strlen(session) > MACHINE_SESSION_MAX || !url || strlen(url) > MACHINE_URL_MAX)
		return false;
	set_text(&m->session, session);
	set_text(&m->resume_url, *url ? url : NULL);
	return true;
}

static void
go_live(struct machine *m, uint64_t now, enum gateway_state state, const char *sentence)
{
	m->phase = PHASE_LIVE;
	m->due = MACHINE_NEVER;
	m->submission_message_since = now;
	m->actions->state(m->arg, state, sentence);
}

static void
take_dispatch(struct machine *m, uint64_t now, json_t *frame)
{
	const char *name = json_text_or_null(frame, "t");
	json_int_t seq = member_int(frame, "s");
	json_t *data = json_object_get(frame, "d");
	if (!name || seq < 1 || !data) {
		machine_bad_frame(m, now, "it is an event without name, number or data");
		return;
	}
	if (m->phase == PHASE_HELLO)
		return;
	bool ready = strcmp(name, "READY") == 0;
	if (m->phase == PHASE_IDENTIFYING ? !ready : seq <= m->seq)
		return;
	if (m->phase == PHASE_IDENTIFYING && !take_ready(m, data)) {
		machine_bad_frame(m, now, "it is a READY that names no session");
		return;
	}
	m->seq = seq;
	m->malformed_row = m->resumes = 0;
	if (m->phase == PHASE_IDENTIFYING)
		go_live(m, now, GATEWAY_READY, "The bot is ready: Discord's gateway has begun a session.");
	else if (m->phase == PHASE_RESUMING && strcmp(name, "RESUMED") == 0)
		go_live(m, now, GATEWAY_RESUMED, "Discord's gateway has resumed the session.");
	else if (m->phase == PHASE_RESUMING)
		m->due = now + MACHINE_REPLAY_MS;
	/* Takes the data out of the frame, which stays with this thread: another thread owns the data alone. */
	(void)json_incref(data);
	(void)json_object_del(frame, "d");
	m->actions->dispatch(m->arg, name, data);
}

void
machine_frame(struct machine *m, uint64_t now, const char *text, size_t len)
{
	struct kettle_error err = {0};
	if (m->phase < PHASE_HELLO || m->phase >= PHASE_CLOSING)
		return;
	AUTO_JSON json_t *frame = bounded_json_parse(text, len, BOUNDED_JSON_VALUES, 0, &err);
	const json_t *op = json_object_get(frame, "op"), *data = json_object_get(frame, "d");
	if (!frame || !json_is_integer(op)) {
		machine_bad_frame(m, now, frame ? "it has no op" : err.message);
		return;
	}
	switch (json_integer_value(op)) {
	case OP_DISPATCH:
		take_dispatch(m, now, frame);
		break;
	case OP_HEARTBEAT:
		/* Limited: a server that asks too often must not make the bot exceed its limit. */
		(void)send_op(m, now, OP_HEARTBEAT, heartbeat_data(m), MACHINE_SENDS_MINUTE - SENDS_OWN);
		break;
	case OP_RECONNECT:
		close_to_resume(m, "Discord told the bot to reconnect");
		break;
	case OP_INVALID_SESSION:
		take_invalid_session(m, data);
		break;
	case OP_HELLO:
		take_hello(m, now, data);
		break;
	case OP_ACK:
		take_ack(m, now);
		break;
	default: /* newer ones, which need no answer */
		break;
	}
}

/* ---- the end of a connection ---- */

/* Returns the operator's task; NULL: the code is not fatal. */
static const char *
fatal_sentence(int code)
{
	switch (code) {
	case 4004:
		return "Discord does not accept the bot's token (close code 4004): create a new one on the page Bot of the "
			   "application, give it to Kettle (option token_env or token_file of discord), and restart Kettle.";
	case 4010:
		return "Discord refuses the bot's shard (close code 4010): Kettle uses none, so update Kettle.";
	case 4011:
		return "Discord demands that the bot uses shards (close code 4011), which Kettle does not support: remove the "
			   "bot from other servers and switch Public Bot off on the page Bot of the application.";
	case 4012:
		return "Discord no longer serves version 10 of its gateway (close code 4012): update Kettle.";
	case 4013:
		return "Discord does not know the intents that Kettle names (close code 4013): update Kettle.";
	case 4014:
		return "Discord does not allow the bot the intents that Kettle names (close code 4014): switch them on under "
			   "Privileged Gateway Intents on the page Bot of the application, and restart Kettle.";
	default:
		return NULL;
	}
}

static const char *
close_text(int code)
{
	switch (code) {
	case 4000:
		return "unknown error";
	case 4001:
		return "unknown opcode";
	case 4002:
		return "decode error";
	case 4003:
		return "not authenticated";
	case 4005:
		return "already authenticated";
	case 4007:
		return "invalid sequence number";
	case 4008:
		return "rate limited";
	case 4009:
		return "session timed out";
	default:
		return "no special meaning";
	}
}

static void
describe_end(const struct machine *m, int code, const char *why, char *clause, size_t size)
{
	if (m->phase == PHASE_CLOSING)
		(void)snprintf(clause, size, "%s", m->why);
	else if (code)
		(void)snprintf(
			clause, size, "Discord closed the gateway's connection with the code %d (%s)", code, close_text(code));
	else
		(void)snprintf(clause, size, "The connection to Discord's gateway %s (%.200s)",
			m->phase == PHASE_CONNECTING ? "cannot be made" : "has ended", why ? why : "without a reason");
}

void
machine_closed(struct machine *m, uint64_t now, int code, const char *why)
{
	char clause[400];
	if (m->phase < PHASE_CONNECTING || m->phase > PHASE_CLOSING)
		return;
	const char *fatal = fatal_sentence(code);
	if (fatal) {
		m->phase = PHASE_STOPPED;
		m->due = m->heartbeat_due = MACHINE_NEVER;
		m->actions->state(m->arg, GATEWAY_FATAL, fatal);
		return;
	}
	describe_end(m, code, why, clause, sizeof(clause));
	if (m->phase == PHASE_CONNECTING)
		m->unreachable++;
	if (code == 4007 || code == 4009 || m->resumes >= MACHINE_RESUMES_MAX)
		drop_session(m);
	if (m->submission_message_since && now - m->submission_message_since >= MACHINE_STABLE_MS)
		m->failures = 0;
	else if (m->submission_message_since && m->session && m->failures > FAILURES_LIVE)
		m->failures = FAILURES_LIVE;
	uint64_t least = m->least_delay;
	m->least_delay = 0;
	try_again(m, now, least, clause);
}

/* ---- time ---- */

uint64_t
machine_due(const struct machine *m)
{
	return m->due < m->heartbeat_due ? m->due : m->heartbeat_due;
}

void
machine_timer(struct machine *m, uint64_t now)
{
	if (now >= m->heartbeat_due)
		beat(m, now);
	if (now < m->due)
		return;
	switch (m->phase) {
	case PHASE_FETCH_WAIT:
		fetch(m);
		break;
	case PHASE_CONNECT_WAIT:
		connect_now(m, now);
		break;
	case PHASE_CONNECTING:
		m->unreachable++;
		close_to_resume(m, "Discord's gateway does not answer");
		break;
	case PHASE_HELLO:
		close_to_resume(m, "Discord's gateway did not say HELLO");
		break;
	case PHASE_IDENTIFYING:
		close_to_resume(m, "Discord's gateway did not begin a session");
		break;
	case PHASE_RESUMING:
		close_to_resume(m, "Discord's gateway did not resume the session");
		break;
	case PHASE_NEW:
	case PHASE_FETCHING:
	case PHASE_LIVE:
	case PHASE_CLOSING:
	case PHASE_STOPPED:
		break;
	}
}

bool
machine_stop(struct machine *m)
{
	bool connected = m->phase >= PHASE_CONNECTING && m->phase <= PHASE_CLOSING, closing = m->phase == PHASE_CLOSING;
	m->phase = PHASE_STOPPED;
	m->due = m->heartbeat_due = MACHINE_NEVER;
	if (connected && !closing)
		m->actions->close(m->arg, CLOSE_FOR_GOOD);
	return connected;
}

unsigned
machine_latency_ms(const struct machine *m)
{
	return m->latency;
}

unsigned
machine_malformed(const struct machine *m)
{
	return m->malformed;
}
