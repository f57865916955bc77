/* SPDX-License-Identifier: MIT */
/*
 * The language hip: boards in HIP. Every source is compiled by a cached step of its own for the architecture of the
 * device, so that of a submission only its own file is ever compiled; the objects are linked into ./program, and that is
 * what runs.
 */
#include <config.h>

#include <jansson.h>
#include <kettle/plugin.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "plugins/languages/compiled/compiled.h"
#include "plugins/languages/compiled/gpu.h"
#include "plugins/languages/compiled/gpu_single.h"

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

static const char config_schema[] =
	"{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {" COMPILED_CONFIG_PROPERTIES
	", \"rdc\": {\"type\": \"boolean\"}, \"rtc\": {\"type\": \"boolean\"}, \"rtc_flags\": {\"type\": \"array\", "
	"\"maxItems\": 100, \"items\": {\"$ref\": \"#/$defs/word\"}}}, \"$defs\": {" COMPILED_CONFIG_DEFS "}}";

static const char *const source_extensions[] = {".hip", ".cu", ".cpp", ".cc", ".cxx", ".c", NULL};
static const char *const header_extensions[] = {".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", NULL};

/* ---- architectures ---- */

static const struct gpu_model models[] = {{"MI50", "gfx906"}, {"MI60", "gfx906"}, {"MI100", "gfx908"},
	{"MI210", "gfx90a"}, {"MI250", "gfx90a"}, {"MI300", "gfx942"}, {"MI308", "gfx942"}, {"MI325", "gfx942"},
	{"MI350", "gfx950"}, {"MI355", "gfx950"}, {"W7900", "gfx1100"}, {"RX7900", "gfx1100"}, {"RX9070", "gfx1201"},
	{NULL, NULL}};

static const struct gpu_since since[] = {{"gfx908", "4.0", NULL}, {"gfx90a", "4.5", NULL}, {"gfx942", "6.0", NULL},
	{"gfx950", "7.0", NULL}, {"gfx1100", "5.5", NULL}, {"gfx1200", "6.4", NULL}, {"gfx1201", "6.4", NULL},
	{NULL, NULL, NULL}};

/* "gfx942", "942", and with features: "gfx90a:sramecc+:xnack-". */
static bool
read_target(const char *text, bool fact, char ret_target[GPU_TARGET_SIZE])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789:+-";
	(void)fact;
	text += strncmp(text, "gfx", 3) == 0 ? 3 : 0;
	size_t len = strlen(text);
	if (text[0] < '0' || text[0] > '9' || strspn(text, plain) != len || len + sizeof("gfx") > GPU_TARGET_SIZE)
		return false;
	(void)snprintf(ret_target, GPU_TARGET_SIZE, "gfx%s", text);
	return true;
}

static const struct gpu_vendor vendor = {
	.key = "gfx",
	.fact = "gfx",
	.prefix = "",
	.product = "ROCm",
	.device = "a GPU of AMD's",
	.toolkit = "ROCm's compiler",
	.compiler = "hipcc",
	.variable = "HIP_PLATFORM", /* it compiles for NVIDIA's GPUs where it finds an nvcc */
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

/* ---- steps ---- */

static bool
is_c(const char *source)
{
	static const char *const c[] = {".c", NULL};
	return compiled_ends_in(source, c);
}

/* What compiling and linking have in common. */
static void
add_flags(const struct compiled_making *making, json_t **argv)
{
	compiled_add(argv, "%s", compiled_option(making, "hipcc"));
	compiled_add(argv, "--offload-arch=%s", gpu_target_of(making));
	compiled_add(argv, "-O3");
	compiled_add(argv, "-DNDEBUG");
	/* Whether sources use device functions of each other. */
	if (json_is_true(json_object_get(making->config, "rdc")))
		compiled_add(argv, "-fgpu-rdc");
	compiled_add_all(argv, "", json_object_get(making->options, "flags"));
}

static json_t *
hip_compile(const struct compiled_making *making, const char *source)
{
	const char *standard = json_string_value(json_object_get(making->config, "standard"));
	json_t *argv = json_array();
	add_flags(making, &argv);
	if (!is_c(source))
		compiled_add(&argv, "-std=%s", standard && strchr(standard, '+') ? standard : CPP_STANDARD);
	compiled_add_config(making, &argv);
	compiled_add_all(&argv, "-I", json_object_get(making->request->device, "include_dirs"));
	/* Whatever it is called: what a file's name ends in means other things in other versions. */
	if (!is_c(source)) {
		compiled_add(&argv, "-x");
		compiled_add(&argv, "hip");
	}
	return argv;
}

static json_t *
hip_link(const struct compiled_making *making)
{
	const json_t *folders = json_object_get(making->request->device, "library_dirs");
	json_t *argv = json_array();
	add_flags(making, &argv);
	if (json_is_true(json_object_get(making->config, "rdc")))
		compiled_add(&argv, "--hip-link");
	compiled_add_all(&argv, "", json_object_get(making->config, "compile_flags"));
	compiled_add_objects(making, &argv);
	compiled_add(&argv, "-o");
	compiled_add(&argv, "out/" COMPILED_PROGRAM);
	compiled_add_all(&argv, "-L", folders);
	compiled_add_all(&argv, "-Wl,-rpath=", folders);
	compiled_add(&argv, "-L@TOOLKIT@/lib");
	compiled_add(&argv, "-Wl,-rpath=@TOOLKIT@/lib");
	compiled_add_libraries(making, &argv);
	return argv;
}

static void
hip_finish_run(const struct compiled_making *making, json_t *step)
{
	gpu_finish_run(making, compiled_option(making, "hipcc"), step);
}

static const char *const profile_files[] = {"trace.pftrace", NULL};

static const struct compiled_rules rules = {
	.sources = source_extensions,
	.headers = header_extensions,
	.wanted = "a source in HIP ends in .hip, .cu, .cpp, .cc, .cxx or .c",
	.found = "none of its files ends in .hip, .cu, .cpp, .cc, .cxx or .c",
	.compile = hip_compile,
	.link = hip_link,
	.add_steps = gpu_add_steps,
	.finish_step = gpu_finish_build,
	.finish_run = hip_finish_run,
	.profiler = "rocprofv3",
	.profile_files = profile_files,
};

static int
hip_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	return gpu_plan(&vendor, &rules, ((struct compiled_self *)self)->options, request, ret_plan, err);
}

/* Beginnings of headers that a machine with a hipcc may lack. */
static const char *const further_headers[] = {
	"rocblas", "hipblas", "rocprim/", "hipcub/", "rocwmma/", "ck/", "miopen", "rccl", NULL};

static int
hip_probe(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	return compiled_probe(self, request, &rules, further_headers, hip_plan, ret_plan, err);
}

static int
hip_interpret(void *self, const json_t *step, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err)
{
	const json_t *hipcc = json_object_get(((struct compiled_self *)self)->options, "hipcc");
	return gpu_explain(&vendor, json_string_value(hipcc), step, outcome, ret_verdict, err);
}

static json_t *
hip_tools(void *self)
{
	return json_pack("[O]", json_object_get(((struct compiled_self *)self)->options, "hipcc"));
}

static int
hip_single_file(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	(void)self;
	(void)size;
	return gpu_single("hip", "HIP", name, text, ret_task, err);
}

/* ---- what it says of itself ---- */

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

static const struct kettle_harness_file harness[] = {
	{.name = "eval.cu", .path = "eval.cu"},
	{.name = "eval_single.cu", .path = "eval_single.cu"},
	{.name = "gpu.h", .path = "gpu.h"},
	{.name = "harness.h", .path = "harness.h"},
	{.name = "utils.h", .path = "utils.h"},
};

static const struct kettle_language language = {
	.size = sizeof(struct kettle_language),
	.aliases = aliases,
	.extensions = extensions,
	.comment = "//",
	.template_names = template_names,
	.config_schema = config_schema,
	.skeletons = skeletons,
	.skeletons_count = sizeof(skeletons) / sizeof(skeletons[0]),
	.skeleton_size = sizeof(skeletons[0]),
	.harness = harness,
	.harness_count = sizeof(harness) / sizeof(harness[0]),
	.harness_file_size = sizeof(harness[0]),
	.plan = hip_plan,
	.interpret = hip_interpret,
	.single_file = hip_single_file,
	.references = references,
	.other_references = other_references,
	.other_hint = "makes a CUDA board, for which the language cu is not loaded; for a HIP board say --lang hip.",
	.tools = hip_tools,
	.probe = hip_probe,
};

const struct kettle_plugin kettle_plugin = {
	.magic = KETTLE_PLUGIN_MAGIC,
	.abi_major = KETTLE_ABI_MAJOR,
	.abi_minor = KETTLE_ABI_MINOR,
	.size = sizeof(struct kettle_plugin),
	.kind = KETTLE_LANGUAGE,
	.name = "hip",
	.version = PACKAGE_VERSION,
	.summary = "HIP with hipcc",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.option_size = sizeof(options[0]),
	.create = compiled_create,
	.configure = compiled_configure,
	.destroy = compiled_destroy,
	.language = &language,
};
