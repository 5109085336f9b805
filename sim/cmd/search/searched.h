/* searched.h - a requested search: of layouts, of layouts for several numbers of devices, or of
 * tensors.
 *
 * Thread class: owned by one thread; the searches run threads of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SEARCH_SEARCHED_H
#define CMD_SEARCH_SEARCHED_H

#include "base/log.h"
#include "command/chosen.h"
#include "cmd/search/search_scaling.h"
#include "export/export.h"

struct searched {
    struct chosen chosen;
    struct space_range ranges[SPACE_RANGES_MAX];
    size_t nranges, ntop, nplans, row;
    const struct export_target *target; /* only layouts that this system can express; NULL: all */
    int64_t devices;              /* 0: the mesh's number */
    int64_t counts[SCALING_MOST]; /* of a scaling study */
    size_t ncounts;
    double price;          /* of a device for an hour; 0: not given */
    double within_s;       /* 0: find the shortest step */
    int nthreads, seconds; /* 0 seconds: no limit */
    bool all, json, quiet, sensitivity, force; /* force: overwrite an existing file */
    const char *output, *journal, *picture;
    bool serve;            /* layouts of a serving step, ... */
    bool apart;            /* ... disaggregated prefill and decode, ... */
    double ttft_s, tpot_s; /* ... within these times; 0: no limit */
    bool by_tensors;
    const char *tensors;
    uint64_t memory_bytes;
    struct farm *farm; /* over all ranks; NULL: one rank */
    struct log *log;
};

/* Search, as rank 0 with the help of the others, and print what is found; returns the exit status.
 * End with chosen_fini(). */
int searched_run(struct searched *searched);

#endif /* CMD_SEARCH_SEARCHED_H */
