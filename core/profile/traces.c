/* SPDX-License-Identifier: MIT */
/* Traces in the format of Perfetto. */
#include <config.h>

#include "profile/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define PACKET_TAG 0x0a    /* field 1, with a length: what a trace is made of, and nothing else */
#define MAX_LENGTH_BYTES 5 /* of a packet's length, 7 bits in each */

/* The length that begins at *at, which goes behind it; false: it is none. */
static bool
read_length(const unsigned char *data, size_t size, size_t *at, size_t *ret_length)
{
	size_t length = 0;
	for (int i = 0; i < MAX_LENGTH_BYTES && *at < size; i++) {
		unsigned char byte = data[(*at)++];
		length |= (size_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80)) {
			*ret_length = length;
			return true;
		}
	}
	return false;
}

/* Whether packets follow each other from the first byte to the last. */
static bool
is_trace(const unsigned char *data, size_t size)
{
	size_t at = 0, length = 0;
	while (at < size) {
		if (data[at++] != PACKET_TAG || !read_length(data, size, &at, &length) || length > size - at)
			return false;
		at += length;
	}
	return size > 0;
}

int
traces_add(const char *path, int to, uint64_t *used, struct kettle_error *err)
{
	struct stat st;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return kettle_fail(err, KETTLE_EINVAL, "What rocprofv3 wrote is no trace: it is empty, or no file.");
	if ((uint64_t)st.st_size > TRACES_MAX_BYTES - *used)
		return kettle_fail(err, KETTLE_ETOOBIG, "The traces are larger than the %llu MiB that are kept.",
			(unsigned long long)(TRACES_MAX_BYTES >> 20));
	size_t size = (size_t)st.st_size;
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return kettle_fail(err, KETTLE_EIO, "A trace could not be read: %s.", strerror(errno));
	int rc = 0;
	if (!is_trace(data, size))
		rc = kettle_fail(err, KETTLE_EINVAL, "What rocprofv3 wrote is no trace: it is not made of packets.");
	else if (write_all(to, data, size) != 0)
		rc = kettle_fail(err, KETTLE_EIO, "The trace could not be written: %s.", strerror(errno));
	(void)munmap(data, size);
	if (rc == 0)
		*used += size;
	return rc;
}
