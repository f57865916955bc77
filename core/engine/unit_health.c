/* SPDX-License-Identifier: MIT */
/* Units that are not in order: disabled, tried, enabled; and what is known of those that are. */
/*
 * Theory of operation. kettle-exec looks at the GPUs of a job before and after it and reports its findings with the job's
 * completion. A unit with such a fault twice in a row is disabled, which the database remembers. From then on
 * it is tried every ENGINE_TEST_MS: its machine is described once more, and when its GPUs are there and nothing
 * uses them, it comes back. An operator may do either by hand (cmd_device.c). A unit that an operator disabled is
 * not tried. One whose kettle-exec is silent is not tried either: heartbeat.c brings it back.
 *
 * A machine may hang while it is described. A request waits at most ENGINE_DESCRIBE_MS, and no longer than the engine
 * runs: then its callback learns that the machine did not answer, and a later answer is dropped.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "judge/unit_facts.h"
#include "model/settings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what the database remembers ---- */

struct note {
	json_t *data; /* {"device", "unit", "reason"} */
	bool disabled;
};

static int
note_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct note *note = arg;
	return settings_unit_set(db, note->data, note->disabled, err);
}

static void
on_noted(void *arg, const struct kettle_error *err)
{
	struct note *note = arg;
	if (err)
		log_write(KETTLE_LOG_WARNING, "engine", "the state of unit %s is not remembered: %s",
			member_string(note->data, "unit"), err->message);
	json_decref(note->data);
	free(note);
}

void
unit_health_remember(struct engine *engine, const struct unit *unit, bool disabled, const char *reason)
{
	struct note *note = xcalloc(1, sizeof(*note));
	note->disabled = disabled;
	note->data = json_pack("{s:s, s:s, s:s}", "device", unit->device->name, "unit", unit->label, "reason", reason);
	store_write(engine->setup.store, note_op, on_noted, note);
}

/* ---- disabled and enabled ---- */

void
unit_health_disabled(struct engine *engine, struct unit *unit, const char *why, bool by_hand)
{
	engine_unit_disable(unit, why);
	unit->quarantined = !by_hand;
	unit->silent = false;
	unit->test_at_ms = uv_now(engine->setup.loop) + ENGINE_TEST_MS;
}

void
unit_health_ready(struct engine *engine, struct unit *unit, const char *why)
{
	log_write(KETTLE_LOG_INFO, "engine", "unit %s is brought back: %s", unit->label, why);
	unit->disabled[0] = '\0';
	unit->quarantined = unit->silent = false;
	if (unit->heartbeat)
		unit->heartbeat->waited_ms = 0;
	unit->faults = unit->losses = 0;
	unit->pause_until_ms = 0;
	engine->dirty = true;
}

struct unit *
engine_unit_find(const struct engine *engine, const char *label)
{
	for (struct device *device = engine->devices; device; device = device->next)
		for (struct unit *unit = device->units; unit; unit = unit->next)
			if (!unit->removed && strcasecmp(unit->label, label) == 0)
				return unit;
	return NULL;
}

void
unit_health_load(struct engine *engine, const json_t *rows)
{
	size_t i;
	json_t *row;
	json_array_foreach(rows, i, row) {
		const char *state = member_string(row, "state");
		const char *label = member_string(row, "unit");
		const char *reason = member_string(row, "reason");
		struct unit *unit = label ? engine_unit_find(engine, label) : NULL;
		if (!unit || !state || strcmp(state, "disabled") != 0 || unit->disabled[0])
			continue;
		/* The kettle-exec that did not answer ended with the engine that asked it. */
		if (reason && strncmp(reason, ENGINE_SILENT, strlen(ENGINE_SILENT)) == 0) {
			unit_health_remember(engine, unit, false, "its kettle-exec was started anew");
			continue;
		}
		bool by_hand = reason && strncmp(reason, ENGINE_BY_HAND, strlen(ENGINE_BY_HAND)) == 0;
		unit_health_disabled(engine, unit, reason ? reason : "no reason is known", by_hand);
	}
}

/* ---- faults ---- */

static void
take_fault(struct engine *engine, struct unit *unit, const char *fault)
{
	char why[sizeof(unit->disabled)];
	unit->faults++;
	log_write(KETTLE_LOG_WARNING, "engine", "unit %s is not in order: %s", unit->label, fault);
	if (unit->faults < ENGINE_FAULTS_MAX || unit->disabled[0])
		return;
	(void)snprintf(why, sizeof(why), "%u times in a row: %s", unit->faults, fault);
	unit_health_disabled(engine, unit, why, false);
	unit_health_remember(engine, unit, true, unit->disabled);
}

static void
judge_unit(struct engine *engine, struct unit *unit, const struct completion *completion)
{
	const char *fault = NULL;
	bool checked = false;
	size_t i;
	json_t *gpu;
	json_array_foreach(unit->gpus, i, gpu) {
		const char *why = member_string(completion->faults, json_string_value(gpu));
		fault = fault ? fault : why;
		checked = checked || list_has_text(completion->checked, json_string_value(gpu));
	}
	if (fault)
		take_fault(engine, unit, fault);
	else if (checked)
		unit->faults = 0;
}

void
unit_health_judge(struct engine_job *job, const struct completion *completion)
{
	if (job->unit)
		judge_unit(job->engine, job->unit, completion);
	for (size_t i = 0; i < job->more_count; i++)
		judge_unit(job->engine, job->more[i], completion);
}

/* ---- descriptions of machines ---- */

static void
close_request(struct describe_request *request)
{
	struct describe_request **link = &request->engine->requests;
	while (*link != request)
		link = &(*link)->next;
	*link = request->next;
	request->engine = NULL;
}

static void
on_health_answered(void *arg, const struct kettle_error *err, json_t *greeting)
{
	struct describe_request *request = arg;
	if (request->engine) {
		close_request(request);
		request->on_answer(request, err, greeting, false);
	}
	free(request);
}

/* request is the first member of what malloc gave, and is freed with the answer; on failure it stays the caller's. */
static int
health_ask(struct engine *engine, const struct unit *unit, struct describe_request *request, struct kettle_error *err)
{
	AUTO_JSON json_t *section = unit_brief(unit->config);
	request->engine = engine;
	request->deadline_ms = uv_now(engine->setup.loop) + ENGINE_DESCRIBE_MS;
	request->next = engine->requests;
	engine->requests = request;
	int rc = unit->runner->ops->describe(unit->runner->self, section, on_health_answered, request, err);
	if (rc < 0)
		close_request(request);
	return rc;
}

static void
give_up(struct describe_request *request, bool stopping)
{
	struct kettle_error err = {0};
	if (stopping)
		(void)kettle_fail(&err, KETTLE_ECANCELED, "The engine stopped before the machine had said what it is.");
	else
		(void)kettle_fail(&err, KETTLE_EUNAVAIL,
			"The machine did not say within %d s what it is; its kettle-exec may hang.", ENGINE_DESCRIBE_MS / 1000);
	close_request(request);
	request->on_answer(request, &err, NULL, true);
}

static void
check_requests(struct engine *engine)
{
	uint64_t now = uv_now(engine->setup.loop);
	bool stopping = engine->stopping && now >= engine->stop_at_ms;
	for (struct describe_request *request = engine->requests; request;) {
		if (!stopping && now < request->deadline_ms) {
			request = request->next;
			continue;
		}
		give_up(request, stopping);
		request = engine->requests; /* the callback may have changed the list */
	}
}

/* ---- tests ---- */

struct unit_test {
	struct describe_request request; /* first */
	struct engine *engine;
	char label[sizeof(((struct unit *)NULL)->label)];
	engine_test_done done;
	void *arg;
};

static void
on_health_described(struct describe_request *request, const struct kettle_error *err, json_t *greeting, bool late)
{
	struct unit_test *test = (struct unit_test *)request;
	struct engine *engine = test->engine;
	struct kettle_error why = *err;
	struct unit *unit = engine_unit_find(engine, test->label);
	(void)late;
	if (why.code == 0 && !unit)
		(void)kettle_fail(&why, KETTLE_ENOENT, "It is not configured any more.");
	else if (why.code == 0)
		why.code = unit_check_gpus(unit->config, greeting, &why);
	if (unit)
		unit->testing = false;
	engine->in_flight--;
	test->done(test->arg, engine, test->label, &why);
}

static int
unit_health_test(struct engine *engine, struct unit *unit, engine_test_done done, void *arg, struct kettle_error *err)
{
	if (!unit->runner->ops->describe)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "The runner `%s` cannot say how its machines are.", unit->runner->name);
	if (unit->testing)
		return kettle_fail(err, KETTLE_ECONFLICT, "Unit `%s` is being tried already.", unit->label);
	struct unit_test *test = xcalloc(1, sizeof(*test));
	*test = (struct unit_test){.request.on_answer = on_health_described, .engine = engine, .done = done, .arg = arg};
	memcpy(test->label, unit->label, sizeof(test->label));
	unit->testing = true;
	engine->in_flight++;
	int rc = health_ask(engine, unit, &test->request, err);
	if (rc < 0) {
		unit->testing = false;
		engine->in_flight--;
		free(test);
	}
	return rc;
}

static void
quarantined(void *arg, struct engine *engine, const char *label, const struct kettle_error *err)
{
	struct unit *unit = engine_unit_find(engine, label);
	(void)arg;
	if (!unit || !unit->disabled[0] || !unit->quarantined)
		return;
	unit->test_at_ms = uv_now(engine->setup.loop) + ENGINE_TEST_MS;
	if (err->code != 0)
		return;
	unit_health_ready(engine, unit, "it passed its test");
	unit_health_remember(engine, unit, false, "it passed its test");
}

void
unit_health_tick(struct engine *engine)
{
	uint64_t now = uv_now(engine->setup.loop);
	struct kettle_error err = {0};
	check_requests(engine);
	for (struct device *device = engine->stopping ? NULL : engine->devices; device; device = device->next)
		for (struct unit *unit = device->units; unit; unit = unit->next)
			if (unit->disabled[0] && unit->quarantined && !unit->silent && !unit->testing && !unit->removed &&
				now >= unit->test_at_ms) {
				unit->test_at_ms = now + ENGINE_TEST_MS;
				(void)unit_health_test(engine, unit, quarantined, NULL, &err);
			}
}

/* ---- what is known ---- */

struct facts_request {
	struct describe_request request; /* first */
	struct unit *unit;
	void (*done)(void *arg, const char *late);
	void *arg;
};

static void
on_known(struct describe_request *request, const struct kettle_error *err, json_t *greeting, bool late)
{
	struct facts_request *wait = (struct facts_request *)request;
	/* Without it languages plan with what the configuration says, and the runner will say what is wrong. */
	if (err->code == 0 && !wait->unit->facts)
		wait->unit->facts = unit_facts_lasting(wait->unit->config, greeting);
	wait->done(wait->arg, late ? err->message : NULL);
}

bool
unit_health_fetch_facts(struct engine *engine, struct unit *unit, void (*done)(void *arg, const char *late), void *arg)
{
	struct kettle_error err = {0};
	const struct kettle_runner *ops = unit->runner->ops;
	if (unit->facts || json_array_size(unit->gpus) == 0 || !ops->describe)
		return false;
	struct facts_request *wait = xcalloc(1, sizeof(*wait));
	*wait = (struct facts_request){.request.on_answer = on_known, .unit = unit, .done = done, .arg = arg};
	if (health_ask(engine, unit, &wait->request, &err) == 0)
		return true;
	free(wait);
	return false;
}

/* ---- for commands ---- */

json_t *
engine_units(const struct engine *engine, const char *name)
{
	json_t *list = json_array();
	for (const struct device *device = engine->devices; device; device = device->next)
		for (const struct unit *unit = device->units; unit; unit = unit->next)
			if (!unit->removed && (strcasecmp(device->name, name) == 0 || strcasecmp(unit->label, name) == 0))
				(void)json_array_append_new(list, json_pack("{s:s, s:s}", "device", device->name, "unit", unit->label));
	return list;
}

void
engine_unit_set(struct engine *engine, const char *label, bool disabled, const char *reason)
{
	struct unit *unit = engine_unit_find(engine, label);
	if (unit && disabled)
		unit_health_disabled(engine, unit, reason, true);
	else if (unit)
		unit_health_ready(engine, unit, reason);
}

int
engine_unit_test(struct engine *engine, const char *label, engine_test_done done, void *arg, struct kettle_error *err)
{
	struct unit *unit = engine_unit_find(engine, label);
	if (!unit)
		return kettle_fail(err, KETTLE_ENOENT, "Unit `%s` is not configured any more.", label);
	return unit_health_test(engine, unit, done, arg, err);
}
