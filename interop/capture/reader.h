/* reader.h - read other systems' programs; the format of a file is recognized from its text.
 *
 * A format is a row of a table:
 *
 *   the text of a compiled XLA module                     hlo.h
 *   a Chrome trace of PyTorch's profiler, of each rank    torch_profiler.h
 *   an execution trace of PyTorch in Chakra's schema      torch_chakra.h
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
    int32_t devices;             /* number of devices; 0: take the program's */
    uint64_t trips;              /* as in hlo_request */
    int64_t step;                /* as in traces_request */
    const struct shd_mesh *mesh; /* the program's mesh, if the caller knows it; NULL: unknown */
};

#define READER_REQUEST_INIT    \
    {                          \
        .step = TRACES_NO_STEP \
    }

/* Read the files of one program into an initialized capture: a module, or a trace per rank.  In a
 * folder all files of a known format are read.  Faults go to `diag`; SHD_EINVAL, SHD_ENOMEM.  End
 * the capture with capture_fini() in any case. */
SHD_MUST_CHECK int reader_read(struct capture *out, const char *const *paths, size_t npaths,
                               const struct reader_request *request, struct diag *diag);

#endif /* CAPTURE_READER_H */
