/* SPDX-License-Identifier: MIT */
/* Where the outputs of a task's runs are checked and timed, and what that leaves open. */
#include <config.h>

#include "judge/judging.h"

#include "base/base.h"

static const struct {
	const char *word, *open;
} judgings[] = {
#define X(word, open) {word, open},
	JUDGINGS(X)
#undef X
};

/* The row of a word; of one that is not known, the row of one process. */
static size_t
find_judging(const char *word)
{
	size_t one = 0;
	for (size_t i = 0; i < ARRAY_SIZE(judgings); i++) {
		if (word && strcmp(word, judgings[i].word) == 0)
			return i;
		if (strcmp(judgings[i].word, KETTLE_JUDGING_ONE_PROCESS) == 0)
			one = i;
	}
	return one;
}

json_t *
judging_of(const struct language *language, const json_t *task, const json_t *files)
{
	json_t *kept = json_object();
	for (int gpu = 0; gpu < 2; gpu++) {
		const char *word = language->ops->judging ? language->ops->judging(language->self, task, files, gpu) : NULL;
		json_object_set_new(kept, gpu ? "gpu" : "cpu", json_string(judgings[find_judging(word)].word));
	}
	return kept;
}

static json_t *
shown_entry(const char *kind, size_t row)
{
	return json_pack("{s:s, s:s, s:s}", "kind", kind, "by", judgings[row].word, "open", judgings[row].open);
}

json_t *
judging_shown(const json_t *kept)
{
	size_t cpu = find_judging(json_text_or_null(kept, "cpu")), gpu = find_judging(json_text_or_null(kept, "gpu"));
	if (cpu == gpu)
		return json_pack("[o]", shown_entry("any", cpu));
	return json_pack("[o, o]", shown_entry("CPU", cpu), shown_entry("GPU", gpu));
}

/* By its section of the configuration, and by what its machine once reported. */
static bool
has_gpu(const json_t *unit)
{
	static const char *const keys[] = {"gpu", "sm", "gfx"};
	const json_t *expected = json_object_get(json_object_get(unit, "expect"), "gpu");
	if ((expected && !json_is_null(expected)) || json_object_get(json_object_get(unit, "facts"), "gpu"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(unit, keys[i]) && !json_is_null(json_object_get(unit, keys[i])))
			return true;
	return false;
}

const char *
judging_on(const json_t *kept, const json_t *units)
{
	bool gpu = json_array_size(units) == 0;
	json_array_each(units, unit)
		gpu = gpu || has_gpu(unit);
	return judgings[find_judging(json_text_or_null(kept, gpu ? "gpu" : "cpu"))].word;
}
