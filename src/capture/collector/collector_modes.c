/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of the mode of a process that is being recorded: its recording is completed, and another
 * one begins, over the same rings (recorder/recorder_rings.c). What can't be right in two
 * files, or was promised for one, is refused: docs/decisions/0037-modes-at-run-time.md.
 */
#include "capture/collector/collector_impl.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "process/proc_info.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERWISE                                                                                  \
	"; start the program in that mode ('heapwise run --mode', 'heapwise env --mode'), or use " \
	"'heapwise ctl PID stop' and 'start'"
#define LATER "; try again"
/* So often others' rings are looked at while one process's are emptied. */
#define OTHERS_NS 5000000u

const char *collector_mode_name(const struct mode *mode)
{
	static const char *const names[] = {
		[MODE_EXACT] = "exact", [MODE_AGGREGATE] = "aggregate", [MODE_SAMPLE] = "sample"};
	return names[mode->kind];
}

/* As request.h has it. Returns false if it makes no sense. */
static bool mode_of_text(const char *text, struct changed_mode *ret)
{
	static const char sample[] = "sample:";
	*ret = (struct changed_mode){.is_set = true};
	if (!strcmp(text, "exact")) {
		ret->kind = MODE_EXACT;
		return true;
	}
	if (!strcmp(text, "aggregate")) {
		ret->kind = MODE_AGGREGATE;
		return true;
	}
	size_t prefix = sizeof(sample) - 1;
	if (strncmp(text, sample, prefix) || text[prefix] < '0' || text[prefix] > '9')
		return false;
	char *end;
	errno = 0;
	ret->kind = MODE_SAMPLE;
	ret->sample_bytes = strtoull(text + prefix, &end, 10);
	return !*end && !errno && ret->sample_bytes && ret->sample_bytes <= HW_SAMPLE_BYTES_MAX;
}

static bool is_same_mode(const struct mode *now, const struct changed_mode *wanted)
{
	return now->kind == wanted->kind && now->sample_bytes == wanted->sample_bytes;
}

/* Why the recording can't have a second part, whatever its mode: a part of a sentence. NULL: it
 * can. */
static const char *refusal_of_recording(const struct collector *c, const struct tracked_process *s)
{
	const struct mode *mode = &s->recorder->mode;
	const struct leak_check *leaks = &c->start->leak_check;
	if (c->start->attached_ns)
		return "it was attached; use 'heapwise detach PID', and attach it in that mode";
	if (mode->tool)
		return "its functions of another tool (--as) have been told the mode that it "
		       "began with" OTHERWISE;
	if (mode->check != MODE_CHECK_OFF)
		return "its errors are looked for, and are one list" OTHERWISE;
	if (mode->mappings != MODE_MAPPINGS_OFF)
		return "with --mmap the new recording would not know what is mapped "
		       "already" OTHERWISE;
	if (mode->free_stacks)
		return "with --free-stacks all is recorded of each block, also after it was "
		       "freed" OTHERWISE;
	if (mode->ring_bytes)
		return "--ring is one file with the last events" OTHERWISE;
	if (mode->file_bytes)
		return "--max-file limits one file" OTHERWISE;
	if (leaks->at_exit || leaks->at_main_end || leaks->on_death || leaks->as_lsan)
		return "leaks of the whole run are to be searched for at its end, and the new "
		       "recording would not know blocks from before" OTHERWISE;
	return NULL;
}

/* Why the program, as it is now, can't go on in another mode. */
static const char *refusal_of_program(const struct tracked_process *s)
{
	const struct recorder *r = s->recorder;
	uint32_t notes = event_source_notes(r->source);
	struct recorder_end end;
	if (recorder_is_bypassed(r))
		return "its allocator is not recorded: there would be nothing in either "
		       "recording";
	if (notes & HW_NOTE_BLOCKS || r->pools.is_begun)
		return "the program reports blocks or pools of its own, and the new recording "
		       "would "
		       "not know those that there are" OTHERWISE;
	if (notes & HW_NOTE_SANDBOXED)
		return "the program has disabled system calls or the time stamp counter for "
		       "itself, which other modes may need" OTHERWISE;
	if (r->stopped)
		return "its recording is stopped: use 'heapwise ctl PID start' first";
	if (s->leaks || s->verdict_child)
		return "it is being searched for leaks" LATER;
	if (recorder_is_leaving(r, &end))
		return "it is ending";
	if (process_is_stopped(s->pid))
		return "the process is stopped (by a signal or a debugger) and would not notice: "
		       "let it continue first";
	if (r->rings.changes >= HW_MODE_CHANGES_MAX)
		return "it was changed too often" OTHERWISE;
	return NULL;
}

static const char *find_refusal(const struct collector *c, const struct tracked_process *s,
	const struct session_caller *caller, const struct changed_mode *wanted)
{
	if (!caller->request.pid || caller->pid == s->pid)
		return "a program can't change its own mode, since the request itself would be in "
		       "neither recording: let 'heapwise ctl' do it from outside";
	if (s->recorder->mode.kind == MODE_AGGREGATE || wanted->kind == MODE_AGGREGATE)
		return "in mode aggregate all is in the sums of one file" OTHERWISE;
	const char *why = refusal_of_recording(c, s);
	return why ? why : refusal_of_program(s);
}

/* Creates the recorder that goes on. */
static struct error *create_next(struct collector *c, struct tracked_process *s,
	const struct changed_mode *wanted, struct recorder **ret)
{
	const struct recorder *before = s->recorder;
	_cleanup_free_ char *before_file = strdup(path_last_part(s->file));
	_cleanup_free_ char *whole = strdup(s->file);
	uint32_t part = s->part;
	if (!before_file || !whole)
		return error_no_memory();
	int file = tracked_process_part_create(s);
	if (file < 0)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "can't create a file beside %s", whole);
	const struct recorder_start start = {.pid = before->pid,
		.outer_ppid = before->outer_ppid,
		.target_pid = before->target_pid,
		.ppid = before->ppid,
		.before = before,
		.before_file = before_file,
		.tsc_hz = c->tsc_hz,
		.mode = collector_next_mode(c, wanted),
		.began = clock_pair_now(),
		.write_queue = c->write_queue,
		.file = file,
		.file_name = s->file};
	struct error *error = recorder_create(&start, ret);
	if (error) {
		unlink(s->file);
		strcpy(s->file, whole);
		s->part = part;
	}
	return error;
}

/* What is known by the names and numbers of recordings. */
static void introduce_next(struct collector *c, struct tracked_process *s)
{
	s->image_number = lineage_add(&c->lineage, s->recorder->target_pid, s->pid,
		s->recorder->began.tsc, path_last_part(s->file));
	collector_name_root(c, s);
	collector_renew_distances(s);
}

/* The rings of the other processes wait meanwhile. */
struct others {
	struct collector *c;
	const struct tracked_process *but;
	uint64_t done_ns;
};

static void go_on_with_others(void *context)
{
	struct others *others = context;
	uint64_t now = clock_pair_now().ns;
	if (now - others->done_ns < OTHERS_NS)
		return;
	collector_go_on_meanwhile(others->c, others->but);
	others->done_ns = clock_pair_now().ns;
}

/* *ret_ns: how long the recording that is completed had gone on. */
static struct error *change_mode(struct collector *c, struct tracked_process *s,
	const struct changed_mode *wanted, const struct recorder_meanwhile *meanwhile,
	uint64_t *ret_ns)
{
	char before[TRACKED_FILE_MAX], next_file[TRACKED_FILE_MAX];
	struct recorder *next;
	memcpy(before, s->file, sizeof(before));
	collector_dump_due(c, s);
	struct error *error = create_next(c, s, wanted, &next);
	if (error)
		return error;
	recorder_hand_over(s->recorder, next, meanwhile);
	*ret_ns = s->recorder->cut.at.ns - s->recorder->began.ns;
	s->mode = *wanted;
	/* The recording that is completed goes by its own name. */
	memcpy(next_file, s->file, sizeof(next_file));
	memcpy(s->file, before, sizeof(before));
	collector_finish_part(c, s, next);
	memcpy(s->file, next_file, sizeof(next_file));
	introduce_next(c, s);
	return NULL;
}

static void refuse_mode(
	const struct session_caller *caller, const struct mode *now, const char *why)
{
	const struct hw_reply refused = {.error = ENOTSUP};
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "its mode stays %s", collector_mode_name(now));
	if (now->sample_bytes)
		text_printf(&text, ":%" PRIu64, now->sample_bytes);
	text_printf(&text, ": %s", why);
	ask_reply_send(caller->connection, &refused, text.failed ? why : text.data);
}

void collector_change_mode(
	struct collector *c, struct tracked_process *s, const struct session_caller *caller)
{
	struct hw_reply reply = {.error = EINVAL};
	struct changed_mode wanted;
	if (!mode_of_text(caller->request.text, &wanted)) {
		ask_reply_send(caller->connection, &reply, "what it asks for makes no sense");
		return;
	}
	reply = (struct hw_reply){.ok = 1, .error = EIO};
	reply.time_ns = clock_pair_now().ns - s->recorder->began.ns;
	struct error *error = NULL;
	struct others others = {.c = c, .but = s};
	const struct recorder_meanwhile meanwhile = {go_on_with_others, &others};
	if (!is_same_mode(&s->recorder->mode, &wanted)) {
		const char *why = find_refusal(c, s, caller, &wanted);
		if (!why && !recorder_take_all(s->recorder, &meanwhile))
			why = "the recorder does not catch up with what the program does: try "
			      "again when it does less";
		if (why) {
			refuse_mode(caller, &s->recorder->mode, why);
			return;
		}
		snprintf(reply.message, sizeof(reply.message), "%.*s", NAME_MAX,
			path_last_part(s->file));
		error = change_mode(c, s, &wanted, &meanwhile, &reply.time_ns);
	}
	reply.ok = !error;
	snprintf(reply.file, sizeof(reply.file), "%s", s->file);
	ask_reply_send(caller->connection, &reply, error ? error->message : NULL);
	error_destroy(error);
}
