/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTML around the data, which shows it: web/dist/page.html, a part of the program. */
#ifndef PAGE_SHELL_H
#define PAGE_SHELL_H

#include <stddef.h>

/* What stands before and after the place of the data; all 0 in a build without the page. */
struct page_shell {
	const char *before, *after;
	size_t before_len, after_len;
};

struct page_shell page_shell(void);

#endif
