/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls mallctl(); any thread. May touch: the profiler, the allocator's
 * figures.
 */
#include "runtime/shims/jemalloc/names.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/shims/jemalloc/profiler.h"
#include "runtime/shims/jemalloc/stats.h"

#define THREAD_NAME_BYTES 64

static __thread char thread_name[THREAD_NAME_BYTES] __attribute__((tls_model("initial-exec")));

#define DEFINE_GET(name, member, expression)                                                       \
	static int get_##name(union je_value *ret)                                                 \
	{                                                                                          \
		ret->member = expression;                                                          \
		return 0;                                                                          \
	}

DEFINE_GET(true_word, is, true)
DEFINE_GET(false_word, is, false)
DEFINE_GET(empty_text, text, "")
DEFINE_GET(version, text, JE_VERSION)
DEFINE_GET(epoch, u64, je_stats_epoch())
DEFINE_GET(one, number, 1)
DEFINE_GET(page, size, (size_t)getpagesize())
DEFINE_GET(quantum, size, 16)
DEFINE_GET(opt_prof, is, je_conf.prof)
DEFINE_GET(opt_prof_active, is, je_conf.prof_active)
DEFINE_GET(opt_thread_active_init, is, je_conf.prof_thread_active_init)
DEFINE_GET(opt_prof_accum, is, je_conf.prof_accum)
DEFINE_GET(opt_prof_gdump, is, je_conf.prof_gdump)
DEFINE_GET(opt_prof_final, is, je_conf.prof_final)
DEFINE_GET(opt_prof_leak, is, je_conf.prof_leak)
DEFINE_GET(opt_prof_leak_error, is, je_conf.prof_leak_error)
DEFINE_GET(opt_prefix, text, je_conf.prof_prefix)
DEFINE_GET(opt_lg_sample, size, je_conf.lg_prof_sample)
DEFINE_GET(opt_lg_interval, ssize, je_conf.lg_prof_interval)
DEFINE_GET(opt_confirm_conf, is, je_conf.confirm_conf)
DEFINE_GET(opt_abort_conf, is, je_conf.abort_conf)
DEFINE_GET(opt_stats_print, is, je_conf.stats_print)
DEFINE_GET(active, is, je_profiler_active())
DEFINE_GET(gdump, is, je_profiler_gdump())
DEFINE_GET(interval, u64, je_profiler_interval())
DEFINE_GET(lg_sample, size, je_profiler_lg_sample())
DEFINE_GET(thread_active, is, je_profiler_thread_active())
DEFINE_GET(thread_init, is, je_conf.prof)
DEFINE_GET(thread_name, text, thread_name)

#define DEFINE_STATS(name)                                                                         \
	static int get_stats_##name(union je_value *ret)                                           \
	{                                                                                          \
		struct je_stats stats = je_stats_read();                                           \
		ret->size = stats.name;                                                            \
		return stats.known ? 0 : ENOENT;                                                   \
	}

DEFINE_STATS(allocated)
DEFINE_STATS(active)
DEFINE_STATS(resident)
DEFINE_STATS(mapped)

static int set_epoch(const union je_value *value)
{
	(void)value;
	je_stats_refresh();
	return 0;
}

static int set_active(const union je_value *value)
{
	return je_profiler_set_active(value->is);
}

static int set_gdump(const union je_value *value)
{
	return je_profiler_set_gdump(value->is);
}

static int set_dump(const union je_value *value)
{
	return je_profiler_dump(value ? value->text : NULL);
}

static int set_prefix(const union je_value *value)
{
	return value->text ? je_profiler_set_prefix(value->text) : EINVAL;
}

static int set_reset(const union je_value *value)
{
	return je_profiler_reset(value ? value->size : je_profiler_lg_sample());
}

static int set_thread_active(const union je_value *value)
{
	return je_profiler_set_thread_active(value->is);
}

/* New threads begin as all others: nothing is left out of theirs. */
static int set_thread_init(const union je_value *value)
{
	return !je_conf.prof ? ENOENT : value->is ? 0 : EAGAIN;
}

/* As jemalloc: printable ASCII and blanks alone. */
static int set_thread_name(const union je_value *value)
{
	if (!value->text)
		return EFAULT;
	size_t bytes = 0;
	for (; value->text[bytes]; bytes++) {
		char c = value->text[bytes];
		if ((c < ' ' || c > '~') && c != '\t')
			return EFAULT;
	}
	if (bytes >= THREAD_NAME_BYTES)
		return EAGAIN;
	memcpy(thread_name, value->text, bytes + 1);
	return 0;
}

#define READS(name, type, getter)                                                                  \
	{                                                                                          \
		name, type, false, false, false, getter, NULL, false                               \
	}
#define PROF_READS(name, type, getter)                                                             \
	{                                                                                          \
		name, type, true, false, false, getter, NULL, false                                \
	}
#define PROF_BOTH(name, type, getter, setter)                                                      \
	{                                                                                          \
		name, type, true, false, false, getter, setter, false                              \
	}
#define PROF_WRITES(name, type, setter, nothing)                                                   \
	{                                                                                          \
		name, type, true, true, false, NULL, setter, nothing                               \
	}

static const struct je_name table[] = {
	PROF_WRITES("prof.dump", JE_TEXT, set_dump, true),
	PROF_BOTH("prof.active", JE_BOOL, get_active, set_active),
	PROF_BOTH("prof.gdump", JE_BOOL, get_gdump, set_gdump),
	PROF_WRITES("prof.prefix", JE_TEXT, set_prefix, false),
	PROF_WRITES("prof.reset", JE_SIZE, set_reset, true),
	PROF_READS("prof.interval", JE_U64, get_interval),
	PROF_READS("prof.lg_sample", JE_SIZE, get_lg_sample),
	PROF_BOTH("prof.thread_active_init", JE_BOOL, get_thread_init, set_thread_init),
	{"thread.prof.name", JE_TEXT, true, true, true, get_thread_name, set_thread_name, false},
	PROF_BOTH("thread.prof.active", JE_BOOL, get_thread_active, set_thread_active),
	PROF_READS("opt.prof", JE_BOOL, get_opt_prof),
	PROF_READS("opt.prof_active", JE_BOOL, get_opt_prof_active),
	PROF_READS("opt.prof_thread_active_init", JE_BOOL, get_opt_thread_active_init),
	PROF_READS("opt.prof_prefix", JE_TEXT, get_opt_prefix),
	PROF_READS("opt.prof_accum", JE_BOOL, get_opt_prof_accum),
	PROF_READS("opt.prof_gdump", JE_BOOL, get_opt_prof_gdump),
	PROF_READS("opt.prof_final", JE_BOOL, get_opt_prof_final),
	PROF_READS("opt.prof_leak", JE_BOOL, get_opt_prof_leak),
	PROF_READS("opt.prof_leak_error", JE_BOOL, get_opt_prof_leak_error),
	PROF_READS("opt.lg_prof_sample", JE_SIZE, get_opt_lg_sample),
	PROF_READS("opt.lg_prof_interval", JE_SSIZE, get_opt_lg_interval),
	PROF_READS("config.prof", JE_BOOL, get_true_word),
	READS("opt.confirm_conf", JE_BOOL, get_opt_confirm_conf),
	READS("opt.abort_conf", JE_BOOL, get_opt_abort_conf),
	READS("opt.stats_print", JE_BOOL, get_opt_stats_print),
	READS("config.debug", JE_BOOL, get_false_word),
	READS("config.fill", JE_BOOL, get_false_word),
	READS("config.malloc_conf", JE_TEXT, get_empty_text),
	READS("config.stats", JE_BOOL, get_true_word),
	READS("config.utrace", JE_BOOL, get_false_word),
	READS("config.xmalloc", JE_BOOL, get_false_word),
	READS("version", JE_TEXT, get_version),
	{"epoch", JE_U64, false, false, false, get_epoch, set_epoch, false},
	READS("arenas.narenas", JE_UNSIGNED, get_one),
	READS("arenas.page", JE_SIZE, get_page),
	READS("arenas.quantum", JE_SIZE, get_quantum),
	READS("stats.allocated", JE_SIZE, get_stats_allocated),
	READS("stats.active", JE_SIZE, get_stats_active),
	READS("stats.resident", JE_SIZE, get_stats_resident),
	READS("stats.mapped", JE_SIZE, get_stats_mapped),
};

#define NAMES (sizeof(table) / sizeof(table[0]))

int je_name_find(const char *name)
{
	for (size_t i = 0; i < NAMES; i++) {
		if (!strcmp(table[i].name, name))
			return (int)i;
	}
	return -1;
}

const struct je_name *je_name_get(size_t number)
{
	return number < NAMES ? &table[number] : NULL;
}

size_t je_type_bytes(enum je_type type)
{
	static const size_t bytes[] = {
		[JE_BOOL] = sizeof(bool),
		[JE_UNSIGNED] = sizeof(unsigned),
		[JE_U64] = sizeof(uint64_t),
		[JE_SIZE] = sizeof(size_t),
		[JE_SSIZE] = sizeof(ssize_t),
		[JE_TEXT] = sizeof(const char *),
	};
	return bytes[type];
}
