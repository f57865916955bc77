/* SPDX-License-Identifier: MIT */
/* Whether times that were measured on a GPU are scores: the words for what prevents it, and for what to know of them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"

/* Why a GPU is unfit to score: name, word, and what a sentence says after "GPU 0:". */
#define GPU_UNFIT_CAUSES(X) \
	X(HARDWARE_SLOWDOWN, "hardware-slowdown", "its hardware slows its clocks") \
	X(THERMAL, "thermal", "heat slows its clocks") \
	X(THERMAL_HARDWARE, "thermal-hardware", "its hardware slows its clocks because of heat") \
	X(POWER_BRAKE, "power-brake", "the machine's power supply slows its clocks") \
	X(ECC, "ecc", "its memory has errors that were not corrected") \
	X(PROCESSES, "processes", "other processes use it") \
	X(UNREADABLE, "unreadable", "its driver did not answer after a run")

/* Remarks on scores of a GPU that is fit. */
#define GPU_REMARKS(X) \
	X(CLOCKS_UNLOCKED, "clocks-unlocked", "its clocks are not known to be locked") \
	X(POWER_CAP, "power-cap", "it reached its power cap") \
	X(POWER_LIMIT, "power-limit", "its power limit is below the default") \
	X(SYNC_BOOST, "sync-boost", "its clocks follow those of other GPUs") \
	X(ECC_CORRECTED, "ecc-corrected", "errors of its memory were corrected") \
	X(ECC_OFF, "ecc-off", "error correction of its memory is off") \
	X(MIG, "mig", "it is divided by MIG") \
	X(PERSISTENCE_OFF, "persistence-off", "its driver does not stay loaded")

/* All words, in the order in which lists have them. */
enum gpu_word {
#define X(name, word, text) GPU_WORD_##name,
	GPU_UNFIT_CAUSES(X) GPU_REMARKS(X)
#undef X
		GPU_WORDS
};

/* The word. Static. [any] */
const char *gpu_word(enum gpu_word word);
/* Whether the text is the word of a cause. [any] */
bool gpu_word_is_cause(const char *text);
/* Appends what the known words of a list from outside mean, each once: "heat slows its clocks; …". [any] */
void gpu_words_explain(const json_t *words, struct buf *out);
/*
 * Adds the causes in a list from outside to `causes`, each once; other elements, and a list that is none, are ignored.
 * [any]
 */
void gpu_words_add_causes(json_t *causes, const json_t *words);
/* The same for all GPUs of an object {GPU: [cause]}, or only those in the list `gpus` (NULL: all). [any] */
void gpu_words_add_unfit(json_t *causes, const json_t *unfit, const json_t *gpus);
