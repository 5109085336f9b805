/* Fuzzes launch scripts of Megatron-LM, vLLM and SGLang, and files of torchtitan with libFuzzer: any bytes are read
 * or refused with a message, and the resulting scenario can be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/scenario.h"
#include "training/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void read(void (*reader)(struct import_job *, struct place, const char *, struct diag *),
                 const char *text, const char *size, const char *const *given, size_t ngiven)
{
    struct diag errors = DIAG_INIT;
    struct text out = TEXT_INIT;
    struct import_job job;
    struct scenario_file *file = NULL;

    import_job_init(&job);
    job.size = size;
    job.devices = 8;
    job.given = given;
    job.ngiven = ngiven;
    reader(&job, (struct place){"fuzz", 1, 1}, text, &errors);
    import_job_print(&job, "fuzz", &out, &errors);
    if (errors.nerrors == 0)
        require(scenario_parse(&file, "made", text_get(&out), out.length, NULL, 0, &errors) ==
                SHD_OK);
    scenario_file_destroy(file);
    import_job_fini(&job);
    text_fini(&out);
    diag_fini(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const given[] = {"X=1", "1=4"};
    char *text = malloc(size + 1); /* no room to spare: a sanitizer notices reading past the end */

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    read(import_megatron, text, NULL, NULL, 0);
    read(import_megatron, text, "llama3-8b", given, 2);
    read(import_torchtitan, text, NULL, NULL, 0);
    read(import_vllm, text, NULL, NULL, 0);
    read(import_vllm, text, "deepseek-v3", given, 2);
    read(import_sglang, text, NULL, NULL, 0);
    read(import_sglang, text, "llama3-8b", given, 2);
    free(text);
    return 0;
}
