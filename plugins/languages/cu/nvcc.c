/* SPDX-License-Identifier: MIT */
/*
 * What nvcc's flags mean to the host's compiler, for programs that it can link without nvcc. Everything that is not known
 * here for certain is left to nvcc.
 */
#include <config.h>

#include "nvcc.h"

#include <kettle/compiled.h>
#include <string.h>

/* Beginnings of flags that say nothing to who links, or that another list must not take. */
static const char *const compiling[] = {"-D", "-U", "-I", "-std=", "--std=", "--use_fast_math", "-use_fast_math",
	"--expt-", "-expt-", "--extended-lambda", "-extended-lambda", "-forward-unknown-to-host-compiler",
	"--forward-unknown-to-host-compiler", "-lineinfo", "--generate-line-info", "-Xptxas=", "--ptxas-options=",
	"-Xcudafe=", "-diag-suppress=", "--diag-suppress=", "-maxrregcount=", "--maxrregcount=", "-ftz=", "--ftz=",
	"-fmad=", "--fmad=", "-prec-div=", "--prec-div=", "-prec-sqrt=", "--prec-sqrt=", "-res-usage", "--resource-usage",
	"-Wno-", "-Wall", "-Wextra", NULL};
/* nvcc's own that look like the host's. */
static const char *const other[] = {"-link", "-lib", "-lto", "-fatbin", "-fdevice", NULL};
/* What nvcc hands on as it is. */
static const char *const handed_on[] = {"-f", "-m", "-l", "-L", "-O", "-Wl,", "-pthread", NULL};
/* Lists of words for the host's compiler, and for its linker. */
static const char *const for_compiler[] = {"-Xcompiler=", "--compiler-options=", NULL};
static const char *const for_linker[] = {"-Xlinker=", "--linker-options=", NULL};

static const char *const libraries[] = {"m", "z", "dl", "rt", "pthread", "stdc++", "gomp", "cuda", "cudart", "cublas",
	"cublasLt", "cudnn", "cufft", "cufftw", "curand", "cusolver", "cusparse", "cutensor", "nccl", "npp", "nvjpeg",
	"nvrtc", "nvidia-ml", "nvToolsExt", NULL};

/* The one that the flag begins with; NULL: none. */
static const char *
beginning(const char *const *list, const char *flag)
{
	for (; *list; list++)
		if (strncmp(flag, *list, strlen(*list)) == 0)
			return *list;
	return NULL;
}

/* Words between commas, none of them quoted. */
static bool
is_plain_list(const char *words)
{
	return words[0] && !strpbrk(words, "\\\"' ");
}

static bool
is_nvcc_known(const char *flag)
{
	const char *list = beginning(for_compiler, flag);
	list = list ? list : beginning(for_linker, flag);
	if (list)
		return is_plain_list(flag + strlen(list));
	return beginning(compiling, flag) || (!beginning(other, flag) && beginning(handed_on, flag));
}

bool
nvcc_host_links(const json_t *flags)
{
	size_t i;
	const json_t *flag;
	json_array_foreach(flags, i, flag) {
		if (!is_nvcc_known(json_string_value(flag)))
			return false;
	}
	return true;
}

bool
nvcc_host_libraries(const json_t *names)
{
	size_t i;
	const json_t *name;
	json_array_foreach(names, i, name) {
		const char *const *known = libraries;
		while (*known && strcmp(*known, json_string_value(name)) != 0)
			known++;
		if (!*known)
			return false;
	}
	return true;
}

/* "a,b" as words of their own. */
static void
add_words(const char *words, const char *prefix, json_t **argv)
{
	while (*words) {
		size_t len = strcspn(words, ",");
		if (len)
			kettle_args_add(argv, "%s%.*s", prefix, (int)len, words);
		words += len + (words[len] == ',');
	}
}

void
nvcc_host_flags(const json_t *flags, json_t **argv)
{
	size_t i;
	const json_t *item;
	json_array_foreach(flags, i, item) {
		const char *flag = json_string_value(item), *list;
		if ((list = beginning(for_compiler, flag)))
			add_words(flag + strlen(list), "", argv);
		else if ((list = beginning(for_linker, flag)))
			add_words(flag + strlen(list), "-Wl,", argv);
		else if (!beginning(compiling, flag))
			kettle_args_add(argv, "%s", flag);
	}
}
