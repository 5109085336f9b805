/* The values of optimizer.betas and optimizer.ns_coefficients: lists of two or three numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/json_out.h"
#include "scenario/schema_part.h"
#include "scenario/types.h"
#include "scenario/value_reader.h"

#define COEFFICIENT_MAX 1000

static void read(struct reader *r, const struct option *option, const struct yaml_node *node)
{
    double betas[2];
    bool good = node->kind == YAML_LIST && node->nitems == 2;

    for (size_t i = 0; i < 2 && good; i++)
        good = yaml_read_double(node->items[i], &betas[i]) && betas[i] >= 0 && betas[i] < 1;
    if (!good) {
        value_error(r, option, node);
        return;
    }
    r->scenario->optimizer.betas[0] = betas[0];
    r->scenario->optimizer.betas[1] = betas[1];
}

static void print_list(struct text *out, const double *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char number[32];

        text_addf(out, "%s%s", i ? ", " : "[",
                  json_out_print_double(number, sizeof number, list[i]));
    }
    text_add(out, "]");
}

static void print(const struct scenario *scenario, const struct option *option, struct text *out)
{
    (void)option;
    print_list(out, scenario->optimizer.betas, 2);
}

const struct value_type value_betas = {
    .expected = "two numbers from 0 to below 1, for example [0.9, 0.999]",
    .read = read,
    .print = print,
    .keywords = SCHEMA_KEYWORDS(
        {"type", "\"array\""}, {"minItems", "2"}, {"maxItems", "2"},
        {"items", "{\"type\": \"number\", \"minimum\": 0, \"exclusiveMaximum\": 1}"}),
};

static void read_coefficients(struct reader *r, const struct option *option,
                              const struct yaml_node *node)
{
    double list[3];
    bool good = node->kind == YAML_LIST && node->nitems == 3;

    for (size_t i = 0; i < 3 && good; i++)
        good = yaml_read_double(node->items[i], &list[i]) && fabs(list[i]) <= COEFFICIENT_MAX;
    if (!good)
        value_error(r, option, node);
    else
        memcpy(r->scenario->optimizer.ns_coefficients, list, sizeof list);
}

static void print_coefficients(const struct scenario *scenario, const struct option *option,
                               struct text *out)
{
    (void)option;
    print_list(out, scenario->optimizer.ns_coefficients, 3);
}

const struct value_type value_coefficients = {
    .expected = "three numbers from -1000 to 1000, for example [3.4445, -4.775, 2.0315]",
    .read = read_coefficients,
    .print = print_coefficients,
    .keywords =
        SCHEMA_KEYWORDS({"type", "\"array\""}, {"minItems", "3"}, {"maxItems", "3"},
                        {"items", "{\"type\": \"number\", \"minimum\": -1000, \"maximum\": 1000}"}),
};
