/* SPDX-License-Identifier: MIT */
/*
 * GitHub Actions: workflow runs with artifacts, as the REST API of version 2026-03-10 shows them. Each run takes a machine after
 * a while, runs for a while, and leaves an artifact. Changes have to be a second apart, and who was told to wait has to.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "base/zip_cleanup.h"
#include "peers/remote/sides.h"
#include "sealed/sealed.h"

#define TOKENS 2
#define API "https://api.github.test"
#define BLOBS "https://blobs.test/artifact/"
#define ACTIONS API "/repos/o/r/actions/"
#define PAGE 100
#define SPACING_MS 1000
#define NEAR_MS 50 /* what times of arrival may differ by */

struct run {
	struct world *world;
	struct run *next; /* the newest first */
	long long id;
	unsigned attempt; /* of GitHub's own: a person may run it again */
	char *title;
	const char *status, *conclusion, *event;
	int64_t created_ms;
	uint64_t visible_ms; /* before that it is not found */
	struct attempt *of;  /* NULL: a run of somebody else */
	bool deaf, forgotten;
	char *zip; /* its artifact; NULL: it has none yet */
	size_t zip_size;
	char digest[65];
};

struct github_side {
	struct run *runs;
	long long next_id;
	struct {
		uint64_t changed_ms, until_ms;
		const struct life *told; /* of until_ms */
		uint64_t told_ms;
	} tokens[TOKENS];
};

static void
github_begin(struct world *world)
{
	struct github_side *github = world->own = xcalloc(1, sizeof(*github));
	github->next_id = 30433642;
}

static void
github_end(struct world *world)
{
	struct github_side *github = world->own;
	while (github->runs) {
		struct run *run = github->runs;
		github->runs = run->next;
		free(run->title);
		free(run->zip);
		free(run);
	}
	free(github);
}

static json_t *
github_section(struct world *world)
{
	(void)world;
	return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i}", "url", API, "api_version", "2026-03-10", "token",
		"0" WORLD_SECRET "\n1" WORLD_SECRET "\n", "key", WORLD_KEY, "poll_ms", 1000, "give_up_s", 900);
}

static json_t *
github_unit(struct world *world)
{
	json_t *build = json_pack("{s:s, s:[s]}", "repo", "o/r", "runs_on", "small");
	json_t *options = world_options(world, json_pack("{s:s}", "repo", "o/r"), build);
	return json_pack("{s:s, s:s, s:o}", "runner", "github", "name", "FAR", "options", options);
}

/* ---- what runs leave ---- */

/* A zip of one file. */
static void
put_artifact(struct run *run, const char *name, const char *data, size_t size)
{
	zip_error_t error;
	zip_stat_t stat;
	zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &error);
	zip_source_keep(target);
	zip_t *zip = zip_open_from_source(target, ZIP_TRUNCATE, &error);
	zip_int64_t index = zip_file_add(zip, name, zip_source_buffer(zip, data, size, 0), 0);
	(void)zip_file_set_mtime(zip, (zip_uint64_t)index, 1790000000, 0);
	if (zip_close(zip) != 0 || zip_source_open(target) != 0 || zip_source_stat(target, &stat) != 0)
		abort();
	free(run->zip);
	run->zip = xmalloc(stat.size + 1);
	run->zip_size = stat.size;
	if (zip_source_read(target, run->zip, stat.size) != (zip_int64_t)stat.size)
		abort();
	(void)zip_source_close(target);
	zip_source_free(target);
	sha256_hex(run->zip, run->zip_size, run->digest);
}

static void
put_result(struct run *run)
{
	struct world *world = run->world;
	AUTO_FREE char *name = xasprintf("%lld-%u", run->id, run->attempt), *sealed = NULL, *text = NULL;
	size_t size;
	/* Somebody has put another run's artifact there, or has run it again. */
	if (world_strikes(world, world->weather.lies) && world_draw(world, 2)) {
		AUTO_FREE char *other = xasprintf("%lld-%u", run->id, run->attempt + 1);
		sealed = world_seal_other(world, run->of, other, true, &size);
	} else if (world_strikes(world, world->weather.lies)) {
		sealed = world_seal_other(world, run->of, name, false, &size);
	} else {
		sealed = world_seal(world, run->of, name, &size);
	}
	text = sealed_to_text(sealed, size);
	put_artifact(run, "result.kettle", text, strlen(text));
}

static void
end_run(struct run *run, const char *conclusion)
{
	run->status = "completed";
	run->conclusion = conclusion;
	world_say(run->world, "run %lld ends: %s", run->id, conclusion);
}

static void
on_artifact_late(void *arg)
{
	put_result(arg);
}

static void
on_run_over(void *arg)
{
	struct run *run = arg;
	struct world *world = run->world;
	if (strcmp(run->status, "completed") == 0)
		return;
	if (world_strikes(world, world->weather.deaths)) {
		/* Its machine was lost, its time is over, somebody has cancelled it, or a tool of the workflow has failed. */
		static const char *const ends[] = {"failure", "timed_out", "cancelled", "failure"};
		size_t how = world_draw(world, ARRAY_SIZE(ends));
		if (how == 3)
			put_artifact(run, "error.txt", "curl: (22) error: 502", 21);
		end_run(run, ends[how]);
		return;
	}
	if (world_strikes(world, 200))
		world_after(world, world_draw(world, 2000), on_artifact_late, run);
	else
		put_result(run);
	end_run(run, "success");
}

static void
on_machine(void *arg)
{
	struct run *run = arg;
	struct world *world = run->world;
	if (strcmp(run->status, "queued") != 0)
		return;
	if (world_strikes(world, world->weather.deaths / 4)) {
		end_run(run, "startup_failure");
		return;
	}
	run->status = "in_progress";
	world_begins(world, run->of);
	world_after(world, 100 + world_draw(world, world_draw(world, 2) ? 2000 : 60000), on_run_over, run);
}

static struct run *
add_run(struct world *world, const char *title, const char *event, struct attempt *of)
{
	struct github_side *github = world->own;
	struct run *run = xcalloc(1, sizeof(*run));
	*run = (struct run){.world = world,
		.next = github->runs,
		.id = github->next_id++,
		.attempt = 1,
		.title = xstrdup(title),
		.status = "queued",
		.event = event,
		.created_ms = world_utc(world),
		.visible_ms = world_now(world),
		.of = of};
	github->runs = run;
	return run;
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
refuse(struct wire_answer *answer, int status, const char *message)
{
	answer_json(
		answer, status, json_pack("{s:s, s:s}", "message", message, "documentation_url", "https://docs.github.com"));
}

static void
answer_dispatch(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	AUTO_JSON json_t *body = json_loadb(request->body, request->body_size, 0, NULL);
	const json_t *inputs = json_object_get(body, "inputs");
	const char *title = json_text_or_empty(inputs, "run_name"), *payload = json_text_or_empty(inputs, "payload");
	if (!member_is(body, "ref", "main") || !title[0])
		world_fail(world, "a dispatch without what it needs: %.*s", 200, request->body);
	if (world_strikes(world, world->weather.lies / 4)) {
		refuse(answer, 404, "Not Found");
		return;
	}
	struct attempt *attempt = world_open(world, title, payload, strlen(payload));
	world_placed(world, attempt, member_is(inputs, "runner", "[\"small\"]"));
	/* Somebody else's run of the same name is no run of the job. */
	if (world_draw(world, 4) == 0)
		(void)add_run(world, title, "pull_request", NULL);
	struct run *run = add_run(world, title, "workflow_dispatch", attempt);
	run->deaf = world_draw(world, 3) == 0;
	run->visible_ms += world_strikes(world, 300) ? world_draw(world, 3000) : 0;
	if (attempt)
		world_after(world, world_draw(world, world_draw(world, 2) ? 1000 : 30000), on_machine, run);
	if (world_draw(world, 10) == 0) { /* an older server */
		*answer = (struct wire_answer){.status = 204};
		return;
	}
	answer_json(answer, 200,
		json_pack("{s:I, s:o, s:o}", "workflow_run_id", (json_int_t)run->id, "run_url",
			json_sprintf(ACTIONS "runs/%lld", run->id), "html_url",
			json_sprintf("https://github.test/o/r/actions/runs/%lld", run->id)));
}

static json_t *
show_run(const struct run *run)
{
	char created[TIME_TEXT_SIZE];
	time_text(run->created_ms, created);
	return json_pack("{s:I, s:i, s:s, s:s?, s:s, s:s, s:o, s:s}", "id", (json_int_t)run->id, "run_attempt",
		(int)run->attempt, "status", run->status, "conclusion", run->conclusion, "event", run->event, "display_title",
		run->title, "html_url", json_sprintf("https://github.test/o/r/actions/runs/%lld", run->id), "created_at",
		created);
}

static bool
is_visible(const struct run *run)
{
	return !run->forgotten && run->visible_ms <= world_now(run->world);
}

static long long
number_behind(const char *url, const char *what)
{
	const char *at = strstr(url, what);
	return at ? atoll(at + strlen(what)) : 0;
}

static void
answer_runs_list(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	const struct github_side *github = world->own;
	long long skip = (number_behind(request->url, "&page=") - 1) * PAGE, total = 0;
	json_t *page = json_array();
	bool blind = world_strikes(world, world->weather.lies / 2);
	for (const struct run *run = github->runs; run; run = run->next) {
		if (blind && run->of)
			run->of->doubted = true;
		if (blind || !is_visible(run) || (strstr(request->url, "&status=") && !strstr(request->url, run->status)))
			continue;
		if (total++ >= skip && json_array_size(page) < PAGE)
			json_array_append_new(page, show_run(run));
	}
	answer_json(answer, 200, json_pack("{s:I, s:o}", "total_count", (json_int_t)total, "workflow_runs", page));
}

static struct run *
find_run(struct world *world, long long id)
{
	const struct github_side *github = world->own;
	for (struct run *run = github->runs; run; run = run->next)
		if (run->id == id && is_visible(run))
			return run;
	return NULL;
}

static void
on_cancelled(void *arg)
{
	struct run *run = arg;
	if (strcmp(run->status, "completed") != 0)
		end_run(run, "cancelled");
}

static void
answer_cancel(struct run *run, bool force, struct wire_answer *answer)
{
	if (strcmp(run->status, "completed") == 0) {
		refuse(answer, 409, "Cannot cancel a workflow run that is completed.");
		return;
	}
	if (force || !run->deaf)
		world_after(run->world, world_draw(run->world, 3000), on_cancelled, run);
	answer_json(answer, 202, json_object());
}

static void
answer_artifacts(const struct run *run, struct wire_answer *answer)
{
	json_t *list = json_array();
	/* Another artifact of the same run. */
	json_array_append_new(list, json_pack("{s:I, s:s, s:i, s:b, s:n}", "id", (json_int_t)run->id * 10 + 1, "name",
									"logs", "size_in_bytes", 5, "expired", 0, "digest"));
	if (run->zip)
		json_array_append_new(list, json_pack("{s:I, s:s, s:I, s:b, s:o}", "id", (json_int_t)run->id * 10, "name",
										"kettle-result", "size_in_bytes", (json_int_t)run->zip_size, "expired", 0,
										"digest", json_sprintf("sha256:%s", run->digest)));
	answer_json(
		answer, 200, json_pack("{s:I, s:o}", "total_count", (json_int_t)json_array_size(list), "artifacts", list));
}

static void
answer_one(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	struct run *run = find_run(world, number_behind(request->url, "/runs/"));
	if (run && run->of && world_strikes(world, world->weather.lies / 8))
		run->forgotten = run->of->doubted = true;
	if (!run || run->forgotten)
		refuse(answer, 404, "Not Found");
	else if (strstr(request->url, "/artifacts?"))
		answer_artifacts(run, answer);
	else if (strcmp(request->method, "POST") == 0)
		answer_cancel(run, strstr(request->url, "/force-cancel") != NULL, answer);
	else
		answer_json(answer, 200, show_run(run));
}

static void
answer_blob(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	const struct run *run = find_run(world, number_behind(request->url, BLOBS) / 10);
	if (strstr(request->headers, WORLD_SECRET))
		world_fail(world, "a token is sent to another host");
	if (!run || !run->zip || world_strikes(world, world->weather.lies / 2)) {
		*answer = (struct wire_answer){.status = 403, .body = xstrdup("<Error/>"), .size = 8};
		return;
	}
	*answer = (struct wire_answer){.status = 200, .body = xmemdup(run->zip, run->zip_size), .size = run->zip_size};
	if (world_strikes(world, world->weather.lies))
		answer->body[world_draw(world, answer->size)] ^= 1;
	if (world_strikes(world, world->weather.lies))
		answer->size /= 2;
}

static void
answer_zip(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	long long id = number_behind(request->url, "/artifacts/");
	if (find_run(world, id / 10))
		*answer = (struct wire_answer){.status = 302, .headers = xasprintf("location: " BLOBS "%lld?sig=1", id)};
	else
		refuse(answer, 404, "Not Found");
}

/* ---- limits, ETags, lies ---- */

/* Whether the request may go on: GitHub takes a change a second, and nobody's who was told to wait. */
static bool
admit(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	struct github_side *github = world->own;
	const char *token = strstr(request->headers, "Authorization: Bearer ");
	size_t number = token ? (size_t)(token[22] - '0') : TOKENS;
	bool change = strcmp(request->method, "GET") != 0;
	uint64_t now = world_now(world);
	if (number >= TOKENS || !strstr(request->headers, "User-Agent: ") ||
		!strstr(request->headers, "X-GitHub-Api-Version: 2026-03-10")) {
		world_fail(world, "a request without token, version or User-Agent");
		return false;
	}
	if (github->tokens[number].told == request->life && now + NEAR_MS < github->tokens[number].until_ms &&
		request->sent_ms > github->tokens[number].told_ms)
		world_fail(world, "token %zu is used before it may", number);
	if (change && now + NEAR_MS < github->tokens[number].changed_ms + SPACING_MS)
		world_fail(world, "token %zu makes a change %d ms after its last one", number,
			(int)(now - github->tokens[number].changed_ms));
	if (change)
		github->tokens[number].changed_ms = now;
	if (world_strikes(world, world->weather.lies / 16)) {
		refuse(answer, 401, "Bad credentials");
		return false;
	}
	if (!world_strikes(world, world->weather.limits))
		return true;
	unsigned seconds = 1 + (unsigned)world_draw(world, 20);
	refuse(answer, world_draw(world, 2) ? 429 : 403,
		"You have exceeded a secondary rate limit. Please wait a few minutes.");
	answer->headers = xasprintf("retry-after: %u", seconds);
	return false;
}

static void
add_etag(struct wire_answer *answer, const struct wire_request *request)
{
	char digest[65];
	sha256_hex(answer->body, answer->size, digest);
	answer->headers = xasprintf("etag: W/\"%s\"", digest);
	if (!strstr(request->headers, digest))
		return;
	free(STEAL(answer->body));
	answer->status = 304;
	answer->size = 0;
}

/* Who is told to wait has to, from then on. */
static void
github_heard(struct world *world, const struct wire_request *request, const struct wire_answer *answer)
{
	struct github_side *github = world->own;
	const char *token = strstr(request->headers, "Authorization: Bearer ");
	unsigned seconds;
	if (!token || !answer->headers || sscanf(answer->headers, "retry-after: %u", &seconds) != 1)
		return;
	size_t number = (size_t)(token[22] - '0');
	github->tokens[number].until_ms = world_now(world) + seconds * 1000;
	github->tokens[number].told_ms = world_now(world);
	github->tokens[number].told = request->life;
}

/* An answer that none of GitHub's is. */
static void
spoil(struct world *world, struct wire_answer *answer)
{
	static const char *const rubbish[] = {
		"<html>", "[]", "{}", "{\"id\": 8, \"status\": \"queued\"}", "{\"id\": 7, ", "null"};
	const char *text = rubbish[world_draw(world, ARRAY_SIZE(rubbish))];
	free(answer->body);
	free(answer->headers);
	*answer = (struct wire_answer){.status = 200, .body = xstrdup(text), .size = strlen(text)};
}

/* The recorded answer is named by method, path and status. */
static void
show(struct world *world, const struct wire_request *request, const struct wire_answer *answer)
{
	AUTO_BUF struct buf key = {0};
	AUTO_JSON json_t *body = answer->body ? json_loadb(answer->body, answer->size, 0, NULL) : NULL;
	buf_printf(&key, "%s ", request->method);
	for (const char *at = request->url + strlen(API); *at && *at != '?'; at++) {
		size_t digits = at[-1] == '/' ? strspn(at, "0123456789") : 0;
		buf_printf(&key, "%c", digits ? 'N' : *at);
		at += digits ? digits - 1 : 0;
	}
	buf_printf(&key, " %d", answer->status);
	world_shows(world, key.data, body ? body : json_null());
}

static void
github_serve(struct world *world, const struct wire_request *request, struct wire_answer *answer)
{
	if (strncmp(request->url, BLOBS, strlen(BLOBS)) == 0) {
		answer_blob(world, request, answer);
		return;
	}
	if (strncmp(request->url, ACTIONS, strlen(ACTIONS)) != 0) {
		world_fail(world, "a request for %s", request->url);
		refuse(answer, 404, "Not Found");
		return;
	}
	if (!admit(world, request, answer))
		return;
	if (strstr(request->url, "/dispatches"))
		answer_dispatch(world, request, answer);
	else if (strstr(request->url, "/workflows/kettle.yml/runs?"))
		answer_runs_list(world, request, answer);
	else if (strstr(request->url, "/zip"))
		answer_zip(world, request, answer);
	else
		answer_one(world, request, answer);
	show(world, request, answer);
	if (answer->status == 200 && strcmp(request->method, "GET") == 0)
		add_etag(answer, request);
	if (answer->status == 200 && world_strikes(world, world->weather.lies))
		spoil(world, answer);
}

/* ---- the end ---- */

/* Where nothing but what passes went wrong, nothing of a cancelled job runs on. */
static void
github_check(struct world *world)
{
	const struct github_side *github = world->own;
	for (const struct run *run = github->runs; run; run = run->next)
		if (run->of && world->climate == FAIR && strcmp(run->status, "completed") != 0)
			world_fail(world, "run %lld of %s goes on though its job has ended", run->id, run->of->ref);
}

extern const struct kettle_plugin kettle_plugin;

const struct side side_github = {
	.name = "github",
	.plugin = &kettle_plugin,
	.outlives = true,
	.most_jobs = 26,       /* more than the runner looks at one by one */
	.cases = {3168118666}, /* a cancel in the calm, and an answer that was lost before it */
	.settle_ms = 700000,   /* a token that was refused is left alone for ten minutes */
	.linger_ms = 60000,
	.begin = github_begin,
	.end = github_end,
	.section = github_section,
	.unit = github_unit,
	.serve = github_serve,
	.heard = github_heard,
	.check = github_check,
};
