/* SPDX-License-Identifier: MIT */
/*
 * The folder that the engine and the nodes of a cluster share:
 *
 *     slurm-job.sh     what sbatch gives to the nodes
 *     key              the key of the plans, for kettle-exec
 *     exec/DIGEST/     kettle-exec, unpacked from the archive of that digest
 *     jobs/NAME/       a job's plan.kettle, progress, log; claim, a folder that its run makes to begin, with its array's id, or a link
 *                      that the engine makes to prevent that; task, if it is one of an array: "ARRAY NUMBER"
 *     jobs/ARRAY/      list: the names of an array's jobs; log.NUMBER
 *     results/NAME     a job's result, until the engine has read it and Slurm has forgotten the job
 *     done/NAME        a job's result after that, for an engine that was killed before it had stored the verdict
 *     done/NAME.claim  likewise the claim of a job that has left no result, which says whether it had begun
 *
 * All of it belongs to the user of the engine, whom the jobs run as, and is closed to others. [any]; all block.
 */
#ifndef KETTLE_RUNNERS_SLURM_SHARED_FOLDER_H
#define KETTLE_RUNNERS_SLURM_SHARED_FOLDER_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SHARED_PROGRESS_MAX (256u << 10) /* bytes of the progress of one job that are read */
#define SHARED_REPORT_MAX (4u << 20)     /* bytes of the report of kettle-exec --doctor */
#define SHARED_ARRAY_MAX 500             /* tasks of an array */
#define SHARED_KEEP_DAYS 60
#define SHARED_DONE_DAYS 1
#define SHARED_SCRIPT "slurm-job.sh"

extern const char slurm_job_script[]; /* slurm-job.sh of the sources */

/*
 * Makes the missing ones of the folder's own folders. ENOENT: the folder itself is missing; EACCES: other users can
 * write to it.
 */
int shared_folder_make(const char *folder, struct kettle_error *err);
/* Writes the job script, unless it is there. */
int shared_folder_put_script(const char *folder, struct kettle_error *err);
/*
 * Makes the folder of a job and writes its sealed plan there, if it has one; array NULL: the job is no task.
 * ECONFLICT: the job has begun before.
 */
int shared_folder_put(const char *folder, const char *name, const void *plan, size_t size, const char *array,
	size_t task, struct kettle_error *err);
/* Writes the list of an array's names, one a line. */
int shared_folder_put_list(const char *folder, const char *array, const char *list, struct kettle_error *err);
/* The array that shared_folder_put recorded. New string; NULL: the job is no task. */
char *shared_folder_array(const char *folder, const char *name, size_t *ret_task);
/* Whether the folder can be reached: a mount that is gone shows nothing of any job. */
bool shared_folder_is_there(const char *folder);
/*
 * Claims a job, so that it never begins. 1: it had not begun, whether it is claimed now or was before; 0: it has
 * begun, or its folder is gone; else an error.
 */
int shared_folder_claim(const char *folder, const char *name, struct kettle_error *err);
/* The id of its array, which the run of a job has written into its claim. New string; NULL: there is none. */
char *shared_folder_claim_id(const char *folder, const char *name);
/* Whether there are files of a job other than its result. */
bool shared_folder_has(const char *folder, const char *name);
/* Removes a job's folder. */
void shared_folder_remove(const char *folder, const char *name);
/*
 * Moves a job's result into done/ (without a result: its claim), and removes its folder. array: the array whose last
 * task it is, or NULL.
 */
void shared_folder_retire(const char *folder, const char *name, const char *array);
/* Moves a job's files in done/ back. */
void shared_folder_restore(const char *folder, const char *name);
/* The path of a result. New string. */
char *shared_folder_result(const char *folder, const char *name);
/* The names of at most `most` files in results/, an array of texts. ENOENT, EACCES, EIO. New reference. */
int shared_folder_results(const char *folder, size_t most, json_t **ret_names, struct kettle_error *err);
/* The whole lines after an offset of a job's progress. Moves the offset. New string; NULL: there are none. */
char *shared_folder_progress(const char *folder, const char *name, size_t *offset);
/* Reads the report of a run of kettle-exec --doctor. Returns 1; 0: there is none yet. New string in *ret_text. */
int shared_folder_report(const char *folder, const char *name, char **ret_text, size_t *ret_size);
/* The last line that a job's script has printed; array as for shared_folder_put. New string; "": nothing. */
char *shared_folder_last_words(const char *folder, const char *name, const char *array, size_t task);
/*
 * Removes jobs and results that have not changed for SHARED_KEEP_DAYS, left by former engines, and files in done/
 * after SHARED_DONE_DAYS.
 */
void shared_folder_sweep(const char *folder, int64_t now_ms);

#endif
