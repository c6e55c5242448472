/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/unwind.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The one thread that is asked for; its number is of no meaning. */
#define THREAD 1
/* DWARF's numbers of registers (System V ABI, x86-64, 3.6.2), as words of user_regs_struct. */
static const uint8_t x86_words[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
#define X86_REGISTERS 17u
#define X86_PC 16u
#define ARM_REGISTERS 32u /* x0 to x30, sp: as they come */
#define ARM_PC 32u

struct unwinder {
	Dwfl *dwfl;
	const struct unwind_thread *thread;
	struct unwind_frame *frames;
	size_t count, room;
};

static int find_no_debug(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc,
		(void)ret;
	return -1;
}

static int find_no_elf(
	Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_no_elf, .find_debuginfo = find_no_debug};

static pid_t next_thread(Dwfl *dwfl, void *context, void **ret)
{
	(void)dwfl, (void)context;
	bool first = !*ret;
	*ret = context;
	return first ? THREAD : 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **ret)
{
	(void)dwfl, (void)tid;
	*ret = context;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *context)
{
	(void)dwfl;
	const struct unwind_thread *thread = ((struct unwinder *)context)->thread;
	uint64_t word;
	if (!thread->read_word(thread->context, address, &word))
		return false;
	*ret = word;
	return true;
}

static bool set_registers(Dwfl_Thread *dwfl_thread, void *context)
{
	const struct unwind_thread *thread = ((struct unwinder *)context)->thread;
	Dwarf_Word words[ARM_REGISTERS];
	bool x86 = thread->machine == EM_X86_64;
	unsigned count = x86 ? X86_REGISTERS : ARM_REGISTERS;
	for (unsigned i = 0; i < count; i++)
		words[i] = thread->registers[x86 ? x86_words[i] : i];
	dwfl_thread_state_register_pc(dwfl_thread, thread->registers[x86 ? X86_PC : ARM_PC]);
	return dwfl_thread_state_registers(dwfl_thread, 0, count, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers};

struct error *unwinder_create(
	const struct unwind_module *modules, size_t count, struct unwinder **ret)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	if (!u)
		return error_no_memory();
	u->dwfl = dwfl_begin(&callbacks);
	if (!u->dwfl) {
		free(u);
		return error_no_memory();
	}
	dwfl_report_begin(u->dwfl);
	for (size_t i = 0; i < count; i++) {
		int fd = dup(modules[i].fd); /* becomes libdwfl's, unless it refuses the file */
		if (fd >= 0 && !dwfl_report_elf(u->dwfl, modules[i].name, modules[i].name, fd,
				       modules[i].start, false))
			close(fd);
	}
	dwfl_report_end(u->dwfl, NULL, NULL);
	/* Which machine it is, any of its modules tells. Without one there is nothing to unwind by.
	 */
	dwfl_attach_state(u->dwfl, NULL, THREAD, &thread_callbacks, u);
	*ret = u;
	return NULL;
}

void unwinder_destroy(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	dwfl_end(unwinder->dwfl);
	free(unwinder);
}

/* DWARF's numbers of stack and frame pointer (System V ABIs, x86-64, 3.6.2; aarch64, 4.1). */
#define X86_SP 7u
#define X86_FP 6u
#define ARM_SP 31u
#define ARM_FP 29u

static uint64_t register_of(Dwfl_Frame *state, unsigned number)
{
	Dwarf_Word value;
	return dwfl_frame_reg(state, number, &value) == 0 ? value : 0;
}

static int take_frame(Dwfl_Frame *state, void *context)
{
	struct unwinder *u = context;
	Dwarf_Addr pc;
	bool exact;
	if (u->count == u->room || !dwfl_frame_pc(state, &pc, &exact) || !pc)
		return DWARF_CB_ABORT;
	bool x86 = u->thread->machine == EM_X86_64;
	u->frames[u->count++] = (struct unwind_frame){.pc = pc,
		.exact = exact,
		.stack_pointer = register_of(state, x86 ? X86_SP : ARM_SP),
		.frame_pointer = register_of(state, x86 ? X86_FP : ARM_FP)};
	return DWARF_CB_OK;
}

size_t unwinder_run(struct unwinder *unwinder, const struct unwind_thread *thread,
	struct unwind_frame *ret, size_t room)
{
	struct unwinder *u = unwinder;
	u->thread = thread;
	u->frames = ret;
	u->count = 0;
	u->room = room;
	dwfl_getthread_frames(u->dwfl, THREAD, take_frame, u);
	if (!u->count && room) {
		uint64_t pc = thread->registers[thread->machine == EM_X86_64 ? X86_PC : ARM_PC];
		u->frames[u->count++] = (struct unwind_frame){.pc = pc, .exact = true};
	}
	return u->count;
}
