/* SPDX-License-Identifier: MIT */
/* Python as a tool of this machine: what its name leads to, and what it is installed with. */
#ifndef KETTLE_EXEC_TOOLS_INTERPRETER_H
#define KETTLE_EXEC_TOOLS_INTERPRETER_H

#include <jansson.h>
#include <stdbool.h>

/* Whether a path or name is one that Python goes by. [any] */
bool interpreter_is(const char *path);
/* Whether a file begins with `#!`. [any, blocks] */
bool interpreter_is_script(const char *path);
/*
 * The interpreter that a wrapper script of that name starts (as those of version managers do), as the script says
 * itself; new string, NULL: it is no such script. [any, blocks]
 */
char *interpreter_of_wrapper(const char *path);
/*
 * A path in the installation that the virtual environment of an interpreter was made from (its pyvenv.cfg says which):
 * "/opt/python3.11/bin/python"; new string, NULL: it is in no virtual environment. [any, blocks]
 */
char *interpreter_base(const char *path);

/*
 * Whether a copy of a running one is as good as a fresh one with this environment: not where hashes are drawn anew by
 * each, nor where it would go on after its script. [any]
 */
bool interpreter_copies(const char *path, const json_t *environment);
/* What to start it with (`-c`, the extension, a descriptor, names of modules) to make it a warm process; see warm.h. */
extern const char interpreter_loader[];

/* The question to an interpreter, for `-I -c`: it prints the object that interpreter_facts takes. */
extern const char interpreter_question[];
/*
 * Reads an answer: {"packages": {"numpy": "1.24.2"}, "folders": [["/usr/lib/python3/dist-packages", mtime in ns]]}, the
 * well-known packages, and the folders whose time changes when something is installed. New reference, NULL: it is no
 * answer. [any, blocks]
 */
json_t *interpreter_facts(const char *answer);
/* [path, time] of a folder, as such facts have them. New reference. [any, blocks] */
json_t *interpreter_folder(const char *folder);
/* Whether the folders of such facts (NULL, or any other object: true) are as they were. [any, blocks] */
bool interpreter_unchanged(const json_t *facts);

#endif
