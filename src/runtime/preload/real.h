/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: boot (first call into any hook), then read by all. May touch: the dynamic linker's
 * list of objects.
 *
 * The next definitions of the hooked functions.
 */
#ifndef RUNTIME_REAL_H
#define RUNTIME_REAL_H

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>

struct link_map;

struct rt_real {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);               /* NULL: the allocator has none */
	void (*free_sized)(void *, size_t);                 /* NULL before C23's libc */
	void (*free_aligned_sized)(void *, size_t, size_t); /* NULL before C23's libc */
	int (*dlclose)(void *);
	void *(*dlopen)(const char *, int);
	void *(*dlmopen)(long, const char *, int);
	int (*execve)(const char *, char *const *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*fexecve)(int, char *const *, char *const *);
	int (*execveat)(int, const char *, char *const *, char *const *, int); /* glibc 2.34 */
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		const posix_spawnattr_t *, char *const *, char *const *);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		const posix_spawnattr_t *, char *const *, char *const *);
	int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
	long (*syscall)(long, long, long, long, long, long, long);
	int (*mlockall)(int);
	void *(*mmap)(void *, size_t, int, int, int, long);
	void *(*mmap64)(void *, size_t, int, int, int, long);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, void *);
	int (*brk)(void *);
	void *(*sbrk)(long);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*setrlimit)(int, const void *);
	int (*prlimit)(pid_t, int, const void *, void *);
	int (*fork)(void);
	int (*_Fork)(void); /* NULL before glibc 2.34 */
	int (*daemon)(int nochdir, int noclose);
	void (*longjmp)(void *, int);
	void (*_longjmp)(void *, int);
	void (*siglongjmp)(void *, int);
	void (*__longjmp_chk)(void *, int);
	int (*system)(const char *);
	void *(*popen)(const char *, const char *);
	void (*exit)(int);
	int (*__libc_start_main)(int (*)(int, char **, char **), int, char **, void (*)(void),
		void (*)(void), void (*)(void), void *);
	void (*_exit)(int);
	void (*_Exit)(int);
	void (*quick_exit)(int);
	/*
	 * An object that every search for malloc finds before this library: the executable, or a
	 * library that is preloaded before it; NULL: there is none. The functions of the family
	 * that it lacks are this library's hooks, which get its blocks. The two functions below are
	 * those that the program's own calls find then.
	 */
	const struct link_map *front;
	void *(*public_realloc)(void *, size_t);
	void (*public_free)(void *);
	/*
	 * True if operator new and delete are the C++ library's own, which call malloc and free.
	 * False if an allocator brings its own, which are called as they are. False also if `front`
	 * is not NULL: then the C++ library's operators are called as they are.
	 */
	bool cxx_is_plain;
};

/* Until rt_real_resolve() has run, malloc and its family point at functions that call it first. */
extern struct rt_real rt_real;

/* Resolves all functions. Idempotent; any number of threads may run it at a time. Aborts only if
 * libc has no malloc. */
void rt_real_resolve(void);

/* Returns whether an object before this library has malloc, whose calls are not recorded. Resolves
 * if necessary. */
static inline bool rt_real_has_front(void)
{
	if (!rt_real.public_free)
		rt_real_resolve();
	return rt_real.front;
}

/*
 * Returns the next definition of a symbol after this library in load order, of its default version;
 * NULL if there is none. *ret_object becomes the object's name. Reads the objects' own hash tables:
 * unlike dlsym it takes no lock and never allocates.
 */
void *rt_real_next(const char *name, const char **ret_object);

/* Returns whether the file of that name is a C++ library (libstdc++, libc++). */
bool rt_real_is_cxx_library(const char *object);

/* Returns whether malloc and free are libc's own, and no object before this library has malloc. */
bool rt_real_is_libcs(void);

/* Returns the path of this library as in LD_PRELOAD; "" if the loader does not know it. */
const char *rt_library_path(void);

/* Returns an object's own definition of a function; NULL if it has none. */
void *rt_real_in(const struct link_map *object, const char *name);

/* Returns the size of an object's own function, in bytes; 0 if it is not known. */
size_t rt_real_bytes_in(const struct link_map *object, const char *name);

#endif
