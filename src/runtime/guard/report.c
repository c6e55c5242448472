/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program has made an error, any thread, any moment. May touch: the runtime's ring;
 * without the runtime, stderr.
 *
 * Reports go to the runtime (check_bridge.h), which records them. Where the library is loaded
 * without it, each is a line on stderr.
 */
#include "runtime/guard/guard.h"
#include "runtime/guard/sums.h"
#include "runtime/guard/text.h"
#include "runtime/preload/check_bridge.h"

#include <signal.h>

/* Reports that were made: which ones are new. A hash each; when there is no place all are new. */
#define KNOWN 4096u
#define KNOWN_PROBES 8u
static uint64_t known[KNOWN];

static bool is_new(enum hw_error_kind kind, const struct hw_error_report *r, uint64_t pc)
{
	uint64_t hash = guard_random((uint64_t)kind << 56 ^ (uint64_t)r->stack << 28 ^
				     r->allocated_at ^ (r->stack ? 0 : pc)) |
			1;
	for (unsigned i = 0; i < KNOWN_PROBES; i++) {
		uint64_t *place = &known[(hash + i) % KNOWN], there = 0;
		if (__atomic_compare_exchange_n(
			    place, &there, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
		if (there == hash)
			return false;
	}
	return true;
}

static void write_block(struct guard_text *t, const struct hw_error_report *r)
{
	uint64_t end = r->block + r->block_bytes;
	text_add(t, " ");
	if (r->address < r->block) {
		text_add_number(t, r->block - r->address);
		text_add(t, " bytes before");
	} else if (r->address < end) {
		text_add_number(t, r->address - r->block);
		text_add(t, " bytes inside");
	} else {
		text_add_number(t, r->address - end);
		text_add(t, " bytes after");
	}
	text_add(t, r->flags & HW_ERROR_FREED ? " freed block of " : " block of ");
	text_add_number(t, r->block_bytes);
	text_add(t, " bytes at 0x");
	text_add_hex(t, r->block);
}

static void write_line(enum hw_error_kind kind, const struct hw_error_report *r)
{
	struct guard_text t = {.used = 0};
	text_add(&t, "heapwise: ");
	text_add(&t, hw_error_kind_name(kind));
	if (r->text[0]) {
		text_add(&t, " in ");
		text_add(&t, r->text);
	}
	if (r->access_bytes) {
		text_add(&t, " of ");
		text_add(&t, r->flags & HW_ERROR_UNSIZED ? "at least " : "");
		text_add_number(&t, r->access_bytes);
		text_add(&t, r->access_bytes == 1 ? " byte" : " bytes");
	}
	text_add(&t, " at 0x");
	text_add_hex(&t, r->address);
	if (r->flags & HW_ERROR_HAS_BLOCK)
		write_block(&t, r);
	if (r->flags & HW_ERROR_AT_EXIT)
		text_add(&t, ", found at exit");
	else if (r->flags & HW_ERROR_LATE)
		text_add(&t, ", found later");
	text_add(&t, "\n");
	if (!sys_no_calls())
		sys_call(__NR_write, 2, t.bytes, t.used);
}

/* As the settings say. */
static void end_program(void)
{
	sums_publish(); /* the signal may end the program at once */
	if (guard_settings.signal) {
		struct {
			void *handler;
			uint64_t flags;
			void *restorer;
			uint64_t mask;
		} usual = {0};
		uint64_t mask = ~(1ull << (guard_settings.signal - 1));
		sys_call4(__NR_rt_sigaction, guard_settings.signal, &usual, NULL, 8);
		sys_call4(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
		sys_call(__NR_tgkill, sys_call(__NR_getpid, 0, 0, 0),
			sys_call(__NR_gettid, 0, 0, 0), guard_settings.signal);
	}
	for (;;)
		sys_call(__NR_exit_group, guard_settings.exit, 0, 0);
}

/* An address near sp is on the thread's stack: that far at least it reaches. */
#define STACK_NEAR (256u << 10)

static void make_report(enum hw_error_kind kind, struct hw_error_report *r, uint64_t pc)
{
	if (guard_settings.first)
		r->flags |= HW_ERROR_ENDS;
	bool fresh = is_new(kind, r, pc), dropped = false;
	if (heapwise_rt_check_report)
		dropped = !heapwise_rt_check_report(kind, r);
	else if (guard_settings.sums < 0) /* else the output is compared with other runs' */
		write_line(kind, r);
	sums_add_report(fresh, dropped);
	if (guard_settings.first)
		end_program();
}

uint32_t guard_stack(struct guard_caller c)
{
	return heapwise_rt_check_stack ? heapwise_rt_check_stack(c.pc, c.sp, c.rbp, false) : 0;
}

uint32_t guard_stack_exact(struct guard_caller c)
{
	return heapwise_rt_check_stack ? heapwise_rt_check_stack(c.pc, c.sp, c.rbp, true) : 0;
}

static void note_own_stack(struct hw_error_report *r, uint64_t sp)
{
	if (!(r->flags & HW_ERROR_HAS_BLOCK) && sp && r->address - sp < STACK_NEAR)
		r->flags |= HW_ERROR_ON_STACK;
}

void guard_report(enum hw_error_kind kind, struct hw_error_report *report, struct guard_caller c)
{
	if (c.pc && !report->stack)
		report->stack = guard_stack(c);
	note_own_stack(report, c.sp);
	make_report(kind, report, c.pc);
}

void guard_report_exact(
	enum hw_error_kind kind, struct hw_error_report *report, struct guard_caller c)
{
	make_report(kind, report, c.pc);
}

void guard_report_block(struct hw_error_report *report, const struct guard_block *block)
{
	report->flags |= HW_ERROR_HAS_BLOCK | (block->live ? 0u : (uint32_t)HW_ERROR_FREED) |
			 (block->guarded ? (uint32_t)HW_ERROR_GUARDED : 0u);
	report->block = block->start;
	report->block_bytes = block->bytes;
	report->alloc_kind = block->alloc_kind;
	report->allocated_at = block->allocated_at;
	report->allocated_by = block->allocated_by;
	report->freed_at = block->freed_at;
	report->freed_by = block->freed_by;
}

void guard_report_text(struct hw_error_report *report, const char *text)
{
	for (unsigned i = 0; i < HW_ERROR_TEXT - 1 && text[i]; i++)
		report->text[i] = text[i];
}
