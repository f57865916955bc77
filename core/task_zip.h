/* SPDX-License-Identifier: MIT */
/* The types of a zip's entries as its directory says them, which libarchive does not always tell. */
#ifndef KETTLE_TASK_ZIP_H
#define KETTLE_TASK_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* An entry of the directory. The name is borrowed from the archive, and no string. */
struct task_zip_entry {
	const char *name;
	size_t name_len;
	mode_t type; /* S_IFMT of the mode; 0: its maker's system has none */
};

/*
 * The first entry from *at on (0: the first of all) that has a type and is neither a file nor a folder; *at is moved
 * behind it. False: there is none, or the directory ends, or makes no sense. Reads nothing outside of data. [any]
 */
bool task_zip_special(const void *data, size_t size, size_t *at, struct task_zip_entry *ret_entry);

#endif
