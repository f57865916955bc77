/* SPDX-License-Identifier: MIT */
/* Decides by an answer whether its request ends or is tried again. */
#include <config.h>

#include "discord/rest/answer.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/number.h"
#include "common/format.h"

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
	switch (status) {
	case 400:
		return KETTLE_EINVAL;
	case 401:
		return call->route.class == ROUTE_BOT ? KETTLE_EACCES : KETTLE_ENOENT;
	case 403:
		return KETTLE_EACCES;
	case 404:
		return KETTLE_ENOENT;
	case 409:
		return KETTLE_ECONFLICT;
	case 413:
		return KETTLE_ETOOBIG;
	case 429:
		return KETTLE_ERATE;
	default:
		return KETTLE_EUNAVAIL;
	}
}

void
answer_error(struct call *call, const struct kettle_error *err)
{
	struct rest_answer answer = {.err = err};
	rest_fn done = call->done;
	rest_download_fn got = call->got;
	void *arg = call->arg;
	call_remove(call);
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
	call_remove(call);
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
	uint64_t at = call_now(call->rest) + wait;
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
		(void)kettle_fail(&failed, KETTLE_EUNAVAIL,
			"Discord's answer to %s is missing, so it may have been carried out: %s", call->route.name, why);
	answer_error(call, &failed);
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
	uint64_t now = call_now(rest), wait_ms = wait < most ? (uint64_t)wait : (uint64_t)most;
	limits_block(rest->limits, &call->route, global, wait_ms, now);
	if (wait <= most && ++call->limited < LIMITED_MAX && try_after(call, wait_ms)) {
		rest->host->log(rest->host, KETTLE_LOG_DEBUG, "Discord limits %s for %llu ms%s.", call->route.name,
			(unsigned long long)wait_ms, global ? ", and all other requests" : "");
		return;
	}
	struct kettle_error err = {0};
	char asked[FORMAT_SIZE];
	format_ns(wait * 1e6, asked);
	if (wait > most)
		(void)kettle_fail(&err, KETTLE_ERATE, "Discord limits %s for %s, which is longer than Kettle waits.",
			call->route.name, asked);
	else
		(void)kettle_fail(
			&err, KETTLE_ERATE, "Discord limits %s again and again (tries: %u).", call->route.name, call->limited);
	answer_error(call, &err);
}

void
answer_all(struct rest *rest, const struct kettle_error *err)
{
	for (int i = 0; i < ROUTE_CLASSES; i++)
		for (struct lane *lane; (lane = TAILQ_FIRST(&rest->lanes[i]));) {
			struct call *call = TAILQ_FIRST(&lane->calls);
			if (call->under_way) {
				rest->host->http_cancel(rest->host, call->http);
				rest->under_way[i]--;
				limits_answered(rest->limits, call->bucket, &call->route, NULL, call_now(rest));
			}
			answer_error(call, err);
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
	answer_all(rest, &err);
}

/* Counts answers that can make Discord ban the address. */
static void
count_invalid(struct rest *rest, const struct kettle_http_answer *answer)
{
	const char *scope = kettle_http_header(answer, "x-ratelimit-scope");
	bool limited = answer->status == 429 && !(scope && strcmp(scope, "shared") == 0);
	if (!limited && answer->status != 401 && answer->status != 403 && answer->status != 404)
		return;
	if (limits_invalid(rest->limits, call_now(rest)))
		rest->host->log(rest->host, KETTLE_LOG_ERROR,
			"Discord answered 401, 403, 404 or 429 to %u requests in 10 minutes: until these have passed only "
			"interactions are answered.",
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
		(void)kettle_fail(&failed, KETTLE_ENOENT, "The attachment is gone: attach it again.");
	else if (answer->status != 200)
		(void)kettle_fail(
			&failed, KETTLE_EUNAVAIL, "Discord answered %d in place of the attachment: try again.", answer->status);
	if (failed.code) {
		answer_error(call, &failed);
		return;
	}
	rest_download_fn got = call->got;
	void *arg = call->arg;
	call_remove(call);
	if (got)
		got(arg, &failed, answer->body, answer->body_size);
}

void
answer_take(struct call *call, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct rest *rest = call->rest;
	uint64_t now = call_now(rest);
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
			answer_error(call, err);
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
