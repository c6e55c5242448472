/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/moving.h"

bool moving_begin(struct moving *moving, struct live *live, uint32_t thread, uint64_t address)
{
	struct moving_block *m = moving_push_uninit(moving);
	if (!m)
		return false;
	*m = (struct moving_block){.block.address = address, .thread = thread};
	m->known = live_take(live, address, &m->block);
	return true;
}

bool moving_end(struct moving *moving, uint32_t thread, uint64_t address, struct moving_block *ret)
{
	for (size_t i = moving->len; i-- > 0;) {
		const struct moving_block *m = &moving->data[i];
		if (m->thread != thread || (address && m->block.address != address))
			continue;
		*ret = *m;
		moving->len--;
		for (; i < moving->len; i++)
			moving->data[i] = moving->data[i + 1];
		return true;
	}
	return false;
}
