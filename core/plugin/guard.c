/* SPDX-License-Identifier: MIT */
/* Between the core and the operations of a plugin. */
#include <config.h>

#include "plugin/guard.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "loop/watch.h"
#include "plugin/loader.h"

/*
 * Each operation has a function below and a line in guard_init. A new operation changes a size here and needs both;
 * without them the core would read the operation as NULL.
 */
_Static_assert(sizeof(struct kettle_language) == 23 * sizeof(void *), "An operation of languages has no guard.");
_Static_assert(sizeof(struct kettle_runner) == 17 * sizeof(void *), "An operation of runners has no guard.");
_Static_assert(sizeof(struct kettle_frontend) == 3 * sizeof(void *), "An operation of frontends has no guard.");

bool
guard_is_code(int rc)
{
	bool known = rc == 0;
#define X(name, value, wire, text) known = known || rc == KETTLE_##name;
	KETTLE_ERRORS(X)
#undef X
	return known;
}

/* An error as the core takes it; `none` is the code that needs no sentence, or 0. Returns err's code. */
static int
guard_fail(const struct guard *guard, const char *operation, int none, int rc, const struct kettle_error *why,
	struct kettle_error *err)
{
	static const char no_code[] = "code", no_sentence[] = "sentence";
	const char *name = guard->plugin.name, *kind = loader_kind_name(guard->plugin.kind);
	if (!guard_is_code(rc) && watch_is_due(name, no_code))
		log_write(KETTLE_LOG_WARNING, name,
			"%s returned %d, which is neither 0 nor a code of kettle/error.h: it counts as an error.", operation, rc);
	if (!why->message[0] && rc != none && watch_is_due(name, no_sentence))
		log_write(KETTLE_LOG_WARNING, name, "%s failed without a sentence that says why.", operation);
	if (!guard_is_code(rc))
		rc = KETTLE_EINTERNAL;
	if (!why->message[0])
		return kettle_fail(err, rc, "The %s `%s` failed in %s and does not say why.", kind, name, operation);
	(void)kettle_fail(err, rc, "%s", why->message);
	if (err)
		err->retry_s = why->retry_s;
	/* To an older plugin these members are the end of the message. */
	if (guard->inner->abi_minor >= 2)
		(void)kettle_blame(err, (enum kettle_cause)why->cause, why->member, rc);
	return rc;
}

/* The end of an operation that answers a code. */
static int
guard_answer(const struct guard *guard, const struct watch *watch, const char *operation, int none, int rc,
	const struct kettle_error *why, struct kettle_error *err)
{
	watch_end(watch, guard->plugin.name, operation);
	return rc ? guard_fail(guard, operation, none, rc, why, err) : 0;
}

#define BEGIN \
	const struct guard *guard = self; \
	struct kettle_error why = {0}; \
	const struct watch watch = watch_begin()
#define ANSWER(operation, rc) guard_answer(guard, &watch, "`" operation "`", 0, rc, &why, err)
/* For an operation that answers ENOENT if there is nothing. */
#define ANSWER_OR_NONE(operation, rc) guard_answer(guard, &watch, "`" operation "`", KETTLE_ENOENT, rc, &why, err)

/* For an operation that cannot fail: `call` is a statement. */
#define WATCH(operation, call) \
	const struct guard *guard = self; \
	const struct watch watch = watch_begin(); \
	call; \
	watch_end(&watch, guard->plugin.name, "`" operation "`")

/* ---- languages ---- */

static int
guard_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("plan", guard->inner->language->plan(guard->self, request, ret_plan, &why));
}

static int
guard_interpret(void *self, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("interpret", guard->inner->language->interpret(guard->self, step, outcome, ret_result, &why));
}

static int
guard_single_file(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("single_file", guard->inner->language->single_file(guard->self, name, text, size, ret_task, &why));
}

static json_t *
guard_language_tools(void *self)
{
	WATCH("tools", json_t *tools = guard->inner->language->tools(guard->self));
	return tools;
}

static int
guard_probe(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	BEGIN;
	return ANSWER_OR_NONE("probe", guard->inner->language->probe(guard->self, request, ret_plan, &why));
}

static const char *
guard_remark(void *self)
{
	WATCH("remark", const char *remark = guard->inner->language->remark(guard->self));
	return remark;
}

static const char *
guard_judging(void *self, const json_t *task, const json_t *files, int gpu)
{
	WATCH("judging", const char *word = guard->inner->language->judging(guard->self, task, files, gpu));
	return word;
}

static int
guard_adopt(void *self, const json_t *task, const json_t *files, json_t **ret_files, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("adopt", guard->inner->language->adopt(guard->self, task, files, ret_files, &why));
}

/* ---- runners ---- */

static int
guard_capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("capacity", guard->inner->runner->capacity(guard->self, unit, ret_slots, ret_prefetch, &why));
}

static int
guard_submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("submit", guard->inner->runner->submit(guard->self, job, plan, &why));
}

static void
guard_cancel(void *self, const char *ref)
{
	WATCH("cancel", guard->inner->runner->cancel(guard->self, ref));
}

static int
guard_recover(void *self, const struct kettle_job *job, const char *handle, struct kettle_error *err)
{
	BEGIN;
	return ANSWER_OR_NONE("recover", guard->inner->runner->recover(guard->self, job, handle, &why));
}

static void
guard_detach(void *self, const char *ref)
{
	WATCH("detach", guard->inner->runner->detach(guard->self, ref));
}

/* An answer that comes later. */
struct pending {
	const struct guard *guard;
	const char *operation;
	void (*answered)(void *arg, const struct kettle_error *err, json_t *result);
	void (*alive)(void *arg, const struct kettle_error *err);
	void *arg;
};

static struct pending *
pending_new(const struct guard *guard, const char *operation,
	void (*answered)(void *arg, const struct kettle_error *err, json_t *result), void *arg)
{
	struct pending *pending =
		xnew(struct pending, .guard = guard, .operation = operation, .answered = answered, .arg = arg);
	return pending;
}

/* Frees it if the operation has failed: then no answer comes. */
static int
pending_begun(struct pending *pending, int rc)
{
	if (rc < 0)
		free(pending);
	return rc;
}

static void
pending_end(struct pending *pending, const struct kettle_error *err, json_t *result)
{
	struct kettle_error mended;
	if (err && err->code) {
		(void)guard_fail(pending->guard, pending->operation, 0, err->code, err, &mended);
		err = &mended;
	}
	if (pending->alive)
		pending->alive(pending->arg, err);
	else
		pending->answered(pending->arg, err, result);
	free(pending);
}

static void
on_guard_answered(void *arg, const struct kettle_error *err, json_t *result)
{
	pending_end(arg, err, result);
}

static int
guard_describe(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *facts),
	void *arg, struct kettle_error *err)
{
	BEGIN;
	struct pending *pending = pending_new(guard, "`describe`", done, arg);
	return pending_begun(pending,
		ANSWER("describe", guard->inner->runner->describe(guard->self, unit, on_guard_answered, pending, &why)));
}

static int
guard_same_machine(void *self, const json_t *unit, const json_t *other)
{
	WATCH("same_machine", int same = guard->inner->runner->same_machine(guard->self, unit, other));
	return same;
}

static void
on_guard_alive(void *arg, const struct kettle_error *err)
{
	pending_end(arg, err, NULL);
}

static int
guard_heartbeat(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err), void *arg,
	struct kettle_error *err)
{
	BEGIN;
	struct pending *pending = pending_new(guard, "`heartbeat`", NULL, arg);
	pending->alive = done;
	return pending_begun(pending,
		ANSWER("heartbeat", guard->inner->runner->heartbeat(guard->self, unit, on_guard_alive, pending, &why)));
}

static int
guard_runner_tools(void *self, const json_t *tools, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("tools", guard->inner->runner->tools(guard->self, tools, &why));
}

static int
guard_doctor(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *report),
	void *arg, struct kettle_error *err)
{
	BEGIN;
	struct pending *pending = pending_new(guard, "`doctor`", done, arg);
	return pending_begun(
		pending, ANSWER("doctor", guard->inner->runner->doctor(guard->self, unit, on_guard_answered, pending, &why)));
}

static int
guard_init_remote(void *self, const json_t *args,
	void (*done)(void *arg, const struct kettle_error *err, json_t *result), void *arg, struct kettle_error *err)
{
	BEGIN;
	struct pending *pending = pending_new(guard, "`init`", done, arg);
	return pending_begun(
		pending, ANSWER("init", guard->inner->runner->init(guard->self, args, on_guard_answered, pending, &why)));
}

static int
guard_status(void *self, void (*done)(void *arg, const struct kettle_error *err, json_t *status), void *arg,
	struct kettle_error *err)
{
	BEGIN;
	struct pending *pending = pending_new(guard, "`status`", done, arg);
	return pending_begun(
		pending, ANSWER("status", guard->inner->runner->status(guard->self, on_guard_answered, pending, &why)));
}

static int
guard_check(void *self, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("check", guard->inner->runner->check(guard->self, &why));
}

/* ---- frontends ---- */

static void
guard_event(void *self, const json_t *event)
{
	WATCH("event", guard->inner->frontend->event(guard->self, event));
}

static int
guard_run(void *self, int argc, const char *const *argv, const json_t *globals, void (*done)(void *arg, int status),
	void *arg, struct kettle_error *err)
{
	BEGIN;
	return ANSWER("run", guard->inner->frontend->run(guard->self, argc, argv, globals, done, arg, &why));
}

/* ---- the tables ---- */

static struct kettle_language
guard_language(const struct kettle_language *inner)
{
	struct kettle_language language = *inner;
	language.plan = guard_plan;
	language.interpret = inner->interpret ? guard_interpret : NULL;
	language.single_file = inner->single_file ? guard_single_file : NULL;
	language.tools = inner->tools ? guard_language_tools : NULL;
	language.probe = inner->probe ? guard_probe : NULL;
	language.remark = inner->remark ? guard_remark : NULL;
	language.judging = inner->judging ? guard_judging : NULL;
	language.adopt = inner->adopt ? guard_adopt : NULL;
	return language;
}

static struct kettle_runner
guard_runner(const struct kettle_runner *inner)
{
	return (struct kettle_runner){
		.size = sizeof(*inner),
		.capacity = guard_capacity,
		.submit = guard_submit,
		.cancel = guard_cancel,
		.recover = inner->recover ? guard_recover : NULL,
		.detach = inner->detach ? guard_detach : NULL,
		.describe = inner->describe ? guard_describe : NULL,
		.same_machine = inner->same_machine ? guard_same_machine : NULL,
		.heartbeat = inner->heartbeat ? guard_heartbeat : NULL,
		.tools = inner->tools ? guard_runner_tools : NULL,
		.unit_options = inner->unit_options,
		.unit_options_count = inner->unit_options_count,
		.unit_option_size = inner->unit_option_size,
		.doctor = inner->doctor ? guard_doctor : NULL,
		.init = inner->init ? guard_init_remote : NULL,
		.status = inner->status ? guard_status : NULL,
		.check = inner->check ? guard_check : NULL,
	};
}

void
guard_init(struct guard *guard, const struct kettle_plugin *plugin, void *self)
{
	*guard = (struct guard){.plugin = *plugin, .inner = plugin, .self = self};
	if (plugin->language) {
		guard->language = guard_language(plugin->language);
		guard->plugin.language = &guard->language;
	}
	if (plugin->runner) {
		guard->runner = guard_runner(plugin->runner);
		guard->plugin.runner = &guard->runner;
	}
	if (plugin->frontend) {
		guard->frontend = (struct kettle_frontend){
			.size = sizeof(guard->frontend),
			.event = plugin->frontend->event ? guard_event : NULL,
			.run = plugin->frontend->run ? guard_run : NULL,
		};
		guard->plugin.frontend = &guard->frontend;
	}
}
