/* samples.h - measured times, each with the data to model it repeatedly with other constants.
 *
 * Programs are built once; their times are modelled for each trial of the constants.
 *
 * Thread class: owned by one thread; samples_model() uses OpenMP threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_SAMPLES_H
#define CALIBRATE_SAMPLES_H

#include "calibrate/constants.h"
#include "trial/variant.h"

struct sample {
    char *id;
    size_t set;   /* index in samples.sets */
    size_t index; /* in its set: 0, 1 and so on */
    double measured_s, modelled_s;
    struct hardware *hardware;     /* the cluster to set constants in; of the step, or of the set */
    struct variant *step; /* planned, and owned; NULL: the sample is a collective */
    double parameters;             /* of the step's model */
    enum coll_kind kind;           /* of a collective */
    struct hardware_group group;
    double bytes; /* of the operand */
};

struct sample_set {
    char *name;
    size_t n;
    struct hardware *hardware; /* of collectives; NULL: steps have their own */
};

struct samples {
    struct sample *items;
    size_t n;
    struct sample_set *sets;
    size_t nsets;
};

/* The set with a name, created if necessary; SIZE_MAX: no memory. */
size_t samples_set(struct samples *samples, const char *name);

/* Add a sample to its set and take ownership of its data; false: no memory, and the sample was
 * freed. */
bool samples_add(struct samples *samples, struct sample *sample);
void samples_fini(struct samples *samples);

/* Model all samples with these values of the constants.  SHD_ENOMEM. */
SHD_MUST_CHECK int samples_model(struct samples *samples, const struct constants *constants,
                                 const double *values, struct shd_error *err);

#endif /* CALIBRATE_SAMPLES_H */
