/* SPDX-License-Identifier: MIT */
/*
 * The program kettle: reads options and configuration, loads the plugins, and either hands the command line to its
 * frontend or serves until it is told to stop.
 *
 * Theory of operation. The start makes the configuration, the loop's services, the core and the plugins, in this order.
 * The stop is a chain of callbacks, since each step may take a while: frontends stop, the core closes the database (for
 * which it needs the runners), runners and languages stop, the loop empties. Only this file decides how the process ends.
 */
#include <config.h>

#include "base/log.h"
#include "commands/handlers.h"
#include "config/configuration.h"
#include "loop/watch.h"
#include "program/global_options.h"
#include "program/plugin_set.h"
#include "session/core.h"
#include "session/plugin_host.h"
#include "session/server_request.h"

#include "base/base.h"
#include "base/io.h"
#include "base/text.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#define EXIT_INTERRUPTED 130 /* 128 and SIGINT, as in shells */

struct app {
	uv_loop_t loop;
	uv_signal_t signals[3];
	struct globals globals;
	struct config *config;
	struct loop_services *io;
	struct core *core;
	struct plugin_set *plugins;
	char *login;
	char *token; /* for the server of --server */
	bool serve, stopping;
	bool hang;     /* a plugin has not stopped */
	bool watching; /* signals are set up */
	bool hurry;    /* a second signal came: the core waits for no job */
	bool leaving;  /* the core is closing the database */
	int status;
};

/* Prints in one line why the program ends. It may quote a file or the environment, so control characters are removed. */
static void
complain(const struct app *app, const struct kettle_error *err)
{
	if (app->globals.completes)
		return;
	if (app->globals.json) {
		AUTO_JSON json_t *document =
			json_pack("{s:{s:s, s:s}}", "error", "code", kettle_error_name(err->code), "message", err->message);
		(void)json_dumpf(document, stdout, JSON_INDENT(2) | (isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0));
		(void)fputc('\n', stdout);
	} else {
		AUTO_FREE char *line = sanitize_line(err->message, sizeof(err->message));
		(void)fprintf(stderr, "kettle: %s\n", line);
	}
}

static void
complain_of_faults(const struct app *app)
{
	json_array_each(app->config ? app->config->faults : NULL, sentence) {
		struct kettle_error err = {0};
		(void)kettle_fail(&err, KETTLE_EINVAL, "%s", json_string_value(sentence));
		complain(app, &err);
	}
}

static int
setup_log(struct app *app, struct kettle_error *err)
{
	enum log_format format;
	enum kettle_log_level level;
	const json_t *section = json_object_get(app->config->root, "log");
	const char *format_text = app->globals.log_format, *level_text = app->globals.log_level;
	if (!format_text)
		format_text = json_text_or_null(section, "format");
	if (!level_text)
		level_text = app->serve ? json_text_or_null(section, "level") : "warning";
	int rc = log_level_parse(level_text, &level, err);
	if (rc < 0)
		return rc;
	if (strcmp(format_text, "auto") == 0)
		format = log_format_default();
	else
		rc = log_format_parse(format_text, &format, err);
	if (rc == 0)
		log_setup(format, level);
	/* A command line may wait, for example for a pager that reads its output. */
	watch_settings.level = app->serve ? KETTLE_LOG_WARNING : KETTLE_LOG_INFO;
	return rc;
}

/* ---- the stop: from app_stop, at the end of this section, upwards ---- */

/* Frees the plugins last, since work in the pool and open calls end in them. */
static void
io_closed(void *arg)
{
	struct app *app = arg;
	app->hang = plugins_hang(app->plugins);
	plugins_free(STEAL(app->plugins));
}

/* Plugins that are destroyed later may call the host, which has no HTTP then. */
static void
close_io(struct app *app)
{
	if (app->core)
		http_close(STEAL(app->core->setup.http));
	loop_close(STEAL(app->io), io_closed, app);
}

static void
rest_stopped(void *arg)
{
	struct app *app = arg;
	for (size_t i = 0; app->watching && i < ARRAY_SIZE(app->signals); i++)
		uv_close((uv_handle_t *)&app->signals[i], NULL);
	close_io(app);
}

static void
core_closed(void *arg)
{
	struct app *app = arg;
	plugins_stop(app->plugins, false, rest_stopped, app);
}

static void
frontends_stopped(void *arg)
{
	struct app *app = arg;
	json_int_t grace = member_int(json_object_get(app->config->root, "engine"), "shutdown_grace");
	bool interrupted = app->status == EXIT_INTERRUPTED || app->hurry;
	app->leaving = true;
	core_close(app->core, interrupted ? 0 : (uint64_t)grace * 1000, core_closed, app);
}

static void
app_stop(struct app *app, int status)
{
	if (app->stopping)
		return;
	app->stopping = true;
	app->status = status;
	event_feed_stop(app->core->feed); /* events for a stopped frontend would be lost */
	plugins_stop(app->plugins, true, frontends_stopped, app);
}

static void
app_fail(struct app *app, const struct kettle_error *err)
{
	complain(app, err);
	app_stop(app, kettle_error_exit(err->code));
}

static struct core_limits
limits_of(const struct app *app)
{
	const json_t *limits = json_object_get(app->config->root, "limits");
	const json_t *retention = json_object_get(app->config->root, "retention");
	return (struct core_limits){
		.submission_bytes = member_int(limits, "submission_bytes"),
		.artifact_bytes = member_int(limits, "artifact_bytes"),
		.artifact_user_bytes = member_int(limits, "artifact_user_bytes"),
		.retention = {.artifact_days = member_int(retention, "artifact_days"),
			.log_days = member_int(retention, "log_days"),
			.event_days = member_int(retention, "event_days"),
			.audit_days = member_int(retention, "audit_days")},
	};
}

/* Takes over the parts of the new configuration that need no restart; on an error none. */
static int
take_over(struct app *app, json_t **ret_taken, json_t **ret_left, struct kettle_error *err)
{
	struct config *fresh = NULL;
	AUTO_JSON json_t *before = json_copy(app->config->root);
	const struct config_request request = {.file = app->globals.config, .database = app->globals.database};
	struct plugins_change *languages = NULL;
	int rc = config_load(&request, &fresh, err);
	if (rc == 0)
		rc = plugins_prepare(app->plugins, app->config, fresh, &languages, err);
	if (rc < 0) {
		config_free(fresh);
		return rc;
	}
	config_compare(app->config, fresh, ret_taken, ret_left);
	config_adopt(app->config, fresh);
	rc = setup_log(app, err);
	const struct core_limits limits = limits_of(app);
	if (rc == 0)
		rc = core_reload(app->core, json_object_get(app->config->root, "devices"), &limits, err);
	if (rc < 0) {
		(void)json_object_update(app->config->root, before);
		(void)setup_log(app, NULL);
		plugins_forget(languages);
	} else {
		plugins_apply(languages);
		free(app->config->file); /* there may have been none at the start */
		app->config->file = STEAL(fresh->file);
	}
	config_free(fresh);
	return rc;
}

static void
log_changes(enum kettle_log_level level, const char *what, const json_t *changes)
{
	json_array_each(changes, change)
		log_write(level, "kettle", "%s: %s %s", what, json_text_or_empty(change, "key"),
			json_text_or_empty(change, "change"));
}

/* Reloads the configuration, for SIGHUP and config.reload. */
static int
reload(void *arg, json_t **ret_result, struct kettle_error *err)
{
	struct app *app = arg;
	struct kettle_error why = {0};
	AUTO_JSON json_t *taken = NULL, *left = NULL;
	if (app->stopping)
		return kettle_fail(err, KETTLE_ECANCELED, "The engine is stopping.");
	int rc = take_over(app, &taken, &left, &why);
	if (rc < 0) {
		log_write(KETTLE_LOG_ERROR, "kettle", "the configuration is unchanged: %s", why.message);
		return kettle_fail(err, rc, "The configuration is unchanged: %s", why.message);
	}
	if (json_array_size(taken) + json_array_size(left) == 0)
		log_write(KETTLE_LOG_INFO, "kettle", "reloaded: nothing has changed");
	log_changes(KETTLE_LOG_INFO, "reloaded", taken);
	log_changes(KETTLE_LOG_WARNING, "needs a restart", left);
	*ret_result = json_pack("{s:b, s:s?, s:O, s:O}", "ok", json_array_size(left) == 0, "file", app->config->file,
		"reloaded", taken, "restart", left);
	return 0;
}

static void
on_signal(uv_signal_t *handle, int number)
{
	struct app *app = handle->data;
	if (number == SIGHUP) {
		AUTO_JSON json_t *unused = NULL;
		(void)reload(app, &unused, NULL); /* reload logs the result */
	} else if (app->stopping) {
		app->hurry = true;
		if (app->leaving)
			core_close(app->core, 0, core_closed, app); /* only shortens the grace */
	} else if (app->serve) {
		log_write(KETTLE_LOG_INFO, "kettle",
			"stopping: running jobs have %lld s to end, then they go back into the queue",
			(long long)member_int(json_object_get(app->config->root, "engine"), "shutdown_grace"));
		app_stop(app, EXIT_SUCCESS);
	} else {
		app_stop(app, EXIT_INTERRUPTED);
	}
}

/* Blocks or unblocks SIGHUP: a server's waits for a loop that handles it, since otherwise it would end the process. */
static void
mask_hangup(int how)
{
	sigset_t hangup;
	(void)sigemptyset(&hangup);
	(void)sigaddset(&hangup, SIGHUP);
	(void)pthread_sigmask(how, &hangup, NULL);
}

static void
watch_signals(struct app *app)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	app->watching = true;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		(void)uv_signal_init(&app->loop, &app->signals[i]);
		app->signals[i].data = app;
		if (numbers[i] != SIGHUP || app->serve)
			(void)uv_signal_start(&app->signals[i], on_signal, numbers[i]);
		uv_unref((uv_handle_t *)&app->signals[i]);
	}
	mask_hangup(SIG_UNBLOCK);
}

/* ---- the start ---- */

static void
devices_listed(void *arg, const struct kettle_error *err, json_t *devices)
{
	(void)arg;
	if (err->code < 0)
		log_write(KETTLE_LOG_WARNING, "kettle", "the devices cannot be listed: %s", err->message);
	json_array_each(devices, device)
		json_array_each(json_object_get(device, "units"), unit) {
			const char *name = json_text_or_null(unit, "unit"), *level = json_text_or_null(unit, "level");
			const char *trouble = json_text_or_null(unit, "unreachable");
			if (trouble)
				log_write(KETTLE_LOG_WARNING, "kettle", "unit %s: %s", name, trouble);
			else if (level)
				log_write(KETTLE_LOG_INFO, "kettle", "unit %s offers the sandbox level %s", name, level);
			else
				log_write(KETTLE_LOG_INFO, "kettle", "unit %s has not reported its sandbox level yet", name);
		}
}

/* Calls every machine once: the log names unreachable ones early, and each removes what an earlier owner left there. */
static void
greet_devices(struct app *app)
{
	/* As an admin, since the log is for operators. */
	AUTO_JSON json_t *actor = json_pack(
		"{s:s, s:s, s:s, s:s}", "provider", "cli", "subject", app->login, "name", app->login, "role", "admin");
	(void)core_call(app->core, actor, "device.list", NULL, devices_listed, app);
}

static void
serving(void *arg, const struct kettle_error *err)
{
	struct app *app = arg;
	if (err && err->code < 0) {
		if (!app->stopping)
			app_fail(app, err);
		return;
	}
	log_write(KETTLE_LOG_INFO, "kettle", "version %s serves %s, configured by %s", PACKAGE_VERSION,
		app->core->setup.database, app->config->file ? app->config->file : "defaults: there is no file");
	greet_devices(app);
}

static void
command_done(void *arg, int status)
{
	app_stop(arg, status);
}

static void
run_command(struct app *app)
{
	struct kettle_error err = {0};
	const struct core_plugin *frontend = plugins_command_line(app->plugins);
	AUTO_JSON json_t *globals = json_pack("{s:s, s:b, s:b}", "user", app->globals.user ? app->globals.user : app->login,
		"json", app->globals.json, "quiet", app->globals.quiet);
	if (!frontend && !app->globals.json)
		complain_of_faults(app);
	if (!frontend)
		(void)kettle_fail(
			&err, KETTLE_EUNAVAIL, "No frontend with a command line is loaded; only `kettle serve` works.");
	else
		(void)frontend->plugin->frontend->run(
			frontend->self, app->globals.argc, app->globals.argv, globals, command_done, app, &err);
	if (err.code < 0)
		app_fail(app, &err);
}

static bool
is_command(const struct app *app, const char *group, const char *name)
{
	const struct globals *globals = &app->globals;
	return globals->argc >= 2 && strcmp(globals->argv[0], group) == 0 && strcmp(globals->argv[1], name) == 0;
}

static int
setup(struct app *app, struct kettle_error *err)
{
	const struct config_request request = {.file = app->globals.config,
		.database = app->globals.database,
		.asks = is_command(app, "config", "reload"),
		.collects = is_command(app, "config", "check")};
	int rc = config_load(&request, &app->config, err);
	if (rc == 0)
		rc = setup_log(app, err);
	if (rc == 0)
		rc = loop_new(&app->loop, &app->io, err);
	if (rc < 0)
		return rc;
	const json_t *root = app->config->root, *section = json_object_get(root, "http");
	const struct http_settings http = {
		.proxy = json_text_or_null(section, "proxy"), .ca_file = json_text_or_null(section, "ca_file")};
	struct core_setup core = {
		.loop = &app->loop,
		.io = app->io,
		.http = http_new(app->io, &http),
		.commands = commands,
		.server = app->serve ? NULL : app->globals.server,
		.token = app->token,
		.database = json_text_or_null(root, "database"),
		.chosen = app->config->chosen,
		.named = app->globals.database != NULL,
		.owner = app->login,
		.devices = json_object_get(root, "devices"),
		.limits = limits_of(app),
		.is_server = app->serve,
		.read_only = app->globals.completes,
		.reload = app->serve ? reload : NULL,
		.reload_arg = app,
	};
	app->core = core_new(&core);
	app->core->config = app->config;
	rc = plugins_load(app->config, app->core, &app->plugins, err);
	return rc < 0 ? rc : plugins_start(app->plugins, app->serve, err);
}

static int
app_run(struct app *app)
{
	struct kettle_error err = {0};
	const struct passwd *entry = getpwuid(geteuid());
	app->login = entry && entry->pw_name[0] ? xstrdup(entry->pw_name) : xasprintf("uid%u", (unsigned)geteuid());
	if (app->globals.server)
		app->token = server_token_read(app->globals.server, NULL);
	if (setup(app, &err) < 0) {
		complain(app, &err);
		app->status = kettle_error_exit(err.code);
		if (app->plugins)
			app_stop(app, app->status); /* some of them may have started */
		else if (app->io)
			close_io(app);
		(void)uv_run(&app->loop, UV_RUN_DEFAULT);
		return app->status;
	}
	json_array_each(app->config->warnings, sentence)
		log_write(KETTLE_LOG_WARNING, "kettle", "%s", json_string_value(sentence));
	watch_signals(app);
	if (app->serve)
		core_attach(app->core, serving, app);
	else
		run_command(app);
	(void)uv_run(&app->loop, UV_RUN_DEFAULT);
	return app->status;
}

int
main(int argc, char **argv)
{
	static struct app app;
	struct kettle_error err = {0};
	mask_hangup(SIG_BLOCK);
	(void)signal(SIGXFSZ, SIG_IGN); /* exceeding a limit of file size is then an error, as a full disk is */
	xalloc_return_large();
	json_set_alloc_funcs(xmalloc, free);
	json_object_seed(0);
	if (globals_parse(argc, argv, &app.globals, &err) < 0) {
		complain(&app, &err);
		return kettle_error_exit(err.code);
	}
	/* A shell that completes a line shows no errors. */
	if (app.globals.completes && !freopen("/dev/null", "w", stderr))
		return EXIT_FAILURE;
	if (app.globals.version) {
		(void)printf("kettle %s\n", PACKAGE_VERSION);
		return EXIT_SUCCESS;
	}
	app.serve = app.globals.argc == 1 && strcmp(app.globals.argv[0], "serve") == 0;
	/* A frontend may have thousands of clients; the usual limit is 1,024. */
	if (app.serve)
		open_files_raise();
	else
		mask_hangup(SIG_UNBLOCK);
	(void)uv_loop_init(&app.loop);
	int rc = app_run(&app);
	if (app.hang) {
		/* Threads of a hung plugin may still use what would be freed here. */
		(void)fflush(NULL);
		_exit(rc);
	}
	core_free(app.core);
	config_free(app.config);
	free_all(app.login, app.token, app.globals.argv);
	if (uv_loop_close(&app.loop) != 0)
		log_write(KETTLE_LOG_DEBUG, "kettle", "the loop was not empty at the end");
	return rc;
}
