/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see dump_signal.h. May touch: the same. */
#include "runtime/preload/dump_signal.h"

#include "runtime/core/sys.h"
#include "runtime/preload/process.h"

#include <signal.h>

#define KERNEL_SA_RESTORER 0x04000000ul
#define MASK_BYTES 8

/* As the kernel has it (arch/x86/include/uapi/asm/signal.h), not as libc's. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* Ends the handler: rt_sigreturn(2). */
void rt_dump_signal_return(void);
__asm__(".text\n"
	".hidden rt_dump_signal_return\n"
	".globl rt_dump_signal_return\n"
	".type rt_dump_signal_return, @function\n"
	"rt_dump_signal_return:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	".size rt_dump_signal_return, . - rt_dump_signal_return\n");

/* Async-signal-safe. A forked child without a recording of its own has nothing to dump. */
static void count_signal(int number)
{
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	const struct rt_process *p = rt_process;
	(void)number;
	if (rt_process_is_recording(p)) {
		__atomic_fetch_add(&p->shm->dump_signals, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&p->shm->doorbell, 1, __ATOMIC_RELAXED);
	}
	rt_as_event_end(ours);
}

void rt_dump_signal_review(struct hw_shm *shm)
{
	uint32_t number = __atomic_load_n(&shm->dump_signal, __ATOMIC_RELAXED);
	struct kernel_action now = {.handler = SIG_IGN};
	if (!number || sys_no_calls() ||
		sys_failed(sys_call4(__NR_rt_sigaction, number, NULL, &now, MASK_BYTES)))
		return;
	if (now.handler != count_signal)
		__atomic_fetch_or(&shm->notes, (uint32_t)HW_NOTE_SIGNAL_TAKEN, __ATOMIC_RELAXED);
}

void rt_dump_signal_prepare(struct hw_shm *shm)
{
	uint32_t number = __atomic_load_n(&shm->dump_signal, __ATOMIC_RELAXED);
	struct kernel_action ours = {.handler = count_signal,
		.flags = SA_RESTART | SA_ONSTACK | KERNEL_SA_RESTORER,
		.restorer = rt_dump_signal_return};
	struct kernel_action theirs = {.handler = SIG_IGN};
	if (!number || sys_no_calls() ||
		sys_failed(sys_call4(__NR_rt_sigaction, number, NULL, &theirs, MASK_BYTES)))
		return;
	if (theirs.handler == SIG_DFL)
		sys_call4(__NR_rt_sigaction, number, &ours, NULL, MASK_BYTES);
	else if (theirs.handler != count_signal)
		__atomic_fetch_or(&shm->notes, (uint32_t)HW_NOTE_SIGNAL_TAKEN, __ATOMIC_RELAXED);
}
