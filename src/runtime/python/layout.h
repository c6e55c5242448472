/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the interpreter is found. May touch: nothing.
 *
 * Where CPython keeps what a stack needs, as offsets in bytes, by minor version. They are those of
 * each version's own headers on x86-64 (Include/cpython, Include/internal): the layouts are frozen
 * with the first release of a minor version. Before frames are read they are compared with what
 * the interpreter itself says (checks.c).
 */
#ifndef RUNTIME_PYTHON_LAYOUT_H
#define RUNTIME_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct rt_python_layout {
	uint8_t minor;
	bool has_cframe;    /* the frame in use is in a struct that the thread state points to */
	bool has_pointer;   /* a frame has the address of its instruction; else f_lasti */
	uint8_t lasti_unit; /* bytes of bytecode for one in f_lasti */
	uint8_t shim;       /* frames of this owner and up are no code's; 0: there are none */
	uint8_t table;      /* enum hw_line_table */
	uint16_t thread_frame, cframe_frame;
	uint16_t entry; /* of a frame: is_entry; 0: each frame is one, or has a shim */
	uint16_t previous, code, instruction, owner;           /* of a frame */
	uint16_t file, name, first_line, lines, bytes, traced; /* of a code object */
	uint16_t ascii, compact;                               /* data of a str of that form */
};

/* Of every version so far: ob_type, ob_size of bytes and length of str, bytes' data, str's state.
 */
#define RT_PYTHON_TYPE 8u
#define RT_PYTHON_SIZE 16u
#define RT_PYTHON_BYTES 32u
#define RT_PYTHON_STATE 32u
/* A frame of a generator: its instruction may be before the first that is traced. */
#define RT_PYTHON_OWNER_GENERATOR 1u

/* Returns the layout of Python 3.`minor`; NULL if it is not known. */
const struct rt_python_layout *rt_python_layout(unsigned minor);

#endif
