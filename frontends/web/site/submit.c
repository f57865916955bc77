/* SPDX-License-Identifier: MIT */
/*
 * Submitting a file.
 *
 * What `finish` adds: `choice` {"file_name", "mode", "request", "open": whether the form is shown}, `places` (the board's devices,
 * as of device.list), and, where something was refused, `header` (the directives of the file), else null.
 */
#include <config.h>

#include "web/site/site.h"

#include "base/base.h"
#include "base/text.h"
#include "web/site/report.h"

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
 * Their `request` is the form's identifier and a hash of what is sent, so that a form sent twice is one submission, and one that was
 * changed in between is another.
 */
static json_t *
args_submit(const struct visit *visit)
{
	char hash[HASH_SIZE];
	const char *form = site_field(visit, "request");
	json_t *args = json_pack("{s:s, s:s*, s:s*, s:o, s:b, s:o*}", "leaderboard", site_segment(visit, 1), "mode",
		site_field(visit, "mode"), "note", site_field(visit, "note"), "device", chosen_devices(visit), "no_wait", 1,
		"file", sent_file(visit));
	AUTO_FREE char *sent = json_dumps(args, JSON_COMPACT | JSON_SORT_KEYS);
	sha256_hex(sent, strlen(sent), hash);
	if (form && strlen(form) <= REQUEST_MAX)
		json_object_set_new(args, "request", json_sprintf("%s.%.16s", form, hash));
	return args;
}

/* ---- the page ---- */

/* The first values of the fields, without texts: as they were sent, else of a submission, else of a template. New reference. */
static json_t *
choice_of(const struct visit *visit)
{
	const json_t *sent = site_model(visit, "form.fields"), *from = site_model(visit, "from"),
				 *template = json_array_get(site_model(visit, "template.templates"), 0),
				 *first = from ? from : template, *board = site_model(visit, "board.leaderboard");
	const char *name = json_text_or_empty(sent ? sent : first, "file_name"),
			   *request = json_text_or_null(sent, "request"), *chosen = site_query(visit, "mode"),
			   *offered = chosen ? chosen : json_text_or_null(from, "mode"),
			   *mode = sent ? site_field(visit, "mode") : offered;
	if (!*name) /* that which the task gives to the submitted file */
		name = json_text_or_empty(
			list_find(site_model(visit, "board.leaderboard.task.files"), "source", "@SUBMISSION@"), "name");
	AUTO_FREE char *made = random_token("", (char[HASH_SIZE]){0});
	bool is_over = member_true(board, "ended") && member_is(board, "after_deadline", "closed");
	/* A text that was refused since the board has just ended is not lost. */
	return json_pack("{s:s, s:s, s:s, s:b}", "file_name", name, "mode", mode ? mode : "ranked", "request",
		request ? request : made, "open", sent || !is_over);
}

static bool
is_chosen(const struct visit *visit, const char *device, size_t count)
{
	const json_t *sent = site_model(visit, "form.fields"), *jobs = site_model(visit, "from.jobs");
	AUTO_FREE char *field = xasprintf(DEVICE_FIELD "%s", device);
	return sent ? json_object_get(sent, field) != NULL : jobs ? list_find(jobs, "device", device) != NULL : count == 1;
}

/* Each device of the board with what is known of it. New reference. */
static json_t *
places_of(const struct visit *visit)
{
	json_t *places = json_array();
	const json_t *names = site_model(visit, "board.leaderboard.gpu_types");
	json_array_each(names, name) {
		const char *text = json_string_value(name);
		json_t *known = list_find(site_model(visit, "devices"), "name", text),
			   *open = list_find(site_model(visit, "open.devices"), "device", text),
			   *place = known ? json_copy(known) : json_object();
		json_object_update_new(
			place, json_pack("{s:O, s:b, s:O?}", "name", name, "is_chosen",
					   is_chosen(visit, text, json_array_size(names)), "refused", json_object_get(open, "refused")));
		json_array_append_new(places, place);
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
	AUTO_JSON json_t *file = sent_file(visit);
	const char *content = json_text_or_empty(file, "base64");
	if (!file || strlen(content) > HEADER_FILE_MAX || base64_decode(content, strlen(content), &code, &size) < 0)
		return json_null();
	json_t *directives = report_directives(code, size);
	free(code);
	return directives;
}

static void
finish(const struct visit *visit, json_t *model)
{
	json_object_update_new(model, json_pack("{s:o, s:o, s:o}", "choice", choice_of(visit), "places", places_of(visit),
									  "header", site_model(visit, "form") ? header_of(visit) : json_null()));
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
