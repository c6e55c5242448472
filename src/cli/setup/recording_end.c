/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/setup/recording_end.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/terminal/message.h"
#include "sources/hpw_unrecorded.h"

/* What records an allocator that no preloaded library can replace. */
static void add_attach_instead(struct text *text)
{
	text_add(text, " (start it alone, and 'heapwise attach PID' records them)");
}

static void add_unfreed(struct text *text, const struct recorder_totals *t)
{
	if (t->live_blocks) {
		text_add_bytes(text, t->live_bytes);
		text_add(text, " in ");
		text_add_counted(text, t->live_blocks, "block was", "blocks were");
		text_add(text, t->is_changed    ? " live when the mode was changed"
			       : t->is_detached ? " live when it was detached"
						: " never freed");
		if (t->notes & HPW_NOTE_OWN_MALLOC && !(t->notes & HPW_NOTE_IN_FRONT)) {
			text_add(text,
				"; the executable has another allocator in it, whose calls are NOT "
				"recorded");
			add_attach_instead(text);
		}
	} else if (t->notes & HPW_NOTE_NOT_ATTACHED) {
		text_add(text, "NOTHING was recorded: not enough address space for the recorder in "
			       "the program (ulimit -v?)");
	} else if (t->notes & HPW_NOTE_IN_FRONT) {
		text_add(text,
			"a library that is loaded before libheapwise-rt.so defines malloc; its "
			"calls are NOT recorded: put libheapwise-rt.so first in LD_PRELOAD");
	} else if (t->notes & HPW_NOTE_OWN_MALLOC) {
		text_add(text, "the executable defines its own malloc; its calls are NOT recorded");
		add_attach_instead(text);
	} else {
		text_add(text, t->lost          ? "no block that was seen was live at the end"
			       : t->allocations ? "every block was freed"
						: "nothing was allocated");
	}
	if (t->lost) {
		text_add(text, "; ");
		text_add_counted(text, t->lost, "event was", "events were");
		text_add(text, " LOST, so figures are too low");
	}
}

static void add_allocations(struct text *text, const struct recorder_totals *t)
{
	text_add(text, "peak ");
	text_add_bytes(text, t->peak_bytes);
	text_add(text, ", ");
	text_add_counted(text, t->allocations, "allocation", "allocations");
	text_add(text, " of ");
	text_add_bytes(text, t->allocated_bytes);
}

static void describe_text(struct text *text)
{
	message("%s", text->data ? text->data : "");
	text_clear(text);
}

/* What came of --line-rss. */
static void describe_traced(const struct recorder_totals *t, unsigned minor)
{
	if (!t->traced[0] || !minor)
		return;
	if (!(t->notes & HPW_NOTE_PYTHON_LINES))
		message("no lines of %s were traced: the frames of this Python can't be read, or "
			"it ended before it had started",
			t->traced);
	else if (!t->has_traced)
		message("no lines of %s were traced: no function of that name ran (up to Python "
			"3.10 a method has its plain name)",
			t->traced);
	else
		message("lines of %s were traced: heapwise list FUNC --format memory_profiler",
			t->traced);
}

void recording_describe_python(__attribute__((unused)) void *context, uint32_t notes)
{
	static const struct {
		uint32_t note;
		const char *why;
	} reasons[] = {
		{HPW_NOTE_PYTHON_NO_ROOM, "there is no address space for the table of its code"},
		{HPW_NOTE_PYTHON_DIFFERS, "they are not where this version has them"},
		{HPW_NOTE_PYTHON_UNKNOWN, "those of this version or build are not known"},
		{HPW_NOTE_PYTHON_FRAMES, NULL},
	};
	const char *why = "it ended before it ran any code";
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (notes & reasons[i].note) {
			why = reasons[i].why;
			break;
		}
	unsigned minor = notes >> HPW_NOTE_PYTHON_SHIFT & 0x7f;
	if (!minor)
		return;
	if (!(notes & HPW_NOTE_PYTHON))
		message("Python 3.%u: only what it gets from malloc, neither its objects nor "
			"Python "
			"frames: this version or build is not known",
			minor);
	else if (why)
		message("Python 3.%u: its objects and what it gets from malloc, without Python "
			"frames: %s",
			minor, why);
	else
		message("Python 3.%u: its objects and what it gets from malloc, with Python frames",
			minor);
}

static void describe_totals(const struct recorder_totals *t, uint32_t described)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, "recorded ");
	text_add_counted(&text, t->events, "event", "events");
	text_add(&text, " in ");
	text_add_duration_ns(&text, t->duration_ns);
	text_add(&text, "; ");
	add_allocations(&text, t);
	describe_text(&text);
	if ((t->notes & HPW_NOTES_PYTHON) != described)
		recording_describe_python(NULL, t->notes);
	describe_traced(t, t->notes >> HPW_NOTE_PYTHON_SHIFT & 0x7f);
	if (t->older_blocks) {
		text_add_counted(&text, t->older_blocks, "block", "blocks");
		text_add(&text, " of ");
		text_add_bytes(&text, t->older_bytes);
		text_add(&text, t->older_blocks == 1 ? " was there before" : " were there before");
		describe_text(&text);
	}
	add_unfreed(&text, t);
	describe_text(&text);
}

const char *recording_short_name(const char *file)
{
	char folder[PATH_MAX];
	if (!getcwd(folder, sizeof(folder)))
		return file;
	size_t n = strlen(folder);
	return !strncmp(file, folder, n) && file[n] == '/' ? file + n + 1 : file;
}

/* What came of --line-rss in several processes. */
static void describe_traced_processes(const struct launch_result *r)
{
	const char *asked = "";
	const struct collector_recording *traced =
		NULL; /* of these the one with the largest peak */
	size_t count = 0;
	for (size_t i = 0; i < r->recording_count; i++) {
		const struct collector_recording *one = &r->recordings[i];
		asked = one->totals.traced[0] ? one->totals.traced : asked;
		if (!one->totals.has_traced)
			continue;
		count++;
		if (!traced || one->totals.peak_bytes > traced->totals.peak_bytes)
			traced = one;
	}
	if (traced)
		message("lines of %s were traced%s: heapwise list FUNC %s --format memory_profiler",
			asked, count > 1 ? ", each process in its own recording" : "",
			recording_short_name(traced->file));
	if (asked[0] && !traced)
		message("no lines of %s were traced in %s", asked,
			r->recording_count < r->end.recordings ? "these" : "any of them");
}

static void describe_recordings(const struct launch_result *r)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add_counted(&text, r->end.recordings, "recording", "recordings");
	text_add(&text, " of ");
	text_add_counted(&text, r->end.processes, "process", "processes");
	if (r->recording_count < r->end.recordings)
		text_printf(&text, "; the largest are");
	text_add(&text, ":");
	describe_text(&text);
	for (size_t i = 0; i < r->recording_count; i++) {
		const struct collector_recording *one = &r->recordings[i];
		text_printf(&text, "  %s: %s (%d), ", recording_short_name(one->file), one->command,
			(int)one->pid);
		if (one->totals.is_sampled) {
			text_add(&text, "sampled");
		} else {
			add_allocations(&text, &one->totals);
			text_add(&text, "; ");
			add_unfreed(&text, &one->totals);
		}
		if (one->totals.write_error)
			text_add(&text, "; INCOMPLETE on disk");
		describe_text(&text);
	}
	describe_traced_processes(r);
}

/* How to see the whole tree. */
static void describe_all(const char *file)
{
	const char *name = recording_short_name(file);
	size_t stem = strlen(name);
	const char *extension = stem > 4 && !strcmp(name + stem - 4, ".hpw") ? ".hpw" : "";
	message("to list all: heapwise report %.*s*%s", (int)(stem - strlen(extension)), name,
		extension);
}

void recording_add_unrecorded(struct text *text, const struct collector_end *end)
{
	uint64_t left = end->unrecorded;
	for (unsigned i = 0; i < COLLECTOR_UNRECORDED_MAX; i++) {
		const struct collector_unrecorded *one = &end->unrecorded_named[i];
		if (!one->count)
			continue;
		text_add(text, left == end->unrecorded ? ": " : ", ");
		if (one->count > 1) {
			text_add_count(text, one->count);
			text_add(text, " × ");
		}
		text_add_shown(text, *one->program ? one->program : "?", SIZE_MAX);
		text_printf(
			text, " (%s)", unrecorded_reason_text(hpw_unrecorded_reason(one->reason)));
		left -= one->count;
	}
	if (left && left < end->unrecorded) {
		text_add(text, " and ");
		text_add_count(text, left);
		text_add(text, " more");
	}
}

static void describe_others(const struct collector_end *end, const char *file)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (end->small) {
		text_add_counted(&text, end->small, "small recording has no file of its own: its",
			"small recordings have no file of their own: their");
		text_printf(&text, " totals are in %s; --all-processes writes a file for each",
			recording_short_name(file));
		describe_text(&text);
	}
	if (end->living) {
		text_add_counted(&text, end->living, "other process is still running",
			"other processes are still running");
		text_add(&text, end->living == 1
					? "; its recording will be complete when it ends"
					: "; their recordings will be complete when they end");
		describe_text(&text);
	}
	if (end->silent) {
		text_add_counted(&text, end->silent, "other process is still running",
			"other processes are still running");
		text_add(&text, " and allocated nothing so far; recording starts with the first "
				"allocation");
		describe_text(&text);
	}
	if (end->unrecorded) {
		text_add_counted(&text, end->unrecorded, "other process that it started was",
			"other processes that it started were");
		text_add(&text, " not recorded");
		recording_add_unrecorded(&text, end);
		describe_text(&text);
	}
}

/* What is wrong is said with -q too. Returns the recording to look at first, NULL: there is none.
 */
static const struct collector_recording *describe_faults(const struct launch_result *r)
{
	if (r->collector != LAUNCH_COLLECTOR_REPORTED) {
		message(r->collector == LAUNCH_COLLECTOR_STOPPED
				? "the collector is stopped; when it continues, it completes %s"
				: "the collector was killed; %s is incomplete, but can be read",
			recording_short_name(r->last_file ? r->last_file : r->file));
		return NULL;
	}
	if (!r->recording_count) {
		message("nothing was recorded: %s",
			r->end.message[0] ? r->end.message
					  : "the program ended without loading the runtime");
		return NULL;
	}
	if (r->end.message[0])
		message("%s", r->end.message);
	const struct collector_recording *most = &r->recordings[0];
	for (size_t i = 0; i < r->recording_count; i++) {
		const struct recorder_totals *t = &r->recordings[i].totals;
		if (t->write_error)
			message("%s", t->message);
		/* Of equal ones the last: a wrapper (env, nice) ends before what it went on as. */
		if (t->peak_bytes >= most->totals.peak_bytes)
			most = &r->recordings[i];
	}
	return most;
}

static void describe_dumps(const struct collector_end *end, const struct dump_plan *plan)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (end->dumps) {
		text_add_counted(&text, end->dumps, "dump was written: ", "dumps were written, ");
		if (end->dumps > 1 && plan->keep)
			text_printf(&text, "the latest %u of each process are kept, ", plan->keep);
		text_add(&text, end->dumps > 1 ? "the last to " : "");
		text_add_plain(&text, recording_short_name(end->last_dump));
	} else if (dump_plan_has_triggers(plan)) {
		text_add(&text, "no dumps were written");
	} else if (plan->keep) {
		text_add(&text, "no dumps were written, of which --keep would have kept the "
				"latest: options such as --dump-every say when to");
	} else {
		return;
	}
	describe_text(&text);
}

/* Where modes were changed, some are and some are not. */
static bool is_all_sampled(const struct launch_result *r)
{
	bool all = true;
	for (size_t i = 0; i < r->recording_count; i++)
		all &= r->recordings[i].totals.is_sampled;
	return all;
}

const struct collector_recording *recording_describe_end(
	const struct launch_result *r, const struct dump_plan *plan, bool quiet)
{
	signal(SIGXFSZ, SIG_IGN); /* the program's limit holds for our words as well */
	const struct collector_recording *first = describe_faults(r);
	if (!first || quiet)
		return first;
	bool one = r->end.recordings == 1 && !r->end.small;
	if (is_all_sampled(r))
		message("sampled; the report shows estimates");
	else if (one)
		describe_totals(&first->totals, r->python);
	else
		describe_recordings(r);
	describe_others(&r->end, r->file);
	if (!one || r->end.living)
		describe_all(r->file);
	describe_dumps(&r->end, plan);
	if (first->totals.file_gone)
		return first;
	if (first->totals.write_error)
		message("the figures above are complete, the file is not; to see what it contains: "
			"heapwise report %s",
			recording_short_name(first->file));
	else
		message("to see the report: heapwise report %s%s",
			recording_short_name(first->file),
			one ? "" : " (the one with the largest peak)");
	return first;
}
