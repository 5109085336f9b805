/* kernel_work.h - what a model of measured kernels reads of a kernel's work.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_KERNEL_WORK_H
#define HARDWARE_KERNEL_WORK_H

#include "hardware/hardware.h"

/* What the devices of a cluster reach with operands of a type. */
struct kernel_peaks kernel_work_peaks(const struct hardware *hardware, enum kernel_type type);

/* Set the sizes of a product of such operands, and the bytes of them and of a result in 16 bits. */
void kernel_work_set_product(struct kernel_sizes *out, enum kernel_type type, double groups,
                             double m, double n, double k);

/* kernel_work_set_product() for experts' matmuls. An expert's three matmuls were measured together,
 * and so count alike: k is the larger dimension. */
void kernel_work_set_experts(struct kernel_sizes *out, enum kernel_type type, double experts,
                             double m, double n, double k);

/* The sizes of an exchange of experts' rows among devices, of which each has so many tokens; a token
 * names `choices` experts, and goes once to each device that has one. */
void kernel_work_set_exchange(struct kernel_sizes *out, double tokens, double width, double experts,
                              double choices, double devices, double element_bytes);

/* The model of a kernel and a type, or of one whose kernels are most like those of the type; NULL:
 * the cluster has none. */
const struct kernel_model *kernel_work_find(const struct hardware *hardware, enum kernel_kind kind,
                                            enum kernel_type type);

/* The model of a kernel by its name; NULL: the cluster has none. */
const struct kernel_model *kernel_work_find_named(const struct hardware *hardware,
                                                  enum kernel_kind kind, const char *name);

/* The model of a kernel's work, whose sizes are set; NULL: the cluster has none, or does not take
 * times from models. */
const struct kernel_model *kernel_work_model(struct kernel_sizes *out,
                                             const struct hardware *hardware,
                                             const struct hardware_work *work);

/* Seconds of a kernel by a model of the cluster, and the parts of its time; at most those by models
 * of the devices than which the cluster's is no slower. */
double kernel_work_model_seconds(struct kernel_parts *parts, const struct hardware *hardware,
                                 const struct kernel_model *model,
                                 const struct kernel_sizes *sizes);

/* Seconds of a kernel by a model that is of it, and the parts of its time.  False: the cluster has
 * none. */
bool kernel_work_seconds(double *out, struct kernel_parts *parts, const struct hardware *hardware,
                         const struct hardware_work *work);

/* The longest part of a kernel's time. */
enum hardware_bound kernel_work_bound(const struct kernel_parts *parts);

/* The type of numbers by whose rate a product or attention of a type runs. */
enum shd_dtype kernel_work_rate(enum kernel_type type);

/* The model of a collective inside a domain of the first tier; NULL: as above. */
const struct kernel_model *kernel_work_collective_model(const struct hardware *hardware,
                                                        enum coll_kind kind);

/* Seconds of a collective of an array inside a domain of the first tier, likewise. */
bool kernel_work_collective_seconds(double *out, struct kernel_parts *parts,
                                    const struct hardware *hardware, enum coll_kind kind,
                                    double devices, double array_bytes);

#endif /* HARDWARE_KERNEL_WORK_H */
