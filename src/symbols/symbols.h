/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What code addresses mean: function, source line and the chain of inlined functions, for the
 * modules (executables and shared objects) of one recording. Modules are opened when an address of
 * theirs is first asked for, and only what such an address needs is read.
 *
 * A file is trusted by its build-id: where a recorded one is known and the file found has another,
 * the file is not used. Damaged files give fewer names, never an error.
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "symbols/settings.h"
#include "symbols/split/lookup_log.h"

struct symbols;

/* The path that the dynamic linker gives to the kernel's own code in each process. */
#define SYMBOLS_VDSO "linux-vdso.so.1"

/* Strings belong to struct symbols, and equal ones have equal addresses. */
struct symbol {
	const char *function; /* demangled, without parameters and return type; NULL: unknown */
	/* As the linker knows it; what was inlined as DWARF has it: not mangled, not qualified.
	 * NULL: unknown. */
	const char *raw_name;
	/* The linkage name, also of inlined functions; NULL: it has none of its own, or none that
	 * is known. */
	const char *linkage_name;
	const char *file; /* NULL: unknown */
	uint32_t line;    /* from 1; 0: unknown */
	bool inlined;     /* into the symbol that follows */
};

enum symbols_state {
	SYMBOLS_UNOPENED, /* nothing was asked of it yet */
	SYMBOLS_DWARF,    /* functions, lines, inlined functions */
	SYMBOLS_SYMTAB,   /* functions */
	SYMBOLS_DYNSYM,   /* exported functions */
	SYMBOLS_MISSING,  /* no file, or none with names */
	SYMBOLS_CHANGED,  /* the file at the path is another one than was recorded */
};

/* Creates symbols without modules. The settings (NULL: the defaults) must outlive them. */
struct error *symbols_create(
	const struct symbols_settings *settings, struct symbols **ret) must_check_;
/* When the recording began whose modules these are (CLOCK_REALTIME; 0: unknown): files without a
 * build-id that were written later are others. Before any module is asked about. */
void symbols_recorded_at(struct symbols *symbols, uint64_t wall_ns);
/* Keeps new answers for later commands, if the settings say where. */
void symbols_destroy(struct symbols *symbols);

static inline void symbols_cleanup(struct symbols **symbols)
{
	symbols_destroy(*symbols);
}

/*
 * Opens nothing. `path` as the process saw it; build_id_len 0 if none was recorded. *ret_module
 * counts from 0.
 */
struct error *symbols_add_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
	size_t build_id_len, uint32_t *ret_module) must_check_;

/* As above, for a file of this machine, which is not looked for below a system root. */
struct error *symbols_add_file(struct symbols *symbols, const char *path, const uint8_t *build_id,
	size_t build_id_len, uint32_t *ret_module) must_check_;

/*
 * Finds the symbols of an address, innermost (most inlined) first; at least one, which may be all
 * unknown. `address` is the ELF file's own (without load bias), inside the instruction meant: a
 * return address minus 1. The only errors are of memory.
 */
struct error *symbols_resolve(struct symbols *symbols, uint32_t module, uint64_t address,
	const struct symbol **ret, size_t *ret_count) must_check_;

/* A variable of static storage, in a function or not. */
struct symbol_variable {
	const char *name; /* demangled; NULL: unknown, and then the next are 0 */
	uint64_t offset;  /* of the address in it */
	const char *file; /* NULL: unknown */
	uint32_t line;
};

/* Finds the variable that has the address, as the ELF file has it. The only errors are of memory.
 */
struct error *symbols_variable(struct symbols *symbols, uint32_t module, uint64_t address,
	struct symbol_variable *ret) must_check_;
/* As above, without file and line; reads no debug information. */
struct error *symbols_variable_name(struct symbols *symbols, uint32_t module, uint64_t address,
	struct symbol_variable *ret) must_check_;

/* As above, for a thread-local variable, at an offset in its module's thread-local memory; without
 * file and line. */
struct error *symbols_thread_local(struct symbols *symbols, uint32_t module, uint64_t offset,
	struct symbol_variable *ret) must_check_;

/*
 * Finds all names that the symbol table has for the code at such an address: strdup is __strdup
 * too. None of functions that were inlined. They and the array belong to struct symbols, with each
 * call a new one. The only errors are of memory.
 */
struct error *symbols_aliases(struct symbols *symbols, uint32_t module, uint64_t address,
	const char *const **ret, size_t *ret_count) must_check_;

/*
 * Returns what debug files call the function of libc that has the address, if that can be found
 * without them (inner_names.h); NULL: it can't, or the module is no libc. Static.
 */
const char *symbols_inner_name(struct symbols *symbols, uint32_t module, uint64_t address);

/* A function's frame at the moment that is looked at. */
struct local_frame {
	uint64_t pc;  /* in the module's own addresses; of a caller, in its call instruction */
	uint64_t cfa; /* the stack pointer of its caller at the call (DWARF 5, 6.4) */
	uint64_t stack_pointer, frame_pointer;
	/* DWARF's numbers of the two registers: 7 and 6 on x86-64, 31 and 29 on aarch64. */
	unsigned stack_register, frame_register;
};

/*
 * Finds the local variable that lies at an address of a frame, as locals_find() says it; the name
 * belongs to struct symbols.
 */
struct error *symbols_local(struct symbols *symbols, uint32_t module,
	const struct local_frame *frame, uint64_t address, const char **ret_name,
	uint64_t *ret_offset) must_check_;

/* What is missing of a module's debug information, which is then less than it could be. */
enum symbols_lack {
	SYMBOLS_LACK_ZSTD = 1,    /* it is packed by zstd, which elfutils can't read here */
	SYMBOLS_LACK_SHARED = 2,  /* the file that it shares with others (dwz) */
	SYMBOLS_LACK_SPLIT = 4,   /* split files (.dwo, .dwp) of units that were asked for */
	SYMBOLS_LACK_DAMAGED = 8, /* what it has is not what it should be */
	SYMBOLS_LACK_CUT = 16,    /* a file was passed over that ends before its sections do */
};

/* Returns what the module lacks, as bits of enum symbols_lack. */
unsigned symbols_module_lacks(const struct symbols *symbols, uint32_t module);

/* Returns whether it was identified by a build-id, so that its files are the right ones. */
bool symbols_module_has_id(const struct symbols *symbols, uint32_t module);

enum symbols_state symbols_module_state(const struct symbols *symbols, uint32_t module);

/*
 * Finds the path of a module without links in it (libz.so.1 is libz.so.1.2.13), if the file is
 * there and the right one; NULL otherwise. It belongs to struct symbols. The only errors are of
 * memory.
 */
struct error *symbols_real_path(
	struct symbols *symbols, uint32_t module, const char **ret) must_check_;

/*
 * Opens the module; returns the path, on this machine, of a file that has its code and data: at its
 * own path, or found by build-id. NULL: none. It belongs to struct symbols.
 */
const char *symbols_module_file(struct symbols *symbols, uint32_t module);

/* Opens the module; the file that is another one than was recorded, and was not used for it. NULL:
 * none. It belongs to struct symbols. */
const char *symbols_module_changed(struct symbols *symbols, uint32_t module);

/*
 * Opens the module, and says which files were looked at for that; they belong to struct symbols.
 * The only errors are of memory.
 */
struct error *symbols_module_lookups(struct symbols *symbols, uint32_t module,
	const struct symbols_lookups **ret, size_t *ret_count) must_check_;

enum symbols_part {
	SYMBOLS_PART_MODULE,  /* the program or library itself */
	SYMBOLS_PART_DEBUG,   /* its separate debug file */
	SYMBOLS_PART_SHARED,  /* what that shares with others (dwz) */
	SYMBOLS_PART_PACKAGE, /* .dwp */
	SYMBOLS_PART_SPLIT,   /* .dwo, of a unit that was asked for */
};

/* A file that a module's names come from. */
struct symbols_used {
	enum symbols_part part;
	const char *path;        /* on this machine */
	const uint8_t *build_id; /* its own; NULL: it has none */
	size_t build_id_len;
	uint64_t unit; /* number (dwo_id) of the unit that is split off */
};

DEFINE_VEC(symbols_used_vec, struct symbols_used)

/*
 * Opens the module, and adds the files that are used for it, so far. They belong to struct symbols.
 * The only errors are of memory.
 */
struct error *symbols_module_used(
	struct symbols *symbols, uint32_t module, struct symbols_used_vec *ret) must_check_;

/* Returns how many of the answers so far earlier commands had kept (symbols_settings_keep_names()).
 */
size_t symbols_module_kept(const struct symbols *symbols, uint32_t module);

/* The file that names come from; NULL if none, or not opened yet. */
const char *symbols_module_debug_path(const struct symbols *symbols, uint32_t module);

#endif
