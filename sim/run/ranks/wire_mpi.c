/* The only file that calls MPI (wire.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "run/ranks/wire.h"

/* Messages up to this size are sent eagerly by Open MPI.  Its default of 4 KiB is less than most
 * letters, and each longer letter would need a rendezvous. */
#define EAGER_BYTES "32768"

static MPI_Message found; /* by look(), until take() */

_Static_assert(sizeof(MPI_Request) <= sizeof(struct ranks_request), "a request holds one of MPI");

static void keep(struct ranks_request *request, MPI_Request made)
{
    memcpy(request->handle, &made, sizeof made);
}

static const char *begin(int *count, int *me)
{
    int level;

    setenv("OMPI_MCA_btl_vader_eager_limit", EAGER_BYTES, 0); /* the user's own setting stays */
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_size(MPI_COMM_WORLD, count);
    MPI_Comm_rank(MPI_COMM_WORLD, me);
    return level < MPI_THREAD_SERIALIZED ? "this MPI library cannot be called by several threads, "
                                           "one at a time: it must offer "
                                           "MPI_THREAD_SERIALIZED"
                                         : NULL;
}

static void end(void)
{
    MPI_Finalize();
}

static void end_all(int exit_status)
{
    MPI_Abort(MPI_COMM_WORLD, exit_status);
}

static void gather(const void *mine, void *all, int bytes)
{
    MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* MPI counts in int: longer messages are one item, of a type that is made for it. */
#define BYTES_MAX (UINT64_C(1) << 30)

/* The type of a message's items, *count of them; free_type() when it has begun. */
static MPI_Datatype type_of(uint64_t bytes, int *count)
{
    int lengths[] = {1, (int)(bytes % BYTES_MAX)};
    MPI_Aint at[] = {0, (MPI_Aint)(bytes / BYTES_MAX * BYTES_MAX)};
    MPI_Datatype types[] = {MPI_DATATYPE_NULL, MPI_BYTE}, whole;

    *count = bytes <= BYTES_MAX ? (int)bytes : 1;
    if (bytes <= BYTES_MAX)
        return MPI_BYTE;
    MPI_Type_vector((int)(bytes / BYTES_MAX), (int)BYTES_MAX, (int)BYTES_MAX, MPI_BYTE, &types[0]);
    MPI_Type_create_struct(2, lengths, at, types, &whole);
    MPI_Type_commit(&whole);
    MPI_Type_free(&types[0]);
    return whole;
}

static void free_type(MPI_Datatype type)
{
    if (type != MPI_BYTE)
        MPI_Type_free(&type);
}

static void send(struct ranks_request *request, const void *data, uint64_t bytes, int to, int tag)
{
    int count;
    MPI_Datatype type = type_of(bytes, &count);
    MPI_Request made;

    MPI_Isend(data, count, type, to, tag, MPI_COMM_WORLD, &made);
    free_type(type);
    keep(request, made);
}

static void receive(struct ranks_request *request, void *data, uint64_t bytes, int from, int tag)
{
    int count;
    MPI_Datatype type = type_of(bytes, &count);
    MPI_Request made;

    MPI_Irecv(data, count, type, from, tag, MPI_COMM_WORLD, &made);
    free_type(type);
    keep(request, made);
}

static void merge(struct ranks_request *request, void *data, uint64_t bytes, enum ranks_how how)
{
    MPI_Request made;

    if (how == RANKS_JOIN)
        MPI_Iallreduce(MPI_IN_PLACE, data, (int)bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &made);
    else if (how == RANKS_SUM)
        MPI_Iallreduce(MPI_IN_PLACE, data, (int)(bytes / 8), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD,
                       &made);
    else
        MPI_Iallreduce(MPI_IN_PLACE, data, (int)(bytes / 8), MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD,
                       &made);
    keep(request, made);
}

static bool is_done(struct ranks_request *request)
{
    MPI_Request made;
    int done;

    memcpy(&made, request->handle, sizeof made);
    MPI_Test(&made, &done, MPI_STATUS_IGNORE);
    keep(request, made);
    return done != 0;
}

static bool look(int tag, int *from, uint64_t *bytes)
{
    MPI_Status status;
    MPI_Count nbytes;
    int there;

    MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &found, &status);
    if (!there)
        return false;
    MPI_Get_elements_x(&status, MPI_BYTE, &nbytes);
    *from = status.MPI_SOURCE;
    *bytes = (uint64_t)nbytes;
    return true;
}

static void take(void *data, uint64_t bytes)
{
    MPI_Mrecv(data, (int)bytes, MPI_BYTE, &found, MPI_STATUS_IGNORE);
}

const struct wire wire_mpi = {
    .begin = begin,
    .end = end,
    .abort = end_all,
    .gather = gather,
    .send = send,
    .receive = receive,
    .merge = merge,
    .is_done = is_done,
    .look = look,
    .take = take,
};
