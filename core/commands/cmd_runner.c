/* SPDX-License-Identifier: MIT */
/* Commands that ask runners: about their machines' tools, their remote sides' needs, and the jobs that wait there. */
/*
 * Theory of operation. A runner answers when it can, at the latest when it stops, which is after the core has closed.
 * So an inquiry ends before its runner answers if its caller goes away, the engine stops, or INQUIRY_LIMIT_MS have
 * passed; later answers are dropped. A machine whose units wait for something, for example because it cannot be
 * reached, has INQUIRY_WAITS_MS; the answer has the reason of the wait in any case. The core is held until the inquiry
 * has ended, and not longer.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/gpu_fitness.h"
#include "base/nearest.h"
#include "commands/local_job.h"
#include "judge/unit_facts.h"
#include "session/core.h"

#include <limits.h>
#include <unistd.h>

#define INQUIRY_LIMIT_MS 180000
#define INQUIRY_WAITS_MS 15000 /* for a machine whose units are known to wait for something */
#define INQUIRY_WATCH_MS 200   /* between checks whether the inquiry is still needed */
#define MACHINES_MAX 32        /* of one device.doctor */
#define LISTED_MAX 1000        /* jobs or files of a runner's answer */

struct inquiry {
	struct core *core; /* until it has ended */
	struct waiter waiter;
	json_t *places; /* objects that take "answer", or "error" */
	unsigned pending;
	struct kettle_timer *watch;
	uint64_t waited_ms;
	bool ended;
	struct kettle_error err; /* the last one */
	/* Makes the command's answer, a new reference; NULL: err. */
	json_t *(*conclude)(struct inquiry *inquiry);
	kettle_answer answer;
	void *arg;
};

/* The request to one runner. */
struct inquiry_request {
	struct inquiry *inquiry;
	json_t *place;
};

static void
inquiry_end(struct inquiry *inquiry)
{
	inquiry->ended = true;
	loop_timer_stop(inquiry->core->setup.io, STEAL(inquiry->watch));
	AUTO_JSON json_t *result = inquiry->conclude(inquiry);
	struct core *core = STEAL(inquiry->core);
	struct kettle_error none = {0};
	inquiry->answer(inquiry->arg, result ? &none : &inquiry->err, result);
	core_release(core);
}

/* One of the requests has ended, or the command itself has begun all of them. */
static void
inquiry_release(struct inquiry *inquiry)
{
	if (--inquiry->pending > 0)
		return;
	if (!inquiry->ended)
		inquiry_end(inquiry);
	json_decref(inquiry->places);
	free(inquiry);
}

static void
on_asked(void *arg, const struct kettle_error *err, json_t *answer)
{
	struct inquiry_request *request = arg;
	struct inquiry *inquiry = request->inquiry;
	struct kettle_error why = *err;
	if (why.code == 0 && !json_is_object(answer))
		(void)kettle_fail(&why, KETTLE_EINTERNAL, "Its runner answered with something that is not an object.");
	if (why.code < 0) {
		inquiry->err = inquiry->ended ? inquiry->err : why;
		(void)json_object_set_new(request->place, "error", json_string(why.message));
	} else {
		(void)json_object_set(request->place, "answer", answer);
	}
	if (!inquiry->ended)
		(void)json_object_del(request->place, "waits");
	json_decref(request->place);
	free(request);
	inquiry_release(inquiry);
}

/* The reasons why the units of a place wait, an array; NULL: none. New reference. */
static json_t *
find_obstacles(const struct inquiry *inquiry, const json_t *place)
{
	const struct engine *engine = inquiry->core->engine;
	json_t *list =
		engine ? engine_obstacles(engine, json_text_or_empty(place, "runner"), json_object_get(place, "units")) : NULL;
	if (json_array_size(list) > 0)
		return list;
	json_decref(list);
	return NULL;
}

static void
fail_place(json_t *place, const char *why)
{
	(void)json_object_set_new(place, "error", json_string(why));
	(void)json_object_del(place, "waits");
}

/* Gives up on machines whose units wait. True: nothing is left to wait for. */
static bool
give_up_blocked(struct inquiry *inquiry)
{
	bool all = true;
	json_array_each(inquiry->places, place) {
		AUTO_JSON json_t *obstacles = find_obstacles(inquiry, place);
		if (json_object_get(place, "waits") && obstacles) {
			(void)kettle_fail(
				&inquiry->err, KETTLE_EUNAVAIL, "%s", json_text_or_empty(json_array_get(obstacles, 0), "error"));
			fail_place(place, inquiry->err.message);
		}
		all = all && !json_object_get(place, "waits");
	}
	return all;
}

/* Gives up on all answers that are missing. */
static void
on_watch(void *arg)
{
	struct inquiry *inquiry = arg;
	bool stops = inquiry->core->closing || !core_is_awaited(inquiry->core, &inquiry->waiter);
	inquiry->waited_ms += INQUIRY_WATCH_MS;
	if (!stops && inquiry->waited_ms < INQUIRY_LIMIT_MS) {
		if (inquiry->waited_ms >= INQUIRY_WAITS_MS && give_up_blocked(inquiry))
			inquiry_end(inquiry);
		return;
	}
	if (stops)
		(void)kettle_fail(&inquiry->err, KETTLE_ECANCELED, "The command ended before the runner had answered.");
	else
		(void)kettle_fail(
			&inquiry->err, KETTLE_EUNAVAIL, "The runner did not answer within %d s.", INQUIRY_LIMIT_MS / 1000);
	json_array_each(inquiry->places, place)
		if (json_object_get(place, "waits"))
			fail_place(place, inquiry->err.message);
	inquiry_end(inquiry);
}

static struct inquiry *
inquiry_begin(struct core *core, const struct actor *actor, json_t *(*conclude)(struct inquiry *inquiry),
	kettle_answer answer, void *arg)
{
	struct inquiry *inquiry = xnew(struct inquiry, .core = core, .waiter = actor->waiter, .places = json_array(),
		.pending = 1, .conclude = conclude, .answer = answer, .arg = arg);
	core_hold(core);
	(void)loop_timer_start(
		core->setup.io, INQUIRY_WATCH_MS, INQUIRY_WATCH_MS, on_watch, inquiry, &inquiry->watch, NULL);
	return inquiry;
}

/* A request to a runner; its place is one of inquiry->places, and is stolen. */
static struct inquiry_request *
inquiry_request(struct inquiry *inquiry, json_t *place_take)
{
	struct inquiry_request *request = xnew(struct inquiry_request, inquiry, place_take);
	(void)json_object_set_new(place_take, "waits", json_true());
	(void)json_array_append(inquiry->places, place_take);
	inquiry->pending++;
	return request;
}

static void
inquiry_taken(struct inquiry_request *request, int rc, struct kettle_error *err)
{
	if (rc >= 0)
		return;
	if (!err->message[0])
		(void)kettle_fail(err, rc, "The runner refused the request without a reason.");
	err->code = rc;
	on_asked(request, err, NULL);
}

/* ---- device.doctor ---- */

/* Whether a unit's GPU is fit to score by its machine's greeting. named: {"unit", "gpu"}. New reference. */
static json_t *
score_of(const json_t *named, const json_t *greeting)
{
	AUTO_JSON json_t *facts = unit_facts(named, greeting);
	json_t *gpu = json_object_get(facts, "gpu");
	const json_t *causes = json_object_get(gpu, "unfit");
	const char *missing = json_text_or_null(facts, "gpu_error");
	AUTO_BUF struct buf why = {0}, note = {0};
	gpu_words_explain(causes, &why);
	gpu_words_explain(json_object_get(gpu, "remarks"), &note);
	if (!json_is_array(causes))
		buf_adds(&why, missing ? missing : "its machine does not report whether it is fit");
	return json_pack("{s:O, s:O, s:b, s:s*, s:s*, s:O*}", "unit", json_object_get(named, "unit"), "gpu",
		json_object_get(named, "gpu"), "fit", why.len == 0, "why", why.len ? why.data : NULL, "note",
		note.len ? note.data : NULL, "facts", gpu);
}

/* Adds to a machine whether the GPUs of its units are fit, or why it did not answer. */
static void
add_scores(json_t *machine, const json_t *place)
{
	const json_t *greeting = json_object_get(place, "answer");
	json_t *list = greeting ? json_array() : NULL;
	json_array_each(greeting ? json_object_get(place, "gpus") : NULL, named)
		(void)json_array_append_new(list, score_of(named, greeting));
	json_object_set_new(machine, "score", list);
}

static json_t *
conclude_doctor(struct inquiry *inquiry)
{
	json_t *machines = json_array();
	json_array_each(inquiry->places, place) {
		bool score = json_object_get(place, "gpus");
		AUTO_JSON json_t *report = score ? NULL : json_copy(json_object_get(place, "answer"));
		json_t *text = json_object_get(report, "text");
		json_t *obstacles = find_obstacles(inquiry, place);
		json_t *machine = json_pack("{s:O, s:O, s:O*, s:O*, s:o*}", "units", json_object_get(place, "units"), "runner",
			json_object_get(place, "runner"), "text", json_is_string(text) ? text : NULL, "error",
			json_object_get(place, "error"), "obstacles", obstacles);
		if (text)
			(void)json_object_del(report, "text");
		if (report)
			(void)json_object_set(machine, "report", report);
		if (score)
			add_scores(machine, place);
		(void)json_array_append_new(machines, machine);
	}
	return json_pack("{s:o}", "machines", machines);
}

/* Adds the unit, and its GPUs, to a machine. */
static void
add_unit(json_t *machine, const json_t *unit)
{
	AUTO_JSON json_t *gpus = unit_gpus(json_object_get(unit, "config"));
	(void)json_array_append(json_object_get(machine, "units"), json_object_get(unit, "unit"));
	json_array_each(gpus, gpu)
		(void)json_array_append_new(json_object_get(machine, "gpus"),
			json_pack("{s:O, s:O}", "unit", json_object_get(unit, "unit"), "gpu", gpu));
}

/* Adds the unit to its machine, or as a new machine. */
static void
add_machine(const struct core *core, json_t *machines, const json_t *unit)
{
	const json_t *config = json_object_get(unit, "config");
	const struct runner *runner = local_job_runner(core, config);
	json_array_each(machines, machine) {
		const json_t *other = json_object_get(machine, "config");
		if (runner && local_job_runner(core, other) == runner && runner->ops->same_machine &&
			runner->ops->same_machine(runner->self, other, config)) {
			add_unit(machine, unit);
			return;
		}
	}
	json_t *made = json_pack(
		"{s:[], s:[], s:O, s:O}", "units", "gpus", "runner", json_object_get(unit, "runner"), "config", config);
	add_unit(made, unit);
	(void)json_array_append_new(machines, made);
}

/* The machines of the units that have the name, or whose device has it: [{"units", "gpus", "runner", "config"}]. */
static int
choose_machines(const struct core *core, const char *name, json_t **ret_machines, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = engine_devices(core->engine), *machines = json_array();
	json_array_each(devices, device)
		json_array_each(json_object_get(device, "units"), unit) {
			bool named = strcasecmp(json_text_or_empty(device, "name"), name) == 0 ||
						 strcasecmp(json_text_or_empty(unit, "unit"), name) == 0;
			if (named && !member_is(unit, "state", "removed"))
				add_machine(core, machines, unit);
		}
	if (json_array_size(machines) == 0)
		return kettle_fail(
			err, KETTLE_ENOENT, "There is no unit and no device `%s` here; `kettle device list` shows them.", name);
	if (json_array_size(machines) > MACHINES_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG,
			"The units of `%s` are on %zu machines, more than the %d that can be examined at once; name a unit.", name,
			json_array_size(machines), MACHINES_MAX);
	*ret_machines = STEAL(machines);
	return 0;
}

/* score: asks for the greeting of the machine's kettle-exec alone, which comes at once and knows what runs there. */
static void
ask_doctor(struct inquiry *inquiry, const struct core *core, const json_t *machine, bool score)
{
	struct kettle_error err = {0};
	json_t *config = json_object_get(machine, "config");
	AUTO_JSON json_t *section = score ? unit_brief(config) : json_incref(config);
	const struct runner *runner = local_job_runner(core, config);
	struct inquiry_request *request = inquiry_request(
		inquiry, json_pack("{s:O, s:O, s:O*}", "units", json_object_get(machine, "units"), "runner",
					 json_object_get(machine, "runner"), "gpus", score ? json_object_get(machine, "gpus") : NULL));
	int rc = 0;
	if (!runner || !(score ? runner->ops->describe : runner->ops->doctor))
		rc = kettle_fail(&err, KETTLE_EUNAVAIL, "The runner `%s` cannot %s its machines.",
			json_text_or_empty(machine, "runner"), score ? "describe" : "run `kettle-exec --doctor` on");
	else
		rc = (score ? runner->ops->describe : runner->ops->doctor)(runner->self, section, on_asked, request, &err);
	inquiry_taken(request, rc, &err);
}

void
cmd_device_doctor(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *machines = NULL;
	if (choose_machines(core, json_text_or_empty(args, "name"), &machines, &err) < 0) {
		answer(arg, &err, NULL);
		return;
	}
	struct inquiry *inquiry = inquiry_begin(core, actor, conclude_doctor, answer, arg);
	json_array_each(machines, machine)
		ask_doctor(inquiry, core, machine, member_true(args, "score"));
	inquiry_release(inquiry);
}

/* ---- one runner ---- */

/* The runner of this name; NULL with ENOENT, which names the nearest one. */
static const struct runner *
find_runner(const struct core *core, const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_object();
	for (size_t i = 0; i < core->runners_count; i++) {
		if (strcmp(core->runners[i].name, name) == 0)
			return &core->runners[i];
		(void)json_object_set_new(names, core->runners[i].name, json_null());
	}
	const char *near = nearest_key(name, names);
	if (near)
		(void)kettle_fail(err, KETTLE_ENOENT, "There is no runner `%s` here; did you mean `%s`?", name, near);
	else
		(void)kettle_fail(err, KETTLE_ENOENT,
			"There is no runner `%s` here: add `%s: {}`, with its options, to `runners` of the configuration, and "
			"restart "
			"Kettle.",
			name, name);
	return NULL;
}

/* The first rows of a runner's list, each with those of these members that are text; NULL: of texts. New reference. */
static json_t *
copy_rows(const json_t *list, const char *const *members)
{
	json_t *rows = json_array(), *one;
	size_t i;
	json_array_foreach(list, i, one) {
		if (i == LISTED_MAX)
			break;
		json_t *row = members ? json_object() : NULL;
		for (const char *const *member = members; member && *member; member++)
			if (json_text_or_null(one, *member))
				(void)json_object_set(row, *member, json_object_get(one, *member));
		if (row)
			(void)json_array_append_new(rows, row);
		else if (json_is_string(one))
			(void)json_array_append(rows, one);
	}
	return rows;
}

static json_t *
conclude_init(struct inquiry *inquiry)
{
	static const char *const members[] = {"path", "state", NULL};
	const json_t *place = json_array_get(inquiry->places, 0), *answer = json_object_get(place, "answer");
	return answer ? json_pack("{s:O, s:o, s:o}", "runner", json_object_get(place, "runner"), "files",
						copy_rows(json_object_get(answer, "files"), members), "next",
						copy_rows(json_object_get(answer, "next"), NULL))
				  : NULL;
}

static json_t *
conclude_status(struct inquiry *inquiry)
{
	static const char *const members[] = {"job", "state", "since", "where", NULL};
	const json_t *place = json_array_get(inquiry->places, 0), *answer = json_object_get(place, "answer");
	json_t *text = json_object_get(answer, "text");
	AUTO_JSON json_t *obstacles = find_obstacles(inquiry, place);
	if (!answer && !obstacles)
		return NULL;
	return json_pack("{s:O, s:o, s:O*, s:O*, s:O*}", "runner", json_object_get(place, "runner"), "jobs",
		copy_rows(json_object_get(answer, "jobs"), members), "text", json_is_string(text) ? text : NULL, "error",
		json_object_get(place, "error"), "obstacles", obstacles);
}

/* {"NAME": text} of the arguments NAME=TEXT. New reference in *ret_options. */
static int
split_options(const json_t *given, json_t **ret_options, struct kettle_error *err)
{
	AUTO_JSON json_t *options = json_object();
	json_array_each(given, one) {
		const char *text = json_string_value(one), *equals = strchr(text, '=');
		AUTO_FREE char *name = xasprintf("%.*s", equals ? (int)(equals - text) : 0, text);
		if (!*name)
			return kettle_fail(err, KETTLE_EINVAL, "`%s` is not an option of the form NAME=TEXT.", text);
		if (json_object_get(options, name))
			return kettle_fail(err, KETTLE_EINVAL, "The option `%s` is given twice.", name);
		(void)json_object_set_new(options, name, json_string(equals + 1));
	}
	*ret_options = STEAL(options);
	return 0;
}

/* The arguments of init. New reference in *ret_args. */
static int
init_args(const json_t *args, json_t **ret_args, struct kettle_error *err)
{
	AUTO_JSON json_t *options = NULL;
	const char *folder = json_text_or_empty(args, "dir");
	char here[PATH_MAX];
	int rc = split_options(json_object_get(args, "option"), &options, err);
	if (rc < 0)
		return rc;
	if (!getcwd(here, sizeof(here)))
		return kettle_fail(err, KETTLE_EIO, "The current folder cannot be found.");
	AUTO_FREE char *path = folder[0] == '/' ? xstrdup(folder) : xasprintf("%s/%s", here, folder);
	*ret_args = json_pack("{s:s, s:O, s:b}", "folder", path, "options", options, "force", member_true(args, "force"));
	return *ret_args ? 0 : kettle_fail(err, KETTLE_EINVAL, "The path of the folder is not UTF-8 text.");
}

void
cmd_runner_init(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *request_args = NULL;
	const char *name = json_text_or_empty(args, "name");
	const struct runner *runner = find_runner(core, name, &err);
	if (runner && !runner->ops->init)
		(void)kettle_fail(
			&err, KETTLE_EUNAVAIL, "The runner `%s` has nothing to set up: it needs no files on a remote side.", name);
	if (err.code < 0 || init_args(args, &request_args, &err) < 0) {
		answer(arg, &err, NULL);
		return;
	}
	struct inquiry *inquiry = inquiry_begin(core, actor, conclude_init, answer, arg);
	struct inquiry_request *request = inquiry_request(inquiry, json_pack("{s:s}", "runner", name));
	inquiry_taken(request, runner->ops->init(runner->self, request_args, on_asked, request, &err), &err);
	inquiry_release(inquiry);
}

void
cmd_runner_status(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	const char *name = json_text_or_empty(args, "name");
	const struct runner *runner = find_runner(core, name, &err);
	if (!runner) {
		answer(arg, &err, NULL);
		return;
	}
	struct inquiry *inquiry = inquiry_begin(core, actor, conclude_status, answer, arg);
	struct inquiry_request *request = inquiry_request(inquiry, json_pack("{s:s}", "runner", name));
	int rc =
		runner->ops->status
			? runner->ops->status(runner->self, on_asked, request, &err)
			: kettle_fail(&err, KETTLE_EUNAVAIL,
				  "The runner `%s` has no queue of its own; `kettle device list` shows the queues of devices.", name);
	inquiry_taken(request, rc, &err);
	inquiry_release(inquiry);
}
