/* SPDX-License-Identifier: MIT */
/* What answers of modal_app.py, and of Modal in its place, mean. They are not trusted. */
#ifndef KETTLE_RUNNERS_MODAL_ANSWERS_H
#define KETTLE_RUNNERS_MODAL_ANSWERS_H

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>

#define MODAL_INTERFACE 1          /* of modal_app.py's paths */
#define ANSWER_MAX_JSON (4u << 20) /* bytes of one that is JSON */
#define ANSWER_MAX_NAME 100        /* bytes of a call's name */
#define ANSWER_MAX_DEVICES 100     /* that health lists */

enum reply_kind {
	REPLY_ANSWERED, /* status says what */
	REPLY_REFUSED,  /* the credentials were not taken */
	REPLY_SILENT,   /* there was no answer, or one that says "not now" */
	REPLY_GARBAGE,  /* there was one that no app gives */
};

/* What a request came to; borrowed. */
struct modal_reply {
	enum reply_kind kind;
	int status;         /* of ANSWERED: 200, 202, or one of 4xx with `json` */
	const json_t *json; /* an object; NULL: the body is no JSON, or in a file */
	const char *why;    /* a sentence, unless it is ANSWERED with 200 or 202 */
};

enum call_state {
	CALL_UNSAID, /* the answer does not say */
	CALL_LATER,  /* the app could not find out */
	CALL_STARTING,
	CALL_RUNNING,
	CALL_ENDED, /* its result is there, or the reason why there is none */
};

/*
 * What an answer of HTTP means to a request to the app at this URL (without a slash at its end). ret_json holds json of the reply,
 * which the caller frees after it; ret_why holds its sentence.
 */
struct modal_reply answer_judge(
	const char *app_url, const struct kettle_http_answer *answer, json_t **ret_json, struct kettle_error *ret_why);
/* The same where there was no answer; the sentence is that of err. */
struct modal_reply answer_missing(const struct kettle_error *err);
/* One of kind GARBAGE with this sentence. */
struct modal_reply answer_garbage(const char *why);
/*
 * The name of a call, which fits into a path, of a 200 of this interface; borrowed from the reply. NULL: it has none, and
 * *ret_why says what is wrong, also where the reply is something else than that.
 */
const char *answer_call(const struct modal_reply *reply, const char **ret_why);
/* What a poll says of the call. */
enum call_state answer_state(const struct modal_reply *reply, const char *call);
/* Whether the app says that it does not know the job or call: a 404 of Modal itself says that there is no app. */
bool answer_unknown(const struct modal_reply *reply);
/* What /health says, in one line: "kettle-exec 0.1.0; H100: 2 waiting, 1 running". New string. */
char *answer_health(const json_t *health);

#endif
