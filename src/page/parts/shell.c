/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/shell.h"

#include <assert.h>
#include <string.h>

#ifdef HW_NO_PAGE

struct page_shell page_shell(void)
{
	return (struct page_shell){.before = NULL};
}

#else

/* Of the assembler file that tools/embed-file makes. */
extern const char page_shell_data[], page_shell_end[];

static const char place[] = "<!--heapwise-data-->";

struct page_shell page_shell(void)
{
	size_t len = (size_t)(page_shell_end - page_shell_data);
	const char *at = memmem(page_shell_data, len, place, strlen(place));
	assert(at); /* embed-file has looked */
	return (struct page_shell){
		.before = page_shell_data,
		.before_len = (size_t)(at - page_shell_data),
		.after = at + strlen(place),
		.after_len = len - (size_t)(at - page_shell_data) - strlen(place),
	};
}

#endif
