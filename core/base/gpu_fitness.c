/* SPDX-License-Identifier: MIT */
/* Whether times that were measured on a GPU are scores: the words and what they mean. */
#include <config.h>

#include "base/gpu_fitness.h"

#include <string.h>

#include "base/json_access.h"

static const struct {
	const char *word, *text;
} words[] = {
#define X(name, word, text) [GPU_WORD_##name] = {word, text},
	GPU_UNFIT_CAUSES(X) GPU_REMARKS(X)
#undef X
};

const char *
gpu_word(enum gpu_word word)
{
	return words[word].word;
}

bool
gpu_word_is_cause(const char *text)
{
	for (size_t i = 0; text && i <= GPU_WORD_UNREADABLE; i++)
		if (strcmp(text, words[i].word) == 0)
			return true;
	return false;
}

void
gpu_words_explain(const json_t *list, struct buf *out)
{
	const char *between = "";
	for (size_t i = 0; i < GPU_WORDS; i++) {
		if (!list_has_text(list, words[i].word))
			continue;
		buf_printf(out, "%s%s", between, words[i].text);
		between = "; ";
	}
}

void
gpu_words_add_causes(json_t *causes, const json_t *list)
{
	json_array_each(list, word) {
		const char *text = json_string_value(word);
		if (gpu_word_is_cause(text) && !list_has_text(causes, text))
			(void)json_array_append(causes, word);
	}
}

void
gpu_words_add_unfit(json_t *causes, const json_t *unfit, const json_t *gpus)
{
	json_object_each(unfit, gpu, list)
		if (!gpus || list_has_text(gpus, gpu))
			gpu_words_add_causes(causes, list);
}
