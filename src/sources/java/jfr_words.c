/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/jfr_words.h"

#include <inttypes.h>

#include "model/model.h"

/* async-profiler follows no more objects. */
#define FOLLOWED_MOST 1024u

static bool kind_exists(const struct jfr_facts *facts, enum jfr_kind kind)
{
	return facts->sums[kind].events != 0;
}

bool jfr_is_biased(const struct jfr_facts *facts)
{
	return kind_exists(facts, JFR_SAMPLED) || kind_exists(facts, JFR_IN_TLAB);
}

static bool has_java(const struct jfr_facts *facts)
{
	return jfr_is_biased(facts) || kind_exists(facts, JFR_OUTSIDE) ||
	       kind_exists(facts, JFR_INTERVAL);
}

bool jfr_shows_old(const struct jfr_facts *facts)
{
	return kind_exists(facts, JFR_OLD) && !kind_exists(facts, JFR_LIVE) &&
	       !kind_exists(facts, JFR_MALLOC) && !has_java(facts);
}

/* What is live of objects and of malloc is one figure: it is known if that of both is. */
static uint32_t known_lives(const struct jfr_facts *facts)
{
	bool is_followed = kind_exists(facts, JFR_LIVE);
	if ((kind_exists(facts, JFR_MALLOC) && !facts->frees) ||
		(kind_exists(facts, JFR_MALLOC) && has_java(facts) && !is_followed))
		return 0;
	if (is_followed || kind_exists(facts, JFR_MALLOC))
		return UNKNOWN_LIVE_BLOCKS | UNKNOWN_LIVE_BYTES;
	if (!jfr_shows_old(facts))
		return 0;
	return facts->sizeless ? UNKNOWN_LIVE_BLOCKS : UNKNOWN_LIVE_BLOCKS | UNKNOWN_LIVE_BYTES;
}

uint32_t jfr_known_figures(const struct jfr_facts *facts)
{
	uint32_t known = known_lives(facts);
	if (!has_java(facts) && !kind_exists(facts, JFR_MALLOC))
		return known;
	known |= UNKNOWN_ALLOCATED_BYTES;
	if (!jfr_is_biased(facts))
		known |= UNKNOWN_ALLOCATIONS;
	return known;
}

uint64_t jfr_distance(const struct jfr_facts *facts)
{
	const struct jfr_sums *sampled = &facts->sums[JFR_SAMPLED],
			      *tlab = &facts->sums[JFR_IN_TLAB];
	uint64_t events = sampled->events + tlab->events;
	if (events)
		return (uint64_t)((sampled->bytes + tlab->bytes) / (double)events);
	if (kind_exists(facts, JFR_INTERVAL) || kind_exists(facts, JFR_LIVE))
		return facts->interval;
	return kind_exists(facts, JFR_MALLOC) ? facts->malloc_interval : 0;
}

static void events_add(const struct jfr_facts *facts, enum jfr_kind kind, struct text *text)
{
	text_add_counted(text, facts->sums[kind].events, "event", "events");
}

static void allocated_remark(const struct jfr_facts *facts, struct text *text)
{
	if (kind_exists(facts, JFR_SAMPLED)) {
		text_add(text, "Allocated bytes are estimates: weights of ");
		events_add(facts, JFR_SAMPLED, text);
		text_add(text, " jdk.ObjectAllocationSample, which don't say how many objects "
			       "there were. ");
	}
	if (kind_exists(facts, JFR_IN_TLAB)) {
		text_add(text, "Allocated bytes are estimates: ");
		events_add(facts, JFR_IN_TLAB, text);
		text_add(text, " jdk.ObjectAllocationInNewTLAB count as the whole buffer that a "
			       "thread took with the object. ");
	}
	if (kind_exists(facts, JFR_OUTSIDE)) {
		text_add(text, "Objects that were allocated outside of such buffers (");
		events_add(facts, JFR_OUTSIDE, text);
		text_add(text, ") count as they are. ");
	}
	if (facts->left_out) {
		text_add(text, "Of the same allocations there are ");
		text_add_counted(text, facts->left_out, "event", "events");
		text_add(text, " jdk.ObjectAllocationSample, which are not added. ");
	}
	if (kind_exists(facts, JFR_INTERVAL)) {
		text_add(text, "Samples of async-profiler, each of which stands for what it does "
			       "on average at one sample per ");
		text_add_bytes(text, facts->interval);
		text_add(text, "; async-profiler itself counts each as one interval or more. ");
	}
}

static void live_remark(const struct jfr_facts *facts, struct text *text)
{
	if (kind_exists(facts, JFR_LIVE)) {
		text_add(text, "What is live is as of the last garbage collection before the "
			       "profile was written. ");
		if (!facts->interval)
			text_add(text, "The file does not say how objects were sampled: live "
				       "figures are those of sampled objects alone. ");
		if (facts->sums[JFR_LIVE].events >= FOLLOWED_MOST)
			text_add(text, "async-profiler follows 1,024 objects: others are live, "
				       "too, that it did not follow. ");
	}
	if (!kind_exists(facts, JFR_OLD))
		return;
	text_add(text, "jdk.OldObjectSample has ");
	text_add_counted(text, facts->sums[JFR_OLD].events, "object that", "objects that");
	text_add(text,
		" stayed, of those that JFR kept an eye on: a choice, and no measure of what "
		"fills the heap");
	text_add(text, jfr_shows_old(facts) ? ". " : ", which is left out here. ");
}

static void malloc_remark(const struct jfr_facts *facts, struct text *text)
{
	if (!kind_exists(facts, JFR_MALLOC))
		return;
	if (has_java(facts)) {
		text_add(text, "Objects of Java and blocks of malloc are added up here; of malloc "
			       "are ");
		text_add_bytes(text, (uint64_t)facts->sums[JFR_MALLOC].bytes);
		text_add(text, " of the allocated bytes. ");
	}
	if (facts->malloc_interval > 1) {
		text_add(text, "async-profiler took a block of malloc whenever ");
		text_add_bytes(text, facts->malloc_interval);
		text_add(text, " were allocated: a smaller one stands for that much. ");
	}
	if (!facts->frees)
		text_add(text, "The file has no calls of free: what of malloc is live is not "
			       "known. ");
}

static void stacks_remark(const struct jfr_facts *facts, struct text *text)
{
	if (facts->stackless) {
		text_add_counted(text, facts->stackless, "event has", "events have");
		text_add(text, " no stack. ");
	}
	if (facts->truncated) {
		text_add(text, "Stacks of ");
		text_add_counted(text, facts->truncated, "event", "events");
		text_add(text, " lack their outermost callers: "
			       "-XX:FlightRecorderOptions:stackdepth=512 keeps more. ");
	}
}

void jfr_remark_add(const struct jfr_facts *facts, struct text *text)
{
	allocated_remark(facts, text);
	live_remark(facts, text);
	malloc_remark(facts, text);
	stacks_remark(facts, text);
	if (text->len && text->data[text->len - 1] == ' ')
		text->data[--text->len] = '\0';
}

struct error *jfr_no_memory_events(const struct jfr_facts *facts, const char *name)
{
	return error_create(ERROR_INPUT,
		"%s: none of the %" PRIu64 " events of this recording of JFR is about memory. Of "
		"the JDK, '-XX:StartFlightRecording:settings=profile' or 'jcmd PID JFR.start "
		"settings=profile' record allocations (before JDK 16 only so, since then also "
		"without settings); of async-profiler, '-e alloc', '--live' or '--nativemem'",
		name, facts->events);
}
