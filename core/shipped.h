/* SPDX-License-Identifier: MIT */
/* Where the tasks and harnesses are that Kettle brings with it. [any] */
#ifndef KETTLE_SHIPPED_H
#define KETTLE_SHIPPED_H

/*
 * The folder of the shipped tasks, `harness` among them: what KETTLE_TASKS names, else the source tree's for a program
 * that was built and not installed, else the installed one. Whether it is there is not asked. New string; NULL: no
 * memory.
 */
char *shipped_dir(void);

#endif
