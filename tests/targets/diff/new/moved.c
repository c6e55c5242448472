/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <story.h>

APART void helper(void)
{
	xalloc(3, 41);
}
