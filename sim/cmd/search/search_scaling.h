/* search_scaling.h - the best layout for each of several counts of devices.
 *
 * Thread class: owned by one thread; the searches run threads of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SEARCH_SEARCH_SCALING_H
#define CMD_SEARCH_SEARCH_SCALING_H

#include "search/search.h"

#define SCALING_MOST 64 /* counts */

struct scaling {
    const struct trial *trial;
    const struct space_range *ranges;
    size_t nranges;
    const int64_t *counts; /* ascending */
    size_t ncounts;
    const struct subject_filter *filter; /* NULL: none */
    double price; /* of a device for an hour; 0: not given */
    bool json;
    const char *picture; /* NULL: none */
    struct search_opts opts;
};

/* Parse "64", "64..4096" (64, 128 and so on), or a rising list "64,96,128".  SHD_EINVAL,
 * SHD_ERANGE. */
SHD_MUST_CHECK int scaling_parse(int64_t counts[SCALING_MOST], size_t *n, const char *text,
                                 struct shd_error *err);

/* Search for each number of devices and print the results; returns the program's exit status. */
SHD_MUST_CHECK int scaling_run(const struct scaling *scaling);

#endif /* CMD_SEARCH_SEARCH_SCALING_H */
