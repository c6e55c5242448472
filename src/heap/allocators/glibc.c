/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/allocators/glibc.h"

struct error *glibc_find(
	const struct address_space *space, struct heap_damage_vec *damage, struct glibc *ret)
{
	*ret = (struct glibc){.space = space, .damage = damage};
	return glibc_arenas_find(ret);
}

void glibc_deinit(struct glibc *glibc)
{
	glibc_arenas_deinit(&glibc->arenas);
	glibc_caches_deinit(&glibc->caches);
	glibc_addresses_deinit(&glibc->cached);
}
