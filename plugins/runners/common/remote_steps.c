/* SPDX-License-Identifier: MIT */
/* Requests about jobs on a remote side, and the consequences of the answers. */
/*
 * Theory of operation. A job that is not being packed or opened either awaits an answer (`awaiting`) or is due at some
 * time. One timer runs to the earliest of these times. It sends the request of each job that is due, by its phase:
 * send, find, ask or fetch; or cancel if the job is cancelled. The answer takes the job to its next phase or makes it
 * due again, later with each failure, until it is lost. A job whose cancel took too long is completed and continues
 * here as ORPHANED.
 */
#include <config.h>

#include "runners/common/remote_internal.h"

#include "base/base.h"
#include "base/hash.h"

#define YOUNG_MS 30000 /* first period of waiting or running, with a look every POLL_YOUNG_MS */
#define POLL_YOUNG_MS 500
#define OLD_MS 600000 /* until this age a look every POLL_MS, */
#define POLL_MS 1000
#define POLL_PARTS 600     /* later every 600th of the age, */
#define POLL_MOST_MS 10000 /* but at least this often */
#define HALT_MS 200        /* between two tries to end the request of a cancelled job */
#define TOGETHER_MS 50     /* jobs that are due this soon are handled together */
#define MAX_URL 512        /* bytes */

static void on_due(void *arg);

/* Makes the timer run out at this time at the latest. */
static void
look_at(struct remote *remote, uint64_t at)
{
	const struct kettle_host *host = remote->host;
	struct kettle_error err = {0};
	uint64_t now = remote_now_ms(remote);
	if (remote->timer && remote->timer_at <= at)
		return;
	host->timer_stop(host, STEAL(remote->timer));
	remote->timer_at = at;
	if (host->timer_start(host, at > now ? at - now : 0, 0, on_due, remote, &remote->timer, &err) < 0)
		host->log(host, KETTLE_LOG_ERROR, "jobs are no longer checked: %s", err.message);
}

static void
set_due(struct remote_job *job, uint64_t at)
{
	job->due = at;
	look_at(job->remote, at);
}

static void
end_fetch(struct remote_job *job)
{
	if (!job->fetching)
		return;
	job->fetching = false;
	job->remote->fetches--;
	look_at(job->remote, remote_now_ms(job->remote)); /* another fetch may begin */
}

void
remote_await(struct remote_job *job)
{
	job->awaiting = true;
	job->due = UINT64_MAX;
}

static void
step(struct remote_job *job)
{
	const struct remote_ops *ops = job->remote->ops;
	remote_await(job);
	if (job->cancelled) {
		ops->cancel(job);
	} else if (job->is_status) {
		ops->status(job);
	} else if (job->phase == REMOTE_SENDING) {
		ops->send(job);
	} else if (job->phase == REMOTE_FINDING) {
		ops->find(job);
	} else if (job->phase == REMOTE_SUBMITTED) {
		ops->ask(job);
	} else {
		job->fetching = true;
		job->remote->fetches++;
		ops->fetch(job);
	}
}

static void
step_cancel(struct remote_job *job)
{
	const struct remote_ops *ops = job->remote->ops;
	if (job->awaiting && ops->halt && !ops->halt(job)) {
		set_due(job, remote_now_ms(job->remote) + HALT_MS); /* or earlier, with the answer */
		return;
	}
	end_fetch(job);
	job->failures = job->absent = 0;
	job->failing = 0;
	step(job);
}

void
remote_step_now(struct remote_job *job)
{
	job->cancelled ? step_cancel(job) : step(job);
	if (job->remote->ops->flush)
		job->remote->ops->flush(job->remote);
}

static bool
has_steps(const struct remote_job *job)
{
	return job->phase != REMOTE_PACKING && job->phase != REMOTE_OPENING && job->phase != REMOTE_CLOSED &&
		   job->due < UINT64_MAX;
}

static bool
has_to_wait(const struct remote_job *job)
{
	const struct remote *remote = job->remote;
	return job->phase == REMOTE_FETCHING && !job->cancelled && remote->pace.fetches &&
		   remote->fetches >= remote->pace.fetches;
}

static void
on_due(void *arg)
{
	struct remote *remote = arg;
	uint64_t until = remote_now_ms(remote) + TOGETHER_MS, first = UINT64_MAX;
	remote->timer = NULL;
	for (struct remote_job *job = remote->jobs, *next; job; job = next) {
		remote_job_hold(job);
		if (has_steps(job) && job->due <= until && !has_to_wait(job))
			job->awaiting ? step_cancel(job) : step(job);
		if (has_steps(job) && !has_to_wait(job) && job->due < first)
			first = job->due;
		next = job->next;
		remote_job_release(job);
	}
	if (remote->ops->flush)
		remote->ops->flush(remote);
	if (first < UINT64_MAX && remote->jobs)
		look_at(remote, first);
}

void
remote_step_end(struct remote_job *job)
{
	end_fetch(job);
	job->awaiting = false;
	job->due = UINT64_MAX;
}

void
remote_step_recover(struct remote_job *job)
{
	bool known = job->remote->ops->begin(job);
	if (job->phase == REMOTE_CLOSED)
		return;
	job->phase = known ? REMOTE_SUBMITTED : REMOTE_FINDING;
	job->since = remote_now_ms(job->remote);
	set_due(job, job->since); /* all recovered jobs together */
}

/* ---- answers of the remote side ---- */

static uint64_t
interval_ms(const struct remote_job *job, uint64_t now)
{
	uint64_t age = now - job->since, part = age / POLL_PARTS;
	if (job->remote->ops->interval_ms)
		return job->remote->ops->interval_ms(job, now);
	if (age < YOUNG_MS)
		return job->report ? POLL_MS : POLL_YOUNG_MS;
	return age < OLD_MS ? POLL_MS : part < POLL_MOST_MS ? part : POLL_MOST_MS;
}

void
remote_step_wait(struct remote_job *job)
{
	uint64_t now = remote_now_ms(job->remote);
	set_due(job, now + interval_ms(job, now));
}

static void
back_off(struct remote_job *job, unsigned failures)
{
	const struct remote_pace *pace = &job->remote->pace;
	set_due(job, remote_now_ms(job->remote) + remote_backoff_ms(failures, pace->first_ms, pace->most_ms));
}

static void
give_up(struct remote_job *job, uint64_t patience, const char *why)
{
	const struct remote *remote = job->remote;
	AUTO_FREE char *sentence = xasprintf(
		"The runner could not reach %s for %u s: %s", remote->side, (unsigned)(patience / 1000), why ? why : "");
	if (remote->ops->give_up) {
		remote_await(job);
		remote->ops->give_up(job, sentence);
	} else {
		remote_lost(job, KETTLE_LOSS_UNREACHED, "%s", sentence);
	}
}

/*
 * Handles a failed request. Refused credentials count from now, however long the operator takes: the job may exist
 * there.
 */
static void
take_failure(struct remote_job *job, enum remote_status status, const char *why)
{
	const struct remote *remote = job->remote;
	uint64_t now = remote_now_ms(remote), patience = remote->pace.quiet_ms;
	if (job->phase == REMOTE_SENDING)
		patience = remote->pace.send_ms;
	job->failures++;
	job->invalid_answers = status == REMOTE_INVALID ? job->invalid_answers + 1 : 0;
	if (!job->failing || status == REMOTE_DENIED)
		job->failing = now;
	if (job->report && job->phase == REMOTE_SENDING)
		remote_report(job, NULL, why); /* its caller waits */
	else if (remote->pace.invalid_answers && job->invalid_answers >= remote->pace.invalid_answers)
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "The runner could not use the answers of %s: %s", remote->side,
			why ? why : "");
	else if (now - job->failing >= patience)
		give_up(job, patience, why);
	else if (status == REMOTE_UNCERTAIN)
		set_due(job, now);
	else
		back_off(job, job->failures);
}

static void
take_absence(struct remote_job *job, const char *why)
{
	const struct remote_pace *pace = &job->remote->pace;
	uint64_t now = remote_now_ms(job->remote);
	bool finding = job->phase == REMOTE_FINDING;
	job->absent++;
	if (finding && pace->resend) {
		job->phase = REMOTE_SENDING;
		set_due(job, now);
	} else if (finding ? job->absent >= pace->finds : job->phase == REMOTE_FETCHING || job->absent >= pace->absent) {
		remote_lost(job, finding ? KETTLE_LOSS_NOT_STARTED : KETTLE_LOSS_UNKNOWN_JOB, "%s", why);
	} else if (finding) {
		set_due(job, now + interval_ms(job, now));
	} else {
		back_off(job, job->absent);
	}
}

/* Loses a job that has run for longer than its time. unheard: why the remote side's state is unknown, or NULL. */
static void
lose_overdue(struct remote_job *job, const char *unheard)
{
	if (unheard)
		remote_lost(job, KETTLE_LOSS_UNREACHED, "Its job in %s has exceeded its time limit, and %s", job->remote->side,
			unheard);
	else
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "%s did not end its job, which has exceeded its time limit.",
			job->remote->side);
}

static void
take_unended(struct remote_job *job, bool runs, const char *unheard)
{
	uint64_t now = remote_now_ms(job->remote);
	if (job->phase == REMOTE_SUBMITTED && job->running && job->most_ms && now - job->since > job->most_ms) {
		lose_overdue(job, unheard);
		return;
	}
	if (job->phase == REMOTE_FETCHING) {
		job->phase = REMOTE_SUBMITTED;
		take_failure(job, REMOTE_INVALID, "it reported that a job has ended, and later that it has not.");
		return;
	}
	if (job->phase == REMOTE_FINDING)
		job->absent++;
	else
		job->failing = job->failures = job->invalid_answers = job->absent = 0;
	if (runs && !job->running)
		job->since = now;
	set_due(job, now + interval_ms(job, now));
	if (runs)
		remote_running(job);
}

static void
take_status(struct remote_job *job, enum remote_status status, const char *why)
{
	switch (status) {
	case REMOTE_NO_ANSWER:
	case REMOTE_INVALID:
	case REMOTE_DENIED:
		take_failure(job, status, why);
		break;
	case REMOTE_UNCERTAIN:
		job->phase = REMOTE_FINDING;
		if (job->remote->pace.resend)
			take_failure(job, status, why);
		else
			set_due(job, remote_now_ms(job->remote));
		break;
	case REMOTE_ABSENT:
		take_absence(job, why);
		break;
	case REMOTE_PENDING:
	case REMOTE_RUNNING:
		take_unended(job, status == REMOTE_RUNNING, why);
		break;
	case REMOTE_ENDED:
	case REMOTE_RAN:
		job->failures = 0;
		job->failing = 0;
		job->phase = REMOTE_FETCHING;
		set_due(job, remote_now_ms(job->remote));
		if (status == REMOTE_RAN)
			remote_running(job);
		break;
	}
}

/*
 * Handles an answer about a cancelled job: cancel is repeated until the job is over or the remote side is silent for
 * too long.
 */
static void
take_status_of_cancelled(struct remote_job *job, enum remote_status status)
{
	const struct remote_pace *pace = &job->remote->pace;
	uint64_t now = remote_now_ms(job->remote);
	if (status == REMOTE_UNCERTAIN && job->phase == REMOTE_SENDING)
		job->phase = REMOTE_FINDING;
	bool failed = status == REMOTE_NO_ANSWER || status == REMOTE_INVALID || status == REMOTE_DENIED;
	if (failed && !job->failing)
		job->failing = now;
	else if (!failed)
		job->failing = 0;
	bool finding = job->phase == REMOTE_FINDING;
	if (status == REMOTE_ABSENT && ++job->absent < (finding ? pace->finds : pace->absent))
		set_due(job, now + interval_ms(job, now));
	else if (status == REMOTE_ABSENT || status == REMOTE_ENDED || status == REMOTE_RAN ||
			 (failed && now - job->failing >= pace->quiet_ms))
		remote_cancelled(job);
	else if (failed)
		back_off(job, ++job->failures);
	else
		set_due(job, status == REMOTE_UNCERTAIN ? now : now + interval_ms(job, now));
}

void
remote_update(struct remote_job *job, enum remote_status status, const char *why)
{
	if (!job->awaiting)
		return;
	remote_job_hold(job);
	job->awaiting = false;
	job->due = UINT64_MAX;
	end_fetch(job);
	if (job->cancelled)
		take_status_of_cancelled(job, status);
	else
		take_status(job, status, why);
	remote_job_release(job);
}

void
remote_wait(struct remote_job *job, uint64_t at_ms)
{
	job->awaiting = false;
	end_fetch(job);
	set_due(job, at_ms);
}

/* ---- for all runners ---- */

int
unit_capacity(const json_t *unit, int most, unsigned prefetch_default, unsigned *ret_slots, unsigned *ret_prefetch,
	struct kettle_error *err)
{
	json_int_t slots = json_object_get(unit, "slots") ? member_int(unit, "slots") : 1;
	json_int_t prefetch = json_object_get(unit, "prefetch") ? member_int(unit, "prefetch") : prefetch_default;
	if (slots < 1 || slots > most || prefetch < 0 || prefetch > most)
		return kettle_fail(err, KETTLE_EINVAL, "A unit must have 1 to %d slots and prefetch 0 to %d jobs.", most, most);
	*ret_slots = (unsigned)slots;
	*ret_prefetch = (unsigned)prefetch;
	return 0;
}

uint64_t
remote_now_ms(const struct remote *remote)
{
	return remote->host->monotonic_ms(remote->host);
}

char *
remote_url(const char *text)
{
	static const char *const own[] = {"http://127.0.0.1", "http://[::1]", "http://localhost"};
	bool fits = strncmp(text, "https://", 8) == 0 && text[8] && text[8] != '/';
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		size_t size = strlen(own[i]);
		fits = fits || (strncmp(text, own[i], size) == 0 && (!text[size] || strchr(":/", text[size])));
	}
	size_t size = strlen(text);
	if (!fits || size > MAX_URL || strpbrk(text, " ?#@\\"))
		return NULL;
	while (text[size - 1] == '/')
		size--;
	return xstrndup(text, size);
}

uint64_t
remote_backoff_ms(unsigned failures, uint64_t first_ms, uint64_t most_ms)
{
	uint64_t span = first_ms;
	uint32_t bits;
	for (unsigned i = 1; i < failures && span < most_ms; i++)
		span *= 2;
	if (span > most_ms)
		span = most_ms;
	random_bytes(&bits, sizeof(bits));
	return span / 2 + bits % (span / 2 + 1);
}
