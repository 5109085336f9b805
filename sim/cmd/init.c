/* shardsim init - a first scenario of one's own, from a few options or answers: it is planned
 * before it is written, and says what to change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/literal.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "hardware/hardware.h"
#include "hardware/shipped.h"
#include "jobs/ask.h"
#include "jobs/command.h"
#include "jobs/first.h"
#include "scenario/scenario.h"
#include "store/write.h"

struct options {
    const char *model, *hardware, *output;
    long devices, batch, seq; /* 0: not given */
    bool force;
    bool asks;        /* nothing but the output was given */
    char *answers[2]; /* the hardware and the output where these were answers */
};

#define SIZE_LIMIT (1L << 30) /* of all three */
#define BATCH_OF_DEVICE 8     /* sequences, if no batch is given */
#define SEQ_DEFAULT 4096
#define PRINTED "-" /* the answer that asks for no file */

static int read_model(struct options *o, const char *arg, struct shd_error *err)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest near;
    const char *name;

    nearest_init(&near, arg);
    for (size_t i = 0; (name = scenario_model_name(i)) != NULL; i++) {
        if (!strcmp(arg, name)) {
            o->model = name;
            return SHD_OK;
        }
        nearest_add(&near, name);
    }
    return shd_error_set(err, SHD_ENOTFOUND,
                         "there is no published model '%.60s' ('shardsim show options' lists them "
                         "at model.size)%s",
                         arg, nearest_hint(&near, hint, sizeof hint));
}

/* The tokens that the model has learned places for. */
static long longest_seq(const struct options *o)
{
    const char *name;

    for (size_t i = 0; (name = scenario_model_name(i)) != NULL; i++)
        if (!strcmp(name, o->model) && scenario_model_positions(i) > 0)
            return (long)scenario_model_positions(i);
    return SIZE_LIMIT;
}

static long usual_seq(const struct options *o)
{
    long longest = longest_seq(o);

    return longest < SEQ_DEFAULT ? longest : SEQ_DEFAULT;
}

static int check_seq(const struct options *o, long seq, struct shd_error *err)
{
    long longest = longest_seq(o);

    if (seq <= longest)
        return SHD_OK;
    return shd_error_set(err, SHD_EINVAL,
                         "%s has learned positions for %ld tokens; expected a sequence of at most "
                         "as many, not %ld",
                         o->model, longest, seq);
}

static int check_whole(const struct options *o, long batch, struct shd_error *err)
{
    if (batch % o->devices == 0)
        return SHD_OK;
    return shd_error_set(err, SHD_EINDIVISIBLE,
                         "a batch of %ld sequences does not divide over %ld devices; expected a "
                         "multiple of them, such as %ld",
                         batch, o->devices, (batch + o->devices - 1) / o->devices * o->devices);
}

/* Check that the batch divides over all devices, or over the replicas of some tensor
 * parallelism. */
static int check_batch(const struct options *o, long batch, struct shd_error *err)
{
    return first_tensor_parallel(o->devices, batch) > 0 ? SHD_OK : check_whole(o, batch, err);
}

static void take_model(const struct args_line *line, const struct args_row *row, char *arg,
                       void *at)
{
    struct shd_error err;

    (void)row;
    if (read_model(at, arg, &err) != SHD_OK)
        args_error(line, "%s", err.text);
}

static void check_sizes(const struct args_line *line, void *input)
{
    struct options *o = input;
    struct shd_error err;

    o->asks = !args_given(line, "model") && !args_given(line, "hardware") &&
              !args_given(line, "devices") && !args_given(line, "batch") &&
              !args_given(line, "seq");
    if (!o->batch)
        o->batch = o->devices * BATCH_OF_DEVICE;
    if (!o->seq)
        o->seq = usual_seq(o);
    if (check_batch(o, o->batch, &err) != SHD_OK || check_seq(o, o->seq, &err) != SHD_OK)
        args_error(line, "%s", err.text);
}

static const char *file_name(const struct options *o)
{
    return o->output ? o->output : "FILE.yaml";
}

/* ---- whether it fits ---- */

static void tell_need(struct text *text, const struct first_need *need, const struct options *o)
{
    char bytes[UNITS_TEXT_MAX], limit[UNITS_TEXT_MAX];
    struct text whole = TEXT_INIT, file = TEXT_INIT;

    units_print_bytes(bytes, sizeof bytes, (uint128)need->bytes);
    units_print_bytes(limit, sizeof limit, (uint128)need->limit_bytes);
    text_addf(&whole,
              "# IT DOES NOT FIT as it is: it needs %s of the %s that a device has.\n"
              "# 'shardsim search' looks for a layout that fits.\n%s",
              bytes, limit, text_get(text));
    text_clear(text);
    text_add(text, text_get(&whole));
    text->failed |= whole.failed;
    text_fini(&whole);
    literal_add_shell(&file, file_name(o));
    cmd_note("%s on %ld devices does not fit as it is: it needs %s of the %s that a device has; "
             "'shardsim search %s' looks for a layout that fits",
             o->model, o->devices, bytes, limit, text_get(&file));
    text_fini(&file);
}

/* Write the scenario, with a layout that fits if there is one, else with one that does not. */
static int build_scenario(struct text *text, const struct options *o)
{
    const struct first_asked asked = {.model = o->model,
                                      .hardware = o->hardware,
                                      .file = file_name(o),
                                      .devices = o->devices,
                                      .batch = o->batch,
                                      .seq = o->seq};
    struct diag diag = DIAG_INIT;
    struct first_need need;
    struct shd_error err;
    int exit = CMD_OK, status = first_write(text, &need, &asked, &diag);

    if (status != SHD_OK && status != SHD_ENOMEM && check_whole(o, o->batch, &err) != SHD_OK) {
        cmd_error("%s", err.text); /* for tensor parallelism does not divide the model */
        exit = CMD_USAGE;
    } else if (status != SHD_OK) {
        diag_write(&diag, stderr);
        exit = status == SHD_ENOMEM || diag.no_memory ? CMD_CANNOT : CMD_OK;
    } else if (!need.fits) {
        tell_need(text, &need, o);
    }
    diag_fini(&diag);
    return exit;
}

/* Whether a cluster is known; prints an error if not. */
static int check_hardware(const char *name)
{
    struct diag diag = DIAG_INIT;
    struct hardware *hardware = NULL;
    int status = CMD_OK;

    if (hardware_find(&hardware, name, NULL, (struct place){NULL, 0, 0}, &diag) != SHD_OK) {
        diag_write(&diag, stderr);
        status = cmd_exit_of_input(&diag);
    }
    hardware_destroy(hardware);
    diag_fini(&diag);
    return status;
}

/* ---- questions ---- */

static bool told(const struct shd_error *err)
{
    cmd_error("%s", err->text);
    return false;
}

/* '?' is answered with what there is, and the question asked again. */
static bool answer_model(void *arg, const char *answer)
{
    struct shd_error err;
    const char *name;

    if (!strcmp(answer, "?")) {
        for (size_t i = 0; (name = scenario_model_name(i)) != NULL; i++)
            fprintf(stderr, "  %s\n", name);
        return false;
    }
    return read_model(arg, answer, &err) == SHD_OK || told(&err);
}

static void show_clusters(void)
{
    for (const struct shipped_file *file = shipped_files; file->name; file++) {
        struct diag diag = DIAG_INIT;
        struct hardware *hardware = NULL;
        char memory[UNITS_TEXT_MAX];

        if (hardware_find(&hardware, file->name, NULL, (struct place){NULL, 0, 0}, &diag) == SHD_OK)
            fprintf(stderr, "  %s, a device with %s\n", file->name,
                    units_print_bytes(memory, sizeof memory, (uint128)hardware->memory_bytes));
        hardware_destroy(hardware);
        diag_fini(&diag);
    }
}

/* Keeps an answer until the end; false without memory, which is told. */
static bool keep(char **kept, const char **out, const char *answer)
{
    char *copy = strdup(answer);

    if (!copy) {
        cmd_error("no memory for the answer");
        return false;
    }
    free(*kept);
    *out = *kept = copy;
    return true;
}

static bool take_hardware(void *arg, const char *answer)
{
    struct options *o = arg;

    if (!strcmp(answer, "?")) {
        show_clusters();
        return false;
    }
    return check_hardware(answer) == CMD_OK && keep(&o->answers[0], &o->hardware, answer);
}

static bool read_size(long *out, const char *answer)
{
    if (args_read_size(out, answer, 1, SIZE_LIMIT))
        return true;
    cmd_error("'%s' is not a whole number from 1 to %ld (4k is 4096)", answer, SIZE_LIMIT);
    return false;
}

static bool take_devices(void *arg, const char *answer)
{
    struct options *o = arg;

    return read_size(&o->devices, answer);
}

typedef int (*check_fn)(const struct options *o, long size, struct shd_error *err);

static bool take_checked(const struct options *o, const char *answer, check_fn check, long *out)
{
    struct shd_error err;
    long size;

    if (!read_size(&size, answer))
        return false;
    if (check(o, size, &err) != SHD_OK)
        return told(&err);
    *out = size;
    return true;
}

static bool take_batch(void *arg, const char *answer)
{
    struct options *o = arg;

    return take_checked(o, answer, check_batch, &o->batch);
}

static bool take_seq(void *arg, const char *answer)
{
    struct options *o = arg;

    return take_checked(o, answer, check_seq, &o->seq);
}

/* Whether a file exists, which somebody may have edited. */
static bool is_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool take_output(void *arg, const char *answer)
{
    struct options *o = arg;

    if (!strcmp(answer, PRINTED))
        return true;
    if (!o->force && is_file(answer)) {
        cmd_error("'%s' is there already; expected the name of a new file", answer);
        return false;
    }
    return cmd_check_output(answer) == CMD_OK && keep(&o->answers[1], &o->output, answer);
}

static int ask_number(const char *question, long fallback, ask_take *take, struct options *o)
{
    char number[24];

    snprintf(number, sizeof number, "%ld", fallback);
    return ask(question, number, take, o);
}

/* Ask for every value that options can give; Enter takes the fallback, the option's default. */
static int ask_all(struct options *o)
{
    int status;

    fputs("Enter takes what is in brackets, '?' shows what there is, Ctrl-C writes nothing.\n",
          stderr);
    status = ask("Model, a published one", o->model, answer_model, o);
    if (status == CMD_OK)
        status = ask_number("Devices", o->devices, take_devices, o);
    if (status == CMD_OK)
        status = ask("Hardware, a cluster or its file", o->hardware, take_hardware, o);
    if (status == CMD_OK)
        status = ask_number("Batch, in sequences of a step on all devices",
                            o->devices * BATCH_OF_DEVICE, take_batch, o);
    if (status == CMD_OK)
        status = ask_number("Sequence, in tokens", usual_seq(o), take_seq, o);
    if (status == CMD_OK && !o->output && isatty(STDOUT_FILENO))
        status = ask("File to write, or - to print it", PRINTED, take_output, o);
    return status;
}

static int put(const struct options *o, const struct text *text)
{
    struct shd_error err;

    if (!o->output)
        return cmd_put(text);
    if (store_write(o->output, text, &err) == SHD_OK)
        return CMD_OK;
    cmd_error("%s", err.text);
    return CMD_CANNOT;
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"batch", 0, "N", args_size, AT(batch), 1, SIZE_LIMIT,
     "Sequences of a step, on all devices (8 a device)"},
    {"devices", 0, "N", args_count, AT(devices), 1, SIZE_LIMIT, "Devices (64)"},
    {"hardware", 0, "HARDWARE", args_text, AT(hardware), 0, 0,
     "The cluster ('shardsim show hardware') or its file (h100-sxm)"},
    {"model", 0, "NAME", take_model, 0, 0, 0, 0, "A published model (llama3-8b)"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0, "Write to this file"},
    {"force", 0, NULL, args_switch, AT(force), 0, 0, "Replace a file of that name"},
    {"seq", 0, "N", args_size, AT(seq), 1, SIZE_LIMIT,
     "Tokens of a sequence (4096, or all that the model has positions for)"},
    {0}};

static const struct args args = {
    .own = {rows, {.again = "no file is read; '%s' is too much. The new one is --output FILE"}},
    .check = check_sizes,
    .help =
        "Write a first scenario of your own, with a comment at what you may want to change: a "
        "published model in training on a cluster, in the shortest step of some simple layouts "
        "that fit: replicas with ZeRO, a layer's experts over an axis of their own, and tensor "
        "parallelism only if nothing fits without.  It is planned, and says if it does not fit; "
        "'shardsim search' looks at all layouts.  On a terminal, without these options, it asks.\v"
        "Examples:\n"
        "  Which layout for Llama 3 8B on 64 devices of 80 GB?  First a scenario:\n"
        "    shardsim init --model llama3-8b --devices 64 --batch 512 -o mine.yaml\n"
        "  and what it comes to:\n"
        "    shardsim plan mine.yaml\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct options o = {.model = "llama3-8b", .hardware = "h100-sxm", .devices = 64};
    struct text text = TEXT_INIT;
    int status;

    args_parse(&args, argc, argv, &o);
    if (o.output && !o.force && is_file(o.output)) {
        cmd_error("'%s' is there already; expected the name of a new file, or --force", o.output);
        return CMD_USAGE;
    }
    status = o.asks && ask_can() ? ask_all(&o) : check_hardware(o.hardware);
    if (status == CMD_OK) {
        status = build_scenario(&text, &o);
        if (status == CMD_OK)
            status = put(&o, &text);
    }
    text_fini(&text);
    free(o.answers[0]);
    free(o.answers[1]);
    return status;
}

const struct cmd cmd_init = {"init", "a first scenario of your own, from options or questions",
                             run};
