/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/partition.h"

#include "partition/choose.h"
#include "partition/emit.h"

int partition_build(struct program **out, const struct partition_request *request,
                    struct shd_error *err)
{
    struct program *program;
    struct choose choose;
    int status = graph_status(request->graph, err);

    if (status == SHD_OK)
        status = choose_init(&choose, request, err);
    if (status != SHD_OK)
        return status;
    program = program_create(request->mesh);
    if (!program)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    else
        status = emit_program(program, &choose, err);
    choose_fini(&choose);
    if (status != SHD_OK) {
        program_destroy(program);
        return status;
    }
    for (int kind = 0; request->algos && kind < COLL_NKINDS; kind++)
        program->algos[kind] = request->algos[kind];
    program_set_lifetimes(program);
    *out = program;
    return SHD_OK;
}
