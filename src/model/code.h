/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kinds of frames stacks consist of, and code that is in no loaded file: code objects of
 * interpreters, methods of virtual machines, and code of which a name is all that is known. A stack
 * may mix them in any order; the producer of the stack put them there.
 */
#ifndef MODEL_CODE_H
#define MODEL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/embedded_names.h"

struct module_id {
	uint32_t value; /* 0: no module known; marks live there too */
};

enum frame_kind {
	FRAME_NATIVE,      /* an address, of a module or of none */
	FRAME_CODE_OBJECT, /* a code object of an interpreter, and the instruction in it */
	FRAME_METHOD,      /* a method of a virtual machine, and the bytecode index in it */
	FRAME_NAME,        /* a name is all that is known; maybe an address, or a module, too */
	FRAME_MARK,        /* no code: a remark (enum stack_mark) */
	FRAME_KINDS
};

/* From here on instructions are of that line, up to the next row. */
struct code_line {
	uint32_t instruction, line; /* line 0: not known */
};

/* A number in the table of such code, from 1; 0: none. */
struct code_id {
	uint32_t value;
};

/* Strings are NULL if they are not known. */
struct code {
	enum frame_kind kind;          /* a code object, a method or a name */
	const char *language;          /* "python", "javascript", "java"… */
	const char *name;              /* of the function or method alone */
	const char *outer;             /* code objects: the qualified name; methods: the class */
	const char *signature;         /* of a method, as its virtual machine writes it */
	const char *file;              /* of source */
	const char *module;            /* or package, as the language calls it; no loaded file */
	uint32_t first_line;           /* 0: not known */
	const struct code_line *lines; /* ascending by instruction, each once */
	size_t line_count;
	/* Of a name that a foreign file has: all that it says, if count is not 0. */
	struct embedded_run run;
	struct module_id home; /* of a name: the loaded file it is of; 0: not known */
};

/* What was seen of a line of a function that was traced while it ran. Several rows of one line add
 * up. */
struct traced_line {
	struct code_id code; /* 0: of lines that found no room, only `count` says something */
	uint32_t line;
	uint64_t count;         /* how often it began */
	uint64_t unsized;       /* how often it ended while the size of the process was not known */
	int64_t growth_bytes;   /* of the process's resident memory while it ran, summed up */
	uint64_t largest_bytes; /* that were resident at an end of it, the most of them; 0: none */
};

/* Returns whether its sizes are known: of each time that it ended. */
static inline bool traced_line_has_sizes(const struct traced_line *line)
{
	return line->largest_bytes && !line->unsized;
}

/* Returns whether it is a code object of Python. */
bool code_is_python(const struct code *code);

/* Returns the line of an instruction; without one of the code itself. 0: not known. */
uint32_t code_line_at(const struct code *code, uint64_t instruction);

#endif
