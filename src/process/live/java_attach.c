/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/java_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "process/proc_info.h"

#define STATUS_MAX (64u << 10)
#define ATTACH_WAIT_MS 10000
#define ATTACH_LOOK_MS 5

/* ---- Whom is asked --------------------------------------------------------------------------- */

/* The effective user and group, and whether SIGQUIT is handled: of a JVM that is not ready it
 * would be the end. (With -Xrs it never is, but then it listens from the start.) */
static struct error *status_read(struct java_vm *vm, bool *ret_handles_quit)
{
	_cleanup_free_ char *status = NULL;
	size_t len;
	struct error *error = process_read(vm->pid, "status", STATUS_MAX, &status, &len);
	if (error)
		return error;
	const char *uid = strstr(status, "\nUid:"), *gid = strstr(status, "\nGid:");
	const char *caught = strstr(status, "\nSigCgt:");
	unsigned user, group;
	unsigned long long signals;
	if (!uid || !gid || !caught || sscanf(uid, "\nUid: %*u %u", &user) != 1 ||
		sscanf(gid, "\nGid: %*u %u", &group) != 1 ||
		sscanf(caught, "\nSigCgt: %llx", &signals) != 1)
		return error_create(ERROR_ENVIRONMENT, "/proc/%d/status: has no Uid, Gid or SigCgt",
			(int)vm->pid);
	vm->uid = user;
	vm->gid = group;
	*ret_handles_quit = signals >> (SIGQUIT - 1) & 1;
	return NULL;
}

static struct error *jvm_check(const struct proc_info *info)
{
	bool is_openj9 = strstr(info->maps, "/libj9vm") != NULL;
	if (is_openj9)
		return error_create(ERROR_INPUT,
			"PID %d is a JVM of Eclipse OpenJ9, which has an attach protocol of its "
			"own: heapwise java is for HotSpot (OpenJDK, Temurin, Corretto, Zulu …)",
			(int)info->pid);
	if (!strstr(info->maps, "/libjvm.so"))
		return error_create(ERROR_INPUT,
			"PID %d (%s) is no JVM: it has no libjvm.so loaded; 'heapwise java list' "
			"lists those that run, and 'heapwise attach' records other programs",
			(int)info->pid, info->exe ? info->exe : "?");
	const char *options = proc_info_getenv(info, "JAVA_TOOL_OPTIONS");
	const char *disabled = "-XX:+DisableAttachMechanism";
	if (strstr(info->command, disabled) || (options && strstr(options, disabled)))
		return error_create(ERROR_ENVIRONMENT,
			"the JVM %d was started with -XX:+DisableAttachMechanism: it answers "
			"nobody; start it without this option",
			(int)info->pid);
	return NULL;
}

static char *name_of(pid_t pid)
{
	_cleanup_free_ char *cmdline = NULL;
	size_t len;
	struct error *error = process_read(pid, "cmdline", 4u << 20, &cmdline, &len);
	char *name = error ? NULL : java_main_name(cmdline, len);
	error_destroy(error);
	return name ? name : strdup("(no main class)");
}

static struct error *tmp_open(struct java_vm *vm)
{
	char path[64] = "/tmp";
	if (vm->other_mounts)
		snprintf(path, sizeof(path),
			"/proc/%d/root"
			"/tmp",
			(int)vm->pid);
	vm->tmp = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (vm->tmp >= 0)
		return NULL;
	return error_errno(ERROR_ENVIRONMENT, errno,
		"can't open %s, where the JVM %d has its socket", path, (int)vm->pid);
}

/* ---- Being its user -------------------------------------------------------------------------- */

/* A JVM answers its own user, and root only of its own user namespace; so root becomes that user
 * for a moment. The file system and the socket see effective ids alone. */
struct user_change {
	bool is_changed;
};

static struct user_change user_become(const struct java_vm *vm)
{
	struct user_change change = {false};
	if (geteuid() != 0 || (vm->uid == 0 && vm->gid == 0))
		return change;
	if (setegid(vm->gid))
		return change;
	/* Where this fails, the JVM says what it thinks of root. */
	change.is_changed = seteuid(vm->uid) == 0 || setegid(0) != 0;
	return change;
}

static void user_return(struct user_change *change)
{
	if (!change->is_changed)
		return;
	if (seteuid(0) || setegid(0))
		abort(); /* to go on as somebody else would be wrong; it can't fail */
	change->is_changed = false;
}

/* To the end of the block. */
#define _as_user_of_(vm)                                                                           \
	__attribute__((unused)) _cleanup_(user_return) struct user_change change = user_become(vm)

/* ---- The socket ------------------------------------------------------------------------------ */

static int socket_connect(const struct java_vm *vm)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/.java_pid%d",
		vm->tmp, (int)vm->inner_pid);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	_as_user_of_(vm);
	if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fd;
	int err = errno;
	close(fd);
	errno = err;
	return -1;
}

/* Whether the socket is the JVM's: the file may be left of an earlier process of that number. */
static bool socket_is_there(const struct java_vm *vm)
{
	int fd = socket_connect(vm);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static struct error *trigger_make(const struct java_vm *vm, const char *name)
{
	_as_user_of_(vm);
	int fd = openat(vm->tmp, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = errno;
	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	return error_errno(ERROR_ENVIRONMENT, err, "can't make the file /tmp/%s for the JVM %d",
		name, (int)vm->pid);
}

static struct error *listener_wait(const struct java_vm *vm)
{
	const struct timespec pause = {.tv_nsec = ATTACH_LOOK_MS * 1000000L};
	for (int waited = 0; waited < ATTACH_WAIT_MS; waited += ATTACH_LOOK_MS) {
		if (socket_is_there(vm))
			return NULL;
		if (kill(vm->pid, 0) && errno == ESRCH)
			return error_create(ERROR_INPUT,
				"the JVM %d ended while it was being attached to", (int)vm->pid);
		nanosleep(&pause, NULL);
	}
	return error_create(ERROR_ENVIRONMENT,
		"the JVM %d does not answer: it made no socket /tmp/.java_pid%d within %d s (it "
		"may hang, be out of memory, or belong to another user than the caller)",
		(int)vm->pid, (int)vm->inner_pid, ATTACH_WAIT_MS / 1000);
}

static struct error *listener_start(const struct java_vm *vm, bool handles_quit)
{
	char name[64];
	if (socket_is_there(vm))
		return NULL;
	if (!handles_quit)
		return error_create(ERROR_ENVIRONMENT,
			"the JVM %d does not handle SIGQUIT, which would end it: it is still "
			"starting; ask again",
			(int)vm->pid);
	if (process_is_stopped(vm->pid))
		return error_create(ERROR_ENVIRONMENT,
			"the JVM %d is stopped, so it can't answer; continue it first (kill -CONT)",
			(int)vm->pid);
	snprintf(name, sizeof(name), ".attach_pid%d", (int)vm->inner_pid);
	struct error *error = trigger_make(vm, name);
	if (!error && kill(vm->pid, SIGQUIT))
		error = error_errno(
			ERROR_ENVIRONMENT, errno, "can't ask the JVM %d to listen", (int)vm->pid);
	if (!error)
		error = listener_wait(vm);
	_as_user_of_(vm);
	unlinkat(vm->tmp, name, 0);
	return error;
}

struct error *java_vm_open(pid_t pid, struct java_vm *ret)
{
	_cleanup_(proc_info_deinit) struct proc_info info = {0};
	bool handles_quit = false;
	*ret = (struct java_vm){.pid = pid, .tmp = -1};
	struct error *error = proc_info_read(pid, &info);
	if (!error)
		error = jvm_check(&info);
	if (!error)
		error = status_read(ret, &handles_quit);
	if (error)
		return error;
	ret->inner_pid = process_inner_pid(pid);
	ret->other_mounts = info.other_mounts;
	ret->name = name_of(pid);
	if (!ret->name)
		return error_no_memory();
	if (geteuid() != 0 && geteuid() != ret->uid)
		return error_create(ERROR_ENVIRONMENT,
			"the JVM %d belongs to user %u and answers only that user and root: call "
			"heapwise as one of them",
			(int)pid, (unsigned)ret->uid);
	error = tmp_open(ret);
	return error ? error : listener_start(ret, handles_quit);
}

void java_vm_close(struct java_vm *vm)
{
	free(vm->name);
	vm->name = NULL;
	if (vm->tmp >= 0)
		close(vm->tmp);
	vm->tmp = -1;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static bool socket_write(int fd, const void *data, size_t len)
{
	const char *at = data;
	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static struct error *request_write(const struct java_vm *vm, int fd, const char *const words[4])
{
	_cleanup_(buf_deinit) struct buf request;
	buf_init(&request);
	bool has_room = buf_bytes(&request, "1", 2);
	for (int i = 0; i < 4; i++) {
		const char *word = words[i] ? words[i] : "";
		/* HotSpot's ARG_LENGTH_MAX; it would hang up without a word. */
		if (strlen(word) > 1024)
			return error_create(ERROR_INPUT,
				"an argument for the JVM %d is longer than 1,024 bytes: %.60s…",
				(int)vm->pid, word);
		has_room = has_room && buf_bytes(&request, word, strlen(word) + 1);
	}
	if (!has_room)
		return error_no_memory();
	if (socket_write(fd, request.data, request.len))
		return NULL;
	return error_errno(
		ERROR_ENVIRONMENT, errno, "can't send '%s' to the JVM %d", words[0], (int)vm->pid);
}

static struct error *answer_read(
	const struct java_vm *vm, int fd, const char *command, size_t max, struct buf *ret)
{
	char block[16384];
	for (;;) {
		ssize_t n = read(fd, block, sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(ERROR_ENVIRONMENT, errno,
				"can't read what the JVM %d answers to '%s'", (int)vm->pid,
				command);
		if (n == 0)
			return buf_bytes(ret, "", 1) ? NULL : error_no_memory();
		if (ret->len + (size_t)n > max)
			return error_create(ERROR_ENVIRONMENT,
				"the JVM %d answers more than %zu bytes to '%s'", (int)vm->pid, max,
				command);
		if (!buf_bytes(ret, block, (size_t)n))
			return error_no_memory();
	}
}

struct error *java_answer_split(const char *answer, int *ret_status, const char **ret_text)
{
	char *end;
	errno = 0;
	long status = strtol(answer, &end, 10);
	bool is_number = end != answer && !errno && status >= INT32_MIN && status <= INT32_MAX;
	if (!is_number || (*end && *end != '\n'))
		return error_create(ERROR_ENVIRONMENT, "the answer has no status: '%.40s'", answer);
	*ret_status = (int)status;
	*ret_text = *end ? end + 1 : end;
	return NULL;
}

/* The first line of a text, or all of one without. */
static int line_len(const char *text)
{
	return (int)min(strcspn(text, "\n"), (size_t)300);
}

struct error *java_vm_ask(const struct java_vm *vm, const char *const words[4], size_t max,
	char **ret, size_t *ret_len)
{
	_cleanup_(buf_deinit) struct buf answer;
	buf_init(&answer);
	_cleanup_close_ int fd = socket_connect(vm);
	if (fd < 0)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "can't connect to the JVM %d", (int)vm->pid);
	struct error *error = request_write(vm, fd, words);
	if (!error)
		error = answer_read(vm, fd, words[0], max, &answer);
	int status = 0;
	const char *text = "";
	if (!error && answer.len == 1)
		error = error_create(ERROR_ENVIRONMENT,
			"the JVM %d hung up on '%s' without an answer (it does not take the caller "
			"for its user, or is ending)",
			(int)vm->pid, words[0]);
	if (!error)
		error = error_prefix(java_answer_split((const char *)answer.data, &status, &text),
			"JVM %d: %s", (int)vm->pid, words[0]);
	if (!error && status)
		error = error_create(ERROR_ENVIRONMENT, "the JVM %d refuses '%s': %.*s",
			(int)vm->pid, words[0], *text ? line_len(text) : 9,
			*text ? text : "no reason");
	if (error)
		return error;
	*ret = strdup(text);
	if (!*ret)
		return error_no_memory();
	*ret_len = strlen(*ret);
	return NULL;
}

/* ---- Files for both -------------------------------------------------------------------------- */

struct error *java_exchange_open(const struct java_vm *vm, struct java_exchange *ret)
{
	char path[80];
	*ret = (struct java_exchange){.fd = -1, .holder = -1};
	_as_user_of_(vm);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/.heapwise-XXXXXX", vm->tmp);
	if (!mkdtemp(path))
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't make a directory in the /tmp of the JVM %d", (int)vm->pid);
	ret->last = strdup(strrchr(path, '/') + 1);
	ret->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->last && ret->fd >= 0 && asprintf(&ret->inner, "/tmp/%s", ret->last) > 0)
		return NULL;
	ret->inner = NULL;
	return error_errno(ERROR_ENVIRONMENT, errno,
		"can't open the directory in the /tmp of the JVM %d", (int)vm->pid);
}

void java_exchange_close(const struct java_vm *vm, struct java_exchange *exchange)
{
	static const char *const names[] = {"reply", "profile", "heap.hprof", "holder"};
	_as_user_of_(vm);
	for (size_t i = 0; exchange->fd >= 0 && i < ARRAY_SIZE(names); i++)
		unlinkat(exchange->fd, names[i], 0);
	if (exchange->fd >= 0)
		close(exchange->fd);
	if (exchange->holder >= 0)
		close(exchange->holder);
	if (exchange->last && vm->tmp >= 0)
		unlinkat(vm->tmp, exchange->last, AT_REMOVEDIR);
	free(exchange->last);
	free(exchange->inner);
	*exchange = (struct java_exchange){.fd = -1, .holder = -1};
}

struct error *java_exchange_hold(const struct java_vm *vm, struct java_exchange *exchange)
{
	_as_user_of_(vm);
	/* Also for reading, as a FIFO without a reader can't be opened without waiting. */
	if (!mkfifoat(exchange->fd, "holder", 0600))
		exchange->holder = openat(exchange->fd, "holder", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (exchange->holder >= 0)
		return NULL;
	return error_errno(ERROR_ENVIRONMENT, errno, "can't make a FIFO in the /tmp of the JVM %d",
		(int)vm->pid);
}

struct error *java_exchange_read(
	const struct java_exchange *exchange, const char *name, int *ret_fd)
{
	struct stat st;
	int fd = openat(exchange->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "the JVM has left no file %s/%s",
			exchange->inner, name);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return error_create(
			ERROR_ENVIRONMENT, "%s/%s is no regular file", exchange->inner, name);
	}
	*ret_fd = fd;
	return NULL;
}

/* ---- A library of ours ----------------------------------------------------------------------- */

/* A copy is the JVM's user's own, and nobody else could have written to it. */
static struct error *copy_check(const struct java_vm *vm, int fd, const char *name)
{
	struct stat st;
	if (fstat(fd, &st))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't examine /tmp/%s", name);
	bool is_ours = S_ISREG(st.st_mode) && (st.st_uid == vm->uid || st.st_uid == 0) &&
		       !(st.st_mode & (S_IWGRP | S_IWOTH));
	if (is_ours)
		return NULL;
	return error_create(ERROR_ENVIRONMENT,
		"/tmp/%s of the JVM %d is not a copy that heapwise made: remove it", name,
		(int)vm->pid);
}

static bool bytes_write(int fd, const struct buf *bytes)
{
	for (size_t done = 0; done < bytes->len;) {
		ssize_t n = write(fd, bytes->data + done, bytes->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static struct error *library_copy(
	const struct java_vm *vm, const struct buf *bytes, const char *name)
{
	char half[80];
	snprintf(half, sizeof(half), "%s.%d", name, (int)getpid());
	_cleanup_close_ int fd =
		openat(vm->tmp, half, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);
	bool is_written = fd >= 0 && bytes_write(fd, bytes) && !fchmod(fd, 0755) &&
			  !renameat(vm->tmp, half, vm->tmp, name);
	if (is_written)
		return NULL;
	struct error *error = error_errno(ERROR_ENVIRONMENT, errno,
		"can't copy the agent into the /tmp of the JVM %d", (int)vm->pid);
	if (fd >= 0)
		unlinkat(vm->tmp, half, 0);
	return error;
}

static struct error *library_read(const char *path, struct buf *ret)
{
	char block[16384];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	while (fd >= 0 && (n = read(fd, block, sizeof(block))) > 0)
		if (!buf_bytes(ret, block, (size_t)n))
			return error_no_memory();
	return n == 0 ? NULL : error_errno(ERROR_ENVIRONMENT, errno, "can't read %s", path);
}

struct error *java_library_place(const struct java_vm *vm, const char *library, char **ret)
{
	char name[64];
	if (!vm->other_mounts) {
		*ret = strdup(library);
		return *ret ? NULL : error_no_memory();
	}
	_cleanup_(buf_deinit) struct buf bytes;
	buf_init(&bytes);
	struct error *error = library_read(library, &bytes);
	if (error)
		return error;
	snprintf(name, sizeof(name), "libheapwise-java-%016llx.so",
		(unsigned long long)checksum64(bytes.data, bytes.len));
	_as_user_of_(vm);
	_cleanup_close_ int fd = openat(vm->tmp, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		error = copy_check(vm, fd, name);
	else if (errno == ENOENT)
		error = library_copy(vm, &bytes, name);
	else
		error = error_errno(ERROR_ENVIRONMENT, errno, "can't open /tmp/%s", name);
	if (!error && asprintf(ret, "/tmp/%s", name) < 0)
		error = error_no_memory();
	return error;
}
