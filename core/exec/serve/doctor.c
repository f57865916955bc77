/* SPDX-License-Identifier: MIT */
/* kettle-exec --doctor: reports what this machine offers, what is missing, and how to get it. */
#include <config.h>

#include <glob.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <uv.h>

#include "base/base.h"
#include "base/file.h"
#include "base/gpu_fitness.h"
#include "exec/machine/machine.h"
#include "exec/serve/serve.h"
#include "exec/tools/tools.h"
#include "exec/util/cores.h"
#include "exec/warm/warm.h"
#include "sandbox/probe.h"

/* ---- warm interpreters ---- */

/* The recipes of the extension (a test compares). The first one loads more than the second. */
static const char *const known_recipes[] = {
	"torch.compile", "torch.compiler", "triton", "jax", "numba", "cupy", "helion", "cute"};

/* Without these variables no copy equals a fresh interpreter. Runs get them from their plans. */
static const char *const settings[][2] = {
	{"PYTHONNOUSERSITE", "1"}, {"PYTHONHASHSEED", "0"}, {"PYTHONDONTWRITEBYTECODE", "1"}};

static json_t *
make_environment(const struct execconfig *config, const struct tool *tool)
{
	json_t *environment = environment_make(config, tool->path, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		json_object_set_new(environment, settings[i][0], json_string(settings[i][1]));
	json_object_set_new(environment, "HOME", json_string(SANDBOX_HOME));
	json_object_set_new(environment, "TMPDIR", json_string("/tmp"));
	environment_add_tool(config, tool->name, environment);
	return environment;
}

/* Whether exec.yml names the interpreter. Recipes may take a minute, so others are not tried with them. */
static bool
is_named(const struct execconfig *config, const char *name)
{
	return list_has_text(execconfig_reported(config), name) || json_object_get(config->tools, name);
}

static void
note_end(void *arg)
{
	*(bool *)arg = true;
}

/* The entry of warm_describe for the key when it is ready, with `errors`. New reference. */
static json_t *
try_one(struct warm *warm, uv_loop_t *loop, const struct warm_key *key)
{
	bool ended = false;
	struct warm_waiter wait = {.ended = note_end, .arg = &ended};
	/* Each try leaves out one recipe more; the last one has none. */
	for (size_t i = 0; i < ARRAY_SIZE(known_recipes) + 2; i++) {
		ended = !warm_request(warm, key, &wait);
		while (!ended)
			(void)uv_run(loop, UV_RUN_ONCE);
		if (!wait.again)
			break;
	}
	AUTO_JSON json_t *all = warm_describe(warm);
	json_t *found = NULL, *one;
	size_t i;
	json_array_foreach(all, i, one)
		if (member_is(one, "state", "ready"))
			found = json_incref(one);
	if (!found)
		found = json_pack("{s:s}", "state", "failed");
	json_object_set_new(found, "errors", warm_told(warm));
	return found;
}

static json_t *
try_interpreter(const struct warm_setup *setup, const struct execconfig *config, const struct tool *tool)
{
	AUTO_STRINGS struct strings modules = {0};
	AUTO_STRINGS struct strings recipes = {0};
	AUTO_JSON json_t *environment = make_environment(config, tool);
	bool tries = is_named(config, tool->name);
	if (!interpreter_copies(tool->path, environment))
		return json_pack("{s:s, s:[s]}", "state", "failed", "errors",
			"The environment that exec.yml gives the interpreter differs in each process, so none can be copied.");
	for (size_t i = 0; tries && i < ARRAY_SIZE(known_recipes); i++)
		strings_add(&recipes, known_recipes[i]);
	const struct warm_key key = {
		.tool = tool, .modules = &modules, .recipes = &recipes, .environment = environment, .cores = setup->build};
	struct warm *warm = warm_open(setup);
	json_t *found = warm ? try_one(warm, setup->loop, &key)
						 : json_pack("{s:s, s:[s]}", "state", "failed", "errors",
							   KETTLE_HAVE_WARM ? "`warm: {processes: 0}` of exec.yml turns warm interpreters off."
												: "This kettle-exec was built without warm interpreters.");
	json_object_set_new(found, "tried", json_boolean(tries));
	json_object_set_new(found, "budget", json_integer((json_int_t)warm_budget(warm)));
	warm_close(warm);
	(void)uv_run(setup->loop, UV_RUN_DEFAULT);
	warm_free(warm);
	(void)uv_run(setup->loop, UV_RUN_DEFAULT);
	return found;
}

/*
 * Makes a warm process of each interpreter and ends it again. Returns {name: what warm_describe says of it, "errors":
 * sentences, "budget": bytes for all warm processes, "tried": whether it followed recipes, which only an interpreter
 * does that exec.yml names}. An interpreter is left out if a folder of the state cannot be made. New reference.
 */
static json_t *
try_warm(
	const struct execconfig *config, struct sandbox_machine *machine, const struct tool *const *tools, size_t count)
{
	json_t *found = json_object();
	struct kettle_error error = {0};
	struct cores cores = {0};
	struct spool spool = {.lock = -1};
	uv_loop_t loop;
	if (uv_loop_init(&loop) != 0)
		return found;
	if (cores_allowed(&cores, &error) == 0 && spool_open(&spool, config->state, &error) == 0) {
		const struct warm_setup setup = {.loop = &loop,
			.machine = machine,
			.build = &cores,
			.spool = spool.dir,
			.section = json_object_get(config->root, "warm")};
		for (size_t i = 0; i < count; i++)
			json_object_set_new(found, tools[i]->name, try_interpreter(&setup, config, tools[i]));
	}
	spool_close(&spool);
	cores_free(&cores);
	(void)uv_loop_close(&loop);
	return found;
}

#define MAX_FILE 65536
#define PARANOID_MAX 2 /* highest kernel.perf_event_paranoid that allows profiling */

/* The device nodes that a GPU's runtime needs. */
static const char *const device_patterns[] = {
	"/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/kfd", "/dev/dri/renderD*"};

/* {"path", "writable", "free"}. Makes the folder, as a job does. New reference. */
static json_t *
look_at_folder(const char *path)
{
	struct statvfs fs = {0};
	struct kettle_error error = {0};
	bool there = file_mkdirs(path, 0700, &error) == 0;
	bool writable = there && access(path, W_OK | X_OK) == 0;
	if (there)
		(void)statvfs(path, &fs);
	json_t *folder = json_pack("{s:s, s:b, s:I}", "path", path, "writable", writable, "free",
		(json_int_t)fs.f_bavail * (json_int_t)fs.f_frsize);
	if (!writable)
		json_object_set_new(folder, "error", json_string(error.code ? error.message : "It is not writable."));
	return folder;
}

static json_t *
look_for_devices(void)
{
	json_t *devices = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(device_patterns); i++) {
		glob_t found = {0};
		(void)glob(device_patterns[i], 0, NULL, &found);
		for (size_t n = 0; n < found.gl_pathc; n++)
			json_array_append_new(devices, json_pack("{s:s, s:b}", "path", found.gl_pathv[n], "usable",
											   access(found.gl_pathv[n], R_OK | W_OK) == 0));
		globfree(&found);
	}
	return devices;
}

/* NULL in *ret_cgroup: there is none; else call sandbox_cgroup_leave after the machine's end. New reference. */
static json_t *
look_for_cgroups(struct sandbox_cgroup_root **ret_cgroup, struct sandbox_machine **ret_machine)
{
	struct kettle_error reason = {0};
	struct sandbox_cgroup_root *cgroup = sandbox_cgroup_root(&reason);
	(void)sandbox_machine_new(cgroup, ret_machine, NULL);
	*ret_cgroup = cgroup;
	return json_pack("{s:b, s:s*}", "present", cgroup != NULL, "reason", cgroup ? NULL : reason.message);
}

/* ---- profilers ---- */
/*
 * A profiler runs in the sandbox of a submission, without privileges. The rights of this process prove nothing, so
 * these functions look up what the kernel and the driver allow to unprivileged users.
 */

static const char paranoid_file[] = "/proc/sys/kernel/perf_event_paranoid";
static const char nvidia_file[] = "/proc/driver/nvidia/params";

/* The contents of a small file, or "" if it cannot be read. New string. */
static char *
read_small(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	return file_read(path, MAX_FILE, &text, &size, NULL) == 0 ? text : xstrdup("");
}

/* Why the kernel forbids perf; NULL: no reason is known. New reference. */
static json_t *
perf_trouble(void)
{
	AUTO_FREE char *text = read_small(paranoid_file);
	if (!text[0])
		return json_string("The kernel or the container has no perf_event_open.");
	long paranoid = strtol(text, NULL, 10);
	if (paranoid <= PARANOID_MAX)
		return NULL;
	return json_sprintf(
		"kernel.perf_event_paranoid is %ld: `sysctl kernel.perf_event_paranoid=%d` allows it, and a file "
		"in /etc/sysctl.d keeps it so.",
		paranoid, PARANOID_MAX);
}

static json_t *
ncu_trouble(void)
{
	AUTO_FREE char *text = read_small(nvidia_file);
	if (!strstr(text, "RmProfilingAdminOnly: 1"))
		return NULL;
	return json_string("The driver lets only root read the GPU's counters: write `options nvidia "
					   "NVreg_RestrictProfilingToAdminUsers=0` to a file in /etc/modprobe.d and reload the driver.");
}

static const struct {
	const char *name, *purpose, *how;
	json_t *(*trouble)(void); /* returns why the profiler is forbidden; NULL: it is not */
} known_profilers[] = {
	{"perf", "tasks in C and C++", "Install it (Debian package linux-perf), or set its path under `tools` in exec.yml.",
		perf_trouble},
	{"ncu", "CUDA, and Python on NVIDIA's GPUs",
		"Install Nsight Compute (it comes with the CUDA toolkit), or set its path under `tools` in exec.yml.",
		ncu_trouble},
	{"rocprofv3", "HIP, and Python on AMD's GPUs",
		"Install it (it comes with ROCm 6.2 and later), or set its path under `tools` in exec.yml.", NULL},
};

/*
 * [{"name", "for", "path": null if it is missing, "permitted": false if submissions may not be profiled by it, "how":
 * what to do if it is missing or not permitted}]. New reference.
 */
static json_t *
profilers_describe(struct toolchain *toolchain)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(known_profilers); i++) {
		const struct tool *tool = NULL;
		bool there = toolchain_find(toolchain, known_profilers[i].name, &tool, NULL) == 0;
		json_t *trouble = there && known_profilers[i].trouble ? known_profilers[i].trouble() : NULL;
		bool permitted = there && !trouble;
		json_t *how = there ? trouble : json_string(known_profilers[i].how);
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s?, s:b, s:o?}", "name", known_profilers[i].name, "for", known_profilers[i].purpose,
				"path", there ? tool->path : NULL, "permitted", permitted, "how", how));
	}
	return list;
}

/* ---- the report ---- */

/*
 * Adds "cold" ({name: why its runs begin cold}) for interpreters that others may write to, and "warm" (try_warm) for
 * the rest.
 */
static void
check_interpreters(struct toolchain *toolchain, const struct execconfig *config, struct sandbox_machine *machine,
	const json_t *paths, json_t *report)
{
	json_t *cold = json_object();
	const struct tool *others[TOOLCHAIN_MAX_TOOLS];
	size_t count = 0;
	json_object_each(paths, name, path) {
		const struct tool *tool = NULL;
		struct kettle_error error = {0};
		if (!interpreter_is(json_string_value(path)) || toolchain_find(toolchain, name, &tool, NULL) != 0)
			continue;
		const struct tool_facts *facts = toolchain_facts(toolchain, tool);
		const json_t *environment = json_object_get(config->env, name);
		if (interpreter_check(json_string_value(path), environment, facts ? facts->folders : NULL, &error) != 0)
			json_object_set_new(cold, name, json_string(error.message));
		else if (machine && count < ARRAY_SIZE(others))
			others[count++] = tool;
	}
	json_object_set_new(report, "cold", cold);
	json_object_set_new(report, "warm", try_warm(config, machine, others, count));
}

/* The path of kettle-host; null: it is missing. New reference. */
static json_t *
look_for_host(struct toolchain *toolchain)
{
	const struct tool *tool = NULL;
	return toolchain_find_beside(toolchain, "kettle-host", &tool, NULL) == 0 ? json_string(tool->path) : json_null();
}

/* {"tools", "paths", "packages", "parts", "profilers", "host", "cold", "warm"}. New reference. */
static json_t *
look_for_tools(const struct execconfig *config, struct sandbox_machine *machine)
{
	AUTO_FREE char *memory = path_join(config->state, EXEC_TOOLS_FILE);
	struct toolchain *toolchain = toolchain_new(config, memory);
	struct tool_report report = toolchain_report(toolchain);
	for (size_t i = 0; toolchain_known[i]; i++)
		if (!json_object_get(report.versions, toolchain_known[i]))
			json_object_set_new(report.versions, toolchain_known[i], json_null());
	json_t *found = json_pack("{s:O, s:O, s:O, s:O, s:o, s:o}", "tools", report.versions, "paths", report.paths,
		"packages", report.packages, "parts", report.parts, "profilers", profilers_describe(toolchain), "host",
		look_for_host(toolchain));
	check_interpreters(toolchain, config, machine, report.paths, found);
	tool_report_free(&report);
	toolchain_free(toolchain);
	return found;
}

/*
 * The output of kettle-gpu, with whether the GPUs are fit to score, or why there is none; NULL: there is no driver. New
 * reference.
 */
static json_t *
look_at_gpus(const struct execconfig *config)
{
	const struct devlock_table locks = {.dir = config->locks};
	bool expected = gpu_expected(config), used = expected && devlock_others_hold(&locks);
	json_t *reading = expected ? gpu_read_or_explain(config) : NULL;
	used = used || (reading && devlock_others_hold(&locks));
	json_array_each(json_object_get(reading, "gpus"), gpu)
		gpu_fitness_add(gpu, !used);
	return reading;
}

/*
 * Whether processes may open a GPU before their run (`gpu: prepare`), and whether they could on this machine: {set, possible,
 * why and what to do}. New reference.
 */
static json_t *
look_at_preparing(const struct execconfig *config, unsigned protections, const json_t *gpus)
{
	const json_t *count = json_object_get(json_object_get(config->root, "warm"), "processes");
	const char *set = json_text_or_null(json_object_get(config->root, "gpu"), "prepare"), *why = NULL;
	if (json_array_size(json_object_get(gpus, "gpus")) == 0)
		why = "No GPU of this machine can be used, see Devices.";
	else if ((protections & SANDBOX_NEED_REDUCED) != SANDBOX_NEED_REDUCED)
		why = "The sandbox has level off; what it lacks is above.";
	else if (!KETTLE_HAVE_WARM)
		why = "This kettle-exec was built without warm interpreters.";
	else if (json_is_integer(count) && json_integer_value(count) == 0)
		why = "`warm: {processes: 0}` of exec.yml turns it off; leave that out.";
	return json_pack("{s:s, s:b, s:s*}", "set", set ? set : "off", "possible", !why, "why", why);
}

/* Prints whether a GPU is fit to score, below its line. */
static void
print_fitness(FILE *out, const json_t *gpu)
{
	const json_t *causes = json_object_get(gpu, "unfit"), *remarks = json_object_get(gpu, "remarks");
	AUTO_BUF struct buf why = {0}, note = {0};
	gpu_words_explain(causes, &why);
	gpu_words_explain(remarks, &note);
	(void)fprintf(out, "  %-8s   fit to score: %s%s\n", "", why.len ? "no, " : "yes", why.len ? why.data : "");
	if (note.len > 0)
		(void)fprintf(out, "  %-8s   with each score: %s\n", "", note.data);
}

/* Prints whether GPUs are opened before runs. */
static void
print_preparing(FILE *out, const json_t *prepare)
{
	const char *set = json_text_or_empty(prepare, "set"), *why = json_text_or_empty(prepare, "why");
	bool possible = member_true(prepare, "possible"), off = strcmp(set, "off") == 0;
	(void)fprintf(out, "  %-8s opened before a run (`gpu: {prepare: %s}`): %s%s%s\n", "", set,
		possible ? "possible" : "not possible", why[0] ? ". " : "",
		why[0] ? why
		: off  ? "; `gpu: {prepare: idle}` of exec.yml turns it on"
			   : "");
}

static void
print_gpus(FILE *out, const json_t *gpus)
{
	json_array_each(json_object_get(gpus, "gpus"), gpu) {
		(void)fprintf(out, "  %-8s GPU %lld: %s, %lld MiB (%s)\n", "yes", (long long)member_int(gpu, "index"),
			json_text_or_empty(gpu, "name"), (long long)(member_int(gpu, "memory") >> 20),
			json_text_or_empty(gpu, "uuid"));
		print_fitness(out, gpu);
	}
	json_array_each(json_object_get(gpus, "errors"), gpu)
		(void)fprintf(out, "  %-8s %s\n", "NO", json_text_or_empty(gpu, "error"));
}

static json_t *
examine(const struct execconfig *config)
{
	struct sandbox_machine *machine = NULL;
	struct sandbox_cgroup_root *cgroup = NULL;
	json_t *cgroups = look_for_cgroups(&cgroup, &machine);
	unsigned protections = machine ? sandbox_machine_protections(machine) : sandbox_probe();
	json_t *state = look_at_folder(config->state), *locks = look_at_folder(config->locks);
	AUTO_JSON json_t *found = look_for_tools(config, machine);
	sandbox_machine_free(machine);
	sandbox_cgroup_leave(cgroup);
	json_t *report = json_pack("{s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}", "version", PACKAGE_VERSION,
		"level", sandbox_level_name(sandbox_level_of(protections)), "config", config->file, "protections",
		sandbox_describe(protections), "cgroups", cgroups, "devices", look_for_devices(), "state", state, "locks",
		locks, "machine", machine_describe(), "gpus", look_at_gpus(config));
	json_object_update(report, found);
	json_object_set_new(report, "prepare", look_at_preparing(config, protections, json_object_get(report, "gpus")));
	return report;
}

static void
print_protections(FILE *out, const json_t *report)
{
	const json_t *protections = json_object_get(report, "protections");
	(void)fprintf(out, "Sandbox: level %s\n", json_text_or_empty(report, "level"));
	json_array_each_at(protections, i, protection) {
		bool present = member_true(protection, "present");
		(void)fprintf(out, "  %-8s %-14s %s\n", present ? "yes" : "MISSING", json_text_or_empty(protection, "name"),
			json_text_or_empty(protection, "meaning"));
		/* Prints the hint once for all protections that lack the same thing. */
		const char *how = json_text_or_empty(protection, "how");
		if (!present && strcmp(how, json_text_or_empty(json_array_get(protections, i + 1), "how")) != 0)
			(void)fprintf(out, "  %-8s %-14s to enable: %s\n", "", "", how);
	}
	const json_t *cgroups = json_object_get(report, "cgroups");
	if (!member_true(cgroups, "present"))
		(void)fprintf(out, "  no cgroups: %s\n", json_text_or_empty(cgroups, "reason"));
}

static void
print_folder(FILE *out, const json_t *report, const char *key, const char *title)
{
	const json_t *folder = json_object_get(report, key);
	if (member_true(folder, "writable"))
		(void)fprintf(out, "  %-8s %-14s %s (%lld MiB free)\n", "yes", title, json_text_or_empty(folder, "path"),
			(long long)(member_int(folder, "free") >> 20));
	else
		(void)fprintf(out, "  %-8s %-14s %s: %s\n", "MISSING", title, json_text_or_empty(folder, "path"),
			json_text_or_empty(folder, "error"));
}

/* Prints the packages of an interpreter, below its line. */
static void
print_packages(FILE *out, const json_t *packages)
{
	json_object_each(packages, name, version)
		(void)fprintf(out, "  %-8s %-14s   %s %s\n", "", "", name, json_string_value(version));
}

/* Prints a list of names, such as "torch.compile, jax". */
static void
print_names(FILE *out, const char *before, const json_t *names)
{
	json_array_each_at(names, i, name)
		(void)fprintf(out, "%s%s", i ? ", " : before, json_string_value(name));
}

/* Prints whether runs of an interpreter begin warm, below its line. */
static void
print_warm(FILE *out, const json_t *warm)
{
	if (member_is(warm, "state", "ready")) {
		(void)fprintf(out, "  %-8s %-14s   warm start: yes, %lld of %lld MiB", "", "",
			(long long)(member_int(warm, "memory") >> 20), (long long)(member_int(warm, "budget") >> 20));
		print_names(out, ", prepared for ", json_object_get(warm, "recipes"));
		print_names(out, "; not installed: ", json_object_get(warm, "absent"));
		(void)fprintf(out, "\n");
	}
	json_array_each(json_object_get(warm, "errors"), error)
		(void)fprintf(out, "  %-8s %-14s   %s\n", "", "", json_string_value(error));
}

/* Prints the parts of a toolkit, and how to get missing ones, below its line. */
static void
print_parts(FILE *out, const json_t *parts)
{
	json_array_each(parts, part) {
		bool present = member_true(part, "present");
		(void)fprintf(out, "  %-8s %-14s   %s%s%s\n", present ? "" : "no", "", json_text_or_empty(part, "name"),
			present ? "" : "; to install: ", present ? "" : json_text_or_empty(part, "how"));
	}
}

static void
print_profilers(FILE *out, const json_t *profilers)
{
	(void)fprintf(out, "\nProfilers\n");
	json_array_each(profilers, profiler) {
		const char *path = json_text_or_empty(profiler, "path"), *how = json_text_or_empty(profiler, "how");
		const char *word = member_true(profiler, "permitted") ? "yes" : path[0] ? "NO RIGHT" : "no";
		(void)fprintf(out, "  %-8s %-14s %s\n", word, json_text_or_empty(profiler, "name"),
			path[0] ? path : json_text_or_empty(profiler, "for"));
		if (how[0])
			(void)fprintf(out, "  %-8s %-14s to enable: %s\n", "", "", how);
	}
}

static void
print_report(FILE *out, const json_t *report)
{
	const json_t *machine = json_object_get(report, "machine");
	(void)fprintf(out, "kettle-exec %s on %s: %s, %lld cores, %lld MiB, Linux %s\n\n",
		json_text_or_empty(report, "version"), json_text_or_empty(machine, "host"), json_text_or_empty(machine, "cpu"),
		(long long)member_int(machine, "cores"), (long long)(member_int(machine, "memory") >> 20),
		json_text_or_empty(machine, "kernel"));
	print_protections(out, report);
	(void)fprintf(out, "\nTools\n");
	json_object_each(json_object_get(report, "tools"), name, value) {
		const char *path = json_text_or_empty(json_object_get(report, "paths"), name);
		(void)fprintf(out, "  %-8s %-14s %s%s%s\n", json_is_null(value) ? "no" : "yes", name,
			json_is_null(value) ? "" : json_string_value(value), path[0] ? "  " : "", path);
		const char *cold = json_text_or_empty(json_object_get(report, "cold"), name);
		if (cold[0])
			(void)fprintf(out, "  %-8s %-14s   warm start: no. %s\n", "", "", cold);
		print_warm(out, json_object_get(json_object_get(report, "warm"), name));
		print_packages(out, json_object_get(json_object_get(report, "packages"), name));
		print_parts(out, json_object_get(json_object_get(report, "parts"), name));
	}
	const char *host = json_text_or_empty(report, "host");
	(void)fprintf(out, "  %-8s %-14s %s\n", host[0] ? "yes" : "no", "kettle-host",
		host[0] ? host
				: "CUDA and HIP runs need it: install it beside kettle-exec, where Kettle's installation has it");
	print_profilers(out, json_object_get(report, "profilers"));
	(void)fprintf(out, "\nDevices\n");
	json_array_each(json_object_get(report, "devices"), value)
		(void)fprintf(
			out, "  %-8s %s\n", member_true(value, "usable") ? "yes" : "NO RIGHT", json_text_or_empty(value, "path"));
	if (json_array_size(json_object_get(report, "devices")) == 0)
		(void)fprintf(out, "  no GPU, only the CPU\n");
	print_gpus(out, json_object_get(report, "gpus"));
	if (json_object_get(report, "gpus"))
		print_preparing(out, json_object_get(report, "prepare"));
	(void)fprintf(out, "\nFolders\n");
	print_folder(out, report, "state", "state");
	print_folder(out, report, "locks", "locks");
	(void)fprintf(out, "\nConfiguration: %s\n",
		json_text_or_empty(report, "config")[0] ? json_text_or_empty(report, "config") : "defaults");
}

/* Adds the report for people as text, for readers on other machines. */
static void
add_text(json_t *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out) {
		print_report(out, report);
		(void)fclose(out);
	}
	(void)json_object_set_new(report, "text", json_string(text ? text : ""));
	free(text);
}

int
doctor_run(const struct exec_options *options, bool json)
{
	struct execconfig config;
	struct kettle_error error = {0};
	int rc = execconfig_load(&config, options->config, options->settings, options->state, options->level, &error);
	AUTO_JSON json_t *report = rc == 0 ? examine(&config) : NULL;
	execconfig_close(&config);
	if (rc != 0) {
		(void)fprintf(stderr, "kettle-exec: %s\n", error.message);
		return EXEC_USAGE;
	}
	if (json)
		add_text(report);
	/* A path that is not UTF-8 text allows no JSON report. */
	AUTO_FREE char *text = json ? json_dumps(report, JSON_INDENT(2)) : NULL;
	if (json)
		(void)printf("%s\n", text ? text : "{}");
	else
		print_report(stdout, report);
	return strcmp(json_text_or_empty(report, "level"), "full") == 0 ? EXEC_PASSED : EXEC_FAILED;
}
