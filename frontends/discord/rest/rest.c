/* SPDX-License-Identifier: MIT */
/*
 * Discord's REST API: checks and completes requests, sends them by class, in order within a lane, as Discord's limits
 * allow, and decides by the answer whether a request ends or is tried again.
 */
#include <config.h>

#include "discord/rest/rest.h"

#include <math.h>
#include <sys/queue.h>

#include "base/base.h"
#include "base/hash.h"
#include "base/number.h"
#include "common/format.h"
#include "discord/rest/download.h"
#include "discord/rest/limits.h"
#include "discord/rest/multipart.h"
#include "discord/rest/route.h"

#define CALL_CHAINS 256

/* A request that waits or is under way. */
struct call {
	TAILQ_ENTRY(call) link; /* in its lane */
	struct rest *rest;
	struct lane *lane;
	struct route route;
	char *method, *url;
	char *type; /* of the body, or NULL */
	void *body;
	size_t size;
	uint64_t max_answer;
	unsigned faults, limited; /* tries that ended with a fault, with a 429 */
	bool once;                /* as in struct rest_request */
	bool under_way;
	uint64_t http;         /* of host->http, while under way */
	uint64_t added;        /* when it was added */
	uint64_t sent;         /* when it was sent */
	struct bucket *bucket; /* while under way */
	rest_fn done;
	rest_download_fn got; /* of a download, in place of done */
	void *arg;
};

TAILQ_HEAD(calls, call);

/* Requests in order. Only the first is ever under way. */
struct lane {
	TAILQ_ENTRY(lane) link; /* in the list of the class of its first request */
	struct lane *chain;
	char *key;
	enum route_class class;
	struct calls calls;
	uint64_t not_before;
};

TAILQ_HEAD(lanes, lane);

struct rest {
	const struct kettle_host *host;
	struct rest_rules rules; /* without its strings */
	char *base, *authorization, *user_agent, *token_option;
	char **cdn;
	struct limits *limits;
	struct lanes lanes[ROUTE_CLASSES];
	struct lane *chains[CALL_CHAINS];
	unsigned under_way[ROUTE_CLASSES];
	unsigned count;     /* requests */
	size_t bytes;       /* of their bodies */
	uint64_t downloads; /* downloads until now; each has a lane of its own */
	struct kettle_timer *timer;
	uint64_t timer_at;
	int64_t latency;
	bool refused, closing;
};

static void take_answer(struct call *call, const struct kettle_error *err, const struct kettle_http_answer *answer);
static void pump(struct rest *rest);

/* ---- lanes: when requests are sent ---- */

#define HEADERS_MAX 4
#define API_MS 30000
#define CALLBACK_MS 10000 /* longer than an interaction waits for its first answer (3 s): a late one may have arrived */
#define DOWNLOAD_MS 60000
#define DOWNLOAD_RETRIES 2

/* The greatest numbers of requests under way. Their sum is the limit of host->http, so no request waits there. */
static const unsigned most_under_way[ROUTE_CLASSES] = {
	[ROUTE_CALLBACK] = 24, [ROUTE_FOLLOW_UP] = 16, [ROUTE_BOT] = 16, [ROUTE_DOWNLOAD] = 8};

static uint64_t
now_ms(const struct rest *rest)
{
	return rest->host->monotonic_ms(rest->host);
}

static void
free_call(struct call *call)
{
	route_free(&call->route);
	free_all(call->method, call->url, call->type, call->body, call);
}

static struct lane **
lane_at(struct rest *rest, const char *key)
{
	size_t chain = 0;
	for (const char *at = key; *at; at++)
		chain = (chain * 31 + (unsigned char)*at) % CALL_CHAINS;
	struct lane **lane = &rest->chains[chain];
	while (*lane && strcmp((*lane)->key, key) != 0)
		lane = &(*lane)->chain;
	return lane;
}

/* Puts a lane at the end of the list of its first request's class. */
static void
lane_place(struct rest *rest, struct lane *lane)
{
	lane->class = TAILQ_FIRST(&lane->calls)->route.class;
	TAILQ_INSERT_TAIL(&rest->lanes[lane->class], lane, link);
}

static void
on_timer(void *arg)
{
	struct rest *rest = arg;
	rest->timer = NULL;
	pump(rest);
}

/* Sets the timer, if it is not set for an earlier time. */
static void
wake_at(struct rest *rest, uint64_t at, uint64_t now)
{
	if (at == LIMITS_ANSWER || (rest->timer && rest->timer_at <= at))
		return;
	rest->host->timer_stop(rest->host, rest->timer);
	rest->timer = NULL;
	rest->timer_at = at;
	struct kettle_error err = {0};
	if (rest->host->timer_start(rest->host, at > now ? at - now : 0, 0, on_timer, rest, &rest->timer, &err) != 0)
		rest->host->log(rest->host, KETTLE_LOG_ERROR, "Requests to Discord wait for the next answer: %s", err.message);
}

/* Adds a request at the end of its lane; the next turn of the loop sends it. */
static void
add_call(struct rest *rest, struct call *call_take)
{
	struct lane **at = lane_at(rest, call_take->route.lane), *lane = *at;
	call_take->rest = rest;
	call_take->added = now_ms(rest);
	if (!lane) {
		lane = *at = xcalloc(1, sizeof(*lane));
		lane->key = xstrdup(call_take->route.lane);
		TAILQ_INIT(&lane->calls);
	}
	call_take->lane = lane;
	bool first = TAILQ_EMPTY(&lane->calls);
	TAILQ_INSERT_TAIL(&lane->calls, call_take, link);
	if (first)
		lane_place(rest, lane);
	rest->count++;
	rest->bytes += call_take->size;
	wake_at(rest, call_take->added, call_take->added);
}

/* Removes an answered request, which is not under way, and frees it. */
static void
remove_call(struct call *call)
{
	struct rest *rest = call->rest;
	struct lane *lane = call->lane;
	TAILQ_REMOVE(&rest->lanes[lane->class], lane, link);
	TAILQ_REMOVE(&lane->calls, call, link);
	rest->count--;
	rest->bytes -= call->size;
	if (TAILQ_EMPTY(&lane->calls)) {
		*lane_at(rest, lane->key) = lane->chain;
		free_all(lane->key, lane);
	} else {
		lane_place(rest, lane);
	}
	free_call(call);
}

static void
on_http(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct call *call = arg;
	struct rest *rest = call->rest;
	call->under_way = false;
	rest->under_way[call->route.class]--;
	take_answer(call, err, answer);
	pump(rest);
}

static void
send(struct call *call, uint64_t now)
{
	struct rest *rest = call->rest;
	bool api = call->route.class == ROUTE_BOT, download = call->route.class == ROUTE_DOWNLOAD;
	AUTO_FREE char *type = call->type ? xasprintf("Content-Type: %s", call->type) : NULL;
	const char *headers[HEADERS_MAX];
	size_t count = 0;
	headers[count++] = rest->user_agent;
	if (api)
		headers[count++] = rest->authorization;
	if (type)
		headers[count++] = type;
	headers[count] = NULL;
	struct kettle_http_request request = {
		.size = sizeof(request),
		.method = call->method,
		.url = call->url,
		.headers = headers,
		.body = call->body,
		.body_size = call->size,
		.max_body = call->max_answer,
		.total_ms = download                              ? DOWNLOAD_MS
					: call->route.class == ROUTE_CALLBACK ? CALLBACK_MS
														  : API_MS,
		.retries = download ? DOWNLOAD_RETRIES : 0,
		.done = on_http,
		.arg = call,
	};
	struct kettle_error err = {0};
	call->sent = now;
	call->bucket = limits_sent(rest->limits, &call->route, now);
	if (rest->host->http(rest->host, &request, &call->http, &err) != 0) {
		take_answer(call, &err, NULL);
		return;
	}
	call->under_way = true;
	rest->under_way[call->route.class]++;
	/* Other lanes of the class have their turn before this lane's next request. */
	TAILQ_REMOVE(&rest->lanes[call->lane->class], call->lane, link);
	TAILQ_INSERT_TAIL(&rest->lanes[call->lane->class], call->lane, link);
}

/* Sends the requests of one class that may be sent; returns when it may send again. */
static uint64_t
pump_class(struct rest *rest, enum route_class class, uint64_t now)
{
	uint64_t next = LIMITS_ANSWER;
	for (struct lane *lane = TAILQ_FIRST(&rest->lanes[class]), *following; lane; lane = following) {
		following = TAILQ_NEXT(lane, link);
		uint64_t overall = class == ROUTE_BOT ? limits_overall(rest->limits, now) : 0;
		if (overall > 0)
			return now + overall < next ? now + overall : next;
		if (rest->under_way[class] >= most_under_way[class])
			return next;
		struct call *call = TAILQ_FIRST(&lane->calls);
		if (call->under_way)
			continue;
		uint64_t wait = lane->not_before > now ? lane->not_before - now : limits_wait(rest->limits, &call->route, now);
		if (wait == 0)
			send(call, now);
		else if (wait != LIMITS_ANSWER && now + wait < next)
			next = now + wait;
	}
	return next;
}

/* Sends the requests that may be sent, and sets the timer for the next ones. */
static void
pump(struct rest *rest)
{
	uint64_t now = now_ms(rest), next = LIMITS_ANSWER;
	for (int i = 0; i < ROUTE_CLASSES && !rest->refused; i++) {
		uint64_t at = pump_class(rest, (enum route_class)i, now);
		next = at < next ? at : next;
	}
	wake_at(rest, next, now);
}

/* ---- answers: whether a request ends or is tried again ---- */

#define FAULTS_MAX 5   /* tries that end with a fault */
#define LIMITED_MAX 20 /* tries that end with a 429 */
#define BACKOFF_MAX_MS 30000
#define CALLBACK_LIFE_MS 3000  /* of an interaction without its first answer */
#define LIMITED_DEFAULT_S 1    /* if a 429 names no time */
#define ALREADY_ANSWERED 40060 /* Discord: the interaction has been acknowledged */
#define MISSING_ACCESS 50001   /* Discord: the bot cannot see it, or is no member of the server */
#define MISSING_PERMISSIONS 50013
#define DETAILS_MAX 300 /* bytes of Discord's text about invalid members */

/* Returns the error code for a status. If Discord does not know an interaction's own token, that has expired. */
static int
code_of(const struct call *call, int status)
{
	static const int codes[][2] = {{400, KETTLE_EINVAL}, {401, KETTLE_EACCES}, {403, KETTLE_EACCES},
		{404, KETTLE_ENOENT}, {409, KETTLE_ECONFLICT}, {413, KETTLE_ETOOBIG}, {429, KETTLE_ERATE}};
	if (status == 401 && call->route.class != ROUTE_BOT)
		return KETTLE_ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i][0] == status)
			return codes[i][1];
	return KETTLE_EUNAVAIL;
}

/* Ends a request with an error. */
static void
fail(struct call *call, const struct kettle_error *err)
{
	struct rest_answer answer = {.err = err};
	rest_fn done = call->done;
	rest_download_fn got = call->got;
	void *arg = call->arg;
	remove_call(call);
	if (done)
		done(arg, &answer);
	if (got)
		got(arg, err, NULL, 0);
}

/* Returns the operator's remedy for a refusal. */
static const char *
advice_of(json_int_t code)
{
	if (code == MISSING_ACCESS)
		return " Invite the bot to the server, and let its role view the channel.";
	return code == MISSING_PERMISSIONS
			   ? " Give the bot's role the permissions of docs/discord.md, in this channel, too."
			   : "";
}

/* Ends a request that Discord answered. */
static void
finish(struct call *call, int status, const json_t *body)
{
	struct kettle_error err = {0};
	json_int_t code = member_int(body, "code");
	const json_t *details = json_object_get(body, "errors");
	if (status < 200 || status > 299) {
		AUTO_FREE char *wrong = details ? json_dumps(details, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
		const char *said = json_text_or_empty(body, "message");
		size_t len = strlen(said);
		(void)kettle_fail(&err, code_of(call, status), "Discord answered %s with %d%s%.200s%s%.*s%s%s",
			call->route.name, status, *said ? ": " : "", said, wrong ? ": " : "", DETAILS_MAX, wrong ? wrong : "",
			!wrong && len > 0 && said[len - 1] == '.' ? "" : ".", advice_of(code));
	}
	struct rest_answer answer = {.err = &err, .status = status, .body = body, .code = code};
	rest_fn done = call->done;
	void *arg = call->arg;
	remove_call(call);
	if (done)
		done(arg, &answer);
}

/*
 * Leaves a request at the head of its lane for another try. false: it has had all tries, or it is a callback for which
 * Discord would no longer wait, and would only be an invalid request.
 */
static bool
try_after(struct call *call, uint64_t wait)
{
	uint64_t at = now_ms(call->rest) + wait;
	if (call->route.class == ROUTE_CALLBACK && at > call->added + CALLBACK_LIFE_MS)
		return false;
	call->lane->not_before = at;
	return true;
}

/* Random: requests that failed together should not come back together. */
uint64_t
rest_backoff(unsigned tries)
{
	uint64_t wait = BACKOFF_MAX_MS, random;
	if (tries < 16 && (uint64_t)REST_BACKOFF_MS << (tries - 1) < wait)
		wait = (uint64_t)REST_BACKOFF_MS << (tries - 1);
	random_bytes(&random, sizeof(random));
	return wait / 2 + random % (wait / 2 + 1);
}

/* Has a request tried again after a fault. */
static bool
try_again(struct call *call)
{
	return call->route.idempotent && !call->once && call->faults < FAULTS_MAX &&
		   try_after(call, rest_backoff(call->faults));
}

/* Handles a fault of the server or the network. */
static void
take_fault(struct call *call, const struct kettle_error *err, int status)
{
	char what[64];
	(void)snprintf(what, sizeof(what), "it answered %d", status);
	const char *why = err->code ? err->message : what;
	call->faults++;
	if (try_again(call)) {
		call->rest->host->log(
			call->rest->host, KETTLE_LOG_DEBUG, "%s is sent to Discord again: %s", call->route.name, why);
		return;
	}
	struct kettle_error failed = {0};
	if (call->route.idempotent)
		(void)kettle_fail(&failed, KETTLE_EUNAVAIL, "Discord did not carry out %s (tries: %u): %s", call->route.name,
			call->faults, why);
	else
		(void)kettle_fail(
			&failed, KETTLE_EUNAVAIL, "It is unknown whether Discord carried out %s: %s", call->route.name, why);
	fail(call, &failed);
}

/* Returns the wait that a 429 demands, in ms. */
static double
wait_of(const struct kettle_http_answer *answer, const json_t *body)
{
	double header = NAN, said = member_number(body, "retry_after");
	(void)number_parse(kettle_http_header(answer, "retry-after"), &header);
	double seconds = fmax(said, header); /* fmax ignores a NAN */
	return isnan(seconds) || seconds < 0 ? LIMITED_DEFAULT_S * 1000.0 : ceil(seconds * 1000);
}

static void
take_limited(struct call *call, const struct kettle_http_answer *answer, const json_t *body)
{
	struct rest *rest = call->rest;
	double wait = wait_of(answer, body), most = rest->rules.wait_max_ms;
	const char *all = kettle_http_header(answer, "x-ratelimit-global");
	/* A 429 without JSON comes from a proxy of the API, not from the API: it is about the address. */
	bool global = member_true(body, "global") || (all && strcmp(all, "true") == 0) || !json_is_object(body);
	uint64_t now = now_ms(rest), wait_ms = wait < most ? (uint64_t)wait : (uint64_t)most;
	limits_block(rest->limits, &call->route, global, wait_ms, now);
	if (wait <= most && ++call->limited < LIMITED_MAX && try_after(call, wait_ms)) {
		rest->host->log(rest->host, KETTLE_LOG_DEBUG, "Discord limits %s for %llu ms%s.", call->route.name,
			(unsigned long long)wait_ms, global ? ", and all other requests" : "");
		return;
	}
	struct kettle_error err = {0};
	char delay[FORMAT_SIZE];
	format_ns(wait * 1e6, delay);
	if (wait > most)
		(void)kettle_fail(&err, KETTLE_ERATE, "Discord limits %s for %s, which is longer than Kettle waits.",
			call->route.name, delay);
	else
		(void)kettle_fail(
			&err, KETTLE_ERATE, "Discord still limits %s after several tries (%u).", call->route.name, call->limited);
	fail(call, &err);
}

/* Ends all requests, even those under way. The callbacks must not add any. */
static void
fail_all(struct rest *rest, const struct kettle_error *err)
{
	for (int i = 0; i < ROUTE_CLASSES; i++)
		for (struct lane *lane; (lane = TAILQ_FIRST(&rest->lanes[i]));) {
			struct call *call = TAILQ_FIRST(&lane->calls);
			if (call->under_way) {
				rest->host->http_cancel(rest->host, call->http);
				rest->under_way[i]--;
				limits_answered(rest->limits, call->bucket, &call->route, NULL, now_ms(rest));
			}
			fail(call, err);
		}
}

/* Handles that Discord does not know the token. */
static void
refuse(struct rest *rest)
{
	struct kettle_error err = {0};
	if (rest->refused)
		return;
	rest->refused = true;
	(void)kettle_fail(&err, KETTLE_EACCES,
		"Discord refuses the bot's token: give %s a valid one and start Kettle again.", rest->token_option);
	rest->host->log(rest->host, KETTLE_LOG_ERROR, "%s", err.message);
	fail_all(rest, &err);
}

/* Counts answers that can make Discord ban the address. */
static void
count_invalid(struct rest *rest, const struct kettle_http_answer *answer)
{
	const char *scope = kettle_http_header(answer, "x-ratelimit-scope");
	bool limited = answer->status == 429 && !(scope && strcmp(scope, "shared") == 0);
	if (!limited && answer->status != 401 && answer->status != 403 && answer->status != 404)
		return;
	if (limits_invalid(rest->limits, now_ms(rest)))
		rest->host->log(rest->host, KETTLE_LOG_ERROR,
			"Discord answered 401, 403, 404 or 429 to %u requests in 10 minutes: until they have passed, the bot only "
			"answers interactions.",
			rest->rules.invalid_max);
}

/* Ends a download; the sentences are for the user who attached the file. */
static void
take_download(struct call *call, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct kettle_error failed = {0};
	char most[FORMAT_SIZE];
	format_bytes((double)call->max_answer, most);
	if (err->code == KETTLE_ETOOBIG)
		(void)kettle_fail(&failed, KETTLE_ETOOBIG, "The attachment is larger than %s.", most);
	else if (!answer)
		(void)kettle_fail(&failed, KETTLE_EUNAVAIL, "Discord did not deliver the attachment: try again.");
	else if (answer->status == 403 || answer->status == 404 || answer->status == 410)
		(void)kettle_fail(&failed, KETTLE_ENOENT, "Discord no longer has the attachment: attach it again.");
	else if (answer->status != 200)
		(void)kettle_fail(
			&failed, KETTLE_EUNAVAIL, "Discord answered %d in place of the attachment: try again.", answer->status);
	if (failed.code) {
		fail(call, &failed);
		return;
	}
	rest_download_fn got = call->got;
	void *arg = call->arg;
	remove_call(call);
	if (got)
		got(arg, &failed, answer->body, answer->body_size);
}

static void
take_answer(struct call *call, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct rest *rest = call->rest;
	uint64_t now = now_ms(rest);
	limits_answered(rest->limits, call->bucket, &call->route, answer, now);
	call->bucket = NULL;
	if (call->route.class == ROUTE_DOWNLOAD) {
		take_download(call, err, answer);
		return;
	}
	if (!answer) {
		if (err->code == KETTLE_EUNAVAIL || err->code == KETTLE_EIO)
			take_fault(call, err, 0);
		else
			fail(call, err);
		return;
	}
	AUTO_JSON json_t *body =
		answer->body_size > 0 ? json_loadb(answer->body, answer->body_size, JSON_DECODE_ANY, NULL) : NULL;
	rest->latency = (int64_t)(now - call->sent);
	count_invalid(rest, answer);
	/* The first of several tries had arrived. */
	bool arrived =
		call->route.class == ROUTE_CALLBACK && call->faults > 0 && member_int(body, "code") == ALREADY_ANSWERED;
	if (answer->status == 401 && call->route.class == ROUTE_BOT) {
		finish(call, answer->status, body);
		refuse(rest);
	} else if (answer->status == 429) {
		take_limited(call, answer, body);
	} else if (answer->status >= 500 || answer->status == 408) {
		take_fault(call, err, answer->status);
	} else {
		finish(call, arrived ? 204 : answer->status, arrived ? NULL : body);
	}
}

/* ---- requests ---- */

#define BODY_MAX (8u << 20) /* limit of host->http */
#define ANSWER_MAX (8u << 20)
#define BYTES_MAX (128u << 20) /* of all requests that wait or are under way */

/* Whether a text can be in a header: printable ASCII. */
static bool
is_printable(const char *text, bool blanks)
{
	for (const char *at = text; *at; at++)
		if (*at < (blanks ? ' ' : '!') || *at > '~')
			return false;
	return *text != '\0';
}

static int
check_rules(const struct rest_rules *rules, struct kettle_error *err)
{
	bool http = strncmp(rules->base, "https://", 8) == 0 || strncmp(rules->base, "http://", 7) == 0;
	if (!http || !is_printable(rules->base, false) || rules->base[strlen(rules->base) - 1] == '/')
		return kettle_fail(err, KETTLE_EINVAL,
			"The address of Discord's API must be a URL like https://discord.com/api/v10, without a slash at its end.");
	if (!is_printable(rules->token, false))
		return kettle_fail(err, KETTLE_EINVAL,
			"The bot's token, from %s, must have printable characters without blanks.", rules->token_option);
	if (!is_printable(rules->user_agent, true))
		return kettle_fail(err, KETTLE_EINVAL, "The name of the client for Discord must have printable characters.");
	return 0;
}

static char **
copy_list(const char *const *list)
{
	size_t count = 0;
	while (list && list[count])
		count++;
	char **copy = xcalloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = xstrdup(list[i]);
	return copy;
}

int
rest_new(
	const struct kettle_host *host, const struct rest_rules *rules, struct rest **ret_rest, struct kettle_error *err)
{
	int rc = check_rules(rules, err);
	if (rc != 0)
		return rc;
	struct rest *rest = xcalloc(1, sizeof(*rest));
	struct rest_rules *own = &rest->rules;
	rest->host = host;
	*own = (struct rest_rules){
		.per_second = rules->per_second ? rules->per_second : REST_PER_SECOND,
		.queue_max = rules->queue_max ? rules->queue_max : REST_QUEUE_MAX,
		.invalid_max = rules->invalid_max ? rules->invalid_max : REST_INVALID_MAX,
		.wait_max_ms = rules->wait_max_ms ? rules->wait_max_ms : REST_WAIT_MAX_MS,
	};
	rest->base = xstrdup(rules->base);
	rest->authorization = xasprintf("Authorization: Bot %s", rules->token);
	rest->user_agent = xasprintf("User-Agent: %s", rules->user_agent);
	rest->token_option = xstrdup(rules->token_option);
	rest->cdn = copy_list(rules->cdn);
	rest->limits = limits_new(own->per_second, own->invalid_max, own->wait_max_ms);
	rest->latency = -1;
	for (size_t i = 0; i < ROUTE_CLASSES; i++)
		TAILQ_INIT(&rest->lanes[i]);
	*ret_rest = rest;
	return 0;
}

void
rest_free(struct rest *rest)
{
	if (!rest)
		return;
	struct kettle_error err = {0};
	(void)kettle_fail(&err, KETTLE_ECANCELED, "The connection to Discord is being closed.");
	rest->closing = true;
	fail_all(rest, &err);
	rest->host->timer_stop(rest->host, rest->timer);
	limits_free(rest->limits);
	for (size_t i = 0; rest->cdn[i]; i++)
		free(rest->cdn[i]);
	free_all(rest->cdn, rest->base);
	explicit_bzero(rest->authorization, strlen(rest->authorization));
	free_all(rest->authorization, rest->user_agent, rest->token_option, rest);
}

int64_t
rest_latency(const struct rest *rest)
{
	return rest->latency;
}

/* Checks that a request of so many bytes may be added. */
static int
check_room(const struct rest *rest, size_t size, struct kettle_error *err)
{
	if (rest->closing)
		return kettle_fail(err, KETTLE_ECANCELED, "The connection to Discord is being closed.");
	if (rest->refused)
		return kettle_fail(err, KETTLE_EACCES, "Discord has refused the bot's token, from %s.", rest->token_option);
	if (size > BODY_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "A request to Discord must have at most %u MiB.", BODY_MAX >> 20);
	if (rest->count >= rest->rules.queue_max || rest->bytes + size > BYTES_MAX)
		return kettle_fail(err, KETTLE_EUNAVAIL, "Too many requests wait for Discord: try again later.");
	return 0;
}

/* Completes a message: it pings no user, and its files have names. */
static void
complete_message(json_t *message, const struct rest_request *request)
{
	if (!json_object_get(message, "allowed_mentions"))
		json_object_set_new(message, "allowed_mentions", json_pack("{s[]}", "parse"));
	if (request->files_count == 0 || json_object_get(message, "attachments"))
		return;
	json_t *attachments = json_array();
	for (size_t i = 0; i < request->files_count; i++) {
		AUTO_FREE char *name = multipart_name(request->files[i].name), *id = xasprintf("%zu", i);
		json_array_append_new(attachments, json_pack("{ss ss}", "id", id, "filename", name));
	}
	json_object_set_new(message, "attachments", attachments);
}

/* Makes the body's bytes and their type, in the call. */
static int
make_body(struct call *call, const struct rest_request *request, struct kettle_error *err)
{
	json_t *message = route_message(&call->route, request->body_take), *body = request->body_take;
	size_t bytes = 0;
	for (size_t i = 0; i < request->files_count; i++)
		bytes += request->files[i].size < BODY_MAX ? request->files[i].size : BODY_MAX;
	if (request->files_count > REST_FILES_MAX || (request->files_count > 0 && !message))
		return kettle_fail(err, KETTLE_EINVAL, "Only a message to Discord has files, and at most %d.", REST_FILES_MAX);
	if (bytes > BODY_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "The files of a message must have at most %u MiB.", BODY_MAX >> 20);
	if (message)
		complete_message(message, request);
	call->route.idempotent |= message && member_true(message, "enforce_nonce") && json_object_get(message, "nonce");
	if (!body)
		return 0;
	AUTO_FREE char *text = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text)
		return kettle_fail(err, KETTLE_EINVAL, "The body of %s cannot be written as JSON.", call->route.name);
	struct buf out = {0};
	if (request->files_count > 0) {
		call->type = multipart_make(text, request->files, request->files_count, &out);
	} else {
		call->type = xstrdup("application/json");
		buf_adds(&out, text);
	}
	call->size = out.len;
	call->body = buf_take(&out);
	return 0;
}

int
rest_send(struct rest *rest, const struct rest_request *request, struct kettle_error *err)
{
	struct call *call = xcalloc(1, sizeof(*call));
	int rc = route_parse(request->method, request->path, &call->route, err);
	if (rc == 0)
		rc = make_body(call, request, err);
	if (rc == 0)
		rc = check_room(rest, call->size, err);
	json_decref(request->body_take);
	for (size_t i = 0; i < request->files_count; i++)
		free(request->files[i].data_take);
	if (rc != 0) {
		free_call(call);
		return rc;
	}
	call->method = xstrdup(request->method);
	call->url = xasprintf("%s%s", rest->base, request->path);
	call->max_answer = ANSWER_MAX;
	call->once = request->once;
	call->done = request->done;
	call->arg = request->arg;
	add_call(rest, call);
	return 0;
}

int
rest_download(
	struct rest *rest, const char *url, size_t max_size, rest_download_fn done, void *arg, struct kettle_error *err)
{
	int rc = download_check(url, (const char *const *)rest->cdn, strncmp(rest->base, "http://", 7) == 0, err);
	if (rc == 0)
		rc = check_room(rest, 0, err);
	if (rc != 0)
		return rc;
	struct call *call = xnew(struct call, .route.class = ROUTE_DOWNLOAD, .route.name = xstrdup("an attachment"),
		.route.major = xstrdup(""), .route.lane = xasprintf("download %llu", (unsigned long long)++rest->downloads),
		.method = xstrdup("GET"), .url = xstrdup(url), .max_answer = max_size, .got = done, .arg = arg);
	add_call(rest, call);
	return 0;
}
