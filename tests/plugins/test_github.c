/* SPDX-License-Identifier: MIT */
/* The runner github between the fake host and a server that plays GitHub: what its table does. */
#include <config.h>

#include <kettle/plugin.h>
#include <kettle/testing.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/fake_jobs.h"
#include "lib/unit_test.h"
#include "sealed/sealed.h"
#include "unit/discord/rest_server.h"
#include "unit/http/http_fixture.h"

#define WAIT_MS 60000
#define KEY "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define HASH "00000000000000000000000000000000000000000000000000000000000000aa"
#define REF "12.1"
#define NAME "kettle-1f0c9a3e-12.1"
#define REPO "/repos/o/r/actions"
#define DISPATCH "POST " REPO "/workflows/kettle.yml/dispatches"
#define LARGE 120000 /* bytes of noise, which no compression makes small enough for GitHub */

extern const struct kettle_plugin kettle_plugin;

static struct kettle_fake *fake;
static struct server server;
static void *self;
static const struct kettle_runner *ops;
static json_t *unit;

static int
setup(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	ops = kettle_plugin.runner;
	assert_int_equal(kettle_fake_new("github", &fake, &err), 0);
	kettle_fake_simulate(fake, INT64_C(1790000000000));
	server_start(&server, fake);
	assert_int_equal(kettle_plugin.create(kettle_fake_host(fake), &self, &err), 0);
	unit = json_pack("{s:s, s:s, s:{s:s, s:[s, s]}}", "runner", "github", "name", "T4", "options", "repo", "o/r",
		"runs_on", "self-hosted", "t4");
	return 0;
}

/* Nothing is left, and neither key nor token is in the log. */
static int
teardown(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	plugin_stop(fake, &kettle_plugin, self);
	kettle_plugin.destroy(self);
	server_stop(&server);
	AUTO_FREE char *log = json_dumps(kettle_fake_log(fake), 0);
	assert_null(strstr(log, "ghp_"));
	assert_null(strstr(log, KEY));
	assert_int_equal(kettle_fake_free(fake, &err), 0);
	json_decref(unit);
	return 0;
}

/* key, token: NULL: none. */
static void
configure(const char *key, const char *token)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *section =
		json_pack("{s:o, s:s, s:i, s:i, s:s*, s:s*}", "url", json_sprintf("http://127.0.0.1:%d", server.port),
			"api_version", "2026-03-10", "poll_ms", 20, "give_up_s", 1, "key", key, "token", token);
	assert_int_equal(kettle_plugin.configure(self, section, &err), 0);
	assert_int_equal(kettle_plugin.start(self, &err), 0);
}

static struct kettle_job
job(void)
{
	return (struct kettle_job){.size = sizeof(struct kettle_job),
		.ref = REF,
		.device = "T4",
		.unit = unit,
		.deadline_ms = 60000,
		.name = NAME,
		.plan_hash = HASH};
}

static int
has_dispatched(void *arg)
{
	(void)arg;
	return server_seen(&server, DISPATCH) > 0;
}

/* An input of the dispatch; new. */
static char *
input(const char *name)
{
	for (size_t i = 0; i < server.count; i++)
		if (strcmp(server.requests[i].line, DISPATCH) == 0) {
			AUTO_JSON json_t *body = json_loadb(server.requests[i].body, server.requests[i].size, 0, NULL);
			return xstrdup(json_text_or_empty(json_object_get(body, "inputs"), name));
		}
	fail_msg("nothing was dispatched");
	return NULL;
}

/* Opens a plan as kettle-exec would. New reference. */
static json_t *
open_plan(const char *data, size_t size)
{
	unsigned char key[SEALED_KEY_SIZE], attempt_key[SEALED_KEY_SIZE];
	const struct sealed_scope scope = {NAME, HASH};
	AUTO_FREE char *content = NULL;
	size_t content_size = 0;
	assert_int_equal(sealed_key_parse(KEY, key, NULL), 0);
	sealed_key_derive(key, NAME, attempt_key);
	assert_int_equal(
		sealed_open(attempt_key, SEALED_PLAN, &scope, data, size, 1 << 24, &content, &content_size, NULL), 0);
	return json_loadb(content, content_size, 0, NULL);
}

/* One that inputs cannot take. New reference. */
static json_t *
large_plan(void)
{
	AUTO_FREE unsigned char *noise = xmalloc(LARGE);
	random_bytes(noise, LARGE);
	AUTO_FREE char *text = base64_encode(noise, LARGE);
	return json_pack("{s:s}", "files", text);
}

static void
test_units(void **state)
{
	(void)state;
	unsigned slots = 0, prefetch = 0;
	const char *const wrong[][2] = {{"repo", ""}, {"repo", "kernels"}, {"repo", "o/r/x"}, {"repo", "../r"},
		{"repo", "o/r?x"}, {"workflow", "../x.yml"}, {"workflow", ""}, {"ref", "a b"}, {"ref", ""}};
	configure(KEY, "ghp_one");
	assert_int_equal(ops->capacity(self, unit, &slots, &prefetch, NULL), 0);
	assert_int_equal(slots, 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct kettle_error err = {0};
		AUTO_JSON json_t *other = json_deep_copy(unit);
		json_object_set_new(json_object_get(other, "options"), wrong[i][0], json_string(wrong[i][1]));
		assert_int_equal(ops->capacity(self, other, &slots, &prefetch, &err), KETTLE_EINVAL);
		assert_non_null(strstr(err.message, wrong[i][0]));
	}
}

/* Without a key or a token there is a sentence that says which is missing. */
static void
test_not_ready(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	struct kettle_job one = job();
	AUTO_JSON json_t *plan = json_pack("{s:i}", "version", 1);
	configure(KEY, NULL);
	assert_int_equal(ops->submit(self, &one, plan, &err), 0);
	configure(NULL, "ghp_one");
	one.ref = "13.1";
	assert_int_equal(ops->submit(self, &one, plan, &err), 0);
	assert_true(member_is(job_completion(fake, REF), "loss", "unusable") &&
				strstr(json_text_or_empty(job_completion(fake, REF), "error"), "token_file"));
	const json_t *other = json_array_get(job_reports(fake, "13.1", "completions"), 0);
	assert_true(member_is(other, "loss", "unusable") && strstr(json_text_or_empty(other, "error"), "key_file"));
}

/* A plan goes as an input, sealed; the handle names the run once GitHub has said it. */
static void
test_submit(void **state)
{
	(void)state;
	struct kettle_job one = job();
	AUTO_JSON json_t *plan = json_pack("{s:i, s:s}", "version", 1, "seed", "424242424242");
	server_step(&server, DISPATCH, 200, NULL, "{\"workflow_run_id\": 7}");
	for (int i = 0; i < 6; i++)
		server_step(&server, "GET " REPO "/runs/7?", 404, NULL, "{\"message\": \"Not Found\"}");
	configure(KEY, "ghp_one");
	assert_int_equal(ops->submit(self, &one, plan, NULL), 0);
	assert_true(
		member_is(job_completion(fake, REF), "loss", "gone") && member_is(job_completion(fake, REF), "status", "lost"));
	AUTO_FREE char *payload = input("payload"), *name = input("run_name"), *runner = input("runner");
	AUTO_JSON json_t *opened = open_plan(payload, strlen(payload));
	assert_true(json_equal(json_object_get(opened, "plan"), plan));
	assert_true(json_equal(json_object_get(opened, "unit"), unit));
	assert_string_equal(name, NAME);
	assert_string_equal(runner, "[\"self-hosted\",\"t4\"]");
	AUTO_JSON json_t *handle = json_loads(json_string_value(job_reports(fake, REF, "handle")), 0, NULL);
	assert_true(member_is(handle, "name", NAME) && member_int(handle, "run") == 7 && member_int(handle, "at") > 0);
}

/* A plan that is too large for inputs goes by a link, or says why it cannot. */
static void
test_large(void **state)
{
	(void)state;
	struct kettle_job one = job();
	AUTO_JSON json_t *plan = large_plan();
	const struct kettle_host *host = kettle_fake_host(fake);
	configure(KEY, "ghp_one");
	assert_int_equal(host->link_base(host, "https://kettle.example/link/", NULL), 0);
	server_step(&server, DISPATCH, 422, NULL, "{\"message\": \"enough\"}");
	assert_int_equal(ops->submit(self, &one, plan, NULL), 0);
	assert_true(member_is(job_completion(fake, REF), "loss", "unusable") &&
				strstr(json_text_or_empty(job_completion(fake, REF), "error"), "422: enough"));
	AUTO_FREE char *payload = input("payload");
	const json_t *link = json_array_get(kettle_fake_links(fake), 0);
	assert_true(strncmp(payload, "https://kettle.example/link/", 28) == 0 && member_is(link, "url", payload));
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	assert_int_equal(base64_decode(json_text_or_empty(link, "base64"), strlen(json_text_or_empty(link, "base64")),
						 (void **)&data, &size),
		0);
	AUTO_JSON json_t *opened = open_plan(data, size);
	assert_true(json_equal(json_object_get(opened, "plan"), plan));
}

static void
test_no_link(void **state)
{
	(void)state;
	struct kettle_job one = job();
	AUTO_JSON json_t *plan = large_plan();
	configure(KEY, "ghp_one");
	assert_int_equal(ops->submit(self, &one, plan, NULL), 0);
	assert_non_null(strstr(json_text_or_empty(job_completion(fake, REF), "error"), "a link to it cannot be made"));
	assert_true(member_is(job_completion(fake, REF), "status", "lost") &&
				member_is(job_completion(fake, REF), "loss", "final"));
	assert_int_equal(server.count, 0);
}

/* A frontend that serves links may start after the runner; a job that waits for it can be cancelled. */
static void
test_late_links(void **state)
{
	(void)state;
	struct kettle_job one = job(), two = job();
	AUTO_JSON json_t *plan = large_plan();
	const struct kettle_host *host = kettle_fake_host(fake);
	two.ref = "13.1";
	two.name = "kettle-1f0c9a3e-13.1";
	configure(KEY, "ghp_one");
	assert_int_equal(ops->submit(self, &one, plan, NULL), 0);
	assert_int_equal(ops->submit(self, &two, plan, NULL), 0);
	assert_int_equal(kettle_fake_run(fake, NULL, NULL, 4000), 0);
	ops->cancel(self, "13.1");
	assert_int_equal(json_array_size(job_reports(fake, REF, "completions")), 0);
	server_step(&server, DISPATCH, SERVER_HOLD, NULL, NULL);
	assert_int_equal(host->link_base(host, "https://kettle.example/link/", NULL), 0);
	assert_int_equal(kettle_fake_run(fake, has_dispatched, NULL, WAIT_MS), 0);
	const json_t *other = job_reports(fake, "13.1", "completions");
	assert_true(member_is(json_array_get(other, 0), "status", "cancelled"));
	ops->detach(self, REF);
}

/* A handle without a run's id: the run is looked for by its name, and is not dispatched. One of another database is refused. */
static void
test_recover(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	struct kettle_job one = job();
	configure(KEY, "ghp_one");
	assert_int_equal(ops->recover(self, &one, "{\"name\": \"kettle-00000000-12.1\"}", &err), KETTLE_ENOENT);
	assert_int_equal(ops->recover(self, &one, "nonsense", &err), KETTLE_ENOENT);
	for (int i = 0; i < 10; i++)
		server_step(&server, "GET " REPO "/workflows/kettle.yml/runs?", 200, NULL, "{\"workflow_runs\": []}");
	assert_int_equal(ops->recover(self, &one, "{\"name\": \"" NAME "\"}", &err), 0);
	assert_true(member_is(job_completion(fake, REF), "loss", "unstarted"));
	assert_false(has_dispatched(NULL));
}

/* A job that is detached is forgotten, but not ended. */
static void
test_detach(void **state)
{
	(void)state;
	struct kettle_job one = job();
	AUTO_JSON json_t *plan = json_pack("{s:i}", "version", 1);
	server_step(&server, DISPATCH, SERVER_HOLD, NULL, NULL);
	configure(KEY, "ghp_one");
	assert_int_equal(ops->submit(self, &one, plan, NULL), 0);
	assert_int_equal(kettle_fake_run(fake, has_dispatched, NULL, WAIT_MS), 0);
	ops->detach(self, REF);
	assert_int_equal(json_array_size(job_reports(fake, REF, "completions")), 0);
	assert_int_equal(server_seen(&server, "POST "), 1);
	/* What is stored says from when on the next process looks for it. */
	AUTO_JSON json_t *handle = json_loads(json_string_value(job_reports(fake, REF, "handle")), 0, NULL);
	assert_true(member_int(handle, "at") > 0 && !json_object_get(handle, "run"));
}

/* Servers that are no GitHub, and what the error of a job then says. Ports and paths are those of tests/peers/http_server.py. */
static const struct {
	const char *scheme, *host, *port, *path, *words;
} elsewhere[] = {{"https", "nowhere.invalid", "tls", "", "The name nowhere.invalid cannot be resolved"},
	{"https", "127.0.0.1", "full", "", "did not accept a connection"},
	{"https", "127.0.0.1", "mute", "", "did not agree on TLS"},
	{"https", "127.0.0.1", "tls", "", "The certificate of 127.0.0.1"},
	{"https", "127.0.0.1", "http", "", "TLS with 127.0.0.1"},
	{"http", "127.0.0.1", "http", "/silent", "did not answer"},
	{"http", "127.0.0.1", "http", "/half", "did not answer completely"},
	{"http", "127.0.0.1", "http", "/garbage", "is not HTTP"},
	{"http", "127.0.0.1", "http", "/short", "ended before it was complete"},
	{"http", "127.0.0.1", "http", "/bytes/9", "is not a JSON object"},
	{"http", "127.0.0.1", "http", "/endless", "is larger than"},
	{"http", "127.0.0.1", "http", "/headers/long", "headers"},
	{"http", "127.0.0.1", "http", "/echo", "lacks `workflow_runs`"}};

struct visit {
	void *self;
	char ref[8];
	bool stopped;
};

static const json_t *
visit_completions(const struct visit *visit)
{
	return job_reports(fake, visit->ref, "completions");
}

static int
all_completed(void *arg)
{
	const struct visit *visits = arg;
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (json_array_size(visit_completions(&visits[i])) == 0)
			return 0;
	return 1;
}

static void
on_visit_stopped(void *arg)
{
	((struct visit *)arg)->stopped = true;
}

static int
all_stopped(void *arg)
{
	const struct visit *visits = arg;
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (!visits[i].stopped)
			return 0;
	return 1;
}

/* A plugin of its own for each, all at once, since most of them wait. */
static void
visit_all(struct visit *visits)
{
	AUTO_JSON json_t *plan = json_pack("{s:i}", "version", 1);
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
		struct kettle_error err = {0};
		struct kettle_job one = job();
		AUTO_JSON json_t *section = json_pack("{s:s, s:s, s:i, s:i, s:s, s:s}", "url",
			address_at(elsewhere[i].scheme, elsewhere[i].host, elsewhere[i].port, elsewhere[i].path), "api_version",
			"2026-03-10", "poll_ms", 20, "give_up_s", 1, "key", KEY, "token", "ghp_one");
		(void)snprintf(visits[i].ref, sizeof(visits[i].ref), "%zu.1", 20 + i);
		one.ref = visits[i].ref;
		assert_int_equal(kettle_plugin.create(kettle_fake_host(fake), &visits[i].self, &err), 0);
		assert_int_equal(kettle_plugin.configure(visits[i].self, section, &err), 0);
		assert_int_equal(kettle_plugin.start(visits[i].self, &err), 0);
		assert_int_equal(ops->submit(visits[i].self, &one, plan, &err), 0);
	}
}

/* Whatever the other side is and in whichever phase it hangs: the job ends once, as lost, with a sentence on what is wrong. */
static void
test_elsewhere(void **state)
{
	(void)state;
	struct visit visits[ARRAY_SIZE(elsewhere)] = {{0}};
	visit_all(visits);
	assert_int_equal(kettle_fake_run(fake, all_completed, visits, WAIT_MS), 0);
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		kettle_plugin.stop(visits[i].self, on_visit_stopped, &visits[i]);
	assert_int_equal(kettle_fake_run(fake, all_stopped, visits, WAIT_MS), 0);
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
		const json_t *ended = json_array_get(visit_completions(&visits[i]), 0);
		kettle_plugin.destroy(visits[i].self);
		assert_int_equal(json_array_size(visit_completions(&visits[i])), 1);
		assert_string_equal(json_text_or_empty(ended, "status"), "lost");
		if (!strstr(json_text_or_empty(ended, "error"), elsewhere[i].words))
			fail_msg("%s%s: %s", elsewhere[i].port, elsewhere[i].path, json_text_or_empty(ended, "error"));
	}
}

static const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_units, setup, teardown),
	cmocka_unit_test_setup_teardown(test_not_ready, setup, teardown),
	cmocka_unit_test_setup_teardown(test_submit, setup, teardown),
	cmocka_unit_test_setup_teardown(test_large, setup, teardown),
	cmocka_unit_test_setup_teardown(test_no_link, setup, teardown),
	cmocka_unit_test_setup_teardown(test_late_links, setup, teardown),
	cmocka_unit_test_setup_teardown(test_recover, setup, teardown),
	cmocka_unit_test_setup_teardown(test_detach, setup, teardown),
	cmocka_unit_test_setup_teardown(test_elsewhere, setup, teardown)};

UNIT_TESTS(test_github, .words = "waiting", .setup = world_setup, .teardown = world_teardown);
