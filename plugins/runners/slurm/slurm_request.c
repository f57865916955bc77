/* SPDX-License-Identifier: MIT */
/* What operators want to know: kettle-exec --doctor on a node, and the queue. */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/slurm/shared_folder.h"

#define DOCTOR_MS 150000 /* the command itself waits for three minutes */
#define DOCTOR_MINUTES 5
#define STATUS_MS 20000

typedef void (*request_done)(void *arg, const struct kettle_error *err, json_t *answer);

struct slurm_request {
	struct slurm *slurm;
	struct slurm_request *next;
	request_done done;
	void *arg;
	uint64_t began_ms, snapshot;
	/* of a doctor */
	char *name, *folder, *exec;
	json_t *unit, *section;
	bool submitted, busy, ended; /* busy: a command or a thread of the pool refers to it */
	char *text, *words;
	json_t *report; /* of that text */
	size_t size;
	struct kettle_error err;
};

static void
free_request(struct slurm_request *request)
{
	free(request->name);
	free(request->folder);
	free(request->exec);
	json_decref(request->unit);
	json_decref(request->section);
	json_decref(request->report);
	free(request->text);
	free(request->words);
	free(request);
}

/* Answers it, once. answer NULL: request->err. */
static void
end_request(struct slurm_request *request, json_t *answer)
{
	struct slurm *slurm = request->slurm;
	struct slurm_request **link = &slurm->requests;
	struct kettle_error none = {0};
	while (*link != request)
		link = &(*link)->next;
	*link = request->next;
	request->ended = true;
	request->done(request->arg, answer ? &none : &request->err, answer);
	if (!request->busy)
		free_request(request);
}

static struct slurm_request *
add(struct slurm *slurm, request_done done, void *arg)
{
	struct slurm_request *request = xcalloc(1, sizeof(*request));
	*request = (struct slurm_request){.slurm = slurm,
		.next = slurm->requests,
		.done = done,
		.arg = arg,
		.began_ms = slurm_now_ms(slurm),
		.snapshot = slurm->snapshot};
	slurm->requests = request;
	slurm_poll_start(slurm);
	return request;
}

/* ---- doctor ---- */

static void
remove_report(void *arg)
{
	const struct slurm_request *request = arg;
	shared_folder_remove(request->folder, request->name);
}

static void
on_report_removed(void *arg)
{
	struct slurm_request *request = arg;
	struct slurm *slurm = request->slurm;
	free_request(request);
	slurm_work_done(slurm, NULL);
}

static void
end_doctor(struct slurm_request *request, json_t *answer)
{
	request->busy = true; /* it stays until its files are removed */
	end_request(request, answer);
	slurm_work(request->slurm, NULL, remove_report, on_report_removed, request);
}

static void
on_doctor_cancelled(void *arg, const struct slurm_end *end)
{
	(void)arg, (void)end;
}

/* It waits in the queue, say. */
static void
cancel_doctor(const struct slurm_request *request)
{
	struct slurm *slurm = request->slurm;
	AUTO_ARGUMENTS struct arguments arguments = {0};
	const struct slurm_use use = {.on_end = on_doctor_cancelled, .max_lines = 100};
	arguments_add(&arguments, "%s", slurm->scancel);
	arguments_add(&arguments, "--quiet");
	arguments_add(&arguments, "--user=%s", slurm->uid);
	arguments_add(&arguments, "--name=%s", request->name);
	(void)slurm_command_run(slurm, &arguments, &use, NULL);
}

static void
on_doctor_submitted(void *arg, const struct slurm_end *end)
{
	struct slurm_request *request = arg;
	request->busy = false;
	if (request->ended) {
		free_request(request);
	} else if (!end->worked) {
		(void)kettle_fail(&request->err, KETTLE_EUNAVAIL, "Slurm did not take the job: %s", end->complaint);
		end_doctor(request, NULL);
	} else {
		request->submitted = true;
	}
}

static void
prepare_doctor(void *arg)
{
	struct slurm_request *request = arg;
	AUTO_FREE char *jobs = path_join(request->folder, "jobs"), *path = path_join(jobs, request->name);
	request->err = (struct kettle_error){0};
	int rc = shared_folder_make(request->folder, &request->err);
	if (rc == 0)
		rc = shared_folder_put_script(request->folder, &request->err);
	if (rc == 0)
		rc = file_mkdirs(path, 0700, &request->err);
	if (rc == 0)
		(void)slurm_submit_find_exec(request->section, request->folder, &request->exec, &request->err);
}

static void
submit_doctor(struct slurm_request *request)
{
	struct slurm *slurm = request->slurm;
	AUTO_FREE char *output = xasprintf("%s/jobs/%s/log", request->folder, request->name),
				   *script = path_join(request->folder, SHARED_SCRIPT);
	const struct sbatch_request sbatch = {.sbatch = slurm->sbatch,
		.unit = request->unit,
		.name = request->name,
		.output = output,
		.minutes = DOCTOR_MINUTES};
	AUTO_ARGUMENTS struct arguments arguments = {0};
	sbatch_arguments(&sbatch, &arguments);
	const char *const rest[] = {script, request->folder, request->exec, request->name, "doctor", slurm->config};
	for (size_t i = 0; i < ARRAY_SIZE(rest) && rest[i]; i++)
		arguments_add(&arguments, "%s", rest[i]);
	const struct slurm_use use = {.on_end = on_doctor_submitted, .arg = request, .max_lines = 100};
	request->busy = true;
	if (slurm_command_run(slurm, &arguments, &use, &request->err) == 0)
		return;
	request->busy = false;
	end_doctor(request, NULL);
}

static void
on_doctor_prepared(void *arg)
{
	struct slurm_request *request = arg;
	struct slurm *slurm = request->slurm;
	request->busy = false;
	if (request->ended)
		free_request(request);
	else if (request->err.code < 0)
		end_doctor(request, NULL);
	else
		submit_doctor(request);
	slurm_work_done(slurm, NULL);
}

int
slurm_request_doctor(struct slurm *slurm, const json_t *unit, request_done done, void *arg, struct kettle_error *err)
{
	unsigned char bytes[8];
	int rc = slurm_unit_check(unit, err);
	if (rc == 0 && slurm->stopping)
		rc = kettle_fail(err, KETTLE_EUNAVAIL, "The runner is stopping.");
	if (rc < 0)
		return rc;
	struct slurm_request *request = add(slurm, done, arg);
	random_bytes(bytes, sizeof(bytes));
	request->name = xasprintf("kettle-doctor-%02x%02x%02x%02x%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3],
		bytes[4], bytes[5], bytes[6], bytes[7]);
	request->folder = xstrdup(slurm->folder);
	request->unit = json_deep_copy(unit);
	request->section = json_deep_copy(slurm->section);
	(void)json_object_del(request->section, "key");
	request->busy = true;
	(void)kettle_fail(&request->err, KETTLE_ECANCELED, "The engine stops.");
	slurm_work(slurm, NULL, prepare_doctor, on_doctor_prepared, request);
	return 0;
}

static void
read_report(void *arg)
{
	struct slurm_request *request = arg;
	if (shared_folder_report(request->folder, request->name, &request->text, &request->size))
		request->words = shared_folder_last_words(request->folder, request->name, NULL, 0);
	if (request->text)
		request->report = bounded_json_parse(request->text, request->size, BOUNDED_JSON_VALUES, 0, NULL);
}

static void
on_report_read(void *arg)
{
	struct slurm_request *request = arg;
	struct slurm *slurm = request->slurm;
	request->busy = false;
	AUTO_JSON json_t *report = STEAL(request->report);
	if (request->ended) {
		free_request(request);
	} else if (request->text) {
		if (!report)
			(void)kettle_fail(&request->err, KETTLE_EUNAVAIL, "kettle-exec --doctor gave no report on the node: %s",
				request->words && *request->words ? request->words : "it said nothing.");
		end_doctor(request, report);
	}
	slurm_work_done(slurm, NULL);
}

static void
tick_doctor(struct slurm_request *request, uint64_t now)
{
	if (request->busy)
		return;
	if (now - request->began_ms > DOCTOR_MS) {
		cancel_doctor(request);
		(void)kettle_fail(&request->err, KETTLE_EUNAVAIL,
			"Slurm did not run the job within %d s; see what it waits for with `squeue`.", DOCTOR_MS / 1000);
		end_doctor(request, NULL);
	} else if (request->submitted) {
		request->busy = true;
		slurm_work(request->slurm, NULL, read_report, on_report_read, request);
	}
}

/* ---- status ---- */

/* What the newest snapshot says. New reference. */
static json_t *
list_jobs(const struct slurm *slurm)
{
	json_t *list = json_array();
	size_t waiting = 0, running = 0;
	for (const struct slurm_job *job = slurm->jobs; job; job = job->next) {
		if (!job->remote)
			continue;
		bool listed = job->seen == slurm->taken && job->seen > 0 && job->state == SLURM_QUEUED;
		AUTO_FREE char *where = !listed      ? xstrdup("not in the queue")
								: job->array ? xasprintf("job %s_%zu", job->id, job->task)
											 : xasprintf("job %s", job->id);
		AUTO_FREE char *text =
			listed ? xasprintf("%s, %s (%s)", where, job->seen_state, job->seen_reason) : xstrdup(where);
		job->remote->running ? running++ : waiting++;
		(void)json_array_append_new(list, json_pack("{s:s, s:s, s:s?}", "job", job->remote->ref, "state",
											  job->remote->running ? "running" : "waiting", "where", text));
	}
	return json_pack("{s:o, s:o}", "jobs", list, "text",
		json_sprintf("%zu jobs of this engine wait in Slurm, %zu run.", waiting, running));
}

static void
tick_status(struct slurm_request *request, uint64_t now)
{
	const struct slurm *slurm = request->slurm;
	if (slurm->taken > request->snapshot) {
		AUTO_JSON json_t *answer = list_jobs(slurm);
		end_request(request, answer);
	} else if (now - request->began_ms > STATUS_MS) {
		(void)kettle_fail(
			&request->err, KETTLE_EUNAVAIL, "Slurm's controller did not list its jobs within %d s.", STATUS_MS / 1000);
		end_request(request, NULL);
	}
}

int
slurm_request_status(struct slurm *slurm, request_done done, void *arg, struct kettle_error *err)
{
	if (slurm->stopping)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner is stopping.");
	(void)add(slurm, done, arg);
	slurm_poll_soon(slurm);
	return 0;
}

/* ---- all of them ---- */

void
slurm_request_tick(struct slurm *slurm)
{
	uint64_t now = slurm_now_ms(slurm);
	for (struct slurm_request *request = slurm->requests, *next; request; request = next) {
		next = request->next;
		request->name ? tick_doctor(request, now) : tick_status(request, now);
	}
}

void
slurm_request_end_all(struct slurm *slurm)
{
	while (slurm->requests) {
		struct slurm_request *request = slurm->requests;
		(void)kettle_fail(&request->err, KETTLE_EUNAVAIL, "The runner stops.");
		/* No scancel is waited for: without its folder the job of a doctor ends as soon as it begins. */
		request->name && !request->busy ? end_doctor(request, NULL) : end_request(request, NULL);
	}
}
