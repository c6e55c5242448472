/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording without names, on its way into a bundle. */
#ifndef CLI_BUNDLE_ANONYMOUS_H
#define CLI_BUNDLE_ANONYMOUS_H

#include "bundle/manifest.h"
#include "sources/anonymize.h"
#include "sources/source.h"

/*
 * Adds the recording, written again without names to a file that has no name in the folder of
 * `output`; *ret_fd holds it, which the caller closes once it is packed. The model is the same
 * recording's, after anonymizer_model().
 */
struct error *bundle_add_anonymous(struct bundle_manifest *manifest, const char *output,
	const struct source_place *place, struct anonymizer *anonymizer, const struct model *model,
	int *ret_fd) must_check_;

#endif
