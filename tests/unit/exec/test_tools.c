/* SPDX-License-Identifier: MIT */
/* The machine's tools: versions out of what they print, where they lie, fingerprints that notice a change. */
#include <config.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/machine/machine.h"
#include "exec/tools/tools.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

static void
finds_versions(void **state)
{
	(void)state;
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{"g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022\n", "12.2.0"},
		{"Debian clang version 14.0.6\nTarget: x86_64\n", "14.0.6"},
		{"nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA\nCuda compilation tools, release 13.0, "
		 "V13.0.88\n",
			"13.0.88"},
		{"HIP version: 5.2.21153-0\n", "5.2.21153"},
		{"Python 3.11.7", "3.11.7"},
		{"GNU ld (GNU Binutils for Debian) 2.40\n", "2.40"},
		{"no number", ""},
		{"", ""},
		{"version 7\n", ""},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char version[64];
		tool_probe_version(cases[i].text, version, sizeof(version));
		assert_string_equal(version, cases[i].wanted);
	}
	char small[4];
	tool_probe_version("1.2.3.4.5", small, sizeof(small));
	assert_string_equal(small, "1.2");
}

static void
runs_commands(void **state)
{
	(void)state;
	struct command commands[] = {
		{.argv = {"/bin/sh", "-c", "echo first; echo second"}},
		{.argv = {"/bin/sh", "-c", "echo no; exit 3"}},
		{.argv = {"/no/such/program"}},
		{.argv = {"/bin/sh", "-c", "yes | head -c 1000000"}},
		{.argv = {"/bin/sh", "-c", "yes | head -c 100000 >&2; printf '\\n last\\tline \\n\\n' >&2; kill -9 $$"},
			.explained = true},
	};
	tool_query_run(commands, ARRAY_SIZE(commands), NULL);
	assert_true(commands[0].passed);
	assert_string_equal(tool_query_line(&commands[0]), "first");
	assert_false(commands[1].passed);
	assert_false(commands[2].passed);
	assert_string_equal(tool_query_line(&commands[2]), "");
	assert_true(commands[3].output.len <= COMMAND_MAX_OUTPUT + 4096);
	const enum command_end ends[] = {
		COMMAND_EXITED, COMMAND_EXITED, COMMAND_NOT_STARTED, COMMAND_EXITED, COMMAND_SIGNALED};
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		assert_int_equal(commands[i].end, ends[i]);
	assert_true(commands[1].code == 3 && commands[2].code == ENOENT && commands[4].code == SIGKILL);
	assert_string_equal(commands[0].last_line, "");
	assert_string_equal(commands[4].last_line, "last line");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		buf_free(&commands[i].output);
	tool_query_run(NULL, 0, NULL);
}

/* Makes a file below a folder, with the folders above it. */
static void
put(const char *dir, const char *name, const char *text, int mode)
{
	AUTO_FREE char *path = path_join(dir, name);
	AUTO_FREE char *folder = path_above(path, 1);
	assert_int_equal(file_mkdirs(folder, 0755, NULL), 0);
	assert_int_equal(file_write(path, text, strlen(text), mode, NULL), 0);
}

static void
write_tool(const char *dir, const char *name, const char *version)
{
	AUTO_BUF struct buf text = {0};
	buf_printf(&text, "#!/bin/sh\necho tool %s\n", version);
	put(dir, name, text.data, 0755);
}

static void
finds_tools(void **state)
{
	(void)state;
	char *dir = scratch_make();
	AUTO_FREE char *bin = path_join(dir, "prefix/bin");
	AUTO_FREE char *memory = path_join(dir, "tools.json");
	AUTO_FREE char *tool_path = path_join(bin, "mytool");
	write_tool(bin, "mytool", "1.5");
	AUTO_JSON json_t *tools = json_pack("{s:s, s:s}", "mytool", tool_path, "gone", "/no/such/tool");
	struct execconfig config = {.tools = tools};
	struct toolchain *toolchain = toolchain_new(&config, memory);
	const struct tool *tool = NULL;
	struct kettle_error err = {0};
	assert_int_equal(toolchain_find(toolchain, "mytool", &tool, &err), 0);
	assert_string_equal(tool->path, tool_path);
	assert_int_equal(tool->roots_count, 1);
	assert_non_null(strstr(tool->roots[0], "/prefix"));
	assert_null(strstr(tool->roots[0], "/bin"));
	assert_int_equal(toolchain_find(toolchain, "sh", &tool, &err), 0);
	assert_int_equal(tool->roots_count, 0);
	assert_int_equal(toolchain_find(toolchain, "gone", &tool, &err), KETTLE_ENOENT);
	assert_non_null(strstr(err.message, "/no/such/tool"));
	assert_int_equal(toolchain_find(toolchain, "no-such-tool-here", &tool, &err), KETTLE_ENOENT);
	struct tool_report report = toolchain_report(toolchain);
	assert_string_equal(json_string_value(json_object_get(report.versions, "mytool")), "1.5");
	tool_report_free(&report);
	toolchain_free(toolchain);
	scratch_remove(dir);
}

/* Probes a script as the tool `name` of version 1.5; what the script wrote to the file `left` in the folder, a new string. */
static char *
probe_script(const char *dir, const char *name, const char *script, json_t *env, const char *left)
{
	AUTO_FREE char *memory = path_join(dir, "tools.json");
	AUTO_FREE char *path = path_join(dir, name);
	AUTO_FREE char *file = path_join(dir, left);
	AUTO_JSON json_t *tools = json_pack("{s:s}", name, path);
	struct execconfig config = {.tools = tools, .env = env};
	char *text = NULL;
	size_t size = 0;
	assert_int_equal(file_write(path, script, strlen(script), 0755, NULL), 0);
	struct toolchain *toolchain = toolchain_new(&config, memory);
	struct tool_report report = toolchain_report(toolchain);
	assert_string_equal(json_string_value(json_object_get(report.versions, name)), "1.5");
	assert_int_equal(file_read(file, 65536, &text, &size, NULL), 0);
	tool_report_free(&report);
	toolchain_free(toolchain);
	return text;
}

/* A tool that is probed has a HOME of its own, which is removed with all that the tool leaves there. */
static void
asks_away_from_home(void **state)
{
	static const char script[] = "#!/bin/sh\nmkdir -p \"$HOME/.left\" && echo \"$HOME\" >\"${0%/*}/home\"; echo 1.5\n";
	(void)state;
	char *dir = scratch_make();
	AUTO_FREE char *left = path_join(dir, ".left");
	AUTO_FREE char *before = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	assert_int_equal(setenv("HOME", dir, 1), 0);
	AUTO_FREE char *home = probe_script(dir, "mytool", script, NULL, "home");
	assert_int_equal(before ? setenv("HOME", before, 1) : unsetenv("HOME"), 0);
	assert_int_equal(access(left, F_OK), -1);
	home[strcspn(home, "\n")] = '\0';
	assert_string_not_equal(home, dir);
	assert_int_equal(access(home, F_OK), -1);
	scratch_remove(dir);
}

/* A tool that is probed has a step's environment, and nothing of this process's. */
static void
asks_in_clean_environment(void **state)
{
	static const char script[] = "#!/bin/sh\nenv >\"${0%/*}/env\"; echo HIP version: 1.5\n";
	(void)state;
	char *dir = scratch_make();
	AUTO_JSON json_t *env = json_pack("{s:{s:s}}", "hipcc", "TOLD", "by exec.yml");
	assert_int_equal(setenv("HIP_PLATFORM", "nvidia", 1) | setenv("STRAY", "1", 1), 0);
	AUTO_FREE char *text = probe_script(dir, "hipcc", script, env, "env");
	assert_int_equal(unsetenv("HIP_PLATFORM") | unsetenv("STRAY"), 0);
	assert_non_null(strstr(text, "HIP_PLATFORM=amd\n"));
	assert_non_null(strstr(text, "TOLD=by exec.yml\n"));
	assert_non_null(strstr(text, "LANG=C.UTF-8\n"));
	assert_null(strstr(text, "STRAY="));
	scratch_remove(dir);
}

/* One folder that JSON has no room for takes nothing else with it. */
static void
keeps_environment(void **state)
{
	(void)state;
	struct execconfig config = {0};
	AUTO_JSON json_t *env = environment_make(&config, "/opt/\xff/bin/python3", NULL);
	assert_string_equal(json_string_value(json_object_get(env, "LANG")), "C.UTF-8");
	const char *path = json_string_value(json_object_get(env, "PATH"));
	assert_non_null(path);
	assert_int_equal(strncmp(path, "/usr/local/sbin:", strlen("/usr/local/sbin:")), 0);
}

/* A toolkit whose compiler is started by a wrapper that lies elsewhere. */
static void
write_toolkit(const char *dir, const char *cicc)
{
	static const char *const names[] = {"kit/bin/ptxas", "kit/nvvm/bin/cicc", "kit/include/cuda.h"};
	AUTO_BUF struct buf wrapper = {0};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(dir, names[i], cicc, 0755);
	buf_printf(&wrapper, "#!/bin/sh\n[ \"$1\" != --dryrun ] || echo '#$ TOP='%s/kit/bin/.. >&2\necho V13.0.88\n", dir);
	put(dir, "wrapper/nvcc", wrapper.data, 0755);
}

/* What a machine with that nvcc and that host compiler makes of it. */
static void
toolkit_fingerprint(const char *dir, const char *host, char ret_hex[DIGEST_HEX_SIZE])
{
	AUTO_FREE char *nvcc = path_join(dir, "wrapper/nvcc");
	AUTO_FREE char *memory = path_join(dir, "tools.json");
	AUTO_JSON json_t *tools = json_pack("{s:s}", "nvcc", nvcc);
	AUTO_JSON json_t *env = json_pack("{s:{s:s}}", "nvcc", "NVCC_CCBIN", host);
	AUTO_STRINGS struct strings roots = {0};
	struct execconfig config = {.tools = tools, .env = env};
	struct toolchain *toolchain = toolchain_new(&config, memory);
	const struct tool *tool = NULL;
	assert_int_equal(toolchain_find(toolchain, "nvcc", &tool, NULL), 0);
	assert_int_equal(toolchain_fingerprint(toolchain, tool, ret_hex, NULL), 0);
	/* The sandbox must see the toolkit, wherever the wrapper lies. */
	AUTO_FREE char *home = path_join(dir, "kit");
	AUTO_FREE char *real = realpath(home, NULL);
	assert_string_equal(toolchain_facts(toolchain, tool)->home, real);
	toolchain_roots(toolchain, tool, &roots);
	assert_string_equal(roots.list[roots.count - 1], real);
	toolchain_free(toolchain);
}

static void
knows_toolkits(void **state)
{
	(void)state;
	char *dir = scratch_make(), first[DIGEST_HEX_SIZE], again[DIGEST_HEX_SIZE], other[DIGEST_HEX_SIZE];
	write_toolkit(dir, "one");
	write_tool(dir, "host", "1.5");
	AUTO_FREE char *host = path_join(dir, "host");
	toolkit_fingerprint(dir, host, first);
	toolkit_fingerprint(dir, host, again);
	assert_string_equal(first, again);
	write_tool(dir, "host", "1.5.1");
	toolkit_fingerprint(dir, host, other);
	assert_string_not_equal(first, other);
	write_toolkit(dir, "another");
	toolkit_fingerprint(dir, host, again);
	assert_string_not_equal(other, again);
	scratch_remove(dir);
}

static void
spelt_as(const struct tool_facts *facts, const char *text, const char *wanted)
{
	AUTO_STRINGS struct strings words = {0};
	AUTO_BUF struct buf joined = {0};
	assert_true(toolkit_has_placeholder(text));
	toolkit_expand(text, facts, &words);
	buf_adds(&joined, "");
	for (size_t i = 0; i < words.count; i++)
		buf_printf(&joined, "%s%s", i ? " " : "", words.list[i]);
	assert_string_equal(joined.data, wanted);
}

/* Arguments get the toolkit's place, an argument for each of its folders, and libraries the names that linkers find. */
static void
spells_toolkits(void **state)
{
	(void)state;
	char *dir = scratch_make();
	put(dir, "lib/libcublas.so.13", "", 0644);
	put(dir, "lib/libcurand.so.13", "", 0644);
	put(dir, "lib/libcurand.so", "", 0644);
	AUTO_FREE char *lib = path_join(dir, "lib");
	AUTO_JSON json_t *libraries = json_pack("[s, s]", lib, "/b");
	const struct tool_facts facts = {.home = "/opt/cuda", .libraries = libraries};
	AUTO_FREE char *twice = NULL;
	assert_true(asprintf(&twice, "-L%s -L/b", lib) > 0);
	spelt_as(&facts, "-rpath=@TOOLKIT@/lib64:@TOOLKIT@/lib", "-rpath=/opt/cuda/lib64:/opt/cuda/lib");
	spelt_as(&facts, "-I@TOOLKIT_INCLUDE@", "");
	spelt_as(&facts, "-L@TOOLKIT_LIB@", twice);
	spelt_as(&facts, "-l@LIBRARY:cublas@", "-l:libcublas.so.13");
	spelt_as(&facts, "-l@LIBRARY:curand@", "-lcurand");
	spelt_as(&facts, "-l@LIBRARY:z@", "-lz");
	assert_false(toolkit_has_placeholder("-lz"));
	scratch_remove(dir);
}

/* Whether a part is there, as the facts of a tool say. */
static bool
has(const struct tool_facts *facts, const char *name)
{
	const json_t *part;
	size_t i;
	json_array_foreach(facts->parts, i, part)
		if (strcmp(json_string_value(json_object_get(part, "name")), name) == 0)
			return json_is_true(json_object_get(part, "present"));
	fail_msg("no part %s", name);
	return false;
}

#define SITE "venv/lib/python3.11/site-packages/"

/* CUDA as Python packages have it, and an nvcc of the machine that is of another make. */
static void
write_packages(const char *dir)
{
	static const char *const files[] = {"nvidia/cu13/include/cuda_runtime.h", "nvidia/cu13/include/crt/host_config.h",
		"nvidia/cu13/include/cublas_v2.h", "nvidia/cu13/lib/libcublas.so.13", "nvidia/cu13/lib/libcudart_static.a",
		"nvidia/cu13/include/nvrtc.h", "nvidia/cublas/include/cublas_v2.h", "nvidia/cublas/lib/libcublas.so.12",
		"cutlass_library/source/include/cutlass/cutlass.h"};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		AUTO_BUF struct buf name = {0};
		buf_printf(&name, SITE "%s", files[i]);
		put(dir, name.data, "", 0644);
	}
	put(dir, "kit/bin/nvcc", "#!/bin/sh\necho V13.0.88\n", 0755);
	put(dir, "kit/nvvm/bin/cicc", "", 0755);
	put(dir, "kit/include/cuda_runtime.h", "", 0644);
	put(dir, "kit/include/crt/host_config.h", "", 0644);
	put(dir, "kit/lib64/libcudart_static.a", "", 0644);
}

/* The nvcc of that version and of that folder's packages, with the machine's nvcc in exec.yml. */
static const struct tool *
packaged(struct toolchain *toolchain, const char *dir, const char *folder, struct kettle_error *err)
{
	AUTO_BUF struct buf name = {0};
	const struct tool *tool = NULL;
	buf_printf(&name, "%s/%s/bin/nvcc", dir, folder);
	return toolchain_find(toolchain, name.data, &tool, err) == 0 ? tool : NULL;
}

/* Folders that are no packages, packages of another CUDA than that nvcc, an nvcc among them that cannot be started. */
static void
refuses_packages(struct toolchain *toolchain, const char *dir)
{
	struct kettle_error err = {0};
	put(dir, "empty/file", "", 0644);
	assert_null(packaged(toolchain, dir, "empty", &err));
	assert_non_null(strstr(err.message, ", nor Python packages of CUDA in "));
	put(dir, "half/bin/nvcc", "#!/bin/sh\necho V13.0.88\n", 0644);
	assert_null(packaged(toolchain, dir, "half", &err));
	assert_non_null(strstr(err.message, "is not executable"));
	put(dir, "old/lib/python3.11/site-packages/nvidia/cublas/include/cublas_v2.h", "", 0644);
	put(dir, "old/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12", "", 0644);
	const struct tool *tool = packaged(toolchain, dir, "old", &err);
	assert_non_null(tool);
	assert_int_equal(toolchain_check(toolchain, tool, &err), KETTLE_EUNAVAIL);
	assert_non_null(strstr(err.message, "of another version than this machine's nvcc, which is 13.0.88"));
	put(dir, "off/lib/python3.11/site-packages/nvidia/cu13/include/cuda.h", "", 0644);
	put(dir, "off/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc", "", 0644);
	assert_null(packaged(toolchain, dir, "off", &err));
	assert_non_null(strstr(err.message, "/nvidia/cu13/bin/nvcc`, which cannot be started"));
}

/* A library that was added, and a part that was removed, without which nothing can be compiled. */
static void
notices_changes(const struct execconfig *config, const char *dir, const char *nvcc, const char *memory)
{
	struct kettle_error err = {0};
	put(dir, SITE "nvidia/cu13/lib/libnvrtc.so.13", "", 0644);
	AUTO_FREE char *cicc = path_join(dir, "kit/nvvm/bin/cicc");
	assert_int_equal(unlink(cicc), 0);
	assert_int_equal(utimensat(AT_FDCWD, nvcc, NULL, 0), 0);
	struct toolchain *toolchain = toolchain_new(config, memory);
	const struct tool *tool = packaged(toolchain, dir, "venv", &err);
	assert_true(has(toolchain_facts(toolchain, tool), "NVRTC"));
	assert_int_equal(toolchain_check(toolchain, tool, &err), KETTLE_EUNAVAIL);
	assert_non_null(strstr(err.message, " lacks cicc; to get it: "));
	toolchain_free(toolchain);
}

static void
finds_packages(void **state)
{
	(void)state;
	char *dir = scratch_make();
	struct kettle_error err = {0};
	write_packages(dir);
	AUTO_FREE char *kit = path_join(dir, "kit");
	AUTO_FREE char *home = realpath(kit, NULL);
	AUTO_FREE char *nvcc = path_join(dir, "kit/bin/nvcc");
	AUTO_FREE char *memory = path_join(dir, "tools.json");
	AUTO_JSON json_t *tools = json_pack("{s:s}", "nvcc", nvcc);
	struct execconfig config = {.tools = tools};
	struct toolchain *toolchain = toolchain_new(&config, memory);
	/* The packages have no nvcc: it is the machine's, with those parts of theirs that have its version. */
	const struct tool *tool = packaged(toolchain, dir, "venv", &err);
	assert_non_null(tool);
	assert_string_equal(tool->path, nvcc);
	const struct tool_facts *facts = toolchain_facts(toolchain, tool);
	assert_string_equal(facts->home, home);
	assert_true(has(facts, "cuBLAS") && has(facts, "CUTLASS") && has(facts, "cicc"));
	assert_false(has(facts, "NVRTC")); /* its header alone */
	assert_int_equal(toolchain_check(toolchain, tool, &err), 0);
	spelt_as(facts, "@LIBRARY:cublas@", ":libcublas.so.13");
	AUTO_STRINGS struct strings roots = {0};
	toolchain_roots(toolchain, tool, &roots);
	AUTO_JSON json_t *seen = strings_json(&roots);
	AUTO_FREE char *all = json_dumps(seen, 0);
	assert_non_null(strstr(all, "/nvidia/cu13/lib\""));
	assert_null(strstr(all, "/nvidia/cublas"));
	/* So is that by the name of the folder of packages, or of one in there. */
	assert_non_null(packaged(toolchain, dir, SITE, &err));
	assert_non_null(packaged(toolchain, dir, SITE "nvidia/cu13", &err));
	/* The plain nvcc knows nothing of them. */
	assert_int_equal(toolchain_find(toolchain, "nvcc", &tool, &err), 0);
	assert_false(has(toolchain_facts(toolchain, tool), "cuBLAS"));
	refuses_packages(toolchain, dir);
	toolchain_free(toolchain);
	notices_changes(&config, dir, nvcc, memory);
	scratch_remove(dir);
}

/* Where the machine has no nvcc, the environment of an interpreter that it reports may have one. */
static void
finds_nvcc_beside_interpreters(void **state)
{
	(void)state;
	char *dir = scratch_make();
	struct kettle_error err = {0};
	put(dir, SITE "nvidia/cu13/include/cuda.h", "", 0644);
	put(dir, SITE "nvidia/cu13/bin/nvcc", "#!/bin/sh\necho V13.0.88\n", 0755);
	put(dir, "venv/bin/python3", "", 0755);
	put(dir, "bin/sh", "", 0755);
	AUTO_FREE char *python = path_join(dir, "venv/bin/python3");
	AUTO_FREE char *memory = path_join(dir, "tools.json");
	AUTO_FREE char *bin = path_join(dir, "bin");
	AUTO_FREE char *before = strdup(getenv("PATH"));
	AUTO_JSON json_t *report = json_pack("[s, s]", "sh", python);
	AUTO_JSON json_t *tools = json_object();
	struct execconfig config = {.report = report, .tools = tools};
	const struct tool *tool = NULL;
	/* The usual places cannot be hidden; where one is there, what exec.yml says is looked at, and is not passed over. */
	if (access("/usr/local/cuda/bin/nvcc", X_OK) == 0 || access("/opt/cuda/bin/nvcc", X_OK) == 0)
		(void)json_object_set_new(tools, "nvcc", json_string("/no/such/nvcc"));
	struct toolchain *toolchain = toolchain_new(&config, memory);
	assert_int_equal(setenv("PATH", bin, 1), 0);
	int rc = toolchain_find(toolchain, "nvcc", &tool, &err);
	assert_int_equal(setenv("PATH", before, 1), 0);
	if (json_object_size(tools) == 0) {
		assert_int_equal(rc, 0);
		assert_non_null(strstr(tool->path, "/nvidia/cu13/bin/nvcc"));
	} else {
		assert_int_equal(rc, KETTLE_ENOENT);
	}
	toolchain_free(toolchain);
	scratch_remove(dir);
}

/* What lies in the machine's folders is told apart by name, size and time. */
static void
stamps_folders(void **state)
{
	(void)state;
	char *dir = scratch_make(), hexes[3][DIGEST_HEX_SIZE];
	AUTO_FREE char *below = path_join(dir, "a/b");
	assert_int_equal(file_mkdirs(below, 0755, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(hexes); i++) {
		AUTO_DIGEST struct sha256 *digest = sha256_new();
		unsigned left = 100;
		if (i == 2)
			write_tool(below, "header.h", "1");
		tool_probe_stamp_tree(dir, digest, &left);
		sha256_end(digest, hexes[i]);
	}
	assert_string_equal(hexes[0], hexes[1]);
	assert_string_not_equal(hexes[1], hexes[2]);
	scratch_remove(dir);
}

static void
reads_packages(void **state)
{
	(void)state;
	char *dir = scratch_make();
	AUTO_BUF struct buf answer = {0};
	buf_printf(&answer,
		"{\"packages\": {\"numpy\": \"1.2\", \"cupy-cuda12x\": \"13.0\", \"unheard-of\": \"1\", \"torch\": 5},"
		" \"folders\": [\"%s\", 7, \"/no/such/folder\"]}",
		dir);
	AUTO_JSON json_t *facts = interpreter_facts(answer.data);
	AUTO_JSON json_t *wanted = json_pack("{s:s, s:s}", "numpy", "1.2", "cupy-cuda12x", "13.0");
	assert_true(json_equal(json_object_get(facts, "packages"), wanted));
	assert_int_equal(json_array_size(json_object_get(facts, "folders")), 2);
	assert_true(interpreter_unchanged(json_object_get(facts, "folders")));
	AUTO_FREE char *installed = path_join(dir, "scipy-1.0.dist-info");
	const struct timespec times[] = {{.tv_sec = 5}, {.tv_sec = 5}};
	assert_int_equal(file_mkdirs(installed, 0755, NULL), 0);
	assert_int_equal(utimensat(AT_FDCWD, dir, times, 0), 0);
	assert_false(interpreter_unchanged(json_object_get(facts, "folders")));
	assert_true(interpreter_unchanged(NULL));
	static const char *const bad[] = {"", "[]", "{\"packages\": {}}", "{\"packages\": [], \"folders\": []}", "x"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(interpreter_facts(bad[i]));
	scratch_remove(dir);
}

static void
finds_interpreters(void **state)
{
	(void)state;
	char *dir = scratch_make();
	AUTO_FREE char *bin = path_join(dir, "venv/bin");
	AUTO_FREE char *python = path_join(bin, "python3");
	AUTO_FREE char *other = path_join(bin, "othertool");
	AUTO_FREE char *config = path_join(dir, "venv/pyvenv.cfg");
	AUTO_FREE char *behind = path_join(dir, "real");
	static const char text[] = "homeless = /x\nhome = /opt/base/bin\r\nversion = 3.11\n";
	assert_true(interpreter_is("/usr/bin/python3.11") && interpreter_is("pypy3") && !interpreter_is("/opt/python/gcc"));
	assert_int_equal(file_mkdirs(bin, 0755, NULL), 0);
	assert_null(interpreter_base(python));
	assert_int_equal(file_write(config, text, strlen(text), 0644, NULL), 0);
	AUTO_FREE char *base = interpreter_base(python);
	assert_string_equal(base, "/opt/base/bin/python");
	assert_null(interpreter_base(other));
	assert_null(interpreter_base("python3"));
	/* A script that says what it starts, as those of version managers do when they are asked for sys.executable. */
	AUTO_BUF struct buf script = {0};
	buf_printf(&script, "#!/bin/sh\necho %s\n", behind);
	assert_int_equal(file_write(python, script.data, script.len, 0755, NULL), 0);
	assert_null(interpreter_of_wrapper(python));
	assert_int_equal(file_write(behind, "", 0, 0755, NULL), 0);
	AUTO_FREE char *found = interpreter_of_wrapper(python);
	assert_string_equal(found, behind);
	assert_null(interpreter_of_wrapper(behind));
	scratch_remove(dir);
}

static void
fingerprint(const struct execconfig *config, const char *memory, const char *name, char ret_hex[DIGEST_HEX_SIZE])
{
	struct toolchain *toolchain = toolchain_new(config, memory);
	const struct tool *tool = NULL;
	assert_int_equal(toolchain_find(toolchain, name, &tool, NULL), 0);
	assert_int_equal(toolchain_fingerprint(toolchain, tool, ret_hex, NULL), 0);
	char again[DIGEST_HEX_SIZE];
	assert_int_equal(toolchain_fingerprint(toolchain, tool, again, NULL), 0);
	assert_string_equal(ret_hex, again);
	toolchain_free(toolchain);
}

static void
fingerprints_notice(void **state)
{
	(void)state;
	char *dir = scratch_make();
	AUTO_FREE char *bin = path_join(dir, "prefix/bin");
	AUTO_FREE char *include = path_join(dir, "prefix/include/deep");
	AUTO_FREE char *memory = path_join(dir, "tools.json");
	AUTO_FREE char *tool_path = path_join(bin, "mytool");
	write_tool(bin, "mytool", "1.5");
	AUTO_JSON json_t *tools = json_pack("{s:s}", "mytool", tool_path);
	struct execconfig config = {.tools = tools};
	char first[DIGEST_HEX_SIZE], second[DIGEST_HEX_SIZE];
	fingerprint(&config, memory, "mytool", first);
	/* From the memory, without it, and with one that is damaged: the same. */
	fingerprint(&config, memory, "mytool", second);
	assert_string_equal(first, second);
	assert_int_equal(unlink(memory), 0);
	fingerprint(&config, memory, "mytool", second);
	assert_string_equal(first, second);
	assert_int_equal(file_write(memory, "[1", 2, 0600, NULL), 0);
	fingerprint(&config, memory, "mytool", second);
	assert_string_equal(first, second);
	/* A header folder of its prefix, then the tool itself. */
	assert_int_equal(file_mkdirs(include, 0755, NULL), 0);
	fingerprint(&config, memory, "mytool", second);
	assert_string_not_equal(first, second);
	write_tool(bin, "mytool", "1.6");
	fingerprint(&config, memory, "mytool", first);
	assert_string_not_equal(first, second);
	scratch_remove(dir);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(finds_versions),
	cmocka_unit_test(runs_commands),
	cmocka_unit_test(finds_tools),
	cmocka_unit_test(asks_away_from_home),
	cmocka_unit_test(asks_in_clean_environment),
	cmocka_unit_test(keeps_environment),
	cmocka_unit_test(knows_toolkits),
	cmocka_unit_test(spells_toolkits),
	cmocka_unit_test(finds_packages),
	cmocka_unit_test(finds_nvcc_beside_interpreters),
	cmocka_unit_test(stamps_folders),
	cmocka_unit_test(reads_packages),
	cmocka_unit_test(finds_interpreters),
	cmocka_unit_test(fingerprints_notice),
};

UNIT_TESTS(test_tools);
