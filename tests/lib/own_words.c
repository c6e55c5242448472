/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A preload by which a process says what its allocator knows of itself: on SIGRTMIN + 9 it writes
 * glibc's malloc_info(), and of what else is loaded jemalloc's mallctl(), mimalloc's blocks of the
 * thread that gets the signal and tcmalloc's properties, to the file OWN_WORDS.THREAD. It appears
 * there whole. No allocation then: the signal has to come while the program waits.
 *
 * Rows of others than glibc, whose XML is first: `jemalloc SIZE BLOCKS`, `mimalloc ADDRESS SIZE`,
 * `tcmalloc PROPERTY BYTES`.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALL_ARENAS = 4096 };

typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);
typedef bool block_fn(const void *, const void *, void *, size_t, void *);

static struct {
	char path[4096];
	char text[1 << 16];
	size_t bytes;
	int fd;
	FILE *stream;
	mallctl_fn *mallctl;
	bool (*visit_blocks)(const void *, bool, block_fn *, void *);
	void *(*default_heap)(void);
	int (*property)(const char *, size_t *);
} own;

static void write_text(void)
{
	for (size_t at = 0; at < own.bytes;) {
		ssize_t n = write(own.fd, own.text + at, own.bytes - at);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	own.bytes = 0;
}

static ssize_t put(void *cookie, const char *text, size_t bytes)
{
	(void)cookie;
	if (bytes > sizeof(own.text) - own.bytes)
		write_text();
	if (bytes > sizeof(own.text))
		return 0;
	memcpy(own.text + own.bytes, text, bytes);
	own.bytes += bytes;
	return (ssize_t)bytes;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[256];
	va_list more;
	va_start(more, format);
	int n = vsnprintf(line, sizeof(line), format, more);
	va_end(more);
	if (n > 0 && (size_t)n < sizeof(line))
		put(NULL, line, (size_t)n);
}

static size_t ask_jemalloc(const char *name)
{
	size_t value = 0;
	size_t bytes = sizeof(value);
	unsigned number;
	if (own.mallctl(name, &value, &bytes, NULL, 0) == 0)
		return value;
	bytes = sizeof(number);
	return own.mallctl(name, &number, &bytes, NULL, 0) == 0 ? number : 0;
}

static void say_jemalloc(void)
{
	static const struct {
		const char *count, *size, *blocks;
	} kinds[] = {
		{"arenas.nbins", "arenas.bin.%zu.size", "stats.arenas.%d.bins.%zu.curregs"},
		{"arenas.nlextents", "arenas.lextent.%zu.size",
			"stats.arenas.%d.lextents.%zu.curlextents"},
	};
	uint64_t epoch = 1;
	own.mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
	for (size_t kind = 0; kind < 2; kind++) {
		size_t count = ask_jemalloc(kinds[kind].count);
		for (size_t i = 0; i < count; i++) {
			char size[64];
			char blocks[64];
			snprintf(size, sizeof(size), kinds[kind].size, i);
			snprintf(blocks, sizeof(blocks), kinds[kind].blocks, ALL_ARENAS, i);
			say("jemalloc %zu %zu\n", ask_jemalloc(size), ask_jemalloc(blocks));
		}
	}
	say("jemalloc 0 %zu\n", ask_jemalloc("stats.allocated"));
}

static bool say_block(const void *heap, const void *area, void *block, size_t size, void *unused)
{
	(void)heap, (void)area, (void)unused;
	if (block)
		say("mimalloc %p %zu\n", block, size);
	return true;
}

static void say_tcmalloc(void)
{
	static const char *const names[] = {"generic.current_allocated_bytes",
		"tcmalloc.current_total_thread_cache_bytes", "tcmalloc.central_cache_free_bytes",
		"tcmalloc.transfer_cache_free_bytes", "tcmalloc.thread_cache_free_bytes"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t value = 0;
		if (own.property(names[i], &value))
			say("tcmalloc %s %zu\n", names[i], value);
	}
}

static void say_all(int number)
{
	(void)number;
	char path[sizeof(own.path) + 32];
	char last[sizeof(path)];
	int thread = (int)gettid();
	snprintf(path, sizeof(path), "%s.%d.part", own.path, thread);
	snprintf(last, sizeof(last), "%s.%d", own.path, thread);
	own.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (own.fd < 0)
		return;
	malloc_info(0, own.stream);
	fflush(own.stream);
	if (own.mallctl)
		say_jemalloc();
	if (own.visit_blocks)
		own.visit_blocks(own.default_heap(), true, say_block, NULL);
	if (own.property)
		say_tcmalloc();
	write_text();
	close(own.fd);
	rename(path, last);
}

/* dlsym() returns what is no function. */
static void find(void *function, const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	memcpy(function, &found, sizeof(found));
}

__attribute__((constructor)) static void begin(void)
{
	static char buffer[4096];
	const char *path = getenv("OWN_WORDS");
	own.stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = put});
	if (!path || !own.stream)
		return;
	setvbuf(own.stream, buffer, _IOFBF, sizeof(buffer));
	snprintf(own.path, sizeof(own.path), "%s", path);
	find(&own.mallctl, "mallctl");
	find(&own.visit_blocks, "mi_heap_visit_blocks");
	find(&own.default_heap, "mi_heap_get_default");
	find(&own.property, "MallocExtension_GetNumericProperty");
	struct sigaction action = {.sa_handler = say_all, .sa_flags = SA_RESTART};
	sigaction(SIGRTMIN + 9, &action, NULL);
}
