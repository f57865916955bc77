/* SPDX-License-Identifier: MIT */
/*
 * The calls of KernelBot's HTTP API, as its existing clients make them and read their answers: its paths, forms, states
 * and errors. An error is {"detail": sentence}.
 */
#pragma once

#include "http/form.h"
#include "web/visit/visit.h"

/* Whether a request is for this API; then answers it. On the server's thread. */
bool compat_request(struct web *web, struct http_request *request);
/* The most bytes of body that a request may have; 0: none, or it is not for this API. */
size_t compat_body_max(const struct http_request *request);

#define COMPAT_FILE_MAX 1000000     /* bytes of a submitted file */
#define COMPAT_FORM_MAX (64u << 10) /* bytes of the rest of a form */
#define COMPAT_JSON_MAX (64u << 10)
#define COMPAT_LIMIT_MS 25000 /* clients wait for 30 s or longer */
#define COMPAT_SEGMENTS 5
#define COMPAT_FIELDS 7 /* of a row, with its end */

/* ---- calls ---- */

enum compat_who {
	COMPAT_ADMIN,          /* who has the admin's token of the configuration; acts as the frontend */
	COMPAT_ADMIN_FOR_USER, /* the same for the user of a credential, who has an admin's rights then */
	COMPAT_USER,           /* the user of a credential; 401 without one */
	COMPAT_ANYBODY,        /* the same; without a credential, the anonymous actor */
	COMPAT_NOBODY,         /* no credential is looked at */
};

/* A member of a command's arguments or of an answer, and where it comes from. */
struct compat_field {
	const char *to;
	enum {
		FROM_PATH = 1, /* segment number `key`, from 0 */
		FROM_ID,       /* the same, a number above 0 */
		FROM_USER,     /* the same, a user: #NUMBER, a number, or PROVIDER:SUBJECT */
		FROM_QUERY,
		FROM_NUMBER, /* of the query */
		FROM_FLAG,   /* of the query */
		FROM_BODY,
		FROM_RESULT, /* of the command */
		FROM_TRUE,
		FROM_FALSE,
	} from;
	const char *key;
	const char *fallback; /* text or number where it is absent */
	const char *option;   /* of the configuration, whose value is the fallback; or NULL */
	bool is_needed;
};

struct compat_call {
	const char *command; /* NULL: `then` begins */
	enum compat_who who;
	unsigned upload; /* the body is a form with a file, for the board in this segment, from 1; 0: it is JSON */
	bool is_profile; /* the form is one of /profile */
	struct compat_field args[COMPAT_FIELDS], answer[COMPAT_FIELDS];
	visit_fn then;      /* goes on, in place of `answer` */
	visit_fail_fn fail; /* in place of compat_fail */
	uint64_t limit_ms;  /* in place of COMPAT_LIMIT_MS */
	struct {
		unsigned status;
		const char *sentence;
	} refusal; /* of a thing that does not exist */
};

/* A route: its method and its path, in which "*" is any segment; the first that fits counts. */
struct compat_route {
	enum http_method method;
	const char *path[COMPAT_SEGMENTS];
	const struct compat_call *call;
};
#define COMPAT_CALL(...) \
	&(const struct compat_call) \
	{ \
		__VA_ARGS__ \
	}

extern const struct compat_route compat_admin_routes[];
extern const size_t compat_admin_count;
/* Makes a call, which is `about` of its visit. On the server's thread. */
void compat_request_call(struct web *web, struct http_request *request, const struct compat_call *call);
/*
 * visit_call with the rights of the visit's call. Of a closed board, which the
 * arguments name as `leaderboard` or `name`, clients are told 401 or 403, not 404.
 */
void compat_command(struct visit *visit, const char *command, json_t *args_take, visit_fn then);
/* A user as commands take it, of a number, #NUMBER or PROVIDER:SUBJECT. New reference. */
json_t *compat_user(const char *text);

/* ---- answers ---- */

/* Answers {"detail": sentence} with this status. [any] */
void compat_refuse(struct http_request *request, unsigned status, const char *sentence);
/* The same for an error of a command; a `fail` of visits. */
void compat_fail(struct visit *visit, const struct kettle_error *err);
/* Answers with a value and ends the visit. */
void compat_answer(struct visit *visit, unsigned status, json_t *value_take);

/* Answers with what the call's row says of the last command's result; a `then`. */
void compat_answer_row(struct visit *visit, json_t *result);
/* The user's credential of a request; NULL: there is none. */
const char *compat_credential(const struct http_request *request);
/*
 * Whether the request has the admin's token of the configuration; else answers 401. If the configuration has none, every request is refused.
 */
bool compat_is_admin(const struct web *web, struct http_request *request);
/* A device's queue as clients read it, of a row of `device.list`; null: there is no such row. New reference. */
json_t *compat_queue(const json_t *devices, const char *name);

/* The state of a request between its calls. */
void compat_answer_leaderboards(struct visit *visit, json_t *boards);
void compat_answer_gpus(struct visit *visit, json_t *result);
void compat_answer_queue(struct visit *visit, json_t *devices);
void compat_answer_ranking(struct visit *visit, json_t *result);
void compat_count_ranking(struct visit *visit, json_t *result);
void compat_fail_join(struct visit *visit, const struct kettle_error *err);
void compat_accepted(struct visit *visit, json_t *submission);
void compat_follow(struct visit *visit, json_t *submission);
void compat_fail_profile(struct visit *visit, const struct kettle_error *err);
void compat_answer_submissions(struct visit *visit, json_t *rows);
void compat_show_submission(struct visit *visit, json_t *submission);
