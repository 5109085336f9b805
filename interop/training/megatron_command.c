/* Tells commands of Megatron-LM from others: by their options, whatever the program is called.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"
#include "training/megatron.h"
#include "training/megatron_options.h"

/* Whether a command has an option that affects the layout. */
static bool launches(const struct shell *s)
{
    for (size_t i = 0; i < s->words.count; i++) {
        const char *text = shell_words_text(&s->words, i);
        size_t length = strcspn(text, "=");
        struct text name = TEXT_INIT;
        const struct import_option *option = NULL;

        if (launch_script_is_option(&megatron_system, s, i)) {
            text_add_bytes(&name, text, length);
            option = import_option_find(megatron_options, text_get(&name));
        }
        text_fini(&name);
        if (option && option->type != IMPORT_QUIET)
            return true;
    }
    return false;
}

/* The word that names torchrun, Python or a Python program; 0: the first word, or none. */
static size_t find_launcher(const struct shell *s)
{
    for (size_t i = 0; i < s->words.count && !launch_script_is_option(&megatron_system, s, i);
         i++) {
        const char *text = shell_words_text(&s->words, i);

        if (strstr(text, "torchrun") || strstr(text, "python") ||
            (text_ends_with(text, ".py") && text[3]))
            return i;
    }
    for (size_t i = 0; i < s->words.count; i++)
        if (!strcmp(shell_words_text(&s->words, i), "torchrun") ||
            !strncmp(shell_words_text(&s->words, i), "python", 6))
            return i;
    return 0;
}

/* Unknown options before the launcher's name belong to another program. */
static bool find(const struct shell *s, size_t *program)
{
    *program = find_launcher(s);
    return launches(s);
}

/* Note the variable by which Megatron-LM orders communication and computation. */
static void note_connections(struct import_job *job, const struct shell *s)
{
    static const char name[] = "CUDA_DEVICE_MAX_CONNECTIONS";
    const struct shell_variable *v = shell_state_find(&s->state, name, strlen(name));
    struct place place;

    if (!v || !v->set || v->value.count != 1 ||
        shell_words_doubt(&v->value, 0, 0, v->value.list[0].length) < v->value.list[0].length)
        return;
    place = shell_place_at(s, shell_words_at(&v->value, 0, 0));
    job->connections = strtoll(shell_words_text(&v->value, 0), NULL, 10);
    import_job_note(job, name, shell_words_text(&v->value, 0), place, place, s->diag);
}

static void read_words(struct import_job *job, const struct shell *s, size_t program)
{
    (void)program;
    note_connections(job, s);
    for (size_t i = 0; i < s->words.count; i++)
        megatron_read_program(job, shell_words_text(&s->words, i),
                              shell_place_at(s, shell_words_at(&s->words, i, 0)), s->diag);
}

/* Take the tokenizer that a file of variables sets for another file. */
static void take_tokenizer(struct import_job *job, struct shell *s)
{
    static const char name[] = "TOKENIZER_MODEL";
    struct shell_variable *v = shell_state_find(&s->state, name, strlen(name));
    struct text known = TEXT_INIT;

    if (!v || !v->set || job->tokenizer_model.text)
        return;
    v->used = true;
    shell_words_clear(&s->words);
    shell_put_variable(s, &s->words, v);
    launch_script_add_known(&known, s);
    job->tokenizer_model.text = text_take(&known);
    job->tokenizer_by = name;
    if (!job->tokenizer_model.text)
        diag_no_memory(s->diag);
}

const struct launch_system megatron_system = {.name = "Megatron-LM",
                                              .options = megatron_options,
                                              .example = "torchrun pretrain_gpt.py --num-layers N",
                                              .printed = LAUNCH_PRINTED("torchrun"),
                                              .find = find,
                                              .read_words = read_words,
                                              .take_variables = take_tokenizer};
