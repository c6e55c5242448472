/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of one piece that may bring a descriptor along (unix(7), SCM_RIGHTS). */
#ifndef CAPTURE_DESCRIPTOR_H
#define CAPTURE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Sends a message without waiting, with `fd` unless it is -1; the caller keeps `fd`. Returns false
 * if not all of it was sent. */
bool descriptor_send(int socket, const void *data, size_t bytes, int fd);

/* Waits for a message of exactly `bytes` bytes. Returns false if it has another size, or none
 * comes. *ret_fd is its descriptor, which the caller closes (close-on-exec); -1 if it has none. */
bool descriptor_receive(int socket, void *ret, size_t bytes, int *ret_fd);

#endif
