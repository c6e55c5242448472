/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NAMES chunks: what code is called, of a recording whose file names are private. */
#ifndef SOURCES_HPW_NAMES_H
#define SOURCES_HPW_NAMES_H

#include "base/buf.h"
#include "model/build.h"
#include "sources/recording/hpw_file.h"

/* Puts one into the model, whose modules are there. */
struct error *hpw_names_decode(struct model *model, const struct hpw_payload *payload) must_check_;

typedef struct error *hpw_names_put(void *ctx, const struct buf *payload);

/* Makes chunks of all names that a model itself gives its code (model_embedded()). */
struct error *hpw_names_encode(
	const struct model *model, hpw_names_put *put, void *ctx) must_check_;

#endif
