/* Measures the seconds of a collective of an MPI library, float32, sum.
 *
 * usage: mpirun -n RANKS collectives_mpi OP BYTES...
 *
 * BYTES is the larger of operand and result of a rank.  Prints {"bytes", "seconds"} per line: the
 * median of the samples, each with the time of the slowest rank.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 5
#define SAMPLE_S 0.005

static int n, me;

static void call(const char *op, float *in, float *out, int count)
{
    int part = count / n;

    if (!strcmp(op, "all-reduce"))
        MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(op, "reduce-scatter"))
        MPI_Reduce_scatter_block(in, out, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(op, "all-gather"))
        MPI_Allgather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD);
    else if (!strcmp(op, "all-to-all"))
        MPI_Alltoall(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD);
    else if (!strcmp(op, "permute"))
        MPI_Sendrecv(in, count, MPI_FLOAT, (me + 1) % n, 0, out, count, MPI_FLOAT,
                     (me + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(op, "broadcast"))
        MPI_Bcast(me == 0 ? in : out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    else if (!strcmp(op, "reduce"))
        MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    else if (!strcmp(op, "gather"))
        MPI_Gather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, 0, MPI_COMM_WORLD);
    else if (!strcmp(op, "scatter"))
        MPI_Scatter(in, part, MPI_FLOAT, out, part, MPI_FLOAT, 0, MPI_COMM_WORLD);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Seconds per call of `ncalls` calls on the slowest rank; every rank gets the result. */
static double sample(const char *op, float *in, float *out, int count, int ncalls)
{
    double seconds, slowest;

    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    for (int i = 0; i < ncalls; i++)
        call(op, in, out, count);
    seconds = MPI_Wtime() - seconds;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest / ncalls;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const char *op, long bytes)
{
    int count = (int)(bytes / (long)sizeof(float));
    float *in = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
    float *out = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
    double seconds[SAMPLES], one;
    int ncalls;

    for (int i = 0; i < count; i++)
        in[i] = (float)(i % 8 + me);
    memset(out, 0, (size_t)bytes);
    sample(op, in, out, count, 1);
    one = sample(op, in, out, count, 3);
    ncalls = one > SAMPLE_S ? 1 : (int)(SAMPLE_S / one) + 1;
    for (int s = 0; s < SAMPLES; s++)
        seconds[s] = sample(op, in, out, count, ncalls);
    qsort(seconds, SAMPLES, sizeof seconds[0], compare);
    if (me == 0)
        printf("{\"bytes\": %ld, \"seconds\": %.9f}\n", bytes, seconds[SAMPLES / 2]);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 2; i < argc; i++)
        measure(argv[1], atol(argv[i]));
    MPI_Finalize();
    return 0;
}
