/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/leaks_page.h"

struct error *leaks_junit(const struct leaks_page *page, struct text *out)
{
	(void)page, (void)out;
	return error_create(ERROR_USAGE, "x");
}
struct error *leaks_github(const struct leaks_page *page, struct text *out)
{
	(void)page, (void)out;
	return error_create(ERROR_USAGE, "x");
}
struct error *leaks_sarif(const struct leaks_page *page, const struct sink *sink)
{
	(void)page, (void)sink;
	return error_create(ERROR_USAGE, "x");
}
