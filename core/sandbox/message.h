/* SPDX-License-Identifier: MIT */
/* Messages with descriptors over a SOCK_SEQPACKET socket. Private to the library; allocates nothing. */
#pragma once

#include <stddef.h>

#include "sandbox/sandbox_config.h"

#define SANDBOX_MESSAGE_FDS (2 * SANDBOX_FDS_MAX + 2) /* with one message, at most */

/* Sends one message. 0, or -1 with errno. */
int sandbox_message_send(int socket, const void *data, size_t size, const int *fds, size_t count);
/*
 * Receives one message of `size` bytes with at most *count descriptors (close-on-exec), and stores how many came. `flags`:
 * 0 or MSG_DONTWAIT. 1, 0 after a hang-up, or -1 with errno: EPROTO for another size or more descriptors, which are
 * closed then.
 */
int sandbox_message_receive(int socket, void *data, size_t size, int flags, int *ret_fds, size_t *count);
