/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps that each program of `watch` has: settings, blocks, sites, counters. Who includes this
 * says first, by WATCH_TABLE_FLAGS, whether entries of blocks and sites take memory when they are
 * used (BPF_F_NO_PREALLOC) or have it from the start (0).
 */
#ifndef BPF_WATCH_TABLES_H
#define BPF_WATCH_TABLES_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/watch_maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, WATCH_TABLE_FLAGS);
	__type(key, __u64);
	__type(value, struct watch_block);
} blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, WATCH_TABLE_FLAGS);
	__type(key, __u64);
	__type(value, struct watch_site);
} sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WATCH_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline void count_one(__u32 which)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &which);
	if (value)
		__sync_fetch_and_add(value, 1);
}

static __always_inline struct watch_config *config_get(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&config, &zero);
}

/* 64 bits of a 128-bit product would be better; this is three instructions. */
static __always_inline __u64 hash_mix(__u64 hash, __u64 word)
{
	hash ^= word;
	hash *= 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Returns the site of a key; if there is none, `made` is entered as it. If there is no room,
 * changes *key and returns the site that stands for all that found none. */
static __always_inline struct watch_site *site_get(__u64 *key, const struct watch_site *made)
{
	struct watch_site *site = bpf_map_lookup_elem(&sites, key);
	if (site)
		return site;
	bpf_map_update_elem(&sites, key, made, BPF_NOEXIST);
	site = bpf_map_lookup_elem(&sites, key);
	if (site)
		return site;
	count_one(WATCH_COUNT_SITES_FULL);
	*key = 0;
	return bpf_map_lookup_elem(&sites, key);
}

#endif
