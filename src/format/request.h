/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a command, or the recorded program itself, asks of the collector while a program is being
 * recorded: one message on the session's socket (format/shm.h), and one in answer.
 */
#ifndef FORMAT_REQUEST_H
#define FORMAT_REQUEST_H

#include <assert.h>
#include <stdint.h>

#define HW_REQUEST_MAGIC 0x6b736177u
#define HW_RESET_LIVE "live"
#define HW_SAMPLE_BYTES_MAX (64ull << 30) /* of HW_ASK_MODE */
#define HW_REQUEST_TEXT 4096              /* bytes, with the NUL */
#define HW_REPLY_FILE 4200
#define HW_REPLY_MESSAGE 1024

enum hw_request_what {
	HW_ASK_LEAKS = 0,  /* a search for leaks */
	HW_ASK_MARK = 1,   /* `text` is the mark's name */
	HW_ASK_BLOCKS = 2, /* the blocks that are live now */
	/* A dump: to the file `text`, or "": into a descriptor of the reply, or with by_plan to the
	 * file that is next. */
	HW_ASK_DUMP = 3,
	/* When the process is dumped, and to which files: lines KEY=VALUE in `text`. Keys are the
	 * names of the options of `heapwise run` without "dump-": allocated, freed, growth, peak,
	 * every, rss, pressure, signal, at-exit, file, format (also gperftools/all and
	 * gperftools/mapping, with what the program maps), keep; and announce, pages, restart-all
	 * (see capture/dump_plan.h). No value, or 0: not (any more). Other keys stay as they are.
	 */
	HW_ASK_CONFIGURE = 4,
	HW_ASK_START = 5,  /* allocations are recorded again */
	HW_ASK_STOP = 6,   /* allocations are no longer recorded; frees of known blocks are */
	HW_ASK_RESET = 7,  /* the sums of dumps begin anew; `text` HW_RESET_LIVE: without the blocks
			    * that are live now, and the plan's distances begin anew, too */
	HW_ASK_STATUS = 8, /* lines KEY=VALUE in the reply's `message` */
	/* All recorded processes, in a descriptor of the reply: lines
	 * "PID LIVE PEAK RECORDING PROGRAM", bytes as decimal numbers, RECORDING 0 while it is
	 * stopped, else 1. */
	HW_ASK_PROCESSES = 16,
	HW_ASK_DETACH = 17, /* a process that was attached is let go; the reply's `file` is the
			       recording, which is complete */
	HW_ASK_POOL =
		10, /* whether there is a pool: `text` is its address, hexadecimal; error ENOENT */
	HW_ASK_MODE = 9, /* how much is recorded: `text` is exact, aggregate, sample:BYTES. If that
			    is another mode than before the reply's `file` is a new recording, and
			    `message` the one before, which is complete; else `message` is "" */
};

struct hw_request {
	uint32_t magic, version; /* HW_REQUEST_MAGIC, HW_SHM_VERSION */
	int32_t pid;             /* in the PID namespace of who asks; 0: the process that asks */
	uint32_t what;           /* enum hw_request_what */
	uint32_t alignment, heuristics; /* for HW_ASK_LEAKS: as in struct leak_check */
	uint32_t anyhow;                /* for HW_ASK_BLOCKS: also if a thread is in an event */
	uint32_t by_plan;               /* for HW_ASK_DUMP */
	char text[HW_REQUEST_TEXT];
};
static_assert(sizeof(struct hw_request) == 32 + HW_REQUEST_TEXT, "on a socket");

struct hw_reply {
	uint32_t ok;
	uint32_t busy;  /* HW_ASK_BLOCKS, if not ok: a thread is in an event */
	uint32_t error; /* if not ok: an errno for it */
	uint32_t reserved;
	/* HW_ASK_MARK, HW_ASK_DUMP: since the recording began. HW_ASK_MODE: until the recording
	 * before had all that it has, since that began; if the mode stays: as of a mark. */
	uint64_t time_ns;
	uint64_t blocks; /* HW_ASK_BLOCKS: number of struct hw_live_block in the pipe */
	/* The file that has the result, as the collector sees it. HW_ASK_LEAKS, HW_ASK_MARK,
	 * HW_ASK_BLOCKS, HW_ASK_MODE: the recording. HW_ASK_DUMP: the dump, "" if it is in the
	 * descriptor. */
	char file[HW_REPLY_FILE];
	char message[HW_REPLY_MESSAGE]; /* the reason, if not ok; HW_ASK_STATUS, HW_ASK_MODE: the
					   answer */
};

/* A live block as the collector writes it to a pipe, ascending by address. */
struct hw_live_block {
	uint64_t address, size, number;
	uint32_t site, thread;
};

#endif
