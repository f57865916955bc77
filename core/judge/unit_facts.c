/* SPDX-License-Identifier: MIT */
/* The facts of a unit, from the greeting of its machine. */
#include <config.h>

#include "judge/unit_facts.h"

#include <ctype.h>

#include "base/buf.h"
#include "base/base.h"

static void
add_gpu(json_t *gpus, const json_t *value)
{
	if (json_is_integer(value))
		json_array_append_new(gpus, json_sprintf("%lld", (long long)json_integer_value(value)));
	else if (json_is_string(value))
		json_array_append(gpus, (json_t *)value);
}

json_t *
unit_gpus(const json_t *section)
{
	const json_t *value = json_object_get(section, "gpu");
	json_t *gpus = json_array();
	if (!json_is_array(value))
		add_gpu(gpus, value);
	json_array_each(value, one)
		add_gpu(gpus, one);
	return gpus;
}

static bool
is_gpu(const json_t *facts, const char *gpu)
{
	const char *uuid = json_text_or_null(facts, "uuid");
	char number[32];
	(void)snprintf(number, sizeof(number), "%lld", (long long)member_int(facts, "index"));
	return strcmp(gpu, number) == 0 || (uuid && strcasecmp(gpu, uuid) == 0);
}

static json_t *
find_gpu(const json_t *greeting, const char *gpu)
{
	json_array_each(json_object_get(greeting, "gpus"), facts)
		if (is_gpu(facts, gpu))
			return facts;
	return NULL;
}

/* A machine without the makers' libraries reports nothing of its GPUs, which is no fault of the GPUs. */
static json_t *
missing(const json_t *greeting, const char *gpu)
{
	const json_t *errors = json_object_get(greeting, "gpu_errors");
	const char *why = json_text_or_null(json_array_get(errors, 0), "error");
	if (why)
		return json_sprintf("GPU %s was not found: %s", gpu, why);
	if (json_array_size(json_object_get(greeting, "gpus")) == 0)
		return NULL;
	return json_sprintf("GPU %s was not found.", gpu);
}

json_t *
unit_facts(const json_t *section, const json_t *greeting)
{
	static const char *const keys[] = {
		"level", "machine", "protections", "tools", "packages", "parts", "version", "warm"};
	json_t *facts = json_object(), *found = json_array(), *error = NULL;
	AUTO_JSON json_t *wanted = unit_gpus(section);
	size_t i;
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(greeting, keys[i]))
			json_object_set(facts, keys[i], json_object_get(greeting, keys[i]));
	json_array_each(wanted, gpu) {
		json_t *one = find_gpu(greeting, json_string_value(gpu));
		if (one)
			json_array_append(found, one);
		else if (!error)
			error = missing(greeting, json_string_value(gpu));
	}
	if (json_array_size(found) > 0) {
		json_object_set(facts, "gpu", json_array_get(found, 0));
		json_object_set(facts, "gpus", found);
	}
	if (error)
		json_object_set_new(facts, "gpu_error", error);
	json_decref(found);
	return facts;
}

static void
remove_passing(json_t *gpu)
{
	static const char *const keys[] = {"used", "clocks", "temperature", "power_mw", "throttle", "slowed_ns",
		"processes", "occupied", "clocks_locked", "power_limit_mw", "ecc_corrected", "ecc_uncorrected", "unfit",
		"remarks"};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		(void)json_object_del(gpu, keys[i]);
}

json_t *
unit_facts_lasting(const json_t *section, const json_t *greeting)
{
	AUTO_JSON json_t *facts = unit_facts(section, greeting);
	json_t *lasting = json_deep_copy(facts);
	(void)json_object_del(lasting, "gpu_error");
	(void)json_object_del(lasting, "warm");
	remove_passing(json_object_get(lasting, "gpu"));
	json_array_each(json_object_get(lasting, "gpus"), gpu)
		remove_passing(gpu);
	return lasting;
}

int
unit_check_gpus(const json_t *section, const json_t *greeting, struct kettle_error *err)
{
	AUTO_JSON json_t *facts = unit_facts(section, greeting);
	const char *error = json_text_or_null(facts, "gpu_error");
	if (error)
		return kettle_fail(err, KETTLE_EUNAVAIL, "%s", error);
	json_array_each(json_object_get(facts, "gpus"), gpu)
		if (member_true(gpu, "occupied"))
			return kettle_fail(err, KETTLE_EUNAVAIL, "%lld MiB of memory are in use on its GPU %lld.",
				(long long)(member_int(gpu, "used") >> 20), (long long)member_int(gpu, "index"));
	return 0;
}

char *
unit_model(const json_t *facts)
{
	const json_t *gpus = json_object_get(facts, "gpus");
	AUTO_BUF struct buf text = {0};
	size_t i, k;
	json_t *gpu;
	json_array_foreach(gpus, i, gpu) {
		const char *name = json_text_or_empty(gpu, "name");
		bool known = !*name;
		for (k = 0; k < i; k++)
			known = known || member_is(json_array_get(gpus, k), "name", name);
		if (!known)
			buf_printf(&text, "%s%s", text.len > 0 ? ", " : "", name);
	}
	if (json_array_size(gpus) == 0)
		buf_adds(&text, json_text_or_empty(json_object_get(facts, "machine"), "cpu"));
	return text.len > 0 ? buf_take(&text) : NULL;
}

/* Code for one major version of the compute capability does not run on another, nor code for one gfx on another. */
static int
check_gpu_architecture(const json_t *section, const json_t *gpu, struct kettle_error *err)
{
	const char *sm = json_text_or_empty(section, "sm"), *gfx = json_text_or_empty(section, "gfx");
	const char *compute = json_text_or_empty(gpu, "compute"), *found = json_text_or_empty(gpu, "gfx");
	if (*sm && *compute && strtol(sm, NULL, 10) / 10 != strtol(compute, NULL, 10))
		return kettle_fail(err, KETTLE_EINVAL,
			"Its GPU %lld has the compute capability %s, but `sm` of the device is %s.",
			(long long)member_int(gpu, "index"), compute, sm);
	size_t len = strcspn(found, ":");
	if (*found && strncmp(gfx, "gfx", 3) == 0 && !strchr(gfx, '-') &&
		(strncmp(gfx, found, len) != 0 || (gfx[len] != '\0' && gfx[len] != ':')))
		return kettle_fail(err, KETTLE_EINVAL, "Its GPU %lld is a %.*s, but `gfx` of the device is %s.",
			(long long)member_int(gpu, "index"), (int)len, found, gfx);
	return 0;
}

int
unit_check_architecture(const json_t *section, const json_t *facts, struct kettle_error *err)
{
	int rc = 0;
	json_array_each(json_object_get(facts, "gpus"), gpu)
		if (rc == 0)
			rc = check_gpu_architecture(section, gpu, err);
	return rc;
}

/* ---- the model that is expected ---- */

#define MODEL_MAX 400 /* bytes of a name; a longer one is none */

static const char *
model_kind(const json_t *section)
{
	return json_object_get(section, "gpu") ? "gpu" : "cpu";
}

json_t *
unit_expect(const json_t *section, const char *known)
{
	const char *model = json_text_or_null(section, "model"), *kind = model_kind(section);
	if (model)
		return json_pack("{s:s}", kind, model);
	return known ? json_pack("{s:s, s:b}", kind, known, "whole", 1) : NULL;
}

int
unit_check_expected(const json_t *section, const json_t *expect, const char *model, struct kettle_error *err)
{
	const char *wanted = json_text_or_null(expect, model_kind(section));
	bool whole = member_true(expect, "whole");
	if (!wanted || (whole ? strcmp(model, wanted) == 0 : strcasestr(model, wanted) != NULL))
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL, "Its machine is %s, but `%s` needs %s%s`.", model,
		json_text_or_empty(section, "name"), whole ? "`" : "one whose name contains `", wanted);
}

const char *
unit_system_model(const json_t *section, const json_t *system)
{
	const char *model = json_text_or_null(system, model_kind(section));
	return model && *model && strlen(model) <= MODEL_MAX ? model : NULL;
}

/* ---- what a unit is ---- */

static void
add_uuid(struct buf *text, const char *uuid)
{
	if (text->len > 0)
		buf_adds(text, ",");
	for (; *uuid; uuid++)
		buf_printf(text, "%c", tolower((unsigned char)*uuid));
}

/* The UUIDs of the GPUs; NULL: there is none, or a GPU is named by its index alone. New string. */
static char *
configured_uuids(const json_t *gpus)
{
	AUTO_BUF struct buf text = {0};
	json_array_each(gpus, gpu) {
		const char *name = json_string_value(gpu);
		if (name[strspn(name, "0123456789")] == '\0')
			return NULL;
		add_uuid(&text, name);
	}
	return text.len > 0 ? buf_take(&text) : NULL;
}

char *
unit_key(const json_t *section)
{
	static const char *const uses[] = {"name", "unit", "more", "brief", "slots", "prefetch", "labels", "sandbox",
		"memory", "runner_slots", "lock", "model", "expect", "sm", "gfx", "include_dirs", "library_dirs"};
	AUTO_JSON json_t *gpus = unit_gpus(section), *what = json_copy((json_t *)section);
	char *uuids = configured_uuids(gpus);
	if (uuids)
		return uuids;
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		(void)json_object_del(what, uses[i]);
	if (json_array_size(gpus) > 0) {
		(void)json_object_set(what, "gpu", gpus);
		(void)json_object_del(what, "cores");
	}
	AUTO_FREE char *text = json_dumps(what, JSON_COMPACT | JSON_SORT_KEYS);
	return xstrdup(text ? text : "");
}

char *
unit_identity(const json_t *section, const char *key, const json_t *facts)
{
	AUTO_JSON json_t *wanted = unit_gpus(section);
	const json_t *found = json_object_get(facts, "gpus");
	AUTO_FREE char *plain = unit_key(section);
	AUTO_BUF struct buf text = {0};
	if (json_array_size(wanted) == 0 || json_array_size(found) != json_array_size(wanted))
		return xstrdup(key);
	json_array_each(found, gpu) {
		const char *uuid = json_text_or_null(gpu, "uuid");
		if (!uuid || !*uuid)
			return xstrdup(key);
		add_uuid(&text, uuid);
	}
	if (strncmp(key, plain, strlen(plain)) == 0)
		buf_adds(&text, key + strlen(plain));
	return buf_take(&text);
}

bool
unit_facts_agree(const json_t *section, const json_t *facts)
{
	AUTO_JSON json_t *wanted = unit_gpus(section);
	if (json_array_size(json_object_get(facts, "gpus")) == 0)
		return true;
	json_array_each(wanted, gpu)
		if (!find_gpu(facts, json_string_value(gpu)))
			return false;
	return json_array_size(wanted) > 0;
}

json_t *
unit_brief(const json_t *section)
{
	json_t *brief = json_copy((json_t *)section);
	json_object_set_new(brief, "brief", json_true());
	return brief;
}
