/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A preload that counts, to hold a recorder's totals against: loaded behind it, it sees the calls
 * that the recorder passes on to libc. It shares no idea with the recorder: no stacks, no blocks,
 * no order; only atomic counters in a file that COUNT_FILE names, mapped and shared, so that they
 * survive every way to end. No lock, no allocation.
 *
 * Quantities: a realloc of a block is a free and an allocation; realloc(p, 0) that frees is a free;
 * calloc and reallocarray count the product; a call that returns no block is failed.
 *
 * A child made by fork, however made, must not add to its parent's counts: the counters are reached
 * through a page that the kernel wipes in children (MADV_WIPEONFORK), and a program that exec
 * starts finds the file taken and counts nothing. COUNT_PROGRAM names the one executable that
 * counts: the recorder's own processes get the same environment.
 *
 * Only C functions are counted: libstdc++'s operator new calls malloc, and a recorder that hooks
 * operator new must end there too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file. tests/lib/hw.py reads it: six little-endian words. */
struct counts {
	uint64_t pid; /* of the process that counts here: the first that came */
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t failed;
	uint64_t calls; /* of any function here: nothing counted means not loaded */
};

enum { PAGE = 4096 };

/* The next definitions, found at the first call, or when loaded: before there are threads. */
static struct {
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
} next;

/* Where to count: a private page that holds the address, zero in a forked child. */
static struct counts **place;

static void *find(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);
	if (!function)
		_exit(125);
	return function;
}

static int is_program(const char *path)
{
	char own[PAGE];
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	if (length < 0 || !path)
		return 0;
	own[length] = 0;
	return !strcmp(own, path);
}

static struct counts *open_counts(void)
{
	if (!is_program(getenv("COUNT_PROGRAM")))
		return NULL;
	const char *path = getenv("COUNT_FILE");
	int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (file < 0)
		return NULL;
	struct counts *counts = NULL;
	if (!ftruncate(file, PAGE)) {
		void *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		counts = map == MAP_FAILED ? NULL : map;
	}
	close(file);
	if (!counts)
		return NULL;
	uint64_t nobody = 0;
	uint64_t self = (uint64_t)getpid();
	if (__atomic_compare_exchange_n(
		    &counts->pid, &nobody, self, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return counts;
	munmap(counts, PAGE);
	return NULL;
}

static void start(void)
{
	int saved = errno;
	next.calloc = find("calloc");
	next.realloc = find("realloc");
	next.reallocarray = find("reallocarray");
	next.free = find("free");
	next.posix_memalign = find("posix_memalign");
	next.aligned_alloc = find("aligned_alloc");
	next.memalign = find("memalign");
	next.valloc = find("valloc");
	next.pvalloc = find("pvalloc");
	struct counts *counts = open_counts();
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, PAGE, MADV_WIPEONFORK))
		_exit(125);
	place = page;
	*place = counts;
	next.malloc = find("malloc"); /* last: it says that all is there */
	errno = saved;
}

/* A program that never allocates has counted too: nothing. */
__attribute__((constructor)) static void start_at_load(void)
{
	if (!next.malloc)
		start();
}

static inline struct counts *counting(void)
{
	if (__builtin_expect(!next.malloc, 0))
		start();
	struct counts *counts = *(struct counts *volatile *)place;
	if (counts)
		__atomic_fetch_add(&counts->calls, 1, __ATOMIC_RELAXED);
	return counts;
}

static void *count_block(struct counts *counts, void *block, size_t bytes)
{
	if (!counts)
		return block;
	if (!block) {
		__atomic_fetch_add(&counts->failed, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	__atomic_fetch_add(&counts->allocations, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counts->allocated_bytes, bytes, __ATOMIC_RELAXED);
	return block;
}

static void count_free(struct counts *counts)
{
	if (counts)
		__atomic_fetch_add(&counts->frees, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t bytes)
{
	struct counts *counts = counting();
	return count_block(counts, next.malloc(bytes), bytes);
}

void *calloc(size_t count, size_t size)
{
	struct counts *counts = counting();
	return count_block(counts, next.calloc(count, size), count * size);
}

/* libc's reallocarray calls realloc by name, which would be counted twice: neither comes back here.
 */
static void *resize(void *old, size_t bytes)
{
	struct counts *counts = counting();
	void *block = next.realloc(old, bytes);
	if (old && (block || !bytes))
		count_free(counts);
	if (!block && old && !bytes)
		return NULL;
	return count_block(counts, block, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return resize(old, bytes);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;
	if (!__builtin_mul_overflow(count, size, &bytes))
		return resize(old, bytes);
	return count_block(counting(), next.reallocarray(old, count, size), 0);
}

void free(void *block)
{
	struct counts *counts = counting();
	if (block)
		count_free(counts);
	next.free(block);
}

int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	struct counts *counts = counting();
	int error = next.posix_memalign(ret, alignment, bytes);
	count_block(counts, error ? NULL : *ret, bytes);
	return error;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	struct counts *counts = counting();
	return count_block(counts, next.aligned_alloc(alignment, bytes), bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
	struct counts *counts = counting();
	return count_block(counts, next.memalign(alignment, bytes), bytes);
}

void *valloc(size_t bytes)
{
	struct counts *counts = counting();
	return count_block(counts, next.valloc(bytes), bytes);
}

void *pvalloc(size_t bytes)
{
	struct counts *counts = counting();
	return count_block(counts, next.pvalloc(bytes), bytes);
}
