/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands for libheapwise-java.so (src/runtime/jvm/agent.c) in a running JVM, and its answers. */
#ifndef PROCESS_JAVA_AGENT_H
#define PROCESS_JAVA_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "process/java_attach.h"

struct java_agent_state {
	bool is_recording, has_recorded, follows_live;
	uint64_t id;       /* of the recording, in this JVM */
	uint64_t interval; /* mean bytes between samples */
	uint64_t depth;    /* frames of a stack at most */
	uint64_t samples;
	uint64_t lost;        /* samples without memory for them */
	uint64_t cut;         /* samples whose stacks reach that depth */
	uint64_t collections; /* garbage collections (pauses) since the agent was loaded */
	uint64_t live;        /* sampled objects that were live when it last looked */
	uint64_t memory;      /* bytes that the agent has */
	uint64_t recorded_ns;
	uint64_t early;         /* samples that threads drew before, at a larger interval */
	uint64_t early_bytes;   /* allocated bytes that these stand for */
	uint64_t all_bytes;     /* allocated bytes that all samples stand for */
	uint64_t waiting;       /* threads whose next sample is still one of these */
	uint64_t waiting_bytes; /* the sum of their intervals */
	uint64_t young_bytes;   /* of a profile: live bytes that no collection has looked at yet */
};

/*
 * Has the agent do something, which the JVM loads before if it hasn't. `options` are those of
 * agent.c, without `reply`. A JVM that starts is waited for, up to a minute. ERROR_ENVIRONMENT with
 * the words of the agent, or of the JVM if it can't load it.
 */
struct error *java_agent_ask(const struct java_vm *vm, const char *library,
	const struct java_exchange *exchange, const char *options,
	struct java_agent_state *ret) must_check_;

/* Whether the agent answers that the JVM is not ready. `text` ends with a NUL. */
bool java_agent_is_later(const char *text);

/* Reads an answer of the agent: see agent.c. ERROR_ENVIRONMENT: it is an error, with its words, or
 * no such answer. `text` ends with a NUL. */
struct error *java_agent_parse(const char *text, struct java_agent_state *ret) must_check_;

#endif
