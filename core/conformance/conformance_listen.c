/* SPDX-License-Identifier: MIT */
/*
 * Conformance of a frontend that takes connections: it bears clients that send nonsense, half of something or nothing, and
 * stops while they are connected.
 *
 * Theory of operation. The plugin's socket is found among the descriptors of this process, which is a child of its
 * own. Nothing is known of its protocol, so no answer is expected.
 */
#include <config.h>

#include "conformance/conformance_internal.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LISTEN_MS 1000 /* for a plugin that begins to listen after its start */
#define SERVE_MS 100   /* for it to look at what the clients sent */

struct listener {
	struct sockaddr_storage address;
	socklen_t size;
	int type; /* 0: none is found */
};

/* Whether the descriptor is a socket that takes connections. */
static bool
read_listener(int fd, struct listener *ret_listener)
{
	int listens = 0;
	struct listener found = {.size = sizeof(found.address)};
	socklen_t size = sizeof(listens);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
		return false;
	size = sizeof(found.type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &found.type, &size) != 0 ||
		getsockname(fd, (struct sockaddr *)&found.address, &found.size) != 0)
		return false;
	*ret_listener = found;
	return true;
}

static int
find_listener(void *arg)
{
	struct listener *listener = arg;
	AUTO_DIR DIR *dir = opendir("/proc/self/fd");
	for (const struct dirent *entry; dir && !listener->type && (entry = readdir(dir));)
		(void)read_listener(atoi(entry->d_name), listener);
	return listener->type != 0;
}

/* A client that says this. -1: it is not let in. */
static int
connect_client(const struct listener *listener, const char *text, size_t size)
{
	const struct timeval limit = {.tv_sec = 2};
	AUTO_FD int fd = socket(listener->address.ss_family, listener->type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&listener->address, listener->size) != 0)
		return -1;
	(void)!send(fd, text, size, MSG_NOSIGNAL);
	return STEAL_FD(fd);
}

static int
try_clients(struct subject *subject, struct kettle_fake *fake, struct instance *instance, struct kettle_error *err)
{
	static const struct {
		const char *text;
		size_t size;
	} said[] = {{"", 0}, {"\0\xff\x80{[\"\n\r\n\r\n", 11}, {"{\"half\": ", 9}, {"GET / HTTP/1.1\r\nHost:", 21}};
	int clients[ARRAY_SIZE(said)];
	struct listener listener = {0};
	bool listens = kettle_fake_run(fake, find_listener, &listener, LISTEN_MS) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		clients[i] = listens ? connect_client(&listener, said[i].text, said[i].size) : -1;
	/* One comes and goes. */
	int gone = listens ? connect_client(&listener, "\n", 1) : -1;
	if (gone >= 0)
		close(gone);
	(void)kettle_fake_run(fake, NULL, NULL, listens ? SERVE_MS : 1);
	int rc = conformance_fall(subject, fake, instance, err);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		if (clients[i] >= 0)
			close(clients[i]);
	if (rc == 0 && !listens)
		return kettle_fail(err, CONFORMANCE_SKIP, "The frontend takes no connections.");
	return rc;
}

int
conformance_listens(struct subject *subject, struct kettle_error *err)
{
	struct kettle_fake *fake = NULL;
	struct instance instance;
	if (subject->loaded->plugin.kind != KETTLE_FRONTEND)
		return kettle_fail(err, CONFORMANCE_SKIP, "It is no frontend.");
	int rc = conformance_skip_without_options(subject, err);
	if (rc == 0)
		rc = kettle_fake_new(subject->loaded->plugin.name, &fake, err);
	if (rc == 0)
		rc = conformance_rise(subject, fake, &instance, err);
	if (rc == 0)
		rc = try_clients(subject, fake, &instance, err);
	return conformance_end(fake, rc, err);
}
