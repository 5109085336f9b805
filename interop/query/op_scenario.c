/* scenario.run and scenario.plan: from a scenario's text to the result object.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/limits.h"
#include "query/query.h"
#include "report/result.h"
#include "scenario/scenario.h"
#include "trial/trial.h"
#include "trial/handoff.h"
#include "trial/serve.h"

static int try_one(const struct scenario *scenario, enum record_mode mode, struct diag *diag,
                   struct json_out *out, struct shd_error *err)
{
    struct result result = {.scenario = scenario->name,
                            .strategy = scenario->strategy,
                            .what = scenario_kind_name(scenario->model.kind),
                            .tokens =
                                (uint64_t)scenario->batch.size * (uint64_t)scenario->batch.seq};
    struct trial trial;
    int status = trial_init(&trial, scenario, diag);

    if (status != SHD_OK)
        return status;
    if (mode == RECORD_EXECUTED)
        status = limits_check(trial.program, (uint32_t)scenario->steps, false, err);
    if (status != SHD_OK) {
        trial_fini(&trial);
        return status;
    }
    status = mode == RECORD_PLANNED ? handoff_plan(&trial, err) : serve_execute(&trial, NULL, err);
    result.record = trial.record;
    result.memory_limit_bytes = trial.memory_limit_bytes;
    if (status == SHD_OK)
        status = result_json(&result, out, err);
    trial_fini(&trial);
    return status;
}

static int answer(const json_t *in, enum record_mode mode, struct json_out *out,
                  struct shd_error *err)
{
    const json_t *yaml = json_object_get(in, "yaml");
    struct diag diag = DIAG_INIT;
    struct scenario_file *file = NULL;
    int status;

    if (!json_is_string(yaml))
        return shd_error_set(err, SHD_ETYPE, "'yaml' must be the text of a scenario");
    status = scenario_parse(&file, "<yaml>", json_string_value(yaml), json_string_length(yaml),
                            NULL, 0, &diag);
    if (status == SHD_OK) {
        if (mode == RECORD_PLANNED)
            scenario_file_plan(file);
        if (file->nscenarios != 1)
            json_out_begin_array(out);
        for (size_t i = 0; i < file->nscenarios && status == SHD_OK; i++)
            status = try_one(&file->scenarios[i], mode, &diag, out, err);
        if (file->nscenarios != 1 && status == SHD_OK)
            json_out_end_array(out);
    }
    if (diag.no_memory)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the scenario");
    else if (diag.nmessages > 0)
        status =
            shd_error_set(err, status == SHD_OK ? SHD_EINVAL : status, "%d:%d: %s",
                          diag.messages[0].line, diag.messages[0].column, diag.messages[0].text);
    scenario_file_destroy(file);
    diag_fini(&diag);
    return status;
}

static int answer_run(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer(in, RECORD_EXECUTED, out, err);
}

static int answer_plan(const json_t *in, struct json_out *out, struct shd_error *err)
{
    return answer(in, RECORD_PLANNED, out, err);
}

/* What both ops are asked, and how they answer. */
#define OF_SCENARIO                                                                               \
    .in = QUERY_FIELDS({"yaml", "text", NULL, "The text of a scenario; shardsim-scenario(5)."}),  \
    .gives = "object or list",                                                                    \
    .out = QUERY_FIELDS({"...", "anything", NULL, "The result, schema shardsim.result/2."}),      \
    .question =                                                                                   \
        "{'yaml': 'version: 1\\nname: small\\nmesh: {tp: 2}\\nmodel: {kind: mlp, d_model: "       \
        "8, d_ff: 16, layers: 1}\\nbatch: {size: 2, seq: 4}\\nparams: [[up/kernel, [null, tp]], " \
        "[down/kernel, [tp]], [.*, []]]\\nstep: [forward]\\n'}"

const struct query_op query_scenario_ops[] = {
    {.name = "scenario.plan",
     .answer = answer_plan,
     .about = "Plans a scenario without executing it: the object that 'shardsim plan --json' "
              "prints; a list for several strategies.",
     OF_SCENARIO,
     .reply = "'out':{'schema':'shardsim.result/"
              "2','scenario':'small','strategy':'default','mode':'plan','mesh':[['tp',2]],'devices'"
              ":2,'figures':{'microbatches':1,...},'collectives':[{'op':'all-reduce','axes':['tp'],"
              "...}],'received_bytes':{'total':512,...},...}"},
    {.name = "scenario.run",
     .answer = answer_run,
     .about = "Executes a scenario with real bytes: the object that 'shardsim run --json' prints; "
              "a list for several strategies.",
     OF_SCENARIO,
     .reply = "'out':{'schema':'shardsim.result/"
              "2','scenario':'small','strategy':'default','mode':'execute','mesh':[['tp',2]],'"
              "devices':2,'figures':{'microbatches':1,...},'collectives':[{'op':'all-reduce','axes'"
              ":['tp'],...}],'received_bytes':{'total':512,...},...,'verify':{'ok':true,...}}"},
    {.name = NULL}};
