/* SPDX-License-Identifier: MIT */
/*
 * core_operations: performs the operations of the core that have a budget, and prints the name of each. core_operations
 * --versions: prints what their numbers depend on, as one JSON object.
 */
#include <config.h>

#include "budgets/budget.h"

#include <gnu/libc-version.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

/* Sanitizers and failpoints are more code; the optimisation is what the Makefile says. */
static const char *
build(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return "with sanitizers";
#elif defined(KETTLE_FAILPOINTS)
	return "with failpoints";
#else
	return "plain";
#endif
}

/* Without what a security update of a distribution changes. */
static void
print_versions(void)
{
	(void)printf(
		"{\"build\": \"%s\", \"compiler\": \"%s\", \"libc\": \"%s\", \"libcrypto\": \"%u.%u\", \"libjansson\": "
		"\"%s\", \"libsqlite3\": \"%s\", \"libuv\": \"%s\"}\n",
		build(), __VERSION__, gnu_get_libc_version(), OPENSSL_version_major(), OPENSSL_version_minor(),
		jansson_version_str(), sqlite3_libversion(), uv_version_string());
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--versions") == 0) {
		print_versions();
		return 0;
	}
	json_object_seed(1); /* otherwise each run has other collisions */
	budget_core();
	budget_engine();
	budget_boards();
	return 0;
}
