/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs that watch a process share: threads, events, and the walk of a user stack by
 * the rows that the command made of .eh_frame (watch_maps.h). Each program that includes this has
 * maps of its own.
 */
#ifndef BPF_WATCH_WALK_H
#define BPF_WATCH_WALK_H

#define WATCH_TABLE_FLAGS BPF_F_NO_PREALLOC
#include "bpf/watch_tables.h"

/* struct pt_regs as the kernel hands it to programs (arch/x86/include/asm/ptrace.h). */
struct registers {
	__u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax,
		rip, cs, flags, rsp, ss;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct watch_row);
} rows SEC(".maps");

/* By a hash of an address: the number of the row that it had last. Only a hint, which is checked.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1u << WATCH_HINT_BITS);
	__type(key, __u32);
	__type(value, __u32);
} hints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct watch_thread);
} threads SEC(".maps");

/* A value that new threads begin with: it is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch_thread);
} blank SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

/* Of a kind of event, and of a function: what event_emit() takes. */
#define EVENT_OF(kind, cookie) ((__u32)(kind) | (__u32)((cookie) >> 8) << 16)

static __always_inline void event_emit(
	__u32 kind, __u64 address, __u64 size, __u64 site, __u64 old_address, __u64 old_size)
{
	struct watch_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count_one(WATCH_COUNT_EVENTS_LOST);
		return;
	}
	event->kind = (__u16)kind;
	event->function = (__u16)(kind >> 16);
	event->thread = (__u32)bpf_get_current_pid_tgid();
	event->time_ns = bpf_ktime_get_ns();
	event->address = address;
	event->size = size;
	event->site = site;
	event->old_address = old_address;
	event->old_size = old_size;
	/* The command looks by itself, often enough for most. */
	bpf_ringbuf_submit(
		event, kind == WATCH_EVENT_MODULES ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* Threads. */

static __always_inline struct watch_thread *thread_get(void)
{
	__u32 number = (__u32)bpf_get_current_pid_tgid(), zero = 0;
	struct watch_thread *thread = bpf_map_lookup_elem(&threads, &number);
	if (thread)
		return thread;
	void *initial = bpf_map_lookup_elem(&blank, &zero);
	if (initial)
		bpf_map_update_elem(&threads, &number, initial, BPF_NOEXIST);
	thread = bpf_map_lookup_elem(&threads, &number);
	if (!thread)
		count_one(WATCH_COUNT_THREADS_FULL);
	return thread;
}

static __always_inline struct watch_thread *thread_find(void)
{
	__u32 number = (__u32)bpf_get_current_pid_tgid();
	return bpf_map_lookup_elem(&threads, &number);
}

/* Walking. */

struct walk {
	__u64 pc, rsp, rbp;
	__u64 hash;
	__u32 first, count; /* of the rows */
	__u32 is_exact;     /* pc is the next instruction, not one after a call */
	__u32 flags, frames;
	struct watch_site *site;
};

/* Whether a row is in force and what pc has. */
static __always_inline struct watch_row *row_check(__u32 first, __u32 count, __u32 at, __u64 pc)
{
	__u32 next = at + 1;
	if (at - first >= count - 1)
		return 0;
	struct watch_row *row = bpf_map_lookup_elem(&rows, &at);
	struct watch_row *after = bpf_map_lookup_elem(&rows, &next);
	return row && after && row->pc <= pc && pc < after->pc ? row : 0;
}

/*
 * The last row that begins at or before pc: the length is halved a fixed number of times, and no
 * branch depends on data, so that the verifier sees one path.
 */
static __always_inline struct watch_row *row_search(
	__u32 first, __u32 count, __u64 pc, __u32 *ret_at)
{
	struct watch_row *row;
	__u32 base = first;
#pragma clang loop unroll(full)
	for (int i = 0; i < WATCH_SEARCH_STEPS; i++) {
		__u32 half = count >> 1, middle = base + half;
		row = bpf_map_lookup_elem(&rows, &middle);
		if (!row)
			return 0;
		/* All ones if the row begins after pc. Addresses of programs are below 2^63. */
		__u64 after = (__u64)((__s64)(pc - row->pc) >> 63);
		asm volatile("" : "+r"(after));
		base += half & ~(__u32)after;
		count -= half;
	}
	*ret_at = base;
	row = bpf_map_lookup_elem(&rows, &base);
	return row && row->pc <= pc ? row : 0;
}

static __always_inline struct watch_row *row_find(__u32 first, __u32 count, __u64 pc)
{
	__u32 slot = (__u32)(pc * 0x9e3779b97f4a7c15ull >> (64 - WATCH_HINT_BITS));
	__u32 *hint = bpf_map_lookup_elem(&hints, &slot);
	if (!hint)
		return 0;
	struct watch_row *row = row_check(first, count, *hint, pc);
	return row ? row : row_search(first, count, pc, hint);
}

static __always_inline int word_read(__u64 address, __u64 *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (const void *)address) == 0;
}

/* Offsets of rbp, rsp and rip in the ucontext of a signal frame (AMD64 Linux). */
#define UCONTEXT_RBP 120
#define UCONTEXT_RSP 160
#define UCONTEXT_RIP 168

static __always_inline int step_signal(struct walk *walk)
{
	__u64 at = walk->rsp, rbp, rsp, rip;
	if (!word_read(at + UCONTEXT_RBP, &rbp) || !word_read(at + UCONTEXT_RSP, &rsp) ||
		!word_read(at + UCONTEXT_RIP, &rip))
		return 0;
	walk->rbp = rbp;
	walk->rsp = rsp;
	walk->pc = rip;
	walk->is_exact = 1;
	return 1;
}

/* Over code without unwind tables (compiled at run time), by frame pointer. */
static __always_inline int step_guess(struct walk *walk)
{
	__u64 pair[2];
	if (walk->rbp < walk->rsp || walk->rbp - walk->rsp > (1u << 20) || walk->rbp & 7)
		return 0;
	if (bpf_probe_read_user(pair, sizeof(pair), (const void *)walk->rbp))
		return 0;
	walk->flags |= WATCH_GUESSED;
	walk->rsp = walk->rbp + 16;
	walk->rbp = pair[0];
	walk->pc = pair[1];
	walk->is_exact = 0;
	return 1;
}

static __always_inline int step_by_row(struct walk *walk, const struct watch_row *row)
{
	__u64 pair[2], cfa, saved = walk->rbp;
	__u32 kind = row->cfa, rbp = row->rbp;
	__s64 rbp_offset = row->rbp_offset;
	cfa = (kind == WATCH_ROW_RSP ? walk->rsp : walk->rbp) + (__u64)(__s64)row->cfa_offset;
	if (kind == WATCH_ROW_RBP_DEREF && !word_read(cfa, &cfa))
		return 0;
	/* The stack grows downwards. */
	if (cfa <= walk->rsp)
		return 0;
	if (rbp == WATCH_RBP_AT_CFA && rbp_offset == -16) {
		if (bpf_probe_read_user(pair, sizeof(pair), (const void *)(cfa - 16)))
			return 0;
		saved = pair[0];
	} else {
		if (!word_read(cfa - 8, &pair[1]))
			return 0;
		__u64 base = rbp == WATCH_RBP_AT_CFA ? cfa : walk->rbp;
		if (rbp != WATCH_RBP_SAME && !word_read(base + (__u64)rbp_offset, &saved))
			return 0;
	}
	walk->rbp = saved;
	walk->rsp = cfa;
	walk->pc = pair[1];
	walk->is_exact = 0;
	return 1;
}

/* One frame; returns 1 to end the walk. */
static long walk_step(__u32 index, void *context)
{
	struct walk *walk = context;
	struct watch_site *site = walk->site;
	__u64 pc = walk->pc;
	if (index >= WATCH_FRAMES_MOST || !site) {
		walk->flags |= WATCH_CUT;
		return 1;
	}
	/* The compiler knows that it is below that, the verifier would not. */
	__u64 at = index;
	asm volatile("%0 &= %1" : "+r"(at) : "i"(WATCH_FRAMES_MOST));
	site->pcs[at] = pc;
	walk->frames = index + 1;
	walk->hash = hash_mix(walk->hash, pc);
	const struct watch_row *row = row_find(walk->first, walk->count, pc - !walk->is_exact);
	__u32 kind = row ? row->cfa : WATCH_ROW_NONE;
	if (kind == WATCH_ROW_END)
		return 1;
	int goes_on;
	if (kind == WATCH_ROW_NONE)
		goes_on = step_guess(walk);
	else if (kind == WATCH_ROW_SIGNAL)
		goes_on = step_signal(walk);
	else if (kind == WATCH_ROW_UNKNOWN || !row)
		goes_on = 0;
	else
		goes_on = step_by_row(walk, row);
	if (!goes_on) {
		walk->flags |= WATCH_INCOMPLETE;
		return 1;
	}
	return walk->pc == 0;
}

/* Walks the stack from after the call into the thread's site, and returns the key of that. */
static __always_inline __u64 stack_walk(
	struct registers *regs, struct watch_thread *thread, __u32 function)
{
	__u32 zero = 0;
	__u64 *in_force = bpf_map_lookup_elem(&table, &zero);
	if (!in_force)
		return 1;
	/* Always 0, which the verifier does not know: it need not tell the first step from others.
	 */
	__u32 none = thread->site.reserved;
	struct walk walk = {.pc = regs->rip,
		.rsp = regs->rsp,
		.rbp = regs->rbp,
		.hash = hash_mix(0, function + 1), /* mixed before an address is added to it */
		.first = (__u32)(*in_force >> 32),
		.count = (__u32)*in_force,
		.is_exact = none,
		.flags = none,
		.frames = none,
		.site = &thread->site};
	bpf_loop(WATCH_FRAMES_MOST + 1, walk_step, &walk, 0);
	thread->site.function = function;
	thread->site.flags = walk.flags;
	thread->site.frames = walk.frames;
	return hash_mix(walk.hash, walk.flags) | 1; /* 0 is the site of those without room */
}

#endif
