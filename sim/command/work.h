/* work.h - strategies of scenario files, chosen on the command line and ready to be tried, for
 * `run`, `plan`, `compare` and `check`.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_WORK_H
#define COMMAND_WORK_H

#include "base/diag.h"
#include "base/log.h"
#include "report/result.h"
#include "scenario/scenario.h"
#include "trial/trial.h"

struct work_item {
    const struct scenario *scenario;
    struct trial trial;
    struct text what;       /* the model in words, once it was tried */
    struct shd_error error; /* why the trial failed; status SHD_OK: it did not fail */
};

/* A strategy of a sweep whose sizes do not divide. */
struct work_skipped {
    const struct scenario *scenario;
    char *why;
};

struct work {
    const char **names, **sets, **strategies; /* of the command line, not owned */
    size_t nnames, nsets, nstrategies;
    const struct text *text;      /* text of the only name, instead of its file; NULL: files are read */
    bool plan;                    /* nothing will be executed; set before anything is loaded */
    struct scenario_file **files; /* by name; NULL: could not be loaded */
    struct work_item *items;
    size_t nitems;
    struct work_skipped *skipped;
    size_t nskipped;
    struct diag diag;
    struct log log;
    bool over_ranks; /* all ranks try every strategy together; set by work_prepare_all() */
    const char *spread_axis; /* axis along which devices are spread over ranks; NULL: in their
                                order */
};

/* An empty work with room for the arguments of a command line.  False: no memory, with a
 * message. */
bool work_init(struct work *out, int argc);
void work_fini(struct work *work);

/* Load all files and build all programs, so that every error is found before anything runs; errors
 * go to `diag`.  CMD_OK, CMD_USAGE or CMD_CANNOT (no memory). */
int work_load(struct work *work);

/* Like work_load(), and print the errors and the strategies left out. */
int work_prepare(struct work *work);

/* Like work_prepare(), on all ranks: either all continue or none does.  Rank 0 prints the
 * errors. */
int work_prepare_all(struct work *work);

/* Why not to execute this strategy by default, in words that follow its name; NULL: it is small
 * enough.  *flops sums the flops of the strategies so far; set it to 0 first. */
const char *work_too_much(const struct work_item *item, double *flops);

/* For callers that try strategies in another way (sweep.h): read the files, with room for all
 * items; whether a strategy was requested; leave a strategy out, with the reason; end the loading;
 * print the output of work_prepare() and return its exit status, given the loading's. */
int work_read(struct work *work);
bool work_wants(const struct work *work, const char *strategy);
void work_skip(struct work *work, const struct scenario *scenario, const char *why);
int work_end_load(struct work *work);
int work_tell(struct work *work, int exit);

/* Whether a file is standard input, which only rank 0 can read. */
bool work_reads_input(const struct work *work);

/* Describe an item that was tried in a result, which points into the item.  False: no memory. */
bool work_describe(struct work_item *item, struct result *result);

/* Print a failure of a loaded item, at the strategy's place, and store it in the item.  Returns the
 * exit status: CMD_USAGE if no step of these sizes is possible, as if the reader had refused
 * the scenario. */
int work_failed(struct work *work, struct work_item *item, const struct shd_error *err);

/* Execute or plan one strategy, with progress; on SHD_OK the result is set, and points into the
 * item.  Otherwise work_failed() is called.  Returns the exit status. */
int work_try(struct work *work, struct work_item *item, enum record_mode mode,
             struct result *result);

/* Look for changes that make an item's step fit its device, and print them in a note.  Returns the
 * exit status: CMD_OK, or CMD_CANNOT. */
int work_tell_fit(struct work *work, struct work_item *item);

/* Write a report to a file, or to standard output if `path` is NULL or "-"; if `status` says that
 * the report could not be made, print the error.  Returns the exit status. */
int work_put(struct work *work, const char *path, const struct text *text, int status,
             const struct shd_error *err);

#endif /* COMMAND_WORK_H */
