/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pointer that is stored in disguise holds nothing: XORed, negated, compressed, in two halves. */
#include "leaks.h"

LEAK_ROLE(xored)
LEAK_ROLE(negated)
LEAK_ROLE(compressed)
LEAK_ROLE(halved)

static volatile uintptr_t disguises[3];
static volatile uint64_t halves[2];

TRUTH_FRAME static void story(void)
{
	disguises[0] = (uintptr_t)xored(216) ^ UINT64_C(0x5555555555555555);
	disguises[1] = ~(uintptr_t)negated(232);
	disguises[2] = (uintptr_t)compressed(248) >> 4;
	uintptr_t whole = (uintptr_t)halved(264);
	halves[0] = whole & 0xffffff;
	halves[1] = whole >> 24;
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_DEFINITE, xored);
	LEAKS_ARE(LEAK_DEFINITE, negated);
	LEAKS_ARE(LEAK_DEFINITE, compressed);
	LEAKS_ARE(LEAK_DEFINITE, halved);
	leaks_end();
	return 0;
}
