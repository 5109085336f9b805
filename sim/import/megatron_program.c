/* Recognizes Megatron-LM's programs: one for each kind of model, all with the same options.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "import/megatron.h"

enum model { DECODER, T5, NONE };

#define DECODER_INSTEAD "; expected pretrain_gpt.py or pretrain_t5.py"

/* Programs by the end of a path, the first that fits: of a program file, or of a folder of
 * Megatron-LM's functional tests, which is named after the model of its cases. */
static const struct {
    const char *end;
    enum model model;
    const char *why; /* of NONE */
} programs[] = {
    {"pretrain_gpt.py", DECODER, NULL},
    {"pretrain_t5.py", T5, NULL},
    {"pretrain_bert.py", NONE,
     "BERT attends both ways, and has heads of its own; to plan a decoder of its sizes that does "
     "give pretrain_gpt.py, and then model.causal: false"},
    {"pretrain_mamba.py", NONE, "no model of a scenario has layers of Mamba" DECODER_INSTEAD},
    {"pretrain_hybrid.py", NONE, "no model of a scenario has layers of Mamba" DECODER_INSTEAD},
    {"pretrain_hybrid_flex.py", NONE, "no model of a scenario has layers of Mamba" DECODER_INSTEAD},
    {"pretrain_vlm.py", NONE, "no model of a scenario sees images" DECODER_INSTEAD},
    {"multimodal/train.py", NONE, "no model of a scenario sees images" DECODER_INSTEAD},
    {"mimo/train.py", NONE, "no model of a scenario sees images" DECODER_INSTEAD},
    {"pretrain_vision_classify.py", NONE, "no model of a scenario sees images" DECODER_INSTEAD},
    {"pretrain_vision_dino.py", NONE, "no model of a scenario sees images" DECODER_INSTEAD},
    {"pretrain_vision_inpaint.py", NONE, "no model of a scenario sees images" DECODER_INSTEAD},
    {"pretrain_ict.py", NONE, "no model of a scenario has two encoders" DECODER_INSTEAD},
    {"pretrain_biencoder.py", NONE, "no model of a scenario has two encoders" DECODER_INSTEAD},
    {"pretrain_realm.py", NONE, "no model of a scenario has two encoders" DECODER_INSTEAD},
    {"pretrain_retro.py", NONE, "no model of a scenario retrieves" DECODER_INSTEAD},
    {"train_rl.py", NONE,
     "no step of a scenario generates what it learns from" DECODER_INSTEAD},
    {"inference.py", NONE, "a scenario is of training" DECODER_INSTEAD},
    {"inference_with_coordinator.py", NONE, "a scenario is of training" DECODER_INSTEAD},
    {"generate_samples_gpt.py", NONE, "a scenario is of training" DECODER_INSTEAD},
    {"generate.py", NONE, "a scenario is of training" DECODER_INSTEAD},
    {"run_text_generation.py", NONE, "a scenario is of training" DECODER_INSTEAD},
    {"run_text_generation_server.py", NONE, "a scenario is of training" DECODER_INSTEAD},
    {"/gpt", DECODER, NULL},
    {"/moe", DECODER, NULL},
    {"/mixtral", DECODER, NULL},
    {"/t5", T5, NULL},
    {"/bert", NONE,
     "BERT attends both ways, and has heads of its own; expected a test of gpt or t5"},
    {"/hybrid", NONE, "no model of a scenario has layers of Mamba; expected a test of gpt or t5"},
    {"/mamba", NONE, "no model of a scenario has layers of Mamba; expected a test of gpt or t5"},
    {"/nemotron", NONE, "no model of a scenario has layers of Mamba; expected a test of gpt or t5"},
    {"/mimo", NONE, "no model of a scenario sees images; expected a test of gpt or t5"},
    {"/multimodal-llava", NONE, "no model of a scenario sees images; expected a test of gpt or t5"},
};

/* Whether a path ends with `end`, at the beginning of a name or after its '_': "a_t5.py" ends with
 * "t5.py". */
static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    char before = n > m ? path[n - m - 1] : '/';

    return n >= m && !strcmp(path + n - m, end) &&
           (*end == '/' || before == '/' || before == '_' || n == m);
}

void megatron_read_program(struct import_job *job, const char *word, struct place place,
                           struct diag *diag)
{
    const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!ends_with(word, programs[i].end))
            continue;
        job->known_program = true;
        job->t5 |= programs[i].model == T5;
        if (programs[i].why)
            diag_error(diag, place, "%.60s: %s", name, programs[i].why);
        return;
    }
    if (ends_with(word, ".py") || strstr(name, ".py"))
        text_addf(&job->programs, " %s", name);
}

void megatron_note_program(struct import_job *job)
{
    if (job->known_program)
        return;
    if (job->programs.length > 0)
        text_addf(&job->notes,
                  "# Not a program of Megatron-LM, taken to train a %s:%s\n",
                  job->t5 ? "T5" : "causal decoder", text_get(&job->programs));
    else
        text_addf(&job->notes, "# No program is named: taken as pretrain_%s.py.\n",
                  job->t5 ? "t5" : "gpt");
}
