/* shardsim check - every scenario against its stored baseline.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/common.h"
#include "check/folder.h"

/* A weight of so much that is replicated over several devices is warned of, if not told otherwise:
 * a float32 matrix of 4096 x 4096, the size of one of a model of 7B. */
#define WHOLE_BYTES (UINT64_C(64) << 20)

#define AT(field) ARGS_AT(struct check, field)

/* Note an option of a script as "NAME=VALUE": scripts are read later, and a baseline may have the
 * options instead. */
static void take_word(const struct args_value *v)
{
    struct check_wish *wish = v->at;
    struct text word = TEXT_INIT;

    if (wish->nwords == CHECK_WORDS_MAX)
        args_error(v->line, "more than %d options of a launch script", CHECK_WORDS_MAX);
    text_addf(&word, "%s=%s", v->row->name, v->arg);
    wish->words[wish->nwords] = text_take(&word);
    if (!wish->words[wish->nwords++])
        args_error(v->line, "no memory");
}

#define OF_SCRIPT(name, type, help)                    \
    {                                                  \
        name, 0, type, take_word, AT(wish), 0, 0, help \
    }

static const struct args_row rows[] = {
    {"plan", 0, NULL, args_switch, AT(wish.plan), 0, 0,
     "Analytical, nothing is executed: the same bytes and memory, but numbers are not verified"},
    {"update", 0, NULL, args_switch, AT(wish.update), 0, 0,
     "Accept the present state as the new baselines. Refused where CI is set: baselines need human "
     "review"},
    {"prune", 0, NULL, args_switch, AT(prune), 0, 0,
     "With --update: remove baselines of scenarios that no longer exist (default: report them)"},
    {"junit", 0, "FILE", args_text, AT(tell.junit), 0, 0, "Also write JUnit XML"},
    {"baselines", 0, "DIR", args_text, AT(baselines), 0, 0,
     "Folder of the baselines, with a subfolder per checked folder, e.g. scenarios (default: "
     "results/baselines beside DIR)"},
    {"whole", 0, "SIZE", args_bytes, AT(wish.whole_bytes), 0, 0,
     "Report weights above this size that are replicated over devices (default: 64MiB)"},
    COMMON_MEMORY(struct check, wish.memory),
    {"quiet", 'q', NULL, args_switch, AT(wish.quiet), 0, 0, "No progress on stderr"},
    {"verbose", 'v', NULL, args_switch, AT(wish.verbose), 0, 0,
     "Print all reasons, and all skipped files"},
    {NULL, 0, NULL, NULL, 0, 0, 0, 0,
     "For a launch script, as in 'shardsim import'; the baseline stores them:"},
    OF_SCRIPT("batch", "N", "Sequences per step of a server"),
    OF_SCRIPT("devices", "N", "Devices of the job, if the script does not set them"),
    OF_SCRIPT("hardware", "HARDWARE", "Cluster for modelled times and the memory limit"),
    OF_SCRIPT("model", "MODEL", "A published model instead of the script's"),
    OF_SCRIPT("seq", "N", "Tokens per sequence of a server"),
    OF_SCRIPT("set", "NAME=VALUE",
              "Set a variable that the script leaves unset, or an argument (1, 2, ...)"),
    OF_SCRIPT("vocab", "N", "Vocabulary size, if the command takes it from a tokenizer"),
    OF_SCRIPT("with", "FILE", "A file that the script sources"),
    {0}};

static void check_together(const struct args_line *line, void *input)
{
    const struct check *c = input;

    if (c->prune && !c->wish.update)
        args_error(line, "--prune requires --update");
}

#define FAILED "  1    a baseline differs, or a result is wrong\n"

#define ENVIRONMENT                                                     \
    "Environment:\n"                                                    \
    "  CI              unless empty, 0 or false: --update is refused\n" \
    "  GITHUB_ACTIONS  unless empty, 0 or false: failures are annotated on stderr"

static const struct args args = {
    .own = {.rows = rows,
            .word = {args_text, AT(dir), "one folder at a time; '%s' is a second one", NULL}},
    .operands = "[DIR|FILE]",
    .check = check_together,
    .help =
        "Check every scenario below a folder (default: scenarios), or one file, against the stored "
        "baseline. Compared exactly: the sharding of each parameter, input and constraint, every "
        "collective, bytes, flops and peak memory. The results are also verified against the "
        "unsharded computation. Each difference is described in a sentence. Strategies that would "
        "take more than about a minute to execute are only planned. Prints TAP.\vSuspicious "
        "layouts fail too, until they are accepted: a rule shadowed by earlier rules, a large "
        "replicated weight, a constraint that undoes its neighbour.\n\n"
        "A scenario is a file that ends in .yaml or .yml (lower case). Skipped are hidden files, "
        "folders named 'hardware' and 'models', and symbolic links to folders; -v lists the "
        "skipped files.\n\n"
        "FILE may also be a job that 'shardsim import' reads: a Megatron-LM launch script, a "
        "torchtitan TOML file, or a vLLM or SGLang command. A difference is reported at its line "
        "of that file. The baseline is results/baselines/FILE.yaml; once it exists, 'shardsim "
        "check' includes the file. In a folder, files that launch a known program are checked even "
        "without a baseline.\n\n"
        "Examples:\n"
        "  All of scenarios/, before a commit:\n"
        "    shardsim check\n"
        "  One scenario, analytically:\n"
        "    shardsim check --plan scenarios/fsdp.yaml\n"
        "  In CI, analytically, with a JUnit report:\n"
        "    shardsim check --plan --junit check.xml layouts\n"
        "  A launch script; the first run stores the values that it leaves open:\n"
        "    shardsim check --update train.sh --set NNODES=8 --hardware h100-sxm\n"
        "    shardsim check train.sh\n"
        "  Accept the reported changes after reviewing them:\n"
        "    shardsim check --update\n\n" ARGS_EXIT_STATUS(FAILED) "\n\n" ENVIRONMENT};

static int run(int argc, char **argv)
{
    struct check check = {.wish = {.whole_bytes = WHOLE_BYTES}};
    int exit;

    args_parse(&args, argc, argv, &check);
    exit = check_run(&check);
    for (size_t i = 0; i < check.wish.nwords; i++)
        free(check.wish.words[i]);
    return exit;
}

const struct cmd cmd_check = {"check", "compare every scenario with its stored baseline", run};
