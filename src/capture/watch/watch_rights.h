/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why the kernel refuses programs, and what to do about it. */
#ifndef CAPTURE_WATCH_RIGHTS_H
#define CAPTURE_WATCH_RIGHTS_H

#include "base/error.h"

/* Makes the error for programs that could not be loaded. `err` is an errno value, `log` what the
 * verifier said, "" if it said nothing. */
struct error *watch_rights_explain(int err, const char *log) must_check_;

#endif
