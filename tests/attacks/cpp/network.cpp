// SPDX-License-Identifier: MIT
// class: Host: network
// tries: to reach the machine's own services, the machine by its other addresses, and the world; also by sockets that
//        are not of the internet.
// expect: passed
#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

static void connect_to(const char *address, int port, int type)
{
	struct sockaddr_in to = {};
	to.sin_family = AF_INET;
	to.sin_port = htons(static_cast<uint16_t>(port));
	inet_pton(AF_INET, address, &to.sin_addr);
	bool own = strcmp(address, "127.0.0.1") == 0; // a loopback of its own there is
	int fd = socket(AF_INET, own ? type : type | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, reinterpret_cast<struct sockaddr *>(&to), sizeof(to)) == 0 && type == SOCK_STREAM)
		escaped("connected to %s:%d", address, port);
	if (!own && errno == EINPROGRESS)
		escaped("%s:%d has a route", address, port);
	if (type == SOCK_DGRAM && send(fd, "escaped", 7, 0) == 7 && !own)
		escaped("sent to %s:%d", address, port);
	close(fd);
}

static void local_sockets()
{
	struct sockaddr_un to = {};
	to.sun_family = AF_UNIX;
	static const char abstract[] = "@ABSTRACT@", path[] = "@SOCKET@";
	for (int type : {SOCK_STREAM, SOCK_DGRAM}) {
		int fd = socket(AF_UNIX, type, 0);
		memcpy(to.sun_path + 1, abstract, sizeof(abstract) - 1);
		MUST_FAIL(connect(fd, reinterpret_cast<struct sockaddr *>(&to),
			static_cast<socklen_t>(offsetof(struct sockaddr_un, sun_path) + sizeof(abstract))));
		memset(to.sun_path, 0, sizeof(to.sun_path));
		memcpy(to.sun_path, path, sizeof(path));
		MUST_FAIL(connect(fd, reinterpret_cast<struct sockaddr *>(&to), sizeof(to)));
		memset(to.sun_path, 0, sizeof(to.sun_path));
		close(fd);
	}
}

static void attack()
{
	for (int type : {SOCK_STREAM, SOCK_DGRAM})
		for (const char *address : {"127.0.0.1", "@ADDRESS@", "8.8.8.8", "169.254.169.254", "10.0.0.1", "224.0.0.1"})
			for (int port : {@PORT@, 22, 53, 80})
				connect_to(address, port, type);
	local_sockets();
	MUST_FAIL(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	MUST_FAIL(socket(AF_PACKET, SOCK_RAW, 0));
	MUST_FAIL(socket(AF_VSOCK, SOCK_STREAM, 0));
	MUST_FAIL(socket(AF_ALG, SOCK_SEQPACKET, 0));
	MUST_FAIL(socket(AF_BLUETOOTH, SOCK_RAW, 1));
	MUST_FAIL(socket(AF_TIPC, SOCK_SEQPACKET, 0));
	MUST_FAIL(socket(AF_KEY, SOCK_RAW, 2));
	MUST_FAIL(socket(AF_NETLINK, SOCK_RAW, 9 /* audit */));
	MUST_FAIL(socket(AF_NETLINK, SOCK_RAW, 12 /* netfilter */));
	MUST_FAIL(shell("ip link add dummy0 type dummy 2>/dev/null || false") == 0 ? 0 : -1);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
