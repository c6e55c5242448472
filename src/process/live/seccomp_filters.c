/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/seccomp_filters.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/cleanup.h"

/* linux/ptrace.h, which does not go along with libc's. */
#define GET_FILTER 0x420c
/* What a filter sees is the address after the instruction. */
#define SYSCALL_BYTES 2u

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
	const struct seccomp_data *data;
};

/* Returns false if there is no such operation, or it divides by 0 (which ends the filter with
 * SECCOMP_RET_KILL_THREAD, or is refused if the 0 is a constant). */
static bool machine_calculate(struct machine *m, uint16_t code, uint32_t k)
{
	uint32_t with = BPF_SRC(code) == BPF_X ? m->x : k;
	switch (BPF_OP(code)) {
	case BPF_ADD:
		m->a += with;
		return true;
	case BPF_SUB:
		m->a -= with;
		return true;
	case BPF_MUL:
		m->a *= with;
		return true;
	case BPF_DIV:
		m->a /= with ? with : 1;
		return with;
	case BPF_OR:
		m->a |= with;
		return true;
	case BPF_AND:
		m->a &= with;
		return true;
	case BPF_XOR:
		m->a ^= with;
		return true;
	case BPF_LSH:
		m->a <<= with & 31;
		return with < 32 || BPF_SRC(code) == BPF_X;
	case BPF_RSH:
		m->a >>= with & 31;
		return with < 32 || BPF_SRC(code) == BPF_X;
	case BPF_NEG:
		m->a = -m->a;
		return true;
	default:
		return false;
	}
}

/* Returns false if there is no such load. */
static bool machine_load(struct machine *m, uint16_t code, uint32_t k)
{
	bool to_x = BPF_CLASS(code) == BPF_LDX;
	uint32_t value = k;
	if (BPF_SIZE(code) != BPF_W)
		return false;
	switch (BPF_MODE(code)) {
	case BPF_IMM:
		break;
	case BPF_MEM:
		if (k >= BPF_MEMWORDS)
			return false;
		value = m->memory[k];
		break;
	case BPF_LEN:
		value = sizeof(*m->data);
		break;
	case BPF_ABS:
		if (to_x || k % 4 || k >= sizeof(*m->data))
			return false;
		memcpy(&value, (const char *)m->data + k, sizeof(value));
		break;
	default:
		return false;
	}
	*(to_x ? &m->x : &m->a) = value;
	return true;
}

/* Returns how many instructions a jump leaves out; SIZE_MAX if there is no such jump. */
static size_t machine_jump(const struct machine *m, const struct sock_filter *at)
{
	uint32_t with = BPF_SRC(at->code) == BPF_X ? m->x : at->k;
	switch (BPF_OP(at->code)) {
	case BPF_JA:
		return at->k;
	case BPF_JEQ:
		return m->a == with ? at->jt : at->jf;
	case BPF_JGT:
		return m->a > with ? at->jt : at->jf;
	case BPF_JGE:
		return m->a >= with ? at->jt : at->jf;
	case BPF_JSET:
		return m->a & with ? at->jt : at->jf;
	default:
		return SIZE_MAX;
	}
}

static bool machine_store(struct machine *m, const struct sock_filter *at)
{
	if (at->k >= BPF_MEMWORDS)
		return false;
	m->memory[at->k] = BPF_CLASS(at->code) == BPF_STX ? m->x : m->a;
	return true;
}

/* Jumps lead forwards only, so that each filter ends. */
bool seccomp_filter_run(const struct sock_filter *code, size_t length,
	const struct seccomp_data *data, uint32_t *ret)
{
	struct machine m = {.data = data};
	for (size_t i = 0; i < length; i++) {
		const struct sock_filter *at = &code[i];
		bool ok = true;
		size_t skipped = 0;
		switch (BPF_CLASS(at->code)) {
		case BPF_LD:
		case BPF_LDX:
			ok = machine_load(&m, at->code, at->k);
			break;
		case BPF_ST:
		case BPF_STX:
			ok = machine_store(&m, at);
			break;
		case BPF_ALU:
			ok = machine_calculate(&m, at->code, at->k);
			break;
		case BPF_JMP:
			skipped = machine_jump(&m, at);
			ok = skipped < length - i;
			break;
		case BPF_RET:
			*ret = BPF_RVAL(at->code) == BPF_A ? m.a : at->k;
			return true;
		default: /* BPF_MISC */
			if (BPF_MISCOP(at->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
		if (!ok)
			return false;
		i += skipped;
	}
	return false;
}

static bool has_filter(const struct seccomp_filters *filters, const struct seccomp_filter *filter)
{
	for (size_t i = 0; i < filters->all.len; i++) {
		const struct seccomp_filter *other = &filters->all.data[i];
		if (other->length == filter->length &&
			!memcmp(other->code, filter->code, filter->length * sizeof(*filter->code)))
			return true;
	}
	return false;
}

/* The filter with this number of a thread. Returns 1, 0 if it has no more, -1 after an error
 * (errno). */
static int filter_read(pid_t tid, unsigned long number, struct seccomp_filter *ret)
{
	long length = ptrace(GET_FILTER, tid, (void *)number, NULL);
	if (length <= 0) /* ENOENT: no more; EINVAL: it is under none */
		return errno == ENOENT || errno == EINVAL ? 0 : -1;
	ret->length = (size_t)length;
	ret->code = calloc(ret->length, sizeof(*ret->code));
	return ret->code && ptrace(GET_FILTER, tid, (void *)number, ret->code) == length ? 1 : -1;
}

/* Returns false after an error (errno). */
static bool thread_read(pid_t tid, struct seccomp_filters *filters)
{
	for (unsigned long number = 0;; number++) {
		struct seccomp_filter filter = {NULL, 0};
		int got = filter_read(tid, number, &filter);
		if (got == 1 && !has_filter(filters, &filter) &&
			seccomp_filter_vec_push(&filters->all, filter))
			continue;
		bool known = got == 1 && has_filter(filters, &filter);
		free(filter.code);
		if (!known)
			return got == 0;
	}
}

struct error *seccomp_filters_read(const struct stopped *stopped, struct seccomp_filters *ret)
{
	*ret = (struct seccomp_filters){.all = {.data = NULL}};
	for (size_t i = 0; i < stopped->threads.len; i++) {
		const struct stopped_thread *thread = &stopped->threads.data[i];
		if (!thread->stopped)
			return error_create(ERROR_ENVIRONMENT,
				"thread %d of process %d does not return from the kernel, so its "
				"seccomp "
				"filters can't be read; try again",
				(int)thread->tid, (int)stopped->pid);
		if (!thread_read(thread->tid, ret))
			return error_errno(ERROR_ENVIRONMENT, errno,
				"the seccomp filters of process %d can't be read: that takes root "
				"(CAP_SYS_ADMIN) and a command that is under none itself",
				(int)stopped->pid);
	}
	return NULL;
}

void seccomp_filters_deinit(struct seccomp_filters *filters)
{
	for (size_t i = 0; i < filters->all.len; i++)
		free(filters->all.data[i].code);
	seccomp_filter_vec_deinit(&filters->all);
}

bool seccomp_filters_allow(const struct seccomp_filters *filters, uint64_t number,
	const uint64_t arguments[static 6], uint64_t at)
{
	struct seccomp_data data = {.nr = (int)number,
		.arch = AUDIT_ARCH_X86_64,
		.instruction_pointer = at + SYSCALL_BYTES};
	memcpy(data.args, arguments, sizeof(data.args));
	for (size_t i = 0; i < filters->all.len; i++) {
		const struct seccomp_filter *filter = &filters->all.data[i];
		uint32_t action;
		if (!seccomp_filter_run(filter->code, filter->length, &data, &action))
			return false;
		action &= SECCOMP_RET_ACTION_FULL;
		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG)
			return false;
	}
	return true;
}
