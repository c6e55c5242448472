/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/java/java_session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/java/java_library.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"

/* A profile shows how a program works inside: of a new file, as of recordings. */
#define PROFILE_MODE 0600

struct java_session {
	const struct java_vm *vm;
	const struct java_request *request;
	char *library;
	struct java_exchange exchange;
	struct java_agent_state state;
	uint64_t id; /* of the recording that this command started; 0: none */
};

/* ---- The agent ------------------------------------------------------------------------------- */

static struct error *session_ask(struct java_session *session, struct text *options)
{
	struct error *error = options->failed
				      ? error_no_memory()
				      : java_agent_ask(session->vm, session->library,
						&session->exchange, options->data, &session->state);
	text_deinit(options);
	return error;
}

/* A recording that this command ends itself is its own: `id` is sent with all that follows, and the
 * agent ends it if the command is killed. */
static struct error *session_start(struct java_session *session)
{
	const struct java_request *request = session->request;
	bool is_own = request->action == JAVA_COLLECT;
	struct text options;
	struct error *error = is_own ? java_exchange_hold(session->vm, &session->exchange) : NULL;
	if (error)
		return error;
	text_init(&options);
	text_add(&options, "start");
	if (request->interval)
		text_printf(&options, ",interval=%" PRIu64, request->interval);
	if (request->depth)
		text_printf(&options, ",depth=%" PRIu64, request->depth);
	text_add(&options, request->live ? ",live" : "");
	text_add(&options, request->threads ? ",threads" : "");
	if (is_own)
		text_printf(&options, ",holder=%s/holder", session->exchange.inner);
	error = session_ask(session, &options);
	session->id = is_own ? session->state.id : 0;
	return error;
}

static void id_add(const struct java_session *session, struct text *options)
{
	if (session->id)
		text_printf(options, ",id=%" PRIu64, session->id);
}

static struct error *session_word(struct java_session *session, const char *word)
{
	struct text options;
	text_init(&options);
	text_add(&options, word);
	id_add(session, &options);
	return session_ask(session, &options);
}

/* What the agent's options can have: no comma, and nothing that a terminal would obey. */
static void program_add(struct text *options, const char *name)
{
	size_t len = min(strlen(name), (size_t)200);
	text_add(options, ",program=");
	for (size_t i = 0; i < len; i++) {
		bool is_plain = name[i] > ' ' && name[i] < 0x7f && name[i] != ',';
		if (is_plain)
			text_add_char(options, name[i]);
		else
			text_add(options, "_");
	}
}

static struct error *session_dump(struct java_session *session)
{
	const struct java_request *request = session->request;
	struct text options;
	text_init(&options);
	text_printf(&options, "dump,file=%s/profile", session->exchange.inner);
	program_add(&options, session->vm->name);
	text_add(&options, request->short_names ? ",short" : "");
	text_add(&options, request->collects ? ",collect" : "");
	if (request->survived)
		text_printf(&options, ",survived=%" PRIu64, request->survived);
	id_add(session, &options);
	return session_ask(session, &options);
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void say_started(const struct java_session *session)
{
	message("recording objects that %s (%d) allocates, about one per %" PRIu64 " bytes%s",
		session->vm->name, (int)session->vm->pid, session->state.interval,
		session->state.follows_live ? ", and whether they are live" : "");
}

static void say_missing(const struct java_agent_state *state)
{
	if (!state->samples)
		message("no object was sampled: the program allocated little meanwhile (about one "
			"per %" PRIu64 " bytes is; --interval changes it)",
			state->interval);
	if (state->lost)
		message("%" PRIu64 " of %" PRIu64 " samples are missing: the JVM's process had no "
			"memory for them",
			state->lost, state->samples);
	if (state->cut)
		message("stacks of %" PRIu64 " of %" PRIu64 " samples have %" PRIu64
			" frames or more: their outer callers are left out (-j)",
			state->cut, state->samples, state->depth);
}

/* Ranges are those of the recording's interval. What comes before the first sample of a thread that
 * ran before is less certain, which counts where it may be a tenth of all. */
static void say_early(const struct java_agent_state *state)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if ((state->early_bytes + state->waiting_bytes) * 10 <= state->all_bytes)
		return;
	text_add(&text, "ranges are too narrow here: a thread that ran before takes the interval "
			"after its next sample only. ");
	text_add_counted(&text, state->early, "such sample stands", "such samples stand");
	text_add(&text, " for about ");
	text_add_bytes(&text, state->early_bytes);
	text_add(&text, "; ");
	text_add_counted(&text, state->waiting, "thread has", "threads have");
	text_add(&text, " had none yet, so what they allocated is missing. Record longer, or with "
			"the interval of before");
	message("%s", text.failed ? "?" : text.data);
}

static void say_young(const struct java_session *session)
{
	const struct java_agent_state *state = &session->state;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (!state->follows_live || !state->young_bytes || session->request->survived)
		return;
	text_add(&text, "about ");
	text_add_bytes(&text, state->young_bytes);
	text_add(&text, " of what is shown as live were allocated after the last garbage "
			"collection, so part of it may be garbage (--gc collects before)");
	message("%s", text.failed ? "?" : text.data);
}

static int status_show(const struct java_session *session)
{
	const struct java_agent_state *state = &session->state;
	struct text text;
	text_init(&text);
	text_printf(&text, "PID %d: ", (int)session->vm->pid);
	text_add_shown(&text, session->vm->name, 200);
	text_add(&text, state->is_recording   ? "\nbeing recorded for "
			: state->has_recorded ? "\nnot being recorded; was for "
					      : "\nnot recorded yet");
	if (state->has_recorded) {
		text_add_duration_ns(&text, state->recorded_ns);
		text_printf(&text, ", about one object per %" PRIu64 " bytes\n", state->interval);
		text_add_counted(&text, state->samples, "sample", "samples");
		if (state->lost)
			text_printf(&text, ", %" PRIu64 " lost (no memory)", state->lost);
		if (state->follows_live) {
			text_add(&text, ", of which ");
			text_add_count(&text, state->live);
			text_add(&text, " were live when the agent last looked");
		}
		text_add(&text, "\nmemory of the agent: ");
		text_add_bytes(&text, state->memory);
	}
	text_add(&text, "\n");
	return output_text(&text);
}

/* ---- Profiles -------------------------------------------------------------------------------- */

static struct error *profile_copy(const struct java_session *session, int to, const char *path)
{
	char block[65536];
	_cleanup_close_ int from = -1;
	struct error *error = java_exchange_read(&session->exchange, "profile", &from);
	ssize_t n = 1;
	while (!error && (n = read(from, block, sizeof(block))) > 0) {
		for (ssize_t done = 0, m; done < n && !error; done += m) {
			m = write(to, block + done, (size_t)(n - done));
			if (m <= 0)
				error = error_errno(
					ERROR_ENVIRONMENT, errno, "can't write %s", path);
		}
	}
	if (!error && n < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno, "can't read the profile of the JVM");
	return error;
}

static int profile_keep(const struct java_session *session, const char *path)
{
	struct output output;
	struct sink sink;
	int code = output_open(&output, &sink, path, PROFILE_MODE);
	struct error *error = code ? NULL : profile_copy(session, output.fd, path);
	if (error) {
		output_drop(&output);
		return message_error(error);
	}
	return code ? code : output_end(&output);
}

/* "Main.4711.pb" in the current directory. */
static char *usual_name(const struct java_vm *vm)
{
	const char *name = vm->name, *slash = strrchr(name, '/');
	char *path = NULL;
	name = slash && slash[1] ? slash + 1 : name;
	if (asprintf(&path, "%.100s.%d.pb", *name == '(' ? "java" : name, (int)vm->pid) < 0)
		return NULL;
	for (char *c = path; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			*c = '_';
	return path;
}

/* The profile stays, and its report is shown. */
static int profile_usual(const struct java_session *session)
{
	const struct java_shown *shown = &session->request->shown;
	_cleanup_free_ char *usual = shown->file ? NULL : usual_name(session->vm);
	const char *path = shown->file ? shown->file : usual;
	if (!path)
		return message_error(error_no_memory());
	int code = profile_keep(session, path);
	if (code)
		return code;
	message("wrote %s", path);
	if (shown->form == JAVA_FORM_PPROF)
		return 0;
	struct java_shown report = *shown;
	report.file = NULL;
	return java_show(&report, path, session->state.follows_live);
}

/* In another form: from a file that goes away. */
static int profile_formed(const struct java_session *session)
{
	char folder[] = "/tmp/heapwise-java-XXXXXX";
	char path[sizeof(folder) + 32];
	if (!mkdtemp(folder))
		return message_error(
			error_errno(ERROR_ENVIRONMENT, errno, "can't make a directory in /tmp"));
	snprintf(path, sizeof(path), "%s/java.%d.pb", folder, (int)session->vm->pid);
	int code = profile_keep(session, path);
	if (!code)
		code = java_show(&session->request->shown, path, session->state.follows_live);
	unlink(path);
	rmdir(folder);
	return code;
}

static int profile_show(struct java_session *session)
{
	const struct java_shown *shown = &session->request->shown;
	struct error *error = session_dump(session);
	if (error)
		return message_error(error);
	say_missing(&session->state);
	say_early(&session->state);
	say_young(session);
	bool stays = shown->form == JAVA_FORM_USUAL || shown->form == JAVA_FORM_PPROF;
	return stays ? profile_usual(session) : profile_formed(session);
}

/* ---- Actions --------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int milliseconds_to(uint64_t end_ns)
{
	uint64_t now = now_ns();
	uint64_t left = end_ns > now ? (end_ns - now + 999999) / 1000000 : 0;
	return (int)min(left, (uint64_t)INT32_MAX);
}

/* Waits for that time, ^C, or the end of the JVM; returns whether that ended. */
static bool session_wait(const struct java_session *session)
{
	sigset_t signals, before;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	_cleanup_close_ int ended = (int)syscall(SYS_pidfd_open, session->vm->pid, 0);
	_cleanup_close_ int asked = signalfd(-1, &signals, SFD_CLOEXEC);
	struct pollfd waits[] = {{asked, POLLIN, 0}, {ended, POLLIN, 0}};
	uint64_t end = now_ns() + session->request->duration_ns;
	for (int left; (left = milliseconds_to(end)) > 0;)
		if (poll(waits, 2, left) > 0)
			break;
	/* The signal has done what it was for. */
	struct signalfd_siginfo info;
	if (waits[0].revents && read(asked, &info, sizeof(info)) < 0)
		message("can't read a signal: %s", strerror(errno));
	sigprocmask(SIG_SETMASK, &before, NULL);
	return waits[1].revents != 0;
}

static int session_collect(struct java_session *session)
{
	struct error *error = session_start(session);
	if (error)
		return message_error(error);
	say_started(session);
	if (session_wait(session))
		return message_error(error_create(ERROR_INPUT,
			"the JVM %d ended while it was recorded: its profile is lost",
			(int)session->vm->pid));
	error = session_word(session, "stop");
	return error ? message_error(error) : profile_show(session);
}

static int action_run(struct java_session *session)
{
	static const char *const words[JAVA_ACTIONS] = {
		[JAVA_RESUME] = "resume", [JAVA_STOP] = "stop", [JAVA_STATUS] = "status"};
	enum java_action action = session->request->action;
	struct error *error = NULL;
	if (action == JAVA_COLLECT)
		return session_collect(session);
	if (action == JAVA_START)
		error = session_start(session);
	else if (words[action])
		error = session_word(session, words[action]);
	if (error)
		return message_error(error);
	if (action == JAVA_STATUS)
		return status_show(session);
	if (action == JAVA_STOP || action == JAVA_DUMP)
		return profile_show(session);
	say_started(session);
	return 0;
}

int java_session_run(const struct java_vm *vm, const struct java_request *request)
{
	struct java_session session = {
		.vm = vm, .request = request, .exchange = {.fd = -1, .holder = -1}};
	struct error *error = java_library_find(&session.library);
	if (!error)
		error = java_exchange_open(vm, &session.exchange);
	int code = error ? message_error(error) : action_run(&session);
	java_exchange_close(vm, &session.exchange);
	free(session.library);
	return code;
}
