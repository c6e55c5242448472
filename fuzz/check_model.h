/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the model promises its readers, whatever it was read from. */
#ifndef FUZZ_CHECK_MODEL_H
#define FUZZ_CHECK_MODEL_H

#include "model/model.h"

/* Aborts if it is not so. */
void check_model(const struct model *model);

#endif
