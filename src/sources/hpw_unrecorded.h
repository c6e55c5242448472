/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs without a recording, as recordings and the collector number their reasons. */
#ifndef SOURCES_HPW_UNRECORDED_H
#define SOURCES_HPW_UNRECORDED_H

#include <stdint.h>

#include "model/unrecorded.h"

/* A stored enum hw_unrecorded in the model's words; of a newer writer's UNRECORDED_UNKNOWN. */
enum unrecorded_reason hpw_unrecorded_reason(uint64_t stored);

#endif
