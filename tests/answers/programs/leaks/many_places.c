/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loses blocks at 300 places.
 *
 * Truth: 300 places, one block each.
 */
#include <stdlib.h>

/* clang-format off */
#define PLACE(n) __attribute__((noinline)) static void place_##n(void) { char *volatile p = malloc(n + 1); p[0] = 0; p = NULL; }
#define CALL(n) place_##n();
#define TEN(DO, n) DO(n##0) DO(n##1) DO(n##2) DO(n##3) DO(n##4) DO(n##5) DO(n##6) DO(n##7) DO(n##8) DO(n##9)
#define ALL(DO) TEN(DO, 1) TEN(DO, 2) TEN(DO, 3) TEN(DO, 4) TEN(DO, 5) TEN(DO, 6) TEN(DO, 7) TEN(DO, 8) TEN(DO, 9) TEN(DO, 10) \
	TEN(DO, 11) TEN(DO, 12) TEN(DO, 13) TEN(DO, 14) TEN(DO, 15) TEN(DO, 16) TEN(DO, 17) TEN(DO, 18) TEN(DO, 19) TEN(DO, 20) \
	TEN(DO, 21) TEN(DO, 22) TEN(DO, 23) TEN(DO, 24) TEN(DO, 25) TEN(DO, 26) TEN(DO, 27) TEN(DO, 28) TEN(DO, 29) TEN(DO, 30)
/* clang-format on */

ALL(PLACE)

int main(void)
{
	ALL(CALL)
	return 0;
}
