/* SPDX-License-Identifier: MIT */
/* Compilers of device code: the usual places of their toolkits, and the files that belong to one. */
#include <config.h>

#include "exec/tools/tools.h"

#include <glob.h>
#include <limits.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"

/* Places outside of PATH. The last entry, without a name, is for all other tools. */
static const struct {
	const char *name, *paths[3];
} defaults[] = {
	{"nvcc", {"/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"}},
	{"hipcc", {"/opt/rocm/bin/hipcc"}},
	{"ncu", {"/usr/local/cuda/bin/ncu", "/opt/cuda/bin/ncu"}},
	{"rocprofv3", {"/opt/rocm/bin/rocprofv3"}},
	{0},
};

/* Programs that nvcc starts, and files that it puts into objects and programs. Each may be upgraded alone. */
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

/*
 * The same for clang, which hipcc drives, seen from its folder; and for Debian's ROCm, which has no prefix of its own.
 */
static const char *const clang_files[] = {"clang", "clang-[0-9]*", "ld.lld*", "clang-offload-bundler*", "../lib/clang"};
static const char *const hip_files[] = {
	"usr/bin/hipcc.pl",
	"usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
	"usr/lib/x86_64-linux-gnu/libamdhip64.so",
};

bool
toolkit_is_nvcc(const char *path)
{
	return strstr(basename(path), "nvcc") != NULL;
}

bool
toolkit_is_hipcc(const char *path)
{
	return strstr(basename(path), "hipcc") != NULL;
}

const char *const *
toolkit_default_paths(const char *name)
{
	size_t i = 0;
	while (defaults[i].name && strcmp(name, defaults[i].name) != 0)
		i++;
	return defaults[i].paths;
}

const char *const *
toolkit_extra_folders(const char *name)
{
	/* A toolkit's bin/ncu is a script that starts the newest Nsight Compute in this folder. */
	static const char *const folders[] = {"/opt/nvidia/nsight-compute", NULL};
	return strcmp(name, "ncu") == 0 ? folders : &folders[1];
}

void
toolkit_environment(const char *path, json_t *environment)
{
	if (toolkit_is_hipcc(path))
		json_object_set_new(environment, "HIP_PLATFORM", json_string("amd"));
}

void
toolkit_query(const char *path, struct command *command)
{
	*command = (struct command){.argv = {path, "--dryrun", "-E", "-x", "cu", "/dev/null"}, .errors = true};
}

/* The absolute path between the mark and the end of its line. New string or NULL. */
static char *
find_answer(const char *text, const char *mark)
{
	const char *found = strstr(text, mark);
	found = found ? found + strlen(mark) : "";
	return found[0] == '/' ? xstrndup(found, strcspn(found, "\r\n")) : NULL;
}

char *
toolkit_home(const char *answer, const char *real)
{
	AUTO_FREE char *top = find_answer(answer, "#$ TOP=");
	char *home = top ? realpath(top, NULL) : NULL;
	/* From HOME/bin/nvcc. */
	return home ? home : path_above(real, 2);
}

static void
add_files(const char *folder, const char *const *list, size_t count, struct strings *files)
{
	for (size_t i = 0; i < count; i++)
		toolparts_find(folder, list[i], files);
}

void
toolkit_nvcc_files(const char *home, struct strings *files)
{
	add_files(home, nvcc_files, ARRAY_SIZE(nvcc_files), files);
}

void
toolkit_hipcc_files(const char *version, struct strings *files)
{
	AUTO_FREE char *folder = find_answer(version, "InstalledDir: ");
	add_files("/", hip_files, ARRAY_SIZE(hip_files), files);
	if (folder)
		add_files(folder, clang_files, ARRAY_SIZE(clang_files), files);
}

bool
toolkit_has_placeholder(const char *text)
{
	return strstr(text, "@TOOLKIT") || strstr(text, TOOLKIT_LIBRARY);
}

/* Replaces each `word` in the text. New string. */
static char *
replace(const char *text, const char *word, const char *with)
{
	AUTO_BUF struct buf spelt = {0};
	for (const char *at; (at = strstr(text, word)); text = at + strlen(word)) {
		buf_add(&spelt, text, (size_t)(at - text));
		buf_adds(&spelt, with);
	}
	buf_adds(&spelt, text);
	return buf_take(&spelt);
}

/* The file of a library that exists only with a version in its name, such as "libcublas.so.13". New string or NULL. */
static char *
versioned(const json_t *folders, const char *name)
{
	char pattern[PATH_MAX];
	json_array_each(folders, folder) {
		glob_t found = {0};
		(void)snprintf(pattern, sizeof(pattern), "%s/lib%s.so.[0-9]*", json_string_value(folder), name);
		char *file = NULL;
		if (glob(pattern, 0, NULL, &found) == 0)
			file = xstrdup(strrchr(found.gl_pathv[0], '/') + 1);
		globfree(&found);
		if (file)
			return file;
	}
	return NULL;
}

static bool
is_linkable(const json_t *folders, const char *name)
{
	static const char *const endings[] = {"so", "a"};
	char path[PATH_MAX];
	json_array_each(folders, folder)
		for (size_t k = 0; k < ARRAY_SIZE(endings); k++) {
			(void)snprintf(path, sizeof(path), "%s/lib%s.%s", json_string_value(folder), name, endings[k]);
			if (access(path, F_OK) == 0)
				return true;
		}
	return false;
}

/* Appends the text after replacing its first TOOLKIT_LIBRARY by the library's name. */
static void
spell_library(const char *text, const json_t *folders, struct strings *words)
{
	const char *mark = strstr(text, TOOLKIT_LIBRARY), *begin = mark + strlen(TOOLKIT_LIBRARY),
			   *end = strchr(begin, '@');
	if (!end) {
		strings_add(words, text);
		return;
	}
	AUTO_FREE char *name = xstrndup(begin, (size_t)(end - begin));
	AUTO_FREE char *file = is_linkable(folders, name) ? NULL : versioned(folders, name);
	strings_take(
		words, xasprintf("%.*s%s%s%s", (int)(mark - text), text, file ? ":" : "", file ? file : name, end + 1));
}

static void
spell_each(const char *text, const char *word, const json_t *folders, struct strings *words)
{
	json_array_each(folders, folder)
		strings_take(words, replace(text, word, json_string_value(folder)));
}

void
toolkit_expand(const char *text, const struct tool_facts *facts, struct strings *words)
{
	if (strstr(text, TOOLKIT_INCLUDE))
		spell_each(text, TOOLKIT_INCLUDE, facts->includes, words);
	else if (strstr(text, TOOLKIT_LIB))
		spell_each(text, TOOLKIT_LIB, facts->libraries, words);
	else if (strstr(text, TOOLKIT_LIBRARY))
		spell_library(text, facts->libraries, words);
	else
		strings_take(words, replace(text, TOOLKIT_WORD, facts->home ? facts->home : ""));
}
