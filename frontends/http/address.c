/* SPDX-License-Identifier: MIT */
/* Addresses of clients and proxies, and where a server listens. */
#include <config.h>

#include "http/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"
#include "base/base.h"

#define V4_BITS 96 /* of ::ffff:0:0/96, the addresses of IPv4 */
#define BITS 128
#define UNIX_PREFIX "unix:"
#define PORT_MAX 65535
#define MODE_DEFAULT 0600

/* ---- addresses ---- */

static struct address
from_v4(struct in_addr v4)
{
	struct address address = {.bytes = {.s6_addr = {[10] = 0xff, [11] = 0xff}}};
	(void)memcpy(address.bytes.s6_addr + 12, &v4, sizeof(v4));
	return address;
}

bool
address_from(const struct sockaddr *from, struct address *ret_address)
{
	if (from->sa_family == AF_INET)
		*ret_address = from_v4(((const struct sockaddr_in *)(const void *)from)->sin_addr);
	else if (from->sa_family == AF_INET6)
		ret_address->bytes = ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
	return from->sa_family == AF_INET || from->sa_family == AF_INET6;
}

static bool
parse_plain(const char *text, size_t size, struct address *ret_address)
{
	char copy[ADDRESS_TEXT];
	struct in_addr v4;
	if (size == 0 || size >= sizeof(copy) || memchr(text, '\0', size))
		return false;
	(void)memcpy(copy, text, size);
	copy[size] = '\0';
	if (inet_pton(AF_INET, copy, &v4) == 1) {
		*ret_address = from_v4(v4);
		return true;
	}
	return inet_pton(AF_INET6, copy, &ret_address->bytes) == 1;
}

bool
address_parse(const char *text, size_t size, struct address *ret_address)
{
	const char *end = size > 0 && *text == '[' ? memchr(text, ']', size) : NULL;
	const char *colon = memchr(text, ':', size);
	if (end)
		return parse_plain(text + 1, (size_t)(end - text) - 1, ret_address);
	/* One colon: an address of IPv4 and a port. */
	bool port = colon && !memchr(colon + 1, ':', size - (size_t)(colon - text) - 1);
	return parse_plain(text, port ? (size_t)(colon - text) : size, ret_address);
}

void
address_text(const struct address *address, char ret_text[ADDRESS_TEXT])
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(&address->bytes);
	(void)inet_ntop(v4 ? AF_INET : AF_INET6, address->bytes.s6_addr + (v4 ? 12 : 0), ret_text, ADDRESS_TEXT);
}

bool
address_equals(const struct address *a, const struct address *b)
{
	return memcmp(&a->bytes, &b->bytes, sizeof(a->bytes)) == 0;
}

bool
network_parse(const char *text, struct network *ret_network)
{
	const char *slash = strchr(text, '/');
	long long bits = BITS;
	struct network network;
	if (!parse_plain(text, slash ? (size_t)(slash - text) : strlen(text), &network.address))
		return false;
	if (slash && (strspn(slash + 1, "0123456789") != strlen(slash + 1) || !number_parse_integer(slash + 1, &bits)))
		return false;
	if (slash && !memchr(text, ':', (size_t)(slash - text)))
		bits += V4_BITS;
	if (bits < 0 || bits > BITS)
		return false;
	network.bits = (unsigned)bits;
	*ret_network = network;
	return true;
}

bool
network_has(const struct network *networks, size_t count, const struct address *address)
{
	for (size_t i = 0; i < count; i++) {
		unsigned bytes = networks[i].bits / 8, bits = networks[i].bits % 8;
		const unsigned char *a = networks[i].address.bytes.s6_addr, *b = address->bytes.s6_addr;
		if (memcmp(a, b, bytes) == 0 && (bits == 0 || (a[bytes] ^ b[bytes]) >> (8 - bits) == 0))
			return true;
	}
	return false;
}

void
address_forwarded(const char *forwarded, const struct network *trusted, size_t count, struct address *address)
{
	const char *end = forwarded + strlen(forwarded);
	while (end > forwarded) {
		const char *from = end, *to = end;
		struct address found;
		while (from > forwarded && from[-1] != ',')
			from--;
		end = from > forwarded ? from - 1 : from;
		while (from < to && (*from == ' ' || *from == '\t'))
			from++;
		while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
			to--;
		if (!address_parse(from, (size_t)(to - from), &found))
			return;
		*address = found;
		if (!network_has(trusted, count, &found))
			return;
	}
}

/* ---- listening ---- */

static int
refuse(struct kettle_error *err, const char *listen)
{
	return kettle_blame(err, KETTLE_CAUSE_NONE, "listen",
		kettle_fail(err, KETTLE_EINVAL,
			"`listen` is not ADDRESS:PORT, such as 127.0.0.1:8480 or [::1]:8480, nor unix:PATH: %.100s", listen));
}

static int
fail(struct kettle_error *err, const char *title, const char *listen, int fault)
{
	return kettle_blame(err, KETTLE_CAUSE_NONE, "listen",
		kettle_fail(err, KETTLE_EUNAVAIL, "%s cannot listen on %s (listen): %s%s.", title, listen, strerror(fault),
			fault == EADDRINUSE ? ", perhaps by another `kettle serve`" : ""));
}

/* Splits ADDRESS:PORT; an address with colons is in brackets. */
static int
parse_listen(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_len, struct kettle_error *err)
{
	const char *from = text + (*text == '['), *to = *text == '[' ? strchr(text, ']') : strrchr(text, ':');
	const char *colon = to && *to == ']' ? to + 1 : to;
	size_t len = to && to > from ? (size_t)(to - from) : 0;
	long long port = 0;
	struct address address;
	if (len == 0 || *colon != ':' || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
		!number_parse_integer(colon + 1, &port) || port > PORT_MAX || (*text != '[' && memchr(from, ':', len)))
		return refuse(err, text);
	if (!parse_plain(from, len, &address))
		return kettle_blame(err, KETTLE_CAUSE_NONE, "listen",
			kettle_fail(err, KETTLE_EINVAL, "`listen` does not name an address in numbers: %.100s", text));
	*ret_address = (struct sockaddr_storage){.ss_family = memchr(from, ':', len) ? AF_INET6 : AF_INET};
	if (ret_address->ss_family == AF_INET) {
		struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)ret_address;
		(void)memcpy(&v4->sin_addr, address.bytes.s6_addr + 12, sizeof(v4->sin_addr));
		v4->sin_port = htons((uint16_t)port);
		*ret_len = sizeof(*v4);
	} else {
		struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)ret_address;
		v6->sin6_addr = address.bytes;
		v6->sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(*v6);
	}
	return 0;
}

/* 0, or the errno of what failed. */
static int
listen_tcp(const struct sockaddr_storage *address, socklen_t len, struct listener *listener)
{
	struct sockaddr_storage bound = {0};
	socklen_t size = sizeof(bound);
	int on = 1;
	listener->fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0 || setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		bind(listener->fd, (const struct sockaddr *)address, len) != 0 || listen(listener->fd, SOMAXCONN) != 0 ||
		getsockname(listener->fd, (struct sockaddr *)&bound, &size) != 0)
		return errno;
	listener->port = ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&bound)->sin_port
													  : ((struct sockaddr_in6 *)(void *)&bound)->sin6_port);
	return 0;
}

/* Whether a socket lies there that no server has open any more: its server was killed. */
static bool
is_left_over(const struct sockaddr_un *address)
{
	struct stat info;
	if (lstat(address->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
		return false;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool left =
		fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 && errno == ECONNREFUSED;
	if (fd >= 0)
		(void)close(fd);
	return left;
}

/* 0, or the errno of what failed. */
static int
listen_unix(const struct sockaddr_un *address, unsigned mode, struct listener *listener)
{
	const struct sockaddr *name = (const struct sockaddr *)address;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* bind gives the file the mode of the socket, less the umask, so that at no time it has more than it should. */
	if (listener->fd < 0 || fchmod(listener->fd, mode) != 0)
		return errno;
	if (bind(listener->fd, name, sizeof(*address)) != 0 &&
		(errno != EADDRINUSE || !is_left_over(address) || unlink(address->sun_path) != 0 ||
			bind(listener->fd, name, sizeof(*address)) != 0))
		return errno ? errno : EADDRINUSE;
	listener->path = xstrdup(address->sun_path);
	return chmod(address->sun_path, mode) != 0 || listen(listener->fd, SOMAXCONN) != 0 ? errno : 0;
}

/* The path of unix:PATH; NULL: it is another address. */
static const char *
unix_path(const char *text)
{
	return strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0 ? text + strlen(UNIX_PREFIX) : NULL;
}

int
listener_check(const char *text, struct kettle_error *err)
{
	struct sockaddr_storage address;
	socklen_t len;
	const char *path = unix_path(text);
	if (!path)
		return parse_listen(text, &address, &len, err);
	return *path && strlen(path) < sizeof(((struct sockaddr_un *)NULL)->sun_path) ? 0 : refuse(err, text);
}

int
listener_open(
	const char *title, const char *text, unsigned mode, struct listener *ret_listener, struct kettle_error *err)
{
	struct listener listener = {.fd = -1};
	struct sockaddr_storage address;
	socklen_t len = 0;
	const char *path = unix_path(text);
	int fault, rc = path ? listener_check(text, err) : parse_listen(text, &address, &len, err);
	if (rc < 0)
		return rc;
	if (path) {
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		(void)strcpy(name.sun_path, path);
		fault = listen_unix(&name, mode ? mode : MODE_DEFAULT, &listener);
	} else {
		fault = listen_tcp(&address, len, &listener);
	}
	if (fault) {
		listener_close(&listener);
		return fail(err, title, text, fault);
	}
	*ret_listener = listener;
	return 0;
}

void
listener_close(struct listener *listener)
{
	if (listener->path)
		(void)unlink(listener->path);
	if (listener->fd >= 0)
		(void)close(listener->fd);
	free(listener->path);
	*listener = (struct listener){.fd = -1};
}
