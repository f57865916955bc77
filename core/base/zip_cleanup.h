/* SPDX-License-Identifier: MIT */
/* What files that read or write zips share. */
#ifndef KETTLE_BASE_ZIP_CLEANUP_H
#define KETTLE_BASE_ZIP_CLEANUP_H

#include <zip.h>

#define ZIP_FIRST_DATE 0x21 /* 1980-01-01, as MS-DOS has it: the bytes of a zip depend on its files alone */

/* Without writing anything: what is to be written is closed, and the variable set to NULL, before. */
static inline void
cleanup_zip(zip_t **zip)
{
	if (*zip)
		zip_discard(*zip);
}
#define AUTO_ZIP __attribute__((cleanup(cleanup_zip)))

#endif
