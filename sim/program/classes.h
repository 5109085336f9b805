/* classes.h - devices that a program treats alike: boxes of mesh coordinates.
 *
 * Each axis is cut into segments wherever a device's figures change in some op: bytes that it
 * receives or sends, or flops.  A class is one segment of each axis, so that most axes have one
 * segment and a million devices a few classes.  Devices of one class have equal figures in every
 * op; two classes may have equal figures, too.  Classes are numbered row-major, like positions;
 * class 0 contains position 0.
 *
 * Memory grows with the number of segments: nothing is kept per device.
 *
 * Thread class: immutable once created (and devices singled out), as long as the program is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_CLASSES_H
#define PROGRAM_CLASSES_H

#include "program/program.h"

/* A set of ops with equal traffic on every device, such as ops of equal layers. */
struct program_moves {
    uint32_t op;    /* the first op of the set */
    uint64_t times; /* executions in a step, summed over the set */
    uint32_t axes;  /* bit mask of the axes whose coordinates affect a device's bytes */
};

/* A set of ops with the same flops on every device, where these differ between devices, such as ops
 * of equal layers. */
struct program_works {
    uint32_t op;
    uint64_t times;
    uint32_t axes; /* bit mask of the axes whose coordinates affect a device's flops */
};

struct program_classes {
    const struct program *program; /* not owned */
    struct program_moves *moves;   /* sets of all communicating ops */
    uint32_t nmoves;
    struct program_works *works; /* sets of all ops whose flops differ between devices */
    uint32_t nworks;
    uint32_t nclasses;
    uint32_t nsegments[SHD_MESH_AXES_MAX];
    int32_t *starts[SHD_MESH_AXES_MAX]; /* the first coordinate of each segment of an axis, then
                                           the axis's size */
};

struct program_class {
    int32_t first; /* lowest position */
    int32_t ndevices;
    int32_t start[SHD_MESH_AXES_MAX], size[SHD_MESH_AXES_MAX]; /* coordinates, by axis */
};

/* Find the classes of a program.  Time and memory grow with the size of only those axes that
 * fetched boxes, or kernels with known offsets, depend on.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_classes_create(struct program_classes **out,
                                          const struct program *program, struct shd_error *err);
/* Make the device at a position a class of its own, as if it differed from all others.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int program_classes_single_out(struct program_classes *classes, int32_t position,
                                              struct shd_error *err);

void program_classes_destroy(struct program_classes *classes); /* NULL is allowed */

struct program_class program_classes_get(const struct program_classes *classes, uint32_t i);

/* A class of the single device at a position. */
struct program_class program_class_of_device(const struct program *program, int32_t position);

/* The class that contains a position. */
uint32_t program_classes_find(const struct program_classes *classes, int32_t position);

/* The class with segment 0 on every axis outside the mask, and class `i`'s segments on the axes of
 * the mask. */
uint32_t program_classes_project(const struct program_classes *classes, uint32_t i, uint32_t axes);

/* Whether two communicating ops move the same bytes on every device. */
bool program_moves_alike(const struct program *program, const struct program_op *a,
                         const struct program_op *b);

/* Bit mask of the axes whose coordinates may affect the bytes that a device moves in an op. */
uint32_t program_moves_axes(const struct program *program, const struct program_op *op);

#endif /* PROGRAM_CLASSES_H */
