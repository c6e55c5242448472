/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program asks for statistics of its allocator; any thread. May touch: glibc's
 * mallinfo2(), which takes the locks of its arenas; /proc/self/statm.
 */
#include "runtime/shims/jemalloc/stats.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "runtime/shims/jemalloc/line.h"
#include "runtime/shims/jemalloc/mallctl.h"
#include "runtime/shims/jemalloc/profiler.h"
#include "runtime/shims/jemalloc/texts.h"

#define API __attribute__((visibility("default")))

static struct je_stats last;
static uint64_t epoch;
static char is_locked;

static void lock_stats(void)
{
	while (__atomic_test_and_set(&is_locked, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void unlock_stats(void)
{
	__atomic_clear(&is_locked, __ATOMIC_RELEASE);
}

void je_stats_free_lock(void)
{
	unlock_stats();
}

/* The process's; 0: not to be read. */
static size_t read_resident(void)
{
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[bytes > 0 ? bytes : 0] = 0;
	const char *at = strchr(text, ' ');
	size_t pages = 0;
	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
		pages = pages * 10 + (size_t)(*at - '0');
	return pages * (size_t)getpagesize();
}

static struct je_stats read_stats(void)
{
	struct mallinfo2 info = mallinfo2();
	size_t page = (size_t)getpagesize(), resident = read_resident();
	struct je_stats ret = {.allocated = info.uordblks + info.hblkhd,
		.mapped = info.arena + info.hblkhd,
		.known = info.arena + info.hblkhd && resident};
	ret.active = (ret.allocated + page - 1) / page * page;
	ret.resident = ret.mapped < resident ? ret.mapped : resident;
	return ret;
}

uint64_t je_stats_refresh(void)
{
	struct je_stats now = read_stats();
	lock_stats();
	last = now;
	uint64_t ret = ++epoch;
	unlock_stats();
	return ret;
}

uint64_t je_stats_epoch(void)
{
	uint64_t ret = __atomic_load_n(&epoch, __ATOMIC_RELAXED);
	return ret ? ret : je_stats_refresh();
}

struct je_stats je_stats_read(void)
{
	je_stats_epoch();
	lock_stats();
	struct je_stats ret = last;
	unlock_stats();
	return ret;
}

static void print_to_stderr(void *context, const char *text)
{
	(void)context;
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void add_pair_of(struct je_line *line, const char *before, const char *name, uint64_t number)
{
	je_line_add(line, before);
	je_line_add(line, name);
	je_line_add_number(line, number);
}

static void add_text_form(struct je_line *line, const struct je_stats *stats)
{
	je_line_add(line, "___ Begin jemalloc statistics ___\nVersion: \"" JE_VERSION "\"\n"
			  "No jemalloc is loaded: heapwise stands in for its profiler.\n");
	je_line_add(line, je_conf.prof ? "opt.prof: true\n" : "opt.prof: false\n");
	if (je_conf.prof) {
		add_pair_of(line, "", "prof.lg_sample: ", je_profiler_lg_sample());
		je_line_add(line,
			je_profiler_active() ? "\nprof.active: true\n" : "\nprof.active: false\n");
	}
	if (stats->known) {
		add_pair_of(line, "", "Allocated: ", stats->allocated);
		add_pair_of(line, ", ", "active: ", stats->active);
		add_pair_of(line, ", ", "resident: ", stats->resident);
		add_pair_of(line, ", ", "mapped: ", stats->mapped);
		je_line_add(line, "\n");
	} else {
		je_line_add(line, "Figures of the allocator are not known.\n");
	}
	je_line_add(line, "--- End jemalloc statistics ---\n");
}

static void add_json_form(struct je_line *line, const struct je_stats *stats)
{
	je_line_add(line, "{\"jemalloc\":{\"version\":\"" JE_VERSION
			  "\",\"config\":{\"prof\":true,\"stats\":true},\"opt\":{\"prof\":");
	je_line_add(line, je_conf.prof ? "true" : "false");
	if (je_conf.prof) {
		je_line_add(line, "},\"prof\":{\"active\":");
		je_line_add(line, je_profiler_active() ? "true" : "false");
		add_pair_of(line, ",", "\"lg_sample\":", je_profiler_lg_sample());
	}
	je_line_add(line, "},\"stats\":{");
	if (stats->known) {
		add_pair_of(line, "", "\"allocated\":", stats->allocated);
		add_pair_of(line, ",", "\"active\":", stats->active);
		add_pair_of(line, ",", "\"resident\":", stats->resident);
		add_pair_of(line, ",", "\"mapped\":", stats->mapped);
	}
	je_line_add(line, "}}}\n");
}

/* By the allocator's own figures; a real jemalloc prints its own. */
API void malloc_stats_print(
	void (*write_cb)(void *, const char *), void *cbopaque, const char *opts)
{
	const struct je_real *real = je_real_find();
	if (real) {
		real->stats_print(write_cb, cbopaque, opts);
		return;
	}
	je_stats_refresh();
	struct je_stats stats = je_stats_read();
	struct je_line line;
	je_line_init(&line);
	if (opts && strchr(opts, 'J'))
		add_json_form(&line, &stats);
	else
		add_text_form(&line, &stats);
	(write_cb ? write_cb : print_to_stderr)(cbopaque, line.data);
}

API void je_malloc_stats_print(void (*)(void *, const char *), void *, const char *)
	__attribute__((alias("malloc_stats_print")));
API void _rjem_malloc_stats_print(void (*)(void *, const char *), void *, const char *)
	__attribute__((alias("malloc_stats_print")));
