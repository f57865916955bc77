/* SPDX-License-Identifier: MIT */
/* Finishes the deletion of leaderboards, a part after the other. Loop thread of the database's owner. */
#ifndef KETTLE_PURGE_H
#define KETTLE_PURGE_H

struct core;

/* Removes what is left of hidden leaderboards, with other writes between the parts; nothing where it is being done. */
void purge_poke(struct core *core);
/*
 * done(arg) once nothing is left to remove, perhaps at once; for a process that ends: a server leaves the rest to the
 * next owner, and so does whoever is told to hurry.
 */
void purge_wait(struct core *core, void (*done)(void *arg), void *arg);
/* Whoever waits need wait no more. */
void purge_hurry(struct core *core);

#endif
