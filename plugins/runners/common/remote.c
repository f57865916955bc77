/* SPDX-License-Identifier: MIT */
/* Jobs on a remote side that outlives the engine. */
/*
 * Theory of operation. A job is PACKING until a thread of the pool has sealed its plan and the database has its
 * handle. Only then ops->send is called, so after a crash at any moment the job is either not sent or can be found by
 * its name. remote_steps.c handles everything between the handle and the result; remote_result.c opens the result. A
 * job that has ended leaves the table at once. It is freed when no answer refers to it any more, unless the runner
 * must still remove what is left of it on the remote side.
 */
#include <config.h>

#include "runners/common/remote_internal.h"

#include <search.h>
#include <stdarg.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/text.h"
#include "runners/common/exec_client.h"

#define MAX_SLOTS 10000

/* ---- the table ---- */

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const struct remote_job *)a)->name, ((const struct remote_job *)b)->name);
}

static int
compare_refs(const void *a, const void *b)
{
	return strcmp(((const struct remote_job *)a)->ref, ((const struct remote_job *)b)->ref);
}

struct remote_job *
remote_find(const struct remote *remote, const char *ref)
{
	struct remote_job wanted = {.ref = (char *)ref};
	void *node = tfind(&wanted, (void *const *)&remote->by_ref, compare_refs);
	return node ? *(struct remote_job **)node : NULL;
}

struct remote_job *
remote_find_name(const struct remote *remote, const char *name)
{
	struct remote_job wanted = {.name = (char *)name};
	void *node = tfind(&wanted, (void *const *)&remote->by_name, compare_names);
	return node ? *(struct remote_job **)node : NULL;
}

static void
free_job(struct remote_job *job)
{
	explicit_bzero(job->key, sizeof(job->key));
	explicit_bzero(job->second_key, sizeof(job->second_key));
	json_decref_all(job->unit, job->handle);
	free_all(job->ref, job->name, job->spool, job->envelope, job->whole, job->run, job);
}

void
remote_stopped(struct remote *remote)
{
	kettle_fn stopped = STEAL(remote->stopped);
	remote->ended = false;
	stopped(remote->stopped_arg);
}

static void
tell_stopped(void *arg)
{
	struct remote *remote = arg;
	remote->ended = true;
	if (!remote->ops->end || remote->ops->end(remote))
		remote_stopped(remote);
}

/*
 * Calls back from the loop: the last job may have ended in a callback of the runner, which still uses memory that a
 * stop frees.
 */
static void
finish_stop(struct remote *remote)
{
	if (!remote->stopped || remote->finished || remote->jobs)
		return;
	remote->finished = true;
	remote->host->timer_stop(remote->host, STEAL(remote->stop_timer));
	remote->host->timer_stop(remote->host, STEAL(remote->timer));
	if (remote->host->post(remote->host, tell_stopped, remote) < 0)
		tell_stopped(remote);
}

void
remote_job_hold(struct remote_job *job)
{
	job->busy++;
}

void
remote_job_release(struct remote_job *job)
{
	struct remote *remote = job->remote;
	if (--job->busy > 0 || job->phase != REMOTE_CLOSED)
		return;
	LIST_REMOVE(remote->jobs, job);
	free_job(job);
	finish_stop(remote);
}

static void
leave(struct remote_job *job)
{
	struct remote *remote = job->remote;
	remote->host->timer_stop(remote->host, STEAL(job->limit));
	if (job->phase == REMOTE_ORPHANED || job->report)
		return;
	(void)tdelete(job, &remote->by_ref, compare_refs);
	remote->count--;
}

/* Ends the part that is under way on the remote side. */
static void
leave_name(struct remote_job *job)
{
	(void)tdelete(job, &job->remote->by_name, compare_names);
	job->remote->ops->release(job);
	free_all(STEAL(job->envelope), STEAL(job->whole));
}

static void
free_own(struct remote_job *job)
{
	job->phase = REMOTE_CLOSED;
	leave_name(job);
}

static bool
remains(struct remote_job *job)
{
	const struct remote *remote = job->remote;
	return job->phase != REMOTE_ORPHANED && !job->detached && !remote->stopping && remote->ops->remains &&
		   remote->ops->remains(job);
}

void
remote_job_end(struct remote_job *job, json_t *completion_take)
{
	struct remote *remote = job->remote;
	if (job->phase == REMOTE_CLOSED) {
		json_decref(completion_take);
		return;
	}
	remote_job_hold(job);
	remote_step_end(job);
	leave(job);
	bool forgets = job->part != REMOTE_WHOLE && job->phase != REMOTE_ORPHANED && !job->detached;
	if (remains(job)) {
		job->phase = REMOTE_ORPHANED;
		job->cancelled = true;
		remote_step_wait(job);
	} else {
		free_own(job);
	}
	if (completion_take)
		remote->host->job_done(remote->host, job->ref, completion_take);
	if (forgets)
		remote_parts_forget(job);
	remote_job_release(job);
}

/* Has the job found by its name, which its key depends on. */
static void
enter_name(struct remote_job *job, char *name_take)
{
	free(job->name);
	job->name = name_take;
	sealed_key_derive(job->remote->key, job->name, job->key);
	if (!tsearch(job, &job->remote->by_name, compare_names))
		abort(); /* out of memory */
}

static struct remote_job *
add_job(struct remote *remote, const struct kettle_job *description, const char *plan_hash, enum remote_phase phase)
{
	struct remote_job *job = xcalloc(1, sizeof(*job)), *before = remote_find_name(remote, description->name);
	if (before) { /* an ORPHANED job that is recovered again */
		before->detached = true;
		remote_job_end(before, NULL);
	}
	job->remote = remote;
	job->ref = xstrdup(description->ref);
	job->spool = description->spool ? xstrdup(description->spool) : NULL;
	job->deadline_ms = description->deadline_ms;
	job->unit = json_deep_copy(description->unit);
	job->phase = phase;
	(void)snprintf(job->plan_hash, sizeof(job->plan_hash), "%s", plan_hash);
	enter_name(job, xstrdup(description->name));
	job->due = UINT64_MAX;
	job->next = remote->jobs;
	remote->jobs = job;
	bool is_counted = job->ref[0]; /* a doctor has no reference */
	if (is_counted && !tsearch(job, &remote->by_ref, compare_refs))
		abort(); /* out of memory */
	remote->count += is_counted;
	return job;
}

static void
answer_report(struct remote_job *job, const struct kettle_error *err, json_t *report)
{
	remote_job_hold(job);
	remote_job_end(job, NULL);
	STEAL(job->report)(job->report_arg, err, report);
	remote_job_release(job);
}

void
remote_report(struct remote_job *job, json_t *report, const char *why)
{
	struct kettle_error err = {0};
	if (job->phase >= REMOTE_ORPHANED)
		return;
	if (!report)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s", why);
	answer_report(job, &err, report);
}

static void
end_cancelled(struct remote_job *job)
{
	remote_job_end(job, job->phase == REMOTE_ORPHANED ? NULL : json_pack("{s:s}", "status", "cancelled"));
}

/* Completes the job, and still cancels what is left of it on the remote side. */
static void
orphan(struct remote_job *job)
{
	const struct remote *remote = job->remote;
	leave(job);
	job->phase = REMOTE_ORPHANED;
	remote->host->job_done(remote->host, job->ref, json_pack("{s:s}", "status", "cancelled"));
	if (job->part != REMOTE_WHOLE)
		remote_parts_forget(job);
}

/* New reference. */
static json_t *
lost(enum kettle_loss loss, const char *why)
{
	AUTO_BUF struct buf clean = {0};
	(void)utf8_sanitize(why, strlen(why), &clean); /* may quote the remote side */
	return exec_client_lost(loss, clean.data ? clean.data : "");
}

static void
report(struct remote_job *job, const char *name)
{
	AUTO_JSON json_t *event = json_pack("{s:s, s:s}", "event", name, "job", job->ref);
	if (job->part == REMOTE_FIRST && strcmp(name, "started") == 0)
		json_object_set_new(event, "elsewhere", json_true());
	job->remote->host->job_event(job->remote->host, job->ref, event);
}

/* ---- cancelling ---- */

static void
on_cancel_late(void *arg)
{
	struct remote_job *job = arg;
	job->limit = NULL;
	job->remote->host->log(job->remote->host, KETTLE_LOG_WARNING,
		"job %s is given up: %s did not report its end in time", job->ref, job->remote->side);
	bool goes_on = job->phase != REMOTE_PACKING && job->phase != REMOTE_OPENING && !job->remote->stopping;
	if (goes_on)
		orphan(job);
	else
		end_cancelled(job);
}

static void
cancel(struct remote_job *job)
{
	const struct kettle_host *host = job->remote->host;
	struct kettle_error err = {0};
	if (job->report) {
		(void)kettle_fail(&err, KETTLE_ECANCELED, "The runner stops.");
		answer_report(job, &err, NULL);
		return;
	}
	if (job->phase == REMOTE_ORPHANED)
		remote_job_end(job, NULL); /* the runner stops */
	if (job->cancelled)
		return;
	failpoint("remote.cancel");
	job->cancelled = true;
	remote_job_hold(job);
	if (host->timer_start(host, REMOTE_CANCEL_MS, 0, on_cancel_late, job, &job->limit, &err) < 0)
		end_cancelled(job);
	/* A job that is being packed or opened is completed when that ends. */
	if (job->phase != REMOTE_PACKING && job->phase != REMOTE_OPENING && job->phase != REMOTE_CLOSED)
		remote_step_now(job);
	remote_job_release(job);
}

/* ---- the plugin's life ---- */

void
remote_init(
	struct remote *remote, const struct kettle_host *host, const struct remote_ops *ops, const char *side, void *self)
{
	*remote = (struct remote){.host = host, .ops = ops, .side = side, .self = self};
}

int
remote_configure(struct remote *remote, const json_t *section, struct kettle_error *err)
{
	const char *key = json_text_or_null(section, "key");
	json_decref(remote->init_section);
	remote->init_section = json_pack("{s:O*}", "exec_archive", json_object_get(section, "exec_archive"));
	remote->has_key = key != NULL;
	int rc = key ? sealed_key_parse(key, remote->key, err) : 0;
	return rc < 0 ? kettle_blame(err, KETTLE_CAUSE_NONE, "key", rc) : 0;
}

int
remote_start(void *self, struct kettle_error *err)
{
	struct remote *remote = self;
	(void)err;
	remote->stopping = remote->ended = false;
	remote->stopped = NULL;
	return 0;
}

/* The hold also protects the remote: the callback for the last job may end it. */
void
remote_each(struct remote *remote, void (*fn)(struct remote_job *job, void *arg), void *arg)
{
	for (struct remote_job *job = remote->jobs, *next; job; job = next) {
		remote_job_hold(job);
		if (job->phase != REMOTE_CLOSED)
			fn(job, arg);
		next = job->next;
		remote_job_release(job);
	}
}

static void
end_job(struct remote_job *job, void *arg)
{
	(void)arg;
	end_cancelled(job);
}

static void
cancel_job(struct remote_job *job, void *arg)
{
	(void)arg;
	cancel(job);
}

/* Ends all jobs that are left: there is nothing left to report the remote side's answers to. */
static void
on_stop_late(void *arg)
{
	struct remote *remote = arg;
	remote->stop_timer = NULL;
	remote_each(remote, end_job, NULL);
}

void
remote_stop(void *self, kettle_fn done, void *arg)
{
	struct remote *remote = self;
	struct kettle_error err = {0};
	remote->stopping = true;
	remote->finished = remote->ended = false;
	remote->stopped = done;
	remote->stopped_arg = arg;
	remote_each(remote, cancel_job, NULL);
	if (remote->stopped && remote->jobs &&
		remote->host->timer_start(remote->host, REMOTE_STOP_MS, 0, on_stop_late, remote, &remote->stop_timer, &err) < 0)
		on_stop_late(remote);
	finish_stop(remote);
}

void
remote_close(struct remote *remote)
{
	json_decref(remote->init_section);
	explicit_bzero(remote->key, sizeof(remote->key));
}

/* ---- sending ---- */

static void
on_stored(void *arg, const struct kettle_error *err, json_t *result)
{
	struct remote_job *job = arg;
	(void)result;
	if (err->code < 0 && job->phase != REMOTE_CLOSED && err->code != KETTLE_ECANCELED)
		job->remote->host->log(job->remote->host, KETTLE_LOG_WARNING, "the handle of job %s could not be stored: %s",
			job->ref, err->message);
	remote_job_release(job);
}

static void
on_new_stored(void *arg, const struct kettle_error *err, json_t *result)
{
	struct remote_job *job = arg;
	(void)result;
	if (job->phase != REMOTE_PACKING) {
		; /* it has ended meanwhile */
	} else if (job->cancelled) {
		end_cancelled(job);
	} else if (err->code < 0) {
		remote_lost(job, KETTLE_LOSS_NOT_STARTED, "Its handle could not be stored: %s", err->message);
	} else {
		failpoint("remote.stored");
		job->phase = REMOTE_SENDING;
		job->since = remote_now_ms(job->remote);
		if (job->part == REMOTE_SECOND)
			remote_parts_forget(job);
		(void)job->remote->ops->begin(job);
		if (job->phase == REMOTE_SENDING)
			remote_step_now(job);
	}
	remote_job_release(job);
}

static void
store(struct remote_job *job, kettle_answer stored)
{
	const struct kettle_host *host = job->remote->host;
	if (job->phase >= REMOTE_ORPHANED || job->report)
		return;
	AUTO_FREE char *text = json_dumps(job->handle, JSON_COMPACT);
	remote_job_hold(job);
	if (host->job_handle(host, job->ref, text, stored, job) == 0)
		return;
	const struct kettle_error err = {.code = KETTLE_EUNAVAIL, .message = "the engine does not know the job."};
	stored(job, &err, NULL);
}

void
remote_store(struct remote_job *job)
{
	store(job, on_stored);
}

/* Stores the handle of a part, and then sends it; answers about handles of the part before may come still. */
static void
store_new(struct remote_job *job)
{
	json_object_set_new(job->handle, "at", json_integer(job->remote->host->utc_ms(job->remote->host)));
	store(job, on_new_stored);
}

static void
on_packed(void *arg)
{
	struct remote_packing *packing = arg;
	struct remote_job *job = packing->job;
	if (job->phase == REMOTE_PACKING && job->cancelled) {
		end_cancelled(job);
	} else if (job->phase == REMOTE_PACKING && packing->unkept) {
		remote_lost(job, KETTLE_LOSS_NOT_STARTED, "Its plan cannot be kept while it builds: %s", packing->err.message);
	} else if (job->phase == REMOTE_PACKING && packing->err.code < 0) {
		/* OpenSSL would refuse every plan like this one. */
		remote_lost(job, packing->err.code == KETTLE_EINTERNAL ? KETTLE_LOSS_MISCONFIGURED : KETTLE_LOSS_PERMANENT,
			"Its plan cannot be sealed: %s", packing->err.message);
	} else if (job->phase == REMOTE_PACKING) {
		failpoint("remote.packed");
		job->envelope = STEAL(packing->envelope);
		job->envelope_size = packing->envelope_size;
		store_new(job);
	} else if (job->part == REMOTE_FIRST && !job->detached) { /* completed meanwhile */
		remote_parts_forget(job);
	}
	remote_packing_free(packing);
	remote_job_release(job);
}

void
remote_begin_second(struct remote_job *job, struct remote_second *second)
{
	char *name = remote_parts_name(job);
	bool whole = !second->envelope;
	remote_job_hold(job);
	job->phase = REMOTE_PACKING;
	leave_name(job);
	enter_name(job, name);
	json_decref_all(job->unit, job->handle);
	job->unit = STEAL(second->unit);
	job->handle = json_pack("{s:s}", "name", job->name);
	job->envelope = whole ? STEAL(second->whole) : STEAL(second->envelope);
	job->envelope_size = whole ? second->whole_size : second->envelope_size;
	job->whole = STEAL(second->whole);
	job->whole_size = second->whole_size;
	free(STEAL(job->run));
	job->part = REMOTE_SECOND;
	job->running = false;
	job->failures = job->invalid_answers = job->absent = job->unread = 0;
	job->failing = job->most_ms = 0;
	if (whole)
		remote_parts_again(job, "what it has built is too large, or did not come back");
	report(job, "waiting"); /* may lead to a cancel */
	if (job->phase == REMOTE_PACKING)
		store_new(job);
	remote_job_release(job);
}

/* The hash that `recover` gets. */
static void
hash_plan(const json_t *plan, char ret_hash[65])
{
	AUTO_FREE char *text = json_dumps(plan, JSON_COMPACT | JSON_SORT_KEYS);
	sha256_hex(text, strlen(text), ret_hash);
}

int
remote_check(void *self, struct kettle_error *err)
{
	struct remote *remote = self;
	struct kettle_error own = {0};
	int rc = remote->ops->check ? remote->ops->check(remote, &own) : 0;
	if (!remote->has_key)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"%s%sThe runner for %s has no key to seal plans with: name one with `key_env` or `key_file`.", own.message,
			rc < 0 ? " " : "", remote->side);
	return rc < 0 ? kettle_fail(err, rc, "%s", own.message) : 0;
}

static int
check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err)
{
	AUTO_JSON json_t *first = NULL;
	struct kettle_error own = {0};
	int rc = remote->ops->check_unit ? remote->ops->check_unit(remote, unit, err) : 0;
	if (rc == 0)
		rc = remote_parts_unit(remote, unit, &first, err);
	if (rc == 0 && first && remote->ops->check_unit && remote->ops->check_unit(remote, first, &own) < 0)
		rc = kettle_fail(err, own.code, "In `build` of a unit: %s", own.message);
	return rc;
}

/* first_unit: of its first part, which the job is in; NULL: it is in its second one, or has no parts. */
static struct remote_job *
add_part(struct remote *remote, const struct kettle_job *description, const char *plan_hash, enum remote_phase phase,
	const json_t *first_unit)
{
	if (!first_unit)
		return add_job(remote, description, plan_hash, phase);
	AUTO_FREE char *name = xasprintf("%s" REMOTE_BUILD, description->name);
	struct kettle_job first = *description;
	first.name = name;
	first.unit = first_unit;
	struct remote_job *job = add_job(remote, &first, plan_hash, phase);
	job->part = REMOTE_FIRST;
	sealed_key_derive(remote->key, description->name, job->second_key);
	return job;
}

int
remote_submit(void *self, const struct kettle_job *description, const json_t *plan, struct kettle_error *err)
{
	struct remote *remote = self;
	char hash[65];
	if (remote->stopping)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner for %s is stopping.", remote->side);
	if (remote_check(remote, err) < 0) {
		remote->host->job_done(remote->host, description->ref, lost(KETTLE_LOSS_MISCONFIGURED, err->message));
		return 0;
	}
	int rc = check_unit(remote, description->unit, err);
	if (rc < 0)
		return rc;
	if (description->plan_hash)
		(void)snprintf(hash, sizeof(hash), "%s", description->plan_hash);
	else
		hash_plan(plan, hash);
	AUTO_JSON json_t *unit = NULL;
	if (description->spool)
		(void)remote_parts_unit(remote, description->unit, &unit, NULL); /* it is checked */
	struct remote_packing *packing = remote_packing_new(description->unit, plan, unit);
	struct remote_job *job = packing->job =
		add_part(remote, description, hash, REMOTE_PACKING, packing->first ? unit : NULL);
	/* The part under way stays where it is, whatever becomes of the configuration. */
	job->handle = json_pack(
		"{s:s, s:O*}", "name", job->name, "build", job->part == REMOTE_FIRST ? json_object_get(unit, "options") : NULL);
	job->busy = 1;
	rc = remote->host->work(remote->host, remote_pack, on_packed, packing, err);
	if (rc < 0) {
		remote_packing_free(packing);
		remote_job_end(job, NULL);
		remote_job_release(job);
		return rc;
	}
	report(job, "waiting"); /* may lead to a cancel */
	return 0;
}

int
remote_recover(void *self, const struct kettle_job *description, const char *handle, struct kettle_error *err)
{
	struct remote *remote = self;
	AUTO_JSON json_t *stored = json_loads(handle, 0, NULL);
	if (remote_check(remote, err) < 0)
		return err->code;
	AUTO_FREE char *first_name = xasprintf("%s" REMOTE_BUILD, description->name);
	bool building = member_is(stored, "name", first_name);
	AUTO_JSON json_t *unit = building ? remote_parts_place(description->unit, json_object_get(stored, "build")) : NULL;
	if ((!building && !member_is(stored, "name", description->name)) || !description->plan_hash ||
		strlen(description->plan_hash) != 64)
		return kettle_fail(err, KETTLE_ENOENT, "Its handle is not one of this runner and database.");
	if (building && (!description->spool || !unit))
		return kettle_fail(err, KETTLE_ENOENT, "It builds in another place, and its handle does not say in which one.");
	struct remote_job *job = add_part(remote, description, description->plan_hash, REMOTE_SUBMITTED, unit);
	job->handle = STEAL(stored);
	failpoint("remote.recover");
	remote_job_hold(job);
	report(job, "waiting");
	if (job->phase == REMOTE_SUBMITTED)
		remote_step_recover(job);
	remote_job_release(job);
	return 0;
}

/* ---- the other operations of the table ---- */

void
remote_cancel(void *self, const char *ref)
{
	struct remote_job *job = remote_find(self, ref);
	if (job)
		cancel(job);
}

void
remote_detach(void *self, const char *ref)
{
	struct remote_job *job = remote_find(self, ref);
	if (job) {
		job->detached = true;
		remote_job_end(job, NULL);
	}
}

int
remote_capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	int rc = check_unit(self, unit, err);
	return rc < 0 ? rc : unit_capacity(unit, MAX_SLOTS, 0, ret_slots, ret_prefetch, err);
}

int
remote_run_init(void *self, const json_t *args, kettle_answer done, void *arg, struct kettle_error *err)
{
	const struct remote *remote = self;
	return init_run(remote->host, remote->init_section, args, remote->ops->write_files, done, arg, err);
}

/* ---- doctors and statuses ---- */

static int
inquire(
	struct remote *remote, const json_t *unit, bool is_status, kettle_answer done, void *arg, struct kettle_error *err)
{
	unsigned char random[6];
	char name[] = "kettle-doctor-000000000000";
	int rc = remote->ops->check ? remote->ops->check(remote, err) : 0;
	if (rc == 0 && !is_status)
		rc = check_unit(remote, unit, err);
	if (rc == 0 && remote->stopping)
		rc = kettle_fail(err, KETTLE_EUNAVAIL, "The runner for %s is stopping.", remote->side);
	if (rc < 0)
		return rc;
	random_bytes(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(strrchr(name, '-') + 1 + 2 * i, 3, "%02x", random[i]);
	const struct kettle_job description = {.ref = "", .name = name, .device = "", .unit = unit};
	struct remote_job *job = add_job(remote, &description, "", REMOTE_SENDING);
	job->handle = json_pack("{s:s, s:I}", "name", name, "at", (json_int_t)remote->host->utc_ms(remote->host));
	job->report = done;
	job->report_arg = arg;
	job->is_status = is_status;
	if (!is_status)
		(void)remote->ops->begin(job);
	remote_wait(job, 0); /* callers expect no answer before this returns */
	return 0;
}

int
remote_doctor(void *self, const json_t *unit, kettle_answer done, void *arg, struct kettle_error *err)
{
	return inquire(self, unit, false, done, arg, err);
}

int
remote_status(void *self, kettle_answer done, void *arg, struct kettle_error *err)
{
	return inquire(self, NULL, true, done, arg, err);
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

/* ---- answers of the remote side ---- */

void
remote_accepted(struct remote_job *job)
{
	if (job->phase != REMOTE_SENDING && job->phase != REMOTE_FINDING)
		return;
	failpoint("remote.sent");
	job->phase = REMOTE_SUBMITTED;
	job->since = remote_now_ms(job->remote);
	free_all(STEAL(job->envelope), STEAL(job->whole));
}

void
remote_running(struct remote_job *job)
{
	if (job->phase >= REMOTE_ORPHANED || job->running)
		return;
	job->running = true;
	job->since = remote_now_ms(job->remote);
	if (job->report)
		return;
	report(job, "started");
}

void
remote_progress(struct remote_job *job, const json_t *event)
{
	const char *name = json_text_or_null(event, "event"), *step = json_text_or_null(event, "step"),
			   *state = json_text_or_null(event, "state");
	if (job->phase >= REMOTE_ORPHANED || !name)
		return;
	remote_job_hold(job);
	if (strcmp(name, "started") == 0) {
		remote_running(job);
	} else if (job->running && job->part != REMOTE_FIRST &&
			   (strcmp(name, "waiting") == 0 || strcmp(name, "device") == 0)) {
		report(job, name);
	} else if (job->running && strcmp(name, "step") == 0 && step && state) {
		AUTO_JSON json_t *clean = json_pack("{s:s, s:s, s:s, s:s, s:b}", "event", "step", "job", job->ref, "step", step,
			"state", state, "cached", member_true(event, "cached"));
		job->remote->host->job_event(job->remote->host, job->ref, clean);
	}
	remote_job_release(job);
}

void
remote_lost(struct remote_job *job, enum kettle_loss loss, const char *format, ...)
{
	char why[1000];
	va_list args;
	if (job->phase == REMOTE_CLOSED)
		return;
	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (job->report)
		remote_report(job, NULL, why);
	else if (job->cancelled)
		end_cancelled(job);
	else
		remote_job_end(job, lost(loss, why));
}

void
remote_cancelled(struct remote_job *job)
{
	if (job->report)
		remote_report(job, NULL, "It was cancelled there.");
	else if (job->phase != REMOTE_CLOSED)
		end_cancelled(job);
}
