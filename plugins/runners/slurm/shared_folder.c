/* SPDX-License-Identifier: MIT */
/* The folder that the engine and the nodes of a cluster share. */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/io.h"
#include "base/number.h"

#define PROGRESS_READ (16u << 10) /* bytes of a job's progress that are read at a time */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define LAST_WORDS 400 /* bytes of a log's last line */

/* The path of a job's folder, or of a file in it. New string. */
static char *
job_path(const char *folder, const char *name, const char *file)
{
	return xasprintf("%s/jobs/%s%s", folder, name, file);
}

int
shared_folder_make(const char *folder, struct kettle_error *err)
{
	static const char *const own[] = {"jobs", "results", "done"};
	struct stat there;
	if (stat(folder, &there) != 0)
		return kettle_fail(err, KETTLE_ENOENT,
			"The shared folder %s cannot be reached: %s; mount it, or make it with `kettle runner init`.", folder,
			strerror(errno));
	/* Other users could put plans and links there. */
	if (there.st_uid != geteuid() || (there.st_mode & 022))
		return kettle_fail(err, KETTLE_EACCES,
			"The folder %s must belong to the user who runs Kettle, and others must not be able to write to it: take "
			"another one, or `chmod go-w` it.",
			folder);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		AUTO_FREE char *path = path_join(folder, own[i]);
		int rc = file_mkdirs(path, 0700, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
shared_folder_put_script(const char *folder, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(folder, SHARED_SCRIPT), *text = NULL;
	const size_t wanted = strlen(slurm_job_script);
	size_t size;
	if (file_read(path, wanted, &text, &size, NULL) == 0 && size == wanted && memcmp(text, slurm_job_script, size) == 0)
		return 0;
	return file_write(path, slurm_job_script, wanted, 0700, err);
}

int
shared_folder_put(const char *folder, const char *name, const void *plan, size_t size, const char *array, size_t task,
	struct kettle_error *err)
{
	AUTO_FREE char *path = job_path(folder, name, ""), *file = job_path(folder, name, "/plan.kettle"),
				   *claim = job_path(folder, name, "/claim");
	int rc = file_mkdirs(path, 0700, err);
	if (rc == 0 && access(claim, F_OK) == 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "A job named %s has begun in the shared folder before.", name);
	if (rc == 0 && array) {
		AUTO_FREE char *task_file = job_path(folder, name, "/task"), *text = xasprintf("%s %zu\n", array, task);
		rc = file_write(task_file, text, strlen(text), 0600, err);
	}
	return rc == 0 && plan ? file_write(file, plan, size, 0600, err) : rc;
}

int
shared_folder_put_list(const char *folder, const char *array, const char *list, struct kettle_error *err)
{
	AUTO_FREE char *path = job_path(folder, array, ""), *file = job_path(folder, array, "/list");
	int rc = file_mkdirs(path, 0700, err);
	return rc == 0 ? file_write(file, list, strlen(list), 0600, err) : rc;
}

char *
shared_folder_array(const char *folder, const char *name, size_t *ret_task)
{
	AUTO_FREE char *file = job_path(folder, name, "/task"), *text = NULL;
	size_t size;
	long long task;
	if (file_read(file, 4096, &text, &size, NULL) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	char *space = strchr(text, ' ');
	if (!space || !number_parse_integer(space + 1, &task) || task < 0 || task >= SHARED_ARRAY_MAX)
		return NULL;
	*space = '\0';
	/* The name becomes part of paths and of Slurm's arguments. */
	if (strspn(text, NAME_CHARACTERS) != strlen(text) || text[0] == '.' || text[0] == '-')
		return NULL;
	*ret_task = (size_t)task;
	return STEAL(text);
}

bool
shared_folder_is_there(const char *folder)
{
	AUTO_FREE char *jobs = path_join(folder, "jobs"), *results = path_join(folder, "results");
	return access(jobs, F_OK) == 0 && access(results, F_OK) == 0;
}

int
shared_folder_claim(const char *folder, const char *name, struct kettle_error *err)
{
	AUTO_FREE char *claim = job_path(folder, name, "/claim");
	/* A missing file means something only if the folder could be reached before. */
	bool there = shared_folder_is_there(folder);
	struct stat made;
	/*
	 * The engine makes a link, a run makes a folder: an engine that was killed before it could act recognises its own
	 * claim.
	 */
	if (symlink(".", claim) == 0 || (errno == EEXIST && lstat(claim, &made) == 0 && S_ISLNK(made.st_mode)))
		return 1;
	if (errno == EEXIST || (errno == ENOENT && there))
		return 0;
	return kettle_fail(err, KETTLE_EIO, "%s cannot be made: %s.", claim, strerror(errno));
}

char *
shared_folder_claim_id(const char *folder, const char *name)
{
	AUTO_FREE char *file = job_path(folder, name, "/claim/id"), *text = NULL;
	size_t size;
	if (file_read(file, 4096, &text, &size, NULL) < 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return *text && strspn(text, "0123456789") == strlen(text) ? STEAL(text) : NULL;
}

bool
shared_folder_has(const char *folder, const char *name)
{
	AUTO_FREE char *path = job_path(folder, name, "");
	return access(path, F_OK) == 0 || errno != ENOENT;
}

void
shared_folder_remove(const char *folder, const char *name)
{
	AUTO_FREE char *path = job_path(folder, name, "");
	(void)file_remove_tree(path, NULL); /* a later sweep removes the rest */
}

void
shared_folder_retire(const char *folder, const char *name, const char *array)
{
	AUTO_FREE char *result = shared_folder_result(folder, name), *done = xasprintf("%s/done/%s", folder, name);
	AUTO_FREE char *claim = job_path(folder, name, "/claim"), *kept = xasprintf("%s/done/%s.claim", folder, name);
	/* Its time in done/ begins now. */
	if (utimensat(AT_FDCWD, result, NULL, AT_SYMLINK_NOFOLLOW) != 0) {
		if (utimensat(AT_FDCWD, claim, NULL, AT_SYMLINK_NOFOLLOW) == 0)
			(void)rename(claim, kept);
	} else if (rename(result, done) != 0) {
		(void)unlink(result);
	}
	shared_folder_remove(folder, name);
	if (array)
		shared_folder_remove(folder, array);
}

void
shared_folder_restore(const char *folder, const char *name)
{
	AUTO_FREE char *result = shared_folder_result(folder, name), *done = xasprintf("%s/done/%s", folder, name);
	AUTO_FREE char *path = job_path(folder, name, ""), *claim = job_path(folder, name, "/claim"),
				   *kept = xasprintf("%s/done/%s.claim", folder, name);
	(void)rename(done, result);
	if (access(kept, F_OK) == 0 && file_mkdirs(path, 0700, NULL) == 0)
		(void)rename(kept, claim);
}

char *
shared_folder_result(const char *folder, const char *name)
{
	return xasprintf("%s/results/%s", folder, name);
}

int
shared_folder_results(const char *folder, size_t most, json_t **ret_names, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(folder, "results");
	AUTO_DIR DIR *dir = opendir(path); /* over NFS this looks again, while a stat of a file may use a cached answer */
	if (!dir)
		return kettle_fail(err,
			errno == ENOENT   ? KETTLE_ENOENT
			: errno == EACCES ? KETTLE_EACCES
							  : KETTLE_EIO,
			"The folder %s cannot be read: %s.", path, strerror(errno));
	AUTO_JSON json_t *names = json_array();
	for (const struct dirent *entry; json_array_size(names) < most && (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			(void)json_array_append_new(names, json_string(entry->d_name)); /* a name that is not UTF-8 is no job's */
	*ret_names = STEAL(names);
	return 0;
}

/* Opens a file that others may have replaced by something else. -1: it is no file, or cannot be opened. */
static int
open_regular(const char *file, off_t *ret_size)
{
	AUTO_FD int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat there;
	if (fd < 0 || fstat(fd, &there) != 0 || !S_ISREG(there.st_mode))
		return -1;
	*ret_size = there.st_size;
	return STEAL_FD(fd);
}

char *
shared_folder_progress(const char *folder, const char *name, size_t *offset)
{
	AUTO_FREE char *file = job_path(folder, name, "/progress");
	off_t there = 0;
	AUTO_FD int fd = open_regular(file, &there);
	if (fd < 0 || *offset >= SHARED_PROGRESS_MAX || (size_t)there <= *offset || lseek(fd, (off_t)*offset, SEEK_SET) < 0)
		return NULL;
	AUTO_FREE char *text = xmalloc(PROGRESS_READ + 1);
	ssize_t size = read_all(fd, text, PROGRESS_READ);
	const char *end = size > 0 ? memrchr(text, '\n', (size_t)size) : NULL;
	if (!end) {
		if (size == PROGRESS_READ) /* no line of kettle-exec is this long: stop reading */
			*offset = SHARED_PROGRESS_MAX;
		return NULL;
	}
	text[end - text] = '\0';
	*offset += (size_t)(end - text) + 1;
	return STEAL(text);
}

int
shared_folder_report(const char *folder, const char *name, char **ret_text, size_t *ret_size)
{
	AUTO_FREE char *file = job_path(folder, name, "/doctor.json");
	return file_read(file, SHARED_REPORT_MAX, ret_text, ret_size, NULL) == 0;
}

char *
shared_folder_last_words(const char *folder, const char *name, const char *array, size_t task)
{
	AUTO_FREE char *file =
		array ? xasprintf("%s/jobs/%s/log.%zu", folder, array, task) : job_path(folder, name, "/log");
	off_t there = 0;
	AUTO_FD int fd = open_regular(file, &there);
	char text[LAST_WORDS + 1];
	if (fd < 0 || (there > LAST_WORDS && lseek(fd, there - LAST_WORDS, SEEK_SET) < 0))
		return xstrdup("");
	ssize_t size = read_all(fd, text, LAST_WORDS);
	while (size > 0 && strchr("\n\r ", text[size - 1]))
		size--;
	text[size > 0 ? size : 0] = '\0';
	const char *line = strrchr(text, '\n');
	return xstrdup(line ? line + 1 : text);
}

/*
 * Removes files that have not changed for so many days, including .NAME, which kettle-exec leaves if it dies while
 * writing.
 */
static void
sweep(const char *folder, const char *part, int64_t now_ms, int days)
{
	const time_t before = (time_t)(now_ms / 1000) - (time_t)days * 86400;
	AUTO_FREE char *path = path_join(folder, part);
	AUTO_DIR DIR *dir = opendir(path);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		struct stat there;
		AUTO_FREE char *one = path_join(path, entry->d_name);
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || lstat(one, &there) != 0 ||
			there.st_mtime >= before)
			continue;
		if (S_ISDIR(there.st_mode))
			(void)file_remove_tree(one, NULL);
		else
			(void)unlink(one);
	}
}

void
shared_folder_sweep(const char *folder, int64_t now_ms)
{
	sweep(folder, "jobs", now_ms, SHARED_KEEP_DAYS);
	sweep(folder, "results", now_ms, SHARED_KEEP_DAYS);
	sweep(folder, "done", now_ms, SHARED_DONE_DAYS);
}
