/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/shims/jemalloc/collector.h"

#include <math.h>

#include "base/util.h"
#include "lib/tap.h"

/* Reads a file with that text. */
static bool read_text(const char *text, struct je_live *ret)
{
	char path[] = "/tmp/jemalloc_dump.XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	bool is_read = je_dump_read(path, ret);
	unlink(path);
	return is_read;
}

CASE(dump_counted, "the header's figures, and the contexts in which something is live")
{
	struct je_live live;
	CHECK(read_text("--- symbol\nbinary=/a\n0x1 heap_v2\n---\nheap_v2/524288\n"
			"  t*: 3: 4000 [9: 9000]\n  t1: 3: 4000 [9: 9000] main\n"
			"@ 0x1 0x2\n  t*: 2: 3000 [2: 3000]\n  t1: 2: 3000 [2: 3000]\n"
			"@ 0x3\n  t*: 0: 0 [6: 5000]\n@ 0x4\n  t*: 1: 1000 [1: 1000]\n"
			"\nMAPPED_LIBRARIES:\n00-11 r-xp 0 00:00 0 /a\n",
		&live));
	CHECK_U64(live.period, 524288);
	CHECK_U64(live.objects, 3);
	CHECK_U64(live.bytes, 4000);
	CHECK_U64(live.contexts, 2);
}

CASE(dump_refused, "what is no dump counts nothing")
{
	struct je_live live;
	CHECK(!read_text("", &live));
	CHECK(!read_text("heap_v2/\n  t*: 1: 1 [1: 1]\n", &live));
	CHECK(!read_text("heap_v2/0\n  t*: 1: 1 [1: 1]\n", &live));
	CHECK(!read_text("heap_v2/1\n  t*: 1 1 [1: 1]\n", &live));
	CHECK(!read_text("heap_v2/1\n  t*: 99999999999999999999999: 1 [1: 1]\n", &live));
	CHECK(!je_dump_read("/nonexistent", &live));
}

CASE(dump_scaled, "sums are scaled as jemalloc scales them, from tiny blocks to large ones")
{
	static const uint64_t sizes[] = {1, 16, 4096, 262144, 524288, 1 << 22, 1ull << 40};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct je_live live = {.period = 524288, .objects = 1000, .bytes = 1000 * sizes[i]};
		double factor = -1 / expm1(-(double)sizes[i] / 524288);
		je_live_scale(&live);
		CHECK(fabs((double)live.bytes - 1000.0 * (double)sizes[i] * factor) <=
			1 + 1e-12 * (double)live.bytes);
		CHECK(fabs((double)live.objects - 1000 * factor) <= 1);
	}
	struct je_live none = {.period = 524288};
	je_live_scale(&none);
	CHECK_U64(none.bytes, 0);
}

TAP_MAIN
