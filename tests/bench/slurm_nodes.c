/* SPDX-License-Identifier: MIT */
/*
 * sbatch, squeue and scancel of a cluster that is not there, for the section `runners` of the bench: as many nodes as one likes,
 * on which each job takes the same time and has the same result. Each call is a process; what they share is a file.
 *
 * The folder that it is called in has nodes.json: {"count": nodes, "seconds": of a job, "key": the file with the unit's key,
 * "result": a file with the content of a result that was made by kettle-exec}.
 */
#include <config.h>

#include <fcntl.h>
#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "runners/slurm/slurm_internal.h"
#include "sealed/sealed.h"

#define MAX_NODES 4096
#define MAX_JOBS 200000
#define MAX_FILE (64u << 20)

struct job {
	char name[96];  /* of the job, or of its task in an array */
	char array[96]; /* what squeue calls it: the job or the array */
	char folder[200];
	long id, task; /* task -1: no task of an array */
	double start, end;
	bool ended;
};

struct cluster {
	size_t nodes, jobs, first; /* all before `first` have ended */
	long next_id;
	double seconds, free_at[MAX_NODES];
	struct job job[MAX_JOBS];
};

static double
now(void)
{
	struct timespec time;
	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The cluster, which no other process changes until this one ends. */
static struct cluster *
open_cluster(const char *folder, const json_t *settings)
{
	AUTO_FREE char *path = path_join(folder, "state");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) || ftruncate(fd, sizeof(struct cluster)))
		fail("the cluster's state");
	struct cluster *cluster = mmap(NULL, sizeof(*cluster), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (cluster == MAP_FAILED)
		fail("mmap");
	if (cluster->nodes == 0) {
		cluster->nodes = (size_t)member_int(settings, "count");
		cluster->seconds = member_number(settings, "seconds");
		cluster->next_id = 1;
	}
	return cluster;
}

/* The job begins on the node that is free first. */
static void
queue(struct cluster *cluster, const char *folder, const char *array, const char *name, long id, long task)
{
	size_t node = 0;
	double begin = now();
	if (cluster->jobs == MAX_JOBS)
		exit(1);
	for (size_t i = 1; i < cluster->nodes; i++)
		if (cluster->free_at[i] < cluster->free_at[node])
			node = i;
	if (begin < cluster->free_at[node])
		begin = cluster->free_at[node];
	struct job *job = &cluster->job[cluster->jobs++];
	*job = (struct job){.id = id, .task = task, .start = begin, .end = begin + cluster->seconds};
	(void)snprintf(job->name, sizeof(job->name), "%s", name);
	(void)snprintf(job->array, sizeof(job->array), "%s", array);
	(void)snprintf(job->folder, sizeof(job->folder), "%s", folder);
	cluster->free_at[node] = job->end;
}

/* sbatch OPTION... SCRIPT FOLDER EXEC NAME run */
static int
run_sbatch(struct cluster *cluster, int argc, char **argv)
{
	bool is_array = false;
	int at = 1;
	for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++)
		is_array = is_array || strncmp(argv[at], "--array=", 8) == 0;
	if (argc - at < 5)
		return 1;
	const char *folder = argv[at + 1], *name = argv[at + 3];
	long id = cluster->next_id++;
	if (is_array) {
		char line[300];
		AUTO_FREE char *jobs = path_join(folder, "jobs"), *own = path_join(jobs, name), *path = path_join(own, "list");
		AUTO_FILE FILE *list = fopen(path, "r");
		for (long task = 0; list && fgets(line, sizeof(line), list); task++) {
			line[strcspn(line, "\n")] = '\0';
			queue(cluster, folder, name, line, id, task);
		}
	} else {
		queue(cluster, folder, name, name, id, -1);
	}
	(void)printf("%ld\n", id);
	return 0;
}

/* What every job leaves, as it would come from this one. */
static void
write_result(const struct job *job, const json_t *result, const unsigned char key[SEALED_KEY_SIZE])
{
	AUTO_FREE char *jobs = path_join(job->folder, "jobs"), *own = path_join(jobs, job->name),
				   *plan = path_join(own, "plan.kettle"), *new_file = path_join(own, "result.new"),
				   *results = path_join(job->folder, "results"), *path = path_join(results, job->name);
	AUTO_FREE char *envelope = NULL, *name = NULL, *sealed = NULL;
	size_t size = 0, sealed_size = 0;
	enum sealed_kind kind;
	char hash[65], run[32];
	unsigned char attempt[SEALED_KEY_SIZE];
	struct kettle_error err = {0};
	if (file_read(plan, MAX_FILE, &envelope, &size, &err) ||
		sealed_read_scope(envelope, size, &kind, &name, hash, &err))
		return; /* it was cancelled */
	(void)snprintf(run, sizeof(run), "%ld", job->id);
	AUTO_JSON json_t *own_result = json_copy((json_t *)result);
	json_object_set_new(own_result, "run", json_string(run));
	AUTO_FREE char *line = json_dumps(own_result, JSON_COMPACT), *text = NULL;
	if (asprintf(&text, "%s\n", line) < 0)
		fail("memory");
	const struct sealed_scope scope = {name, hash};
	sealed_key_derive(key, name, attempt);
	if (sealed_seal(attempt, SEALED_RESULT, &scope, text, strlen(text), &sealed, &sealed_size, &err) ||
		file_write(new_file, sealed, sealed_size, 0600, &err) || rename(new_file, path))
		(void)fprintf(stderr, "slurm_nodes: %s: %s\n", job->name, err.message);
}

static int
run_squeue(struct cluster *cluster, const json_t *settings)
{
	unsigned char key[SEALED_KEY_SIZE];
	AUTO_FREE char *text = NULL, *result_text = NULL;
	struct kettle_error err = {0};
	size_t size;
	double time = now();
	if (file_read(json_text_or_empty(settings, "key"), 1000, &text, &size, &err) || sealed_key_parse(text, key, &err) ||
		file_read(json_text_or_empty(settings, "result"), MAX_FILE, &result_text, &size, &err))
		fail(err.message);
	AUTO_JSON json_t *result = json_loads(result_text, JSON_DISABLE_EOF_CHECK, NULL);
	(void)printf(SQUEUE_HEADER "\n");
	for (size_t i = cluster->first; i < cluster->jobs; i++) {
		struct job *job = &cluster->job[i];
		if (!job->ended && job->end <= time) {
			write_result(job, result, key);
			job->ended = true;
		}
		if (job->ended && i == cluster->first)
			cluster->first++;
		if (job->ended)
			continue;
		char task[24] = "N/A";
		if (job->task >= 0)
			(void)snprintf(task, sizeof(task), "%ld", job->task);
		(void)printf("%ld|%s|%s|%s|%s" SQUEUE_END "\n", job->id, task, job->start <= time ? "RUNNING" : "PENDING",
			job->start <= time ? "None" : "Resources", job->array);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	AUTO_FREE char *folder = path_above(argv[0], 1), *path = path_join(folder, "nodes.json");
	AUTO_JSON json_t *settings = json_load_file(path, 0, NULL);
	if (!settings)
		fail(path);
	struct cluster *cluster = open_cluster(folder, settings);
	if (strstr(name, "sbatch"))
		return run_sbatch(cluster, argc, argv);
	/* What is cancelled here runs to its end. */
	return strstr(name, "squeue") ? run_squeue(cluster, settings) : 0;
}
