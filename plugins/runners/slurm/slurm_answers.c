/* SPDX-License-Identifier: MIT */
/* The output of Slurm's commands, read strictly. */
#include <config.h>

#include "runners/slurm/slurm_answers.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"

#define FIELDS 5

static bool
is_id(const char *text)
{
	size_t length = strspn(text, "0123456789");
	return length > 0 && length < SLURM_ID_SIZE && !text[length];
}

bool
squeue_row_is_whole(const char *text)
{
	size_t length = strlen(text), end = strlen(SQUEUE_END);
	return length >= end && strcmp(text + length - end, SQUEUE_END) == 0;
}

bool
squeue_row_parse(char *line, struct squeue_row *ret_row)
{
	char *fields[FIELDS];
	long long task = -1;
	if (!squeue_row_is_whole(line))
		return false;
	line[strlen(line) - strlen(SQUEUE_END)] = '\0';
	for (size_t i = 0; i < FIELDS; i++) {
		fields[i] = line;
		line = i + 1 < FIELDS ? strchr(line, '|') : line;
		if (!line)
			return false;
		if (i + 1 < FIELDS)
			*line++ = '\0';
	}
	bool is_task = strcmp(fields[1], "N/A") != 0;
	/* A part of an array that --array did not split ("[3-7]") is no task. */
	if (!is_id(fields[0]) || (is_task && (!is_id(fields[1]) || !number_parse_integer(fields[1], &task))) ||
		!*fields[2] || !*fields[4])
		return false;
	*ret_row = (struct squeue_row){fields[0], (long)task, fields[2], fields[3], fields[4]};
	return true;
}

enum slurm_standing
slurm_standing(const char *state)
{
	static const struct {
		const char *state;
		enum slurm_standing standing;
	} known[] = {
		{"PENDING", SLURM_PENDING},
		{"CONFIGURING", SLURM_PENDING}, /* its nodes start */
		{"REQUEUED", SLURM_PENDING},
		{"REQUEUE_HOLD", SLURM_PENDING},
		{"REQUEUE_FED", SLURM_PENDING},
		{"SPECIAL_EXIT", SLURM_PENDING},
		{"RESV_DEL_HOLD", SLURM_PENDING},
		{"NODE_FAIL", SLURM_TAKEN_AWAY},
		{"BOOT_FAIL", SLURM_TAKEN_AWAY},
		{"PREEMPTED", SLURM_TAKEN_AWAY},
		{"CANCELLED", SLURM_TAKEN_AWAY},
		{"REVOKED", SLURM_TAKEN_AWAY},
		{"COMPLETED", SLURM_FAILED},
		{"FAILED", SLURM_FAILED},
		{"TIMEOUT", SLURM_FAILED},
		{"DEADLINE", SLURM_FAILED},
		{"OUT_OF_MEMORY", SLURM_FAILED},
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(state, known[i].state) == 0)
			return known[i].standing;
	return SLURM_RUNNING;
}

bool
sbatch_answer_parse(const char *line, char ret_id[SLURM_ID_SIZE])
{
	size_t length = strspn(line, "0123456789");
	if (length == 0 || length >= SLURM_ID_SIZE || (line[length] && line[length] != ';'))
		return false;
	memcpy(ret_id, line, length);
	ret_id[length] = '\0';
	return true;
}

bool
sbatch_is_refusal(const char *line, const char **ret_reason)
{
	static const char before[] = "Batch job submission failed: ";
	/* From slurm_errno: the request itself is at fault. Limits ("Job violates accounting/QOS policy") may pass. */
	static const char *const refusals[] = {"Invalid ", "Requested ", "Access/permission denied",
		"User's group not permitted", "Node count specification invalid", "More processors requested than permitted",
		"Memory required by task is not available", "Memory specification can not be satisfied",
		"CPU count specification invalid", "Time limit specification required", "Pathname of a file"};
	const char *reason = strstr(line, before);
	*ret_reason = reason ? reason + strlen(before) : line;
	/* sbatch itself refuses an unknown option before it asks the controller. */
	if (!reason)
		return strstr(line, "unrecognized option") || strstr(line, "invalid option") ||
			   strstr(line, "error: Invalid ") || strstr(line, "Unable to open file");
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (strncmp(*ret_reason, refusals[i], strlen(refusals[i])) == 0)
			return true;
	return false;
}
