/* SPDX-License-Identifier: MIT */
/*
 * The run of one command line.
 *
 * Theory of operation. Everything happens on the loop thread, except reading: a thread of the host's pool reads files,
 * standard input and the answers to questions (input.c), so that an endless pipe or a slow user does not block the
 * loop (and with it Ctrl-C). The run has a list of struct run_call, one for each call or reading without a result yet.
 * If the run ends first, the call is detached, and its late result only frees it.
 */
#include <config.h>

#include "cli/run/invocation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "base/file_name.h"
#include "base/json_text.h"
#include "cli/args/help.h"
#include "cli/run/follow.h"
#include "cli/run/input.h"
#include "common/template.h"
#include "common/view.h"
#include "common/wrap.h"

#define RUN_MAX_LINE 4096
#define RUN_MAX_FILE (32u << 20) /* bytes of a file argument */

struct run_call {
	struct run_call *next;
	struct run *run; /* NULL: the run is over */
	run_answer answer;
	run_bytes bytes;     /* of readings */
	struct input *input; /* of readings */
	bool may_fail;       /* on an error, answer gets NULL */
};

static struct run_call *
call_new(struct run *run)
{
	struct run_call *call = xcalloc(1, sizeof(*call));
	call->run = run;
	call->next = run->calls;
	run->calls = call;
	return call;
}

/* Removes the call from its run and frees it; returns the run, or NULL if it is over. */
static struct run *
call_end(struct run_call *call)
{
	struct run *run = call->run;
	if (run) {
		struct run_call **link = &run->calls;
		while (*link != call)
			link = &(*link)->next;
		*link = call->next;
	}
	free(call);
	return run;
}

static void
on_run_answered(void *arg, const struct kettle_error *err, json_t *result)
{
	struct run_call ended = *(struct run_call *)arg;
	struct run *run = call_end(arg);
	bool failed = err && err->code;
	if (run && failed && !ended.may_fail)
		run_fail(run, err);
	else if (run)
		ended.answer(run, failed ? NULL : result);
}

static void
start_call(struct run *run, const char *command, const json_t *args, run_answer fn, bool may_fail)
{
	struct kettle_error err = {0};
	struct run_call *call = call_new(run);
	call->answer = fn;
	call->may_fail = may_fail;
	if (run->host->call(run->host, run->actor, command, args, on_run_answered, call) == 0)
		return;
	call_end(call);
	kettle_fail(&err, KETTLE_EUNAVAIL, "The engine accepts no commands now.");
	run_fail(run, &err);
}

void
run_call(struct run *run, const char *command, const json_t *args, run_answer fn)
{
	start_call(run, command, args, fn, false);
}

void
run_try(struct run *run, const char *command, const json_t *args, run_answer fn)
{
	start_call(run, command, args, fn, true);
}

void
run_command(struct run *run)
{
	run_call(run, json_text_or_empty(run->command, "name"), run->args.values,
		run->ui->answer ? run->ui->answer : run_result);
}

static void
input_done(void *arg, const struct kettle_error *err, const char *data, size_t size)
{
	run_bytes fn = ((struct run_call *)arg)->bytes;
	struct run *run = call_end(arg);
	if (run && err->code)
		run_fail(run, err);
	else if (run)
		fn(run, data, size);
}

static void
read_input(struct run *run, const char *path, size_t max, bool line, run_bytes fn)
{
	struct kettle_error err = {0};
	struct run_call *call = call_new(run);
	call->bytes = fn;
	if (input_start(run->host, path, max, line, input_done, call, &call->input, &err)) {
		call_end(call);
		run_fail(run, &err);
	}
}

/* ---- work on a thread ---- */

struct run_work_call {
	struct run_call *call;
	kettle_fn work, drop;
	void *arg;
	void (*fn)(struct run *run, void *arg);
};

static void
work_begin(void *arg)
{
	const struct run_work_call *working = arg;
	working->work(working->arg);
}

static void
work_done(void *arg)
{
	struct run_work_call working = *(struct run_work_call *)arg;
	struct run *run = call_end(working.call);
	free(arg);
	if (run)
		working.fn(run, working.arg);
	working.drop(working.arg);
}

void
run_work(struct run *run, kettle_fn work, kettle_fn drop, void *arg, void (*fn)(struct run *run, void *arg))
{
	struct kettle_error err = {0};
	struct run_work_call *working =
		xnew(struct run_work_call, .call = call_new(run), .work = work, .drop = drop, .arg = arg, .fn = fn);
	if (run->host->work(run->host, work_begin, work_done, working, &err) == 0)
		return;
	call_end(working->call);
	free(working);
	drop(arg);
	run_fail(run, &err);
}

void
run_read_line(struct run *run, run_bytes fn)
{
	read_input(run, "-", RUN_MAX_LINE, true, fn);
}

void
run_print_json(const struct term *term, const json_t *value)
{
	/* ASCII on a terminal, so that no control character of a name reaches it. */
	json_print(value, term->out, JSON_INDENT(2) | JSON_ENCODE_ANY | (term->tty ? JSON_ENSURE_ASCII : 0));
	fputc('\n', term->out);
}

FILE *
run_open_output(const char *path, bool append)
{
	/* Opening a FIFO must not wait for a reader, but writing to it must. */
	AUTO_FD int fd =
		open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (append ? O_APPEND : O_TRUNC), 0666);
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
		return NULL;
	FILE *out = fdopen(fd, append ? "a" : "w");
	if (out)
		(void)STEAL_FD(fd);
	return out;
}

/* Opens the file of -o before the command starts, so that a wrong path fails early. */
static int
open_report(struct run *run, struct kettle_error *err)
{
	const char *path = args_text(&run->args, "output");
	if (!path)
		return 0;
	/* The file keeps its contents until a report replaces them. */
	run->report_is_new = access(path, F_OK) != 0;
	run->report = run_open_output(path, true);
	if (!run->report)
		return kettle_fail(
			err, errno == EACCES ? KETTLE_EACCES : KETTLE_EINVAL, "`%s` cannot be written: %s.", path, strerror(errno));
	return 0;
}

/* Removes the file if it was created for a report and none was written. */
static void
drop_report(struct run *run)
{
	if (!run->report)
		return;
	fclose(STEAL(run->report));
	if (run->report_is_new)
		unlink(args_text(&run->args, "output"));
}

void
run_view(struct run *run, const json_t *result)
{
	AUTO_JSON json_t *args = json_copy(run->args.values);
	json_object_set_new(args, "quiet", json_boolean(run->quiet));
	view_print(&run->term, json_object_get(run->command, "view"), result, args, run->user);
}

/* Whether the result is printed unwrapped. */
static bool
is_code(const struct run *run)
{
	return run->ui->code || args_flag(&run->args, "code") || args_flag(&run->args, "output");
}

static int
print_result(struct run *run, const json_t *result)
{
	AUTO_JSON json_t *own = run->json && run->ui->json ? run->ui->json(result) : NULL;
	struct wrap_part part;
	wrap_part_begin(&part, &run->term);
	if (!run->json && run->ui->render)
		run->ui->render(run, result);
	else if (!run->json && json_is_object(json_object_get(run->command, "view")))
		run_view(run, result);
	else
		run_print_json(&run->term, own ? own : result);
	wrap_part_end(&part, run->json || is_code(run));
	if (run->ui->status)
		return run->ui->status(result);
	return member_true(result, "ok") ? RUN_OK : run->ui->not_ok;
}

/* Writes the result to the file of -o, formatted as without a terminal. */
static int
write_report(struct run *run, const json_t *result, int status)
{
	struct term term = run->term;
	bool quiet = run->quiet;
	bool failed = ftruncate(fileno(run->report), 0) != 0 && errno != EINVAL; /* EINVAL: a device */
	run->term = (struct term){.out = run->report};
	run->quiet = false;
	print_result(run, result);
	run->term = term;
	run->quiet = quiet;
	failed = fclose(STEAL(run->report)) != 0 || failed;
	if (!failed)
		return status;
	wrap_message("kettle: the report could not be written: %s.\n", strerror(errno));
	return status == RUN_OK ? RUN_ENGINE : status;
}

static void
end_work(struct run *run)
{
	if (run->ended)
		STEAL(run->ended)(run);
	run->work = NULL;
}

void
run_result(struct run *run, const json_t *result)
{
	AUTO_JSON json_t *held = json_incref((json_t *)result);
	end_work(run);
	int status = print_result(run, held);
	if (run->report)
		status = write_report(run, held, status);
	run_finish(run, status);
}

void
run_print_log(FILE *out, const json_t *tried)
{
	if (!json_object_get(tried, "log"))
		return;
	term_block(out, json_text_or_empty(tried, "device"), 4, 0);
	term_block(out, json_text_or_empty(tried, "log"), 6, 0);
}

void
run_finish_facts(struct run *run, json_t *facts_take, const char *template)
{
	AUTO_JSON json_t *facts = facts_take;
	struct wrap_part part;
	wrap_part_begin(&part, &run->term);
	if (run->json)
		run_print_json(&run->term, facts);
	else
		template_put(&run->term, template, facts, NULL);
	wrap_part_end(&part, run->json);
	run_finish(run, RUN_OK);
}

void
run_print_error(const struct term *term, bool json, const struct kettle_error *err)
{
	if (json) {
		AUTO_JSON json_t *document =
			json_pack("{s:{s:s, s:s, s:s*, s:s*}}", "error", "code", kettle_error_name(err->code), "message",
				err->message, "member", err->member[0] ? err->member : NULL, "cause", kettle_cause_name(err->cause));
		run_print_json(term, document);
		return;
	}
	AUTO_FREE char *message = NULL;
	size_t size = 0;
	FILE *memory = term_memory(&message, &size);
	term_block(memory, err->message, 0, 0);
	fclose(memory);
	wrap_message("kettle: %s", message);
}

void
run_name_options(const struct run *run, struct kettle_error *err)
{
	char word[sizeof(err->member) + 2], rest[sizeof(err->message)];
	struct args_row row;
	snprintf(word, sizeof(word), "`%s`", err->member);
	char *at = err->member[0] ? strstr(err->message, word) : NULL;
	for (size_t i = 0; at && args_row(run->command, run->ui->own, i, &row); i++) {
		if (row.positional || strcmp(row.name, err->member) != 0)
			continue;
		snprintf(rest, sizeof(rest), "%s", at + strlen(word));
		snprintf(at, sizeof(err->message) - (size_t)(at - err->message), "`--%s`%s", row.option, rest);
		return;
	}
}

void
run_fail(struct run *run, const struct kettle_error *err)
{
	struct kettle_error shown = *err;
	end_work(run);
	if (!run->json)
		run_name_options(run, &shown);
	run_print_error(&run->term, run->json, &shown);
	run_finish(run, kettle_error_exit(err->code));
}

struct invocation_end {
	void (*done)(void *arg, int status);
	void *arg;
	int status;
};

static void
on_ended(void *arg)
{
	struct invocation_end ending = *(struct invocation_end *)arg;
	free(arg);
	ending.done(ending.arg, ending.status);
}

/* Whether the reader of standard output has ended (`| head`), which is no error. */
static bool
reader_is_gone(void)
{
	struct pollfd fd = {.fd = STDOUT_FILENO};
	return poll(&fd, 1, 0) == 1 && (fd.revents & POLLERR);
}

void
run_post_done(const struct kettle_host *host, void (*done)(void *arg, int status), void *done_arg, int status)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && !reader_is_gone()) {
		wrap_message("kettle: standard output cannot be written: %s.\n", strerror(errno));
		status = status == RUN_OK ? RUN_ENGINE : status;
	}
	fflush(stderr);
	struct invocation_end *ending = xnew(struct invocation_end, .done = done, .arg = done_arg, .status = status);
	if (host->post(host, on_ended, ending) == 0)
		return;
	free(ending);
	done(done_arg, status);
}

static void
run_free(struct run *run)
{
	for (struct run_call *call = run->calls, *next; call; call = next) {
		next = call->next;
		call->run = NULL;
		if (call->input)
			input_cancel(call->input);
	}
	end_work(run);
	*run->owner = NULL;
	drop_report(run);
	args_free(&run->args);
	free(run->file);
	json_decref(run->actor);
	kettle_fn stopped = run->stopped;
	void *arg = run->stopped_arg;
	free(run);
	if (stopped)
		stopped(arg);
}

void
run_finish(struct run *run, int status)
{
	const struct kettle_host *host = run->host;
	void (*done)(void *, int) = run->done;
	void *arg = run->done_arg;
	run_free(run);
	run_post_done(host, done, arg, status);
}

void
run_interrupt(struct run *run, kettle_fn stopped, void *arg)
{
	run->stopped = stopped;
	run->stopped_arg = arg;
	if (!run->interrupted || !run->interrupted(run))
		run_interrupt_end(run);
}

void
run_interrupt_end(struct run *run)
{
	void (*done)(void *, int) = run->done;
	void *arg = run->done_arg;
	fflush(run->term.out);
	run_free(run);
	/* Called, not posted: after stop() the loop may not run again. */
	done(arg, RUN_INTERRUPTED);
}

static void load_next(struct run *run);

/*
 * Finds an argument that is still a path: a file, task or problems whose value is a string. Returns the path, or NULL.
 */
static const char *
path_argument(struct run *run, struct args_row *ret_row)
{
	static const char *const types[] = {"file", "task", "problems"};
	for (size_t i = 0; args_row(run->command, NULL, i, ret_row); i++)
		for (size_t k = 0; k < ARRAY_SIZE(types); k++)
			if (strcmp(ret_row->type, types[k]) == 0 && json_text_or_null(run->args.values, ret_row->name))
				return json_text_or_null(run->args.values, ret_row->name);
	return NULL;
}

static void
replace_path(struct run *run, json_t *value_take)
{
	struct args_row row;
	(void)path_argument(run, &row);
	json_object_set_new(run->args.values, row.name, value_take);
	load_next(run);
}

static void
file_loaded(struct run *run, const char *data, size_t size)
{
	struct args_row row;
	const char *path = path_argument(run, &row), *name = file_name_of(path);
	if (strcmp(path, "-") == 0)
		name = args_text(&run->args, "file-name");
	else
		run->file = xstrdup(path);
	AUTO_FREE char *text = base64_encode(data, size);
	replace_path(run, json_pack("{s:s, s:s}", "name", name, "base64", text));
}

static void
task_loaded(struct run *run, const json_t *result)
{
	replace_path(run, json_incref((json_t *)result));
}

static void prompt_language(struct run *run);
static void read_task(struct run *run, const char *path);

/* The only path of a command that takes a task by its path; NULL: it has none, or several. */
static const char *
task_path(const struct run *run)
{
	const json_t *path = json_object_get(run->args.values, "path");
	const json_t *only = json_array_size(path) == 1 ? json_array_get(path, 0) : path;
	return run->ui->reads ? json_string_value(only) : NULL;
}

static void
language_typed(struct run *run, const char *line, size_t size)
{
	struct args_row row;
	(void)size;
	const char *lang = input_chosen(line, json_object_get(run->args.own, "languages")), *path = task_path(run);
	if (!lang) {
		input_unknown(run->term.out, line);
		prompt_language(run);
		return;
	}
	json_object_set_new(path ? run->args.values : run->args.own, "lang", json_string(lang));
	if (path)
		load_next(run);
	else
		read_task(run, path_argument(run, &row));
}

static void
prompt_language(struct run *run)
{
	input_menu(run->term.out, json_object_get(run->args.own, "languages"), "Which language? A number or a name");
	run_read_line(run, language_typed);
}

/* If several languages fit a reference file, the user chooses. result: NULL if it cannot be read. */
static void
task_read(struct run *run, const json_t *result)
{
	struct args_row row;
	json_t *languages = json_object_get(result, "languages");
	const char *path = task_path(run);
	if (languages) {
		AUTO_FREE char *shown = term_sanitized(path ? path : path_argument(run, &row));
		fprintf(run->term.out, "`%s` fits several languages:\n", shown);
		json_object_set(run->args.own, "languages", languages);
		prompt_language(run);
	} else if (path) {
		json_object_set_new(run->args.own, "languages", json_null());
		load_next(run);
	} else {
		task_loaded(run, result);
	}
}

static void
read_task(struct run *run, const char *path)
{
	AUTO_JSON json_t *args = json_pack("{s:s, s:s*, s:b, s:O*}", "path", path, "lang", args_text(&run->args, "lang"),
		"choose", run->term.ask && !run->json, "device", json_object_get(run->args.values, "device"));
	(task_path(run) ? run_try : run_call)(run, "task.read", args, task_read);
}

/* Whether the command reads a task by its path, in a language that the user may still have to choose. */
static bool
may_choose(const struct run *run)
{
	return run->term.ask && !run->json && task_path(run) && !json_object_get(run->args.values, "lang") &&
		   !json_object_get(run->args.own, "languages");
}

/* Loads a competition from this machine, or from a repository, which the engine fetches or, if it is no https:, refuses. */
static void
load_problems(struct run *run, const char *path)
{
	bool fetched = strstr(path, "://");
	AUTO_JSON json_t *args =
		json_pack("{s:s, s:s*}", fetched ? "repository" : "path", path, "set", args_text(&run->args, "set"));
	const char *branch = args_text(&run->args, "branch");
	if (fetched && branch)
		json_object_set_new(args, "branch", json_string(branch));
	run_call(run, fetched ? "competition.fetch" : "competition.read", args, task_loaded);
}

/* Reads the files and tasks that the arguments name, one after the other, then starts the command. */
static void
load_next(struct run *run)
{
	struct args_row row;
	const char *path = path_argument(run, &row);
	struct kettle_error err = {0};
	if (path && strcmp(row.type, "file") == 0 && strcmp(path, "-") == 0 && !args_text(&run->args, "file-name")) {
		kettle_fail(&err, KETTLE_EINVAL,
			"Standard input needs a file name with the extension of its language: add --file-name "
			"NAME.");
		run_fail(run, &err);
	} else if (path && strcmp(row.type, "file") == 0) {
		read_input(run, path, RUN_MAX_FILE, false, file_loaded);
	} else if (path && strcmp(row.type, "problems") == 0) {
		load_problems(run, path);
	} else if (path) {
		read_task(run, path);
	} else if (may_choose(run)) {
		read_task(run, task_path(run));
	} else if (run->ui->report && open_report(run, &err)) {
		run_fail(run, &err);
	} else if (run->ui->start) {
		run->ui->start(run);
	} else {
		run_command(run);
	}
}

json_t *
run_actor(const json_t *globals)
{
	const char *user = json_string_value(json_object_get(globals, "user"));
	user = user ? user : "nobody";
	return json_pack("{s:s, s:s, s:s}", "provider", "cli", "subject", user, "name", user);
}

static struct run *
run_new(const struct kettle_host *host, const json_t *globals)
{
	struct run *run = xcalloc(1, sizeof(*run));
	run->host = host;
	run->json = json_is_true(json_object_get(globals, "json"));
	run->quiet = json_is_true(json_object_get(globals, "quiet"));
	term_init(&run->term, stdout);
	run->actor = run_actor(globals);
	run->user = json_string_value(json_object_get(run->actor, "name"));
	return run;
}

/* Reads --json and --quiet after the command; main reads the other global options, before the command. */
static int
late_globals(struct run *run, struct kettle_error *err)
{
	static const char *const of_main[] = {"config", "db", "server", "user", "log-format", "log-level", "version"};
	for (size_t i = 0; i < ARRAY_SIZE(of_main); i++)
		if (json_object_get(run->args.own, of_main[i]))
			return kettle_fail(
				err, KETTLE_EINVAL, "--%s goes before the command: kettle --%s …", of_main[i], of_main[i]);
	run->json = run->json || args_flag(&run->args, "json");
	run->quiet = run->quiet || args_flag(&run->args, "quiet");
	return 0;
}

void
run_start(const struct kettle_host *host, const json_t *globals, const json_t *command, const struct args_ui *ui,
	int argc, const char *const *argv, struct run **owner, void (*done)(void *arg, int status), void *done_arg)
{
	struct kettle_error err = {0};
	struct run *run = run_new(host, globals);
	run->command = command;
	run->ui = ui;
	run->owner = owner;
	run->done = done;
	run->done_arg = done_arg;
	*owner = run;
	int rc = args_parse(command, ui->own, argc, argv, &run->args, &err);
	rc = rc ? rc : late_globals(run, &err);
	if (rc) {
		run_print_error(&run->term, run->json, &err);
		struct term to_stderr = run->term;
		to_stderr.out = stderr;
		if (!run->json)
			help_usage(&to_stderr, command, ui);
		run_finish(run, RUN_USAGE);
	} else if (args_flag(&run->args, "help")) {
		help_command(&run->term, command, ui);
		run_finish(run, RUN_OK);
	} else {
		load_next(run);
	}
}
