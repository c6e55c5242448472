/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that have no recording but a row in this one. */
#ifndef SOURCES_HPW_SMALL_H
#define SOURCES_HPW_SMALL_H

#include "base/cursor.h"
#include "model/build.h"
#include "sources/recording/hpw_file.h"

bool hpw_small_takes(uint16_t type);
/* Adds the rows of a chunk to the model. After an error those before it are there. Of a command the
 * first bytes are kept. */
struct error *hpw_small_decode(struct model *model, const struct hpw_payload *payload) must_check_;

/* Finds the next part of a row, of which each has two: the payloads of a TARGET and of a SUMMARY.
 * They are where the cursor's bytes are. */
struct error *hpw_small_next(struct cursor *cursor, struct hpw_payload *ret) must_check_;

#endif
