/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shell as a server hands it out: an empty element where the data would be, by which the script
 * knows that it is to fetch it, and a policy that lets it do so. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "page/page.h"
#include "page/parts/shell.h"

#define POLICY_BEGIN "http-equiv=\"Content-Security-Policy\" content=\""
#define MARK "<script type=\"text/plain\" id=\"heapwise-served\"></script>"
#define MAY_FETCH "; connect-src 'self'"

struct error *page_served_make(struct page_served *ret)
{
	struct page_shell shell = page_shell();
	if (!shell.before)
		return error_create(ERROR_ENVIRONMENT,
			"this heapwise was built without its HTML page (-Dui=disabled)");
	const char *policy =
		memmem(shell.before, shell.before_len, POLICY_BEGIN, strlen(POLICY_BEGIN));
	assert(policy); /* web/build writes it, and a test looks for it */
	policy += strlen(POLICY_BEGIN);
	const char *end = memchr(policy, '"', (size_t)(shell.before + shell.before_len - policy));
	assert(end);
	_cleanup_(text_deinit) struct text html, text;
	text_init(&html);
	text_init(&text);
	text_add_n(&text, policy, (size_t)(end - policy));
	text_add(&text, MAY_FETCH);
	text_add_n(&html, shell.before, (size_t)(end - shell.before));
	text_add(&html, MAY_FETCH);
	text_add_n(&html, end, (size_t)(shell.before + shell.before_len - end));
	text_add(&html, MARK);
	text_add_n(&html, shell.after, shell.after_len);
	if (html.failed || text.failed)
		return error_no_memory();
	ret->len = html.len;
	ret->html = text_steal(&html);
	ret->policy = text_steal(&text);
	return NULL;
}

void page_served_deinit(struct page_served *served)
{
	free(served->html);
	free(served->policy);
}
