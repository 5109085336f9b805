/* Reads a command of vLLM's server, or the script that launches it.
 *
 * Devices are numbered with data parallelism outermost and tensor parallelism innermost.  Experts
 * are sharded over both: their widths, or with --enable-expert-parallel the experts themselves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/yaml.h"
#include "servers/serving.h"

#define MEMORY 0.9 /* --gpu-memory-utilization by default; 0.92 in releases of 2026 */

static bool find(const struct shell *s, size_t *program)
{
    static const struct serving_program vllm = {
        "vllm",
        "vllm.entrypoints.openai.api_server vllm.entrypoints.api_server vllm.entrypoints.cli.main",
        "vllm/vllm-openai"};

    return serving_find_program(s, &vllm, program);
}

static const struct launch_system vllm_system = {
    .name = "vLLM",
    .options = vllm_options,
    .example = "vllm serve MODEL",
    .printed = LAUNCH_PRINTED("vllm"),
    .argparse = true,
    .bare = vllm_bare,
    .valued = vllm_valued,
    .lists = vllm_lists,
    .positional = "--model",
    .by_node =
        "--node-rank -r --headless --data-parallel-start-rank -dpr --data-parallel-rank -dpn "
        "--data-parallel-size-local -dpl --data-parallel-address -dpa --master-addr --host "
        "--port --api-server-count -asc",
    .find = find};

/* A producer of KV caches is a prefill server, a consumer a decode server. */
static void find_phase(struct serving *v, const struct import_job *job)
{
    const char *transfer = job->server.transfer.text;

    v->prefill = transfer && strstr(transfer, "kv_producer");
}

/* Whether each token is sent to its experts, by an exchange that is asked for. */
static bool sends(const struct import_server *o)
{
    return o->experts_apart && o->exchange && strcmp(o->exchange, "naive") != 0 &&
           strcmp(o->exchange, "allgather_reducescatter") != 0;
}

/* Read the number of copies of the balancer's options in one, which are JSON. */
static void read_balancing(struct import_job *job, struct diag *diag)
{
    const struct import_text *json = &job->server.balancing;
    const struct yaml_node *copies;
    struct yaml_doc *doc;

    if (!json->text ||
        yaml_doc_parse(&doc, json->place, json->text, strlen(json->text), diag) != SHD_OK)
        return;
    if (yaml_doc_root(doc)->kind != YAML_MAP)
        diag_error(diag, json->place, "--eplb-config is '%.60s'; expected a map as JSON",
                   json->text);
    else if ((copies = yaml_find(yaml_doc_root(doc), "num_redundant_experts")) != NULL)
        import_job_set(job, vllm_options, import_option_find(vllm_options, VLLM_COPIES),
                       "--eplb-config", copies->text, json->place, diag);
    yaml_doc_destroy(doc);
}

static void find_layout(struct serving *v, const struct import_server *o)
{
    bool mixed = v->model.moe.experts > 0;

    v->copies = mixed ? 1 : o->replicas;
    v->parts = mixed ? o->replicas : 1;
    v->devices = v->parts * o->tensor;
    v->cache_parts = o->cache_parts;
    v->experts = mixed && o->experts_apart ? v->devices : 1;
    v->gathers = !sends(o);
}

static void check(const struct import_job *job, struct diag *diag)
{
    const struct import_server *o = &job->server;

    if (o->copies > 0 && !o->balances)
        diag_error(diag, job->end,
                   "%" PRId64 " redundant experts need the load balancer in vLLM; add "
                   "--enable-eplb",
                   o->copies);
    serving_refuse_cuts(job, "--pipeline-parallel-size", "--prefill-context-parallel-size", diag);
    if (job->devices > 0 && job->devices != o->replicas * o->tensor)
        diag_error(diag, job->end,
                   "--devices %" PRId64 ": the command's tensor x data parallelism needs %" PRId64,
                   job->devices, o->replicas * o->tensor);
}

void import_vllm(struct import_job *job, struct place first, const char *text, struct diag *diag)
{
    struct serving v = {.dense = SERVING_INSIDE, .shared = SERVING_INSIDE};

    job->software = "vllm";
    serving_read(&v, job, &vllm_system, check, first, text, diag);
    read_balancing(job, diag);
    if (diag->nerrors > 0)
        return;
    find_layout(&v, &job->server);
    find_phase(&v, job);
    serving_find_load(job, &v, v.copies * v.parts, MEMORY, diag);
    if (diag->nerrors == 0)
        serving_print(job, &v, diag);
}
