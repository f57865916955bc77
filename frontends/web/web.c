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
#include <openssl/crypto.h>
#include <pthread.h>

#include "base/base.h"
#include "base/hash.h"
#include "web/accounts/accounts.h"
#include "web/api/api.h"
#include "web/visit/caller.h"
#include "common/recent.h"
#include "web/compat/compat.h"
#include "web/api/feeds.h"
#include "web/accounts/logins.h"
#include "web/api/openapi.h"
#include "web/api/operations.h"
#include "web/api/pages.h"
#include "web/visit/respond.h"
#include "web/site/site.h"
#include "web/visit/visit.h"
#include "web/visit/web.h"

#define LINKS "/api/v1/links/"
#define OCTAL 8
#define IGNORED_MAX (64u << 10) /* bytes of a body that nothing reads */

/* clang-format off */
#define OPTION(name, kind, text, ...) {.key = name, .type = KETTLE_OPTION_##kind, .help = text, ##__VA_ARGS__}
/* Where users log in by a browser. */
#define PROVIDER(name, title) \
	OPTION(name "_client_id", STRING, "The id of this server at " title "; default: no logins by it."), \
	OPTION(name "_client_secret_env", STRING, "The environment variable with the secret of this id."), \
	OPTION(name "_client_secret_file", PATH, "The file with that secret, in place of `" name "_client_secret_env`."), \
	OPTION(name "_authorize_url", STRING, \
		"Where " title " asks users; for GitHub and Discord, the default is theirs."), \
	OPTION(name "_token_url", STRING, "The URL that exchanges a code for a token."), \
	OPTION(name "_user_url", STRING, "The URL that returns the user of a token.")

static const struct kettle_option options[] = {
	PROVIDER("github", "GitHub"),
	PROVIDER("discord", "Discord"),
	PROVIDER("oidc", "an OpenID Connect provider"),
	OPTION("oidc_issuer", STRING, "The `iss` that its ID tokens must have; `oidc_client_id` needs it."),
	OPTION("listen", STRING,
		"ADDRESS:PORT, or unix:PATH; a proxy in front of it, or `certificate`, does TLS.", .default_value = "127.0.0.1:8481"),
	OPTION("url", STRING,
		"The address at which clients reach the server, such as https://kettle.example; default: Kettle makes no links to it."),
	OPTION("socket_mode", STRING, "The mode of a unix socket, in octal.", .default_value = "0660"),
	OPTION("certificate", PATH, "A PEM file with the certificate and its chain; default: no TLS."),
	OPTION("private_key", PATH, "A PEM file with the key of `certificate`; default: it is in that file."),
	OPTION("trusted_proxies", STRINGS,
		"Addresses and networks, such as 10.0.0.0/8, whose X-Forwarded-For and X-Forwarded-Proto count."),
	OPTION("cors_origins", STRINGS,
		"Origins, such as https://site.example, whose pages may read answers to GET and HEAD, without cookies; "
		"default: none."),
	OPTION("connections", INT,
		"Connections at once; further ones are closed.", .default_value = "6000", .min = 1, .max = 100000),
	OPTION("address_connections", INT,
		"Connections at once from one address.", .default_value = "6000", .min = 1, .max = 100000),
	OPTION("request_s", INT,
		"Seconds for a client to send a request, or to take an answer other than a stream; 16 KiB of it are one more.",
		.default_value = "10", .min = 1, .max = 3600),
	OPTION("access_log", BOOL,
		"Whether each request is logged, without its query and credentials.", .default_value = "false"),
	OPTION("metrics_token_env", STRING,
		"The environment variable with the token for /metrics and /ready; default: they answer only requests from this machine."),
	OPTION("metrics_token_file", PATH, "The file with that token, in place of `metrics_token_env`."),
	OPTION("admin_token_env", STRING,
		"The environment variable with the token of KernelBot's admin calls; default: they are refused."),
	OPTION("admin_token_file", PATH, "The file with that token, in place of `admin_token_env`."),
	OPTION("task_root", PATH, "The folder of tasks from which an admin call may create boards; default: none."),
	OPTION("problems_repository", STRING,
		"The repository from which KernelBot's admin call updates problems, if the call names none; default: the call must name one."),
	OPTION("problems_branch", STRING, "The branch, if the call names none; default: the repository's own."),
};
/* clang-format on */

/* Texts that stay as they are while the server runs. */
enum { OPENAPI, HINTS, DOCUMENTS };
static const struct {
	const char *path, *type;
} documents[] = {
	[OPENAPI] = {"openapi.json", "application/json"},
	[HINTS] = {"llms.txt", "text/plain; charset=utf-8"},
};

struct documents {
	struct document {
		struct http_content *content;
		char tag[TAG_SIZE];
	} texts[DOCUMENTS];
};

/* A run of the server, from a start of the plugin to its stop. */
struct frontend {
	struct web web; /* first: a visit's web is the frontend */
	uint64_t subscription;
	const char **proxies, **origins; /* texts of the options, NULL at the end */
	struct documents documents;      /* content NULL until one is asked for; under the lock */
	pthread_mutex_t lock;
	kettle_fn stopped;
	void *stopped_arg;
};

const struct site_page *const site_parts[] = {pages_boards, pages_board, pages_live, pages_task, pages_submit,
	pages_submission, pages_user, pages_operator, NULL};

/* ---- routes ---- */

static void
answer_nothing(struct web *web, struct http_request *request)
{
	if (!site_refuse(web, request, STATUS_NOT_FOUND, "There is nothing at this address."))
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
	if (!segment_is(request, 1, "v1") || !name || (token && (strcmp(name, "links") != 0 || http_segment(request, 4))))
		answer_nothing(web, request);
	else if (token)
		links_request(web, request, token);
	else if (strcmp(name, "events") == 0)
		feeds_request(web, request);
	else if (strcmp(name, "login") == 0)
		logins_request(web, request);
	else
		api_request(web, request, name);
}

/* ---- documents: made on the pool when one is asked for, since that takes longer than a start should ---- */

struct making {
	struct visit *visit;
	struct documents made;
};

static void
make_documents(void *arg)
{
	struct making *making = arg;
	const struct web *web = making->visit->web;
	AUTO_JSON json_t *document = openapi_make(web);
	AUTO_FREE char *openapi = json_dumps(document, JSON_COMPACT);
	const char *const texts[] = {[OPENAPI] = openapi, [HINTS] = openapi_hints};
	for (size_t i = 0; i < DOCUMENTS; i++)
		making->made.texts[i].content =
			respond_kept(documents[i].type, texts[i], strlen(texts[i]), making->made.texts[i].tag);
}

/* Keeps them, unless another visit has, or the server has stopped. */
static void
on_made(void *arg)
{
	AUTO_FREE struct making *making = arg;
	struct visit *visit = making->visit;
	struct frontend *frontend = (struct frontend *)visit->web;
	struct document *wanted = &making->made.texts[member_int(visit->data, "document")];
	respond_known(visit->request, http_content_ref(wanted->content), wanted->tag);
	(void)pthread_mutex_lock(&frontend->lock);
	bool is_kept = frontend->web.server && !frontend->documents.texts[OPENAPI].content;
	if (is_kept)
		frontend->documents = making->made;
	(void)pthread_mutex_unlock(&frontend->lock);
	for (size_t i = 0; i < DOCUMENTS && !is_kept; i++)
		http_content_unref(making->made.texts[i].content);
	visit_end(visit);
}

static void
begin_documents(struct visit *visit, json_t *result)
{
	const struct kettle_host *host = visit->web->host;
	struct making *making = xnew(struct making, .visit = visit);
	struct kettle_error err = {0};
	(void)result;
	(void)host->answers(host); /* made on the loop; the pool only reads them */
	if (host->work(host, make_documents, on_made, making, &err) < 0) {
		free(making);
		visit_fail(visit, &err);
	}
}

static void
documents_request(struct frontend *frontend, struct http_request *request, size_t which)
{
	(void)pthread_mutex_lock(&frontend->lock);
	const struct document *document = &frontend->documents.texts[which];
	struct http_content *content = document->content ? http_content_ref(document->content) : NULL;
	(void)pthread_mutex_unlock(&frontend->lock);
	if (content)
		respond_known(request, content, document->tag);
	else
		visit_begin(&frontend->web, request, NULL, 0, begin_documents, visit_respond_error,
			json_pack("{s:I}", "document", (json_int_t)which), NULL);
}

/* ---- words ---- */

/* Answers what has one word: a read of what the server or the whole of Kettle is. */
static void
route_word(struct frontend *frontend, struct http_request *request, const char *word)
{
	size_t i = 0;
	while (i < DOCUMENTS && strcmp(documents[i].path, word) != 0)
		i++;
	bool is_health = strcmp(word, "health") == 0, is_ready = strcmp(word, "ready") == 0;
	if (!is_health && !is_ready && strcmp(word, "metrics") != 0 && i == DOCUMENTS)
		answer_nothing(&frontend->web, request);
	else if (!http_reads(request))
		respond_not_allowed(request, "GET, HEAD");
	else if (i < DOCUMENTS)
		documents_request(frontend, request, i);
	else if (is_health)
		respond_text(request, STATUS_OK, "application/json", "{\"status\":\"ok\"}");
	else
		operations_request(&frontend->web, request, is_ready);
}

static void
on_request(void *arg, struct http_request *request)
{
	struct frontend *frontend = arg;
	struct web *web = &frontend->web;
	const char *first = http_segment(request, 0);
	if (compat_request(web, request) || accounts_request(web, request) || site_request(web, request))
		return;
	if (first && strcmp(first, "api") == 0)
		route_api(web, request);
	else if (!first || http_segment(request, 1))
		answer_nothing(web, request);
	else
		route_word(frontend, request, first);
}

/* The most bytes of body that a request may have; 0: nothing reads it. */
static size_t
body_max(const struct web *web, const struct http_request *request)
{
	if (http_method(request) == HTTP_POST && segment_is(request, 0, "api"))
		return API_BODY_MAX;
	size_t max = compat_body_max(request);
	if (max == 0 && http_method(request) == HTTP_POST)
		max = accounts_body_max(request);
	return max ? max : site_body_max(web, request);
}

/* Refusals of the server itself, in the form of the errors of the address, if the address can be read. */
static void
on_refused(void *arg, struct http_request *request, unsigned status)
{
	char sentence[80] = "The head or the path of the request is malformed or ambiguous.";
	int code = KETTLE_EINVAL;
	size_t max = body_max(&((struct frontend *)arg)->web, request);
	if (status == STATUS_LENGTH_REQUIRED) {
		(void)strcpy(sentence, "The request needs a Content-Length.");
	} else if (status == STATUS_TOO_LARGE) {
		(void)snprintf(sentence, sizeof(sentence), "The body has more than %zu bytes.", max ? max : IGNORED_MAX);
		code = KETTLE_ETOOBIG;
	} else if (status == STATUS_URI_TOO_LONG || status == STATUS_HEAD_TOO_LARGE) {
		(void)strcpy(sentence, "The head of the request takes more than 8 KiB.");
		code = KETTLE_ETOOBIG;
	} else if (status == STATUS_UNAVAILABLE) {
		(void)strcpy(sentence, "The server does not accept this request now: try again later.");
		code = KETTLE_EUNAVAIL;
	}
	AUTO_JSON json_t *value = compat_body_max(request) ? json_pack("{s:s}", "detail", sentence)
													   : json_pack("{s:{s:s, s:s}}", "error", "code",
															 kettle_error_name(code), "message", sentence);
	respond_retry(request, status, value, 0);
}

/* A body without a length is not read. */
static size_t
on_head(void *arg, struct http_request *request)
{
	size_t max = body_max(&((struct frontend *)arg)->web, request);
	/* A request that no address takes is read, and refused by its method or path. */
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
	/* A credential follows. */
	bool is_link = strstr(record->path, LINKS);
	if (member_true(web->options, "access_log"))
		web->host->log(web->host, KETTLE_LOG_INFO, "%s %s %s %u %llu %llu ms", record->address, record->method,
			is_link ? LINKS : record->path, record->status, (unsigned long long)record->bytes,
			(unsigned long long)record->taken_ms);
}

static const struct http_events events = {
	.head = on_head, .refused = on_refused, .request = on_request, .gone = on_gone, .answered = on_answered};

/* ---- events of the core ---- */

static void
on_event(void *arg, const json_t *event)
{
	struct frontend *frontend = arg;
	callers_event(&frontend->web, event);
	pages_event(frontend->web.pages, event);
	feeds_event(frontend->web.feeds, event);
}

/* ---- the life of the plugin ---- */

/* The commands that a client may call, by name. */
static json_t *
open_commands(const struct kettle_host *host)
{
	json_t *commands = json_object();
	json_array_each(host->commands(host), row)
		if (!member_true(row, "internal") && !member_is(row, "kind", "local"))
			json_object_set(commands, json_text_or_empty(row, "name"), row);
	return commands;
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
		.address_connections = (unsigned)member_int(section, "address_connections"),
		.request_s = (unsigned)member_int(section, "request_s")};
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
	for (size_t i = 0; i < DOCUMENTS; i++)
		http_content_unref(STEAL(frontend->documents.texts[i].content));
}

static int
start(void *self, struct kettle_error *err)
{
	struct frontend *frontend = self;
	const struct kettle_host *host = frontend->web.host;
	const struct http_rules rules = rules_of(frontend);
	int rc = host->subscribe(host, frontend->web.self, NULL, -1, on_event, frontend, &frontend->subscription, err);
	if (rc == 0)
		rc = visits_start(frontend->web.visits, err);
	AUTO_FREE char *links = web_address(&frontend->web, LINKS);
	if (rc == 0 && json_text_or_null(frontend->web.options, "url"))
		rc = host->link_base(host, links, err);
	if (rc == 0)
		rc = http_server_start(host, &rules, &events, frontend, &frontend->web.server, err);
	if (rc < 0)
		close_rest(frontend);
	return rc;
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
	recent_free(web->tokens);
	recent_free(web->logins);
	recent_free(web->states);
	OPENSSL_cleanse(web->form_key, sizeof(web->form_key));
	visits_free(web->visits);
	pages_free(web->pages);
	(void)pthread_mutex_destroy(&frontend->lock);
	(void)pthread_mutex_destroy(&web->docs_lock);
	feeds_free(web->feeds);
	json_decref_all(web->commands, web->anonymous, web->self, web->options, web->docs);
	free_all(frontend->proxies, frontend->origins, frontend);
}

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct frontend *frontend = xcalloc(1, sizeof(*frontend));
	struct web *web = &frontend->web;
	(void)err;
	(void)pthread_mutex_init(&frontend->lock, NULL);
	(void)pthread_mutex_init(&web->docs_lock, NULL);
	web->host = host;
	web->parts = site_parts;
	STAILQ_INIT(&web->renderings);
	web->anonymous = json_pack("{s:s, s:s, s:s}", "provider", "web", "subject", "nobody", "name", "nobody");
	web->self = json_pack("{s:s, s:s, s:s, s:s}", "provider", "web", "subject", "web", "name", "web", "role", "admin");
	web->commands = open_commands(host);
	web->tokens = recent_new(host, WEB_RECENT_MAX);
	web->logins = recent_new(host, WEB_RECENT_MAX);
	web->states = recent_new(host, WEB_RECENT_MAX);
	random_bytes(web->form_key, sizeof(web->form_key));
	web->visits = visits_new(web);
	web->pages = pages_new(web);
	web->feeds = feeds_new(web);
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
			kettle_fail(err, KETTLE_EINVAL, "`socket_mode` is not a mode in octal, such as 0660: %.20s", mode));
	json_decref(frontend->web.options);
	free_all(frontend->proxies, frontend->origins);
	frontend->web.options = json_deep_copy(section);
	frontend->proxies = texts_of(frontend->web.options, "trusted_proxies");
	frontend->origins = texts_of(frontend->web.options, "cors_origins");
	const char *url = json_text_or_null(section, "url");
	if (url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "url",
			kettle_fail(err, KETTLE_EINVAL, "`url` is not an address such as https://kettle.example: %.100s", url));
	if (json_text_or_null(section, "oidc_client_id") && !json_text_or_null(section, "oidc_issuer"))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "oidc_issuer",
			kettle_fail(
				err, KETTLE_EINVAL, "`oidc_client_id` needs `oidc_issuer`: the `iss` of the provider's ID tokens."));
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
