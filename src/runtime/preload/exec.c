/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program starts another program, any thread, also in a vfork child, which shares
 * its parent's memory. May touch: the environment that is handed over, the session's name, next
 * definitions.
 *
 * A program may hand over an environment without LD_PRELOAD and HEAPWISE_SESSION (env -i, clearenv,
 * a fixed list): these functions put the two back (in programs that `heapwise check` runs also its
 * library and HEAPWISE_CHECK) and leave everything else as it is. A program
 * that would fail because of them, or complain, is started without (loadable.h). Mostly both are
 * there, and nothing is copied. The new list stands on the stack, or in a mapping of its own if it
 * is long: nothing is allocated and no memory of the program is written, since the parent of a
 * vfork child goes on with it. (Such a child leaves that mapping to its parent.)
 *
 * The collector is notified of a program that can't be recorded, since that will not say hello
 * itself: before an exec, which is taken back if the exec fails, or after a posix_spawn.
 *
 * system() and popen() start their shell inside libc with the process's own environment. If that
 * lacks the two, the process has a list with them while libc does so. Other threads may read that
 * list at any time later, so it stays; the next call uses it again.
 */
#include "runtime/preload/hooks.h"
#include "runtime/preload/loadable.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"
#include "runtime/preload/session.h"

#include <link.h>
#include <linux/fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="
/* What the names of all our libraries begin with. */
#define BESIDE "libheapwise-"
#define SESSION HW_SESSION_ENV "="
#define CHECK HW_CHECK_ENV "="
/* That of `heapwise check`, in this one's folder. */
#define GUARD BESIDE "guard.so"
/* On the stack; a usual environment has 50 variables. */
#define SMALL_BYTES 4096

struct restored {
	struct hw_notice notice; /* reason 0: there is nothing to report */
	char *const *list;       /* to pass on: the program's own, or a changed copy */
	void *mapping;           /* NULL: none */
	size_t bytes;
	bool lasting; /* a mapping in any case */
	char small[SMALL_BYTES] __attribute__((aligned(8)));
};

static bool has_prefix(const char *string, const char *start)
{
	return !strncmp(string, start, strlen(start));
}

/* The next entry of a list with spaces or colons between, as ld.so(8) reads it. */
static size_t entry_bytes(const char *list)
{
	size_t n = 0;
	while (list[n] && list[n] != ':' && list[n] != ' ')
		n++;
	return n;
}

static bool is_entry(const char *entry, size_t bytes, const char *path)
{
	return strlen(path) == bytes && !strncmp(entry, path, bytes);
}

/* Another library of ours, in this one's folder. */
static bool is_beside(const char *entry, size_t bytes, const char *library)
{
	size_t folder = (size_t)(strrchr(library, '/') + 1 - library), name = sizeof(BESIDE) - 1;
	return bytes > folder + name && !strncmp(entry, library, folder) &&
	       !strncmp(entry + folder, BESIDE, name);
}

/* The library of `heapwise check`. */
static bool is_guard(const char *entry, size_t bytes)
{
	size_t name = sizeof(GUARD) - 1;
	return bytes > name && !strncmp(entry + bytes - name, GUARD, name) &&
	       entry[bytes - name - 1] == '/';
}

static bool list_contains_guard(const char *list)
{
	for (const char *p = list; *p;) {
		size_t n = entry_bytes(p);
		if (is_guard(p, n))
			return true;
		p += n + (p[n] != 0);
	}
	return false;
}

static bool list_contains(const char *list, const char *path)
{
	for (const char *p = list; *p;) {
		size_t n = entry_bytes(p);
		if (is_entry(p, n, path))
			return true;
		p += n + (p[n] != 0);
	}
	return false;
}

struct found {
	size_t count;        /* variables */
	const char *preload; /* value of the last LD_PRELOAD, "" */
	bool session;        /* there is one: ours, or that of a recorder inside ours */
	const char *check;   /* HEAPWISE_CHECK as a whole; NULL: there is none */
};

static struct found find_variables(char *const *environment)
{
	struct found found = {0, "", false, NULL};
	for (; environment && environment[found.count]; found.count++) {
		const char *variable = environment[found.count];
		if (has_prefix(variable, PRELOAD))
			found.preload = variable + sizeof(PRELOAD) - 1;
		else if (has_prefix(variable, SESSION))
			found.session = true;
		else if (has_prefix(variable, CHECK))
			found.check = variable;
	}
	return found;
}

/* "HEAPWISE_CHECK=…" as this process got it, which may change its environment; "": it is not one of
 * `heapwise check`, or the variable is too long to be kept. */
static char check_variable[512];

static __attribute__((constructor)) void keep_check_variable(void)
{
	const struct found found = find_variables(environ);
	bool kept = list_contains_guard(found.preload) && found.check &&
		    strlen(found.check) < sizeof(check_variable);
	if (kept)
		memcpy(check_variable, found.check, strlen(found.check) + 1);
}

static char *append_string(char *to, const char *string)
{
	size_t bytes = strlen(string);
	memcpy(to, string, bytes + 1);
	return to + bytes;
}

/* The libraries of a list but this one, and the one that stands right after it (without us also
 * those beside it, which would be in the way of a real LeakSanitizer or jemalloc), each with
 * `*separator` before it, which becomes ":". */
static char *append_others(
	char *to, const char *list, const char *library, const char *separator, bool with)
{
	for (const char *p = list; *p;) {
		size_t n = entry_bytes(p);
		bool ours = is_entry(p, n, library) ||
			    (with ? *check_variable && is_guard(p, n) : is_beside(p, n, library));
		if (n && !ours) {
			to = append_string(to, separator);
			memcpy(to, p, n);
			to += n;
			*to = 0;
			separator = ":";
		}
		p += n + (p[n] != 0);
	}
	return to;
}

static bool make_variables_room(struct restored *r, size_t bytes)
{
	r->bytes = bytes;
	if (bytes <= sizeof(r->small) && !r->lasting)
		return true;
	long at = sys_call6(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r->mapping = sys_failed(at) ? NULL : (void *)at;
	return r->mapping;
}

/* The path of the library of `heapwise check`, after a colon. */
static char *append_guard(char *to, const char *library)
{
	size_t folder = (size_t)(strrchr(library, '/') + 1 - library);
	to = append_string(to, ":");
	memcpy(to, library, folder);
	return append_string(to + folder, GUARD);
}

/* The variables as they shall be: with this library and the session, or without. Returns how
 * many there are. */
static size_t build_variables(char **list, char *at, const struct found *found, bool with)
{
	const char *library = rt_library_path();
	size_t n = 0;
	list[n] = at;
	at = append_string(append_string(at, PRELOAD), with ? library : "");
	if (with && *check_variable)
		at = append_guard(at, library);
	char *end = append_others(at, found->preload, library, with ? ":" : "", with);
	if (with || end != at)
		n++;
	if (with && !found->session) {
		list[n++] = ++end;
		append_string(append_string(end, SESSION), rt_session_path());
	}
	if (with && *check_variable && !found->check)
		list[n++] = check_variable;
	return n;
}

static void rewrite_environment(struct restored *r, char *const *environment, bool with)
{
	struct found found = find_variables(environment);
	bool preloaded = list_contains(found.preload, rt_library_path());
	bool checked = !*check_variable || (found.check && list_contains_guard(found.preload));
	if (with ? preloaded && found.session && checked : !preloaded && !found.session)
		return;
	size_t vector = (found.count + 4) * sizeof(char *);
	size_t strings = sizeof(PRELOAD) + 2 * strlen(rt_library_path()) + sizeof(GUARD) + 2 +
			 strlen(found.preload) + sizeof(SESSION) + strlen(rt_session_path()) + 1;
	if (!make_variables_room(r, vector + strings))
		return;
	char **list = r->mapping ? r->mapping : (void *)r->small;
	size_t n = build_variables(list, (char *)list + vector, &found, with);
	for (size_t i = 0; i < found.count; i++) {
		if (!has_prefix(environment[i], PRELOAD) &&
			(!has_prefix(environment[i], SESSION) || (with && found.session)))
			list[n++] = environment[i];
	}
	list[n] = NULL;
	r->list = list;
}

/* What the new program is: a path, a name to look for in PATH, or an open file. */
struct program {
	int folder;
	const char *path;
	bool search;
};

static bool environment_is_ours(char *const *environment)
{
	return *rt_session_path() && *rt_library_path() && !sys_no_calls() &&
	       (!environment || sys_readable((uint64_t)environment));
}

static void restore_variables(struct restored *r, char *const *environment, struct program program)
{
	r->list = environment;
	r->mapping = NULL;
	r->lasting = false;
	r->notice.reason = HW_UNRECORDED_NOT;
	if (!environment_is_ours(environment))
		return;
	r->notice.pid = 0;
	r->notice.reason = program.search
				   ? rt_unrecorded_by_name(program.path, r->notice.path)
				   : rt_unrecorded(program.folder, program.path, r->notice.path);
	rewrite_environment(r, environment, rt_loadable(r->notice.reason));
}

/* Reports an unrecorded program; if no collector answers, the recording at least counts it. */
static void report_unrecorded(struct hw_notice *notice)
{
	if (!rt_session_send(notice))
		rt_process_count_unsent();
}

/* Reports before an exec, after which that is not possible any more. */
static void announce_exec(struct restored *r)
{
	if (r->notice.reason)
		report_unrecorded(&r->notice);
}

/* It has failed. */
static void take_word_back(struct restored *r)
{
	if (!r->notice.reason)
		return;
	r->notice.reason = HW_UNRECORDED_NOT;
	rt_session_send(&r->notice);
}

static void announce_started(struct restored *r, int error, pid_t child)
{
	r->notice.pid = child;
	if (r->notice.reason && !error)
		report_unrecorded(&r->notice);
}

static void restored_end(const struct restored *r)
{
	if (r->mapping)
		sys_call(__NR_munmap, r->mapping, r->bytes, 0);
}

#define AT_PATH(path) ((struct program){AT_FDCWD, path, false})
#define BY_NAME(name) ((struct program){AT_FDCWD, name, true})
#define OPEN_FILE(fd, path) ((struct program){fd, path, false})

/* Calls a next definition with `restored.list` for the environment; what comes back is an error. */
#define WITH_RESTORED(environment, program_, call)                                                 \
	({                                                                                         \
		struct restored restored;                                                          \
		restore_variables(&restored, environment, program_);                               \
		if (!rt_real.execve)                                                               \
			rt_real_resolve();                                                         \
		announce_exec(&restored);                                                          \
		int result_ = (call);                                                              \
		take_word_back(&restored);                                                         \
		restored_end(&restored);                                                           \
		result_;                                                                           \
	})

/* Does so for posix_spawn, with `child` for its result. */
#define WITH_RESTORED_SPAWN(environment, program_, call)                                           \
	({                                                                                         \
		struct restored restored;                                                          \
		pid_t child = 0;                                                                   \
		restore_variables(&restored, environment, program_);                               \
		if (!rt_real.posix_spawn)                                                          \
			rt_real_resolve();                                                         \
		int result_ = (call);                                                              \
		if (!result_ && ret)                                                               \
			*ret = child;                                                              \
		announce_started(&restored, result_, child);                                       \
		restored_end(&restored);                                                           \
		result_;                                                                           \
	})

HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
	return WITH_RESTORED(envp, AT_PATH(path), rt_real.execve(path, argv, restored.list));
}

HOOK int execv(const char *path, char *const argv[])
{
	return WITH_RESTORED(environ, AT_PATH(path), rt_real.execve(path, argv, restored.list));
}

HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return WITH_RESTORED(envp, BY_NAME(file), rt_real.execvpe(file, argv, restored.list));
}

HOOK int execvp(const char *file, char *const argv[])
{
	return WITH_RESTORED(environ, BY_NAME(file), rt_real.execvpe(file, argv, restored.list));
}

HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
	return WITH_RESTORED(envp, OPEN_FILE(fd, NULL), rt_real.fexecve(fd, argv, restored.list));
}

/* Only in glibc since 2.34; it is not called before. */
HOOK int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	bool empty = flags & AT_EMPTY_PATH && sys_readable((uint64_t)path) && !*path;
	return WITH_RESTORED(envp, OPEN_FILE(fd, empty ? NULL : path),
		rt_real.execveat(fd, path, argv, restored.list, flags));
}

/* From the assembly of syscall(): execve or execveat by its number, with the arguments of either.
 */
long rt_exec_by_number(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, int flags);
__attribute__((used)) long rt_exec_by_number(
	long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, int flags)
{
	if (number == __NR_execve)
		return execve((const char *)a, (char *const *)b, (char *const *)c);
	if (!rt_real.execve)
		rt_real_resolve();
	if (!rt_real.execveat)
		return rt_real.syscall(number, (long)a, (long)b, (long)c, (long)d, flags, 0);
	return execveat((int)a, (const char *)b, (char *const *)c, (char *const *)d, flags);
}

HOOK int posix_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return WITH_RESTORED_SPAWN(envp, AT_PATH(path),
		rt_real.posix_spawn(&child, path, actions, attributes, argv, restored.list));
}

HOOK int posix_spawnp(pid_t *ret, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return WITH_RESTORED_SPAWN(envp, BY_NAME(file),
		rt_real.posix_spawnp(&child, file, actions, attributes, argv, restored.list));
}

/* The arguments from `first` up to and including the NULL. */
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

/* Declares argv, from the arguments after `first`; `list` then points after the NULL. */
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
	return WITH_RESTORED(environ, AT_PATH(path), rt_real.execve(path, argv, restored.list));
}

HOOK int execlp(const char *file, const char *argument, ...)
{
	ARGUMENTS(argv, list, argument);
	va_end(list);
	return WITH_RESTORED(environ, BY_NAME(file), rt_real.execvpe(file, argv, restored.list));
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
	return WITH_RESTORED(envp, AT_PATH(path), rt_real.execve(path, argv, restored.list));
}

/* The last list that was lent: never changed by the runtime, never unmapped. */
static char *const *used_list;

static bool same_list(char *const *a, char *const *b)
{
	for (; *a && *b; a++, b++) {
		if (*a != *b && strcmp(*a, *b) != 0)
			return false;
	}
	return *a == *b;
}

/* What a shell is to get in place of `own`; `own` itself if that is right. */
static char *const *list_to_lend(char *const *own)
{
	if (!*rt_session_path() || !*rt_library_path() || sys_no_calls())
		return own;
	struct restored r;
	r.list = own;
	r.mapping = NULL;
	r.lasting = true;
	rewrite_environment(
		&r, own, rt_loadable(rt_unrecorded(AT_FDCWD, "/bin/sh", r.notice.path)));
	if (r.list == own)
		return own;
	char *const *last = __atomic_load_n(&used_list, __ATOMIC_ACQUIRE);
	if (last && same_list(last, r.list)) {
		restored_end(&r);
		return last;
	}
	__atomic_store_n(&used_list, r.list, __ATOMIC_RELEASE);
	return r.list;
}

/* Unless another thread has changed the environment meanwhile: then it keeps what that made of it.
 */
static void take_back(char **list, char **own)
{
	struct restored r;
	restore_variables(&r, own, AT_PATH("/bin/sh"));
	if (r.list != own && same_list(list, r.list))
		__atomic_compare_exchange_n(
			&environ, &list, own, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	restored_end(&r);
}

static __attribute__((noinline)) int system_lent(const char *command, char **list)
{
	char **own = environ;
	environ = list;
	int result = rt_real.system(command);
	take_back(list, own);
	return result;
}

static __attribute__((noinline)) void *popen_lent(
	const char *command, const char *mode, char **list)
{
	char **own = environ;
	environ = list;
	void *result = rt_real.popen(command, mode);
	take_back(list, own);
	return result;
}

/* Mostly nothing is lent: then these jump, and nothing of ours is on libc's stack. */
HOOK int system(const char *command)
{
	char **list = (char **)list_to_lend(environ);
	if (!rt_real.system)
		rt_real_resolve();
	return list == environ ? rt_real.system(command) : system_lent(command, list);
}

HOOK void *popen(const char *command, const char *mode);
HOOK void *popen(const char *command, const char *mode)
{
	char **list = (char **)list_to_lend(environ);
	if (!rt_real.popen)
		rt_real_resolve();
	return list == environ ? rt_real.popen(command, mode) : popen_lent(command, mode, list);
}
