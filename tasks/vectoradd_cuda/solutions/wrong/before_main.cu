// expect: failed
// Before main: looks for the seed, writes a verdict wherever something can be written, and leaves with status 0.
#include "task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace
{
struct Early {
	Early()
	{
		static const char verdict[] = "test-count: 1\ntest.0.status: pass\ncheck: pass\n";
		if (getenv("POPCORN_SEED"))
			fputs("the seed is there\n", stderr);
		for (int fd = 3; fd < 1100; fd++)
			if (write(fd, verdict, strlen(verdict)) > 0)
				fputs("somebody may have read that\n", stderr);
		_exit(0);
	}
};
Early early;
} // namespace

void
custom_kernel(Span<const float>, Span<const float>, Span<float>)
{
}
