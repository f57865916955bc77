/* SPDX-License-Identifier: MIT */
/* Addresses of clients and proxies, and where a server listens. [any] */
#pragma once

#include <kettle/error.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define ADDRESS_TEXT INET6_ADDRSTRLEN

/* Of IPv6; one of IPv4 is mapped (::ffff:192.0.2.1). */
struct address {
	struct in6_addr bytes;
};

/* The addresses whose first `bits` bits are those of `address`. */
struct network {
	struct address address;
	unsigned bits;
};

/* false: it is no address of IP. */
bool address_from(const struct sockaddr *from, struct address *ret_address);
/* Reads size bytes: an address, which may be in brackets and have a port. */
bool address_parse(const char *text, size_t size, struct address *ret_address);
void address_text(const struct address *address, char ret_text[ADDRESS_TEXT]);
bool address_equals(const struct address *a, const struct address *b);
/* Reads ADDRESS or ADDRESS/BITS. */
bool network_parse(const char *text, struct network *ret_network);
bool network_has(const struct network *networks, size_t count, const struct address *address);
/*
 * The client behind trusted proxies: the last address of X-Forwarded-For (its lines joined by commas) that is no
 * trusted proxy; *address, which the connection has, if there is none.
 */
void address_forwarded(const char *forwarded, const struct network *trusted, size_t count, struct address *address);

/* Where a server listens. */
struct listener {
	int fd, port; /* port 0: a unix socket */
	char *path;   /* of a unix socket; NULL: none */
};

/* Whether a text is a `listen` of struct http_rules. EINVAL (member: listen). */
int listener_check(const char *text, struct kettle_error *err);
/*
 * Opens a socket as `listen` of struct http_rules says, and listens; title names the server in errors. EINVAL, EUNAVAIL
 * (member: listen).
 */
int listener_open(
	const char *title, const char *listen, unsigned mode, struct listener *ret_listener, struct kettle_error *err);
/* Closes the socket, removes the file of a unix socket. */
void listener_close(struct listener *listener);
