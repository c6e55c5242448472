/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the recorder share. Steps come from the merge (recorder_steps.c); when enough
 * of them have come, or time has passed, they are written (recorder_chunks.c); recorder.c has the
 * life of it all. Nobody else includes this.
 */
#ifndef CAPTURE_RECORDER_IMPL_H
#define CAPTURE_RECORDER_IMPL_H

#include "capture/recorder/recorder.h"
#include "capture/writer/footer.h"

/* Keeps the first error, and destroys others. */
void recorder_keep_error(struct recorder *r, struct error *error);

/* The clocks as the source has them. */
static inline struct clock_pair recorder_now(const struct recorder *r)
{
	return r->source->ops->clock(r->source);
}

/* The memory that both sides share: sparse, so that its size is a promise, not a cost. Its rings
 * are the source. */
struct error *recorder_create_rings(struct recorder *r, const struct recorder_start *start);

/* Prepares the merge of the source's lanes, whose steps are this recorder's. */
void recorder_steps_init(struct recorder *r);
/* Puts a node and its ancestors on the list of what the file has to define. Returns it, or 0: its
 * number makes no sense, or no memory. */
uint32_t recorder_want_stack(struct recorder *r, uint32_t stack);
/* A mark of that thread, now. */
void recorder_put_mark(
	struct recorder *r, uint32_t thread, const char *name, size_t bytes, uint64_t stamp);
/* The process has ended: what became of reallocs from which no thread came back. */
void recorder_end_reallocs(struct recorder *r, uint64_t stamp);
/* What the thread is called now. */
void recorder_read_name(const struct recorder *r, struct tally_thread *t);

/* Writes the payload as a chunk and empties it. ok: it is whole. */
void recorder_write_chunk(struct recorder *r, enum hpw_chunk_type type, bool ok, bool compress);
/* Everything that happened since the last flush, with what it refers to first. */
void recorder_flush(struct recorder *r);
/* Programs without a recording, those that may still turn out to be others at the end alone. */
void recorder_write_unrecorded(struct recorder *r, bool end);
/* Frees that were wrong; at the end those too whose stack may still have come. */
void recorder_write_bad_frees(struct recorder *r, bool end);
/* Of a process that stands still: takes all that has happened, and puts it into the file. */
void recorder_catch_up(struct recorder *r);
/* The books as they stand, without the list of what is live. */
struct footer_summary recorder_write_books(struct recorder *r, const struct recorder_end *end);
/* Threads that the file has no names of yet: for who reads it now. */
void recorder_write_new_threads(struct recorder *r);
/* What is live, in chunks. */
void recorder_write_live(struct recorder *r);
/* Of functions made at run time. */
void recorder_write_code_names(struct recorder *r);
/* Whether the sums can't be had from the events in the file. */
bool recorder_needs_checkpoints(const struct recorder *r);
/* The books, for the case that it ends here: all that happened is in the file or in the sums. */
void recorder_checkpoint(struct recorder *r);

#endif
