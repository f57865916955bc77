/* SPDX-License-Identifier: MIT */
/*
 * The parts of a toolkit for devices: its folders of headers and libraries, which well-known parts exist, and how to
 * get missing ones.
 */
#include <config.h>

#include "exec/tools/tools.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"

/* Beginnings of names, ended by NULL. The first one of each list is looked for. */
#define NAMES(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}

struct part {
	const char *name;
	bool essential;   /* without it nothing can be compiled */
	const char *file; /* pattern: of a header, below a folder of headers; of a program, below the toolkit */
	bool program;
	const char *library; /* pattern without folder and suffix; NULL: headers alone */
	const char *const *headers, *const *libraries;
	const char *package; /* in the vendor's repository, without the version; NULL: none */
	const char *wheel;   /* Python package; NULL: none */
};

static const struct part cuda_parts[] = {
	{"CUDA's runtime", true, "cuda_runtime.h", false, "libcudart_static", NAMES("cuda_runtime", "cuda.h"),
		NAMES("cudart"), "cuda-cudart-dev", "nvidia-cuda-runtime"},
	{"nvcc's own headers", true, "crt/host_config.h", false, NULL, NAMES("crt/"), NULL, "cuda-crt", "nvidia-cuda-crt"},
	{"cicc", true, "nvvm/bin/cicc", true, NULL, NULL, NULL, "cuda-nvvm", "nvidia-nvvm"},
	{"CCCL", false, "cub/cub.cuh", false, NULL, NAMES("cub/", "thrust/", "cuda/std/", "nv/"), NULL, "cuda-cccl",
		"nvidia-cuda-cccl"},
	{"NVRTC", false, "nvrtc.h", false, "libnvrtc", NAMES("nvrtc.h"), NAMES("nvrtc"), "cuda-nvrtc-dev",
		"nvidia-cuda-nvrtc"},
	{"cuBLAS", false, "cublas_v2.h", false, "libcublas", NAMES("cublas"), NAMES("cublas"), "libcublas-dev",
		"nvidia-cublas"},
	{"cuFFT", false, "cufft.h", false, "libcufft", NAMES("cufft"), NAMES("cufft"), "libcufft-dev", "nvidia-cufft"},
	{"cuRAND", false, "curand.h", false, "libcurand", NAMES("curand"), NAMES("curand"), "libcurand-dev",
		"nvidia-curand"},
	{"cuSOLVER", false, "cusolverDn.h", false, "libcusolver", NAMES("cusolver"), NAMES("cusolver"), "libcusolver-dev",
		"nvidia-cusolver"},
	{"cuSPARSE", false, "cusparse.h", false, "libcusparse", NAMES("cusparse"), NAMES("cusparse"), "libcusparse-dev",
		"nvidia-cusparse"},
	{"CUTLASS", false, "cutlass/cutlass.h", false, NULL, NAMES("cutlass/", "cute/"), NULL, NULL, "nvidia-cutlass"},
	{"ThunderKittens", false, "kittens.cuh", false, NULL, NAMES("kittens.cuh"), NULL, NULL, NULL},
};

static const struct part rocm_parts[] = {
	{"HIP's runtime", false, "hip/hip_runtime.h", false, "libamdhip64", NAMES("hip/"), NAMES("amdhip64"),
		"libamdhip64-dev", NULL},
	{"rocBLAS", false, "rocblas/rocblas.h", false, "librocblas", NAMES("rocblas"), NAMES("rocblas"), "rocblas-dev",
		NULL},
	{"hipBLAS", false, "hipblas/hipblas.h", false, "libhipblas", NAMES("hipblas"), NAMES("hipblas"), "hipblas-dev",
		NULL},
	{"rocPRIM", false, "rocprim/rocprim.hpp", false, NULL, NAMES("rocprim/"), NULL, "rocprim-dev", NULL},
	{"hipCUB", false, "hipcub/hipcub.hpp", false, NULL, NAMES("hipcub/"), NULL, "hipcub-dev", NULL},
};

/* Folders of a toolkit that is installed as a whole. */
static const char *const header_folders[] = {"include", "include/cccl", "targets/*/include"};
static const char *const library_folders[] = {
	"lib64/stubs", "lib64", "lib/stubs", "lib", "targets/*/lib/stubs", "targets/*/lib", "lib/*-linux-gnu"};
static const char *const program_folders[] = {".", "bin", "nvvm", "nvvm/bin"};
static const char *const cutlass_folders[] = {
	"cutlass_library/source/include", "cutlass_library/source/tools/util/include"};

void
toolparts_find(const char *folder, const char *pattern, struct strings *list)
{
	AUTO_FREE char *path = path_join(folder, pattern);
	glob_t found = {0};
	(void)glob(path, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		AUTO_FREE char *real = realpath(found.gl_pathv[i], NULL);
		if (real && !strings_have(list, real))
			strings_add(list, real);
	}
	globfree(&found);
}

/* The first file that matches a pattern. New string or NULL. */
static char *
first_found(const char *folder, const char *pattern)
{
	AUTO_STRINGS struct strings list = {0};
	toolparts_find(folder, pattern, &list);
	return list.count ? xstrdup(list.list[0]) : NULL;
}

static bool
is_there(const char *folder, const char *pattern)
{
	AUTO_FREE char *found = first_found(folder, pattern);
	return found != NULL;
}

/* ---- Python packages ---- */

char *
toolparts_packages(const char *folder)
{
	/* Tries PREFIX, PREFIX/lib/python3.11/site-packages, and folders of a toolkit in there. */
	static const char *const below[] = {
		"lib/python3*/site-packages", "lib64/python3*/site-packages", ".", "..", "../.."};
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		AUTO_FREE char *packages = first_found(folder, below[i]);
		if (packages && (is_there(packages, "nvidia/*/include") || is_there(packages, cutlass_folders[0])))
			return STEAL(packages);
	}
	return NULL;
}

char *
toolparts_nvcc(const char *packages)
{
	AUTO_FREE char *nvcc = first_found(packages, "nvidia/cu[1-9]*/bin/nvcc");
	return STEAL(nvcc);
}

/*
 * Folders of packages, ended by NULL. CUDA 13 has one folder beside those of further libraries, CUDA 12 one for each
 * package.
 */
static const char *const packages_13[] = {"cu13", "cudnn", "nccl", NULL};
static const char *const packages_12[] = {"cu[a-z]*", "n[a-z]*", NULL};

static void
add_packages(
	const char *home, const char *packages, const char *version, struct strings *includes, struct strings *libraries)
{
	AUTO_FREE char *real = realpath(packages, NULL);
	AUTO_FREE char *nvidia = real ? path_join(real, "nvidia") : NULL;
	const char *const *folder = atoi(version) < 13 ? packages_12 : packages_13;
	if (!nvidia)
		return;
	for (; *folder; folder++) {
		AUTO_FREE char *own = path_join(nvidia, *folder);
		/* An nvcc of these packages finds its own folders by itself. */
		if (strncmp(home, own, strlen(own)) != 0) {
			toolparts_find(own, "include", includes);
			toolparts_find(own, "include/cccl", includes);
		}
		toolparts_find(own, "lib", libraries);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cutlass_folders); i++)
		toolparts_find(real, cutlass_folders[i], includes);
}

/* ---- parts ---- */

static json_t *
list_names(const char *const *names)
{
	json_t *list = json_array();
	for (; names && *names; names++)
		json_array_append_new(list, json_string(*names));
	return list;
}

/*
 * How to get a part: version "13.0.88" makes libcublas-dev-13-0 and nvidia-cublas==13.0.*, "12.9.86"
 * nvidia-cublas-cu12.
 */
static json_t *
describe_how(const struct part *part, const char *version)
{
	AUTO_BUF struct buf how = {0};
	int major = 0, minor = 0;
	bool known = sscanf(version, "%d.%d", &major, &minor) == 2;
	if (part->package && known)
		buf_printf(&how, "install %s-%d-%d from NVIDIA's repository", part->package, major, minor);
	else if (part->package)
		buf_printf(&how, "install %s from AMD's repository", part->package);
	if (part->wheel && part->package && known && major < 13)
		buf_printf(&how, ", or `pip install %s-cu%d` into", part->wheel, major);
	else if (part->wheel && part->package)
		buf_printf(&how, ", or `pip install %s` of CUDA %d.%d into", part->wheel, major, minor);
	else if (part->wheel)
		buf_printf(&how, "`pip install --no-deps %s` into", part->wheel);
	if (part->wheel)
		buf_adds(&how, " the environment that the language's `toolkit` names");
	if (!part->package)
		buf_printf(&how, "%sadd its folder of headers to the device's `include_dirs`",
			part->wheel ? ", or " : "no package has it, so ");
	return json_string(how.data);
}

/* Whether one of the folders has a file that matches the pattern. */
static bool
any_has(const struct strings *folders, const char *pattern)
{
	for (size_t i = 0; i < folders->count; i++)
		if (is_there(folders->list[i], pattern))
			return true;
	return false;
}

/* A toolkit as a compiler in it sees it. */
struct kit {
	const char *home, *packages, *version;
	struct strings includes, libraries; /* for the report */
	size_t own;                         /* number of libraries of the toolkit itself */
	struct strings headers, all;        /* folders to search for parts, with the system's */
};

static void
open_kit(struct kit *kit)
{
	for (size_t i = 0; i < ARRAY_SIZE(library_folders); i++)
		toolparts_find(kit->home, library_folders[i], &kit->libraries);
	kit->own = kit->libraries.count;
	if (kit->packages)
		add_packages(kit->home, kit->packages, kit->version, &kit->includes, &kit->libraries);
	for (size_t i = 0; i < ARRAY_SIZE(header_folders); i++)
		toolparts_find(kit->home, header_folders[i], &kit->headers);
	strings_add_all(&kit->headers, &kit->includes);
	toolparts_find("/usr", "include", &kit->headers);
	strings_add_all(&kit->all, &kit->libraries);
	toolparts_find("/usr", "lib/*-linux-gnu", &kit->all);
}

static bool
has_part(const struct kit *kit, const struct part *part)
{
	char pattern[80];
	if (part->program)
		return is_there(kit->home, part->file) || is_there(kit->home, "bin/cicc");
	(void)snprintf(pattern, sizeof(pattern), "%s.[as]*", part->library ? part->library : "");
	return any_has(&kit->headers, part->file) && (!part->library || any_has(&kit->all, pattern));
}

static json_t *
describe_part(const struct kit *kit, const struct part *part)
{
	return json_pack("{s:s, s:b, s:b, s:o, s:o, s:o}", "name", part->name, "present", has_part(kit, part), "essential",
		part->essential, "headers", list_names(part->headers), "libraries", list_names(part->libraries), "how",
		describe_how(part, kit->version));
}

/* [path, time] of all folders that change when a part comes or goes. New reference. */
static json_t *
describe_folders(const struct kit *kit)
{
	AUTO_STRINGS struct strings paths = {0};
	json_t *folders = json_array();
	strings_add_all(&paths, &kit->headers);
	strings_add_all(&paths, &kit->all);
	for (size_t i = 0; i < ARRAY_SIZE(program_folders); i++)
		toolparts_find(kit->home, program_folders[i], &paths);
	if (kit->packages)
		strings_take(&paths, path_join(kit->packages, "nvidia"));
	for (size_t i = 0; i < paths.count; i++)
		json_array_append_new(folders, interpreter_folder(paths.list[i]));
	return folders;
}

static json_t *
describe(struct kit kit, const struct part *parts, size_t count)
{
	json_t *list = json_array();
	open_kit(&kit);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, describe_part(&kit, &parts[i]));
	/* For an nvcc among these packages, their libraries are its toolkit's own. */
	bool foreign = kit.packages && strncmp(kit.home, kit.packages, strlen(kit.packages)) != 0 &&
				   kit.libraries.count == kit.own && is_there(kit.packages, "nvidia/cu*/lib");
	json_t *facts = json_pack("{s:b, s:o, s:o, s:o, s:o}", "foreign", foreign, "includes", strings_json(&kit.includes),
		"libraries", strings_json(&kit.libraries), "parts", list, "folders", describe_folders(&kit));
	strings_free(&kit.includes);
	strings_free(&kit.libraries);
	strings_free(&kit.headers);
	strings_free(&kit.all);
	return facts;
}

json_t *
toolparts_of_nvcc(const char *home, const char *packages, const char *version)
{
	return describe(
		(struct kit){.home = home, .packages = packages, .version = version}, cuda_parts, ARRAY_SIZE(cuda_parts));
}

json_t *
toolparts_of_hipcc(const char *home)
{
	return describe((struct kit){.home = home, .version = ""}, rocm_parts, ARRAY_SIZE(rocm_parts));
}

const json_t *
toolparts_lacking(const json_t *parts)
{
	json_array_each(parts, part)
		if (member_true(part, "essential") && !member_true(part, "present"))
			return part;
	return NULL;
}
