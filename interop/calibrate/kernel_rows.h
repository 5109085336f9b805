/* kernel_rows.h - measured kernels of a device, from the tables of a folder.
 *
 * A table is a file GPU-KIND.csv or GPU-KIND.csv.gz with a header: commas between columns, no
 * quotes, times in microseconds (us_median, of collectives us).  Kinds and their columns, in any
 * order, others aside, are those of hardware/kernel_row.h.
 *
 * Rows of types, ops and distributions that no model is of are left out, and counted.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_KERNEL_ROWS_H
#define CALIBRATE_KERNEL_ROWS_H

#include "base/diag.h"
#include "calibrate/kernel_fit.h"
#include "hardware/hardware.h"

/* A model's measurements, for all models of a device. */
struct kernel_tables {
    const struct hardware *hardware; /* of the device; not owned */
    struct kernel_models *models;    /* fitted so far; copies are subtracted */
    struct kernel_samples *items;    /* sorted once they are read */
    size_t n, room;
    size_t left_out, files;
};

/* Read the tables of kernels whose time needs no other model (copies, which are first to be
 * fitted), or all others, of the device that the cluster is named after.  Faults go to `diag` with
 * file and line.  SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int kernel_tables_read(struct kernel_tables *tables, const char *folder, bool copies,
                                      struct diag *diag);
void kernel_tables_fini(struct kernel_tables *tables);

#endif /* CALIBRATE_KERNEL_ROWS_H */
