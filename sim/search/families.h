/* search/families.h - common kinds of layouts (FSDP, tensor parallel ...), and the best of each kind.
 *
 * A family is a part of the space, given by ranges: plain data parallelism with one stage of ZeRO;
 * and for each other kind of parallelism the layouts that use it or, if the best layout uses it,
 * the layouts without it.  Families that contain the best layout are left out.
 *
 * Thread class: owned by the search's thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_FAMILIES_H
#define SEARCH_FAMILIES_H

#include "search/search.h"

enum family_state {
    FAMILY_FITS,    /* `item` is its best layout, and planned */
    FAMILY_TOO_BIG, /* `item` is the layout with the lowest bound on memory */
    FAMILY_OPEN,    /* no layout was found to fit; `item` has the lowest bound */
    FAMILY_REFUSED, /* all its layouts are refused, not for memory alone */
    FAMILY_NONE     /* it has no layouts */
};

struct family {
    const char *name; /* "FSDP" */
    enum family_state state;
    uint32_t item;
    const char *undivided; /* FAMILY_NONE: the count that does not divide; NULL: another rule */
    int64_t whole, parts;
    const char *by;    /* the axes whose size is `parts` */
    const char *range; /* the choice that needs a --range to be tried; NULL: none */
};

#define FAMILIES_MAX 8

struct families {
    struct family of[FAMILIES_MAX];
    size_t n;
};

/* Find the families of a search that has a best layout, as far as its ranges allow them.  If the
 * search was cut short, a plan made here may beat its best.  SHD_ENOMEM. */
SHD_MUST_CHECK int families_find(struct families *out, struct search *search,
                                 const struct search_opts *opts, struct shd_error *err);

#endif /* SEARCH_FAMILIES_H */
