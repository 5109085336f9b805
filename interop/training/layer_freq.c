/* Reads which layers have experts, as Megatron-LM says it.
 *
 * 2                     the first of every two
 * [0]*3+[1]*58          a list in Python: sums of lists, each times a number, brackets around
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "training/job.h"

#define DEPTH_MAX 16 /* brackets in brackets */

struct pattern {
    const char *at;
    size_t max;       /* layers */
    struct text ones; /* a '0' or '1' a layer */
    int depth;
};

static bool take(struct pattern *p, char c)
{
    while (*p->at == ' ')
        p->at++;
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static bool read_sum(struct pattern *p);

/* [0, 1] or (...) */
static bool read_list(struct pattern *p)
{
    bool read = false;

    if (take(p, '(')) {
        if (++p->depth > DEPTH_MAX || !read_sum(p))
            return false;
        p->depth--;
        return take(p, ')');
    }
    if (!take(p, '['))
        return false;
    do {
        char digit = take(p, '1') ? '1' : '0';

        read = digit == '1' || take(p, '0');
        text_add_char(&p->ones, digit);
    } while (read && p->ones.length <= p->max && take(p, ','));
    return read && take(p, ']');
}

static bool read_product(struct pattern *p)
{
    size_t from = p->ones.length, length;
    unsigned long times = 1;

    if (!read_list(p))
        return false;
    length = p->ones.length - from;
    while (take(p, '*')) {
        char *end;

        times = strtoul(p->at, &end, 10);
        if (!isdigit((unsigned char)*p->at) || times == 0 || times > p->max)
            return false;
        p->at = end;
        for (unsigned long i = 1; i < times && p->ones.length <= p->max; i++)
            for (size_t k = 0; k < length; k++)
                text_add_char(&p->ones, text_get(&p->ones)[from + k]);
        length = p->ones.length - from;
    }
    return p->ones.length <= p->max;
}

static bool read_sum(struct pattern *p)
{
    do
        if (!read_product(p))
            return false;
    while (take(p, '+'));
    return true;
}

/* Find sizes of `moe:` that give the same layers; false: none do. */
static bool fit(struct import_job *job, const char *ones)
{
    const char *first = strchr(ones, '1');
    const char *second = first ? strchr(first + 1, '1') : NULL;

    if (!first)
        return false;
    job->every = second ? second - first : 1;
    job->first_dense = first - ones - (job->every - 1);
    if (job->first_dense < 0)
        return false;
    for (int64_t i = 0; i < job->layers; i++) {
        int64_t after = i - job->first_dense;

        if ((ones[i] == '1') != (after >= 0 && after % job->every == job->every - 1))
            return false;
    }
    return true;
}

/* If the layers of each stage are whole groups, it makes no difference which layer of a group has
 * the experts. */
static void read_number(struct import_job *job, const char *text, struct diag *diag)
{
    int64_t stages = job->stages * (job->virtual_stages > 0 ? job->virtual_stages : 1);
    int64_t every = strtoll(text, NULL, 10);

    if (every < 1 || every > job->layers || job->layers % stages ||
        job->layers / stages % every != 0 || job->stage_layers.length > 0) {
        diag_error(diag, job->layer_freq.place,
                   "--moe-layer-freq %.20s does not divide the layers of each stage; expected a "
                   "list with the MoE layer last in each group, such as ([0]+[1])*4",
                   text);
        return;
    }
    job->every = every;
    if (every > 1)
        text_addf(&job->notes,
                  "# The last of every %" PRId64 " layers is an MoE layer, in Megatron-LM the "
                  "first: the same number per stage.\n",
                  every);
}

bool import_job_is_expert_whole(const struct import_job *job)
{
    return job->experts > 0 && job->tensor > 1 && job->expert_tensor == 1;
}

void import_job_find_experts(struct import_job *job, struct diag *diag)
{
    struct pattern p = {.at = job->layer_freq.text, .max = (size_t)job->layers, .ones = TEXT_INIT};
    struct place place = job->layer_freq.place;
    const char *text = job->layer_freq.text;

    if (!text || job->experts == 0 || job->layers == 0)
        return;
    if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0')
        read_number(job, text, diag);
    else if (!read_sum(&p) || *p.at || p.ones.length != p.max)
        diag_error(diag, place,
                   "--moe-layer-freq '%.60s' is not a list of %" PRId64 " layers; expected a "
                   "number, or a list with 0 or 1 per layer, such as [0]*3+[1]*5",
                   text, job->layers);
    else if (!fit(job, text_get(&p.ones)))
        diag_error(diag, place,
                   "--moe-layer-freq '%.60s': not modelled; expected dense layers first, then "
                   "groups of equal size with the MoE layer last",
                   text);
    if (p.ones.failed)
        diag_no_memory(diag);
    text_fini(&p.ones);
}
