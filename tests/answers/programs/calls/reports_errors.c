/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports errors as the library of `heapwise check` does, which is not needed for that: each way
 * below makes reports whose stacks, blocks and numbers are known.
 *
 *     reports_errors WAY [NUMBER]
 *
 * It prints how many of its reports were taken: "taken N".
 */
#define _GNU_SOURCE
#include "format/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* As src/runtime/preload/check_bridge.h declares them. */
uint32_t heapwise_rt_check_stack(uint64_t pc, uint64_t sp, uint64_t rbp, bool exact)
	__attribute__((weak));
bool heapwise_rt_check_report(enum hw_error_kind kind, const struct hw_error_report *report)
	__attribute__((weak));
struct hw_check_sums *heapwise_rt_check_sums(void) __attribute__((weak));

#define BLOCK_BYTES 10
static uint64_t taken;

/* The stack of the caller. */
static __attribute__((noinline)) uint32_t stack_here(void)
{
	const uint64_t *frame = __builtin_frame_address(0);
	return heapwise_rt_check_stack(frame[1], (uint64_t)(frame + 2), frame[0], false);
}

struct block {
	char *at;
	uint32_t allocated_at, freed_at;
};

static __attribute__((noinline)) struct block make(void)
{
	struct block block = {.at = malloc(BLOCK_BYTES)};
	block.allocated_at = stack_here();
	return block;
}

static __attribute__((noinline)) void drop(struct block *block)
{
	block->freed_at = stack_here();
}

static struct hw_error_report report_of(const struct block *block, int64_t offset, uint32_t bytes)
{
	bool freed = block->freed_at;
	return (struct hw_error_report){.address = (uint64_t)block->at + (uint64_t)offset,
		.access_bytes = bytes,
		.block = (uint64_t)block->at,
		.block_bytes = BLOCK_BYTES,
		.flags = HW_ERROR_HAS_BLOCK | HW_ERROR_GUARDED | (freed ? HW_ERROR_FREED : 0),
		.allocated_at = block->allocated_at,
		.freed_at = block->freed_at,
		.allocated_by = (uint32_t)gettid(),
		.freed_by = freed ? (uint32_t)gettid() : 0};
}

static void send(enum hw_error_kind kind, const struct hw_error_report *report)
{
	taken += heapwise_rt_check_report(kind, report);
}

static __attribute__((noinline)) void put(const struct block *block)
{
	struct hw_error_report report = report_of(block, BLOCK_BYTES, 4);
	report.stack = stack_here();
	send(HW_ERROR_WRITE, &report);
}

static __attribute__((noinline)) void get(const struct block *block)
{
	struct hw_error_report report = report_of(block, 3, 1);
	report.stack = stack_here();
	send(HW_ERROR_READ, &report);
}

static void write_behind(long times)
{
	struct block block = make();
	for (long i = 0; i < times; i++)
		put(&block);
	free(block.at);
}

static void read_freed(long times)
{
	struct block block = make();
	drop(&block);
	for (long i = 0; i < times; i++)
		get(&block);
}

static __attribute__((noinline)) void copy(const struct block *block)
{
	struct hw_error_report report = report_of(block, 0, 7);
	report.flags = HW_ERROR_IN_CALL;
	report.source = report.address + 2;
	report.stack = stack_here();
	strcpy(report.text, "memcpy");
	send(HW_ERROR_OVERLAP, &report);
}

static void overlap(long times)
{
	struct block block = make();
	for (long i = 0; i < times; i++)
		copy(&block);
	free(block.at);
}

/* As many different ones as there are numbers. */
static void many(long count)
{
	struct block block = make();
	struct hw_error_report report = report_of(&block, BLOCK_BYTES, 1);
	report.stack = stack_here();
	for (long i = 0; i < count; i++) {
		snprintf(report.text, sizeof(report.text), "f%ld", i);
		send(HW_ERROR_WRITE, &report);
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	const greg_t *r = at->uc_mcontext.gregs;
	struct hw_error_report report = {.address = (uint64_t)info->si_addr,
		.access_bytes = 1,
		.stack = heapwise_rt_check_stack(
			(uint64_t)r[REG_RIP], (uint64_t)r[REG_RSP], (uint64_t)r[REG_RBP], true)};
	(void)number;
	send(HW_ERROR_READ, &report);
	at->uc_mcontext.gregs[REG_RIP] += 3; /* movzbl (%rdi), %eax */
}

/* The very first instruction faults: a return address there would be another function's. */
__asm__(".globl touch\n.type touch,@function\ntouch:\n.cfi_startproc\n"
	"movzbl (%rdi), %eax\nret\n.cfi_endproc\n.size touch, .-touch\n");
int touch(const char *at);

static void fault(long times)
{
	static char stack[64 << 10];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV,
		&(struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK},
		NULL);
	for (long i = 0; i < times; i++)
		touch((const char *)16);
}

static void killed(long times)
{
	write_behind(times);
	kill(getpid(), SIGKILL);
}

static void *in_thread(void *count)
{
	write_behind(*(long *)count);
	return NULL;
}

static void threads(long times)
{
	pthread_t other[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&other[i], NULL, in_thread, &times);
	for (int i = 0; i < 4; i++)
		pthread_join(other[i], NULL);
}

static void forks(long times)
{
	if (!fork()) {
		read_freed(times);
		_exit(0);
	}
	wait(NULL);
	write_behind(times);
}

/* Words that no library would send. */
static void nonsense(long times)
{
	struct block block = make();
	struct hw_error_report report = report_of(&block, 0, 1);
	report.stack = 0x7fffffff;
	report.allocated_at = UINT32_MAX;
	report.flags = UINT32_MAX;
	memset(report.text, 0x1b, sizeof(report.text));
	report.alloc_kind = report.free_kind = 200;
	for (long i = 0; i < times; i++) {
		send(HW_ERROR_KINDS + 70, &report);
		send(HW_ERROR_NONE, &report);
		send(HW_ERROR_MISMATCH, &report);
	}
}

static void print_taken(void)
{
	printf("taken %lu\n", (unsigned long)taken);
	fflush(stdout);
}

/* Ends the program at once: a library that counts would write its own. */
static void sums(long times)
{
	struct hw_check_sums *to = heapwise_rt_check_sums();
	(void)times;
	print_taken();
	if (to)
		*to = (struct hw_check_sums){.backend = HW_BACKEND_MADVISE,
			.is_there = 1,
			.seed = 0x5eed,
			.blocks = 1204,
			.bytes = 99000,
			.guarded_blocks = 512,
			.guarded_bytes = 50000,
			.stacks = 38,
			.guarded_stacks = 37,
			.limits = HW_CHECK_LIMIT_BUDGET | HW_CHECK_LIMIT_MEMORY};
	/* No function of libc: the library would add up its own once more. */
	__asm__ volatile("syscall" ::"a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
}

/* An error, and then whether somebody has printed it: waits for a line. */
static void waits(long times)
{
	char line[16];
	write_behind(times);
	if (!fgets(line, sizeof(line), stdin))
		exit(3);
}

static const struct {
	const char *name;
	void (*way)(long times);
} ways[] = {{"write", write_behind}, {"read", read_freed}, {"overlap", overlap}, {"many", many},
	{"fault", fault}, {"killed", killed}, {"threads", threads}, {"forks", forks},
	{"nonsense", nonsense}, {"sums", sums}, {"waits", waits}};

int main(int argc, char **argv)
{
	for (int word = 1; word < argc; word++) {
		long times = word + 1 < argc ? atol(argv[word + 1]) : 0;
		for (size_t i = 0; heapwise_rt_check_report && i < sizeof(ways) / sizeof(ways[0]);
			i++)
			if (!strcmp(ways[i].name, argv[word]))
				ways[i].way(times ? times : 1);
	}
	print_taken();
	return 0;
}
