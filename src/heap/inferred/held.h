/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that a std::function of libstdc++, or a std::any, has its content in. Both keep a pointer
 * to it beside the address of a function that was made for the content's type, and which alone says
 * what that is:
 *
 *	std::function   content, -, _Function_handler<…, F>::_M_manager, …::_M_invoke
 *	std::any        any::_Manager_external<T>::_S_manage, content
 *	  of libc++     __any_imp::_LargeHandler<T>::__handle, content
 *
 * Small contents are in the std::any itself, after the same word: any::_Manager_internal<T> and
 * __any_imp::_SmallHandler<T> say so.
 *
 * Whether the first word of a std::function is the content's address, or the content itself, only
 * debug information says. What a std::function of libc++ holds has a table of virtual functions.
 */
#ifndef HEAP_HELD_H
#define HEAP_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

enum held_kind {
	HELD_NOTHING,
	HELD_BY_FUNCTION,
	HELD_BY_ANY,
	HELD_IN_ANY, /* the content is in the std::any itself */
};

/* A function that manages contents of one type. */
struct held_code {
	uint64_t address;
	enum held_kind kind;
	const char *symbol; /* demangled: "std::any::_Manager_external<T>::_S_manage" */
};
DEFINE_VEC(held_codes, struct held_code)

/* A block that something seems to have its content in. */
struct held_block {
	uint32_t block, code; /* which one of the codes */
};
DEFINE_VEC(held_blocks, struct held_block)

/* A content that lies in its std::any. */
struct held_place {
	uint64_t address;
	uint32_t code;
};
DEFINE_VEC(held_places, struct held_place)

/* Memory that a memory resource of std::pmr has taken from another one, to give it out piece by
 * piece (containers_chunks.c). */
enum held_chunk_kind {
	HELD_BUFFER, /* of a monotonic_buffer_resource */
	HELD_POOL,   /* of a pool resource */
};
struct held_chunk {
	uint32_t block;
	enum held_chunk_kind kind;
};
DEFINE_VEC(held_chunks, struct held_chunk)

struct held {
	struct held_codes codes;
	struct held_blocks blocks;
	struct held_places places;
	struct held_chunks chunks;
};

static inline void held_deinit(struct held *held)
{
	held_codes_deinit(&held->codes);
	held_blocks_deinit(&held->blocks);
	held_places_deinit(&held->places);
	held_chunks_deinit(&held->chunks);
}

/* Of such a symbol the arguments of the class template; NULL: it has none. *ret_len: their length.
 */
const char *held_arguments(const char *symbol, size_t *ret_len);

#endif
