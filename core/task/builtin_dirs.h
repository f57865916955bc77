/* SPDX-License-Identifier: MIT */
/* Where the tasks and harnesses are that Kettle brings with it. [any] */
#ifndef KETTLE_SHIPPED_H
#define KETTLE_SHIPPED_H

/*
 * The folder of the shipped tasks, `harness` among them: what KETTLE_TASKS names, else the one that belongs to this
 * program (installed.h). Whether it is there is not asked. New string.
 */
char *builtin_dirs_find(void);

#endif
