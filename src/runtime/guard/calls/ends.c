/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program ends without its exit handlers, or starts another one in its place; any
 * thread, any moment. May touch: see sweep.h.
 *
 * The sweep of what nobody has freed comes first. Within libc these functions are called by names
 * of its own: its own aborts (of a damaged heap, say) are not seen here, but for that of assert().
 */
#include "runtime/guard/calls/calls.h"

#include "runtime/guard/sweep.h"

#include <errno.h>

#define ENDS __attribute__((noreturn))

/* A function that does not return. Where libc's is not known yet, there is nothing to sweep. */
#define DEFINE_END(name, params, args)                                                             \
	REAL(void, name, params)                                                                   \
	ENDS void name params;                                                                     \
	GUARD_API ENDS void name params                                                            \
	{                                                                                          \
		sweep_ending();                                                                    \
		calls_resolve();                                                                   \
		real_##name args;                                                                  \
		__builtin_unreachable();                                                           \
	}

DEFINE_END(_exit, (int status), (status))
DEFINE_END(_Exit, (int status), (status))
DEFINE_END(abort, (void), ())
DEFINE_END(__assert_fail, (const char *text, const char *file, unsigned line, const char *function),
	(text, file, line, function))
DEFINE_END(__assert_perror_fail, (int error, const char *file, unsigned line, const char *function),
	(error, file, line, function))

/* The last of the handlers that quick_exit(3) calls, as the first that is registered. */
int __cxa_at_quick_exit(void (*handler)(void *), void *object);

static void end_quickly(void *object)
{
	(void)object;
	sweep_ending();
}

static __attribute__((constructor)) void await_quick_exit(void)
{
	__cxa_at_quick_exit(end_quickly, NULL);
}

/* --- exec --- */

#define DEFINE_EXEC(name, params, args)                                                            \
	REAL(int, name, params)                                                                    \
	CALL(int, name, EXPAND params)                                                             \
	{                                                                                          \
		sweep_ending();                                                                    \
		calls_resolve();                                                                   \
		if (real_##name)                                                                   \
			return real_##name args;                                                   \
		errno = ENOSYS;                                                                    \
		return -1;                                                                         \
	}
#define EXPAND(...) __VA_ARGS__

DEFINE_EXEC(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
DEFINE_EXEC(execv, (const char *path, char *const argv[]), (path, argv))
DEFINE_EXEC(execvp, (const char *file, char *const argv[]), (file, argv))
DEFINE_EXEC(execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp))
DEFINE_EXEC(fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp))

/* The system call, where libc has no function of it (before glibc 2.34). */
CALL(int, execveat, int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	sweep_ending();
	long failed = sys_call6(__NR_execveat, fd, (long)path, (long)argv, (long)envp, flags, 0);
	errno = (int)-failed;
	return -1;
}
