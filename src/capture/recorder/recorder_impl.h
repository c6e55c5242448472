/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the recorder share; no other file includes this. Steps come from the merge
 * (recorder_steps.c). When there are enough of them, or time has passed, they are written
 * (recorder_chunks.c). recorder.c creates and ends a recorder.
 */
#ifndef CAPTURE_RECORDER_IMPL_H
#define CAPTURE_RECORDER_IMPL_H

#include "capture/recorder/recorder.h"
#include "capture/writer/footer.h"

/* Keeps the first error, and destroys others. */
void recorder_keep_error(struct recorder *r, struct error *error);

/* Returns the source's clocks; of one that was handed over as they were then. */
static inline struct clock_pair recorder_now(const struct recorder *r)
{
	return r->cut.done ? r->cut.at : r->source->ops->clock(r->source);
}

/* The memory that both sides share: sparse, so that its size is a promise, not a cost. Its rings
 * are the source. */
struct error *recorder_create_rings(struct recorder *r, const struct recorder_start *start);
/* Maps those of start->before, which are the source. */
struct error *recorder_share_rings(struct recorder *r, const struct recorder_start *start);
/* Returns what the source says of the recording, and of no other one. */
struct event_report recorder_report(const struct recorder *r);
/* Whether events of this recording were lost, also ones whose HW_R_LOST has not come yet: a thread
 * counts an event in the memory that it shares before it goes on, and puts HW_R_LOST into its ring
 * only when there is room again. Asks the source: not for each event. */
bool recorder_has_lost(const struct recorder *r);

/* Prepares the merge of the source's lanes, whose steps are this recorder's. */
void recorder_steps_init(struct recorder *r);
/* Puts a node of the stacks and its ancestors on the list of those to be written. Returns the node,
 * or 0 if it is invalid or there is no memory. */
uint32_t recorder_want_stack(struct recorder *r, uint32_t stack);
/* Adds a node to the process's table of stacks. Returns its number; 0: there is no room. */
uint32_t recorder_add_node(struct recorder *r, uint32_t parent, uint64_t frame);

/* The list of what an attached process had allocated before, if there is to be one: events are held
 * until it is there. */
void recorder_open_older(struct recorder *r, const struct recorder_start *start);
/* Whether a block was taken for one that had been allocated before, and was in truth being freed by
 * a thread inside the allocator: at most one for each of them. */
bool recorder_mistook(struct recorder *r, const struct live_entry *block);
/* Whether events are still held. Enters the list if it is there. */
bool recorder_is_held(struct recorder *r);
/* After a pass: nothing more goes through the memory for what was held, once that is empty. */
void recorder_end_held(struct recorder *r);

/* The fields of struct merge_sink. */
void recorder_on_alloc(void *context, uint32_t thread, enum hw_alloc_kind kind, uint64_t address,
	uint32_t stack, uint64_t size, uint64_t stamp);
void recorder_on_pool(void *context, uint32_t thread, const struct merge_pool *pool);
void recorder_on_error(void *context, uint32_t thread, uint64_t kind,
	const struct hw_error_report *report, uint64_t stamp);
/* `block` (NULL: none known at `address`) has been given back and is no longer in the table. */
void recorder_free_block(struct recorder *r, uint32_t thread, uint64_t address,
	const struct live_entry *block, enum hw_free_kind kind, uint64_t stamp);
/* A free of what may be at the address of a covered block (own_pools.h). Returns false if there is
 * none there; else that block, or the inner one, is free. */
bool recorder_free_covered(struct recorder *r, uint32_t thread, enum hw_free_kind kind,
	uint64_t address, uint64_t stamp);
/* A block was allocated where `there` lives. Returns whether that is one of malloc that contains
 * it: then it is covered. */
bool recorder_cover(struct recorder *r, const struct live_entry *there);
/* Writes a mark of a thread. */
void recorder_put_mark(
	struct recorder *r, uint32_t thread, const char *name, size_t bytes, uint64_t stamp);
/* Returns how many bytes a sampled block of `size` bytes stands for: FORMAT.md, HPW_TARGET_MODE. */
double recorder_weighted_bytes(const struct recorder *r, uint64_t size);
/* Returns how many blocks of `size` bytes a recorded one stands for. */
double recorder_weight(const struct recorder *r, uint64_t size);
/* Returns whether blocks may be live that were not recorded: frees of unknown ones may be theirs.
 */
static inline bool recorder_has_unseen(const struct recorder *r)
{
	return r->stop_count || r->goes_on || (r->shm && r->shm->notes & HW_NOTE_IGNORES);
}
/* Does what is to be done while a recorder has long work. */
static inline void recorder_do_meanwhile(const struct recorder_meanwhile *meanwhile)
{
	if (meanwhile && meanwhile->go_on)
		meanwhile->go_on(meanwhile->context);
}
/* Takes off the sums what they were at the last reset: for a copy that writes a dump. */
void recorder_take_off_sums(struct recorder *r);
/* When that was, ns since the recording began; 0: never. */
uint64_t recorder_reset_ns(const struct recorder *r);
/* Frees what a reset has kept; NULL is allowed. */
void recorder_reset_end(struct sums_before *before);
/* Returns a thread that lives, if there is one. */
uint32_t recorder_any_thread(const struct recorder *r);
/* Settles the reallocs that an ended process has not completed. */
void recorder_end_reallocs(struct recorder *r, uint64_t stamp);
/* Reads the present name of a thread. */
void recorder_read_name(const struct recorder *r, struct tally_thread *t);

/* Writes the payload as a chunk and empties it. ok: the payload is complete. */
void recorder_write_chunk(struct recorder *r, enum hpw_chunk_type type, bool ok, bool compress);
/* Waits until all chunks are in the file: somebody is about to read it. */
void recorder_settle(struct recorder *r);
/* Writes all steps since the last flush, after what they refer to. */
void recorder_flush(struct recorder *r);
/* Writes programs without a recording; those that may still become other ones only at the end. */
void recorder_write_unrecorded(struct recorder *r, bool end);
/* Writes wrong frees; at the end also those whose stack has not come yet. */
void recorder_write_bad_frees(struct recorder *r, bool end);
void recorder_write_traced_lines(struct recorder *r, bool end);
/* Writes how often errors came again, and what was looked at, if that has changed or it is the end.
 */
void recorder_write_errors(struct recorder *r, bool end);
/* Takes all that happened before the stamp, or what can be had of it in a short while. */
void recorder_drain_until(struct recorder *r, uint64_t stamp);
/* Adds what a thread says that it has mapped or unmapped. */
struct merge_mapping;
void recorder_add_mapping(struct recorder *r, uint32_t thread, const struct merge_mapping *mapping);
/* Puts the stacks of mappings that are not written yet on the list of those to be written. */
void recorder_want_mapping_stacks(struct recorder *r);
/* Looks at what is resident now, for a dump, in place of earlier looks. */
void recorder_look_for_dump(struct recorder *r);
/* Writes what was mapped and unmapped since. */
void recorder_write_mappings(struct recorder *r);
/* Drains the rings of a stopped process, and puts all steps into chunks. */
void recorder_catch_up(struct recorder *r);
/* Writes the counters as they are, without the list of live blocks. */
struct footer_summary recorder_write_counters(struct recorder *r, const struct recorder_end *end);
/* Writes what chunks that are to come refer to: modules, code, stacks, sites. */
void recorder_write_stacks(struct recorder *r);
/* Writes threads whose names are not in the file yet, for a reader of the unfinished file. */
void recorder_write_new_threads(struct recorder *r);
/* Writes the live blocks, in chunks. */
void recorder_write_live(struct recorder *r);
/* Writes the names of functions made at run time. */
void recorder_write_code_names(struct recorder *r);
/* Returns whether the sums can't be computed from the events in the file. */
bool recorder_needs_checkpoints(const struct recorder *r);
/* Writes the counters in case the recording ends here: all events so far are in the file or in the
 * sums. */
void recorder_checkpoint(struct recorder *r);

#endif
