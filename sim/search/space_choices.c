/* The choices of a layout and the words of their values (search/space.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/space.h"

#include <string.h>

static const char *const split_words[] = {"even", "given", "light", NULL};
static const char *const method_words[] = {"ring", "all-to-all", NULL};
static const char *const products_words[] = {"given", "tensorwise", "rowwise", "blockwise",
                                             "mxfp8", "nvfp4",      NULL};
static const char *const fold_words[] = {"none", "cp", "tp", "cp-tp", NULL};
static const char *const flag_words[] = {"no", "yes", NULL};
static const char *const order_words[] = {
    "pp-dp-cp-tp", "pp-dp-tp-cp", "pp-cp-dp-tp", "pp-cp-tp-dp", "pp-tp-dp-cp",
    "pp-tp-cp-dp", "dp-pp-cp-tp", "dp-pp-tp-cp", "dp-cp-pp-tp", "dp-cp-tp-pp",
    "dp-tp-pp-cp", "dp-tp-cp-pp", "cp-pp-dp-tp", "cp-pp-tp-dp", "cp-dp-pp-tp",
    "cp-dp-tp-pp", "cp-tp-pp-dp", "cp-tp-dp-pp", "tp-pp-dp-cp", "tp-pp-cp-dp",
    "tp-dp-pp-cp", "tp-dp-cp-pp", "tp-cp-pp-dp", "tp-cp-dp-pp", NULL};

static const uint8_t orders[SPACE_ORDERS][SPACE_AXES] = {
#define P SPACE_PP
#define D SPACE_DP
#define C SPACE_CP
#define T SPACE_TP
    {P, D, C, T}, {P, D, T, C}, {P, C, D, T}, {P, C, T, D}, {P, T, D, C}, {P, T, C, D},
    {D, P, C, T}, {D, P, T, C}, {D, C, P, T}, {D, C, T, P}, {D, T, P, C}, {D, T, C, P},
    {C, P, D, T}, {C, P, T, D}, {C, D, P, T}, {C, D, T, P}, {C, T, P, D}, {C, T, D, P},
    {T, P, D, C}, {T, P, C, D}, {T, D, P, C}, {T, D, C, P}, {T, C, P, D}, {T, C, D, P}};
#undef P
#undef D
#undef C
#undef T

static const struct {
    const char *name;
    const char *letter;       /* before a number in space_print() */
    const char *const *words; /* of values; NULL: numbers, except for the schedule */
    const char *help;
} choices[SPACE_NCHOICES] = {
    [SPACE_TP] = {"tp", "t", NULL,
                  "tensor parallelism: attention heads and MLP widths are sharded"},
    [SPACE_PP] = {"pp", "p", NULL, "pipeline ranks"},
    [SPACE_CP] = {"cp", "c", NULL, "context parallelism: the sequence is sharded, zigzag"},
    [SPACE_DP] = {"dp", "d", NULL, "data-parallel replicas, which shard the batch"},
    [SPACE_EP] = {"ep", "e", NULL, "expert parallelism: devices that share the experts of a layer"},
    [SPACE_VIRTUAL] = {"virtual", "v", NULL, "stages per pipeline rank"},
    [SPACE_SCHEDULE] = {"schedule", NULL, NULL, "of the pipeline"},
    [SPACE_SPLIT] = {"split", NULL, split_words, "of layers into stages"},
    [SPACE_MICROBATCH] = {"microbatch", "mb", NULL, "sequences per microbatch of a replica"},
    [SPACE_RECOMPUTE] = {"recompute", NULL, NULL, "activation recomputation"},
    [SPACE_SP] = {"sp", NULL, flag_words,
                  "sequence parallelism: activations between layers are sharded over tp"},
    [SPACE_ZERO] = {"zero", "z", NULL, "ZeRO's stage"},
    [SPACE_SHARDS] = {"shards", "/", NULL, "devices of a ZeRO group"},
    [SPACE_ORDER] = {"order", NULL, order_words, "axes of the mesh, the outermost first"},
    [SPACE_METHOD] = {"method", NULL, method_words, "of context parallelism: ring or all-to-all"},
    [SPACE_PRODUCTS] = {"products", NULL, products_words, "recipe of low-precision matmuls"},
    [SPACE_FOLD] = {"fold", NULL, fold_words, "axes that expert parallelism takes before replicas"},
};

const uint8_t *space_order(int32_t order)
{
    return orders[order];
}

const struct timetable_schedule *space_schedule_of(int32_t value)
{
    for (size_t i = 0; timetable_schedules[i]; i++)
        if (!(timetable_schedules[i]->flags & TIMETABLE_UNSEARCHED) && value-- == 0)
            return timetable_schedules[i];
    return NULL;
}

const char *space_word(enum space_choice choice, int32_t value)
{
    const struct timetable_schedule *schedule;

    if (choice == SPACE_RECOMPUTE)
        return recompute_choice_word(value);
    if (choice != SPACE_SCHEDULE)
        return choices[choice].words ? choices[choice].words[value] : NULL;
    schedule = space_schedule_of(value);
    return schedule ? schedule->name : NULL;
}

const char *space_choice_name(enum space_choice choice)
{
    return choices[choice].name;
}

const char *space_choice_letter(enum space_choice choice)
{
    return choices[choice].letter;
}

const char *space_choice_help(enum space_choice choice)
{
    return choices[choice].help;
}
