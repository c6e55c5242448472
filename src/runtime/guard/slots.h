/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program allocates, frees, or has accessed an inaccessible page; any thread, any
 * moment. May touch: the reservation.
 *
 * Guarded blocks. Each has a slot: pages of its own and an inaccessible one after. Slots are taken
 * one after the other from one large reservation and never reused.
 *
 *         │ slack │ block, at the end │▒▒▒▒▒▒▒▒│ or │ block, at the beginning │ slack │▒▒▒▒▒▒▒▒│
 *  ▒▒▒▒▒▒▒│            pages          │  guard │    │             pages               │  guard │
 *
 * The page before a slot is the guard of the slot before it. The slack next to a block has a
 * canary. When a block is freed its pages become inaccessible too, and their memory is freed.
 *
 * What is known of a slot is in an array by half its first page's number (a slot has two pages at
 * least), and an array of 32 bits for each page says where its slot begins. All three lie in one
 * mapping, which is inaccessible but for what is in use: locking all memory locks no more.
 */
#ifndef RUNTIME_GUARD_SLOTS_H
#define RUNTIME_GUARD_SLOTS_H

#include "runtime/guard/guard.h"

enum slot_state {
	SLOT_NONE = 0, /* or not complete yet */
	SLOT_LIVE = 1,
	SLOT_FREED = 2,
};

struct guard_slot {
	uint64_t start, bytes;
	uint32_t pages; /* without the guard */
	uint32_t allocated_at, freed_at;
	uint32_t allocated_by, freed_by;
	uint8_t state; /* enum slot_state; release: the rest is there */
	uint8_t alloc_kind, align_shift, before;
	uint16_t reported; /* slots_note_reported() */
	uint16_t forks;    /* guard_forks when the stacks were numbered */
	uint32_t faults;   /* of step.c */
};
static_assert(sizeof(struct guard_slot) == 48, "an opened piece has whole pages of them");

/* Maps the reservation and chooses the back-end. */
enum hw_check_backend slots_init(void);

extern uint64_t slots_base, slots_end; /* of the pages; 0: there are none */

static inline bool slots_have(uint64_t address)
{
	return address - slots_base < slots_end - slots_base;
}

/* Allocates a guarded block, with zeros; NULL: not guarded, which says nothing about memory.
 * is_first: of its call stack. */
void *slots_new(size_t bytes, size_t align, enum hw_alloc_kind kind, uint32_t stack, bool is_first);

/* The slot that an address in the reservation is in, or whose guard; NULL: none. */
struct guard_slot *slots_find(uint64_t address);

/* The slot with the nearest block, where `address` is in a guard between two. */
struct guard_slot *slots_nearest(uint64_t address);

/* Changes LIVE to FREED; false: it wasn't live. The pages still are: */
bool slots_mark_freed(struct guard_slot *slot, uint32_t stack);
void slots_close(struct guard_slot *slot);

void slots_describe(const struct guard_slot *slot, struct guard_block *ret);

/* A write next to the block was reported before it was made. */
void slots_note_reported(uint64_t address);

/* Reports what has changed next to a live block. */
void slots_check(const struct guard_slot *slot, struct guard_caller caller, uint32_t flags);

/* What has changed next to a live block so far is not to be reported. */
void slots_pass_over(struct guard_slot *slot);

/* Calls `each` for all slots that are live. */
void slots_each(void (*each)(struct guard_slot *slot));

/* No more slots: gives back all that was not used. */
void slots_stop(enum hw_check_limit why);

/* Bytes of the pages of live slots. */
extern uint64_t slots_live_bytes;

/* Makes the page of an address that was accessed by an error accessible. */
bool slots_pass(uint64_t address);

/* Makes it inaccessible again, with what is there. */
void slots_shut(uint64_t page);

/* The program has given pages back to the system: those of live blocks have zeros now.
 * Returns whether they can be accessed. */
bool slots_refill(uint64_t at, uint64_t bytes);

/* Whether it takes that: without it pages that were given back can't be accessed. */
bool slots_need_refill(void);

/* Whether an address is in the pages of a live block, or next to it in them: no page that we have
 * made inaccessible. */
bool slots_are_programs(uint64_t address);

void slots_fork_prepare(void);
void slots_fork_done(bool child);

#endif
