/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in archives are UTF-8 whatever the user's locale is; libarchive uses the thread's locale.
 */
#ifndef BUNDLE_CHARSET_H
#define BUNDLE_CHARSET_H

#include <locale.h>

struct charset {
	locale_t made, before;
};

/* Without the locale C.UTF-8 (it is a part of glibc) names outside of ASCII are refused. */
static inline struct charset charset_begin(void)
{
	struct charset charset = {.made = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0)};
	if (charset.made)
		charset.before = uselocale(charset.made);
	return charset;
}

static inline void charset_end(struct charset *charset)
{
	if (!charset->made)
		return;
	uselocale(charset->before);
	freelocale(charset->made);
}

#endif
