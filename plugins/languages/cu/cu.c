/* SPDX-License-Identifier: MIT */
/*
 * The language cu: boards in CUDA. Every source is compiled by a cached step of its own for the architecture of the
 * device, so a submission compiles only its own file; the objects are linked into ./program, and the runs start that.
 * Device code is linked across sources only if the task requires it.
 */
#include <config.h>

#include <kettle/gpu.h>
#include <kettle/plugin.h>

#include "base/base.h"
#include "plugins/languages/cu/lambda.h"

#define CPP_STANDARD "c++20"
#define HOST_COMPILER "g++" /* nvcc's own choice */

static const struct kettle_option options[] = {
	{.key = "nvcc",
		.type = KETTLE_OPTION_STRING,
		.default_value = "nvcc",
		.help = "The compiler: a name, looked up in PATH and then in /usr/local/cuda/bin, or an absolute path."},
	{.key = "toolkit",
		.type = KETTLE_OPTION_STRING,
		.help = "The absolute path of a Python environment with NVIDIA's packages, or of the folder of a toolkit. "
				"Kettle uses its nvcc, else this machine's with the parts in it."},
	{.key = "host_compiler",
		.type = KETTLE_OPTION_STRING,
		.help = "The compiler that nvcc uses for host code, and that links; default: nvcc's own choice, g++."},
	{.key = "flags",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Flags for every compile and link step, before those of the task."},
};

static const char *const source_extensions[] = {".cu", ".cpp", ".cc", ".cxx", ".c", NULL};

/* The flags of KernelBot-compatible boards; nvcc passes unknown ones on to the host compiler. */
static const char *const usual_flags[] = {"-O3", "-DNDEBUG", "--expt-relaxed-constexpr",
	"-forward-unknown-to-host-compiler", "-Xcompiler=-Wno-psabi", "-Xcompiler=-fno-strict-aliasing",
	"-Xptxas=--warn-on-spills", NULL};
#define LAMBDA_FLAG "--expt-extended-lambda"

/* The runtime, for programs that the host compiler links. */
static const char *const runtime[] = {"-lcudart_static", "-lrt", "-lpthread", "-ldl", NULL};

/* ---- architectures ---- */

static const struct kettle_gpu_model models[] = {{"V100", "70"}, {"T4", "75"}, {"A100", "80"}, {"A800", "80"},
	{"A30", "80"}, {"A2", "86"}, {"A10", "86"}, {"A40", "86"}, {"A6000", "86"}, {"RTX3090", "86"}, {"L4", "89"},
	{"L40", "89"}, {"RTX4090", "89"}, {"H20", "90a"}, {"H100", "90a"}, {"H200", "90a"}, {"H800", "90a"},
	{"GH200", "90a"}, {"B100", "100a"}, {"B200", "100a"}, {"GB200", "100a"}, {"B300", "103a"}, {"GB300", "103a"},
	{"RTX5090", "120a"}, {NULL, NULL}};

static const struct kettle_gpu_since since[] = {{"60", "8.0", "12.9"}, {"61", "8.0", "12.9"}, {"70", "9.0", "12.9"},
	{"72", "9.2", "12.9"}, {"75", "10.0", NULL}, {"80", "11.0", NULL}, {"86", "11.1", NULL}, {"87", "11.4", NULL},
	{"89", "11.8", NULL}, {"90", "11.8", NULL}, {"90a", "12.0", NULL}, {"100", "12.8", NULL}, {"100a", "12.8", NULL},
	{"103", "12.9", NULL}, {"103a", "12.9", NULL}, {"110", "13.0", NULL}, {"110a", "13.0", NULL}, {"120", "12.8", NULL},
	{"120a", "12.8", NULL}, {"121", "12.9", NULL}, {"121a", "12.9", NULL}, {NULL, NULL, NULL}};

/*
 * Reads "90a" from "90a", "sm_90a" or, in a unit's facts, "9.0". From Hopper on, the target includes the features that
 * only this architecture has.
 */
static bool
read_target(const char *text, bool fact, char ret_target[KETTLE_COMPILED_TARGET_SIZE])
{
	unsigned major = 0, minor = 0;
	char feature = '\0', more = '\0';
	if (fact) {
		if (sscanf(text, "%2u.%1u%c", &major, &minor, &more) != 2)
			return false;
		(void)snprintf(ret_target, KETTLE_COMPILED_TARGET_SIZE, "%u%u%s", major, minor, major >= 9 ? "a" : "");
		return true;
	}
	text += strncmp(text, "sm_", 3) == 0 ? 3 : 0;
	int parts = sscanf(text, "%3u%c%c", &major, &feature, &more);
	if (parts < 1 || parts > 2 || major < 10 || (parts == 2 && (feature < 'a' || feature > 'z')))
		return false;
	(void)snprintf(ret_target, KETTLE_COMPILED_TARGET_SIZE, parts == 2 ? "%u%c" : "%u", major, feature);
	return true;
}

/* ---- nvcc's flags for the host compiler; unknown ones are left to nvcc ---- */

/* Beginnings of flags that mean nothing to a linker. This list has priority over those below. */
static const char *const compiling[] = {"-D", "-U", "-I", "-std=", "--std=", "--use_fast_math", "-use_fast_math",
	"--expt-", "-expt-", "--extended-lambda", "-extended-lambda", "-forward-unknown-to-host-compiler",
	"--forward-unknown-to-host-compiler", "-lineinfo", "--generate-line-info", "-Xptxas=", "--ptxas-options=",
	"-Xcudafe=", "-diag-suppress=", "--diag-suppress=", "-maxrregcount=", "--maxrregcount=", "-ftz=", "--ftz=",
	"-fmad=", "--fmad=", "-prec-div=", "--prec-div=", "-prec-sqrt=", "--prec-sqrt=", "-res-usage", "--resource-usage",
	"-Wno-", "-Wall", "-Wextra", NULL};
/* nvcc's own flags that look like the host compiler's. */
static const char *const other[] = {"-link", "-lib", "-lto", "-fatbin", "-fdevice", NULL};
/* Flags that nvcc passes on unchanged. */
static const char *const passed_on[] = {"-f", "-m", "-l", "-L", "-O", "-Wl,", "-pthread", NULL};
/* Lists of words for the host compiler, and for its linker. */
static const char *const for_compiler[] = {"-Xcompiler=", "--compiler-options=", NULL};
static const char *const for_linker[] = {"-Xlinker=", "--linker-options=", NULL};

/* Libraries without device code to link. */
static const char *const plain_libraries[] = {"m", "z", "dl", "rt", "pthread", "stdc++", "gomp", "cuda", "cudart",
	"cublas", "cublasLt", "cudnn", "cufft", "cufftw", "curand", "cusolver", "cusparse", "cutensor", "nccl", "npp",
	"nvjpeg", "nvrtc", "nvidia-ml", "nvToolsExt", NULL};

/* The entry that the flag begins with, or NULL. */
static const char *
beginning(const char *const *list, const char *flag)
{
	for (; *list; list++)
		if (strncmp(flag, *list, strlen(*list)) == 0)
			return *list;
	return NULL;
}

/* Whether the words between commas have no quotes or blanks. */
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
	return beginning(compiling, flag) || (!beginning(other, flag) && beginning(passed_on, flag));
}

/* Whether the meaning of all flags (a list, or NULL) is known for linking with the host compiler. */
static bool
knows_flags(const json_t *flags)
{
	json_array_each(flags, flag)
		if (!is_nvcc_known(json_string_value(flag)))
			return false;
	return true;
}

/* Whether all libraries (names, or NULL) are known to have no device code to link. */
static bool
knows_libraries(const json_t *names)
{
	json_array_each(names, name) {
		const char *const *known = plain_libraries;
		while (*known && strcmp(*known, json_string_value(name)) != 0)
			known++;
		if (!*known)
			return false;
	}
	return true;
}

/* Appends each word of a list such as "a,b". */
static void
add_words(const char *words, const char *prefix, json_t *argv)
{
	while (*words) {
		size_t len = strcspn(words, ",");
		if (len)
			kettle_args_add(argv, "%s%.*s", prefix, (int)len, words);
		words += len + (words[len] == ',');
	}
}

/* Appends the meaning of known flags for linking with the host compiler. */
static void
add_host_flags(const json_t *flags, json_t *argv)
{
	json_array_each(flags, item) {
		const char *flag = json_string_value(item), *list;
		if ((list = beginning(for_compiler, flag)))
			add_words(flag + strlen(list), "", argv);
		else if ((list = beginning(for_linker, flag)))
			add_words(flag + strlen(list), "-Wl,", argv);
		else if (!beginning(compiling, flag))
			kettle_args_add(argv, "%s", flag);
	}
}

/* ---- steps ---- */

/* Whether sources use device functions of each other, by the task's `rdc` or its flags. */
static bool
needs_device_link(const struct kettle_compiled_builder *builder)
{
	static const char *const flags[] = {"-rdc=true", "--relocatable-device-code=true", "-dc", "--device-c"};
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (list_has_text(json_object_get(builder->config, "compile_flags"), flags[i]))
			return true;
	return member_true(builder->config, "rdc");
}

/* The option `host_compiler`; NULL: it is not set. */
static const char *
host_compiler(const struct kettle_compiled_builder *builder)
{
	const char *host = kettle_compiled_option(builder, "host_compiler");
	return host && *host ? host : NULL;
}

/* Returns new arguments: the beginning of nvcc's commands. */
static json_t *
begin_command(const struct kettle_compiled_builder *builder)
{
	const char *host = host_compiler(builder);
	json_t *argv = json_pack("[s]", kettle_compiled_option(builder, "nvcc"));
	/* With -arch nvcc would also compile PTX, which no device of the board needs. */
	kettle_args_add(argv, "-gencode=arch=compute_%s,code=sm_%s", builder->target, builder->target);
	kettle_args_add_words(argv, usual_flags);
	if (host)
		kettle_args_add(argv, "-ccbin=%s", host);
	if (needs_device_link(builder))
		kettle_args_add(argv, "-rdc=true");
	kettle_args_add_list(argv, "", json_object_get(builder->options, "flags"));
	return argv;
}

static json_t *
cu_compile(const struct kettle_compiled_builder *builder, const char *source)
{
	json_t *argv = begin_command(builder);
	/* The flag takes a third of the compile time of a small source. */
	if (!kettle_compiled_is_c(source) && lambda_may_be_in(builder->request->files, source))
		kettle_args_add(argv, LAMBDA_FLAG);
	if (kettle_gpu_has_host(builder))
		kettle_args_add(argv, "-Xcompiler=-fPIC");
	/* Lets a profile show the cost of each line; the code is the same. */
	if (kettle_compiled_profiles(builder))
		kettle_args_add(argv, "-lineinfo");
	/* nvcc passes files in C to the host compiler, which has its own standard for them. */
	kettle_compiled_add_standard(builder, source, NULL, CPP_STANDARD, argv);
	kettle_compiled_add_config(builder, argv);
	kettle_args_add_list(argv, "-I", json_object_get(builder->request->device, "include_dirs"));
	/* Last, so that nvcc's own headers are found first. */
	kettle_args_add(argv, "-isystem=@TOOLKIT_INCLUDE@");
	return argv;
}

/*
 * Appends the folders of libraries for linking and for running. NVRTC opens another library, which only the program's
 * DT_RPATH finds, not its DT_RUNPATH.
 */
static void
add_library_folders(const struct kettle_compiled_builder *builder, const char *linker, json_t *argv)
{
	const json_t *folders = json_object_get(builder->request->device, "library_dirs");
	kettle_args_add_list(argv, "-L", folders);
	kettle_args_add(argv, "%s--disable-new-dtags", linker);
	json_array_each(folders, folder)
		kettle_args_add(argv, "%s-rpath=%s", linker, json_string_value(folder));
	kettle_args_add(argv, "-L@TOOLKIT_LIB@");
	kettle_args_add(argv, "%s-rpath=@TOOLKIT_LIB@", linker);
}

/*
 * Appends the task's libraries. @LIBRARY: also finds libraries of the toolkit whose file names a linker does not find.
 */
static void
add_libraries(const struct kettle_compiled_builder *builder, json_t *argv)
{
	const json_t *lists[] = {
		json_object_get(builder->config, "libraries"), json_object_get(builder->request->task, "libraries")};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_array_each(lists[i], name)
			kettle_args_add(argv, "-l@LIBRARY:%s@", json_string_value(name));
}

/* Links with nvcc, which also links device code. */
static json_t *
link_by_nvcc(const struct kettle_compiled_builder *builder)
{
	json_t *argv = begin_command(builder);
	kettle_args_add_list(argv, "", json_object_get(builder->config, "compile_flags"));
	kettle_gpu_add_host(builder, "-Xlinker=", argv);
	kettle_compiled_add_objects(builder, argv);
	add_library_folders(builder, "-Xlinker=", argv);
	add_libraries(builder, argv);
	return argv;
}

/* Links with the host compiler, as nvcc calls it: faster, if there is no device code to link. */
static json_t *
link_by_host(const struct kettle_compiled_builder *builder)
{
	const char *host = host_compiler(builder);
	json_t *argv = json_pack("[s]", host ? host : HOST_COMPILER);
	add_host_flags(json_object_get(builder->options, "flags"), argv);
	add_host_flags(json_object_get(builder->config, "compile_flags"), argv);
	kettle_gpu_add_host(builder, "-Wl,", argv);
	kettle_compiled_add_objects(builder, argv);
	add_library_folders(builder, "-Wl,", argv);
	add_libraries(builder, argv);
	kettle_args_add_words(argv, runtime);
	return argv;
}

static bool
links_by_host(const struct kettle_compiled_builder *builder)
{
	return !needs_device_link(builder) && knows_flags(json_object_get(builder->options, "flags")) &&
		   knows_flags(json_object_get(builder->config, "compile_flags")) &&
		   knows_libraries(json_object_get(builder->config, "libraries")) &&
		   knows_libraries(json_object_get(builder->request->task, "libraries"));
}

static json_t *
cu_link(const struct kettle_compiled_builder *builder)
{
	return links_by_host(builder) ? link_by_host(builder) : link_by_nvcc(builder);
}

/*
 * Whether symbols of the submission's object can be made local. Not if device code is linked, since the linked code
 * refers to these symbols.
 */
static bool
cu_apart(const struct kettle_compiled_builder *builder)
{
	static const char *const linked_late[] = {"-rdc", "--relocatable-device-code", "-dc", "--device-c", NULL};
	const json_t *lists[] = {
		json_object_get(builder->config, "compile_flags"), json_object_get(builder->options, "flags")};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_array_each(lists[i], flag)
			if (beginning(linked_late, json_string_value(flag)))
				return false;
	return !needs_device_link(builder);
}

/*
 * Adds the host compiler that nvcc starts to the step's tools: it is part of the cache key, and nvcc finds it by name.
 */
static void
cu_finish_step(const struct kettle_compiled_builder *builder, json_t *step)
{
	const char *host = host_compiler(builder), *nvcc = kettle_compiled_option(builder, "nvcc");
	/* A script's step already names the linker that it starts. */
	json_t *tools = json_object_get(step, "toolchain") ? json_incref(json_object_get(step, "toolchain")) : json_array();
	const char *own =
		json_string_value(json_array_get(json_array_size(tools) ? tools : json_object_get(step, "argv"), 0));
	kettle_gpu_finish_step(builder, step);
	/* kettle-exec may know nvcc by another path than the option says. */
	if (json_array_size(tools) && strcmp(own, nvcc) == 0)
		json_array_set_new(
			json_object_get(step, "argv"), KETTLE_COMPILED_SCRIPT_ARGUMENTS, json_string("@TOOLKIT_COMPILER@"));
	kettle_args_add(tools, "%s", strcmp(own, nvcc) != 0 ? nvcc : host ? host : HOST_COMPILER);
	json_object_set_new(step, "toolchain", tools);
}

static const char *const profile_files[] = {"profile.ncu-rep", "ncu-details.txt", "ncu-details.csv", NULL};

/* Beginnings of headers that a machine with an nvcc may lack. */
static const char *const further_headers[] = {"cublas", "cufft", "curand", "cusolver", "cusparse", "nvrtc", "cutlass/",
	"cute/", "cub/", "thrust/", "kittens", NULL};

static const struct kettle_gpu_vendor vendor = {
	.rules =
		{
			.title = "CUDA",
			.sources = source_extensions,
			.compile = cu_compile,
			.link = cu_link,
			.apart = cu_apart,
			.finish_step = cu_finish_step,
			KETTLE_GPU_RULES,
			.profiler = "ncu",
			.profile_files = profile_files,
			.probe_headers = further_headers,
		},
	.lang = "cu",
	.template_name = "CUDA",
	.key = "sm",
	.fact = "compute",
	.prefix = "sm_",
	.product = "CUDA",
	.device = "a CUDA device",
	.toolkit = "the CUDA toolkit",
	.compiler = "nvcc",
	.rtc = {.api = "nvrtc",
		.ending = ".cubin",
		.target = "--gpu-architecture=sm_",
		.options = (const char *const[]){"-default-device", "-I.", "-I@TOOLKIT@/include", "-I@TOOLKIT@/include/cccl",
			"-I@TOOLKIT_INCLUDE@", NULL}},
	.models = models,
	.since = since,
	.read_target = read_target,
	.unknown_target =
		(const char *const[]){"Unsupported gpu architecture", "is not defined for option 'gpu-architecture'",
			"is not defined for option 'gpu-name'", "invalid value for --gpu-architecture", NULL},
	.bad_option = (const char *const[]){"nvcc fatal", "nvrtc: error: unrecognized option", NULL},
	.bad_machine = (const char *const[]){"unsupported GNU version", "unsupported clang version",
		"No supported gcc/g++ host compiler found", "Failed to preprocess host compiler properties",
		"Host compiler targets unsupported OS", "rtc: the toolkit has no", "cc1plus: No such file", "cc1plus: error: /",
		"gcc: not found", "g++: not found", "cicc: not found", "ptxas: not found", "cudafe++: not found",
		"fatbinary: not found", "nvlink: not found", NULL},
	.no_device = (const char *const[]){"no CUDA-capable device is detected", "CUDA driver version is insufficient",
		"libcuda.so.1: cannot open shared object file", "CUDA-capable device(s) is/are busy or unavailable",
		"system has unsupported display driver", "cudaErrorNoDevice", "cudaErrorInsufficientDriver",
		"CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system not yet initialized", NULL},
	.wrong_target = (const char *const[]){"no kernel image is available for execution on the device",
		"device kernel image is invalid", "PTX was compiled with an unsupported toolchain",
		"cudaErrorNoKernelImageForDevice", NULL},
	.fault = (const char *const[]){"an illegal memory access was encountered", "misaligned address",
		"an illegal instruction was encountered", "unspecified launch failure", "device-side assert triggered",
		"the launch timed out and was terminated", "too many resources requested for launch",
		"invalid configuration argument", "invalid argument", "invalid device function", "invalid program counter",
		"hardware stack error", "operation not supported on global/shared address space", "out of memory", NULL},
};

/* Turns `toolkit` into the name of its nvcc, which need not be a file there: Python packages have nvcc elsewhere. */
static int
cu_configure(void *self, const json_t *section, struct kettle_error *err)
{
	const char *toolkit = json_text_or_null(section, "toolkit");
	AUTO_JSON json_t *changed = json_copy((json_t *)section);
	if (toolkit && toolkit[0] != '/')
		return kettle_blame(err, KETTLE_CAUSE_NONE, "toolkit",
			kettle_fail(err, KETTLE_EINVAL, "`toolkit` must be the absolute path of a folder, not `%.200s`.", toolkit));
	if (toolkit && !member_is(section, "nvcc", "nvcc"))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "nvcc",
			kettle_fail(err, KETTLE_EINVAL,
				"`nvcc` and `toolkit` both name a compiler: leave `nvcc` out where `toolkit` is %.200s.", toolkit));
	if (toolkit)
		json_object_set_new(changed, "nvcc", json_sprintf("%s/bin/nvcc", toolkit));
	return kettle_compiled_configure(self, changed, err);
}

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)host;
	return kettle_compiled_create(&vendor.rules, ret_self, err);
}

/* ---- the plugin ---- */

static const struct kettle_skeleton skeletons[] = {
	{.template_name = "CUDA",
		.file_name = "submission.cu",
		.text = "#include \"task.h\"\n\n__global__ void\nkernel()\n{\n\t// Compute here.\n}\n\n"
				"// Define here the function that task.h declares; it launches the kernel.\n"},
};

static const char *const aliases[] = {"cuda", NULL};
static const char *const extensions[] = {".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", NULL};
static const char *const references[] = {".cu", ".cuh", ".cpp", NULL};
static const char *const template_names[] = {"CUDA", NULL};

static const struct kettle_language language = {
	KETTLE_GPU_LANGUAGE,
	.aliases = aliases,
	.extensions = extensions,
	.template_names = template_names,
	KETTLE_LANGUAGE_SKELETONS(skeletons),
	.references = references,
};

const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_LANGUAGE),
	.name = "cu",
	.version = PACKAGE_VERSION,
	.summary = "CUDA with nvcc",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = cu_configure,
	.destroy = kettle_compiled_destroy,
	.language = &language,
};
