/* SPDX-License-Identifier: MIT */
/* The language hip, driven without core and host: what it plans for which device, what it refuses, what it explains. */
#include <config.h>

#include <kettle/explain.h>
#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "lib/unit_test.h"
#include "plugins/plans.h"

static void
test_host(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = plans_given_good((struct plans_given){.names = "submission.hip eval.cu",
		.device = "{\"name\": \"MI300\"}",
		.others = "// kettle-host: supervised\n"});
	plans_expect(made, "compile-1", "argv",
		"hipcc --offload-arch=gfx942 -O3 -DNDEBUG -fPIC -std=c++20 -x hip -c eval.cu -o out/eval.cu.o");
	plans_expect(made, "link", "argv",
		"hipcc --offload-arch=gfx942 -O3 -DNDEBUG -Wl,--defsym=kettle_harness=kettle_harness_start "
		"-Wl,-init=kettle_harness_start -shared -Wl,--entry=main "
		"-Wl,-Bsymbolic "
		"-Wl,-zdefs submission.hip.o eval.cu.o -o out/program -L@TOOLKIT@/lib -Wl,-rpath=@TOOLKIT@/lib -lz");
	assert_string_equal(kettle_json_text(plans_step(made, "test"), "host"), "supervised");
}

static void
test_plan(void **state)
{
	(void)state;
	AUTO_JSON json_t *made =
		plans_good("submission.hip eval.cu a.cpp c.c gpu.h data.bin", NULL, "{\"name\": \"MI300x8\"}");
	plans_expect(made, "compile-0", "argv",
		"hipcc --offload-arch=gfx942 -O3 -DNDEBUG -std=c++20 -x hip -c submission.hip -o out/submission.hip.o");
	plans_expect(made, "compile-1", "argv",
		"hipcc --offload-arch=gfx942 -O3 -DNDEBUG -std=c++20 -x hip -c eval.cu -o out/eval.cu.o");
	plans_expect(made, "compile-2", "argv",
		"hipcc --offload-arch=gfx942 -O3 -DNDEBUG -std=c++20 -x hip -c a.cpp -o out/a.cpp.o");
	plans_expect(made, "compile-3", "argv", "hipcc --offload-arch=gfx942 -O3 -DNDEBUG -c c.c -o out/c.c.o");
	plans_expect(made, "compile-1", "inputs", "eval.cu gpu.h data.bin");
	plans_expect(made, "link", "argv",
		"hipcc --offload-arch=gfx942 -O3 -DNDEBUG submission.hip.o eval.cu.o a.cpp.o c.c.o -o out/program "
		"-L@TOOLKIT@/lib -Wl,-rpath=@TOOLKIT@/lib -lz");
	plans_expect(made, "link", "needs", "apart compile-1 compile-2 compile-3");
	plans_expect(made, "apart", "inputs", "submission.hip.o wanted");
	AUTO_JSON json_t *linked = plans_good("submission.hip eval.hip", "{\"rdc\": true}", "{\"name\": \"MI300\"}");
	plans_expect(linked, "link", "needs", "compile-0 compile-1");
	plans_expect(made, "test", "inputs", "data.bin program");
	assert_string_equal(plans_text(made, "test", "env", "KETTLE_DEVICE"), "MI300x8");
	static const char *const steps[] = {"compile-0", "compile-3", "link", "test", "benchmark"};
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		assert_string_equal(plans_text(made, steps[i], "env", "HIP_PLATFORM"), "amd");
}

static void
test_profile(void **state)
{
	(void)state;
	plans_profile("a.hip", "{\"name\": \"MI300\"}", "rocprofv3", "trace.pftrace", NULL);
}

static void
test_config(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = plans_good("s.h eval.hip",
		"{\"sources\": [\"eval.hip\"], \"include_dirs\": [\".\"], \"defines\": {\"N\": 4}, \"compile_flags\": "
		"[\"-ffast-math\"], \"libraries\": [\"rocblas\"], \"standard\": \"c++17\", \"rdc\": true}",
		"{\"name\": \"gpu\", \"gfx\": \"gfx90a:xnack-\", \"include_dirs\": [\"/opt/ck\"], \"library_dirs\": "
		"[\"/opt/lib\"]}");
	plans_expect(made, "compile-0", "argv",
		"hipcc --offload-arch=gfx90a:xnack- -O3 -DNDEBUG -fgpu-rdc -std=c++17 -DN=4 -I. -ffast-math -I/opt/ck -x hip "
		"-c "
		"eval.hip -o out/eval.hip.o");
	plans_expect(made, "link", "argv",
		"hipcc --offload-arch=gfx90a:xnack- -O3 -DNDEBUG -fgpu-rdc --hip-link -ffast-math eval.hip.o -o out/program "
		"-L/opt/lib -Wl,-rpath=/opt/lib -L@TOOLKIT@/lib -Wl,-rpath=@TOOLKIT@/lib -lrocblas -lz");
	plans_expect(made, "compile-0", "folders", "/opt/ck /opt/lib");
	plans_expect(made, "test", "folders", "/opt/lib");
}

static void
test_targets(void **state)
{
	static const struct {
		const char *device, *target;
	} good[] = {
		{"{\"name\": \"MI250\"}", "gfx90a"},
		{"{\"name\": \"mi300x\"}", "gfx942"},
		{"{\"name\": \"MI355X\"}", "gfx950"},
		{"{\"name\": \"MI300\", \"gfx\": \"1100\"}", "gfx1100"},
		{"{\"name\": \"mine\", \"gfx\": \"native\", \"facts\": {\"gpu\": {\"gfx\": \"gfx942\"}}}", "gfx942"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		AUTO_JSON json_t *made = plans_good("s.hip", NULL, good[i].device);
		AUTO_BUF struct buf wanted = {0};
		buf_printf(&wanted, "--offload-arch=%s", good[i].target);
		assert_string_equal(plans_word(made, "compile-0", 1), wanted.data);
	}
	plans_refused("s.hip", NULL, "{\"name\": \"H100\"}", KETTLE_EUNAVAIL,
		"The task needs a GPU of AMD's, and `H100` is not known to be one: its operator can set `gfx` in the "
		"configuration of the "
		"device.");
	plans_refused("s.hip", NULL, "{\"name\": \"MI300\", \"gfx\": \"gfx942 -x\"}", KETTLE_EINVAL,
		"The device `MI300` has `gfx: gfx942 -x`, which is not an architecture.");
	plans_refused("s.hip t.h", "{\"sources\": [\"t.h\"]}", "{\"name\": \"MI300\"}", KETTLE_EINVAL,
		"The task's config lists `t.h` in `sources`, but a source in HIP ends in .hip, .cu, .cpp, .cc, .cxx or .c.");
}

static void
test_explains(void **state)
{
	static const char build[] =
		"{\"kind\": \"build\", \"task_only\": true, \"argv\": [\"hipcc\", \"--offload-arch=gfx942\"]}";
	static const char mixed[] = "{\"kind\": \"build\", \"argv\": [\"hipcc\", \"--offload-arch=gfx90a\"]}";
	static const char run[] =
		"{\"kind\": \"run\", \"run\": {\"mode\": \"test\"}, \"env\": {\"KETTLE_DEVICE\": \"MI300\"}}";
	static const struct {
		const char *step;
		int status;
		const char *text, *means, *blame, *sentence;
	} cases[] = {
		{build, 1, "clang: error: invalid target ID 'gfx942'; format is a processor name\n", "error", "machine",
			"The machine has ROCm 5.2, which does not support the device's architecture gfx942; the first that "
			"does is "
			"ROCm 6.0."},
		{build, 1, "clang: error: unknown argument: '-foo'\n", "error", "task",
			"The compiler rejects the options of the task or the configuration: clang: error: unknown argument: "
			"'-foo'"},
		{build, 1, "s.hip:3:28: error: use of undeclared identifier 'b'\n", NULL, NULL, NULL},
		{mixed, 1, "s.hip:1:2: error: invalid target ID\n", NULL, NULL, NULL},
		{mixed, 1, "s.hip:1:2: error: unknown argument\n", NULL, NULL, NULL},
		{mixed, 1, "s.hip:1:2: error: cannot find HIP runtime\n", NULL, NULL, NULL},
		{run, 110, "HIP error: hipErrorNoDevice\n", NULL, NULL, NULL},
		{run, 110, "hipErrorIllegalAddress\n", "failed", "participant",
			"The test run failed on the GPU: hipErrorIllegalAddress"},
		{run, 110, "else\n", NULL, NULL, NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *outcome = json_pack("{s:s, s:i, s:{s:s}, s:{s:s}}", "state", "failed", "exit",
			cases[i].status, "tool", "version", "5.2.21153", "stderr", "text", cases[i].text);
		plans_explained(cases[i].step, outcome, cases[i].means, cases[i].blame, cases[i].sentence);
	}
	AUTO_JSON json_t *claimed = json_pack("{s:s, s:i, s:{s:s}, s:{s:s}}", "state", "failed", "exit", 110, "stderr",
		"text", "HIP error: hipErrorNoDevice\n", "result", "fault", "machine");
	plans_explained(run, claimed, "error", "machine",
		"The task needs a GPU of AMD's, but MI300 has none that works: HIP error: hipErrorNoDevice");
	AUTO_JSON json_t *missing =
		json_pack("{s:s, s:s, s:s}", "state", "error", "missing", "hipcc", "error", "This machine has no `hipcc`.");
	plans_explained(
		build, missing, "error", "machine", "The machine lacks ROCm's compiler. This machine has no `hipcc`.");
}

/* A submission of device code alone is compiled by a library, and nothing else depends on it. */
static void
test_rtc(void **state)
{
	(void)state;
	AUTO_JSON json_t *made = plans_good("submission.hip eval.hip task.h",
		"{\"rtc\": true, \"defines\": {\"N\": 4}, \"rtc_flags\": [\"-x\"], \"compile_flags\": [\"-y\"]}",
		"{\"name\": \"MI300\", \"include_dirs\": [\"/opt/kit\"]}");
	plans_expect(made, "rtc", "argv", "g++ -O1 -std=c++17 rtc.cpp -o out/rtc -ldl");
	plans_expect(made, "rtc-submission", "argv",
		"./rtc hiprtc submission.hip out/submission.hsaco -L@TOOLKIT_LIB@ --offload-arch=gfx942 -O3 -I. -DN=4 -x "
		"-I/opt/kit");
	plans_expect(made, "rtc-submission", "inputs", "submission.hip task.h rtc");
	plans_expect(made, "rtc-submission", "toolchain", "hipcc");
	assert_string_equal(plans_text(made, "rtc-submission", "env", "HIP_PLATFORM"), "amd");
	plans_expect(made, "compile-0", "inputs", "eval.hip task.h");
	plans_expect(made, "link", "inputs", "eval.hip.o");
	plans_expect(made, "test", "inputs", "program submission.hsaco");
	plans_expect(made, "test", "needs", "rtc-submission link");
	plans_refused("submission.hip", "{\"rtc\": true, \"sources\": [\"submission.hip\"]}", "{\"name\": \"MI300\"}",
		KETTLE_EINVAL,
		"The task's config lists the submission `submission.hip` in `sources`, but with `rtc` it is compiled by "
		"itself.");
}

static void
test_single(void **state)
{
	(void)state;
	plans_single("hip", "relu.hip", "HIP");
}

static void
test_table(void **state)
{
	(void)state;
	plans_table("hip", "//", "plugins/languages/hip/kettle-hip.7");
}

static int
setup(void **state)
{
	(void)state;
	plans_self = plans_instance(json_pack("{s:s}", "hipcc", "hipcc"));
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_plan),
	cmocka_unit_test(test_host),
	cmocka_unit_test(test_config),
	cmocka_unit_test(test_profile),
	cmocka_unit_test(test_targets),
	cmocka_unit_test(test_explains),
	cmocka_unit_test(test_rtc),
	cmocka_unit_test(test_single),
	cmocka_unit_test(test_table),
};

UNIT_TESTS(test_hip, .setup = setup, .teardown = plans_teardown);
