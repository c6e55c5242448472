/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the library is loaded, the program ends, a child is forked; when the program calls
 * mallctl(), in any thread. May touch: stderr, the collector.
 */
#include "runtime/shims/jemalloc/profiler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/request.h"
#include "runtime/shims/jemalloc/collector.h"
#include "runtime/shims/jemalloc/line.h"
#include "runtime/shims/jemalloc/mallctl.h"
#include "runtime/shims/jemalloc/stats.h"
#include "runtime/shims/jemalloc/texts.h"

#define LG_MOST 63

struct je_conf je_conf;

static bool is_active, gdump_wanted;
static uint64_t lg_sample;
static __thread bool thread_is_off __attribute__((tls_model("initial-exec")));
static char prefix[JE_PREFIX_BYTES];
static char prefix_is_locked;
/* Dumps one after the other, as there. */
static pthread_mutex_t dumping = PTHREAD_MUTEX_INITIALIZER;

static void print_line(void *context, const char *line)
{
	(void)context;
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return;
}

static void copy_prefix(char *to, const char *from)
{
	while (__atomic_test_and_set(&prefix_is_locked, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
	size_t bytes = strnlen(from, JE_PREFIX_BYTES - 1);
	memcpy(to, from, bytes);
	to[bytes] = 0;
	__atomic_clear(&prefix_is_locked, __ATOMIC_RELEASE);
}

uint64_t je_profiler_interval(void)
{
	return je_conf.prof && je_conf.lg_prof_interval >= 0 ? 1ull << je_conf.lg_prof_interval : 0;
}

static int plan_dumps(bool is_last)
{
	char name[JE_PREFIX_BYTES];
	copy_prefix(name, prefix);
	struct je_plan plan = {
		.prefix = name, .is_last = is_last, .accumulated = je_conf.prof_accum};
	if (*name && !is_last) {
		plan.allocated = je_profiler_interval();
		plan.pages = je_profiler_gdump();
	}
	return je_collector_plan(&plan);
}

/* The collector has the plan of the parent for a forked child. */
static void free_locks(void)
{
	__atomic_clear(&prefix_is_locked, __ATOMIC_RELEASE);
	je_stats_free_lock();
	pthread_mutex_init(&dumping, NULL);
}

static void abort_invalid_conf(void)
{
	print_line(
		NULL, "<jemalloc>: Abort (abort_conf:true) on invalid conf value (see above).\n");
	abort();
}

/* There each sampled block has pages of its own; here heights are those of a heap without samples.
 */
static void say_gdump_differs(void)
{
	if (je_profiler_gdump() && !je_profiler_lg_sample())
		print_line(NULL,
			"<jemalloc>: heapwise: prof_gdump with lg_prof_sample:0 dumps far less "
			"often than jemalloc, which gives each sampled block pages of its "
			"own: here heights are those of the heap without a profiler\n");
}

void je_profiler_start(void)
{
	char buffer[PATH_MAX + 1];
	struct je_conf_texts texts;
	pthread_atfork(NULL, NULL, free_locks);
	je_texts_collect(buffer, &texts);
	bool is_alone = !je_real_find();
	je_conf_read(&texts, is_alone ? print_line : NULL, NULL, &je_conf);
	if (is_alone && je_conf.abort_conf && je_conf.had_error)
		abort_invalid_conf();
	if (!je_conf.prof)
		return;
	je_conf.prof = je_collector_is_there();
	if (!je_conf.prof)
		return;
	is_active = je_conf.prof_active;
	gdump_wanted = je_conf.prof_gdump;
	lg_sample = je_conf.lg_prof_sample;
	copy_prefix(prefix, je_conf.prof_prefix);
	if (plan_dumps(false))
		print_line(NULL, "<jemalloc>: heapwise: can't set up heap profiles\n");
	else
		say_gdump_differs();
	if (!is_active)
		je_collector_ask(HW_ASK_STOP, "");
}

static void add_amount(struct je_line *line, const char *before, uint64_t number, const char *what)
{
	je_line_add(line, before);
	je_line_add_number(line, number);
	je_line_add(line, what);
	je_line_add(line, number == 1 ? "" : "s");
}

/* As prof_leakcheck() of jemalloc: the sums are scaled, where jeprof scales each context. */
static void report_leaks(const char *file)
{
	struct je_live live;
	if (!je_dump_read(file, &live) || !live.bytes)
		return;
	je_live_scale(&live);
	struct je_line line;
	je_line_init(&line);
	add_amount(&line, "<jemalloc>: Leak approximation summary: ~", live.bytes, " byte");
	add_amount(&line, ", ~", live.objects, " object");
	add_amount(&line, ", >= ", live.contexts, " context");
	je_line_add(&line, "\n<jemalloc>: Run jeprof on dump output for leak detail\n");
	if (je_conf.prof_leak_error)
		je_line_add(&line, "<jemalloc>: Exiting with error code because memory leaks were "
				   "detected\n");
	print_line(NULL, line.data);
	if (je_conf.prof_leak_error)
		_exit(1);
}

void je_profiler_end(void)
{
	char file[JE_FILE_BYTES];
	if (je_conf.stats_print && !je_real_find())
		malloc_stats_print(NULL, NULL, "");
	if (!je_conf.prof || !je_collector_is_there())
		return;
	/* As jemalloc: an empty prefix of the options counts, not one that was set later. */
	if (!je_conf.prof_final || !je_conf.prof_prefix[0]) {
		/* With a plan the collector looks at what is due by the one before. */
		if (je_profiler_interval() || je_profiler_gdump())
			plan_dumps(false);
		return;
	}
	int error = plan_dumps(true);
	if (!error)
		error = je_collector_dump(NULL, file);
	if (error) {
		struct je_line line;
		je_line_init(&line);
		je_line_add(&line, "<jemalloc>: failed to write the final heap profile: ");
		je_line_add(&line, strerrordesc_np(error) ? strerrordesc_np(error) : "error");
		je_line_add(&line, "\n");
		print_line(NULL, line.data);
	} else if (je_conf.prof_leak) {
		report_leaks(file);
	}
}

bool je_profiler_active(void)
{
	return je_conf.prof && __atomic_load_n(&is_active, __ATOMIC_RELAXED);
}

bool je_profiler_gdump(void)
{
	return je_conf.prof && __atomic_load_n(&gdump_wanted, __ATOMIC_RELAXED);
}

uint64_t je_profiler_lg_sample(void)
{
	return je_conf.prof ? __atomic_load_n(&lg_sample, __ATOMIC_RELAXED) : 0;
}

int je_profiler_set_active(bool wanted)
{
	if (!je_conf.prof)
		return wanted ? ENOENT : 0;
	if (__atomic_exchange_n(&is_active, wanted, __ATOMIC_RELAXED) == wanted)
		return 0;
	int error = je_collector_ask(wanted ? HW_ASK_START : HW_ASK_STOP, "");
	if (error)
		__atomic_store_n(&is_active, !wanted, __ATOMIC_RELAXED);
	return error ? EFAULT : 0;
}

int je_profiler_set_gdump(bool wanted)
{
	if (!je_conf.prof)
		return ENOENT;
	if (__atomic_exchange_n(&gdump_wanted, wanted, __ATOMIC_RELAXED) == wanted)
		return 0;
	if (plan_dumps(false))
		return EFAULT;
	say_gdump_differs();
	return 0;
}

int je_profiler_set_prefix(const char *wanted)
{
	if (!je_conf.prof)
		return ENOENT;
	copy_prefix(prefix, wanted);
	return plan_dumps(false) ? EFAULT : 0;
}

int je_profiler_reset(uint64_t lg)
{
	if (!je_conf.prof)
		return ENOENT;
	uint64_t wanted = lg > LG_MOST ? LG_MOST : lg;
	if (wanted != je_profiler_lg_sample()) {
		struct je_line mode;
		je_line_init(&mode);
		je_line_add(&mode, wanted ? "sample:" : "exact");
		if (wanted)
			je_line_add_number(&mode, 1ull << wanted);
		if (je_collector_ask(HW_ASK_MODE, mode.data))
			return EFAULT;
		__atomic_store_n(&lg_sample, wanted, __ATOMIC_RELAXED);
	}
	return je_collector_ask(HW_ASK_RESET, "") ? EFAULT : 0;
}

int je_profiler_dump(const char *file)
{
	if (!je_conf.prof)
		return ENOENT;
	char name[JE_PREFIX_BYTES];
	copy_prefix(name, prefix);
	if (!file && !*name)
		return EFAULT;
	pthread_mutex_lock(&dumping);
	int error = je_collector_dump(file, NULL);
	pthread_mutex_unlock(&dumping);
	return error ? EFAULT : 0;
}

bool je_profiler_thread_active(void)
{
	return je_conf.prof && !thread_is_off;
}

int je_profiler_set_thread_active(bool wanted)
{
	if (!je_conf.prof)
		return ENOENT;
	if (wanted == !thread_is_off)
		return 0;
	if (!je_collector_leave_out(!wanted))
		return EAGAIN;
	thread_is_off = !wanted;
	return 0;
}
