/* SPDX-License-Identifier: MIT */
/*
 * Another machine, reached by ssh: a child whose lines are those of a `kettle-exec --serve --lease` (docs/protocol.md). The connection
 * breaks, stalls, or never comes up; what runs there ends with it, as soon as its end is noticed.
 */
#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "peers/remote/sides.h"

#define LEASE_S 15
#define SSH_FAILED 255

struct connection {
	bool stalls; /* nothing gets through any more, in either direction */
	uint64_t heard_ms;
};

/* One job on the machine. */
struct ran {
	struct child *child;
	struct ran *next;
	struct attempt *of;
	bool begun, over;
};

struct ssh_side {
	struct ran *jobs;
};

static void
ssh_begin(struct world *world)
{
	world->own = xcalloc(1, sizeof(struct ssh_side));
}

static void
ssh_end(struct world *world)
{
	struct ssh_side *ssh = world->own;
	while (ssh->jobs) {
		struct ran *job = ssh->jobs;
		ssh->jobs = job->next;
		free(job);
	}
	free(ssh);
}

static json_t *
ssh_section(struct world *world)
{
	(void)world;
	return json_pack("{s:s, s:i, s:i}", "ssh", "ssh", "connect_s", 15, "lease_s", LEASE_S);
}

static json_t *
ssh_unit(struct world *world)
{
	(void)world;
	return json_pack(
		"{s:s, s:s, s:{s:s, s:s}}", "runner", "ssh", "name", "FAR", "options", "host", "far", "exec", "kettle-exec");
}

/* ---- lines ---- */

static void
say(struct child *child, json_t *event_take)
{
	const struct connection *connection = child->own;
	AUTO_FREE char *line = json_dumps(event_take, JSON_COMPACT);
	const char *status = json_object_get(event_take, "outcomes") ? " done" : " cancelled";
	bool done = strcmp(json_text_or_empty(event_take, "event"), "done") == 0;
	AUTO_FREE char *key = xasprintf("%s%s", json_text_or_empty(event_take, "event"), done ? status : "");
	world_shows(child->world, key, event_take);
	json_decref(event_take);
	if (!connection->stalls)
		child_says(child, false, line);
}

static void
greet(struct child *child)
{
	say(child, json_pack("{s:s, s:i, s:s, s:s}", "event", "hello", "protocol", 1, "version", "0.1.0", "level", "full"));
}

static void
say_of(const struct ran *job, const char *event)
{
	say(job->child, json_pack("{s:s, s:s}", "event", event, "job", job->of->ref));
}

static void
say_done(struct ran *job, const json_t *completion)
{
	AUTO_JSON json_t *event = json_deep_copy(completion);
	json_object_set_new(event, "event", json_string("done"));
	json_object_set_new(event, "job", json_string(job->of->ref));
	job->over = true;
	say(job->child, json_incref(event));
}

/* ---- jobs ---- */

/* Whether its kettle-exec is still there: one that hears nothing for a lease ends all. */
static bool
is_alive(const struct ran *job)
{
	const struct connection *connection = job->child->own;
	return !job->over && !job->child->ended && !job->child->input_closed &&
		   world_now(job->of->job->world) - connection->heard_ms < LEASE_S * 1000;
}

static void
on_job_over(void *arg)
{
	struct ran *job = arg;
	if (is_alive(job))
		say_done(job, world_makes(job->of->job->world, job->of));
}

static void
on_device(void *arg)
{
	struct ran *job = arg;
	struct world *world = job->of->job->world;
	if (!is_alive(job))
		return;
	world_begins(world, job->of);
	job->begun = true;
	say_of(job, "started");
	say_of(job, "device");
	say(job->child, json_pack("{s:s, s:s, s:s, s:s, s:b}", "event", "step", "job", job->of->ref, "step", "run", "state",
						"running", "cached", 0));
	world_after(world, 100 + world_draw(world, world_draw(world, 2) ? 2000 : 60000), on_job_over, job);
}

static void
take_run(struct child *child, const json_t *message)
{
	struct world *world = child->world;
	struct ssh_side *ssh = world->own;
	struct ran *job = xcalloc(1, sizeof(*job));
	struct attempt *attempt = world_attempt_by_ref(world, json_text_or_empty(message, "job"));
	AUTO_JSON json_t *plan = attempt ? world_plan(attempt) : NULL;
	*job = (struct ran){.child = child, .next = ssh->jobs, .of = attempt};
	ssh->jobs = job;
	if (!json_equal(plan, json_object_get(message, "plan"))) {
		world_fail(world, "a run line without the plan of its job");
		return;
	}
	say_of(job, "waiting");
	world_after(world, 10 + world_draw(world, world_draw(world, 2) ? 1000 : 20000), on_device, job);
}

static void
take_cancel(struct child *child, const char *ref)
{
	const struct ssh_side *ssh = child->world->own;
	AUTO_JSON json_t *cancelled = json_pack("{s:s}", "status", "cancelled");
	for (struct ran *job = ssh->jobs; job; job = job->next)
		if (job->child == child && !job->over && strcmp(job->of->ref, ref) == 0)
			say_done(job, cancelled);
}

static void
take_line(struct child *child, const char *line, size_t size)
{
	AUTO_JSON json_t *message = json_loadb(line, size, 0, NULL);
	const char *op = json_text_or_empty(message, "op");
	if (strcmp(op, "run") == 0)
		take_run(child, message);
	else if (strcmp(op, "cancel") == 0)
		take_cancel(child, json_text_or_empty(message, "job"));
	else if (strcmp(op, "heartbeat") == 0)
		say(child, json_pack("{s:s}", "event", "heartbeat"));
	else if (strcmp(op, "hello") == 0)
		greet(child);
	else
		world_fail(child->world, "a line that is none: %.*s", (int)size, line);
}

static void
on_closed(void *arg)
{
	child_ends(arg, 0, 0);
}

static void
on_input(void *arg)
{
	struct child *child = arg;
	struct connection *connection = child->own;
	size_t taken = 0;
	if (child->ended || connection->stalls)
		return;
	connection->heard_ms = world_now(child->world);
	for (const char *end; (end = memchr(child->input + taken, '\n', child->input_size - taken));) {
		take_line(child, child->input + taken, (size_t)(end - child->input) - taken);
		taken = (size_t)(end - child->input) + 1;
	}
	child->input_size -= taken;
	memmove(child->input, child->input + taken, child->input_size);
}

/* What is written arrives later, all that there is by then. */
static void
ssh_input(struct child *child)
{
	if (child->input_closed)
		world_after(child->world, 50, on_closed, child);
	else if (child->own)
		world_after(child->world, 1 + world_draw(child->world, 30), on_input, child);
}

/* ---- the connection ---- */

static void
on_break(void *arg)
{
	struct child *child = arg;
	struct connection *connection = child->own;
	struct world *world = child->world;
	if (child->ended || world_is_calm(world))
		return;
	if (world_draw(world, 2)) {
		world_say(world, "the connection stalls");
		connection->stalls = true;
		return;
	}
	world_say(world, "the connection breaks");
	child_says(child, true, "client_loop: send disconnect: Broken pipe");
	child_ends(child, SSH_FAILED, 0);
}

static void
on_death(void *arg)
{
	struct child *child = arg;
	if (child->ended || world_is_calm(child->world))
		return;
	world_say(child->world, "its kettle-exec dies");
	child_says(child, true, "kettle-exec: out of memory");
	child_ends(child, world_draw(child->world, 2) ? 3 : 137, 0);
}

static void
on_killed(void *arg)
{
	child_ends(arg, -1, SIGKILL);
}

static void
ssh_kill(struct child *child, int signal)
{
	(void)signal;
	world_after(child->world, 5, on_killed, child);
}

static void
on_refused(void *arg)
{
	struct child *child = arg;
	child_says(child, true, "ssh: connect to host far port 22: Connection refused");
	child_ends(child, SSH_FAILED, 0);
}

static void
on_up(void *arg)
{
	struct child *child = arg;
	struct connection *connection = child->own;
	struct world *world = child->world;
	if (child->ended)
		return;
	connection->heard_ms = world_now(world);
	if (world_strikes(world, world->weather.lies))
		child_says(child, false, "Welcome to far! It has been 3 days since the last reboot.");
	if (world_strikes(world, world->weather.lies))
		child_says(child, false, "{\"event\": \"hello\", \"protocol\": 9, \"version\": \"9\"}");
	greet(child);
	if (world->endless || world_strikes(world, 2 * world->weather.lost))
		world_after(world, world_draw(world, 60000), on_break, child);
	if (world_strikes(world, world->weather.deaths))
		world_after(world, world_draw(world, 60000), on_death, child);
}

static void
ssh_start(struct child *child)
{
	struct world *world = child->world;
	struct connection *connection = child->own = xcalloc(1, sizeof(*connection));
	world_say(world, "ssh starts");
	if (world_strikes(world, world->weather.unheard))
		connection->stalls = true; /* it hangs, in a login script, say */
	else if (world_is_out(world, 0) || world_strikes(world, world->weather.errors))
		world_after(world, 20 + world_draw(world, 3000), on_refused, child);
	else
		world_after(
			world, 20 + world_draw(world, world_strikes(world, world->weather.slow) ? 20000 : 500), on_up, child);
}

extern const struct kettle_plugin kettle_plugin;

const struct side side_ssh = {
	.name = "ssh",
	.plugin = &kettle_plugin,
	.most_jobs = 12,
	.settle_ms = 120000,
	.linger_ms = 10000,
	.begin = ssh_begin,
	.end = ssh_end,
	.section = ssh_section,
	.unit = ssh_unit,
	.start = ssh_start,
	.input = ssh_input,
	.kill = ssh_kill,
};
