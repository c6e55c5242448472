/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of one piece that may bring a descriptor along (unix(7), SCM_RIGHTS). */
#ifndef CAPTURE_DESCRIPTOR_H
#define CAPTURE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Sends without waiting, with `fd` unless it is -1; false: not all of it went. The caller keeps
 * `fd`. */
bool descriptor_send(int socket, const void *data, size_t bytes, int fd);

/* Waits for a message of just so many bytes; false: it is another one, or none. *ret_fd: the
 * caller's, close-on-exec; -1: nothing came with it. */
bool descriptor_receive(int socket, void *ret, size_t bytes, int *ret_fd);

#endif
