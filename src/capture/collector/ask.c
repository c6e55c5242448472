/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/collector/descriptor.h"
#include "capture/session.h"
#include "capture/shared_memory.h"
#include "format/hpw.h"
#include "process/maps.h"
#include "process/proc_info.h"

#define ANSWER_MS 300000
/* The process is stopped meanwhile. */
#define BLOCKS_ANSWER_MS 3000
/* Of one that is to let a process go: until it is said that it is waited for, and how long it is if
 * it is stopped. */
#define SOON_MS 300
#define STOPPED_ANSWER_MS 1000
#define LIST_ANSWER_MS 10000
/* As long as a command waits for its turn if too many dumps are being written, and in such steps.
 */
#define TURN_MS 30000
#define TURN_STEP_MS 20

/* A process whose collector is looked for. */
struct asked {
	pid_t pid; /* of a thread that lives */
	uid_t user;
	uint64_t inode;  /* of its rings; 0: it has none */
	char folder[64]; /* the session's, as the rings are called after it; "": none */
};

static bool rings_are_mapped(const struct process_maps *maps, uint64_t inode)
{
	for (size_t i = 0; i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (map->inode == inode && strstr(map->path, SHARED_MEMORY_PREFIX))
			return true;
	}
	return false;
}

/* A forked child that has done nothing yet has a page of its parent's alone, which is not writable.
 */
static void find_rings(const struct process_maps *maps, struct asked *ret)
{
	for (size_t i = 0; i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		const char *at = strstr(map->path, SHARED_MEMORY_PREFIX);
		if (!at)
			continue;
		at += strlen(SHARED_MEMORY_PREFIX);
		snprintf(ret->folder, sizeof(ret->folder), "%.*s", (int)strcspn(at, " /"), at);
		if (map->writable)
			ret->inode = map->inode;
	}
}

/*
 * Returns whether the process that listens there is the collector of the recorded process. The
 * recorded process names the socket, and could name any, or listen itself. So the listener has to
 * belong to root or this user, or, if root asks, to the process's own user; and it has to have the
 * process's rings mapped, as far as that is visible.
 */
static bool is_collector(int fd, const struct asked *of)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) ||
		(peer.uid && peer.uid != geteuid() && (geteuid() || peer.uid != of->user)))
		return false;
	if (peer.pid == of->pid)
		return false;
	struct process_maps maps;
	struct error *error = peer.pid > 0 ? process_maps_read(peer.pid, &maps) : NULL;
	if (peer.pid <= 0 || error) { /* in another PID namespace, or not to be looked at */
		error_destroy(error);
		return true;
	}
	bool is = !of->inode || rings_are_mapped(&maps, of->inode);
	process_maps_deinit(&maps);
	return is;
}

static int try_socket(const char *path, const struct asked *of)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
		is_collector(fd, of))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Connects to the session, from here or through the process's own file system. -1: not found. */
static int connect_to_collector(const struct asked *of)
{
	const char *const places[] = {
		getenv("XDG_RUNTIME_DIR"), "/tmp", "/dev/shm", "/run", "/var/tmp"};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char path[HW_SESSION_BYTES];
		if (!places[i])
			continue;
		snprintf(path, sizeof(path), "%s/%s/session", places[i], of->folder);
		int fd = try_socket(path, of);
		if (fd >= 0)
			return fd;
		snprintf(path, sizeof(path), "/proc/%d/root%s/%s/session", (int)of->pid, places[i],
			of->folder);
		fd = try_socket(path, of);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* Who it belongs to: as /proc says, whatever it says itself. */
static uid_t user_of(pid_t pid)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) ? 0 : st.st_uid;
}

/* In place of `error`: why the mappings of a process can't be read, and what helps. */
static struct error *maps_unreadable(pid_t process, struct error *error)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d", (int)process);
	if (access(path, F_OK) == 0)
		return error_prefix(
			error, "run as root or as the user of process %d", (int)process);
	error_destroy(error);
	return error_create(ERROR_INPUT, "no such process: %d", (int)process);
}

static struct error *find_session(pid_t process, int *ret)
{
	struct asked of = {.pid = process_first_live_thread(process)};
	struct proc_info living;
	struct process_maps maps;
	*ret = -1;
	of.user = user_of(of.pid);
	struct error *error = process_maps_read(of.pid, &maps);
	if (error)
		return maps_unreadable(process, error);
	find_rings(&maps, &of);
	process_maps_deinit(&maps);
	if (!*of.folder)
		return error_create(ERROR_INPUT,
			"process %d is not being recorded: start it with heapwise run, or with the "
			"environment that heapwise env prints",
			(int)process);
	error = proc_info_read(of.pid, &living);
	const char *path = error ? NULL : proc_info_getenv(&living, HW_SESSION_ENV);
	*ret = path ? try_socket(path, &of) : -1;
	proc_info_deinit(&living);
	if (error || *ret >= 0)
		return error;
	*ret = connect_to_collector(&of);
	return *ret >= 0 ? NULL
			 : error_create(ERROR_ENVIRONMENT,
				   "process %d is being recorded, but its collector can't be "
				   "reached: it has died, or belongs to another user",
				   (int)process);
}

static struct error *no_answer(pid_t pid)
{
	return error_create(ERROR_ENVIRONMENT,
		"the collector of process %d does not answer (is it of another version?)",
		(int)pid);
}

/* Fills in the rest of the request. Returns false if it can't be sent. */
static bool send_to(int fd, pid_t pid, struct hw_request *request)
{
	request->magic = HW_REQUEST_MAGIC;
	request->version = HW_SHM_VERSION;
	request->pid = pid;
	return send(fd, request, sizeof(*request), MSG_NOSIGNAL) == (ssize_t)sizeof(*request);
}

static bool answers_within(int fd, int ms)
{
	struct pollfd answer = {.fd = fd, .events = POLLIN};
	return poll(&answer, 1, ms) == 1;
}

static struct error *take_answer(
	int fd, pid_t pid, enum hw_request_what what, struct hw_reply *ret, int *ret_fd)
{
	if (!descriptor_receive(fd, ret, sizeof(*ret), ret_fd))
		return no_answer(pid);
	ret->file[HW_REPLY_FILE - 1] = ret->message[sizeof(ret->message) - 1] = 0;
	if (ret->ok || ret->busy)
		return NULL;
	return what == HW_ASK_MARK
		       ? error_create(ERROR_ENVIRONMENT, "can't set a mark in process %d: %s",
				 (int)pid, ret->message)
		       : error_create(ERROR_ENVIRONMENT, "%s", ret->message);
}

static struct error *ask_with(
	pid_t pid, struct hw_request *request, struct hw_reply *ret, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct error *error = find_session(pid, &fd);
	if (error)
		return error;
	int patience = request->what == HW_ASK_BLOCKS ? BLOCKS_ANSWER_MS : ANSWER_MS;
	if (!send_to(fd, pid, request) || !answers_within(fd, patience))
		return no_answer(pid);
	return take_answer(fd, pid, request->what, ret, ret_fd);
}

/* Returns whether there is an answer. */
static bool wait_or_give_up(int fd, const struct ask_wait *wait, pid_t *ret_stopped)
{
	struct ucred peer = {.pid = 0};
	socklen_t bytes = sizeof(peer);
	if (answers_within(fd, SOON_MS))
		return true;
	(void)!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
	bool is_stopped = peer.pid > 0 && process_is_stopped(peer.pid);
	if (wait && wait->on_wait)
		wait->on_wait(wait->context, peer.pid, is_stopped);
	for (int waited = 0; waited < ANSWER_MS; waited += STOPPED_ANSWER_MS) {
		if (answers_within(fd, STOPPED_ANSWER_MS))
			return true;
		if (peer.pid > 0 && process_is_stopped(peer.pid)) {
			*ret_stopped = peer.pid;
			return false;
		}
	}
	return false;
}

struct error *ask_to_let_go(
	pid_t pid, const struct ask_wait *wait, struct hw_reply *ret, pid_t *ret_stopped)
{
	struct hw_request request = {.what = HW_ASK_DETACH};
	_cleanup_close_ int fd = -1;
	int none = -1;
	*ret_stopped = 0;
	struct error *error = find_session(pid, &fd);
	if (error)
		return error;
	if (!send_to(fd, pid, &request) || !wait_or_give_up(fd, wait, ret_stopped))
		return no_answer(pid);
	error = take_answer(fd, pid, request.what, ret, &none);
	if (none >= 0)
		close(none);
	return error;
}

static struct error *send_request(pid_t pid, struct hw_request *request, struct hw_reply *ret)
{
	int none = -1;
	struct error *error = ask_with(pid, request, ret, &none);
	if (none >= 0)
		close(none);
	return error;
}

struct error *ask_for_leaks(pid_t pid, const struct leak_check *check, struct hw_reply *ret)
{
	struct hw_request request = {.what = HW_ASK_LEAKS,
		.alignment = check->alignment,
		.heuristics = check->heuristics};
	return send_request(pid, &request, ret);
}

struct error *ask_for(pid_t pid, enum hw_request_what what, const char *text, struct hw_reply *ret)
{
	struct hw_request request = {.what = what};
	snprintf(request.text, sizeof(request.text), "%s", text);
	return send_request(pid, &request, ret);
}

struct error *ask_for_mark(pid_t pid, const char *name, struct hw_reply *ret)
{
	return ask_for(pid, HW_ASK_MARK, name, ret);
}

struct error *ask_for_dump(pid_t pid, struct hw_reply *ret, int *ret_fd)
{
	struct error *error = NULL;
	for (int waited = 0; waited <= TURN_MS; waited += TURN_STEP_MS) {
		struct hw_request request = {.what = HW_ASK_DUMP};
		*ret = (struct hw_reply){.ok = 0};
		error = ask_with(pid, &request, ret, ret_fd);
		if (!error || ret->error != EAGAIN || waited == TURN_MS)
			break;
		error_destroy(steal_ptr(error));
		poll(NULL, 0, TURN_STEP_MS);
	}
	if (error || *ret_fd >= 0)
		return error;
	return error_create(ERROR_ENVIRONMENT,
		"the collector of process %d has sent no dump (is it of another version?)",
		(int)pid);
}

struct error *ask_for_processes(const char *session, int *ret_fd)
{
	const struct asked any = {.pid = -1, .user = geteuid()};
	struct hw_request request = {
		.magic = HW_REQUEST_MAGIC, .version = HW_SHM_VERSION, .what = HW_ASK_PROCESSES};
	struct hw_reply reply;
	*ret_fd = -1;
	_cleanup_close_ int fd = try_socket(session, &any);
	struct pollfd answer = {.fd = fd, .events = POLLIN};
	if (fd < 0)
		return error_create(
			ERROR_ENVIRONMENT, "the collector at %s can't be reached", session);
	if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request) ||
		poll(&answer, 1, LIST_ANSWER_MS) != 1 ||
		!descriptor_receive(fd, &reply, sizeof(reply), ret_fd) || *ret_fd < 0)
		return error_create(ERROR_ENVIRONMENT, "the collector does not answer");
	return NULL;
}

struct error *ask_for_blocks(pid_t pid, bool anyhow, struct hw_reply *ret, int *ret_fd)
{
	struct hw_request request = {.what = HW_ASK_BLOCKS, .anyhow = anyhow};
	struct error *error = ask_with(pid, &request, ret, ret_fd);
	if (error || ret->busy)
		return error;
	struct stat st;
	if (*ret_fd >= 0 && !fstat(*ret_fd, &st) && S_ISFIFO(st.st_mode))
		return NULL;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return error_create(ERROR_ENVIRONMENT, "its collector can't list live blocks");
}

void ask_reply_send_with(int asker, const struct hw_reply *reply, const char *problem, int fd)
{
	struct hw_reply sent = *reply;
	if (asker < 0)
		return;
	sent.ok = !problem;
	if (problem)
		snprintf(sent.message, sizeof(sent.message), "%s", problem);
	if (problem && !sent.error)
		sent.error = EIO;
	(void)descriptor_send(asker, &sent, sizeof(sent), fd);
	close(asker);
}

void ask_reply_send(int asker, const struct hw_reply *reply, const char *problem)
{
	ask_reply_send_with(asker, reply, problem, -1);
}

/* Whether a terminal and all formats show it as it is. */
static bool is_plain(const char *name)
{
	_cleanup_(text_deinit) struct text plain;
	text_init(&plain);
	text_add_plain(&plain, name);
	return plain.data && !strcmp(plain.data, name);
}

const char *ask_mark_problem(const char *name)
{
	if (!*name)
		return "a mark needs a name";
	if (strlen(name) > HW_MARK_NAME_MAX)
		return "a mark's name has at most 255 bytes";
	if (strncmp(name, HPW_MARK_FORK, strlen(HPW_MARK_FORK)) == 0)
		return "names that begin with '" HPW_MARK_FORK
		       "' are heapwise's own; choose another one";
	if (!is_plain(name))
		return "a mark's name is UTF-8 without control characters";
	return NULL;
}
