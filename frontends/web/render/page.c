/* SPDX-License-Identifier: MIT */
/* What every page knows. */
#include <config.h>

#include "web/render/page.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "web/render/assets.h"

json_t *
page_site(const struct web *web, const char *here, const char *template, const char *title, const char *user,
	const char *token)
{
	AUTO_FREE char *url = json_text_or_null(web->options, "url") ? web_address(web, here) : NULL;
	return json_pack("{s:s, s:s?, s:s?, s:s, s:s?, s:s?, s:n, s:n, s:n, s:n, s:o}", "page", template, "user", user,
		"token", token, "here", here, "url", url, "title", title, "data", "about", "picture", "refresh", "assets",
		assets_paths());
}
