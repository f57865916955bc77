/* SPDX-License-Identifier: MIT */
/*
 * The tools of this machine: the program behind a name in a plan, its version, and a fingerprint of everything it uses.
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "exec/machine/machine.h"
#include "exec/util/sha256.h"
#include "exec/util/strings.h"

/* ---- toolchain.c: finds tools and remembers facts about them ---- */

#define TOOLCHAIN_MAX_FOLDERS 4000 /* header folders in a fingerprint */
#define TOOLCHAIN_MAX_ROOTS 8
#define TOOLCHAIN_MAX_TOOLS 64  /* tools that are probed and reported at once */
#define TOOLCHAIN_TRUST_MS 2000 /* time until a fingerprint is checked again */

/*
 * The tools of one machine; opaque. Only one thread may use a toolchain, or several between toolchain_lock and
 * toolchain_unlock. Functions block: some ms at first use, and as long as a tool takes to print its version.
 */
struct toolchain;

/* A tool that was found. The toolchain owns it until toolchain_free. */
struct tool {
	char *name;
	char *path;     /* as it is started */
	char *real;     /* without links */
	char *packages; /* of an nvcc: the folder of the Python packages that contain parts of its toolkit; or NULL */
	char *roots[TOOLCHAIN_MAX_ROOTS]; /* folders that the sandbox must show besides the system */
	size_t roots_count;
};

/*
 * The facts about a tool in tools.json, read by tool_facts_of. Strings and JSON are borrowed from `json`, in which
 * these members never change; a missing one is NULL.
 */
struct tool_facts {
	json_t *json;                   /* NULL: nothing is known */
	json_int_t format, size, mtime; /* of the facts; of the tool's file, time in ns */
	bool script;
	const char *version, *banner; /* "" if it prints none; digest of the output of --version */
	json_t *files;                /* paths that its results depend on */
	json_t *folders;              /* [[path, time]] of folders that change when a package or a part comes or goes */
	json_t *packages;             /* of an interpreter: {"numpy": "1.24.2"} */
	/* Of a compiler of device code, see toolparts_of_nvcc: */
	const char *home;
	bool foreign;
	json_t *includes, *libraries, *parts;
};

/* The names of known tools, ended by NULL. */
extern const char *const toolchain_known[];

/* memory: a file below the state folder that keeps facts by path, size and time. */
struct toolchain *toolchain_new(const struct execconfig *config, const char *memory);
void toolchain_free(struct toolchain *toolchain);

/*
 * While this thread looks for or probes a tool, others may get the lock; those that need the same tool wait. Copy
 * borrowed facts before the next call, and before toolchain_unlock. [any, blocks]
 */
void toolchain_lock(struct toolchain *toolchain);
void toolchain_unlock(struct toolchain *toolchain);

/*
 * Finds a tool by name or absolute path. If FOLDER/bin/nvcc does not exist, it means the nvcc of the Python packages in
 * FOLDER (an environment or a folder of packages), or this machine's nvcc with the parts of a toolkit among the
 * packages. nvcc, if the machine has none, means that in the environment of an interpreter that exec.yml reports.
 * KETTLE_ENOENT with a sentence: this machine does not have the tool; each call looks again.
 */
int toolchain_find(
	struct toolchain *toolchain, const char *name, const struct tool **ret_tool, struct kettle_error *err);
/* Finds a program of Kettle's that is installed beside this one, or else as toolchain_find does. */
int toolchain_find_beside(
	struct toolchain *toolchain, const char *name, const struct tool **ret_tool, struct kettle_error *err);
/*
 * A digest of the tool's path, size, time and version, the programs that it starts (a compiler's own, assembler,
 * linker), and the system's header folders and libraries. It changes when one of them does.
 */
int toolchain_fingerprint(
	struct toolchain *toolchain, const struct tool *tool, char ret_hex[DIGEST_HEX_SIZE], struct kettle_error *err);
/* The facts about a tool, borrowed until its next check; NULL: the tool is gone. */
const struct tool_facts *toolchain_facts(struct toolchain *toolchain, const struct tool *tool);
/* Checks that the tool can compile. KETTLE_EUNAVAIL: a sentence says what its toolkit lacks. */
int toolchain_check(struct toolchain *toolchain, const struct tool *tool, struct kettle_error *err);
/* Appends the folders that the sandbox must show for the tool besides the system. */
void toolchain_roots(struct toolchain *toolchain, const struct tool *tool, struct strings *paths);
/* A report on the known tools that exist here, those that exec.yml names, and those that it reports; by name. */
struct tool_report {
	json_t *versions; /* {"g++": "12.2.0"} */
	json_t *paths;    /* {"g++": "/usr/bin/g++"}: as started; of an interpreter behind a wrapper, its own path */
	json_t *packages; /* {"python3": {"numpy": "1.24.2"}}: the well-known packages of interpreters */
	json_t *parts;    /* {"nvcc": [part]}: of toolkits (toolkit_parts.c), without files that belong to no part */
};
struct tool_report toolchain_report(struct toolchain *toolchain);
void tool_report_free(struct tool_report *report);
/* The facts about a tool, if possible without starting it. Borrowed as those of toolchain_facts; never NULL. */
const struct tool_facts *toolchain_describe(struct toolchain *toolchain, const struct tool *tool);
/* Ends the probes of other threads and starts no more: tools without known facts stay unknown. [any] */
void toolchain_stop(struct toolchain *toolchain);
/* Takes over facts of another toolchain of the same machine, which no other thread uses meanwhile. [blocks] */
void toolchain_merge(struct toolchain *toolchain, const struct toolchain *other);

/* ---- environment.c: the environment of processes for plans, without anything of kettle-exec's own ---- */

/*
 * {"PATH", "LANG", "USER"}. PATH has the folder of the program (or NULL), the folders of the programs in `further`
 * (paths, or NULL), the system's folders, and those of exec.yml's tools, without folders that are not UTF-8 text. New
 * reference. Pure. [any]
 */
json_t *environment_make(const struct execconfig *config, const char *program, const struct strings *further);
/* Adds the variables that exec.yml sets for the tool of that name. [any] */
void environment_add_tool(const struct execconfig *config, const char *name, json_t *environment);
/* Appends "NAME=value" of each. Pure. [any] */
void environment_list(const json_t *environment, struct strings *list);

/* ---- tool_probe.c: asks a tool about itself, and finds the files and folders on which its results depend ---- */

/*
 * Probes at most TOOLCHAIN_MAX_TOOLS tools side by side, in the environment of steps: their versions, and the programs
 * and libraries of compilers. facts[i]: as tool_facts_of reads it, a new reference; NULL if the tool is gone, or if
 * another thread sets *stop (NULL: none does). [any, blocks]
 */
void tool_probe_run(const struct execconfig *config, const struct tool *const *tools, size_t count,
	const atomic_bool *stop, json_t **ret_facts);
/* Reads facts. NULL gives facts of which nothing is known. [any] */
struct tool_facts tool_facts_of(json_t *json);
/* Whether the facts exist in this version's format, and their file and folders are unchanged. [any, blocks] */
bool tool_probe_is_current(const struct tool_facts *facts, const char *real);
/* Appends all paths to check: the files of the facts, and the header folders with all folders below. */
void tool_probe_watch(const struct tool_facts *facts, const char *real, unsigned max_folders, struct strings *watch);
/* Adds the path with size and time (of a folder: its time) to a digest. */
void tool_probe_stamp(const char *path, struct sha256 *digest);
/*
 * Adds everything below a folder, at most *left entries, in an order that depends only on names. A link counts with its
 * target's size and time and is not followed. A missing folder differs from an empty one. [blocks]
 */
void tool_probe_stamp_tree(const char *path, struct sha256 *digest, unsigned *left);
/* The version number in the output of `--version` ("12.2.0"), or "" (exported for its test). */
void tool_probe_version(const char *text, char *ret_version, size_t size);

/* ---- interpreter.c: Python: the program behind its name, and the packages installed for it ---- */

/* Whether the path or name is one of Python's. [any] */
bool interpreter_is(const char *path);
/* Whether a file begins with `#!`. [any, blocks] */
bool interpreter_is_script(const char *path);
/*
 * The interpreter that a wrapper script of that name starts (such as those of version managers), by the script's own
 * answer. New string; NULL: it is no such script. [any, blocks]
 */
char *interpreter_of_wrapper(const char *path);
/*
 * A path in the installation that an interpreter's virtual environment was made from, by its pyvenv.cfg:
 * "/opt/python3.11/bin/python". New string; NULL: there is no virtual environment. [any, blocks]
 */
char *interpreter_base(const char *path);
/*
 * Whether a copy of a running interpreter is as good as a fresh one with this environment. It is not if each draws new
 * hashes, if it would continue after its script, or if it would import a user's packages. [any]
 */
bool interpreter_copies(const char *path, const json_t *environment);
/*
 * Checks that only root and this process's user may write to the interpreter's sources of code: itself, its
 * installation and virtual environment with their packages, the folders in PYTHONPATH and other variables of
 * `environment`, `folders` as in interpreter_facts, and everything above. Both may be NULL. KETTLE_EACCES with a
 * sentence. [any, blocks]
 */
int interpreter_check(const char *path, const json_t *environment, const json_t *folders, struct kettle_error *err);
/*
 * The command of an interpreter that becomes a warm process (`-c`, the extension, a descriptor, names of modules); see
 * warm.h.
 */
extern const char interpreter_loader[];
/* The command that comes first (`-I -S -c`, the extension, a descriptor, the command) and gives up rights. */
extern const char interpreter_confiner[];
/* A program for `-I -c` that prints the object for interpreter_facts. */
extern const char interpreter_question[];
/*
 * Reads that object: {"packages": {"numpy": "1.24.2"}, "folders": [["/usr/lib/python3/dist-packages", mtime in ns]]}:
 * the well-known packages, and the folders whose time changes when something is installed. New reference; NULL: it is
 * not such an answer. [any, blocks]
 */
json_t *interpreter_facts(const char *answer);
/* [path, time] of a folder, as in facts. New reference. [any, blocks] */
json_t *interpreter_folder(const char *folder);
/* Whether all folders of such an array (NULL: true) are unchanged. [any, blocks] */
bool interpreter_unchanged(const json_t *folders);

/*
 * ---- toolkit.c: compilers of device code: the usual places of their toolkits, and the files that belong to one ----
 */

/*
 * Words in an argument for parts of the toolkit of a step's compiler: its folder; each folder of headers, or of
 * libraries, that the compiler does not find by itself (the argument is repeated for each, and left out if there is
 * none); the name by which a linker finds a library, such as `cublas`, or `:libcublas.so.13` if only that file exists.
 */
#define TOOLKIT_WORD "@TOOLKIT@"
#define TOOLKIT_COMPILER "@TOOLKIT_COMPILER@" /* a whole argument */
#define TOOLKIT_INCLUDE "@TOOLKIT_INCLUDE@"
#define TOOLKIT_LIB "@TOOLKIT_LIB@"
#define TOOLKIT_LIBRARY "@LIBRARY:" /* followed by the name and another @ */

/* Whether the name or path is that of nvcc or hipcc, or of a wrapper with such a name. */
bool toolkit_is_nvcc(const char *path);
bool toolkit_is_hipcc(const char *path);
/* Paths where a tool may be that PATH does not have, ended by NULL; none for tools of no toolkit. */
const char *const *toolkit_default_paths(const char *name);
/* Folders outside of its installation that a tool needs, by the tool's name, ended by NULL. They need not exist. */
const char *const *toolkit_extra_folders(const char *name);
/* Sets variables that keep a compiler from guessing: hipcc would compile for NVIDIA's GPUs if it found an nvcc. */
void toolkit_environment(const char *path, json_t *environment);
/*
 * Fills in the question for the folder of nvcc's toolkit; the answer is on stderr. The path of a wrapper does not tell,
 * since a wrapper may lie outside of the toolkit.
 */
void toolkit_query(const char *path, struct command *command);
/* The toolkit's folder: from the answer ("": there is none), else from the program's own path. New string. */
char *toolkit_home(const char *answer, const char *real);
/* Appends the programs, libraries and folders on which nvcc's results depend. */
void toolkit_nvcc_files(const char *home, struct strings *files);
/* The same for hipcc, which drives clang. version: the output of `--version`. */
void toolkit_hipcc_files(const char *version, struct strings *files);
/* Whether an argument contains one of the words. */
bool toolkit_has_placeholder(const char *text);
/* Appends the argument with its words replaced by the facts of a tool. [any, blocks] */
void toolkit_expand(const char *text, const struct tool_facts *facts, struct strings *words);

/*
 * ---- toolkit_parts.c ----
 *
 * The parts of a toolkit: its folders of headers and libraries, which well-known parts exist, and how to get missing
 * ones. NVIDIA also publishes CUDA as Python packages: CUDA 13 below nvidia/cu13 of an environment's packages, CUDA 12
 * below a folder for each package, and CUTLASS apart from both.
 */

/* Appends the files below a folder that match a pattern (of glob), without links, each once. [any, blocks] */
void toolparts_find(const char *folder, const char *pattern, struct strings *list);
/*
 * The folder with CUDA's Python packages, for an environment (PREFIX), PREFIX/…/site-packages, or a folder of a toolkit
 * in there. New string; NULL: there are none. [any, blocks]
 */
char *toolparts_packages(const char *folder);
/* The nvcc among the packages, whether or not it can be started. New string; NULL: there is none. [any, blocks] */
char *toolparts_nvcc(const char *packages);
/*
 * The facts of a toolkit: {"foreign": the packages are of another CUDA than the compiler, "includes": [folders that its
 * compiler does not find by itself], "libraries": [folders], "parts": [{"name", "present", "essential": without it
 * nothing compiles, "headers" and "libraries": beginnings of the names that belong to it, "how": to get it}],
 * "folders": [[path, time]] of all folders that change when a part comes or goes}. home: its folder; packages: the
 * result of toolparts_packages, or NULL; version: "13.0.88". New reference. [any, blocks]
 */
json_t *toolparts_of_nvcc(const char *home, const char *packages, const char *version);
json_t *toolparts_of_hipcc(const char *home);
/* The first essential part that is missing, borrowed; NULL: none is missing. Pure. [any] */
const json_t *toolparts_lacking(const json_t *parts);
