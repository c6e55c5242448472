/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/session.h"

#include "base/cleanup.h"
#include "capture/descriptor.h"
#include "process/living.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A hello is sent right after the connection; who does not talk is not one of ours. */
#define HELLO_MS 1000

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

/* Removes the folder if it is ours, looks like one of these, and nobody holds its lock. */
static void reap(int parent, const char *name)
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
		reap(dirfd(dir), entry->d_name);
}

/* What root starts may become another user, and goes on to be recorded. Who is none of those is
 * turned away: see session_caller.is_other. */
static bool open_to_others(const struct session *s)
{
	return geteuid() != 0 || (!chmod(s->folder, 0711) && !chmod(s->path, 0666));
}

static struct error *session_listen(struct session *s)
{
	snprintf(s->path, sizeof(s->path), "%s/" SOCKET_NAME, s->folder);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, s->path);
	s->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->socket < 0 || bind(s->socket, (struct sockaddr *)&address, sizeof(address)) ||
		!open_to_others(s) || listen(s->socket, SOMAXCONN))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't listen on %s", s->path);
	return NULL;
}

/* By those who are to reach the session. */
static bool may_be_entered(const char *folder)
{
	struct stat st;
	return geteuid() != 0 || (!stat(folder, &st) && st.st_mode & S_IXOTH);
}

/* The places for a session's folder, best first; the last is the caller's. */
static const char *place(int i, const char *last)
{
	static const char *const usual[] = {"/tmp", "/dev/shm", "/run", "/var/tmp"};
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (i == 0)
		return runtime && *runtime == '/' && may_be_entered(runtime) ? runtime : usual[0];
	return i <= 4 ? usual[i - 1] : i == 5 ? last : NULL;
}

struct error *session_create(const char *file, struct session *ret)
{
	struct session s = {.socket = -1, .lock = -1};
	char last[PATH_MAX] = "";
	if (file)
		snprintf(last, sizeof(last), "%.*s", (int)(strrchr(file, '/') - file), file);
	const char *parent;
	int i = 0, why = 0;
	for (; (parent = place(i, last)) && (!*parent || !folder_make(&s, parent)); i++)
		why = i == 1 ? errno : why;
	if (!parent)
		return error_errno(ERROR_ENVIRONMENT, why,
			"can't create a folder for the session's socket in /tmp");
	reap_all(parent);
	struct error *error = session_listen(&s);
	if (error) {
		session_remove(&s);
		return error;
	}
	*ret = s;
	return NULL;
}

void session_leave(struct session *session)
{
	if (session->socket >= 0)
		close(session->socket);
	if (session->lock >= 0)
		close(session->lock);
	session->socket = session->lock = -1;
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
	snprintf(ret, HW_SESSION_BYTES, "heapwise-rings.%.*s", end ? (int)(end - start) : 0, start);
}

/* What it says of its parent holds here if it sees itself as this side does. */
static enum session_call what_is_said(
	const void *said, size_t bytes, pid_t pid, struct session_caller *ret)
{
	const struct hw_hello *hello = said;
	const struct hw_notice *notice = said;
	*ret = (struct session_caller){.connection = -1, .pid = pid};
	if (bytes == sizeof(*hello) && hello->magic == HW_HELLO_MAGIC &&
		hello->version == HW_SHM_VERSION) {
		ret->hello = *hello;
		ret->ppid = hello->pid == pid ? hello->ppid : process_parent(pid);
		return SESSION_HELLO;
	}
	const struct ask_request *request = said;
	if (bytes == sizeof(*request) && request->magic == ASK_MAGIC &&
		request->version == HW_SHM_VERSION) {
		ret->request = *request;
		ret->request.name[HW_MARK_NAME_MAX] = 0;
		return SESSION_REQUEST;
	}
	if (bytes != sizeof(*notice) || notice->magic != HW_NOTICE_MAGIC ||
		notice->version != HW_SHM_VERSION)
		return SESSION_STRANGER;
	ret->notice = *notice;
	ret->ppid = notice->by == pid ? notice->ppid : process_parent(pid);
	ret->notice.path[HW_NOTICE_PATH - 1] = 0;
	return SESSION_NOTICE;
}

static bool is_other_user(const struct ucred *peer)
{
	return peer->uid != geteuid() && peer->uid != 0;
}

/* Who is at the other end, and whether to listen to him: not even for the moment that a hello takes
 * to come is anybody waited for who has no business here. */
static bool is_admitted(int connection, const struct session_gate *gate, struct ucred *ret)
{
	socklen_t bytes = sizeof(*ret);
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, ret, &bytes))
		return false;
	if (!is_other_user(ret))
		return true;
	return geteuid() == 0 && gate && gate->knows(gate->context, ret->pid);
}

static enum session_call take(
	int taken, const struct session_gate *gate, struct session_caller *ret)
{
	_cleanup_close_ int connection = taken;
	struct ucred peer;
	if (!is_admitted(connection, gate, &peer))
		return SESSION_STRANGER;
	struct pollfd wait = {.fd = connection, .events = POLLIN};
	if (poll(&wait, 1, HELLO_MS) != 1)
		return SESSION_STRANGER;
	_Alignas(uint64_t) char said[sizeof(struct hw_notice) + 1];
	ssize_t n = recv(connection, said, sizeof(said), MSG_DONTWAIT);
	if (n <= 0)
		return SESSION_STRANGER;
	enum session_call call = what_is_said(said, (size_t)n, peer.pid, ret);
	ret->is_other = is_other_user(&peer);
	if (call == SESSION_HELLO || call == SESSION_REQUEST) {
		ret->connection = connection;
		connection = -1;
	}
	return call;
}

enum session_call session_take(int connection, struct session_caller *ret)
{
	return take(connection, NULL, ret);
}

enum session_call session_accept(
	const struct session *session, const struct session_gate *gate, struct session_caller *ret)
{
	int connection = accept4(session->socket, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0)
		return errno == EAGAIN ? SESSION_NOBODY : SESSION_STRANGER;
	enum session_call call = take(connection, gate, ret);
	ret->session = session->path;
	return call;
}

bool session_answer(struct session_caller *caller, int memory)
{
	if (caller->connection < 0)
		return false;
	struct hw_welcome welcome = {HW_HELLO_MAGIC, HW_SHM_VERSION, memory >= 0, ""};
	if (caller->session)
		snprintf(welcome.session, sizeof(welcome.session), "%s", caller->session);
	bool sent = descriptor_send(caller->connection, &welcome, sizeof(welcome), memory);
	close(caller->connection);
	caller->connection = -1;
	return sent;
}
