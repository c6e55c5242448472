/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Seccomp filters, executed as the kernel does: the kernel is asked, too. */
#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "process/seccomp_filters.h"

#include "lib/tap.h"

#define LOAD(k) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, k)
#define RETURN(k) BPF_STMT(BPF_RET | BPF_K, k)
#define LENGTH(code) (sizeof(code) / sizeof((code)[0]))
#define PROGRAMS 400
#define BODY 24u

static uint32_t action_of(
	const struct sock_filter *code, size_t length, const struct seccomp_data *data)
{
	uint32_t action = 0;
	CHECK(seccomp_filter_run(code, length, data, &action));
	return action;
}

CASE(seccomp_numbers, "a filter by numbers and arguments")
{
	const struct sock_filter code[] = {LOAD(offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		LOAD(offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS),
		RETURN(SECCOMP_RET_ALLOW)};
	struct seccomp_filter one = {(struct sock_filter *)code, LENGTH(code)};
	const struct seccomp_filters filters = {.all = {.data = &one, .len = 1}};
	const uint64_t data[6] = {0, 4096, 3}, executable[6] = {0, 4096, 5};
	CHECK(seccomp_filters_allow(&filters, SYS_mmap, data, 0x1000));
	CHECK(!seccomp_filters_allow(&filters, SYS_mmap, executable, 0x1000));
	CHECK(seccomp_filters_allow(&filters, SYS_munmap, executable, 0x1000));
}

CASE(seccomp_actions, "only what is done, and asked of nobody, is allowed")
{
	const struct {
		uint32_t action;
		bool allowed;
	} cases[] = {{SECCOMP_RET_ALLOW, true}, {SECCOMP_RET_LOG, true},
		{SECCOMP_RET_ALLOW | 7, true}, {SECCOMP_RET_TRACE, false},
		{SECCOMP_RET_USER_NOTIF, false}, {SECCOMP_RET_ERRNO | 1, false},
		{SECCOMP_RET_TRAP, false}, {SECCOMP_RET_KILL_THREAD, false},
		{SECCOMP_RET_KILL_PROCESS, false}, {12345, false}};
	const uint64_t none[6] = {0};
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct sock_filter code[] = {RETURN(cases[i].action)},
				   pass[] = {RETURN(SECCOMP_RET_ALLOW)};
		struct seccomp_filter both[] = {{pass, 1}, {code, 1}};
		const struct seccomp_filters filters = {.all = {.data = both, .len = 2}};
		CHECK(seccomp_filters_allow(&filters, SYS_read, none, 0) == cases[i].allowed);
	}
}

CASE(seccomp_address, "a filter by the address of the instruction")
{
	struct sock_filter code[] = {LOAD(offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1002, 0, 1), RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_TRAP)};
	struct seccomp_filter one = {code, LENGTH(code)};
	const struct seccomp_filters filters = {.all = {.data = &one, .len = 1}};
	const uint64_t none[6] = {0};
	CHECK(seccomp_filters_allow(&filters, SYS_read, none, 0x1000));
	CHECK(!seccomp_filters_allow(&filters, SYS_read, none, 0x2000));
}

CASE(seccomp_defective, "what the kernel would not have taken is no filter")
{
	const struct seccomp_data data = {.nr = 1};
	const struct sock_filter beyond[] = {LOAD(sizeof(data))}, odd[] = {LOAD(2)},
				 jump[] = {BPF_JUMP(BPF_JMP | BPF_JA, 0xffffffffu, 0, 0)},
				 no_end[] = {BPF_STMT(BPF_LD | BPF_IMM, 1)},
				 memory[] = {BPF_STMT(BPF_ST, 16), RETURN(0)},
				 bytes[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), RETURN(0)},
				 divide[] = {BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), RETURN(0)};
	uint32_t action;
	CHECK(!seccomp_filter_run(beyond, LENGTH(beyond), &data, &action));
	CHECK(!seccomp_filter_run(odd, LENGTH(odd), &data, &action));
	CHECK(!seccomp_filter_run(jump, LENGTH(jump), &data, &action));
	CHECK(!seccomp_filter_run(no_end, LENGTH(no_end), &data, &action));
	CHECK(!seccomp_filter_run(memory, LENGTH(memory), &data, &action));
	CHECK(!seccomp_filter_run(bytes, LENGTH(bytes), &data, &action));
	CHECK(!seccomp_filter_run(divide, LENGTH(divide), &data, &action));
	CHECK(!seccomp_filter_run(divide, 0, &data, &action));
}

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state >> 8;
}

static struct sock_filter random_instruction(size_t left)
{
	static const uint16_t operations[] = {
		BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_XOR, BPF_LSH, BPF_RSH};
	static const uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	uint32_t value = next_random() % 5 ? next_random() % 40 : next_random() * 257;
	uint16_t operation = operations[next_random() % LENGTH(operations)];
	uint16_t from = next_random() % 2 && operation != BPF_DIV ? BPF_X : BPF_K;
	bool is_shift = operation == BPF_LSH || operation == BPF_RSH;
	switch (next_random() % 8) {
	case 0:
		return (struct sock_filter)LOAD(16 + 4 * (next_random() % 12));
	case 1:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, value);
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, value % 32);
	case 3:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_LEN | BPF_W, 0);
	case 4:
		return (struct sock_filter)BPF_STMT(
			(uint16_t)(BPF_MISC | (next_random() % 2 ? BPF_TXA : BPF_TAX)), 0);
	case 5:
		if (left > 4)
			return (struct sock_filter)BPF_JUMP(
				(uint16_t)(BPF_JMP | jumps[next_random() % LENGTH(jumps)] |
					   (next_random() % 2 ? BPF_X : BPF_K)),
				value, (uint8_t)(next_random() % 3), (uint8_t)(next_random() % 3));
		return (struct sock_filter)BPF_STMT(BPF_ALU | BPF_NEG, 0);
	default:
		return (struct sock_filter)BPF_STMT(
			(uint16_t)(BPF_ALU | operation | from), from == BPF_X ? 0
								: is_shift    ? value % 32
									      : value + 1);
	}
}

/* A filter for getppid alone whose answer is an errno that its body computes. */
static size_t random_filter(struct sock_filter *code)
{
	size_t n = 0;
	code[n++] = (struct sock_filter)LOAD(offsetof(struct seccomp_data, nr));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < BODY; i++)
		code[n++] = random_instruction(BODY - i);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_ST, 3);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, 3);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1023);
	code[n++] =
		(struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO | 1024);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	return n;
}

/* What the kernel says, of a child: the errno of its call; -1: it does not take the filter. */
static int ask_kernel(struct sock_filter *code, size_t length, const struct seccomp_data *data)
{
	int pair[2], answer = -1;
	CHECK(!pipe(pair));
	pid_t child = fork();
	if (!child) {
		const struct sock_fprog filter = {(unsigned short)length, code};
		if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
			!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
			errno = 0;
			syscall(SYS_getppid, data->args[0], data->args[1], data->args[2],
				data->args[3], data->args[4], data->args[5]);
			answer = errno;
		}
		_exit(write(pair[1], &answer, sizeof(answer)) != sizeof(answer));
	}
	close(pair[1]);
	CHECK(read(pair[0], &answer, sizeof(answer)) == sizeof(answer));
	close(pair[0]);
	CHECK(waitpid(child, NULL, 0) == child);
	return answer;
}

CASE(seccomp_as_kernel, "random filters give what the kernel gives")
{
	int taken = 0;
	for (int i = 0; i < PROGRAMS; i++) {
		struct sock_filter code[BODY + 8];
		size_t length = random_filter(code);
		struct seccomp_data data = {.nr = SYS_getppid, .arch = AUDIT_ARCH_X86_64};
		for (int k = 0; k < 6; k++)
			data.args[k] = (uint64_t)next_random() << 32 | next_random();
		int answer = ask_kernel(code, length, &data);
		if (answer < 0)
			continue;
		taken++;
		CHECK_U64(action_of(code, length, &data), SECCOMP_RET_ERRNO | (uint32_t)answer);
	}
	CHECK(!taken || taken > PROGRAMS / 2);
	if (!taken)
		SKIP("no filter may be installed here");
}

TAP_MAIN
