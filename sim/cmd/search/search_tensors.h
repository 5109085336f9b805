/* search_tensors.h - `shardsim search --tensors`: search, print the result, and write it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SEARCH_SEARCH_TENSORS_H
#define CMD_SEARCH_SEARCH_TENSORS_H

#include "search/tensors.h"

struct search_tensors {
    bool json;
    const char *output; /* the best way's scenario; NULL: none */
    struct tensors_opts opts;
};

/* Returns the exit status; CMD_FAILED: no way fits. */
int search_tensors_run(const struct trial *trial, const struct search_tensors *asked);

#endif /* CMD_SEARCH_SEARCH_TENSORS_H */
