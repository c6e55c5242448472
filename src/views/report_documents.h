/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The documents that views of a recording are, for docs/schema. */
#ifndef VIEWS_REPORT_DOCUMENTS_H
#define VIEWS_REPORT_DOCUMENTS_H

#include "table/answer.h"

/* NULL ends them. */
extern const struct answer_type *const report_document_types[];

/* Of heapwise symbols. */
extern const struct answer_type symbol_files_type;

#endif
