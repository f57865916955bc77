/* SPDX-License-Identifier: MIT */
/* The output of Slurm's commands, read strictly. All [any]. */
#ifndef KETTLE_RUNNERS_SLURM_ANSWERS_H
#define KETTLE_RUNNERS_SLURM_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#define SLURM_ID_SIZE 24 /* of a job id with its NUL */
/*
 * For `squeue --array`. The name comes last, since only it may contain a |, and has an end mark, since names of other
 * jobs may contain newlines.
 */
#define SQUEUE_END "|."
#define SQUEUE_FORMAT "%F|%K|%T|%r|%j" SQUEUE_END
#define SQUEUE_HEADER "ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|REASON|NAME" SQUEUE_END
#define SQUEUE_ROW_MAX 16384 /* bytes of a row, over all its lines */

/* One row of squeue; borrowed from its text. */
struct squeue_row {
	const char *id; /* of the job, or of its array: digits */
	long task;      /* of an array; -1: no task */
	const char *state, *reason, *name;
};

/* The meaning of a state of Slurm for a job without a result. */
enum slurm_standing {
	SLURM_PENDING,
	SLURM_RUNNING,    /* running, or being ended */
	SLURM_TAKEN_AWAY, /* by Slurm: its node failed, or it was preempted or cancelled */
	SLURM_FAILED,     /* its program or its time ended */
};

/* Whether the row that begins like this is complete. */
bool squeue_row_is_whole(const char *text);
/* Splits a complete row, in place. false: it is no row. */
bool squeue_row_parse(char *line, struct squeue_row *ret_row);
/* An unknown state counts as running: only an absent job counts as missed. */
enum slurm_standing slurm_standing(const char *state);
/* Reads the id in the answer of `sbatch --parsable` ("12" or "12;cluster"). false: it is no such answer. */
bool sbatch_answer_parse(const char *line, char ret_id[SLURM_ID_SIZE]);
/*
 * Whether a line of sbatch's standard error says that the cluster will never take such a job. Other failures may pass:
 * a controller that does not answer, limits of how many jobs may queue. *ret_reason: the message, borrowed from the
 * line.
 */
bool sbatch_is_refusal(const char *line, const char **ret_reason);

#endif
