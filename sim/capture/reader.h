/* reader.h - other systems' programs by what is in their files: a format is a row of a table.
 *
 *     the text of a compiled XLA module                       hlo.h
 *     a Chrome trace of PyTorch's profiler, of each rank      torch_profiler.h
 *     an execution trace of PyTorch in Chakra's schema        torch_chakra.h
 *
 * Thread class: pure functions; they read files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_READER_H
#define CAPTURE_READER_H

#include "base/diag.h"
#include "capture/capture.h"
#include "capture/traces.h"

struct reader_request {
    int32_t devices;             /* of the program; 0: as it says itself */
    uint64_t trips;              /* as hlo_request has it */
    int64_t step;                /* as traces_request has it */
    const struct shd_mesh *mesh; /* of the program, as the caller says; NULL: not told */
};

#define READER_REQUEST_INIT    \
    {                          \
        .step = TRACES_NO_STEP \
    }

/* Read the files of one program into a capture, which capture_init() has made: a module, or a trace
 * a rank.  Of a folder all files in it that are of a known format are read.  Faults go to `diag`;
 * SHD_EINVAL, SHD_ENOMEM.  End the capture with capture_fini() in any case. */
SHD_MUST_CHECK int reader_read(struct capture *out, char *const *paths, size_t npaths,
                               const struct reader_request *request, struct diag *diag);

#endif /* CAPTURE_READER_H */
