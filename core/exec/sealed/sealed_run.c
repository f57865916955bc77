/* SPDX-License-Identifier: MIT */
/* kettle-exec --sealed: one job, whose plan and result are in envelopes. */
/*
 * Theory of operation. This process holds the key, runs no step, and is closed to all other processes: it is undumpable
 * before it reads the key. The unit's key is overwritten in memory and environment as soon as the attempt's key is
 * derived. A child without either key then does the work: kettle-exec with a single plan. Its run line goes through a
 * pipe, so the plan is in no file, argument or variable. The child's standard error may quote the plan, so it goes into
 * the sealed result, never to the standard error of this process. Once there is a key and a job, there is a result:
 * each later failure becomes a result with the status lost.
 */
#include <config.h>

#include "exec/sealed/sealed_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/io.h"
#include "base/text.h"
#include "exec/sealed/run_child.h"
#include "exec/serve/serve.h"
#include "sealed/result_package.h"
#include "sealed/sealed.h"

/* ---- key of a unit: taken from environment or file, and overwritten there ---- */

#define SEALED_KEY_VARIABLE "KETTLE_KEY"
#define MAX_FILE 4096

/*
 * Closes this process to debuggers, core dumps and readers of /proc/PID/mem and environ. Call it first, and before the
 * process has threads. EINTERNAL: the kernel refuses.
 */
static int
sealed_key_protect(struct kettle_error *err)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return kettle_fail(
			err, KETTLE_EINTERNAL, "This process cannot be closed to other processes: %s.", strerror(errno));
	return 0;
}

/* Overwrites the environment in place, since /proc/PID/environ shows the memory in which execve put it. */
static void
wipe_environment(void)
{
	size_t len = strlen(SEALED_KEY_VARIABLE);
	for (char **variable = environ; variable && *variable; variable++)
		if (strncmp(*variable, SEALED_KEY_VARIABLE, len) == 0 && (*variable)[len] == '=')
			explicit_bzero(*variable + len + 1, strlen(*variable + len + 1));
	(void)unsetenv(SEALED_KEY_VARIABLE);
}

static int
parse_file(const char *file, unsigned char ret_key[SEALED_KEY_SIZE], struct kettle_error *err)
{
	char *text = NULL;
	size_t size = 0;
	int rc = file_read_at(AT_FDCWD, file, MAX_FILE, &text, &size, err);
	if (rc)
		return rc;
	rc = sealed_key_parse(text, ret_key, err);
	explicit_bzero(text, size);
	free(text);
	return rc;
}

/*
 * Takes the key from the file, or from KETTLE_KEY (file NULL). Removes KETTLE_KEY from the environment and overwrites
 * it there. Wipe the key with explicit_bzero. EINVAL: there is no key, or an invalid one; or an error of file_read_at.
 */
static int
sealed_key_take(const char *file, unsigned char ret_key[SEALED_KEY_SIZE], struct kettle_error *err)
{
	const char *text = getenv(SEALED_KEY_VARIABLE);
	int rc = 0;
	if (file)
		rc = parse_file(file, ret_key, err);
	else if (text && *text)
		rc = sealed_key_parse(text, ret_key, err);
	else
		rc = kettle_fail(err, KETTLE_EINVAL,
			"The key of the unit is missing: set the environment variable " SEALED_KEY_VARIABLE
			", or use --key-file FILE.");
	wipe_environment();
	return rc;
}

#define MAX_ARGUMENTS 12

/* One sealed job. */
struct sealed_job {
	const struct exec_options *exec;
	const struct sealed_options *options;
	unsigned char key[SEALED_KEY_SIZE]; /* of the attempt */
	char *name, plan_hash[65];
	json_t *content; /* {"unit", "plan"}; NULL: not a JSON object */
	struct spool spool;
	char *artifacts;
	int progress; /* -1: none */
	json_t *done; /* the event; NULL: it has not come */
};

/* ---- opening ---- */

/* Opens the envelope and returns its content as new bytes. Keeps the attempt's key and wipes the unit's. */
static int
open_envelope(struct sealed_job *job, char **ret_content, size_t *ret_size, struct kettle_error *err)
{
	unsigned char unit_key[SEALED_KEY_SIZE];
	AUTO_FREE char *data = NULL;
	enum sealed_kind kind = SEALED_PLAN;
	size_t size = 0;
	int rc = sealed_key_take(job->options->key_file, unit_key, err);
	if (rc == 0)
		rc = serve_read_input(job->options->envelope, &data, &size, err);
	if (rc == 0)
		rc = sealed_read_scope(data, size, &kind, &job->name, job->plan_hash, err);
	if (rc == 0)
		sealed_key_derive(unit_key, job->name, job->key);
	explicit_bzero(unit_key, sizeof(unit_key));
	const struct sealed_scope scope = {job->name, job->plan_hash};
	return rc ? rc : sealed_open(job->key, SEALED_PLAN, &scope, data, size, SERVE_MAX_LINE, ret_content, ret_size, err);
}

static int
open_job(struct sealed_job *job, struct kettle_error *err)
{
	char *content = NULL;
	size_t size = 0;
	int rc = open_envelope(job, &content, &size, err);
	if (rc)
		return rc;
	json_t *read = json_loadb(content, size, JSON_REJECT_DUPLICATES, NULL);
	job->content = json_is_object(read) ? json_incref(read) : NULL;
	json_decref(read);
	explicit_bzero(content, size);
	free(content);
	return 0;
}

static void
close_job(struct sealed_job *job)
{
	explicit_bzero(job->key, sizeof(job->key));
	json_decref_all(job->content, job->done);
	spool_close(&job->spool);
	free_all(job->artifacts, job->name);
	if (job->progress >= 0)
		close(job->progress);
}

/* ---- events of the child ---- */

/* Reports progress by names alone, since its readers may not know the plan. A slow reader misses it. */
static void
tell_progress(const struct sealed_job *job, const json_t *event)
{
	static const char *const told[] = {"started", "waiting", "step", "device"};
	for (size_t i = 0; i < ARRAY_SIZE(told) && job->progress >= 0; i++)
		if (member_is(event, "event", told[i])) {
			AUTO_JSON json_t *line = json_pack("{s:s, s:s*, s:s*}", "event", told[i], "step",
				json_text_or_null(event, "step"), "state", json_text_or_null(event, "state"));
			AUTO_FREE char *text = json_dumps(line, JSON_COMPACT);
			AUTO_FREE char *ended = xasprintf("%s\n", text);
			(void)write_all(job->progress, ended, strlen(ended));
		}
}

static int
take_event(void *arg, char *line, size_t len)
{
	struct sealed_job *job = arg;
	AUTO_JSON json_t *event = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_text_or_null(event, "event"))
		return RUN_CHILD_INVALID;
	tell_progress(job, event);
	if (!member_is(event, "event", "done"))
		return RUN_CHILD_MORE;
	if (!member_is(event, "job", job->name))
		return RUN_CHILD_INVALID;
	job->done = json_incref(event);
	return RUN_CHILD_LAST;
}

/* ---- the job ---- */

/* The job is lost from here on, if it was not already. */
__attribute__((format(printf, 2, 3))) static void
lose(struct sealed_job *job, const char *format, ...)
{
	struct kettle_error why = {0};
	va_list args;
	va_start(args, format);
	(void)vsnprintf(why.message, sizeof(why.message), format, args);
	va_end(args);
	if (!job->done)
		job->done = json_pack("{s:s, s:s}", "event", "done", "job", job->name);
	json_object_set_new(job->done, "status", json_string("lost"));
	json_object_set_new(job->done, "error", json_writer_text(why.message));
}

/* Judges the job by the end of the child. */
static void
judge_end(struct sealed_job *job, const struct run_child_end *end)
{
	const char *colon = end->last_stderr[0] ? ": " : ".";
	if (end->invalid_lines)
		lose(
			job, "kettle-exec was killed, because it printed a line that is not an event%s%s", colon, end->last_stderr);
	else if (job->done && !member_is(job->done, "status", "cancelled") &&
			 !(end->told && member_is(job->done, "status", "lost")))
		return;
	else if (end->told)
		lose(job, "The remote side ended kettle-exec by signal %d (%s) before the job was done.", end->told,
			strsignal(end->told));
	else if (job->done)
		lose(job, "Something on the remote side cancelled the job.");
	else if (end->status >= 0 && WIFSIGNALED(end->status))
		lose(job, "kettle-exec was ended by signal %d (%s) before the job was done%s%s", WTERMSIG(end->status),
			strsignal(WTERMSIG(end->status)), colon, end->last_stderr);
	else
		lose(job, "kettle-exec ended with status %d before the job was done%s%s",
			end->status >= 0 ? WEXITSTATUS(end->status) : -1, colon, end->last_stderr);
}

/* Adds the child's options after those in `argv`. */
static void
add_options(const struct exec_options *options, char **argv)
{
	const struct {
		const char *name, *value;
	} all[] = {{"--config", options->config}, {"--settings", options->settings}, {"--state", options->state},
		{"--level", options->level}};
	while (*argv)
		argv++;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].value) {
			*argv++ = (char *)all[i].name;
			*argv++ = (char *)all[i].value;
		}
	*argv = NULL;
}

static void
run_plan(struct sealed_job *job)
{
	char *argv[MAX_ARGUMENTS] = {"kettle-exec", "-"};
	struct run_child_end end;
	struct kettle_error error = {0};
	json_t *line = json_pack("{s:s, s:O*, s:O, s:s}", "job", job->name, "unit", json_object_get(job->content, "unit"),
		"plan", json_object_get(job->content, "plan"), "spool", job->artifacts);
	char *text = json_dumps(line, JSON_COMPACT);
	json_decref(line);
	add_options(job->exec, argv);
	if (run_child(argv, text, strlen(text), SERVE_MAX_LINE, take_event, job, &end, &error))
		lose(job, "%s", error.message);
	else
		judge_end(job, &end);
	explicit_bzero(text, strlen(text));
	free(text);
}

static void
run_job(struct sealed_job *job, const char *state)
{
	struct kettle_error error = {0};
	if (!json_is_object(json_object_get(job->content, "plan")))
		lose(job, "The envelope has no `plan`: it was made by another version of Kettle than %s.", PACKAGE_VERSION);
	else if (spool_open(&job->spool, state, &error) || spool_make(&job->spool, "artifacts", &job->artifacts, &error))
		lose(job, "%s", error.message);
	else
		run_plan(job);
}

/* ---- result ---- */

static int
pack(struct sealed_job *job, char **ret_data, size_t *ret_size)
{
	struct kettle_error error = {0};
	const char *artifacts = job->artifacts ? job->artifacts : "", *run = job->options->run;
	int rc = result_package_write(job->done, artifacts, run, RESULT_PACKAGE_MAX, ret_data, ret_size, &error);
	if (rc == 0)
		return 0;
	json_decref(STEAL(job->done));
	lose(job, "%s", error.message);
	if (rc == KETTLE_ETOOBIG) /* every attempt would report as much */
		json_object_set_new(job->done, "loss", json_string("final"));
	return result_package_write(job->done, artifacts, run, RESULT_PACKAGE_MAX, ret_data, ret_size, NULL);
}

static int
write_result(struct sealed_job *job, struct kettle_error *err)
{
	AUTO_FREE char *package = NULL, *sealed = NULL;
	size_t size = 0, sealed_size = 0;
	const struct sealed_scope scope = {job->name, job->plan_hash};
	int rc = pack(job, &package, &size);
	if (rc)
		return kettle_fail(err, rc, "The result of job %s cannot be packed.", job->name);
	rc = sealed_seal(job->key, SEALED_RESULT, &scope, package, size, &sealed, &sealed_size, err);
	return rc ? rc : file_write(job->options->result, sealed, sealed_size, 0644, err);
}

static int
check_options(const struct sealed_options *options, int *ret_progress, struct kettle_error *err)
{
	size_t len = options->run ? strlen(options->run) : 0;
	if (!options->result)
		return kettle_fail(err, KETTLE_EINVAL, "--sealed requires --result FILE.");
	if (len > SEALED_RUN_MAX_ID || (len && !utf8_valid(options->run, len)))
		return kettle_fail(err, KETTLE_EINVAL, "--run must be UTF-8 of at most %d bytes.", SEALED_RUN_MAX_ID);
	if (!options->progress)
		return 0;
	/* O_NONBLOCK, since opening a FIFO would otherwise wait for its reader. */
	*ret_progress = open(options->progress, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
	return *ret_progress >= 0 ? 0
							  : kettle_fail(err, KETTLE_EINVAL, "%s cannot be written for --progress: %s.",
									options->progress, strerror(errno));
}

int
sealed_run(const struct exec_options *exec, const struct sealed_options *options)
{
	struct sealed_job job = {.exec = exec, .options = options, .spool.lock = -1, .progress = -1};
	struct kettle_error error = {0};
	struct execconfig config = {0};
	int status = EXEC_UNABLE, rc = sealed_key_protect(&error);
	if (rc == 0) {
		rc = check_options(options, &job.progress, &error);
		if (rc == 0)
			rc = execconfig_load(&config, exec->config, exec->settings, exec->state, exec->level, &error);
		status = exec_is_usage(rc) ? EXEC_USAGE : EXEC_UNABLE;
	}
	/*
	 * Locks the key in memory, since it stays until the job's end and could reach the swap. Nearly every user may lock
	 * this much.
	 */
	(void)mlock(job.key, sizeof(job.key));
	if (rc == 0)
		rc = open_job(&job, &error);
	if (rc == 0) {
		run_job(&job, config.state);
		rc = write_result(&job, &error);
	}
	execconfig_close(&config);
	close_job(&job);
	if (rc)
		(void)fprintf(stderr, "kettle-exec: %s\n", error.message);
	return rc ? status : EXEC_PASSED;
}
