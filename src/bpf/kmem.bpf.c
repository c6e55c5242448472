/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's side of `heapwise watch --kernel`: one program that runs at the tracepoints of the
 * kernel's own allocators. Where an event has its fields is in the cookie of the link, so nothing
 * here depends on the kernel's version.
 *
 * It runs within allocations, in interrupts too. So no map allocates when it is used: all have
 * their memory from the start. The kernel runs no program of a tracepoint on a processor on which
 * one runs already, and counts what it left out (recursion_misses of the program): so the scratch
 * memory of a processor has one user.
 */
#define WATCH_TABLE_FLAGS 0
#include "bpf/watch_tables.h"

#define PAGE_BYTES 4096ull
/* A tracepoint's record is at most a page. */
#define RECORD_MASK 0xfffull
#define ORDERS 32

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch_site);
} scratch SEC(".maps");

/* How many allocations one that is followed stands for. */
static __always_inline __u64 config_weight(const struct watch_config *settings)
{
	return settings->sampling == WATCH_EVERY ? settings->every : 1;
}

static __always_inline void block_forget(
	const struct watch_config *settings, const struct watch_block *block)
{
	__u64 key = block->site, weight = config_weight(settings);
	struct watch_site *site = bpf_map_lookup_elem(&sites, &key);
	if (!site)
		return;
	__sync_fetch_and_add(&site->frees, 1);
	__sync_fetch_and_add(&site->freed_bytes, block->size * weight);
	__sync_fetch_and_add(&site->freed_weight, weight << WATCH_WEIGHT_BITS);
}

/* Takes the block out, if it is known. Returns whether it was. */
static __always_inline int block_free(const struct watch_config *settings, __u64 key)
{
	struct watch_block *found = bpf_map_lookup_elem(&blocks, &key);
	if (!found)
		return 0;
	struct watch_block block = *found;
	if (bpf_map_delete_elem(&blocks, &key))
		return 0;
	block_forget(settings, &block);
	return 1;
}

/* Reads the kernel's stack into `site`, in the scratch memory. Returns the key of the site. */
static __always_inline __u64 stack_take(void *context, struct watch_site *site, __u32 function)
{
	__u64 hash = hash_mix(0, function + 1);
	long bytes = bpf_get_stack(context, site->pcs, WATCH_FRAMES_MOST * sizeof(__u64), 0);
	__u32 count = bytes > 0 ? (__u32)(bytes / sizeof(__u64)) : 0;
	site->function = function;
	site->frames = count;
	site->flags = !count ? WATCH_INCOMPLETE : count >= WATCH_FRAMES_MOST ? WATCH_CUT : 0;
	for (__u32 i = 0; i < WATCH_FRAMES_MOST; i++) {
		if (i >= count)
			break;
		hash = hash_mix(hash, site->pcs[i]);
	}
	return hash | 1; /* 0 is the site of those without room */
}

static __always_inline void block_add(
	void *context, const struct watch_config *settings, __u64 key, __u64 size, __u32 function)
{
	__u32 zero = 0;
	__u64 weight = config_weight(settings);
	struct watch_site *made = bpf_map_lookup_elem(&scratch, &zero);
	if (!made)
		return;
	struct watch_block block = {size, stack_take(context, made, function), bpf_ktime_get_ns()};
	struct watch_site *site = site_get(&block.site, made);
	if (bpf_map_update_elem(&blocks, &key, &block, BPF_ANY)) {
		count_one(WATCH_COUNT_BLOCKS_FULL);
		return;
	}
	if (!site)
		return;
	__sync_fetch_and_add(&site->allocs, 1);
	__sync_fetch_and_add(&site->alloc_bytes, size * weight);
	__sync_fetch_and_add(&site->alloc_weight, weight << WATCH_WEIGHT_BITS);
}

static __always_inline __u64 field_read(const void *context, __u64 at)
{
	__u64 value = 0;
	bpf_probe_read_kernel(&value, sizeof(value), context + (at & RECORD_MASK));
	return value;
}

/* Of a failed allocation no block is made: its address is 0, its page's number all ones. */
static __always_inline int event_has_block(__u32 kind, __u64 address)
{
	return address && (kind != KMEM_PAGES || address != ~0ull);
}

/* A block whose address is given out again was freed by a way that has no tracepoint. */
static __always_inline void alloc_note(void *context, __u64 cookie, __u64 key, __u32 kind)
{
	__u64 size = field_read(context, KMEM_COOKIE_SIZE(cookie));
	const struct watch_config *settings = config_get();
	if (!settings)
		return;
	if (kind == KMEM_PAGES)
		size = PAGE_BYTES << ((__u32)size & (ORDERS - 1));
	if (block_free(settings, key))
		count_one(WATCH_COUNT_REPLACED);
	if (size < settings->min_size || size > settings->max_size)
		return;
	if (settings->sampling == WATCH_EVERY && settings->every &&
		bpf_get_prandom_u32() % settings->every)
		return;
	block_add(context, settings, key, size, KMEM_COOKIE_FUNCTION(cookie));
}

static __always_inline void free_note(__u64 key)
{
	const struct watch_config *settings = config_get();
	if (settings && !block_free(settings, key))
		count_one(WATCH_COUNT_UNKNOWN);
}

SEC("tracepoint")
int kmem_event(void *context)
{
	__u64 cookie = bpf_get_attach_cookie(context);
	__u32 kind = KMEM_COOKIE_KIND(cookie);
	__u64 address = field_read(context, KMEM_COOKIE_ADDRESS(cookie));
	__u64 key = KMEM_KEY(kind, address);
	if (!event_has_block(kind, address))
		return 0;
	if (KMEM_COOKIE_IS_FREE(cookie))
		free_note(key);
	else
		alloc_note(context, cookie, key, kind);
	return 0;
}

char kmem_license[] SEC("license") = "GPL";
