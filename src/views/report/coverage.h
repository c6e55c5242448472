/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `heapwise check` looked at, in any document that has its errors. Inside views/ only. */
#ifndef VIEWS_COVERAGE_H
#define VIEWS_COVERAGE_H

#include "model/errors.h"
#include "table/answer.h"

/* Hands over report_coverage_type, and for people sentences. */
void coverage_put(const struct check_coverage *coverage, struct answer *answer);

#endif
