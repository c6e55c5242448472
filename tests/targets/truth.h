/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The truth of a target, kept by the target itself while it runs, so that no figure is typed by
 * hand. A *site* is a leaf function that is never inlined and calls one allocation function; its
 * counters stand beside it. The first eight bytes of a block name its site and its requested size,
 * so whoever frees it (another thread, a handler) needs no table and no lock; targets therefore
 * keep their hands off these bytes and ask for eight bytes or more, except through truth_count.
 *
 * Output, on stdout, by write(2) alone (stdio would allocate); README.md beside this file is the
 * grammar:
 *     # expect: site=FUNCTION allocations=N allocated_bytes=N live_blocks=N live_bytes=N ...
 *     # end
 *
 * Nothing here allocates. Counters are atomic; peaks hold for one thread at a time only, and
 * temporaries only where nothing but sites allocates in a thread between two sites: therefore both
 * are printed on request.
 */
#ifndef TARGETS_TRUTH_H
#define TARGETS_TRUTH_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
#define TRUTH_LINKAGE extern "C"
#else
#define TRUTH_LINKAGE static
#endif

#ifdef __clang__
#define TRUTH_LEAF __attribute__((noinline, unused))
#else
#define TRUTH_LEAF __attribute__((noinline, noclone, unused))
#endif
/* For functions that must keep a frame of their own in the stack. */
#define TRUTH_FRAME __attribute__((noinline))
#define TRUTH_UNUSED __attribute__((unused))

/* Keeps a call before it from becoming a tail call. */
#define TRUTH_STAY() __asm__ volatile("" ::: "memory")

struct truth_site {
	const char *name;
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t temporary;
	uint64_t peak_blocks;
	uint64_t peak_bytes;
};

/* What is known of a block: its site and its size. site NULL: no block. */
struct truth_tag {
	struct truth_site *site;
	uint64_t bytes;
	void *block;
};

enum truth_detail {
	TRUTH_PLAIN = 0,
	TRUTH_TEMPORARY = 1, /* `temporary` is exact here */
	TRUTH_PEAK = 2,      /* `peak_blocks` and `peak_bytes` are exact here */
};

/* The linker gathers every site of the program between these two. */
#ifdef __cplusplus
extern "C" {
#endif
extern struct truth_site *__start_truth_sites[] __attribute__((weak));
extern struct truth_site *__stop_truth_sites[] __attribute__((weak));
#ifdef __cplusplus
}
#endif

static uint64_t truth_failed;
static uint64_t truth_live_bytes;
static uint64_t truth_peak_bytes;
static int truth_told;              /* all has been said: whatever follows would make it a lie */
static __thread void *truth_latest; /* what this thread allocated last, if not freed since */

#define TRUTH_ADD(counter, n) __atomic_fetch_add(&(counter), (uint64_t)(n), __ATOMIC_RELAXED)
#define TRUTH_GET(counter) __atomic_load_n(&(counter), __ATOMIC_RELAXED)

/* One line on stdout, at most 511 bytes. */
__attribute__((format(printf, 1, 2), unused)) static void truth_say(const char *format, ...)
{
	char line[512];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof line - 1, format, arguments);
	va_end(arguments);
	if (length < 0 || length > (int)sizeof line - 2)
		abort();
	line[length++] = '\n';
	for (int done = 0; done < length;) {
		ssize_t n = write(STDOUT_FILENO, line + done, (size_t)(length - done));
		if (n < 0 && errno != EINTR)
			abort();
		done += n > 0 ? (int)n : 0;
	}
}

/* Ends the target with status 9 when what it relies on, or promises about itself, is not so. */
TRUTH_UNUSED static void truth_need(int holds, const char *what)
{
	if (holds)
		return;
	truth_say("# broken: %s", what);
	_exit(9);
}

static inline void truth_note_peak(void)
{
	truth_peak_bytes = truth_live_bytes;
	for (struct truth_site **site = __start_truth_sites; site != __stop_truth_sites; site++) {
		(*site)->peak_blocks = TRUTH_GET((*site)->live_blocks);
		(*site)->peak_bytes = TRUTH_GET((*site)->live_bytes);
	}
}

/* Counts a block without writing into it. NULL counts as a failed call. */
static inline struct truth_tag truth_count(struct truth_site *site, void *block, uint64_t bytes)
{
	struct truth_tag none = {NULL, 0, NULL};
	truth_need(!truth_told, "an allocation after the end");
	if (!block) {
		TRUTH_ADD(truth_failed, 1);
		return none;
	}
	TRUTH_ADD(site->allocations, 1);
	TRUTH_ADD(site->allocated_bytes, bytes);
	TRUTH_ADD(site->live_blocks, 1);
	TRUTH_ADD(site->live_bytes, bytes);
	TRUTH_ADD(truth_live_bytes, bytes);
	truth_latest = block;
	if (TRUTH_GET(truth_live_bytes) > TRUTH_GET(truth_peak_bytes))
		truth_note_peak();
	struct truth_tag tag = {site, bytes, block};
	return tag;
}

/* Counts the end of a block. realloc never makes a temporary. */
static inline void truth_died(struct truth_tag tag, int by_realloc)
{
	if (!tag.site)
		return;
	truth_need(!truth_told, "a free after the end");
	TRUTH_ADD(tag.site->live_blocks, -1);
	TRUTH_ADD(tag.site->live_bytes, -tag.bytes);
	TRUTH_ADD(truth_live_bytes, -tag.bytes);
	if (tag.block != truth_latest)
		return;
	truth_latest = NULL;
	if (!by_realloc)
		TRUTH_ADD(tag.site->temporary, 1);
}

/* Counts a block and names its site in its first eight bytes. Returns block. */
static inline void *truth_born(struct truth_site *site, void *block, uint64_t bytes)
{
	if (!truth_count(site, block, bytes).site)
		return NULL;
	uint64_t index = 0;
	while (__start_truth_sites[index] != site)
		index++;
	*(volatile uint64_t *)block = index << 48 | bytes;
	return block;
}

static inline struct truth_tag truth_tag_of(void *block)
{
	struct truth_tag tag = {NULL, 0, block};
	if (!block)
		return tag;
	uint64_t word = *(volatile uint64_t *)block;
	tag.site = __start_truth_sites[word >> 48];
	tag.bytes = word & ((UINT64_C(1) << 48) - 1);
	return tag;
}

/* Counts what a realloc of the block that was `old` did. */
static inline void *truth_moved(
	struct truth_site *site, struct truth_tag old, void *block, uint64_t bytes)
{
	if (!block && (bytes || !old.site)) {
		TRUTH_ADD(truth_failed, 1);
		return NULL;
	}
	truth_died(old, 1);
	return block ? truth_born(site, block, bytes) : NULL;
}

/* Counts and frees a block that truth_born named. */
TRUTH_UNUSED static void truth_free(void *block)
{
	truth_died(truth_tag_of(block), 0);
	free(block);
}

#define TRUTH_COUNTERS(function)                                                                   \
	static struct truth_site truth_of_##function = {#function, 0, 0, 0, 0, 0, 0, 0};           \
	__attribute__((section("truth_sites"),                                                     \
		used)) static struct truth_site *truth_entry_##function = &truth_of_##function;

/*
 * A site FUNCTION of any shape: its parameters in parentheses, the bytes it asks for and the call
 * that does, as expressions over these parameters. It returns the block.
 */
#define TRUTH_SITE_AS(function, parameters, requested, call)                                       \
	TRUTH_COUNTERS(function)                                                                   \
	TRUTH_LINKAGE TRUTH_LEAF void *function parameters                                         \
	{                                                                                          \
		void *block = (call);                                                              \
		return truth_born(&truth_of_##function, block, requested);                         \
	}

/* void *FUNCTION(size_t bytes): malloc. */
#define TRUTH_SITE(function) TRUTH_SITE_AS(function, (size_t bytes), bytes, malloc(bytes))

/* void *FUNCTION(void *old, size_t bytes): realloc. */
#define TRUTH_SITE_REALLOC(function)                                                               \
	TRUTH_COUNTERS(function)                                                                   \
	TRUTH_LINKAGE TRUTH_LEAF void *function(void *old, size_t bytes)                           \
	{                                                                                          \
		struct truth_tag tag = truth_tag_of(old);                                          \
		void *block = realloc(old, bytes);                                                 \
		return truth_moved(&truth_of_##function, tag, block, bytes);                       \
	}

TRUTH_UNUSED static void truth_threads(unsigned threads)
{
	truth_say("# expect: totals threads=%u", threads);
}

/* Every site's figures as they stand, without the closing line. */
TRUTH_UNUSED static void truth_tell(int detail)
{
	for (struct truth_site **entry = __start_truth_sites; entry != __stop_truth_sites;
		entry++) {
		struct truth_site *site = *entry;
		char more[128] = "";
		int length = 0;
		if (detail & TRUTH_TEMPORARY)
			length = snprintf(more, sizeof more, " temporary=%lu",
				(unsigned long)TRUTH_GET(site->temporary));
		if (detail & TRUTH_PEAK)
			snprintf(more + length, sizeof more - (size_t)length,
				" peak_blocks=%lu peak_bytes=%lu", (unsigned long)site->peak_blocks,
				(unsigned long)site->peak_bytes);
		truth_say("# expect: site=%s allocations=%lu allocated_bytes=%lu live_blocks=%lu "
			  "live_bytes=%lu%s",
			site->name, (unsigned long)TRUTH_GET(site->allocations),
			(unsigned long)TRUTH_GET(site->allocated_bytes),
			(unsigned long)TRUTH_GET(site->live_blocks),
			(unsigned long)TRUTH_GET(site->live_bytes), more);
	}
	if (TRUTH_GET(truth_failed))
		truth_say("# expect: totals failed=%lu", (unsigned long)TRUTH_GET(truth_failed));
}

/* The last word of a target: from here on it neither allocates nor frees at a site. */
TRUTH_UNUSED static void truth_end(int detail)
{
	truth_told = 1;
	truth_tell(detail);
	truth_say("# end");
}

#endif
