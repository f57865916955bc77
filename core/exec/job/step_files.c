/* SPDX-License-Identifier: MIT */
/* The parts of a step that read and write files, for threads of the pool. */
#include <config.h>

#include "exec/job/step_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "exec/util/collect_outputs.h"
#include "base/text.h"
#include "exec/tools/tool_probe.h"

static struct folder_sources
sources_of(const struct step *step)
{
	const struct job *job = step->job;
	return (struct folder_sources){
		.files = json_object_get(job->plan, "files"),
		.blob_dirs = job->blob_dirs,
		.steps = job->outputs,
		.steps_count = job->count,
		/* Without a sandbox a step could write through a link into what others use. */
		.link = job->unit.level != SANDBOX_LEVEL_OFF,
	};
}

static void
digest_object(const json_t *object, struct sha256 *digest)
{
	AUTO_FREE char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
	sha256_field(digest, text);
}

/* What the machine makes of `native` is part of what such a build depends on. */
static bool
is_native(const json_t *argv)
{
	const json_t *word;
	size_t i;
	json_array_foreach(argv, i, word)
		if (strstr(json_string_value(word), "native"))
			return true;
	return false;
}

/* Every file of the machine's folders that the step sees, by its size and time. */
static void
digest_folders(const json_t *folders, struct sha256 *digest)
{
	const json_t *folder;
	size_t i;
	json_array_foreach(folders, i, folder) {
		unsigned left = STEPWORK_MAX_STAMPS;
		tool_probe_stamp_tree(json_string_value(folder), digest, &left);
	}
}

void
step_files_key(struct step *step)
{
	const struct exec_context *exec = step->job->exec;
	const json_t *argv = json_object_get(step->plan, "argv");
	struct folder_sources sources = sources_of(step);
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	if (!digest) {
		step->error.code = kettle_fail(&step->error, KETTLE_ENOMEM, "There is not enough memory for a cache key.");
		return;
	}
	sha256_field(digest, "kettle build 1");
	sha256_field(digest, PACKAGE_VERSION);
	digest_object(argv, digest);
	digest_object(json_object_get(step->plan, "env"), digest);
	if (step->processes[0].tool)
		digest_object(json_object_get(exec->config.env, step->processes[0].tool->name), digest);
	digest_object(json_object_get(step->plan, "outputs"), digest);
	digest_object(json_object_get(step->plan, "pass"), digest);
	sha256_field(digest, step->toolchain);
	digest_folders(json_object_get(step->plan, "folders"), digest);
	/* What a prepare step compiles it asks for by itself. */
	sha256_field(digest, is_native(argv) || step->kind == STEP_PREPARE ? exec->cpu_digest : NULL);
	sha256_number(digest, step->kind == STEP_PREPARE);
	sha256_number(digest, step->job->unit.level == SANDBOX_LEVEL_OFF);
	step->error.code = folder_digest(&sources, step->plan, digest, &step->error);
	sha256_end(digest, step->key);
}

static int
make_step_folders(struct step *step)
{
	struct folder_sources sources = sources_of(step);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < step->count; i++)
		rc = folder_make(&sources, step->processes[i].plan, i == 0 ? json_object_get(step->plan, "cases") : NULL,
			step->processes[i].dir, &step->error);
	return rc;
}

static int
make_own_folders(struct step *step)
{
	int rc = file_mkdirs(step->dir, 0700, &step->error);
	/* The payload's user is another one where kettle-exec is root: what it sees must be open to all. */
	return rc == 0 ? file_mkdirs(step->kept, 0755, &step->error) : rc;
}

void
step_files_prepare(struct step *step)
{
	failpoint("exec.prepare");
	int rc = make_own_folders(step);
	if (rc == 0 && step->cacheable) {
		step->stored =
			cache_get(&step->job->exec->cache, step->key, step->kept, step->job->unit.level != SANDBOX_LEVEL_OFF);
		step->hit = step->stored != NULL;
	}
	if (step->hit) {
		failpoint("exec.cached");
		step->manifest = json_incref(json_object_get(step->stored, "files"));
		return;
	}
	step->error.code = rc == 0 ? make_step_folders(step) : rc;
}

/* Whether a failure of collect_outputs_collect is what the step did, not what the machine could not. */
static bool
is_own_fault(int code)
{
	return code == KETTLE_EINVAL || code == KETTLE_ENOENT || code == KETTLE_ETOOBIG;
}

static int
collect_step_outputs(struct step *step, const char *key, const char *to, bool missing_ok, json_t **ret_manifest)
{
	struct kettle_error error = {0};
	struct step_process *main = &step->processes[0];
	int out = main->process.sandbox ? sandbox_out_fd(main->process.sandbox) : -1;
	const json_t *names = json_object_get(step->plan, key);
	AUTO_JSON json_t *manifest = json_array();
	int rc = manifest ? 0 : kettle_fail(&error, KETTLE_ENOMEM, "There is not enough memory for a list of files.");
	bool any = json_array_size(names) > 0 && (out >= 0 || !missing_ok);
	if (rc == 0 && any && out < 0)
		rc = kettle_fail(&error, KETTLE_EIO, "The sandbox did not hand out its output folder.");
	if (rc == 0 && any)
		rc = file_mkdirs(to, 0755, &error);
	if (rc == 0 && any)
		rc = collect_outputs_collect(out, names, to, main->limits.disk, missing_ok, manifest, &error);
	if (rc == 0)
		*ret_manifest = STEAL(manifest);
	else if (is_own_fault(rc))
		step->fault = error;
	else
		step->error = error;
	return rc;
}

void
step_files_check_gpus(struct step *step)
{
	struct device_lease *lease = &step->job->lease;
	struct kettle_error error = {0};
	bool cool = step->state == STEP_PASSED && !step->throttled;
	step->gpus = gpuwatch_after(&lease->watch, lease->reading, cool, &step->gpu_reading, &error);
	/* Without its GPU nobody can be blamed for not passing. */
	if (error.code != 0 && step->state != STEP_PASSED && step->state != STEP_CANCELLED) {
		step->error = error;
		step->state = STEP_ERROR;
	}
}

void
step_files_reset(struct step *step)
{
	for (size_t i = 0; i < step->count; i++)
		(void)file_remove_tree(step->processes[i].dir, NULL);
	step->error.code = make_step_folders(step);
}

static uint64_t
bytes_of(const json_t *manifest)
{
	uint64_t bytes = 0;
	const json_t *entry;
	size_t i;
	json_array_foreach(manifest, i, entry)
		bytes += (uint64_t)json_integer_value(json_object_get(entry, "size"));
	return bytes;
}

static void
step_files_store(struct step *step)
{
	const struct cache *cache = &step->job->exec->cache;
	AUTO_FREE char *scratch = path_join(step->dir, "store");
	struct kettle_error error = {0};
	failpoint("exec.store");
	/* What cannot be kept is built again another time: no reason to fail now. */
	if (scratch)
		(void)cache_put(cache, step->key, step->manifest, step->kept, step->texts, scratch, &error);
	/* Between two looks no more may come than there is room for: a submission decides how large its entry is. */
	if (scratch && (step->trim || bytes_of(step->manifest) > cache->max_bytes / CACHE_TRIM_EVERY))
		cache_trim(cache, scratch);
}

void
step_files_collect(struct step *step)
{
	failpoint("exec.collect");
	AUTO_FREE char *artifacts = path_join(step->job->artifacts, step->id);
	/* Whatever the outcome, an artifact (a profile, a trace) that is there may say why. */
	int rc = artifacts ? collect_step_outputs(step, "artifacts", artifacts, true, &step->artifacts) : KETTLE_ENOMEM;
	if (rc == 0 && step->collect)
		rc = collect_step_outputs(step, "outputs", step->kept, false, &step->manifest);
	if (rc == 0 && step->collect && step->cacheable)
		step_files_store(step);
	for (size_t i = 0; i < step->count && !step->job->keep; i++)
		(void)file_remove_tree(step->processes[i].dir, NULL);
}
