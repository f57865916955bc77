/* SPDX-License-Identifier: MIT */
/* What an operator wants to know of the remote side: `kettle device doctor`, `kettle runner status`. */
#include <config.h>

#include "runners/modal/inquiry.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/modal/api.h"
#include "runners/modal/calls.h"

#define DOCTOR_POLL_MS 1000

struct modal_inquiry {
	struct modal_inquiry *next;
	struct modal *modal;
	inquiry_fn done;
	void *arg;
	struct modal_request *request;
	struct kettle_timer *timer;
	char *path; /* of the doctor's result */
};

/* err->code below 0: it failed. */
static void
end_inquiry(struct modal_inquiry *inquiry, const struct kettle_error *err, json_t *answer)
{
	struct modal *modal = inquiry->modal;
	struct modal_inquiry **link = &modal->inquiries;
	while (*link != inquiry)
		link = &(*link)->next;
	*link = inquiry->next;
	api_cancel(inquiry->request);
	modal->host->timer_stop(modal->host, inquiry->timer);
	inquiry->done(inquiry->arg, err, err->code < 0 ? NULL : answer);
	free(inquiry->path);
	free(inquiry);
}

static void
fail(struct modal_inquiry *inquiry, const char *why)
{
	struct kettle_error err = {0};
	(void)kettle_fail(
		&err, KETTLE_EUNAVAIL, "%s", why ? why : "Modal answered with something that modal_app.py does not say.");
	end_inquiry(inquiry, &err, NULL);
}

static struct modal_inquiry *
begin(struct modal *modal, inquiry_fn done, void *arg)
{
	struct modal_inquiry *inquiry = xcalloc(1, sizeof(*inquiry));
	*inquiry = (struct modal_inquiry){.next = modal->inquiries, .modal = modal, .done = done, .arg = arg};
	modal->inquiries = inquiry;
	return inquiry;
}

/* The first request of one that was just begun; it is gone again if that fails. */
static int
send_first(struct modal_inquiry *inquiry, const char *path, const char *body, api_fn done, struct kettle_error *err)
{
	struct modal *modal = inquiry->modal;
	inquiry->request = api_send(modal, path, NULL, body, 0, ANSWER_MAX_JSON, NULL, done, inquiry, err);
	if (inquiry->request)
		return 0;
	modal->inquiries = inquiry->next;
	free(inquiry);
	return err->code;
}

void
inquiry_stop(struct modal *modal)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, KETTLE_ECANCELED, "The runner stops.");
	while (modal->inquiries)
		end_inquiry(modal->inquiries, &err, NULL);
}

/* ---- the doctor ---- */

static void ask_report(void *arg);

static void
wait_report(struct modal_inquiry *inquiry)
{
	struct modal *modal = inquiry->modal;
	struct kettle_error err = {0};
	if (modal->host->timer_start(modal->host, DOCTOR_POLL_MS, 0, ask_report, inquiry, &inquiry->timer, &err) < 0)
		end_inquiry(inquiry, &err, NULL);
}

static void
on_report(void *arg, const struct modal_reply *reply)
{
	struct modal_inquiry *inquiry = arg;
	const struct kettle_error none = {0};
	inquiry->request = NULL;
	if (reply->kind == REPLY_ANSWERED && reply->status == 202)
		wait_report(inquiry);
	else if (reply->kind == REPLY_ANSWERED && reply->status == 200 && reply->json)
		end_inquiry(inquiry, &none, (json_t *)reply->json);
	else
		fail(inquiry, reply->kind == REPLY_ANSWERED && reply->status == 200 ? NULL : reply->why);
}

static void
ask_report(void *arg)
{
	struct modal_inquiry *inquiry = arg;
	struct kettle_error err = {0};
	inquiry->timer = NULL;
	inquiry->request =
		api_send(inquiry->modal, inquiry->path, NULL, NULL, 0, ANSWER_MAX_JSON, NULL, on_report, inquiry, &err);
	if (!inquiry->request)
		end_inquiry(inquiry, &err, NULL);
}

static void
on_doctor(void *arg, const struct modal_reply *reply)
{
	struct modal_inquiry *inquiry = arg;
	const char *why;
	const char *name = answer_call(reply, &why);
	inquiry->request = NULL;
	if (!name) {
		fail(inquiry, why);
		return;
	}
	inquiry->path = xasprintf("/result/%s", name);
	wait_report(inquiry);
}

int
inquiry_doctor(struct modal *modal, const char *function, inquiry_fn done, void *arg, struct kettle_error *err)
{
	AUTO_FREE char *path = xasprintf("/doctor/%s", function);
	return send_first(begin(modal, done, arg), path, "", on_doctor, err);
}

/* ---- the queue ---- */

static void
on_health(void *arg, const struct modal_reply *reply)
{
	struct modal_inquiry *inquiry = arg;
	const struct kettle_error none = {0};
	inquiry->request = NULL;
	if (reply->kind != REPLY_ANSWERED || reply->status != 200 || !reply->json) {
		fail(inquiry, reply->kind == REPLY_ANSWERED && reply->status == 200 ? NULL : reply->why);
		return;
	}
	AUTO_JSON json_t *jobs = json_array();
	for (const struct remote_job *job = inquiry->modal->remote.jobs; job; job = job->next)
		if (job->phase != REMOTE_ENDED)
			json_array_append_new(jobs, json_pack("{s:s, s:s, s:s*}", "job", job->ref, "state",
											job->running ? "running" : "waiting", "where", calls_name(job)));
	AUTO_FREE char *text = answer_health(reply->json);
	AUTO_JSON json_t *answer = json_pack("{s:O, s:s}", "jobs", jobs, "text", text);
	end_inquiry(inquiry, &none, answer);
}

int
inquiry_status(struct modal *modal, inquiry_fn done, void *arg, struct kettle_error *err)
{
	return send_first(begin(modal, done, arg), "/health", NULL, on_health, err);
}
