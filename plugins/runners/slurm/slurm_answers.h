/* SPDX-License-Identifier: MIT */
/* What Slurm's commands print, read strictly. All [any]. */
#ifndef KETTLE_RUNNERS_SLURM_ANSWERS_H
#define KETTLE_RUNNERS_SLURM_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#define SLURM_ID_SIZE 24 /* of a job id with its NUL */
/*
 * For `squeue --array`: the name comes last, since nothing else may contain a |, and has an end, since a name of another job
 * may contain newlines.
 */
#define SQUEUE_END "|."
#define SQUEUE_FORMAT "%F|%K|%T|%r|%j" SQUEUE_END
#define SQUEUE_HEADER "ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|REASON|NAME" SQUEUE_END
#define SQUEUE_ROW_MAX 16384 /* bytes of a row, over all its lines */

/* One row of squeue; borrowed from its text. */
struct squeue_row {
	const char *id; /* of the job or of the array that it is a task of: digits */
	long task;      /* of an array; -1: it is none's */
	const char *state, *reason, *name;
};

/* What a state of Slurm means for a job without a result. */
enum slurm_standing {
	SLURM_PENDING,
	SLURM_RUNNING,    /* or is being ended */
	SLURM_TAKEN_AWAY, /* by Slurm: its node failed, or it was preempted or cancelled there */
	SLURM_FAILED,     /* its program or its time ended */
};

/* Whether the row that begins so has its end. */
bool squeue_row_is_whole(const char *text);
/* Splits a whole row, in place. false: it is no such row. */
bool squeue_row_parse(char *line, struct squeue_row *ret_row);
/* A state that is not known counts as running: only a job that is not there is missed. */
enum slurm_standing slurm_standing(const char *state);
/* The id in the answer of `sbatch --parsable` ("12" or "12;cluster"). false: it is no such answer. */
bool sbatch_answer_parse(const char *line, char ret_id[SLURM_ID_SIZE]);
/*
 * Whether a line that sbatch wrote to its standard error says that the cluster will never take such a job; all else may
 * pass: a controller that does not answer, limits of how many jobs may queue. *ret_reason: what it says, borrowed from the line.
 */
bool sbatch_is_refusal(const char *line, const char **ret_reason);

#endif
