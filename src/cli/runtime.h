/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that start recordings share. */
#ifndef CLI_RUNTIME_H
#define CLI_RUNTIME_H

/* Path of libheapwise-rt.so, in a fixed place relative to the command, built or installed. The
 * caller frees it; NULL, after saying so: it is not there. */
char *runtime_find(void);

/*
 * A closed standard stream stays closed for the program (the place holder goes at exec), but none
 * of our own descriptors may come to stand in its place. To be called first.
 */
void hold_standard_streams(void);

#endif
