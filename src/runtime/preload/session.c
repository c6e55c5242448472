/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see session.h. May touch: the same.
 *
 * The socket's and the memfd's descriptors exist in the program only while it waits for its answer.
 */
#include "runtime/preload/session.h"

#include "runtime/core/sys.h"
#include "runtime/preload/autostart.h"
#include "runtime/preload/process.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A stopped collector must not keep the program from starting; one that must start first may take
 * longer. */
#define ANSWER_S 1
#define ANSWER_START_S 3
#define ANSWER_AUTOSTART_S 20
/* One that goes on telling the program to wait is alive, but has much to do. */
#define ANSWER_MOST_NS 20000000000u

#define ENVIRONMENT_MAX (1u << 20)

/* A collector that has many silent callers may let go of one that only was slow. */
#define TRIES 3

#define NO_UID 0xffffffffu

/* Kept: the program may change its environment before it forks. */
static char session_path[HW_SESSION_BYTES];
static bool autostarted;              /* this process has started its collector */
static uint32_t session_uid = NO_UID; /* whose the collector is that answered at that path */
static bool unreachable;              /* no collector answered the last attempt to join */

/* The last ones are what a collector that this process starts has to know of it: also those that
 * the tools of --as have (cli/options/shims.c). */
enum {
	VARIABLE_SESSION,
	VARIABLE_OPTIONS,
	VARIABLE_RUNTIME_DIR,
	VARIABLE_MALLOC_TRACE,
	VARIABLE_MALLOC_CONF,
	VARIABLES
};
static const char *const names[VARIABLES] = {HW_SESSION_ENV "=", HW_OPTIONS_ENV "=",
	"XDG_RUNTIME_DIR=", "MALLOC_TRACE=", "MALLOC_CONF="};

/* Those of our variables that there are, in whole. */
struct variables {
	char *found[VARIABLES];
	char *block; /* a copy of the kernel's that they are in; NULL: they are the program's */
};

static void look_at(struct variables *v, char *variable)
{
	for (int i = 0; i < VARIABLES; i++) {
		if (!v->found[i] && !strncmp(variable, names[i], strlen(names[i])))
			v->found[i] = variable;
	}
}

/* libc's environ is not there yet in the first moments of a process: the kernel's copy is. */
static bool look_in_kernel(struct variables *v)
{
	long fd =
		sys_call4(__NR_openat, AT_FDCWD, "/proc/self/environ", 0x80000 /* O_CLOEXEC */, 0);
	if (sys_failed(fd))
		return false;
	/* A page more: there is a NUL after the last. */
	long at = sys_call6(__NR_mmap, 0, ENVIRONMENT_MAX + 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t got = 0;
	while (!sys_failed(at) && got < ENVIRONMENT_MAX) {
		long n = sys_call(__NR_read, fd, (char *)at + got, ENVIRONMENT_MAX - got);
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	sys_call(__NR_close, fd, 0, 0);
	if (sys_failed(at))
		return false;
	v->block = (char *)at;
	for (size_t i = 0; i < got; i += strlen(v->block + i) + 1)
		look_at(v, v->block + i);
	return true;
}

static bool read_variables(struct variables *v)
{
	*v = (struct variables){{NULL}, NULL};
	if (!environ)
		return look_in_kernel(v);
	for (char **e = environ; *e; e++)
		look_at(v, *e);
	return true;
}

static void forget_variables(const struct variables *v)
{
	if (v->block)
		sys_call(__NR_munmap, v->block, ENVIRONMENT_MAX + 4096, 0);
}

/* Receives an answer, and the descriptor that comes with it or -1. Returns its bytes, 0 at the end
 * of the connection, or an error's number below 0. */
static long receive_message(int fd, int flags, struct hw_welcome *ret, int *ret_memory)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	memset(&control, 0, sizeof(control));
	struct iovec part = {ret, sizeof(*ret)};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	*ret = (struct hw_welcome){0, 0, 0, ""};
	*ret_memory = -1;
	long got = sys_call(__NR_recvmsg, fd, &message, MSG_CMSG_CLOEXEC | flags);
	struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_memory, CMSG_DATA(c), sizeof(int));
	return got;
}

static bool is_answer(long got, const struct hw_welcome *welcome, enum hw_answer which)
{
	return got == (long)sizeof(*welcome) && welcome->magic == HW_HELLO_MAGIC &&
	       welcome->version == HW_SHM_VERSION && welcome->record == which;
}

static int answer_seconds(enum hw_hello_reason reason)
{
	return reason == HW_HELLO_START ? ANSWER_START_S : ANSWER_S;
}

/*
 * Waits for the answer, as long as the collector says that it is to come. Nothing can be sent here
 * after this has given up: either the answer is there by then, or the collector knows that it came
 * too late, and counts the process. Returns as receive_message(), -EAGAIN: too late.
 */
static long wait_for_answer(int fd, int seconds, struct hw_welcome *ret, int *ret_memory)
{
	uint64_t began = sys_now_ns(), heard = began, now;
	long got;
	bool waits;
	do {
		got = receive_message(fd, 0, ret, ret_memory);
		now = sys_now_ns();
		waits = is_answer(got, ret, HW_ANSWER_WAIT);
		if (waits)
			heard = now;
		else if (got == -EINTR) /* each call waits anew */
			waits = now - heard < (uint64_t)seconds * 1000000000;
	} while (waits && now - began < ANSWER_MOST_NS);
	if (got != -EAGAIN && got != -EINTR && !waits)
		return got;
	sys_call(__NR_shutdown, fd, SHUT_RD, 0);
	do
		got = receive_message(fd, MSG_DONTWAIT, ret, ret_memory);
	while (is_answer(got, ret, HW_ANSWER_WAIT));
	return got > 0 ? got : -EAGAIN;
}

/* Receives the welcome and the memfd that comes with it; -1: declined, late or broken. *ret_cut:
 * the connection has ended without an answer. */
static int receive_welcome(int fd, enum hw_hello_reason reason, bool *ret_cut)
{
	bool from_own_collector = autostarted && reason == HW_HELLO_START;
	struct hw_welcome welcome;
	int memory, seconds = from_own_collector ? ANSWER_AUTOSTART_S : answer_seconds(reason);
	long got = wait_for_answer(fd, seconds, &welcome, &memory);
	*ret_cut = got <= 0 && got != -EAGAIN;
	if (is_answer(got, &welcome, HW_ANSWER_RECORD)) {
		welcome.session[sizeof(welcome.session) - 1] = 0;
		memcpy(session_path, welcome.session, sizeof(session_path));
		return memory;
	}
	if (memory >= 0)
		sys_call(__NR_close, memory, 0, 0);
	/* One that declines has said why. */
	if (from_own_collector && got <= 0)
		rt_autostart_complain(got == -EAGAIN ? "the collector does not answer"
						     : "the collector has ended without an answer");
	return -1;
}

/* Says hello and waits for the answer; closes fd. *ret_cut: as receive_welcome()'s. */
static int exchange_hello(int fd, enum hw_hello_reason reason, bool *ret_cut)
{
	struct hw_hello hello = {.magic = HW_HELLO_MAGIC,
		.version = HW_SHM_VERSION,
		.pid = (int32_t)sys_call(__NR_getpid, 0, 0, 0),
		.ppid = (int32_t)sys_call(__NR_getppid, 0, 0, 0),
		.reason = reason,
		.tsc = sys_tsc_fenced()};
	if (reason == HW_HELLO_FORK) {
		hello.forked_at = rt_here.forking ? rt_here.forking : rt_origin.stamp;
		hello.forked_from = hello.forked_at ? rt_origin.pid : 0;
	}
	int memory = -1;
	*ret_cut = true;
	if (sys_call6(__NR_sendto, fd, (long)&hello, sizeof(hello), MSG_NOSIGNAL, 0, 0) ==
		(long)sizeof(hello))
		memory = receive_welcome(fd, reason, ret_cut);
	sys_call(__NR_close, fd, 0, 0);
	return memory;
}

static void set_limit(int fd, int seconds)
{
	struct timeval limit = {seconds, 0};
	sys_call6(__NR_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&limit, sizeof(limit), 0);
	sys_call6(__NR_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&limit, sizeof(limit), 0);
}

/* Who listens at the other end; NOBODY: not to be known. */
static uint32_t peer_uid(int fd)
{
	struct ucred peer = {0, NO_UID, NO_UID};
	socklen_t bytes = sizeof(peer);
	sys_call6(__NR_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&bytes, 0);
	return peer.uid;
}

static int connect_to(const struct sockaddr_un *address, uint64_t bytes, int seconds)
{
	long fd = sys_call(__NR_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sys_failed(fd))
		return -1;
	set_limit((int)fd, seconds);
	if (!sys_failed(sys_call(__NR_connect, fd, address, bytes)))
		return (int)fd;
	sys_call(__NR_close, fd, 0, 0);
	return -1;
}

/*
 * To the collector that was there before; -1: there is none. Its path may lead elsewhere or nowhere
 * by now (chroot(2)): the same name without its first byte, which is no path (unix(7), abstract),
 * leads there too. Any process can take that name: only root and the collector's own user are
 * trusted.
 */
static int connect_session(enum hw_hello_reason reason)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int seconds = answer_seconds(reason);
	memcpy(address.sun_path, session_path, sizeof(session_path));
	int fd = connect_to(&address, sizeof(address), seconds);
	if (fd >= 0) {
		session_uid = peer_uid(fd);
		return fd;
	}
	address.sun_path[0] = 0;
	fd = connect_to(
		&address, offsetof(struct sockaddr_un, sun_path) + strlen(session_path), seconds);
	uint32_t uid = fd < 0 ? NO_UID : peer_uid(fd);
	if (fd >= 0 && uid && uid != session_uid &&
		uid != (uint32_t)sys_call(__NR_geteuid, 0, 0, 0)) {
		sys_call(__NR_close, fd, 0, 0);
		fd = -1;
	}
	return fd;
}

static int start_session(const struct variables *v)
{
	char *environment[VARIABLES + 1];
	int n = 0;
	for (int i = 0; i < VARIABLES; i++) {
		if (v->found[i])
			environment[n++] = v->found[i];
	}
	environment[n] = NULL;
	int fd = rt_autostart(environment);
	if (fd >= 0)
		set_limit(fd, ANSWER_AUTOSTART_S);
	autostarted = fd >= 0;
	return fd;
}

/*
 * Two descriptors for a moment, also for a program that has taken all it may: its soft limit is
 * raised that long, as far as it goes.
 */
struct room {
	struct limits {
		uint64_t soft, hard;
	} before;
	bool changed;
};

static void make_descriptor_room(struct room *r)
{
	r->changed = false;
	if (sys_failed(sys_call4(__NR_prlimit64, 0, RLIMIT_NOFILE, NULL, &r->before)) ||
		r->before.soft >= r->before.hard)
		return;
	struct limits raised = {r->before.hard, r->before.hard};
	r->changed = !sys_failed(sys_call4(__NR_prlimit64, 0, RLIMIT_NOFILE, &raised, NULL));
}

static void room_end(const struct room *r)
{
	if (r->changed)
		sys_call4(__NR_prlimit64, 0, RLIMIT_NOFILE, &r->before, NULL);
}

/* Joins the session of session_path. */
static int join_known(enum hw_hello_reason reason)
{
	int memory = -1;
	bool cut = true;
	for (int i = 0; i < TRIES && cut; i++) {
		int fd = connect_session(reason);
		if (fd < 0)
			break;
		memory = exchange_hello(fd, reason, &cut);
	}
	unreachable = cut;
	return memory;
}

static int join_session(enum hw_hello_reason reason)
{
	unreachable = false;
	if (session_path[0])
		return join_known(reason);
	if (reason == HW_HELLO_FORK)
		return -1;
	/* Who started it, and says where the collector is, may have fewer rights than it. */
	if (getauxval(AT_SECURE)) {
		rt_autostart_complain("it runs with other rights than who started it");
		return -1;
	}
	struct variables v;
	if (!read_variables(&v))
		return -1;
	int memory = -1;
	const char *session = v.found[VARIABLE_SESSION];
	if (session) {
		session += strlen(names[VARIABLE_SESSION]);
		size_t bytes = strlen(session) + 1;
		if (bytes > 1 && bytes <= sizeof(session_path)) {
			memcpy(session_path, session, bytes);
			memory = join_known(reason);
		}
	} else {
		bool cut;
		int fd = start_session(&v);
		memory = fd < 0 ? -1 : exchange_hello(fd, reason, &cut);
	}
	forget_variables(&v);
	return memory;
}

int rt_session_join(enum hw_hello_reason reason)
{
	struct room room;
	make_descriptor_room(&room);
	int memory = join_session(reason);
	room_end(&room);
	rt_origin.stamp = 0; /* a child by a raw clone system call is not to say it too */
	return memory;
}

bool rt_session_unreachable(void)
{
	return unreachable;
}

bool rt_session_send(struct hw_notice *notice)
{
	notice->magic = HW_NOTICE_MAGIC;
	notice->version = HW_SHM_VERSION;
	notice->by = (int32_t)sys_call(__NR_getpid, 0, 0, 0);
	notice->ppid = (int32_t)sys_call(__NR_getppid, 0, 0, 0);
	notice->pid = notice->pid ? notice->pid : notice->by;
	notice->tsc = sys_tsc_fenced();
	uint64_t signals = sys_signals_block();
	struct room room;
	make_descriptor_room(&room);
	bool is_sent = false;
	for (int i = 0; i < TRIES && !is_sent; i++) {
		int fd = connect_session(HW_HELLO_FORK);
		if (fd < 0)
			break;
		is_sent = sys_call6(__NR_sendto, fd, (long)notice, sizeof(*notice), MSG_NOSIGNAL, 0,
				  0) == (long)sizeof(*notice);
		sys_call(__NR_close, fd, 0, 0);
	}
	room_end(&room);
	sys_signals_restore(signals);
	return is_sent;
}

static int connect_with_room(void)
{
	uint64_t signals = sys_signals_block();
	struct room room;
	make_descriptor_room(&room);
	int fd = connect_session(HW_HELLO_FORK);
	room_end(&room);
	sys_signals_restore(signals);
	return fd;
}

/* The program's signals come meanwhile. */
static long receive_reply(int fd, struct hw_reply *ret)
{
	uint64_t began = sys_now_ns();
	long got;
	do
		got = sys_call6(__NR_recvfrom, fd, (long)ret, sizeof(*ret), 0, 0, 0);
	while (got == -EINTR && sys_now_ns() - began < RT_ASK_MOST_S * 1000000000ull);
	return got;
}

int rt_session_ask(struct hw_request *request, struct hw_reply *ret)
{
	if (sys_no_calls())
		return ENOSYS;
	if (!session_path[0])
		return ESRCH;
	request->magic = HW_REQUEST_MAGIC;
	request->version = HW_SHM_VERSION;
	request->pid = 0;
	long got = 0;
	for (int i = 0; i < TRIES && !got; i++) {
		int fd = connect_with_room();
		if (fd < 0)
			return EHOSTDOWN;
		set_limit(fd, RT_ASK_MOST_S);
		if (sys_call6(__NR_sendto, fd, (long)request, sizeof(*request), MSG_NOSIGNAL, 0,
			    0) == (long)sizeof(*request))
			got = receive_reply(fd, ret);
		sys_call(__NR_close, fd, 0, 0);
	}
	if (got == -EAGAIN || got == -EINTR)
		return ETIMEDOUT;
	if (got != (long)sizeof(*ret))
		return EHOSTDOWN;
	ret->file[HW_REPLY_FILE - 1] = ret->message[HW_REPLY_MESSAGE - 1] = 0;
	return ret->ok ? 0 : ret->error ? (int)ret->error : EIO;
}

/*
 * The vector is a new one, as setenv(3) makes it; what main and others have of the old one stays as
 * it is.
 */
void rt_session_publish(void)
{
	size_t count = 0;
	while (environ && environ[count])
		count++;
	if (!autostarted || !session_path[0] || !environ)
		return;
	size_t vector = (count + 2) * sizeof(char *);
	long at = sys_call6(__NR_mmap, 0,
		(long)(vector + sizeof(HW_SESSION_ENV "=") + sizeof(session_path)),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(at))
		return;
	char **list = (char **)at, *variable = (char *)at + vector;
	memcpy(variable, names[VARIABLE_SESSION], sizeof(HW_SESSION_ENV));
	memcpy(variable + sizeof(HW_SESSION_ENV), session_path, sizeof(session_path));
	for (size_t i = 0; i < count; i++)
		list[i] = environ[i];
	list[count] = variable;
	environ = list;
}

const char *rt_session_path(void)
{
	return session_path;
}
