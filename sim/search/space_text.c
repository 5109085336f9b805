/* Layouts in words (search/space.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/space.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void space_print_value(struct text *out, enum space_choice choice, int32_t value)
{
    const char *word = space_word(choice, value);

    if (word)
        text_add(out, word);
    else
        text_addf(out, "%" PRId32, value);
}

/* The number of devices that ZeRO shards over, after its stage, if not all replicas. */
static void print_shards(struct text *out, const struct layout *layout)
{
    if (layout->value[SPACE_ZERO] > 0 && layout->value[SPACE_SHARDS] != layout->value[SPACE_DP])
        text_addf(out, "%s%" PRId32, space_choice_letter(SPACE_SHARDS),
                  layout->value[SPACE_SHARDS]);
}

void space_print_mesh(struct text *out, const struct layout *layout)
{
    static const enum space_choice sizes[] = {SPACE_TP, SPACE_PP, SPACE_CP, SPACE_DP, SPACE_EP};
    const char *space = "";

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (layout->value[sizes[i]] > 1) {
            text_addf(out, "%s%s%" PRId32, space, space_choice_letter(sizes[i]),
                      layout->value[sizes[i]]);
            space = " ";
        }
    text_addf(out, "%s%s%" PRId32, space, space_choice_letter(SPACE_ZERO),
              layout->value[SPACE_ZERO]);
    print_shards(out, layout);
}

void space_print(struct text *out, const struct layout *layout)
{
    static const enum space_choice numbers[] = {SPACE_TP,         SPACE_PP,  SPACE_CP,
                                                SPACE_DP,         SPACE_EP,  SPACE_VIRTUAL,
                                                SPACE_MICROBATCH, SPACE_ZERO};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if ((numbers[i] != SPACE_CP && numbers[i] != SPACE_EP) || layout->value[numbers[i]] > 1)
            text_addf(out, "%s%s%" PRId32, i ? " " : "", space_choice_letter(numbers[i]),
                      layout->value[numbers[i]]);
    print_shards(out, layout);
    if (layout->value[SPACE_SP])
        text_add(out, " sp");
    if (!space_is_implied(layout))
        text_addf(out, " %s", space_schedule(layout)->name);
    if (layout->value[SPACE_SPLIT] != SPACE_SPLIT_EVEN)
        text_addf(out, " split-%s", space_word(SPACE_SPLIT, layout->value[SPACE_SPLIT]));
    if (layout->value[SPACE_METHOD] != SPACE_RING)
        text_addf(out, " %s", space_word(SPACE_METHOD, layout->value[SPACE_METHOD]));
    if (layout->value[SPACE_PRODUCTS])
        text_addf(out, " %s", space_word(SPACE_PRODUCTS, layout->value[SPACE_PRODUCTS]));
    if (layout->value[SPACE_FOLD])
        text_addf(out, " fold-%s", space_word(SPACE_FOLD, layout->value[SPACE_FOLD]));
    text_addf(out, " recompute-%s %s", recompute_choice_word(layout->value[SPACE_RECOMPUTE]),
              space_word(SPACE_ORDER, layout->value[SPACE_ORDER]));
}

/* Whether a name has a word of `length` bytes. */
static bool has_word(const char *name, const char *word, size_t length)
{
    for (const char *at = name; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");

        if (n == length && !memcmp(at, word, n))
            return true;
        at += n;
    }
    return false;
}

static bool all_have(const struct text *names, size_t n, const char *word, size_t length)
{
    for (size_t k = 0; k < n; k++)
        if (!has_word(text_get(&names[k]), word, length))
            return false;
    return true;
}

/* Append the words of a name that all names have (`common`), or all other words. */
static void add_words(struct text *out, const char *name, const struct text *names, size_t n,
                      bool common)
{
    for (const char *at = name; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");

        if (all_have(names, n, at, length) == common) {
            text_add(out, out->length > 0 ? " " : "");
            text_add_bytes(out, at, length);
        }
        at += length;
    }
}

void space_print_apart(struct text *common, struct text *names, const struct layout *const *layouts,
                       size_t n)
{
    struct text *whole = calloc(n, sizeof *whole);

    common->failed |= !whole;
    for (size_t k = 0; whole && k < n; k++) {
        text_init(&whole[k]);
        space_print(&whole[k], layouts[k]);
        common->failed |= whole[k].failed;
    }
    for (size_t k = 0; whole && k < n; k++)
        add_words(&names[k], text_get(&whole[k]), whole, n, false);
    if (whole && n > 0)
        add_words(common, text_get(&whole[0]), whole, n, true);
    for (size_t k = 0; whole && k < n; k++)
        text_fini(&whole[k]);
    free(whole);
}

void space_print_key(struct text *out)
{
    static const struct {
        enum space_choice choice;
        const char *is;
    } letters[] = {
        {SPACE_TP, "devices of tensor parallelism"},     {SPACE_PP, "pipeline ranks"},
        {SPACE_CP, "devices of context parallelism"},    {SPACE_DP, "data-parallel replicas"},
        {SPACE_EP, "devices of expert parallelism"},     {SPACE_VIRTUAL, "stages per rank"},
        {SPACE_MICROBATCH, "sequences of a microbatch"},
    };

    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        text_addf(out, "%s %s, ", space_choice_letter(letters[i].choice), letters[i].is);
    text_addf(out,
              "%s ZeRO stage %s devices of its group if not all replicas, sp sequence parallelism; "
              "last the mesh axes, outermost first",
              space_choice_letter(SPACE_ZERO), space_choice_letter(SPACE_SHARDS));
}

static void tell_zero(struct text *out, const int32_t *v)
{
    if (v[SPACE_ZERO] == 0)
        return;
    text_addf(out, " with ZeRO stage %" PRId32 " over ", v[SPACE_ZERO]);
    if (v[SPACE_SHARDS] > v[SPACE_DP])
        text_addf(out, "these and context parallelism's, %" PRId32 " devices", v[SPACE_SHARDS]);
    else if (v[SPACE_SHARDS] == v[SPACE_DP])
        text_addf(out, "all %" PRId32, v[SPACE_SHARDS]);
    else
        text_addf(out, "%" PRId32 " of them", v[SPACE_SHARDS]);
}

void space_tell(struct text *out, const struct layout *layout)
{
    const int32_t *v = layout->value;

    if (v[SPACE_TP] > 1)
        text_addf(out, "tensor parallelism over %" PRId32 "%s, ", v[SPACE_TP],
                  v[SPACE_SP] ? " with sequence parallelism" : "");
    if (v[SPACE_PP] > 1)
        text_addf(out, "a pipeline of %" PRId32 " ranks with %" PRId32 " stage%s each, ",
                  v[SPACE_PP], v[SPACE_VIRTUAL], v[SPACE_VIRTUAL] > 1 ? "s" : "");
    if (v[SPACE_CP] > 1)
        text_addf(out, "context parallelism over %" PRId32 "%s, ", v[SPACE_CP],
                  v[SPACE_METHOD] == SPACE_RING ? "" : " by all-to-all");
    if (v[SPACE_EP] > 1)
        text_addf(out, "expert parallelism over %" PRId32 "%s%s%s, ", v[SPACE_EP],
                  v[SPACE_FOLD] ? " folded over " : " replicas",
                  v[SPACE_FOLD] ? space_word(SPACE_FOLD, v[SPACE_FOLD]) : "",
                  v[SPACE_FOLD] && space_expert_replicas(layout) > 1 ? " and replicas" : "");
    text_addf(out, "%" PRId32 " data-parallel replica%s", v[SPACE_DP], v[SPACE_DP] > 1 ? "s" : "");
    tell_zero(out, v);
    text_addf(out, ", microbatches of %" PRId32 " sequence%s a replica; %s", v[SPACE_MICROBATCH],
              v[SPACE_MICROBATCH] > 1 ? "s" : "",
              v[SPACE_RECOMPUTE] == SPACE_NONE ? "no recomputation" : "recomputation: ");
    if (v[SPACE_RECOMPUTE] != SPACE_NONE)
        text_add(out, recompute_choice_word(v[SPACE_RECOMPUTE]));
    if (v[SPACE_SPLIT] == SPACE_SPLIT_LIGHT)
        text_add(out, "; fewer layers beside the head");
    if (v[SPACE_PRODUCTS])
        text_addf(out, "; quantized matmuls: %s", space_word(SPACE_PRODUCTS, v[SPACE_PRODUCTS]));
}
