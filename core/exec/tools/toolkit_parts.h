/* SPDX-License-Identifier: MIT */
/*
 * The parts of a toolkit for devices: the folders of headers and libraries that belong to it, what of the well-known is
 * there, and how to get what is not. NVIDIA publishes CUDA as Python packages, too: below nvidia/cu13 of an environment's
 * packages, of CUDA 12 below a folder for each package, CUTLASS apart from both.
 */
#ifndef KETTLE_EXEC_TOOLPARTS_H
#define KETTLE_EXEC_TOOLPARTS_H

#include <jansson.h>

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
