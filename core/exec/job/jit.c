/* SPDX-License-Identifier: MIT */
/* JIT caches: files that compilers keep while a submission runs, for later runs of the job. */
/*
 * Theory of operation. The folder in which compilers keep their results is a cache of the sandbox (sandbox_cache):
 * layers below, the run's own on top. A run that passed and is not secret leaves its own part as a further layer, so
 * the next run finds everything compiled. A secret run leaves nothing, so nothing of it can reach another run. Below
 * the layers of the job are, from top to bottom: the files kept of an earlier job of the same owner with the same
 * files, tools and device; those of a prepare step; and those that recipes of the run's warm process compiled.
 *
 * Everything in the layers of a job comes from a submission, and only that submission ever sees it again. With a
 * referee the cache is the solver's. A referee's compilers find what a prepare step left, as a copy of its own, which is
 * discarded.
 */
#include <config.h>

#include <sys/stat.h>
#include <time.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/tools/tools.h"

#define JIT_VERSION "kettle jit 2"
/* Those of the job, of a prepare step, and of a warm process. */
_Static_assert(JIT_LAYERS + 2 <= SANDBOX_LAYERS_MAX, "a run's cache has room for all layers");

/* Code for a GPU depends on the GPU's model. If a model is not known, files are not kept for other jobs. */
void
jit_open(struct job *job)
{
	const struct unit *unit = &job->line.unit;
	struct buf text = {0};
	for (size_t i = 0; i < job->lease.need; i++) {
		const char *which = unit->devices[i].gpu;
		struct gpu gpu = which ? gpu_find(job->exec->gpus, which) : (struct gpu){0};
		const char *architecture = json_text_or_null(gpu.json, "gfx");
		if (!architecture)
			architecture = json_text_or_null(gpu.json, "compute");
		if (gpu.name && architecture)
			buf_printf(&text, "%s %s\n", gpu.name, architecture);
		else if (which)
			buf_printf(&text, "%s %s\n", unit->name, which);
	}
	job->jit.device = buf_take(&text);
}

bool
jit_is_used(const struct step *step)
{
	return step->plan->jit_folder && step->job->line.unit.level != SANDBOX_LEVEL_OFF;
}

bool
jit_is_input(const struct step_process *process, const char *path)
{
	const struct step *step = process->step;
	return process == STEP_SOLVER(step) && jit_is_used(step) && strncmp(path, "out/", 4) == 0 &&
		   strcmp(path + 4, step->plan->jit_folder) == 0;
}

/* Nothing of a run with a secret is kept, whatever else the plan says. */
static bool
is_secret(const struct step *step)
{
	return step->plan->secret || member_true(step->plan->run, "secret");
}

/* The key of kept files: everything on which their use depends, and their owner. */
static void
make_key(const struct step *step, char ret_key[DIGEST_HEX_SIZE])
{
	const struct job *job = step->job;
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	const json_t *plan = json_object_get(job->line.object, "plan");
	const json_t *own = json_array_get(json_object_get(plan, "steps"), (size_t)(step - job->steps));
	AUTO_FREE char *text = json_dumps(json_object_get(plan, "files"), JSON_COMPACT | JSON_SORT_KEYS);
	const json_t *solver = json_object_get(own, "solver");
	AUTO_FREE char *inputs =
		json_dumps(json_object_get(solver ? solver : own, "inputs"), JSON_COMPACT | JSON_SORT_KEYS);
	AUTO_FREE char *environment = json_dumps(STEP_SOLVER(step)->plan->environment, JSON_COMPACT | JSON_SORT_KEYS);
	sha256_field(digest, JIT_VERSION);
	sha256_field(digest, PACKAGE_VERSION);
	sha256_field(digest, step->plan->owner);
	sha256_field(digest, text);
	sha256_field(digest, inputs);
	sha256_field(digest, environment);
	sha256_field(digest, job->jit.device);
	sha256_field(digest, job->exec->cpu_digest);
	sha256_field(digest, step->tools.fingerprint);
	sha256_end(digest, ret_key);
}

void
jit_prepare(struct step *step)
{
	struct job *job = step->job;
	struct jit_cache *cache = &job->jit;
	if (!jit_is_used(step) || cache->looked)
		return;
	cache->looked = true;
	if (!step->plan->owner || !step->tools.fingerprint[0] || job->exec->alone)
		return;
	cache->owner = step->plan->owner;
	make_key(step, cache->key);
	struct manifest files = {0};
	AUTO_FREE char *folder = path_join(job->dir, "jit");
	AUTO_JSON json_t *found =
		file_mkdirs(folder, 0755, NULL) == 0 ? cache_get(&job->exec->cache, cache->key, folder, true, &files) : NULL;
	if (!found)
		return;
	jit_cache_layer_open(folder, &files);
	cache->layers[cache->count++] = (struct jit_cache_layer){
		.path = STEAL(folder), .files = files, .bytes = manifest_bytes(&files), .count = files.count};
}

void
jit_describe(struct step *step, struct sandbox_cache *ret_cache)
{
	const struct jit_cache *cache = &step->job->jit;
	if (!jit_is_used(step))
		return;
	size_t count = 0;
	warm_layer_release(STEAL(step->jit.warm));
	step->jit.warm = warm_layer_use(STEP_SOLVER(step)->warm.process);
	for (size_t i = cache->count; i-- > 0;)
		step->jit.below[count++] = cache->layers[i].path;
	step->jit.own = count;
	if (step->jit.input)
		step->jit.below[count++] = step->jit.input;
	if (step->jit.warm)
		step->jit.below[count++] = warm_layer_path(step->jit.warm);
	step->jit.count = count;
	*ret_cache = (struct sandbox_cache){.name = step->plan->jit_folder,
		.count = count,
		.bytes = JIT_CACHE_LAYER_MAX_BYTES,
		.inodes = JIT_CACHE_LAYER_MAX_FILES};
	memcpy(ret_cache->layers, step->jit.below, sizeof(step->jit.below));
}

static int64_t
clamp(int64_t value, int64_t max)
{
	return value < 0 ? 0 : value > max ? max : value;
}

/* Adds the times at which compilers were at work, counted from the start of the program. */
static void
add_times(const struct sandbox_report *report, const struct jit_cache_layer *layer, json_t *told)
{
	struct timespec now = {0};
	struct interval whole = {0};
	int64_t wall = (int64_t)(report->end_ns - report->start_ns), work = interval_sum_union(&layer->work, &whole);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	/* Times of files are from another clock. */
	int64_t start = now.tv_sec * INT64_C(1000000000) + now.tv_nsec - (int64_t)(time_monotonic_ns() - report->start_ns);
	if (layer->work.count == 0 || report->end_ns < report->start_ns)
		return;
	json_object_set_new(told, "first_ns", json_integer(clamp(whole.from - start, wall)));
	json_object_set_new(told, "last_ns", json_integer(clamp(whole.to - start, wall)));
	json_object_set_new(told, "compile_ns", json_integer(clamp(work, wall)));
}

/* Describes the files that a step left in its cache, and whether they are kept. New reference. */
static json_t *
describe_layer(const struct step *step, const struct jit_cache_layer *layer, bool kept, const char *dropped)
{
	size_t before = 0;
	for (size_t i = 0; i < step->job->jit.count; i++)
		before += step->job->jit.layers[i].files.count;
	json_t *told = json_pack("{s:I, s:I, s:I, s:o, s:b, s:s*}", "before", (json_int_t)before, "files",
		(json_int_t)layer->count, "bytes", (json_int_t)layer->bytes, "folders",
		layer->folders ? json_incref(layer->folders) : json_object(), "kept", kept, "dropped", dropped);
	add_times(&STEP_SOLVER(step)->process.report, layer, told);
	return told;
}

void
jit_take(struct step *step)
{
	struct jit_cache *cache = &step->job->jit;
	struct kettle_error error = {0};
	struct jit_cache_layer layer = {0};
	struct sandbox *sandbox = STEP_SOLVER(step)->process.sandbox;
	int from = jit_is_used(step) && sandbox ? sandbox_cache_fd(sandbox) : -1;
	if (from < 0 || is_secret(step) || step->state != STEP_PASSED)
		return;
	AUTO_FREE char *folder = xasprintf("%s/jit-%zu", step->job->dir, cache->count);
	struct jit_cache_source source = {.below = step->jit.below, .count = step->jit.count, .own = step->jit.own};
	for (size_t i = 0; i < cache->count; i++) {
		source.bytes += cache->layers[i].bytes;
		source.entries += cache->layers[i].files.count;
	}
	int rc = jit_cache_layer_take(from, &source, folder, &layer, &error);
	bool kept = rc == 0 && layer.count > 0 && cache->count < JIT_LAYERS;
	step->jit.left = describe_layer(step, &layer, kept, rc == KETTLE_ETOOBIG ? error.message : NULL);
	if (rc != 0 && rc != KETTLE_ETOOBIG)
		step->jit.trouble = xstrdup(error.message);
	if (!kept) {
		if (rc == 0)
			(void)file_remove_tree(folder, NULL);
		jit_cache_layer_free(&layer);
		return;
	}
	cache->layers[cache->count++] = layer;
	cache->grown = true;
}

/* Joins all layers into the newest. Its own files come first, then those of the layer below it. */
static void
join_layers(struct jit_cache *cache)
{
	struct jit_cache_layer *all = &cache->layers[cache->count - 1];
	for (size_t i = cache->count - 1; i-- > 0;) {
		const struct jit_cache_layer *layer = &cache->layers[i];
		for (size_t k = 0; k < layer->files.count; k++) {
			const struct output_file *file = &layer->files.files[k];
			AUTO_FREE char *there = path_join(all->path, file->path);
			struct stat st;
			if (lstat(there, &st) != 0 && collect_outputs_transfer(file, layer->path, all->path, true, NULL) == 0)
				manifest_add(&all->files, file);
		}
	}
}

void
jit_store(void *arg)
{
	struct job *job = arg;
	struct jit_cache *cache = &job->jit;
	AUTO_FREE char *scratch = path_join(job->dir, "jit-store");
	struct kettle_error error = {0};
	join_layers(cache);
	const struct jit_cache_layer *all = &cache->layers[cache->count - 1];
	/* An existing entry has fewer files. After a failure, the next job compiles again. */
	(void)cache_replace(&job->exec->cache, cache->key, cache->owner, &all->files, all->path, scratch, &error);
	if (error.code != 0 && error.code != KETTLE_ETOOBIG)
		cache->trouble = xstrdup(error.message);
	cache->trim =
		cache->trim || manifest_bytes(&all->files) > cache_share(&job->exec->cache, cache->owner) / CACHE_TRIM_EVERY;
}

void
jit_trim(struct job *job)
{
	AUTO_FREE char *scratch = path_join(job->dir, "jit-store");
	if (job->jit.trim)
		cache_trim(&job->exec->cache, scratch);
}

void
jit_close(struct jit_cache *cache)
{
	for (size_t i = 0; i < cache->count; i++)
		jit_cache_layer_free(&cache->layers[i]);
	cache->count = 0;
	free_all(STEAL(cache->device), STEAL(cache->trouble));
}

void
jit_tell(struct exec_context *exec, const char *trouble)
{
	if (!trouble || exec->told_jit)
		return;
	exec->told_jit = true;
	AUTO_FREE char *text = xasprintf("What compilers write during a run cannot be cached for later runs: %s", trouble);
	exec_context_emit(exec, json_pack("{s:s, s:o}", "event", "error", "error", json_writer_text(text)));
}
