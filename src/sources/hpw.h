/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source "recording": .hpw files as src/format/FORMAT.md defines them. */
#ifndef SOURCES_HPW_H
#define SOURCES_HPW_H

#include <stdbool.h>

#include "base/error.h"
#include "model/model.h"
#include "sources/input.h"

/* True for a recording's header, and for one that is damaged but has a whole chunk behind it. */
struct error *hpw_recognise(const struct input *input, bool *ret);
struct error *hpw_open(const struct input *input, unsigned flags, struct model **ret);

#endif
