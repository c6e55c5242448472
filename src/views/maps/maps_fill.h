/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows from series. */
#ifndef VIEWS_MAPS_MAPS_FILL_H
#define VIEWS_MAPS_MAPS_FILL_H

#include "views/maps/maps_rows.h"

/* Fills in fresh (zeroed) rows, which point into the subjects. False: no memory. */
bool maps_rows_fill(struct maps_rows *rows, const struct maps_subject *subjects, size_t count);
void maps_rows_deinit(struct maps_rows *rows);

#endif
