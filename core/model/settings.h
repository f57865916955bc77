/* SPDX-License-Identifier: MIT */
/* Small durable values: each plugin's own store (host.h: settings_get, settings_put), the engine's settings, what is known of
 * units. */
#ifndef KETTLE_MODEL_SETTINGS_H
#define KETTLE_MODEL_SETTINGS_H

#include "store/db.h"

#include <stdbool.h>

#define STATE_KEY_MAX 200          /* bytes */
#define STATE_VALUE_MAX (1u << 20) /* bytes of JSON text */

/* New reference; JSON null when there is none. EINVAL: the key. */
int settings_get(struct db *db, const char *plugin, const char *key, json_t **ret_value, struct kettle_error *err);
/* value NULL or JSON null removes. EINVAL, ETOOBIG. */
int settings_put(struct db *db, const char *plugin, const char *key, const json_t *value, struct kettle_error *err);

/* Settings of the whole engine: "accepting" (bool, default true). New reference; JSON null when it was never set. */
int settings_setting_get(struct db *db, const char *key, json_t **ret_value, struct kettle_error *err);
int settings_setting_put(struct db *db, const char *key, const json_t *value, struct kettle_error *err);

/* All that is remembered of units: [{"device", "unit", "state": "ready"|"disabled", "reason", "changed": ISO,
 * "calibration", "facts"}]. */
int settings_units(struct db *db, json_t **ret_units, struct kettle_error *err);
/* reason NULL: ready again. */
int settings_unit_disabled(
	struct db *db, const char *device, const char *unit, const char *reason, struct kettle_error *err);
/* The same with its event, device.disabled or device.ready. data: {"device", "unit", "reason"}. */
int settings_unit_set(struct db *db, json_t *data, bool disabled, struct kettle_error *err);
/* The calibration (calibration.h) of one unit; JSON null when it has none. New reference. */
int settings_unit_calibration(
	struct db *db, const char *device, const char *unit, json_t **ret_calibration, struct kettle_error *err);
int settings_unit_calibrate(
	struct db *db, const char *device, const char *unit, const json_t *calibration, struct kettle_error *err);

/*
 * What the machine of a unit reports of itself, such as "tools" and "packages", in place of what it reported before. partly:
 * of its tools and packages only some are named, and the others stay. Written only where it differs.
 */
int settings_unit_store_facts(
	struct db *db, const char *device, const char *unit, const json_t *facts, bool partly, struct kettle_error *err);

#endif
