/* Prints the time and memory of each rank that shares the unsharded computation of a scenario, a
 * line of JSON per rank; without mpirun there is one rank.  See results/bench/reference_ranks.md.
 *
 * usage: reference_ranks SCENARIO [KEY=VALUE...]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/text.h"
#include "run/ranks/ranks.h"
#include "scenario/scenario.h"
#include "trial/trial.h"
#include "trial/verify.h"

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int measure(const struct trial *trial, struct shd_error *err)
{
    struct verify_opts opts = {.ndevices = shd_mesh_size(trial->mesh),
                               .nsteps = (uint32_t)trial->scenario->steps,
                               .nthreads = 1,
                               .shared = true};
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    struct verify_reference reference;
    struct rusage usage;
    int status = verify_reference(&reference, trial->graph, &opts, err);

    if (status != SHD_OK)
        return status;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"rank\": %d, \"ranks\": %d, \"flops\": %llu, \"array_bytes\": %llu, "
           "\"resident_bytes\": %llu, \"cpu_seconds\": %.3f, \"seconds\": %.3f}\n",
           ranks_me(), ranks_count(), (unsigned long long)reference.work.flops,
           (unsigned long long)reference.work.peak_bytes,
           (unsigned long long)usage.ru_maxrss * 1024, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
           seconds(CLOCK_MONOTONIC) - wall);
    verify_reference_fini(&reference);
    return status;
}

int main(int argc, char **argv)
{
    struct diag diag = DIAG_INIT;
    struct text text = TEXT_INIT;
    struct scenario_file *file = NULL;
    struct trial trial;
    struct shd_error err = {.status = SHD_OK};
    int status = ranks_begin(&err);

    if (argc < 2)
        status = shd_error_set(&err, SHD_EINVAL, "usage: reference_ranks SCENARIO [KEY=VALUE...]");
    if (status == SHD_OK)
        status =
            scenario_load(&file, argv[1], (const char *const *)argv + 2, (size_t)argc - 2, &diag);
    if (status == SHD_OK && (status = trial_init(&trial, &file->scenarios[0], &diag)) == SHD_OK) {
        status = measure(&trial, &err);
        trial_fini(&trial);
    }
    diag_print(&diag, &text);
    fputs(text_get(&text), stderr);
    text_fini(&text);
    if (err.status != SHD_OK)
        fprintf(stderr, "%s\n", err.text);
    scenario_file_destroy(file);
    diag_fini(&diag);
    ranks_end();
    return status != SHD_OK;
}
