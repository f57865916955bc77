/* SPDX-License-Identifier: MIT */
/*
 * The plugin `web`: Kettle over HTTP.
 *
 * Theory of operation. A server (frontends/http) reads requests on its thread. What is kept (pages.h) is answered there;
 * anything else becomes a call of a command on the engine's loop, and is answered where its answer comes. A subscription
 * as admin says what has changed, for what is kept.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "web/accounts/accounts.h"
#include "web/api/api.h"
#include "web/visit/caller.h"
#include "web/compat/compat.h"
#include "web/compat/routes.h"
#include "web/api/feeds.h"
#include "web/api/links.h"
#include "web/accounts/logins.h"
#include "web/api/openapi.h"
#include "web/api/operations.h"
#include "web/api/pages.h"
#include "web/visit/respond.h"
#include "web/visit/visit.h"
#include "web/visit/web.h"

#define LINKS "/api/v1/links/"
#define OCTAL 8
#define IGNORED_MAX (64u << 10) /* bytes of a body that nothing reads */

/* Where users log in by a browser. */
#define PROVIDER(name, title) \
	{.key = name "_client_id", \
		.type = KETTLE_OPTION_STRING, \
		.help = "The id of this server at " title "; default: no logins by it."}, \
		{.key = name "_client_secret_env", \
			.type = KETTLE_OPTION_STRING, \
			.help = "The environment variable with the secret that belongs to it."}, \
		{.key = name "_client_secret_file", \
			.type = KETTLE_OPTION_PATH, \
			.help = "The file with that secret, in place of `" name "_client_secret_env`."}, \
		{.key = name "_authorize_url", \
			.type = KETTLE_OPTION_STRING, \
			.help = "Where " title " asks users; for GitHub and Discord, the default is theirs."}, \
		{.key = name "_token_url", .type = KETTLE_OPTION_STRING, .help = "Where a code becomes a token."}, \
	{ \
		.key = name "_user_url", .type = KETTLE_OPTION_STRING, .help = "Where the token says who the user is." \
	}

static const struct kettle_option options[] = {
	PROVIDER("github", "GitHub"),
	PROVIDER("discord", "Discord"),
	PROVIDER("oidc", "an OpenID Connect provider"),
	{.key = "oidc_issuer", .type = KETTLE_OPTION_STRING, .help = "The `iss` that its ID tokens must have."},
	{.key = "listen",
		.type = KETTLE_OPTION_STRING,
		.default_value = "127.0.0.1:8481",
		.help = "ADDRESS:PORT, or unix:PATH; a proxy in front of it, or `certificate`, does TLS."},
	{.key = "url",
		.type = KETTLE_OPTION_STRING,
		.help =
			"The address by which clients reach it, such as https://kettle.example; default: no links to it are made."},
	{.key = "socket_mode",
		.type = KETTLE_OPTION_STRING,
		.default_value = "0660",
		.help = "The mode of a unix socket, in octal."},
	{.key = "certificate",
		.type = KETTLE_OPTION_PATH,
		.help = "A PEM file with the certificate and its chain; default: no TLS."},
	{.key = "private_key",
		.type = KETTLE_OPTION_PATH,
		.help = "A PEM file with the key of `certificate`; default: it is in that file."},
	{.key = "trusted_proxies",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Addresses and networks, such as 10.0.0.0/8, whose X-Forwarded-For and X-Forwarded-Proto count."},
	{.key = "cors_origins",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Origins, such as https://site.example, whose pages may read answers to GET and HEAD, without cookies; "
				"default: none."},
	{.key = "connections",
		.type = KETTLE_OPTION_INT,
		.default_value = "6000",
		.min = 1,
		.max = 100000,
		.help = "Connections at once; further ones are closed."},
	{.key = "address_connections",
		.type = KETTLE_OPTION_INT,
		.default_value = "6000",
		.min = 1,
		.max = 100000,
		.help = "Connections at once from one address."},
	{.key = "access_log",
		.type = KETTLE_OPTION_BOOL,
		.default_value = "false",
		.help = "Whether each request is logged, without its query and credentials."},
	{.key = "metrics_token_env",
		.type = KETTLE_OPTION_STRING,
		.help = "The environment variable with the token that /metrics and /ready ask for; default: they answer this "
				"machine alone."},
	{.key = "metrics_token_file",
		.type = KETTLE_OPTION_PATH,
		.help = "The file with that token, in place of `metrics_token_env`."},
	{.key = "admin_token_env",
		.type = KETTLE_OPTION_STRING,
		.help = "The environment variable with the token of KernelBot's admin calls; default: they are refused."},
	{.key = "admin_token_file",
		.type = KETTLE_OPTION_PATH,
		.help = "The file with that token, in place of `admin_token_env`."},
	{.key = "task_root",
		.type = KETTLE_OPTION_PATH,
		.help = "The folder of tasks from which an admin call may create boards; default: none."},
};

/* A run of the server, from a start of the plugin to its stop. */
struct frontend {
	struct web web;
	uint64_t subscription;
	const char **proxies, **origins; /* texts of the options, NULL at the end */
	struct http_content *openapi, *page, *hints;
	char openapi_tag[TAG_SIZE], page_tag[TAG_SIZE], hints_tag[TAG_SIZE];
	kettle_fn stopped;
	void *stopped_arg;
};

/* ---- routes ---- */

static void
answer_kept(struct http_request *request, struct http_content *content, const char *tag)
{
	if (http_method(request) != HTTP_GET && http_method(request) != HTTP_HEAD)
		respond_not_allowed(request, "GET, HEAD");
	else
		http_answer(request, respond_knows(request, tag) ? STATUS_NOT_MODIFIED : STATUS_OK, http_content_ref(content));
}

static void
answer_health(struct http_request *request)
{
	AUTO_JSON json_t *value = json_pack("{s:s}", "status", "ok");
	if (http_method(request) != HTTP_GET && http_method(request) != HTTP_HEAD)
		respond_not_allowed(request, "GET, HEAD");
	else
		respond_json(request, STATUS_OK, value);
}

static void
answer_nothing(struct http_request *request)
{
	respond_refusal(request, STATUS_NOT_FOUND, kettle_error_name(KETTLE_ENOENT),
		"There is nothing at this address: /docs lists what there is.");
}

static bool
segment_is(const struct http_request *request, size_t index, const char *text)
{
	const char *segment = http_segment(request, index);
	return segment && strcmp(segment, text) == 0;
}

/* Answers what is below /api/v1. */
static void
route_api(struct web *web, struct http_request *request)
{
	const char *name = http_segment(request, 2), *token = name ? http_segment(request, 3) : NULL;
	if (!segment_is(request, 1, "v1") || !name || (token && http_segment(request, 4)))
		answer_nothing(request);
	else if (token && strcmp(name, "links") == 0)
		links_request(web, request, token);
	else if (token)
		answer_nothing(request);
	else if (strcmp(name, "events") == 0)
		feeds_request(web->feeds, request);
	else if (strcmp(name, "login") == 0)
		logins_request(web, request);
	else
		api_request(web, request, name);
}

static void
on_request(void *arg, struct http_request *request)
{
	struct frontend *frontend = arg;
	struct web *web = &frontend->web;
	const char *first = http_segment(request, 0);
	if (compat_request(web, request) || accounts_request(web, request))
		return;
	if (first && strcmp(first, "api") == 0)
		route_api(web, request);
	else if (!first || http_segment(request, 1))
		answer_nothing(request);
	else if (strcmp(first, "health") == 0)
		answer_health(request);
	else if (strcmp(first, "ready") == 0)
		operations_ready(web, request);
	else if (strcmp(first, "metrics") == 0)
		operations_metrics(web, request);
	else if (strcmp(first, "openapi.json") == 0)
		answer_kept(request, frontend->openapi, frontend->openapi_tag);
	else if (strcmp(first, "docs") == 0)
		answer_kept(request, frontend->page, frontend->page_tag);
	else if (strcmp(first, "llms.txt") == 0)
		answer_kept(request, frontend->hints, frontend->hints_tag);
	else
		answer_nothing(request);
}

/* What the server itself refuses: in the form of the errors of its address, where that can be read. */
static void
on_refused(void *arg, struct http_request *request, unsigned status)
{
	const char *sentence = "The head of the request is malformed or ambiguous, or its path is.";
	int code = KETTLE_EINVAL;
	(void)arg;
	if (status == STATUS_LENGTH_REQUIRED) {
		sentence = "The request needs a Content-Length.";
	} else if (status == STATUS_TOO_LARGE) {
		sentence = "The body is larger than this address takes.";
		code = KETTLE_ETOOBIG;
	} else if (status == STATUS_UNAVAILABLE) {
		sentence = "The server takes no such request now: try again later.";
		code = KETTLE_EUNAVAIL;
	}
	AUTO_JSON json_t *value = compat_body_max(request) ? json_pack("{s:s}", "detail", sentence)
													   : json_pack("{s:{s:s, s:s}}", "error", "code",
															 kettle_error_name(code), "message", sentence);
	respond_retry(request, status, value, 0);
}

/* How much body a request may have. Without a length it is not read. */
static size_t
on_head(void *arg, struct http_request *request)
{
	bool is_command = http_method(request) == HTTP_POST && segment_is(request, 0, "api");
	size_t max = is_command ? API_BODY_MAX : compat_body_max(request);
	if (max == 0 && http_method(request) == HTTP_POST)
		max = accounts_body_max(request);
	/* What no address takes is read, and refused by its method or path. */
	if (max == 0)
		return IGNORED_MAX;
	if (!http_header_value(request, "Content-Length"))
		on_refused(arg, request, STATUS_LENGTH_REQUIRED);
	return max;
}

static void
on_gone(void *arg, struct http_request *request)
{
	visits_gone(((struct frontend *)arg)->web.visits, request);
}

static void
on_answered(void *arg, const struct http_record *record)
{
	const struct web *web = &((struct frontend *)arg)->web;
	if (member_true(web->options, "access_log"))
		web->host->log(web->host, KETTLE_LOG_INFO, "%s %s %s %u %llu %llu ms", record->address, record->method,
			record->path, record->status, (unsigned long long)record->bytes, (unsigned long long)record->taken_ms);
}

static const struct http_events events = {
	.head = on_head, .refused = on_refused, .request = on_request, .gone = on_gone, .answered = on_answered};

/* ---- events of the core ---- */

static void
on_event(void *arg, const json_t *event)
{
	struct frontend *frontend = arg;
	callers_event(frontend->web.callers, event);
	pages_event(frontend->web.pages, event);
	feeds_event(frontend->web.feeds, event);
}

/* ---- the life of the plugin ---- */

/* The commands that a client may call, by name. */
static json_t *
open_commands(const struct kettle_host *host)
{
	json_t *commands = json_object();
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)host->commands(host), i, row)
		if (!member_true(row, "internal") && !member_is(row, "kind", "local"))
			json_object_set(commands, json_text_or_empty(row, "name"), row);
	return commands;
}

static void
make_pages(struct frontend *frontend)
{
	AUTO_JSON json_t *document = openapi_make(&frontend->web);
	AUTO_FREE char *openapi = json_dumps(document, JSON_COMPACT), *page = openapi_page(&frontend->web);
	AUTO_FREE char *hints = openapi_hints(&frontend->web);
	frontend->openapi = respond_kept("application/json", openapi, strlen(openapi), frontend->openapi_tag);
	frontend->page = respond_kept("text/html; charset=utf-8", page, strlen(page), frontend->page_tag);
	frontend->hints = respond_kept("text/plain; charset=utf-8", hints, strlen(hints), frontend->hints_tag);
}

static void
unmake_pages(struct frontend *frontend)
{
	http_content_unref(STEAL(frontend->openapi));
	http_content_unref(STEAL(frontend->page));
	http_content_unref(STEAL(frontend->hints));
}

static int
follow_events(struct frontend *frontend, struct kettle_error *err)
{
	const struct kettle_host *host = frontend->web.host;
	return host->subscribe(host, frontend->web.self, NULL, -1, on_event, frontend, &frontend->subscription, err);
}

static struct http_rules
rules_of(const struct frontend *frontend)
{
	const json_t *section = frontend->web.options;
	return (struct http_rules){.title = "The web frontend",
		.listen = json_text_or_empty(section, "listen"),
		.socket_mode = (unsigned)strtoul(json_text_or_empty(section, "socket_mode"), NULL, OCTAL),
		.certificate = json_text_or_null(section, "certificate"),
		.private_key = json_text_or_null(section, "private_key"),
		.trusted_proxies = frontend->proxies,
		.cors_origins = frontend->origins,
		.connections = (unsigned)member_int(section, "connections"),
		.address_connections = (unsigned)member_int(section, "address_connections")};
}

static int
open_server(struct frontend *frontend, struct kettle_error *err)
{
	const struct kettle_host *host = frontend->web.host;
	const struct http_rules rules = rules_of(frontend);
	int rc = http_server_start(host, &rules, &events, frontend, &frontend->web.server, err);
	if (rc < 0)
		return rc;
	int port = http_server_port(frontend->web.server);
	const char *end = port ? strrchr(rules.listen, ':') : NULL;
	if (end)
		host->log(host, KETTLE_LOG_INFO, "The web frontend listens on %.*s, port %d.", (int)(end - rules.listen),
			rules.listen, port);
	else
		host->log(host, KETTLE_LOG_INFO, "The web frontend listens on %s.", rules.listen);
	return 0;
}

/* Says where links to published files lead. */
static int
serve_links(const struct frontend *frontend, struct kettle_error *err)
{
	const struct kettle_host *host = frontend->web.host;
	const char *url = json_text_or_null(frontend->web.options, "url");
	if (!url)
		return 0;
	size_t len = strlen(url);
	AUTO_FREE char *base = xasprintf("%.*s" LINKS, (int)(len && url[len - 1] == '/' ? len - 1 : len), url);
	return host->link_base(host, base, err);
}

static void
close_rest(struct frontend *frontend)
{
	const struct kettle_host *host = frontend->web.host;
	visits_cut(frontend->web.visits);
	feeds_cut(frontend->web.feeds);
	if (frontend->subscription)
		(void)host->unsubscribe(host, frontend->subscription, NULL, NULL);
	frontend->subscription = 0;
	unmake_pages(frontend);
}

static int
start(void *self, struct kettle_error *err)
{
	struct frontend *frontend = self;
	make_pages(frontend);
	int rc = follow_events(frontend, err);
	if (rc == 0)
		rc = visits_start(frontend->web.visits, err);
	if (rc == 0)
		rc = open_server(frontend, err);
	if (rc < 0) {
		close_rest(frontend);
		return rc;
	}
	return serve_links(frontend, err);
}

static void
on_stopped(void *arg)
{
	struct frontend *frontend = arg;
	frontend->web.server = NULL;
	close_rest(frontend);
	frontend->stopped(frontend->stopped_arg);
}

static void
stop(void *self, kettle_fn done, void *arg)
{
	struct frontend *frontend = self;
	const struct kettle_host *host = frontend->web.host;
	if (!frontend->web.server) {
		done(arg);
		return;
	}
	frontend->stopped = done;
	frontend->stopped_arg = arg;
	(void)host->link_base(host, NULL, NULL);
	visits_hurry(frontend->web.visits);
	http_server_stop(frontend->web.server, on_stopped, frontend);
}

static void
destroy(void *self)
{
	struct frontend *frontend = self;
	if (!frontend)
		return;
	struct web *web = &frontend->web;
	unmake_pages(frontend);
	callers_free(web->callers);
	visits_free(web->visits);
	pages_free(web->pages);
	feeds_free(web->feeds);
	logins_free(web->logins);
	accounts_free(web->accounts);
	json_decref(web->commands);
	json_decref(web->nobody);
	json_decref(web->self);
	json_decref(web->options);
	free(frontend->proxies);
	free(frontend->origins);
	free(frontend);
}

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct frontend *frontend = xcalloc(1, sizeof(*frontend));
	struct web *web = &frontend->web;
	(void)err;
	web->host = host;
	web->nobody = json_pack("{s:s, s:s, s:s}", "provider", "web", "subject", "nobody", "name", "nobody");
	web->self = json_pack("{s:s, s:s, s:s, s:s}", "provider", "web", "subject", "web", "name", "web", "role", "admin");
	web->commands = open_commands(host);
	web->callers = callers_new(web);
	web->visits = visits_new(web);
	web->pages = pages_new(web);
	web->feeds = feeds_new(web);
	web->logins = logins_new(web);
	web->accounts = accounts_new(web);
	*ret_self = frontend;
	return 0;
}

/* The texts of a list, borrowed, with NULL at the end; a new array. */
static const char **
texts_of(const json_t *section, const char *key)
{
	const json_t *list = json_object_get(section, key);
	const char **texts = xcalloc(json_array_size(list) + 1, sizeof(char *));
	for (size_t i = 0; i < json_array_size(list); i++)
		texts[i] = json_string_value(json_array_get(list, i));
	return texts;
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct frontend *frontend = self;
	const char *mode = json_text_or_empty(section, "socket_mode");
	if (!*mode || strspn(mode, "01234567") != strlen(mode) || strlen(mode) > 4)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "socket_mode",
			kettle_fail(err, KETTLE_EINVAL, "`socket_mode` is no mode in octal, such as 0660: %.20s", mode));
	json_decref(frontend->web.options);
	free(frontend->proxies);
	free(frontend->origins);
	frontend->web.options = json_deep_copy(section);
	frontend->proxies = texts_of(frontend->web.options, "trusted_proxies");
	frontend->origins = texts_of(frontend->web.options, "cors_origins");
	const char *url = json_text_or_null(section, "url");
	if (url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "url",
			kettle_fail(err, KETTLE_EINVAL, "`url` is no address such as https://kettle.example: %.100s", url));
	const struct http_rules rules = rules_of(frontend);
	return http_rules_check(&rules, err);
}

static const struct kettle_frontend frontend_table = {.size = sizeof(frontend_table)};

const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_FRONTEND),
	.name = "web",
	.version = PACKAGE_VERSION,
	.summary = "Kettle over HTTP: an API, event streams, metrics",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = start,
	.stop = stop,
	.destroy = destroy,
	.frontend = &frontend_table,
};
