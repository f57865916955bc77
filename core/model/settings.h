/* SPDX-License-Identifier: MIT */
/* Small durable values: each plugin's own store (host.h: state_get), the engine's settings, the rows of units. */
#pragma once

#include "store/db.h"

#include <stdbool.h>

#define STATE_KEY_MAX 200          /* bytes */
#define STATE_VALUE_MAX (1u << 20) /* bytes of JSON text */
#define STATE_LIST_MAX 1000        /* values of one page */
#define STATE_PAGE_MAX (4u << 20)  /* bytes of JSON text of one page, unless its first value is alone */

/* New reference; JSON null when there is none. EINVAL: the key. */
int settings_state_get(
	struct db *db, const char *plugin, const char *key, json_t **ret_value, struct kettle_error *err);
/* value NULL or JSON null removes. EINVAL, ETOOBIG. */
int settings_state_put(
	struct db *db, const char *plugin, const char *key, const json_t *value, struct kettle_error *err);
/*
 * The values whose keys begin with prefix and come after `after` ("": from the first), in the order of the keys' bytes, at
 * most limit (0: STATE_LIST_MAX): {"items": [{"key", "value"}], "more": whether there are further ones}. New reference.
 * EINVAL: the prefix.
 */
int settings_state_list(struct db *db, const char *plugin, const char *prefix, const char *after, unsigned limit,
	json_t **ret_page, struct kettle_error *err);

/*
 * Settings of the whole engine: "accepting" (bool, default true), "remote_prefix" and "remote_place" (remote_names.h).
 * New reference; JSON null if it was never set.
 */
int setting_get(struct db *db, const char *key, json_t **ret_value, struct kettle_error *err);
int setting_put(struct db *db, const char *key, const json_t *value, struct kettle_error *err);

/*
 * Units. Each has its key here (unit_key, plus the part that its device adds where keys are the same). What is
 * remembered belongs to the unit's identity, which settings_unit_identify gives where the key does not.
 */

/* Why a unit is disabled. */
#define UNIT_CAUSES(X) \
	X(OPERATOR, "operator") /* an operator did it, and enables it */ \
	X(FAULT, "fault")       /* a fault of its GPUs, or another model: the engine tests it, and enables it */ \
	X(SILENT, "silent")     /* its kettle-exec does not answer heartbeats: the next answer enables it */ \
	X(GIVEN_UP, \
		"given-up") /* it does not end a job, or says so itself: nothing tests it, and the next engine uses it again */

enum unit_cause {
	UNIT_ENABLED, /* it is not */
#define X(name, word) UNIT_##name,
	UNIT_CAUSES(X)
#undef X
};
/* "operator"; NULL: it is not disabled. [any] */
const char *unit_cause_name(enum unit_cause cause);
/* The cause in a row of settings_units. [any] */
enum unit_cause settings_unit_cause(const json_t *row);

/* All that is remembered of units: [{"device", "unit": what it is, "key", "label", "state": "ready"|"disabled", "cause",
 * "reason", "changed": ISO, "calibration", "facts", "unusable_at", "away_at": ms since 1970, or null}]. */
int settings_units(struct db *db, json_t **ret_units, struct kettle_error *err);
/*
 * The same, after rows have been matched with the configured units: [{"device", "unit": its label, "key", "section"}].
 * A row from before units had keys belongs to the unit with its label, unless its facts say otherwise.
 */
int settings_units_match(struct db *db, const json_t *units, json_t **ret_rows, struct kettle_error *err);
/*
 * Stores the identity of the unit with this key (unit_identity). *ret_row: what is remembered of that identity:
 * {"unit", "label", "state", "cause", "reason", "calibration", "facts"}. What is remembered of another unit that had
 * this key stays with that unit.
 */
int settings_unit_identify(struct db *db, const char *device, const char *key, const char *identity, json_t **ret_row,
	struct kettle_error *err);
/*
 * unit: {"device", "unit": its label, "key", "reason"}. by_hand: an operator did it, event device.disabled or device.ready;
 * else the engine, event unit.quarantined or unit.returned.
 */
int settings_unit_set(struct db *db, const json_t *unit, enum unit_cause cause, bool by_hand, struct kettle_error *err);
/* Only writes the event unit.quarantined or unit.returned of such a unit: the next engine does not remember it. */
int settings_unit_tell(struct db *db, const json_t *unit, enum unit_cause cause, struct kettle_error *err);
/* Only writes the event unit.fit or unit.unfit of such a unit, which has "causes" (base/gpu_fitness.h) where it is unfit. */
int settings_unit_tell_fitness(struct db *db, const json_t *unit, bool fit, struct kettle_error *err);
/* Why the jobs of a unit wait: no job can run there until its operator acts, or its remote side is unreachable. */
enum unit_wait { UNIT_UNUSABLE, UNIT_AWAY, UNIT_WAITS };
/* Stores since when they wait (ms since 1970), unless a time is stored already; 0 removes it. */
int settings_unit_waits(
	struct db *db, const json_t *unit, enum unit_wait wait, int64_t since_ms, struct kettle_error *err);
/* The model that the machines of a unit must be from now on, among its facts; settings_unit_set by hand forgets it where it enables. */
int settings_unit_learn_model(
	struct db *db, const char *device, const char *key, const char *model, struct kettle_error *err);
/* The calibration (calibration.h) of one unit; JSON null when it has none. New reference. */
int settings_unit_calibration(
	struct db *db, const char *device, const char *key, json_t **ret_calibration, struct kettle_error *err);
int settings_unit_calibrate(
	struct db *db, const char *device, const char *key, const json_t *calibration, struct kettle_error *err);

#define CALIBRATIONS_KEPT 200 /* of each unit */
/* Keeps a whole calibration beside the earlier ones of the unit; unit: its label. */
int settings_calibration_add(
	struct db *db, const char *device, const char *unit, const json_t *calibration, struct kettle_error *err);
/* The kept ones of a device (NULL: of all), newest first, at most limit: [{"device", "unit", "at", "names", "spreads"?}]. New reference. */
int settings_calibrations(
	struct db *db, const char *device, int64_t limit, json_t **ret_list, struct kettle_error *err);

/*
 * What the machine of a unit reports of itself, such as "tools" and "packages", in place of what it reported before. partly:
 * of its tools and packages only some are named, and the others stay. Written only where it differs.
 */
int settings_unit_store_facts(
	struct db *db, const char *device, const char *key, const json_t *facts, bool partly, struct kettle_error *err);
