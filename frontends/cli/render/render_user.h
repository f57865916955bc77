/* SPDX-License-Identifier: MIT */
/* Users for people, and the questions before two of them are joined. */
#ifndef KETTLE_CLI_RENDER_USER_H
#define KETTLE_CLI_RENDER_USER_H

#include "cli/run/invocation.h"

/* Render members of struct run_ui. */
int render_user_list(struct run *run, const json_t *result);
int render_user_show(struct run *run, const json_t *result);
int render_user_banned(struct run *run, const json_t *result);
int render_user_unbanned(struct run *run, const json_t *result);
int render_user_role(struct run *run, const json_t *result);
int render_user_link(struct run *run, const json_t *result); /* a code, or who was joined */

/* Start member of user.link: with a code it shows who would be joined and asks, where there is somebody to ask. */
void render_user_link_start(struct run *run);

#endif
