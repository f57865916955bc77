/* SPDX-License-Identifier: MIT */
/*
 * The language cu: boards in CUDA. Every source is compiled by a cached step of its own for the architecture of the
 * device, so that of a submission only its own file is ever compiled; the objects are linked into ./program, and that is
 * what runs. Device code is linked across sources only where the task asks for it.
 */
#include <config.h>

#include <kettle/gpu.h>
#include <kettle/plugin.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "plugins/languages/cu/lambda.h"
#include "plugins/languages/cu/nvcc.h"

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

/* What KernelBot-compatible boards are compiled with; nvcc takes what it does not know for the host compiler's. */
static const char *const usual_flags[] = {"-O3", "-DNDEBUG", "--expt-relaxed-constexpr",
	"-forward-unknown-to-host-compiler", "-Xcompiler=-Wno-psabi", "-Xcompiler=-fno-strict-aliasing",
	"-Xptxas=--warn-on-spills", NULL};
#define LAMBDA_FLAG "--expt-extended-lambda"

/* The runtime of programs whose device code nvcc has not linked. */
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

/* "90a" out of "90a", "sm_90a" and, of a unit's facts, "9.0": from Hopper on the GPU that is there has features of its own. */
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

/* ---- steps ---- */

/* Whether sources use device functions of each other, as the task says or its flags do. */
static bool
needs_device_link(const struct kettle_compiled_builder *builder)
{
	static const char *const flags[] = {"-rdc=true", "--relocatable-device-code=true", "-dc", "--device-c"};
	const json_t *said = json_object_get(builder->config, "compile_flags"), *flag;
	size_t i;
	json_array_foreach(said, i, flag)
		for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
			if (strcmp(json_string_value(flag), flags[k]) == 0)
				return true;
	return json_is_true(json_object_get(builder->config, "rdc"));
}

/* A language option that is not there is no compiler. */
static const char *
host_compiler(const struct kettle_compiled_builder *builder)
{
	const char *host = kettle_compiled_option(builder, "host_compiler");
	return host && *host ? host : NULL;
}

/* What compiling and linking have in common. */
static void
add_flags(const struct kettle_compiled_builder *builder, json_t **argv)
{
	const char *host = host_compiler(builder);
	kettle_args_add(argv, "%s", kettle_compiled_option(builder, "nvcc"));
	/* For the device alone: -arch would have nvcc compile a second time, for PTX that no device of the board needs. */
	kettle_args_add(argv, "-gencode=arch=compute_%s,code=sm_%s", builder->target, builder->target);
	kettle_args_add_words(argv, usual_flags);
	if (host)
		kettle_args_add(argv, "-ccbin=%s", host);
	if (needs_device_link(builder))
		kettle_args_add(argv, "-rdc=true");
	kettle_args_add_list(argv, "", json_object_get(builder->options, "flags"));
}

static json_t *
cu_compile(const struct kettle_compiled_builder *builder, const char *source)
{
	json_t *argv = json_array();
	add_flags(builder, &argv);
	/* It costs a third of the time in which a small source is compiled. */
	if (!kettle_compiled_is_c(source) && lambda_may_be_in(builder->request->files, source))
		kettle_args_add(&argv, LAMBDA_FLAG);
	/* A profile shows which line costs what; the code is the same. */
	if (kettle_compiled_profiles(builder))
		kettle_args_add(&argv, "-lineinfo");
	/* Files in C go to the host compiler, which has a standard of its own for them. */
	kettle_compiled_add_standard(builder, source, NULL, CPP_STANDARD, &argv);
	kettle_compiled_add_config(builder, &argv);
	kettle_args_add_list(&argv, "-I", json_object_get(builder->request->device, "include_dirs"));
	/* Behind its own: nothing of another version comes before that. */
	kettle_args_add(&argv, "-isystem=@TOOLKIT_INCLUDE@");
	return argv;
}

/*
 * Where what a task names may lie, when linking and when running. NVRTC opens a library of its own, which it finds by the
 * program's run path alone, and by none of the newer kind.
 */
static void
add_library_folders(json_t **argv, const char *linker, const json_t *folders)
{
	kettle_args_add_list(argv, "-L", folders);
	kettle_args_add(argv, "%s--disable-new-dtags", linker);
	for (size_t i = 0; i < json_array_size(folders); i++)
		kettle_args_add(argv, "%s-rpath=%s", linker, json_string_value(json_array_get(folders, i)));
	/* Libraries of the toolkit need not lie where the system looks for them. */
	kettle_args_add(argv, "-L@TOOLKIT_LIB@");
	kettle_args_add(argv, "%s-rpath=@TOOLKIT_LIB@", linker);
}

/* The task's libraries: those of the toolkit need not have names that a linker finds. */
static void
add_libraries(const struct kettle_compiled_builder *builder, json_t **argv)
{
	const json_t *lists[] = {
		json_object_get(builder->config, "libraries"), json_object_get(builder->request->task, "libraries")};
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < json_array_size(lists[i]); k++)
			kettle_args_add(argv, "-l@LIBRARY:%s@", json_string_value(json_array_get(lists[i], k)));
}

/* By nvcc, which links device code, or looks for it. */
static json_t *
link_by_nvcc(const struct kettle_compiled_builder *builder, const json_t *folders)
{
	json_t *argv = json_array();
	add_flags(builder, &argv);
	kettle_args_add_list(&argv, "", json_object_get(builder->config, "compile_flags"));
	kettle_compiled_add_objects(builder, &argv);
	add_library_folders(&argv, "-Xlinker=", folders);
	add_libraries(builder, &argv);
	return argv;
}

/* By the host's compiler alone, as nvcc calls it: what nvcc does besides is for nothing where no device code is linked. */
static json_t *
link_by_host(const struct kettle_compiled_builder *builder, const json_t *folders)
{
	const char *host = host_compiler(builder);
	json_t *argv = json_array();
	kettle_args_add(&argv, "%s", host ? host : HOST_COMPILER);
	nvcc_host_flags(json_object_get(builder->options, "flags"), &argv);
	nvcc_host_flags(json_object_get(builder->config, "compile_flags"), &argv);
	kettle_compiled_add_objects(builder, &argv);
	add_library_folders(&argv, "-Wl,", folders);
	add_libraries(builder, &argv);
	kettle_args_add_words(&argv, runtime);
	return argv;
}

static bool
links_by_host(const struct kettle_compiled_builder *builder)
{
	return !needs_device_link(builder) && nvcc_host_links(json_object_get(builder->options, "flags")) &&
		   nvcc_host_links(json_object_get(builder->config, "compile_flags")) &&
		   nvcc_host_libraries(json_object_get(builder->config, "libraries")) &&
		   nvcc_host_libraries(json_object_get(builder->request->task, "libraries"));
}

static json_t *
cu_link(const struct kettle_compiled_builder *builder)
{
	const json_t *folders = json_object_get(builder->request->device, "library_dirs");
	return links_by_host(builder) ? link_by_host(builder, folders) : link_by_nvcc(builder, folders);
}

/*
 * The compilers that a step starts besides its own: they count for what is kept of it, and nvcc finds there the one that
 * links, not another of the same name.
 */
static void
cu_finish_step(const struct kettle_compiled_builder *builder, json_t *step)
{
	const char *host = host_compiler(builder), *nvcc = kettle_compiled_option(builder, "nvcc");
	const char *own = json_string_value(json_array_get(json_object_get(step, "argv"), 0));
	bool by_nvcc = own && strcmp(own, nvcc) == 0;
	kettle_gpu_finish_step(builder, step);
	json_object_set_new(step, "toolchain", json_pack("[s]", !by_nvcc ? nvcc : host ? host : HOST_COMPILER));
}

static const char *const profile_files[] = {"profile.ncu-rep", NULL};

/* Beginnings of headers that a machine with an nvcc may lack. */
static const char *const further_headers[] = {"cublas", "cufft", "curand", "cusolver", "cusparse", "nvrtc", "cutlass/",
	"cute/", "cub/", "thrust/", "kittens", NULL};

static const struct kettle_gpu_vendor vendor = {
	.rules =
		{
			.title = "CUDA",
			.sources = source_extensions,
			.headers = kettle_gpu_headers,
			.compile = cu_compile,
			.link = cu_link,
			.begin = kettle_gpu_begin,
			.finish_step = cu_finish_step,
			.finish_run = kettle_gpu_finish_run,
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

/* A toolkit that is named is one by its compiler, for which that of Python packages need not be a program there. */
static int
cu_configure(void *self, const json_t *section, struct kettle_error *err)
{
	const char *toolkit = json_string_value(json_object_get(section, "toolkit"));
	const char *nvcc = json_string_value(json_object_get(section, "nvcc"));
	json_t *changed = json_copy((json_t *)section);
	int rc = changed ? 0 : kettle_compiled_fail_memory(err);
	if (toolkit && toolkit[0] != '/')
		rc = kettle_fail(err, KETTLE_EINVAL, "`toolkit` must be the absolute path of a folder, not `%.200s`.", toolkit);
	else if (toolkit && nvcc && strcmp(nvcc, "nvcc") != 0)
		rc = kettle_fail(err, KETTLE_EINVAL,
			"`nvcc` and `toolkit` both name a compiler: leave `nvcc` out where `toolkit` is %.200s.", toolkit);
	else if (rc == 0 && toolkit)
		rc = json_object_set_new(changed, "nvcc", json_sprintf("%s/bin/nvcc", toolkit))
				 ? kettle_compiled_fail_memory(err)
				 : 0;
	if (rc == 0)
		rc = kettle_compiled_configure(self, changed, err);
	json_decref(changed);
	return rc;
}

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)host;
	return kettle_compiled_create(&vendor.rules, ret_self, err);
}

/* ---- what it says of itself ---- */

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
	.size = sizeof(struct kettle_language),
	.aliases = aliases,
	.extensions = extensions,
	.comment = "//",
	.template_names = template_names,
	.config_schema = KETTLE_GPU_CONFIG,
	KETTLE_LANGUAGE_SKELETONS(skeletons),
	KETTLE_LANGUAGE_HARNESS(kettle_gpu_harness),
	.plan = kettle_compiled_plan,
	.interpret = kettle_gpu_interpret,
	.single_file = kettle_gpu_single_file,
	.references = references,
	.tools = kettle_gpu_tools,
	.probe = kettle_compiled_probe,
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
