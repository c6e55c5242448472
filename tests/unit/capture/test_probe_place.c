/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where probes are put: entries of functions as compilers and libraries have them. */
#include "base/util.h"
#include "capture/watch/probe_place.h"
#include "capture/watch/watch_rights.h"
#include "lib/tap.h"

#define ENDBR64 0xf3, 0x0f, 0x1e, 0xfa

struct entry {
	const char *what;
	uint8_t code[24];
	unsigned arguments;
	size_t expected;
};

static void entries_check(const struct entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t place = probe_place_find(
			entries[i].code, sizeof(entries[i].code), entries[i].arguments);
		if (place != entries[i].expected)
			printf("# %s: %zu\n", entries[i].what, place);
		CHECK_U64(place, entries[i].expected);
	}
}

CASE(places, "a probe slides to the first instruction that the kernel emulates")
{
	static const struct entry entries[] = {
		{"push %r12 (malloc of glibc 2.36)", {0x41, 0x54, 0x55, 0x53}, 1, 0},
		{"test %rdi,%rdi; je (free of glibc)",
			{0x48, 0x85, 0xff, 0x0f, 0x84, 0xb7, 0, 0, 0}, 1, 3},
		{"endbr64; push %rbp", {ENDBR64, 0x55}, 1, 4},
		{"endbr64; test %rdi,%rdi; je", {ENDBR64, 0x48, 0x85, 0xff, 0x74, 0x10}, 1, 7},
		{"cmp $0x2ebc828,%rax with a prefix that REX.W overrides; push %rbp",
			{0x66, 0x48, 0x3d, 0x28, 0xc8, 0xeb, 0x02, 0x55}, 1, 7},
		{"cmpb $0,x(%rip); je (memalign)", {0x80, 0x3d, 0x71, 0x0e, 0x14, 0, 0, 0x74, 0x07},
			2, 7},
		{"cmp $0x3800,%rdi; ja (malloc of jemalloc)",
			{0x48, 0x81, 0xff, 0, 0x38, 0, 0, 0x77, 0x20}, 1, 7},
		{"mov %ecx,%r10d; test $0xfff,%r9d; jne (mmap)",
			{0x41, 0x89, 0xca, 0x41, 0xf7, 0xc1, 0xff, 0x0f, 0, 0, 0x75, 0x14}, 4, 10},
		{"mov %fs:0x28,%rax; jmp",
			{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0xeb, 0x05}, 3, 9},
		{"lea 8(%rdi,%rsi,4),%rax; call", {0x48, 0x8d, 0x44, 0xb7, 0x08, 0xe8, 0, 0, 0, 0},
			2, 5},
		{"xor %eax,%eax; nop", {0x31, 0xc0, 0x90}, 1, 2},
		{"nop5", {0x0f, 0x1f, 0x44, 0, 0}, 1, 0},
		{"nopw (another length): passed; jmp",
			{0x66, 0x0f, 0x1f, 0x44, 0, 0, 0xe9, 0, 0, 0, 0}, 1, 6},
		{"mov %rsi,%rdi with one argument that is gone", {0x48, 0x89, 0xf7, 0x55}, 1, 0},
		{"mov %rdi,%rsi is no matter with one argument", {0x48, 0x89, 0xfe, 0x55}, 1, 3},
		{"movzbl (%rdi),%ecx; jae", {0x0f, 0xb6, 0x0f, 0x73, 0x01}, 1, 3},
		{"imul %rsi,%rdi (calloc)", {0x48, 0x0f, 0xaf, 0xfe, 0x55}, 2, 0},
		{"mul %rsi writes rdx", {0x48, 0xf7, 0xe6, 0x70, 0x10}, 3, 0},
		{"movabs $x,%rax; je", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x74, 0x01}, 1, 10},
	};
	entries_check(entries, ARRAY_SIZE(entries));
}

CASE(stays, "a probe stays at the start if the stack pointer moves, or code is not understood")
{
	static const struct entry entries[] = {
		{"sub $0x58,%rsp; je", {0x48, 0x83, 0xec, 0x58, 0x74, 0x01}, 1, 0},
		{"add $-128,%rsp; push", {0x48, 0x83, 0xc4, 0x80, 0x55}, 1, 0},
		{"mov %rsp,%rbp; push: rbp leads to the caller", {0x48, 0x89, 0xe5, 0x53}, 1, 0},
		{"lea -8(%rsp),%rsp; push", {0x48, 0x8d, 0x64, 0x24, 0xf8, 0x55}, 1, 0},
		{"ret", {0xc3, 0x55}, 1, 0},
		{"syscall", {0x0f, 0x05, 0x55}, 1, 0},
		{"vpxor", {0xc5, 0xf9, 0xef, 0xc0, 0x55}, 1, 0},
		{"rep stosb", {0xf3, 0xaa, 0x55}, 1, 0},
		{"jmp *%rax", {0xff, 0xe0}, 1, 0},
		{"endbr64; ret", {ENDBR64, 0xc3}, 0, 0},
	};
	entries_check(entries, ARRAY_SIZE(entries));
}

CASE(ends, "an instruction that goes on after the bytes that are there is none")
{
	static const uint8_t code[] = {0x48, 0x81, 0xff, 0x00, 0x38, 0x00, 0x00, 0x77};
	for (size_t len = 0; len < sizeof(code); len++)
		CHECK_U64(probe_place_find(code, len, 1), 0);
	CHECK_U64(probe_place_find(code, sizeof(code), 1), 7);
}

CASE(noise, "no code is read beyond its end")
{
	uint8_t code[PROBE_PLACE_BYTES];
	uint64_t state = 88172645463325252ull;
	for (unsigned round = 0; round < TAP_SOME(20000u); round++) {
		for (size_t i = 0; i < sizeof(code); i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			code[i] = (uint8_t)(state >> 32);
		}
		size_t len = state % sizeof(code);
		uint8_t *copy = malloc(len + 1); /* a sanitizer sees its end */
		memcpy(copy, code, len);
		size_t place = probe_place_find(copy, len, 4);
		CHECK(place < len || !place);
		free(copy);
	}
}

CASE(filters, "kernels whose return probes seccomp filters see")
{
	CHECK(watch_returns_are_filtered("6.11.0-29-generic"));
	CHECK(watch_returns_are_filtered("6.13"));
	CHECK(!watch_returns_are_filtered("6.10.14"));
	CHECK(!watch_returns_are_filtered("6.14.2"));
	CHECK(!watch_returns_are_filtered("6.1.0-18-amd64"));
	CHECK(!watch_returns_are_filtered("7.12.0"));
	CHECK(!watch_returns_are_filtered("?"));
}

TAP_MAIN
