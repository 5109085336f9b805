/* What of all layouts a search is of, in words (space.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "search/space.h"

/* Most words of a choice that are named; of the others their number. */
#define WORDS_MOST 5

/* What no range brings into a search. */
#define NEVER_TRIED                                                                         \
    "recomputation of some layers only, offload, uneven stages other than given or light, " \
    "expert parallelism over a part of tp or cp"

/* Whether the values of a choice are told: those that scenarios alone can give are not. */
static bool is_told(const struct space *space, enum space_choice choice, int32_t value)
{
    const char *word = space_word(choice, value);

    if (strcmp(word, "given") != 0)
        return true;
    return choice == SPACE_RECOMPUTE ? space->names_recompute
                                     : choice == SPACE_SPLIT && space->nstages > 0;
}

/* Append " WORD, WORD" of the choices that are tried, or of the others; returns how many. */
static size_t add_words(struct text *out, const struct space *space, enum space_choice choice,
                        bool tried)
{
    size_t n = 0;

    for (int32_t v = 0; space_word(choice, v); v++) {
        if (!is_told(space, choice, v) || space_tries(space, choice, v) != tried)
            continue;
        if (n++ < WORDS_MOST)
            text_addf(out, "%s%s", n > 1 ? ", " : " ", space_word(choice, v));
    }
    if (n > WORDS_MOST)
        text_addf(out, " and %zu others", n - WORDS_MOST);
    return n;
}

static bool is_ranged(const struct space *space, enum space_choice choice)
{
    for (size_t i = 0; i < space->nranges; i++)
        if (space->ranges[i].choice == choice)
            return true;
    return false;
}

/* Choices whose words are of interest; of flags and orders only that they are chosen. */
static bool has_names(const struct space *space, enum space_choice choice)
{
    return space_word(choice, 0) && choice != SPACE_SP && choice != SPACE_ORDER &&
           (choice != SPACE_FOLD || space->experts > 0);
}

void space_tell_extent(struct text *searched, struct text *unsearched, const struct space *space)
{
    const char *between = "";

    for (int c = 0; c < SPACE_NCHOICES; c++) {
        enum space_choice choice = (enum space_choice)c;

        if (has_names(space, choice) || choice == SPACE_FOLD)
            continue;
        text_addf(searched, "%s%s%s", between, space_choice_name(choice),
                  is_ranged(space, choice) ? " in its range" : "");
        between = ", ";
    }
    between = "";
    for (int c = 0; c < SPACE_NCHOICES; c++) {
        enum space_choice choice = (enum space_choice)c;
        struct text tried = TEXT_INIT, left = TEXT_INIT;

        if (has_names(space, choice) && add_words(&tried, space, choice, true) > 0)
            text_addf(searched, "; %s%s", space_choice_name(choice), text_get(&tried));
        if (has_names(space, choice) && add_words(&left, space, choice, false) > 0) {
            text_addf(unsearched, "%s%s%s", between, space_choice_name(choice), text_get(&left));
            between = "; ";
        }
        searched->failed |= tried.failed || left.failed;
        text_fini(&tried);
        text_fini(&left);
    }
    text_add(unsearched, *between ? " (--range may add these); " NEVER_TRIED : NEVER_TRIED);
}
