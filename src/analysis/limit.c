/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/limit.h"

/* A part that is over before what is missing is known. */
static bool lacks_end(const struct recording *recording)
{
	return !recording->complete &&
	       (!recording->range.part || recording->range.to_step == UINT64_MAX);
}

const char *limit_doubt(const struct recording *recording, bool baseline)
{
	if (recording->not_attached)
		return baseline ? "the recorder could not see what the baseline's program did"
				: "the recorder could not see what the program did";
	if (recording->own_malloc)
		return baseline ? "the baseline's program has a malloc of its own, which is not "
				  "seen"
				: "the program has a malloc of its own, which is not seen";
	if (recording->no_heap)
		return baseline ? "no heap was found in the baseline" : "no heap was found";
	if (lacks_end(recording))
		return baseline ? "the baseline is incomplete"
		       : recording->types
			       ? "not all of the heap could be read"
			       : "the recording is incomplete, and keeps the limit as far as it "
				 "goes";
	return NULL;
}
