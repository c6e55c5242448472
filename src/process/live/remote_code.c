/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/live/remote_code.h"

#include <assert.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/maps.h"

/*
 * Numbers: __WALL 0x40000000, SIG_SETMASK 2, 8 the kernel's sigset_t; the data after it is struct
 * home. System calls keep all registers but rax, rcx and r11, and all flags but those of the
 * arithmetic, which are put back without a stack: the overflow by an addition, the others by sahf.
 */
__asm__(".pushsection .rodata.remote_code,\"a\"\n"
	".irp name, begin, fork, call, last, home, end\n"
	"	.globl remote_code_\\name\n"
	"	.hidden remote_code_\\name\n"
	".endr\n"
	".balign 8\n"
	"remote_code_begin:\n"
	"remote_code_fork:\n"
	"	syscall\n"
	"	test %eax, %eax\n"
	"	jz 3f\n"
	"	js 1f\n"
	"	mov %eax, %edi\n"
	"	xor %esi, %esi\n"
	"	mov $0x40000000, %edx\n"
	"	xor %r10d, %r10d\n"
	"	mov $61, %eax\n" /* wait4 */
	"	syscall\n"
	"	jmp 1f\n"
	"remote_code_call:\n"
	"	syscall\n"
	"1:	mov $2, %edi\n"
	"	lea remote_code_home+216(%rip), %rsi\n"
	"	xor %edx, %edx\n"
	"	mov $8, %r10d\n"
	"	mov $14, %eax\n" /* rt_sigprocmask */
	"	syscall\n"
	"	mov remote_code_home+0(%rip), %r15\n"
	"	mov remote_code_home+8(%rip), %r14\n"
	"	mov remote_code_home+16(%rip), %r13\n"
	"	mov remote_code_home+24(%rip), %r12\n"
	"	mov remote_code_home+32(%rip), %rbp\n"
	"	mov remote_code_home+40(%rip), %rbx\n"
	"	mov remote_code_home+48(%rip), %r11\n"
	"	mov remote_code_home+56(%rip), %r10\n"
	"	mov remote_code_home+64(%rip), %r9\n"
	"	mov remote_code_home+72(%rip), %r8\n"
	"	mov remote_code_home+88(%rip), %rcx\n"
	"	mov remote_code_home+96(%rip), %rdx\n"
	"	mov remote_code_home+104(%rip), %rsi\n"
	"	mov remote_code_home+112(%rip), %rdi\n"
	"	mov remote_code_home+145(%rip), %al\n"
	"	shr $3, %al\n"
	"	and $1, %al\n"
	"	add $127, %al\n"
	"	mov remote_code_home+144(%rip), %ah\n"
	"	sahf\n"
	"	mov remote_code_home+80(%rip), %rax\n"
	"	jmp *remote_code_home+128(%rip)\n"
	"remote_code_last:\n"
	"	syscall\n"
	"3:	xor %edi, %edi\n"
	"	mov $231, %eax\n" /* exit_group */
	"	syscall\n"
	"	jmp 3b\n"
	".balign 8\n"
	"remote_code_home:\n"
	".skip 224\n"
	"remote_code_end:\n"
	".popsection\n");

extern const uint8_t remote_code_begin[] __attribute__((visibility("hidden")));
extern const uint8_t remote_code_fork[] __attribute__((visibility("hidden")));
extern const uint8_t remote_code_call[] __attribute__((visibility("hidden")));
extern const uint8_t remote_code_last[] __attribute__((visibility("hidden")));
extern const uint8_t remote_code_home[] __attribute__((visibility("hidden")));
extern const uint8_t remote_code_end[] __attribute__((visibility("hidden")));

/* How the thread goes on. */
struct home {
	struct user_regs_struct regs;
	uint64_t mask; /* of signals */
};
static_assert(offsetof(struct user_regs_struct, rbx) == 40, "as the code has it");
static_assert(offsetof(struct user_regs_struct, rax) == 80, "as the code has it");
static_assert(offsetof(struct user_regs_struct, rdi) == 112, "as the code has it");
static_assert(offsetof(struct user_regs_struct, rip) == 128, "as the code has it");
static_assert(offsetof(struct user_regs_struct, eflags) == 144, "as the code has it");
static_assert(offsetof(struct home, mask) == 216 && sizeof(struct home) == 224, "as above");

/* More than there is of it: a constant for arrays. */
#define ROOM 512u
#define WORD sizeof(uint64_t)
/* Files are asked for this many of their mappings that are code. */
#define FILES_MAX 16

static size_t code_bytes(void)
{
	return (size_t)(remote_code_home - remote_code_begin);
}

static size_t all_bytes(void)
{
	return (size_t)(remote_code_end - remote_code_begin);
}

/*
 * Whether these bytes are unused: zeros, or what a tracer left that was killed. It is written from
 * its start on and erased from its end on, so what is left is the code's beginning, and zeros; or
 * all of the code, and anything.
 */
static bool is_free(const uint8_t *bytes)
{
	static const uint8_t zeros[ROOM];
	size_t same = 0;
	while (same < code_bytes() && !memcmp(bytes + same, remote_code_begin + same, WORD))
		same += WORD;
	return same == code_bytes() || !memcmp(bytes + same, zeros, all_bytes() - same);
}

/* The last bytes of the mapping, if they are free. */
static uint64_t place_in(int memory, const struct process_map *map)
{
	uint8_t bytes[ROOM];
	uint64_t place = map->end - all_bytes();
	if (all_bytes() > ROOM || map->end - map->start < ROOM ||
		pread(memory, bytes, all_bytes(), (off_t)place) != (ssize_t)all_bytes())
		return 0;
	return is_free(bytes) ? place : 0;
}

/* Code that can't be written to, or the program itself may use what is there. */
static bool is_code(const struct process_map *map)
{
	return map->executable && map->readable && !map->writable && !map->shared;
}

static uint64_t find_code_place(int memory, const struct process_map_vec *maps)
{
	int files = 0;
	uint64_t found = 0;
	for (size_t i = 0; i < maps->len && !found; i++) {
		if (!strcmp(maps->data[i].path, "[vdso]") && is_code(&maps->data[i]))
			found = place_in(memory, &maps->data[i]);
	}
	for (size_t i = 0; i < maps->len && !found && files < FILES_MAX; i++) {
		if (!maps->data[i].inode || !is_code(&maps->data[i]))
			continue;
		files++;
		found = place_in(memory, &maps->data[i]);
	}
	return found;
}

uint64_t remote_code_place(pid_t pid)
{
	struct process_maps maps;
	char path[64];
	struct error *error = process_maps_read(pid, &maps);
	if (error) {
		error_destroy(error);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	_cleanup_close_ int memory = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t found = memory < 0 ? 0 : find_code_place(memory, &maps.maps);
	process_maps_deinit(&maps);
	return found;
}

bool remote_code_has(uint64_t place, uint64_t address)
{
	return address >= place && address - place < all_bytes();
}

uint64_t remote_code_entry(uint64_t place, enum remote_entry entry)
{
	static const uint8_t *const entries[REMOTE_ENTRIES] = {[REMOTE_CALL] = remote_code_call,
		[REMOTE_FORK] = remote_code_fork,
		[REMOTE_LAST] = remote_code_last};
	return place + (uint64_t)(entries[entry] - remote_code_begin);
}

static bool put_code(pid_t tid, uint64_t place, const uint8_t *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return !ptrace(PTRACE_POKEDATA, tid, (void *)place, (void *)word);
}

bool remote_code_write(
	pid_t tid, uint64_t place, const struct user_regs_struct *regs, uint64_t mask)
{
	uint8_t bytes[ROOM];
	const struct home home = {*regs, mask};
	memcpy(bytes, remote_code_begin, code_bytes());
	memcpy(bytes + code_bytes(), &home, sizeof(home));
	for (size_t at = 0; at < all_bytes(); at += WORD) {
		if (!put_code(tid, place + at, bytes + at)) {
			remote_code_erase(tid, place);
			return false;
		}
	}
	return true;
}

void remote_code_erase(pid_t tid, uint64_t place)
{
	static const uint8_t zeros[WORD];
	for (size_t at = all_bytes(); at; at -= WORD)
		(void)!put_code(tid, place + at - WORD, zeros);
}
