/* SPDX-License-Identifier: MIT */
/* Asks a tool about itself, and finds the files and folders on which its results depend. */
#include <config.h>

#include "exec/tools/tools.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"

#define VERSION_SIZE 64
#define FACTS_FORMAT 3 /* facts of another format, by an older kettle-exec, are not used */

/* Questions to a compiler driver: the programs that it starts, the headers and libraries that it brings or finds. */
static const char *const compiler_questions[] = {
	"-print-prog-name=cc1",
	"-print-prog-name=cc1plus",
	"-print-prog-name=collect2",
	"-print-prog-name=as",
	"-print-prog-name=ld",
	"-print-file-name=include",
	"-print-file-name=libstdc++.so",
	"-print-file-name=libstdc++.a",
	"-print-file-name=libgomp.so",
	"-print-file-name=libgcc.a",
	"-print-file-name=libc.so.6",
	"-print-file-name=libm.so.6",
};
#define QUESTIONS (1 + ARRAY_SIZE(compiler_questions))

static const char *const header_folders[] = {"/usr/include", "/usr/local/include"};
/* Folders of a toolchain with a prefix of its own. */
static const char *const prefix_folders[] = {
	"bin", "include", "lib", "lib64", "nvvm/bin", "targets", "amdgcn", "llvm/bin", "llvm/lib"};

static bool
is_compiler(const struct tool *tool)
{
	const char *base = basename(tool->real);
	return strstr(base, "g++") || strstr(base, "gcc") || strstr(base, "clang") || strcmp(tool->name, "cc") == 0 ||
		   strcmp(tool->name, "c++") == 0;
}

static int64_t
mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/*
 * The length of a version (digits and dots) at the begin of a word; 0: it does not begin with digits, a dot and a
 * digit.
 */
static size_t
version_length(const char *word)
{
	size_t n = strspn(word, "0123456789");
	if (n == 0 || word[n] != '.' || word[n + 1] < '0' || word[n + 1] > '9')
		return 0;
	return strspn(word, "0123456789.");
}

/* The last version on a line: "g++ (Debian 12.2.0-14) 12.2.0". */
static bool
line_version(const char *line, size_t len, char *ret_version, size_t size)
{
	bool found = false;
	for (size_t i = 0; i < len; i++) {
		bool starts = i == 0 || line[i - 1] == ' ' || line[i - 1] == 'V' || line[i - 1] == 'v';
		size_t n = starts ? version_length(line + i) : 0;
		if (n == 0)
			continue;
		(void)snprintf(ret_version, size, "%.*s", (int)(n < size ? n : size - 1), line + i);
		found = true;
	}
	return found;
}

void
tool_probe_version(const char *text, char *ret_version, size_t size)
{
	ret_version[0] = '\0';
	while (*text) {
		size_t len = strcspn(text, "\n");
		if (line_version(text, len, ret_version, size))
			return;
		text += len + (text[len] == '\n');
	}
}

struct tool_facts
tool_facts_of(json_t *json)
{
	return (struct tool_facts){.json = json,
		.format = member_int(json, "format"),
		.size = member_int(json, "size"),
		.mtime = member_int(json, "mtime"),
		.script = member_true(json, "script"),
		.version = json_text_or_null(json, "version"),
		.banner = json_text_or_null(json, "banner"),
		.files = json_object_get(json, "files"),
		.folders = json_object_get(json, "folders"),
		.packages = json_object_get(json, "packages"),
		.home = json_text_or_null(json, "home"),
		.foreign = member_true(json, "foreign"),
		.includes = json_object_get(json, "includes"),
		.libraries = json_object_get(json, "libraries"),
		.parts = json_object_get(json, "parts")};
}

bool
tool_probe_is_current(const struct tool_facts *facts, const char *real)
{
	struct stat st;
	return facts->format == FACTS_FORMAT && interpreter_unchanged(facts->folders) && stat(real, &st) == 0 &&
		   facts->size == st.st_size && facts->mtime == mtime_ns(&st);
}

/* Adds a compiler's answer: a path, or a name that it looks up in PATH. */
static void
add_answer(struct strings *files, const char *answer)
{
	static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};
	if (answer[0] == '/') {
		strings_add(files, answer);
		return;
	}
	for (size_t i = 0; answer[0] && !strchr(answer, '/') && i < ARRAY_SIZE(folders); i++) {
		AUTO_FREE char *path = path_join(folders[i], answer);
		if (access(path, X_OK) == 0)
			strings_add(files, path);
	}
}

static json_t *
make_facts(const struct tool *tool, struct command *commands, size_t count)
{
	struct stat st;
	char version[VERSION_SIZE], banner[65];
	/* A tool without --version is identified by path, size and time. */
	const char *text = commands[0].passed && commands[0].output.len ? commands[0].output.data : "";
	if (stat(tool->real, &st) != 0)
		return NULL;
	AUTO_STRINGS struct strings files = {0};
	tool_probe_version(text, version, sizeof(version));
	sha256_hex(text, strlen(text), banner);
	AUTO_JSON json_t *more = NULL;
	if (count > 1 && interpreter_is(tool->path))
		more = commands[1].passed && commands[1].output.len ? interpreter_facts(commands[1].output.data) : NULL;
	bool nvcc = toolkit_is_nvcc(tool->name);
	AUTO_FREE char *home = toolkit_home(nvcc && commands[1].output.len ? commands[1].output.data : "", tool->real);
	for (size_t i = 1; i < count && !interpreter_is(tool->path) && !nvcc; i++)
		if (commands[i].passed)
			add_answer(&files, tool_query_line(&commands[i]));
	if (nvcc) {
		toolkit_nvcc_files(home, &files);
		more = toolparts_of_nvcc(home, tool->packages, version);
	} else if (toolkit_is_hipcc(tool->name)) {
		toolkit_hipcc_files(text, &files);
		more = toolparts_of_hipcc(home);
	}
	json_t *facts = json_pack("{s:i, s:I, s:I, s:b, s:s, s:s, s:s, s:o}", "format", FACTS_FORMAT, "size",
		(json_int_t)st.st_size, "mtime", (json_int_t)mtime_ns(&st), "script", interpreter_is_script(tool->real),
		"version", version, "banner", banner, "home", home, "files", strings_json(&files));
	json_object_update(facts, more);
	return facts;
}

/* Fills in the questions for one tool. Returns how many. */
static size_t
questions(const struct tool *tool, struct command *commands)
{
	size_t count = 0;
	commands[count++].argv[1] = "--version";
	if (toolkit_is_nvcc(tool->name))
		toolkit_query(tool->path, &commands[count++]);
	for (size_t i = 0; is_compiler(tool) && i < ARRAY_SIZE(compiler_questions); i++)
		commands[count++].argv[1] = compiler_questions[i];
	if (interpreter_is(tool->path)) {
		commands[count].argv[1] = "-I";
		commands[count].argv[2] = "-c";
		commands[count++].argv[3] = interpreter_question;
	}
	for (size_t i = 0; i < count; i++)
		commands[i].argv[0] = tool->path;
	return count;
}

/* A tool with its questions. */
struct tool_query {
	struct command *commands; /* borrowed */
	size_t count;
	struct strings environment;
};

/*
 * Questions have the environment of steps, so that the answers hold for steps. Answers must not depend on the user of
 * kettle-exec, and some tools (such as rustup's) make folders in HOME only to print their version, so HOME is a folder
 * of its own.
 */
static void
probe_prepare(struct tool_query *query, const struct execconfig *config, const struct tool *tool, const char *home)
{
	AUTO_JSON json_t *environment = environment_make(config, tool->path, NULL);
	json_object_set_new(environment, "HOME", json_string(home));
	json_object_set_new(environment, "TMPDIR", json_string(home));
	toolkit_environment(tool->name, environment);
	environment_add_tool(config, tool->name, environment);
	environment_list(environment, &query->environment);
	query->count = questions(tool, query->commands);
	for (size_t i = 0; i < query->count; i++)
		query->commands[i].environment = query->environment.list;
}

void
tool_probe_run(const struct execconfig *config, const struct tool *const *tools, size_t count, const atomic_bool *stop,
	json_t **ret_facts)
{
	AUTO_FREE struct command *commands = xcalloc(count * QUESTIONS + 1, sizeof(*commands));
	struct tool_query asked[TOOLCHAIN_MAX_TOOLS] = {0};
	char home[] = "/tmp/kettle-home-XXXXXX";
	size_t total = 0;
	if (count == 0 || count > TOOLCHAIN_MAX_TOOLS)
		return;
	bool made = mkdtemp(home) != NULL;
	for (size_t i = 0; i < count; total += asked[i++].count) {
		asked[i].commands = commands + total;
		probe_prepare(&asked[i], config, tools[i], made ? home : "/dev/null");
	}
	tool_query_run(commands, total, stop);
	if (made)
		(void)file_remove_tree(home, NULL);
	for (size_t i = 0; i < count; i++) {
		ret_facts[i] = stop && atomic_load(stop) ? NULL : make_facts(tools[i], asked[i].commands, asked[i].count);
		strings_free(&asked[i].environment);
	}
	for (size_t i = 0; i < total; i++)
		buf_free(&commands[i].output);
}

/* Adds the folder and those below it, at most *left of them. Does not follow links. */
static void
watch_folder(struct strings *watch, const char *path, unsigned *left)
{
	AUTO_DIR DIR *folder = *left ? opendir(path) : NULL;
	const struct dirent *entry;
	if (!folder)
		return;
	--*left;
	strings_add(watch, path);
	while ((entry = readdir(folder))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		AUTO_FREE char *below = path_join(path, entry->d_name);
		watch_folder(watch, below, left);
	}
}

static void
watch_prefix(struct strings *watch, const char *real, unsigned *left)
{
	AUTO_FREE char *prefix = path_above(real, 2);
	if (prefix[0] == '\0' || strcmp(prefix, "/usr") == 0 || strcmp(prefix, "/usr/local") == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(prefix_folders); i++) {
		AUTO_FREE char *path = path_join(prefix, prefix_folders[i]);
		watch_folder(watch, path, left);
	}
}

void
tool_probe_watch(const struct tool_facts *facts, const char *real, unsigned max_folders, struct strings *watch)
{
	AUTO_STRINGS struct strings files = {0};
	unsigned left = max_folders;
	const json_t *folder;
	size_t i;
	strings_read(&files, facts->files);
	strings_add(watch, real);
	for (i = 0; i < files.count; i++) {
		struct stat st;
		if (stat(files.list[i], &st) == 0 && S_ISDIR(st.st_mode))
			watch_folder(watch, files.list[i], &left);
		else
			strings_add(watch, files.list[i]);
	}
	/* Of packages, only installation, removal and change of version matter. */
	json_array_foreach(facts->folders, i, folder)
		if (json_is_string(json_array_get(folder, 0)))
			strings_add(watch, json_string_value(json_array_get(folder, 0)));
	/* Only compilers have files. */
	for (i = 0; files.count > 0 && i < ARRAY_SIZE(header_folders); i++)
		watch_folder(watch, header_folders[i], &left);
	watch_prefix(watch, real, &left);
	/* The order of readdir may change. */
	strings_sort(watch);
}

void
tool_probe_stamp(const char *path, struct sha256 *digest)
{
	struct stat st = {0};
	sha256_field(digest, path);
	if (stat(path, &st) != 0) {
		sha256_number(digest, 0);
		return;
	}
	sha256_number(digest, S_ISDIR(st.st_mode) ? 1 : (uint64_t)st.st_size);
	sha256_number(digest, (uint64_t)mtime_ns(&st));
}

/* Leaves out . and .., and folders of version control, which change without any header. */
static int
is_stamped(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void
tool_probe_stamp_tree(const char *path, struct sha256 *digest, unsigned *left)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, is_stamped, alphasort);
	tool_probe_stamp(path, digest);
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *below = *left ? path_join(path, entries[i]->d_name) : NULL;
		if (*left)
			--*left;
		if (below && entries[i]->d_type == DT_DIR)
			tool_probe_stamp_tree(below, digest, left);
		else if (below)
			tool_probe_stamp(below, digest);
		free(entries[i]);
	}
	free(entries);
}
