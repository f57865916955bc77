/* SPDX-License-Identifier: MIT */
/* Commands that disable and enable units of devices. */
/*
 * Theory of operation. With `test` the named units are tested one after the other. The changes are then stored with their
 * events in one transaction, and the engine applies them after its commit.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/text.h"
#include "engine/engine.h"
#include "model/settings.h"
#include "session/core.h"

#define REASON_MAX 200 /* characters */

struct unit_change {
	struct core *core;
	json_t *units, *changed, *results; /* changed: with "reason", the store's while it writes */
	size_t at;
	bool disabled;
	char reason[300];
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

static void
unit_change_end(struct unit_change *c)
{
	AUTO_JSON json_t *result = c->err.code < 0 ? NULL : json_pack("{s:O}", "units", c->results);
	c->answer(c->arg, &c->err, result);
	json_decref_all(c->units, c->changed, c->results);
	free(c);
}

static int
store_units(struct db *db, void *arg, struct kettle_error *err)
{
	struct unit_change *c = arg;
	int rc = 0;
	json_array_each(c->changed, unit)
		if (rc == 0)
			rc = settings_unit_set(db, unit, c->disabled ? UNIT_OPERATOR : UNIT_ENABLED, true, err);
	return rc;
}

static void
on_unit_change_stored(void *arg, const struct kettle_error *err)
{
	struct unit_change *c = arg;
	if (err)
		c->err = *err;
	json_array_each(err ? NULL : c->changed, unit) {
		if (c->core->engine)
			engine_unit_set(c->core->engine, unit, c->disabled, c->reason);
		(void)json_object_del(unit, "key");
		(void)json_object_set_new(unit, "state", json_string(c->disabled ? "disabled" : "ready"));
		(void)json_array_append(c->results, unit);
	}
	unit_change_end(c);
}

static void
change(struct unit_change *c)
{
	if (json_array_size(c->changed) > 0 && !c->core->closing)
		store_write(c->core->store, store_units, on_unit_change_stored, c);
	else
		unit_change_end(c);
}

static void
unit_change_take(struct unit_change *c, json_t *unit)
{
	(void)json_object_set_new(unit, "reason", json_string(c->reason));
	(void)json_array_append(c->changed, unit);
}

static void try_next(struct unit_change *c);

static void
on_tried(void *arg, struct engine *engine, struct unit *tried, const struct kettle_error *err)
{
	struct unit_change *c = arg;
	json_t *unit = json_array_get(c->units, c->at++);
	(void)engine;
	(void)tried;
	if (err->code == 0) {
		unit_change_take(c, unit);
	} else {
		(void)json_object_del(unit, "key");
		(void)json_object_set_new(unit, "state", json_string("failed"));
		(void)json_object_set_new(unit, "error", json_string(err->message));
		(void)json_array_append(c->results, unit);
	}
	try_next(c);
}

static void
try_next(struct unit_change *c)
{
	struct kettle_error err = {0};
	const json_t *unit = json_array_get(c->units, c->at);
	if (!unit || c->core->closing) {
		change(c);
		return;
	}
	if (engine_unit_test(c->core->engine, unit, on_tried, c, &err) < 0)
		on_tried(c, c->core->engine, NULL, &err);
}

/* Each unit that a name refers to, once. */
static int
unit_change_choose(struct unit_change *c, const json_t *names, struct kettle_error *err)
{
	json_array_each(names, name) {
		AUTO_JSON json_t *found = engine_units(c->core->engine, json_string_value(name));
		if (json_array_size(found) == 0)
			return kettle_fail(err, KETTLE_ENOENT,
				"There is no unit and no device `%s` here; `kettle device list` shows them.", json_string_value(name));
		json_array_each(found, unit) {
			bool known = false;
			json_array_each(c->units, one)
				known = known || json_equal(one, unit);
			if (!known)
				(void)json_array_append(c->units, unit);
		}
	}
	return 0;
}

/* NULL: it has failed and been answered, so that actor and args are there no more. */
static struct unit_change *
unit_change_begin(struct core *core, const json_t *args, bool disabled, kettle_answer answer, void *arg)
{
	struct unit_change *c = xnew(struct unit_change, .core = core, .units = json_array(), .changed = json_array(),
		.results = json_array(), .disabled = disabled, .answer = answer, .arg = arg);
	if (unit_change_choose(c, json_object_get(args, "unit"), &c->err) == 0)
		return c;
	unit_change_end(c);
	return NULL;
}

void
cmd_device_disable(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	const char *reason = json_text_or_null(args, "reason");
	AUTO_FREE char *clean = sanitize_line(reason ? reason : "", REASON_MAX);
	AUTO_BUF struct buf text = {0};
	buf_printf(&text, "by %s%s%s", actor->name, clean && *clean ? ": " : "", clean ? clean : "");
	struct unit_change *c = unit_change_begin(core, args, true, answer, arg);
	if (!c)
		return;
	utf8_copy(c->reason, sizeof(c->reason), text.data);
	json_array_each(c->units, unit)
		unit_change_take(c, unit);
	change(c);
}

void
cmd_device_enable(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	bool test = member_true(args, "test");
	struct unit_change *c = unit_change_begin(core, args, false, answer, arg);
	if (!c)
		return;
	(void)snprintf(c->reason, sizeof(c->reason), "by %s%s", actor->name, test ? ", after a test" : "");
	if (test) {
		try_next(c);
		return;
	}
	json_array_each(c->units, unit)
		unit_change_take(c, unit);
	change(c);
}

/* Whether a device is configured by that name, in any case. */
static bool
is_configured(const json_t *devices, const char *wanted)
{
	json_object_each(devices, name, device)
		if (strcasecmp(name, wanted) == 0)
			return true;
	return false;
}

/* Calibrations outlive the configuration of their device. */
int
cmd_device_calibrations(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *device = json_text_or_null(call->args, "device");
	AUTO_JSON json_t *list = NULL;
	int rc = settings_calibrations(call->db, device, member_int(call->args, "limit"), &list, err);
	if (rc < 0)
		return rc;
	if (device && json_array_size(list) == 0 && !is_configured(call->env->devices, device)) {
		const char *near = nearest_key(device, call->env->devices);
		return kettle_fail(err, KETTLE_ENOENT, "There is no device `%s` here%s%s%s", device, NEAREST_END(near));
	}
	*ret_result = STEAL(list);
	return 0;
}
