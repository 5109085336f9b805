/* kernel_model.h - the time of a kernel by a model that was fitted to measured kernels of its kind.
 *
 * A model is of one kernel and one element type on one device.  Its time is that of a form with a
 * few constants that have a physical meaning (fractions of the device's rates, the time to start),
 * multiplied by a correction: a grid over the logarithms of the kernel's sizes, with values between
 * its points by interpolation, and those of the nearest point beyond them.  A larger rate of the
 * device shortens the form and leaves the correction, so that no faster device is slower.
 *
 * The measurements are of kernels that start from a captured graph, one after the other: a time has
 * what the device needs from kernel to kernel, and none of the host's.
 *
 * Models are made by `shardsim calibrate --kernels` (calibrate/kernel_fit.h), and are in a
 * cluster's file as the list `measured_kernels`, or as the name of the shipped cluster whose
 * models they are.
 *
 * All times are seconds, all rates bytes or operations a second.
 *
 * Thread class: immutable once read; pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_KERNEL_MODEL_H
#define HARDWARE_KERNEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernel_kind {
    KERNEL_PRODUCT,        /* a matrix product, or a batch of such */
    KERNEL_EXPERTS,        /* products of experts, each of its own rows */
    KERNEL_PREFILL,        /* attention of prompts */
    KERNEL_DECODE,         /* attention of one query a sequence */
    KERNEL_LATENT_PREFILL, /* attention of prompts in MLA, with one key shared by all heads */
    KERNEL_LATENT_DECODE,
    KERNEL_COPY,       /* elementwise kernels, reductions, copies, quantizing */
    KERNEL_ALL_REDUCE, /* of NCCL, in a domain of the first tier, as the three that follow */
    KERNEL_ALL_GATHER,
    KERNEL_REDUCE_SCATTER,
    KERNEL_ALL_TO_ALL,
    KERNEL_ENGINE_ALL_REDUCE,     /* of the engines that serve, in a captured graph */
    KERNEL_DISPATCH,              /* rows to their experts on other devices, */
    KERNEL_COMBINE,               /* ... back, */
    KERNEL_PREPARE,               /* ... and what some libraries do before both */
    KERNEL_LATENT_MODULE_PREFILL, /* latent attention with its projections */
    KERNEL_LATENT_MODULE_DECODE,
    KERNEL_LINEAR, /* a part of a layer of Mamba-2, gated delta rules or KDA */
    KERNEL_NKERNELS
};

/* Types: of both operands of a product; of a product's weights alone; of attention's computation
 * and cache. */
enum kernel_type {
    KERNEL_BF16,
    KERNEL_FP8,       /* a scale for each array or row */
    KERNEL_FP8_BLOCK, /* 1 x 128 and 128 x 128 */
    KERNEL_NVFP4,
    KERNEL_INT4_WEIGHTS,
    KERNEL_MXFP4_WEIGHTS,
    KERNEL_BF16_BF16,
    KERNEL_BF16_FP8,
    KERNEL_FP8_FP8,
    KERNEL_ANY_TYPE,
    KERNEL_NTYPES
};

/* From this kind on kernels differ by the library that they are of: their type is a name, such as
 * "trtllm/NVLinkTwoSided/nvfp4". */
#define KERNEL_FIRST_NAMED KERNEL_DISPATCH
#define KERNEL_NAME_MAX 96

/* Words of a cluster's file, and of measured tables. */
extern const char *const kernel_kinds[KERNEL_NKERNELS], *const kernel_types[KERNEL_NTYPES];

/* The sizes of a kernel; each form reads its own. */
struct kernel_sizes {
    double groups, m, n, k; /* of each of so many products [m][k] by [k][n] */
    double a_bits, b_bits;  /* of an element of their operands */
    double batch, heads, kv_heads, head_dim, queries;
    double pairs;   /* keys that all queries of a head of one sequence see together */
    double devices; /* of a collective, of a whole array of so many bytes ... */
    double bytes;   /* ... or read from memory and written by a kernel */
};

/* What a device reaches at most. */
struct kernel_peaks {
    double flops_per_s; /* of the type that is computed in */
    double memory_bytes_per_s, link_bytes_per_s;
    double units; /* that compute a tile at a time each (SMs) */
};

/* The parts of a time: all but the start are beside each other. */
struct kernel_parts {
    double start_s, computing_s, moving_s;
};

#define KERNEL_CONSTANTS_MAX 8
#define KERNEL_AXES_MAX 4
#define KERNEL_MEASURES_MAX 5
#define KERNEL_CLASSES 4       /* of sizes */
#define KERNEL_POINTS_MAX 4096 /* of a grid */

/* A kernel's form. */
struct kernel_form {
    struct kernel_constant {
        const char *name; /* NULL: no more */
        double start, least, most;
    } constants[KERNEL_CONSTANTS_MAX];
    struct kernel_axis {
        const char *name; /* NULL: no more */
        double step;      /* from point to point, as log2 of the size; 0: there is one point, so
                             that the time never falls along the axis, as the form does not */
    } axes[KERNEL_AXES_MAX];
    /* Seconds by constants in the order above; fills *parts. */
    double (*seconds)(const double *constants, const struct kernel_sizes *sizes,
                      const struct kernel_peaks *peaks, struct kernel_parts *parts);
    /* The sizes along the axes, at least 1 each. */
    void (*place)(double *out, const struct kernel_sizes *sizes);
    /* Sizes by which a kernel is compared with the measured ones: outside of their range it is
     * extrapolated. */
    struct kernel_measure {
        const char *name; /* NULL: no more */
        size_t at;        /* in struct kernel_sizes */
    } measures[KERNEL_MEASURES_MAX];
    double classes[KERNEL_CLASSES - 1]; /* errors are told by the first measure: up to each of
                                           these, and above the last */
};

extern const struct kernel_form kernel_model_forms[KERNEL_NKERNELS];

struct kernel_model {
    enum kernel_kind kernel;
    enum kernel_type type; /* of a kernel with a name: the type of its products */
    char name[KERNEL_NAME_MAX]; /* "": it has none, but a type */
    double constants[KERNEL_CONSTANTS_MAX];
    struct kernel_grid {
        double first[KERNEL_AXES_MAX]; /* log2 of the first point's size */
        int64_t points[KERNEL_AXES_MAX];
    } grid;
    float *correction; /* [points of axis 0][of axis 1]..: the logarithm of a factor */
    double least[KERNEL_MEASURES_MAX], most[KERNEL_MEASURES_MAX]; /* that were measured */
    struct kernel_error {
        int64_t rows;       /* measured */
        double median, p90; /* of rows that the model was not fitted to; fractions */
    } error, by_size[KERNEL_CLASSES];
};

/* The models of a device. */
struct kernel_models {
    const struct kernel_models *no_slower_than; /* of a device with no larger rate, whose times no
                                                   kernel exceeds; NULL: none */
    const char *no_slower_name;
    struct kernel_model *items;
    size_t n;
    struct kernel_peaks peaks[KERNEL_NTYPES]; /* of the device that was measured */
    const struct kernel_model *of[KERNEL_NKERNELS][KERNEL_NTYPES]; /* without a name; NULL: none */
};

void kernel_models_clear(struct kernel_models *models); /* frees all but itself */
void kernel_models_destroy(struct kernel_models *models); /* NULL is allowed */

/* The name of a model's kernel, or the word for its type. */
const char *kernel_model_type(const struct kernel_model *model);

/* The type by whose rate kernels of a name multiply: that of the name's last part, or of none. */
enum kernel_type kernel_model_type_of_name(const char *name);

int kernel_model_naxes(const struct kernel_form *form);
int kernel_model_nmeasures(const struct kernel_form *form);
int kernel_model_nconstants(const struct kernel_form *form);
int64_t kernel_model_npoints(const struct kernel_grid *grid, int naxes);

/* The points around a place, and their weights, which add up to 1: 2^naxes of each. */
void kernel_model_weigh(size_t *points, double *weights, const struct kernel_form *form,
                 const struct kernel_grid *grid, const double *place);

/* Seconds of a kernel; its *parts as by the form, all multiplied by the correction. */
double kernel_model_seconds(const struct kernel_model *model, const struct kernel_sizes *sizes,
                     const struct kernel_peaks *peaks, struct kernel_parts *parts);

/* The value of a form's measure for a kernel of these sizes. */
double kernel_model_measure(const struct kernel_form *form, int measure,
                            const struct kernel_sizes *sizes);

/* The class of a kernel's size, 0 to KERNEL_CLASSES - 1. */
int kernel_model_class(const struct kernel_form *form, const struct kernel_sizes *sizes);

/* The measures of a kernel, one bit each, that lie outside of the measured range. */
unsigned kernel_model_beyond(const struct kernel_model *model, const struct kernel_sizes *sizes);

#endif /* HARDWARE_KERNEL_MODEL_H */
