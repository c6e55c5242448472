/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rest of gperftools/heap-checker.h: checks for leaks that a program makes itself. */
#ifndef RUNTIME_SHIMS_GPERFTOOLS_LEAK_CHECKER_H
#define RUNTIME_SHIMS_GPERFTOOLS_LEAK_CHECKER_H

/* Begins the check of the whole program, if HEAPCHECK wants it to begin here. */
void gp_checker_init(void);

/* Runs what the program has registered for the end (REGISTER_HEAPCHECK_CLEANUP). Once. */
void gp_checker_end(void);

#endif
