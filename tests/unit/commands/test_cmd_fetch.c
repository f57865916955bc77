/* SPDX-License-Identifier: MIT */
/* competition.fetch: a repository's archive and a folder below the root, from a server that also behaves badly. */
#include <config.h>

#include "unit/core_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "commands/handlers.h"
#include "config/configuration.h"
#include "lib/unit_test.h"
#include "model/download_urls.h"
#include "task/archive.h"
#include "unit/scratch.h"

#define SET \
	"name: Spring\nproblems:\n  - {directory: ../tasks/adds, name: adds}\n  - {directory: ../tasks/gone, name: " \
	"gone}\n" \
	"  - {directory: ../tasks/linked, name: linked}\n"
#define TASK \
	"lang: cpp\ndescription: adds\nfiles:\n  - {name: eval.cpp, source: eval.cpp}\n" \
	"  - {name: submission.cpp, source: \"@SUBMISSION@\"}\nconfig:\n  sources: [eval.cpp, submission.cpp]\n" \
	"tests:\n  - {size: 1}\nbenchmarks:\n  - {size: 2}\n"

static char *folder; /* of the server */
static FILE *server;
static json_t *ports;
static struct http *http;
static struct config config;
static struct http_settings settings;

/* ---- the server and what it serves ---- */

/* A link in it, as repositories have them. */
static void
add_link(const char *path)
{
	zip_t *zip = zip_open(path, 0, NULL);
	assert_non_null(zip);
	zip_int64_t at = zip_file_add(zip, "repo-main/tasks/linked", zip_source_buffer(zip, "adds", 4, 0), 0);
	assert_true(at >= 0);
	assert_int_equal(zip_file_set_external_attributes(
						 zip, (zip_uint64_t)at, 0, ZIP_OPSYS_UNIX, (zip_uint32_t)(S_IFLNK | 0777) << 16),
		0);
	assert_int_equal(zip_close(zip), 0);
}

static json_t *
contents(const char *text)
{
	return contents_json(text, strlen(text));
}

/* The repository as a zip with one folder at its top, and the same below a root. */
static void
make_repository(void)
{
	char *data = NULL;
	size_t size = 0;
	AUTO_JSON json_t *files = json_pack("{s:o, s:o, s:o}", "problems/spring.yaml", contents(SET), "tasks/adds/task.yml",
		contents(TASK), "tasks/adds/eval.cpp", contents("int main;\n"));
	assert_int_equal(task_archive_write("repo-main", files, &data, &size, NULL), 0);
	AUTO_FREE char *path = path_join(folder, "repo.zip"), *root = path_join(folder, "root");
	assert_int_equal(file_write(path, data, size, 0600, NULL), 0);
	free(data);
	add_link(path);
	const char *name;
	json_t *value;
	json_object_foreach(files, name, value) {
		AUTO_FREE char *file = xasprintf("%s/set/%s", root, name), *above = path_above(file, 1);
		assert_int_equal(file_mkdirs(above, 0700, NULL), 0);
		const char *text = json_string_value(json_object_get(value, "text"));
		assert_int_equal(file_write(file, text, strlen(text), 0600, NULL), 0);
	}
	AUTO_FREE char *out = path_join(root, "out");
	assert_int_equal(symlink("/etc", out), 0);
}

static int
start_server(void **state)
{
	char line[4000], command[9000];
	(void)state;
	const char *python = getenv("PYTHON"), *top = getenv("top_srcdir"), *build = getenv("top_builddir");
	if (!python || !top || !build)
		return -1;
	folder = scratch_make();
	(void)snprintf(command, sizeof(command), "%s/tests/peers/certificates %s", build, folder);
	if (system(command) != 0)
		return -1;
	make_repository();
	(void)snprintf(command, sizeof(command), "exec %s -B %s/tests/peers/http_server.py %s", python, top, folder);
	server = popen(command, "re");
	if (!server || !fgets(line, sizeof(line), server))
		return -1;
	ports = json_loads(line, 0, NULL);
	settings.ca_file = path_join(folder, "ca.pem");
	return ports ? 0 : -1;
}

static int
stop_server(void **state)
{
	(void)state;
	(void)kill((pid_t)member_int(ports, "pid"), SIGKILL);
	(void)pclose(server);
	json_decref(ports);
	free((char *)settings.ca_file);
	scratch_remove(folder);
	return 0;
}

static int
setup(void **state)
{
	int rc = cores_setup(state);
	http = http_new(cores.io, &settings);
	cores.core[0]->setup.http = http;
	return rc;
}

static int
teardown(void **state)
{
	for (size_t i = 0; i < CORES_MAX; i++)
		if (cores.core[i])
			cores_close(i);
	http_close(http);
	json_decref(STEAL(config.root));
	return cores_teardown(state);
}

/* ---- asking ---- */

static json_t *
of(const char *path)
{
	return json_pack(
		"{s:o}", "repository", json_sprintf("https://127.0.0.1:%d/%s", (int)member_int(ports, "tls"), path));
}

static void
refused(json_t *args_take, int code)
{
	assert_int_equal(cores_run(0, "owner", "competition.fetch", args_take), code);
	assert_sentence(cores_answer.err.message);
}

static size_t
files_left(void)
{
	AUTO_FREE char *links = download_url_folder(cores.path);
	AUTO_DIR DIR *dir = opendir(links);
	size_t count = 0;
	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	return count;
}

/* The set, with a reason for each problem that cannot be used. */
static void
check_set(const json_t *answer, const char *gone, const char *linked)
{
	assert_string_equal(commands_text(answer, "sets.0.name"), "Spring");
	if (!json_is_object(commands_at(answer, "sets.0.problems.0.bundle")))
		fail_msg("%s", commands_text(answer, "sets.0.problems.0.error"));
	assert_true(json_is_null(commands_at(answer, "sets.0.problems.1.bundle")));
	assert_non_null(strstr(commands_text(answer, "sets.0.problems.1.error"), gone));
	assert_non_null(strstr(commands_text(answer, "sets.0.problems.2.error"), linked));
}

/* ---- tests ---- */

static void
test_repository(void **state)
{
	(void)state;
	AUTO_JSON json_t *args = of("file/repo.zip");
	check_set(cores_must(0, "owner", "competition.fetch", json_incref(args)), "tasks/gone", "tasks/linked");
	assert_string_equal(commands_text(cores_answer.result, "source"), json_text_or_empty(args, "repository"));
	/* What it answers is what a sync takes; a client of the engine gets it, too. */
	AUTO_JSON json_t *problems = json_deep_copy(cores_answer.result);
	const json_t *done =
		cores_must(0, "owner", "competition.sync", json_pack("{s:O, s:b}", "problems", problems, "force", 1));
	assert_string_equal(commands_text(done, "created.0"), "adds");
	assert_int_equal(json_array_size(json_object_get(done, "errors")), 2);
	cores_make(1, false);
	json_object_set_new(args, "folder", json_string("problems"));
	json_object_set_new(args, "set", json_string("spring"));
	check_set(cores_must(1, "owner", "competition.fetch", json_incref(args)), "tasks/gone", "tasks/linked");
	assert_int_equal(cores_run(1, "bob", "competition.fetch", json_incref(args)), KETTLE_EACCES);
	assert_says(&cores_answer.err, "creator");
	json_object_set_new(args, "set", json_string("sprng"));
	refused(json_incref(args), KETTLE_ENOENT);
	json_object_set_new(args, "folder", json_string("nothing"));
	refused(json_incref(args), KETTLE_ENOENT);
	json_object_set_new(args, "folder", json_string("../.."));
	refused(json_incref(args), KETTLE_EINVAL);
	json_object_set_new(args, "folder", json_string("tasks"));
	refused(json_incref(args), KETTLE_EINVAL);
	assert_int_equal(files_left(), 0);
}

static void
test_bad_servers(void **state)
{
	(void)state;
	char redirect[200];
	refused(of("status/404"), KETTLE_ENOENT);
	refused(of("status/403"), KETTLE_EUNAVAIL);
	refused(of("bytes/100"), KETTLE_EINVAL);
	refused(of("announced"), KETTLE_ETOOBIG);
	refused(of("short"), KETTLE_EIO);
	refused(of("circle"), KETTLE_EIO);
	/* A redirect to the archive is followed, one to plain HTTP is not. */
	(void)snprintf(
		redirect, sizeof(redirect), "redirect/302?https://127.0.0.1:%d/file/repo.zip", (int)member_int(ports, "tls"));
	(void)cores_must(0, "owner", "competition.fetch", of(redirect));
	(void)snprintf(
		redirect, sizeof(redirect), "redirect/302?http://127.0.0.1:%d/file/repo.zip", (int)member_int(ports, "http"));
	refused(of(redirect), KETTLE_EIO);
	assert_int_equal(files_left(), 0);
}

/* The download ends with whoever waits for it: a client, or the engine. */
static void
test_ends(void **state)
{
	(void)state;
	struct answer answer = {0};
	struct core *client = cores_make(1, false);
	cores_ask(1, "owner", "competition.fetch", of("silent"), &answer);
	until(http_left(http) == 1);
	assert_ptr_equal(client, cores.core[1]);
	cores_close(1);
	until(http_left(http) == 0);
	answer_clear(&answer);
	struct answer answers[4] = {{0}};
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		cores_ask(0, "owner", "competition.fetch", of("silent"), &answers[i]);
	until(http_left(http) == ARRAY_SIZE(answers));
	refused(of("silent"), KETTLE_EUNAVAIL);
	cores_close(0);
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		assert_int_equal(answers[i].count, 1);
		assert_int_equal(answers[i].err.code, KETTLE_ECANCELED);
	}
}

static void
test_folder(void **state)
{
	(void)state;
	AUTO_JSON json_t *args = json_pack("{s:s}", "folder", "set/problems");
	refused(json_incref(args), KETTLE_EACCES);
	refused(json_object(), KETTLE_EINVAL);
	AUTO_FREE char *root = path_join(folder, "root");
	config.root = json_pack("{s:{s:s}}", "competitions", "root", root);
	cores.core[0]->config = &config;
	check_set(cores_must(0, "owner", "competition.fetch", json_incref(args)), "tasks/gone", "tasks/linked");
	refused(json_pack("{s:s}", "folder", "../root/set"), KETTLE_EINVAL);
	refused(json_pack("{s:s}", "folder", "/etc"), KETTLE_EINVAL);
	refused(json_pack("{s:s}", "folder", "out"), KETTLE_EINVAL);
	refused(json_pack("{s:s}", "folder", "gone"), KETTLE_ENOENT);
	assert_null(strstr(cores_answer.err.message, root));
	refused(json_pack("{s:s, s:s}", "folder", "set", "branch", "x"), KETTLE_EINVAL);
	assert_int_equal(cores_run(0, "bob", "competition.fetch", json_incref(args)), KETTLE_EACCES);
}

static void
archive_is(const char *repository, const char *branch, const char *url, const char *label)
{
	AUTO_FREE char *found = NULL, *called = NULL;
	struct kettle_error err = {0};
	if (repository_archive(repository, branch, &found, &called, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(found, url);
	assert_string_equal(called, label);
}

static void
no_archive(const char *repository, const char *branch)
{
	char *url = NULL, *label = NULL;
	struct kettle_error err = {0};
	assert_int_equal(repository_archive(repository, branch, &url, &label, &err), KETTLE_EINVAL);
	assert_sentence(err.message);
	assert_null(url);
}

static void
test_urls(void **state)
{
	(void)state;
	archive_is("gpu-mode/reference-kernels", NULL, "https://github.com/gpu-mode/reference-kernels/archive/HEAD.zip",
		"gpu-mode/reference-kernels");
	archive_is(
		"https://github.com/a/b.git", "main", "https://github.com/a/b/archive/refs/heads/main.zip", "a/b (main)");
	archive_is("https://github.com/a/b/", "x/y", "https://github.com/a/b/archive/refs/heads/x/y.zip", "a/b (x/y)");
	archive_is("https://github.com/a/b/archive/v1.zip", NULL, "https://github.com/a/b/archive/v1.zip",
		"https://github.com/a/b/archive/v1.zip");
	archive_is("https://x.example/p.zip?key=1", NULL, "https://x.example/p.zip?key=1", "https://x.example/p.zip");
	no_archive("http://github.com/a/b", NULL);
	no_archive("file:///etc/passwd", NULL);
	no_archive("a", NULL);
	no_archive("../b", NULL);
	no_archive("a/b", "../../x");
	no_archive("a/b", "x y");
	no_archive("https://x.example/p.zip", "main");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_urls),
	TEST(test_repository),
	TEST(test_bad_servers),
	TEST(test_ends),
	TEST(test_folder),
};

UNIT_TESTS(test_cmd_fetch, .words = "waiting", .setup = start_server, .teardown = stop_server);
