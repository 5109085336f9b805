/* classes.h - devices that a program treats alike: boxes of mesh coordinates.
 *
 * Each axis is cut into segments, between which something differs that a device does in some op:
 * bytes that it receives or sends, flops.  A class is a segment of each axis, so that most axes
 * have one segment and a million devices a few classes.  Devices of one class have equal figures in
 * every op; two classes may have equal figures, too.  Classes are numbered row-major, as positions
 * are; class 0 has position 0.
 *
 * Memory is that of the segments: nothing is kept per device.
 *
 * Thread class: immutable once created (and devices singled out), as long as the program is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_CLASSES_H
#define PROGRAM_CLASSES_H

#include "program/program.h"

/* Ops that move the same bytes at every device, as those of equal layers do. */
struct program_moves {
    uint32_t op;    /* the first of them */
    uint64_t times; /* that a step does them, all together */
    uint32_t axes;  /* a bit for each on whose coordinates it depends what a device moves */
};

/* Ops whose flops differ from device to device, alike: those of equal layers. */
struct program_works {
    uint32_t op;
    uint64_t times;
    uint32_t axes; /* as above, of flops */
};

struct program_classes {
    const struct program *program; /* not owned */
    struct program_moves *moves;   /* of all ops that communicate */
    uint32_t nmoves;
    struct program_works *works; /* of all ops that do not do the same at every device */
    uint32_t nworks;
    uint32_t nclasses;
    uint32_t nsegments[SHD_MESH_AXES_MAX];
    int32_t *starts[SHD_MESH_AXES_MAX]; /* the first coordinate of each segment of an axis; the last
                                         * entry, behind them, is the axis's size */
};

struct program_class {
    int32_t first; /* the lowest position */
    int32_t ndevices;
    int32_t start[SHD_MESH_AXES_MAX], size[SHD_MESH_AXES_MAX]; /* coordinates, by axis */
};

/* Find the classes of a program.  Time and memory grow with the coordinates of those axes only on
 * which boxes that are fetched, or kernels that know their offsets, depend.  SHD_ENOMEM. */
SHD_MUST_CHECK int program_classes_create(struct program_classes **out,
                                          const struct program *program, struct shd_error *err);
/* Make the device at a position a class of its own: as if it differed from all others.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int program_classes_single_out(struct program_classes *classes, int32_t position,
                                              struct shd_error *err);

void program_classes_destroy(struct program_classes *classes); /* NULL is allowed */

struct program_class program_classes_get(const struct program_classes *classes, uint32_t i);

/* A class of one device. */
struct program_class program_class_of_device(const struct program *program, int32_t position);

/* The class of a position. */
uint32_t program_classes_find(const struct program_classes *classes, int32_t position);

/* The class that is the first along all but the axes of a mask, and the same along these. */
uint32_t program_classes_project(const struct program_classes *classes, uint32_t i, uint32_t axes);

/* Whether two ops that communicate move the same bytes at every device. */
bool program_moves_alike(const struct program *program, const struct program_op *a,
                         const struct program_op *b);

/* The axes (a bit each) on whose coordinates it may depend what a device moves in an op. */
uint32_t program_moves_axes(const struct program *program, const struct program_op *op);

#endif /* PROGRAM_CLASSES_H */
