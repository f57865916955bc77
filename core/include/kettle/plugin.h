/* SPDX-License-Identifier: MIT */
/* The plugin ABI: the symbol that a plugin exports, and its life cycle. */
#ifndef KETTLE_PLUGIN_H
#define KETTLE_PLUGIN_H

#include <jansson.h>
#include <kettle/abi.h>
#include <kettle/error.h>
#include <kettle/frontend.h>
#include <kettle/host.h>
#include <kettle/language.h>
#include <kettle/option.h>
#include <kettle/runner.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KETTLE_PLUGIN_MAGIC 0x4c54544bu /* "KTTL" in little-endian memory */

enum kettle_plugin_kind { KETTLE_LANGUAGE = 1, KETTLE_RUNNER = 2, KETTLE_FRONTEND = 3 };

/*
 * A plugin exports exactly one symbol, `kettle_plugin`. The first six members never change, so that any host can report
 * why it refuses a plugin. New members are appended; those that an older minor lacks read as NULL. A plugin that
 * defines KETTLE_PLUGIN_ABI_MINOR before it includes this header is built for that minor (abi.h).
 *
 * Life: load → check → create (no I/O) → configure → start → stop → destroy. Runners start first, then languages, then
 * frontends; they stop in reverse order. A failure is returned, never fatal: main decides. A plugin has no mutable
 * globals: all state belongs to self, so that several instances can run.
 *
 * A language whose section of the configuration is changed while the engine runs gets a new instance: create, configure
 * and start of the new one come while the old one still works, and where one of them fails the old one goes on. The old
 * instance explains what it has planned, and is stopped and destroyed at the end of the process.
 *
 * Memory: a function of jansson never fails for lack of memory: Kettle's process ends instead. Memory that a plugin
 * allocates itself may be checked, with KETTLE_ENOMEM as the answer.
 *
 * jansson is a part of this ABI: json_incref, json_decref, json_typeof and the macros that test or loop over a type are
 * inlined, so a plugin contains what they know of json_t: its first members are the type and the reference count, and
 * the count is changed atomically, as jansson does since 2.11. A jansson that changes that (another soname) needs
 * plugins and Kettle to be built again. A json_t may be shared by threads only while none of them changes its contents.
 *
 * Misbehaviour. Kettle logs with the plugin's name, and goes on, where an operation or a callback of a plugin holds the
 * loop for more than 100 ms (at most one line a minute for each plugin: a warning under `kettle serve`, else of the
 * level info), an operation returns a positive number (which counts as KETTLE_EINTERNAL) or a negative one without a
 * sentence (Kettle says which operation failed), and where stop has not called done after 30 s (the plugin is left as
 * it is). Only a function that never returns stops everything else.
 */
struct kettle_plugin {
	uint32_t magic;                /* KETTLE_PLUGIN_MAGIC */
	uint16_t abi_major, abi_minor; /* KETTLE_ABI_MAJOR, KETTLE_PLUGIN_ABI_MINOR at the time of its build */
	uint32_t size;                 /* sizeof(struct kettle_plugin) at the time of its build */
	uint32_t kind;                 /* enum kettle_plugin_kind */
	const char *name;              /* [a-z][a-z0-9_]{0,31}: its section of the configuration */

	const char *version;
	const char *summary; /* one line for `kettle plugin list` */
	const struct kettle_option *options;
	size_t options_count, option_size; /* element size: sizeof(struct kettle_option) */

	/* Makes an instance; host stays valid until destroy has returned. */
	int (*create)(const struct kettle_host *host, void **ret_self, struct kettle_error *err);
	/*
	 * options: the checked section with defaults filled in. Checks what the table cannot express. A `member` of the error
	 * names the option at fault: `kettle config check` then calls it again without that one, for the next fault.
	 */
	int (*configure)(void *self, const json_t *options, struct kettle_error *err);
	/* Starts the plugin; must not block. NULL: nothing to start. */
	int (*start)(void *self, struct kettle_error *err);
	/* Ends everything that it started, then calls done(arg) once, possibly before it returns. NULL: nothing to stop. */
	void (*stop)(void *self, kettle_fn done, void *arg);
	/* Frees; accepts NULL and an instance that was never configured or started. */
	void (*destroy)(void *self);

	/* Only the member of the plugin's own kind is set. */
	const struct kettle_language *language;
	const struct kettle_runner *runner;
	const struct kettle_frontend *frontend;
};

/* The first members of every definition: the frozen ones except the name. */
#define KETTLE_PLUGIN_HEAD(kind_) \
	.magic = KETTLE_PLUGIN_MAGIC, .abi_major = KETTLE_ABI_MAJOR, .abi_minor = KETTLE_PLUGIN_ABI_MINOR, \
	.size = sizeof(struct kettle_plugin), .kind = (kind_)

/* Put this before the definition: it is the only symbol to export. */
#define KETTLE_EXPORT __attribute__((visibility("default")))
extern KETTLE_EXPORT const struct kettle_plugin kettle_plugin;

#ifdef __cplusplus
}
#endif
#endif
