/* SPDX-License-Identifier: MIT */
/* The facts of a unit, from the greeting of its machine. Pure. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

#include <stdbool.h>

/*
 * The facts of a unit: level, machine, protections, tools, packages, parts and version of its machine, and of its own GPUs
 * (index, UUID or a list of them under `gpu` of its section) `gpus`, `gpu` (the first) and, where one of them is not
 * there, `gpu_error`, a sentence. greeting: the `hello` of its kettle-exec (docs/protocol.md). New reference. [any]
 */
json_t *unit_facts(const json_t *section, const json_t *greeting);
/* The facts that last: without clocks, temperature, use and the like. New reference. [any] */
json_t *unit_facts_lasting(const json_t *section, const json_t *greeting);
/* Whether the unit's GPUs are there and nothing uses their memory; EUNAVAIL with a sentence. [any] */
int unit_check_gpus(const json_t *section, const json_t *greeting, struct kettle_error *err);
/* The model of the unit of these facts: the names of its GPUs, each once, or its CPU. New string; NULL: not known. [any] */
char *unit_model(const json_t *facts);
/* Whether the GPUs of these facts can run what is built for the section's `sm` or `gfx`; EINVAL with a sentence. [any] */
int unit_check_architecture(const json_t *section, const json_t *facts, struct kettle_error *err);
/*
 * The value of `expect` in a run line (docs/protocol.md): the text that `model` of the section wants in the name of the
 * unit's GPU, or of its processor where it has none; without `model` the name `known` itself. New reference; NULL:
 * neither is given. [any]
 */
json_t *unit_expect(const json_t *section, const char *known);
/* Whether the name of a model satisfies unit_expect's result (NULL: any); EUNAVAIL with a sentence. [any] */
int unit_check_expected(const json_t *section, const json_t *expect, const char *model, struct kettle_error *err);
/* The model of the section's unit that the `system` of a completion names, borrowed; NULL: none. [any] */
const char *unit_system_model(const json_t *section, const json_t *system);
/* The section to describe without waiting for tools. New reference. [any] */
json_t *unit_brief(const json_t *section);
/*
 * The identity of a unit by the configuration: the UUIDs of its GPUs, if it names them so; else its section as JSON,
 * without the keys on how the unit is used (name, label, slots, prefetch, labels, sandbox, memory, runner_slots, lock,
 * model, architecture and search folders; of a unit with GPUs the cores, too). Of a unit whose runner is not known
 * here, the whole section. New string. [any]
 */
char *unit_key(const json_t *section);
/*
 * The identity of a unit: the UUIDs of its GPUs if facts (unit_facts) have them all, else its key. key: unit_key of the
 * section, with the part that its device adds to equal keys; that part is added here, too. New string. [any]
 */
char *unit_identity(const json_t *section, const char *key, const json_t *facts);
/* Whether facts may be those of the unit of this section: its GPUs are among theirs, or they name no GPUs. [any] */
bool unit_facts_agree(const json_t *section, const json_t *facts);
/* The GPUs of a section as an array of strings, empty where it has none. New reference. [any] */
json_t *unit_gpus(const json_t *section);
