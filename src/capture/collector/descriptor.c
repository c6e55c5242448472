/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See descriptor.h. */
#include "capture/collector/descriptor.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

bool descriptor_send(int socket, const void *data, size_t bytes, int fd)
{
	struct iovec part = {(void *)data, bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control;
	memset(&control, 0, sizeof(control));
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes;
}

bool descriptor_receive(int socket, void *ret, size_t bytes, int *ret_fd)
{
	struct iovec part = {ret, bytes};
	union control control;
	memset(&control, 0, sizeof(control));
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	*ret_fd = -1;
	bool whole = recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == (ssize_t)bytes;
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if (!whole && *ret_fd >= 0) {
		close(*ret_fd);
		*ret_fd = -1;
	}
	return whole;
}
