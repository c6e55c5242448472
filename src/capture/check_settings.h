/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs that are checked for memory errors are given (HW_CHECK_ENV), and what they count
 * (struct hw_check_sums), for those who run such programs without recording them.
 */
#ifndef CAPTURE_CHECK_SETTINGS_H
#define CAPTURE_CHECK_SETTINGS_H

#include "format/check.h"
#include "format/shm.h"

#endif
