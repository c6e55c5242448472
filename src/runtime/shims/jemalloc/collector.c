/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program asks for a dump or changes what is profiled; at its start and end. May
 * touch: the session's socket, through the runtime.
 */
#include "runtime/shims/jemalloc/collector.h"

#include <errno.h>
#include <string.h>

#include "format/request.h"
#include "runtime/shims/jemalloc/line.h"

/* The runtime's, see preload/client.c. */
extern int heapwise_rt_request(uint32_t what, const char *text, char *message, size_t bytes)
	__attribute__((weak));
extern int heapwise_rt_is_recording(void) __attribute__((weak));
extern void heapwise_rt_ignore(int begins) __attribute__((weak));

bool je_collector_is_there(void)
{
	return heapwise_rt_request && heapwise_rt_is_recording && heapwise_rt_is_recording();
}

int je_collector_ask(uint32_t what, const char *text)
{
	return heapwise_rt_request ? heapwise_rt_request(what, text, NULL, 0) : ENOSYS;
}

bool je_collector_leave_out(bool begins)
{
	if (!heapwise_rt_ignore)
		return false;
	heapwise_rt_ignore(begins);
	return true;
}

static void add_key_number(struct je_line *line, const char *key, uint64_t number)
{
	je_line_add(line, key);
	je_line_add_number(line, number);
	je_line_add(line, "\n");
}

/* False: it has a byte that would end the line. */
static bool add_prefix(struct je_line *line, const char *prefix)
{
	for (const char *p = prefix; *p; p++) {
		if (*p == '\n')
			return false;
		je_line_add_n(line, *p == '%' ? "%%" : p, *p == '%' ? 2 : 1);
	}
	return true;
}

int je_collector_plan(const struct je_plan *plan)
{
	struct je_line line;
	je_line_init(&line);
	je_line_add(&line, plan->accumulated ? "format=jemalloc\n" : "format=jemalloc-live\n");
	add_key_number(&line, "allocated=", plan->allocated);
	add_key_number(&line, "pages=", plan->pages);
	je_line_add(&line, "file=");
	if (!add_prefix(&line, plan->prefix))
		return EINVAL;
	je_line_add(&line, plan->is_last ? ".%p.%s.f.heap\n" : ".%p.%s.%r%c.heap\n");
	return je_collector_ask(HW_ASK_CONFIGURE, line.data);
}

int je_collector_dump(const char *file, char written[JE_FILE_BYTES])
{
	if (file && !*file)
		return ENOENT;
	if (!heapwise_rt_request)
		return ENOSYS;
	return heapwise_rt_request(
		HW_ASK_DUMP, file ? file : "", written, written ? JE_FILE_BYTES : 0);
}
