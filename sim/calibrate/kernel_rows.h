/* kernel_rows.h - measured kernels of a device, from the tables of a folder.
 *
 * A table is a file GPU-KIND.csv or GPU-KIND.csv.gz with a header: commas between columns, no
 * quotes, times in microseconds.  Kinds and their columns, in any order, others aside:
 *
 *   gemm                     type,n,k,m                                                  us_median
 *   prefill, decode          type,heads,kv_heads,head_dim,window,length,batch            us_median
 *   mla_prefill, mla_decode  type,heads,length,batch                                     us_median
 *   moe                      type,gated,hidden,inter,topk,experts,tp,ep,distribution,tokens  us_median
 *   collectives              library,graph,op,type,devices,bytes                         us
 *   quantize                 op,type,m,k                                                 us_median
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
    const struct kernel_model *copy;        /* once it is fitted: what the other kernels of a row take */
    struct kernel_samples of[KERNEL_NKERNELS][KERNEL_NTYPES];
    size_t left_out, files;
};

/* Read the tables of kernels whose time needs no other model (copies, which are first to be
 * fitted), or all others, of the device that the cluster is named after.  Faults go to `diag` with
 * file and line.  SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int kernel_tables_read(struct kernel_tables *tables, const char *folder, bool copies,
                                      struct diag *diag);
void kernel_tables_fini(struct kernel_tables *tables);

#endif /* CALIBRATE_KERNEL_ROWS_H */
