/* The indexes of the largest scores.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/kernel.h"
#include "kern/nest.h"

#define TOKENS 16 /* in one task */
#define BLOCK 64  /* scores converted at a time */

struct topk_run {
    const struct kern_topk *k;
    const char *scores;
    int32_t *ids;
    double *room; /* [tasks][classes + groups]: scores of a token, and of groups */
};

/* Sort key of a score. NaN sorts above infinity, as in PyTorch and JAX: first among the largest,
 * last among the smallest. */
static double comparable(double score, bool smallest)
{
    double size = isnan(score)       ? INFINITY
                  : score > DBL_MAX  ? DBL_MAX
                  : score < -DBL_MAX ? -DBL_MAX
                                     : score;

    return smallest ? -size : size;
}

static void load(const struct kern_topk *k, const char *scores, double *out)
{
    double block[BLOCK + KERN_LANES];

    for (int64_t at = 0; at < k->classes; at += BLOCK) {
        int64_t n = k->classes - at < BLOCK ? k->classes - at : BLOCK;

        kern_load_f64(k->dtype, scores + (size_t)at * kern_size(k->dtype), 1, (size_t)n, block);
        for (int64_t i = 0; i < n; i++)
            out[at + i] = comparable(block[i], k->smallest);
    }
}

/* The index of the first largest of n values that are not taken (NAN); -1: all are taken. */
static int64_t best(const double *values, int64_t n)
{
    int64_t found = -1;

    for (int64_t i = 0; i < n; i++)
        if (!isnan(values[i]) && (found < 0 || values[i] > values[found]))
            found = i;
    return found;
}

static double worth(const struct kern_topk *k, const double *scores)
{
    int64_t n = k->classes / k->groups, first = best(scores, n), second = -1;

    for (int64_t i = 0; i < n; i++)
        if (i != first && (second < 0 || scores[i] > scores[second]))
            second = i;
    return k->by_largest || second < 0 ? scores[first] : scores[first] + scores[second];
}

/* Remove the scores of all but the best groups. */
static void limit_groups(const struct kern_topk *k, double *scores, double *groups)
{
    int64_t n = k->classes / k->groups;

    if (k->kept >= k->groups)
        return;
    for (uint32_t g = 0; g < k->groups; g++)
        groups[g] = comparable(worth(k, scores + (int64_t)g * n), false);
    for (uint32_t j = 0; j < k->kept; j++)
        groups[best(groups, k->groups)] = NAN;
    for (uint32_t g = 0; g < k->groups; g++)
        for (int64_t i = 0; i < n && !isnan(groups[g]); i++)
            scores[(int64_t)g * n + i] = NAN;
}

static uint64_t choose(void *arg, int64_t task)
{
    const struct topk_run *run = arg;
    const struct kern_topk *k = run->k;
    double *scores = run->room + task * (k->classes + k->groups), *groups = scores + k->classes;
    int64_t end = k->tokens - task * TOKENS < TOKENS ? k->tokens : (task + 1) * TOKENS;

    for (int64_t t = task * TOKENS; t < end; t++) {
        load(k, run->scores + (size_t)(t * k->classes) * kern_size(k->dtype), scores);
        limit_groups(k, scores, groups);
        for (int64_t j = 0; j < k->choices; j++) {
            int64_t id = best(scores, k->classes);

            run->ids[t * k->choices + j] = (int32_t)id;
            scores[id] = NAN;
        }
    }
    return 0;
}

static int64_t ntasks(const struct kern_topk *k)
{
    return (k->tokens + TOKENS - 1) / TOKENS;
}

static uint64_t workspace_bytes(const union kern_desc *desc)
{
    const int64_t extent[] = {ntasks(&desc->topk), desc->topk.classes + desc->topk.groups};

    return kern_sat_mul(kern_elements(2, extent, 3), sizeof(double));
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    struct topk_run all = {&desc->topk, args->in[0], args->out[0], args->workspace};

    return kern_parallel(choose, &all, ntasks(all.k), args->nthreads);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const int64_t scores[] = {desc->topk.tokens, desc->topk.classes};
    const int64_t ids[] = {desc->topk.tokens, desc->topk.choices};

    (void)offsets;
    return kern_sat_add(kern_sat_mul(kern_elements(2, scores, 3), kern_size(desc->topk.dtype)),
                        kern_sat_mul(kern_elements(2, ids, 3), sizeof(int32_t)));
}

/* The results are integers, compared exactly. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    (void)desc;
    e->kept = true;
    return true;
}

/* Cut tokens. */
static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_topk *k = &desc->topk;

    (void)wanted;
    out->rows = k->classes * k->choices > 0 ? k->tokens : 0;
    out->in[0] = (struct kern_cut_array){1, 1, k->classes};
    out->out[0] = (struct kern_cut_array){1, 1, k->choices};
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)cut, (void)first, (void)offsets;
    desc->topk.tokens = count;
}

const struct kern_kernel kern_kernel_topk = {.name = "topk",
                                             .run = run,
                                             .bytes = bytes,
                                             .workspace_bytes = workspace_bytes,
                                             .error = error,
                                             .cut = cut,
                                             .part = part};
