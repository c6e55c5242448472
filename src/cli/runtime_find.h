/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where libheapwise-rt.so and libheapwise-lsan.so are. */
#ifndef CLI_RUNTIME_FIND_H
#define CLI_RUNTIME_FIND_H

/* The library stands in a fixed place relative to the command, built or installed. The caller frees
 * the path; NULL: it is not there, or its path has a blank or colon, which LD_PRELOAD cannot. */
char *runtime_find(void);

/* The library with the functions of LeakSanitizer, which stands beside that one: the same rules. */
char *runtime_find_lsan(const char *runtime);

#endif
