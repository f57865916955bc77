/* SPDX-License-Identifier: MIT */
/* Answers to operators about a remote side: `kettle device doctor`, `kettle runner status`. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "runners/common/remote_internal.h"

int
remote_doctor(void *self, const json_t *unit, remote_done done, void *arg, struct kettle_error *err)
{
	struct remote *remote = self;
	unsigned char random[6];
	char name[] = "kettle-doctor-000000000000";
	int rc = remote->ops->check ? remote->ops->check(remote, err) : 0;
	if (rc == 0 && remote->ops->check_unit)
		rc = remote->ops->check_unit(remote, unit, err);
	if (rc == 0 && remote->stopping)
		rc = kettle_fail(err, KETTLE_EUNAVAIL, "The runner for %s is stopping.", remote->side);
	if (rc < 0)
		return rc;
	random_bytes(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(strrchr(name, '-') + 1 + 2 * i, 3, "%02x", random[i]);
	const struct kettle_job description = {.ref = "", .name = name, .device = "", .unit = unit};
	struct remote_job *job = remote_job_add(remote, &description, "", REMOTE_SENDING);
	job->handle = json_pack("{s:s, s:I}", "name", name, "at", (json_int_t)remote->host->utc_ms(remote->host));
	job->report = done;
	job->report_arg = arg;
	(void)remote->ops->begin(job);
	remote_wait(job, 0); /* callers expect no answer before this returns */
	return 0;
}

struct remote_inquiry *
remote_inquire(struct remote *remote, remote_done done, void *arg, void *own, void (*release)(void *own))
{
	struct remote_inquiry *inquiry = xcalloc(1, sizeof(*inquiry));
	*inquiry = (struct remote_inquiry){
		.next = remote->inquiries, .remote = remote, .done = done, .arg = arg, .own = own, .release = release};
	remote->inquiries = inquiry;
	return inquiry;
}

static void
answer(struct remote_inquiry *inquiry, const struct kettle_error *err, json_t *what)
{
	struct remote_inquiry **link = &inquiry->remote->inquiries;
	while (*link != inquiry)
		link = &(*link)->next;
	*link = inquiry->next;
	inquiry->done(inquiry->arg, err, what);
	inquiry->release(inquiry->own);
	free(inquiry);
}

void
remote_answer(struct remote_inquiry *inquiry, json_t *what, const char *why)
{
	struct kettle_error err = {0};
	if (!what)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s", why);
	answer(inquiry, &err, what);
}

void
remote_inquiries_end(struct remote *remote)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, KETTLE_ECANCELED, "The runner stops.");
	while (remote->inquiries)
		answer(remote->inquiries, &err, NULL);
}

json_t *
remote_list(const struct remote *remote, char *(*where)(const struct remote_job *job))
{
	json_t *list = json_array();
	for (const struct remote_job *job = remote->jobs; job; job = job->next) {
		if (job->phase >= REMOTE_ORPHANED || job->report)
			continue;
		AUTO_FREE char *place = where(job);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s*}", "job", job->ref, "state",
										job->running ? "running" : "waiting", "where", place));
	}
	return list;
}
