/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program starts another program, any thread, also in a vfork child, which shares
 * its parent's memory. May touch: the environment that is handed over, the session's name, next
 * definitions.
 *
 * A program may hand over an environment without LD_PRELOAD and HEAPWISE_SESSION (env -i, clearenv,
 * a fixed list): these functions put the two back and leave everything else as it is. Mostly both
 * are there, and nothing is copied. The new list stands on the stack, or in a mapping of its own if
 * it is long: nothing is allocated and no memory of the program is written, since the parent of a
 * vfork child goes on with it. (Such a child leaves that mapping to its parent.)
 *
 * system() and popen() start their shell inside libc: they hand over the process's own environment.
 */
#include "runtime/preload/hooks.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"

#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="
#define SESSION HW_SESSION_ENV "="
/* On the stack; a usual environment has 50 variables. */
#define SMALL_BYTES 4096

struct restored {
	char *const *list; /* to hand over: the program's own, or one of ours */
	void *mapping;     /* NULL: none */
	size_t bytes;
	char small[SMALL_BYTES] __attribute__((aligned(8)));
};

static bool begins(const char *string, const char *start)
{
	return !strncmp(string, start, strlen(start));
}

static const char *library_path(void)
{
	const struct link_map *map = _r_debug.r_map;
	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map ? map->l_name : "";
}

/* Whether `path` is one of a list with spaces or colons between them, as ld.so(8) reads it. */
static bool lists(const char *list, const char *path)
{
	size_t bytes = strlen(path);
	for (const char *p = list; *p;) {
		size_t n = 0;
		while (p[n] && p[n] != ':' && p[n] != ' ')
			n++;
		if (n == bytes && !strncmp(p, path, n))
			return true;
		p += n + (p[n] != 0);
	}
	return false;
}

struct found {
	size_t count;        /* variables */
	const char *preload; /* value of the last LD_PRELOAD, "" */
	bool session;        /* ours is there */
};

static struct found look(char *const *environment, const char *session)
{
	struct found found = {0, "", false};
	for (; environment && environment[found.count]; found.count++) {
		const char *variable = environment[found.count];
		if (begins(variable, PRELOAD))
			found.preload = variable + sizeof(PRELOAD) - 1;
		else if (begins(variable, SESSION))
			found.session = !strcmp(variable + sizeof(SESSION) - 1, session);
	}
	return found;
}

static char *append(char *to, const char *string)
{
	size_t bytes = strlen(string);
	memcpy(to, string, bytes + 1);
	return to + bytes;
}

static bool room_make(struct restored *r, size_t bytes)
{
	r->bytes = bytes;
	if (bytes <= sizeof(r->small))
		return true;
	long at = sys_call6(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r->mapping = sys_failed(at) ? NULL : (void *)at;
	return r->mapping;
}

static void restore(struct restored *r, char *const *environment)
{
	const char *session = rt_process_session(), *library = library_path();
	r->list = environment;
	r->mapping = NULL;
	if (!*session || !*library || sys_no_calls())
		return;
	struct found found = look(environment, session);
	if (found.session && lists(found.preload, library))
		return;
	size_t vector = (found.count + 3) * sizeof(char *);
	size_t strings = sizeof(PRELOAD) + strlen(library) + 1 + strlen(found.preload) +
			 sizeof(SESSION) + strlen(session);
	if (!room_make(r, vector + strings))
		return;
	char **list = r->mapping ? r->mapping : (void *)r->small;
	char *at = (char *)list + vector;
	size_t n = 0;
	list[n++] = at;
	at = append(append(at, PRELOAD), library);
	if (*found.preload && !lists(found.preload, library))
		at = append(append(at, ":"), found.preload);
	list[n++] = ++at;
	append(append(at, SESSION), session);
	for (size_t i = 0; i < found.count; i++) {
		if (!begins(environment[i], PRELOAD) && !begins(environment[i], SESSION))
			list[n++] = environment[i];
	}
	list[n] = NULL;
	r->list = list;
}

static void restored_end(const struct restored *r)
{
	if (r->mapping)
		sys_call(__NR_munmap, r->mapping, r->bytes, 0);
}

/* Calls a next definition with `restored.list` for the environment; what comes back is an error of
 * exec, or any result of posix_spawn. */
#define WITH_RESTORED(environment, call)                                                           \
	({                                                                                         \
		struct restored restored;                                                          \
		restore(&restored, environment);                                                   \
		if (!rt_real.execve)                                                               \
			rt_real_resolve();                                                         \
		int result_ = (call);                                                              \
		restored_end(&restored);                                                           \
		result_;                                                                           \
	})

HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
	return WITH_RESTORED(envp, rt_real.execve(path, argv, restored.list));
}

HOOK int execv(const char *path, char *const argv[])
{
	return WITH_RESTORED(environ, rt_real.execve(path, argv, restored.list));
}

HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return WITH_RESTORED(envp, rt_real.execvpe(file, argv, restored.list));
}

HOOK int execvp(const char *file, char *const argv[])
{
	return WITH_RESTORED(environ, rt_real.execvpe(file, argv, restored.list));
}

HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
	return WITH_RESTORED(envp, rt_real.fexecve(fd, argv, restored.list));
}

/* Only in glibc since 2.34; nobody calls it before. */
HOOK int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return WITH_RESTORED(envp, rt_real.execveat(fd, path, argv, restored.list, flags));
}

HOOK int posix_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return WITH_RESTORED(
		envp, rt_real.posix_spawn(ret, path, actions, attributes, argv, restored.list));
}

HOOK int posix_spawnp(pid_t *ret, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return WITH_RESTORED(
		envp, rt_real.posix_spawnp(ret, file, actions, attributes, argv, restored.list));
}

/* Arguments from `first` to the NULL behind the last, that included. */
static size_t arguments_count(const char *first, va_list rest)
{
	size_t count = 1;
	for (const char *one = first; one; one = va_arg(rest, const char *))
		count++;
	return count;
}

static void arguments_copy(char **argv, const char *first, va_list rest)
{
	size_t i = 0;
	for (const char *one = first; one; one = va_arg(rest, const char *))
		argv[i++] = (char *)one;
	argv[i] = NULL;
}

/* Declares argv, from the arguments after `first`; `list` is left behind the NULL. */
#define ARGUMENTS(argv, list, first)                                                               \
	va_list list;                                                                              \
	va_start(list, first);                                                                     \
	char *argv[arguments_count(first, list)];                                                  \
	va_end(list);                                                                              \
	va_start(list, first);                                                                     \
	arguments_copy(argv, first, list)

HOOK int execl(const char *path, const char *argument, ...)
{
	ARGUMENTS(argv, list, argument);
	va_end(list);
	return WITH_RESTORED(environ, rt_real.execve(path, argv, restored.list));
}

HOOK int execlp(const char *file, const char *argument, ...)
{
	ARGUMENTS(argv, list, argument);
	va_end(list);
	return WITH_RESTORED(environ, rt_real.execvpe(file, argv, restored.list));
}

HOOK int execle(const char *path, const char *argument, ...)
{
	ARGUMENTS(argv, list, argument);
	va_end(list);
	va_start(list, argument);
	for (size_t i = 1; i < sizeof(argv) / sizeof(argv[0]); i++)
		(void)va_arg(list, const char *);
	char *const *envp = va_arg(list, char *const *);
	va_end(list);
	return WITH_RESTORED(envp, rt_real.execve(path, argv, restored.list));
}
