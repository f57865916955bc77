/* SPDX-License-Identifier: MIT */
/* Names of protections, and the levels made of them. */
#include <config.h>

#include "sandbox/protections.h"

#include "base/base.h"
#include "base/buf.h"

static const struct {
	const char *name, *meaning, *how;
} table[SANDBOX_PROTECTION_COUNT] = {
#define X(name, wire, meaning, how) {wire, meaning, how},
	SANDBOX_PROTECTIONS(X)
#undef X
};
static const char *const level_names[] = {"off", "reduced", "full"};

json_t *
sandbox_describe(unsigned protections)
{
	json_t *list = json_array();
	for (size_t i = 0; i < SANDBOX_PROTECTION_COUNT; i++) {
		bool present = protections & 1u << i;
		json_t *entry = json_pack("{s:s, s:s, s:b, s:s?}", "name", table[i].name, "meaning", table[i].meaning,
			"present", present, "how", present ? NULL : table[i].how);
		json_array_append_new(list, entry);
	}
	return list;
}

json_t *
sandbox_names(unsigned protections)
{
	json_t *list = json_array();
	for (size_t i = 0; i < SANDBOX_PROTECTION_COUNT; i++)
		if (protections & 1u << i)
			json_array_append_new(list, json_string(table[i].name));
	return list;
}

enum sandbox_level
sandbox_level_of(unsigned protections)
{
	if ((protections & SANDBOX_NEED_FULL) == SANDBOX_NEED_FULL)
		return SANDBOX_LEVEL_FULL;
	return (protections & SANDBOX_NEED_REDUCED) == SANDBOX_NEED_REDUCED ? SANDBOX_LEVEL_REDUCED : SANDBOX_LEVEL_OFF;
}

int
sandbox_level_parse(const char *text, enum sandbox_level *ret_level, struct kettle_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
		if (!strcmp(text, level_names[i])) {
			*ret_level = (enum sandbox_level)i;
			return 0;
		}
	return kettle_fail(err, KETTLE_EINVAL, "`%.100s` is not a sandbox level: use full, reduced or off.", text);
}

const char *
sandbox_level_name(enum sandbox_level level)
{
	return level_names[level];
}

int
sandbox_level_check(unsigned protections, enum sandbox_level least, struct kettle_error *err)
{
	enum sandbox_level present = sandbox_level_of(protections);
	if (present >= least)
		return 0;
	unsigned missing = (least == SANDBOX_LEVEL_FULL ? SANDBOX_NEED_FULL : SANDBOX_NEED_REDUCED) & ~protections;
	AUTO_BUF struct buf names = {0};
	const char *how = "";
	for (size_t i = SANDBOX_PROTECTION_COUNT; i-- > 0;)
		if (missing & 1u << i) {
			buf_printf(&names, "%s%s (%s)", names.len ? ", " : "", table[i].name, table[i].meaning);
			how = table[i].how;
		}
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"This machine supports sandbox level %s, but %s is required; missing: %s. To enable it: %s. Or set the "
		"device's `sandbox` to %s%s.",
		level_names[present], level_names[least], names.data ? names.data : "nothing", how, level_names[present],
		present == SANDBOX_LEVEL_OFF ? ", which gives submitted code the rights of the engine" : "");
}
