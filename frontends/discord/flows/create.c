/* SPDX-License-Identifier: MIT */
/* Creates a leaderboard, from the command to the board, and says which one is being tried meanwhile. */
#include <config.h>

#include "discord/flows/create.h"

#include "base/base.h"
#include "base/text.h"
#include "base/file_name.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/stored.h"
#include "discord/render/message.h"

/* ---- which leaderboard is being tried ---- */

struct trial {
	struct interaction *interaction; /* which the call holds */
	json_t *boards;
	uint64_t subscription;
	bool subscribed, said;
	interaction_fn fn;
	kettle_fn end;
	void *arg;
};

/* A menu stays as it is, since the user can choose again if the board is refused: one message below it names the board. */
static void
on_event(void *arg, const json_t *event)
{
	struct trial *trial = arg;
	const json_t *report = json_object_get(event, "event");
	const char *name = json_text_or_empty(report, "name");
	bool menu = trial->interaction->kind != INTERACTION_COMMAND;
	json_int_t count = member_int(report, "count");
	if (!member_is(report, "event", "trying") || !json_object_get(trial->boards, name) || (menu && trial->said))
		return;
	AUTO_FREE char *bold = answer_bold(name);
	json_t *message = count > 1 ? message_printf("Trying the task of %s (%lld of %lld)…", bold,
									  (long long)member_int(report, "index"), (long long)count)
								: message_printf("Trying the task of %s…", bold);
	trial->said = true;
	if (menu)
		interaction_follow_up(trial->interaction, message);
	else
		(void)interaction_edit(trial->interaction, message, NULL, NULL);
}

static void
unsubscribe(struct trial *trial)
{
	const struct kettle_host *host = trial->interaction->bot->host;
	if (trial->subscribed)
		(void)host->unsubscribe(host, trial->subscription, NULL, NULL);
	trial->subscribed = false;
}

static void
on_answer(struct interaction *interaction, const json_t *result, void *arg)
{
	struct trial *trial = arg;
	unsubscribe(trial);
	trial->fn(interaction, result, trial->arg);
}

static void
on_end(void *arg)
{
	struct trial *trial = arg;
	unsubscribe(trial);
	if (trial->end)
		trial->end(trial->arg);
	json_decref(trial->boards);
	free(trial);
}

void
trial_call(struct interaction *interaction, const char *command, json_t *args_take, json_t *boards_take,
	interaction_fn fn, kettle_fn end, void *arg)
{
	const struct kettle_host *host = interaction->bot->host;
	struct trial *trial =
		xnew(struct trial, .interaction = interaction, .boards = boards_take, .fn = fn, .end = end, .arg = arg);
	AUTO_JSON json_t *filter = json_pack("{s:b}", "task_run", 1);
	trial->subscribed =
		host->subscribe(host, interaction->actor, filter, -1, on_event, trial, &trial->subscription, NULL) == 0;
	interaction_call(interaction, command, args_take, on_answer, on_end, trial);
}

/* ---- the command and its menus ---- */

#define PENDING_MAX 20         /* waiting menus, each with a task in memory; the oldest is dropped */
#define PENDING_LIFE_MS 900000 /* of a menu */
#define KEY_PREFIX "make/"     /* of the state's keys */

struct creations {
	struct bot *bot;
	json_t *pending; /* id → form with "task" */
};

/*
 * One creation. form: {"id", "user", "begun", "name", "deadline", "file": {"filename", "url"}, "force"?: true, "harness"?,
 * "known"?: names of devices, "devices"?: those that were chosen, "languages"?: those that fit the file, of which one is
 * being chosen, "lang"?: that one}.
 */
struct creation {
	unsigned references;
	struct interaction *interaction;
	json_t *form, *task;
};

static struct creation *
creation_new(struct interaction *interaction, json_t *form_take)
{
	struct creation *creation =
		xnew(struct creation, .references = 1, .interaction = interaction_ref(interaction), .form = form_take);
	return creation;
}

static void
creation_unref(void *arg)
{
	struct creation *creation = arg;
	if (--creation->references > 0)
		return;
	interaction_unref(creation->interaction);
	json_decref_all(creation->form, creation->task);
	free(creation);
}

static void
call(struct creation *creation, const char *command, json_t *args_take, interaction_fn fn)
{
	creation->references++;
	interaction_call(creation->interaction, command, args_take, fn, creation_unref, creation);
}

/* ---- waiting menus ---- */

static void
forget(struct bot *bot, const char *id)
{
	AUTO_FREE char *key = xasprintf(KEY_PREFIX "%s", id);
	(void)bot_put(bot, key, NULL, NULL, NULL);
	(void)json_object_del(bot->creations->pending, id);
}

static bool
is_valid(const struct bot *bot, const json_t *form)
{
	return bot->host->utc_ms(bot->host) - member_int(form, "begun") < PENDING_LIFE_MS;
}

/* ---- the board ---- */

static void
on_created(struct interaction *interaction, const json_t *board, void *arg)
{
	struct creation *creation = arg;
	AUTO_FREE char *text = answer_template(
		"Created leaderboard {*name}{gpu_types? on {gpu_types}}; {deadline?it ends {deadline:date}|it has no deadline}."
		"{tried@@\n{device}: {said:sentence}}{remarks@@\nRemark: {:sentence}}",
		board);
	forget(interaction->bot, json_text_or_empty(creation->form, "id"));
	boards_forget(interaction->bot);
	interaction_answer(interaction, message_new(text));
}

static void
make(struct creation *creation)
{
	const json_t *form = creation->form;
	creation->references++;
	trial_call(creation->interaction, "leaderboard.create",
		json_pack("{s:O, s:O, s:O, s:O*, s:O*, s:O*}", "name", json_object_get(form, "name"), "deadline",
			json_object_get(form, "deadline"), "task", creation->task, "device", json_object_get(form, "devices"),
			"force", json_object_get(form, "force"), "harness", json_object_get(form, "harness")),
		json_pack("{s:b}", json_text_or_empty(form, "name"), 1), on_created, creation_unref, creation);
}

/* ---- which devices, which language ---- */

static void
ask_devices(struct interaction *interaction, const json_t *form, size_t offset)
{
	const json_t *known = json_object_get(form, "known");
	const char *id = json_text_or_empty(form, "id");
	offset = offset < json_array_size(known) ? offset : 0;
	AUTO_FREE char *verb = xasprintf("create:%s", id);
	AUTO_FREE char *text = answer_template(
		"Which devices should {*name} be ranked on? You may choose several; each has its own ranking.", form);
	json_t *message = message_new(text);
	message_menu(message, verb, "Devices", MESSAGE_CHOICES_MAX, message_names(known, offset));
	message_pages(message, "create", id, offset, MESSAGE_CHOICES_MAX, json_array_size(known));
	interaction_answer(interaction, message);
}

static void
ask_language(struct interaction *interaction, const json_t *form)
{
	AUTO_FREE char *verb = xasprintf("create:%s", json_text_or_empty(form, "id"));
	AUTO_FREE char *text =
		answer_template("{file.filename} fits several languages. Which language is the task in?", form);
	json_t *message = message_new(text);
	message_menu(message, verb, "Language", 1, message_names(json_object_get(form, "languages"), 0));
	interaction_answer(interaction, message);
}

static void
ask(struct interaction *interaction, const json_t *form, size_t offset)
{
	if (json_object_get(form, "languages"))
		ask_language(interaction, form);
	else
		ask_devices(interaction, form, offset);
}

/* Shows the menu when it can outlive this process; if it cannot be stored, it ends with the process. */
static void
on_stored(void *arg, const struct kettle_error *err, json_t *result)
{
	struct creation *creation = arg;
	(void)err, (void)result;
	ask(creation->interaction, creation->form, 0);
	creation_unref(creation);
}

static void
keep(struct creation *creation)
{
	struct bot *bot = creation->interaction->bot;
	json_t *pending = bot->creations->pending, *form = json_copy(creation->form);
	const char *id = json_text_or_empty(form, "id");
	AUTO_FREE char *key = xasprintf(KEY_PREFIX "%s", id);
	/* The file is read again in the language of the devices, or the one that is chosen. */
	if (!json_object_get(creation->task, "languages"))
		(void)json_object_set(form, "task", creation->task);
	(void)json_object_set_new(pending, id, form);
	if (json_object_size(pending) > PENDING_MAX)
		forget(bot, json_object_iter_key(json_object_iter(pending)));
	creation->references++;
	if (bot_put(bot, key, creation->form, on_stored, creation) < 0)
		on_stored(creation, NULL, NULL);
}

/* The devices are known. */
static void
make_or_ask(struct creation *creation)
{
	json_t *languages = json_object_get(creation->task, "languages");
	if (!languages) {
		make(creation);
		return;
	}
	(void)json_object_set(creation->form, "languages", languages);
	keep(creation);
}

static void
on_devices(struct interaction *interaction, const json_t *devices, void *arg)
{
	struct creation *creation = arg;
	json_t *known = json_array();
	(void)interaction;
	json_array_each(devices, device)
		(void)json_array_append(known, json_object_get(device, "name"));
	(void)json_object_set_new(creation->form, "known", known);
	if (json_array_size(known) < 2)
		make_or_ask(creation);
	else
		keep(creation);
}

static void
on_task(struct interaction *interaction, const json_t *task, void *arg)
{
	struct creation *creation = arg;
	(void)interaction;
	creation->task = json_incref((json_t *)task);
	if (json_object_get(creation->form, "devices") ||
		json_array_size(json_object_get(json_object_get(task, "task"), "gpus")) > 0)
		make_or_ask(creation);
	else
		call(creation, "device.list", json_pack("{s:b}", "known", 1), on_devices);
}

/* ---- the attachment ---- */

static void
on_file(void *arg, const struct kettle_error *err, const void *data, size_t size)
{
	struct creation *creation = arg;
	if (err->code < 0) {
		interaction_fail(creation->interaction, err);
	} else {
		AUTO_FREE char *base64 = base64_encode(data, size);
		call(creation, "task.unpack",
			json_pack("{s:{s:O, s:s}, s:b, s:O*, s:O*}", "file", "name",
				json_object_get(json_object_get(creation->form, "file"), "filename"), "base64", base64, "choose", 1,
				"lang", json_object_get(creation->form, "lang"), "device", json_object_get(creation->form, "devices")),
			on_task);
	}
	creation_unref(creation);
}

static void
fetch(struct creation *creation_take)
{
	struct bot *bot = creation_take->interaction->bot;
	struct kettle_error err = {0};
	const char *url = json_text_or_empty(json_object_get(creation_take->form, "file"), "url");
	if (bot->stopping)
		(void)kettle_fail(&err, KETTLE_ECANCELED, "The bot stops.");
	if (err.code < 0 || rest_download(bot->rest, url, bot->settings.max_zip, on_file, creation_take, &err) < 0)
		on_file(creation_take, &err, NULL, 0);
}

static void
on_name(struct interaction *interaction, const json_t *result, void *arg)
{
	struct creation *creation = arg;
	(void)interaction;
	(void)result;
	creation->references++;
	fetch(creation);
}

/* Refuses an invalid or taken name, and a deadline that has passed, before asking for devices. */
static void
check_name(struct creation *creation_take)
{
	const json_t *form = creation_take->form;
	call(creation_take, "leaderboard.check_name",
		json_pack("{s:O, s:O, s:O*}", "name", json_object_get(form, "name"), "deadline",
			json_object_get(form, "deadline"), "force", json_object_get(form, "force")),
		on_name);
	creation_unref(creation_take);
}

/* Whether the user's role may create boards. Attachments of other users are not fetched. */
static bool
may_create(const json_t *user)
{
	return member_is(user, "role", "admin") || member_is(user, "role", "creator");
}

static void
refuse(struct interaction *interaction)
{
	const struct bot *bot = interaction->bot;
	const char *admin = bot->roles[BOT_ADMIN], *creator = bot->roles[BOT_CREATOR];
	if (*admin && *creator)
		interaction_say(interaction, "Only <@&%s>, <@&%s> and administrators of this server may create leaderboards.",
			creator, admin);
	else
		interaction_say(interaction, "Only creators and admins may create leaderboards.");
}

/*
 * Checks the role that the engine itself gave, if the user's role on Discord is not enough. user: NULL if the engine
 * does not know the user.
 */
static void
on_user(struct interaction *interaction, const json_t *user, void *arg)
{
	struct creation *creation = arg;
	if (may_create(user)) {
		check_name(creation);
		return;
	}
	refuse(interaction);
	creation_unref(creation);
}

static bool
is_reference(const char *name)
{
	return file_name_ends_in(name, ".py") || file_name_ends_in(name, ".cu") || file_name_ends_in(name, ".cuh") ||
		   file_name_ends_in(name, ".cpp");
}

/* Whether the options make a valid request; if not, tells the user why. */
static bool
check(struct interaction *interaction, const json_t *zip, const json_t *reference)
{
	const json_t *file = zip ? zip : reference;
	uint64_t limit = interaction->bot->settings.max_zip;
	if (!zip == !reference)
		interaction_say(interaction, "Attach either `task_zip` or `reference_code`.");
	else if (zip && !file_name_ends_in(json_text_or_empty(zip, "filename"), ".zip"))
		interaction_say(interaction, "`task_zip` must be a .zip of the task's folder.");
	else if (reference && !is_reference(json_text_or_empty(reference, "filename")))
		interaction_say(interaction, "`reference_code` must be a .py, .cu, .cuh or .cpp file.");
	else if (member_int(file, "size") > (json_int_t)limit)
		interaction_say(interaction, "The file has %lld bytes; the limit is %llu.", (long long)member_int(file, "size"),
			(unsigned long long)limit);
	else
		return true;
	return false;
}

void
create_begin(struct interaction *interaction)
{
	const json_t *zip = json_object_get(interaction->options, "task_zip");
	const json_t *reference = json_object_get(interaction->options, "reference_code"), *file = zip ? zip : reference;
	const char *name = interaction_text(interaction, "leaderboard_name");
	const char *deadline = interaction_text(interaction, "deadline");
	if (!check(interaction, zip, reference))
		return;
	struct creation *creation = creation_new(interaction,
		json_pack("{s:s, s:s, s:I, s:s, s:s, s:o*, s:s*, s:{s:s, s:s}}", "id", interaction->id, "user",
			interaction->user, "begun", (json_int_t)interaction->begun_ms, "name", name ? name : "", "deadline",
			deadline ? deadline : "none", "force", interaction_flag(interaction, "force") ? json_true() : NULL,
			"harness", interaction_text(interaction, "harness"), "file", "filename",
			json_text_or_empty(file, "filename"), "url", json_text_or_empty(file, "url")));
	if (may_create(interaction->actor))
		check_name(creation);
	else
		answer_try(interaction, "user.show", json_object(), on_user, creation);
}

/* ---- the menu ---- */

struct choice {
	struct interaction *interaction;
	size_t offset;
	bool page;
};

/* Continues with the stored form, which has no task if an earlier process made it. */
static void
take_choice(struct choice *choice, const json_t *form)
{
	struct interaction *interaction = choice->interaction;
	if (!json_is_object(form) || !is_valid(interaction->bot, form)) {
		interaction_say(interaction, "This menu is no longer valid; use `/leaderboard create` again.");
	} else if (!member_is(form, "user", interaction->user)) {
		interaction_say(interaction, "This menu belongs to another user.");
	} else if (choice->page) {
		ask(interaction, form, choice->offset);
	} else {
		struct creation *creation = creation_new(interaction, json_copy((json_t *)form));
		creation->task = json_incref(json_object_get(form, "task"));
		(void)json_object_del(creation->form, "task");
		if (json_object_del(creation->form, "languages") == 0)
			(void)json_object_set(creation->form, "lang", json_array_get(interaction->values, 0));
		else
			(void)json_object_set(creation->form, "devices", interaction->values);
		if (creation->task) {
			make(creation);
			creation_unref(creation);
		} else {
			fetch(creation);
		}
	}
	interaction_unref(interaction);
	free(choice);
}

static void
on_kept(void *arg, const struct kettle_error *err, json_t *form)
{
	struct choice *choice = arg;
	if (err->code < 0) {
		interaction_fail(choice->interaction, err);
		interaction_unref(choice->interaction);
		free(choice);
		return;
	}
	take_choice(choice, form);
}

void
create_chosen(struct interaction *interaction, const char *arguments)
{
	const struct bot *bot = interaction->bot;
	struct choice *choice = xcalloc(1, sizeof(*choice));
	const char *id = arguments;
	choice->interaction = interaction_ref(interaction);
	choice->page = answer_page(arguments, &choice->offset, &id);
	const json_t *form = json_object_get(bot->creations->pending, id);
	AUTO_FREE char *key = xasprintf(KEY_PREFIX "%s", id);
	interaction_defer_update(interaction);
	if (form)
		take_choice(choice, form);
	else if (bot->host->state_get(bot->host, key, on_kept, choice) < 0)
		take_choice(choice, NULL);
}

/* ---- life ---- */

static void
on_old(void *arg, const char *key, json_t *form)
{
	const struct bot *bot = arg;
	if (!is_valid(bot, form))
		(void)bot_put(bot, key, NULL, NULL, NULL);
}

struct creations *
creations_new(struct bot *bot)
{
	struct creations *creations = xnew(struct creations, bot, json_object());
	stored_each(bot, KEY_PREFIX, on_old, NULL, bot);
	return creations;
}

void
creations_free(struct creations *creations)
{
	if (!creations)
		return;
	json_decref(creations->pending);
	free(creations);
}
