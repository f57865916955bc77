/* SPDX-License-Identifier: MIT */
/* Reads where a job is to run from its run line. */
#include <config.h>

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"

/* A member that may be written as a number or as a string; new string, NULL where it is absent. */
static int
text_member(const json_t *object, const char *key, char **ret_text, struct kettle_error *err)
{
	const json_t *value = json_object_get(object, key);
	AUTO_BUF struct buf text = {0};
	int rc = 0;
	if (!value || json_is_null(value))
		return 0;
	if (json_is_integer(value))
		rc = buf_printf(&text, "%lld", (long long)json_integer_value(value));
	else if (json_is_string(value))
		rc = buf_adds(&text, json_string_value(value));
	else
		return kettle_fail(err, KETTLE_EINVAL, "`%s` of the unit must be a string or an integer.", key);
	*ret_text = rc == 0 ? buf_take(&text) : NULL;
	return *ret_text ? 0 : kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a unit.");
}

static int
read_cores(const struct exec *exec, const json_t *object, struct unit *unit, struct kettle_error *err)
{
	AUTO_FREE char *text = NULL;
	int rc = text_member(object, "cores", &text, err);
	if (rc == 0 && text)
		rc = cores_parse(text, &unit->cores, err);
	for (size_t i = 0; rc == 0 && i < unit->cores.count; i++)
		if (!cores_has(&exec->all, unit->cores.list[i]))
			rc = kettle_fail(err, KETTLE_EUNAVAIL,
				"Unit `%s` is to run on the cores %s, but this machine gives kettle-exec no core %d (it has %zu).",
				unit->name, text, unit->cores.list[i], exec->all.count);
	return rc;
}

static int
read_level(const struct exec *exec, const json_t *object, struct unit *unit, struct kettle_error *err)
{
	const json_t *level = json_object_get(object, "sandbox");
	unit->level = exec->config.level;
	if (level && !json_is_string(level))
		return kettle_fail(err, KETTLE_EINVAL, "`sandbox` of the unit must be full, reduced or off.");
	int rc = level ? sandbox_level_parse(json_string_value(level), &unit->level, err) : 0;
	return rc == 0 ? sandbox_level_check(exec->protections, unit->level, err) : rc;
}

/* Two units that use the same thing must come to the same lock, so its name is made of that. */
static int
name_lock(const json_t *object, struct unit *unit, struct kettle_error *err)
{
	const char *lock = json_string_value(json_object_get(object, "lock"));
	AUTO_FREE char *cores = cores_text(&unit->cores);
	AUTO_BUF struct buf name = {0};
	int rc;
	if (lock)
		rc = buf_adds(&name, lock);
	else if (unit->gpu)
		rc = buf_printf(&name, "gpu-%s", unit->gpu);
	else if (unit->cores.count > 0)
		rc = buf_printf(&name, "cores-%s", cores ? cores : "?");
	else
		rc = buf_printf(&name, "device-%s", unit->name);
	unit->lock = rc == 0 ? buf_take(&name) : NULL;
	return unit->lock ? 0 : kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for a unit.");
}

int
unit_read(const struct exec *exec, const json_t *object, struct unit *ret_unit, struct kettle_error *err)
{
	*ret_unit = (struct unit){.name = "local", .slots = 1};
	if (object && !json_is_object(object))
		return kettle_fail(err, KETTLE_EINVAL, "`unit` must be an object.");
	const char *name = json_string_value(json_object_get(object, "name"));
	const json_t *slots = json_object_get(object, "slots");
	if (name)
		ret_unit->name = name;
	if (slots &&
		(!json_is_integer(slots) || json_integer_value(slots) < 1 || json_integer_value(slots) > JOB_MAX_SLOTS))
		return kettle_fail(err, KETTLE_EINVAL, "`slots` of the unit must be an integer from 1 to %d.", JOB_MAX_SLOTS);
	if (slots)
		ret_unit->slots = (unsigned)json_integer_value(slots);
	int rc = text_member(object, "gpu", &ret_unit->gpu, err);
	if (rc == 0)
		rc = read_cores(exec, object, ret_unit, err);
	if (rc == 0)
		rc = read_level(exec, object, ret_unit, err);
	return rc == 0 ? name_lock(object, ret_unit, err) : rc;
}

void
unit_close(struct unit *unit)
{
	free(unit->gpu);
	free(unit->lock);
	cores_free(&unit->cores);
	*unit = (struct unit){0};
}
