/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap profile that the runtime of each Go program keeps, read from outside while the program
 * runs, and written as pprof's profile.proto. Nothing runs in the process, and it does not stop.
 *
 *	go_profile_open → go_profile_begin → go_profile_look … → go_profile_encode →
 *go_profile_close
 *
 * A program that never uses runtime/pprof samples nothing (the linker sets runtime.MemProfileRate
 * to 0). It does from go_profile_begin() on, which sets the rate, until it is put back.
 */
#ifndef GOLANG_GO_PROFILE_H
#define GOLANG_GO_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* As runtime.MemProfileRate is by default, in bytes. */
#define GO_RATE_USUAL 524288u
/* The runtime takes any larger one for this (fastexprand() in runtime/malloc.go), in bytes. */
#define GO_RATE_MOST 0x7000000u

/* Which figures. */
enum go_state {
	GO_STATE_NOW, /* with all that was allocated and freed until now */
	GO_STATE_GC,  /* those of the last complete garbage collection, as runtime/pprof has them */
};

struct go_about {
	const char *program; /* its file, as it is called in its own mounts */
	const char *version; /* "go1.19.8"; "": not known */
	bool is_stripped;    /* the runtime's variables were found by its code, not by symbols */
	uint64_t rate;       /* bytes a sample, as it is now; 0: it does not sample */
	uint64_t samples;    /* taken until now */
	bool is_there;       /* false: it has ended, or executes another program */
};

/* Sums of all stacks: estimates by the rate, or GO_RATE_MOST if that is less; exact at 1. */
struct go_sums {
	size_t stacks;
	uint64_t samples; /* taken; no estimate */
	uint64_t live_blocks[2], live_bytes[2], allocated_blocks[2],
		allocated_bytes[2]; /* by enum
				       go_state */
	size_t unsettled;           /* stacks that changed each time they were read */
	bool other_rate;            /* at a look the runtime's rate was not that of the samples */
};

/* What became of the rate. */
enum go_rate_end {
	GO_RATE_UNCHANGED, /* it was never changed */
	GO_RATE_RESTORED,
	GO_RATE_OTHER, /* somebody else has set another one, which stays */
	GO_RATE_GONE,  /* the process has ended, or executes another program */
};

struct go_profile;

/*
 * Returns whether the program of a process is in Go; false if it can't be read. *ret_has_c (may be
 * NULL): it is linked with C libraries (cgo), whose allocator it may use.
 */
bool go_process_recognise(pid_t pid, bool *ret_has_c);

/* Opens the profile of a process. ERROR_INPUT if there is no such process, its program is not in
 * Go, or of a layout that is not known; ERROR_ENVIRONMENT if it may not be read. */
struct error *go_profile_open(pid_t pid, struct go_profile **ret) must_check_;
/* Puts back the rate if it was changed, and frees it; NULL is allowed. */
void go_profile_close(struct go_profile *profile);

struct go_about go_profile_about(const struct go_profile *profile);

/*
 * Makes the runtime take samples, every `rate` bytes on average; 0: GO_RATE_USUAL, or as it does
 * already. ERROR_INPUT if it samples at another rate: the figures would be of both.
 */
struct error *go_profile_begin(struct go_profile *profile, uint64_t rate) must_check_;

/* Reads the figures; those of before are forgotten, also after an error. ERROR_INPUT if the process
 * has ended or executes another program. */
struct error *go_profile_look(struct go_profile *profile) must_check_;

/* Puts back the rate, if it was changed. */
enum go_rate_end go_profile_end(struct go_profile *profile);

/* Sums up the figures that were read last. */
struct go_sums go_profile_sums(const struct go_profile *profile);

struct go_encoding {
	enum go_state state;
	uint64_t time_ns;     /* of the figures, since 1970 */
	uint64_t duration_ns; /* since samples are taken; 0: not known */
	const char *comment;
};

/* Appends the figures that were read last as a profile.proto, not packed. */
struct error *go_profile_encode(const struct go_profile *profile,
	const struct go_encoding *encoding, struct buf *out) must_check_;

#endif
