/* search/families.h - the kinds of layouts that people ask for, and the best of each kind beside
 * the best of all.
 *
 * A family is a part of the space, by ranges: data parallelism alone with a stage of ZeRO, and for
 * each other kind of parallelism the layouts that have it, or that do without where the best has
 * it. The best is in none of those that are told.
 *
 * Thread class: owned by the search's thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_FAMILIES_H
#define SEARCH_FAMILIES_H

#include "search/search.h"

enum family_state {
    FAMILY_FITS,    /* `item` is the best of it, and planned */
    FAMILY_TOO_BIG, /* `item` has the lowest bound of memory */
    FAMILY_OPEN,    /* none was found, and none is below the bound of `item` */
    FAMILY_REFUSED, /* of all its layouts, not by their memory alone */
    FAMILY_NONE     /* it has no layouts */
};

struct family {
    const char *name; /* "FSDP" */
    enum family_state state;
    uint32_t item;
    const char *undivided; /* NONE: the count that does not divide; NULL: another rule */
    int64_t whole, parts;
    const char *by;    /* what the parts are */
    const char *range; /* a choice that is tried only if it has a range; NULL: it is tried */
};

#define FAMILIES_MAX 8

struct families {
    struct family of[FAMILIES_MAX];
    size_t n;
};

/* Find the families of a search that has a best layout, those that its ranges allow.  A plan may be
 * better than the best of a search that was cut short.  SHD_ENOMEM. */
SHD_MUST_CHECK int families_find(struct families *out, struct search *search,
                                 const struct search_opts *opts, struct shd_error *err);

#endif /* SEARCH_FAMILIES_H */
