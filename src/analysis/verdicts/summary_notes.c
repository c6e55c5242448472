/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What limits a recording's figures: summary_add_notes(). Each kind of limit is a function in a
 * table that has something to say, or nothing.
 */
#include "analysis/summary.h"

#include <stddef.h>
#include <string.h>

#include "analysis/interval.h"
#include "analysis/unrecorded.h"
#include "base/util.h"

static const char *const lost_words[LOST_REASONS] = {
	[LOST_STALLED] = "because the recorder stalled for more than a second",
	[LOST_IN_HANDLER] = "in signal handlers, which must not wait for the recorder",
	[LOST_SAMPLED] = "because a buffer was full (sampling does not wait for room)",
	[LOST_HELD] = "because another thread stopped in the middle of an event",
	[LOST_REALLOC_FAILED] = "with sampled blocks whose realloc failed",
	[LOST_SAMPLER] = "because the table of sampled blocks was full or in use",
	[LOST_OWNERLESS] = "of threads that the recorder could not identify",
	[LOST_DAMAGED] = "at least, where the program overwrote the recorder's memory",
	[LOST_NO_MEMORY] = "because the recorder had no memory for more blocks or stacks",
	[LOST_RING] = "because the ring of events from the kernel was full",
	[LOST_TABLE] = "because the kernel's table of blocks or threads was full",
	[LOST_UNPROBED] = "of operator new, whose calls probes leave alone if they might throw",
};

/* "5 events lost, 3 because … and 2 in …: counts are …" */
static void add_lost(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	unsigned causes = 0, given = 0;
	for (unsigned why = 0; why < LOST_REASONS; why++)
		causes += recording->lost[why] != 0;
	if (!recording->lost_events)
		return;
	text_add_counted(text, recording->lost_events, "event", "events");
	text_add(text, " lost");
	for (unsigned why = 0; why < LOST_REASONS; why++) {
		if (!recording->lost[why])
			continue;
		text_add(text, !given++          ? causes > 1 ? ", " : " "
			       : given == causes ? " and "
						 : ", ");
		if (causes > 1) {
			text_add_count(text, recording->lost[why]);
			text_add(text, " ");
		}
		text_add(text, lost_words[why]);
	}
	text_add(text, ": counts are too low, and blocks whose free was lost look never freed.\n");
}

static void add_ending(const struct model *model, struct text *text)
{
	const struct target *target = model_target(model);
	if (target->exit_kind != EXIT_KIND_SIGNAL && target->exit_kind != EXIT_KIND_EXEC)
		return;
	text_add(text, "The program ");
	summary_add_ending(text, target);
	text_add(text, ".\n");
}

static void summary_notes_add_damage(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (!recording->complete)
		text_add(text, recording->types ? "Parts could not be read: figures cover only "
						  "what could be read.\n"
						: "The recording is incomplete: figures cover the "
						  "time up to its end.\n");
	size_t count;
	const char *const *damage = model_damage(model, &count);
	for (size_t i = 0; i < count; i++)
		text_printf(text, "%s\n", damage[i]);
	if (recording->remark)
		text_printf(text, "%s\n", recording->remark);
}

/* Counters of the recording that are usually 0, and what it means when one is not. */
static const struct caveat {
	size_t member;
	const char *one, *many, *text;
} caveats[] = {
	{offsetof(struct recording, repairs), "inconsistency", "inconsistencies",
		" repaired: allocations and frees of an address did not alternate.\n"},
	{offsetof(struct recording, unknown_frees), "free of a block", "frees of blocks",
		" whose allocation was not recorded.\n"},
	{offsetof(struct recording, inherited_frees), "free of a block", "frees of blocks",
		" inherited from the parent process.\n"},
	{offsetof(struct recording, stacks_full), "event", "events",
		" without a stack: the table of stacks was full.\n"},
};

static void add_caveats(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	for (size_t i = 0; i < ARRAY_SIZE(caveats); i++) {
		uint64_t value;
		memcpy(&value, (const char *)recording + caveats[i].member, sizeof(value));
		if (value == 0)
			continue;
		text_add_counted(text, value, caveats[i].one, caveats[i].many);
		text_add(text, caveats[i].text);
	}
}

/* What a sum of recordings lacks of the run's processes. */
static void add_small(const struct model *model, struct text *text)
{
	size_t count;
	const struct small_process *rows = model_small(model, &count);
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += rows[i].totals.allocated_bytes;
	if (!count || !model_recording(model)->merged)
		return;
	text_add_counted(text, count, "small process", "small processes");
	text_printf(text, " of these runs, which allocated ");
	text_add_bytes(text, bytes);
	text_add(text, " in total, are not included: their allocation sites are unknown (run "
		       "--all-processes).\n");
}

static void add_ancestors(const struct model *model, struct text *text)
{
	if (model_inherited(model)->problem)
		text_printf(text, "%s\n", model_inherited(model)->problem);
}

/* Where the figures of that time stand beside the peak. */
static void add_sampled_peak(const struct model *model, struct text *text)
{
	const struct range *range = &model_recording(model)->range;
	const struct totals *totals = model_totals(model);
	bool is_of_peak = range->part && strcmp(range->to, "peak") == 0;
	size_t rows;
	model_series(model, &rows);
	if (is_of_peak ? totals->live_bytes != totals->peak_bytes : rows > 0)
		text_add(text,
			" What all samples show of the time of the peak is usually too much, "
			"because the time was chosen by it; the peak is estimated without that "
			"choice (docs/quantities.md, Peak of a sample).");
}

static void add_sampled(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (!recording->sample_bytes)
		return;
	text_add(text, "Sampled, about one block per ");
	text_add_count(text, recording->sample_bytes);
	text_add(text, " bytes: figures are estimates; ");
	if (recording->biased_samples)
		text_add(text, "samples were not taken by chance, so the whole has a range, but "
			       "stacks have none: theirs may be off several times over.");
	else
		text_add(text, "the ranges contain the true values in 95% of recordings.");
	if (interval_model_is_by_mean_sizes(model))
		text_add(text, " The file does not contain the block sizes of each stack: numbers "
			       "of blocks are estimated " INTERVAL_BY_MEAN_SIZES
			       ", and these ranges are too narrow where sizes differ.");
	add_sampled_peak(model, text);
	text_add(text, strcmp(recording->source, "recording") == 0
			       ? " Temporary allocations, and which of them would fit on the "
				 "stack, are unknown.\n"
			       : "\n");
}

/* Times in which allocations were not recorded. */
static void add_stops(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (!recording->stops)
		return;
	text_add(text, "Recording was stopped ");
	text_add_counted(text, recording->stops, "time", "times");
	text_add(text, ", for ");
	text_add_duration_ns(text, recording->stopped_ns);
	text_add(text, recording->stopped_at_end ? " until the end: " : " in total: ");
	text_add(text, "blocks that were allocated meanwhile are not in any figure");
	if (recording->stopped_frees) {
		text_add(text, ", nor are ");
		text_add_counted(text, recording->stopped_frees, "free", "frees");
		text_add(text, " of blocks that are not known");
	}
	text_add(text, ".\n");
}

/* One recording of several of a process, whose mode was changed. */
static void add_changes(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (recording->mode_changes) {
		text_add(text, "The program was recorded before in another mode");
		if (recording->earlier_file) {
			text_add(text, ", in ");
			text_add_shown(text, recording->earlier_file, SIZE_MAX);
		}
		text_add(text, ": blocks allocated before the change are not in this recording");
		if (recording->stopped_frees && !recording->stops) {
			text_add(text, ", nor are ");
			text_add_counted(text, recording->stopped_frees, "free", "frees");
			text_add(text, " of such blocks that were seen");
		}
		text_add(text, ".\n");
		if (recording->change_missed) {
			text_add_counted(text, recording->change_missed, "event", "events");
			text_add(text, recording->change_missed == 1 ? " that a thread was"
								     : " that threads were");
			text_add(text, " about to record at that moment ");
			text_add(text, recording->change_missed == 1 ? "is" : "are");
			text_add(text, " in neither recording.\n");
		}
	}
	if (recording->changed_at_end)
		text_add(text, "The mode was changed at the end of this recording: the program "
			       "went on in another one.\n");
}

/* Why what was allocated before is not known. */
static const char *const older_reasons[OLDER_BLOCKS_KINDS] = {
	[OLDER_BLOCKS_UNWANTED] = ", as it was asked for (--before=none)",
	[OLDER_BLOCKS_SAMPLED] = ", which samples have no use for",
	[OLDER_BLOCKS_PAUSE] = ", since copying the process would have stopped it for longer than "
			       "--pause allows (--before=snapshot: do it anyway)",
	[OLDER_BLOCKS_REFUSED] = ", since the process could not be copied (a limit of processes or "
				 "memory, or seccomp)",
	[OLDER_BLOCKS_LACKS] = ", since a copy of the process would lack some of its memory "
			       "(MADV_DONTFORK, MADV_WIPEONFORK)",
	[OLDER_BLOCKS_ALLOCATOR] = ", since blocks of its allocator can't be listed (those of "
				   "glibc, musl, jemalloc 5, tcmalloc and mimalloc 2 can)",
	[OLDER_BLOCKS_LATE] = ", since listing them took too long for all that the process did "
			      "meanwhile",
	[OLDER_BLOCKS_FAILED] = ", since its heap could not be read",
	[OLDER_BLOCKS_WATCHED] = ", since nothing looked into the process",
};

static void add_older(const struct recording *recording, struct text *text)
{
	if (!older_blocks_are_known(recording->older)) {
		text_add(text, "blocks allocated before are not in this recording");
		text_add(text,
			older_reasons[recording->older] ? older_reasons[recording->older] : "");
		return;
	}
	text_add_counted(text, recording->older_blocks, "block", "blocks");
	text_add(text, " (");
	text_add_bytes(text, recording->older_bytes);
	text_add(text, " usable) were there, which are counted as live from the beginning, not as "
		       "calls; they have no stacks, but ");
	text_add(text, recording->older == OLDER_BLOCKS_TYPED
			       ? "types, as 'heapwise heap' finds them"
			       : "no types either, since the process did too much meanwhile");
	if (recording->older_threads) {
		text_add(text, "; ");
		text_add_counted(text, recording->older_threads, "thread", "threads");
		text_add(text, " may have been inside the allocator: up to as many blocks may be "
			       "missing or too many");
	}
	if (recording->older_damaged) {
		text_add(text, "; in ");
		text_add_bytes(text, recording->older_damaged);
		text_add(text, " of the heap no blocks could be made out");
	}
}

static void add_attached_unseen(const struct recording *recording, struct text *text)
{
	if (recording->attached_later) {
		text_add_counted(text, recording->attached_later, "library was", "libraries were");
		text_add(text,
			" loaded after that: what they called before that was noticed (about "
			"0.02 s) is not recorded.\n");
	}
	if (recording->attached_kept) {
		text_add_counted(text, recording->attached_kept, "word of the program holds",
			"words of the program and its libraries hold");
		text_add(text,
			" an address of malloc or the like from before it was attached: calls "
			"through such words are not recorded.\n");
	}
	if (recording->attached_later || recording->attached_kept)
		text_add(text, "Blocks that such calls freed look live until their addresses are "
			       "allocated again, and frees of what they allocated there may look "
			       "mismatched.\n");
}

static void add_attached(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (!recording->attached_ns)
		return;
	text_add(text, "The program had run for ");
	text_add_duration_ns(text, recording->attached_ns);
	text_add(
		text, recording->watched ? " when watching it began: " : " when it was attached: ");
	add_older(recording, text);
	if (recording->stopped_frees && !recording->stops) {
		text_add(text, older_blocks_are_known(recording->older) ? "; not in it are "
									: ", nor are ");
		text_add_counted(text, recording->stopped_frees, "free", "frees");
		text_add(text, older_blocks_are_known(recording->older)
				       ? " of blocks that are not known"
				       : " of such blocks that were seen");
	}
	text_add(text, ".\n");
	add_attached_unseen(recording, text);
}

/* What its figures rest on. */
static void add_watched(const struct model *model, struct text *text)
{
	if (model_recording(model)->watched)
		text_add(text, "The calls were seen by probes in the kernel ('heapwise watch'): "
			       "nothing in the program was changed; what it maps by itself (mmap) "
			       "is not in this recording.\n");
}

/* Of a moment of a program that went on, or of its end. */
static void add_dump(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (!recording->dump)
		return;
	text_add(text, "A dump, written after ");
	text_add_duration_ns(text, recording->duration_ns);
	text_add(text, " because ");
	text_add_shown(text, recording->dump, SIZE_MAX);
	text_add(text, recording->snapshot ? ": the program went on.\n" : ".\n");
	if (!recording->reset_ns)
		return;
	text_add(text, "Its counts of calls were reset after ");
	text_add_duration_ns(text, recording->reset_ns);
	text_add(text,
		": they are of the time since. What is live, and the peak, are of all time.\n");
}

static void add_kept_events(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (!recording->dropped_steps || !recording->kept_steps)
		return;
	text_add(text, "Single events are available only from ");
	text_add_duration_ns(text, recording->kept_from_ns);
	text_add(text, " to ");
	text_add_duration_ns(text, recording->kept_until_ns);
	text_add(text, "; all figures here cover the whole time, and figures of one moment (--at) "
		       "are not available.\n");
}

/* A malloc of its own. */
static void add_other_malloc(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (recording->malloc_in_front)
		text_add(text,
			"A library that is loaded before the recorder (LD_PRELOAD) defines malloc. "
			"Calls of that malloc are not recorded. Put libheapwise-rt.so first: "
			"LD_PRELOAD=…/libheapwise-rt.so:LIBRARY, or use 'heapwise run'.\n");
	else if (recording->own_malloc)
		text_add(text,
			"The executable defines malloc itself, or is linked with an allocator that "
			"does. Calls of that malloc are not recorded, because LD_PRELOAD can't "
			"replace it. Start the program alone: 'heapwise attach PID' records them. "
			"Or link it with a shared malloc library or with libc's malloc.\n");
}

/* What of an interpreter in the program is visible. */
static void add_python(const struct recording *recording, struct text *text)
{
	static const char *const why[] = {
		[NO_PYTHON_FRAMES_NONE] = "it ended before it ran any code.",
		[NO_PYTHON_FRAMES_UNKNOWN] =
			"heapwise does not know the frames of this version or build (it knows "
			"those of 3.8 to 3.13, with the interpreter's lock).",
		[NO_PYTHON_FRAMES_DIFFERS] =
			"its frames are not where this version has them, so it was built in "
			"another way than heapwise knows.",
		[NO_PYTHON_FRAMES_NO_ROOM] =
			"there was no address space for the table of its code (ulimit -v).",
	};
	if (!recording->python_minor)
		return;
	text_printf(text, "Python 3.%u: ", recording->python_minor);
	if (recording->python_objects && recording->python_frames &&
		recording->no_python_frames == NO_PYTHON_FRAMES_NONE)
		text_add(text, "objects and frames: each block of its allocator is a block here, "
			       "with the Python stack.\n");
	else
		text_printf(text, "%s: %s\n",
			recording->python_objects
				? "objects without Python frames"
				: "neither objects nor frames, only what it gets from malloc",
			why[recording->no_python_frames]);
}

static void add_surroundings(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	add_python(recording, text);
	if (recording->ignores)
		text_add(text, "The program had some of its allocations left out "
			       "(heapwise_ignore_begin): they are in no figure.\n");
	if (recording->signal_taken)
		text_add(text,
			"The program handles the signal that was to dump it itself: from then "
			"on no dump was written for it.\n");
	if (recording->loaded_apart)
		text_add(text,
			"The program loads libraries that bypass the recorder (RTLD_DEEPBIND, "
			"dlmopen): what they allocate and free is not recorded. A block that they "
			"free for others looks never freed until its address is reused.\n");
	if (recording->sandboxed)
		text_add(text,
			"The program disabled system calls or the time stamp counter for "
			"itself (seccomp, prctl). Recording continues without them; children "
			"forked after that are not recorded until they execute a program.\n");
	if (recording->not_attached)
		text_add(text, "The recorder did not get enough memory inside the program: check "
			       "for an address-space limit below 80 MiB (ulimit -v).\n");
}

/* Waiting that a person would notice. */
#define NOTICEABLE_WAIT_NS 100000000u
/* Of many short waits: that, and this share of the time that was recorded. */
#define NOTICEABLE_WAIT_SHARE 10u

static void add_waiting(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	if (recording->longest_wait_ns >= NOTICEABLE_WAIT_NS) {
		text_add(text, "A thread of the program waited up to ");
		text_add_duration_ns(text, recording->longest_wait_ns);
		text_add(text, " for the recorder.\n");
	}
	if (recording->wait_ns < NOTICEABLE_WAIT_NS ||
		recording->wait_ns < recording->duration_ns / NOTICEABLE_WAIT_SHARE)
		return;
	text_add(text, "The program's threads waited ");
	text_add_duration_ns(text, recording->wait_ns);
	text_add(text, " in total for room in their buffers, because the recorder was slower.\n");
}

/* What the program has mapped is in no figure of the heap, or all that figures are of. */
static void add_mapped(const struct model *model, struct text *text)
{
	const struct recording *recording = model_recording(model);
	const struct mapped_sums *mapped = &recording->mapped;
	if (recording->what == RECORDED_BOTH) {
		text_add(text,
			"These figures are of the heap and of what the program mapped by mmap, brk "
			"and pthread_create, together. ");
		if (mapped->allocator_bytes) {
			text_add_bytes(text, mapped->allocator_bytes);
			text_add(text, " that its allocator mapped are left out, since blocks lie "
				       "in them. ");
		}
		text_add(text,
			"The peak of both together is not known, nor are lifetimes and failed "
			"calls.\n");
	}
	if (recording->what == RECORDED_MAPPINGS)
		text_printf(text,
			"These figures are of what the program mapped by mmap, brk and "
			"pthread_create, not of its heap%s. What libc mapped for itself is not "
			"among them.\n",
			recording->only_mappings ? ", which was not recorded" : "");
	if (recording->what != RECORDED_HEAP || !mapped->calls)
		return;
	text_add(text, "Apart from its heap, the program had mapped ");
	text_add_bytes(text, mapped->bytes);
	text_add(text, " by calls of its own, at most ");
	text_add_bytes(text, mapped->peak_bytes);
	if (mapped->allocator_bytes) {
		text_add(text, "; ");
		text_add_bytes(text, mapped->allocator_bytes);
		text_add(text, " of it is its allocator's, in which blocks lie");
	}
	text_add(text, ": --class mapping shows who did.\n");
}

static void (*const notes[])(const struct model *, struct text *) = {
	add_ending,
	summary_notes_add_damage,
	add_lost,
	add_caveats,
	unrecorded_add_sentences,
	add_small,
	add_ancestors,
	add_sampled,
	add_changes,
	add_attached,
	add_watched,
	add_dump,
	add_stops,
	add_kept_events,
	add_other_malloc,
	add_surroundings,
	add_mapped,
	add_waiting,
};

void summary_add_notes(
	const struct model *model, const struct resolver *resolver, struct text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		notes[i](model, text);
	resolver_notes(resolver, text);
}
