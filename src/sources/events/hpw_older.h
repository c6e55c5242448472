/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an attached process had allocated before: in a recording it is as if a thread had allocated
 * it at the beginning, at sites of an unknown kind. */
#ifndef SOURCES_HPW_OLDER_H
#define SOURCES_HPW_OLDER_H

#include "model/build.h"
#include "sources/recording/hpw_footer.h"

/* Takes these off the calls of a model that has its sites, threads and totals; what is live, and
 * the peak, stay. is_part: the model is of a part of the recording. */
void hpw_older_put(struct model *model, const struct hpw_footer *footer, bool is_part);

#endif
