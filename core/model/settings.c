/* SPDX-License-Identifier: MIT */
/* Small durable values: of plugins, of the engine, of units. */
#include <config.h>

#include "model/settings.h"

#include "base/base.h"
#include "base/utf8.h"
#include "judge/unit_facts.h"

static int
check_key(const char *key, struct kettle_error *err)
{
	size_t len = strlen(key);
	if (len == 0 || len > STATE_KEY_MAX || !utf8_valid(key, len))
		return kettle_fail(err, KETTLE_EINVAL, "A key must have 1 to %d bytes of UTF-8.", STATE_KEY_MAX);
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
settings_state_get(struct db *db, const char *plugin, const char *key, json_t **ret_value, struct kettle_error *err)
{
	int rc = check_key(key, err);
	return rc < 0 ? rc
				  : get(db, ret_value, err, "SELECT value_json FROM plugin_state WHERE plugin = ? AND key = ?", plugin,
						key);
}

int
settings_state_put(struct db *db, const char *plugin, const char *key, const json_t *value, struct kettle_error *err)
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

/* A page of a plugin's state as it is read. */
struct state_page {
	json_t *items;
	size_t limit, bytes;
	bool more;
};

static int
add_state(void *arg, sqlite3_stmt *row)
{
	struct state_page *page = arg;
	size_t size = (size_t)sqlite3_column_bytes(row, 1);
	size_t count = json_array_size(page->items);
	page->more = page->more || count == page->limit || (count > 0 && page->bytes + size > STATE_PAGE_MAX);
	if (page->more)
		return 0;
	page->bytes += size;
	return json_array_append_new(page->items, db_row_object(row)) < 0 ? KETTLE_EIO : 0;
}

int
settings_state_list(struct db *db, const char *plugin, const char *prefix, const char *after, unsigned limit,
	json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *items = json_array();
	struct state_page page = {.items = items, .limit = limit > 0 && limit < STATE_LIST_MAX ? limit : STATE_LIST_MAX};
	size_t len = strlen(prefix);
	if (len > STATE_KEY_MAX || strlen(after) > STATE_KEY_MAX || !utf8_valid(prefix, len))
		return kettle_fail(err, KETTLE_EINVAL, "A prefix can have at most %d bytes of UTF-8.", STATE_KEY_MAX);
	/* The first key behind all that begin with the prefix: no byte of UTF-8 is 255. */
	char end[STATE_KEY_MAX + 1];
	memcpy(end, prefix, len + 1);
	if (len > 0)
		end[len - 1] = (char)(end[len - 1] + 1);
	int rc = db_query(db, err, add_state, &page,
		"SELECT key, value_json FROM plugin_state WHERE plugin = ?1 AND key > ?2 AND key >= ?3 AND (?4 = '' OR key < "
		"?4) ORDER BY key LIMIT ?5",
		"ssssi", plugin, after, prefix, end, (int64_t)page.limit + 1);
	if (rc == 0)
		*ret_page = json_pack("{s:O, s:b}", "items", items, "more", page.more);
	return rc;
}

int
setting_get(struct db *db, const char *key, json_t **ret_value, struct kettle_error *err)
{
	return get(db, ret_value, err, "SELECT value_json FROM settings WHERE key = ?", key, NULL);
}

int
setting_put(struct db *db, const char *key, const json_t *value, struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO settings (key, value_json) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value_json = "
		"excluded.value_json",
		"sj", key, value);
}

/* ---- units ---- */

int
settings_units(struct db *db, json_t **ret_units, struct kettle_error *err)
{
	return db_array(db, ret_units, err,
		"SELECT device, unit, key, label, state, cause, reason, changed_at AS changed_iso, calibration_json, "
		"facts_json, unusable_at, away_at FROM device_units ORDER BY device, unit",
		NULL);
}

/* The row of the unit with this key; NULL: there is none. */
static int
unit_row(struct db *db, const char *device, const char *key, json_t **ret_row, struct kettle_error *err)
{
	int rc = db_object(db, ret_row, err,
		"SELECT unit, label, state, cause, reason, calibration_json, facts_json FROM device_units WHERE device = ? AND "
		"key = ?",
		"ss", device, key);
	return rc == KETTLE_ENOENT ? 0 : rc;
}

/* Makes sure that the unit with this key has a row; one that is named by its identity now takes the row of that identity. */
static int
make_unit_row(struct db *db, const char *device, const char *key, struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO device_units (device, unit, key, changed_at) VALUES (?1, ?2, ?2, ?3) ON CONFLICT (device, key) DO "
		"NOTHING ON CONFLICT (device, unit) DO UPDATE SET key = excluded.key",
		"ssi", device, key, db->now_ms);
}

/* The unit of a row of settings_units, by one of the three names that the row may have for it; NULL: none. */
static json_t *
row_of_unit(const json_t *rows, const json_t *unit)
{
	const char *device = json_text_or_null(unit, "device"), *key = json_text_or_null(unit, "key");
	json_t *same = NULL, *labelled = NULL;
	json_array_each(rows, row) {
		const char *row_key = json_text_or_null(row, "key"), *row_unit = json_text_or_null(row, "unit");
		if (strcasecmp(json_text_or_null(row, "device"), device) != 0)
			continue;
		if (row_key && strcmp(row_key, key) == 0)
			return row;
		if (strcmp(row_unit, key) == 0)
			same = row;
		else if (!row_key && !json_text_or_null(row, "label") &&
				 strcasecmp(row_unit, json_text_or_null(unit, "unit")) == 0 &&
				 unit_facts_agree(json_object_get(unit, "section"), json_object_get(row, "facts")))
			labelled = row;
	}
	return same ? same : labelled;
}

static bool
is_text(const json_t *value, const char *text)
{
	return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

static int
match_unit(struct db *db, const json_t *rows, const json_t *unit, struct kettle_error *err)
{
	const char *key = json_text_or_null(unit, "key"), *label = json_text_or_null(unit, "unit");
	json_t *row = row_of_unit(rows, unit);
	if (!row)
		return 0;
	(void)json_object_set_new(row, "configured", json_true());
	if (is_text(json_object_get(row, "key"), key) && is_text(json_object_get(row, "label"), label))
		return 0;
	/* A row from before the sixth version of the schema: its facts may say more than the configuration. */
	bool old = !json_is_string(json_object_get(row, "key")) && !json_is_string(json_object_get(row, "label"));
	AUTO_FREE char *identity = old ? unit_identity(json_object_get(unit, "section"), key, json_object_get(row, "facts"))
								   : xstrdup(json_text_or_null(row, "unit"));
	(void)json_object_set_new(row, "key", json_string(key));
	(void)json_object_set_new(row, "label", json_string(label));
	return db_exec(db, err,
		"UPDATE OR IGNORE device_units SET unit = ?1, key = ?2, label = ?3 WHERE device = ?4 AND unit = ?5", "sssss",
		identity, key, label, json_text_or_null(row, "device"), json_text_or_null(row, "unit"));
}

int
settings_units_match(struct db *db, const json_t *units, json_t **ret_rows, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int rc = settings_units(db, &rows, err);
	json_array_each(units, one)
		if (rc == 0)
			rc = match_unit(db, rows, one, err);
	json_array_each(rows, one) {
		const char *label = json_text_or_null(one, "label");
		if (rc == 0 && label && *label && !json_object_get(one, "configured"))
			rc = db_exec(db, err, "UPDATE device_units SET label = '' WHERE device = ? AND unit = ?", "ss",
				json_text_or_null(one, "device"), json_text_or_null(one, "unit"));
	}
	return rc < 0 ? rc : settings_units(db, ret_rows, err);
}

/* Settings from the time when only the key was known move to the unit's own row; `disabled` wins. */
static int
merge_unit(struct db *db, const char *device, const char *key, const char *identity, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"UPDATE device_units AS u SET (state, cause, reason) = (SELECT state, cause, reason FROM device_units WHERE "
		"device = ?1 AND unit = ?2) WHERE device = ?1 AND unit = ?3 AND EXISTS (SELECT 1 FROM device_units WHERE "
		"device "
		"= ?1 AND unit = ?2 AND state = 'disabled')",
		"sss", device, key, identity);
	return rc < 0 ? rc : db_exec(db, err, "DELETE FROM device_units WHERE device = ? AND unit = ?", "ss", device, key);
}

/* The unit with this key has become another one, or its identity has become known. */
static int
move_key(struct db *db, const char *device, const char *key, const char *identity, const json_t *row,
	struct kettle_error *err)
{
	const char *label = json_text_or_null(row, "label");
	bool nameless = is_text(json_object_get(row, "unit"), key);
	int64_t known = 0;
	int rc = db_int(
		db, &known, err, "SELECT count(*) FROM device_units WHERE device = ? AND unit = ?", "ss", device, identity);
	if (rc == 0 && nameless && !known)
		return db_exec(
			db, err, "UPDATE device_units SET unit = ?1 WHERE device = ?2 AND unit = ?3", "sss", identity, device, key);
	if (rc == 0 && nameless)
		rc = merge_unit(db, device, key, identity, err);
	else if (rc == 0)
		rc = db_exec(
			db, err, "UPDATE device_units SET key = NULL, label = '' WHERE device = ? AND key = ?", "ss", device, key);
	return rc < 0 ? rc
				  : db_exec(db, err,
						"INSERT INTO device_units (device, unit, key, label, changed_at) VALUES (?, ?, ?, ?, ?) ON "
						"CONFLICT (device, unit) DO UPDATE SET key = excluded.key, label = excluded.label",
						"ssssi", device, identity, key, label, db->now_ms);
}

int
settings_unit_identify(struct db *db, const char *device, const char *key, const char *identity, json_t **ret_row,
	struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = unit_row(db, device, key, &row, err);
	if (rc == 0 && !is_text(json_object_get(row, "unit"), identity))
		rc = move_key(db, device, key, identity, row, err);
	return rc < 0 ? rc : unit_row(db, device, key, ret_row, err);
}

int
settings_unit_calibration(
	struct db *db, const char *device, const char *key, json_t **ret_calibration, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = unit_row(db, device, key, &row, err);
	if (rc < 0)
		return rc;
	const json_t *calibration = json_object_get(row, "calibration");
	*ret_calibration = json_is_object(calibration) ? json_incref((json_t *)calibration) : json_null();
	return 0;
}

static int
unit_event(struct db *db, const char *kind, const json_t *unit, struct kettle_error *err)
{
	AUTO_JSON json_t *data = json_pack("{s:O, s:O, s:O*, s:O*}", "device", json_object_get(unit, "device"), "unit",
		json_object_get(unit, "unit"), "reason", json_object_get(unit, "reason"), "causes",
		json_object_get(unit, "causes"));
	return db_event(db, kind, 'a', 0, 0, 0, data, err);
}

static const char *const unit_causes[] = {
#define X(name, word) [UNIT_##name] = word,
	UNIT_CAUSES(X)
#undef X
};

const char *
unit_cause_name(enum unit_cause cause)
{
	return unit_causes[cause];
}

enum unit_cause
settings_unit_cause(const json_t *row)
{
	for (size_t i = UNIT_OPERATOR; i < ARRAY_SIZE(unit_causes); i++)
		if (member_is(row, "cause", unit_causes[i]))
			return (enum unit_cause)i;
	return UNIT_ENABLED;
}

int
settings_unit_set(struct db *db, const json_t *unit, enum unit_cause cause, bool by_hand, struct kettle_error *err)
{
	bool disabled = cause != UNIT_ENABLED;
	static const char *const kinds[2][2] = {{"unit.returned", "unit.quarantined"}, {"device.ready", "device.disabled"}};
	const char *device = json_text_or_null(unit, "device"), *key = json_text_or_null(unit, "key");
	int rc = make_unit_row(db, device, key, err);
	if (rc == 0)
		rc = db_exec(db, err,
			"UPDATE device_units SET state = ?1, cause = ?2, reason = ?3, changed_at = ?4, label = ?5 WHERE device = "
			"?6 "
			"AND key = ?7",
			"sssisss", disabled ? "disabled" : "ready", unit_causes[cause],
			disabled ? json_text_or_null(unit, "reason") : NULL, db->now_ms, json_text_or_null(unit, "unit"), device,
			key);
	/* A unit that is enabled again may have been replaced. */
	if (rc == 0 && by_hand && !disabled)
		rc = db_exec(db, err,
			"UPDATE device_units SET facts_json = json_remove(facts_json, '$.model') WHERE device = ? AND key = ?",
			"ss", device, key);
	return rc < 0 ? rc : unit_event(db, kinds[by_hand][disabled], unit, err);
}

int
settings_unit_learn_model(
	struct db *db, const char *device, const char *key, const char *model, struct kettle_error *err)
{
	int rc = make_unit_row(db, device, key, err);
	return rc < 0 ? rc
				  : db_exec(db, err,
						"UPDATE device_units SET facts_json = json_set(coalesce(facts_json, '{}'), '$.model', ?) WHERE "
						"device = ? AND key = ?",
						"sss", model, device, key);
}

int
settings_unit_tell(struct db *db, const json_t *unit, enum unit_cause cause, struct kettle_error *err)
{
	return unit_event(db, cause ? "unit.quarantined" : "unit.returned", unit, err);
}

int
settings_unit_tell_fitness(struct db *db, const json_t *unit, bool fit, struct kettle_error *err)
{
	return unit_event(db, fit ? "unit.fit" : "unit.unfit", unit, err);
}

int
settings_unit_waits(struct db *db, const json_t *unit, enum unit_wait wait, int64_t since_ms, struct kettle_error *err)
{
	static const char *const changes[][2] = {
		[UNIT_UNUSABLE] = {"UPDATE device_units SET unusable_at = NULL WHERE device = ? AND key = ?",
			"UPDATE device_units SET unusable_at = ifnull(unusable_at, ?3) WHERE device = ?1 AND key = ?2"},
		[UNIT_AWAY] = {"UPDATE device_units SET away_at = NULL WHERE device = ? AND key = ?",
			"UPDATE device_units SET away_at = ifnull(away_at, ?3) WHERE device = ?1 AND key = ?2"},
	};
	const char *device = json_text_or_null(unit, "device"), *key = json_text_or_null(unit, "key");
	if (since_ms == 0)
		return db_exec(db, err, changes[wait][0], "ss", device, key);
	int rc = make_unit_row(db, device, key, err);
	return rc < 0 ? rc : db_exec(db, err, changes[wait][1], "ssi", device, key, since_ms);
}

int
settings_unit_calibrate(
	struct db *db, const char *device, const char *key, const json_t *calibration, struct kettle_error *err)
{
	int rc = make_unit_row(db, device, key, err);
	return rc < 0 ? rc
				  : db_exec(db, err, "UPDATE device_units SET calibration_json = ? WHERE device = ? AND key = ?", "jss",
						calibration, device, key);
}

int
settings_calibration_add(
	struct db *db, const char *device, const char *unit, const json_t *calibration, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"INSERT INTO calibrations (device, unit, at, names_json, spreads_json) VALUES (?, ?, ?, ?, ?)", "ssijj", device,
		unit, db->now_ms, json_object_get(calibration, "names"), json_object_get(calibration, "spreads"));
	return rc < 0
			   ? rc
			   : db_exec(db, err,
					 "DELETE FROM calibrations WHERE id IN (SELECT id FROM calibrations WHERE device = ? AND unit = ? "
					 "ORDER BY id DESC LIMIT -1 OFFSET ?)",
					 "ssi", device, unit, (int64_t)CALIBRATIONS_KEPT);
}

int
settings_calibrations(struct db *db, const char *device, int64_t limit, json_t **ret_list, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int rc = db_array(db, &rows, err,
		"SELECT device, unit, at AS at_iso, names_json, spreads_json FROM calibrations WHERE ?1 IS NULL OR device = ?1 "
		"ORDER BY id DESC LIMIT ?2",
		"si", device, limit);
	json_array_each(rows, row)
		if (json_is_null(json_object_get(row, "spreads")))
			(void)json_object_del(row, "spreads");
	if (rc == 0)
		*ret_list = STEAL(rows);
	return rc;
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
	struct db *db, const char *device, const char *key, const json_t *facts, bool partly, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = unit_row(db, device, key, &row, err);
	if (rc < 0)
		return rc;
	const json_t *before = json_object_get(row, "facts");
	AUTO_JSON json_t *after = json_copy((json_t *)(partly && json_is_object(before) ? before : facts));
	if (partly)
		add_settings_part(after, facts);
	if (json_equal(before, after))
		return 0;
	rc = make_unit_row(db, device, key, err);
	return rc < 0 ? rc
				  : db_exec(db, err, "UPDATE device_units SET facts_json = ? WHERE device = ? AND key = ?", "jss",
						after, device, key);
}
