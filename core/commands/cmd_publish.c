/* SPDX-License-Identifier: MIT */
/* One-time links: the frontend that serves them takes the file. */
#include <config.h>

#include "commands/handlers.h"

#include "base/json_access.h"
#include "model/download_urls.h"

int
cmd_link_take(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	char hash[65];
	int rc = download_url_take(call->db, json_text_or_null(call->args, "token"), hash, err);
	if (rc < 0)
		return rc;
	*ret_result = json_pack("{s:o}", "path", json_sprintf("%s/%s", call->env->links, hash));
	return 0;
}
