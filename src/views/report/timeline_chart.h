/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timeline as a chart for terminals. Inside views/ only. */
#ifndef VIEWS_TIMELINE_CHART_H
#define VIEWS_TIMELINE_CHART_H

#include "views/report/page.h"

/* Adds the curve of requested bytes, its peak, marks, and what was live at the peak. */
void timeline_chart_add(const struct page *page, struct text *out);

/* Adds a frame as Massif names it: "parse (app.c:12)", "??? (in /usr/lib/libx.so)". */
void timeline_add_frame(const struct shown_frame *frame, struct text *out);

#endif
