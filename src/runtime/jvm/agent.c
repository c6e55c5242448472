/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the JVM loads the agent (`heapwise java`, by the attach protocol, once for each
 * command; or -agentpath); when the JVM ends. May touch: the agent's state; files that the command
 * names; the JVM, by JVM TI.
 *
 * libheapwise-java.so samples objects that a JVM (11 or later) allocates. Its options are a list
 * with commas between: one of `start`, `resume`, `stop`, `dump`, `status`, and
 *
 *	interval=BYTES  depth=N  live  threads      what is recorded (start)
 *	holder=PATH                                 a FIFO: who holds it open alone may stop this
 *	                                            recording, which ends when it is let go (start)
 *	id=N                                        of this recording alone (stop, dump)
 *	file=PATH  program=NAME  short  collect  survived=N     the profile (dump)
 *	exit=PATH                                   a profile when the JVM ends (start)
 *	reply=PATH                                  where the answer goes: "ok", "error" or, from a
 *	                                            JVM that is not ready, "later"; then lines
 *	                                            "name=value", or what is wrong
 *
 * A path can't have a comma; in that of `exit`, %p stands for the PID. A JVM that is given the
 * agent at its start obeys once it is ready. Nothing here ends the JVM or throws into it.
 */
#include "runtime/jvm/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/jvm/profile_write.h"

#define API __attribute__((visibility("default")))

struct agent agent = {
	.command = PTHREAD_MUTEX_INITIALIZER, .tables_lock = PTHREAD_MUTEX_INITIALIZER};

struct request {
	char verb[16];
	struct agent_settings settings;
	char file[1024], exit_file[1024], reply[1024], holder[HOLDER_PATH_MAX], program[256];
	uint64_t id; /* 0: of any recording */
	bool is_short, collects;
	uint32_t survived;
};

struct reply {
	bool is_error;
	bool is_later; /* the JVM is not ready: the same command may do later */
	char text[2048];
	size_t len;
};

int32_t Agent_OnAttach(jvm_vm vm, char *options, void *reserved);
int32_t Agent_OnLoad(jvm_vm vm, char *options, void *reserved);

static void reply_add(struct reply *reply, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void reply_add(struct reply *reply, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(reply->text + reply->len, sizeof(reply->text) - reply->len, format, args);
	va_end(args);
	if (n > 0 && reply->len + (size_t)n < sizeof(reply->text))
		reply->len += (size_t)n;
}

static void reply_fail(struct reply *reply, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void reply_fail(struct reply *reply, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	reply->is_error = true;
	int n = vsnprintf(reply->text, sizeof(reply->text), format, args);
	va_end(args);
	reply->len = n > 0 ? strlen(reply->text) : 0;
}

/* Writes it in one go: who waits for the file sees all of it once the JVM has answered. */
static void reply_write(const struct reply *reply, const char *path)
{
	char text[sizeof(reply->text) + 16];
	const char *kind = reply->is_later ? "later" : reply->is_error ? "error" : "ok";
	int n = snprintf(text, sizeof(text), "%s\n%s\n", kind, reply->text);
	int fd = *path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
		       : -1;
	if (fd < 0)
		return;
	/* Half an answer would be another one. */
	if (n > 0 && write(fd, text, (size_t)n) != n)
		unlink(path);
	close(fd);
}

uint64_t agent_now_ns(int clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

jvm_jni agent_jni(void)
{
	jvm_jni jni = NULL;
	return jni_function(agent.vm, JNI_INDEX_GET_ENV, int (*)(jvm_vm, jvm_jni *, int32_t))(
		       agent.vm, &jni, JVM_VERSION_JNI)
		       ? NULL
		       : jni;
}

/* ---- Intervals of threads -------------------------------------------------------------------- */

static uint64_t thread_mark(jvm_tool tool, jvm_object thread)
{
	void *mark = NULL;
	if (jvm_function(tool, JVM_GET_THREAD_STORAGE, int (*)(jvm_tool, jvm_object, void **))(
		    tool, thread, &mark))
		return 0;
	return (uintptr_t)mark;
}

static void thread_mark_set(jvm_tool tool, jvm_object thread, uint64_t mark)
{
	jvm_function(tool, JVM_SET_THREAD_STORAGE, int (*)(jvm_tool, jvm_object, const void *))(
		tool, thread, (const void *)(uintptr_t)mark);
}

struct waiting threads_mark(jvm_jni jni, uint64_t interval)
{
	struct waiting waiting = {0};
	int32_t count = 0;
	jvm_object *threads = NULL;
	/* While the JVM starts there are none. */
	if (!jni ||
		jvm_function(agent.tool, JVM_GET_ALL_THREADS,
			int (*)(jvm_tool, int32_t *, jvm_object **))(agent.tool, &count, &threads))
		return waiting;
	for (int32_t i = 0; i < count; i++) {
		uint64_t mark = thread_mark(agent.tool, threads[i]);
		if (!mark && interval)
			thread_mark_set(agent.tool, threads[i], interval);
		waiting.threads += mark > agent.settings.interval;
		waiting.bytes += mark > agent.settings.interval ? mark : 0;
		jni_function(jni, JNI_INDEX_DELETE_LOCAL, void (*)(jvm_jni, jvm_object))(
			jni, threads[i]);
	}
	jvm_function(agent.tool, JVM_DEALLOCATE, int (*)(jvm_tool, void *))(agent.tool, threads);
	return waiting;
}

uint64_t thread_drawn(jvm_tool tool, jvm_object thread)
{
	uint64_t interval = agent.settings.interval, mark = thread_mark(tool, thread);
	if (mark != interval)
		thread_mark_set(tool, thread, interval);
	return mark ? mark : interval;
}

static int interval_set(uint64_t interval)
{
	return jvm_function(agent.tool, JVM_SET_SAMPLING_INTERVAL, int (*)(jvm_tool, int32_t))(
		agent.tool, (int32_t)interval);
}

/* ---- Switching on and off ------------------------------------------------------------------ */

static int capabilities_change(enum jvm_position position, const unsigned *bits, size_t count)
{
	struct jvm_capabilities wanted = {{0}};
	for (size_t i = 0; i < count; i++)
		wanted.bits[bits[i] / 32] |= 1u << bits[i] % 32;
	return jvm_function(agent.tool, position,
		int (*)(jvm_tool, const struct jvm_capabilities *))(agent.tool, &wanted);
}

static const unsigned needed[] = {JVM_CAN_SAMPLE, JVM_CAN_SEE_COLLECTIONS};
static const unsigned names[] = {JVM_CAN_GET_LINES, JVM_CAN_GET_SOURCE_FILE};
static const unsigned virtual_threads[] = {JVM_CAN_VIRTUAL_THREADS};

/* Called while the JVM ends: what is wanted then is the profile. */
static void jvm_ends(jvm_tool tool, jvm_jni jni);
/* Once threads can be started in the JVM. */
static void jvm_is_ready(jvm_tool tool, jvm_jni jni, jvm_object thread);

static void event_set(int mode, enum jvm_event event)
{
	jvm_function(agent.tool, JVM_SET_EVENT_MODE, int (*)(jvm_tool, int, int, jvm_object, ...))(
		agent.tool, mode, (int)event, NULL);
}

static int callbacks_set(void)
{
	void *callbacks[JVM_EVENT_LAST - JVM_EVENT_FIRST + 1] = {
		[JVM_EVENT_READY - JVM_EVENT_FIRST] = (void *)(uintptr_t)jvm_is_ready,
		[JVM_EVENT_DEATH - JVM_EVENT_FIRST] = (void *)(uintptr_t)jvm_ends,
		[JVM_EVENT_COLLECTED - JVM_EVENT_FIRST] = (void *)(uintptr_t)sampling_collected,
		[JVM_EVENT_SAMPLED - JVM_EVENT_FIRST] = (void *)(uintptr_t)sampling_object,
	};
	return jvm_function(agent.tool, JVM_SET_CALLBACKS,
		int (*)(jvm_tool, const void *, int32_t))(agent.tool, callbacks, sizeof(callbacks));
}

static bool sampling_on(struct reply *reply)
{
	int error = capabilities_change(JVM_ADD_CAPABILITIES, needed, 2);
	if (error == JVM_NOT_AVAILABLE) {
		reply_fail(reply, "another agent in this JVM samples allocations already (a "
				  "profiler): only one can; stop it first");
		return false;
	}
	/* Without these there are no lines, or no samples of virtual threads before 21. */
	capabilities_change(JVM_ADD_CAPABILITIES, names, 2);
	capabilities_change(JVM_ADD_CAPABILITIES, virtual_threads, 1);
	if (!error)
		error = callbacks_set();
	if (!error)
		threads_mark(agent_jni(), INTERVAL_USUAL);
	if (!error)
		error = interval_set(agent.settings.interval);
	if (error) {
		reply_fail(reply, "the JVM refuses to sample allocations (JVM TI error %d)", error);
		return false;
	}
	event_set(JVM_ENABLE, JVM_EVENT_DEATH);
	agent.resumed_ns = agent_now_ns(CLOCK_MONOTONIC);
	atomic_store(&agent.is_recording, true);
	event_set(JVM_ENABLE, JVM_EVENT_COLLECTED);
	event_set(JVM_ENABLE, JVM_EVENT_SAMPLED);
	return true;
}

static void sampling_off(void)
{
	event_set(JVM_DISABLE, JVM_EVENT_SAMPLED);
	event_set(JVM_DISABLE, JVM_EVENT_COLLECTED);
	if (atomic_exchange(&agent.is_recording, false))
		agent.recorded_ns += agent_now_ns(CLOCK_MONOTONIC) - agent.resumed_ns;
	/* Threads that start from now on draw at the JVM's own interval, which is the usual one. */
	threads_mark(agent_jni(), agent.settings.interval);
	interval_set(INTERVAL_USUAL);
	/* For other agents. */
	capabilities_change(JVM_RELINQUISH_CAPABILITIES, needed, 1);
	live_sweeper_end();
}

/* Says why another recording can't begin. */
static void fail_recording(struct reply *reply)
{
	reply_fail(reply, agent.is_held ? "it is being recorded already, by a 'heapwise java' that "
					  "still runs and ends it (^C there)"
					: "it is being recorded already (stop comes first)");
}

static void agent_resume(struct reply *reply)
{
	if (atomic_load(&agent.is_recording)) {
		fail_recording(reply);
	} else if (!agent.has_tables) {
		reply_fail(reply, "nothing was recorded yet: start comes before resume");
	} else if (!sampling_on(reply) || !agent.settings.has_live) {
		return;
	} else if (!live_sweeper_start()) {
		sampling_off();
		reply_fail(reply, "a thread that follows live objects can't be started");
	}
}

static void agent_start(const struct request *request, jvm_jni jni, struct reply *reply)
{
	if (atomic_load(&agent.is_recording)) {
		fail_recording(reply);
		return;
	}
	if (agent.has_tables)
		live_drop(jni);
	agent.id++;
	pthread_mutex_lock(&agent.tables_lock);
	if (agent.has_tables)
		sample_tables_deinit(&agent.tables);
	agent.has_tables = sample_tables_init(&agent.tables);
	agent.settings = request->settings;
	agent.early = 0;
	agent.early_bytes = agent.all_bytes = 0;
	pthread_mutex_unlock(&agent.tables_lock);
	atomic_store(&agent.samples, 0);
	atomic_store(&agent.lost, 0);
	atomic_store(&agent.cut, 0);
	agent.recorded_ns = 0;
	agent.start_ns = agent_now_ns(CLOCK_REALTIME);
	agent.start_epoch = atomic_load(&agent.epoch);
	memcpy(agent.exit_file, request->exit_file, sizeof(agent.exit_file));
	memcpy(agent.exit_program, request->program, sizeof(agent.exit_program));
	if (!agent.has_tables)
		reply_fail(reply, "the JVM's process has no memory for it");
	else
		agent_resume(reply);
	if (reply->is_error || !*request->holder)
		return;
	agent.is_held = holder_watch(request->holder, agent.id);
	if (agent.is_held)
		return;
	sampling_off();
	reply_fail(reply, "the agent can't follow whether the command still runs (%s): %s",
		request->holder, strerror(errno));
}

static void agent_stop(const struct request *request, struct reply *reply)
{
	if (!atomic_load(&agent.is_recording)) {
		reply_fail(reply, "it is not being recorded");
	} else if (agent.is_held && !request->id) {
		reply_fail(reply,
			"it is being recorded by a 'heapwise java' that still runs and ends "
			"it (^C there); 'dump' shows what there is so far");
	} else {
		sampling_off();
		agent.is_held = false;
	}
}

void recording_abandon(uint64_t id)
{
	pthread_mutex_lock(&agent.command);
	if (agent.is_held && agent.id == id) {
		agent.is_held = false;
		if (atomic_load(&agent.is_recording))
			sampling_off();
	}
	pthread_mutex_unlock(&agent.command);
}

/* ---- Profiles -------------------------------------------------------------------------------- */

static uint64_t recorded_ns(void)
{
	uint64_t running = atomic_load(&agent.is_recording)
				   ? agent_now_ns(CLOCK_MONOTONIC) - agent.resumed_ns
				   : 0;
	return agent.recorded_ns + running;
}

static int profile_to(const char *path, const char *program, bool short_names, uint64_t young)
{
	const struct profile_facts facts = {.interval = agent.settings.interval,
		.start_ns = agent.start_ns,
		.duration_ns = recorded_ns(),
		.has_live = agent.settings.has_live,
		.collections = atomic_load(&agent.epoch) - agent.start_epoch,
		.young_bytes = young,
		.short_names = short_names,
		.program = program};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno;
	/* Threads that allocate don't wait for a disk, unless there is no memory for the copy. */
	struct sample_tables copy;
	pthread_mutex_lock(&agent.tables_lock);
	bool is_copied = sample_tables_copy(&agent.tables, &copy);
	if (is_copied)
		pthread_mutex_unlock(&agent.tables_lock);
	int error = profile_write(fd, is_copied ? &copy : &agent.tables, &facts);
	if (is_copied)
		sample_tables_copy_free(&copy);
	else
		pthread_mutex_unlock(&agent.tables_lock);
	if (close(fd) && !error)
		error = errno;
	if (error)
		unlink(path);
	return error;
}

static void agent_collect(void)
{
	jvm_function(agent.tool, JVM_FORCE_COLLECTION, int (*)(jvm_tool))(agent.tool);
}

static void agent_dump(const struct request *request, jvm_jni jni, struct reply *reply)
{
	uint64_t young = 0;
	if (!agent.has_tables) {
		reply_fail(reply, "nothing was recorded yet: start comes first");
		return;
	}
	if (request->survived && !agent.settings.has_live) {
		reply_fail(reply, "live objects are not followed: start with --live");
		return;
	}
	if (request->collects)
		agent_collect();
	if (agent.settings.has_live) {
		live_sweep(jni);
		live_sum(jni, request->survived, &young);
	}
	int error = profile_to(
		request->file, request->program, request->is_short, request->survived ? 0 : young);
	if (error)
		reply_fail(reply, "can't write %s: %s", request->file, strerror(error));
	else
		reply_add(reply, "young_bytes=%llu\n", (unsigned long long)young);
}

static void state_report(jvm_jni jni, struct reply *reply)
{
	const struct waiting waiting = threads_mark(jni, 0);
	pthread_mutex_lock(&agent.tables_lock);
	unsigned long long bytes = agent.tables.bytes, live = agent.tables.live_now;
	unsigned long long early = agent.early, early_bytes = (unsigned long long)agent.early_bytes,
			   all_bytes = (unsigned long long)agent.all_bytes;
	pthread_mutex_unlock(&agent.tables_lock);
	reply_add(reply,
		"recording=%d\nid=%llu\nstarted=%d\ninterval=%llu\ndepth=%u\nfollows_live=%d\n"
		"samples=%llu\nlost=%llu\ncut=%llu\ncollections=%u\nlive=%llu\nmemory=%llu\n"
		"recorded_ns=%llu\nearly=%llu\nearly_bytes=%llu\n"
		"all_bytes=%llu\nwaiting=%llu\nwaiting_bytes=%llu\n",
		atomic_load(&agent.is_recording), (unsigned long long)agent.id, agent.has_tables,
		(unsigned long long)agent.settings.interval, agent.settings.depth,
		agent.settings.has_live, (unsigned long long)atomic_load(&agent.samples),
		(unsigned long long)atomic_load(&agent.lost),
		(unsigned long long)atomic_load(&agent.cut), atomic_load(&agent.epoch), live, bytes,
		(unsigned long long)recorded_ns(), early, early_bytes, all_bytes,
		(unsigned long long)waiting.threads, (unsigned long long)waiting.bytes);
}

/* The name of the profile at the end: %p is the PID. False: there is none, or no room for it. */
static bool exit_name_make(char *ret, size_t room)
{
	size_t len = 0;
	for (const char *c = agent.exit_file; *c && len + 16 < room; c++) {
		if (c[0] != '%' || c[1] != 'p') {
			ret[len++] = *c;
			continue;
		}
		len += (size_t)snprintf(ret + len, room - len, "%d", (int)getpid());
		c++;
	}
	ret[len] = '\0';
	return len && len + 16 < room;
}

static void exit_profile_write(uint64_t young)
{
	char name[sizeof(agent.exit_file) + 64];
	if (exit_name_make(name, sizeof(name)))
		profile_to(name, agent.exit_program, false, young);
}

static void jvm_ends(jvm_tool tool, jvm_jni jni)
{
	uint64_t young = 0;
	(void)tool;
	pthread_mutex_lock(&agent.command);
	if (atomic_load(&agent.is_recording)) {
		/* No collection: ZGC's threads have ended by now, and it would wait for ever. */
		sampling_off();
		if (*agent.exit_file && agent.settings.has_live) {
			live_sweep(jni);
			live_sum(jni, 0, &young);
		}
		exit_profile_write(young);
	}
	pthread_mutex_unlock(&agent.command);
}

/* ---- Commands -------------------------------------------------------------------------------- */

static bool number_take(const char *word, const char *name, uint64_t most, uint64_t *ret)
{
	size_t len = strlen(name);
	char *end;
	if (strncmp(word, name, len) != 0)
		return false;
	errno = 0;
	unsigned long long value = strtoull(word + len, &end, 10);
	if (!errno && !*end && end != word + len && value <= most)
		*ret = value;
	return true;
}

static bool path_take(const char *word, const char *name, char *ret, size_t room)
{
	size_t len = strlen(name);
	if (strncmp(word, name, len) != 0)
		return false;
	if (strlen(word + len) < room)
		strcpy(ret, word + len);
	return true;
}

static bool flag_take(const char *word, const char *name, bool *ret)
{
	bool is_it = strcmp(word, name) == 0;
	*ret |= is_it;
	return is_it;
}

static void request_word(struct request *request, const char *word)
{
	uint64_t depth = request->settings.depth, survived = request->survived;
	bool is_known = number_take(word, "interval=", INT32_MAX, &request->settings.interval) ||
			number_take(word, "depth=", DEPTH_MAX, &depth) ||
			number_take(word, "survived=", INT32_MAX, &survived) ||
			path_take(word, "file=", request->file, sizeof(request->file)) ||
			path_take(word, "exit=", request->exit_file, sizeof(request->exit_file)) ||
			path_take(word, "reply=", request->reply, sizeof(request->reply)) ||
			path_take(word, "holder=", request->holder, sizeof(request->holder)) ||
			number_take(word, "id=", UINT64_MAX, &request->id) ||
			path_take(word, "program=", request->program, sizeof(request->program)) ||
			flag_take(word, "live", &request->settings.has_live) ||
			flag_take(word, "threads", &request->settings.has_threads) ||
			flag_take(word, "short", &request->is_short) ||
			flag_take(word, "collect", &request->collects);
	request->settings.depth = depth ? (unsigned)depth : 1;
	request->survived = (uint32_t)survived;
	if (!is_known && strlen(word) < sizeof(request->verb))
		strcpy(request->verb, word);
}

static void request_read(struct request *request, const char *options)
{
	*request = (struct request){.settings = {.interval = INTERVAL_USUAL, .depth = DEPTH_USUAL}};
	while (options && *options) {
		char word[1100];
		size_t len = strcspn(options, ",");
		if (len && len < sizeof(word)) {
			memcpy(word, options, len);
			word[len] = '\0';
			request_word(request, word);
		}
		options += len + (options[len] == ',');
	}
}

/* JNI_EVERSION, of the Java Native Interface specification, "Return Codes". */
#define JNI_VERSION_REFUSED (-3)

static bool agent_connect(jvm_vm vm, struct reply *reply)
{
	agent.vm = vm;
	if (agent.tool)
		return true;
	sem_init(&agent.collected, 0, 0); /* never fails: no value is too large */
	int failed = jni_function(vm, JNI_INDEX_GET_ENV, int (*)(jvm_vm, jvm_tool *, int32_t))(
		vm, &agent.tool, JVM_VERSION_11);
	if (!failed)
		return true;
	agent.tool = NULL;
	reply->is_later = failed != JNI_VERSION_REFUSED;
	if (failed == JNI_VERSION_REFUSED)
		reply_fail(reply, "this JVM can't sample allocations: Java 11 or later can "
				  "(SampledObjectAlloc of JVM TI)");
	else
		reply_fail(reply, "the JVM gives no JVM TI environment just now: it is ending, or "
				  "is not ready yet; try again");
	return false;
}

static void agent_obey(const struct request *request, struct reply *reply)
{
	jvm_jni jni = agent_jni();
	if (request->id && request->id != agent.id)
		reply_fail(
			reply, "another recording was started meanwhile, which dropped this one");
	else if (!strcmp(request->verb, "start"))
		agent_start(request, jni, reply);
	else if (!strcmp(request->verb, "resume"))
		agent_resume(reply);
	else if (!strcmp(request->verb, "stop"))
		agent_stop(request, reply);
	else if (!strcmp(request->verb, "dump"))
		agent_dump(request, jni, reply);
	else if (strcmp(request->verb, "status") != 0)
		reply_fail(reply, "unknown command '%s'", request->verb);
	if (!reply->is_error)
		state_report(jni, reply);
}

/* Returns 0 always, or the JVM would end at its start; what is wrong is in the reply. */
static void agent_run(jvm_vm vm, const char *options)
{
	struct request request;
	struct reply reply = {.is_error = false};
	request_read(&request, options);
	pthread_mutex_lock(&agent.command);
	if (agent_connect(vm, &reply))
		agent_obey(&request, &reply);
	pthread_mutex_unlock(&agent.command);
	reply_write(&reply, request.reply);
}

API int32_t Agent_OnAttach(jvm_vm vm, char *options, void *reserved)
{
	(void)reserved;
	agent_run(vm, options);
	return 0;
}

/*
 * A JVM that starts obeys once it is ready: it samples nothing before, and an agent that the user
 * has given it, which may need the sampling, and end the JVM without, has had its turn.
 */
static bool agent_wait(jvm_vm vm, const char *options, struct reply *reply)
{
	bool is_connected = agent_connect(vm, reply);
	agent.waiting_options = is_connected ? strdup(options ? options : "") : NULL;
	if (agent.waiting_options && !callbacks_set()) {
		event_set(JVM_ENABLE, JVM_EVENT_READY);
		return true;
	}
	if (is_connected)
		reply_fail(reply, "the JVM does not say when it is ready, or has no memory");
	return false;
}

API int32_t Agent_OnLoad(jvm_vm vm, char *options, void *reserved)
{
	struct reply reply = {.is_error = false};
	struct request request;
	(void)reserved;
	pthread_mutex_lock(&agent.command);
	/* Given twice, as a process has it of its parent, too, the first one counts. */
	bool waits = agent.waiting_options || agent_wait(vm, options, &reply);
	pthread_mutex_unlock(&agent.command);
	if (waits)
		return 0;
	request_read(&request, options);
	reply_write(&reply, request.reply);
	return 0;
}

static void jvm_is_ready(jvm_tool tool, jvm_jni jni, jvm_object thread)
{
	(void)tool;
	(void)jni;
	(void)thread;
	event_set(JVM_DISABLE, JVM_EVENT_READY);
	pthread_mutex_lock(&agent.command);
	char *options = agent.waiting_options;
	agent.waiting_options = NULL;
	pthread_mutex_unlock(&agent.command);
	agent_run(agent.vm, options);
	free(options);
}
