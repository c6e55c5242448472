/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pointer at an address that is no multiple of eight holds nothing, unless one asks for every
 * address. */
#include "leaks.h"

LEAK_ROLE(at_three)
LEAK_ROLE(at_four)
LEAK_ROLE(packed_holder)
LEAK_ROLE(in_packed)

static char volatile bytes[64] __attribute__((aligned(16)));
static void *volatile kept;

TRUTH_FRAME static void put_at(void *where, void *block)
{
	memcpy(where, &block, sizeof block);
	leak_opaque(where);
}

TRUTH_FRAME static void story(void)
{
	put_at((char *)bytes + 3, at_three(216));
	put_at((char *)bytes + 36, at_four(232));
	kept = packed_holder(72);
	put_at(leak_inside(kept, 13), in_packed(248));
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_DEFINITE, at_three);
	LEAKS_ARE(LEAK_DEFINITE, at_four);
	LEAKS_ARE(LEAK_REACHABLE, packed_holder);
	LEAKS_ARE(LEAK_DEFINITE, in_packed);
	leaks_with("--leak-check-alignment=4");
	LEAKS_ARE(LEAK_DEFINITE, at_three);
	LEAKS_ARE(LEAK_REACHABLE, at_four);
	LEAKS_ARE(LEAK_REACHABLE, packed_holder);
	LEAKS_ARE(LEAK_DEFINITE, in_packed);
	leaks_with("--leak-check-alignment=1");
	LEAKS_ARE(LEAK_REACHABLE, at_three);
	LEAKS_ARE(LEAK_REACHABLE, at_four);
	LEAKS_ARE(LEAK_REACHABLE, packed_holder);
	LEAKS_ARE(LEAK_REACHABLE, in_packed);
	leaks_end();
	return 0;
}
