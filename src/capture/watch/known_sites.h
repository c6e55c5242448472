/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sites of the kernel's map that were read already, by key. They are numbered in the order of
 * their discovery: the owner has a stack of the same number, which is what is shown of the site.
 */
#ifndef CAPTURE_KNOWN_SITES_H
#define CAPTURE_KNOWN_SITES_H

#include "base/error.h"
#include "base/hash_index.h"
#include "base/vec.h"
#include "bpf/watch_maps.h"

struct known_site {
	uint64_t key;
	uint64_t *frames;
};
DEFINE_VEC(known_site_vec, struct known_site)

/* All zero: there are none yet. */
struct known_sites {
	struct hash_index by_key;
	struct known_site_vec rows;
};

void known_sites_deinit(struct known_sites *sites);

/* Returns the number of the site with a key; SIZE_MAX: it is not known. */
size_t known_sites_find(const struct known_sites *sites, uint64_t key);

/* Adds a site, whose key must not be known. Returns its frames, site_frames() of them, which belong
 * to `sites`; NULL: no memory, and nothing has changed. */
const uint64_t *known_sites_add(
	struct known_sites *sites, uint64_t key, const struct watch_site *site) must_check_;

static inline uint32_t site_frames(const struct watch_site *site)
{
	return site->frames < WATCH_FRAMES_MOST ? site->frames : WATCH_FRAMES_MOST;
}

#endif
