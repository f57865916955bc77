/* SPDX-License-Identifier: MIT */
/* Styles and scripts of the pages. */
#include <config.h>

#include "web/render/assets.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "frontends/web/render/assets_data.h"
#include "web/visit/respond.h"

#define HASH_SIZE 65
#define HASH_DIGITS 16

static const struct asset {
	const char *name, *file, *type, *text;
} assets[] = {
	{"style", "style.css", "text/css; charset=utf-8", asset_style},
	{"kettle", "kettle.js", "text/javascript; charset=utf-8", asset_kettle},
	{"chart", "chart.js", "text/javascript; charset=utf-8", asset_chart},
	{"prism", "prism.js", "text/javascript; charset=utf-8", asset_prism},
};

static char *
tag_of(const struct asset *asset)
{
	char hash[HASH_SIZE];
	sha256_hex(asset->text, strlen(asset->text), hash);
	return xstrndup(hash, HASH_DIGITS);
}

json_t *
assets_paths(void)
{
	json_t *paths = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(assets); i++) {
		AUTO_FREE char *tag = tag_of(&assets[i]);
		if (*assets[i].text)
			json_object_set_new(paths, assets[i].name, json_sprintf("/assets/%s?%s", assets[i].file, tag));
	}
	return paths;
}

void
assets_request(struct web *web, struct http_request *request, const char *name)
{
	size_t i = 0;
	while (i < ARRAY_SIZE(assets) && strcmp(assets[i].file, name) != 0)
		i++;
	if (i == ARRAY_SIZE(assets) || !*assets[i].text) {
		respond_refusal(request, STATUS_NOT_FOUND, kettle_error_name(KETTLE_ENOENT), "There is no such file.");
		return;
	}
	(void)web;
	AUTO_FREE char *tag = tag_of(&assets[i]);
	/* The address of a text is its alone: browsers need not ask again. */
	bool is_exact = strcmp(http_query(request), tag) == 0;
	const struct http_header headers[] = {
		{"Cache-Control", is_exact ? "public, max-age=31536000, immutable" : "no-cache"},
		{"X-Content-Type-Options", "nosniff"}, {NULL, NULL}};
	http_answer(request, STATUS_OK, http_content_new(assets[i].type, assets[i].text, strlen(assets[i].text), headers));
}
