/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A *shown frame* is what a person reads as one line of a stack: one physical frame gives several
 * when functions were inlined. Two shown frames with the same `place` read the same; stacks are
 * compared by places, because the compiler may have made several call instructions of one line.
 * resolve.h makes them.
 */
#ifndef ANALYSIS_SHOWN_FRAME_H
#define ANALYSIS_SHOWN_FRAME_H

#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "model/model.h"
#include "symbols/known.h"

struct shown_frame {
	/* What stacks are compared and folded by comes first: one line of the cache. */
	uint32_t place; /* equal: reads the same */
	/* Not MARK_NONE: a remark instead of code, and all others but `place` are unset.
	 * MARK_SIGNAL stands for the frame between a signal handler and what it interrupted. */
	enum stack_mark mark : 8;
	enum known_part part : 8; /* by its name and file alone */
	enum frame_kind kind : 8;
	bool is_program;   /* not of a language runtime (libc, libstdc++, std::…), and no mark */
	bool is_wrapper;   /* named like a mere wrapper of an allocator: xmalloc, g_strdup… */
	bool is_allocator; /* of an allocator, by its name or file: shown_frames_hidden() */
	bool is_unknown;   /* shown_frame_is_unknown() */
	bool is_outermost; /* may be what calls main, or the function of a thread: folding.h */
	bool is_system;    /* of a library that is part of the system's C and C++ */
	bool of_malloc;    /* of a library that is a malloc: known_allocator_module() */
	bool of_recorder;  /* of heapwise's own library in the program */
	/* Of the interpreter of Python, in a model with such code. Not shown in stacks with a frame
	 * that is_python. */
	bool of_interpreter;
	bool is_python;  /* a code object of Python */
	bool inlined;    /* into the next frame outward */
	bool given;      /* the source itself names it, with a file or without */
	bool names_call; /* in the source the address is one less */
	bool by_name;    /* of a profile in which functions are distinguished by name alone */
	bool unplaced;   /* where the module was is not known: its offset is 0, and says nothing */
	const char *function; /* in the form that the reader wants; NULL: unknown */
	const char *brief;    /* as a line of text has room for it; NULL: as function */
	const char *plain;    /* without parameters, whatever is shown; NULL: as function */
	const char *raw_name; /* as of struct symbol; NULL: unknown, or not one of a file's */
	/* After resolver_add_aliases(), else NULL and 0: the symbol table's names for the function,
	 * none if it was inlined; the module's path without links. */
	const char *const *aliases;
	size_t alias_count;
	const char *real_path;
	const char *file; /* NULL: unknown, and line 0 */
	/* NULL: no module known: code made at run time, if it has a name. Of a code object or
	 * method what its language calls so. */
	const char *module_path;
	const char *module; /* last part of the path; NULL as above */
	uint64_t address;   /* as in the target's memory; 0 for the allocation function itself */
	uint64_t offset; /* with a module: of the call, in the file's own addresses, as addr2line(1)
			    takes it. Equal in all runs; 0 without a module */
	uint32_t code_module; /* of symbols, from 1; 0: unknown */
	uint32_t line;
	const struct code *code; /* of the model; NULL if the kind is FRAME_NATIVE or FRAME_MARK */
	uint32_t instruction;    /* of a code object or method, + 1; 0: not known */
};

DEFINE_VEC(frame_vec, const struct shown_frame *)

/* Hashes of stacks are those of their places, in this way from the innermost frame on; what is
 * added first is up to the caller. */
static inline uint64_t shown_frame_hash_add(uint64_t hash, uint32_t place)
{
	return (hash + place + 1) * 0x9e3779b97f4a7c15u;
}

/* Returns the function's name to compare with known ones: demangled, without parameters; NULL:
 * unknown. */
static inline const char *shown_frame_plain(const struct shown_frame *frame)
{
	return frame->plain ? frame->plain : frame->function;
}

/* Returns whether it is of an interpreter or virtual machine: no name of a library means anything
 * then. */
static inline bool shown_frame_is_managed(const struct shown_frame *frame)
{
	return frame->kind == FRAME_CODE_OBJECT || frame->kind == FRAME_METHOD;
}

/* Returns whether it is the program's main(): a function of an interpreter may be called so
 * anywhere. */
static inline bool shown_frame_is_main(const struct shown_frame *frame)
{
	return frame->function && !shown_frame_is_managed(frame) &&
	       strcmp(frame->function, "main") == 0;
}

/* "code-object", "method" or "name"; NULL: native, or a mark. */
const char *shown_frame_kind_name(const struct shown_frame *frame);

/* Adds the function, or what is known instead: "libfoo.so+0x12ab", "0x7f…" of code in no
 * file, "0x7f… in libfoo.so" where it is not known where that was. */
void shown_frame_add_code(struct text *text, const struct shown_frame *frame);
/* Adds the frame as people read it: names are shortened, and control characters escaped
 * (text_add_shown()). */
void shown_frame_add_shown(struct text *text, const struct shown_frame *frame);
/* Adds the base name of its file and the line: "app.c:12". Precondition: it has a file. */
void shown_frame_add_line(struct text *text, const struct shown_frame *frame);

/* Returns whether the frame is neither a mark nor of a language runtime: is_program, by the names
 * and files above it. */
bool shown_frame_is_program(const struct shown_frame *frame);

/* Sets all of the above that follows from a frame's names, file and module: stacks have the frame
 * many times over. `place` and names must be set. */
void shown_frame_conclude(struct shown_frame *frame);

/*
 * Returns how many innermost frames of a stack are an allocator's, which a resolver leaves out that
 * does not show all frames; 0 if nothing else is there. `frames` begins after the called function.
 */
size_t shown_frames_hidden(const struct shown_frame *const *frames, size_t count);

/* Returns whether any of these frames is Python's. */
bool shown_frames_have_python(const struct shown_frame *const *frames, size_t count);

/* How a frame with MARK_SIGNAL is called, as in gdb. */
#define SIGNAL_FRAME_NAME "<signal handler called>"

/* Returns whether the frame is a mark, or one that an export wrote as a function: "(no unwind
 * information from here on)". */
bool shown_frame_is_remark(const struct shown_frame *frame);
/* Returns why a stack is incomplete, as a word for programs ("depth-limit"…); NULL for other marks.
 */
const char *stack_mark_cut(enum stack_mark mark);
/*
 * Returns whether a frame is a word for code that is not known: a remark, or what a foreign file
 * has instead of a name ("[unknown]", "in 7 places, all below massif's threshold"). Several places
 * may have it.
 */
bool shown_frame_is_unknown(const struct shown_frame *frame);
/* Returns a mark as a line for people: "stack cut here: too deep"… */
const char *stack_mark_text(enum stack_mark mark);

#endif
