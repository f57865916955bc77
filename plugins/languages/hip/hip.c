/* SPDX-License-Identifier: MIT */
/*
 * The language hip: boards in HIP. Every source is compiled by a cached step of its own for the architecture of the
 * device, so a submission compiles only its own file; the objects are linked into ./program, and the runs start that.
 */
#include <config.h>

#include <kettle/gpu.h>
#include <kettle/plugin.h>

#include "base/base.h"

#define CPP_STANDARD "c++20"

static const struct kettle_option options[] = {
	{.key = "hipcc",
		.type = KETTLE_OPTION_STRING,
		.default_value = "hipcc",
		.help = "The compiler: a name, looked up in PATH and then in /opt/rocm/bin, or an absolute path."},
	{.key = "flags",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Flags for every compile and link step, before those of the task."},
};

static const char *const source_extensions[] = {".hip", ".cu", ".cpp", ".cc", ".cxx", ".c", NULL};

/* ---- architectures ---- */

static const struct kettle_gpu_model models[] = {{"MI50", "gfx906"}, {"MI60", "gfx906"}, {"MI100", "gfx908"},
	{"MI210", "gfx90a"}, {"MI250", "gfx90a"}, {"MI300", "gfx942"}, {"MI308", "gfx942"}, {"MI325", "gfx942"},
	{"MI350", "gfx950"}, {"MI355", "gfx950"}, {"W7900", "gfx1100"}, {"RX7900", "gfx1100"}, {"RX9070", "gfx1201"},
	{NULL, NULL}};

static const struct kettle_gpu_since since[] = {{"gfx908", "4.0", NULL}, {"gfx90a", "4.5", NULL},
	{"gfx942", "6.0", NULL}, {"gfx950", "7.0", NULL}, {"gfx1100", "5.5", NULL}, {"gfx1200", "6.4", NULL},
	{"gfx1201", "6.4", NULL}, {NULL, NULL, NULL}};

/* "gfx942", "942", and with features: "gfx90a:sramecc+:xnack-". */
static bool
read_target(const char *text, bool fact, char ret_target[KETTLE_COMPILED_TARGET_SIZE])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789:+-";
	(void)fact;
	text += strncmp(text, "gfx", 3) == 0 ? 3 : 0;
	size_t len = strlen(text);
	if (text[0] < '0' || text[0] > '9' || strspn(text, plain) != len ||
		len + sizeof("gfx") > KETTLE_COMPILED_TARGET_SIZE)
		return false;
	(void)snprintf(ret_target, KETTLE_COMPILED_TARGET_SIZE, "gfx%s", text);
	return true;
}

/* ---- steps ---- */

/* Returns new arguments: the beginning of compile and link commands. */
static json_t *
begin_command(const struct kettle_compiled_builder *builder)
{
	json_t *argv = json_pack("[s]", kettle_compiled_option(builder, "hipcc"));
	kettle_args_add(argv, "--offload-arch=%s", builder->target);
	kettle_args_add(argv, "-O3");
	kettle_args_add(argv, "-DNDEBUG");
	/* The task lets sources use device functions of each other. */
	if (json_is_true(json_object_get(builder->config, "rdc")))
		kettle_args_add(argv, "-fgpu-rdc");
	kettle_args_add_list(argv, "", json_object_get(builder->options, "flags"));
	return argv;
}

static json_t *
hip_compile(const struct kettle_compiled_builder *builder, const char *source)
{
	json_t *argv = begin_command(builder);
	if (kettle_gpu_has_host(builder))
		kettle_args_add(argv, "-fPIC");
	kettle_compiled_add_standard(builder, source, NULL, CPP_STANDARD, argv);
	kettle_compiled_add_config(builder, argv);
	kettle_args_add_list(argv, "-I", json_object_get(builder->request->device, "include_dirs"));
	/* Versions of hipcc disagree about the language that an ending means. */
	if (!kettle_compiled_is_c(source)) {
		kettle_args_add(argv, "-x");
		kettle_args_add(argv, "hip");
	}
	return argv;
}

static json_t *
hip_link(const struct kettle_compiled_builder *builder)
{
	const json_t *folders = json_object_get(builder->request->device, "library_dirs");
	json_t *argv = begin_command(builder);
	if (json_is_true(json_object_get(builder->config, "rdc")))
		kettle_args_add(argv, "--hip-link");
	kettle_args_add_list(argv, "", json_object_get(builder->config, "compile_flags"));
	kettle_gpu_add_host(builder, "-Wl,", argv);
	kettle_compiled_add_objects(builder, argv);
	kettle_args_add_list(argv, "-L", folders);
	kettle_args_add_list(argv, "-Wl,-rpath=", folders);
	kettle_args_add(argv, "-L@TOOLKIT@/lib");
	kettle_args_add(argv, "-Wl,-rpath=@TOOLKIT@/lib");
	kettle_compiled_add_libraries(builder, argv);
	return argv;
}

/*
 * Whether the submission's symbols can be made local. Not if device code is linked across sources, since that refers
 * to symbols of the host's objects.
 */
static bool
hip_apart(const struct kettle_compiled_builder *builder)
{
	return !json_is_true(json_object_get(builder->config, "rdc")) &&
		   !list_has_text(json_object_get(builder->config, "compile_flags"), "-fgpu-rdc") &&
		   !list_has_text(json_object_get(builder->options, "flags"), "-fgpu-rdc");
}

static const char *const profile_files[] = {"trace.pftrace", NULL};

/* Beginnings of headers that a machine with a hipcc may lack. */
static const char *const further_headers[] = {
	"rocblas", "hipblas", "rocprim/", "hipcub/", "rocwmma/", "ck/", "miopen", "rccl", NULL};

static const struct kettle_gpu_vendor vendor = {
	.rules =
		{
			.title = "HIP",
			.sources = source_extensions,
			.compile = hip_compile,
			.link = hip_link,
			.apart = hip_apart,
			.finish_step = kettle_gpu_finish_step,
			KETTLE_GPU_RULES,
			.profiler = "rocprofv3",
			.profile_files = profile_files,
			.probe_headers = further_headers,
		},
	.lang = "hip",
	.template_name = "HIP",
	.key = "gfx",
	.fact = "gfx",
	.prefix = "",
	.product = "ROCm",
	.device = "a GPU of AMD's",
	.toolkit = "ROCm's compiler",
	.compiler = "hipcc",
	.variable = "HIP_PLATFORM", /* without it hipcc compiles for NVIDIA's GPUs if it finds an nvcc */
	.value = "amd",
	.rtc = {.api = "hiprtc",
		.ending = ".hsaco",
		.target = "--offload-arch=",
		.options = (const char *const[]){"-O3", "-I.", NULL}},
	.models = models,
	.since = since,
	.read_target = read_target,
	.unknown_target =
		(const char *const[]){"invalid target ID", "unsupported HIP gpu architecture", "unknown target CPU", NULL},
	.bad_option = (const char *const[]){"error: unknown argument", "error: unsupported option", NULL},
	.bad_machine = (const char *const[]){"rtc: the toolkit has no", "cannot find ROCm device library",
		"cannot find HIP runtime", "hip/hip_runtime.h' file not found", NULL},
	.no_device = (const char *const[]){"no ROCm-capable device is detected", "hipErrorNoDevice", "libamdhip64.so",
		"hipErrorInsufficientDriver", "Unable to open /dev/kfd", "hipErrorNotInitialized", NULL},
	.wrong_target =
		(const char *const[]){"hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device",
			"Unable to find code object for all current devices", "device kernel image is invalid", NULL},
	.fault = (const char *const[]){"an illegal memory access was encountered", "hipErrorIllegalAddress",
		"unspecified launch failure", "hipErrorLaunchFailure", "hipErrorLaunchOutOfResources", "hipErrorAssert",
		"too many resources requested for launch", "invalid configuration argument", "hipErrorInvalidConfiguration",
		"invalid argument", "hipErrorInvalidValue", "invalid device function", "hipErrorInvalidDeviceFunction",
		"hipErrorOutOfMemory", "out of memory", NULL},
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	(void)host;
	return kettle_compiled_create(&vendor.rules, ret_self, err);
}

/* ---- the plugin ---- */

static const struct kettle_skeleton skeletons[] = {
	{.template_name = "HIP",
		.file_name = "submission.hip",
		.text = "#include <hip/hip_runtime.h>\n#include \"task.h\"\n\n__global__ void\nkernel()\n{\n\t// Compute "
				"here.\n}\n\n// Define here the function that task.h declares; it launches the kernel.\n"},
};

static const char *const aliases[] = {"rocm", NULL};
static const char *const extensions[] = {".hip", ".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", NULL};
static const char *const references[] = {".hip", NULL};
static const char *const other_references[] = {".cu", ".cuh", ".cpp", NULL};
static const char *const template_names[] = {"HIP", NULL};

static const struct kettle_language language = {
	KETTLE_GPU_LANGUAGE,
	.aliases = aliases,
	.extensions = extensions,
	.template_names = template_names,
	KETTLE_LANGUAGE_SKELETONS(skeletons),
	.references = references,
	.other_references = other_references,
	.other_hint =
		"makes a CUDA task, for which the language cu is not loaded; for a HIP task, name the language hip (`lang`).",
};

const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_LANGUAGE),
	.name = "hip",
	.version = PACKAGE_VERSION,
	.summary = "HIP with hipcc",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = kettle_compiled_configure,
	.destroy = kettle_compiled_destroy,
	.language = &language,
};
