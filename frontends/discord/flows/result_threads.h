/* SPDX-License-Identifier: MIT */
/* The public threads of ranked results, which are deleted when their board stops being public. Loop thread. */
#pragma once

#include "discord/flows/announcement.h"

/*
 * Records that a thread of that name, in that channel, shows a result of the board. The record is durable when the
 * next stored state is.
 */
void result_threads_add(struct bot *bot, json_int_t board, const char *thread, const char *channel, const char *name);
/* Deletes the threads of the event's board, and Discord's own messages about them in their channel; then calls step. */
void result_threads_delete(struct announcement *a, announcement_fn step);
/* Forgets the threads, since the board was deleted; then calls step. */
void result_threads_forget(struct announcement *a, announcement_fn step);
