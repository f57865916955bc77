/* SPDX-License-Identifier: MIT */
/* The public threads of ranked results, which a board that is closed takes with it. Loop thread. */
#ifndef KETTLE_DISCORD_FLOWS_RESULT_THREADS_H
#define KETTLE_DISCORD_FLOWS_RESULT_THREADS_H

#include "discord/flows/announcement.h"

/* Keeps in mind that a thread of that name, in that channel, tells of a result of the board. It lasts once what is stored next does. */
void result_threads_add(struct bot *bot, json_int_t board, const char *thread, const char *channel, const char *name);
/* Deletes those of the event's board, and what Discord itself has written of them in their channel; then step. */
void result_threads_delete(struct announcement *a, announcement_fn step);
/* Forgets them: the board was deleted. */
void result_threads_forget(struct announcement *a, announcement_fn step);

#endif
