/* Traces of requests, read or drawn (trace.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "base/escape.h"
#include "base/hash.h"
#include "serving/trace_fields.h"

#define SECOND_NS 1e9
#define BLOCK_TOKENS_MAX 65536

void trace_fini(struct request_trace *trace)
{
    free(trace->requests);
    free(trace->blocks);
    free(trace->skipped);
    *trace = (struct request_trace){.nrequests = 0};
}

/* ---- from a file ---- */

/* Requests that arrive at the same time stay in the order of the file: what they read of blocks
 * tells it, and among those without blocks sorting must be stable. */
struct arrival {
    struct trace_request request;
    uint32_t row;
};

static int order_arrivals(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    int64_t left = x->request.arrival_ns, right = y->request.arrival_ns;

    return left != right ? (left > right) - (left < right) : (x->row > y->row) - (x->row < y->row);
}

static bool sort(struct request_trace *t)
{
    struct arrival *arrivals = malloc(((size_t)t->nrequests + 1) * sizeof *arrivals);

    if (!arrivals)
        return false;
    for (uint32_t i = 0; i < t->nrequests; i++)
        arrivals[i] = (struct arrival){t->requests[i], i};
    qsort(arrivals, t->nrequests, sizeof *arrivals, order_arrivals);
    for (uint32_t i = 0; i < t->nrequests; i++)
        t->requests[i] = arrivals[i].request;
    free(arrivals);
    return true;
}

/* The tokens of a block, which files do not say: the power of two by which every prompt has as many
 * blocks as it has numbers.  0: there is none. */
static uint32_t find_block_tokens(const struct request_trace *t)
{
    for (uint32_t tokens = 1; tokens <= BLOCK_TOKENS_MAX; tokens *= 2) {
        uint32_t i = 0;

        while (i < t->nrequests &&
               (t->requests[i].nblocks == 0 ||
                t->requests[i].nblocks == (t->requests[i].prompt + tokens - 1) / tokens))
            i++;
        if (i == t->nrequests)
            return tokens;
    }
    return 0;
}

/* Keep the names of fields that were skipped. */
static void keep_skipped(const struct trace_reading *r)
{
    static const char *const media[] = {"image", "audio", "video"};
    struct text names = TEXT_INIT;

    for (size_t i = 0; i < r->nskipped; i++) {
        text_add(&names, i > 0 ? ", " : "");
        escape_add_bytes(&names, r->skipped[i].at, r->skipped[i].length);
    }
    if (r->nskipped == 0)
        return;
    r->trace->skipped = text_take(&names);
    if (!r->trace->skipped)
        diag_no_memory(r->diag);
    for (char *c = r->trace->skipped; c && *c; c++)
        for (size_t i = 0; i < sizeof media / sizeof media[0]; i++)
            r->trace->has_media |= !strncasecmp(c, media[i], strlen(media[i]));
}

static void finish(const struct trace_reading *r, int64_t unit_ns)
{
    struct request_trace *t = r->trace;
    struct diag *diag = r->diag;
    const struct place file = {r->path, 0, 0};
    size_t before = diag->nerrors;

    if (t->nrequests == 0 && t->nempty > 0) {
        diag_error(diag, file,
                   "no request has both a prompt and an output (%" PRIu32 " request%s in total)",
                   t->nempty, t->nempty == 1 ? "" : "s");
        return;
    }
    if (t->nrequests == 0) {
        diag_error(diag, file, "no requests; expected one per line");
        return;
    }
    trace_times_set(t, &r->times, unit_ns, file, diag);
    if (diag->nerrors > before)
        return;
    if (!sort(t)) {
        diag_no_memory(diag);
        return;
    }
    keep_skipped(r);
    if (t->requests[t->nrequests - 1].arrival_ns - t->requests[0].arrival_ns > TRACE_SPAN_MAX_NS)
        diag_error(diag, file,
                   "requests arrive over more than 30 years; expected arrival times in one unit");
    for (uint32_t i = t->nrequests; i-- > 0;)
        t->requests[i].arrival_ns -= t->requests[0].arrival_ns;
    t->block_tokens = t->nblocks > 0 ? find_block_tokens(t) : 0;
    if (t->nblocks > 0 && t->block_tokens == 0)
        diag_error(diag, file,
                   "the size of a block cannot be inferred from hash_ids; expected for each prompt "
                   "its tokens divided by one power of two, rounded up");
}

int trace_parse(struct request_trace *out, const char *path, const char *text, size_t length,
                int64_t unit_ns, struct diag *diag)
{
    struct trace_reading reading = {.trace = out, .path = path, .diag = diag};
    size_t before = diag->nerrors, space = 0;
    int status;

    *out = (struct request_trace){.nrequests = 0};
    while (space < length && strchr(" \t\r\n", text[space]) && text[space])
        space++;
    (space < length && text[space] == '{' ? trace_read_jsonl : trace_read_csv)(&reading, text,
                                                                               length);
    map_fini(&reading.known);
    free(reading.ids);
    if (diag_status(diag, before) == SHD_OK)
        finish(&reading, unit_ns);
    free(reading.times.values);
    status = diag_status(diag, before);
    if (status != SHD_OK)
        trace_fini(out);
    return status;
}

void trace_limit(struct request_trace *t, uint32_t n)
{
    if (t->nrequests > n)
        t->nrequests = n;
}

int trace_scale(struct request_trace *t, double rate, struct shd_error *err)
{
    int64_t span_ns = t->requests[t->nrequests - 1].arrival_ns;
    double wanted_ns = (t->nrequests - 1) / rate * SECOND_NS;

    if (span_ns == 0 && wanted_ns > 0)
        return shd_error_set(err, SHD_EINVAL,
                             "all requests arrive at once: no rate can rescale their times");
    if (wanted_ns > (double)TRACE_SPAN_MAX_NS)
        return shd_error_set(err, SHD_ERANGE,
                             "at %g requests a second the last arrives after more than 30 years",
                             rate);
    t->unit = (struct trace_unit){.source = TRACE_UNIT_NONE}; /* of no effect any longer */
    for (uint32_t i = 0; i < t->nrequests && span_ns > 0; i++)
        t->requests[i].arrival_ns =
            llround((double)t->requests[i].arrival_ns / (double)span_ns * wanted_ns);
    return SHD_OK;
}

/* ---- at random ---- */

/* A number between 0 and 1, both excluded, of a counter: the high 52 bits of what is mixed twice.
 */
static double draw(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint64_t begin = (seed * 4 + stream) * UINT64_C(0x2545f4914f6cdd1d);
    uint64_t z = hash_mix(hash_mix(begin + counter * HASH_MIX_STEP));

    return ((double)(z >> 12) + 0.5) / 0x1p52;
}

/* A length of this request, by the transform of Box and Muller. */
static uint32_t draw_length(const struct trace_lengths *l, uint64_t seed, uint64_t stream,
                            uint64_t counter)
{
    double ratio = l->deviation / l->mean, variance = log1p(ratio * ratio);
    double normal = sqrt(-2 * log(draw(seed, stream, 2 * counter))) *
                    cos(2 * acos(-1.0) * draw(seed, stream, 2 * counter + 1));
    double length = l->deviation > 0
                        ? round(exp(log(l->mean) - variance / 2 + sqrt(variance) * normal))
                        : l->mean;

    return (uint32_t)fmin(fmax(length, 1), TRACE_TOKENS_MAX);
}

int trace_draw(struct request_trace *out, const struct trace_synthetic *s, struct shd_error *err)
{
    struct trace_request *requests = calloc((size_t)s->nrequests + 1, sizeof *requests);
    double at_s = 0;

    if (!requests)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %u requests", s->nrequests);
    for (uint32_t i = 0; i < s->nrequests; i++) {
        at_s += i > 0 ? -log(draw(s->seed, 0, i)) / s->rate : 0;
        if (at_s * SECOND_NS > (double)TRACE_SPAN_MAX_NS) {
            free(requests);
            return shd_error_set(
                err, SHD_ERANGE,
                "at %g requests a second the last arrives after more than 30 years", s->rate);
        }
        requests[i].arrival_ns = llround(at_s * SECOND_NS);
        requests[i].prompt = draw_length(&s->prompt, s->seed, 1, i);
        requests[i].output = draw_length(&s->output, s->seed, 2, i);
    }
    *out = (struct request_trace){.requests = requests, .nrequests = s->nrequests};
    return SHD_OK;
}

int trace_parse_lengths(struct trace_lengths *out, const char *text, struct shd_error *err)
{
    static const char word[] = "lognormal:";
    bool random = !strncmp(text, word, sizeof word - 1);
    const char *at = random ? text + sizeof word - 1 : text;
    struct trace_lengths lengths = {0, 0};
    char *end;

    lengths.mean = decimal_read(at, &end);
    if (end == at || (random && *end != ','))
        return shd_error_set(err, SHD_EINVAL,
                             "'%s' is not a number of tokens; expected e.g. 512, or "
                             "lognormal:512,300 with mean and standard deviation",
                             text);
    if (random) {
        at = end + 1;
        lengths.deviation = decimal_read(at, &end);
    }
    if (end == at || *end || !(lengths.mean >= 1 && lengths.mean <= TRACE_TOKENS_MAX) ||
        !(lengths.deviation >= 0 && lengths.deviation <= TRACE_TOKENS_MAX) ||
        (!random && floor(lengths.mean) < lengths.mean))
        return shd_error_set(err, SHD_ERANGE, "'%s': expected %s from 1 to %u tokens%s", text,
                             random ? "a mean" : "a whole number", TRACE_TOKENS_MAX,
                             random ? " and a standard deviation from 0 on" : "");
    *out = lengths;
    return SHD_OK;
}
