/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/session.h"

#include "base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A hello is sent right after the connection; who does not talk is not one of ours. */
#define HELLO_MS 1000

static bool folder_make(struct session *s, const char *parent)
{
	int n = snprintf(s->folder, sizeof(s->folder), "%s/heapwise-XXXXXX", parent);
	return n > 0 && (size_t)n < sizeof(s->folder) && mkdtemp(s->folder);
}

struct error *session_create(struct session *ret)
{
	struct session s = {.socket = -1};
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	bool made = runtime && *runtime == '/' && folder_make(&s, runtime);
	if (!made && !folder_make(&s, "/tmp"))
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't create a folder for the session's socket in /tmp");
	snprintf(s.path, sizeof(s.path), "%s/session", s.folder);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, s.path);
	s.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s.socket < 0 || bind(s.socket, (struct sockaddr *)&address, sizeof(address)) ||
		listen(s.socket, 128)) {
		int failed = errno;
		session_remove(&s);
		return error_errno(ERROR_ENVIRONMENT, failed, "can't listen on %s", s.path);
	}
	*ret = s;
	return NULL;
}

void session_remove(struct session *session)
{
	if (session->socket >= 0)
		close(session->socket);
	session->socket = -1;
	unlink(session->path);
	rmdir(session->folder);
}

bool session_accept(const struct session *session, struct session_caller *ret)
{
	_cleanup_close_ int connection = accept4(session->socket, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0)
		return false;
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) ||
		(peer.uid != geteuid() && geteuid() != 0 && peer.uid != 0))
		return false;
	struct pollfd wait = {.fd = connection, .events = POLLIN};
	if (poll(&wait, 1, HELLO_MS) != 1)
		return false;
	struct hw_hello hello;
	if (recv(connection, &hello, sizeof(hello), MSG_DONTWAIT) != (ssize_t)sizeof(hello) ||
		hello.magic != HW_HELLO_MAGIC || hello.version != HW_SHM_VERSION)
		return false;
	*ret = (struct session_caller){connection, peer.pid, hello};
	connection = -1;
	return true;
}

void session_answer(struct session_caller *caller, int memory)
{
	struct hw_welcome welcome = {HW_HELLO_MAGIC, HW_SHM_VERSION, memory >= 0, 0};
	struct iovec part = {&welcome, sizeof(welcome)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	memset(&control, 0, sizeof(control));
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (memory >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &memory, sizeof(int));
	}
	/* If the caller has gone, its absence will be noticed by its process's end. */
	(void)!sendmsg(caller->connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(caller->connection);
	caller->connection = -1;
}
