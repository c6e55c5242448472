/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see real.h. May touch: the same.
 *
 * dlsym(RTLD_NEXT) allocates when it finds nothing and takes the loader's lock; both are out of
 * place in a first malloc that may come from anywhere. The lookup here walks the link maps after
 * our own and their DT_GNU_HASH tables (System V gABI, chapter 5; the GNU table as in binutils' and
 * glibc's use since 2006).
 */
#include "runtime/preload/real.h"

#include "runtime/preload/clear.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

static void *first_malloc(size_t size)
{
	rt_real_resolve();
	return rt_real.malloc(size);
}

static void *first_calloc(size_t count, size_t size)
{
	rt_real_resolve();
	return rt_real.calloc(count, size);
}

static void *first_realloc(void *block, size_t size)
{
	rt_real_resolve();
	return rt_real.realloc(block, size);
}

static void *first_reallocarray(void *block, size_t count, size_t size)
{
	rt_real_resolve();
	return rt_real.reallocarray(block, count, size);
}

static void first_free(void *block)
{
	rt_real_resolve();
	rt_real.free(block);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t size)
{
	rt_real_resolve();
	return rt_real.posix_memalign(ret, alignment, size);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	rt_real_resolve();
	return rt_real.aligned_alloc(alignment, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
	rt_real_resolve();
	return rt_real.memalign(alignment, size);
}

static void *first_valloc(size_t size)
{
	rt_real_resolve();
	return rt_real.valloc(size);
}

static void *first_pvalloc(size_t size)
{
	rt_real_resolve();
	return rt_real.pvalloc(size);
}

static int first_dlclose(void *handle)
{
	rt_real_resolve();
	return rt_real.dlclose(handle);
}

static int first_prctl(
	int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	rt_real_resolve();
	return rt_real.prctl(option, a, b, c, d);
}

static long first_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	rt_real_resolve();
	return rt_real.syscall(number, a, b, c, d, e, f);
}

static int first_mlockall(int flags)
{
	rt_real_resolve();
	return rt_real.mlockall(flags);
}

static int first_fork(void)
{
	rt_real_resolve();
	return rt_real.fork();
}

struct rt_real rt_real = {
	.malloc = first_malloc,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.reallocarray = first_reallocarray,
	.free = first_free,
	.posix_memalign = first_posix_memalign,
	.aligned_alloc = first_aligned_alloc,
	.memalign = first_memalign,
	.valloc = first_valloc,
	.pvalloc = first_pvalloc,
	.dlclose = first_dlclose,
	.prctl = first_prctl,
	.syscall = first_syscall,
	.mlockall = first_mlockall,
	.fork = first_fork,
};

struct tables {
	const uint32_t *gnu_hash;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint16_t *versions; /* NULL: the symbols have none */
};

/* In the table of versions: not the one that is linked with today. */
#define VERSION_HIDDEN 0x8000u

static bool tables_of(const struct link_map *map, struct tables *ret)
{
	*ret = (struct tables){NULL, NULL, NULL, NULL};
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		/* The linker relocates these in place, except in the vdso, whose dynamic section is
		 * read-only. */
		uint64_t at =
			d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr : d->d_un.d_ptr;
		if (d->d_tag == DT_GNU_HASH)
			ret->gnu_hash = (const uint32_t *)at;
		else if (d->d_tag == DT_SYMTAB)
			ret->symbols = (const ElfW(Sym) *)at;
		else if (d->d_tag == DT_STRTAB)
			ret->strings = (const char *)at;
		else if (d->d_tag == DT_VERSYM)
			ret->versions = (const uint16_t *)at;
	}
	return ret->gnu_hash && ret->symbols && ret->strings;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;
	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

typedef const ElfW(Sym) symbol;

/* The function's entry in the object's table; NULL: it has none. */
static symbol *entry_in(const struct link_map *map, const char *name, uint32_t hash)
{
	struct tables t;
	if (!tables_of(map, &t))
		return NULL;
	uint32_t buckets = t.gnu_hash[0], first = t.gnu_hash[1], bloom = t.gnu_hash[2];
	const uint32_t *bucket = t.gnu_hash + 4 + bloom * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;
	uint32_t i = buckets ? bucket[hash % buckets] : 0;
	if (i < first || !i)
		return NULL;
	for (;; i++) {
		uint32_t h = chain[i - first];
		const ElfW(Sym) *s = &t.symbols[i];
		if ((h | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF &&
			ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
			!(t.versions && t.versions[i] & VERSION_HIDDEN) &&
			!strcmp(t.strings + s->st_name, name))
			return s;
		if (h & 1)
			return NULL;
	}
}

static void *symbol_in(const struct link_map *map, const char *name, uint32_t hash)
{
	symbol *s = entry_in(map, name, hash);
	return s ? (void *)(map->l_addr + s->st_value) : NULL;
}

size_t rt_real_bytes_in(const struct link_map *object, const char *name)
{
	symbol *s = entry_in(object, name, gnu_hash(name));
	return s ? s->st_size : 0;
}

void *rt_real_in(const struct link_map *object, const char *name)
{
	return symbol_in(object, name, gnu_hash(name));
}

static const struct link_map *own_map(void)
{
	const struct link_map *map = _r_debug.r_map;
	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map;
}

const char *rt_library_path(void)
{
	const struct link_map *map = own_map();
	return map ? map->l_name : "";
}

void *rt_real_next(const char *name, const char **ret_object)
{
	const struct link_map *map = own_map();
	uint32_t hash = gnu_hash(name);
	for (map = map ? map->l_next : NULL; map; map = map->l_next) {
		void *found = symbol_in(map, name, hash);
		if (found) {
			if (ret_object)
				*ret_object = map->l_name;
			return found;
		}
	}
	return NULL;
}

/* The first object before this library that has malloc. */
static const struct link_map *find_front(void)
{
	const struct link_map *own = own_map(), *map = own ? _r_debug.r_map : NULL;
	uint32_t hash = gnu_hash("malloc");
	while (map && map != own && !symbol_in(map, "malloc", hash))
		map = map->l_next;
	return map == own ? NULL : map;
}

/* Returns the definition that comes first of all, except this library's. */
static void *find_public(const char *name)
{
	const struct link_map *own = own_map();
	uint32_t hash = gnu_hash(name);
	for (const struct link_map *map = _r_debug.r_map; map && map != own; map = map->l_next) {
		void *found = symbol_in(map, name, hash);
		if (found)
			return found;
	}
	return rt_real_next(name, NULL);
}

static void resolve_front(struct rt_real *r)
{
	void *public_realloc = find_public("realloc"), *public_free = find_public("free");
	memcpy(&r->public_realloc, &public_realloc, sizeof(public_realloc));
	memcpy(&r->public_free, &public_free, sizeof(public_free));
	r->front = find_front();
}

static bool is_file_named(const char *path, const char *start)
{
	const char *slash = strrchr(path, '/');
	return !strncmp(slash ? slash + 1 : path, start, strlen(start));
}

bool rt_real_is_libcs(void)
{
	const char *object = NULL;
	void *next = rt_real_next("free", &object);
	return next && next == (void *)rt_real.free && !rt_real_has_front() &&
	       is_file_named(object, "libc.so.");
}

bool rt_real_is_cxx_library(const char *object)
{
	return is_file_named(object, "libstdc++.so") || is_file_named(object, "libc++");
}

/* Nothing of a C++ library in sight yet counts as plain: what dlopen brings later is the usual one.
 */
static bool cxx_is_plain(void)
{
	static const char *const names[] = {"_Znwm", "_ZdlPv"};
	for (unsigned i = 0; i < 2; i++) {
		const char *object = NULL;
		if (rt_real_next(names[i], &object) && !rt_real_is_cxx_library(object))
			return false;
	}
	return true;
}

/* What comes from here is to be clear. tcmalloc's calloc writes to all that it gives; one of
 * unknown type may call malloc, by its public name, which is a hook. */
static void wrap_clearing(struct rt_real *r)
{
	const char *object = "", *measurer = NULL;
	rt_real_next("malloc", &object);
	rt_real_next("malloc_usable_size", &measurer);
	enum rt_allocator allocator = RT_ANY_ALLOCATOR;
	if (is_file_named(object, "libc.so") || is_file_named(object, "libc-"))
		allocator = RT_CLIB;
	else if (is_file_named(object, "libjemalloc"))
		allocator = RT_JEMALLOC;
	else if (is_file_named(object, "libmimalloc"))
		allocator = RT_MIMALLOC;
	rt_clear_wrap(r, allocator, object == measurer);
}

void rt_real_resolve(void)
{
	struct rt_real r = {.malloc = NULL};
	static const struct {
		const char *name;
		size_t offset;
	} table[] = {
		{"malloc", offsetof(struct rt_real, malloc)},
		{"calloc", offsetof(struct rt_real, calloc)},
		{"realloc", offsetof(struct rt_real, realloc)},
		{"reallocarray", offsetof(struct rt_real, reallocarray)},
		{"free", offsetof(struct rt_real, free)},
		{"posix_memalign", offsetof(struct rt_real, posix_memalign)},
		{"aligned_alloc", offsetof(struct rt_real, aligned_alloc)},
		{"memalign", offsetof(struct rt_real, memalign)},
		{"valloc", offsetof(struct rt_real, valloc)},
		{"pvalloc", offsetof(struct rt_real, pvalloc)},
		{"malloc_usable_size", offsetof(struct rt_real, malloc_usable_size)},
		{"free_sized", offsetof(struct rt_real, free_sized)},
		{"free_aligned_sized", offsetof(struct rt_real, free_aligned_sized)},
		{"mmap", offsetof(struct rt_real, mmap)},
		{"mmap64", offsetof(struct rt_real, mmap64)},
		{"munmap", offsetof(struct rt_real, munmap)},
		{"mremap", offsetof(struct rt_real, mremap)},
		{"brk", offsetof(struct rt_real, brk)},
		{"sbrk", offsetof(struct rt_real, sbrk)},
		{"pthread_create", offsetof(struct rt_real, pthread_create)},
		{"dlclose", offsetof(struct rt_real, dlclose)},
		{"dlopen", offsetof(struct rt_real, dlopen)},
		{"dlmopen", offsetof(struct rt_real, dlmopen)},
		{"execve", offsetof(struct rt_real, execve)},
		{"execvpe", offsetof(struct rt_real, execvpe)},
		{"fexecve", offsetof(struct rt_real, fexecve)},
		{"execveat", offsetof(struct rt_real, execveat)},
		{"posix_spawn", offsetof(struct rt_real, posix_spawn)},
		{"posix_spawnp", offsetof(struct rt_real, posix_spawnp)},
		{"prctl", offsetof(struct rt_real, prctl)},
		{"syscall", offsetof(struct rt_real, syscall)},
		{"mlockall", offsetof(struct rt_real, mlockall)},
		{"setrlimit", offsetof(struct rt_real, setrlimit)},
		{"prlimit", offsetof(struct rt_real, prlimit)},
		{"fork", offsetof(struct rt_real, fork)},
		{"_Fork", offsetof(struct rt_real, _Fork)},
		{"daemon", offsetof(struct rt_real, daemon)},
		{"longjmp", offsetof(struct rt_real, longjmp)},
		{"_longjmp", offsetof(struct rt_real, _longjmp)},
		{"siglongjmp", offsetof(struct rt_real, siglongjmp)},
		{"__longjmp_chk", offsetof(struct rt_real, __longjmp_chk)},
		{"system", offsetof(struct rt_real, system)},
		{"popen", offsetof(struct rt_real, popen)},
		{"exit", offsetof(struct rt_real, exit)},
		{"__libc_start_main", offsetof(struct rt_real, __libc_start_main)},
		{"_exit", offsetof(struct rt_real, _exit)},
		{"_Exit", offsetof(struct rt_real, _Exit)},
		{"quick_exit", offsetof(struct rt_real, quick_exit)},
	};
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		void *found = rt_real_next(table[i].name, NULL);
		memcpy((char *)&r + table[i].offset, &found, sizeof(found));
	}
	if (!r.malloc || !r.calloc || !r.realloc || !r.free)
		__builtin_trap();
	resolve_front(&r);
	r.cxx_is_plain = !r.front && cxx_is_plain();
	if (__atomic_load_n(&rt_clears, __ATOMIC_ACQUIRE))
		wrap_clearing(&r);
	rt_real = r;
}
