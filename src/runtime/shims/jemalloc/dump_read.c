/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program ends, for the leak summary. May touch: the dump that was just written.
 *
 * Only of a dump that this process had written, but bytes of a file all the same: lines that are
 * not as expected count nothing.
 */
#include "runtime/shims/jemalloc/collector.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What a line begins with matters: the rest of a long one is left. */
#define LINE_BYTES 96
#define HEADER "heap_v2/"
#define ALL_THREADS "  t*: "

struct dump_reader {
	char line[LINE_BYTES];
	size_t length;
	bool has_header, is_total_read;
	bool in_context; /* the line before began a context */
	struct je_live *live;
};

/* Reads digits at *at, and moves it after them and `then`. */
static bool read_digits(const char **at, const char *then, uint64_t *ret)
{
	uint64_t number = 0;
	const char *p = *at;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
			return false;
	}
	if (p == *at || strncmp(p, then, strlen(then)) != 0)
		return false;
	*at = p + strlen(then);
	*ret = number;
	return true;
}

static void read_figures(struct dump_reader *r, const char *at)
{
	uint64_t objects, bytes;
	if (!read_digits(&at, ": ", &objects) || !read_digits(&at, " [", &bytes))
		return;
	if (!r->is_total_read) {
		r->is_total_read = true;
		r->live->objects = objects;
		r->live->bytes = bytes;
	} else if (r->in_context) {
		r->live->contexts += objects > 0;
	}
}

static void read_line_of_dump(struct dump_reader *r)
{
	const char *line = r->line;
	size_t header = sizeof(HEADER) - 1, all = sizeof(ALL_THREADS) - 1;
	r->line[r->length] = 0;
	if (!r->has_header) {
		const char *at = line + header;
		r->has_header = !strncmp(line, HEADER, header) &&
				read_digits(&at, "", &r->live->period) && r->live->period;
	} else if (!strncmp(line, ALL_THREADS, all)) {
		read_figures(r, line + all);
	}
	r->in_context = *line == '@';
	r->length = 0;
}

bool je_dump_read(const char *file, struct je_live *ret)
{
	char block[4096];
	struct dump_reader r = {.live = ret};
	*ret = (struct je_live){0, 0, 0, 0};
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t bytes;
	while ((bytes = read(fd, block, sizeof(block))) > 0) {
		for (ssize_t i = 0; i < bytes; i++) {
			if (block[i] == '\n')
				read_line_of_dump(&r);
			else if (r.length < LINE_BYTES - 1)
				r.line[r.length++] = block[i];
		}
	}
	close(fd);
	return r.is_total_read;
}

/* 1 - exp(-x) for x >= 0, also where that is small, without libm. */
static double share_seen(double x)
{
	unsigned halved = 0;
	for (; x > 0.5 && halved < 8; halved++)
		x /= 2;
	if (x > 0.5)
		return 1; /* from 64 on, in a double */
	double term = x, ret = x;
	for (int i = 2; i < 16; i++)
		ret += term *= -x / i;
	for (; halved; halved--)
		ret = ret * (2 - ret); /* 1 - (1 - y)^2 */
	return ret;
}

void je_live_scale(struct je_live *live)
{
	if (!live->objects || !live->bytes || !live->period)
		return;
	double size = (double)live->bytes / (double)live->objects,
	       factor = 1 / share_seen(size / (double)live->period);
	live->objects = (uint64_t)((double)live->objects * factor + 0.5);
	live->bytes = (uint64_t)((double)live->bytes * factor + 0.5);
}
