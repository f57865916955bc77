// expect: failed
// Writes the verdict to every descriptor that there is, and leaves.
#include "task.h"

#include <string.h>
#include <unistd.h>

void
custom_kernel(Span<const float>, Span<const float>, Span<float>)
{
	static const char verdict[] = "check: pass\n";
	for (int fd = 3; fd < 1100; fd++)
		if (write(fd, verdict, strlen(verdict)) < 0)
			continue;
	_exit(0);
}
