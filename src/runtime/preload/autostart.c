/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see autostart.h. May touch: the same.
 *
 *     program ──clone──▶ go-between ──clone──▶ heapwise collect
 *             no signal              exec
 *
 * The program must see nothing of it, whatever it waits for. A child that sends no signal at its
 * end is invisible to wait(-1) (clone(2), __WCLONE), but only until it executes a file: so there is
 * a go-between that never does. Usually it leaves at once, and the collector becomes a child of
 * init. But if the program is init (of a container), or a subreaper, the collector would become its
 * own child, a usual one: then the go-between stays as long as the collector does.
 *
 * Both children are copies of the program, as after fork(2), and so early in its life these are
 * small. They touch nothing that fork wipes.
 */
#include "runtime/preload/autostart.h"

#include "runtime/core/sys.h"
#include "runtime/preload/real.h"

#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define COLLECTOR_SOCKET 3

static char *append_text(char *to, const char *string)
{
	size_t bytes = strlen(string);
	memcpy(to, string, bytes + 1);
	return to + bytes;
}

static void append_number(char *to, unsigned long number)
{
	char digits[24], *first = digits + sizeof(digits) - 1;
	*first = 0;
	do
		*--first = (char)('0' + number % 10);
	while (number /= 10);
	append_text(to, first);
}

void rt_autostart_complain(const char *what)
{
	char line[256];
	char *end =
		append_text(append_text(append_text(line, "heapwise: "), what), "; not recorded\n");
	sys_call(__NR_write, 2, line, end - line);
}

/* Gives this library's file without links in its path, if /proc says it. */
static bool library_file(char ret[static PATH_BYTES])
{
	const char *path = rt_library_path();
	if (strlen(path) >= PATH_BYTES)
		return false;
	append_text(ret, path);
	long fd = sys_call4(__NR_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
	if (sys_failed(fd))
		return false;
	char link[64], found[PATH_BYTES];
	append_number(append_text(link, "/proc/self/fd/"), (unsigned long)fd);
	long n = sys_call(__NR_readlink, link, found, sizeof(found) - 1);
	sys_call(__NR_close, fd, 0, 0);
	if (n > 0 && found[0] == '/') {
		found[n] = 0;
		append_text(ret, found);
	}
	return true;
}

/* The command: at a fixed place beside this library, as built or as installed. */
static bool tool_find(char ret[static PATH_BYTES])
{
	static const char *const places[] = {HW_TOOL_BUILD_RELPATH, HW_TOOL_INSTALL_RELPATH};
	char library[PATH_BYTES];
	if (!library_file(library))
		return false;
	char *slash = strrchr(library, '/');
	for (int i = 0; i < 2; i++) {
		char *end = ret;
		if (places[i][0] != '/') {
			if (!slash ||
				(size_t)(slash - library) + strlen(places[i]) + 2 > PATH_BYTES)
				continue;
			slash[1] = 0;
			end = append_text(ret, library);
		}
		append_text(end, places[i]);
		if (!sys_failed(sys_call4(__NR_faccessat, AT_FDCWD, ret, X_OK, 0)))
			return true;
	}
	return false;
}

static bool same_file(const char *one, const char *other)
{
	struct stat a, b;
	return !sys_failed(sys_call(__NR_stat, one, &a, 0)) &&
	       !sys_failed(sys_call(__NR_stat, other, &b, 0)) && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

/* A copy of this process whose end sends no signal, or SIGCHLD. */
static long copy_process(int signal)
{
	return sys_call6(__NR_clone, signal, 0, 0, 0, 0, 0);
}

static __attribute__((noreturn)) void exit_copy(void)
{
	for (;;)
		sys_call(__NR_exit_group, 0, 0, 0);
}

static __attribute__((noreturn)) void become_collector(
	const char *tool, int socket, char *const *environment)
{
	char number[2] = {'0' + COLLECTOR_SOCKET, 0};
	const char *const argv[] = {"heapwise", "collect", number, NULL};
	if (socket == COLLECTOR_SOCKET)
		sys_call(__NR_fcntl, socket, F_SETFD, 0);
	else
		sys_call(__NR_dup2, socket, COLLECTOR_SOCKET, 0);
	sys_call(__NR_close_range, COLLECTOR_SOCKET + 1, ~0u, 0);
	sys_call(__NR_execve, tool, argv, environment);
	rt_autostart_complain("can't execute the command that belongs to libheapwise-rt.so");
	exit_copy();
}

/* In the go-between: stays for as long as the collector if it must. */
static __attribute__((noreturn)) void go_between(
	const char *tool, int socket, char *const *environment, bool stays)
{
	long collector = copy_process(SIGCHLD);
	if (!collector)
		become_collector(tool, socket, environment);
	if (sys_failed(collector))
		rt_autostart_complain("can't start a process for the collector");
	if (!stays || sys_failed(collector))
		exit_copy();
	sys_call(__NR_close_range, 0, ~0u, 0);
	sys_call(__NR_setsid, 0, 0, 0);
	sys_call(__NR_chdir, "/", 0, 0);
	sys_call(__NR_prctl, PR_SET_NAME, "heapwise-keep", 0);
	sys_call4(__NR_wait4, collector, NULL, __WALL, NULL);
	exit_copy();
}

/* Whether orphans of this process become its children. */
static bool is_subreaper(void)
{
	int subreaper = 0;
	sys_call(__NR_prctl, PR_GET_CHILD_SUBREAPER, &subreaper, 0);
	return subreaper || sys_call(__NR_getpid, 0, 0, 0) == 1;
}

int rt_autostart(char *const *environment)
{
	char tool[PATH_BYTES];
	if (!tool_find(tool)) {
		rt_autostart_complain(
			"the command is not where it belongs beside libheapwise-rt.so");
		return -1;
	}
	int ends[2];
	if (same_file(tool, "/proc/self/exe"))
		return -1;
	if (sys_failed(
		    sys_call4(__NR_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))) {
		rt_autostart_complain("can't create a socket pair");
		return -1;
	}
	bool stays = is_subreaper();
	long child = copy_process(0);
	if (!child)
		go_between(tool, ends[1], environment, stays);
	sys_call(__NR_close, ends[1], 0, 0);
	if (!sys_failed(child)) {
		if (!stays)
			sys_call4(__NR_wait4, child, NULL, __WCLONE, NULL);
		return ends[0];
	}
	sys_call(__NR_close, ends[0], 0, 0);
	rt_autostart_complain("can't start a process for the collector");
	return -1;
}
