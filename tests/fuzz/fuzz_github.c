/* SPDX-License-Identifier: MIT */
/* Fuzzes what comes from GitHub: the zip of an artifact, and what answers of its API hold; lists of tokens too. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "runners/github/github.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An outcome is success, or an error with a sentence. */
static void
check(int rc, const struct kettle_error *err)
{
	if (rc > 0 || (rc < 0 && (!err->message[0] || err->code != rc || rc == KETTLE_EINTERNAL)))
		abort();
}

static void
read_zip(const uint8_t *data, size_t size)
{
	struct result_files files = RESULT_FILES_NONE;
	struct kettle_error err = {0};
	AUTO_FD int fd = memfd_create("zip", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	int rc = result_zip_read(fd, size, "", &files, &err);
	check(rc, &err);
	if (rc < 0 && (files.result >= 0 || files.report || files.error))
		abort();
	if (files.result >= 0 && (uint64_t)lseek(files.result, 0, SEEK_END) > 2 * size)
		abort();
	if (files.report_size > RESULT_ZIP_SMALL || files.error_size > RESULT_ZIP_SMALL)
		abort();
	if ((files.report && files.report[files.report_size]) || (files.error && files.error[files.error_size]))
		abort();
	result_files_free(&files);
}

static void
read_answer(const json_t *body)
{
	struct kettle_error errors[4] = {{0}};
	struct run_facts run = {0};
	struct artifact_facts artifact = {0};
	const json_t *runs = NULL;
	int64_t id = 0;
	check(answer_dispatched(body, &id, &errors[0]), &errors[0]);
	check(answer_artifact(body, "kettle-result", &artifact, &errors[1]), &errors[1]);
	check(answer_runs(body, &runs, &errors[2]), &errors[2]);
	check(answer_run(body, &run, &errors[3]), &errors[3]);
	if ((errors[0].code == 0 && id <= 0) || (errors[1].code == 0 && (artifact.id <= 0 || artifact.size == 0)) ||
		(errors[3].code == 0 && (run.id <= 0 || !run.status[0])) || json_array_size(runs) > ANSWER_LIST_MAX)
		abort();
	for (size_t i = 0; i < json_array_size(runs); i++) {
		struct kettle_error err = {0};
		check(answer_run(json_array_get(runs, i), &run, &err), &err);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_zip(data, size);
	AUTO_JSON json_t *body = json_loadb((const char *)data, size, 0, NULL);
	if (body)
		read_answer(body);
	AUTO_FREE char *text = xstrndup((const char *)data, size);
	struct tokens tokens = {0};
	struct kettle_error err = {0};
	check(tokens_read(&tokens, text, &err), &err);
	for (size_t i = 0; i < tokens.count; i++)
		if (!tokens.tokens[i].text[0] || strpbrk(tokens.tokens[i].text, " \r\n\t"))
			abort();
	tokens_free(&tokens);
	return 0;
}
