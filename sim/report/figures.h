/* figures.h - every figure that a strategy is judged by: one row each, from which text, JSON, CSV,
 * baselines, the database of runs, searches and pictures print.
 *
 * A figure has one key, one meaning, one unit and one label wherever it is printed.  A key ends in
 * "_most" if the figure is that of the device with the most of it (its label says "a device"), and
 * begins with the figure's origin if it was measured, replayed or modelled.  In JSON, figures of one
 * origin are in an object of their own ("time.modelled"), where their keys lack the origin.
 *
 * Thread class: owned by one thread; the table is constant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include <shd/error.h>

#include "base/json_out.h"
#include "base/pack.h"
#include "base/text.h"
#include "base/uint128.h"
#include "program/record.h"
#include "report/modelled.h"

enum figure_unit {
    FIGURE_TEXT,
    FIGURE_COUNT, /* whole */
    FIGURE_BYTES, /* whole */
    FIGURE_RATIO, /* mean / most */
    FIGURE_SECONDS,
    FIGURE_SHARE, /* a fraction, shown in percent */
    FIGURE_RATE,  /* in a second */
    FIGURE_MEAN,  /* of any size: shown with three digits */
    FIGURE_ERROR, /* relative */
    FIGURE_TIMES, /* this strategy's value / the base's, said in words: "1.80x fewer" */
    FIGURE_NUNITS
};

/* Where a figure is from.  Figures of different origins are never compared with each other. */
enum figure_origin {
    FIGURE_COUNTED, /* where it happened, or in the plan: exact */
    FIGURE_MEASURED,
    FIGURE_REPLAYED,
    FIGURE_MODELLED,
    FIGURE_COMPARED, /* with the base of a comparison */
    FIGURE_NORIGINS
};

/* Figures, in the order of the columns of tables. */
enum figure_id {
    FIGURE_SCENARIO,
    FIGURE_STRATEGY,
    FIGURE_MESH,
    FIGURE_MICROBATCHES,
    FIGURE_MODE,
    FIGURE_DEVICES,
    FIGURE_RECEIVED_MOST,
    FIGURE_BYTES_TIMES,
    FIGURE_MEMORY_TIMES,
    FIGURE_STEP_TIMES,
    FIGURE_DOMINATED,
    FIGURE_RECEIVED,
    FIGURE_FORWARD,
    FIGURE_BACKWARD,
    FIGURE_OPTIMIZER,
    FIGURE_COLLECTIVES,
    FIGURE_FLOPS_MOST,
    FIGURE_FLOPS,
    FIGURE_MODEL_FLOPS,
    FIGURE_FLOPS_BALANCE,
    FIGURE_ATTENTION,
    FIGURE_EXPERTS,
    FIGURE_EFFICIENCY,
    FIGURE_BUBBLE,
    FIGURE_PEAK_MOST,
    FIGURE_PEAK_TOTAL,
    FIGURE_PEAK_BALANCE,
    FIGURE_OFFLOADED,
    FIGURE_TO_HOST_MOST,
    FIGURE_FROM_HOST_MOST,
    FIGURE_HOST_PEAK_MOST,
    FIGURE_PEAK_WORST,
    FIGURE_CACHE_MOST,
    FIGURE_CACHE_TOTAL,
    FIGURE_CACHE_TOKEN,
    FIGURE_SEQUENCES,
    FIGURE_FITS,
    FIGURE_REPLAYED_STEP,
    FIGURE_REPLAYED_SPREAD,
    FIGURE_REPLAYED_BUSY,
    FIGURE_REPLAYED_WAITING,
    FIGURE_REPLAYED_EXPOSED,
    FIGURE_REPLAYED_IDLE,
    FIGURE_REPLAYED_COMMUNICATION,
    FIGURE_REPLAYED_EXPOSED_HOST,
    FIGURE_MODELLED_STEP,
    FIGURE_MODELLED_MFU,
    FIGURE_MODELLED_MFU_CAUSAL_HALF,
    FIGURE_MODELLED_HFU,
    FIGURE_MODELLED_TOKENS,
    FIGURE_MODELLED_DEVICE_TOKENS,
    FIGURE_MODELLED_TOKEN,
    FIGURE_MODELLED_MBU,
    FIGURE_MODELLED_BOUND,
    FIGURE_MODELLED_COMPUTE,
    FIGURE_MODELLED_MATMUL,
    FIGURE_MODELLED_ATTENTION,
    FIGURE_MODELLED_ELEMENTWISE,
    FIGURE_MODELLED_AGAIN,
    FIGURE_MODELLED_EXPOSED,
    FIGURE_MODELLED_EXPOSED_HOST,
    FIGURE_MODELLED_TO_HOST,
    FIGURE_MODELLED_FROM_HOST,
    FIGURE_MODELLED_HOST_UPDATE,
    FIGURE_MODELLED_WAITING,
    FIGURE_MODELLED_UPDATE,
    FIGURE_MODELLED_MEMORY,
    FIGURE_MODELLED_HOST_MEMORY,
    FIGURE_MODELLED_ERROR, /* unknown: no step of the cluster was measured */
    FIGURE_MEASURED_STEP,
    FIGURE_MEASURED_FASTEST,
    FIGURE_MEASURED_FIRST,
    FIGURE_MEASURED_CPU,
    FIGURE_VERIFIED,
    FIGURE_LARGEST_ERROR,
    FIGURE_BY_AXIS,
    FIGURE_BY_OP,
    FIGURE_WHY,
    NFIGURES
};

/* "bytes", "seconds", ... */
const char *figure_unit_name(enum figure_unit unit);

struct figure_row {
    const char *key;
    const char *label; /* in a sentence: "peak memory of a device" */
    const char *group; /* above the title in a table of strategies */
    const char *title; /* NULL: no column of that table */
    enum figure_unit unit;
    enum figure_origin origin;
    int better;              /* -1: less is, 1: more is, 0: neither */
    const char *less, *more; /* FIGURE_TIMES: the words */
    int kept;                /* in baselines: rank among those kept, from 1; 0: not kept */
    bool judged;             /* by the verdict on a changed layout */
    bool in_plan;            /* a double of struct modelled_figures, at offset `modelled` */
    size_t modelled;
    bool optional;   /* omitted if unknown, not printed as null */
    const char *was; /* the figure's key in former versions; NULL: none */
};

extern const struct figure_row figure_table[NFIGURES];

/* The beginning that keys of an origin have ("modelled_"), and a figure's key without it. */
const char *figure_origin_prefix(enum figure_origin origin);
const char *figure_short_key(enum figure_id id);

/* The figure of this rank among the figures of baselines; NFIGURES: none. */
enum figure_id figure_kept(int rank);

/* Whether the figure is a whole number. */
bool figure_is_whole(enum figure_id id);

/* Add a number as its unit is shown to people: "1.16 MiB", "7.1 %"; `whole` is the value of units
 * that are whole.  figure_add_number(): of a figure. */
void figure_unit_add(struct text *out, enum figure_unit unit, uint128 whole, double number);
void figure_add_number(struct text *out, enum figure_id id, uint128 whole, double number);

/* Add a figure whose row has `in_plan`, with its value in `from`. */
void figure_add_modelled(struct text *out, enum figure_id id, const struct modelled_figures *from);

struct figure_value {
    bool known;
    uint128 whole;    /* FIGURE_COUNT, FIGURE_BYTES */
    double number;    /* all units, FIGURE_COUNT and FIGURE_BYTES included */
    struct text text; /* FIGURE_TEXT */
};

/* The figures of one strategy. */
struct figures {
    struct figure_value values[NFIGURES];
    bool good; /* numbers are right, and the step fits in memory */
};

void figures_set_whole(struct figures *figures, enum figure_id id, uint128 value);
void figures_set_number(struct figures *figures, enum figure_id id, double value);
void figures_set_text(struct figures *figures, enum figure_id id, const char *text);

/* Set all figures with `in_plan` from `from`; negative values are unknown. */
void figures_set_modelled(struct figures *figures, const struct modelled_figures *from);

struct result;
struct traffic;

/* Set a result's figures with its record's traffic, in zeroed figures: all but comparisons, and the
 * reason of uneven loads, which only tables tell.  SHD_ENOMEM.  Free with figures_fini() either
 * way. */
SHD_MUST_CHECK int figures_set(struct figures *figures, const struct result *result,
                               const struct traffic *traffic, struct shd_error *err);

/* Like figures_set(), but sums up the traffic itself, and includes the reason. */
SHD_MUST_CHECK int figures_init(struct figures *figures, const struct result *result,
                                struct shd_error *err);
void figures_fini(struct figures *figures);

/* Set the figures of a record's modelled step of `tokens` tokens (0: unknown); does nothing if it
 * has none. */
void figures_set_step(struct figures *figures, const struct record *record, uint64_t tokens);

/* Pack figures as bytes for another process, and unpack; false: no memory, or not the bytes of
 * figures. */
void figures_pack(const struct figures *figures, struct text *out);
bool figures_unpack(struct figures *out, struct unpack *from);

/* Write the numbers of an origin by their short keys into the object that is open: those that are
 * known, or with `all` also null for those that are not. */
void figures_json(struct json_out *out, const struct figures *figures, enum figure_origin origin,
                  bool all);

/* The value of "figures": every known number by its key. */
void figures_json_all(struct json_out *out, const struct figures *figures);

#endif /* REPORT_FIGURES_H */
