/* Fuzzes lines of a graph section with libFuzzer: any bytes are built forward and backward or
 * refused with a message; a parsed line prints as text that parses as the same line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/expr.h"
#include "model/model.h"

#define LINES_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char head[] =
    "version: 1\n"
    "mesh: {}\n"
    "graph:\n"
    "  dims: {b: 4, s: 6, d: 8, e: 8, f: 16, g: 2, h: 4, k: 2, v: 10}\n"
    "  inputs: {x: [b, s, d], q: [b, s, h, k], kv: [b, s, g, k], ids: {dims: [b, s], below: v}}\n"
    "  params: {w: [d, f], u: [f, d], c: [d], t: [v, d]}\n"
    "  ops: [y = x]\n";

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_line(const char *text)
{
    struct expr_line *line = NULL, *again = NULL;
    struct text once = TEXT_INIT, twice = TEXT_INIT;
    size_t at;

    if (expr_parse(&line, text, &at, NULL) != SHD_OK) {
        require(at <= strlen(text));
        return;
    }
    expr_print(line, &once);
    if (once.length <= EXPR_LINE_MAX && expr_parse(&again, text_get(&once), &at, NULL) == SHD_OK) {
        expr_print(again, &twice);
        require(!strcmp(text_get(&once), text_get(&twice)));
        expr_destroy(again);
    }
    expr_destroy(line);
    text_fini(&once);
    text_fini(&twice);
}

static void check_graph(struct scenario *scenario)
{
    struct diag errors = DIAG_INIT;
    struct text messages = TEXT_INIT;
    struct graph *g = NULL;
    int status = model_graph(&g, scenario, &errors);

    diag_print(&errors, &messages);
    require((status == SHD_OK) == (g != NULL) && (status == SHD_OK) == (errors.nerrors == 0));
    graph_destroy(g);
    text_fini(&messages);
    diag_fini(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag errors = DIAG_INIT;
    struct scenario_file *file = NULL;
    struct scenario_line lines[LINES_MAX], *own;
    char *text = malloc(size + 1);
    size_t nlines = 0, nown;

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; at && nlines < LINES_MAX; nlines++) {
        char *end = strchr(at, '\n');

        if (end)
            *end++ = '\0';
        lines[nlines] = (struct scenario_line){at, {"fuzz", (int)nlines + 1, 1}};
        check_line(at);
        at = end;
    }
    require(scenario_parse(&file, "fuzz", head, sizeof head - 1, NULL, 0, &errors) == SHD_OK);
    own = file->scenarios[0].graph.ops;
    nown = file->scenarios[0].graph.nops;
    file->scenarios[0].graph.ops = lines;
    file->scenarios[0].graph.nops = nlines;
    check_graph(&file->scenarios[0]);
    file->scenarios[0].graph.ops = own;
    file->scenarios[0].graph.nops = nown;
    scenario_file_destroy(file);
    free(text);
    diag_fini(&errors);
    return 0;
}
