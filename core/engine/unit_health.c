/* SPDX-License-Identifier: MIT */
/* Units that are not in order (disabled, tested, enabled), and the facts of units. */
/*
 * Theory of operation. kettle-exec checks the GPUs of a job before and after it, and reports faults with the
 * completion. ENGINE_FAULTS_MAX faults in a row disable a unit, which the database remembers. The engine then tests it
 * every ENGINE_TEST_MS: it has the machine described again, and enables the unit when its GPUs are there and unused. An
 * operator can disable, enable and test units by hand (cmd_device.c). A unit that an operator disabled is not tested. A
 * unit whose kettle-exec is silent is not tested either: heartbeat.c enables it.
 *
 * A unit that its runner calls unusable, since its configuration is wrong, pauses for ENGINE_TEST_MS; then one job
 * finds out whether it works again. Its other jobs wait meanwhile.
 *
 * A machine may hang while it is described. A request waits at most ENGINE_DESCRIBE_MS, and no longer than the engine
 * runs. Then its callback learns that the machine did not answer, and a later answer is dropped.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/base.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "judge/unit_facts.h"
#include "model/settings.h"

/* ---- stored state ---- */

struct note {
	json_t *data; /* {"device", "unit", "key", "reason"} */
	enum unit_cause cause;
};

static int
note_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct note *note = arg;
	return settings_unit_set(db, note->data, note->cause, false, err);
}

static int
tell_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct note *note = arg;
	return settings_unit_tell(db, note->data, note->cause, err);
}

static void
on_noted(void *arg, const struct kettle_error *err)
{
	struct note *note = arg;
	if (err)
		log_write(KETTLE_LOG_WARNING, "engine", "the state of unit %s could not be stored; a restart loses it: %s",
			json_text_or_null(note->data, "unit"), err->message);
	json_decref(note->data);
	free(note);
}

static void
take_note(struct engine *engine, const struct unit *unit, store_op op, enum unit_cause cause, const char *reason)
{
	struct note *note = xnew(struct note, .cause = cause,
		.data = json_pack("{s:s, s:s, s:s, s:s}", "device", unit->device->name, "unit", unit->label, "key", unit->key,
			"reason", reason));
	store_write(engine->setup.store, op, on_noted, note);
}

void
unit_health_remember(struct engine *engine, const struct unit *unit, const char *reason)
{
	take_note(engine, unit, note_op, unit->disabled.cause, reason);
}

struct wait_note {
	json_t *data; /* {"device", "key"} */
	enum unit_wait wait;
	int64_t since_ms;
};

static int
wait_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct wait_note *note = arg;
	return settings_unit_waits(db, note->data, note->wait, note->since_ms, err);
}

static void
on_wait_noted(void *arg, const struct kettle_error *err)
{
	struct wait_note *note = arg;
	(void)err; /* a restart then shows a later time */
	json_decref(note->data);
	free(note);
}

/* Stores since when a unit's jobs wait (0: they do not), with the next commit, so that a restart does not lose it. */
static void
note_wait(struct engine *engine, const struct unit *unit, enum unit_wait wait, int64_t since_ms)
{
	struct wait_note *note =
		xnew(struct wait_note, .data = json_pack("{s:s, s:s}", "device", unit->device->name, "key", unit->key),
			.wait = wait, .since_ms = since_ms);
	store_later(engine->setup.store, wait_op, on_wait_noted, note);
}

/* ---- disabled and enabled ---- */

/* still: the database says so, not an event of now. */
static void
disable(struct engine *engine, struct unit *unit, enum unit_cause cause, const char *why, bool still)
{
	unit->disabled.cause = cause;
	utf8_copy(unit->disabled.why, sizeof(unit->disabled.why), why);
	log_write(KETTLE_LOG_WARNING, "engine", "unit %s is %sdisabled%s %s", unit->label, still ? "still " : "",
		cause == UNIT_OPERATOR ? "" : ":", why);
	unit->disabled.test_at_ms = clock_ms(engine->setup.clock) + ENGINE_TEST_MS;
}

void
unit_health_disable(struct engine *engine, struct unit *unit, enum unit_cause cause, const char *why)
{
	disable(engine, unit, cause, why, false);
}

void
unit_health_give_up(struct engine *engine, struct unit *unit, const char *why)
{
	unit_health_disable(engine, unit, UNIT_GIVEN_UP, why);
	take_note(engine, unit, tell_op, unit->disabled.cause, unit->disabled.why);
}

/* The runner reports an obstacle. True: it is new, and is stored. */
static bool
obstacle_begins(struct engine *engine, struct unit *unit, enum unit_wait wait, const char *why)
{
	struct unit_obstacle *obstacle = &unit->obstacles[wait];
	bool known = obstacle->said_ns;
	obstacle->said_ns = clock_ns(engine->setup.clock);
	utf8_copy(obstacle->why, sizeof(obstacle->why), why);
	if (known)
		return false;
	if (!obstacle->since_utc_ms)
		obstacle->since_utc_ms = clock_utc_ms(engine->setup.clock);
	note_wait(engine, unit, wait, obstacle->since_utc_ms);
	return true;
}

/* An obstacle ends, or one from before a restart; this is stored. True: this engine knew of it from the runner. */
static bool
obstacle_ends(struct engine *engine, struct unit *unit, enum unit_wait wait)
{
	struct unit_obstacle *obstacle = &unit->obstacles[wait];
	bool known = obstacle->said_ns;
	if (obstacle->since_utc_ms)
		note_wait(engine, unit, wait, 0);
	obstacle->said_ns = 0;
	obstacle->since_utc_ms = 0;
	return known;
}

void
unit_health_unusable(struct engine *engine, struct unit *unit, const char *why)
{
	unit->pause_until_ms = clock_ms(engine->setup.clock) + ENGINE_TEST_MS;
	if (!obstacle_begins(engine, unit, UNIT_UNUSABLE, why))
		return;
	log_write(KETTLE_LOG_WARNING, "engine", "unit %s can run no job, and its jobs wait: %s", unit->label, why);
	take_note(engine, unit, tell_op, UNIT_GIVEN_UP, unit->obstacles[UNIT_UNUSABLE].why);
}

void
unit_health_usable(const struct engine_job *job)
{
	struct unit *unit = job->unit;
	if (job->stamps.started_ns < unit->obstacles[UNIT_UNUSABLE].said_ns)
		return;
	if (!obstacle_ends(job->engine, unit, UNIT_UNUSABLE))
		return;
	unit->pause_until_ms = 0;
	log_write(KETTLE_LOG_INFO, "engine", "unit %s runs jobs again", unit->label);
	take_note(job->engine, unit, tell_op, UNIT_ENABLED, "it runs jobs again");
	job->engine->dirty = true;
}

json_t *
unit_health_obstacle(const struct unit *unit)
{
	enum unit_condition condition = unit_condition(unit);
	if (condition != CONDITION_UNUSABLE && condition != CONDITION_AWAY)
		return NULL;
	const struct unit_obstacle *obstacle =
		&unit->obstacles[condition == CONDITION_UNUSABLE ? UNIT_UNUSABLE : UNIT_AWAY];
	return json_pack("{s:s, s:s, s:s, s:s}", "unit", unit->label, "cause",
		condition == CONDITION_UNUSABLE ? "operator" : "unreachable", "since", TIME_TEXT(obstacle->since_utc_ms),
		"error", obstacle->why);
}

char *
unit_health_sentence(const struct unit *unit)
{
	AUTO_JSON json_t *obstacle = unit_health_obstacle(unit);
	const char *since = json_text_or_empty(obstacle, "since");
	return !obstacle
			   ? NULL
			   : xasprintf("%s %s since %.10s %.5s UTC: %s", unit->label,
					 member_is(obstacle, "cause", "operator") ? "has waited for its operator" : "has been out of reach",
					 since, since + strlen("2026-07-01T"), json_text_or_empty(obstacle, "error"));
}

const struct unit *
unit_health_blocking(const struct device *device)
{
	const struct unit *first = NULL;
	for (const struct unit *unit = device->units; unit; unit = unit->next) {
		enum unit_condition condition = unit_condition(unit);
		if (condition == CONDITION_IN_ORDER)
			return NULL;
		first = first || condition <= CONDITION_DISABLED ? first : unit;
	}
	return first;
}

static void
take_reached(struct engine *engine, struct unit *unit, const char *error)
{
	if (!error && obstacle_ends(engine, unit, UNIT_AWAY)) {
		log_write(KETTLE_LOG_INFO, "engine", "the remote side of unit %s answers again", unit->label);
		engine->dirty = true;
	} else if (error && obstacle_begins(engine, unit, UNIT_AWAY, error)) {
		log_write(KETTLE_LOG_WARNING, "engine", "the remote side of unit %s cannot be reached, and its jobs wait: %s",
			unit->label, unit->obstacles[UNIT_AWAY].why);
	}
}

void
engine_reached(struct engine *engine, const char *runner, const json_t *options, const char *error)
{
	for (struct device *device = engine->devices; device; device = device->next)
		for (struct unit *unit = device->units; unit; unit = unit->next)
			if (strcmp(unit->runner->name, runner) == 0 &&
				(!options || json_equal(options, json_object_get(unit->config, "options"))))
				take_reached(engine, unit, error);
}

json_t *
engine_obstacles(const struct engine *engine, const char *runner, const json_t *labels)
{
	json_t *list = json_array();
	for (const struct device *device = engine->devices; device; device = device->next)
		for (const struct unit *unit = device->units; unit; unit = unit->next) {
			json_t *obstacle =
				strcmp(unit->runner->name, runner) == 0 && (!labels || list_has_text(labels, unit->label))
					? unit_health_obstacle(unit)
					: NULL;
			if (obstacle)
				(void)json_array_append_new(list, obstacle);
		}
	return list;
}

void
unit_health_ready(struct engine *engine, struct unit *unit, bool operator, const char * why)
{
	log_write(KETTLE_LOG_INFO, "engine", "unit %s is enabled%s %s", unit->label, operator? "" : ":", why);
	unit->disabled.cause = UNIT_ENABLED;
	(void)obstacle_ends(engine, unit, UNIT_UNUSABLE);
	if (unit->heartbeat.open)
		unit->heartbeat.open->waited_ms = 0;
	unit->disabled.faults = 0;
	engine_unit_works(unit);
	unit->pause_until_ms = 0;
	engine->dirty = true;
}

struct unit *
engine_unit_find(const struct engine *engine, const char *device_name, const char *key)
{
	const struct device *device = engine_device_find(engine, device_name);
	for (struct unit *unit = device ? device->units : NULL; unit; unit = unit->next)
		if (!unit->removed && strcmp(unit->key, key) == 0)
			return unit;
	return NULL;
}

/* The configured unit for an element of engine_units; NULL: there is none. */
static struct unit *
find_listed(const struct engine *engine, const json_t *unit)
{
	return engine_unit_find(engine, json_text_or_empty(unit, "device"), json_text_or_empty(unit, "key"));
}

static void
take_state(struct engine *engine, struct unit *unit, const json_t *row)
{
	enum unit_cause cause = settings_unit_cause(row);
	if (unit->disabled.cause || !cause)
		return;
	/* The silent kettle-exec ended with its engine. */
	if (cause == UNIT_SILENT)
		unit_health_remember(engine, unit, "its kettle-exec was restarted");
	else
		disable(engine, unit, cause, json_text_or_empty(row, "reason"), true);
}

static void
ignore_facts(void *arg, const char *late)
{
	(void)arg;
	(void)late;
}

static bool fetch_facts(struct engine *engine, struct unit *unit, void (*done)(void *arg, const char *late), void *arg);

void
unit_health_load(struct engine *engine, const json_t *rows)
{
	json_array_each(rows, row) {
		struct unit *unit = find_listed(engine, row);
		if (unit) {
			unit_model_load(unit, row);
			/* The times from before a restart are shown once the runner reports the obstacle again. */
			json_int_t unusable = member_int(row, "unusable_at"), away = member_int(row, "away_at");
			unit->obstacles[UNIT_UNUSABLE].since_utc_ms =
				unusable ? unusable : unit->obstacles[UNIT_UNUSABLE].since_utc_ms;
			unit->obstacles[UNIT_AWAY].since_utc_ms = away ? away : unit->obstacles[UNIT_AWAY].since_utc_ms;
		}
		if (!unit || unit->disabled.cause)
			continue;
		take_state(engine, unit, row);
		/* No job requests the facts of a disabled unit, and they may show that it is another unit. */
		if (unit->disabled.cause && !unit->machine.requests && !engine->stop.begun && json_array_size(unit->gpus) > 0)
			(void)fetch_facts(engine, unit, ignore_facts, NULL);
	}
}

/* ---- faults ---- */

static void
take_fault(struct engine *engine, struct unit *unit, const char *fault)
{
	char why[sizeof(unit->disabled.why)];
	unit->disabled.faults++;
	log_write(KETTLE_LOG_WARNING, "engine", "unit %s is not available: %s", unit->label, fault);
	if (unit->disabled.faults < ENGINE_FAULTS_MAX || unit->disabled.cause)
		return;
	(void)snprintf(why, sizeof(why), "%u times in a row: %s", unit->disabled.faults, fault);
	unit_health_disable(engine, unit, UNIT_FAULT, why);
	unit_health_remember(engine, unit, unit->disabled.why);
}

static void
judge_unit(struct engine *engine, struct unit *unit, const struct completion *completion)
{
	const char *fault = NULL;
	bool checked = false;
	json_array_each(unit->gpus, gpu) {
		const char *why = json_text_or_null(completion->faults, json_string_value(gpu));
		fault = fault ? fault : why;
		checked = checked || list_has_text(completion->checked, json_string_value(gpu));
	}
	if (fault)
		take_fault(engine, unit, fault);
	else if (checked)
		unit->disabled.faults = 0;
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
	LIST_REMOVE(request->engine->requests, request);
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

/*
 * Asks the runner to describe the unit's machine. request is the first member of an allocated struct. The answer frees
 * it; on an error it stays the caller's.
 */
static int
health_ask(struct engine *engine, const struct unit *unit, struct describe_request *request, struct kettle_error *err)
{
	AUTO_JSON json_t *section = unit_brief(unit->config);
	request->engine = engine;
	request->deadline_ms = clock_ms(engine->setup.clock) + ENGINE_DESCRIBE_MS;
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
		(void)kettle_fail(&err, KETTLE_ECANCELED, "The engine stopped before the machine had described itself.");
	else
		(void)kettle_fail(&err, KETTLE_EUNAVAIL,
			"The machine did not describe itself within %d s; its kettle-exec may hang.", ENGINE_DESCRIBE_MS / 1000);
	close_request(request);
	request->on_answer(request, &err, NULL, true);
}

static void
check_requests(struct engine *engine)
{
	uint64_t now = clock_ms(engine->setup.clock);
	bool stopping = engine->stop.begun && now >= engine->stop.at_ms;
	for (struct describe_request *request = engine->requests; request;) {
		if (!stopping && !(engine->stop.begun && request->idle) && now < request->deadline_ms) {
			request = request->next;
			continue;
		}
		give_up(request, engine->stop.begun);
		request = engine->requests; /* the callback may have changed the list */
	}
}

/* ---- the model of a device ---- */

/*
 * Compares the unit's model with that of its device, since scores on different models cannot be compared. The first
 * unit whose model is known decides, by order of preference. EINVAL: the unit is another model.
 */
static int
check_model(const struct unit *unit, const json_t *facts, struct kettle_error *err)
{
	AUTO_FREE char *model = unit_model(facts);
	AUTO_JSON json_t *expected = unit_expect(unit->config, NULL);
	int rc = unit_check_architecture(unit->config, facts, err);
	if (rc == 0 && model)
		rc = unit_check_expected(unit->config, expected, model, err);
	for (const struct unit *first = unit->device->units; rc == 0 && model && first != unit; first = first->next) {
		AUTO_FREE char *wanted = first->removed ? NULL : unit_model(first->machine.facts);
		if (!first->removed && !first->machine.facts && first->machine.requests)
			return 0; /* the answer of that unit decides */
		if (wanted && strcmp(wanted, model) == 0)
			return 0;
		if (wanted)
			return kettle_fail(err, KETTLE_EINVAL,
				"It is another model than unit %s: %s, not %s. Units of different models belong to different devices.",
				first->label, model, wanted);
	}
	return rc;
}

static void
check_models(struct engine *engine, const struct device *device)
{
	for (struct unit *unit = device->units; unit; unit = unit->next) {
		struct kettle_error why = {0};
		if (unit->removed || unit->disabled.cause || !unit->machine.facts ||
			check_model(unit, unit->machine.facts, &why) == 0)
			continue;
		unit_health_disable(engine, unit, UNIT_FAULT, why.message);
		unit_health_remember(engine, unit, unit->disabled.why);
	}
}

/* Forgets the facts of a unit that may have been replaced before it was enabled; the next job requests them. */
static void
forget_facts(struct unit *unit)
{
	json_decref(STEAL(unit->machine.facts));
	free_all(STEAL(unit->machine.identity), STEAL(unit->machine.learned));
}

/* ---- tests ---- */

struct unit_test {
	struct describe_request request; /* first */
	struct engine *engine;
	char *device, *key;
	engine_test_done done;
	void *arg;
};

static void
on_health_described(struct describe_request *request, const struct kettle_error *err, json_t *greeting, bool late)
{
	struct unit_test *test = (struct unit_test *)request;
	struct engine *engine = test->engine;
	struct kettle_error why = *err;
	struct unit *unit = engine_unit_find(engine, test->device, test->key);
	(void)late;
	if (why.code == 0 && !unit) {
		(void)kettle_fail(&why, KETTLE_ENOENT, "It is no longer configured.");
	} else if (why.code == 0 && (why.code = unit_check_gpus(unit->config, greeting, &why)) == 0) {
		AUTO_JSON json_t *facts = unit_facts_lasting(unit->config, greeting);
		why.code = check_model(unit, facts, &why);
	}
	if (unit && err->code == 0)
		unit_fitness_greeted(engine, unit, greeting);
	if (unit)
		unit->disabled.testing = false;
	engine->in_flight--;
	free_all(test->device, test->key);
	test->done(test->arg, engine, unit, &why);
}

int
unit_health_test(
	struct engine *engine, struct unit *unit, bool idle, engine_test_done done, void *arg, struct kettle_error *err)
{
	if (!unit->runner->ops->describe)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "The runner `%s` cannot report the state of its machines.", unit->runner->name);
	if (unit->disabled.testing)
		return kettle_fail(err, KETTLE_ECONFLICT, "Unit `%s` is already being tested.", unit->label);
	struct unit_test *test = xnew(struct unit_test, .request = {.on_answer = on_health_described, .idle = idle},
		.engine = engine, .device = xstrdup(unit->device->name), .key = xstrdup(unit->key), .done = done, .arg = arg);
	unit->disabled.testing = true;
	engine->in_flight++;
	int rc = health_ask(engine, unit, &test->request, err);
	if (rc < 0) {
		unit->disabled.testing = false;
		engine->in_flight--;
		free_all(test->device, test->key, test);
	}
	return rc;
}

static void
quarantined(void *arg, struct engine *engine, struct unit *unit, const struct kettle_error *err)
{
	(void)arg;
	if (!unit || unit->disabled.cause != UNIT_FAULT)
		return;
	unit->disabled.test_at_ms = clock_ms(engine->setup.clock) + ENGINE_TEST_MS;
	if (err->code != 0)
		return;
	forget_facts(unit);
	unit_health_ready(engine, unit, false, "it passed its test");
	unit_health_remember(engine, unit, "it passed its test");
}

void
unit_health_tick(struct engine *engine)
{
	uint64_t now = clock_ms(engine->setup.clock);
	struct kettle_error err = {0};
	check_requests(engine);
	for (struct device *device = engine->stop.begun ? NULL : engine->devices; device; device = device->next)
		for (struct unit *unit = device->units; unit; unit = unit->next)
			if (unit->disabled.cause == UNIT_FAULT && !unit->disabled.testing && !unit->removed &&
				now >= unit->disabled.test_at_ms) {
				unit->disabled.test_at_ms = now + ENGINE_TEST_MS;
				(void)unit_health_test(engine, unit, true, quarantined, NULL, &err);
			}
}

/* ---- facts ---- */

struct facts_request {
	struct describe_request request; /* first */
	struct engine *engine;
	struct unit *unit;
	char *device, *key, *identity; /* the store's while it writes */
	json_t *facts, *row;
	bool lack; /* a GPU of the unit does not answer */
	void (*done)(void *arg, const char *late);
	void *arg;
};

static void
end_facts(struct facts_request *wait, const char *late)
{
	wait->unit->machine.requests--;
	wait->engine->in_flight--;
	struct unit *unit = wait->unit;
	if (wait->facts && (!unit->machine.facts || unit->machine.lacks_gpu)) {
		json_decref(unit->machine.facts);
		unit->machine.facts = STEAL(wait->facts);
		unit->machine.lacks_gpu = wait->lack;
		check_models(wait->engine, unit->device);
	}
	wait->done(wait->arg, late);
	json_decref(wait->facts);
	free_all(wait->device, wait->key, wait->identity);
	json_decref(wait->row);
}

static int
identify_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct facts_request *wait = arg;
	return settings_unit_identify(db, wait->device, wait->key, wait->identity, &wait->row, err);
}

static void
on_identified(void *arg, const struct kettle_error *err)
{
	struct facts_request *wait = arg;
	struct unit *unit = wait->unit;
	if (err) {
		log_write(KETTLE_LOG_WARNING, "engine", "state and calibration of unit %s may belong to another unit: %s",
			unit->label, err->message);
	} else {
		const json_t *calibration = json_object_get(wait->row, "calibration");
		json_decref(STEAL(unit->machine.calibration));
		unit->machine.calibration = json_incref((json_t *)calibration);
		free(unit->machine.identity);
		unit->machine.identity = STEAL(wait->identity);
		take_state(wait->engine, unit, wait->row);
		/* The load disabled it by its key, but the stored state is that of another unit. No job has run here since. */
		if (wait->request.idle && unit->disabled.cause && !settings_unit_cause(wait->row))
			unit_health_ready(wait->engine, unit, false, "the disabled unit is a different one");
	}
	end_facts(wait, NULL);
	free(wait);
}

/* Reads the state again by what the unit is, as the one under its key may be another unit's. False: key and unit agree. */
static bool
identify(struct facts_request *wait)
{
	struct unit *unit = wait->unit;
	wait->identity = unit_identity(unit->config, unit->key, wait->facts);
	if (strcmp(wait->identity, unit->key) == 0 || unit->machine.identity)
		return false;
	struct facts_request *stored = xmalloc(sizeof(*stored));
	*stored = *wait;
	stored->device = xstrdup(unit->device->name);
	stored->key = xstrdup(unit->key);
	store_write(wait->engine->setup.store, identify_op, on_identified, stored);
	return true;
}

static void
on_known(struct describe_request *request, const struct kettle_error *err, json_t *greeting, bool late)
{
	struct facts_request *wait = (struct facts_request *)request;
	/* Without facts languages plan with the configuration alone, and the runner reports what is wrong. */
	if (err->code == 0) {
		AUTO_JSON json_t *now = unit_facts(wait->unit->config, greeting);
		wait->lack = json_object_get(now, "gpu_error");
		wait->facts = unit_facts_lasting(wait->unit->config, greeting);
	}
	if (!wait->facts || !identify(wait))
		end_facts(wait, late ? err->message : NULL);
}

static bool
fetch_facts(struct engine *engine, struct unit *unit, void (*done)(void *arg, const char *late), void *arg)
{
	struct kettle_error err = {0};
	unit->machine.requested = true;
	if ((unit->machine.facts && !unit->machine.lacks_gpu) || !unit->runner->ops->describe)
		return false;
	struct facts_request *wait =
		xnew(struct facts_request, .request = {.on_answer = on_known, .idle = done == ignore_facts}, .engine = engine,
			.unit = unit, .done = done, .arg = arg);
	unit->machine.requests++;
	engine->in_flight++;
	if (health_ask(engine, unit, &wait->request, &err) == 0)
		return true;
	unit->machine.requests--;
	engine->in_flight--;
	free(wait);
	return false;
}

bool
unit_health_fetch_facts(struct engine *engine, struct unit *unit, void (*done)(void *arg, const char *late), void *arg)
{
	bool comes = false;
	/* The first unit decides the model, so the order matters. */
	for (struct unit *one = unit->device->units; one; one = one->next) {
		if (one == unit)
			comes = fetch_facts(engine, unit, done, arg);
		else if (!one->machine.requested && !one->removed)
			(void)fetch_facts(engine, one, ignore_facts, NULL);
	}
	return comes;
}

/* ---- for commands ---- */

json_t *
engine_units(const struct engine *engine, const char *name)
{
	json_t *list = json_array();
	for (const struct device *device = engine->devices; device; device = device->next)
		for (const struct unit *unit = device->units; unit; unit = unit->next)
			if (!unit->removed && (strcasecmp(device->name, name) == 0 || strcasecmp(unit->label, name) == 0))
				(void)json_array_append_new(
					list, json_pack("{s:s, s:s, s:s}", "device", device->name, "unit", unit->label, "key", unit->key));
	return list;
}

json_t *
engine_units_configured(const struct engine *engine)
{
	json_t *list = json_array();
	for (const struct device *device = engine->devices; device; device = device->next)
		for (const struct unit *unit = device->units; unit; unit = unit->next)
			if (!unit->removed)
				(void)json_array_append_new(
					list, json_pack("{s:s, s:s, s:s, s:o}", "device", device->name, "unit", unit->label, "key",
							  unit->key, "section", json_deep_copy(unit->config)));
	return list;
}

void
engine_unit_set(struct engine *engine, const json_t *listed, bool disabled, const char *reason)
{
	struct unit *unit = find_listed(engine, listed);
	if (unit && disabled)
		unit_health_disable(engine, unit, UNIT_OPERATOR, reason);
	if (!unit || disabled)
		return;
	forget_facts(unit);
	unit_fitness_take(engine, unit, NULL);
	unit_health_ready(engine, unit, true, reason);
}

int
engine_unit_test(
	struct engine *engine, const json_t *listed, engine_test_done done, void *arg, struct kettle_error *err)
{
	struct unit *unit = find_listed(engine, listed);
	if (!unit)
		return kettle_fail(
			err, KETTLE_ENOENT, "Unit `%s` is no longer configured.", json_text_or_empty(listed, "unit"));
	return unit_health_test(engine, unit, false, done, arg, err);
}
