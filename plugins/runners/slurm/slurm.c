/* SPDX-License-Identifier: MIT */
/*
 * The runner `slurm`: jobs run on the nodes of a cluster that Slurm schedules.
 *
 * Theory of operation. Plans and results travel sealed through a folder that the engine and the nodes share
 * (shared_folder.c). The commands of Slurm are the interface to everything else, since they stay the same over its
 * versions. slurm_submit.c gives jobs to sbatch, slurm_look.c lists the queue and looks for results, and
 * slurm_job.c reports what they mean for a job to runners/common, which decides the rest.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/common/options.h"
#include "runners/slurm/slurm_internal.h"

static const struct kettle_option options[] = {
	{.key = "folder",
		.type = KETTLE_OPTION_PATH,
		.required = true,
		.help = "The folder that the engine and the nodes share, at the same path; `kettle runner init` prepares it."},
	KEY_OPTIONS,
	{.key = "exec",
		.type = KETTLE_OPTION_PATH,
		.help = "The kettle-exec on the nodes; default: that of the archive, unpacked in `folder`."},
	EXEC_ARCHIVE_OPTION,
	{.key = "config",
		.type = KETTLE_OPTION_PATH,
		.help = "The exec.yml on the nodes; default: the user's or the system's there."},
	{.key = "sbatch", .type = KETTLE_OPTION_STRING, .default_value = "sbatch", .help = "The command that takes jobs."},
	{.key = "squeue", .type = KETTLE_OPTION_STRING, .default_value = "squeue", .help = "The command that lists jobs."},
	{.key = "scancel", .type = KETTLE_OPTION_STRING, .default_value = "scancel", .help = "The command that ends jobs."},
	INT_OPTION("poll_ms", "500", 100, 60000, "Milliseconds between two checks for results in `folder`."),
	INT_OPTION(
		"queue_ms", "2000", 200, 600000, "Milliseconds between two calls of squeue, which lists all jobs at once."),
	INT_OPTION(
		"grace_s", "10", 1, 3600, "Seconds until a job that has left the queue without a result counts as lost."),
	INT_OPTION("command_s", "60", 1, 600, "Seconds after which a command of Slurm that has not ended is killed."),
	INT_OPTION("give_up_s", "3600", 1, 604800,
		"Seconds without a usable answer of Slurm, after which a job that has not begun is lost."),
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	/* What the commands need of the engine's environment, and no more, since jobs inherit theirs. */
	static const char *const names[] = {"PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "SLURM_CONF"};
	struct slurm *slurm = xcalloc(1, sizeof(*slurm));
	(void)err;
	slurm->host = host;
	slurm->command_ms = 60000; /* until it is configured */
	slurm->commands = (struct commands){.host = host, .idle = slurm_finish_stop, .arg = slurm};
	arguments_add(&slurm->commands.environment, "LC_ALL=C");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			arguments_add(&slurm->commands.environment, "%s=%s", names[i], getenv(names[i]));
	slurm->arrays = json_object();
	(void)snprintf(slurm->uid, sizeof(slurm->uid), "%u", (unsigned)geteuid());
	remote_init(&slurm->remote, host, &slurm_remote_ops, "Slurm", slurm);
	*ret_self = slurm;
	return 0;
}

static void
destroy(void *self)
{
	struct slurm *slurm = self;
	if (!slurm)
		return;
	remote_close(&slurm->remote);
	arguments_free(&slurm->commands.environment);
	json_decref_all(slurm->section, slurm->arrays);
	free_all(slurm->folder, slurm->exec, slurm->config, slurm->unlisted, slurm->unsent, slurm);
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct slurm *slurm = self;
	const char *folder = json_text_or_empty(section, "folder"), *config = json_text_or_null(section, "config");
	if (strpbrk(folder, "%\\\n"))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "folder",
			kettle_fail(err, KETTLE_EINVAL,
				"`folder` has a %%, a backslash or a newline, which sbatch would change: use another path."));
	int rc = remote_configure(&slurm->remote, section, err);
	if (rc < 0)
		return rc;
	json_decref(slurm->section);
	slurm->section = json_deep_copy(section);
	free(slurm->folder);
	slurm->folder = xstrdup(folder);
	free(slurm->config);
	slurm->config = config ? xstrdup(config) : NULL;
	free(STEAL(slurm->exec));
	slurm->sbatch = json_text_or_empty(slurm->section, "sbatch");
	slurm->squeue = json_text_or_empty(slurm->section, "squeue");
	slurm->scancel = json_text_or_empty(slurm->section, "scancel");
	slurm->poll_ms = (uint64_t)member_int(section, "poll_ms");
	slurm->queue_ms = (uint64_t)member_int(section, "queue_ms");
	slurm->grace_ms = (uint64_t)member_int(section, "grace_s") * 1000;
	slurm->command_ms = (uint64_t)member_int(section, "command_s") * 1000;
	uint64_t give_up_ms = (uint64_t)member_int(section, "give_up_s") * 1000;
	slurm->remote.pace = (struct remote_pace){.first_ms = slurm->poll_ms,
		.most_ms = slurm->poll_ms,
		.send_ms = give_up_ms,
		.quiet_ms = give_up_ms,
		.absent = 1,
		.finds = 1,
		.resend = true};
	return 0;
}

static int
submit(void *self, const struct kettle_job *description, const json_t *plan, struct kettle_error *err)
{
	struct slurm *slurm = self;
	AUTO_JSON json_t *unit = slurm_unit_on_node(description->unit);
	struct kettle_job changed = *description;
	changed.unit = unit;
	return remote_submit(&slurm->remote, &changed, plan, err);
}

static int
check(void *self, struct kettle_error *err)
{
	static const char *const options_of_commands[] = {"sbatch", "squeue", "scancel"};
	const struct slurm *slurm = self;
	struct kettle_error key = {0};
	AUTO_BUF struct buf names = {0}, absent = {0};
	int rc = remote_check(self, &key);
	for (size_t i = 0; i < ARRAY_SIZE(options_of_commands); i++) {
		const char *option = options_of_commands[i], *name = json_text_or_empty(slurm->section, option);
		if (command_exists(name))
			continue;
		buf_printf(&names, "%s`%s`", names.len ? ", " : "", name);
		buf_printf(&absent, "%s`%s`", absent.len ? ", " : "", option);
	}
	if (absent.len == 0)
		return rc < 0 ? kettle_fail(err, rc, "%s", key.message) : 0;
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"%s%sThe runner for Slurm cannot start %s: install Slurm's commands on this machine, or give the path as %s.",
		key.message, rc < 0 ? " " : "", names.data, absent.data);
}

static const struct kettle_runner runner = {
	REMOTE_RUNNER(slurm_unit_options),
	.submit = submit,
	.init = slurm_init,
	.status = remote_status,
	.check = check,
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_RUNNER),
	.name = "slurm",
	.version = PACKAGE_VERSION,
	.summary = "runs jobs on a cluster with Slurm",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = remote_start,
	.stop = remote_stop,
	.destroy = destroy,
	.runner = &runner,
};
