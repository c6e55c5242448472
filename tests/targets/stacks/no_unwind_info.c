/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code without unwind information: with a frame pointer its callers are found, and marked as a
 * guess; without one the stack is marked as cut, never continued by what rbp happens to be.
 */
#include "truth.h"

TRUTH_SITE(site_below_frame_pointer)
TRUTH_SITE(site_below_nothing)
TRUTH_SITE(site_below_garbage)

void with_frame_pointer(void (*call)(void));
void without_frame_pointer(void (*call)(void));
void with_garbage(void (*call)(void));

/* No .cfi_startproc: nothing is said about these. The garbage in rbp looks like a frame, but its
 * return address has no call before it. */
__asm__(".text\n"
	".globl with_frame_pointer, without_frame_pointer, with_garbage\n"
	".type with_frame_pointer, @function\n"
	"with_frame_pointer:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n"
	".size with_frame_pointer, . - with_frame_pointer\n"
	".type without_frame_pointer, @function\n"
	"without_frame_pointer:\n"
	"	push %rbp\n"
	"	xor %ebp, %ebp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n"
	".size without_frame_pointer, . - without_frame_pointer\n"
	".type with_garbage, @function\n"
	"with_garbage:\n"
	"	push %rbp\n"
	"	lea not_called(%rip), %rax\n"
	"	push %rax\n"
	"	push %rax\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	add $16, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.rept 16\n"
	"	nop\n"
	"	.endr\n"
	"not_called:\n"
	"	ret\n"
	".size with_garbage, . - with_garbage\n");

static void leaf_of_pointer(void)
{
	truth_free(site_below_frame_pointer(841));
}

static void leaf_of_nothing(void)
{
	truth_free(site_below_nothing(843));
}

static void leaf_of_garbage(void)
{
	truth_free(site_below_garbage(845));
}

int main(void)
{
	for (unsigned i = 0; i < 20; i++) {
		with_frame_pointer(leaf_of_pointer);
		without_frame_pointer(leaf_of_nothing);
		with_garbage(leaf_of_garbage);
	}
	truth_say("# expect: guessed site=site_below_frame_pointer");
	truth_say("# expect: path site=site_below_frame_pointer chain=site_below_frame_pointer<"
		  "leaf_of_pointer<with_frame_pointer<main");
	truth_say("# expect: cut site=site_below_nothing reason=no-unwind-info");
	truth_say("# expect: cycle site=site_below_nothing chain=leaf_of_nothing<"
		  "without_frame_pointer depth=2");
	truth_say("# expect: frames site=site_below_nothing depth=3");
	truth_say("# expect: cut site=site_below_garbage reason=no-unwind-info");
	truth_say("# expect: frames site=site_below_garbage depth=3");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
