// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Starts programs, or ends, in ways that a recorder may not hear of.
 *
 *     starts_unheard files             a child that can open no file loses a block
 *     starts_unheard exec PROGRAM …    goes on as the program by the system call's number alone,
 *                                      with an empty environment
 *     starts_unheard execat PROGRAM …  the same by execveat
 *     starts_unheard fork PROGRAM …    has a child do that
 *     starts_unheard fails             tries to, in vain
 *     starts_unheard end               loses a block, and ends by the system call's number
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *no_variables[] = {NULL};

__attribute__((noinline)) static void lose(void)
{
	void *volatile block = malloc(1000);
	memset(block, 0, 1000);
	block = NULL;
}

__attribute__((noinline)) static void scrub(void)
{
	volatile char below[10000];
	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	if (!strcmp(how, "files")) {
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
		if (!fork()) {
			lose();
			_exit(0);
		}
		return wait(NULL) < 0;
	}
	if (!strcmp(how, "exec") || (!strcmp(how, "fork") && !fork()))
		return (int)syscall(SYS_execve, argv[2], argv + 2, no_variables);
	if (!strcmp(how, "execat"))
		return (int)syscall(SYS_execveat, AT_FDCWD, argv[2], argv + 2, no_variables, 0);
	if (!strcmp(how, "fork"))
		return wait(NULL) < 0;
	if (!strcmp(how, "fails"))
		return syscall(SYS_execve, "/none", argv, no_variables) != -1L;
	lose();
	scrub();
	syscall(SYS_exit_group, 0);
	return 1;
}
