/* SPDX-License-Identifier: MIT */
/*
 * For tests, from standard input to standard output, with the unit's key in SEAL_KEY (base64):
 *   seal make plan|result JOB PLAN_HASH      puts its input into an envelope
 *   seal open plan|result JOB PLAN_HASH      prints the content of an envelope
 *   seal unpack JOB PLAN_HASH FOLDER         opens a result, writes its files into FOLDER, prints {"completion", "run"}
 * It ends with 1 and a sentence where something is refused.
 */
#include <config.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/io.h"
#include "sealed/result_package.h"
#include "sealed/sealed.h"

#define MOST (1u << 30)

static int
fail(const char *sentence)
{
	(void)fprintf(stderr, "seal: %s\n", sentence);
	return 1;
}

static int
unpack(const char *content, size_t size, const char *folder)
{
	AUTO_JSON json_t *completion = NULL;
	AUTO_FREE char *run = NULL;
	struct kettle_error err = {0};
	struct result_reader *reader = result_reader_new(folder, MOST);
	int rc = result_reader_take(reader, content, size, &err);
	if (rc == 0)
		rc = result_reader_finish(reader, &completion, &run, &err);
	result_reader_free(reader);
	if (rc)
		return fail(err.message);
	AUTO_JSON json_t *both = json_pack("{s:O, s:s?}", "completion", completion, "run", run);
	return json_dumpf(both, stdout, JSON_COMPACT) == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	const char *key_text = getenv("SEAL_KEY");
	if (argc != 5 || !key_text)
		return fail("see the top of its source");
	bool is_unpack = strcmp(argv[1], "unpack") == 0, makes = strcmp(argv[1], "make") == 0;
	enum sealed_kind kind = !is_unpack && strcmp(argv[2], "plan") == 0 ? SEALED_PLAN : SEALED_RESULT;
	char **names = argv + (is_unpack ? 2 : 3);
	const struct sealed_scope scope = {names[0], names[1]};
	unsigned char unit_key[SEALED_KEY_SIZE], key[SEALED_KEY_SIZE];
	AUTO_FREE char *input = NULL, *output = NULL;
	size_t size = 0, output_size = 0;
	struct kettle_error err = {0};
	if (sealed_key_parse(key_text, unit_key, &err) || file_read_stream(0, "Standard input", MOST, &input, &size, &err))
		return fail(err.message);
	sealed_key_derive(unit_key, scope.job, key);
	if (makes ? sealed_seal(key, kind, &scope, input, size, &output, &output_size, &err)
			  : sealed_open(key, kind, &scope, input, size, MOST, &output, &output_size, &err))
		return fail(err.message);
	return is_unpack ? unpack(output, output_size, argv[4]) : write_all(1, output, output_size) ? 1 : 0;
}
