/* export/serving.h - what each axis of the mesh shards in a step of serving, for targets that are
 * commands of servers.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_SERVING_H
#define EXPORT_SERVING_H

#include "export/roles.h"

/* Classes of dimensions that a server shards alike. */
enum serving_class {
    SERVING_HEADS,
    SERVING_KEY_HEADS,
    SERVING_MLP,
    SERVING_SHARED, /* shared experts */
    SERVING_EXPERTS,
    SERVING_EXPERT_WIDTHS,
    SERVING_WORDS,
    SERVING_NCLASSES
};

/* Sets of axes have a bit each. */
struct export_serving {
    const struct export_layout *layout;
    const char *system;
    uint32_t all, batch, inside; /* axes of more than one device; of the batch; the others */
    uint32_t of[SERVING_NCLASSES];
    bool has[SERVING_NCLASSES]; /* whether the model has such dimensions */
    int64_t cache_parts;
    const char *model; /* a repository, or the folder of a config.json, of model_length bytes */
    size_t model_length;
    const char *quantization; /* how the server makes the types of weights; NULL: as published */
    struct shd_error *err;
};

/* Refuse what no layout would change: options without words, another model than the published one,
 * and a cache of 4 bits that is not mxfp4 in blocks of so many elements; 0: any.
 * SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_serving_check_source(struct export_job *job, const char *system,
                                               int64_t cache_block);

/* Find the axes of a layout whose source passed, and refuse what no server has.
 * SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_serving_find(struct export_serving *out,
                                       const struct export_layout *layout, const char *system,
                                       struct shd_error *err);

/* The number of devices along a set of axes. */
int64_t export_serving_size(const struct export_serving *serving, uint32_t axes);

/* Whether a class is sharded over these axes, or the model does not have it. */
bool export_serving_is(const struct export_serving *serving, enum serving_class which,
                       uint32_t axes);

/* Fail with "SYSTEM WHAT"; SHD_EUNSUPPORTED. */
int export_serving_refuse(const struct export_serving *serving, const char *what);

/* Add the option of the most tokens that a sequence has: those of the step, but no more than the
 * model has positions, which export_serving_begin() then says. */
void export_serving_add_length(struct text *out, const char *option,
                               const struct scenario *scenario);

/* Begin the script of a target. */
void export_serving_begin(struct text *out, const struct export_serving *serving,
                          const char *target);

/* Refuse copies of experts that are not dealt out over devices. */
int export_serving_check_copies(const struct export_serving *serving);

/* Add the model as a word. */
void export_serving_add_model(struct text *out, const struct export_serving *serving);

/* Add --dtype, and --quantization if the server has to round the weights. */
void export_serving_add_types(struct text *out, const struct export_serving *serving);

/* Add an option, unless its value is what the system has without it. */
void export_serving_add_number(struct text *out, const char *option, int64_t value,
                               int64_t standard);

/* Add the part of a device's memory that the server takes, if the scenario limits it so. */
void export_serving_add_memory(struct text *out, const char *option,
                               const struct scenario *scenario);

/* Add the most sequences at once of a scheduler with so many parts of the batch, which are returned:
 * those of the scenario's limits, or of its step. */
int64_t export_serving_add_sequences(struct text *out, const char *option,
                                     const struct scenario *scenario, int64_t each, int64_t parts);

/* Add --kv-cache-dtype of a cache of 8 or 4 bits. */
void export_serving_add_cache(struct text *out, const struct scenario *scenario);

#endif /* EXPORT_SERVING_H */
