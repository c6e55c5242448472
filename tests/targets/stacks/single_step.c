/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A handler that allocates after each single instruction of the program and of the vdso (the
 * processor's trap flag): stacks are right in prologues, epilogues, PLT entries, everywhere.
 */
#include "truth.h"
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <time.h>
#include <ucontext.h>

TRUTH_SITE(site_in_program)
TRUTH_SITE(site_in_vdso)

extern const char __executable_start[], etext[];
static uint64_t vdso_start, vdso_end;
static volatile unsigned stepped_program, stepped_vdso;
/* The vdso reads the clock anew when the kernel has updated it meanwhile: never done, where a step
 * takes longer than that. So the processor steps no further after VDSO_STEPS of one call. */
enum { VDSO_STEPS = 400 };
static volatile unsigned steps_of_call;
static volatile bool stepping;

static void handler(int number, siginfo_t *information, void *context)
{
	uint64_t at = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	truth_need(number == SIGTRAP && information, "number");
	if (at >= (uint64_t)__executable_start && at < (uint64_t)etext) {
		truth_free(site_in_program(811));
		stepped_program++;
	} else if (at >= vdso_start && at < vdso_end) {
		truth_free(site_in_vdso(813));
		stepped_vdso++;
		if (++steps_of_call >= VDSO_STEPS)
			((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
	}
	TRUTH_STAY();
}

void step_on(void);
void step_off(void);

#define STEP(name, change)                                                                         \
	__asm__(".text\n"                                                                          \
		".globl " #name "\n"                                                               \
		".type " #name ", @function\n" #name ":\n"                                         \
		"	.cfi_startproc\n"                                                                \
		"	pushf\n"                                                                         \
		"	.cfi_adjust_cfa_offset 8\n"                                                      \
		"	" change ", (%rsp)\n"                                                      \
		"	popf\n"                                                                          \
		"	.cfi_adjust_cfa_offset -8\n"                                                     \
		"	ret\n"                                                                           \
		"	.cfi_endproc\n"                                                                  \
		".size " #name ", . - " #name "\n")

STEP(step_on, "orq $0x100");
STEP(step_off, "andq $~0x100");

/* A part of its caller. */
static inline __attribute__((always_inline)) void read_clock(struct timespec *now)
{
	steps_of_call = 0;
	clock_gettime(CLOCK_MONOTONIC, now);
	if (stepping)
		step_on();
}

/* Registers to save, a frame of variable size, calls: what prologues and epilogues are made of. */
TRUTH_FRAME static uint64_t with_registers(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct timespec now;
	read_clock(&now);
	uint64_t e = a * b, f = c ^ d;
	read_clock(&now);
	return a + b + c + d + e + f + (uint64_t)now.tv_sec;
}

TRUTH_FRAME static uint64_t with_variable_frame(size_t count)
{
	volatile uint64_t numbers[count];
	numbers[count - 1] = count;
	uint64_t result = with_registers(numbers[count - 1], 2, 3, count);
	numbers[0] = result;
	return numbers[0] + 1;
}

TRUTH_FRAME static uint64_t with_alignment(size_t count)
{
	volatile uint64_t space[8] __attribute__((aligned(64)));
	space[count % 8] = with_variable_frame(count);
	return space[count % 8] + 1;
}

TRUTH_FRAME static void stepped(size_t count)
{
	stepping = true;
	step_on();
	volatile uint64_t result = with_alignment(count);
	(void)result;
	stepping = false;
	step_off();
	TRUTH_STAY();
}

/* The image of the vdso: all that its program headers load. */
static void find_vdso(void)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	if (!header)
		return;
	const ElfW(Phdr) *parts = (const void *)((const char *)header + header->e_phoff);
	vdso_start = (uint64_t)header;
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (parts[i].p_type == PT_LOAD)
			vdso_end = vdso_start + parts[i].p_memsz;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGTRAP, &action, NULL);
	find_vdso();
	for (size_t i = 1; i < 6; i++)
		stepped(i * 3);
	truth_need(stepped_program > 200, "steps");
	truth_say("# expect: path site=site_in_program chain=site_in_program<handler<(signal)<"
		  "stepped<main");
	if (stepped_vdso) {
		truth_say("# expect: path site=site_in_vdso chain=site_in_vdso<handler<(signal)<"
			  "with_registers<with_variable_frame<with_alignment<stepped<main");
		truth_say("# expect: frame site=site_in_vdso function=clock_gettime|"
			  "__vdso_clock_gettime");
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
