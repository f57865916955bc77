/* SPDX-License-Identifier: MIT */
/*
 * Modal: modal_app.py as its HTTP shows it (which tests/peers/modal/server.py runs itself), over calls that start after a while, and a
 * table that says which call of a job runs. A request may die between the two.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "peers/remote/sides.h"

#define APP "https://me--kettle.modal.test"
#define INTERFACE 1
#define CLAIM_LIFE_MS 30000

/* One call of a function. */
struct call {
	struct world *world;
	struct call *next;
	char id[32];
	struct attempt *of;
	const char *state; /* as a poll says it */
	char *result;
	size_t size;
};

/* What the table says of a job. */
struct entry {
	struct entry *next;
	struct attempt *of;
	struct call *call, *runs; /* "call:", "run:" */
	bool is_void;             /* likewise */
	uint64_t claimed_ms;      /* 0: it is not */
};

struct modal_side {
	struct call *calls;
	struct entry *entries;
	unsigned next_id;
};

static void
modal_begin(struct world *world)
{
	world->own = xcalloc(1, sizeof(struct modal_side));
}

static void
modal_end(struct world *world)
{
	struct modal_side *modal = world->own;
	while (modal->calls) {
		struct call *call = modal->calls;
		modal->calls = call->next;
		free(call->result);
		free(call);
	}
	while (modal->entries) {
		struct entry *entry = modal->entries;
		modal->entries = entry->next;
		free(entry);
	}
	free(modal);
}

/* More patient with a job that is not there yet than by default: outages here last longer than a minute in all. */
static json_t *
modal_section(struct world *world)
{
	(void)world;
	return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i}", "url", APP, "token_id", "wk-" WORLD_SECRET, "token_secret",
		"ws-" WORLD_SECRET, "key", WORLD_KEY, "answer_s", 20, "send_s", 600, "quiet_s", 600);
}

static json_t *
modal_unit(struct world *world)
{
	json_t *options =
		world_options(world, json_pack("{s:s}", "function", "far"), json_pack("{s:s}", "function", "cpu"));
	return json_pack("{s:s, s:s, s:i, s:o}", "runner", "modal", "name", "FAR", "gpu", 0, "options", options);
}

/* ---- calls ---- */

static struct entry *
entry_of(struct world *world, struct attempt *attempt)
{
	struct modal_side *modal = world->own;
	for (struct entry *entry = modal->entries; entry; entry = entry->next)
		if (entry->of == attempt)
			return entry;
	struct entry *entry = xcalloc(1, sizeof(*entry));
	*entry = (struct entry){.next = modal->entries, .of = attempt};
	return modal->entries = entry;
}

static void
end_call(struct call *call, const char *state)
{
	call->state = state;
	world_say(call->world, "%s of %s: %s", call->id, call->of->ref, state);
}

static bool
goes_on(const struct call *call)
{
	return strcmp(call->state, "starting") == 0 || strcmp(call->state, "running") == 0;
}

static void
on_call_over(void *arg)
{
	struct call *call = arg;
	struct world *world = call->world;
	if (!goes_on(call))
		return;
	if (world_strikes(world, world->weather.deaths)) {
		end_call(call, "failed");
		return;
	}
	call->result = world_strikes(world, world->weather.lies)
					   ? world_seal_other(world, call->of, NULL, false, &call->size)
					   : world_seal(world, call->of, NULL, &call->size);
	end_call(call, "done");
}

static void
on_container(void *arg)
{
	struct call *call = arg;
	struct world *world = call->world;
	struct entry *entry = entry_of(world, call->of);
	if (!goes_on(call))
		return;
	if (entry->is_void || (entry->runs && entry->runs != call)) {
		end_call(call, entry->is_void ? "failed" : "superseded");
		return;
	}
	entry->runs = call;
	call->state = "running";
	world_begins(world, call->of);
	world_after(world, 100 + world_draw(world, world_draw(world, 2) ? 2000 : 60000), on_call_over, call);
}

static struct call *
spawn_call(struct world *world, struct attempt *attempt)
{
	struct modal_side *modal = world->own;
	struct call *call = xcalloc(1, sizeof(*call));
	*call = (struct call){.world = world, .next = modal->calls, .of = attempt, .state = "starting"};
	(void)snprintf(call->id, sizeof(call->id), "fc-%04u", ++modal->next_id);
	modal->calls = call;
	world_after(world, world_draw(world, world_draw(world, 2) ? 1000 : 30000), on_container, call);
	return call;
}

/* The call of this name, or the one that runs its job in its place. */
static struct call *
find_call(struct world *world, const char *id)
{
	const struct modal_side *modal = world->own;
	for (struct call *call = modal->calls; call; call = call->next)
		if (strcmp(call->id, id) == 0)
			return strcmp(call->state, "superseded") == 0 ? entry_of(world, call->of)->runs : call;
	return NULL;
}

/* ---- requests ---- */

static void
answer_json(struct wire_answer *answer, int status, json_t *body_take)
{
	*answer = (struct wire_answer){.status = status, .body = json_dumps(body_take, JSON_COMPACT)};
	answer->size = strlen(answer->body);
	json_decref(body_take);
}

static void
refuse(struct wire_answer *answer, int status, const char *error, const char *state)
{
	answer_json(answer, status, json_pack("{s:s, s:s*}", "error", error, "state", state));
}

static void
answer_id(struct wire_answer *answer, const struct call *call)
{
	answer_json(answer, 200, json_pack("{s:s, s:i}", "id", call->id, "interface", INTERFACE));
}

static void
answer_submit(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	char name[64] = "";
	const char *key = strstr(request->headers, "Idempotency-Key: ");
	(void)sscanf(key ? key : "", "Idempotency-Key: %63s", name);
	struct attempt *attempt = world_open(world, name, request->body, request->body_size);
	if (!attempt)
		return;
	world_placed(world, attempt, strstr(request->url, "/submit/cpu") != NULL);
	struct entry *entry = entry_of(world, attempt);
	uint64_t now = world_now(world);
	if (!entry->call && entry->claimed_ms && now - entry->claimed_ms <= CLAIM_LIFE_MS) {
		refuse(answer, 503, "Another request is about to submit this job, and has not ended.", NULL);
		return;
	}
	if (!entry->call) {
		struct call *call = spawn_call(world, attempt);
		entry->claimed_ms = now ? now : 1;
		if (world_strikes(world, world->weather.errors / 4)) {
			refuse(answer, 500, "the container is gone", NULL); /* before it could say which call */
			return;
		}
		entry->call = call;
	}
	answer_id(answer, entry->call);
}

static void
answer_find(struct world *world, const char *name, struct wire_answer *answer)
{
	struct attempt *attempt = world_attempt(world, name);
	struct entry *entry = attempt ? entry_of(world, attempt) : NULL;
	if (!entry) {
		world_fail(world, "a job `%s` is looked for, which no engine has submitted", name);
		return;
	}
	struct call *call = entry->call ? entry->call : entry->runs;
	if (!call && !entry->is_void && entry->claimed_ms && world_now(world) - entry->claimed_ms < CLAIM_LIFE_MS) {
		refuse(answer, 503, "A request is about to submit this job.", NULL);
		return;
	}
	if (call)
		answer_id(answer, call);
	else {
		entry->is_void = true;
		refuse(answer, 404, "There is no such job.", "unknown");
	}
}

static void
answer_poll(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	AUTO_JSON json_t *body = json_loadb(request->body, request->body_size, 0, NULL);
	json_t *calls = json_object(), *id;
	size_t i;
	json_array_foreach(json_object_get(body, "ids"), i, id) {
		const struct call *call = find_call(world, json_string_value(id));
		const char *state = call ? call->state : "unknown";
		if (world_strikes(world, world->weather.limits))
			state = "later";
		if (world_strikes(world, world->weather.lies))
			state = world_draw(world, 2) ? "done" : "rubbish";
		json_object_set_new(calls, json_string_value(id), json_string(state));
	}
	answer_json(answer, 200, json_pack("{s:o}", "calls", calls));
}

/* The same, unless Modal knows it no longer. */
static struct call *
find_known(struct world *world, const char *id)
{
	struct call *call = find_call(world, id);
	if (!call || !world_strikes(world, world->weather.lies / 4))
		return call;
	call->of->doubted = true;
	return NULL;
}

static void
answer_result(struct world *world, const char *id, struct wire_answer *answer)
{
	struct call *call = find_known(world, id);
	if (!call)
		refuse(answer, 404, "There is no such call, or its result has expired.", "unknown");
	else if (goes_on(call))
		answer_json(answer, 202, json_pack("{s:s}", "state", call->state));
	else if (strcmp(call->state, "done") == 0)
		*answer = (struct wire_answer){.status = 200, .body = xmemdup(call->result, call->size), .size = call->size};
	else
		refuse(answer, 410, "The function failed.", "failed");
}

static void
answer_cancel(struct world *world, const char *id, struct wire_answer *answer)
{
	struct call *call = find_known(world, id);
	if (!call) {
		refuse(answer, 404, "There is no such call, or its result has expired.", "unknown");
		return;
	}
	if (goes_on(call))
		end_call(call, "failed");
	answer_json(answer, 200, json_pack("{s:s}", "id", call->id));
}

/* What Modal itself answers, and no app does. */
static bool
spoil(struct world *world, struct wire_answer *answer)
{
	static const struct {
		int status;
		const char *body;
	} others[] = {{404, "modal-http: app for invoked web endpoint is stopped"},
		{401, "modal-http: missing credentials"}, {200, "{\"id\": \"fc-0001\", \"interface\": 9}"},
		{200, "{\"id\": \"../..\", \"interface\": 1}"}, {200, "<html>"}};
	if (world_strikes(world, world->weather.limits)) {
		refuse(answer, 429, "modal-http: too many requests", NULL);
		return true;
	}
	if (!world_strikes(world, world->weather.lies / 4))
		return false;
	size_t which = world_draw(world, ARRAY_SIZE(others));
	*answer = (struct wire_answer){
		.status = others[which].status, .body = xstrdup(others[which].body), .size = strlen(others[which].body)};
	return true;
}

/* The recorded answer is named by method, verb and status. */
static void
show(struct world *world, const struct wire_request *request, const struct wire_answer *answer)
{
	const char *verb = request->url + strlen(APP);
	size_t size = 1 + strcspn(verb + 1, "/");
	AUTO_FREE char *key =
		xasprintf("%s %.*s%s %d", request->method, (int)size, verb, verb[size] ? "/N" : "", answer->status);
	AUTO_JSON json_t *body = json_loadb(answer->body, answer->size, 0, NULL);
	/* The names of calls are members there. */
	if (json_object_get(body, "calls"))
		json_object_set_new(body, "calls", json_pack("{s:s}", "N", "done"));
	world_shows(world, key, body ? body : json_null());
}

static void
modal_serve(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	const char *path = request->url + strlen(APP), *name = strchr(path + 1, '/') + 1;
	if (strncmp(request->url, APP "/", strlen(APP) + 1) != 0 ||
		!strstr(request->headers, "Modal-Key: wk-" WORLD_SECRET) ||
		!strstr(request->headers, "Modal-Secret: ws-" WORLD_SECRET))
		world_fail(world, "a request to %s without what it needs", request->url);
	else if (spoil(world, answer))
		return;
	else if (strcmp(path, "/submit/far") == 0 || strcmp(path, "/submit/cpu") == 0)
		answer_submit(world, request, answer);
	else if (strcmp(path, "/poll") == 0)
		answer_poll(world, request, answer);
	else if (strncmp(path, "/find/", 6) == 0)
		answer_find(world, name, answer);
	else if (strncmp(path, "/result/", 8) == 0)
		answer_result(world, name, answer);
	else if (strncmp(path, "/cancel/", 8) == 0)
		answer_cancel(world, name, answer);
	else
		world_fail(world, "a request for %s", request->url);
	if (!answer->status)
		refuse(answer, 404, "There is no such path.", NULL);
	show(world, request, answer);
}

static void
modal_check(struct world *world)
{
	const struct modal_side *modal = world->own;
	for (const struct call *call = modal->calls; call; call = call->next)
		if (world->climate == FAIR && goes_on(call))
			world_fail(world, "%s goes on though its job has ended", call->id);
}

extern const struct kettle_plugin kettle_plugin;

const struct side side_modal = {
	.name = "modal",
	.plugin = &kettle_plugin,
	.outlives = true,
	.most_jobs = 12,
	.settle_ms = 120000,
	.linger_ms = 60000,
	.begin = modal_begin,
	.end = modal_end,
	.section = modal_section,
	.unit = modal_unit,
	.serve = modal_serve,
	.check = modal_check,
	.cases = {3756629754},
};
