/* SPDX-License-Identifier: MIT */
/* Common parts of the files that read or write zips. */
#pragma once

#include <zip.h>

#define ZIP_FIRST_DATE 0x21 /* 1980-01-01, as MS-DOS has it: the bytes of a zip depend on its files alone */

/* Discards changes: to keep them, close the zip and set the variable to NULL first. */
static inline void
cleanup_zip(zip_t **zip)
{
	if (*zip)
		zip_discard(*zip);
}
#define AUTO_ZIP __attribute__((cleanup(cleanup_zip)))
