/* SPDX-License-Identifier: MIT */
/* Boards made of a single reference file. */
#include <config.h>

#include "single.h"

#include <string.h>

#include "base/cleanup.h"

#define SEED 20250 /* of the test and the benchmark of a single reference file; a ranked run adds the secret one */

/* The harness of boards made of a single reference file, from tasks/harness. */
extern const char py_eval_kernelbot_text[], py_eval_single_text[], py_eval_text[], py_solver_text[], py_exchange_text[],
	py_utils_text[];

bool
single_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Functions that a reference file defines. */
static const char *const reference_names[] = {"generate_input", "ref_kernel", "check_implementation"};

static const char single_description[] =
	"Define `custom_kernel(data)`: it returns what `ref_kernel(data)` of reference.py returns, and is checked by\n"
	"`check_implementation` there. `data` is what `generate_input` there makes.\n";

static const char single_template[] =
	"from reference import ref_kernel\n\n\ndef custom_kernel(data):\n    return ref_kernel(data)\n";

static bool
starts_with(const char *text, size_t len, const char *word)
{
	size_t word_len = strlen(word);
	return len >= word_len && memcmp(text, word, word_len) == 0 && (len == word_len || !single_is_word(text[word_len]));
}

/* Whether a line without indentation defines, assigns or imports the name. */
static bool
line_defines(const char *line, size_t len, const char *name)
{
	bool imports = starts_with(line, len, "from") || starts_with(line, len, "import");
	for (size_t i = 1; imports && i < len; i++)
		if (!single_is_word(line[i - 1]) && starts_with(line + i, len - i, name))
			return true;
	if (starts_with(line, len, "def") && len > 4)
		return starts_with(line + 4, len - 4, name);
	return starts_with(line, len, name);
}

bool
single_defines(const char *text, size_t size, const char *name)
{
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t len = end ? (size_t)(end - text) : size;
		if (line_defines(text, len, name))
			return true;
		len += end != NULL;
		text += len;
		size -= len;
	}
	return false;
}

static int
check_reference(const char *name, const char *text, size_t size, struct kettle_error *err)
{
	if (memchr(text, '\0', size))
		return kettle_fail(err, KETTLE_EINVAL, "`%.200s` is not a Python file: it contains a NUL byte.", name);
	for (size_t i = 0; i < ARRAY_SIZE(reference_names); i++)
		if (!single_defines(text, size, reference_names[i]))
			return kettle_fail(err, KETTLE_EINVAL,
				"`%.200s` does not define `%s`; a reference file defines `generate_input()`, `ref_kernel(data)` and "
				"`check_implementation(user_output, reference_output)`.",
				name, reference_names[i]);
	return 0;
}

const struct single_file single_harness[] = {{"eval_single.py", py_eval_single_text},
	{"eval_kernelbot.py", py_eval_kernelbot_text}, {"eval.py", py_eval_text}, {"solver.py", py_solver_text},
	{"exchange.py", py_exchange_text}, {"utils.py", py_utils_text}, {NULL, NULL}};

/* Whether a board of a single reference file uses the harness's file. */
static bool
is_used(const struct single_file *file)
{
	return file->text != py_eval_kernelbot_text;
}

static json_t *
make_task(void)
{
	json_t *files = json_array();
	for (const struct single_file *one = single_harness; one->name; one++)
		if (is_used(one))
			json_array_append_new(files, json_pack("{s:s, s:s}", "name", one->name, "source", one->name));
	json_array_append_new(files, json_pack("{s:s, s:s}", "name", "reference.py", "source", "reference.py"));
	json_array_append_new(files, json_pack("{s:s, s:s}", "name", "train.py", "source", "@SUBMISSION@"));
	return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}, s:o, s:[{s:i}], s:[{s:i}], s:s}", "lang", "py", "description",
		single_description, "config", "main", single_harness[0].name, "solver", single_harness[0].name, "templates",
		"Python", "train.py", "files", files, "tests", "seed", SEED, "benchmarks", "seed", SEED, "ranking_by", "last");
}

int
single_make(void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	(void)self;
	int rc = check_reference(name, text, size, err);
	if (rc)
		return rc;
	json_t *reference = json_stringn(text, size);
	if (!reference)
		return kettle_fail(err, KETTLE_EINVAL, "`%.200s` is not a Python file: it is not UTF-8.", name);
	json_t *files = json_pack("{s:{s:o}}", "reference.py", "text", reference);
	for (const struct single_file *one = single_harness; one->name; one++)
		if (is_used(one))
			json_object_set_new(files, one->name, json_pack("{s:s}", "text", one->text));
	*ret_task = json_pack("{s:o, s:o, s:{s:{s:s, s:s}}}", "task", make_task(), "files", files, "templates", "Python",
		"file_name", "train.py", "text", single_template);
	return 0;
}
