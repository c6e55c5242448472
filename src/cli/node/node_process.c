/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/node/node_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/node/inspector.h"
#include "process/elf_file.h"
#include "process/proc_info.h"

#define PORT_USUAL 9229u
#define OPEN_WAIT_MS 5000u
#define OTHER_PORT_MS 1000u
#define POLL_MS 20u
#define LISTENS "0A" /* TCP_LISTEN in /proc/net/tcp */

DEFINE_VEC(inode_vec, uint64_t)

struct listener {
	uint16_t port;
	uint64_t inode;
};
DEFINE_VEC(listener_vec, struct listener)

static bool symbol_is_node(void *context, const char *name, const Elf64_Sym *symbol)
{
	bool *found = context;
	(void)symbol;
	*found = strcmp(name, "node_module_register") == 0;
	return !*found;
}

static bool file_is_node(const char *path)
{
	struct elf_file file;
	bool found = false;
	struct error *error = elf_file_open(path, &file);
	if (error) {
		error_destroy(error);
		return false;
	}
	elf_file_symbols(&file, symbol_is_node, &found);
	elf_file_close(&file);
	return found;
}

/* Distributions may have node in a library. */
static bool library_is_node(pid_t pid)
{
	char path[64], line[4096 + 128];
	bool found = false;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char *name = strchr(line, '/');
		char full[4096 + 256];
		if (!name || !strstr(name, "/libnode.so"))
			continue;
		name[strcspn(name, "\n")] = '\0';
		snprintf(full, sizeof(full), "/proc/%d/root%s", (int)pid, name);
		found = file_is_node(full);
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Whether SIGUSR1 is one of the signals that it handles; *ret_known false: nobody knows. */
static bool signal_is_taken(pid_t pid, bool *ret_known)
{
	char path[64], line[256];
	uint64_t mask = 0;
	*ret_known = false;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "SigCgt: %" SCNx64, &mask) == 1)
			*ret_known = true;
	if (status)
		fclose(status);
	return *ret_known && mask >> (SIGUSR1 - 1) & 1;
}

static struct error *node_check(pid_t pid)
{
	char exe[64], target[4096];
	bool known;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	ssize_t len = readlink(exe, target, sizeof(target) - 1);
	if (len < 0 && errno == ENOENT)
		return error_create(ERROR_INPUT, "process %d: there is none", (int)pid);
	if (len < 0)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"process %d: can't tell which program it is, from %s: be its user, or root",
			(int)pid, exe);
	target[len] = '\0';
	if (!file_is_node(exe) && !library_is_node(pid))
		return error_create(ERROR_INPUT,
			"process %d: %s is not node: it exports no node_module_register. Nothing "
			"was sent to it",
			(int)pid, target);
	if (!signal_is_taken(pid, &known))
		return error_create(ERROR_INPUT,
			"process %d: is node, but %s SIGUSR1, which opens the inspector and would "
			"end the process: it may be starting, or run with --disable-sigusr1. "
			"Nothing was sent to it",
			(int)pid, known ? "does not handle" : "nobody knows whether it handles");
	return NULL;
}

/* The sockets that the process has. */
static struct error *sockets_list(pid_t pid, struct inode_vec *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *folder = opendir(path);
	if (!folder)
		return error_errno(ERROR_ENVIRONMENT, errno,
			"process %d: can't list its sockets (%s): be its user, or root", (int)pid,
			path);
	struct error *error = NULL;
	for (struct dirent *entry; !error && (entry = readdir(folder));) {
		char target[64] = "";
		uint64_t inode;
		ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		if (len > 0 && sscanf(target, "socket:[%" SCNu64, &inode) == 1 &&
			!inode_vec_push(ret, inode))
			error = error_no_memory();
	}
	closedir(folder);
	return error;
}

/* All that listens in the network of the process, from one of /proc/PID/net/tcp and tcp6. */
static struct error *listeners_read(pid_t pid, const char *name, struct listener_vec *ret)
{
	char path[64], line[512];
	struct error *error = NULL;
	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, name);
	FILE *table = fopen(path, "re");
	while (table && !error && fgets(line, sizeof(line), table)) {
		char state[8];
		unsigned port;
		uint64_t inode;
		if (sscanf(line, " %*[0-9]: %*[0-9A-F]:%4x %*s %7s %*s %*s %*s %*s %*s %" SCNu64,
			    &port, state, &inode) != 3 ||
			strcmp(state, LISTENS) != 0)
			continue;
		if (!listener_vec_push(ret, (struct listener){(uint16_t)port, inode}))
			error = error_no_memory();
	}
	if (table)
		fclose(table);
	return error;
}

/* Those that are the process's come first; *ret_own: how many. */
static struct error *listeners_find(pid_t pid, struct listener_vec *ret, size_t *ret_own)
{
	struct inode_vec sockets;
	inode_vec_init(&sockets);
	listener_vec_clear(ret);
	struct error *error = sockets_list(pid, &sockets);
	if (!error)
		error = listeners_read(pid, "tcp", ret);
	if (!error)
		error = listeners_read(pid, "tcp6", ret);
	*ret_own = 0;
	for (size_t i = 0; !error && i < ret->len; i++) {
		bool own = false;
		for (size_t k = 0; k < sockets.len && !own; k++)
			own = sockets.data[k] == ret->data[i].inode;
		if (!own)
			continue;
		struct listener found = ret->data[i];
		ret->data[i] = ret->data[*ret_own];
		ret->data[(*ret_own)++] = found;
	}
	inode_vec_deinit(&sockets);
	return error;
}

/* The port of the last --inspect=HOST:PORT, --inspect-port=PORT or the like among words, 0: any;
 * -1: there is none. */
static int port_find(const char *words)
{
	static const char option[] = "--inspect";
	int port = -1;
	for (const char *at = words; at && (at = strstr(at, option)); at += strlen(option)) {
		size_t len = strcspn(at, " ");
		const char *end = at + len, *digits = end;
		while (digits > at && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		bool is_port = digits < end && (digits[-1] == '=' || digits[-1] == ':');
		unsigned long found = is_port ? strtoul(digits, NULL, 10) : PORT_USUAL;
		if (is_port && found <= UINT16_MAX)
			port = (int)found;
	}
	return port;
}

/* The port that its command line or NODE_OPTIONS set; 0: the system chooses. Arguments of its
 * script may look alike: then no inspector is found, and that is said. */
static uint16_t port_asked(pid_t pid)
{
	struct proc_info info;
	int port = -1;
	struct error *error = proc_info_read(pid, &info);
	if (!error) {
		port = port_find(info.command);
		if (port < 0)
			port = port_find(proc_info_getenv(&info, "NODE_OPTIONS"));
	}
	proc_info_deinit(&info);
	error_destroy(error);
	return port >= 0 ? (uint16_t)port : PORT_USUAL;
}

/* A process in a container has a network of its own. */
static struct error *network_enter(pid_t pid)
{
	char path[64];
	struct stat own, its;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	if (stat("/proc/self/ns/net", &own) || stat(path, &its) || own.st_ino == its.st_ino)
		return NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int failed = fd < 0 || setns(fd, CLONE_NEWNET) ? errno : 0;
	if (fd >= 0)
		close(fd);
	return failed ? error_errno(ERROR_ENVIRONMENT, failed,
				"process %d: its network is another one (a container), and can't "
				"be entered: be root",
				(int)pid)
		      : NULL;
}

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool port_is_proved(uint16_t port)
{
	struct error *error = inspector_prove(port);
	bool is_proved = !error;
	error_destroy(error);
	return is_proved;
}

/* The port of the inspector among the first `own` listeners; 0: none of those that are new is it.
 * One may be of the program: it is asked what it is once, and only if `port` (0: any) is not
 * expected any more. */
static struct error *listener_choose(const struct listener_vec *now, size_t own, uint16_t port,
	struct inode_vec *known, uint16_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < own && !*ret; i++) {
		const struct listener *found = &now->data[i];
		bool is_known = port && found->port != port;
		for (size_t k = 0; k < known->len && !is_known; k++)
			is_known = known->data[k] == found->inode;
		if (is_known)
			continue;
		if (!inode_vec_push(known, found->inode))
			return error_no_memory();
		*ret = port_is_proved(found->port) ? found->port : 0;
	}
	return NULL;
}

static struct error *listener_wait(
	struct node_process *process, uint16_t port, struct inode_vec *known)
{
	struct listener_vec now;
	listener_vec_init(&now);
	struct error *error = NULL;
	uint64_t begin = now_ms();
	while (!error && !process->opened && now_ms() < begin + OPEN_WAIT_MS) {
		size_t own;
		const struct timespec pause = {.tv_nsec = POLL_MS * 1000000l};
		nanosleep(&pause, NULL);
		uint16_t expected = now_ms() < begin + OTHER_PORT_MS ? port : 0;
		error = listeners_find(process->pid, &now, &own);
		if (!error)
			error = listener_choose(&now, own, expected, known, &process->port);
		process->opened = process->port != 0;
	}
	listener_vec_deinit(&now);
	if (error || process->opened)
		return error;
	return error_create(ERROR_ENVIRONMENT,
		"process %d: did not open its inspector within %u s of SIGUSR1: its event loop may "
		"be busy in one call (then the inspector opens later, and stays open), it may "
		"handle the signal itself, its inspector be open at a port that can't be guessed, "
		"or its stderr say why",
		(int)process->pid, OPEN_WAIT_MS / 1000);
}

/* What has the port already is its inspector, or in the way. */
static struct error *port_check(
	struct node_process *process, uint16_t port, const struct listener_vec *before, size_t own)
{
	for (size_t i = 0; port && i < before->len && !process->port; i++) {
		if (before->data[i].port != port)
			continue;
		if (i >= own)
			return error_create(ERROR_ENVIRONMENT,
				"process %d: its inspector would listen at port %u, which another "
				"process has. Nothing was sent to it; end that one's inspector, or "
				"start node with --inspect-port=0",
				(int)process->pid, port);
		struct error *error = inspector_prove(port);
		if (error)
			return error_prefix(error,
				"process %d: listens at port %u, where its inspector would, and it "
				"is none. No signal was sent; start node with --inspect-port=0",
				(int)process->pid, port);
		process->port = port;
	}
	return NULL;
}

static struct error *inspector_find(struct node_process *process)
{
	struct listener_vec before;
	struct inode_vec known;
	size_t own;
	uint16_t port = port_asked(process->pid);
	listener_vec_init(&before);
	inode_vec_init(&known);
	struct error *error = listeners_find(process->pid, &before, &own);
	if (!error)
		error = port_check(process, port, &before, own);
	for (size_t i = 0; !error && i < own; i++)
		if (!inode_vec_push(&known, before.data[i].inode))
			error = error_no_memory();
	if (!error && !process->port &&
		syscall(SYS_pidfd_send_signal, process->pidfd, SIGUSR1, NULL, 0))
		error = error_errno(ERROR_ENVIRONMENT, errno,
			"process %d: can't send it SIGUSR1, which opens its inspector: be its "
			"user, or root",
			(int)process->pid);
	if (!error && !process->port)
		error = listener_wait(process, port, &known);
	inode_vec_deinit(&known);
	listener_vec_deinit(&before);
	return error;
}

struct error *node_process_open(pid_t pid, struct node_process *ret)
{
	*ret = (struct node_process){.pid = pid};
	/* From here on the id can't become that of another process unnoticed. */
	ret->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (ret->pidfd < 0)
		return error_errno(errno == ESRCH ? ERROR_INPUT : ERROR_ENVIRONMENT, errno,
			"process %d: can't be opened", (int)pid);
	struct error *error = node_check(pid);
	if (!error)
		error = network_enter(pid);
	if (!error)
		error = inspector_find(ret);
	if (error)
		node_process_close(ret);
	return error;
}

bool node_process_listens(const struct node_process *process)
{
	struct listener_vec now;
	size_t own;
	bool found = false;
	listener_vec_init(&now);
	struct error *error = listeners_find(process->pid, &now, &own);
	for (size_t i = 0; !error && i < own; i++)
		found |= now.data[i].port == process->port;
	listener_vec_deinit(&now);
	error_destroy(error);
	return found;
}

void node_process_close(struct node_process *process)
{
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->pidfd = -1;
}
