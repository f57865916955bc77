/* SPDX-License-Identifier: MIT */
/* Compilers of device code: where their toolkits usually lie, and what belongs to one. */
#ifndef KETTLE_EXEC_TOOLS_TOOLKIT_H
#define KETTLE_EXEC_TOOLS_TOOLKIT_H

#include <jansson.h>
#include <stdbool.h>

#include "exec/machine/tool_query.h"
#include "exec/util/strings.h"

/*
 * Words in an argument for something of the toolkit that a step's compiler belongs to: the folder where it is
 * installed; each of the folders of headers that the compiler does not look into by itself, and each of those of
 * libraries (the argument is repeated for each, and goes where there is none); the name by which a linker finds a
 * library, such as `cublas`, or `:libcublas.so.13` where that is all there is of it.
 */
#define TOOLKIT_WORD "@TOOLKIT@"
#define TOOLKIT_INCLUDE "@TOOLKIT_INCLUDE@"
#define TOOLKIT_LIB "@TOOLKIT_LIB@"
#define TOOLKIT_LIBRARY "@LIBRARY:" /* and the name, and another @ */

/* Whether the program of that name or path is nvcc or hipcc, or a wrapper of one by its name. */
bool toolkit_is_nvcc(const char *path);
bool toolkit_is_hipcc(const char *path);
/* Where a tool may be that PATH does not have: paths, ended by NULL. Empty for tools that belong to no toolkit of devices. */
const char *const *toolkit_default_paths(const char *name);
/*
 * Folders outside of its own installation that a tool needs, by the tool's name; NULL at the end. They need not exist.
 */
const char *const *toolkit_extra_folders(const char *name);

/* Adds what a compiler must not find out by itself: hipcc would compile for NVIDIA's GPUs where it finds an nvcc. */
void toolkit_environment(const char *path, json_t *environment);
/*
 * Fills in the question that tells where nvcc's toolkit is; what it prints is on stderr. A wrapper need not lie in the
 * toolkit, so its path says nothing.
 */
void toolkit_query(const char *path, struct command *command);
/*
 * The folder of the toolkit: out of the answer ("" where there is none), else out of the program's own path. New
 * string.
 */
char *toolkit_home(const char *answer, const char *real);
/* Appends the programs, libraries and folders that what nvcc makes depends on. */
void toolkit_nvcc_files(const char *home, struct strings *files);
/* The same of hipcc, which is a driver of clang: `version` is what `--version` prints. */
void toolkit_hipcc_files(const char *version, struct strings *files);

/* Whether an argument has any of these. */
bool toolkit_has_placeholder(const char *text);
/* Appends the argument with what they mean, by the facts of a tool. [any, blocks] */
void toolkit_expand(const char *text, const json_t *facts, struct strings *words);

/* ---- toolkit_parts.c ---- */
/*
 * The parts of a toolkit: the folders of headers and libraries that belong to it, what of the well-known is
 * there, and how to get what is not. NVIDIA publishes CUDA as Python packages, too: below nvidia/cu13 of an environment's
 * packages, of CUDA 12 below a folder for each package, CUTLASS apart from both.
 */

/* Appends what is there of a pattern (of glob) below a folder, without links, each once. [any, blocks] */
void toolparts_find(const char *folder, const char *pattern, struct strings *list);
/*
 * The folder in which the Python packages of CUDA are installed, of an environment (PREFIX), of PREFIX/…/site-packages
 * or of a folder of a toolkit in there; new string, NULL: there are none. [any, blocks]
 */
char *toolparts_packages(const char *folder);
/* The nvcc that is among them, whether or not it can be started; new string, NULL: there is none. [any, blocks] */
char *toolparts_nvcc(const char *packages);

/*
 * What is known of a toolkit: {"foreign": the packages are of another CUDA than the compiler, "includes": [folders that its
 * compiler does not look into by itself], "libraries": [folders], "parts": [{"name", "present", "essential": nothing
 * compiles without it, "headers" and "libraries": how names begin that belong to it, "how": to get it}], "folders":
 * [[path, time]] of all that would change if a part came or went}. home: where it is installed; packages: what
 * toolparts_packages found of the one that was named, NULL: none; version: "13.0.88". New reference.
 * [any, blocks]
 */
json_t *toolparts_of_nvcc(const char *home, const char *packages, const char *version);
json_t *toolparts_of_hipcc(const char *home);
/* The first essential part that is not there, borrowed; NULL: all are. Pure. [any] */
const json_t *toolparts_lacking(const json_t *facts);

#endif
