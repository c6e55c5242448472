/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: events of a program with several threads. May touch: the table it is given.
 *
 * Which ring the latest event of an address went to. An event has to come after the one before it
 * of the same address, and that is all the order that a recording needs: if both are in one ring,
 * their order there says so, and no stamp is needed. So an event carries a stamp only if the event
 * before it went elsewhere, or is not known (docs/decisions/0018).
 *
 * An entry names one granule of 16 bytes exactly: its number is cut into the place and a tag, and
 * another granule that comes to the same place replaces it. It is read and written with plain loads
 * and stores. That is enough: events of one address are ordered by the allocator and the program
 * (an address is given out after its free, and freed after it was given out), so an event reads
 * what the event before it wrote, or what somebody wrote for another granule.
 */
#ifndef RUNTIME_OWNERS_H
#define RUNTIME_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#define RT_OWNER_PLACE_BITS 20
#define RT_OWNER_PLACES (1u << RT_OWNER_PLACE_BITS)
/* A tag and a place name every granule below this. */
#define RT_OWNER_RING_BITS 9
#define RT_OWNER_ADDRESS_BITS (4 + RT_OWNER_PLACE_BITS + 32 - RT_OWNER_RING_BITS)
/* Rings from this one on own nothing. In an entry: it is not known whose the granule is. */
#define RT_OWNER_NONE ((1u << RT_OWNER_RING_BITS) - 2)

/* Returns the place of an address below 2^RT_OWNER_ADDRESS_BITS. Heaps of threads begin at round
 * addresses and are not to meet at the same places. */
static inline uint32_t rt_owner_place(uint64_t address)
{
	uint32_t tag = (uint32_t)(address >> (4 + RT_OWNER_PLACE_BITS));
	return ((uint32_t)(address >> 4) + tag * 0x9e3779b1u) & (RT_OWNER_PLACES - 1);
}

/* Returns the entry that says that `ring` (or RT_OWNER_NONE) has the latest event of an address;
 * never 0. */
static inline uint32_t rt_owner_entry(uint64_t address, uint32_t ring)
{
	uint32_t tag = (uint32_t)(address >> (4 + RT_OWNER_PLACE_BITS));
	return tag << RT_OWNER_RING_BITS | (ring + 1);
}

/* Makes it unknown which ring has the latest event of an address. */
static inline void rt_owner_forget(uint32_t *owners, uint64_t address)
{
	if (!(address >> RT_OWNER_ADDRESS_BITS))
		__atomic_store_n(&owners[rt_owner_place(address)],
			rt_owner_entry(address, RT_OWNER_NONE), __ATOMIC_RELAXED);
}

/*
 * Called for an allocation after the real function, for a free before it: the event goes to `ring`.
 * Returns whether the event before it of this address, if there was one since threads were
 * started, went to the same ring.
 */
static inline bool rt_owner_take(uint32_t *owners, uint64_t address, uint32_t ring)
{
	/* Two blocks could be in one granule. */
	if (address & 15 || address >> RT_OWNER_ADDRESS_BITS || ring >= RT_OWNER_NONE) {
		rt_owner_forget(owners, address);
		return false;
	}
	uint32_t *place = &owners[rt_owner_place(address)], mine = rt_owner_entry(address, ring);
	uint32_t before = __atomic_load_n(place, __ATOMIC_RELAXED);
	if (before == mine)
		return true;
	__atomic_store_n(place, mine, __ATOMIC_RELAXED);
	return !before;
}

#endif
