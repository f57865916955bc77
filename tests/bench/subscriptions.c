/* SPDX-License-Identifier: MIT */
/*
 * subscriptions DATABASE COUNT TIMES: what an event costs the loop of a process with so many subscriptions, as frontends have
 * them for their users. Prints one JSON object: the ms for each event of a board that all of them want, and for each of one
 * that none of them wants.
 */
#include <config.h>

#include "commands/handlers.h"
#include "session/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

struct bench {
	uv_loop_t loop;
	struct loop_services *io;
	struct core *core;
	int count, heard;
	bool closed;
};

static void
on_event(void *arg, const json_t *event)
{
	(void)event;
	((struct bench *)arg)->heard++;
}

static void
fail_bench(const struct kettle_error *err)
{
	(void)fprintf(stderr, "subscriptions: %s\n", err->message);
	exit(1);
}

static void
on_attached(void *arg, const struct kettle_error *err)
{
	struct bench *bench = arg;
	AUTO_JSON json_t *actor = json_pack("{s:s, s:s, s:s}", "provider", "cli", "subject", "owner", "name", "owner");
	AUTO_JSON json_t *filter = json_pack("{s:s}", "leaderboard", "wanted");
	struct kettle_error why = {0};
	uint64_t id;
	if (err)
		fail_bench(err);
	const struct core_subscription setup = {
		.actor = actor, .filter = filter, .after = -1, .fn = on_event, .arg = bench};
	for (int i = 0; i < bench->count; i++)
		if (core_follow(bench->core, &setup, &id, &why) < 0)
			fail_bench(&why);
}

/* Publishes an event of the board; the ms that takes. */
static double
publish_one(struct bench *bench, const char *board)
{
	AUTO_JSON json_t *event = json_pack("{s:s, s:s, s:s, s:i, s:i}", "kind", "board.updated", "scope", "p",
		"leaderboard_name", board, "submission", 7, "user", 1);
	uint64_t begun = uv_hrtime();
	core_publish(bench->core, event);
	return (double)(uv_hrtime() - begun) / 1e6;
}

/* Until all of them hear: before, they are still told of the past, of which there is none. */
static void
go_live(struct bench *bench)
{
	while (bench->heard != bench->count) {
		(void)uv_run(&bench->loop, UV_RUN_ONCE);
		bench->heard = 0;
		(void)publish_one(bench, "wanted");
	}
}

static json_t *
publish_many(struct bench *bench, const char *board, int times, int wanted)
{
	json_t *samples = json_array();
	for (int i = 0; i < times; i++) {
		bench->heard = 0;
		json_array_append_new(samples, json_real(publish_one(bench, board)));
		if (bench->heard != wanted)
			fail_bench(&(struct kettle_error){.message = "an event came to too few or too many subscriptions"});
	}
	return samples;
}

static void
on_core_closed(void *arg)
{
	((struct bench *)arg)->closed = true;
}

static void
on_loop_closed(void *arg)
{
	(void)arg;
}

int
main(int argc, char **argv)
{
	struct bench bench = {0};
	struct kettle_error err = {0};
	const struct languages languages = {0};
	if (argc != 4) {
		(void)fprintf(stderr, "usage: subscriptions DATABASE COUNT TIMES\n");
		return 2;
	}
	AUTO_JSON json_t *devices = json_object();
	bench.count = atoi(argv[2]);
	(void)uv_loop_init(&bench.loop);
	if (loop_new(&bench.loop, &bench.io, &err) < 0)
		fail_bench(&err);
	const struct core_setup setup = {.loop = &bench.loop,
		.io = bench.io,
		.commands = commands,
		.database = argv[1],
		.owner = "owner",
		.devices = devices,
		.is_server = true};
	bench.core = core_new(&setup);
	core_take_languages(bench.core, &languages);
	core_attach(bench.core, on_attached, &bench);
	go_live(&bench);
	AUTO_JSON json_t *all = publish_many(&bench, "wanted", atoi(argv[3]), bench.count);
	AUTO_JSON json_t *none = publish_many(&bench, "other", atoi(argv[3]), 0);
	AUTO_JSON json_t *result = json_pack("{s:O, s:O}", "all", all, "none", none);
	AUTO_FREE char *text = json_dumps(result, JSON_COMPACT);
	(void)puts(text);
	core_close(bench.core, 0, on_core_closed, &bench);
	while (!bench.closed)
		(void)uv_run(&bench.loop, UV_RUN_ONCE);
	core_free(bench.core);
	loop_close(bench.io, on_loop_closed, NULL);
	(void)uv_run(&bench.loop, UV_RUN_DEFAULT);
	return 0;
}
