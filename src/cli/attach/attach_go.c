/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/attach/attach_go.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/output_file.h"
#include "base/packing.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/recording_file.h"
#include "cli/setup/recording_end.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"

#define NS_PER_SECOND 1000000000ull
#define FILE_USUAL "heapwise.%n.%p.pb.gz"
/* Looks take a twentieth of the time at most. */
#define LOOK_SHARE 20u

/* Said in the file as well: who reads it later has not seen the messages. */
#define OTHER_RATE                                                                                 \
	"MemProfileRate was changed while this was taken: of what was allocated then, nothing or " \
	"too little may be here, and the estimates may be wrong"

/* What is read until the end. */
struct go_watch {
	const struct attach_go_request *request;
	struct go_profile *profile;
	struct output_file file;
	int signals, process; /* descriptors */
	uint64_t began_ns;    /* by the monotonic clock */
	/* The last figures, packed later; of when. */
	struct buf figures;
	struct go_sums sums;
	uint64_t figures_ns;
	bool has_ended;
	bool has_sampled; /* before */
};

static void go_watch_close(struct go_watch *watch)
{
	go_profile_close(watch->profile);
	output_file_discard(&watch->file);
	buf_deinit(&watch->figures);
	if (watch->signals >= 0)
		close(watch->signals);
	if (watch->process >= 0)
		close(watch->process);
}

bool attach_go_state_parse(const char *word, enum go_state *ret)
{
	if (strcmp(word, "now") != 0 && strcmp(word, "gc") != 0)
		return false;
	*ret = strcmp(word, "gc") == 0 ? GO_STATE_GC : GO_STATE_NOW;
	return true;
}

bool attach_go_is_usual(pid_t pid)
{
	bool has_c;
	return go_process_recognise(pid, &has_c) && !has_c;
}

void attach_go_hint(pid_t pid)
{
	bool has_c;
	if (go_process_recognise(pid, &has_c) && has_c)
		message("its program is one in Go: what C allocates in it is recorded; for Go's "
			"heap: heapwise attach --route=go %d",
			(int)pid);
}

struct error *attach_go_explain(pid_t pid, struct error *error)
{
	if (!error || error->code != ERROR_INPUT || !attach_go_is_usual(pid))
		return error;
	error_destroy(error);
	return error_create(ERROR_INPUT,
		"process %d: its program is one in Go, which is not recorded but profiled, so that "
		"it takes no marks, dumps or modes: 'heapwise attach %d' reads its profile, and "
		"writes it when that command is ended (^C, or --for)",
		(int)pid, (int)pid);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Signals that ask to end: one that comes early is not lost. */
static struct error *waiting_open(struct go_watch *watch)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGXFSZ, SIG_IGN);
	watch->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	if (watch->signals < 0)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't wait for signals");
	watch->process = (int)syscall(SYS_pidfd_open, watch->request->pid, 0);
	if (watch->process < 0)
		return error_errno(
			ERROR_INPUT, errno, "can't wait for process %d", (int)watch->request->pid);
	return NULL;
}

static struct error *file_open(struct go_watch *watch, const char *program)
{
	const struct attach_go_request *request = watch->request;
	const struct recording_name name = {.pattern = request->file ? request->file : FILE_USUAL,
		.program = program,
		.pid = request->pid};
	_cleanup_free_ char *path = NULL;
	struct error *error = recording_name_make(&name, &path);
	if (!error)
		error = output_file_open(path, 0600, &watch->file);
	if (!error && watch->file.exists && !request->overwrite)
		return error_create(ERROR_ENVIRONMENT,
			"%s already exists; use -f to replace it, or -o FILE for another name",
			path);
	return error;
}

static void rate_add(struct text *text, uint64_t rate)
{
	if (rate == 1) {
		text_add(text, "each allocation");
		return;
	}
	text_add(text, "about one allocation per ");
	text_add_bytes(text, rate);
	text_add(text, " allocated");
}

static void start_say(const struct go_watch *watch, const struct go_about *before)
{
	const struct attach_go_request *request = watch->request;
	const uint64_t rate = go_profile_about(watch->profile).rate;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (request->quiet)
		return;
	if (request->is_chosen)
		message("route go, since its program is one in Go");
	text_printf(&text, "process %d (%s%s): its runtime ", (int)request->pid,
		before->version[0] ? before->version : "Go",
		before->is_stripped ? ", stripped: its variables were found by its code" : "");
	text_add(&text, before->rate ? "samples already, " : "samples from now on, ");
	rate_add(&text, rate);
	if (!before->rate)
		text_printf(&text,
			" (MemProfileRate was 0, is %" PRIu64 "); live is what came since", rate);
	message("%s", text.failed ? "?" : text.data);
	if (!before->rate && before->samples)
		message("its samples from earlier (%" PRIu64
			") were taken at a rate that is not known: they count as ones at this rate",
			before->samples);
	if (!request->for_ns)
		message("^C writes the profile%s; the process goes on",
			before->rate ? "" : " and sets the rate back");
}

/* Whether figures are there, and of what. */
static const char *state_words(enum go_state state)
{
	return state == GO_STATE_NOW ? "the state of then, with all that was allocated and freed"
				     : "the state at the last complete garbage collection, as "
				       "runtime/pprof has it";
}

static struct error *figures_take(struct go_watch *watch)
{
	struct error *error = go_profile_look(watch->profile);
	if (error)
		return error;
	_cleanup_(text_deinit) struct text comment;
	_cleanup_(buf_deinit) struct buf out;
	text_init(&comment);
	buf_init(&out);
	text_printf(&comment, "heapwise attach: Go's heap, %s. It is %s.",
		watch->has_sampled
			? "of what came since its runtime samples"
			: "of what came since it was attached; what it had before is not in it",
		state_words(watch->request->state));
	watch->sums = go_profile_sums(watch->profile);
	if (watch->sums.other_rate)
		text_add(&comment, " " OTHER_RATE ".");
	const struct go_encoding encoding = {.state = watch->request->state,
		.time_ns = clock_ns(CLOCK_REALTIME),
		.duration_ns = clock_ns(CLOCK_MONOTONIC) - watch->began_ns,
		.comment = comment.data};
	error = comment.failed ? error_no_memory()
			       : go_profile_encode(watch->profile, &encoding, &out);
	if (error)
		return error;
	buf_deinit(&watch->figures);
	watch->figures = out;
	buf_init(&out);
	watch->figures_ns = clock_ns(CLOCK_MONOTONIC);
	return NULL;
}

/* Waits; returns whether that was asked to end, or the process has. */
static bool end_await(struct go_watch *watch, uint64_t wait_ns)
{
	const struct timespec wait = {
		(time_t)(wait_ns / NS_PER_SECOND), (long)(wait_ns % NS_PER_SECOND)};
	struct pollfd waited[] = {
		{.fd = watch->signals, .events = POLLIN}, {.fd = watch->process, .events = POLLIN}};
	if (ppoll(waited, ARRAY_SIZE(waited), &wait, NULL) <= 0)
		return false;
	watch->has_ended = waited[1].revents != 0;
	return true;
}

/* Looks again and again, so that of a process that ends the last figures are there. */
static struct error *figures_follow(struct go_watch *watch)
{
	uint64_t for_ns = watch->request->for_ns, wait_ns;
	do {
		uint64_t from = clock_ns(CLOCK_MONOTONIC);
		struct error *error = figures_take(watch);
		if (error)
			return error;
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		wait_ns = (now - from) * LOOK_SHARE;
		wait_ns = wait_ns > NS_PER_SECOND ? wait_ns : NS_PER_SECOND;
		if (for_ns && now - watch->began_ns >= for_ns)
			return NULL;
		if (for_ns)
			wait_ns = min(wait_ns, for_ns - (now - watch->began_ns));
	} while (!end_await(watch, wait_ns));
	return watch->has_ended ? NULL : figures_take(watch);
}

/* A process that ends or executes another program while it is looked at has been read before. */
static struct error *figures_settle(struct go_watch *watch, struct error *error)
{
	uint64_t pause_ns = NS_PER_SECOND / 10;
	if (!error || !watch->figures.len || error->code != ERROR_INPUT)
		return error;
	/* Its memory goes before its end is told. */
	bool is_over = watch->has_ended || end_await(watch, pause_ns);
	if (!is_over && go_profile_about(watch->profile).is_there)
		return error;
	error_destroy(error);
	watch->has_ended = true;
	return NULL;
}

static void packed_write(void *ctx, const char *data, size_t len)
{
	buf_bytes(ctx, data, len);
}

static struct error *file_write(struct go_watch *watch)
{
	_cleanup_(packer_cleanup) struct packer *packer = NULL;
	_cleanup_(buf_deinit) struct buf packed;
	buf_init(&packed);
	struct error *error = packer_create(PACKING_GZIP, &packer);
	if (!error)
		error = packer_run(packer, watch->figures.data, watch->figures.len, true,
			packed_write, &packed);
	if (!error && packed.failed)
		error = error_no_memory();
	if (!error)
		error = write_all(watch->file.fd, watch->file.path, packed.data, packed.len);
	return error ? error : output_file_commit(&watch->file);
}

static void live_add(struct text *text, const struct go_sums *sums, enum go_state state)
{
	text_add_bytes(text, sums->live_bytes[state]);
	text_add(text, " in ");
	text_add_counted(text, sums->live_blocks[state], "block", "blocks");
}

/* `before`: the rate that is put back. */
static void rate_say(const struct go_watch *watch, enum go_rate_end end, uint64_t before)
{
	const int pid = (int)watch->request->pid;
	if (end == GO_RATE_RESTORED && !watch->request->quiet)
		message("MemProfileRate of process %d is %" PRIu64 " again", pid, before);
	if (end == GO_RATE_OTHER)
		message("MemProfileRate of process %d was changed meanwhile, by the program or "
			"another command: it stays so, and the estimates may be wrong",
			pid);
}

static void end_say(const struct go_watch *watch, const char *file)
{
	const struct go_sums *sums = &watch->sums;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (sums->unsettled)
		message("of %zu stacks the figures changed each time they were read: they may be "
			"wrong",
			sums->unsettled);
	if (sums->other_rate)
		message("%s; the file says so, too", OTHER_RATE);
	if (watch->request->quiet)
		return;
	if (watch->has_ended)
		message("process %d has ended or executes another program; the figures are those "
			"of "
			"%.1f s before",
			(int)watch->request->pid,
			(double)(clock_ns(CLOCK_MONOTONIC) - watch->figures_ns) / 1e9);
	text_add(&text, "live now: about ");
	live_add(&text, sums, GO_STATE_NOW);
	text_add(&text, "; at the last complete garbage collection: about ");
	live_add(&text, sums, GO_STATE_GC);
	text_printf(&text, " (of %" PRIu64 " samples)", sums->samples);
	message("%s", text.failed ? "?" : text.data);
	message("%s has %s", file, state_words(watch->request->state));
	message("to see the report: heapwise report %s", file);
}

static struct error *watch_begin(struct go_watch *watch, struct go_about *ret_before)
{
	struct error *error = go_profile_open(watch->request->pid, &watch->profile);
	if (error)
		return error;
	*ret_before = go_profile_about(watch->profile);
	watch->has_sampled = ret_before->rate != 0;
	error = waiting_open(watch);
	if (!error)
		error = file_open(watch, ret_before->program);
	watch->began_ns = clock_ns(CLOCK_MONOTONIC);
	return error ? error : go_profile_begin(watch->profile, watch->request->rate);
}

int attach_go_run(const struct attach_go_request *request)
{
	_cleanup_(go_watch_close) struct go_watch watch = {
		.request = request, .file = OUTPUT_FILE_NONE, .signals = -1, .process = -1};
	struct go_about before;
	struct error *error = watch_begin(&watch, &before);
	if (error)
		return message_error(error);
	start_say(&watch, &before);
	error = figures_settle(&watch, figures_follow(&watch));
	rate_say(&watch, go_profile_end(watch.profile), before.rate);
	_cleanup_free_ char *path = strdup(watch.file.path);
	if (!error)
		error = path ? file_write(&watch) : error_no_memory();
	if (error)
		return message_error(error);
	end_say(&watch, recording_short_name(path));
	return 0;
}

int attach_go_outlook(const struct attach_go_request *request)
{
	struct go_profile *profile = NULL;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	struct error *error = go_profile_open(request->pid, &profile);
	if (error)
		return message_error(error);
	struct go_about about = go_profile_about(profile);
	text_printf(&text, "process        %d, %s%s\n", (int)request->pid,
		about.version[0] ? about.version : "Go", about.is_stripped ? ", stripped" : "");
	text_add(
		&text, "route          go: the heap profile of its runtime is read from outside\n");
	text_add(&text, about.rate ? "samples        already, " : "samples        none yet; then ");
	rate_add(&text, about.rate ? about.rate : request->rate ? request->rate : GO_RATE_USUAL);
	text_add(&text, about.rate
				? "\nchanged        nothing\n"
				: "\nchanged        runtime.MemProfileRate, 8 bytes, until it is "
				  "let go\n");
	text_add(&text, about.rate ? "before         what was sampled since its start is in it\n"
				   : "before         what it has allocated so far is not known\n");
	go_profile_close(profile);
	return text.failed ? message_error(error_no_memory()) : output_text(&text);
}
