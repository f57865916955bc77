/* SPDX-License-Identifier: MIT */
/* The names that a shared library exports, read from its file. */
#ifndef KETTLE_CONFORMANCE_ELF_SYMBOLS_H
#define KETTLE_CONFORMANCE_ELF_SYMBOLS_H

#include <jansson.h>
#include <kettle/error.h>

#define DYNSYM_MAX_BYTES (256u << 20) /* of a library */

/* Array of the names defined in its dynamic symbol table, linker's marks left out; new reference. EINVAL: not such a
 * file, or one that contradicts itself; and what reading a file gives. [any] */
int elf_symbols_read(const char *file, json_t **ret_names, struct kettle_error *err);

#endif
