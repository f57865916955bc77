/* SPDX-License-Identifier: MIT */
/*
 * The calls of KernelBot's HTTP API, as its existing clients make them and read their answers: its paths, forms, states
 * and errors. An error is {"detail": sentence}.
 */
#ifndef KETTLE_WEB_COMPAT_H
#define KETTLE_WEB_COMPAT_H

#include "http/form.h"
#include "web/visit/visit.h"

struct admin_call;

#define COMPAT_FILE_MAX 1000000     /* bytes of a submitted file */
#define COMPAT_FORM_MAX (64u << 10) /* bytes of the rest of a form */
#define COMPAT_JSON_MAX (64u << 10)
#define COMPAT_LIMIT_MS 25000 /* clients wait for 30 s or longer */
#define COMPAT_SEGMENTS 5

/* Answers {"detail": sentence} with this status. [any] */
void compat_refuse(struct http_request *request, unsigned status, const char *sentence);
/* The same for an error of a command; a `fail` of visits. */
void compat_fail(struct visit *visit, const struct kettle_error *err);
/* Begins a visit of the user whom the request's credential names, with the limit of clients. */
void compat_visit(struct web *web, struct http_request *request, visit_fn start, json_t *data_take);
/* The same, but without a credential it answers 401. */
void compat_visit_user(struct web *web, struct http_request *request, visit_fn start, json_t *data_take);
/*
 * visit_call of a command on the board that the visit's data names, as `leaderboard` or `name`, or in `args`: of a closed
 * one, clients are told 401 or 403, not 404.
 */
void compat_call_board(struct visit *visit, const char *command, json_t *args_take, visit_fn then);
/* Answers with a value and ends the visit. */
void compat_answer(struct visit *visit, unsigned status, const json_t *value);

/*
 * Whether the request has the admin's token of the configuration; else answers 401. Without such a token nobody has it.
 */
bool compat_is_admin(const struct web *web, struct http_request *request);
/*
 * The file of a form as arguments of `submit`, for the board, device and mode in the segments from `first` on: {"args"},
 * for /profile with "options", which the form's other parts say; or {"status", "wrong"}, for compat_upload_refused.
 */
json_t *compat_upload(const struct http_request *request, size_t first, bool is_profile);
/* Whether the upload of the visit's data is wrong; then answers with why. Who does not say who he is hears that first. */
bool compat_upload_refused(struct visit *visit);

/* A route: its method and its path, in which "*" is any segment; the first that fits counts. */
struct compat_route {
	enum http_method method;
	const char *path[COMPAT_SEGMENTS];
	size_t body_max;
	void (*handle)(struct web *web, struct http_request *request); /* on the server's thread */
	const struct admin_call *call;                                 /* in place of handle, see admin.c */
};

/* The route of a request; NULL: it has none. [any] */
const struct compat_route *compat_route_of(const struct http_request *request);
extern const struct compat_route compat_admin_routes[];
extern const size_t compat_admin_count;
/* Answers a request for a call of the operators. On the server's thread. */
void compat_admin(struct web *web, struct http_request *request, const struct admin_call *call);

/* The routes. Each handler is called on the server's thread. */
void compat_leaderboards(struct web *web, struct http_request *request);
void compat_gpus(struct web *web, struct http_request *request);
void compat_runner_queue(struct web *web, struct http_request *request);
void compat_ranking(struct web *web, struct http_request *request);
void compat_ranking_count(struct web *web, struct http_request *request);
void compat_join(struct web *web, struct http_request *request);
void compat_submit(struct web *web, struct http_request *request);
void compat_submissions(struct web *web, struct http_request *request);
void compat_submission(struct web *web, struct http_request *request);
void compat_submission_delete(struct web *web, struct http_request *request);
void compat_stream(struct web *web, struct http_request *request);
void compat_profile(struct web *web, struct http_request *request);
void compat_admin_submit(struct web *web, struct http_request *request);

/* Takes limit (at most limit_max) and offset of the query into args. The caller frees *ret_query, on errors too. EINVAL. */
int compat_take_page(const struct http_request *request, long long limit_max, json_t *args, struct query *ret_query,
	struct kettle_error *err);
/* A user as commands take it, of a number, #NUMBER or PROVIDER:SUBJECT. New reference. */
json_t *compat_user(const char *text);
/* A device's queue as clients read it, of a row of `device.list`; null: there is no such row. New reference. */
json_t *compat_queue(const json_t *devices, const char *name);

#endif
