/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the library is loaded, the program ends, a child is forked; when the program calls a
 * function of gperftools/heap-profiler.h, in any thread; in a signal handler that HEAPPROFILESIGNAL
 * installs. May touch: stderr, the collector, files of earlier profiles.
 */
#include "runtime/shims/gperftools/profiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "format/request.h"
#include "runtime/shims/gperftools/files.h"
#include "runtime/shims/gperftools/line.h"
#include "runtime/shims/gperftools/settings.h"

#define API __attribute__((visibility("default")))
/* ".0001.heap" */
#define SUFFIX_BYTES 10
/* Set in the first byte for processes that are started later: they add their PID. */
#define FOR_CHILDREN 0x80

/* The runtime's, see preload/client.c. */
extern int heapwise_rt_request(uint32_t what, const char *text, char *message, size_t bytes)
	__attribute__((weak));
extern int heapwise_rt_is_recording(void) __attribute__((weak));
/* The runtime's, see preload/lsan_bridge.h: enum hw_heap_check. */
extern uint32_t heapwise_rt_heap_check(void) __attribute__((weak));

/*
 * NOLINTBEGIN(bugprone-signal-handler): what a handler gets to here makes system calls, reads
 * constant texts, and tries a lock; the runtime's request has no lock either. If the signal came
 * while an event was recorded, the dump lacks that event.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_on, has_ended;
static bool has_stopped; /* the recording, too */
static struct gp_settings settings;
static char prefix[PATH_MAX];

void gp_print(const char *line)
{
	int kept = errno;
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		errno = kept;
}

static void print_unless_quiet(const char *line)
{
	if (settings.talks)
		gp_print(line);
}

static __attribute__((noreturn)) void print_and_abort(
	const char *before, const char *text, const char *after)
{
	struct gp_line line;
	gp_line_init(&line);
	gp_line_add(&line, before);
	gp_line_add(&line, text);
	gp_line_add(&line, after);
	gp_print(line.data);
	abort();
}

static int ask_collector(uint32_t what, const char *text, char *answer, size_t bytes)
{
	return heapwise_rt_request ? heapwise_rt_request(what, text, answer, bytes) : ENOSYS;
}

static bool plan_profiles(void)
{
	struct gp_line lines;
	gp_line_init(&lines);
	return gp_settings_plan(&settings, prefix, &lines) &&
	       !ask_collector(HW_ASK_CONFIGURE, lines.data, NULL, 0);
}

/* The collector gives a forked child the parent's plan, with files of its own. */
static void begin_child(void)
{
	struct gp_line name;
	pthread_mutex_init(&lock, NULL);
	gp_line_init(&name);
	gp_line_add(&name, prefix);
	gp_line_add(&name, "_");
	gp_line_add_number(&name, (uint64_t)getpid());
	if (is_on && name.length < sizeof(prefix))
		memcpy(prefix, name.data, name.length + 1);
}

/* The collector's EIO says no more than that (client.h, heapwise_dump()). */
static const char *failure_text(int error)
{
	return error == EIO ? "the file can't be written" : strerrordesc_np(error);
}

static void describe_dump(const char *file, const char *reason, int error)
{
	struct gp_line line;
	size_t bytes = strnlen(file, HW_REPLY_FILE);
	gp_line_init(&line);
	gp_line_add(&line, error ? "Failed dumping heap profile to " : "Dumping heap profile to ");
	gp_line_add(&line, prefix);
	if (!error)
		gp_line_add(&line, bytes > SUFFIX_BYTES ? file + bytes - SUFFIX_BYTES : ".heap");
	gp_line_add(&line, error ? ".*.heap: " : " (");
	gp_line_add(&line, error ? failure_text(error) : reason);
	gp_line_add(&line, error ? "\n" : ")\n");
	if (error)
		gp_print(line.data);
	else
		print_unless_quiet(line.data);
}

static void dump_locked(const char *reason)
{
	char file[HW_REPLY_FILE];
	int error = ask_collector(HW_ASK_DUMP, NULL, file, sizeof(file));
	describe_dump(file, reason, error);
}

static void dump_last(void)
{
	char file[HW_REPLY_FILE], begin[128];
	struct gp_line reason;
	uint64_t bytes;
	has_ended = true;
	int error = ask_collector(HW_ASK_DUMP, NULL, file, sizeof(file));
	gp_line_init(&reason);
	if (!error && gp_file_begin(file, begin, sizeof(begin)) &&
		gp_read_live_bytes(begin, &bytes))
		gp_add_exit_reason(&reason, bytes);
	else
		gp_line_add(&reason, "Exiting");
	describe_dump(file, reason.data, error);
}

/* At once, as gperftools does: when it starts, the last profile was written in 1970. */
static void dump_first(void)
{
	struct gp_line reason;
	gp_line_init(&reason);
	gp_line_add_number(&reason, (uint64_t)time(NULL));
	gp_line_add(&reason, " sec since the last dump");
	dump_locked(reason.data);
}

/* While nothing is profiled, nothing is recorded, unless a search for leaks needs all blocks. */
static void stop_recording(void)
{
	if (!heapwise_rt_heap_check || !heapwise_rt_heap_check())
		has_stopped = !ask_collector(HW_ASK_STOP, NULL, NULL, 0);
}

static void resume_recording(void)
{
	if (has_stopped && ask_collector(HW_ASK_START, NULL, NULL, 0))
		gp_print("heapwise: can't go on recording\n");
	has_stopped = false;
}

static void start_locked(const char *wanted)
{
	if (is_on)
		return;
	if (!heapwise_rt_is_recording || !heapwise_rt_is_recording()) {
		gp_print("heapwise: this process is not recorded, so no heap profiles are "
			 "written\n");
		return;
	}
	size_t bytes = strnlen(wanted, sizeof(prefix));
	if (bytes == sizeof(prefix)) {
		gp_print("heapwise: the prefix of heap profiles is too long\n");
		return;
	}
	gp_settings_read((gp_find_variable *)getenv, &settings);
	memcpy(prefix, wanted, bytes);
	prefix[bytes] = 0;
	is_on = true;
	print_unless_quiet("Starting tracking the heap\n");
	resume_recording();
	/* The profile is of what comes from here on: gperftools begins with an empty table. */
	if (ask_collector(HW_ASK_RESET, HW_RESET_LIVE, NULL, 0))
		gp_print("heapwise: heap profiles have blocks of before their start, too\n");
	if (!plan_profiles())
		gp_print("heapwise: can't set up heap profiles\n");
	else if (settings.seconds > 0)
		dump_first();
}

API void HeapProfilerStart(const char *wanted)
{
	pthread_mutex_lock(&lock);
	start_locked(wanted);
	pthread_mutex_unlock(&lock);
}

API int IsHeapProfilerRunning(void)
{
	return __atomic_load_n(&is_on, __ATOMIC_RELAXED);
}

API void HeapProfilerStop(void)
{
	pthread_mutex_lock(&lock);
	if (is_on) {
		ask_collector(HW_ASK_CONFIGURE, "allocated=0\nfreed=0\npeak=0\nevery=0\n", NULL, 0);
		stop_recording();
	}
	is_on = false;
	pthread_mutex_unlock(&lock);
}

/* The real library, where it is loaded, calls this at its end, with that word. */
static bool is_real_end(const char *reason)
{
	return !strcmp(reason, "Exiting") && dlsym(RTLD_NEXT, "HeapProfilerDump");
}

API void HeapProfilerDump(const char *reason)
{
	pthread_mutex_lock(&lock);
	if (is_on && !has_ended) {
		if (reason && is_real_end(reason))
			dump_last();
		else
			dump_locked(reason ? reason : "(null)");
	}
	pthread_mutex_unlock(&lock);
}

API char *GetHeapProfile(void)
{
	char folder[GP_FOLDER_BYTES];
	char *profile = NULL;
	pthread_mutex_lock(&lock);
	if (is_on && gp_folder_make(folder)) {
		struct gp_line file;
		gp_line_init(&file);
		gp_line_add(&file, folder);
		gp_line_add(&file, GP_FOLDER_FILE);
		if (!ask_collector(HW_ASK_DUMP, file.data, NULL, 0))
			profile = gp_file_read(file.data);
		gp_folder_remove(folder);
	}
	pthread_mutex_unlock(&lock);
	return profile ? profile : calloc(1, 1);
}

void gp_profiler_end(void)
{
	pthread_mutex_lock(&lock);
	if (is_on && !has_ended)
		dump_last();
	pthread_mutex_unlock(&lock);
}

/* As there, a signal that comes during a dump is dropped. */
static void dump_on_signal(int number)
{
	(void)number;
	if (pthread_mutex_trylock(&lock))
		return;
	if (is_on && !has_ended)
		dump_locked("signal");
	pthread_mutex_unlock(&lock);
}

/* NOLINTEND(bugprone-signal-handler) */

static void set_signal(const char *text)
{
	long number = strtol(text, NULL, 10);
	struct gp_line line;
	sighandler_t before = signal((int)number, dump_on_signal);
	gp_line_init(&line);
	gp_line_add_number(&line, (uint64_t)number);
	if (before == SIG_ERR)
		print_and_abort(
			"Failed to set signal. Perhaps signal number ", text, " is invalid\n");
	if (before != SIG_DFL)
		print_and_abort("Signal ", line.data, " already in use\n");
	gp_line_init(&line);
	gp_line_add(&line, "Using signal ");
	gp_line_add_number(&line, (uint64_t)number);
	gp_line_add(&line, " as heap profiling switch\n");
	gp_print(line.data);
}

/* Children find the first byte marked, and add their PID. */
static void take_prefix(char *variable, struct gp_line *ret)
{
	char first[2] = {(char)(*variable & ~FOR_CHILDREN), 0};
	bool is_child = *variable & FOR_CHILDREN;
	gp_line_init(ret);
	gp_line_add(ret, first);
	gp_line_add(ret, variable + 1);
	if (is_child) {
		gp_line_add(ret, "_");
		gp_line_add_number(ret, (uint64_t)getpid());
	}
	*variable |= (char)FOR_CHILDREN;
}

void gp_profiler_init(void)
{
	char *variable = getenv("HEAPPROFILE");
	const char *signal_text = getenv("HEAPPROFILESIGNAL");
	struct gp_line name;
	pthread_atfork(NULL, NULL, begin_child);
	gp_settings_read((gp_find_variable *)getenv, &settings);
	/* The real library, where it is loaded, has started this one. */
	if (!variable || !*variable || IsHeapProfilerRunning())
		return;
	take_prefix(variable, &name);
	if (getuid() != geteuid()) {
		gp_print("HeapProfiler: ignoring HEAPPROFILE because program seems to be setuid\n");
		return;
	}
	if (signal_text)
		set_signal(signal_text);
	if (settings.removes_old)
		gp_files_remove_old(name.data);
	HeapProfilerStart(name.data);
}
