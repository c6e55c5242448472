/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts a program that is watched from its first allocation on. It is traced (ptrace) until its
 * libraries are mapped and none of its code has run: the dynamic linker calls _dl_debug_state()
 * then, for debuggers, and a breakpoint in the processor's debug registers stops it there. Nothing
 * is written to its memory. A static program is stopped after exec(2) as it is.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/watch.h"
#include "capture/watch/watch_modules.h"
#include "process/proc_info.h"

#define AUXV_BYTES 4096
/* It is called before libraries are searched for, and when they are there. */
#define LINKER_CALLS 2u

static void program_exec(char *const *argv, int failed)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		execvp(argv[0], argv);
	int err = errno;
	(void)!write(failed, &err, sizeof(err));
	_exit(127);
}

/* Waits until it stops. *ret_signal: by which signal; 0: it has ended. */
static struct error *stop_wait(pid_t pid, int *ret_signal)
{
	int status;
	*ret_signal = 0;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return error_errno(ERROR_ENVIRONMENT, errno, "can't wait for the program");
	}
	if (WIFSTOPPED(status))
		*ret_signal = WSTOPSIG(status);
	return NULL;
}

/* The value of an entry of the auxiliary vector; 0: it has none. */
static uint64_t auxiliary_value(pid_t pid, uint64_t type)
{
	_cleanup_free_ char *data = NULL;
	size_t bytes;
	uint64_t value = 0;
	struct error *error = process_read(pid, "auxv", AUXV_BYTES, &data, &bytes);
	if (error) {
		error_destroy(error);
		return 0;
	}
	for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= bytes; at += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;
		memcpy(&entry, data + at, sizeof(entry));
		if (entry.a_type == type)
			value = entry.a_un.a_val;
	}
	return value;
}

struct linker_search {
	uint64_t address; /* of _dl_debug_state(), as linked */
};

static bool linker_function_found(void *context, const char *name, uint64_t address, uint64_t bytes)
{
	struct linker_search *search = context;
	(void)bytes;
	if (strcmp(name, "_dl_debug_state") != 0)
		return true;
	search->address = address;
	return false;
}

/* Where it is to stop: in the dynamic linker; 0: it has none. */
static struct error *stop_find(pid_t pid, uint64_t *ret)
{
	uint64_t base = auxiliary_value(pid, AT_BASE);
	struct process_maps maps;
	struct elf_file elf;
	struct linker_search search = {0};
	*ret = 0;
	if (!base)
		return NULL;
	struct error *error = process_maps_read(pid, &maps);
	if (error)
		return error;
	const struct process_map *map = process_maps_find(&maps, base);
	error = elf_file_open(map ? map->path : "", &elf);
	process_maps_deinit(&maps);
	if (error)
		return error;
	elf_file_functions(&elf, linker_function_found, &search);
	elf_file_close(&elf);
	/* Of one that does not say, its last word is the program's entry; constructors of libraries
	 * have run by then. */
	*ret = search.address ? base + search.address : auxiliary_value(pid, AT_ENTRY);
	return NULL;
}

static bool breakpoint_set(pid_t pid, uint64_t address)
{
	/* Execution of one byte at the address in register 0; none. */
	long control = address ? 1 : 0;
	return !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), address) &&
	       !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), control);
}

static bool is_libc_mapped(pid_t pid)
{
	struct module_table modules;
	bool changed, other, is_mapped = false;
	module_table_init(&modules, pid);
	struct error *error = module_table_refresh(&modules, &changed, &other);
	for (size_t i = 0; i < modules.files.len && !error; i++) {
		const struct watch_file *file = &modules.files.data[i];
		for (size_t k = 0; k < file->places.len; k++)
			is_mapped |= watched_functions[file->places.data[k].function].where ==
				     WATCHED_LIBC;
	}
	error_destroy(error);
	module_table_deinit(&modules);
	return is_mapped;
}

/* Lets it go on until its libraries are mapped. */
static struct error *linker_await(pid_t pid, uint64_t address)
{
	unsigned calls = 0;
	int signal = 0;
	if (!breakpoint_set(pid, address))
		return error_errno(ERROR_ENVIRONMENT, errno,
			"can't stop the program before its first allocation (debug registers); "
			"start "
			"it first, and watch its PID");
	while (calls < LINKER_CALLS && !(calls && is_libc_mapped(pid))) {
		if (ptrace(PTRACE_CONT, pid, NULL, (long)signal))
			return error_errno(ERROR_ENVIRONMENT, errno, "can't let the program go on");
		struct error *error = stop_wait(pid, &signal);
		if (error)
			return error;
		if (!signal)
			return error_create(
				ERROR_INPUT, "the program ended before its libraries were loaded");
		if (signal == SIGTRAP) {
			signal = 0;
			calls++;
		}
	}
	return breakpoint_set(pid, 0)
		       ? NULL
		       : error_errno(ERROR_ENVIRONMENT, errno, "can't let the program go on");
}

/* Whether it was executed; the errno if not. */
static struct error *exec_await(char *const *argv, pid_t pid, int failed)
{
	int err, signal;
	struct error *error = stop_wait(pid, &signal);
	if (error || signal == SIGTRAP)
		return error;
	if (read(failed, &err, sizeof(err)) != sizeof(err))
		err = ECHILD;
	return error_errno(ERROR_INPUT, err, "can't execute %s", argv[0]);
}

struct error *watch_spawn(char *const *argv, pid_t *ret)
{
	int failed[2];
	uint64_t address = 0;
	if (pipe2(failed, O_CLOEXEC))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't make a pipe");
	pid_t pid = fork();
	if (!pid)
		program_exec(argv, failed[1]);
	close(failed[1]);
	struct error *error = pid < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't fork")
				      : exec_await(argv, pid, failed[0]);
	close(failed[0]);
	if (!error)
		error = stop_find(pid, &address);
	if (!error && address)
		error = linker_await(pid, address);
	if (!error)
		*ret = pid;
	else if (pid > 0)
		watch_spawn_drop(pid);
	return error;
}

struct error *watch_release(pid_t pid)
{
	if (ptrace(PTRACE_DETACH, pid, NULL, NULL))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't let the program go on");
	return NULL;
}

void watch_spawn_drop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
