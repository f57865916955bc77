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

#include <errno.h>
#include <kettle/plugin.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/file.h"
#include "runners/common/exec_archive.h"
#include "runners/common/init_files.h"
#include "runners/common/options.h"
#include "runners/slurm/slurm_internal.h"
#include "sealed/sealed.h"

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
	/* The variables of the engine's environment that the commands need, and no others, since jobs inherit them. */
	static const char *const names[] = {"PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "SLURM_CONF"};
	struct slurm *slurm = xcalloc(1, sizeof(*slurm));
	(void)err;
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
	free_all(slurm->exec, slurm->unlisted, slurm->unsent, slurm);
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct slurm *slurm = self;
	if (strpbrk(json_text_or_empty(section, "folder"), "%\\\n"))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "folder",
			kettle_fail(err, KETTLE_EINVAL,
				"`folder` has a %%, a backslash or a newline, which sbatch would change: use another path."));
	int rc = remote_configure(&slurm->remote, section, err);
	if (rc < 0)
		return rc;
	json_decref(slurm->section);
	slurm->section = json_deep_copy(section);
	free(STEAL(slurm->exec));
	slurm->folder = json_text_or_empty(slurm->section, "folder");
	slurm->config = json_text_or_null(slurm->section, "config");
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
	const char *folder = json_text_or_null(slurm->section, "folder");
	struct kettle_error why = {0};
	AUTO_FREE char *exec = NULL;
	AUTO_BUF struct buf lacks = {0}, names = {0}, absent = {0};
	if (remote_check(self, &why) < 0)
		buf_printf(&lacks, "%s ", why.message);
	for (size_t i = 0; i < ARRAY_SIZE(options_of_commands); i++) {
		const char *option = options_of_commands[i], *name = json_text_or_empty(slurm->section, option);
		if (command_exists(name))
			continue;
		buf_printf(&names, "%s`%s`", names.len ? ", " : "", name);
		buf_printf(&absent, "%s`%s`", absent.len ? ", " : "", option);
	}
	if (absent.len)
		buf_printf(&lacks,
			"The runner for Slurm cannot start %s: install Slurm's commands on this machine, or give the path as %s. ",
			names.data, absent.data);
	if (folder && slurm_find_exec(slurm->section, folder, &exec, &why) < 0)
		buf_printf(&lacks, "%s ", why.message);
	return lacks.len ? kettle_fail(err, KETTLE_EUNAVAIL, "%.*s", (int)lacks.len - 1, lacks.data) : 0;
}

/* ---- `kettle runner init`: prepares the shared folder, in the process of the operator, who waits ---- */

struct unpacking {
	struct slurm *slurm;
	json_t *result; /* the answer of init */
	char *folder;
	char *target, *fresh; /* where the archive belongs; where it is unpacked */
	kettle_answer done;
	void *arg;
};

/* Writes the key: the section's, else the existing one, else a new one. */
static int
put_key(struct init *init, const char *folder, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(folder, "key");
	unsigned char key[SEALED_KEY_SIZE];
	const char *own = json_text_or_null(init->section, "key");
	if (!own) {
		int rc = init_key_write(init, path, err);
		if (rc == 0)
			init_say(init, "Set `key_file: %s` in the section of the runner, and keep a copy of the file.", path);
		return rc;
	}
	int rc = sealed_key_parse(own, key, err);
	explicit_bzero(key, sizeof(key));
	if (rc < 0)
		return rc;
	AUTO_FREE char *text = xasprintf("%s\n", own);
	rc = init_file_write(init, "key", text, strlen(text), 0600, err);
	explicit_bzero(text, strlen(text));
	return rc;
}

static int
make_folder(const char *folder, struct kettle_error *err)
{
	if (strpbrk(folder, "%\\\n"))
		return kettle_fail(
			err, KETTLE_EINVAL, "The path %s has a %%, a backslash or a newline, which sbatch would change.", folder);
	int rc = file_mkdirs(folder, 0700, err);
	return rc < 0 ? rc : shared_folder_make(folder, err);
}

static int
write_files(struct init *init, struct kettle_error *err)
{
	static const char *const none[] = {NULL};
	const char *folder = json_text_or_empty(init->args, "folder");
	int rc = init_options_check(init->args, none, err);
	if (rc == 0)
		rc = make_folder(folder, err);
	if (rc == 0)
		rc = init_file_write(init, SHARED_SCRIPT, slurm_job_script, strlen(slurm_job_script), 0700, err);
	if (rc == 0)
		rc = put_key(init, folder, err);
	if (rc < 0)
		return rc;
	if (!member_is(init->section, "folder", folder))
		init_say(
			init, "Set `folder: %s` in the section of the runner: the nodes must see it at the same path.", folder);
	init_say(init, "Check with `kettle device doctor DEVICE` whether the nodes accept jobs.");
	return 0;
}

static void
finish(struct unpacking *unpacking, const struct kettle_error *err)
{
	struct slurm *slurm = unpacking->slurm;
	unpacking->done(unpacking->arg, err, err->code < 0 ? NULL : unpacking->result);
	json_decref(unpacking->result);
	free_all(unpacking->folder, unpacking->target, unpacking->fresh, unpacking);
	slurm_work_done(slurm);
}

static void
add_archive(const struct unpacking *unpacking, const char *state)
{
	init_file_add(json_object_get(unpacking->result, "files"), unpacking->target, state);
}

static void
on_unpacked(void *arg, const struct command_end *end)
{
	struct unpacking *unpacking = arg;
	struct kettle_error err = {0};
	AUTO_FREE char *exec = path_join(unpacking->fresh, "bin/kettle-exec");
	if (!end->worked)
		(void)kettle_fail(&err, KETTLE_EIO, "The archive of kettle-exec cannot be unpacked: %s", end->why);
	else if (access(exec, X_OK) != 0)
		(void)kettle_fail(&err, KETTLE_EINVAL, "The archive of kettle-exec has no bin/kettle-exec.");
	else if (rename(unpacking->fresh, unpacking->target) != 0)
		(void)kettle_fail(&err, KETTLE_EIO, "%s cannot be made: %s.", unpacking->target, strerror(errno));
	else
		add_archive(unpacking, "created");
	if (err.code < 0)
		(void)file_remove_tree(unpacking->fresh, NULL);
	finish(unpacking, &err);
}

/* Returns 1: it is being unpacked, and on_unpacked goes on; 0: it exists. */
static int
unpack(struct unpacking *unpacking, struct kettle_error *err)
{
	struct slurm *slurm = unpacking->slurm;
	AUTO_FREE char *path = exec_archive_path(slurm->section), *data = NULL;
	AUTO_ARGUMENTS struct arguments arguments = {0};
	const struct command_use use = {.on_end = on_unpacked, .arg = unpacking, .max_lines = 1000};
	size_t size;
	char digest[65];
	int rc = exec_archive_read(path, &data, &size, digest, err);
	if (rc < 0)
		return rc;
	unpacking->target = xasprintf("%s/exec/%s", unpacking->folder, digest);
	unpacking->fresh = xasprintf("%s/exec/.%s.%d", unpacking->folder, digest, (int)getpid());
	if (access(unpacking->target, F_OK) == 0) {
		add_archive(unpacking, "unchanged");
		return 0;
	}
	rc = file_mkdirs(unpacking->fresh, 0700, err);
	if (rc < 0)
		return rc;
	const char *const words[] = {"tar", "--extract", "--xz", "--no-same-owner", "--strip-components=1", "--file", path,
		"--directory", unpacking->fresh};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		arguments_add(&arguments, "%s", words[i]);
	rc = slurm_run(slurm, &arguments, use, err);
	return rc < 0 ? rc : 1;
}

static void
on_written(void *arg, const struct kettle_error *err, json_t *result)
{
	struct unpacking *unpacking = arg;
	struct kettle_error why = *err;
	unpacking->result = json_incref(result);
	if (why.code == 0 && !json_text_or_null(unpacking->slurm->section, "exec") && unpack(unpacking, &why) > 0)
		return;
	finish(unpacking, &why);
}

static int
init(void *self, const json_t *args, kettle_answer done, void *arg, struct kettle_error *err)
{
	struct slurm *slurm = self;
	struct unpacking *unpacking = xnew(struct unpacking, .slurm = slurm,
		.folder = xstrdup(json_text_or_empty(args, "folder")), .done = done, .arg = arg);
	slurm->busy++;
	int rc = init_run(slurm->remote.host, slurm->section, args, write_files, on_written, unpacking, err);
	if (rc == 0)
		return 0;
	free_all(unpacking->folder, unpacking);
	slurm->busy--;
	return rc;
}

static const struct kettle_runner runner = {
	REMOTE_RUNNER(slurm_unit_options),
	.submit = submit,
	.init = init,
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
