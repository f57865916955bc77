/* SPDX-License-Identifier: MIT */
/* Requests to the server of tests/peers/http_server.py. */
#include <config.h>

#include "unit/http/http_fixture.h"

#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PATIENCE_NS 120000000000u
#define HANGS 8 /* requests of a program to hang.test, at most */

struct world world;

/* ---- names ---- */

static uv_sem_t resolver;

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
	__attribute__((visibility("default")));

/*
 * Takes the place of the C library's, as libcurl sees it: NAME.test is this machine, hang.test is at a name server that is silent,
 * NAME.invalid does not exist.
 */
int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
		(__typeof__(real))dlsym(RTLD_NEXT, "getaddrinfo");
	size_t length = node ? strlen(node) : 0;
	if (length && strcmp(node, "hang.test") == 0)
		uv_sem_wait(&resolver);
	if (length > 8 && strcmp(node + length - 8, ".invalid") == 0)
		return EAI_NONAME;
	if (length > 5 && strcmp(node + length - 5, ".test") == 0)
		node = "127.0.0.1";
	return real(node, service, hints, ret);
}

/* ---- the world ---- */

int
world_setup(void **state)
{
	char line[4000], command[9000];
	(void)state;
	/* None of them counts. */
	(void)setenv("http_proxy", "http://127.0.0.1:1", 1);
	(void)setenv("all_proxy", "http://127.0.0.1:1", 1);
	const char *python = getenv("PYTHON"), *top = getenv("top_srcdir"), *build = getenv("top_builddir");
	if (!python || !top || !build || uv_sem_init(&resolver, 0) != 0)
		return -1;
	world.folder = scratch_make();
	(void)snprintf(command, sizeof(command), "%s/tests/peers/certificates %s", build, world.folder);
	if (system(command) != 0)
		return -1;
	(void)snprintf(command, sizeof(command), "exec %s -B %s/tests/peers/http_server.py %s", python, top, world.folder);
	world.server = popen(command, "re");
	if (!world.server || !fgets(line, sizeof(line), world.server))
		return -1;
	world.ports = json_loads(line, 0, NULL);
	return world.ports ? 0 : -1;
}

int
world_teardown(void **state)
{
	(void)state;
	for (int i = 0; i < HANGS; i++)
		uv_sem_post(&resolver);
	(void)kill((pid_t)member_int(world.ports, "pid"), SIGKILL);
	(void)pclose(world.server);
	json_decref(world.ports);
	scratch_remove(world.folder);
	return 0;
}

static void
on_closed(void *arg)
{
	((struct fixture *)arg)->closed = true;
}

int
fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (uv_loop_init(&f->loop) || loop_new(&f->loop, &f->io, NULL))
		return -1;
	f->settings.ca_file = strdup(in_folder("ca.pem"));
	f->http = http_new(f->io, &f->settings);
	return 0;
}

int
fixture_teardown(void **state)
{
	struct fixture *f = *state;
	http_close(f->http);
	loop_close(f->io, on_closed, f);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	int rc = uv_loop_close(&f->loop);
	bool closed = f->closed;
	free((char *)f->settings.ca_file);
	free(f);
	return rc || !closed;
}

void
fixture_restart(struct fixture *f, const char *proxy, const char *ca_file)
{
	const struct http_settings settings = {.proxy = proxy, .ca_file = ca_file};
	http_close(f->http);
	f->http = http_new(f->io, &settings);
}

/* ---- addresses ---- */

/* One of some texts that are used in turn. */
static char *
next_text(void)
{
	static char texts[16][600];
	static size_t used;
	return texts[used++ % ARRAY_SIZE(texts)];
}

const char *
address_at(const char *scheme, const char *host, const char *port, const char *path)
{
	char *text = next_text();
	(void)snprintf(text, 600, "%s://%s:%d%s", scheme, host, (int)member_int(world.ports, port), path);
	return text;
}

const char *
address(const char *port, const char *path)
{
	return address_at("http", "127.0.0.1", port, path);
}

const char *
in_folder(const char *name)
{
	char *text = next_text();
	(void)snprintf(text, 600, "%s/%s", world.folder, name);
	return text;
}

bool
is_there(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

/* ---- requests ---- */

void
note(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct outcome *outcome = arg;
	outcome->calls++;
	outcome->code = err->code;
	(void)snprintf(outcome->sentence, sizeof(outcome->sentence), "%s", err->message);
	assert_int_equal(err->code == 0, answer != NULL);
	if (!answer)
		return;
	outcome->status = answer->status;
	outcome->headers = answer->headers_count;
	outcome->size = answer->body_size;
	outcome->in_memory = answer->body != NULL;
	const char *etag = kettle_http_header(answer, "etag");
	(void)snprintf(outcome->etag, sizeof(outcome->etag), "%s", etag ? etag : "");
	(void)snprintf(outcome->url, sizeof(outcome->url), "%s", answer->url);
	if (answer->body) {
		assert_int_equal(((const char *)answer->body)[answer->body_size], 0);
		buf_add(&outcome->body, answer->body, answer->body_size);
	}
}

void
note_part(void *arg, const void *data, size_t size)
{
	struct outcome *outcome = arg;
	assert_int_equal(outcome->calls, 0); /* before done */
	assert_true(size > 0);
	buf_add(&outcome->body, data, size);
	outcome->received += (int)size;
	outcome->largest = size > outcome->largest ? size : outcome->largest;
}

uint64_t
send_request(struct fixture *f, struct kettle_http_request *request, struct outcome *outcome)
{
	struct kettle_error err = {0};
	uint64_t id = 0;
	if (!request->done)
		request->done = note;
	request->arg = outcome;
	if (http_send(f->http, f, request, &id, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(outcome->calls, 0); /* never before http returns */
	return id;
}

static void
tick(uv_timer_t *timer)
{
	(void)timer;
}

static void
run(struct fixture *f, const int *value, int wanted, uint64_t end)
{
	uv_timer_t timer;
	uv_timer_init(&f->loop, &timer);
	uv_timer_start(&timer, tick, 10, 10);
	while ((!value || *value < wanted) && time_monotonic_ns() < end)
		(void)uv_run(&f->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	(void)uv_run(&f->loop, UV_RUN_NOWAIT);
}

void
run_until(struct fixture *f, const int *value, int wanted)
{
	run(f, value, wanted, time_monotonic_ns() + PATIENCE_NS);
	assert_true(*value >= wanted);
}

void
run_for(struct fixture *f, unsigned ms)
{
	run(f, NULL, 0, time_monotonic_ns() + ms * UINT64_C(1000000));
}

void
exchange(struct fixture *f, struct kettle_http_request *request, struct outcome *outcome)
{
	outcome_free(outcome);
	(void)send_request(f, request, outcome);
	run_until(f, &outcome->calls, 1);
	assert_int_equal(outcome->calls, 1);
}

void
get(struct fixture *f, const char *url, struct outcome *outcome)
{
	struct kettle_http_request request = REQUEST(.url = url);
	exchange(f, &request, outcome);
}

json_t *
body_json(const struct outcome *outcome)
{
	json_t *body = json_loadb(outcome->body.data ? outcome->body.data : "", outcome->body.len, 0, NULL);
	if (!body)
		fail_msg(
			"no JSON: %d %s %.200s", outcome->status, outcome->sentence, outcome->body.data ? outcome->body.data : "");
	return body;
}

json_t *
server_saw(struct fixture *f, const char *path)
{
	AUTO_OUTCOME struct outcome outcome = {0};
	AUTO_FREE char *url = xasprintf("%s?%s", address("http", "/seen"), path);
	get(f, url, &outcome);
	return body_json(&outcome);
}

void
outcome_free(struct outcome *outcome)
{
	buf_free(&outcome->body);
	*outcome = (struct outcome){0};
}
