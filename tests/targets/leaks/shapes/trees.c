/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary trees. Of a lost one the root is definite, whether it was allocated before its branches or
 * after them; everything below a root that is held is reachable. */
#include "leaks.h"

LEAK_ROLE(downward_root)
LEAK_ROLE(downward_branch)
LEAK_ROLE(upward_root)
LEAK_ROLE(upward_branch)
LEAK_ROLE(kept_branch)

enum { DEPTH = 6 };

static void *volatile kept;

/* Root first. */
TRUTH_FRAME static void *downward(void *(*branch)(size_t), size_t bytes, unsigned depth)
{
	void *one = branch(bytes);
	for (size_t i = 0; depth && i < 2; i++)
		leak_put(one, i, downward(branch, bytes, depth - 1));
	return one;
}

/* Leaves first. */
TRUTH_FRAME static void *upward(unsigned depth)
{
	void *left = depth ? upward(depth - 1) : NULL, *right = depth ? upward(depth - 1) : NULL;
	void *one = depth == DEPTH ? upward_root(152) : upward_branch(120);
	leak_put(one, 7, left);
	leak_put(one, 2, right);
	return one;
}

TRUTH_FRAME static void story(void)
{
	void *root = downward_root(136);
	leak_put(root, 0, downward(downward_branch, 40, DEPTH));
	leak_put(root, 16, downward(downward_branch, 40, DEPTH - 2));
	upward(DEPTH);
	kept = downward(kept_branch, 64, DEPTH);
}

int main(void)
{
	story();
	LEAKS_HEAD(downward_root, downward_branch);
	LEAKS_HEAD(upward_root, upward_branch);
	LEAKS_ARE(LEAK_REACHABLE, kept_branch);
	leaks_end();
	return 0;
}
