/* SPDX-License-Identifier: MIT */
/* A frontend that writes the number and kind of every stored event into the log: tests/integration/engine.test reads it. */
/* With `url` it also sends a request at the first event, whose answer it logs, and one to URL/silent that it never ends. */
#include <config.h>

#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

struct recorder {
	const struct kettle_host *host;
	char *url; /* NULL: none, or the requests are sent */
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
	recorder->host = host;
	*ret_self = recorder;
	return 0;
}

static int
configure(void *self, const json_t *options, struct kettle_error *err)
{
	struct recorder *recorder = self;
	const char *url = json_string_value(json_object_get(options, "url"));
	if (url && strncmp(url, "http", 4) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "`url` is no URL.");
	recorder->url = url ? strdup(url) : NULL;
	return 0;
}

static void
destroy(void *self)
{
	struct recorder *recorder = self;
	free(recorder->url);
	free(recorder);
}

static void
answered(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct recorder *recorder = arg;
	recorder->host->log(recorder->host, KETTLE_LOG_INFO, "answer %d%s", answer ? answer->status : 0, err->message);
}

static void
send_requests(struct recorder *recorder)
{
	char silent[200];
	(void)snprintf(silent, sizeof(silent), "%s/silent", recorder->url);
	const char *const urls[] = {recorder->url, silent};
	for (size_t i = 0; i < 2; i++) {
		struct kettle_error err = {0};
		const struct kettle_http_request request = {
			.size = sizeof(request), .url = urls[i], .total_ms = 86400000, .done = answered, .arg = recorder};
		if (recorder->host->http(recorder->host, &request, NULL, &err) < 0)
			recorder->host->log(recorder->host, KETTLE_LOG_INFO, "answer 0%s", err.message);
	}
	free(recorder->url);
	recorder->url = NULL;
}

static void
event(void *self, const json_t *stored)
{
	struct recorder *recorder = self;
	const struct kettle_host *host = recorder->host;
	if (recorder->url)
		send_requests(recorder);
	host->log(host, KETTLE_LOG_INFO, "event %lld %s", (long long)json_integer_value(json_object_get(stored, "seq")),
		json_string_value(json_object_get(stored, "kind")));
	(void)host->event_done(host, json_integer_value(json_object_get(stored, "seq")));
}

static const struct kettle_frontend frontend = {.size = sizeof(frontend), .event = event};

static const struct kettle_option options[] = {
	{.key = "url", .type = KETTLE_OPTION_STRING, .help = "a server of HTTP"},
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_FRONTEND),
	.name = "recorder",
	.version = "1",
	.summary = "writes stored events into the log",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.destroy = destroy,
	.frontend = &frontend,
};
