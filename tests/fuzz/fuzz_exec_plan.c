/* SPDX-License-Identifier: MIT */
/* Fuzzes the reading of plans: any JSON is accepted, or refused with a sentence that JSON can hold. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "exec/plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static json_t *schema;
	struct kettle_error err = {0};
	if (!schema)
		schema = plan_schema();
	AUTO_JSON json_t *plan = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	if (!plan)
		return 0;
	struct plan read;
	int rc = plan_read(schema, plan, &read, &err);
	plan_free(&read);
	if (rc != 0 && (!err.message[0] || !utf8_valid(err.message, strlen(err.message))))
		abort();
	return 0;
}
