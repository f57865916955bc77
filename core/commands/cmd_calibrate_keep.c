/* SPDX-License-Identifier: MIT */
/*
 * The results that an interrupted device.calibrate keeps: those of the shipped tasks that it has measured.
 *
 * Theory of operation. A part is a task whose rounds are all over: the medians and spreads of its calibrators do not
 * depend on other tasks, so runs use them at once. The rounds of an unfinished task are dropped, since too few of them
 * do not show how runs differ. The parts are stored after each task, with the names of those that are missing, and make
 * a partial calibration. On the same machine the earlier times of missing tasks stay beside them. The next
 * device.calibrate takes over the parts whose tasks have the same files, and measures the rest; the whole calibration
 * has no parts any more.
 */
#include <config.h>

#include "commands/cmd_calibrate_internal.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "commands/local_job.h"
#include "judge/calibration.h"
#include "model/blobs.h"
#include "model/settings.h"
#include "session/core.h"

const json_t *
calibrate_stored(const struct calibration_run *c)
{
	const json_t *calibration = json_object_get(calibrate_row(c), "calibration");
	return json_is_object(calibration) ? calibration : NULL;
}

bool
calibrate_is_partial(const struct calibration_run *c)
{
	return json_array_size(json_object_get(calibrate_stored(c), "missing")) > 0;
}

static void
put_parts(struct buf *text, const struct calibration_run *c)
{
	const char *between = "";
	json_object_each(c->parts, name, part) {
		buf_printf(text, "%s%s", between, name);
		between = ", ";
	}
}

static void
drop_changed_parts(struct calibration_run *c)
{
	char hash[65];
	json_array_each(c->tasks, bundle) {
		const char *name = json_text_or_empty(bundle, "name");
		const json_t *part = json_object_get(c->parts, name);
		blobs_task_hash(bundle, hash);
		if (!part || member_is(part, "hash", hash))
			continue;
		calibrate_remark(c, name, "measured again, since its files have changed since the interrupted calibration.");
		(void)json_object_del(c->parts, name);
	}
}

static void
remark_parts(struct calibration_run *c)
{
	AUTO_BUF struct buf text = {0};
	put_parts(&text, c);
	if (text.len > 0)
		calibrate_remark(c, "continues an interrupted calibration, which has measured", text.data);
}

void
calibrate_parts_begin(struct calibration_run *c, bool resume)
{
	const json_t *stored = resume ? calibrate_stored(c) : NULL;
	json_decref_all(c->parts, c->machine);
	c->parts = stored ? json_deep_copy(json_object_get(stored, "parts")) : json_object();
	c->machine = json_incref(json_object_get(stored, "machine"));
	drop_changed_parts(c);
	if (resume)
		remark_parts(c);
	else if (calibrate_is_partial(c) && !member_true(c->args, "force"))
		calibrate_remark(c, "starts again", "the machine has changed since the interrupted calibration.");
}

bool
calibrate_has_part(const struct calibration_run *c, const json_t *bundle)
{
	return json_object_get(c->parts, json_text_or_empty(bundle, "name"));
}

void
calibrate_add_part(struct calibration_run *c, const json_t *bundle)
{
	AUTO_JSON json_t *names = calibration_medians(c->samples), *spreads = json_object();
	char hash[65];
	blobs_task_hash(bundle, hash);
	calibration_spreads(c->ratios, spreads);
	if (json_object_size(names) > 0)
		(void)json_object_set_new(c->parts, json_text_or_empty(bundle, "name"),
			json_pack("{s:s, s:O, s:O}", "hash", hash, "names", names, "spreads", spreads));
}

json_t *
calibrate_join_parts(const struct calibration_run *c)
{
	AUTO_JSON json_t *names = json_object(), *spreads = json_object();
	json_object_each(c->parts, name, part) {
		(void)json_object_update(names, json_object_get(part, "names"));
		(void)json_object_update(spreads, json_object_get(part, "spreads"));
	}
	if (json_object_size(names) == 0)
		return NULL;
	return json_pack("{s:O, s:O, s:O*, s:s}", "names", names, "spreads", spreads, "machine", c->machine, "at",
		TIME_TEXT(clock_utc_ms(loop_clock(c->core->setup.io))));
}

/* The names of the tasks that are not measured yet. New reference. */
static json_t *
missing_tasks(const struct calibration_run *c)
{
	json_t *missing = json_array();
	for (size_t i = c->task; i < json_array_size(c->tasks); i++) {
		json_t *name = json_object_get(json_array_get(c->tasks, i), "name");
		if (!json_object_get(c->parts, json_string_value(name)))
			(void)json_array_append(missing, name);
	}
	return missing;
}

int
calibrate_store_parts(struct db *db, void *arg, struct kettle_error *err)
{
	struct calibration_run *c = arg;
	const char *device = json_text_or_empty(calibrate_unit(c), "device"),
			   *key = json_text_or_empty(calibrate_unit(c), "key");
	AUTO_JSON json_t *before = NULL, *partial = calibrate_join_parts(c), *missing = missing_tasks(c);
	AUTO_JSON json_t *data = json_pack("{s:s, s:O, s:O, s:O}", "device", device, "unit",
		json_object_get(calibrate_unit(c), "unit"), "names", json_object_get(partial, "names"), "missing", missing);
	int rc = settings_unit_calibration(db, device, key, &before, err);
	if (rc < 0)
		return rc;
	if (json_is_object(before) && !calibration_machine_changed(before, c->machine)) {
		calibration_keep_names(partial, before, db->now_ms, INT64_MIN);
		json_t *tasks = json_object_get(before, "tasks");
		if (tasks)
			(void)json_object_set(partial, "tasks", tasks);
	}
	(void)json_object_set(partial, "parts", c->parts);
	(void)json_object_set(partial, "missing", missing);
	rc = settings_unit_calibrate(db, device, key, partial, err);
	return rc < 0 ? rc : db_event(db, "device.calibrated", 'a', 0, 0, 0, data, err);
}

/* ---- the caller's report ---- */

/* "keeps what was measured of cpp; missing: py, its leaderboards, 2 further units" */
static void
put_measured(struct buf *text, const struct calibration_run *c)
{
	AUTO_JSON json_t *missing = missing_tasks(c);
	buf_printf(text, "keeps %s", json_object_size(c->parts) ? "what was measured of " : "nothing of this calibration");
	put_parts(text, c);
	buf_printf(text, "; missing: ");
	json_array_each(missing, name)
		buf_printf(text, "%s, ", json_string_value(name));
	buf_printf(text, "its leaderboards");
}

void
calibrate_tell_kept(struct calibration_run *c)
{
	AUTO_BUF struct buf text = {0};
	const char *unit = json_text_or_empty(calibrate_unit(c), "unit");
	size_t further = json_array_size(c->units) - c->unit - 1;
	buf_printf(&text, "unit %s ", unit);
	if (!c->boards.list)
		put_measured(&text, c);
	else
		buf_printf(
			&text, "is calibrated, with %zu of its %zu leaderboards", c->boards.index, json_array_size(c->boards.list));
	if (further > 0)
		buf_printf(
			&text, "%s%zu further unit%s", c->boards.list ? "; missing: " : ", ", further, further == 1 ? "" : "s");
	buf_printf(&text, "; `kettle device calibrate` measures the missing ones");
	local_job_progress(c->core, c->waiter.caller, unit, json_pack("{s:s, s:s}", "event", "kept", "text", text.data));
}
