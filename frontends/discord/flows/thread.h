/* SPDX-License-Identifier: MIT */
/* Threads of submissions: Discord has no nonce for them, so a later process finds one again by its name. Loop thread. */
#ifndef KETTLE_DISCORD_FLOWS_THREAD_H
#define KETTLE_DISCORD_FLOWS_THREAD_H

#include "discord/interaction/interaction.h"
#include "discord/rest/rest.h"

/* The channel in which threads of a submission are made: that of the submissions, else where the command was given. Borrowed. */
const char *thread_channel(const struct interaction *interaction);

/* thread is its id, or err says why there is none, for good (ECANCELED: because the bot stops). Borrowed. */
typedef void (*thread_fn)(void *arg, const struct kettle_error *err, const char *thread);
/*
 * Makes a thread in the channel, as soon as Discord can. name is made fit and must be of this one thread alone. Where since_ms is before the bot's
 * start, the bot's active threads of that name are looked for first.
 */
void thread_find_or_make(struct bot *bot, const char *channel, const char *name, bool is_private, int64_t since_ms,
	thread_fn done, void *arg);
/* Adds a user. done may be NULL. */
void thread_add_user(struct bot *bot, const char *thread, const char *user, rest_fn done, void *arg);
/* Archives it: its messages stay readable, and it does not count for the guild's limit. */
void thread_archive(struct bot *bot, const char *thread, rest_fn done, void *arg);

#endif
