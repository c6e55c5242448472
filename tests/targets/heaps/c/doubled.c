/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unions, each with two of the next one: 2^28 members of the smallest are in the largest. Who looks
 * through all members of all types for what may lie in a pool has to stop somewhere, and say so.
 */
#include "account.h"

ACCOUNT_DEFINE;

struct rec {
	struct rec *next;
	long number;
};

/* clang-format off */
typedef struct { struct rec *rec; long last; } t0;
#define DOUBLED(new, old) typedef union { old one, other; } new
DOUBLED(t1, t0); DOUBLED(t2, t1); DOUBLED(t3, t2); DOUBLED(t4, t3); DOUBLED(t5, t4); DOUBLED(t6, t5);
DOUBLED(t7, t6); DOUBLED(t8, t7); DOUBLED(t9, t8); DOUBLED(t10, t9); DOUBLED(t11, t10);
DOUBLED(t12, t11); DOUBLED(t13, t12); DOUBLED(t14, t13); DOUBLED(t15, t14); DOUBLED(t16, t15);
DOUBLED(t17, t16); DOUBLED(t18, t17); DOUBLED(t19, t18); DOUBLED(t20, t19); DOUBLED(t21, t20);
DOUBLED(t22, t21); DOUBLED(t23, t22); DOUBLED(t24, t23); DOUBLED(t25, t24); DOUBLED(t26, t25);
DOUBLED(t27, t26); DOUBLED(t28, t27);
/* clang-format on */

static struct rec *recs;
struct all {
	t28 of_them;
	long more;
};
static struct all *volatile largest;

int main(int argc, char **argv)
{
	account_open(argc, argv);
	char *memory = calloc(1, 2000);
	account(memory, 2000, 'r', "pool of rec");
	for (unsigned i = 0; i < 50; i++) {
		struct rec *rec = (struct rec *)(memory + 104 + 24 * i);
		*rec = (struct rec){recs, i};
		recs = rec;
	}
	account_end();
	return !recs || largest;
}
