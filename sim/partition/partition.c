/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/partition.h"

#include "partition/choose.h"
#include "partition/emit.h"

static int build(struct program **out, const struct partition_request *request,
                 struct choose *choose, bool regather, struct shd_error *err)
{
    struct program *program = program_create(request->mesh);
    int status;

    if (!program)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    status = emit_program(program, choose, regather, err);
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

/* Where the step does not fit: the one that gathers again, if that needs less. */
static int make_fit(struct program **program, const struct partition_request *request,
                    struct choose *choose, struct shd_error *err)
{
    struct program *smaller;
    int status;

    if (request->memory_bytes == 0 || program_peak_bytes(*program) <= request->memory_bytes)
        return SHD_OK;
    status = build(&smaller, request, choose, true, err);
    if (status != SHD_OK)
        return status;
    if (program_peak_bytes(smaller) < program_peak_bytes(*program)) {
        program_destroy(*program);
        *program = smaller;
    } else {
        program_destroy(smaller);
    }
    return SHD_OK;
}

int partition_build(struct program **out, const struct partition_request *request,
                    struct shd_error *err)
{
    struct program *program = NULL;
    struct choose choose;
    int status = graph_status(request->graph, err);

    if (status == SHD_OK)
        status = choose_init(&choose, request, err);
    if (status != SHD_OK)
        return status;
    status = build(&program, request, &choose, false, err);
    if (status == SHD_OK)
        status = make_fit(&program, request, &choose, err);
    choose_fini(&choose);
    if (status == SHD_OK)
        *out = program;
    else
        program_destroy(program);
    return status;
}
