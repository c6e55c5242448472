/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/session.h"

#include "base/cleanup.h"
#include "capture/collector/descriptor.h"
#include "capture/shared_memory.h"
#include "process/proc_info.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A hello is sent right after the connection: for the one that a collector is started with, which
 * waits for nothing else. */
#define HELLO_MS 1000

#ifndef SO_PEERPIDFD
#define PEER_PIDFD 77 /* of Linux 6.5 */
#else
#define PEER_PIDFD SO_PEERPIDFD
#endif

/* "heapwise." and six letters or digits. */
#define FOLDER_PREFIX "heapwise."
#define FOLDER_TEMPLATE FOLDER_PREFIX "XXXXXX"
#define SOCKET_NAME "session"
/* Another run may take a new folder for a dead one before it is locked: then make another. */
#define FOLDER_TRIES 100

static bool folder_lock(struct session *s)
{
	s->lock = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat here, there;
	return s->lock >= 0 && !flock(s->lock, LOCK_EX | LOCK_NB) && !fstat(s->lock, &here) &&
	       !stat(s->folder, &there) && here.st_ino == there.st_ino &&
	       here.st_dev == there.st_dev;
}

static bool folder_make(struct session *s, const char *parent)
{
	for (int tries = 0; tries < FOLDER_TRIES; tries++) {
		int n = snprintf(s->folder, sizeof(s->folder), "%s/" FOLDER_TEMPLATE, parent);
		if (n < 0 || (size_t)n >= sizeof(s->folder) || !mkdtemp(s->folder))
			return false;
		if (folder_lock(s))
			return true;
		int failed = errno;
		rmdir(s->folder);
		session_leave(s);
		errno = failed;
	}
	return false;
}

/* Removes the folder if it belongs to this user, looks like a session and is not locked. */
static void remove_dead_session(int parent, const char *name)
{
	if (strncmp(name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0 ||
		strlen(name) != strlen(FOLDER_TEMPLATE))
		return;
	_cleanup_close_ int folder =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (folder < 0 || fstat(folder, &st) || st.st_uid != geteuid() ||
		flock(folder, LOCK_EX | LOCK_NB))
		return;
	unlinkat(folder, SOCKET_NAME, 0);
	unlinkat(parent, name, AT_REMOVEDIR); /* fails if there is anything else in it */
}

static inline void closedir_cleanup(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static void reap_all(const char *parent)
{
	_cleanup_(closedir_cleanup) DIR *dir = opendir(parent);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		remove_dead_session(dirfd(dir), entry->d_name);
}

/* What root starts may become another user, and goes on to be recorded. Who is none of those is
 * turned away: see session_caller.is_other. */
static bool open_to_others(const struct session *s)
{
	return geteuid() != 0 || (!chmod(s->folder, 0711) && !chmod(s->path, 0666));
}

/* -1 with errno set: can't be had. */
static int listen_at(const struct session *s, const struct sockaddr_un *address, size_t bytes)
{
	_cleanup_close_ int socket_fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_path = address->sun_path[0];
	if (socket_fd < 0 || bind(socket_fd, (const struct sockaddr *)address, (socklen_t)bytes) ||
		(is_path && !open_to_others(s)) || listen(socket_fd, SOMAXCONN))
		return -1;
	int ret = socket_fd;
	socket_fd = -1;
	return ret;
}

/*
 * Listens at a path, and, for processes that can't reach it any more (chroot(2)), at the same name
 * without its first byte, an abstract address (unix(7)). Every process in this network namespace
 * can connect to that: see is_admitted().
 */
static struct error *session_listen(struct session *s)
{
	snprintf(s->path, sizeof(s->path), "%s/" SOCKET_NAME, s->folder);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, s->path);
	s->socket = listen_at(s, &address, sizeof(address));
	if (s->socket < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't listen on %s", s->path);
	address.sun_path[0] = 0;
	s->abstract =
		listen_at(s, &address, offsetof(struct sockaddr_un, sun_path) + strlen(s->path));
	return NULL;
}

/* Places that the other processes can reach. */
static bool may_be_entered(const char *folder)
{
	struct stat st;
	return geteuid() != 0 || (!stat(folder, &st) && st.st_mode & S_IXOTH);
}

/* The places for a session's folder, best first; the last is the caller's. */
static const char *session_folder_place(int i, const char *last)
{
	static const char *const usual[] = {"/tmp", "/dev/shm", "/run", "/var/tmp"};
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (i == 0)
		return runtime && *runtime == '/' && may_be_entered(runtime) ? runtime : usual[0];
	return i <= 4 ? usual[i - 1] : i == 5 ? last : NULL;
}

struct error *session_create(const char *file, struct session *ret)
{
	struct session s = {.socket = -1, .abstract = -1, .lock = -1};
	char last[PATH_MAX] = "";
	if (file)
		snprintf(last, sizeof(last), "%.*s", (int)(strrchr(file, '/') - file), file);
	const char *parent;
	int i = 0, why = 0;
	for (; (parent = session_folder_place(i, last)) && (!*parent || !folder_make(&s, parent));
		i++)
		why = i == 1 ? errno : why;
	if (!parent)
		return error_errno(ERROR_ENVIRONMENT, why,
			"can't create a directory for the session's socket in /tmp");
	reap_all(parent);
	struct error *error = session_listen(&s);
	if (error) {
		session_remove(&s);
		return error;
	}
	*ret = s;
	return NULL;
}

void session_take_over(const struct session *session)
{
	/* unix(7), SO_PEERCRED: of the process that called listen(2) last. */
	(void)!listen(session->socket, SOMAXCONN);
	if (session->abstract >= 0)
		(void)!listen(session->abstract, SOMAXCONN);
}

void session_stop_listening(struct session *session)
{
	if (session->socket >= 0)
		close(session->socket);
	if (session->abstract >= 0)
		close(session->abstract);
	session->socket = session->abstract = -1;
}

void session_leave(struct session *session)
{
	session_stop_listening(session);
	if (session->lock >= 0)
		close(session->lock);
	session->lock = -1;
}

void session_remove(struct session *session)
{
	if (session->lock < 0)
		return;
	unlink(session->path);
	rmdir(session->folder);
	session_leave(session);
}

void session_mapping(const char *path, char ret[static HW_SESSION_BYTES])
{
	const char *end = strrchr(path, '/'), *start = end ? end : path;
	while (start > path && start[-1] != '/')
		start--;
	snprintf(ret, HW_SESSION_BYTES, SHARED_MEMORY_PREFIX "%.*s", end ? (int)(end - start) : 0,
		start);
}

/* What it says of its parent holds here if it sees itself as this side does. */
static enum session_call message_kind(
	const void *message, size_t bytes, pid_t pid, struct session_caller *ret)
{
	const struct hw_hello *hello = message;
	const struct hw_notice *notice = message;
	*ret = (struct session_caller){.connection = -1, .pid = pid};
	if (bytes == sizeof(*hello) && hello->magic == HW_HELLO_MAGIC &&
		hello->version == HW_SHM_VERSION) {
		ret->hello = *hello;
		if (hello->pid != pid) /* it is in another namespace, or lies */
			ret->hello.pid = process_inner_pid(pid);
		ret->ppid = hello->pid == pid ? hello->ppid : process_parent(pid);
		return SESSION_HELLO;
	}
	const struct hw_request *request = message;
	if (bytes == sizeof(*request) && request->magic == HW_REQUEST_MAGIC &&
		request->version == HW_SHM_VERSION) {
		ret->request = *request;
		ret->request.text[HW_REQUEST_TEXT - 1] = 0;
		return SESSION_REQUEST;
	}
	if (bytes != sizeof(*notice) || notice->magic != HW_NOTICE_MAGIC ||
		notice->version != HW_SHM_VERSION)
		return SESSION_REFUSED;
	ret->notice = *notice;
	ret->ppid = notice->by == pid ? notice->ppid : process_parent(pid);
	ret->notice.path[HW_NOTICE_PATH - 1] = 0;
	return SESSION_NOTICE;
}

static bool is_other_user(const struct ucred *peer)
{
	return peer->uid != geteuid() && peer->uid != 0;
}

/* Gives the process at the other end. Returns whether it is admitted: other processes are not even
 * kept for the moment that a hello takes to come. */
static bool is_admitted(int connection, const struct session_gate *gate, struct ucred *ret)
{
	socklen_t bytes = sizeof(*ret);
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, ret, &bytes))
		return false;
	if (!is_other_user(ret))
		return true;
	return geteuid() == 0 && gate && gate->knows(gate->context, ret->pid);
}

/* Returns whether the process that connected has ended: its number may be another process's by now.
 * Unknown before Linux 6.5. */
static bool is_gone(int connection)
{
	int pidfd = -1;
	socklen_t bytes = sizeof(pidfd);
	if (getsockopt(connection, SOL_SOCKET, PEER_PIDFD, &pidfd, &bytes) || pidfd < 0)
		return errno == ESRCH || errno == ENODATA;
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	bool gone = poll(&ended, 1, 0) == 1;
	close(pidfd);
	return gone;
}

/* Reads what is there now. The connection stays the caller's, unless it goes into *ret. Returns
 * SESSION_UNKNOWN if there is nothing yet. */
static enum session_call listen_to(
	int connection, const struct ucred *peer, struct session_caller *ret)
{
	_Alignas(uint64_t) char message[sizeof(struct hw_request) + 1];
	static_assert(sizeof(struct hw_request) > sizeof(struct hw_notice), "the longest message");
	ssize_t n = recv(connection, message, sizeof(message), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return SESSION_UNKNOWN;
	if (n <= 0)
		return SESSION_REFUSED;
	enum session_call call = message_kind(message, (size_t)n, peer->pid, ret);
	ret->is_other = is_other_user(peer);
	ret->uid = peer->uid;
	ret->gid = peer->gid;
	ret->has_ended = call == SESSION_HELLO && is_gone(connection);
	if (call == SESSION_HELLO || call == SESSION_REQUEST)
		ret->connection = connection;
	return call;
}

enum session_call session_take(int taken, struct session_caller *ret)
{
	_cleanup_close_ int connection = taken;
	struct ucred peer;
	*ret = (struct session_caller){.connection = -1};
	if (!is_admitted(connection, NULL, &peer))
		return SESSION_REFUSED;
	struct pollfd wait = {.fd = connection, .events = POLLIN};
	if (poll(&wait, 1, HELLO_MS) != 1)
		return SESSION_REFUSED;
	enum session_call call = listen_to(connection, &peer, ret);
	if (!ret->has_ended && ret->connection >= 0)
		connection = -1;
	else
		ret->connection = -1;
	return call == SESSION_UNKNOWN || ret->has_ended ? SESSION_REFUSED : call;
}

/* The next connection, which the caller closes: one that was silent and is no more, or a new one.
 * *ret_call: what to say of it if it is -1. */
static int connection_next(const struct session *session, struct callers *callers,
	const struct session_gate *gate, struct ucred *ret_peer, enum session_call *ret_call)
{
	int connection = callers_next(callers, ret_peer);
	if (connection >= 0)
		return connection;
	connection = accept4(session->socket, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0 && errno == EAGAIN && session->abstract >= 0)
		connection = accept4(session->abstract, NULL, NULL, SOCK_CLOEXEC);
	*ret_call = connection < 0 && errno == EAGAIN ? SESSION_UNKNOWN : SESSION_REFUSED;
	if (connection >= 0 && !is_admitted(connection, gate, ret_peer)) {
		close(connection);
		return -1;
	}
	return connection;
}

enum session_call session_accept(const struct session *session, struct callers *callers,
	const struct session_gate *gate, uint64_t now_ns, struct session_caller *ret)
{
	struct ucred peer;
	enum session_call call;
	*ret = (struct session_caller){.connection = -1};
	_cleanup_close_ int connection = connection_next(session, callers, gate, &peer, &call);
	if (connection < 0)
		return call;
	call = listen_to(connection, &peer, ret);
	ret->session = session->path;
	if (call == SESSION_UNKNOWN)
		callers_add(callers, connection, &peer, now_ns);
	if (call == SESSION_UNKNOWN || ret->connection >= 0)
		connection = -1;
	return call == SESSION_UNKNOWN ? SESSION_SILENT : call;
}

bool session_is_awaited(const struct session_caller *caller)
{
	struct pollfd closed = {.fd = caller->connection};
	return !caller->has_ended && (poll(&closed, 1, 0) != 1 || !(closed.revents & POLLHUP));
}

bool session_has_ended(const struct session_caller *caller)
{
	return caller->has_ended || (caller->connection >= 0 && is_gone(caller->connection));
}

void session_ask_to_wait(const struct session_caller *caller)
{
	int unread = 0;
	if (ioctl(caller->connection, SIOCOUTQ, &unread) || unread)
		return;
	struct hw_welcome welcome = {HW_HELLO_MAGIC, HW_SHM_VERSION, HW_ANSWER_WAIT, ""};
	descriptor_send(caller->connection, &welcome, sizeof(welcome), -1);
}

bool session_answer(struct session_caller *caller, int memory)
{
	if (caller->connection < 0)
		return false;
	struct hw_welcome welcome = {HW_HELLO_MAGIC, HW_SHM_VERSION,
		memory >= 0 ? HW_ANSWER_RECORD : HW_ANSWER_DECLINED, ""};
	if (caller->session)
		snprintf(welcome.session, sizeof(welcome.session), "%s", caller->session);
	bool sent = descriptor_send(caller->connection, &welcome, sizeof(welcome), memory);
	close(caller->connection);
	caller->connection = -1;
	return sent;
}
