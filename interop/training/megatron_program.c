/* Recognizes Megatron-LM's programs: one for each kind of model, all with the same options.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/file.h"
#include "base/words.h"
#include "training/megatron.h"

enum model { DECODER, T5, NONE };

#define DECODER_INSTEAD "; expected pretrain_gpt.py or pretrain_t5.py"

#define TEST_INSTEAD "; expected a gpt or t5 test"
#define NO_MAMBA "Mamba layers are not modelled"
#define NO_IMAGES "vision models are not modelled"

/* Programs by ends of paths, the first that fits: of a program file, or of a folder of
 * Megatron-LM's functional tests, which is named after the model of its cases. */
static const struct {
    const char *ends; /* base/words.h */
    enum model model;
    const char *why; /* of NONE */
} programs[] = {
    {"pretrain_gpt.py", DECODER, NULL},
    {"pretrain_t5.py", T5, NULL},
    {"pretrain_bert.py", NONE,
     "BERT is not modelled; for a decoder of the same sizes with bidirectional attention use "
     "pretrain_gpt.py, then set model.causal: false"},
    {"pretrain_mamba.py pretrain_hybrid.py pretrain_hybrid_flex.py", NONE,
     NO_MAMBA DECODER_INSTEAD},
    {"pretrain_vlm.py multimodal/train.py mimo/train.py pretrain_vision_classify.py "
     "pretrain_vision_dino.py pretrain_vision_inpaint.py",
     NONE, NO_IMAGES DECODER_INSTEAD},
    {"pretrain_ict.py pretrain_biencoder.py pretrain_realm.py", NONE,
     "dual-encoder models are not modelled" DECODER_INSTEAD},
    {"pretrain_retro.py", NONE, "retrieval models are not modelled" DECODER_INSTEAD},
    {"train_rl.py", NONE, "reinforcement learning is not read from a job" DECODER_INSTEAD},
    {"inference.py inference_with_coordinator.py generate_samples_gpt.py generate.py "
     "run_text_generation.py run_text_generation_server.py",
     NONE, "not a training program" DECODER_INSTEAD},
    {"/gpt /moe /mixtral", DECODER, NULL},
    {"/t5", T5, NULL},
    {"/bert", NONE, "BERT is not modelled" TEST_INSTEAD},
    {"/hybrid /mamba /nemotron", NONE, NO_MAMBA TEST_INSTEAD},
    {"/mimo /multimodal-llava", NONE, NO_IMAGES TEST_INSTEAD},
};

/* Whether a path ends with `end`, at the beginning of a name or after its '_': "a_t5.py" ends with
 * "t5.py". */
static bool ends_with(const char *path, const char *end, size_t m)
{
    size_t n = strlen(path);
    char before = n > m ? path[n - m - 1] : '/';

    return n >= m && !strncmp(path + n - m, end, m) &&
           (*end == '/' || before == '/' || before == '_' || n == m);
}

static bool ends_with_one_of(const char *path, const char *ends)
{
    size_t length;

    for (const char *end; (end = words_next(&ends, &length));)
        if (ends_with(path, end, length))
            return true;
    return false;
}

void megatron_read_program(struct import_job *job, const char *word, struct place place,
                           struct diag *diag)
{
    const char *name = file_name(word);

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!ends_with_one_of(word, programs[i].ends))
            continue;
        job->known_program = true;
        job->t5 |= programs[i].model == T5;
        if (programs[i].why)
            diag_error(diag, place, "%.60s: %s", name, programs[i].why);
        return;
    }
    if (ends_with(word, ".py", 3) || strstr(name, ".py"))
        text_addf(&job->programs, " %s", name);
}

void megatron_note_program(struct import_job *job)
{
    if (job->known_program)
        return;
    if (job->programs.length > 0)
        text_addf(&job->notes, "# Unknown program, assumed to train a %s:%s\n",
                  job->t5 ? "T5" : "causal decoder", text_get(&job->programs));
    else
        text_addf(&job->notes, "# No program is named: pretrain_%s.py is assumed.\n",
                  job->t5 ? "t5" : "gpt");
}
