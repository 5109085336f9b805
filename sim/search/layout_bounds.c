/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/layout_bounds.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The argument, wherever stages lie: the fullest rank holds at least the mean of all ranks, each at
 * the end of its last backward phase. */
static double mean_bytes(const struct subject *subject, const struct layout *layout,
                         const struct piece *replicas)
{
    double layers = (double)space_usual(&subject->space, subject->space.layers), bytes = 0;

    bytes += layers * replicas->parts[PIECE_LAYER].state_bytes;
    bytes += layers * replicas->parts[PIECE_LAYER].gradient_bytes;
    bytes += replicas->parts[PIECE_FRONT].state_bytes + replicas->parts[PIECE_BACK].state_bytes;
    return bytes / layout->value[SPACE_PP];
}

/* Activations in a backward phase of a stage with `layers` layers, of so many microbatches. */
static double saved_bytes(const struct piece *piece, double microbatches, double layers)
{
    return layers > 0 ? microbatches * stages_saved(piece, layers) + piece->working_bytes : 0;
}

/* The argument: each rank holds its parameters and optimizer state all the time.  In the first
 * backward phase of rank 0, while the last of the stage's layers works, it also holds the
 * activations saved by all forward phases before; when a rank has ended its last backward phase, it
 * also holds the sums of all its gradients, and without a pipeline in the backward phases of the
 * later microbatches, too.  A program that gathers or copies holds more; none holds less. */
double bound_memory(const struct subject *subject, const struct layout *layout,
                    const struct piece *replicas, const struct piece *layers)
{
    const struct cut cut = stages_cut(&subject->space, layout);
    const struct timetable_sizes sizes = space_sizes(&subject->space, layout);
    const struct hardware *h = subject->hardware;
    double state = replicas->parts[PIECE_LAYER].state_bytes;
    double gradients = replicas->parts[PIECE_LAYER].gradient_bytes, most = 0;

    if (cut.back)
        return mean_bytes(subject, layout, replicas) * (1 + h->fragmentation) + h->reserved_bytes;
    for (int64_t rank = 0; rank < cut.pp; rank++) {
        double n = (double)stages_layers(&cut, rank), there = n * state, later = n * gradients;
        double saved = 0;

        if (rank == 0) {
            uint64_t ahead = timetable_ahead(space_schedule(layout), &sizes, 0);

            there += replicas->parts[PIECE_FRONT].state_bytes;
            later += replicas->parts[PIECE_FRONT].gradient_bytes;
            saved = layers ? saved_bytes(layers, (double)ahead, (double)stages_least(&cut)) : 0;
        }
        if (rank == cut.pp - 1)
            there += replicas->parts[PIECE_BACK].state_bytes;
        most = larger(most, there + (cut.pp == 1 && cut.microbatches > 1 ? saved + later
                                                                         : larger(saved, later)));
    }
    return most * (1 + h->fragmentation) + h->reserved_bytes;
}

/* ---- time ---- */

/* Work of a rank for a microbatch, and the microbatch's way through the rank's first stage and
 * through all its stages.  Waits are those of a stage with the most layers, which waits least. */
struct load {
    double own_s, back_s; /* back_s: of own_s, backward phases */
    double start_s;       /* gathers before the rank does anything else */
    double gathered_s;    /* bound on the step by the gathers at its start */
    struct pair first, all;
    int64_t layers;
};

/* The argument: until a rank has all that it gathers at the start, one transfer after the other, it
 * can only have done the forward phases before the first of its last stage, and the earlier layers
 * of that phase.  `forward_s`: the forward phases of all its stages for a microbatch. */
static double gathered_seconds(const struct stages *s, const struct load *load, double forward_s,
                               bool first)
{
    const struct cut *cut = &s->cut;
    const struct timetable_sizes sizes = space_sizes(cut->space, s->layout);
    double before = 1;

    if (cut->stages > cut->pp)
        before = timetable_round(space_schedule(s->layout), &sizes);
    return stages_start(s, load->layers, first, STAGES_GATHERED) +
           (double)cut->microbatches * load->own_s - before * forward_s;
}

static void load_of(struct load *out, const struct stages *s, int64_t rank)
{
    const struct cut *cut = &s->cut;
    int64_t most = stages_most(cut), turns = cut->stages / cut->pp;
    int64_t from = (rank > 0 ? rank : cut->pp) - 1, to = rank + 1 < cut->pp ? rank + 1 : 0;
    double before = cut->pp > 1 ? stages_wait(s, HOP_FORWARD, from, rank, most) : 0;
    double behind = cut->pp > 1 ? stages_wait(s, HOP_BACK, to, rank, most) : 0;
    bool first = rank == 0, last = rank == cut->pp - 1;
    double received = (double)(first ? turns - 1 : turns);
    double received_back = (double)(last ? turns - 1 : turns);
    int64_t layers = stages_before(cut, rank + 1) - stages_before(cut, rank);
    struct pair all, one = stages_work(s, layers, 1, first, false);
    double forward_s;

    out->layers = stages_layers(cut, rank);
    all = stages_work(s, out->layers, turns, first, last);
    forward_s = all.forward + received * larger(before, 0);
    out->back_s = larger(all.backward + all.weights + received_back * larger(behind, 0),
                         stages_sent(s, out->layers, first, last));
    out->own_s = forward_s + out->back_s;
    all.forward += received * before;
    all.backward += received_back * behind - all.late;
    out->all = all;
    out->first =
        (struct pair){one.forward + (first ? 0 : before), one.backward - one.late + behind, 0, 0};
    out->start_s = stages_start(s, out->layers, first, STAGES_WAITED);
    out->gathered_s = gathered_seconds(s, out, forward_s, first);
}

/* Compute that a stage may do after its send is not on a microbatch's way. */
static double late_of(const struct stages *s, enum hop_way way)
{
    const struct hop *hop = &s->layers->hops[way];

    return hop->late_s + (double)(stages_most(&s->cut) - 1) * hop->late_layer_s;
}

/* The transfers of a stream run one after the other, in parallel to anything else. */
static double stream_seconds(const struct stages *s, int64_t layers)
{
    const struct piece *of_layers = s->layers, *of_replicas = s->replicas;
    double most = 0;

    for (int k = 0; k < EVENTS_STREAMS_MAX; k++)
        most = larger(most,
                      (double)s->cut.microbatches * (of_layers->parts[PIECE_LAYER].streams_s[k] +
                                                     of_replicas->parts[PIECE_LAYER].streams_s[k]) +
                          of_replicas->parts[PIECE_LAYER].once_s[k]);
    return (double)layers * most;
}

/* Without a pipeline gradients that are combined once a step follow the last forward phase, and in
 * each stream the updated parameters follow them. */
static double summed_seconds(const struct stages *s, const struct load *load)
{
    const struct piece *r = s->replicas;
    double most = 0;

    if (s->cut.pp > 1)
        return 0;
    for (int k = 0; k < EVENTS_STREAMS_MAX; k++)
        most = larger(most, (double)load->layers * r->parts[PIECE_LAYER].summed_s[k] +
                                r->parts[PIECE_FRONT].summed_s[k] +
                                stages_renewed(s, load->layers, true, k));
    return (double)s->cut.microbatches * load->own_s - load->back_s + most;
}

/* Time of a part for a microbatch.  If a forward and a backward phase run as one, waits of either
 * may overlap with computations of the other. */
static double computed(const struct stages *s, enum piece_part part)
{
    double waits = s->layers->parts[part].waits_s + s->replicas->parts[part].waits_s;

    return s->parts[part].forward + s->parts[part].backward + s->parts[part].weights -
           (s->cut.together ? waits : 0);
}

/* The argument, wherever stages lie and whichever phases run as one: the busiest rank takes at
 * least the mean of all ranks, and each rank begins its update after its last backward phase. */
static double mean_seconds(const struct stages *s)
{
    double layers = (double)stages_before(&s->cut, s->cut.stages), update = 0;
    double own = layers * computed(s, PIECE_LAYER) + computed(s, PIECE_FRONT) +
                 computed(s, PIECE_BACK) + (double)s->cut.stages * computed(s, PIECE_STAGE);

    for (int k = 0; k < PIECE_NLINES; k++)
        update = larger(update, layers * s->replicas->parts[PIECE_LAYER].update_s[k]);
    return ((double)s->cut.microbatches * own + update) / (double)s->cut.pp;
}

/* The argument: a rank does its own work for all microbatches, one after the other, and waits for a
 * message before each phase but the first stage's forward and the last stage's backward.  Before
 * the rank's first action the first microbatch has gone forward through all stages before the
 * rank's first stage.  After the rank's last action, a backward phase of its first stage, the last
 * microbatch goes back through all earlier stages; a schedule that splits the backward phase may
 * end with weights, and nothing need follow.  In other schedules the rank of stage 0 ends last, and
 * only then begins its update; in a schedule that splits, any rank may end last.  Each microbatch
 * goes through all stages and back. */
double bound_time(const struct subject *subject, const struct layout *layout,
                  const struct piece *replicas, const struct piece *layers)
{
    bool splits = space_schedule(layout)->flags & TIMETABLE_SPLITS;
    struct pair ahead = {0, 0, 0, 0};
    struct stages s;
    int64_t most = 0, least;
    double seconds = 0, summed = 0, way = 0, late;

    stages_of(&s, subject, layout, replicas, layers);
    if (s.cut.back || s.cut.together)
        return mean_seconds(&s) * (1 - BOUND_ROUNDED);
    late = s.cut.pp > 1 ? late_of(&s, HOP_FORWARD) + late_of(&s, HOP_BACK) : 0;
    least = splits ? s.cut.layers : stages_layers(&s.cut, 0);
    for (int64_t rank = 0; rank < s.cut.pp; rank++) {
        struct load load;

        load_of(&load, &s, rank);
        ahead.forward = larger(ahead.forward, load.start_s);
        seconds = larger(seconds,
                         larger(larger(ahead.forward, 0) + (double)s.cut.microbatches * load.own_s,
                                load.gathered_s) +
                             (splits ? 0 : larger(ahead.backward - late, 0)));
        summed = larger(summed, summed_seconds(&s, &load));
        ahead.forward += load.first.forward - late;
        ahead.backward += load.first.backward - late;
        way += load.all.forward + (splits ? 0 : load.all.backward);
        most = load.layers > most ? load.layers : most;
        least = splits && load.layers < least ? load.layers : least;
    }
    seconds = larger(seconds, way - (double)s.cut.stages * late);
    seconds += stages_update(&s, least, !splits);
    seconds = larger(seconds, summed);
    return larger(seconds, stream_seconds(&s, most)) * (1 - BOUND_ROUNDED);
}
