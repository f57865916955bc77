/* SPDX-License-Identifier: MIT */
/* A frontend that writes the number and kind of every stored event into the log: tests/integration/engine.test reads it. */
#include <config.h>

#include <kettle/plugin.h>

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)err;
	*ret_self = (void *)host;
	return 0;
}

static int
configure(void *self, const json_t *options, struct kettle_error *err)
{
	(void)self;
	(void)options;
	(void)err;
	return 0;
}

static void
destroy(void *self)
{
	(void)self;
}

static void
event(void *self, const json_t *stored)
{
	const struct kettle_host *host = self;
	host->log(host, KETTLE_LOG_INFO, "event %lld %s", (long long)json_integer_value(json_object_get(stored, "seq")),
		json_string_value(json_object_get(stored, "kind")));
}

static const struct kettle_frontend frontend = {.size = sizeof(frontend), .event = event};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_FRONTEND),
	.name = "recorder",
	.version = "1",
	.summary = "writes stored events into the log",
	.option_size = sizeof(struct kettle_option),
	.create = create,
	.configure = configure,
	.destroy = destroy,
	.frontend = &frontend,
};
