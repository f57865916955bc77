/* SPDX-License-Identifier: MIT */
/* What a program printed, without what is in it twice. Pure. */
#ifndef KETTLE_FRONTENDS_COMMON_CONDENSE_H
#define KETTLE_FRONTENDS_COMMON_CONDENSE_H

/* The text with each of Python's tracebacks once: in the place of equal ones behind it a line counts them. New string. */
char *condense_tracebacks(const char *text);

#endif
