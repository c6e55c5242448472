/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What makes a drawn graph one that is looked at in a browser: see graph_script.js. */
#include <string.h>

#include "views/callgraph.h"
#include "views/graph_script.h"

static const char svg_end[] = "</svg>";

void callgraph_add_script(const char *svg, size_t len, struct text *ret)
{
	const char *end = NULL;
	for (const char *at = svg;
		(at = memmem(at, len - (size_t)(at - svg), svg_end, sizeof(svg_end) - 1)) != NULL;
		at++)
		end = at;
	if (!end) {
		text_add_n(ret, svg, len);
		return;
	}
	text_add_n(ret, svg, (size_t)(end - svg));
	text_printf(ret, "<script><![CDATA[\n%s]]></script>\n", graph_script);
	text_add_n(ret, end, len - (size_t)(end - svg));
}
