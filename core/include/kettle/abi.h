/* SPDX-License-Identifier: MIT */
/* The version of the plugin ABI, and the one that a plugin is built for. */
#ifndef KETTLE_ABI_H
#define KETTLE_ABI_H

/*
 * A minor version only appends: members at the end of a structure, values at the end of an enum, keys that JSON may
 * have. Every other change raises the major version; a host loads no plugin of another major version.
 */
#define KETTLE_ABI_MAJOR 1
#define KETTLE_ABI_MINOR 4

/*
 * A plugin that defines this before it includes a header of Kettle is built for that minor version and loads on every
 * host that has it or a later one. Newer members are then not declared, so the plugin cannot use them by mistake; the
 * host reads them as NULL. A member newer than 1.0 is declared between `#if KETTLE_PLUGIN_ABI_MINOR >= n` and `#endif`.
 */
#ifndef KETTLE_PLUGIN_ABI_MINOR
#define KETTLE_PLUGIN_ABI_MINOR KETTLE_ABI_MINOR
#endif
#if KETTLE_PLUGIN_ABI_MINOR > KETTLE_ABI_MINOR
#error "KETTLE_PLUGIN_ABI_MINOR asks for a newer minor version than these headers have."
#endif

#endif
