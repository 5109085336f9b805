/* search/sensitivity.h - what becomes of the best layout on a somewhat worse cluster: links 10 %
 * slower, half the memory, a node less.
 *
 * Each is a search of its own.  With a node less the devices are as many as there is a layout for,
 * counted down by nodes.
 *
 * Thread class: owned by one thread; it runs threads of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SENSITIVITY_H
#define SEARCH_SENSITIVITY_H

#include "search/search.h"

#define SENSITIVITY_NCASES 3

struct sensitivity_case {
    const char *name;
    int64_t devices; /* 0: there is no layout for fewer */
    bool any;        /* one fits: `layout` is the best */
    struct layout layout;
    struct modelled_figures figures;
    double proven_s; /* as in struct search */
    double before_s; /* the step of the layout that was best before; 0: it is none here */
};

struct sensitivity {
    struct sensitivity_case cases[SENSITIVITY_NCASES];
    size_t n;
};

/* `before` is the best layout of the subject that the trial, with these ranges, is.  Of `opts` the
 * journal does not count.  SHD_ENOMEM. */
SHD_MUST_CHECK int sensitivity_find(struct sensitivity *out, const struct trial *trial,
                                    const struct space *space, const struct layout *before,
                                    const struct search_opts *opts, struct shd_error *err);

#endif /* SEARCH_SENSITIVITY_H */
