/* SPDX-License-Identifier: MIT */
/* The tools of this machine: where a plan's name of one leads to, its version, and a fingerprint of all it uses. */
#ifndef KETTLE_EXEC_TOOLS_TOOLS_H
#define KETTLE_EXEC_TOOLS_TOOLS_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "exec/machine/machine.h"
#include "exec/util/sha256.h"
#include "exec/util/strings.h"

/* ---- toolchain.c: finding tools, and remembering what is known of them ---- */

#define TOOLCHAIN_MAX_FOLDERS 4000 /* header folders that a fingerprint looks at */
#define TOOLCHAIN_MAX_ROOTS 8
#define TOOLCHAIN_MAX_TOOLS 64  /* probed and reported at once */
#define TOOLCHAIN_TRUST_MS 2000 /* how long a fingerprint is not looked at again */

/*
 * The tools of one machine; opaque. A toolchain is used by one thread, or by each between toolchain_lock and
 * toolchain_unlock. It blocks: some ms at first use, and for as long as a tool takes to say its version.
 */
struct toolchain;

/* A tool that was found. Owned by the toolchain, valid until it is freed. */
struct tool {
	char *name;
	char *path;                       /* as it is started */
	char *real;                       /* without links */
	char *packages;                   /* of an nvcc: the Python packages that parts of its toolkit lie among; or NULL */
	char *roots[TOOLCHAIN_MAX_ROOTS]; /* what the sandbox must see for it besides the system */
	size_t roots_count;
};

/*
 * What is known of a tool: what tools.json has for it, read by tool_facts_of. Strings and JSON are borrowed from `json`,
 * in which these members never change; NULL: it has none.
 */
struct tool_facts {
	json_t *json;                   /* NULL: nothing is known */
	json_int_t format, size, mtime; /* of the facts; of the tool's file, in ns */
	bool script;
	const char *version, *banner; /* "" where it prints none; a digest of what --version prints */
	json_t *files;                /* paths that its results depend on */
	json_t *folders;              /* [[path, time]] that change when a package or a part comes or goes */
	json_t *packages;             /* of an interpreter: {"numpy": "1.24.2"} */
	/* Of a compiler of device code, see toolparts_of_nvcc: */
	const char *home;
	bool foreign;
	json_t *includes, *libraries, *parts;
};

/* The names it looks for, ended by NULL. */
extern const char *const toolchain_known[];

/* `memory` is a file below the state folder in which versions are remembered by path, size and time. */
struct toolchain *toolchain_new(const struct execconfig *config, const char *memory);
void toolchain_free(struct toolchain *toolchain);

/*
 * While a tool is looked for or probed others may have the lock; those that need the same tool wait. What is borrowed of
 * facts must be copied before the next call, and before the lock is given back. [any, blocks]
 */
void toolchain_lock(struct toolchain *toolchain);
void toolchain_unlock(struct toolchain *toolchain);

/*
 * `name` is a tool's name or an absolute path. FOLDER/bin/nvcc that is not there means the nvcc of the Python packages
 * in FOLDER, an environment or a folder of packages, or this machine's nvcc, with what of a toolkit is among the
 * packages; nvcc, where the machine has none, means that of the environment of an interpreter that exec.yml reports.
 * KETTLE_ENOENT with a sentence: this machine does not have it. What was not found is looked for again each time.
 */
int toolchain_find(
	struct toolchain *toolchain, const char *name, const struct tool **ret_tool, struct kettle_error *err);
/*
 * A digest of the tool's path, size, time and version, of the programs it starts (a compiler's own, assembler,
 * linker), and of the system's header folders and libraries. Changes when any of them does.
 */
int toolchain_fingerprint(
	struct toolchain *toolchain, const struct tool *tool, char ret_hex[DIGEST_HEX_SIZE], struct kettle_error *err);
/* What is known of it, borrowed until it is next looked at; NULL: the tool is gone. */
const struct tool_facts *toolchain_facts(struct toolchain *toolchain, const struct tool *tool);
/* Whether nothing can be compiled with it: KETTLE_EUNAVAIL with a sentence that says what its toolkit lacks. */
int toolchain_check(struct toolchain *toolchain, const struct tool *tool, struct kettle_error *err);
/* Appends what the sandbox must see for the tool besides the system. */
void toolchain_roots(struct toolchain *toolchain, const struct tool *tool, struct strings *paths);
/* Of the known tools that are here, those that exec.yml names, and those it reports besides; by their names. */
struct tool_report {
	json_t *versions; /* {"g++": "12.2.0"} */
	json_t *paths; /* {"g++": "/usr/bin/g++"}: as they are started; an interpreter behind a wrapper by its own path */
	json_t *packages; /* {"python3": {"numpy": "1.24.2"}}: the well-known packages of interpreters */
	json_t *parts;    /* {"nvcc": [part]}: of toolkits (toolkit_parts.c), without what belongs to none */
};
struct tool_report toolchain_report(struct toolchain *toolchain);
void tool_report_free(struct tool_report *report);
/* What is known of it, where possible without starting it; in the same way, and never NULL. */
const struct tool_facts *toolchain_describe(struct toolchain *toolchain, const struct tool *tool);
/* Ends what another thread is probing, and probes no more tools: those of which nothing is known stay unknown. [any] */
void toolchain_stop(struct toolchain *toolchain);
/* Takes over what another toolchain of the same machine has learnt, which no other thread uses meanwhile. [blocks] */
void toolchain_merge(struct toolchain *toolchain, const struct toolchain *other);

/* ---- environment.c: the environment of the processes that plans start, without anything of kettle-exec's own ---- */

/*
 * {"PATH", "LANG", "USER"}. PATH is the folder of the program (NULL: none), those of the programs in `further` (paths;
 * NULL: none), the system's folders, and those of exec.yml's tools; a folder that is not UTF-8 text is left out. New
 * reference. Pure. [any]
 */
json_t *environment_make(const struct execconfig *config, const char *program, const struct strings *further);
/* Adds the variables that exec.yml gives the tool of that name. [any] */
void environment_add_tool(const struct execconfig *config, const char *name, json_t *environment);
/* Appends "NAME=value" of each. Pure. [any] */
void environment_list(const json_t *environment, struct strings *list);

/* ---- tool_probe.c: what a tool says about itself, and which files and folders its results depend on ---- */

/*
 * Probes at most TOOLCHAIN_MAX_TOOLS tools, side by side and in the environment that steps have: their version and, of
 * compilers, the programs and libraries they use. facts[i] gets what tool_facts_of reads, a new reference, or NULL when
 * the tool is gone, or when another thread sets *stop (NULL: none does). [any, blocks]
 */
void tool_probe_run(const struct execconfig *config, const struct tool *const *tools, size_t count,
	const atomic_bool *stop, json_t **ret_facts);
/* Reads such facts; NULL gives those of which nothing is known. [any] */
struct tool_facts tool_facts_of(json_t *json);
/* Whether there are facts, in this version's format, and their file and folders are unchanged. [any, blocks] */
bool tool_probe_is_current(const struct tool_facts *facts, const char *real);
/* Appends everything to look at: the files of the facts, and the header folders with all folders below. */
void tool_probe_watch(const struct tool_facts *facts, const char *real, unsigned max_folders, struct strings *watch);
/* Adds the path with its size and time to a digest (of a folder: its time). */
void tool_probe_stamp(const char *path, struct sha256 *digest);
/*
 * Adds everything below a folder, *left entries at most, in an order that depends on names alone; links are stamped by
 * what they lead to and not followed. A missing folder differs from an empty one. [blocks]
 */
void tool_probe_stamp_tree(const char *path, struct sha256 *digest, unsigned *left);
/* The version number in what `--version` prints ("12.2.0"), or "" (exported for its test). */
void tool_probe_version(const char *text, char *ret_version, size_t size);

/* ---- interpreter.c: Python: what its name leads to, and what is installed for it ---- */

/* Whether a path or name is one that Python goes by. [any] */
bool interpreter_is(const char *path);
/* Whether a file begins with `#!`. [any, blocks] */
bool interpreter_is_script(const char *path);
/*
 * The interpreter that a wrapper script of that name starts (as those of version managers do), by the script's own
 * answer; new string, NULL: it is not such a script. [any, blocks]
 */
char *interpreter_of_wrapper(const char *path);
/*
 * A path in the installation that the virtual environment of an interpreter was made from (its pyvenv.cfg says which):
 * "/opt/python3.11/bin/python"; new string, NULL: it is in no virtual environment. [any, blocks]
 */
char *interpreter_base(const char *path);
/*
 * Whether a copy of a running one is as good as a fresh one with this environment: not where each draws new hashes, where
 * it would go on after its script, nor where it would import a user's packages. [any]
 */
bool interpreter_copies(const char *path, const json_t *environment);
/*
 * Whether only root and this process's user may write to what an interpreter takes code from: itself, its installation
 * and virtual environment with their folders of packages, what PYTHONPATH and other variables of `environment` name,
 * `folders` as in interpreter_facts, and all above. Both may be NULL. KETTLE_EACCES with a sentence. [any, blocks]
 */
int interpreter_check(const char *path, const json_t *environment, const json_t *folders, struct kettle_error *err);
/* What to start it with (`-c`, the extension, a descriptor, names of modules) to make it a warm process; see warm.h. */
extern const char interpreter_loader[];
/* What to start it with before (`-I -S -c`, the extension, a descriptor, the command), so that it gives up its rights. */
extern const char interpreter_confiner[];
/* The question to an interpreter, for `-I -c`: it prints the object that interpreter_facts takes. */
extern const char interpreter_question[];
/*
 * Reads an answer: {"packages": {"numpy": "1.24.2"}, "folders": [["/usr/lib/python3/dist-packages", mtime in ns]]}, the
 * well-known packages, and the folders whose time changes when something is installed. New reference, NULL: it is not
 * an answer. [any, blocks]
 */
json_t *interpreter_facts(const char *answer);
/* [path, time] of a folder, as such facts have them. New reference. [any, blocks] */
json_t *interpreter_folder(const char *folder);
/* Whether all the folders of such an array (NULL: true) are as they were. [any, blocks] */
bool interpreter_unchanged(const json_t *folders);

/* ---- toolkit.c: compilers of device code: where their toolkits usually lie, and what belongs to one ---- */

/*
 * Words in an argument for something of the toolkit that a step's compiler belongs to: the folder where it is
 * installed; each of the folders of headers that the compiler does not look into by itself, and each of those of
 * libraries (the argument is repeated for each, and left out where there is none); the name by which a linker finds a
 * library, such as `cublas`, or `:libcublas.so.13` where only that file is there.
 */
#define TOOLKIT_WORD "@TOOLKIT@"
#define TOOLKIT_COMPILER "@TOOLKIT_COMPILER@" /* a whole argument */
#define TOOLKIT_INCLUDE "@TOOLKIT_INCLUDE@"
#define TOOLKIT_LIB "@TOOLKIT_LIB@"
#define TOOLKIT_LIBRARY "@LIBRARY:" /* and the name, and another @ */

/* Whether the program of that name or path is nvcc or hipcc, or a wrapper of one by its name. */
bool toolkit_is_nvcc(const char *path);
bool toolkit_is_hipcc(const char *path);
/* Where a tool may be that PATH does not have: paths, ended by NULL; empty for tools of no toolkit. */
const char *const *toolkit_default_paths(const char *name);
/* Folders outside of its own installation that a tool needs, by the tool's name, ended by NULL. They need not exist. */
const char *const *toolkit_extra_folders(const char *name);
/* Adds variables that keep a compiler from guessing: hipcc would compile for NVIDIA's GPUs where it finds an nvcc. */
void toolkit_environment(const char *path, json_t *environment);
/*
 * Fills in the question for where nvcc's toolkit is; the answer is on stderr. A wrapper need not lie in the toolkit, so
 * its path says nothing.
 */
void toolkit_query(const char *path, struct command *command);
/* The toolkit's folder: out of the answer ("" where there is none), else out of the program's own path. New string. */
char *toolkit_home(const char *answer, const char *real);
/* Appends the programs, libraries and folders that what nvcc makes depends on. */
void toolkit_nvcc_files(const char *home, struct strings *files);
/* The same of hipcc, which is a driver of clang: `version` is what `--version` prints. */
void toolkit_hipcc_files(const char *version, struct strings *files);
/* Whether an argument has any of the words. */
bool toolkit_has_placeholder(const char *text);
/* Appends the argument with the words replaced, by the facts of a tool. [any, blocks] */
void toolkit_expand(const char *text, const struct tool_facts *facts, struct strings *words);

/*
 * ---- toolkit_parts.c ----
 *
 * The parts of a toolkit: the folders of headers and libraries that belong to it, which of the well-known parts are
 * there, and how to get those that are not. NVIDIA publishes CUDA as Python packages, too: below nvidia/cu13 of an
 * environment's packages, of CUDA 12 below a folder for each package, CUTLASS apart from both.
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
/* The first essential part that is missing, borrowed; NULL: all are there. Pure. [any] */
const json_t *toolparts_lacking(const json_t *parts);

#endif
