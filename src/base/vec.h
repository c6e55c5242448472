/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growable arrays with the element's own type: DEFINE_VEC(id_vec, uint32_t) gives struct id_vec
 * {data, len, cap} and id_vec_init, _deinit, _push, _push_uninit, _reserve, _clear. data is NULL
 * while cap is 0. false or NULL means: no memory, and the array is as before. Elements move when
 * the array grows.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows *data to hold `want` elements, at least doubling. */
bool vec_grow(void **data, size_t *cap, size_t want, size_t element_bytes);

#define DEFINE_VEC(name, type)                                                                     \
	struct name {                                                                              \
		type *data;                                                                        \
		size_t len, cap;                                                                   \
	};                                                                                         \
                                                                                                   \
	__attribute__((unused)) static inline void name##_init(struct name *vec)                   \
	{                                                                                          \
		*vec = (struct name){0};                                                           \
	}                                                                                          \
                                                                                                   \
	__attribute__((unused)) static inline void name##_deinit(struct name *vec)                 \
	{                                                                                          \
		__builtin_free(vec->data);                                                         \
		*vec = (struct name){0};                                                           \
	}                                                                                          \
                                                                                                   \
	/* Makes room for `cap` elements in all. */                                                \
	__attribute__((unused, warn_unused_result)) static inline bool name##_reserve(             \
		struct name *vec, size_t cap)                                                      \
	{                                                                                          \
		if (cap <= vec->cap)                                                               \
			return true;                                                               \
		void *data = vec->data;                                                            \
		bool grown = vec_grow(&data, &vec->cap, cap, sizeof(type));                        \
		vec->data = data;                                                                  \
		return grown;                                                                      \
	}                                                                                          \
                                                                                                   \
	/* A new last element, not initialised; NULL: no memory. */                                \
	__attribute__((unused, warn_unused_result)) static inline type *name##_push_uninit(        \
		struct name *vec)                                                                  \
	{                                                                                          \
		if (!name##_reserve(vec, vec->len + 1))                                            \
			return NULL;                                                               \
		return &vec->data[vec->len++];                                                     \
	}                                                                                          \
                                                                                                   \
	__attribute__((unused, warn_unused_result)) static inline bool name##_push(                \
		struct name *vec, type element)                                                    \
	{                                                                                          \
		if (!name##_reserve(vec, vec->len + 1))                                            \
			return false;                                                              \
		vec->data[vec->len++] = element;                                                   \
		return true;                                                                       \
	}                                                                                          \
                                                                                                   \
	/* Keeps the memory. */                                                                    \
	__attribute__((unused)) static inline void name##_clear(struct name *vec)                  \
	{                                                                                          \
		vec->len = 0;                                                                      \
	}

#endif
