/* kernel_row.h - a kernel by the columns of a table of measured kernels.
 *
 * `calibrate --kernels` reads tables that have these columns, and `query` asks by the same names,
 * so that a row is the same kernel for the fit and for who asks.  Kinds of tables and their
 * columns:
 *
 *   gemm                     type,n,k,m
 *   prefill, decode          type,heads,kv_heads,head_dim,window,length,batch
 *   mla_prefill, mla_decode  type,heads,length,batch
 *   moe                      type,gated,hidden,inter,topk,experts,tp,ep,distribution,tokens
 *   collectives              library,graph,op,type,devices,bytes
 *   quantize                 op,type,m,k
 *   a2a                      library,mode,phase,type,ep,hidden,topk,experts,tokens
 *   mla_module_prefill, mla_module_decode  type,heads,length,batch
 *   linear                   op,software,part,phase,num_k_heads,head_k_dim,num_v_heads,head_v_dim,
 *                            nheads,head_dim,n_groups,d_state,d_conv,d_model,batch,length
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_KERNEL_ROW_H
#define HARDWARE_KERNEL_ROW_H

#include "hardware/hardware.h"

/* What gives a row's columns by name. */
struct kernel_columns {
    void *arg;
    const char *(*word)(void *arg, const char *column); /* "": there is none */
    double (*number)(void *arg, const char *column);    /* at least 0 */
};

#define KERNEL_COPIES_MAX 8
#define KERNEL_SHAPE_MAX 4

/* A measured time is that of `count` equal kernels and of copies beside them, of so many bytes
 * each: codes that are made of a product's input, rows that are gathered for experts. */
struct kernel_row {
    enum kernel_kind kernel;    /* KERNEL_NKERNELS: none */
    enum kernel_type type;      /* KERNEL_NTYPES: none */
    char name[KERNEL_NAME_MAX]; /* of a kind with names */
    struct kernel_sizes sizes;
    double count;
    double copies[KERNEL_COPIES_MAX];
    int ncopies;
    const char *unlike;             /* why no model is fitted to rows like it; NULL: one is */
    double shape[KERNEL_SHAPE_MAX]; /* rows with equal ones are of one shape, whatever the batch */
    int nshape;
};

/* A kind of tables. */
struct kernel_table {
    const char *name;                       /* as files are named; NULL: the end of the list */
    bool copies; /* rows are copies; other tables need the copies' model */
    const char *time;                       /* the column of the time, in microseconds */
    enum kernel_type first_type, last_type; /* of models; both KERNEL_ANY_TYPE: they have none */
    void (*read)(struct kernel_row *out, const struct kernel_columns *columns);
};

extern const struct kernel_table kernel_row_tables[];

/* Read a row of a table. */
void kernel_row_read(struct kernel_row *out, const struct kernel_table *table,
                     const struct kernel_columns *columns);

/* Seconds of a row's copies on a cluster. */
double kernel_row_copies_seconds(const struct hardware *hardware, const struct kernel_row *row);

/* A row's time on a cluster. */
struct kernel_row_time {
    double seconds;
    const char *bound_by;
    const struct kernel_model *model; /* that the time is by; NULL: by the cluster's constants */
    unsigned beyond;                  /* of the model, kernel_model_beyond() */
};

/* Set the time of a row that has a kernel and a type, by the models and constants that a plan
 * takes: of NCCL's collectives as they were measured alone, of others as engines of serving use the
 * cluster.  SHD_EUNSUPPORTED: the cluster has no rate of the type; SHD_EINVAL: it has no group of
 * so many devices. */
SHD_MUST_CHECK int kernel_row_time(struct kernel_row_time *out, const struct hardware *hardware,
                                   const struct kernel_row *row, struct shd_error *err);

#endif /* HARDWARE_KERNEL_ROW_H */
