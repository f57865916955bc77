/* SPDX-License-Identifier: MIT */
/* Python as a tool of this machine: what stands behind its name, and what it is installed with. */
#include <config.h>

#include "interpreter.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "command.h"
#include "file.h"
#include "text.h"

#define VENV_MAX_BYTES 65536

bool
interpreter_is(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	return strncmp(name, "python", strlen("python")) == 0 || strncmp(name, "pypy", strlen("pypy")) == 0;
}

static bool
is_script(const char *path)
{
	char start[2] = {0};
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, start, sizeof(start)) == 2 && memcmp(start, "#!", 2) == 0;
}

char *
interpreter_behind(const char *path)
{
	if (!interpreter_is(path) || !is_script(path))
		return NULL;
	struct command command = {.argv = {path, "-IS", "-c", "import sys; print(sys.executable)"}};
	command_run(&command, 1);
	const char *line = command.passed ? command_line(&command) : "";
	char *behind = line[0] == '/' && access(line, X_OK) == 0 ? strdup(line) : NULL;
	buf_free(&command.output);
	return behind;
}

/* The value of `home = FOLDER` in the text of a pyvenv.cfg; ends the line. */
static char *
find_home(char *text)
{
	for (char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		char *next = line + len + (line[len] == '\n'), *value = strchr(line, '=');
		if (strncmp(line, "home", 4) == 0 && value && value < line + len &&
			line + 4 + strspn(line + 4, " \t") == value) {
			value += 1 + strspn(value + 1, " \t");
			line[len] = '\0';
			value[strcspn(value, "\r")] = '\0';
			return value;
		}
		line = next;
	}
	return NULL;
}

char *
interpreter_base(const char *path)
{
	AUTO_FREE char *folder = interpreter_is(path) ? strdup(path) : NULL;
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	/* PREFIX/bin/python3 belongs to PREFIX/pyvenv.cfg. */
	for (int i = 0; folder && i < 2; i++) {
		char *slash = strrchr(folder, '/');
		if (!slash)
			return NULL;
		*slash = '\0';
	}
	AUTO_FREE char *file = folder ? path_join(folder[0] ? folder : "/", "pyvenv.cfg") : NULL;
	if (!file || file_read(file, VENV_MAX_BYTES, &text, &size, NULL) != 0)
		return NULL;
	const char *home = find_home(text);
	return home && home[0] == '/' ? path_join(home, "python") : NULL;
}
