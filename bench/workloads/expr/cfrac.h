/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splitting numbers of 50 to 100 bits by their continued fraction. */
#ifndef EXPR_CFRAC_H
#define EXPR_CFRAC_H

#include "big.h"

/* A divisor of the odd composite n that is neither 1 nor n, or NULL when this multiplier leads to
 * none. */
struct big *cfrac_divisor(struct big *n, unsigned multiplier);

#endif
