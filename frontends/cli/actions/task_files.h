/* SPDX-License-Identifier: MIT */
/* A leaderboard's task as the files of a folder, so that it can be read, checked and run there. */
#ifndef KETTLE_CLI_TASK_FILES_H
#define KETTLE_CLI_TASK_FILES_H

#include <jansson.h>
#include <kettle/error.h>

/*
 * answer: of leaderboard.task. *ret_files is an object of relative path → contents: task.yml, the task's files and
 * templates where its sources say that they are, and the plans below kettle-plans/. Where sources leave the task's folder by
 * ../, the task lies as deep below the new folder as they need; *ret_task is its folder there ("" for the top). New
 * reference and string. EINVAL, ENOMEM.
 */
int task_files(const json_t *answer, json_t **ret_files, char **ret_task, struct kettle_error *err);

#endif
