/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: any thread, any moment. May touch: the semaphores of probes, which it reads.
 *
 * Probes that tools outside can attach to (USDT): a place in the code, described by a note in this
 * file's .note.stapsdt, that is a single nop until a tracer puts a breakpoint there. The format is
 * SystemTap's, version 3 ("UserSpaceProbeImplementation" in its wiki; gdb, bpftrace, perf and
 * libbpf read it):
 *
 *	name size, descriptor size, 3 │ "stapsdt" │ address of the probe, of .stapsdt.base, of the
 *	semaphore │ provider │ name │ arguments: "8@%rdi 8@%rax", bytes and where in GNU as's syntax
 *
 * .stapsdt.base is a section of one byte whose address in the note shows by how much the file was
 * moved after the link (prelink). A tracer that attaches adds 1 to the semaphore, in the memory of
 * each process: while it is 0, arguments need not be made. It must lie in the file: not in .bss.
 */
#ifndef RUNTIME_PROBE_H
#define RUNTIME_PROBE_H

#include <stdint.h>

/* Defines the semaphore of a probe, once. */
#define RT_PROBE_DEFINE(provider, name)                                                            \
	uint16_t provider##_##name##_semaphore                                                     \
		__attribute__((section(".probes"), visibility("hidden"), used))

/* Returns whether somebody listens. */
#define rt_probe_on(provider, name)                                                                \
	__builtin_expect(__atomic_load_n(&provider##_##name##_semaphore, __ATOMIC_RELAXED) != 0, 0)

#define RT_PROBE_NOTE_(provider, name, arguments)                                                  \
	"990: nop\n"                                                                               \
	".pushsection .note.stapsdt, \"\", \"note\"\n"                                             \
	".balign 4\n"                                                                              \
	".4byte 992f - 991f, 994f - 993f, 3\n"                                                     \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte 990b\n"                                                                       \
	".8byte _.stapsdt.base\n"                                                                  \
	".8byte " #provider "_" #name "_semaphore\n"                                               \
	".asciz \"" #provider "\"\n"                                                               \
	".asciz \"" #name "\"\n"                                                                   \
	".asciz \"" arguments "\"\n"                                                               \
	"994: .balign 4\n"                                                                         \
	".popsection\n"                                                                            \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base: .space 1\n"                                                               \
	".size _.stapsdt.base, 1\n"                                                                \
	".popsection\n"                                                                            \
	".endif\n"

/* The probes themselves, with arguments of 64 bits. Called where rt_probe_on() is true. */
#define rt_probe_1(provider, name, a)                                                              \
	__asm__ volatile(RT_PROBE_NOTE_(provider, name, "8@%[first]")::[first] "r"((uint64_t)(a)))
#define rt_probe_3(provider, name, a, b, c)                                                        \
	__asm__ volatile(RT_PROBE_NOTE_(provider, name,                                            \
				 "8@%[first] 8@%[second] 8@%[third]")::[first] "r"((uint64_t)(a)), \
		[second] "r"((uint64_t)(b)), [third] "r"((uint64_t)(c)))

#endif
