/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in a function a probe is put. The kernel emulates nop, push, jmp, jcc and call; every other
 * instruction it executes out of line, by single steps, which takes 30 times as long (14 µs in a
 * virtual machine). So the probe slides to the first of these in the function's first basic block,
 * as long as nothing before it changes an argument or the stack pointer.
 *
 * Intel SDM, volume 2, chapter 2 and appendix A (lengths); arch/x86/kernel/uprobes.c of Linux.
 */
#ifndef CAPTURE_PROBE_PLACE_H
#define CAPTURE_PROBE_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a function that are looked at. */
#define PROBE_PLACE_BYTES 64u

/*
 * Returns the offset of the probe from the function's start; 0: there is no better place, or an
 * instruction before it is not understood. `code` has `len` bytes from the start on; `arguments`
 * are passed in registers (rdi, rsi, rdx, rcx) and must still be there, at most 4.
 */
size_t probe_place_find(const uint8_t *code, size_t len, unsigned arguments);

#endif
