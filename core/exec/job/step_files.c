/* SPDX-License-Identifier: MIT */
/* The parts of a step that read and write files, on threads of work. */
#include <config.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/tools/tools.h"

/* ---- folder of a process, from its inputs ---- */

/* Without a sandbox, a step could write through a hard link into files that others use. */
static bool
may_link(const struct step *step)
{
	return step->job->line.unit.level != SANDBOX_LEVEL_OFF;
}

/* Reads contents from wherever the machine has them. New bytes. */
static int
read_contents(const struct job *job, const struct plan_contents *contents, char **ret_data, size_t *ret_size,
	struct kettle_error *err)
{
	if (!contents->blob)
		return contents_bytes(contents->bytes, ret_data, ret_size, err);
	for (size_t i = 0; job->blob_dirs[i]; i++) {
		AUTO_FREE char *path = path_join(job->blob_dirs[i], contents->blob);
		AUTO_FREE char *data = NULL;
		char hex[DIGEST_HEX_SIZE];
		if (file_read(path, FOLDER_MAX_BLOB, &data, ret_size, NULL) != 0)
			continue;
		sha256_hex(data, *ret_size, hex);
		if (strcmp(hex, contents->blob) != 0)
			return kettle_fail(err, KETTLE_EIO, "The blob `%s` is damaged: its SHA-256 does not match.", path);
		*ret_data = STEAL(data);
		return 0;
	}
	return kettle_fail(err, KETTLE_ENOENT, "This machine does not have the blob %s.", contents->blob);
}

static int
write_contents(const struct job *job, const struct plan_contents *contents, const char *dir, const char *name,
	mode_t mode, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(dir, name);
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = read_contents(job, contents, &data, &size, err);
	if (rc == 0)
		rc = collect_outputs_make_parents(path, err);
	if (rc == 0)
		rc = file_write(path, data, size, mode, err);
	/* Build tools compare times, so equal contents have equal times in every step. */
	const struct timespec times[] = {{.tv_sec = FOLDER_TIME}, {.tv_sec = FOLDER_TIME}};
	if (rc == 0)
		(void)utimensat(AT_FDCWD, path, times, 0);
	return rc;
}

/* The file that argv[0] names is executable, whatever its mode was. */
static mode_t
mode_of(const struct plan_process *process, const char *path)
{
	const char *program = process->argv.list[0];
	return strncmp(program, "./", 2) == 0 && strcmp(program + 2, path) == 0 ? 0755 : 0644;
}

/* The step whose output the input is; it has ended. */
static const struct step *
source_of(const struct job *job, const struct plan_input *input)
{
	return &job->steps[input->step - job->line.plan.steps];
}

/*
 * Links an output of another step. If that step did not leave the file and is not optional, the step is at fault, not
 * the machine: step->failure.fault.
 */
static int
link_output(struct step *step, const struct plan_input *input, const char *to, const char *as, bool link)
{
	const struct step *source = source_of(step->job, input);
	struct kettle_error error = {0};
	int rc = collect_outputs_link(&source->files.outputs, source->files.kept, input->output, to, as, link, &error);
	if (rc == KETTLE_ENOENT && source->plan->optional)
		return 0;
	if (rc == KETTLE_ENOENT)
		(void)kettle_fail(&step->failure.fault, rc, "The input `%s` is `%s` of step `%.64s`, which did not write it.",
			input->path, input->output, source->plan->id);
	else if (rc != 0)
		step->failure.error = error;
	return rc == KETTLE_ENOENT ? 0 : rc;
}

/* Makes the files that a prepare step left for the cache a layer of it. */
static int
make_cache_input(struct step *step, const struct plan_input *input)
{
	const struct step *source = source_of(step->job, input);
	AUTO_FREE char *folder = path_join(step->files.dir, "layer");
	int rc = step->jit.input ? 0 : file_mkdirs(folder, 0755, &step->failure.error);
	if (rc != 0 || step->jit.input)
		return rc;
	rc = link_output(step, input, folder, input->output, true);
	jit_cache_layer_open(folder, &source->files.outputs);
	step->jit.input = path_join(folder, input->output);
	return rc;
}

/*
 * Finds the step that an input comes from. In place of an optional step that has left nothing, that is the one whose
 * output it had itself in that place; false: there is none.
 */
static bool
find_source(const struct job *job, struct plan_input *input)
{
	while (input->step && input->step->optional && source_of(job, input)->files.outputs.count == 0) {
		const struct plan_process *process = &input->step->processes[0];
		const struct plan_input *own = NULL;
		for (size_t i = 0; i < process->inputs_count; i++) {
			const char *place = path_below(process->inputs[i].path, "out");
			own = place && *place && strcmp(place + 1, input->output) == 0 ? &process->inputs[i] : own;
		}
		if (!own)
			return false;
		input->step = own->step;
		input->output = own->output;
	}
	return true;
}

static int
make_folder(struct step *step, const struct step_process *process)
{
	const struct job *job = step->job;
	AUTO_FREE char *out = path_join(process->dir, "out");
	int rc = file_mkdirs(out, 0755, &step->failure.error);
	if (rc == 0 && process->temporary) {
		AUTO_FREE char *home = path_join(process->temporary, STEP_HOME);
		rc = file_mkdirs(home, 0700, &step->failure.error);
	}
	for (size_t i = 0; rc == 0 && i < process->plan->inputs_count; i++) {
		struct plan_input input = process->plan->inputs[i];
		if (!find_source(job, &input) || shared_is_missing(job, &input) || shared_is_shown(step, &input))
			continue;
		if (input.step && jit_is_input(process, input.path))
			rc = make_cache_input(step, &input);
		else if (input.step)
			rc = link_output(step, &input, process->dir, input.path, may_link(step));
		else
			rc = write_contents(job, &input.contents, process->dir, input.path, mode_of(process->plan, input.path),
				&step->failure.error);
	}
	return rc;
}

static int
make_step_folders(struct step *step)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < step->count; i++)
		rc = make_folder(step, &step->processes[i]);
	if (rc == 0 && step->plan->cases)
		rc = write_contents(step->job, &step->plan->cases_contents, step->processes[0].dir, step->plan->cases, 0644,
			&step->failure.error);
	return rc;
}

/* ---- key of a cached step ---- */

#define PREPARE_VERSION 2 /* of the way in which a prepare step's outputs are taken */

/* Digests the part of the manifest that an input takes, with the paths that the step will see. */
static void
digest_outputs(const struct step *source, const struct plan_input *input, struct sha256 *digest)
{
	for (size_t i = 0; i < source->files.outputs.count; i++) {
		const struct output_file *file = &source->files.outputs.files[i];
		const char *rest = path_below(file->path, input->output);
		if (!rest)
			continue;
		sha256_field(digest, input->path);
		sha256_field(digest, rest);
		sha256_number(digest, (uint64_t)file->mode);
		sha256_field(digest, file->folder ? NULL : file->sha256);
	}
}

static int
digest_contents(
	const struct plan_process *process, const struct plan_input *input, struct sha256 *digest, struct kettle_error *err)
{
	const char *blob = input->contents.blob;
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	char hex[DIGEST_HEX_SIZE];
	int rc = blob ? 0 : contents_bytes(input->contents.bytes, &data, &size, err);
	if (rc != 0)
		return rc;
	if (!blob)
		sha256_hex(data, size, hex);
	sha256_field(digest, input->path);
	sha256_field(digest, "");
	sha256_number(digest, mode_of(process, input->path));
	sha256_field(digest, blob ? blob : hex);
	return 0;
}

/* Digests names and contents of the inputs. Equal contents have equal digests, wherever they come from. */
static int
digest_inputs(const struct step *step, struct sha256 *digest, struct kettle_error *err)
{
	const struct plan_process *process = step->processes[0].plan;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < process->inputs_count; i++) {
		struct plan_input input = process->inputs[i];
		if (!find_source(step->job, &input) || (input.step && input.step->shared))
			continue; /* a shared one only saves time */
		if (input.step)
			digest_outputs(source_of(step->job, &input), &input, digest);
		else
			rc = digest_contents(process, &input, digest, err);
	}
	return rc;
}

static void
digest_strings(const struct strings *strings, struct sha256 *digest)
{
	sha256_number(digest, strings->count);
	for (size_t i = 0; i < strings->count; i++)
		sha256_field(digest, strings->list[i]);
}

static void
digest_object(const json_t *object, struct sha256 *digest)
{
	AUTO_FREE char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	sha256_field(digest, text);
}

/* Whether the build depends on the machine's processor. */
static bool
is_native(const struct strings *argv)
{
	for (size_t i = 0; i < argv->count; i++)
		if (strstr(argv->list[i], "native"))
			return true;
	return false;
}

/* Digests the files in the folders of exec.yml, and the header folders. */
static void
digest_readable(const json_t *read, struct sha256 *digest)
{
	AUTO_STRINGS struct strings folders = {0};
	strings_read(&folders, read);
	strings_add(&folders, "/usr/include");
	strings_add(&folders, "/usr/local/include");
	for (size_t i = 0; i < folders.count; i++) {
		unsigned left = STEPWORK_MAX_STAMPS;
		tool_probe_stamp_tree(folders.list[i], digest, &left);
	}
}

void
step_files_key(void *arg)
{
	struct step *step = arg;
	const struct exec_context *exec = step->job->exec;
	const struct plan_step *plan = step->plan;
	const struct step_process *process = &step->processes[0];
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	sha256_field(digest, "kettle build 3");
	sha256_field(digest, PACKAGE_VERSION);
	digest_strings(&process->plan->argv, digest);
	digest_object(process->plan->environment, digest);
	if (process->tool)
		digest_object(json_object_get(exec->config.env, process->tool->name), digest);
	digest_strings(&plan->outputs, digest);
	for (size_t i = 0; i < ARRAY_SIZE(plan->passes); i++)
		sha256_number(digest, plan->passes[i]);
	sha256_field(digest, step->tools.fingerprint);
	/* Includes size and time of every file in the machine's folders that the step sees. */
	for (size_t i = 0; i < plan->folders.count; i++) {
		unsigned left = STEPWORK_MAX_STAMPS;
		tool_probe_stamp_tree(plan->folders.list[i], digest, &left);
	}
	/* Includes the paths that it sees. If reads cannot be recorded, all files there count. */
	digest_object(exec->config.extra_paths, digest);
	sha256_number(digest, step->cache.cover == COVER_KEY);
	if (step->cache.cover == COVER_KEY)
		digest_readable(exec->config.extra_paths, digest);
	/* A prepare step compiles for this processor without an option that says so. */
	bool native = is_native(&process->plan->argv) || plan->kind == STEP_PREPARE;
	sha256_field(digest, native ? exec->cpu_digest : NULL);
	sha256_number(digest, plan->kind == STEP_PREPARE ? PREPARE_VERSION : 0);
	sha256_number(digest, step->job->line.unit.level == SANDBOX_LEVEL_OFF);
	step->failure.error.code = digest_inputs(step, digest, &step->failure.error);
	sha256_end(digest, step->cache.key);
}

/* ---- outputs that come from another machine, or go to one ---- */

/* Writes a file, which must be what its digest says: later steps with `cache` are looked up by that. */
static int
restore_file(struct step *step, const struct output_file *file, const json_t *output)
{
	const struct plan_contents contents = {.bytes = output};
	AUTO_FREE char *data = NULL;
	char hex[DIGEST_HEX_SIZE];
	size_t size = 0;
	int rc = read_contents(step->job, &contents, &data, &size, &step->failure.error);
	if (rc != 0)
		return rc;
	sha256_hex(data, size, hex);
	if (strcmp(hex, file->sha256) != 0 || size != file->size)
		return kettle_fail(&step->failure.error, KETTLE_EINVAL,
			"`outputs` of a step that has ended have a file with other contents than its `sha256` and `size` say.");
	return write_contents(
		step->job, &contents, step->files.kept, file->path, file->mode & 0100 ? 0755 : 0644, &step->failure.error);
}

/* Whether there is something of each output that the step must have left if it passed. */
static bool
has_outputs(const struct step *step)
{
	bool has = true;
	enum step_state state;
	for (size_t i = 0; outcome_ended(step, &state) && state == STEP_PASSED && has && i < step->plan->outputs.count;
		 i++) {
		has = false;
		for (size_t j = 0; !has && j < step->files.outputs.count; j++)
			has = path_below(step->files.outputs.files[j].path, step->plan->outputs.list[i]) != NULL;
	}
	return has;
}

void
step_files_restore(void *arg)
{
	struct step *step = arg;
	const json_t *outputs = json_object_get(step->plan->ended, "outputs");
	int rc = file_mkdirs(step->files.dir, 0700, &step->failure.error);
	if (rc == 0)
		rc = file_mkdirs(step->files.kept, 0755, &step->failure.error);
	if (rc == 0 && !manifest_read(outputs, &step->files.outputs))
		rc = kettle_fail(
			&step->failure.error, KETTLE_EINVAL, "`outputs` of a step that has ended have a path that leads out.");
	if (rc == 0 && !has_outputs(step))
		rc = kettle_fail(
			&step->failure.error, KETTLE_EINVAL, "`outputs` of a step that has passed lack one of its outputs.");
	for (size_t i = 0; rc == 0 && i < step->files.outputs.count; i++) {
		const struct output_file *file = &step->files.outputs.files[i];
		AUTO_FREE char *path = path_join(step->files.kept, file->path);
		rc = file->folder ? file_mkdirs(path, 0755, &step->failure.error)
						  : restore_file(step, file, json_array_get(outputs, i));
	}
	if (rc != 0)
		manifest_free(&step->files.outputs);
	step->failure.error.code = rc;
}

/* Adds what the step leaves to its artifacts, where the rest of its plan runs on another machine. */
static void
return_outputs(struct step *step)
{
	AUTO_FREE char *to = path_join(step->job->artifacts, step->plan->id);
	if (!step->job->line.plan.return_outputs || step->files.outputs.count > OUTPUT_MAX_ARTIFACTS)
		return;
	int rc = file_mkdirs(to, 0755, &step->failure.error);
	for (size_t i = 0; rc == 0 && i < step->files.outputs.count; i++) {
		const struct output_file *file = &step->files.outputs.files[i];
		rc = collect_outputs_transfer(file, step->files.kept, to, false, &step->failure.error);
		if (rc == 0)
			manifest_add(&step->artifacts.manifest, file);
	}
	step->files.returned = rc == 0;
	step->failure.error.code = rc;
}

/* ---- work of a step ---- */

void
step_files_prepare(void *arg)
{
	struct step *step = arg;
	failpoint("exec.prepare");
	int rc = file_mkdirs(step->files.dir, 0700, &step->failure.error);
	/* If kettle-exec is root, the payload runs as another user: files that it sees must be open to all. */
	if (rc == 0)
		rc = file_mkdirs(step->files.kept, 0755, &step->failure.error);
	if (rc == 0 && step->plan->cache)
		step->cache.texts =
			cache_get(shared_cache(step), step->cache.key, step->files.kept, may_link(step), &step->files.outputs);
	if (step->cache.texts) {
		failpoint("exec.cached");
		return_outputs(step);
	} else {
		step->failure.error.code = rc == 0 ? make_step_folders(step) : rc;
	}
	if (step->failure.error.code == 0)
		jit_prepare(step);
}

/* Whether a failure of collect_outputs_collect is the step's fault, not the machine's. */
static bool
is_own_fault(int code)
{
	return code == KETTLE_EINVAL || code == KETTLE_ENOENT || code == KETTLE_ETOOBIG;
}

/* Exceeding the step's own limit is its fault. Files beyond the job's limit are cut, and the outcome says so. */
static int
collect_artifacts(struct step *step, int out, const char *to, struct kettle_error *err)
{
	struct manifest *files = &step->artifacts.manifest;
	uint64_t most = STEP_SOLVER(step)->limits.disk;
	int rc = collect_outputs_collect(
		out, &step->plan->artifacts, to, step->artifacts.bytes_left, OUTPUTS_ARTIFACTS, files, err);
	bool over = rc == KETTLE_ETOOBIG && step->artifacts.bytes_left < most;
	if (!over && (rc != 0 || files->count <= step->artifacts.files_left))
		return rc;
	manifest_free(files);
	(void)file_remove_tree(to, NULL);
	const struct execconfig *config = &step->job->exec->config;
	uint64_t all = step->artifacts.owners ? config->artifacts_max_user_bytes : config->artifacts_max_bytes;
	const char *with = over && step->artifacts.owners ? "all jobs of their owner" : "the other steps of their job";
	AUTO_FREE char *exceed = over ? xasprintf("exceed %llu MiB", (unsigned long long)all >> 20)
								  : xasprintf("are more than %u files", BUDGET_FILES);
	step->artifacts.cut = xasprintf("The artifacts are left out: with those of %s they %s.", with, exceed);
	return 0;
}

static int
collect_step_outputs(
	struct step *step, const struct strings *names, const char *to, enum outputs_kind kind, struct manifest *manifest)
{
	struct kettle_error error = {0};
	const struct step_process *main = STEP_SOLVER(step);
	int out = main->process.sandbox ? sandbox_out_fd(main->process.sandbox) : -1, rc = 0;
	if (names->count == 0 || (kind == OUTPUTS_ARTIFACTS && (out < 0 || !step->artifacts.wanted)))
		return 0;
	if (out < 0)
		rc = kettle_fail(&error, KETTLE_EIO, "The sandbox did not provide its output folder.");
	if (rc == 0)
		rc = file_mkdirs(to, 0755, &error);
	if (rc == 0 && kind == OUTPUTS_ARTIFACTS)
		rc = collect_artifacts(step, out, to, &error);
	else if (rc == 0)
		rc = collect_outputs_collect(out, names, to, main->limits.disk, kind, manifest, &error);
	if (rc == 0)
		return 0;
	manifest_free(manifest);
	*(is_own_fault(rc) ? &step->failure.fault : &step->failure.error) = error;
	return rc;
}

/* Waits until what is left of the step's processes has no part of its GPUs. */
static void
await_freed(struct step *step)
{
	for (size_t i = 0; i < step->count; i++) {
		const struct process *process = &step->processes[i].process;
		int ended = process->ending ? sandbox_pidfd(process->sandbox) : -1;
		/* Where a reading shows them freed, no process has a part of them. Once one is late, the job is lost. */
		if (ended >= 0 && !step->gpus.reading && !step->gpus.held &&
			!gpuwatch_await_freed(&step->job->lease.watch, ended, ENDING_LOST_MS, &step->gpus.reading))
			step->gpus.held = true;
	}
}

void
step_files_check_gpus(void *arg)
{
	struct step *step = arg;
	struct device_lease *lease = &step->job->lease;
	struct kettle_error error = {0};
	bool cool = step->state == STEP_PASSED && !step->gpus.throttled;
	await_freed(step);
	step->gpus.report = gpuwatch_after(&lease->watch, lease->reading, cool, &step->gpus.reading, &error);
	/* A program that did not pass is not to blame if its GPU did not work. */
	if (error.code != 0 && step->state != STEP_PASSED && step->state != STEP_CANCELLED) {
		step->failure.error = error;
		step->state = STEP_ERROR;
	} else if (error.code != 0 && step->state == STEP_PASSED) {
		step->gpus.report = gpuwatch_unreadable(&lease->watch);
	}
}

/* Removes the files that the processes wrote and saw. */
static void
remove_folders(struct step *step, bool keep_seen)
{
	for (size_t i = 0; i < step->count; i++) {
		const struct step_process *process = &step->processes[i];
		if (process->process.sandbox)
			sandbox_drop_out(process->process.sandbox);
		if (process->temporary)
			(void)file_remove_tree(process->temporary, NULL);
		if (!keep_seen)
			(void)file_remove_tree(process->dir, NULL);
	}
}

void
step_files_reset(void *arg)
{
	struct step *step = arg;
	await_freed(step);
	remove_folders(step, false);
	step->failure.error.code = make_step_folders(step);
}

static void
step_files_store(struct step *step)
{
	const struct cache *cache = shared_cache(step);
	const char *owner = step->plan->owner;
	const struct process *process = &step->processes[0].process;
	AUTO_JSON json_t *texts = json_pack("{s:i, s:o, s:o}", "exit", process->report.exit_status, "stdout",
		capture_json(&process->output[0]), "stderr", capture_json(&process->output[1]));
	AUTO_FREE char *scratch = path_join(step->files.dir, "store");
	failpoint("exec.store");
	/* A failure is ignored: the step is built again next time. */
	(void)cache_put(cache, step->cache.key, owner, &step->files.outputs, step->files.kept, &step->cache.reads, texts,
		scratch, NULL);
	/* A submission decides how large its entry is, so a large one causes a trim at once. */
	if (step->cache.trim || manifest_bytes(&step->files.outputs) > cache_share(cache, owner) / CACHE_TRIM_EVERY)
		cache_trim(cache, scratch);
}

/* Whether the reads of the step are known, so that its result can be kept. */
static bool
end_recording(struct step *step)
{
	if (!step->cache.recorder)
		return step->cache.cover == COVER_KEY;
	enum recorder_end end = recorder_end(STEAL(step->cache.recorder), &step->cache.reads);
	if (end == RECORDER_UNABLE)
		step->cache.cover = COVER_NOTHING;
	return end == RECORDER_WHOLE;
}

/* Whether its files count. */
static bool
leaves_outputs(const struct step *step)
{
	bool ended = step->state == STEP_FAILED || step->state == STEP_LIMIT;
	return step->state == STEP_PASSED || (step->plan->optional && ended);
}

void
step_files_collect(void *arg)
{
	struct step *step = arg;
	failpoint("exec.collect");
	AUTO_FREE char *artifacts = path_join(step->job->artifacts, step->plan->id);
	bool known = end_recording(step);
	/* A prepare step leaves files that compilers kept while it imported the submission. */
	enum outputs_kind kind = step->plan->kind == STEP_PREPARE ? OUTPUTS_CACHE : OUTPUTS_PLAIN;
	/* Artifacts (a profile, a trace) are collected after any outcome, since they may explain it. */
	int rc =
		collect_step_outputs(step, &step->plan->artifacts, artifacts, OUTPUTS_ARTIFACTS, &step->artifacts.manifest);
	bool collect = rc == 0 && leaves_outputs(step);
	if (collect)
		rc = collect_step_outputs(step, &step->plan->outputs, step->files.kept, kind, &step->files.outputs);
	if (rc == 0 && step->state == STEP_PASSED && step->plan->cache && known)
		step_files_store(step);
	if (rc == 0 && collect)
		return_outputs(step);
	jit_take(step);
	remove_folders(step, step->job->line.keep);
}
