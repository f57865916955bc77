// SPDX-License-Identifier: MIT
// class: Correctness: other cases
// tries: to let the harness read cases of its own, by argv and by the working folder; to make the mode one that there is
//        not, for which the harness blames the task; to leave no descriptor for the cases.
// expect: passed
// variants: WHICH=1 WHICH=2 WHICH=3 WHICH=4
#include "attack.h"

#include <sys/resource.h>

__attribute__((constructor)) static void first(int, char **argv, char **)
{
	static char other[] = "/tmp/cases.txt";
	FILE *file = fopen(other, "w");
	if (file) {
		fputs("nothing: 1\n", file);
		fclose(file);
	}
	struct rlimit none = {0, 0};
	if (@WHICH@ == 1)
		argv[2] = other;
	else if (@WHICH@ == 2 && chdir("/tmp") != 0)
		perror("chdir");
	else if (@WHICH@ == 3)
		argv[1][0] = 'x';
	else if (@WHICH@ == 4)
		setrlimit(RLIMIT_NOFILE, &none);
}

void custom_kernel(const input_t &input, output_t &output)
{
	tried();
	honest(input, output);
}
