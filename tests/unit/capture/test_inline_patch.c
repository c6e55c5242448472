/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Beginnings of functions that become jumps: what is refused, and copies that are executed. */
#include "capture/attach/inline_patch.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/tap.h"

#define AT 0x401000ull
#define PLACE_BYTES 65536u

static const char *examine(const char *code, size_t bytes)
{
	struct inline_patch patch;
	return inline_patch_examine((const uint8_t *)code, bytes, AT, &patch);
}

static bool is_refused(const char *code, size_t bytes, const char *word)
{
	const char *why = examine(code, bytes);
	return why && strstr(why, word);
}

#define REFUSED(code, word) CHECK(is_refused(code, sizeof(code) - 1, word))
#define TAKEN(code) CHECK(!examine(code, sizeof(code) - 1))

CASE(refused, "functions that can't be changed are refused, with the reason")
{
	REFUSED("\xc3", "shorter");
	REFUSED("\x90\x90\x90\xc3", "shorter");
	REFUSED("\xeb\x03\x90\x90\x90\x90\xc3", "shorter");
	REFUSED("\x31\xc0\xc3\x90\x90\x90\x90", "shorter");
	REFUSED("\xe8\x00\x00\x00\x00\xc3", "call");
	REFUSED("\x55\xff\xd0\x90\x90\x90\xc3", "call");
	REFUSED("\xcc\x90\x90\x90\x90\x90\xc3", "breakpoint");
	REFUSED("\x55\xcc\x90\x90\x90\x90\xc3", "breakpoint");
	REFUSED("\xf3\x0f\x1e\xfa\xcc\x90\x90\x90\x90\xc3", "breakpoint");
	REFUSED("\xe3\x05\x90\x90\x90\x90\xc3", "loop");
	REFUSED("\x06\x90\x90\x90\x90\x90\xc3", "not known");
	/* jmp to the second instruction, from behind. */
	REFUSED("\x55\x48\x89\xe5\x90\x90\x90\xeb\xf8", "jumps back");
	REFUSED("\x55\x48\x89\xe5\x90\x90\x90\x0f\x84\xf4\xff\xff\xff\xc3", "jumps back");
	REFUSED("\x55\x48\x89\xe5\x90\x90\x90\x06\xc3", "not known");
	/* To its own beginning, and to behind the jump. */
	TAKEN("\x55\x48\x89\xe5\x90\x90\x90\xeb\xf7");
	TAKEN("\x55\x48\x89\xe5\x90\x90\x90\xeb\xfc");
	TAKEN("\xe9\x00\x00\x00\x00");
	TAKEN("\xf3\x0f\x1e\xfa\xe9\x00\x00\x00\x00");
}

CASE(part, "another part of a function must not jump into what is overwritten")
{
	struct inline_patch patch;
	uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0xc3}, part[] = {0xe9, 0, 0, 0, 0};
	CHECK(!inline_patch_examine(code, sizeof(code), AT, &patch));
	int32_t to = (int32_t)(AT + 4 - (AT + 0x1000 + 5));
	memcpy(part + 1, &to, sizeof(to));
	CHECK(inline_patch_examine_part(part, sizeof(part), AT + 0x1000, &patch) != NULL);
	to += 1;
	memcpy(part + 1, &to, sizeof(to));
	CHECK(!inline_patch_examine_part(part, sizeof(part), AT + 0x1000, &patch));
}

CASE(reach, "hooks and stubs are within 2 GiB")
{
	struct inline_patch patch;
	const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0xc3};
	CHECK(!inline_patch_examine(code, sizeof(code), AT, &patch));
	CHECK(inline_patch_make(code, AT + 0x7fffff00, AT + 0x7ffff000, &patch));
	CHECK(!inline_patch_make(code, AT + 0x80001000, AT + 0x1000, &patch));
	CHECK(!inline_patch_make(code, AT + 0x1000, AT + 0x80001000, &patch));
}

typedef long function(long a, long b);

static long hooked(long a, long b)
{
	return a * 1000 + b;
}

/* A page of code, and the stub a little further on. The hook is reached by a jump through memory,
 * since it may be anywhere. */
struct place {
	uint8_t *code, *stub, *hook;
};

static bool place_make(struct place *p, const uint8_t *code, size_t bytes)
{
	uint8_t *at = mmap(NULL, PLACE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	function *hook = hooked;
	*p = (struct place){at, at + PLACE_BYTES / 2, at + PLACE_BYTES - 64};
	memcpy(p->code, code, bytes);
	memcpy(p->hook, (const uint8_t[]){0xff, 0x25, 0, 0, 0, 0}, 6);
	memcpy(p->hook + 6, &hook, sizeof(hook));
	return true;
}

static long call(const uint8_t *code, long a, long b)
{
	function *f;
	memcpy(&f, &code, sizeof(f));
	return f(a, b);
}

/* The function, its copy behind the jump, and the function that has been put back. total: with the
 * data behind it. */
static void run_one(const char *name, const uint8_t *code, size_t total, size_t bytes)
{
	struct place p;
	struct inline_patch patch;
	if (!place_make(&p, code, total)) {
		printf("# %s: no memory that can be written to and executed\n", name);
		return;
	}
	const char *why = inline_patch_examine(p.code, bytes, (uint64_t)p.code, &patch);
	if (why)
		printf("# %s %s\n", name, why);
	CHECK(!why);
	size_t begin = (size_t)(patch.address - (uint64_t)p.code);
	bool made = !why &&
		    inline_patch_make(p.code + begin, (uint64_t)p.hook, (uint64_t)p.stub, &patch);
	CHECK(made && patch.stub_bytes <= sizeof(patch.stub));
	bool same = made;
	for (long a = -2; a <= 2 && made; a++) {
		long before = call(p.code, a, 7);
		memcpy(p.stub, patch.stub, patch.stub_bytes);
		memcpy(p.code + begin, patch.after, sizeof(patch.after));
		same = same && call(p.code, a, 7) == hooked(a, 7) && call(p.stub, a, 7) == before;
		memcpy(p.code + begin, patch.before, sizeof(patch.before));
		same = same && call(p.code, a, 7) == before && !memcmp(p.code, code, bytes);
	}
	CHECK(same);
	munmap(p.code, PLACE_BYTES);
}

CASE(run, "copies do what the functions did, and these are as they were")
{
	/* mov %rdi, %rax; add %rsi, %rax; ret */
	static const uint8_t plain[] = {0x48, 0x89, 0xf8, 0x48, 0x01, 0xf0, 0xc3};
	static const uint8_t marked[] = {
		0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8, 0x48, 0x01, 0xf0, 0xc3};
	/* test %rdi, %rdi; je 1f; lea (%rdi,%rsi), %rax; ret; 1: mov $-5, %rax; ret */
	static const uint8_t jump_if[] = {0x48, 0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x04, 0x37,
		0xc3, 0x48, 0xc7, 0xc0, 0xfb, 0xff, 0xff, 0xff, 0xc3};
	/* The same with je in its long form, first: the flags are those of the caller's test. */
	static const uint8_t jump_long[] = {0x48, 0x85, 0xff, 0x0f, 0x84, 0x05, 0, 0, 0, 0x48, 0x8d,
		0x04, 0x37, 0xc3, 0x48, 0xc7, 0xc0, 0xfb, 0xff, 0xff, 0xff, 0xc3};
	/* mov 4(%rip), %rax; add %rdi, %rax; ret; .quad 0x1122334455 */
	static const uint8_t from_rip[] = {0x48, 0x8b, 0x05, 0x04, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3,
		0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0};
	/* cmpb $0x11, 9(%rip), which has an immediate behind; setne %al; movzx %al, %eax; ret */
	static const uint8_t from_rip_immediate[] = {
		0x80, 0x3d, 0x07, 0, 0, 0, 0x11, 0x0f, 0x95, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3, 0x11};
	/* jmp 1f; 1: mov %rsi, %rax; ret, with a jump of 5 bytes */
	static const uint8_t jump[] = {0xe9, 0, 0, 0, 0, 0x48, 0x89, 0xf0, 0xc3};
	/* push %rbx; push %rbp; jmp 1f (2 bytes); int3; 1: mov %rdi, %rax; pop %rbp; pop %rbx; ret
	 */
	static const uint8_t short_jump[] = {
		0x53, 0x55, 0x90, 0xeb, 0x01, 0xcc, 0x48, 0x89, 0xf8, 0x5d, 0x5b, 0xc3};
	run_one("plain", plain, sizeof(plain), sizeof(plain));
	run_one("endbr64", marked, sizeof(marked), sizeof(marked));
	run_one("jcc rel8", jump_if, sizeof(jump_if), sizeof(jump_if));
	run_one("jcc rel32", jump_long, sizeof(jump_long), sizeof(jump_long));
	run_one("rip", from_rip, sizeof(from_rip), 11);
	run_one("rip and an immediate", from_rip_immediate, sizeof(from_rip_immediate), 14);
	run_one("jmp rel32", jump, sizeof(jump), sizeof(jump));
	run_one("jmp rel8", short_jump, sizeof(short_jump), sizeof(short_jump));
}

TAP_MAIN
