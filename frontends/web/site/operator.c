/* SPDX-License-Identifier: MIT */
/*
 * What organisers and operators do.
 *
 * Theory of operation. The pages show answers, and link to forms of commands, with arguments filled in. A form is made
 * from the row of its command; which commands have one, the table of actions says. An action that asks shows first what
 * it will do; the same form, with all fields hidden and `confirmed`, then does it. Its answer is shown by the view of the
 * command. Rights are the core's; the guards only hide the pages from those who can do nothing there.
 */
#include <config.h>

#include "base/base.h"
#include "base/csv.h"
#include "common/view.h"
#include "web/api/api.h"
#include "web/site/site.h"
#include "web/visit/fields.h"
#include "web/visit/respond.h"

#define LIST_SPACES " ,\t\n"
#define FILE_NAME "file.name" /* and FIELDS_FILE_KEPT: fields of a file that was sent before */

/*
 * Of an action: it is confirmed before it is done; it takes something away; it may take minutes; an admin does it to a user
 * who must be named, while the command would take the caller.
 */
enum { ASKS = 1, TAKES = 2, SLOW = 4, NAMES = 8 };

struct action {
	const char *command, *title;
	unsigned flags;
	/* A command that makes an argument; member: of its answer, which keeps its name in the argument; NULL: all of it. */
	const char *source, *argument, *member;
};

/* clang-format off */
static const struct action actions[] = {
	{.command = "leaderboard.create", .title = "Create a leaderboard", .flags = ASKS | SLOW, .source = "task.unpack", .argument = "task"},
	{.command = "leaderboard.update", .title = "Change a leaderboard", .flags = ASKS | SLOW, .source = "task.unpack", .argument = "task"},
	{.command = "leaderboard.rate_limit", .title = "Set a rate limit", .flags = 0},
	{.command = "leaderboard.delete", .title = "Delete a leaderboard", .flags = ASKS | TAKES},
	{.command = "competition.sync", .title = "Create and update leaderboards from a repository", .flags = ASKS | SLOW, .source = "competition.fetch", .argument = "problems", .member = "sets"},
	{.command = "competition.show", .title = "Show a competition", .flags = 0},
	{.command = "invite.create", .title = "Create invites", .flags = 0},
	{.command = "invite.revoke", .title = "Revoke an invite", .flags = ASKS | TAKES},
	{.command = "submission.flag", .title = "Mark a submission as a cheat", .flags = ASKS | TAKES},
	{.command = "submission.unflag", .title = "Remove the mark as a cheat", .flags = ASKS},
	{.command = "submission.rerun", .title = "Run a submission again", .flags = ASKS},
	{.command = "submission.cancel", .title = "Cancel a submission", .flags = ASKS},
	{.command = "submission.delete", .title = "Delete a submission", .flags = ASKS | TAKES},
	{.command = "submission.delete_all", .title = "Delete all submissions of a user", .flags = ASKS | TAKES},
	{.command = "user.ban", .title = "Ban a user", .flags = ASKS | TAKES},
	{.command = "user.unban", .title = "Lift a ban", .flags = ASKS},
	{.command = "user.role", .title = "Give a user a role", .flags = ASKS},
	{.command = "user.merge", .title = "Merge two users", .flags = ASKS | TAKES},
	{.command = "user.delete", .title = "Remove a user", .flags = ASKS | TAKES | NAMES},
	{.command = "device.disable", .title = "Disable units", .flags = ASKS | TAKES},
	{.command = "device.enable", .title = "Enable units", .flags = 0},
	{.command = "device.calibrate", .title = "Measure the speed of devices", .flags = ASKS | SLOW},
	{.command = "device.verify", .title = "Run known submissions", .flags = ASKS | SLOW},
	{.command = "admin.pause", .title = "Accept no more submissions", .flags = ASKS | TAKES},
	{.command = "admin.resume", .title = "Accept submissions again", .flags = ASKS},
	{.command = "admin.verify", .title = "Check the database", .flags = SLOW},
	{.command = "admin.gc", .title = "Remove what is no longer needed", .flags = ASKS | SLOW},
	{.command = "config.reload", .title = "Reload the configuration", .flags = ASKS},
};
/* clang-format on */

/* ---- who may see it ---- */

/* A leaderboard is its creator's and the admins'. */
static bool
has_board(const struct visit *visit, const json_t *board)
{
	const char *user = session_user(visit);
	return user && (site_administers(visit) || member_is(board, "creator", user));
}

static bool
may_organise(const struct visit *visit)
{
	const json_t *board = site_model(visit, "board.leaderboard");
	return site_operates(visit) && (!board || has_board(visit, board));
}

/* NULL: the address names none. */
static const struct action *
action_of(const struct visit *visit)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].command, site_segment(visit, 2)) == 0)
			return &actions[i];
	return NULL;
}

static json_t *
row_of(const struct visit *visit, const char *command)
{
	return json_object_get(visit->web->commands, command);
}

static bool
may_act(const struct visit *visit)
{
	const struct action *action = action_of(visit);
	bool of_admins = action && ((action->flags & NAMES) || member_is(row_of(visit, action->command), "right", "admin"));
	return action && (of_admins ? site_administers : site_operates)(visit);
}

/* ---- arguments from fields ---- */

/* A file that is sent now, or was sent with the step before; NULL: none. New reference. */
static json_t *
file_of(const struct visit *visit, const char *name)
{
	json_t *sent = json_object_get(json_object_get(visit->data, "fields"), name);
	if (json_is_object(sent))
		return json_incref(sent);
	return json_pack(
		"{s:s*, s:s*}", "name", site_field(visit, FILE_NAME), "base64", site_field(visit, FIELDS_FILE_KEPT));
}

/* The arguments of a command that the fields have. New reference. */
static json_t *
args_of(const struct visit *visit, const char *command)
{
	json_t *args = json_object();
	json_array_each(json_object_get(row_of(visit, command), "args"), argument) {
		const char *name = json_text_or_empty(argument, "name"), *text = site_field(visit, name);
		AUTO_JSON json_t *file = member_is(argument, "type", "file") ? file_of(visit, name) : NULL;
		if (json_object_size(file) > 0)
			json_object_set(args, name, file);
		else if (text)
			json_object_set_new(args, name,
				member_true(argument, "repeated") ? site_list(text, LIST_SPACES, argument) : api_value(argument, text));
	}
	return args;
}

static const json_t *
find_argument(const struct visit *visit, const char *command, const char *name)
{
	return list_find(json_object_get(row_of(visit, command), "args"), "name", name);
}

static bool
is_required(const struct action *action, const json_t *argument)
{
	return member_true(argument, "required") || ((action->flags & NAMES) && member_is(argument, "name", "name"));
}

/* Whether args lack one that the command needs: then the core refuses them, and says which. */
static bool
lacks_one(const struct visit *visit, const struct action *action, const json_t *args)
{
	json_array_each(json_object_get(row_of(visit, action->command), "args"), argument) {
		const json_t *value = json_object_get(args, json_text_or_empty(argument, "name"));
		if (is_required(action, argument) && (!value || (json_is_string(value) && !json_string_length(value))))
			return true;
	}
	return false;
}

/* The arguments of an action, with what its source has made; an empty name, which is refused, where it lacks one. New reference. */
static json_t *
action_args(const struct visit *visit, const struct action *action)
{
	json_t *args = args_of(visit, action->command), *made = site_model(visit, "answer");
	if (action->source && made)
		json_object_set_new(args, action->argument,
			action->member ? json_pack("{s:O}", action->member, json_object_get(made, action->member))
						   : json_incref(made));
	if (action->flags & NAMES)
		json_object_update_missing_new(args, json_pack("{s:s}", "name", ""));
	return args;
}

/* Whether the source of an action has something to make: what must be there, or was sent. */
static bool
has_source(const struct visit *visit, const struct action *action)
{
	AUTO_JSON json_t *args = action->source ? args_of(visit, action->source) : NULL;
	const json_t *argument = args ? find_argument(visit, action->command, action->argument) : NULL;
	return argument && (member_true(argument, "required") || json_object_get(args, "file"));
}

static const char *
step(const struct visit *visit, json_t **ret_args)
{
	const struct action *action = action_of(visit);
	const char *last = json_string_value(site_model(visit, "command"));
	bool asks = (action->flags & ASKS) && !site_field(visit, "confirmed");
	if (!json_object_get(visit->data, "fields") || (last && strcmp(last, action->command) == 0))
		return NULL;
	if (!last && has_source(visit, action)) {
		*ret_args = args_of(visit, action->source);
		return action->source;
	}
	AUTO_JSON json_t *args = action_args(visit, action);
	bool is_tried = asks && find_argument(visit, action->command, "dry_run");
	if (asks && !is_tried && !lacks_one(visit, action, args))
		return NULL;
	if (is_tried)
		json_object_set_new(args, "dry_run", json_true());
	*ret_args = STEAL(args);
	return action->command;
}

/* ---- the form ---- */

/* The argument that was refused: of what a source makes, the source's first. "" or NULL: none. */
static const char *
refused_argument(const struct visit *visit)
{
	const struct action *action = action_of(visit);
	const char *member = json_text_or_null(site_model(visit, "form"), "member");
	const char *last = json_string_value(site_model(visit, "command"));
	bool has_made = action->source && member && strcmp(member, action->argument) == 0;
	bool makes = action->source && member && !*member && last && strcmp(last, action->source) == 0;
	if (!has_made && !makes)
		return member;
	return json_text_or_null(json_array_get(json_object_get(row_of(visit, action->source), "args"), 0), "name");
}

/* An argument as its row has it, with what was sent. New reference. */
static json_t *
control_of(const struct visit *visit, const json_t *argument, bool needed)
{
	const char *name = json_text_or_empty(argument, "name"), *wrong = refused_argument(visit);
	const char *value = site_field(visit, name) ? site_field(visit, name) : site_query(visit, name);
	AUTO_JSON json_t *file = member_is(argument, "type", "file") ? file_of(visit, name) : NULL;
	bool is_kept = json_object_size(file) > 0;
	json_t *control = json_copy((json_t *)argument);
	json_object_update_new(
		control, json_pack("{s:s, s:b, s:O?, s:O?}", "value", value ? value : "", "needed",
					 needed && is_required(action_of(visit), argument) && !is_kept, "kept", is_kept ? file : NULL,
					 "wrong", wrong && strcmp(wrong, name) == 0 ? site_model(visit, "form.error") : NULL));
	return control;
}

/*
 * Adds the controls of a command's arguments, but those that another has as well and those that no form shows. needed:
 * whether the required ones must be given.
 */
static void
add_controls(const struct visit *visit, json_t *controls, const char *command, bool needed)
{
	const struct action *action = action_of(visit);
	bool is_source = strcmp(command, action->command) != 0;
	json_array_each(json_object_get(row_of(visit, command), "args"), argument) {
		const char *name = json_text_or_empty(argument, "name");
		bool is_made = !is_source && action->argument && strcmp(name, action->argument) == 0;
		if (is_made)
			add_controls(visit, controls, action->source, member_true(argument, "required"));
		else if (strcmp(name, "dry_run") != 0 && strcmp(name, "choose") != 0 &&
				 !(is_source && find_argument(visit, action->command, name)))
			json_array_append_new(controls, control_of(visit, argument, needed));
	}
}

/* An answer as text. New string. */
static char *
shown(const struct visit *visit, const struct action *action)
{
	char *text = NULL;
	size_t size = 0;
	json_t *answer = site_model(visit, "answer"), *args = site_model(visit, "args");
	struct term term = {.out = term_memory(&text, &size)};
	view_print(&term, json_object_get(row_of(visit, action->command), "view"), answer, args, session_user(visit));
	(void)fclose(term.out);
	return text;
}

/* Where the form was opened: a page of a leaderboard; null: elsewhere. New reference. */
static json_t *
back_of(const struct visit *visit)
{
	const char *board = site_field(visit, "board") ? site_field(visit, "board") : site_query(visit, "board");
	const char *now = json_string_value(site_model(visit, "answer.leaderboard.name")); /* it may have another name */
	const char *command =
		site_segment(visit, 2); /* of invites or submissions, which have their lists, or of the board */
	bool has_list = strncmp(command, "leaderboard.", strlen("leaderboard.")) != 0;
	return !board ? json_null()
				  : json_pack("{s:s, s:o}", "board", now ? now : board, "list",
						has_list ? json_stringn(command, strcspn(command, ".")) : json_null());
}

static void
finish_act(const struct visit *visit, json_t *model)
{
	const struct action *action = action_of(visit);
	const json_t *row = row_of(visit, action->command);
	const char *last = json_string_value(site_model(visit, "command"));
	bool is_refused = site_model(visit, "form"), is_sent = json_object_get(visit->data, "fields") && !is_refused;
	bool is_shown = is_sent && last && strcmp(last, action->command) == 0;
	bool asks = is_sent && (action->flags & ASKS) && !site_field(visit, "confirmed");
	AUTO_FREE char *text = is_shown ? shown(visit, action) : NULL;
	json_t *controls = json_array(), *made = asks ? site_model(visit, "answer") : NULL;
	add_controls(visit, controls, action->command, true);
	bool is_placed = is_refused && refused_argument(visit) && list_find(controls, "name", refused_argument(visit));
	json_object_update_new(model,
		json_pack("{s:O?, s:b, s:b, s:b, s:b, s:b, s:s?, s:O?, s:o, s:o}", "details", json_object_get(row, "details"),
			"is_slow", (action->flags & SLOW) != 0, "takes", (action->flags & TAKES) != 0, "asks", asks, "is_done",
			is_shown && !asks, "is_unplaced", is_refused && !is_placed, "text", text, "plan",
			json_object_get(made, "yml") ? made : NULL, "controls", controls, "back", back_of(visit)));
	json_object_set_new(json_object_get(model, "site"), "title", json_string(action->title));
	if (!is_refused)
		json_object_set_new(model, "form", json_null());
}

/* ---- lists ---- */

static json_t *
args_user(const struct visit *visit)
{
	return json_pack("{s:o}", "name", json_sprintf("#%s", site_segment(visit, 2)));
}

/* An admin has all leaderboards, a creator their own. */
static void
finish_boards(const struct visit *visit, json_t *model)
{
	json_t *mine = json_array();
	json_array_each(json_object_get(model, "boards"), board)
		if (has_board(visit, board))
			json_array_append(mine, board);
	json_object_set_new(model, "boards", mine);
}

static void
respond_invites(struct visit *visit)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = term_memory(&text, &size);
	AUTO_FREE char *join = web_address(visit->web, "/join/");
	AUTO_JSON json_t *names = json_pack("{s:n, s:n, s:n, s:n}", "code", "link", "claimed_by", "claimed_at");
	csv_put(out, names, true);
	json_array_each(json_object_get(site_model(visit, "invites"), "invites"), invite) {
		const char *code = json_text_or_empty(invite, "code");
		AUTO_JSON json_t *row =
			json_pack("{s:s, s:o, s:O?, s:O?}", "code", code, "link", json_sprintf("%s%s", join, code), "claimed_by",
				json_object_get(invite, "user_name"), "claimed_at", json_object_get(invite, "claimed_at"));
		csv_put(out, row, false);
	}
	(void)fclose(out);
	respond_text(visit->request, STATUS_OK, "text/csv; charset=utf-8", text);
	free(text);
	visit_end(visit);
}

/* ---- the first page ---- */

/* Adds to each device what the statistics have of it, null where that is nothing. The core may give its answers to others, too. */
static void
finish_overview(const struct visit *visit, json_t *model)
{
	static const char *const names[] = {
		"num_run", "runs_passed", "runs_scored", "avg_delay", "max_delay", "total_runtime"};
	const json_t *stats = site_model(visit, "stats.stats");
	json_t *devices = json_deep_copy(json_object_get(model, "devices"));
	json_array_each(devices, device)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			AUTO_FREE char *name = xasprintf("%s.%s", names[i], json_text_or_empty(device, "name"));
			json_object_update_new(device, json_pack("{s:O?}", names[i], json_object_get(stats, name)));
		}
	json_object_set_new(model, "devices", devices);
}

/* ---- the rows ---- */

#define BOARD "board", "leaderboard.show", "name=/2 limit=1"
#define ARGUMENTS "name leaderboard board device unit user id code role into provider category "

const struct site_page pages_operator[] = {
	{.path = "operator",
		.query = "board last_day ",
		.template = "operator",
		.title = "Operation",
		.reads = {{"devices", "device.list", "known=true"},
			{"stats", "admin.stats", "leaderboard=?board last_day=?last_day !*admin"}},
		.guard = site_operates,
		.finish = finish_overview},
	{.path = "operator/users",
		.query = "role banned page ",
		.template = "operator_users",
		.title = "Users",
		.reads = {{"users", "user.list", "limit=100 offset=+100 role=?role banned=?banned"}},
		.guard = site_administers,
		.rows = "users"},
	{.path = "operator/user/*",
		.template = "operator_user",
		.title = "{user.user_name}",
		.reads = {{"user", "user.show", .make = args_user}},
		.guard = site_administers},
	{.path = "operator/log",
		.query = "before of board ",
		.template = "operator_log",
		.title = "Log",
		.data = "/api/v1/admin.log",
		.reads = {{"log", "admin.log", "limit=100 before=#before of=?of leaderboard=?board", true}},
		.guard = site_administers},
	{.path = "operator/boards",
		.template = "operator_boards",
		.title = "Leaderboards and competitions",
		.reads = {{"boards", "leaderboard.list", "all=true short=true"}, {"competitions", "competition.list"}},
		.guard = site_operates,
		.finish = finish_boards},
	{.path = "operator/board/*",
		.template = "operator_board",
		.title = "{board.leaderboard.name}",
		.reads = {{BOARD}, {"limits", "leaderboard.rate_limits", "name=/2"}},
		.guard = may_organise},
	{.path = "operator/board/*/invites",
		.query = "page ",
		.template = "operator_invites",
		.title = "Invites to {board.leaderboard.name}",
		.reads = {{BOARD}, {"invites", "invite.list", "name=/2 limit=100 offset=+100"}},
		.guard = may_organise,
		.rows = "invites.invites"},
	{.path = "operator/board/*/invites.csv",
		.query = "page ",
		.reads = {{BOARD}, {"invites", "invite.list", "name=/2 limit=1000 offset=+1000"}},
		.guard = may_organise,
		.respond = respond_invites},
	{.path = "operator/board/*/submissions",
		.query = "page ",
		.template = "operator_submissions",
		.title = "Submissions to {board.leaderboard.name}",
		.reads = {{BOARD}, {"submissions", "submission.list", "leaderboard=/2 all=true limit=100 offset=+100"}},
		.guard = may_organise,
		.rows = "submissions"},
	{.path = "operator/do/*",
		.query = ARGUMENTS,
		.template = "operator_do",
		.title = "Operation",
		.guard = may_act,
		.step = step,
		.finish = finish_act},
	{.path = NULL},
};
