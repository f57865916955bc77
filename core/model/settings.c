/* SPDX-License-Identifier: MIT */
/* Small durable values: of plugins, of the engine, of units. */
#include <config.h>

#include "model/settings.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/utf8.h"

#include <string.h>

static int
check_key(const char *key, struct kettle_error *err)
{
	size_t len = strlen(key);
	if (len == 0 || len > STATE_KEY_MAX || !utf8_valid(key, len))
		return kettle_fail(err, KETTLE_EINVAL, "A key has 1 to %d bytes of UTF-8.", STATE_KEY_MAX);
	return 0;
}

static int
get(struct db *db, json_t **ret_value, struct kettle_error *err, const char *sql, const char *a, const char *b)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err, sql, b ? "ss" : "s", a, b);
	if (rc < 0 && rc != KETTLE_ENOENT)
		return rc;
	*ret_value = rc == 0 ? json_incref(json_object_get(row, "value")) : json_null();
	return 0;
}

int
settings_get(struct db *db, const char *plugin, const char *key, json_t **ret_value, struct kettle_error *err)
{
	int rc = check_key(key, err);
	return rc < 0 ? rc
				  : get(db, ret_value, err, "SELECT value_json FROM plugin_state WHERE plugin = ? AND key = ?", plugin,
						key);
}

int
settings_put(struct db *db, const char *plugin, const char *key, const json_t *value, struct kettle_error *err)
{
	int rc = check_key(key, err);
	if (rc < 0)
		return rc;
	if (!value || json_is_null(value))
		return db_exec(db, err, "DELETE FROM plugin_state WHERE plugin = ? AND key = ?", "ss", plugin, key);
	size_t size = json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
	if (size == 0 || size > STATE_VALUE_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "The value of `%s` has %zu bytes of JSON; %u are allowed.", key, size,
			STATE_VALUE_MAX);
	return db_exec(db, err,
		"INSERT INTO plugin_state (plugin, key, value_json, updated_at) VALUES (?, ?, ?, ?) ON CONFLICT (plugin, key) "
		"DO UPDATE SET value_json = excluded.value_json, updated_at = excluded.updated_at",
		"ssji", plugin, key, value, db->now_ms);
}

int
settings_setting_get(struct db *db, const char *key, json_t **ret_value, struct kettle_error *err)
{
	return get(db, ret_value, err, "SELECT value_json FROM settings WHERE key = ?", key, NULL);
}

int
settings_setting_put(struct db *db, const char *key, const json_t *value, struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO settings (key, value_json) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value_json = "
		"excluded.value_json",
		"sj", key, value);
}

int
settings_units(struct db *db, json_t **ret_units, struct kettle_error *err)
{
	return db_array(db, ret_units, err,
		"SELECT device, unit, state, reason, changed_at AS changed_iso, calibration_json, facts_json FROM device_units "
		"ORDER BY device, unit",
		NULL);
}

int
settings_unit_calibration(
	struct db *db, const char *device, const char *unit, json_t **ret_calibration, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(
		db, &row, err, "SELECT calibration_json FROM device_units WHERE device = ? AND unit = ?", "ss", device, unit);
	if (rc < 0 && rc != KETTLE_ENOENT)
		return rc;
	const json_t *calibration = json_object_get(row, "calibration");
	*ret_calibration = json_is_object(calibration) ? json_incref((json_t *)calibration) : json_null();
	return 0;
}

int
settings_unit_disabled(
	struct db *db, const char *device, const char *unit, const char *reason, struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO device_units (device, unit, state, reason, changed_at) VALUES (?1, ?2, CASE WHEN ?3 IS NULL THEN "
		"'ready' ELSE 'disabled' END, ?3, ?4) ON CONFLICT (device, unit) DO UPDATE SET state = excluded.state, reason "
		"= excluded.reason, changed_at = excluded.changed_at",
		"sssi", device, unit, reason, db->now_ms);
}

int
settings_unit_set(struct db *db, json_t *data, bool disabled, struct kettle_error *err)
{
	const char *reason = member_string(data, "reason");
	int rc = settings_unit_disabled(
		db, member_string(data, "device"), member_string(data, "unit"), disabled ? reason : NULL, err);
	return rc < 0 ? rc : db_event(db, disabled ? "device.disabled" : "device.ready", 'a', 0, 0, 0, data, err);
}

int
settings_unit_calibrate(
	struct db *db, const char *device, const char *unit, const json_t *calibration, struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO device_units (device, unit, changed_at, calibration_json) VALUES (?, ?, ?, ?) ON CONFLICT "
		"(device, unit) DO UPDATE SET calibration_json = excluded.calibration_json",
		"ssij", device, unit, db->now_ms, calibration);
}

/* Adds the tools of a part to those that are known, and so its packages. */
static void
add_settings_part(json_t *known, const json_t *part)
{
	static const char *const lists[] = {"tools", "packages"};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const json_t *more = json_object_get(part, lists[i]);
		AUTO_JSON json_t *all = json_is_object(more) ? json_copy(json_object_get(known, lists[i])) : NULL;
		if (!json_is_object(more))
			continue;
		if (!all)
			all = json_object();
		json_object_update(all, (json_t *)more);
		json_object_set(known, lists[i], all);
	}
}

int
settings_unit_store_facts(
	struct db *db, const char *device, const char *unit, const json_t *facts, bool partly, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(
		db, &row, err, "SELECT facts_json FROM device_units WHERE device = ? AND unit = ?", "ss", device, unit);
	if (rc < 0 && rc != KETTLE_ENOENT)
		return rc;
	const json_t *before = json_object_get(row, "facts");
	AUTO_JSON json_t *after = json_copy((json_t *)(partly && json_is_object(before) ? before : facts));
	if (partly)
		add_settings_part(after, facts);
	if (json_equal(before, after))
		return 0;
	return db_exec(db, err,
		"INSERT INTO device_units (device, unit, changed_at, facts_json) VALUES (?, ?, ?, ?) ON CONFLICT (device, "
		"unit) DO UPDATE SET facts_json = excluded.facts_json",
		"ssij", device, unit, db->now_ms, after);
}
