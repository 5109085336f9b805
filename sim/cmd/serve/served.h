/* served.h - a trace of requests, served by replicas of a scenario under one or several policies,
 * compared side by side.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SERVE_SERVED_H
#define CMD_SERVE_SERVED_H

#include "command/chosen.h"
#include "serving/report.h"

#define SERVED_POLICIES_MAX 8

struct served {
    struct chosen chosen;
    const char *trace;            /* file; NULL: synthetic, from `drawn` */
    int64_t unit_ns;              /* of the file's times; 0: detected by trace_parse() */
    uint32_t nrequests;           /* the first of the file; 0: all */
    double rate;                  /* 0: as in the file */
    uint32_t concurrency;         /* requests in the system at most; 0: any number */
    struct trace_synthetic drawn; /* except the rate and the number of requests */
    const char *policies[SERVED_POLICIES_MAX];
    size_t npolicies;             /* 0: all */
    uint32_t nreplicas, nprefill; /* 0 of `nprefill`: half */
    struct serving_limits limits;
    struct serving_goal goal;
    enum serving_format format;
    const char *path; /* NULL: standard output */
};

/* Plan, simulate and print; returns the exit status. */
int served_run(struct served *served);

#endif /* CMD_SERVE_SERVED_H */
