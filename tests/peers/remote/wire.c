/* SPDX-License-Identifier: MIT */
/* Requests of HTTP, which a simulated network loses, delays and spoils before and after the side serves them. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "peers/remote/life.h"

#define DEFAULT_TOTAL_MS 60000

struct wire {
	struct world *world;
	struct life *life; /* NULL: nobody waits for it */
	struct wire *next;
	uint64_t id;
	struct wire_request request;
	struct wire_answer answer;
	char *answer_file;
	size_t max_body;
	bool arrives, arrived, has_answer, late;
	const char *trouble; /* what the answer is, in place of one */
	int code;
	kettle_http_fn done;
	void *arg;
};

static void
free_wire(struct wire *wire)
{
	free(wire->request.method);
	free(wire->request.url);
	free(wire->request.headers);
	free(wire->request.body);
	free(wire->answer.headers);
	free(wire->answer.body);
	free(wire->answer_file);
	free(wire);
}

void
wires_free(struct world *world)
{
	while (world->wires) {
		struct wire *wire = world->wires;
		world->wires = wire->next;
		free_wire(wire);
	}
}

/* The same bytes with a NUL behind them. */
static char *
with_end(char *data_take, size_t size)
{
	char *data = xreallocarray(data_take, size + 1, 1);
	data[size] = '\0';
	return data;
}

static char *
join_headers(const char *const *headers)
{
	AUTO_BUF struct buf text = {0};
	for (; headers && *headers; headers++)
		buf_printf(&text, "%s\n", *headers);
	return text.len ? buf_take(&text) : xstrdup("");
}

/* Answers in place of the side's, or after it. */
static void
set_answer(struct wire_answer *answer, int status, const char *body)
{
	free(answer->headers);
	free(answer->body);
	*answer = (struct wire_answer){.status = status, .body = xstrdup(body), .size = strlen(body)};
}

/* What proxies and servers answer that are not well. */
static void
set_error(struct world *world, struct wire_answer *answer)
{
	static const int statuses[] = {500, 502, 503, 504};
	set_answer(answer, statuses[world_draw(world, ARRAY_SIZE(statuses))],
		world_draw(world, 2) ? "{\"message\": \"Server Error\"}" : "<html>Bad gateway</html>");
}

static void
on_arrival(void *arg)
{
	struct wire *wire = arg;
	struct world *world = wire->world;
	if (!wire->arrives)
		return;
	wire->arrived = true;
	if (world_strikes(world, world->weather.errors)) {
		set_error(world, &wire->answer);
	} else {
		world->side->serve(world, &wire->request, &wire->answer);
		if (world_strikes(world, world->weather.errors / 2))
			set_error(world, &wire->answer);
	}
	wire->answer.body = with_end(wire->answer.body, wire->answer.size);
	world_say(world, "%s %s: %d%s", wire->request.method, wire->request.url, wire->answer.status,
		wire->trouble ? ", which is lost" : "");
}

/* Splits "name: value" lines in place; at most `most`. */
static size_t
split_headers(char *text, struct kettle_http_header *headers, size_t most)
{
	size_t count = 0;
	char *rest = NULL;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line && count < most;
		 line = strtok_r(NULL, "\n", &rest)) {
		char *colon = strchr(line, ':');
		*colon = '\0';
		headers[count++] = (struct kettle_http_header){.name = line, .value = colon + 2};
	}
	return count;
}

static void
fail_wire(struct wire *wire, int code, const char *why)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, code, "%s", why);
	wire->life = NULL;
	if (wire->done)
		wire->done(wire->arg, &err, NULL);
}

static void
on_answer(void *arg)
{
	struct wire *wire = arg;
	struct kettle_http_header headers[16];
	struct kettle_error err = {0};
	bool to_file = wire->answer_file && wire->answer.status >= 200 && wire->answer.status < 300;
	if (!wire->life || wire->life->dead)
		return;
	if (wire->trouble) {
		world_say(wire->world, "%s %s: %s", wire->request.method, wire->request.url, wire->trouble);
		fail_wire(wire, wire->code, wire->trouble);
		return;
	}
	if (wire->world->side->heard)
		wire->world->side->heard(wire->world, &wire->request, &wire->answer);
	if (wire->answer.size > wire->max_body) {
		fail_wire(wire, KETTLE_ETOOBIG, "The answer is too large.");
		return;
	}
	if (to_file && file_write(wire->answer_file, wire->answer.body, wire->answer.size, 0600, &err) < 0) {
		fail_wire(wire, KETTLE_EIO, err.message);
		return;
	}
	const struct kettle_http_answer answer = {.size = sizeof(answer),
		.status = wire->answer.status,
		.url = wire->request.url,
		.headers = headers,
		.headers_count = split_headers(wire->answer.headers, headers, ARRAY_SIZE(headers)),
		.body = to_file             ? NULL
				: wire->answer.body ? wire->answer.body
									: "",
		.body_size = wire->answer.size};
	wire->life = NULL;
	if (wire->done)
		wire->done(wire->arg, &err, &answer);
}

/* When it arrives, when it is answered, and which of the two does not happen. */
static void
send_wire(struct wire *wire, uint64_t connect_ms, uint64_t total_ms)
{
	struct world *world = wire->world;
	uint64_t there = 5 + world_draw(world, 40), back = 5 + world_draw(world, 80);
	if (world_strikes(world, world->weather.slow))
		there += world_draw(world, 8000);
	if (world_strikes(world, world->weather.slow))
		back += world_draw(world, 2 * total_ms);
	wire->arrives = !world_is_out(world, 0) && !world_strikes(world, world->weather.lost);
	if (!wire->arrives) {
		wire->trouble = "there is no connection.";
		wire->code = KETTLE_EUNAVAIL;
		there = 0;
		back = world_draw(world, 2) ? 10 : connect_ms < total_ms ? connect_ms : total_ms;
	} else if (world_is_out(world, 1) || world_strikes(world, world->weather.unheard)) {
		wire->trouble = "the answer broke off.";
		wire->code = world_draw(world, 2) ? KETTLE_EIO : KETTLE_EUNAVAIL;
	}
	if (there + back >= total_ms) {
		wire->trouble = "there was no answer in time.";
		wire->code = KETTLE_EUNAVAIL;
		there = there < total_ms ? there : total_ms;
		back = total_ms - there;
	}
	if (wire->arrives)
		world_after(world, there, on_arrival, wire);
	world_after(world, there + back, on_answer, wire);
}

int
wire_send(const struct kettle_host *host, const struct kettle_http_request *request, uint64_t *ret_id,
	struct kettle_error *err)
{
	struct life *life = (struct life *)host;
	struct world *world = life->world;
	struct wire *wire = xcalloc(1, sizeof(*wire));
	bool counts = life_has_effect(life);
	(void)err;
	*wire = (struct wire){.world = world,
		.life = life,
		.next = world->wires,
		.id = ++world->next_id,
		.request = {.method = xstrdup(request->method ? request->method : "GET"),
			.url = xstrdup(request->url),
			.headers = join_headers(request->headers),
			.body = request->body ? with_end(xmemdup(request->body, request->body_size), request->body_size) : NULL,
			.body_size = request->body ? request->body_size : 0,
			.life = life,
			.sent_ms = world_now(world)},
		.answer_file = request->answer_file ? xstrdup(request->answer_file) : NULL,
		.max_body = request->max_body ? request->max_body : 16 << 20,
		.done = request->done,
		.arg = request->arg};
	world->wires = wire;
	if (ret_id)
		*ret_id = wire->id;
	if (counts)
		send_wire(wire, request->connect_ms ? request->connect_ms : 10000,
			request->total_ms ? request->total_ms : DEFAULT_TOTAL_MS);
	return 0;
}

/* What has not arrived when its sender goes arrives soon or never. */
static void
cut_wire(struct wire *wire)
{
	if (!wire->arrives || wire->arrived)
		return;
	if (world_draw(wire->world, 2)) {
		on_arrival(wire);
	}
	wire->arrives = false;
}

void
wire_cancel(const struct kettle_host *host, uint64_t id)
{
	struct life *life = (struct life *)host;
	bool counts = life_has_effect(life);
	for (struct wire *wire = life->world->wires; wire; wire = wire->next)
		if (wire->id == id && wire->life == life) {
			wire->life = NULL;
			if (counts)
				cut_wire(wire);
			return;
		}
}

void
wires_cut(struct life *life)
{
	for (struct wire *wire = life->world->wires; wire; wire = wire->next)
		if (wire->life == life)
			cut_wire(wire);
}

void
wires_close(struct life *life)
{
	for (struct wire *wire = life->world->wires; wire && !life->stopped; wire = wire->next)
		if (wire->life == life)
			fail_wire(wire, KETTLE_ECANCELED, "The engine closes.");
}

unsigned
wires_left(const struct life *life)
{
	unsigned count = 0;
	for (const struct wire *wire = life->world->wires; wire; wire = wire->next)
		count += wire->life == life;
	return count;
}

void
wires_forget(const struct life *life)
{
	for (struct wire *wire = life->world->wires; wire; wire = wire->next)
		wire->life = wire->life == life ? NULL : wire->life;
}
