/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process whose program is in Go: its table of functions, and where two variables of its runtime
 * are, runtime.mbuckets and runtime.MemProfileRate. A program with symbols says where; of a
 * stripped one the functions that use them are looked at, which its table names. Each variable is
 * the one that several of these refer to.
 */
#ifndef GO_PROGRAM_H
#define GO_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "golang/impl/go_functions.h"
#include "process/elf_file.h"
#include "process/memory.h"

struct go_program {
	pid_t pid;
	char *path;       /* of its file, as it is called in its own mounts */
	char version[64]; /* "go1.19.8"; "": not known */
	struct elf_file file;
	uint64_t bias; /* address - bias = the file's own address */
	struct process_memory memory;
	struct go_functions functions; /* in `file` */
	uint64_t buckets_at, rate_at;  /* addresses of the variables */
	bool is_stripped;              /* they were found by code */
};

/*
 * Opens a process. ERROR_INPUT if there is none, its program is not one in Go, or one whose layout
 * is not known; ERROR_ENVIRONMENT if it may not be read. Call go_program_close() in any case.
 */
struct error *go_program_open(pid_t pid, struct go_program *ret) must_check_;
void go_program_close(struct go_program *program);

/* Returns whether a file's program is in Go, by its sections or the table in it. */
bool go_file_recognise(const struct elf_file *file);

/* Reads an aligned word. Returns false if it can't be read. */
bool go_program_word(const struct go_program *program, uint64_t address, uint64_t *ret);

#endif
