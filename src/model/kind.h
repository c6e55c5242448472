/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a block was asked for. The model's own list: sources map what they read to it, so that a
 * foreign profile needs no number of our file format.
 */
#ifndef MODEL_KIND_H
#define MODEL_KIND_H

enum alloc_kind {
	KIND_MALLOC,
	KIND_CALLOC,
	KIND_REALLOC, /* realloc and reallocarray */
	KIND_POSIX_MEMALIGN,
	KIND_ALIGNED_ALLOC,
	KIND_MEMALIGN,
	KIND_VALLOC,
	KIND_PVALLOC,
	KIND_NEW,
	KIND_NEW_ARRAY,
	KIND_NEW_NOTHROW,
	KIND_NEW_ARRAY_NOTHROW,
	KIND_NEW_ALIGNED,
	KIND_NEW_ARRAY_ALIGNED,
	KIND_NEW_ALIGNED_NOTHROW,
	KIND_NEW_ARRAY_ALIGNED_NOTHROW,
	KIND_UNKNOWN, /* the source does not tell */
	ALLOC_KINDS
};

/* The function a program calls for it: "malloc", "operator new[]"…; forms of one operator share it.
 */
const char *alloc_kind_name(enum alloc_kind kind);

#endif
