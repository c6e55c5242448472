/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/known_sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

void known_sites_deinit(struct known_sites *sites)
{
	for (size_t i = 0; i < sites->rows.len; i++)
		free(sites->rows.data[i].frames);
	known_site_vec_deinit(&sites->rows);
	hash_index_deinit(&sites->by_key);
}

size_t known_sites_find(const struct known_sites *sites, uint64_t key)
{
	struct hash_index_place place;
	uint32_t number;
	if (!sites->by_key.cap)
		return SIZE_MAX;
	/* Keys are hashes already. */
	place.hash = hash_index_fold(key);
	place.slot = place.hash & (sites->by_key.cap - 1);
	while ((number = hash_index_next(&sites->by_key, &place))) {
		if (sites->rows.data[number - 1].key == key)
			return number - 1;
	}
	return SIZE_MAX;
}

const uint64_t *known_sites_add(
	struct known_sites *sites, uint64_t key, const struct watch_site *site)
{
	struct hash_index_place place;
	size_t bytes = site_frames(site) * sizeof(uint64_t);
	const struct known_site row = {.key = key, .frames = malloc(max(bytes, (size_t)1))};
	if (!row.frames || !hash_index_seek(&sites->by_key, key, &place) ||
		!known_site_vec_push(&sites->rows, row)) {
		free(row.frames);
		return NULL;
	}
	memcpy(row.frames, site->pcs, bytes);
	/* To the first free place: none of the sites on the way is this one. */
	while (hash_index_next(&sites->by_key, &place))
		;
	hash_index_put(&sites->by_key, &place, (uint32_t)(sites->rows.len - 1));
	return row.frames;
}
