/* SPDX-License-Identifier: MIT */
/* Python as a tool of this machine: the program behind its name, and the packages installed for it. */
#include <config.h>

#include "exec/tools/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"

#define VENV_MAX_BYTES 65536
#define MAX_FOLDERS 64 /* of sys.path */

/*
 * Lists the folders of packages instead of importing packages, which would take seconds. A folder's name has the
 * version.
 */
const char interpreter_question[] =
	"import json, os, re, sys\n"
	"packages, folders = {}, []\n"
	"for folder in sys.path:\n"
	"    try:\n"
	"        names = sorted(os.listdir(folder))\n"
	"    except OSError:\n"
	"        continue\n"
	"    folders.append(os.path.abspath(folder))\n"
	"    for name in names:\n"
	"        found = re.match(r'(.+?)-(\\d[^-]*?)(?:\\+git[^-]*)?(?:-py[\\d.]+)?\\.(?:dist|egg)-info$', name)\n"
	"        if found:\n"
	"            packages.setdefault(re.sub(r'[-_.]+', '-', found.group(1)).lower(), found.group(2))\n"
	"print(json.dumps({'packages': packages, 'folders': folders}))\n";

/* Imports nothing from the folder of the start, and hides the extension from scripts that look for modules. */
const char interpreter_loader[] = "import sys, _imp\n"
								  "if sys.path[:1] == ['']:\n"
								  "    del sys.path[0]\n"
								  "class spec:\n"
								  "    name, origin = 'kettle_warm', sys.argv[1]\n"
								  "warm = _imp.create_dynamic(spec)\n"
								  "_imp.exec_dynamic(warm)\n"
								  "sys.modules.pop('kettle_warm', None)\n"
								  "warm.serve(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])\n";

/* With -I and -S only the standard library is imported. */
const char interpreter_confiner[] = "import sys, _imp\n"
									"class spec:\n"
									"    name, origin = 'kettle_warm', sys.argv[1]\n"
									"warm = _imp.create_dynamic(spec)\n"
									"_imp.exec_dynamic(warm)\n"
									"warm.confine(int(sys.argv[2]), sys.argv[3:])\n";

/* Packages that participants use; hundreds of others would hide them. */
static const char *const well_known[] = {"numpy", "scipy", "torch", "triton", "jax", "jaxlib", "numba", "cupy",
	"pandas", "scikit-learn", "tensorflow", "torchvision", "torchaudio", "nvidia-cutlass-dsl", "cuda-python",
	"cuda-core", "pycuda", "flash-attn", "xformers", "transformer-engine", "tilelang", "tinygrad", "cython", "pybind11",
	"ninja", "einops", "sympy", "networkx", "ml-dtypes", "mpi4py", "matplotlib", "pillow"};

bool
interpreter_is(const char *path)
{
	const char *name = basename(path);
	return strncmp(name, "python", strlen("python")) == 0 || strncmp(name, "pypy", strlen("pypy")) == 0;
}

bool
interpreter_copies(const char *path, const json_t *environment)
{
	const char *seed = json_text_or_null(environment, "PYTHONHASHSEED");
	return strncmp(basename(path), "python", strlen("python")) == 0 && seed && seed[0] &&
		   strspn(seed, "0123456789") == strlen(seed) && json_object_get(environment, "PYTHONNOUSERSITE") &&
		   !json_object_get(environment, "PYTHONINSPECT");
}

bool
interpreter_is_script(const char *path)
{
	char start[2] = {0};
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, start, sizeof(start)) == 2 && memcmp(start, "#!", 2) == 0;
}

char *
interpreter_of_wrapper(const char *path)
{
	if (!interpreter_is(path) || !interpreter_is_script(path))
		return NULL;
	struct command command = {.argv = {path, "-IS", "-c", "import sys; print(sys.executable)"}};
	tool_query_run(&command, 1, NULL);
	const char *line = command.passed ? tool_query_line(&command) : "";
	char *behind = line[0] == '/' && access(line, X_OK) == 0 ? xstrdup(line) : NULL;
	buf_free(&command.output);
	return behind;
}

/*
 * Whether others may write to the file. A group with the number of the file's owner is the owner's own, by the custom
 * of useradd.
 */
static bool
is_open_to_others(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) || ((st->st_mode & S_IWGRP) && st->st_gid != st->st_uid);
}

/* The path without links; of a missing path, the folder above it in which it could be made. -1 with errno. */
static int
find_real(const char *path, char real[PATH_MAX])
{
	AUTO_FREE char *at = xstrdup(path);
	while (!realpath(at, real)) {
		char *slash = strrchr(at, '/');
		if ((errno != ENOENT && errno != ENOTDIR) || !slash || !at[1])
			return -1;
		slash[slash == at] = '\0';
	}
	return 0;
}

/*
 * Fails if others may write to this file or folder, or to one above. In a sticky folder above they cannot replace what
 * they do not own.
 */
static int
check_owners(const char *path, struct kettle_error *err)
{
	char real[PATH_MAX];
	if (find_real(path, real) != 0)
		return kettle_fail(err, KETTLE_EIO, "`%s` could not be checked: %s.", path, strerror(errno));
	for (bool above = false;; above = true) {
		struct stat st;
		const char *at = real[0] ? real : "/";
		if (stat(at, &st) != 0)
			return kettle_fail(err, KETTLE_EIO, "`%s` could not be checked: %s.", at, strerror(errno));
		if (st.st_uid != 0 && st.st_uid != geteuid())
			return kettle_fail(err, KETTLE_EACCES,
				"`%s` belongs to user %u, who could put code into `%s`: `chown` it to root or to kettle-exec's user.",
				at, (unsigned)st.st_uid, path);
		if (is_open_to_others(&st) && !(above && (st.st_mode & S_ISVTX)))
			return kettle_fail(err, KETTLE_EACCES,
				"Others may write to `%s` and could put code into `%s`: `chmod go-w` it.", at, path);
		if (!real[0])
			return 0;
		*strrchr(real, '/') = '\0';
	}
}

/* Checks the folders of an installation: of the program, the standard library, and packages, including Debian's. */
static int
check_installation(const char *path, struct kettle_error *err)
{
	static const char *const patterns[] = {"lib/python3*", "lib/python3*/*-packages", "local/lib/python3*/*-packages"};
	AUTO_FREE char *prefix = path_above(path, 2);
	AUTO_FREE char *beside = path_above(path, 1);
	int rc = check_owners(path, err);
	if (rc == 0)
		rc = check_owners(beside[0] ? beside : "/", err);
	if (rc == 0)
		rc = check_owners(prefix[0] ? prefix : "/", err);
	for (size_t n = 0; rc == 0 && n < ARRAY_SIZE(patterns); n++) {
		AUTO_FREE char *pattern = path_join(prefix, patterns[n]);
		glob_t found = {0};
		if (glob(pattern, 0, NULL, &found) == 0)
			for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
				rc = check_owners(found.gl_pathv[i], err);
		globfree(&found);
	}
	return rc;
}

/* Checks the absolute paths in variables such as PYTHONPATH. Relative ones depend on the folder of each start. */
static int
check_variables(const json_t *environment, struct kettle_error *err)
{
	static const char *const names[] = {"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LD_PRELOAD"};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(names); i++) {
		const char *value = json_text_or_null(environment, names[i]);
		AUTO_FREE char *copy = xstrdup(value ? value : "");
		char *rest = copy;
		for (const char *entry; rc == 0 && (entry = strsep(&rest, strcmp(names[i], "LD_PRELOAD") ? ":" : ": "));)
			if (entry[0] == '/')
				rc = check_owners(entry, err);
	}
	return rc;
}

int
interpreter_check(const char *path, const json_t *environment, const json_t *folders, struct kettle_error *err)
{
	AUTO_FREE char *base = interpreter_base(path);
	int rc = check_installation(path, err);
	if (rc == 0 && base)
		rc = check_installation(base, err);
	if (rc == 0)
		rc = check_variables(environment, err);
	json_array_each(folders, folder) {
		const char *at = json_string_value(json_array_get(folder, 0));
		if (rc == 0 && at)
			rc = check_owners(at, err);
	}
	return rc;
}

/* The value of `home = FOLDER` in a pyvenv.cfg. Borrowed; ends the line in the text. */
static char *
find_home(char *text)
{
	for (char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		char *next = line + len + (line[len] == '\n'), *value = strchr(line, '=');
		if (strncmp(line, "home", 4) == 0 && value && value < line + len &&
			line + 4 + strspn(line + 4, " \t") == value) {
			value += 1 + strspn(value + 1, " \t");
			line[len] = '\0';
			value[strcspn(value, "\r")] = '\0';
			return value;
		}
		line = next;
	}
	return NULL;
}

char *
interpreter_base(const char *path)
{
	/* PREFIX/bin/python3 belongs to PREFIX/pyvenv.cfg. */
	AUTO_FREE char *folder = path_above(path, 2);
	AUTO_FREE char *file = path_join(folder[0] ? folder : "/", "pyvenv.cfg");
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	if (!interpreter_is(path) || file_read(file, VENV_MAX_BYTES, &text, &size, NULL) != 0)
		return NULL;
	const char *home = find_home(text);
	return home && home[0] == '/' ? path_join(home, "python") : NULL;
}

/* CuPy's packages are named cupy-cuda12x, cupy-rocm-5-0 … */
static bool
is_well_known(const char *package)
{
	if (strncmp(package, "cupy-", strlen("cupy-")) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(well_known); i++)
		if (strcmp(package, well_known[i]) == 0)
			return true;
	return false;
}

/* The folder's modification time in ns; 0: it cannot be read. */
static json_int_t
time_of(const char *folder)
{
	struct stat st;
	return stat(folder, &st) == 0 ? (json_int_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
}

json_t *
interpreter_folder(const char *folder)
{
	return json_pack("[s, I]", folder, time_of(folder));
}

json_t *
interpreter_facts(const char *answer)
{
	AUTO_JSON json_t *given = json_loads(answer, 0, NULL);
	AUTO_JSON json_t *packages = json_object();
	AUTO_JSON json_t *folders = json_array();
	if (!json_is_object(json_object_get(given, "packages")) || !json_is_array(json_object_get(given, "folders")))
		return NULL;
	json_object_each(json_object_get(given, "packages"), name, value)
		if (is_well_known(name) && json_is_string(value))
			json_object_set(packages, name, value);
	json_array_each(json_object_get(given, "folders"), value)
		if (json_is_string(value) && json_array_size(folders) < MAX_FOLDERS)
			json_array_append_new(folders, interpreter_folder(json_string_value(value)));
	return json_pack("{s:O, s:O}", "packages", packages, "folders", folders);
}

bool
interpreter_unchanged(const json_t *folders)
{
	json_array_each(folders, folder) {
		const char *path = json_string_value(json_array_get(folder, 0));
		if (!path || time_of(path) != json_integer_value(json_array_get(folder, 1)))
			return false;
	}
	return true;
}
