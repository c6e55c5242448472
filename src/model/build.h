/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a source fills a model: it calls build_create(), then the other functions, each object before
 * those that refer to it (modules before stacks, stacks before sites, sites and threads before live
 * blocks), then build_finish(). Only src/sources/ includes this, and tests that make models by
 * hand.
 *
 * The data was read from outside. So what the model's readers rely on (parents smaller than
 * children, ids in range, sizes ascending) is checked here, and refused with ERROR_INPUT. After an
 * error the model is still consistent: a source may note the damage and go on. Limits keep hostile
 * input from using too much memory. Strings and arrays are copied.
 */
#ifndef MODEL_BUILD_H
#define MODEL_BUILD_H

#include "base/error.h"
#include "model/model.h"

/* Sixteen times what the largest known programs need. */
#define BUILD_MODULES_MAX 65536u
#define BUILD_STACKS_MAX (1u << 24)
#define BUILD_SITES_MAX (1u << 22)
#define BUILD_THREADS_MAX (1u << 20)
#define BUILD_LEAK_ROWS_MAX (1u << 22) /* of each of the tables of a search */

/* Creates an empty model: no command, mode "exact", incomplete. */
struct error *build_create(struct model **ret);

/* Copies `len` bytes and a NUL to memory that lives as long as the model. */
struct error *build_string(struct model *model, const char *bytes, size_t len, const char **ret);

/*
 * Return parts of the model for the source to fill. Strings come from build_string() or are static.
 * `command` and `command_len` are set by build_argument(), `totals.threads` by the source.
 */
struct target *build_target(struct model *model);
struct recording *build_recording(struct model *model);
struct totals *build_totals(struct model *model);
struct inherited *build_inherited(struct model *model);

/* Adds one argument to the target's command; bytes after a NUL are dropped. */
struct error *build_argument(struct model *model, const char *bytes, size_t len);

/* Adds one sentence that says what is missing, and makes the recording incomplete. */
struct error *build_damage(struct model *model, const char *sentence);

/* `path` need not end with NUL within path_len. Adding an id again replaces it. Id 0 is refused. */
struct error *build_module(struct model *model, struct module_id id, const struct module *module,
	const char *path, size_t path_len);

/* Columns of stack nodes, one row each. */
struct stack_columns {
	const uint32_t *parent; /* parent[i] == first + i: this id is unused */
	const uint16_t *module;
	const uint64_t *address;
	/* Of frames in no loaded file, else 0; NULL: there are none. Their `address` is as of
	 * struct stack_node, their module 0 unless they are names. */
	const uint32_t *code;
};

/*
 * Sets nodes first … first + count - 1. Either all rows are valid (parent < id, or unused) and set,
 * or none is. Ids may have gaps: at most 2^20 more than 16 times the number of rows.
 */
struct error *build_stacks(
	struct model *model, struct stack_id first, const struct stack_columns *rows, size_t count);

/* Makes room for a number of stacks that is only a guess, if there is memory and none yet. */
void build_expect_stacks(struct model *model, uint64_t count);

/* Rows of the table of stacks as they are read, so that nobody needs all of them twice. */
#define BUILD_STACK_BATCH 512u
struct stack_feed {
	void *context;
	/* Returns the next `count` rows, at most BUILD_STACK_BATCH, valid until the next call. */
	struct error *(*next)(void *context, size_t count, struct stack_columns *ret);
};

/* As build_stacks(), of rows that are fed. If it fails and all ids were larger than those before,
 * none is set. */
struct error *build_stacks_fed(struct model *model, struct stack_id first, size_t count,
	const struct stack_feed *feed) must_check_;

/* Adds a site with no counts under the given id; gaps are filled with KIND_UNKNOWN sites. */
struct error *build_site(
	struct model *model, struct site_id id, struct stack_id stack, enum alloc_kind kind);

/*
 * Returns the counters of a site, for a source to add to; it must not change `stack` and `kind`.
 * Returns NULL if there is no such site. The pointer is valid until the next build_site().
 */
struct site *build_site_at(struct model *model, struct site_id id);

/* Adds blocks that the process inherited by fork, all of one stack and kind. */
struct error *build_inherited_site(struct model *model, struct stack_id stack, enum alloc_kind kind,
	uint64_t blocks, uint64_t bytes);

/* Adds a thread with the next index; `name` of the row is ignored, name/name_len are copied. */
struct error *build_thread(
	struct model *model, const struct thread *row, const char *name, size_t name_len);

/* Returns a thread, for a source to add to its calls; NULL: there is none with that index. The
 * pointer is valid until the next build_thread(). */
struct thread *build_thread_at(struct model *model, size_t index);

/* Adds rows, which ascend, each size once, to those that are there. */
struct error *build_more_sizes(
	struct model *model, const struct size_count *rows, size_t count) must_check_;

/* Adds a size; they come ascending, each once. */
struct error *build_size(struct model *model, uint64_t size, uint64_t allocations);

/*
 * Adds live blocks; addresses ascend over all calls. Optional: leaving them out keeps a report
 * small. The first call, even with count 0, says that they are not left out.
 */
struct error *build_live(struct model *model, const struct live_block *rows, size_t count);

/* Adds a moment; `first_site` and `site_count` of the row are ignored. Steps ascend, sites too and
 * are known; a time that goes back counts as the last one. */
struct error *build_series_row(struct model *model, const struct series_row *row,
	const struct series_site *sites, size_t count);

/* Adds a mark; `name` of the row is ignored, name/len are copied. Steps ascend. */
struct error *build_mark(struct model *model, const struct mark *row, const char *name, size_t len);

/* Returns the lifetimes, for the source to fill. */
struct lifetimes *build_lifetimes(struct model *model);
/* Adds reallocs of a site; sites ascend and are known. */
struct error *build_realloc_site(struct model *model, const struct realloc_site *row);

#define BUILD_UNRECORDED_MAX (1u << 16)
/* The most memory of all such rows with their commands: a few compressed kilobytes may unpack to
 * more. */
#define BUILD_SMALL_BYTES_MAX (256ull << 20)
/* Adds a process that has only a row, no recording. Its command of the given length is copied; the
 * target's strings are ignored. Returns ERROR_INPUT if all rows together need too much memory. */
struct error *build_small(struct model *model, const struct small_process *row, const char *command,
	size_t command_len) must_check_;

/* Adds a program without a recording, which counts in children_unrecorded, at least; `path` of the
 * row is ignored, path/path_len are copied. */
struct error *build_unrecorded(struct model *model, const struct unrecorded_program *row,
	const char *path, size_t path_len);

#define BUILD_CODE_MAX (1u << 24)
/*
 * Adds code that is in no loaded file; *ret may be NULL. Strings live as long as the model
 * (build_string) or forever; lines and the frames of a run are copied. ERROR_INPUT: its kind is not
 * one of those, its home is not known, or its lines do not ascend.
 */
struct error *build_code(
	struct model *model, const struct code *row, struct code_id *ret) must_check_;

/* Adds a row of a traced line. */
struct error *build_traced_line(struct model *model, const struct traced_line *row) must_check_;

/*
 * Adds the name of code without a module; addresses ascend, each once. In build_finish() frames
 * there become names.
 */
struct error *build_code_name(
	struct model *model, uint64_t address, const char *name, size_t name_len);

/*
 * Says what code is at an address of a module, innermost function first; strings live as long
 * as the model (build_string) or forever. Once for each address.
 */
struct error *build_embedded_names(struct model *model, struct module_id module, uint64_t address,
	const struct embedded_run *run);

/*
 * Begins a search for leaks and drops an earlier one with all of its rows. Returns the search for
 * the source to fill; its `problem` comes from build_string() or is static. Roots come before the
 * groups that refer to them, sites and groups before records.
 */
struct leak_search *build_leak_search(struct model *model);
/* Returns the search that was begun, for the source to fill further. */
struct leak_search *build_leak_search_more(struct model *model);
/* `name` of the row is ignored, name/name_len are copied. */
struct error *build_leak_root(
	struct model *model, const struct leak_root *row, const char *name, size_t name_len);
struct error *build_leak_group(struct model *model, const struct leak_group *row);
struct error *build_leak_record(struct model *model, const struct leak_record *row);
/* Sets when the example of an existing record was allocated. */
void build_leak_time(struct model *model, size_t record, uint64_t example_ns);

/* Takes over the model of the figures below 0 in a difference. Called once. */
void build_subtracted(struct model *model, struct model *subtracted);
/* Says that the source reports errors: there are none until they are added. */
void build_errors(struct model *model);
/* Says what was looked at, for errors that `heapwise check` finds; the last call counts. */
void build_check_coverage(struct model *model, const struct check_coverage *coverage);
/* Adds an error; strings are copied, first_stack and stack_count of the row are ignored. Stacks are
 * known. */
struct error *build_program_error(struct model *model, const struct program_error *row,
	const struct error_stack *stacks, size_t count);
/* Sets how often error `number` occurred, which a source may know only at the end of its file. */
void build_program_error_count(struct model *model, size_t number, uint64_t count);
struct error *build_error_suppression(struct model *model, const char *name, uint64_t count);

/* Frees spare memory. Nothing may be added afterwards. */
void build_finish(struct model *model);

#endif
