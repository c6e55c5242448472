/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A core dump: an ELF64 file of type ET_CORE, of x86-64 or aarch64, as the kernel
 * (fs/binfmt_elf.c), gdb's gcore or `heapwise … save` writes it. Only headers and notes are read
 * here; memory is read where it lies, by core_file_read(). The file may be anything: cut off,
 * damaged, made to harm.
 */
#ifndef PROCESS_CORE_FILE_H
#define PROCESS_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "process/cores/core_owner.h"

/* A piece of memory (PT_LOAD). Of [start, end) only the first file_bytes are in the core. */
struct core_segment {
	uint64_t start, end;
	uint64_t file_bytes, offset;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};
DEFINE_VEC(core_segments, struct core_segment)

/* What a file was mapped to (NT_FILE). */
struct core_mapped {
	uint64_t start, end, offset;
	const char *path;
};
DEFINE_VEC(core_mappeds, struct core_mapped)

/* x86-64: as struct user_regs_struct (sys/user.h), 27; aarch64: x0 to x30, sp, pc, pstate. */
#define CORE_REGISTERS_MAX 34u
struct core_thread {
	pid_t tid;
	int signal; /* that it had; 0: none */
	uint64_t registers[CORE_REGISTERS_MAX];
	uint64_t thread_pointer; /* x86-64: fs_base; aarch64: tpidr_el0 (NT_ARM_TLS); 0: unknown */
};
DEFINE_VEC(core_threads, struct core_thread)

/* Values of the auxiliary vector (NT_AUXV; getauxval(3)); 0: missing. */
struct core_auxv {
	uint64_t headers, header_count; /* AT_PHDR, AT_PHNUM: of the executable */
	uint64_t entry, vdso;           /* AT_ENTRY, AT_SYSINFO_EHDR */
	uint64_t loader;                /* AT_BASE: where the dynamic linker begins */
	uint64_t name;                  /* AT_EXECFN: where the program's path stands */
};

struct core_file {
	char *path;
	int fd;
	uint64_t bytes;                /* of the file */
	uint16_t machine;              /* EM_X86_64 or EM_AARCH64 */
	struct core_segments segments; /* ascending; none overlaps another */
	struct core_mappeds mapped;    /* ascending */
	struct core_threads threads;   /* the one that died comes first */
	struct core_auxv auxv;
	struct core_owner owner;
	uint64_t missing_bytes; /* of memory that the headers announce and the file lacks */
	uint64_t overlapping;   /* segments that were shortened or left out because of others */
	bool notes_damaged;
	bool unpacked_cut;  /* it was compressed, and is truncated */
	struct arena arena; /* holds the paths */
};

/* Returns whether `len` bytes are the beginning of a core. */
bool core_file_is(const void *bytes, size_t len);

/*
 * Opens a core dump. Returns ERROR_INPUT if it can't be read, is no core, or is of another machine.
 * Of a damaged core *ret has what can be read. Call core_file_close() for *ret in any case.
 */
struct error *core_file_open(const char *path, struct core_file *ret) must_check_;
/* Opens a core dump from a descriptor, which *ret takes over. `path` is its name in messages. */
struct error *core_file_open_fd(int fd, const char *path, struct core_file *ret) must_check_;
void core_file_close(struct core_file *core);

/* Returns the segment that an address lies in; NULL if there is none. */
const struct core_segment *core_file_segment(const struct core_file *core, uint64_t address);

/* Reads up to `bytes` bytes at `address`; returns how many were read, fewer if the core lacks the
 * rest. Several threads may call it at a time. */
size_t core_file_read(const struct core_file *core, uint64_t address, void *ret, size_t bytes);

/* Returns how many bytes from `address` on, at most `bytes`, are a hole of the file and so zero. */
size_t core_file_hole(const struct core_file *core, uint64_t address, size_t bytes);

#endif
