/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A socket at an address as users write it. */
#ifndef SERVE_IMPL_LISTEN_H
#define SERVE_IMPL_LISTEN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* What a socket listens at. */
struct listen_place {
	int fd;        /* the caller closes it */
	unsigned port; /* that it got */
	/* By which others find it, as inet_ntop() writes it: of "any address" one of this machine.
	 */
	char address[INET6_ADDRSTRLEN];
	bool is_six, is_loopback;
};

/*
 * Listens at "ADDRESS:PORT" ("127.0.0.1:0", "[::1]:8080", "localhost:8080") or "PORT"; NULL: at
 * 127.0.0.1, any port. ERROR_USAGE: it is none of these, or not of loopback and not `allow_remote`.
 */
struct error *listen_open(
	const char *text, bool allow_remote, struct listen_place *ret) must_check_;

/* The address at this end of a connection, in `ret`, as inet_ntop() writes it; "": unknown. */
void socket_own_address(int fd, char ret[INET6_ADDRSTRLEN]);

/*
 * Whether the other end of a connection is on this machine, in the same network namespace, and of
 * that user, by /proc/net/tcp and tcp6. False also if that can't be read.
 */
bool socket_peer_is_user(int fd, uid_t user);

#endif
