/* SPDX-License-Identifier: MIT */
/* The meaning of answers of modal_app.py, and of Modal in its place. They are not trusted. */
#ifndef KETTLE_RUNNERS_MODAL_ANSWERS_H
#define KETTLE_RUNNERS_MODAL_ANSWERS_H

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>

#define MODAL_INTERFACE 1          /* of modal_app.py's paths */
#define ANSWER_MAX_JSON (4u << 20) /* bytes of a JSON answer */
#define ANSWER_MAX_NAME 100        /* bytes of a call's name */
#define ANSWER_MAX_DEVICES 100     /* in a health answer */

enum reply_kind {
	REPLY_ANSWERED, /* `status` says how */
	REPLY_REFUSED,  /* the credentials are refused */
	REPLY_SILENT,   /* no answer, or one that says "not now" */
	REPLY_GARBAGE,  /* an answer that no app gives */
};

/* The result of a request; borrowed. */
struct modal_reply {
	enum reply_kind kind;
	int status;         /* of ANSWERED: 200, 202, or one of 4xx with `json` */
	const json_t *json; /* an object; NULL: the body is no JSON, or in a file */
	const char *why;    /* a sentence, unless it is ANSWERED with 200 or 202 */
};

enum call_state {
	CALL_UNSAID, /* the answer has no state of it */
	CALL_LATER,  /* the app could not find out */
	CALL_STARTING,
	CALL_RUNNING,
	CALL_ENDED, /* it has a result, or a reason for having none */
};

/*
 * Judges an HTTP answer to a request to the app at this URL (without a slash at its end). ret_json holds the reply's
 * `json`, which the caller frees after it; ret_why holds its sentence.
 */
struct modal_reply answer_judge(
	const char *app_url, const struct kettle_http_answer *answer, json_t **ret_json, struct kettle_error *ret_why);
/* Likewise, if there was no answer; the sentence is err's. */
struct modal_reply answer_missing(const struct kettle_error *err);
/*
 * The name of a call in a 200 of this interface, fit for a path; borrowed from the reply. NULL: it has none, or the
 * reply is not such a 200, and *ret_why says what is wrong.
 */
const char *answer_call(const struct modal_reply *reply, const char **ret_why);
/* The state of the call in a poll's answer. */
enum call_state answer_state(const struct modal_reply *reply, const char *call);
/* Whether the app says that it does not know the job or call. A 404 of Modal itself means that there is no app. */
bool answer_unknown(const struct modal_reply *reply);
/* The answer of /health in one line: "kettle-exec 0.1.0; H100: 2 waiting, 1 running". New string. */
char *answer_health(const json_t *health);

#endif
