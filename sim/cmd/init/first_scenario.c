/* Asking for, planning and writing a first scenario (first_scenario.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/init/first_scenario.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/literal.h"
#include "base/nearest.h"
#include "base/units.h"
#include "hardware/shipped.h"
#include "cmd/init/ask.h"
#include "command/asked.h"
#include "command/cluster.h"
#include "command/command.h"
#include "cmd/init/first.h"
#include "cmd/init/first_serving.h"
#include "scenario/family_table.h"
#include "scenario/scenario.h"

#define BATCH_OF_DEVICE 8 /* sequences of up to SEQ_DEFAULT tokens, if no batch is given */
#define SEQ_DEFAULT 4096
#define PRINTED "-" /* the answer that asks for no file */

/* Keeps an answer until the end; false without memory. */
static bool keep(char **kept, const char **out, const char *answer)
{
    char *copy = strdup(answer);

    if (!copy)
        return false;
    free(*kept);
    *out = *kept = copy;
    return true;
}

static int take_config(struct first_scenario *o, const char *path, struct shd_error *err)
{
    const char *slash;

    if (!keep(&o->answers[2], &o->config, path))
        return shd_error_set(err, SHD_ENOMEM, "no memory for the answer");
    slash = strrchr(o->config, '/');
    o->model = slash ? slash + 1 : o->config;
    return SHD_OK;
}

int first_scenario_model(struct first_scenario *o, const char *word, struct shd_error *err)
{
    struct nearest near;
    size_t n, length = strlen(word);

    nearest_init(&near, word);
    if (scenario_find_model(&n, word, &near)) {
        o->model = scenario_model_name(n);
        o->config = NULL;
        return SHD_OK;
    }
    if (text_ends_with(word, ".yaml") || text_ends_with(word, ".yml"))
        return shd_error_set(err, SHD_EINVAL,
                             "'%.60s' is not a model. The new file is --output FILE", word);
    if (cmd_is_file(word) || (length > 5 && !strcmp(word + length - 5, ".json")))
        return take_config(o, word, err);
    if (family_refuses(word))
        return shd_error_set(err, SHD_EUNSUPPORTED, "'%.60s' is not modelled: %s", word,
                             family_refuses(word));
    return shd_error_set(err, SHD_ENOTFOUND,
                         "'%.60s' is neither a published model ('shardsim show options "
                         "model.size') nor the path of a config.json%s",
                         word, nearest_hint(&near).text);
}

/* The tokens that the model has learned places for, but for the one that a decode makes. */
static long longest_seq(const struct first_scenario *o)
{
    struct nearest near;
    size_t n;
    int64_t longest = 0;

    nearest_init(&near, o->model);
    if (scenario_find_model(&n, o->model, &near))
        longest = scenario_model_positions(n);
    return longest > 0 ? (long)longest - o->serve : FIRST_SIZE_MAX;
}

static long usual_seq(const struct first_scenario *o)
{
    long longest = longest_seq(o);

    return longest < SEQ_DEFAULT ? longest : SEQ_DEFAULT;
}

/* Long sequences are fewer, so that a step has as many tokens: of each device, or of the devices
 * that share a sequence. */
static long usual_batch(const struct first_scenario *o)
{
    long share = first_context(o->devices, o->seq, 0),
         tokens = share * BATCH_OF_DEVICE * SEQ_DEFAULT;
    long each = o->seq > SEQ_DEFAULT ? tokens / o->seq : BATCH_OF_DEVICE;

    return o->devices / share * (each > 0 ? each : 1);
}

static int check_seq(const struct first_scenario *o, long seq, struct shd_error *err)
{
    long longest = longest_seq(o);

    if (seq <= longest)
        return SHD_OK;
    return shd_error_set(
        err, SHD_EINVAL,
        "%s has learned positions for %ld tokens%s; expected at most that sequence length, not %ld",
        o->model, longest, o->serve ? " before a new token" : "", seq);
}

static int check_whole(const struct first_scenario *o, long batch, struct shd_error *err)
{
    if (batch % o->devices == 0)
        return SHD_OK;
    return shd_error_set(err, SHD_EINDIVISIBLE,
                         "a batch of %ld sequences is not divisible over %ld devices; expected a "
                         "multiple, such as %ld",
                         batch, o->devices, (batch + o->devices - 1) / o->devices * o->devices);
}

/* Check that the batch divides over all devices, or over the replicas that some tensor parallelism
 * and stages leave. */
static int check_batch(const struct first_scenario *o, long batch, struct shd_error *err)
{
    return first_divides(o->devices, batch, o->seq) ? SHD_OK : check_whole(o, batch, err);
}

int first_scenario_settle(struct first_scenario *o, struct shd_error *err)
{
    int status;

    if (!o->seq)
        o->seq = usual_seq(o);
    if (!o->batch && !o->serve)
        o->batch = usual_batch(o);
    status = o->serve ? SHD_OK : check_batch(o, o->batch, err);
    return status == SHD_OK ? check_seq(o, o->seq, err) : status;
}

static const char *file_name(const struct first_scenario *o)
{
    return o->output ? o->output : "FILE.yaml";
}

/* ---- whether it fits ---- */

/* What a search of the scenario's layouts is asked for. */
static const char *search_option(const struct first_scenario *o)
{
    return o->serve ? " --serve" : "";
}

static void tell_need(struct text *text, const struct first_figures *need,
                      const struct first_scenario *o)
{
    struct units_text bytes = units_print_bytes((uint128)need->bytes);
    struct units_text limit = units_print_bytes((uint128)need->limit_bytes);
    struct text whole = TEXT_INIT, file = TEXT_INIT;

    text_addf(&whole,
              "# IT DOES NOT FIT: it needs %s of the %s of a device.\n"
              "# 'shardsim search%s' looks for a layout that fits.\n"
              "%s",
              bytes.text, limit.text, search_option(o), text_get(text));
    text_clear(text);
    text_add(text, text_get(&whole));
    text->failed |= whole.failed;
    text_fini(&whole);
    literal_add_shell(&file, file_name(o));
    cmd_note("%s on %ld devices does not fit: it needs %s of the %s of a device; 'shardsim "
             "search%s %s' looks for a layout that fits",
             o->model, o->devices, bytes.text, limit.text, search_option(o), text_get(&file));
    text_fini(&file);
}

/* The config's path as a scenario has it: relative to the file that is written. */
static char *find_config(const struct first_scenario *o)
{
    bool as_it_is = o->config[0] == '/' || !strchr(file_name(o), '/');
    char *path = as_it_is ? NULL : realpath(o->config, NULL);

    return path ? path : strdup(o->config); /* reading the file reports a missing one */
}

/* Write the scenario, with a layout that fits in memory if there is one. */
static int build_scenario(struct text *text, const struct first_scenario *o,
                          const struct hardware *cluster)
{
    char *from = o->config ? find_config(o) : NULL;
    const struct first_asked asked = {.model = o->model,
                                      .from = from,
                                      .hardware = o->hardware,
                                      .cluster = cluster,
                                      .file = file_name(o),
                                      .target = o->target ? o->target
                                                : o->serve
                                                    ? NULL
                                                    : export_find_software(cluster->software.name),
                                      .insists = o->target,
                                      .software = o->target ? o->target->software : NULL,
                                      .products = o->products,
                                      .serves = o->serve,
                                      .devices = o->devices,
                                      .batch = o->batch,
                                      .seq = o->seq};
    struct diag diag = DIAG_INIT;
    struct first_figures need;
    struct shd_error err;
    int exit = CMD_OK, status = SHD_ENOMEM;

    if (o->config && !from)
        diag_no_memory(&diag);
    else
        status = o->serve ? first_serving_write(text, &need, &asked, &diag)
                          : first_write(text, &need, &asked, &diag);
    if (status != SHD_OK && !o->serve && status != SHD_ENOMEM &&
        check_whole(o, o->batch, &err) != SHD_OK) {
        cmd_error("%s", err.text); /* for tensor parallelism does not divide the model */
        exit = CMD_USAGE;
    } else if (status != SHD_OK) {
        if (status == SHD_ENOMEM)
            diag_no_memory(&diag);
        diag_write(&diag, stderr);
        exit = status == SHD_ENOMEM || diag.no_memory ? CMD_CANNOT : CMD_USAGE;
    } else if (!first_fits(&need)) {
        tell_need(text, &need, o);
    }
    diag_fini(&diag);
    free(from);
    return exit;
}

/* Whether a cluster is known; prints an error if not. */
static int check_hardware(const char *name)
{
    struct hardware *hardware = NULL;
    int exit = cluster_load(&hardware, name);

    hardware_destroy(hardware);
    return exit;
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
    return first_scenario_model(arg, answer, &err) == SHD_OK || told(&err);
}

static void show_clusters(void)
{
    for (const struct shipped_file *file = shipped_files; file->name; file++) {
        struct hardware *hardware = NULL;

        if (cluster_load(&hardware, file->name) == CMD_OK)
            fprintf(stderr, "  %s, a device with %s\n", file->name,
                    units_print_bytes((uint128)hardware->memory_bytes).text);
        hardware_destroy(hardware);
    }
}

/* Like keep(), but reports when memory runs out. */
static bool keep_told(char **kept, const char **out, const char *answer)
{
    bool kept_it = keep(kept, out, answer);

    if (!kept_it)
        cmd_error("no memory for the answer");
    return kept_it;
}

static bool take_hardware(void *arg, const char *answer)
{
    struct first_scenario *o = arg;

    if (!strcmp(answer, "?")) {
        show_clusters();
        return false;
    }
    return check_hardware(answer) == CMD_OK && keep_told(&o->answers[0], &o->hardware, answer);
}

static bool read_size(long *out, const char *answer)
{
    if (asked_size(out, answer, 1, FIRST_SIZE_MAX))
        return true;
    cmd_error("'%s' is not a whole number from 1 to %ld (4k is 4096)", answer, FIRST_SIZE_MAX);
    return false;
}

static bool take_devices(void *arg, const char *answer)
{
    struct first_scenario *o = arg;

    return read_size(&o->devices, answer);
}

typedef int (*check_fn)(const struct first_scenario *o, long size, struct shd_error *err);

static bool take_checked(const struct first_scenario *o, const char *answer, check_fn check,
                         long *out)
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
    struct first_scenario *o = arg;

    return take_checked(o, answer, check_batch, &o->batch);
}

static bool take_seq(void *arg, const char *answer)
{
    struct first_scenario *o = arg;

    return take_checked(o, answer, check_seq, &o->seq);
}

static bool take_output(void *arg, const char *answer)
{
    struct first_scenario *o = arg;

    if (!strcmp(answer, PRINTED))
        return true;
    return cmd_check_new(answer, o->force) == CMD_OK &&
           keep_told(&o->answers[1], &o->output, answer);
}

static int ask_number(const char *question, long fallback, ask_take *take, struct first_scenario *o)
{
    char number[24];

    snprintf(number, sizeof number, "%ld", fallback);
    return ask(question, number, take, o);
}

/* Ask for every value that options can give; Enter takes the fallback, the option's default. */
static int ask_all(struct first_scenario *o)
{
    int status;

    fputs(
        "Enter takes the value in brackets, '?' lists the choices, Ctrl-C stops without writing.\n",
        stderr);
    status = ask("Model (a published one, or a config.json)", o->model, answer_model, o);
    if (status == CMD_OK)
        status = ask_number("Devices", o->devices, take_devices, o);
    if (status == CMD_OK)
        status = ask("Hardware (a cluster, or its file)", o->hardware, take_hardware, o);
    if (status == CMD_OK)
        status = ask_number("Sequence length (tokens)", usual_seq(o), take_seq, o);
    if (status == CMD_OK && !o->serve)
        status =
            ask_number("Batch (sequences per step, on all devices)", usual_batch(o), take_batch, o);
    if (status == CMD_OK && !o->output && isatty(STDOUT_FILENO))
        status = ask("File to write (- prints it)", PRINTED, take_output, o);
    return status;
}

/* At the end of the questions: what to do with the file. */
static void tell_next(const struct first_scenario *o)
{
    struct text file = TEXT_INIT;

    literal_add_shell(&file, o->output);
    cmd_note("%s is written; next: 'shardsim plan %s' for its time, memory and traffic, 'shardsim "
             "search %s' for the best layout",
             o->output, text_get(&file), text_get(&file));
    text_fini(&file);
}

int first_scenario_run(struct first_scenario *o)
{
    struct text text = TEXT_INIT;
    struct hardware *cluster = NULL;
    int exit = cmd_check_new(o->output, o->force);

    if (exit == CMD_OK && o->asks && ask_can())
        exit = ask_all(o);
    if (exit == CMD_OK)
        exit = cluster_load(&cluster, o->hardware);
    if (exit == CMD_OK && o->target && o->target->software)
        (void)hardware_run_software(cluster, o->target->software);
    if (exit == CMD_OK)
        exit = build_scenario(&text, o, cluster);
    hardware_destroy(cluster);
    if (exit == CMD_OK)
        exit = cmd_write(o->output, &text);
    if (exit == CMD_OK && o->output && o->asks)
        tell_next(o);
    text_fini(&text);
    free(o->answers[0]);
    free(o->answers[1]);
    free(o->answers[2]);
    return exit;
}
