/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppressions: known leaks and errors that the user does not want to see. They are read from files
 * as Valgrind has them (its manual, "Suppressing errors"; entries of Memcheck are used, others
 * passed over) and from lines such as `leak:PATTERN` and `interceptor_via_fun:PATTERN` as
 * LeakSanitizer and AddressSanitizer have them, all also in one file.
 *
 *	suppressions_create(&set);
 *	suppressions_parse(set, "my.supp", text, len);       each file, in the order that counts
 *	suppressions_add_built_in(set);
 *	suppressions_match(set, frames, count, kind, &id);   each record
 *	suppressions_use(set, id, blocks, bytes);
 *	suppressions_match_error(set, &error, &id);          each error beside leaks
 *	suppressions_use_error(set, id, count);
 *
 * A stack is given innermost frame first and begins with the allocation function itself (see
 * suppress_allocation_frames()), because that is what such files are written for: an entry holds
 * for each stack that *begins* with its lines. Of several entries that fit the first one counts.
 *
 * A set belongs to one thread at a time. Strings that are given are copied.
 */
#ifndef ANALYSIS_SUPPRESS_H
#define ANALYSIS_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "model/kind.h"

/* Kinds of leaks as Valgrind names them. */
enum suppress_kind {
	SUPPRESS_DEFINITE,
	SUPPRESS_INDIRECT,
	SUPPRESS_POSSIBLE,
	SUPPRESS_REACHABLE,
	SUPPRESS_KINDS
};
#define SUPPRESS_KINDS_ALL ((1u << SUPPRESS_KINDS) - 1)

/* Kinds of errors beside leaks as Memcheck's suppressions name them
 * (MC_(recognised_suppression)()), numbered behind those of leaks. */
enum suppress_error_kind {
	SUPPRESS_ADDR1 = SUPPRESS_KINDS, /* accesses, by their size in bytes */
	SUPPRESS_ADDR2,
	SUPPRESS_ADDR4,
	SUPPRESS_ADDR8,
	SUPPRESS_ADDR16,
	SUPPRESS_ADDR32,
	SUPPRESS_VALUE1, /* uses of uninitialised values, likewise */
	SUPPRESS_VALUE2,
	SUPPRESS_VALUE4,
	SUPPRESS_VALUE8,
	SUPPRESS_VALUE16,
	SUPPRESS_VALUE32,
	SUPPRESS_COND, /* Value0, too */
	SUPPRESS_PARAM,
	SUPPRESS_JUMP,
	SUPPRESS_FREE,
	SUPPRESS_OVERLAP,
	SUPPRESS_CORE_MEM,
	SUPPRESS_USER,
	SUPPRESS_MEMPOOL,
	SUPPRESS_FISHY_VALUE,
	SUPPRESS_REALLOC_ZERO,
	SUPPRESS_BAD_SIZE,
	SUPPRESS_BAD_ALIGN,
	SUPPRESS_SIZE_MISMATCH,
	SUPPRESS_ALIGN_MISMATCH,
	SUPPRESS_UNSAFE_ZERO_SIZE,
	/* AddressSanitizer's: errors of accesses that functions of libc make for the program, and
	 * frees by a function that does not match. */
	SUPPRESS_IN_CALL,
	SUPPRESS_MISMATCH,
	SUPPRESS_ALL_KINDS
};
#define SUPPRESS_BIT(kind) (UINT64_C(1) << (kind))
#define SUPPRESS_ADDR_ALL (SUPPRESS_BIT(SUPPRESS_ADDR32 + 1) - SUPPRESS_BIT(SUPPRESS_ADDR1))
#define SUPPRESS_VALUE_ALL (SUPPRESS_BIT(SUPPRESS_VALUE32 + 1) - SUPPRESS_BIT(SUPPRESS_VALUE1))

/* What a text may hold; more is an error that says so. */
#define SUPPRESS_TEXT_BYTES_MAX (16u << 20)
#define SUPPRESS_LINE_BYTES_MAX 50000u /* from twice of which on Valgrind aborts */
#define SUPPRESS_FRAMES_MAX 500u       /* of an entry, as in Valgrind 3.19 */
#define SUPPRESS_ENTRIES_MAX 1000000u  /* of a set */

/* Of a written entry. */
#define SUPPRESS_WRITTEN_FRAMES_MAX 24u

/* One frame of a stack; NULL: unknown. Borrowed during a call. */
struct suppress_frame {
	const char *pattern;        /* to be written instead of the function's name; NULL: that */
	const char *function;       /* as the linker knows it: mangled */
	const char *demangled;      /* as people write it; may be NULL if it is the same */
	const char *const *aliases; /* other names of the same code (strdup is __strdup, too) */
	size_t alias_count;
	const char *object;       /* path of the executable or library, without links in it */
	const char *object_alias; /* another one, as the program was given it; or NULL */
	const char *file;         /* of the source, whole path or not */
	uint32_t line;            /* 0: unknown */
	bool inlined;             /* into the next frame outward */
	bool managed;             /* of an interpreter or virtual machine: "main" is any function */
};

enum suppress_origin {
	SUPPRESS_FROM_FILE,
	/* Built in: the libraries' way to keep blocks that no search can tell from leaks. */
	SUPPRESS_FALSE_ALARM,
	/* Built in: what the libraries would give back if asked, as Valgrind does at exit unless
	 * --run-libc-freeres=no. Not of interest, but no leak either: it has a line of its own. */
	SUPPRESS_LIBRARY_OWN,
};

/* An entry and what it was good for. Strings belong to the set. */
struct suppression {
	const char *name; /* an LSan line: its pattern */
	const char *file; /* as given to suppressions_parse() */
	uint32_t line;    /* of the name, from 1 */
	uint64_t kinds;   /* that it suppresses: bits 1 << enum suppress_kind, or of an error's */
	/* The line that entries of Param and FishyValue have: the error must say the same; NULL:
	 * there is none. */
	const char *extra;
	enum suppress_origin origin;
	uint64_t records, blocks, bytes; /* that suppressions_use() counted */
	uint64_t errors;                 /* that suppressions_use_error() counted */
};

/* An error beside leaks, as suppressions see it. Borrowed during a call. */
struct suppress_error {
	uint64_t kinds;    /* SUPPRESS_BIT() of the kinds of which any fits: several if the size of
			      an access is not known, or is none that Memcheck has */
	const char *extra; /* "write(buf)"; NULL: there is none */
	const struct suppress_frame *frames; /* where it was made, innermost first */
	size_t count;
	const char *call; /* the function of libc that made the access for the program, "memcpy";
			     NULL: none did. Entries of AddressSanitizer's form fit no others */
};

struct suppressions;

struct error *suppressions_create(struct suppressions **ret) must_check_;
void suppressions_destroy(struct suppressions *set);

static inline void suppressions_cleanup(struct suppressions **set)
{
	suppressions_destroy(*set);
}

/*
 * Adds the entries of a file's text, which needs no NUL at its end; `file` is for messages. Errors
 * are ERROR_INPUT "FILE:LINE: what is wrong; what to do" about the first malformed entry, with the
 * lines of the next ones, or of memory; then nothing was added. Time and memory are linear.
 */
struct error *suppressions_parse(
	struct suppressions *set, const char *file, const char *text, size_t len) must_check_;

/*
 * Adds the entries for Debian 12's C and C++ libraries, as the file "built-in". Call it last, so
 * that users' files take precedence.
 */
struct error *suppressions_add_built_in(struct suppressions *set) must_check_;
/* Adds those of an origin but SUPPRESS_FROM_FILE in Valgrind's form, with their reasons. */
void suppress_built_in_text(struct text *text, enum suppress_origin origin);
/* Returns the reason of the built-in entry of that name, a static string; NULL if there is none. */
const char *suppress_built_in_reason(const char *name);
/* Returns whether so much of one stack, in this many recordings from 1 on, is what a library keeps
 * for itself; more grows with the program's work, and is the program's doing. Of blocks that no
 * entry names, too. */
bool suppress_built_in_is_bounded(
	const char *name, uint64_t blocks, uint64_t bytes, uint64_t recordings);

/*
 * Makes only the first `lines` lines of each entry count, as with Valgrind's --num-callers; 0: all.
 * For stacks that were cut to that depth.
 */
void suppressions_limit_lines(struct suppressions *set, unsigned lines);

#define SUPPRESS_NONE UINT32_MAX

/*
 * Finds the first entry that fits the stack and the kind, or SUPPRESS_NONE. Inlined functions are
 * frames of their own, as in Valgrind by default; an entry that fits without them holds as well.
 * The only errors are of memory.
 */
struct error *suppressions_match(struct suppressions *set, const struct suppress_frame *frames,
	size_t count, enum suppress_kind kind, uint32_t *ret_id) must_check_;

/* Finds the first entry that fits an error beside leaks, likewise. */
struct error *suppressions_match_error(
	struct suppressions *set, const struct suppress_error *error, uint32_t *ret_id) must_check_;

/* Counts a record that an entry suppressed. */
void suppressions_use(struct suppressions *set, uint32_t id, uint64_t blocks, uint64_t bytes);
/* Counts an error that came `count` times. */
void suppressions_use_error(struct suppressions *set, uint32_t id, uint64_t count);

/* Returns the number of entries; ids count from 0 in the order of addition. */
size_t suppressions_count(const struct suppressions *set);
const struct suppression *suppressions_get(const struct suppressions *set, uint32_t id);
/* Returns the number of valid entries that were ignored: of other tools than Memcheck, or of errors
 * that heapwise has not (odr_violation: of AddressSanitizer). */
size_t suppressions_passed_over(const struct suppressions *set);

/* What was done so far, for tests and figures. */
struct suppress_effort {
	uint64_t names;          /* different ones that were looked up */
	uint64_t patterns_tried; /* byte by byte, against a name */
	uint64_t entries_tried;  /* against a stack */
	uint64_t bytes_scanned;  /* of texts that were parsed */
};
struct suppress_effort suppressions_effort(const struct suppressions *set);

/* Returns "definite", "indirect", "possible", "reachable". */
const char *suppress_kind_name(enum suppress_kind kind);
/* Returns "Addr1", as after "Memcheck:"; NULL for those of AddressSanitizer. */
const char *suppress_error_kind_name(enum suppress_error_kind kind);

/*
 * How Valgrind 3.19 shows the allocation function, in `ret`: the frames that a stack begins with.
 * Returns their number: 2 for posix_memalign, which it shows as calling memalign, else 1.
 */
#define SUPPRESS_ALLOCATION_FRAMES_MAX 2u
size_t suppress_allocation_frames(
	enum alloc_kind kind, struct suppress_frame ret[SUPPRESS_ALLOCATION_FRAMES_MAX]);

/*
 * Adds an entry for a stack of at least one frame and a kind, as Valgrind's --gen-suppressions
 * writes it; nothing for no frames. It holds for that stack.
 */
void suppress_write(struct text *text, enum suppress_kind kind, const struct suppress_frame *frames,
	size_t count);

/* Adds one for an error of at least one frame, likewise: of the first of its kinds that Memcheck
 * has. Nothing if it has none of them. */
void suppress_write_error(struct text *text, const struct suppress_error *error);

/*
 * Adds "used_suppression:      1 NAME FILE:LINE suppressed: 1,234 bytes in 5 blocks" and a newline:
 * a line of memcheck's -s without the process at its start. Of entries for other errors it ends
 * with the line's number.
 */
void suppress_write_used(struct text *text, const struct suppression *suppression);

#endif
