/* SPDX-License-Identifier: MIT */
/* Locks on files. */
#pragma once

/*
 * Locks each file in every way and says PATH WAY=ok for those that it got, and for a second flock PATH again=EAGAIN if the
 * first one holds. A last argument "hold" keeps them until it is killed.
 */
int do_lock(char **args);
