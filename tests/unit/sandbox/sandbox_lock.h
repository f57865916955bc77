/* SPDX-License-Identifier: MIT */
/* Locks on files. */
#ifndef KETTLE_TESTS_SANDBOX_LOCK_H
#define KETTLE_TESTS_SANDBOX_LOCK_H

/*
 * Locks each file in every way and says PATH WAY=ok for those that it got, and for a second flock PATH again=EAGAIN if the
 * first one holds. A last argument "hold" keeps them until it is killed.
 */
int do_lock(char **args);

#endif
