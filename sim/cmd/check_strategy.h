/* check_strategy.h - one strategy of `shardsim check`: what it is now, and what is wrong with it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_CHECK_STRATEGY_H
#define CMD_CHECK_STRATEGY_H

#include "cmd/work.h"
#include "report/outcome.h"
#include "store/baseline.h"

/* What was asked for on the command line. */
struct check_wish {
    bool plan, update, quiet, verbose;
    uint64_t whole_bytes;
    const char *memory; /* NULL: the default */
};

struct check_strategy {
    struct baseline now;
    enum outcome_kind wrong_kind; /* of the first of `wrong` */
    struct diag wrong;            /* what cannot be accepted: numbers, memory */
    bool is_new;                  /* there is no baseline */
    struct diag changes; /* what can be accepted: against the baseline, and findings of lint */
};

/* Try one strategy and compare it with its baseline (NULL: there is none), which is told
 * where in the scenario its options stand.  Returns CMD_OK also
 * when something is wrong or changed; CMD_CANNOT or CMD_INTERRUPTED when the rest need not be
 * tried.  Free with check_strategy_fini() either way. */
int check_strategy_init(struct check_strategy *out, struct work *work, struct work_item *item,
                        enum record_mode mode, const struct check_wish *wish, struct baseline *was);
void check_strategy_fini(struct check_strategy *strategy);

#endif /* CMD_CHECK_STRATEGY_H */
