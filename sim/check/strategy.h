/* strategy.h - one strategy of `shardsim check`: its new baseline, its errors and its
 * changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_STRATEGY_H
#define CHECK_STRATEGY_H

#include "command/work.h"
#include "report/outcome.h"
#include "check/baseline.h"

#define CHECK_WORDS_MAX 100

/* The options of the command line. */
struct check_wish {
    bool plan, update, quiet, verbose;
    uint64_t whole_bytes;
    const char *memory; /* NULL: the default */
    char *words[CHECK_WORDS_MAX]; /* owned; settings of a script, "devices=64", in addition to the
                                           baseline's */
    size_t nwords;
};

/* The comparison's other side: the strategy's baseline, with the places of options in the scenario
 * filled in (NULL: none); and the lines of the script from which the scenario was made (NULL: not
 * made from a script). */
struct check_before {
    struct baseline *was;
    const struct baseline *lines;
    const struct diag
        *unplanned; /* options of a script that the scenario cannot express; NULL: none */
};

struct check_strategy {
    struct baseline now;
    enum outcome_kind wrong_kind; /* of the first of `wrong` */
    struct diag wrong;            /* errors that cannot be accepted: numbers, memory */
    enum outcome_kind changed_kind; /* of `changes`: OUTCOME_NEW without a baseline to compare with,
                                       else OUTCOME_CHANGED or OUTCOME_TOOL_CHANGED */
    struct diag changes; /* changes from the baseline, and findings of lint; can be accepted */
};

/* Try one strategy and compare it with its baseline.  Returns CMD_OK also when something is wrong
 * or changed; CMD_CANNOT or CMD_INTERRUPTED when the remaining strategies need not be tried.  Free
 * with check_strategy_fini() either way. */
int check_strategy_init(struct check_strategy *out, struct work *work, struct work_item *item,
                        enum record_mode mode, const struct check_wish *wish,
                        const struct check_before *before);
void check_strategy_fini(struct check_strategy *strategy);

#endif /* CHECK_STRATEGY_H */
