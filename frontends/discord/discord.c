/* SPDX-License-Identifier: MIT */
/*
 * The plugin `discord`: a bot that runs competitions on a Discord server.
 *
 * Theory of operation. Everything happens on the engine's loop, except the gateway's connection or the interactions
 * endpoint, which have a thread of their own (gateway/). At its start the bot asks Discord for its own account, the
 * roles and the registered commands. Then it continues the work of an earlier process (flows/), handles the events
 * that have come meanwhile, and only then accepts interactions. Requests that fail are repeated.
 *
 * The bot's stop ends its requests and retries. Answers of the engine may come until destroy, so the bot of a start
 * stays in memory until then.
 */
#include <config.h>

#include <kettle/plugin.h>

#include "base/base.h"
#include "discord/commands/dispatch.h"
#include "discord/commands/registration.h"
#include "discord/commands/table.h"
#include "discord/flows/announce.h"
#include "discord/flows/create.h"
#include "discord/flows/submission_message.h"
#include "discord/flows/submit.h"
#include "discord/gateway/endpoint.h"
#include "discord/gateway/gateway.h"
#include "discord/interaction/bot.h"
#include "discord/interaction/interaction.h"
#include "discord/interaction/outbox.h"
#include "discord/interaction/send.h"
#include "discord/rest/rest.h"
#include "http/server.h"

#define INTENT_GUILDS 1
#define AGAIN_MS 30000           /* until the first requests are repeated, which the bot needs to begin */
#define REGISTER_AGAIN_MS 300000 /* until commands that Discord refused are registered again */
#define MIB (1024.0 * 1024)

static const char *const ways[] = {"gateway", "endpoint", NULL};
#define OPTION(type_, key_, help_) .key = (key_), .type = KETTLE_OPTION_##type_, .help = (help_)
#define TEXT(key_, help_) OPTION(STRING, key_, help_)
#define PATH(key_, help_) OPTION(PATH, key_, help_)

static const struct kettle_option options[] = {
	{TEXT("token_env", "The environment variable with the bot's token."), .required = true},
	{PATH("token_file", "The file with the bot's token, in place of `token_env`.")},
	{TEXT("guild", "The id of the Discord server that the bot works on."), .required = true},
	{TEXT("submissions_channel",
		"The id of the only channel for submissions, where their threads are made; default: any channel.")},
	{TEXT("announcements_channel",
		"The id of the channel for podium changes and final results; default: they are not announced.")},
	{TEXT("forum", "The id of the forum channel where each public leaderboard has a post; default: new leaderboards "
				   "are announced in `announcements_channel`.")},
	{TEXT("operators_channel",
		"The id of the channel for units, disks and credentials that need attention; default: none.")},
	{TEXT("admin_role", "The name or id of the role whose members are admins of Kettle."),
		.default_value = "Leaderboard Admin"},
	{TEXT("creator_role", "The name or id of the role whose members may create leaderboards."),
		.default_value = "Leaderboard Creator"},
	{TEXT(
		"participants_role", "The name or id of the role that is mentioned when a leaderboard opens; default: none.")},
	{TEXT("interactions", "How Discord reaches the bot: by the connection that the bot opens (gateway), or by HTTPS "
						  "requests to `listen` (endpoint)."),
		.default_value = "gateway", .choices = ways},
	{TEXT("listen", "ADDRESS:PORT or unix:PATH of the endpoint; a proxy in front of it, or `certificate`, does TLS."),
		.default_value = "127.0.0.1:8480"},
	{TEXT("public_key", "The application's public key, in hexadecimal, for the endpoint.")},
	{PATH("certificate", "A PEM file with the endpoint's certificate and its chain.")},
	{PATH("private_key", "A PEM file with the key of `certificate`.")},
	{OPTION(NUMBER, "max_script_mib", "The size of the largest submitted file, in MiB."), .default_value = "1",
		.min = 0.001, .max = 8},
	{OPTION(NUMBER, "max_zip_mib", "The size of the largest zip of a task, in MiB."), .default_value = "10",
		.min = 0.001, .max = 64},
	{OPTION(INT, "answer_s",
		 "The seconds for which the bot answers a command directly; Discord accepts such answers for 15 minutes. Later "
		 "answers go to the submission's thread."),
		.default_value = "870", .min = 1, .max = 895},
	{OPTION(STRINGS, "attachment_hosts", "The hosts that attachments are fetched from."),
		.default_value = "[cdn.discordapp.com, media.discordapp.net]"},
	{TEXT("api_url", "The address of Discord's API."), .default_value = "https://discord.com/api/v10"},
	{PATH("ca_file", "A PEM file of certificates that the gateway must have, in place of the system's; for a proxy.")},
};

struct discord {
	const struct kettle_host *host;
	json_t *options;
	struct bot_settings settings; /* texts in it are borrowed from options */
	struct run *run;              /* NULL: stopped */
	struct run *earlier;          /* runs that were stopped, kept for late answers */
};

/* One run of the bot, from a start to its stop. */
struct run {
	struct discord *discord;
	struct run *next;
	struct bot bot;
	struct gateway *gateway;
	struct endpoint *endpoint;
	json_t *events; /* events that came before the bot was ready */
	bool ready;
	bool fetching; /* the gateway waits for its address */
	kettle_fn stopped;
	void *stopped_arg;
};

static void ask_who(void *arg);

static void
log_line(const struct run *run, enum kettle_log_level level, const char *text)
{
	run->bot.host->log(run->bot.host, level, "%s", text);
}

/* ---- events of the engine ---- */

static void
deal_with(struct run *run, const json_t *event)
{
	static const char *const of_boards[] = {"leaderboard.", "user.", "invite."};
	const char *kind = json_text_or_empty(event, "kind");
	for (size_t i = 0; i < ARRAY_SIZE(of_boards); i++)
		if (strncmp(kind, of_boards[i], strlen(of_boards[i])) == 0)
			boards_forget(&run->bot);
	if (!lives_event(&run->bot, event) && !announce_event(&run->bot, event))
		(void)run->bot.host->event_done(run->bot.host, member_int(event, "seq"));
}

static void
take_event(void *self, const json_t *event)
{
	struct discord *discord = self;
	struct run *run = discord->run;
	if (run && run->ready)
		deal_with(run, event);
	else if (run)
		(void)json_array_append_new(run->events, json_deep_copy(event));
}

/* ---- Discord's side ---- */

static void
refetch_roles(void *arg, const struct rest_answer *answer)
{
	struct run *run = arg;
	if (answer->err->code == 0)
		bot_take_roles(&run->bot, answer->body);
}

static void
get_roles(struct run *run, rest_fn done)
{
	AUTO_FREE char *path = xasprintf("/guilds/%s/roles", run->bot.settings.guild);
	send_request(&run->bot, "GET", path, NULL, done, run);
}

static void
on_dispatch(void *arg, const char *name, json_t *data_take)
{
	struct run *run = arg;
	/* READY: a new session does not tell of earlier changes of roles. */
	if (run->bot.stopping)
		(void)0;
	else if (strcmp(name, "INTERACTION_CREATE") == 0)
		dispatch_interaction(&run->bot, data_take);
	else if (strncmp(name, "GUILD_ROLE_", strlen("GUILD_ROLE_")) == 0 || strcmp(name, "READY") == 0)
		get_roles(run, refetch_roles);
	json_decref(data_take);
}

static void
on_gateway_url(void *arg, const struct rest_answer *answer)
{
	struct run *run = arg;
	const json_t *limit = json_object_get(answer->body, "session_start_limit");
	run->fetching = false;
	if (!run->gateway || run->bot.stopping)
		return;
	if (answer->err->code)
		gateway_fetch_failed(run->gateway, AGAIN_MS, answer->err->message);
	else
		gateway_fetched(run->gateway, json_text_or_empty(answer->body, "url"), (unsigned)member_int(limit, "remaining"),
			(uint64_t)member_int(limit, "reset_after"));
}

static void
fetch_gateway(void *arg)
{
	struct run *run = arg;
	if (run->fetching || run->bot.stopping)
		return;
	run->fetching = true;
	send_request(&run->bot, "GET", "/gateway/bot", NULL, on_gateway_url, run);
}

static void
on_gateway_state(void *arg, enum gateway_state state, const char *sentence)
{
	static const enum kettle_log_level levels[] = {
		[GATEWAY_CONNECTED] = KETTLE_LOG_DEBUG,
		[GATEWAY_READY] = KETTLE_LOG_INFO,
		[GATEWAY_RESUMED] = KETTLE_LOG_INFO,
		[GATEWAY_LOST] = KETTLE_LOG_WARNING,
		[GATEWAY_FATAL] = KETTLE_LOG_ERROR,
	};
	log_line(arg, levels[state], sentence);
}

static int
open_gateway(struct run *run, struct kettle_error *err)
{
	static const struct gateway_events events = {on_dispatch, fetch_gateway, on_gateway_state};
	const json_t *section = run->discord->options;
	const struct gateway_rules rules = {.token = json_text_or_empty(section, "token"),
		.intents = INTENT_GUILDS,
		.ca_file = json_text_or_null(section, "ca_file")};
	int rc = gateway_new(run->bot.host, &rules, &events, run, &run->gateway, err);
	run->bot.gateway = run->gateway;
	return rc;
}

static void
on_endpoint(void *arg, json_t *data_take)
{
	on_dispatch(arg, "INTERACTION_CREATE", data_take);
}

static int
open_endpoint(struct run *run, struct kettle_error *err)
{
	const json_t *section = run->discord->options;
	const struct endpoint_rules rules = {.listen = json_text_or_empty(section, "listen"),
		.public_key = json_text_or_empty(section, "public_key"),
		.certificate = json_text_or_null(section, "certificate"),
		.private_key = json_text_or_null(section, "private_key")};
	return endpoint_new(run->bot.host, &rules, on_endpoint, run, &run->endpoint, err);
}

/* ---- starting ---- */

static void on_registered(void *arg, bool failed, const char *text);

static void
register_commands(void *arg)
{
	struct run *run = arg;
	if (!run->bot.stopping)
		registration_update(&run->bot, on_registered, run);
}

static void
on_registered(void *arg, bool failed, const char *text)
{
	struct run *run = arg;
	log_line(run, failed ? KETTLE_LOG_WARNING : KETTLE_LOG_INFO, text);
	if (failed && !run->bot.stopping)
		later_call(&run->bot, REGISTER_AGAIN_MS, register_commands, run);
}

/* All earlier work is followed again: handles events and interactions from now on. */
static void
on_ready(void *arg)
{
	struct run *run = arg;
	struct kettle_error err = {0};
	if (run->bot.stopping)
		return;
	run->ready = true;
	json_array_each(run->events, event)
		deal_with(run, event);
	(void)json_array_clear(run->events);
	announce_boards(&run->bot);
	bool by_gateway = member_is(run->discord->options, "interactions", "gateway");
	if ((by_gateway ? open_gateway(run, &err) : open_endpoint(run, &err)) < 0)
		log_line(run, KETTLE_LOG_ERROR, err.message);
}

static void
on_lives(void *arg)
{
	struct run *run = arg;
	if (!run->bot.stopping)
		run->bot.submit = submit_new(&run->bot, on_ready, run);
}

/*
 * Whether Discord has answered; if not, starts the questions again later. A refused token stays refused, and is logged
 * elsewhere.
 */
static bool
known(struct run *run, const struct rest_answer *answer)
{
	if (answer->err->code == 0)
		return true;
	if (run->bot.stopping || answer->status == 401 || (answer->err->code == KETTLE_EACCES && answer->status == 0))
		return false;
	run->bot.host->log(
		run->bot.host, KETTLE_LOG_WARNING, "The bot cannot start yet and tries again: %s", answer->err->message);
	later_call(&run->bot, AGAIN_MS, ask_who, run);
	return false;
}

/* known(), but first reports that the bot is not a member of this server. */
static bool
is_member(struct run *run, const struct rest_answer *answer)
{
	if (answer->status != 403 && answer->status != 404)
		return known(run, answer);
	struct kettle_error err = {0};
	(void)kettle_fail(&err, answer->err->code,
		"The bot is not on the server %s that the option `guild` names: invite it, as docs/discord.md says, or correct "
		"the option.",
		run->bot.settings.guild);
	const struct rest_answer why = {.err = &err, .status = answer->status};
	return known(run, &why);
}

static void
on_outbox(void *arg)
{
	struct run *run = arg;
	if (run->bot.stopping)
		return;
	run->bot.announce = announce_new(&run->bot);
	run->bot.creations = creations_new(&run->bot);
	run->bot.lives = lives_new(&run->bot, on_lives, run);
}

static void
on_roles(void *arg, const struct rest_answer *answer)
{
	struct run *run = arg;
	if (!is_member(run, answer))
		return;
	bot_take_roles(&run->bot, answer->body);
	bot_check_places(&run->bot);
	register_commands(run);
	run->bot.outbox = outbox_new(&run->bot, on_outbox, run);
}

static void
on_application(void *arg, const struct rest_answer *answer)
{
	struct run *run = arg;
	if (!known(run, answer))
		return;
	(void)snowflake_copy(run->bot.application, json_text_or_empty(answer->body, "id"));
	get_roles(run, on_roles);
}

static void
on_user(void *arg, const struct rest_answer *answer)
{
	struct run *run = arg;
	if (!known(run, answer))
		return;
	(void)snowflake_copy(run->bot.user, json_text_or_empty(answer->body, "id"));
	send_request(&run->bot, "GET", "/applications/@me", NULL, on_application, run);
}

static void
ask_who(void *arg)
{
	struct run *run = arg;
	if (!run->bot.stopping)
		send_request(&run->bot, "GET", "/users/@me", NULL, on_user, run);
}

static int
open_rest(struct run *run, struct kettle_error *err)
{
	const json_t *section = run->discord->options, *hosts = json_object_get(section, "attachment_hosts");
	const char **cdn = xcalloc(json_array_size(hosts) + 1, sizeof(char *));
	for (size_t i = 0; i < json_array_size(hosts); i++)
		cdn[i] = json_string_value(json_array_get(hosts, i));
	AUTO_FREE char *agent = xasprintf("DiscordBot (kettle, %s)", PACKAGE_VERSION);
	const struct rest_rules rules = {.base = json_text_or_empty(section, "api_url"),
		.token = json_text_or_empty(section, "token"),
		.token_option = json_object_get(section, "token_file") ? "token_file" : "token_env",
		.user_agent = agent,
		.cdn = cdn};
	int rc = rest_new(run->bot.host, &rules, &run->bot.rest, err);
	free(cdn);
	return rc;
}

/* ---- the life of the plugin ---- */

static int
start(void *self, struct kettle_error *err)
{
	struct discord *discord = self;
	struct run *run = xnew(struct run, .discord = discord, .events = json_array());
	run->bot = (struct bot){.host = discord->host,
		.commands = discord_commands,
		.settings = discord->settings,
		.started_ms = discord->host->utc_ms(discord->host),
		.boards = json_object(),
		.seen = json_array()};
	int rc = open_rest(run, err);
	if (rc < 0) {
		json_decref_all(run->events, run->bot.boards, run->bot.seen);
		free(run);
		return rc;
	}
	run->bot.later = later_new(&run->bot);
	discord->run = run;
	ask_who(run);
	return 0;
}

static void
on_closed(void *arg)
{
	struct run *run = arg;
	rest_free(STEAL(run->bot.rest));
	later_stop(run->bot.later);
	lives_stop(run->bot.lives);
	announce_stop(run->bot.announce);
	run->stopped(run->stopped_arg);
}

static void
stop(void *self, kettle_fn done, void *arg)
{
	struct discord *discord = self;
	struct run *run = STEAL(discord->run);
	if (!run) {
		done(arg);
		return;
	}
	run->next = discord->earlier;
	discord->earlier = run;
	run->stopped = done;
	run->stopped_arg = arg;
	run->bot.stopping = true;
	run->bot.gateway = NULL;
	if (run->gateway)
		gateway_stop(STEAL(run->gateway), on_closed, run);
	else if (run->endpoint)
		endpoint_stop(STEAL(run->endpoint), on_closed, run);
	else
		on_closed(run);
}

static void
free_run(struct run *run)
{
	submit_free(run->bot.submit);
	lives_free(run->bot.lives);
	announce_free(run->bot.announce);
	creations_free(run->bot.creations);
	outbox_free(run->bot.outbox);
	later_free(run->bot.later);
	json_decref_all(run->bot.boards, run->bot.seen, run->events);
	free(run);
}

static void
destroy(void *self)
{
	struct discord *discord = self;
	if (!discord)
		return;
	for (struct run *run; (run = discord->earlier);) {
		discord->earlier = run->next;
		free_run(run);
	}
	json_decref(discord->options);
	free(discord);
}

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct discord *discord = xcalloc(1, sizeof(*discord));
	(void)err;
	discord->host = host;
	*ret_self = discord;
	return 0;
}

/* Copies an option that is an id; "": it is not set. */
static int
read_id(const json_t *section, const char *key, char ret_id[SNOWFLAKE_SIZE], struct kettle_error *err)
{
	const char *text = json_text_or_null(section, key);
	if (!text || snowflake_copy(ret_id, text))
		return 0;
	return kettle_blame(err, KETTLE_CAUSE_NONE, key,
		kettle_fail(err, KETTLE_EINVAL,
			"`%s` must be an id, a number such as 1085213409217675345: in Discord turn on the developer mode and "
			"choose "
			"\"Copy ID\".",
			key));
}

static int
check_way(const json_t *section, struct kettle_error *err)
{
	const char *certificate = json_text_or_null(section, "certificate");
	if (member_is(section, "interactions", "endpoint") && !json_text_or_null(section, "public_key"))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "interactions",
			kettle_fail(err, KETTLE_EINVAL, "`public_key` is missing, which the endpoint needs."));
	if (!certificate != !json_text_or_null(section, "private_key"))
		return kettle_blame(err, KETTLE_CAUSE_NONE, certificate ? "certificate" : "private_key",
			kettle_fail(err, KETTLE_EINVAL, "`certificate` and `private_key` must be given together."));
	const struct http_rules rules = {.listen = json_text_or_empty(section, "listen")};
	return member_is(section, "interactions", "endpoint") ? http_rules_check(&rules, err) : 0;
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct discord *discord = self;
	struct bot_settings *settings = &discord->settings;
	json_decref(discord->options);
	discord->options = json_deep_copy(section);
	section = discord->options;
	const struct {
		const char *key;
		char *id;
	} ids[] = {{"guild", settings->guild}, {"submissions_channel", settings->submissions},
		{"announcements_channel", settings->announcements}, {"forum", settings->forum},
		{"operators_channel", settings->operators}};
	int rc = check_way(section, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(ids); i++)
		rc = read_id(section, ids[i].key, ids[i].id, err);
	settings->roles[BOT_ADMIN] = json_text_or_null(section, "admin_role");
	settings->roles[BOT_CREATOR] = json_text_or_null(section, "creator_role");
	settings->roles[BOT_PARTICIPANTS] = json_text_or_null(section, "participants_role");
	settings->max_script = (uint64_t)(member_number(section, "max_script_mib") * MIB);
	settings->max_zip = (uint64_t)(member_number(section, "max_zip_mib") * MIB);
	settings->life_ms = member_int(section, "answer_s") * 1000;
	return rc;
}

static const struct kettle_frontend frontend = {.size = sizeof(frontend), .event = take_event};

const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_FRONTEND),
	.name = "discord",
	.version = PACKAGE_VERSION,
	.summary = "a bot for competitions on Discord",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = start,
	.stop = stop,
	.destroy = destroy,
	.frontend = &frontend,
};
