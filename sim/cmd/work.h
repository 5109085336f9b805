/* work.h - strategies of scenario files, chosen on the command line and ready to be tried: what
 * `run`, `plan`, `compare` and `check` share.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_WORK_H
#define CMD_WORK_H

#include <argp.h>

#include "base/diag.h"
#include "base/log.h"
#include "report/result.h"
#include "scenario/scenario.h"
#include "trial/trial.h"

struct work_item {
    const struct scenario *scenario;
    struct trial trial;
    struct text what; /* the model in words, once it was tried */
};

/* A strategy of a sweep whose sizes do not divide. */
struct work_skipped {
    const struct scenario *scenario;
    char *why;
};

struct work {
    const char **names, **sets, **strategies; /* of the command line, not owned */
    size_t nnames, nsets, nstrategies;
    struct scenario_file **files; /* by name; NULL: could not be loaded */
    struct work_item *items;
    size_t nitems;
    struct work_skipped *skipped;
    size_t nskipped;
    struct diag diag;
    struct log log;
    bool over_ranks; /* all ranks try all of it together: set by work_prepare_all() */
    const char *spread_axis; /* along which devices are spread over ranks; NULL: in their order */
};

/* Files, --set, --strategy and --quiet, for a subcommand's own argp to have as a child; its input
 * is the work. */
extern const struct argp work_argp;

/* Where devices are spread over ranks; without options in builds that have none.  The same input. */
extern const struct argp work_spread_argp;

/* Nothing yet, with room for the arguments of a command line.  False: no memory, which is told. */
bool work_init(struct work *out, int argc);
void work_fini(struct work *work);

/* Load all files and build all programs, so that every error is told before anything runs: it is in
 * `diag`.  CMD_OK, CMD_USAGE or CMD_CANNOT (no memory). */
int work_load(struct work *work);

/* The same; errors and skipped strategies are printed. */
int work_prepare(struct work *work);

/* The same, where all ranks have made it ready: all go on, or none does.  Rank 0 says so. */
int work_prepare_all(struct work *work);

/* Why a strategy takes more than who did not ask to execute it wants to wait for, as what is said
 * after its name; NULL: it does not.  `*flops` are those of the strategies before it, to begin with
 * 0, and then its own, too. */
const char *work_too_much(const struct work_item *item, double *flops);

/* For who tries strategies otherwise (sweep.h): read the files, with room for all items; whether a
 * strategy is one of those that were asked for; leave one out, with the reason; say that all are
 * there.  What work_prepare() says of a work and its exit status, which is returned. */
int work_read(struct work *work);
bool work_wants(const struct work *work, const char *strategy);
void work_skip(struct work *work, const struct scenario *scenario, const char *why);
int work_end_load(struct work *work);
int work_tell(struct work *work, int exit);

/* Whether a file is standard input, which only rank 0 has. */
bool work_reads_input(const struct work *work);

/* What is told of an item that was tried, which it points into.  False: no memory. */
bool work_describe(struct work_item *item, struct result *result);

/* Execute or plan one strategy, with progress; on SHD_OK the result is set, and points into the
 * item.  Otherwise the error is logged.  Returns the exit status. */
int work_try(struct work *work, struct work_item *item, enum record_mode mode,
             struct result *result);

/* Look for what would make an item's step fit its device, and say so in a note.  Returns the exit
 * status: CMD_OK, or CMD_CANNOT. */
int work_tell_fit(struct work *work, const struct work_item *item);

/* Write a report that was made with `status` to a file, or where that is NULL or "-" to standard
 * output; or say why there is none.  Returns the exit status. */
int work_put(struct work *work, const char *path, const struct text *text, int status,
             const struct shd_error *err);

#endif /* CMD_WORK_H */
