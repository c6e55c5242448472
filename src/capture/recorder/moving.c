/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/recorder/moving.h"

bool moving_begin(struct moving *moving, struct live_table *live, uint32_t thread, uint64_t address)
{
	struct moving_thread *t = moving_insert(moving, thread, NULL);
	if (!t || t->count == MOVING_DEPTH)
		return false;
	struct moving_block *m = &t->blocks[t->count++];
	*m = (struct moving_block){.block.address = address};
	m->known = live_table_take(live, address, &m->block);
	return true;
}

bool moving_end(struct moving *moving, uint32_t thread, uint64_t address, struct moving_block *ret)
{
	struct moving_thread *t = moving_find(moving, thread);
	for (uint32_t i = t ? t->count : 0; i-- > 0;) {
		if (address && t->blocks[i].block.address != address)
			continue;
		*ret = t->blocks[i];
		t->count--;
		for (; i < t->count; i++)
			t->blocks[i] = t->blocks[i + 1];
		if (!t->count)
			moving_remove(moving, thread);
		return true;
	}
	return false;
}

bool moving_any(const struct moving *moving, uint32_t *ret_thread)
{
	uint32_t at = 0;
	const uint32_t *thread;
	if (!moving_next(moving, &at, &thread))
		return false;
	*ret_thread = *thread;
	return true;
}
