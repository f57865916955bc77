/* SPDX-License-Identifier: MIT */
/* Removes repeated tracebacks from a program's output. Pure. */
#pragma once

/* The text with each of Python's tracebacks once; a line counts the equal ones that follow. New string. */
char *condense_tracebacks(const char *text);
