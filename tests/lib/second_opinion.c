/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A preload that takes call stacks by other people's unwinders, to hold a recorder's against.
 * Loaded behind the recorder it sees the calls that the recorder passes on to libc, and numbers the
 * successful ones of each thread from 0, as recordings do. Of one in OPINION_EVERY it writes the
 * stack to OPINION_FILE twice: by libunwind (unw_step) and by libgcc (_Unwind_Backtrace). Two,
 * because each of them errs too: where they differ nobody is asked to agree with both.
 *
 * The file is a sequence of 64-bit words, little endian; unit/compare_stacks.c reads it. A record:
 *     thread id, number of the allocation, frames of libunwind, frames of libgcc, the frames
 * A frame is an address: where the function goes on when the inner one returns, or, with the
 * highest bit set, where a signal interrupted it. Frames of preloads are left out.
 *
 * Only the process that OPINION_PROGRAM names writes, and no child of it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

enum { FRAMES_MAX = 16384, HEAD_WORDS = 4 };

#define INTERRUPTED (UINT64_C(1) << 63)

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} next;

static int file = -1;
static pid_t writer;
static uint64_t every = 1;

static __thread uint64_t allocations __attribute__((tls_model("initial-exec")));
/* An unwinder that allocates is counted, but not asked again. */
static __thread int asking __attribute__((tls_model("initial-exec")));

static void *find(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);
	if (!function)
		_exit(125);
	return function;
}

static int is_program(const char *path)
{
	char own[4096];
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	if (length < 0 || !path)
		return 0;
	own[length] = 0;
	return !strcmp(own, path);
}

static void start(void)
{
	int saved = errno;
	next.calloc = find("calloc");
	next.realloc = find("realloc");
	next.posix_memalign = find("posix_memalign");
	next.aligned_alloc = find("aligned_alloc");
	next.memalign = find("memalign");
	next.valloc = find("valloc");
	next.pvalloc = find("pvalloc");
	const char *path = getenv("OPINION_FILE"), *rate = getenv("OPINION_EVERY");
	if (path && is_program(getenv("OPINION_PROGRAM")))
		file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (rate && strtoul(rate, NULL, 10) > 0)
		every = strtoul(rate, NULL, 10);
	writer = getpid();
	next.malloc = find("malloc"); /* last: it says that all is there */
	errno = saved;
}

static inline void started(void)
{
	if (__builtin_expect(!next.malloc, 0))
		start();
}

struct frames {
	uint64_t *at;
	uint64_t count;
};

/* A recorder's hooks and this preload itself: what stands before the first frame of the program. */
static int is_preload(uint64_t address)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)address, &found))
		return 0;
	const char *path = found.dlfo_link_map->l_name;
	return strstr(path, "/libheapwise-rt.so") || strstr(path, "/libsecond_opinion.so");
}

static void add_frame(struct frames *frames, uint64_t address, int interrupted)
{
	if (!address || frames->count == FRAMES_MAX || (!frames->count && is_preload(address)))
		return;
	frames->at[frames->count++] = address | (interrupted ? INTERRUPTED : 0);
}

static void ask_libunwind(struct frames *frames)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	for (;;) {
		unw_word_t address;
		if (unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_REG_IP, &address))
			return;
		add_frame(frames, address, unw_is_signal_frame(&cursor) > 0);
	}
}

static _Unwind_Reason_Code add_libgcc(struct _Unwind_Context *context, void *frames)
{
	int interrupted = 0;
	uint64_t address = _Unwind_GetIPInfo(context, &interrupted);
	add_frame(frames, address, interrupted);
	return _URC_NO_REASON;
}

static void ask(uint64_t number)
{
	static uint64_t words[HEAD_WORDS + 2 * FRAMES_MAX];
	static int taken;
	while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	struct frames unwind = {words + HEAD_WORDS, 0};
	ask_libunwind(&unwind);
	struct frames gcc = {unwind.at + unwind.count, 0};
	_Unwind_Backtrace(add_libgcc, &gcc);
	words[0] = (uint64_t)syscall(SYS_gettid);
	words[1] = number;
	words[2] = unwind.count;
	words[3] = gcc.count;
	size_t bytes = (HEAD_WORDS + unwind.count + gcc.count) * sizeof *words;
	if (write(file, words, bytes) != (ssize_t)bytes)
		_exit(125);
	__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
}

/* Numbers in no pattern that a program could share. */
static int is_chosen(uint64_t number)
{
	return (number * UINT64_C(0x9e3779b97f4a7c15) >> 32) % every == 0;
}

static __attribute__((noinline)) void *count(void *block)
{
	if (!block)
		return NULL;
	uint64_t number = allocations++;
	if (file < 0 || asking || !is_chosen(number) || getpid() != writer)
		return block;
	int saved = errno;
	asking = 1;
	ask(number);
	asking = 0;
	errno = saved;
	return block;
}

void *malloc(size_t bytes)
{
	started();
	return count(next.malloc(bytes));
}

void *calloc(size_t number, size_t size)
{
	started();
	return count(next.calloc(number, size));
}

void *realloc(void *old, size_t bytes)
{
	started();
	return count(next.realloc(old, bytes));
}

int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	started();
	int error = next.posix_memalign(ret, alignment, bytes);
	if (!error)
		count(*ret);
	return error;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	started();
	return count(next.aligned_alloc(alignment, bytes));
}

void *memalign(size_t alignment, size_t bytes)
{
	started();
	return count(next.memalign(alignment, bytes));
}

void *valloc(size_t bytes)
{
	started();
	return count(next.valloc(bytes));
}

void *pvalloc(size_t bytes)
{
	started();
	return count(next.pvalloc(bytes));
}
