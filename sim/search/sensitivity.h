/* search/sensitivity.h - repeats the search on somewhat worse clusters: links 10 % slower, half the
 * memory, a node less.
 *
 * Each case is a search of its own.  For the last case nodes are taken away until there is a layout
 * for the remaining devices.
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
    int64_t devices; /* 0: no layout for fewer devices */
    bool any;        /* a layout fits: `layout` is the best */
    struct layout layout;
    struct modelled_figures figures;
    double proven_s; /* as in struct search */
    double before_s; /* step of the layout that was best before; 0: that layout is impossible
                        here */
};

struct sensitivity {
    struct sensitivity_case cases[SENSITIVITY_NCASES];
    size_t n;
};

/* `before` is the best layout of the trial with the ranges and the filter of `asked`. The journal
 * of `opts` is not used.  SHD_ENOMEM. */
SHD_MUST_CHECK int sensitivity_find(struct sensitivity *out, const struct trial *trial,
                                    const struct subject *asked, const struct layout *before,
                                    const struct search_opts *opts, struct shd_error *err);

#endif /* SEARCH_SENSITIVITY_H */
