/* SPDX-License-Identifier: MIT */
/* A frontend that serves one-time links on 127.0.0.1, by tests/lib/link_server.py: tests/integration/runner_github.test uses it. */
/*
 * The server writes its URL, then the token of each GET, one a line. For a token it reads a line: the path of the file that
 * link.take answers, or an empty one.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

struct links {
	const struct kettle_host *host;
	char *server; /* the script */
	struct kettle_process *process;
	bool listens;
	kettle_fn stopped;
	void *stopped_arg;
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct links *links = calloc(1, sizeof(*links));
	if (!links)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
	links->host = host;
	*ret_self = links;
	return 0;
}

static int
configure(void *self, const json_t *options, struct kettle_error *err)
{
	struct links *links = self;
	(void)err;
	links->server = strdup(json_string_value(json_object_get(options, "server")));
	return 0;
}

static void
on_taken(void *arg, const struct kettle_error *err, json_t *result)
{
	struct links *links = arg;
	struct kettle_error failed = {0};
	const char *path = json_string_value(json_object_get(result, "path"));
	char line[4200];
	int size = snprintf(line, sizeof(line), "%s\n", path ? path : "");
	links->host->log(links->host, KETTLE_LOG_INFO, "taken: %s", path ? "a file" : err->message);
	if (links->process)
		(void)links->host->process_write(links->host, links->process, line, (size_t)size, &failed);
}

static void
on_line(void *arg, const char *line, size_t len)
{
	struct links *links = arg;
	const struct kettle_host *host = links->host;
	struct kettle_error err = {0};
	(void)len;
	if (!links->listens) {
		links->listens = true;
		if (host->link_base(host, line, &err) < 0)
			host->log(host, KETTLE_LOG_ERROR, "%s", err.message);
		return;
	}
	json_t *actor = json_pack("{s:s, s:s, s:s}", "provider", "links", "subject", "server", "name", "links");
	json_t *args = json_pack("{s:s}", "token", line);
	(void)host->call(host, actor, "link.take", args, on_taken, links);
	json_decref(actor);
	json_decref(args);
}

static void
on_exit_of_server(void *arg, int status, int signal)
{
	struct links *links = arg;
	links->process = NULL;
	links->host->log(links->host, KETTLE_LOG_INFO, "the server ended: %d, %d", status, signal);
	if (links->stopped)
		links->stopped(links->stopped_arg);
}

static int
start(void *self, struct kettle_error *err)
{
	struct links *links = self;
	const char *const argv[] = {"python3", "-B", links->server, NULL};
	const struct kettle_spawn spawn = {.size = sizeof(spawn),
		.file = argv[0],
		.argv = argv,
		.on_stdout = on_line,
		.on_exit = on_exit_of_server,
		.arg = links};
	return links->host->spawn(links->host, &spawn, &links->process, err);
}

static void
stop(void *self, kettle_fn done, void *arg)
{
	struct links *links = self;
	(void)links->host->link_base(links->host, NULL, NULL);
	if (!links->process) {
		done(arg);
		return;
	}
	links->stopped = done;
	links->stopped_arg = arg;
	links->host->process_close_stdin(links->host, links->process);
}

static void
destroy(void *self)
{
	struct links *links = self;
	free(links->server);
	free(links);
}

static const struct kettle_frontend frontend = {.size = sizeof(frontend)};

static const struct kettle_option options[] = {
	{.key = "server", .type = KETTLE_OPTION_PATH, .required = true, .help = "tests/lib/link_server.py"},
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_FRONTEND),
	.name = "links",
	.version = "1",
	.summary = "serves one-time links",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = start,
	.stop = stop,
	.destroy = destroy,
	.frontend = &frontend,
};
