/* SPDX-License-Identifier: MIT */
/* Compilers of device code: where their toolkits usually lie, and what belongs to one. */
#include <config.h>

#include "toolkit.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "file.h"
#include "text.h"

static const char *const nowhere[] = {NULL};
static const char *const nvcc_places[] = {"/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc", NULL};
static const char *const hipcc_places[] = {"/opt/rocm/bin/hipcc", NULL};
static const char *const ncu_places[] = {"/usr/local/cuda/bin/ncu", "/opt/cuda/bin/ncu", NULL};
static const char *const rocprof_places[] = {"/opt/rocm/bin/rocprofv3", NULL};

/* Programs that nvcc starts, and what it puts into objects and programs: an upgrade of each may come alone. */
static const char *const nvcc_files[] = {
	"bin/nvcc",
	"bin/nvcc.profile",
	"bin/cudafe++",
	"bin/fatbinary",
	"bin/nvlink",
	"bin/ptxas",
	"nvvm/bin/cicc",
	"nvvm/libdevice/libdevice.10.bc",
	"lib64/libcudart_static.a",
	"lib64/libcudadevrt.a",
	"lib64/libnvrtc.so",
	"include",
	"targets",
	"lib64",
};

/* The same of clang, which hipcc drives, seen from its folder; and of Debian's ROCm, which has no prefix of its own. */
static const char *const clang_files[] = {"clang", "clang-[0-9]*", "ld.lld*", "clang-offload-bundler*", "../lib/clang"};
static const char *const hip_files[] = {
	"usr/bin/hipcc.pl",
	"usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
	"usr/lib/x86_64-linux-gnu/libamdhip64.so",
};

static bool
names(const char *path, const char *what)
{
	const char *slash = strrchr(path, '/');
	return strstr(slash ? slash + 1 : path, what) != NULL;
}

bool
toolkit_is_nvcc(const char *path)
{
	return names(path, "nvcc");
}

bool
toolkit_is_hipcc(const char *path)
{
	return names(path, "hipcc");
}

const char *const *
toolkit_places(const char *name)
{
	static const struct {
		const char *name;
		const char *const *places;
	} known[] = {{"nvcc", nvcc_places}, {"hipcc", hipcc_places}, {"ncu", ncu_places}, {"rocprofv3", rocprof_places}};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].places;
	return nowhere;
}

int
toolkit_environment(const char *path, json_t *environment)
{
	return toolkit_is_hipcc(path) ? json_object_set_new(environment, "HIP_PLATFORM", json_string("amd")) : 0;
}

void
toolkit_ask(const char *path, struct command *command)
{
	*command = (struct command){.argv = {path, "--dryrun", "-E", "-x", "cu", "/dev/null"}, .errors = true};
}

/* The value of the line `#$ TOP=…`, as a path without links; new string or NULL. */
static char *
answered(const char *answer)
{
	static const char mark[] = "#$ TOP=";
	const char *found = strstr(answer, mark);
	if (!found)
		return NULL;
	found += strlen(mark);
	AUTO_FREE char *said = strndup(found, strcspn(found, "\r\n"));
	return said && said[0] == '/' ? realpath(said, NULL) : NULL;
}

char *
toolkit_home(const char *answer, const char *real)
{
	char *home = answered(answer);
	if (home || !(home = strdup(real)))
		return home;
	/* HOME/bin/nvcc */
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(home, '/');
		if (slash)
			*slash = '\0';
	}
	return home;
}

/* Appends what is there of some names (patterns of glob) below a folder, without links. */
static void
add_files(const char *folder, const char *const *list, size_t count, json_t *files)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *pattern = path_join(folder, list[i]);
		glob_t found = {0};
		if (pattern && glob(pattern, 0, NULL, &found) == 0) {
			for (size_t k = 0; k < found.gl_pathc; k++) {
				AUTO_FREE char *real = realpath(found.gl_pathv[k], NULL);
				if (real)
					(void)json_array_append_new(files, json_string(real));
			}
		}
		globfree(&found);
	}
}

void
toolkit_nvcc_files(const char *home, json_t *files)
{
	add_files(home, nvcc_files, ARRAY_SIZE(nvcc_files), files);
}

void
toolkit_hipcc_files(const char *version, json_t *files)
{
	static const char mark[] = "InstalledDir: ";
	const char *found = strstr(version, mark);
	add_files("/", hip_files, ARRAY_SIZE(hip_files), files);
	if (!found)
		return;
	found += strlen(mark);
	AUTO_FREE char *folder = strndup(found, strcspn(found, "\r\n"));
	if (folder && folder[0] == '/')
		add_files(folder, clang_files, ARRAY_SIZE(clang_files), files);
}

char *
toolkit_spell(const char *text, const char *home)
{
	AUTO_BUF struct buf spelt = {0};
	int rc = 0;
	for (const char *word; rc == 0 && (word = strstr(text, TOOLKIT_WORD)); text = word + strlen(TOOLKIT_WORD)) {
		rc = buf_add(&spelt, text, (size_t)(word - text));
		if (rc == 0)
			rc = buf_adds(&spelt, home);
	}
	if (rc == 0)
		rc = buf_adds(&spelt, text);
	return rc == 0 ? buf_take(&spelt) : NULL;
}
