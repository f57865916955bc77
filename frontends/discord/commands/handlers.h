/* SPDX-License-Identifier: MIT */
/*
 * The functions of the rows of table.c, a section for each file. They are called on the loop thread, deferred unless
 * the row says at_once.
 */
#pragma once

#include "discord/interaction/interaction.h"

/* ---- cmd_board.c: boards and their rankings ---- */
void discord_board_list(struct interaction *interaction);
void discord_board_list_page(struct interaction *interaction, const char *arguments);
void discord_board_show(struct interaction *interaction);
void discord_board_show_devices(struct interaction *interaction, const char *arguments);
void discord_board_show_page(struct interaction *interaction, const char *arguments);
void discord_board_personal(struct interaction *interaction, const json_t *result);

/* ---- cmd_submission.c: the user's own submissions; answers that are files ---- */
void discord_submission_list(struct interaction *interaction, const json_t *result);
void discord_submission_show(struct interaction *interaction, const json_t *result);
void discord_submission_cancel(struct interaction *interaction, const char *arguments);
void discord_files_task(struct interaction *interaction, const json_t *result);
void discord_files_template(struct interaction *interaction, const json_t *result);
void discord_files_harness(struct interaction *interaction, const json_t *result);

/* ---- cmd_user.c: accounts, help ---- */
void discord_user_link(struct interaction *interaction);
void discord_user_link_confirm(struct interaction *interaction, const char *arguments);
void discord_user_help(struct interaction *interaction);
void discord_user_ping(struct interaction *interaction);

/* ---- cmd_admin.c: the engine; users; submissions and boards of others ---- */
void discord_admin_stats(struct interaction *interaction, const json_t *result);
void discord_admin_resync(struct interaction *interaction);
void discord_moderate_ban(struct interaction *interaction, const json_t *result);
void discord_moderate_unban(struct interaction *interaction, const json_t *result);
void discord_moderate_delete(struct interaction *interaction, const json_t *result);
void discord_moderate_delete_confirm(struct interaction *interaction, const char *arguments);
void discord_moderate_update_problems(struct interaction *interaction, const json_t *result);
void discord_moderate_invite(struct interaction *interaction, const json_t *result);
