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
        args_error(v->line, "over %d options of a script", CHECK_WORDS_MAX);
    text_addf(&word, "%s=%s", v->row->name, v->arg);
    wish->words[wish->nwords] = text_take(&word);
    if (!wish->words[wish->nwords++])
        args_error(v->line, "no memory");
}

#define OF_SCRIPT(name, type, help)                    \
    {                                                  \
        name, 0, type, take_word, AT(wish), 0, 0, help \
    }

static const struct args_row script_rows[] = {
    {NULL, 0, NULL, NULL, 0, 0, 0, 0,
     "Of a launch script, as of 'shardsim import'; the baseline keeps them:"},
    OF_SCRIPT("batch", "N", "Sequences of a step, of a server"),
    OF_SCRIPT("devices", "N", "Devices of the job, where the file does not say"),
    OF_SCRIPT("hardware", "HARDWARE", "The cluster, for times and for what fits"),
    OF_SCRIPT("model", "MODEL", "A published model, instead of the file's"),
    OF_SCRIPT("seq", "N", "Tokens of a sequence, of a server"),
    OF_SCRIPT("set", "NAME=VALUE",
              "A variable that the script does not set, or an argument: 1, 2, ..."),
    OF_SCRIPT("vocab", "N",
              "Words of the vocabulary, where the command leaves it to its tokenizer"),
    OF_SCRIPT("with", "FILE", "Another file that the script reads (source)"),
    {0}};

static const struct args_part of_script = {.rows = script_rows};

static const struct args_row rows[] = {
    {"plan", 0, NULL, args_switch, AT(wish.plan), 0, 0,
     "On paper: the same bytes and memory, but no numbers are verified"},
    {"update", 0, NULL, args_switch, AT(wish.update), 0, 0,
     "Accept what there is as the new baselines; refused where CI is set, for a person must look"},
    {"prune", 0, NULL, args_switch, AT(prune), 0, 0,
     "With --update: remove the baselines of scenarios that no longer exist; without it they are "
     "only reported"},
    {"junit", 0, "FILE", args_text, AT(tell.junit), 0, 0, "Write JUnit XML as well"},
    {"baselines", 0, "DIR", args_text, AT(baselines), 0, 0,
     "Where the baselines are, in a folder of the same name as DIR; otherwise results/baselines "
     "beside DIR"},
    {"whole", 0, "SIZE", args_bytes, AT(wish.whole_bytes), 0, 0,
     "Report weights above this size that are replicated over devices (64MiB)"},
    COMMON_MEMORY(struct check, wish.memory),
    {"quiet", 'q', NULL, args_switch, AT(wish.quiet), 0, 0, "No progress on stderr"},
    {"verbose", 'v', NULL, args_switch, AT(wish.verbose), 0, 0,
     "Tell all reasons, and which files are left out"},
    {0}};

static void check_together(const struct args_line *line, void *input)
{
    const struct check *c = input;

    if (c->prune && !c->wish.update)
        args_error(line, "--prune goes with --update");
}

#define FAILED "  1    something changed or is wrong\n"

#define ENVIRONMENT                                                     \
    "Environment:\n"                                                    \
    "  CI              unless empty, 0 or false: --update is refused\n" \
    "  GITHUB_ACTIONS  unless empty, 0 or false: failures are annotated on stderr"

static const struct args args = {
    .own = {.rows = rows,
            .word = {args_text, AT(dir), "one folder at a time; '%s' is another", NULL}},
    .parts = {{&of_script, 0}},
    .operands = "[DIR|FILE]",
    .check = check_together,
    .help =
        "Check every scenario below a folder (scenarios), or one file of it, against its stored "
        "baseline: how each parameter, input and constraint is sharded, every collective, bytes, "
        "flops and peak memory, exactly; and that the numbers are right.  What changed is said in "
        "words.  What is too large to be executed in about a minute is planned.  Prints TAP.\v"
        "Suspicious layouts fail too, until they are accepted: a rule shadowed by earlier ones, a "
        "large weight left replicated, a constraint that undoes its neighbour.\n\n"
        "A scenario is a file that ends in .yaml or .yml, in small letters.  Left out are hidden "
        "ones, those in folders called 'hardware' and 'models', which are no scenarios, and "
        "folders that are links, which may lead back to one above them; -v names what was left "
        "out.\n\n"
        "FILE may also be the options of a job, which 'shardsim import' reads: a launch script of "
        "Megatron-LM, a TOML file of torchtitan, a command of vLLM or SGLang. What changed is said "
        "at its line there. The "
        "baseline is results/baselines/FILE.yaml, and once it is there, 'shardsim check' checks "
        "the "
        "file, too. With a folder, files of it that launch a known program are checked even "
        "before.\n\n"
        "Examples:\n"
        "  All of scenarios/, before a commit:\n"
        "    shardsim check\n"
        "  One of them:\n"
        "    shardsim check --plan scenarios/fsdp.yaml\n"
        "  In CI, on paper, with a report that it can show:\n"
        "    shardsim check --plan --junit check.xml layouts\n"
        "  A launch script, once with what it leaves open, which is kept:\n"
        "    shardsim check --update train.sh --set NNODES=8 --hardware h100-sxm\n"
        "    shardsim check train.sh\n"
        "  Accept a change after looking at what was said:\n"
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

const struct cmd cmd_check = {"check", "every scenario against its stored baseline", run};
