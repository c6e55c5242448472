/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The image of src/runtime/attach, which is part of this program, as memory to be mapped. */
#ifndef CAPTURE_ATTACH_IMAGE_H
#define CAPTURE_ATTACH_IMAGE_H

#include <stdint.h>

#include "base/error.h"
#include "format/attach.h"

struct attach_image {
	int memory;        /* a memfd with the image as it is to be in memory; -1: none */
	uint64_t bytes;    /* in whole pages */
	uint64_t data;     /* from here on it is to be writable, before it executable */
	uint64_t settings; /* where struct hw_attach is */
	struct hw_attach_layout layout;      /* own_bytes: in whole pages */
	uint64_t hooks[HW_ATTACH_FUNCTIONS]; /* where these are; 0: none */
	uint64_t inline_hooks[HW_INLINE_FUNCTIONS];
	uint64_t stubs; /* room for HW_INLINE_FUNCTIONS of HW_ATTACH_STUB_BYTES each */
};

/* The functions that have hooks, as symbols are called. */
extern const char *const attach_function_names[HW_ATTACH_FUNCTIONS];

/* The functions that have hooks as functions that are changed themselves; those of another
 * allocator are without their prefix. */
const char *attach_inline_name(unsigned function);

/* Makes the memory. ERROR_INTERNAL: the image is not what this program knows how to load. */
struct error *attach_image_open(struct attach_image *ret) must_check_;
void attach_image_close(struct attach_image *image);

#endif
