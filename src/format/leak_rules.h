/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A search for leaks that went by another checker's rules (HEAPCHECK): further keys of the
 * LEAK_SEARCH chunk, beside enum hpw_leak_key. Both values are varints; missing ones are 0.
 */
#ifndef FORMAT_LEAK_RULES_H
#define FORMAT_LEAK_RULES_H

enum hpw_leak_rule_key {
	HPW_LEAK_RULES = 64,   /* enum hpw_leak_rule, or'ed */
	HPW_LEAK_TOO_FAR = 65, /* pointers that lead so many bytes into a block, or further,
				       hold nothing; 0: they do */
};

enum hpw_leak_rule {
	/* Blocks that were allocated before the check began are in no figure if they are lost. */
	HPW_LEAK_RULE_SINCE = 1,
	/* Data of modules, memory that is no thread's, and the first thread's stack hold nothing.
	 */
	HPW_LEAK_RULE_NO_GLOBALS = 2,
	/* Registers, and other threads' stacks and thread-local storage, hold nothing. */
	HPW_LEAK_RULE_NO_THREADS = 4,
};

#endif
