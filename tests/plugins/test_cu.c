/* SPDX-License-Identifier: MIT */
/* The language cu, driven without core and host: what it plans for which device, what it refuses, what it explains. */
#include <config.h>

#include <kettle/explain.h>
#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "plugins/languages/cu/lambda.h"
#include "plugins/plans.h"

#define FLAGS \
	"-O3 -DNDEBUG --expt-relaxed-constexpr -forward-unknown-to-host-compiler " \
	"-Xcompiler=-Wno-psabi -Xcompiler=-fno-strict-aliasing -Xptxas=--warn-on-spills"
#define BEHIND "-isystem=@TOOLKIT_INCLUDE@"
#define PLACES "-L@TOOLKIT_LIB@ -Wl,-rpath=@TOOLKIT_LIB@"
#define FOLDERS "-Wl,--disable-new-dtags " PLACES
#define RUNTIME "-lcudart_static -lrt -lpthread -ldl"

/* The harness's object depends on nothing that a participant writes. */
static void
test_plan(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		plans_good("submission.cu eval.cu gpu.h reference.cuh data.bin", NULL, "{\"name\": \"H100\"}");
	assert_int_equal(json_array_size(json_object_get(made, "steps")), 7);
	plans_expect(made, "compile-0", "argv",
		"nvcc -gencode=arch=compute_90a,code=sm_90a " FLAGS " -std=c++20 " BEHIND
		" -c submission.cu -o out/submission.cu.o");
	plans_expect(made, "compile-1", "argv",
		"nvcc -gencode=arch=compute_90a,code=sm_90a " FLAGS " -std=c++20 " BEHIND " -c eval.cu -o out/eval.cu.o");
	plans_expect(made, "compile-0", "inputs", "submission.cu gpu.h reference.cuh data.bin");
	plans_expect(made, "compile-1", "inputs", "eval.cu gpu.h reference.cuh data.bin");
	plans_expect(made, "compile-1", "needs", "");
	plans_expect(made, "link", "needs", "apart compile-1");
	/* The submission's object gives the program only what the task's lacks. */
	plans_expect(made, "wanted", "inputs", "eval.cu.o");
	plans_expect(made, "wanted", "toolchain", "g++ nvcc");
	plans_expect(made, "apart", "inputs", "submission.cu.o wanted");
	plans_expect(
		made, "link", "argv", "g++ submission.cu.o eval.cu.o -o out/program " FOLDERS " -l@LIBRARY:z@ " RUNTIME);
	plans_expect(made, "compile-0", "toolchain", "g++");
	plans_expect(made, "link", "toolchain", "nvcc");
	plans_expect(made, "test", "inputs", "data.bin program");
	plans_expect(made, "test", "needs", "link");
	plans_expect(made, "benchmark", "needs", "test");
	plans_expect(made, "test", "argv", "./program test cases.txt");
	assert_string_equal(plans_text(made, "test", "env", "KETTLE_DEVICE"), "H100");
}

static void
test_profile(void **state)
{
	(void)state;
	plans_profile(
		"a.cu", "{\"name\": \"H100\"}", "ncu", "profile.ncu-rep ncu-details.txt ncu-details.csv", "-lineinfo");
}

/* A harness that needs kettle-host is built for it, whatever else mentions that, but for a profile. */
static void
test_host(void **state)
{
	static const char needs[] = "// kettle-host: supervised\n";
	struct plans_given given = {.names = "submission.cu eval.cu", .device = "{\"name\": \"H100\"}", .text = needs};
	(void)state;
	AUTO_JSON json_t *none = plans_given_good(given);
	assert_null(json_object_get(plans_step(none, "test"), "host"));
	given.others = "#define TEXT \"// kettle-host: supervised\"\n";
	AUTO_JSON json_t *quoted = plans_given_good(given);
	assert_null(json_object_get(plans_step(quoted, "test"), "host"));
	given.others = needs;
	given.names = "submission.cu eval.py";
	AUTO_JSON json_t *elsewhere = plans_given_good(given);
	assert_null(json_object_get(plans_step(elsewhere, "test"), "host"));
	given.names = "submission.cu eval.cu";
	AUTO_JSON json_t *made = plans_given_good(given);
	assert_string_equal(kettle_json_text(plans_step(made, "test"), "host"), "supervised");
	plans_expect(made, "compile-1", "argv",
		"nvcc -gencode=arch=compute_90a,code=sm_90a " FLAGS " -Xcompiler=-fPIC -std=c++20 " BEHIND
		" -c eval.cu -o out/eval.cu.o");
	plans_expect(made, "link", "argv",
		"g++ -Wl,--defsym=kettle_harness=kettle_harness_start -Wl,-init=kettle_harness_start -shared -Wl,--entry=main "
		"-Wl,-Bsymbolic -Wl,-zdefs submission.cu.o "
		"eval.cu.o "
		"-o out/program " FOLDERS " -l@LIBRARY:z@ " RUNTIME);
	given.config = "{\"rdc\": true}";
	AUTO_JSON json_t *linked = plans_given_good(given);
	assert_non_null(strstr(plans_word(linked, "link", 0), "nvcc"));
	AUTO_FREE char *argv = json_dumps(json_object_get(plans_step(linked, "link"), "argv"), JSON_COMPACT);
	assert_non_null(strstr(argv, "\"-Xlinker=--defsym=kettle_harness=kettle_harness_start\",\"-Xlinker=-init=kettle_"
								 "harness_start\",\"-shared\",\"-Xlinker=--entry=main\""));
	given.config = NULL;
	given.mode = "profile";
	AUTO_JSON json_t *profile = plans_given_good(given);
	assert_null(json_object_get(plans_step(profile, "test"), "host"));
	plans_expect(profile, "link", "argv",
		"g++ -Wl,--defsym=kettle_harness=kettle_harness_start -Wl,-init=kettle_harness_start submission.cu.o eval.cu.o "
		"-o out/program " FOLDERS " -l@LIBRARY:z@ " RUNTIME);
}

/* With device code to link objects stay as they are. */
static void
test_not_apart(void **state)
{
	static const char *const configs[] = {
		"{\"rdc\": true}", "{\"compile_flags\": [\"-rdc\", \"true\"]}", "{\"compile_flags\": [\"-dc\"]}"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		AUTO_JSON json_t *made = plans_good("submission.cu eval.cu", configs[i], "{\"name\": \"H100\"}");
		plans_expect(made, "link", "needs", "compile-0 compile-1");
	}
	/* What is compiled when it is linked is the task's alone. */
	AUTO_JSON json_t *made =
		plans_good("submission.cu eval.cu", "{\"compile_flags\": [\"-Xcompiler=-flto\"]}", "{\"name\": \"H100\"}");
	plans_expect(made, "link", "needs", "apart compile-1");
	plans_expect(made, "compile-0", "argv",
		"nvcc -gencode=arch=compute_90a,code=sm_90a " FLAGS " -std=c++20 -Xcompiler=-flto " BEHIND
		" -fno-lto -c submission.cu -o out/submission.cu.o");
	plans_expect(made, "compile-1", "argv",
		"nvcc -gencode=arch=compute_90a,code=sm_90a " FLAGS " -std=c++20 -Xcompiler=-flto " BEHIND
		" -c eval.cu -o out/eval.cu.o");
}

/* Every key of task.yml reaches the compiler, and so do the settings of the device. */
static void
test_config(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = plans_good("s.cuh a/eval.cu b.cpp c.c",
		"{\"sources\": [\"a/eval.cu\", \"b.cpp\", \"c.c\"], \"include_dirs\": [\".\", \"/ThunderKittens/include\"], "
		"\"defines\": {\"N\": \"4\", \"M\": 5, \"Q\": null, \"B\": true}, \"compile_flags\": [\"--use_fast_math\"], "
		"\"libraries\": [\"cublas\"], \"standard\": \"c++17\", \"rdc\": true}",
		"{\"name\": \"gpu\", \"sm\": \"sm_89\", \"include_dirs\": [\"/opt/cutlass/include\"], \"library_dirs\": "
		"[\"/opt/lib\"]}");
	plans_expect(made, "compile-0", "argv",
		"nvcc -gencode=arch=compute_89,code=sm_89 " FLAGS
		" -rdc=true -std=c++17 -DN=4 -DM=5 -DQ -DB=1 -I. -I/ThunderKittens/include "
		"--use_fast_math -I/opt/cutlass/include " BEHIND " -c a/eval.cu -o out/eval.cu.o");
	plans_expect(made, "compile-2", "argv",
		"nvcc -gencode=arch=compute_89,code=sm_89 " FLAGS
		" -rdc=true -DN=4 -DM=5 -DQ -DB=1 -I. -I/ThunderKittens/include --use_fast_math "
		"-I/opt/cutlass/include " BEHIND " -c c.c -o out/c.c.o");
	plans_expect(made, "compile-1", "folders", "/opt/cutlass/include /opt/lib");
	plans_expect(made, "compile-1", "inputs", "s.cuh b.cpp");
	plans_expect(made, "link", "argv",
		"nvcc -gencode=arch=compute_89,code=sm_89 " FLAGS
		" -rdc=true --use_fast_math a/eval.cu.o b.cpp.o c.c.o -o out/program -L/opt/lib "
		"-Xlinker=--disable-new-dtags -Xlinker=-rpath=/opt/lib -L@TOOLKIT_LIB@ -Xlinker=-rpath=@TOOLKIT_LIB@ "
		"-l@LIBRARY:cublas@ -l@LIBRARY:z@");
	plans_expect(made, "test", "folders", "/opt/lib");
	plans_expect(made, "test", "toolchain", "nvcc");
}

static void
test_targets(void **state)
{
	static const struct {
		const char *device, *target;
	} good[] = {
		{"{\"name\": \"T4\"}", "75"},
		{"{\"name\": \"l4x4\"}", "89"},
		{"{\"name\": \"A100-80GB\"}", "80"},
		{"{\"name\": \"h100.pcie\"}", "90a"},
		{"{\"name\": \"B200\"}", "100a"},
		{"{\"name\": \"H100\", \"sm\": \"90\"}", "90"},
		{"{\"name\": \"mine\", \"sm\": \"120a\"}", "120a"},
		{"{\"name\": \"mine\", \"sm\": \"native\", \"facts\": {\"gpu\": {\"compute\": \"9.0\"}}}", "90a"},
		{"{\"name\": \"mine\", \"facts\": {\"gpu\": {\"compute\": \"8.6\"}}}", "86"},
		{"{\"name\": \"H100\", \"facts\": {\"gpu\": {\"compute\": \"12.1\"}}}", "121a"},
		{"{\"name\": \"H100\", \"facts\": {\"gpu\": {\"gfx\": \"gfx942\"}}}", "90a"},
	};
	static const struct {
		const char *device, *sentence;
		int code;
	} bad[] = {
		{"{\"name\": \"CPU\"}",
			"The task needs a CUDA device, and `CPU` is not known to be one: its operator can set `sm` in the "
			"configuration of the "
			"device.",
			KETTLE_EUNAVAIL},
		{"{\"name\": \"A1000\"}",
			"The task needs a CUDA device, and `A1000` is not known to be one: its operator can set `sm` in the "
			"configuration of "
			"the "
			"device.",
			KETTLE_EUNAVAIL},
		{"{\"name\": \"H100\", \"sm\": \"native\"}",
			"The device `H100` has `sm: native`, but its GPU is unknown: set the architecture, or set `gpu` of its "
			"unit to a GPU of this machine.",
			KETTLE_EUNAVAIL},
		{"{\"name\": \"H100\", \"sm\": \"hopper\"}",
			"The device `H100` has `sm: hopper`, which is not an architecture.", KETTLE_EINVAL},
		{"{\"name\": \"H100\", \"sm\": \"90a -x\"}",
			"The device `H100` has `sm: 90a -x`, which is not an architecture.", KETTLE_EINVAL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		AUTO_JSON json_t *made = plans_good("s.cu", NULL, good[i].device);
		AUTO_BUF struct buf wanted = {0};
		buf_printf(&wanted, "-gencode=arch=compute_%s,code=sm_%s", good[i].target, good[i].target);
		assert_string_equal(plans_word(made, "compile-0", 1), wanted.data);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		plans_refused("s.cu", NULL, bad[i].device, bad[i].code, bad[i].sentence);
}

/* Without device code to link the host compiler links, if the meaning of all flags to it is known. */
static void
test_link(void **state)
{
	static const struct {
		const char *flags, *libraries, *words; /* words: what the flags become; NULL: nvcc links */
	} cases[] = {
		{"", "\"cublas\"", ""},
		{"\"-O2\", \"-DX=1\", \"--use_fast_math\", \"-lineinfo\", \"-Xptxas=-v\"", "\"m\"", "-O2 "},
		{"\"-Xcompiler=-fopenmp,-Wall\", \"-Xlinker=-s,-z\", \"-march=native\"", "\"gomp\"",
			"-fopenmp -Wall -Wl,-s -Wl,-z -march=native "},
		{"\"-Xcompiler\", \"-fopenmp\"", "\"m\"", NULL},
		{"\"-cudart=shared\"", "\"m\"", NULL},
		{"\"-dlto\"", "\"m\"", NULL},
		{"\"-lto\"", "\"m\"", NULL},
		{"\"-Xcompiler='a,b'\"", "\"m\"", NULL},
		{"", "\"cufft_static\"", NULL},
		{"", "\"mine\"", NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_BUF struct buf config = {0};
		AUTO_BUF struct buf wanted = {0};
		buf_printf(&config, "{\"compile_flags\": [%s], \"libraries\": [%s]}", cases[i].flags, cases[i].libraries);
		AUTO_JSON json_t *made = plans_good("s.cu", config.data, "{\"name\": \"T4\", \"library_dirs\": [\"/l\"]}");
		if (!cases[i].words) {
			assert_string_equal(plans_word(made, "link", 0), "nvcc");
			continue;
		}
		int len = (int)strlen(cases[i].libraries) - 2;
		buf_printf(&wanted,
			"g++ %ss.cu.o -o out/program -L/l -Wl,--disable-new-dtags -Wl,-rpath=/l " PLACES
			" -l@LIBRARY:%.*s@ -l@LIBRARY:z@ " RUNTIME,
			cases[i].words, len, cases[i].libraries + 1);
		plans_expect(made, "link", "argv", wanted.data);
	}
}

/* The flag for lambdas of device code is left out only if there cannot be one. */
static void
test_lambda(void **state)
{
	static const struct {
		bool may;
		const char *text;
	} cases[] = {
		{false, "#include <vector>\n#include \"task.h\"\nint x = a[1] + b[2];\n"},
		{false, "// c[i] is a word in a comment\n/* [] __device__ */ const char *s = \"[] __device__ \\\" ] x\";\n"},
		{false,
			"[[nodiscard]] int f(); auto g = [&](int i) { return i; }; void h(char *p) { delete[] p; delete [] p; }\n"},
		{false, "int n = 1'000; char c = ']'; __launch_bounds__(256) __global__ void k(float *x) { x[0] = 1; }\n"},
		{false, "__host__ __device__ int operator[](int i) const;\n# include <cuda_fp16.h>\n"},
		{true, "auto f = [] __device__ (int i) { return i; };\n"},
		{true, "auto f = [=]\\\n  __host__ __device__ (int i) { return i; };\n"},
		{true, "auto f = [=] /* here */ KERNEL_LAMBDA (int i) { return i; };\n"},
		{true, "auto f = [] (int i) __device__ { return i; };\n"},
		{true, "#include <thrust/for_each.h>\n"},
		{true, "#include <kit.h>\n"},
		{true, "#include <nvfunctional>\n"},
		{true, "#include NAME\n"},
		{true, "#include \"other.cuh\"\n"},
		{true, "#include \"missing.h\"\n"},
		{true, "#ifdef __CUDACC_EXTENDED_LAMBDA__\n#endif\n"},
		{true, "const char *s = R\"(\")\";\n"},
		{true, "auto f = <::> __device__ (int i) { return i; };\n"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *files = json_pack("{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}", "s.cu", "text", cases[i].text,
			"task.h", "text", "#include \"task.h\"\n#include <stdio.h>\n", "inc/other.cuh", "text",
			"#include \"more.h\"\n", "more.h", "text", "auto f = [] HERE (int i) { return i; };\n");
		if (lambda_may_be_in(files, "s.cu") != cases[i].may)
			fail_msg("%s", cases[i].text);
	}
	AUTO_JSON json_t *coded = json_pack("{s:{s:s}}", "s.cu", "base64", "");
	assert_true(lambda_may_be_in(coded, "s.cu"));
	/* The longest name that there is room for, and a longer one. */
	for (int len = 255; len <= 256; len++) {
		AUTO_FREE char *text = xasprintf("#include <%0*d>\n", len, 0);
		AUTO_JSON json_t *files = json_pack("{s:{s:s}}", "s.cu", "text", text);
		assert_int_equal(lambda_may_be_in(files, "s.cu"), len > 255);
	}
}

/* Mistakes of the task are refused on any device. */
static void
test_refuses(void **state)
{
	(void)state;
	plans_refused("s.cu", "{\"sources\": [\"s.cu\", \"eval.cu\"]}", "{\"name\": \"check\"}", KETTLE_EINVAL,
		"The task's config lists `eval.cu` in `sources`, but no entry of its `files` has that name.");
	plans_refused("s.cu t.cuh", "{\"sources\": [\"t.cuh\"]}", "{\"name\": \"H100\"}", KETTLE_EINVAL,
		"The task's config lists `t.cuh` in `sources`, but a source in CUDA ends in .cu, .cpp, .cc, .cxx or .c.");
	plans_refused("s.cuh", NULL, "{\"name\": \"H100\"}", KETTLE_EINVAL,
		"The task has nothing to compile: none of its files ends in .cu, .cpp, .cc, .cxx or .c.");
}

#define BUILD(target, task_only) \
	"{\"kind\": \"build\", \"task_only\": " task_only ", \"argv\": [\"nvcc\", \"-gencode=arch=compute_" target \
	",code=sm_" target "\"]}"
static const char build[] = BUILD("103a", "true"), old[] = BUILD("70", "true");
/* The same of steps that read the submission. */
static const char mixed[] = BUILD("103a", "false"), mixed_old[] = BUILD("70", "false");
static const char run[] = "{\"kind\": \"run\", \"run\": {\"mode\": \"test\"}, \"env\": {\"KETTLE_DEVICE\": \"H100\"}}";
static const struct {
	const char *step, *state, *exit, *version, *text, *means, *blame, *sentence;
} explained[] = {
	{build, "failed", "1", "12.4.131", "nvcc fatal   : Unsupported gpu architecture 'compute_103a'\n", "error",
		"machine",
		"The machine has CUDA 12.4, which does not support the device's architecture sm_103a; the first that "
		"does is "
		"CUDA 12.9."},
	{old, "failed", "1", "13.0.88", "nvcc fatal   : Unsupported gpu architecture 'compute_70'\n", "error", "machine",
		"The machine has CUDA 13.0, which does not support the device's architecture sm_70; the last that "
		"does is "
		"CUDA 12.9."},
	{build, "failed", "1", "13.0.88", "nvcc fatal   : Unknown option '-foo'\n", "error", "task",
		"The compiler rejects the options of the task or the configuration: nvcc fatal   : Unknown option '-foo'"},
	{build, "failed", "1", "12.0.1",
		"x\n/usr/include/crt/host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later "
		"than 12 "
		"are not supported!\n",
		"error", "machine",
		"The machine cannot compile: /usr/include/crt/host_config.h:132:2: error: #error -- unsupported "
		"GNU "
		"version! gcc versions later than 12 are not supported!"},
	{build, "failed", "1", "13.0.88", "/usr/bin/ld: cannot find -lcublas: No such file or directory\n", "error",
		"machine",
		"The machine lacks the library `cublas`: install its development package, or add its folder to the device's "
		"`library_dirs`."},
	{build, "failed", "1", "13.0.88", "cc1plus: error: /opt/cuda/include/cccl: Permission denied\n", "error", "machine",
		"The machine cannot compile: cc1plus: error: /opt/cuda/include/cccl: Permission denied"},
	{build, "failed", "1", "13.0.88", "s.cu(3): error: identifier \"foo\" is undefined\n", NULL, NULL, NULL},
	{mixed, "failed", "1", "12.4.131", "nvcc fatal   : Unsupported gpu architecture 'compute_103a'\n", "error",
		"machine",
		"The machine has CUDA 12.4, which does not support the device's architecture sm_103a; the first that "
		"does is CUDA 12.9."},
	{mixed, "failed", "1", "13.0.88", "s.cu(1): error: #error Unsupported gpu architecture\n", NULL, NULL, NULL},
	{mixed_old, "failed", "1", "12.4.131", "s.cu(1): error: #error Unsupported gpu architecture\n", NULL, NULL, NULL},
	{mixed, "failed", "1", "13.0.88", "s.cu(1): error: #error nvcc fatal\n", NULL, NULL, NULL},
	{mixed, "failed", "1", "13.0.88", "s.cu(1): error: #error unsupported GNU version\n", NULL, NULL, NULL},
	{mixed, "failed", "1", "13.0.88", "s.cu(1): error: #error rtc: the toolkit has no nvrtc\n", NULL, NULL, NULL},
	{mixed, "failed", "1", "13.0.88", "a.o: warning: ld: cannot find -lcublas: No such file\n", NULL, NULL, NULL},
	{run, "failed", "110", "", "CUDA error: no CUDA-capable device is detected\n", NULL, NULL, NULL},
	{run, "failed", "127", "",
		"./program: error while loading shared libraries: libcuda.so.1: cannot open shared object "
		"file: No such file or directory\n",
		NULL, NULL, NULL},
	{run, "failed", "110", "", "no kernel image is available for execution on the device\n", NULL, NULL, NULL},
	{run, "failed", "110", "", "eval.cu:9: an illegal memory access was encountered\n", "failed", "participant",
		"The test run failed on the GPU: eval.cu:9: an illegal memory access was encountered"},
	{run, "failed", "112", "", "an illegal memory access was encountered\n", NULL, NULL, NULL},
	{run, "failed", "110", "", "something else\n", NULL, NULL, NULL},
	{run, "passed", "0", "", "no CUDA-capable device is detected\n", NULL, NULL, NULL},
};

static void
test_explains(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(explained); i++) {
		AUTO_JSON json_t *outcome = json_pack("{s:s, s:o, s:{s:s}, s:{s:s}}", "state", explained[i].state, "exit",
			json_integer(strtol(explained[i].exit, NULL, 10)), "tool", "version", explained[i].version, "stderr",
			"text", explained[i].text);
		plans_explained(explained[i].step, outcome, explained[i].means, explained[i].blame, explained[i].sentence);
	}
	/* Of a run, the harness itself says that it is the machine. */
	static const char *const claimed[][2] = {
		{"CUDA error: no CUDA-capable device is detected", "The task needs a CUDA device, but H100 has none that "
														   "works: CUDA error: no CUDA-capable device is detected"},
		{"no kernel image is available for execution on the device",
			"The program was built for another GPU than the unit of H100 has, or for a newer driver; its `sm` may be "
			"wrong: no kernel image is available for execution on the device"},
		{"an illegal memory access was encountered", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(claimed); i++) {
		AUTO_JSON json_t *outcome = json_pack("{s:s, s:i, s:{s:s}, s:{s:s}}", "state", "failed", "exit", 110, "stderr",
			"text", claimed[i][0], "result", "fault", "machine");
		const char *sentence = claimed[i][1];
		plans_explained(run, outcome, sentence ? "error" : NULL, sentence ? "machine" : NULL, sentence);
		json_object_set_new(outcome, "exit", json_integer(1));
		plans_explained(run, outcome, NULL, NULL, NULL);
	}
	AUTO_JSON json_t *missing = json_pack("{s:s, s:s, s:s}", "state", "error", "missing", "nvcc", "error",
		"This machine has no `nvcc`: it is not there.");
	plans_explained(build, missing, "error", "machine",
		"The machine lacks the CUDA toolkit. This machine has no `nvcc`: it is not there.");
}

/* The outcome of a step on a machine whose toolkit lacks cuBLAS and NVRTC. New. */
static json_t *
outcome_without_parts(const char *text)
{
	static const char parts[] =
		"[{\"name\": \"cuBLAS\", \"present\": false, \"headers\": [\"cublas\"], \"libraries\": [\"cublas\"], "
		"\"how\": \"do so\"}, {\"name\": \"NVRTC\", \"present\": false, \"headers\": [\"nvrtc.h\"], \"libraries\": "
		"[\"nvrtc\"], \"how\": \"do so\"}, {\"name\": \"cuRAND\", \"present\": true, \"headers\": [\"curand\"], "
		"\"libraries\": [\"curand\"], \"how\": \"do so\"}]";
	return json_pack("{s:s, s:i, s:{s:s}, s:{s:s, s:o}}", "state", "failed", "exit", 1, "stderr", "text", text,
		"toolkit", "home", "/opt/cuda", "parts", json_loads(parts, 0, NULL));
}

#define LACKS(name, file) \
	"The machine lacks " name ": its CUDA toolkit in /opt/cuda has no `" file "`. To get it: do so."

/*
 * A file of a part that the machine's toolkit lacks is the machine's fault where the task needs it; the sentence tells how to
 * get it. What a submission alone asks for, or says that it does, is its own.
 */
static void
test_lacks(void **state)
{
	static const struct {
		const char *text, *alone, *mixed, *sentence;
	} cases[] = {
		{"s.cu:1:10: fatal error: cublas_v2.h: No such file or directory\n", "machine", "participant",
			LACKS("cuBLAS", "cublas_v2.h")},
		{"/usr/bin/ld: cannot find -lcublasLt: No such file or directory\n", "machine", "machine",
			LACKS("cuBLAS", "cublasLt")},
		{"/usr/bin/ld: cannot find -lcublas: No such file or directory\n", "machine", "machine",
			LACKS("cuBLAS", "cublas")},
		{"/usr/bin/ld: cannot find -lcublasXt: No such file or directory\n", "machine", NULL,
			LACKS("cuBLAS", "cublasXt")},
		{"/usr/bin/ld: cannot find -lown: No such file or directory\n", "machine", NULL,
			"The machine lacks the library `own`: install its development package, or add its folder to the device's "
			"`library_dirs`."},
		{"rtc: the toolkit has no nvrtc\n", "machine", NULL,
			"The machine cannot compile: rtc: the toolkit has no nvrtc"},
		{"s.cu:1:10: fatal error: own.h: No such file or directory\n", NULL, NULL, NULL},
		{"s.cu:1:10: fatal error: curand.h: No such file or directory\n", NULL, NULL, NULL}, /* which is there */
		{"/usr/bin/ld: cannot find -lcurand: No such file or directory\n", "machine", NULL,
			"The machine lacks the library `curand`: install its development package, or add its folder to the "
			"device's `library_dirs`."},
	};
	static const char *const steps[] = {
		"{\"kind\": \"build\", \"task_only\": true, \"argv\": [\"g++\"]}",
		"{\"kind\": \"build\", \"task_only\": false, \"argv\": [\"g++\", \"-lcublasLt\", \"-l@LIBRARY:cublas@\", "
		"\"-lown\", \"-lcurand\"]}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *outcome = outcome_without_parts(cases[i].text);
		for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
			const char *blame = k ? cases[i].mixed : cases[i].alone;
			plans_explained(steps[k], outcome,
				!blame                          ? NULL
				: strcmp(blame, "machine") == 0 ? "error"
												: "failed",
				blame, blame ? cases[i].sentence : NULL);
		}
		plans_explained(run, outcome, NULL, NULL, NULL);
	}
	AUTO_JSON json_t *outcome = outcome_without_parts("rtc: the toolkit has no nvrtc\n");
	plans_explained("{\"kind\": \"build\", \"id\": \"rtc-submission\", \"task_only\": false}", outcome, "error",
		"machine", LACKS("NVRTC", "nvrtc"));
}

/* A probe needs what the task needs of the machine; a task that needs nothing special has none. */
static void
test_probe(void **state)
{
	static const struct {
		const char *config, *header, *text;
	} cases[] = {
		{"{\"sources\": [\"s.cu\", \"e.cu\"], \"libraries\": [\"cublas\"]}", "", "int main() { return 0; }\n"},
		{"{}",
			"  # include <cutlass/numeric_types.h>\n#include \"cute/own.h\"\n#include <vector>\n// #include "
			"<nvrtc.h>\n",
			"#include <cutlass/numeric_types.h>\nint main() { return 0; }\n"},
		{"{\"rtc\": true}", "", "int main() { return 0; }\n"},
		{"{}", "#include <cuda_runtime.h>\n", NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *config = json_loads(cases[i].config, 0, NULL), *made = NULL;
		AUTO_JSON json_t *task = json_pack("{s:O}", "config", config);
		AUTO_JSON json_t *files = json_pack("{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}", "s.cu", "text", "", "e.cu", "text",
			"", "e.h", "text", cases[i].header, "cute/own.h", "text", "");
		AUTO_JSON json_t *runs = json_array(), *unit = json_pack("{s:s}", "name", "T4");
		struct kettle_error err = {0};
		const struct kettle_plan_request request = {.size = sizeof(request),
			.task = task,
			.files = files,
			.submission = "s.cu",
			.mode = "test",
			.device = unit,
			.runs = runs};
		int rc = kettle_plugin.language->probe(plans_self, &request, &made, &err);
		assert_int_equal(rc, cases[i].text ? 0 : KETTLE_ENOENT);
		if (!cases[i].text)
			continue;
		bool rtc = json_is_true(json_object_get(config, "rtc"));
		plans_expect(made, "compile-0", "inputs", "probe.cu");
		plans_expect(made, "link", "inputs", "probe.cu.o");
		const json_t *own = json_object_get(json_object_get(made, "files"), "probe.cu");
		assert_string_equal(json_string_value(json_object_get(own, "text")), cases[i].text);
		assert_int_equal(json_array_size(json_object_get(made, "steps")), rtc ? 4 : 2);
	}
}

/* A toolkit is named by its compiler; only one of the two options may name it. */
static void
test_toolkit(void **state)
{
	(void)state;
	void *mine = plans_self;
	struct kettle_error err = {0};
	void *other = plans_instance(json_pack("{s:s, s:s}", "nvcc", "nvcc", "toolkit", "/opt/venv"));
	AUTO_JSON json_t *both = json_pack("{s:s, s:s}", "nvcc", "/opt/cuda/bin/nvcc", "toolkit", "/opt/venv");
	AUTO_JSON json_t *relative = json_pack("{s:s, s:s}", "nvcc", "nvcc", "toolkit", "venv");
	plans_self = other;
	AUTO_JSON json_t *made = plans_good("s.cu", NULL, "{\"name\": \"T4\"}");
	plans_self = mine;
	AUTO_JSON json_t *tools = kettle_plugin.language->tools(other);
	assert_string_equal(plans_word(made, "compile-0", 0), "/opt/venv/bin/nvcc");
	plans_expect(made, "link", "toolchain", "/opt/venv/bin/nvcc");
	plans_expect(made, "test", "toolchain", "/opt/venv/bin/nvcc");
	assert_string_equal(json_string_value(json_array_get(tools, 0)), "/opt/venv/bin/nvcc");
	assert_int_equal(kettle_plugin.configure(other, both, &err), KETTLE_EINVAL);
	assert_string_equal(
		err.message, "`nvcc` and `toolkit` both name a compiler: leave `nvcc` out where `toolkit` is /opt/venv.");
	assert_int_equal(kettle_plugin.configure(other, relative, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "`toolkit` must be the absolute path of a folder, not `venv`.");
	kettle_plugin.destroy(other);
}

/* The harness's message on a case counts like its output. */
static void
test_reported(void **state)
{
	(void)state;
	AUTO_JSON json_t *outcome = json_pack(
		"{s:s, s:i, s:{s:s}}", "state", "failed", "exit", 110, "result", "test.0.error", "misaligned address");
	plans_explained("{\"kind\": \"run\", \"run\": {\"mode\": \"benchmark\"}}", outcome, "failed", "participant",
		"The benchmark run failed on the GPU: misaligned address");
}

static void
test_options(void **state)
{
	(void)state;
	void *mine = plans_self;
	plans_self = plans_instance(
		json_pack("{s:s, s:s, s:[s]}", "nvcc", "/opt/cuda/bin/nvcc", "host_compiler", "g++-12", "flags", "-lineinfo"));
	void *other = plans_self;
	AUTO_JSON json_t *made = plans_good("s.cu", NULL, "{\"name\": \"T4\"}");
	AUTO_JSON json_t *tools = kettle_plugin.language->tools(other);
	plans_self = mine;
	plans_expect(made, "compile-0", "argv",
		"/opt/cuda/bin/nvcc -gencode=arch=compute_75,code=sm_75 " FLAGS " -ccbin=g++-12 -lineinfo -std=c++20 " BEHIND
		" -c s.cu -o out/s.cu.o");
	plans_expect(made, "compile-0", "toolchain", "g++-12");
	assert_string_equal(json_string_value(json_array_get(tools, 0)), "/opt/cuda/bin/nvcc");
	kettle_plugin.destroy(other);
}

/* A submission of device code alone is compiled by a library, and nothing else depends on it. */
static void
test_rtc(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = plans_good("submission.cu eval.cu task.h",
		"{\"rtc\": true, \"defines\": {\"N\": 4}, \"rtc_flags\": [\"-x\"], \"compile_flags\": [\"-y\"]}",
		"{\"name\": \"H100\", \"include_dirs\": [\"/opt/kit\"]}");
	plans_expect(made, "rtc", "argv", "g++ -O1 -std=c++17 rtc.cpp -o out/rtc -ldl");
	plans_expect(made, "rtc-submission", "argv",
		"./rtc nvrtc submission.cu out/submission.cubin -L@TOOLKIT_LIB@ --gpu-architecture=sm_90a -default-device -I. "
		"-I@TOOLKIT@/include -I@TOOLKIT@/include/cccl -I@TOOLKIT_INCLUDE@ -DN=4 -x -I/opt/kit");
	plans_expect(made, "rtc-submission", "inputs", "submission.cu task.h rtc");
	plans_expect(made, "rtc-submission", "toolchain", "nvcc");
	plans_expect(made, "compile-0", "inputs", "eval.cu task.h");
	plans_expect(made, "link", "inputs", "eval.cu.o");
	plans_expect(made, "test", "inputs", "program submission.cubin");
	plans_expect(made, "test", "needs", "rtc-submission link");
	plans_refused("submission.cu", "{\"rtc\": true, \"sources\": [\"submission.cu\"]}", "{\"name\": \"H100\"}",
		KETTLE_EINVAL,
		"The task's config lists the submission `submission.cu` in `sources`, but with `rtc` it is compiled by "
		"itself.");
}

static void
test_single(void **state)
{
	(void)state;
	plans_single("cu", "relu.cuh", "CUDA");
}

static void
test_table(void **state)
{
	(void)state;
	plans_table("cu", "//", "plugins/languages/cu/kettle-cu.7");
}

static int
setup(void **state)
{
	(void)state;
	plans_self = plans_instance(json_pack("{s:s}", "nvcc", "nvcc"));
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_plan),
	cmocka_unit_test(test_host),
	cmocka_unit_test(test_config),
	cmocka_unit_test(test_not_apart),
	cmocka_unit_test(test_profile),
	cmocka_unit_test(test_link),
	cmocka_unit_test(test_lambda),
	cmocka_unit_test(test_targets),
	cmocka_unit_test(test_refuses),
	cmocka_unit_test(test_explains),
	cmocka_unit_test(test_lacks),
	cmocka_unit_test(test_probe),
	cmocka_unit_test(test_toolkit),
	cmocka_unit_test(test_reported),
	cmocka_unit_test(test_options),
	cmocka_unit_test(test_rtc),
	cmocka_unit_test(test_single),
	cmocka_unit_test(test_table),
};

UNIT_TESTS(test_cu, .setup = setup, .teardown = plans_teardown);
