/* SPDX-License-Identifier: MIT */
/* Files for data from a remote side that is too large for memory. */
#include <config.h>

#include "runners/common/download.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"

#define FOLDER_TEMPLATE "%s/kettle-download-XXXXXX"

int
download_make(struct download *ret_download, struct kettle_error *err)
{
	const char *temporary = getenv("TMPDIR");
	AUTO_FREE char *folder = xasprintf(FOLDER_TEMPLATE, temporary && temporary[0] == '/' ? temporary : "/tmp");
	if (!mkdtemp(folder))
		return kettle_fail(err, KETTLE_EIO,
			"The data of the remote side cannot be stored: `%s` cannot be created (set TMPDIR): %s.", folder,
			strerror(errno));
	ret_download->path = xasprintf("%s/file", folder);
	ret_download->folder = STEAL(folder);
	return 0;
}

static int
open_and_remove(struct download *download, int flags, int *ret_fd, struct kettle_error *err)
{
	int fd = open(download->path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		(void)kettle_fail(err, KETTLE_EIO, "`%s` cannot be opened: %s.", download->path, strerror(errno));
	else
		*ret_fd = fd;
	download_remove(download);
	return fd < 0 ? KETTLE_EIO : 0;
}

int
download_open(struct download *download, int *ret_fd, struct kettle_error *err)
{
	return open_and_remove(download, O_RDONLY, ret_fd, err);
}

void
download_remove(struct download *download)
{
	if (download->path)
		(void)unlink(download->path);
	if (download->folder)
		(void)rmdir(download->folder);
	free_all(STEAL(download->path), STEAL(download->folder));
}

int
download_file(int *ret_fd, struct kettle_error *err)
{
	struct download download = {0};
	int rc = download_make(&download, err);
	return rc ? rc : open_and_remove(&download, O_RDWR | O_CREAT | O_EXCL, ret_fd, err);
}
