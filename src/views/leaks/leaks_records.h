/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of leaks_answer.c alone: the tables of its records. */
#ifndef VIEWS_LEAKS_RECORDS_H
#define VIEWS_LEAKS_RECORDS_H

#include "views/leaks/leaks_page.h"

/* Those that are listed; suppressed ones; those of libraries. */
#define LEAKS_RECORD_TYPES 3u
extern const struct table_type leaks_record_types[LEAKS_RECORD_TYPES];
/* All three; people get the first alone, under a title. */
struct error *leaks_put_records(const struct leaks_page *page, struct answer *answer) must_check_;

#endif
