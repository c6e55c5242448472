/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's side of `heapwise watch --growth`: programs that run when a page fault of the
 * process has been handled, and when one of its system calls that change mappings returns.
 *
 *	page fault  ──▶ growth_fault()  walks the stack, notes it as the last that touched the page
 *	mmap, …     ──▶ growth_exit()   walks the stack, adds the bytes to the site
 *
 * Faults come by a software event of perf that belongs to the process's threads: others don't run
 * this. System calls come by a raw tracepoint, which all processes pass: it looks at the process
 * first. The event has the registers at the fault, which are the kernel's own if a system call
 * copied to memory: the program's are where the task keeps them.
 */
#include "bpf/watch_walk.h"

/* asm/unistd_64.h, and linux/mman.h. */
#define CALL_MMAP 9
#define CALL_MUNMAP 11
#define CALL_BRK 12
#define CALL_MREMAP 25
#define CALL_MADVISE 28
#define CALL_EXECVE 59
#define CALL_EXECVEAT 322
#define PROT_EXEC 4
#define MADV_DONTNEED 4
#define MADV_FREE 8
#define MADV_DONTNEED_LOCKED 24

#define PAGE_MASK 4095ull

/* Where the program's break is; 0: not known. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} last_break SEC(".maps");

/* struct bpf_perf_event_data of linux/bpf_perf_event.h. */
struct fault {
	struct registers regs;
	__u64 sample_period;
	__u64 address;
};

static __always_inline struct watch_config *settings_get(void)
{
	struct watch_config *settings = config_get();
	/* The process's number in the first PID namespace, which the command may not see. */
	if (settings && !settings->process)
		settings->process = (__u32)(bpf_get_current_pid_tgid() >> 32);
	return settings;
}

static __always_inline int fault_note(struct registers *regs, __u64 address, __u32 kind)
{
	struct watch_config *settings = settings_get();
	struct watch_thread *thread = thread_get();
	__u64 page = address & ~PAGE_MASK;
	if (!settings || !thread)
		return 0;
	__u64 key = stack_walk(regs, thread, kind);
	struct watch_site *site = site_get(&key, &thread->site);
	struct watch_block block = {PAGE_MASK + 1, key, bpf_ktime_get_ns()};
	if (bpf_map_update_elem(&blocks, &page, &block, BPF_ANY))
		count_one(WATCH_COUNT_BLOCKS_FULL);
	if (site)
		__sync_fetch_and_add(&site->allocs, 1);
	return 0;
}

/* The instruction that touched the page is the innermost frame. Addresses of frames are those after
 * calls, so one byte is added. */
static __always_inline int is_users(const struct fault *fault, struct registers *ret)
{
	ret->rip = fault->regs.rip + 1;
	ret->rsp = fault->regs.rsp;
	ret->rbp = fault->regs.rbp;
	return (fault->regs.cs & 3) == 3;
}

SEC("perf_event")
int growth_fault(struct fault *fault)
{
	struct registers regs;
	if (!is_users(fault, &regs)) {
		const void *saved = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
		if (bpf_probe_read_kernel(&regs, sizeof(regs), saved))
			return 0;
	}
	return fault_note(&regs, fault->address, GROWTH_TOUCH);
}

/* For kernels without BTF, in which the program's registers can't be found in a system call: such
 * a touch has no stack. */
SEC("perf_event")
int growth_fault_plain(struct fault *fault)
{
	struct registers regs;
	__u32 kind = GROWTH_TOUCH;
	if (!is_users(fault, &regs)) {
		regs.rip = regs.rsp = regs.rbp = 0;
		kind = GROWTH_TOUCH_CALL;
	}
	return fault_note(&regs, fault->address, kind);
}

/* Bytes that a call made more or less. */
struct change {
	__u64 more, less;
	__u32 kind;
};

static __always_inline __u64 pages_round(__u64 bytes)
{
	return (bytes + PAGE_MASK) & ~PAGE_MASK;
}

static __always_inline void change_set(struct change *change, __u64 from, __u64 to)
{
	change->more = to > from ? to - from : 0;
	change->less = to < from ? from - to : 0;
}

static __always_inline void break_change(struct change *change, __u64 to)
{
	__u32 zero = 0;
	__u64 *last = bpf_map_lookup_elem(&last_break, &zero);
	__u64 from = last ? __sync_lock_test_and_set(last, to) : 0;
	change->kind = GROWTH_BRK;
	change_set(change, pages_round(from ? from : to), pages_round(to));
}

/* The program that is executed has a break of its own. */
static __always_inline void break_forget(void)
{
	__u32 zero = 0;
	__u64 *last = bpf_map_lookup_elem(&last_break, &zero);
	if (last)
		*last = 0;
}

static __always_inline void advice_change(struct change *change, const struct registers *regs)
{
	__u64 advice = regs->rdx;
	change->kind = GROWTH_MADVISE;
	if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_DONTNEED_LOCKED)
		change->less = pages_round(regs->rsi);
}

static __always_inline void change_find(
	struct change *change, const struct registers *regs, __u64 result)
{
	change->more = change->less = 0;
	change->kind = GROWTH_KINDS;
	switch (regs->orig_rax) {
	case CALL_MMAP:
		change->kind = GROWTH_MMAP;
		change->more = pages_round(regs->rsi);
		if (regs->rdx & PROT_EXEC)
			event_emit(WATCH_EVENT_MODULES, result, 0, 0, 0, 0);
		break;
	case CALL_MUNMAP:
		change->kind = GROWTH_MUNMAP;
		change->less = pages_round(regs->rsi);
		break;
	case CALL_BRK:
		break_change(change, result);
		break;
	case CALL_MREMAP:
		change->kind = GROWTH_MREMAP;
		change_set(change, pages_round(regs->rsi), pages_round(regs->rdx));
		break;
	case CALL_MADVISE:
		advice_change(change, regs);
		break;
	case CALL_EXECVE:
	case CALL_EXECVEAT:
		break_forget();
		event_emit(WATCH_EVENT_MODULES, 0, 0, 0, 0, 0);
		break;
	}
}

SEC("raw_tracepoint")
int growth_exit(struct bpf_raw_tracepoint_args *arguments)
{
	struct watch_config *settings = config_get();
	struct registers regs;
	struct change change;
	__u64 result = arguments->args[1];
	if (!settings || settings->process != (__u32)(bpf_get_current_pid_tgid() >> 32))
		return 0;
	if (result > -4096ull ||
		bpf_probe_read_kernel(&regs, sizeof(regs), (const void *)arguments->args[0]))
		return 0;
	change_find(&change, &regs, result);
	if (!change.more && !change.less)
		return 0;
	struct watch_thread *thread = thread_get();
	if (!thread)
		return 0;
	__u64 key = stack_walk(&regs, thread, change.kind);
	struct watch_site *site = site_get(&key, &thread->site);
	if (!site)
		return 0;
	__sync_fetch_and_add(change.more ? &site->allocs : &site->frees, 1);
	__sync_fetch_and_add(&site->alloc_bytes, change.more);
	__sync_fetch_and_add(&site->freed_bytes, change.less);
	return 0;
}

char growth_license[] SEC("license") = "GPL";
