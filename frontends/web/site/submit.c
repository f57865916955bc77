/* SPDX-License-Identifier: MIT */
/*
 * Submitting a file.
 *
 * What `finish` adds: `choice` {"text", "file_name", "note", "mode", "request", "origin": where the text comes from, or
 * null, "open": whether the form is shown}, `places` (the board's devices), and of what was refused
 * `refused` {"error", "member": that of the field at which it is shown, or ""} and `header` (the directives of the file),
 * else null.
 */
#include <config.h>

#include "web/site/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/popcorn_header.h"
#include "base/xalloc.h"
#include "common/format.h"

#define DEVICE_FIELD "device-" /* and the name of the device: a field for each */
#define REQUEST_MAX 60         /* bytes of a form's identifier */
#define HASH_SIZE 65
#define HEADER_FILE_MAX (1u << 20) /* characters of base64 of a file whose directives are shown */

/* ---- the form ---- */

/* The file that was chosen, else the text that was pasted. New reference; NULL: neither. */
static json_t *
sent_file(const struct visit *visit)
{
	json_t *file = json_object_get(json_object_get(visit->data, "fields"), "file");
	const char *text = site_field(visit, "text"), *name = site_field(visit, "file_name");
	if (json_is_object(file))
		return json_incref(file);
	if (!text)
		return NULL;
	AUTO_FREE char *content = base64_encode(text, strlen(text));
	return json_pack("{s:s, s:s}", "name", name ? name : "", "base64", content);
}

static json_t *
chosen_devices(const struct visit *visit)
{
	json_t *devices = json_array();
	json_object_each(json_object_get(visit->data, "fields"), name, value)
		if (strncmp(name, DEVICE_FIELD, strlen(DEVICE_FIELD)) == 0)
			json_array_append_new(devices, json_string(name + strlen(DEVICE_FIELD)));
	return devices;
}

/*
 * The identifier of what is sent: the form's and a hash of the contents, so that a form sent twice is one submission, and
 * one that was changed in between is another. New string; NULL: the form has none.
 */
static char *
request_of(const struct visit *visit, const json_t *args, const json_t *file)
{
	char hash[HASH_SIZE];
	const char *form = site_field(visit, "request"), *content = json_text_or_empty(file, "base64");
	if (!form || strlen(form) > REQUEST_MAX)
		return NULL;
	sha256_hex(content, strlen(content), hash);
	AUTO_FREE char *rest = json_dumps(args, JSON_COMPACT | JSON_SORT_KEYS),
				   *text = xasprintf("%s %s %s", hash, json_text_or_empty(file, "name"), rest);
	sha256_hex(text, strlen(text), hash);
	return xasprintf("%s.%.16s", form, hash);
}

static json_t *
args_submit(const struct visit *visit)
{
	AUTO_JSON json_t *file = sent_file(visit);
	json_t *args = json_pack("{s:s, s:s*, s:s*, s:o, s:b}", "leaderboard", site_segment(visit, 1), "mode",
		site_field(visit, "mode"), "note", site_field(visit, "note"), "device", chosen_devices(visit), "no_wait", 1);
	AUTO_FREE char *request = request_of(visit, args, file);
	json_object_update_new(args, json_pack("{s:O*, s:s*}", "file", file, "request", request));
	return args;
}

/* ---- the page ---- */

/* The name that the task gives to the submitted file. */
static const char *
usual_name(const struct visit *visit)
{
	const json_t *task = json_object_get(json_object_get(site_model(visit, "board"), "leaderboard"), "task");
	return json_text_or_empty(list_find(json_object_get(task, "files"), "source", "@SUBMISSION@"), "name");
}

/* What the fields have at first: as they were sent, else of a submission, else of a template. New reference. */
static json_t *
choice_of(const struct visit *visit)
{
	const json_t *sent = json_object_get(site_model(visit, "form"), "fields"), *from = site_model(visit, "from"),
				 *template = json_array_get(json_object_get(site_model(visit, "template"), "templates"), 0),
				 *file = sent   ? sent
						 : from ? from
								: template;
	const char *text = json_text_or_empty(file, sent   ? "text"
												: from ? "code"
													   : "text"),
			   *name = json_text_or_empty(file, "file_name"), *mode = sent ? site_field(visit, "mode") : NULL;
	if (!sent)
		mode = site_query(visit, "mode") ? site_query(visit, "mode") : json_text_or_null(from, "mode");
	AUTO_FREE char *made = random_token("", (char[HASH_SIZE]){0});
	const char *request = sent ? json_text_or_null(sent, "request") : NULL;
	AUTO_FREE char *origin = sent       ? NULL
							 : from     ? xasprintf("submission %lld", (long long)member_int(from, "id"))
							 : template ? xasprintf("the template %s", json_text_or_empty(template, "language"))
										: NULL;
	const json_t *board = json_object_get(site_model(visit, "board"), "leaderboard");
	bool is_over = member_true(board, "ended") && member_is(board, "after_deadline", "closed");
	/* What was refused since the board has just ended is not lost. */
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:b}", "text", text, "file_name",
		*name ? name : usual_name(visit), "note", json_text_or_empty(sent, "note"), "mode", mode ? mode : "ranked",
		"request", request ? request : made, "origin", origin, "open", sent || !is_over);
}

static bool
is_chosen(const struct visit *visit, const char *device, size_t count)
{
	const json_t *sent = json_object_get(site_model(visit, "form"), "fields"),
				 *jobs = json_object_get(site_model(visit, "from"), "jobs");
	AUTO_FREE char *field = xasprintf(DEVICE_FIELD "%s", device);
	return sent ? json_object_get(sent, field) != NULL : jobs ? list_find(jobs, "device", device) != NULL : count == 1;
}

/* Each device of the board with its queue. New reference. */
static json_t *
places_of(const struct visit *visit)
{
	json_t *places = json_array();
	const json_t *names = json_object_get(json_object_get(site_model(visit, "board"), "leaderboard"), "gpu_types"),
				 *open = json_object_get(site_model(visit, "open"), "devices");
	json_array_each(names, name) {
		char begins[FORMAT_SIZE] = "";
		const char *text = json_string_value(name);
		const json_t *device = list_find(site_model(visit, "devices"), "name", text);
		if (member_int(device, "wait_s") > 0)
			format_wait(member_int(device, "wait_s"), begins);
		json_array_append_new(
			places, json_pack("{s:O, s:b, s:O?, s:s, s:O?, s:O?}", "name", name, "is_chosen",
						is_chosen(visit, text, json_array_size(names)), "queued", json_object_get(device, "queued"),
						"begins", begins, "waits", json_object_get(device, "waits"), "refused",
						json_object_get(list_find(open, "device", text), "refused")));
	}
	return places;
}

/*
 * The directives of the file that was refused, as far as they can be read. New reference; null: none was sent, or it is
 * long.
 */
static json_t *
header_of(const struct visit *visit)
{
	void *code = NULL;
	size_t size = 0;
	json_t *header = NULL;
	struct kettle_error err = {0};
	AUTO_JSON json_t *file = sent_file(visit);
	const char *content = json_text_or_empty(file, "base64");
	if (!file || strlen(content) > HEADER_FILE_MAX || base64_decode(content, strlen(content), &code, &size) < 0)
		return json_null();
	(void)popcorn_header_parse(code, size, &header, &err);
	free(code);
	json_t *read = json_pack("{s:O?, s:O?, s:O?}", "leaderboard", json_object_get(header, "leaderboard"), "gpus",
		json_object_get(header, "gpus"), "remarks", json_object_get(header, "remarks"));
	json_decref(header);
	return read;
}

/* What was refused. New reference. */
static json_t *
refused_of(const struct visit *visit)
{
	static const char *const fields[] = {"file", "device", "mode", "note"};
	const json_t *form = site_model(visit, "form");
	const char *member = "";
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (member_is(form, "member", fields[i]))
			member = fields[i];
	return json_pack("{s:O, s:s}", "error", json_object_get(form, "error"), "member", member);
}

static void
finish(const struct visit *visit, json_t *model)
{
	bool is_refused = site_model(visit, "form");
	json_object_set_new(model, "choice", choice_of(visit));
	json_object_set_new(model, "places", places_of(visit));
	json_object_set_new(model, "refused", is_refused ? refused_of(visit) : json_null());
	json_object_set_new(model, "header", is_refused ? header_of(visit) : json_null());
}

const struct site_page pages_submit[] = {
	{.path = "board/*/submit",
		.query = "template from mode ",
		.template = "submit",
		.title = "Submit to {board.leaderboard.name}",
		.reads = {{"board", "leaderboard.show", SITE_BOARD}, {"open", "leaderboard.devices", "name=/1", true},
			{"devices", "device.list", "known=true", true},
			{"template", "leaderboard.template", "name=/1 lang=?template !?template", true},
			{"from", "submission.show", "id=#from !#from", true}},
		.finish = finish,
		.form = {"submit", .make = args_submit, .next = "/submission/{result.id}"}},
	{.path = NULL},
};
