/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's side of `heapwise watch`: programs that run when a probed function is called and
 * when it returns.
 *
 *	call    ──▶ on_call()    keeps the arguments in the thread's state; takes freed blocks out
 *	return  ──▶ on_return()  walks the stack, counts at the site, enters the block
 *
 * A block that is resized is taken out at the call, before anybody else can get its address, and is
 * put back if the call fails. A call inside another one (mmap in malloc) is the allocator's own
 * affair. A call that was left by longjmp() is known by the stack pointer: no call inside it can
 * have a higher one.
 *
 * Stacks are walked by the rows that the command made of .eh_frame (watch_maps.h). Nothing here
 * needs the kernel's types: only registers are read (struct pt_regs, x86-64).
 */
#include "bpf/watch_walk.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __s64);
} countdown SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WATCH_LOGS);
	__type(key, __u32);
	__type(value, __u32);
} logs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WATCH_WEIGHTS);
	__type(key, __u32);
	__type(value, __u32);
} weights SEC(".maps");

/* Weights. */

/* 1 / (1 - exp(-(size + 1) / mean)), the blocks that a sample stands for, in WATCH_WEIGHT_ONE. */
static __always_inline __u64 block_weight(const struct watch_config *settings, __u64 size)
{
	__u64 mean = settings->mean_bytes, units = size + 1;
	if (settings->sampling == WATCH_EVERY)
		return (__u64)settings->every << WATCH_WEIGHT_BITS;
	if (settings->sampling != WATCH_BY_BYTES || !mean)
		return WATCH_WEIGHT_ONE;
	if (units < mean) {
		/* 1 / x + 1 / 2 + x / 12, of which the error below 1 is 0.1 %. */
		__u64 ratio = (units << WATCH_WEIGHT_BITS) / mean;
		return (mean << WATCH_WEIGHT_BITS) / units + (WATCH_WEIGHT_ONE >> 1) + ratio / 12;
	}
	if (units >= mean * (WATCH_WEIGHTS / WATCH_WEIGHT_STEP))
		return WATCH_WEIGHT_ONE;
	__u32 index = (__u32)(units * WATCH_WEIGHT_STEP / mean);
	__u32 *weight = bpf_map_lookup_elem(&weights, &index);
	return weight ? *weight : WATCH_WEIGHT_ONE;
}

static __always_inline __u64 weigh_bytes(__u64 size, __u64 weight)
{
	/* In two parts, so that sizes up to 2^47 do not overflow. */
	return size * (weight >> WATCH_WEIGHT_BITS) +
	       ((size >> 16) * (weight & 0xffff) +
		       ((size & 0xffff) * (weight & 0xffff) >> WATCH_WEIGHT_BITS));
}

/* Bytes to the next sample: at least one. */
static __always_inline __s64 distance_draw(const struct watch_config *settings)
{
	__u32 index = bpf_get_prandom_u32() & (WATCH_LOGS - 1);
	__u32 *log = bpf_map_lookup_elem(&logs, &index);
	return (__s64)((settings->mean_bytes * (log ? *log : 65536)) >> 16) + 1;
}

static __always_inline int is_wanted(const struct watch_config *settings, __u64 size)
{
	__u32 zero = 0;
	if (size < settings->min_size || size > settings->max_size)
		return 0;
	if (settings->sampling == WATCH_ALL)
		return 1;
	/* By chance: programs allocate in turns, and each N-th would be the same one's. */
	if (settings->sampling == WATCH_EVERY)
		return bpf_get_prandom_u32() % (settings->every ? settings->every : 1) == 0;
	__s64 *left = bpf_map_lookup_elem(&countdown, &zero);
	if (!left)
		return 0;
	if (!*left) /* the first on this processor; later it is never 0 here */
		*left = distance_draw(settings);
	*left -= (__s64)(size + 1);
	if (*left > 0)
		return 0;
	*left = distance_draw(settings);
	return 1;
}

/* Blocks. */

static __always_inline void site_free(
	const struct watch_config *settings, const struct watch_block *block)
{
	__u64 key = block->site;
	struct watch_site *site = bpf_map_lookup_elem(&sites, &key);
	if (!site)
		return;
	__u64 weight = block_weight(settings, block->size);
	__sync_fetch_and_add(&site->frees, 1);
	__sync_fetch_and_add(&site->freed_bytes, weigh_bytes(block->size, weight));
	if (weight != WATCH_WEIGHT_ONE || settings->sampling != WATCH_ALL)
		__sync_fetch_and_add(&site->freed_weight, weight);
}

/* Takes a block out, if it is known. Returns whether it was. */
static __always_inline int block_take(__u64 address, struct watch_block *ret)
{
	struct watch_block *block = bpf_map_lookup_elem(&blocks, &address);
	if (!block)
		return 0;
	*ret = *block;
	return bpf_map_delete_elem(&blocks, &address) == 0;
}

#define EEXIST 17 /* asm-generic/errno-base.h */

/* Returns whether it found room. */
static __always_inline int block_enter(struct registers *regs, struct watch_config *settings,
	struct watch_thread *thread, __u64 address, __u64 old_address)
{
	__u64 key = stack_walk(regs, thread, (__u32)(thread->cookie >> 8));
	struct watch_site *site = site_get(&key, &thread->site);
	struct watch_block block = {thread->size, key, bpf_ktime_get_ns()}, before;
	__u64 weight = block_weight(settings, block.size);
	long result = bpf_map_update_elem(&blocks, &address, &block, BPF_NOEXIST);
	if (result == -EEXIST && block_take(address, &before)) {
		count_one(WATCH_COUNT_REPLACED);
		site_free(settings, &before);
		result = bpf_map_update_elem(&blocks, &address, &block, BPF_ANY);
	}
	if (result) {
		count_one(WATCH_COUNT_BLOCKS_FULL);
		return 0;
	}
	if (site) {
		__sync_fetch_and_add(&site->allocs, 1);
		__sync_fetch_and_add(&site->alloc_bytes, weigh_bytes(block.size, weight));
		if (settings->sampling != WATCH_ALL)
			__sync_fetch_and_add(&site->alloc_weight, weight);
	}
	if (settings->emits_all)
		event_emit(EVENT_OF(WATCH_EVENT_ALLOC, thread->cookie), address, block.size, key,
			old_address, 0);
	return 1;
}

/* Calls. */

/*
 * Whether a call that has the stack pointer of one under way is a jump at the end of that one
 * (tcmalloc: pvalloc, which goes on in memalign): it returns to where the kernel has its probe of
 * the return, which is in no file. Else the one before was left by longjmp().
 */
__noinline int call_is_jump(__u64 stack_pointer)
{
	__u32 zero = 0, at = 0;
	__u64 returns_to, *in_force = bpf_map_lookup_elem(&table, &zero);
	if (!in_force || !word_read(stack_pointer, &returns_to))
		return 0;
	struct watch_row *row =
		row_search((__u32)(*in_force >> 32), (__u32)*in_force, returns_to - 1, &at);
	return !row || row->cfa == WATCH_ROW_NONE;
}

/* A call inside another one is the allocator's own. */
static __always_inline int is_inside(const struct watch_thread *thread, __u64 stack_pointer)
{
	if (!thread || thread->stack_pointer < stack_pointer)
		return 0;
	return thread->stack_pointer > stack_pointer || call_is_jump(stack_pointer);
}

static __always_inline int call_free(
	struct registers *regs, const struct watch_config *settings, __u64 address, __u64 cookie)
{
	struct watch_block block;
	if (!address)
		return 0;
	/* Of samples most frees end here, so this comes first. */
	int is_known = bpf_map_lookup_elem(&blocks, &address) != 0;
	if (!is_known && settings->sampling != WATCH_ALL)
		return 0;
	if (is_inside(thread_find(), regs->rsp))
		return 0;
	if (!is_known || !block_take(address, &block)) {
		if (settings->sampling == WATCH_ALL)
			count_one(WATCH_COUNT_UNKNOWN);
		return 0;
	}
	site_free(settings, &block);
	if (settings->emits_all)
		event_emit(
			EVENT_OF(WATCH_EVENT_FREE, cookie), address, block.size, block.site, 0, 0);
	return 0;
}

/*
 * A function that throws can't have its return probed: the unwinder finds the kernel's address in
 * place of the caller's, and ends the process. So requests that might fail are left alone.
 */
static __always_inline int may_throw(
	struct registers *regs, const struct watch_config *settings, __u32 shape, __u64 size)
{
	if (shape != WATCH_SIZE_THROWS || size <= settings->throws_most)
		return 0;
	if (!is_inside(thread_find(), regs->rsp))
		count_one(WATCH_COUNT_THROWS);
	return 1;
}

static __always_inline __u64 multiply_sizes(__u64 a, __u64 b)
{
	return a && b > (~0ull >> 1) / a ? ~0ull >> 1 : a * b;
}

#define MAP_ANONYMOUS 0x20
#define MAP_STACK 0x20000

/* Returns whether the return is wanted. */
static __always_inline int on_call(struct registers *regs, __u64 cookie)
{
	__u32 shape = (__u32)cookie & 0xff;
	__u64 size = 0, argument = 0, old_address = 0;
	struct watch_config *settings = config_get();
	if (!settings || settings->is_over)
		return 0;
	/* Who wants each call wants no mappings. */
	if (settings->emits_all == WATCH_EMITS_CALLS &&
		(shape == WATCH_MAP || shape == WATCH_UNMAP || shape == WATCH_REMAP))
		return 0;
	switch (shape) {
	case WATCH_SIZE:
	case WATCH_SIZE_THROWS:
		size = regs->rdi;
		break;
	case WATCH_COUNT_SIZE:
		size = multiply_sizes(regs->rdi, regs->rsi);
		break;
	case WATCH_ALIGN_SIZE:
		size = regs->rsi;
		break;
	case WATCH_MEMALIGN_TO:
		size = regs->rdx;
		argument = regs->rdi;
		break;
	case WATCH_RESIZE:
	case WATCH_RESIZE_STRICT:
		size = regs->rsi;
		old_address = regs->rdi;
		break;
	case WATCH_RESIZE_COUNT:
		size = multiply_sizes(regs->rsi, regs->rdx);
		old_address = regs->rdi;
		break;
	case WATCH_FREE:
		return call_free(regs, settings, regs->rdi, cookie);
	case WATCH_MAP:
		/* Threads' stacks are libc's, and files are no heap. */
		if (!(regs->rcx & MAP_ANONYMOUS) || regs->rcx & MAP_STACK)
			return 0;
		size = regs->rsi;
		break;
	case WATCH_UNMAP:
		if (!is_inside(thread_find(), regs->rsp))
			event_emit(WATCH_EVENT_UNMAP, regs->rdi, regs->rsi, 0, 0, 0);
		return 0;
	case WATCH_MODULES:
		event_emit(WATCH_EVENT_MODULES, regs->rip, 0, 0, 0, 0);
		return 0;
	case WATCH_REMAP:
		old_address = regs->rdi;
		argument = regs->rsi;
		size = regs->rdx;
		break;
	default:
		return 0;
	}
	if (may_throw(regs, settings, shape, size))
		return 0;
	int is_mapping = shape == WATCH_MAP || shape == WATCH_REMAP;
	struct watch_block old;
	int wanted = is_mapping;
	int has_old = 0;
	/* Most calls end here when there are samples: what is inside another call may use up bytes
	 * of the distance, which has no memory. */
	if (!is_mapping)
		wanted = is_wanted(settings, size);
	if (!wanted && !old_address)
		return 0;
	struct watch_thread *thread = thread_find();
	if (is_inside(thread, regs->rsp))
		return 0;
	if (!is_mapping)
		has_old = old_address && block_take(old_address, &old);
	if (!wanted && !has_old)
		return 0;
	if (!thread)
		thread = thread_get();
	if (!thread) {
		if (has_old) /* its free is seen, the new block is lost */
			site_free(settings, &old);
		if (has_old && settings->emits_all)
			event_emit(EVENT_OF(WATCH_EVENT_FREE, cookie), old_address,
				settings->emits_all == WATCH_EMITS_CALLS ? size : old.size,
				old.site, 0, 0);
		return 0;
	}
	if (has_old && settings->emits_all == WATCH_EMITS_CALLS)
		event_emit(WATCH_EVENT_RESIZE, old_address, 0, 0, 0, 0);
	thread->stack_pointer = regs->rsp;
	thread->cookie = cookie;
	thread->size = size;
	thread->argument = argument;
	thread->old_address = old_address;
	thread->has_old = has_old;
	thread->is_wanted = wanted;
	if (has_old)
		thread->old = old;
	return 1;
}

static __always_inline void return_mapping(
	struct registers *regs, struct watch_thread *thread, __u32 shape, __u64 address)
{
	if (address > -4096ull)
		return;
	__u64 key = stack_walk(regs, thread, (__u32)(thread->cookie >> 8));
	(void)site_get(&key, &thread->site);
	if (shape == WATCH_MAP)
		event_emit(WATCH_EVENT_MAP, address, thread->size, key, 0, 0);
	else
		event_emit(WATCH_EVENT_REMAP, address, thread->size, key, thread->old_address,
			thread->argument);
}

static __always_inline void return_resized(
	struct watch_config *settings, struct watch_thread *thread, __u32 shape, __u64 address)
{
	__u64 old_address = thread->old_address;
	int has_failed = !address && (thread->size || shape == WATCH_RESIZE_STRICT);
	int is_emitted = settings->emits_all == WATCH_EMITS_CALLS;
	thread->has_old = 0;
	if (has_failed && is_emitted && !thread->is_wanted) {
		/* Nobody could tell its failure from one that is no sample. */
		count_one(WATCH_COUNT_RESIZE_LOST);
	} else if (has_failed) {
		bpf_map_update_elem(&blocks, &old_address, &thread->old, BPF_NOEXIST);
		return;
	}
	site_free(settings, &thread->old);
	if (settings->emits_all == WATCH_EMITS_NEWS)
		event_emit(EVENT_OF(WATCH_EVENT_FREE, thread->cookie), old_address,
			thread->old.size, thread->old.site, 0, 0);
}

/* What came of a call that has entered no block: a failure, or an old block that is gone. */
static __always_inline void outcome_emit(struct registers *regs, struct watch_thread *thread,
	__u32 shape, __u64 address, __u64 old_address)
{
	int has_failed = !address && (thread->size || shape == WATCH_RESIZE_STRICT);
	if (thread->is_wanted && has_failed) {
		__u64 key = stack_walk(regs, thread, (__u32)(thread->cookie >> 8));
		(void)site_get(&key, &thread->site);
		event_emit(EVENT_OF(WATCH_EVENT_FAILED, thread->cookie), 0, thread->size, key,
			old_address, 0);
	} else if (old_address) {
		/* With the size that was asked for: 0 is a free. */
		event_emit(EVENT_OF(WATCH_EVENT_FREE, thread->cookie), old_address, thread->size,
			thread->old.site, 0, 0);
	}
}

static __always_inline void on_return(struct registers *regs, __u64 cookie)
{
	struct watch_config *settings = config_get();
	struct watch_thread *thread = thread_find();
	__u32 shape = (__u32)cookie & 0xff;
	__u64 address = regs->rax;
	/* The return that belongs to the call: rsp is one word above. */
	if (!settings || !thread || thread->stack_pointer + 8 != regs->rsp ||
		thread->cookie != cookie)
		return;
	thread->stack_pointer = 0;
	/* Its block may have been freed by a call that was left alone. */
	if (settings->is_over && !thread->has_old)
		return;
	if (shape == WATCH_MAP || shape == WATCH_REMAP) {
		return_mapping(regs, thread, shape, address);
		return;
	}
	if (shape == WATCH_MEMALIGN_TO) {
		if (address || !word_read(thread->argument, &address))
			address = 0;
	}
	__u64 old_address = thread->has_old ? thread->old_address : 0;
	int is_entered = 0;
	if (old_address)
		return_resized(settings, thread, shape, address);
	if (thread->is_wanted && address)
		is_entered = block_enter(regs, settings, thread, address, old_address);
	else if (thread->is_wanted && thread->size)
		count_one(WATCH_COUNT_FAILED);
	if (!is_entered && settings->emits_all == WATCH_EMITS_CALLS)
		outcome_emit(regs, thread, shape, address, old_address);
}

/* Call and return in one (Linux 6.13): where the probe is, it is a call. Returns 1 if the return
 * is not wanted. */
SEC("kprobe")
int watch_session(struct registers *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	if (bpf_get_func_ip(regs) == regs->rip)
		return !on_call(regs, cookie);
	on_return(regs, cookie);
	return 0;
}

SEC("kprobe")
int watch_call(struct registers *regs)
{
	on_call(regs, bpf_get_attach_cookie(regs));
	return 0;
}

SEC("kprobe")
int watch_return(struct registers *regs)
{
	on_return(regs, bpf_get_attach_cookie(regs));
	return 0;
}

char watch_license[] SEC("license") = "GPL";
