/* SPDX-License-Identifier: MIT */
/* The values that every page has, and the styles and scripts of pages. */
#include <config.h>

#include "web/render/page.h"

#include <pthread.h>

#include "base/base.h"
#include "base/hash.h"
#include "frontends/web/render/assets_data.h"
#include "web/visit/respond.h"

#define HASH_SIZE 65
#define HASH_DIGITS 16

static const struct asset {
	const char *name, *file, *type, *text;
} assets[] = {
	{"style", "style.css", "text/css; charset=utf-8", asset_style},
	{"kettle", "kettle.js", "text/javascript; charset=utf-8", asset_kettle},
	{"icon", "favicon.ico", "image/svg+xml", asset_icon},
	{"robots", "robots.txt", "text/plain; charset=utf-8", asset_robots},
	{"chart", "chart.js", "text/javascript; charset=utf-8", asset_chart},
	{"prism", "prism.js", "text/javascript; charset=utf-8", asset_prism},
};

static char tags[ARRAY_SIZE(assets)][HASH_SIZE]; /* after `once` */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_tags(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(assets); i++) {
		sha256_hex(assets[i].text, strlen(assets[i].text), tags[i]);
		tags[i][HASH_DIGITS] = '\0';
	}
}

/*
 * {"style", "kettle", "icon", "robots", "chart", "prism"}: their paths with what changes with their text; the last two are
 * null where the machine that built Kettle had none. New reference.
 */
static json_t *
paths_of_assets(void)
{
	json_t *paths = json_object();
	(void)pthread_once(&once, make_tags);
	for (size_t i = 0; i < ARRAY_SIZE(assets); i++)
		json_object_set_new(paths, assets[i].name,
			*assets[i].text ? json_sprintf("/assets/%s?%s", assets[i].file, tags[i]) : json_null());
	return paths;
}

json_t *
page_site(const struct web *web, const char *here, const char *template, const char *title, const char *user,
	const char *token)
{
	AUTO_FREE char *url = json_text_or_null(web->options, "url") ? web_address(web, here) : NULL,
				   *root = url ? web_address(web, "") : NULL;
	return json_pack("{s:s?, s:s, s:s?, s:s?, s:s, s:s?, s:s?, s:n, s:n, s:n, s:n, s:n, s:n, s:o}", "root", root,
		"page", template, "user", user, "token", token, "here", here, "url", url, "title", title, "data", "about",
		"picture", "refresh", "role", "operates", "assets", paths_of_assets());
}

void
assets_request(struct http_request *request, const char *name)
{
	size_t i = 0;
	while (i < ARRAY_SIZE(assets) && strcmp(assets[i].file, name) != 0)
		i++;
	if (i == ARRAY_SIZE(assets) || !*assets[i].text) {
		respond_refusal(request, STATUS_NOT_FOUND, kettle_error_name(KETTLE_ENOENT), "There is no such file.");
		return;
	}
	(void)pthread_once(&once, make_tags);
	/* The address of a text is its alone: browsers need not ask again. */
	bool is_exact = strcmp(http_query(request), tags[i]) == 0;
	const struct http_header headers[] = {
		{"Cache-Control", is_exact ? "public, max-age=31536000, immutable" : "no-cache"},
		{"X-Content-Type-Options", "nosniff"}, {NULL, NULL}};
	http_answer(request, STATUS_OK, http_content_new(assets[i].type, assets[i].text, strlen(assets[i].text), headers));
}
