/* Tests model/expr.h and model/graph_text.h: lines of a graph section that are parsed and built,
 * and wrong ones that are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/graph_text.h"

#include <stdio.h>
#include <string.h>

#include "model/expr.h"
#include "model/model.h"
#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the parser ---- */

static const struct {
    const char *line;
    const char *printed;
} parsed[] = {
    {"y=x", "y = x"},
    {"  y [ b , s ]=x", "y[b,s] = x"},
    {"y[] = sum(x)", "y[] = sum(x)"},
    {"h[b,s,f] = gelu(einsum(x[b,s,d], w1[d,f]))", "h[b,s,f] = gelu(einsum(x[b,s,d], w1[d,f]))"},
    {"y = a + b * c - d / e", "y = sub(add(a, mul(b, c)), div(d, e))"},
    {"y = -a * b", "y = mul(neg(a), b)"},
    {"y = a * (b + -2.5e-3)", "y = mul(a, add(b, neg(0.0025)))"},
    {"y = a - b - c", "y = sub(sub(a, b), c)"},
    {"y = sum(x)[b] / 3", "y = div(sum(x)[b], 3.0)"},
    {"o = attention(q, k, v, causal=true, scale = 1/8)",
     "o = attention(q, k, v, causal=true, scale=div(1.0, 8.0))"},
    {"layer.w_2 = f()", "layer.w_2 = f()"},
};

static void test_parse(void)
{
    for (size_t i = 0; i < COUNT(parsed); i++) {
        struct expr_line *line = NULL, *again = NULL;
        struct text once = TEXT_INIT, twice = TEXT_INIT;
        struct shd_error err = {0, ""};
        size_t at;
        int good = expr_parse(&line, parsed[i].line, &at, &err) == SHD_OK;

        if (good)
            expr_print(line, &once);
        good = good && expr_parse(&again, text_get(&once), &at, &err) == SHD_OK;
        if (good)
            expr_print(again, &twice);
        if (!ok(good && !strcmp(text_get(&once), parsed[i].printed) &&
                    !strcmp(text_get(&once), text_get(&twice)),
                "parse: %s", parsed[i].line))
            diag("%s %s", text_get(&once), err.text);
        expr_destroy(line);
        expr_destroy(again);
        text_fini(&once);
        text_fini(&twice);
    }
    expr_destroy(NULL);
}

static const struct {
    const char *line;
    size_t at;
    const char *message;
} unparsed[] = {
    {"", 0, "the line ends; expected the name of the result"},
    {"3 = x", 0, "'3' here; expected the name of the result"},
    {"y", 1, "the line ends; expected '='"},
    {"y =", 3, "the line ends; expected a number, a name, or '('"},
    {"y = x x", 6, "'x' here; expected an operator or the end of the line"},
    {"y = (x", 6, "the line ends; expected an operator or ')'"},
    {"y = f(x", 7, "the line ends; expected an operator, ',' or ')'"},
    {"y = f(x,)", 8, "')' here; expected a number, a name, or '('"},
    {"y[b", 3, "the line ends; expected ',' or ']'"},
    {"y[b,] = x", 4, "']' here; expected the name of a dimension"},
    {"y[3] = x", 2, "'3' here; expected the name of a dimension"},
    {"y = x ** 2", 7, "'*' here; expected a number, a name, or '('"},
    {"y = x \303\244", 6, "byte 0xc3 here; expected an operator or the end of the line"},
    {"y = 1e999", 4, "a number that is too large"},
    {"y = .", 4, "'.' here; expected a number, a name, or '('"},
    {"y[a,b,c,d,e,f,g,h,i,j,k,l,m] = x", 26, "more than 12 dimensions"},
    {"y = f(a,b,c,d,e,f,g,h,i,j)", 24, "more than 9 arguments"},
};

static void test_unparsed(void)
{
    for (size_t i = 0; i < COUNT(unparsed); i++) {
        struct expr_line *line = NULL;
        struct shd_error err = {0, ""};
        size_t at = 0;
        int status = expr_parse(&line, unparsed[i].line, &at, &err);

        if (!ok(status < 0 && !line && at == unparsed[i].at &&
                    !strcmp(err.text, unparsed[i].message),
                "not parsed: %s", unparsed[i].line))
            diag("byte %zu: %s", at, err.text);
        expr_destroy(line);
    }
}

/* Parse "y = ", `n` copies of `piece`, and `tail`. */
static int parse_many(const char *piece, size_t n, const char *tail)
{
    struct text text = TEXT_INIT;
    struct expr_line *line = NULL;
    size_t at;
    int status;

    text_add(&text, "y = ");
    for (size_t i = 0; i < n; i++)
        text_add(&text, piece);
    text_add(&text, tail);
    status = expr_parse(&line, text_get(&text), &at, NULL);
    expr_destroy(line);
    text_fini(&text);
    return status;
}

static void test_limits(void)
{
    ok(parse_many("-", EXPR_DEPTH_MAX - 1, "x") == SHD_OK &&
           parse_many("-", EXPR_DEPTH_MAX, "x") == SHD_ERANGE,
       "limit: signs");
    ok(parse_many("(", EXPR_DEPTH_MAX, "x") == SHD_ERANGE, "limit: brackets");
    ok(parse_many("f(", EXPR_DEPTH_MAX, "x") == SHD_ERANGE, "limit: calls");
    ok(parse_many("x+", 499, "x") == SHD_OK && parse_many("x+", 500, "x") == SHD_ERANGE,
       "limit: parts");
    ok(parse_many(" ", EXPR_LINE_MAX, "x") == SHD_ERANGE, "limit: bytes");
}

/* ---- the builder ---- */

#define HEAD                                                                                       \
    "version: 1\nmesh: {tp: 2}\ngraph:\n  dims: {b: 4, s: 6, d: 8, e: 8, f: 16, g: 2, h: 4, k: "   \
    "2, "                                                                                          \
    "v: 10}\n"                                                                                     \
    "  inputs: {x: [b, s, d], q: [b, s, h, k], kv: [b, s, g, k], ids: {dims: [b, s], below: v}}\n" \
    "  params: {w: [d, f], u: [f, d], c: [d], t: [v, d], m: [s, d]}\n  ops:\n"

/* Build a graph of the lines; NULL on failure, with the messages. */
static struct graph *build(const char *lines, const char *rest, struct text *messages)
{
    struct text text = TEXT_INIT;
    struct diag errors = DIAG_INIT;
    struct scenario_file *file = NULL;
    struct graph *g = NULL;
    int status;

    text_addf(&text, HEAD "%s%s", lines, rest);
    status = scenario_parse(&file, "g.yaml", text_get(&text), text.length, NULL, 0, &errors);
    if (status == SHD_OK)
        status = model_graph(&g, &file->scenarios[0], &errors);
    text_clear(messages);
    diag_print(&errors, messages);
    if ((status == SHD_OK) != (errors.nerrors == 0) || (status == SHD_OK) != (g != NULL))
        text_add(messages, "status, errors and graph do not agree");
    scenario_file_destroy(file);
    text_fini(&text);
    diag_fini(&errors);
    return g;
}

/* The dimensions of the first output, and the number of forward nodes of the op. */
static const struct {
    const char *lines;
    const char *dims;
    enum graph_op op;
    uint32_t nnodes;
} good[] = {
    {"    - y = x\n", "b s d ", GRAPH_CONSTRAINT, 1},
    {"    - y[b,s,f] = gelu(einsum(x[b,s,d], w[d,f]))\n", "b s f ", GRAPH_EINSUM, 1},
    {"    - y[f,b,s] = einsum(x, w)\n", "f b s ", GRAPH_EINSUM, 1},
    {"    - y[b,s,d] = einsum(x, w, u)\n", "b s d ", GRAPH_EINSUM, 2},
    {"    - y[s,b] = einsum(x)\n", "s b ", GRAPH_REDUCE, 2},
    {"    - y[b,d,s] = x\n", "b d s ", GRAPH_CONSTRAINT, 1},
    {"    - y[d,s,b] = transpose(x)\n", "d s b ", GRAPH_CONSTRAINT, 1},
    {"    - y = c + x * 2 - 1 / x + max(x, 0)\n", "b s d ", GRAPH_EINSUM, 0},
    {"    - y[b] = mean(x)\n", "b ", GRAPH_REDUCE, 2},
    {"    - y = select(less(ids, 3), x, 0)\n", "b s d ", GRAPH_MAP, 5},
    {"    - y = select(less(x, c), 1, 0) * x\n", "b s d ", GRAPH_MAP, 6},
    {"    - y = clamp(x, -1, c) + select(ids, c, x)\n", "b s d ", GRAPH_MAP, 6},
    {"    - y = x * greater(x, 0) + not(greater_equal(x, c))\n", "b s d ", GRAPH_MAP, 7},
    {"    - y = x * and(less_equal(x, c), not_equal(x, 1))\n", "b s d ", GRAPH_MAP, 6},
    {"    - y = or(x, c) + sin(x) + cos(x) + erf(x) + erfc(x)\n", "b s d ", GRAPH_MAP, 10},
    {"    - y = log1p(pow(x, 2)) + expm1(abs(x)) + rem(x, 2)\n", "b s d ", GRAPH_MAP, 10},
    {"    - y = x * one_hot(ids, d)\n", "b s d ", GRAPH_INPUT, 6},
    {"    - y = x * convert(iota(d), float32) + convert(iota(d), float32)\n", "b s d ", GRAPH_INPUT,
     6},
    {"    - y = x * convert(argmax(x, d), float32)\n", "b s d ", GRAPH_REDUCE, 3},
    {"    - y[b,s,h] = convert(topk(x, d, h, smallest=true), float32)\n", "b s h ", GRAPH_TOPK, 1},
    {"    - y = x * convert(argmin(ids, s), float32)\n", "b s d ", GRAPH_REDUCE, 3},
    {"    - y[b,s] = logsumexp(x, d)\n", "b s ", GRAPH_REDUCE, 3},
    {"    - y = x * convert(xor(bit_and(ids, 1), shift_left(ids, 2)), float32)\n", "b s d ",
     GRAPH_MAP, 8},
    {"    - y = tan(x) + exp2(x) + atan2(x, 2)\n", "b s d ", GRAPH_MAP, 7},
    {"    - y = sign(x) * (floor(x) + ceil(x) + round(x))\n", "b s d ", GRAPH_MAP, 8},
    {"    - y[] = sum(x * x)\n", "", GRAPH_REDUCE, 2},
    {"    - y[b,s,d] = x - max(x)[b,s]\n", "b s d ", GRAPH_REDUCE, 2},
    {"    - y[b,s,d] = x / sum(x)[b,s] + einsum(einsum(x, w)[b,s,f], u)\n", "b s d ", GRAPH_EINSUM,
     2},
    {"    - y = softmax(x, s)\n", "b s d ", GRAPH_CONSTRAINT, 1},
    {"    - y = rms_norm(x, d, c)\n", "b s d ", GRAPH_CONSTRAINT, 1},
    {"    - y[b,s,d] = layer_norm(x, s)\n", "b s d ", GRAPH_CONSTRAINT, 1},
    {"    - y = rope(q, s, k, theta=100, interleaved=true)\n", "b s h k ", GRAPH_ROPE, 1},
    {"    - y = attention(q, kv, kv, causal=true)\n", "b s h k ", GRAPH_ATTENTION, 1},
    {"    - y[b,s,h,d] = linear_attention(q, q, einsum(x, q)[b,s,h,d], decay=sum(q)[b,s,h], "
     "beta=sum(q)[b,s,h], chunk=3)\n",
     "b s h d ", GRAPH_LINEAR_ATTENTION, 1},
    {"    - o = attention(q, kv, kv)\n    - dk = stop_gradient(attention_grad(o, q, of=k))\n"
     "    - y = dk + stop_gradient(attention_grad(o, q, of=v))\n",
     "b s g k ", GRAPH_ATTENTION_GRAD, 1},
    {"    - y = repeat(kv, g, h)\n", "b s h k ", GRAPH_REPEAT, 1},
    {"    - y = einsum(x, rename(x, d, e))[b,d,e]\n", "b d e ", GRAPH_EINSUM, 1},
    {"    - y[b,h,g,s] = reshape(slice(x, d, e, 0))\n", "b h g s ", GRAPH_RESHAPE, 1},
    {"    - y[b,s,d] = x + full(2)[s]\n", "b s d ", GRAPH_INPUT, 6},
    {"    - y = x - inf\n", "b s d ", GRAPH_CONSTRAINT, 1},
    {"    - y = slice(x, s, h, 2)\n", "b h d ", GRAPH_WINDOW, 1},
    {"    - y = slice(x, d, g, 1, stride=3)\n", "b s g ", GRAPH_WINDOW, 1},
    {"    - y = windows(x, s, f, h, stride=2, dilation=2, low=3, fill=1)\n", "b f h d ", GRAPH_TAPS,
     1},
    {"    - y = windows(x, s, f, h, stride=2, dilation=2, low=3, high=29, fill=1)\n", "b f h d ",
     GRAPH_TAPS, 1},
    {"    - y = windows(x, s, s, h, low=1, high=2)\n", "b s h d ", GRAPH_TAPS, 1},
    {"    - y = windows_add(q, s, h, f)\n", "b f k ", GRAPH_TAPS_SUM, 1},
    {"    - y = windows_add(q, h, k, f, stride=2)\n", "b s f ", GRAPH_TAPS_SUM, 1},
    {"    - y = windows_add(q, k, s, f)\n", "b h f ", GRAPH_TAPS_SUM, 1},
    {"    - y = cumsum(x, s)\n", "b s d ", GRAPH_SCAN, 1},
    {"    - y = cumprod(x, s, reverse=true)\n", "b s d ", GRAPH_SCAN, 1},
    {"    - y = recurrence(sigmoid(x), x, d)\n", "b s d ", GRAPH_SCAN, 1},
    {"    - y = reverse(x, s)\n", "b s d ", GRAPH_WINDOW, 1},
    {"    - y = pad(x, s, f, 2, fill=1, between=1)\n", "b f d ", GRAPH_WINDOW, 1},
    {"    - y = pad(x, s, h, 0 - 1)\n", "b h d ", GRAPH_WINDOW, 1},
    {"    - y = concat(x, d, x, d, f)\n", "b s f ", GRAPH_WINDOW, 1},
    {"    - y = shift(x, s, -2)\n", "b s d ", GRAPH_SHIFT, 1},
    {"    - y = embed(t, ids)\n", "b s d ", GRAPH_EMBED, 1},
    {"    - y = pick(einsum(x, t)[b,s,v], ids, v)\n", "b s ", GRAPH_PICK, 1},
    {"    - y = embed(u, ids, f)\n", "b s d ", GRAPH_EMBED, 1},
    {"    - y = embed_add(x, ids, v)\n", "v d ", GRAPH_EMBED_GRAD, 1},
    {"    - y[d] = sum(embed_add(x, ids, v))\n", "d ", GRAPH_EMBED_GRAD, 1},
    {"    - y[b,v,s] = pick_add(sum(x)[b,s], ids, v)\n", "b v s ", GRAPH_PICK_GRAD, 1},
    {"    - y[b,v] = pick_add(sum(x)[b,s], ids, v)\n", "b v ", GRAPH_PICK_GRAD, 1},
    {"    - y = pick(transpose(x)[b,d,s], topk(x, s, h), s)\n", "b d h ", GRAPH_PICK, 1},
    {"    - y = constraint(here, gelu(x)) + stop_gradient(x)\n", "b s d ", GRAPH_CONSTRAINT, 2},
    {"    - y = causal_mask(einsum(x, m)[b,s,d], s, d)\n", "b s d ", GRAPH_CAUSAL, 1},
    {"    - \"y = x   # no comment\"\n", NULL, GRAPH_CONSTRAINT, 0},
};

static void test_good(void)
{
    struct text messages = TEXT_INIT, dims = TEXT_INIT;

    for (size_t i = 0; i < COUNT(good); i++) {
        struct graph *g = build(good[i].lines, "", &messages);
        uint32_t nnodes = 0;

        text_clear(&dims);
        if (g) {
            const struct graph_node *out = &g->nodes[g->outputs[0].node];
            for (uint32_t d = 0; d < out->rank; d++)
                text_addf(&dims, "%s ", g->dims[out->dims[d]].name);
            for (uint32_t n = 0; n < g->nnodes; n++)
                nnodes += g->nodes[n].phase == GRAPH_FORWARD && g->nodes[n].op == good[i].op;
        }
        if (!ok(good[i].dims
                    ? g && !strcmp(text_get(&dims), good[i].dims) && nnodes == good[i].nnodes
                    : !g,
                "good: %.*s", (int)strcspn(good[i].lines + 6, "\n"), good[i].lines + 6))
            diag("%s %u of the op; %s", text_get(&dims), nnodes, text_get(&messages));
        graph_destroy(g);
    }
    text_fini(&messages);
    text_fini(&dims);
}

/* An array combined with a number: the function of the array, its scalar, and the number with
 * which a second array is filled (0: no second array). */
static const struct {
    const char *line;
    enum kern_fn fn;
    double scalar, filled;
} numbers[] = {
    {"x + 4", KERN_ADD_SCALAR, 4, 0},  {"4 + x", KERN_ADD_SCALAR, 4, 0},
    {"x - 4", KERN_ADD_SCALAR, -4, 0}, {"4 - x", KERN_SUB, 0, 4},
    {"x * 4", KERN_SCALE, 4, 0},       {"4 * x", KERN_SCALE, 4, 0},
    {"x / 4", KERN_SCALE, 0.25, 0},    {"4 / x", KERN_DIV, 0, 4},
    {"max(x, 4)", KERN_MAX, 0, 4},     {"x / (1 / 4)", KERN_SCALE, 4, 0},
};

static void test_numbers(void)
{
    struct text messages = TEXT_INIT;

    for (size_t i = 0; i < COUNT(numbers); i++) {
        char line[64];
        struct graph *g;
        const struct graph_node *found = NULL;
        double filled = 0;

        snprintf(line, sizeof line, "    - y = %s\n", numbers[i].line);
        g = build(line, "", &messages);
        for (uint32_t n = 0; g && n < g->nnodes; n++) {
            if (g->nodes[n].phase != GRAPH_FORWARD || g->nodes[n].op != GRAPH_MAP)
                continue;
            if (g->nodes[n].fn == KERN_FILL)
                filled = g->nodes[n].scalar;
            else if (!found)
                found = &g->nodes[n];
        }
        if (!ok(found && found->fn == numbers[i].fn && found->scalar == numbers[i].scalar &&
                    filled == numbers[i].filled,
                "number: %s", numbers[i].line))
            diag("%d of %g, %g: %s", found ? (int)found->fn : -1, found ? found->scalar : 0, filled,
                 text_get(&messages));
        graph_destroy(g);
    }
    text_fini(&messages);
}

static const struct {
    const char *lines;
    const char *rest;
    const char *message;
} bad[] = {
    {"    - y = x +\n", "", "g.yaml:8:14: error: the line ends; expected a number, a name, or '('"},
    {"    - 'y = x +'\n", "", "g.yaml:8:15: error: the line ends; expected a number"},
    {"    - y = xx\n", "", "8:11: error: no array 'xx' before this line"},
    {"    - gate = x\n    - z = gate + gaet\n", "",
     "9:18: error: no array 'gaet' before this line; did you mean 'gate'?"},
    {"    - y = s\n", "", "8:11: error: 's' is a dim; expected an array"},
    {"    - y = geluu(x)\n", "", "8:11: error: unknown function 'geluu'; did you mean 'gelu'?"},
    {"    - y = x[b,d,s]\n", "", "8:11: error: 'x' is [b,s,d]"},
    {"    - y = x[b,s,z]\n", "", "8:17: error: unknown dim 'z'"},
    {"    - y[b,b] = x\n", "", "8:11: error: dim 'b' appears twice"},
    {"    - y[b,s] = x\n", "", "8:16: error: the value is [b,s,d]; expected a sum over the dims"},
    {"    - y[b,s,d,f] = x\n", "", "8:15: error: dim 'f' is not one of the value's [b,s,d]"},
    {"    - y = einsum(x, w)\n", "", "8:11: error: the dims of this einsum's result are unknown"},
    {"    - y[b,s,h] = einsum(x, w)\n", "", "8:18: error: no factor of this einsum has dim 'h'"},
    {"    - y = sum(x)\n", "", "8:11: error: the dims that this sum keeps are unknown"},
    {"    - y[b,s,d] = x / sum(x)\n", "", "8:22: error: sum of [b,s,d] does not give [b,...]"},
    {"    - y = gelu(x, x)\n", "", "8:11: error: gelu of 2 arguments; expected 1"},
    {"    - y = gelu(x=x)\n", "", "8:18: error: gelu has no argument 'x'"},
    {"    - y = softmax(x)\n", "", "8:11: error: softmax of 1 arguments; expected softmax(x, dim)"},
    {"    - y = softmax(x, f)\n", "", "8:22: error: the array is [b,s,d] and has no dim 'f'"},
    {"    - y = softmax(x, 2)\n", "", "8:22: error: an expression; expected the name of a dim"},
    {"    - y = rope(q, zz, zy)\n", "", "8:23: error: unknown dim 'zy'"}, /* as well as of zz */
    {"    - y = rope(q, s, k, thet=3)\n", "", "8:30: error: rope has no argument 'thet'"},
    {"    - y = rope(q, s, k, interleaved=1)\n", "",
     "8:37: error: interleaved is neither true nor"},
    {"    - y = rope(q, s, k, theta=0)\n", "", "8:31: error: theta of 0; expected more than 1"},
    {"    - y = attention(x, kv, kv)\n", "", "8:21: error: an array [b,s,d]; expected four dims"},
    {"    - y = attention_grad(q, q)\n", "", "8:26: error: not an attention; expected the name"},
    {"    - y = attention_grad(attention(q, kv, kv), kv)\n", "",
     "8:48: error: the gradient's type or dims differ from the attention's: [b,s,h,k]"},
    {"    - y = attention_grad(attention(q, kv, kv), q, of=kv)\n", "",
     "8:54: error: expected of: q, k or v"},
    {"    - y = gelu(ids)\n", "", "8:16: error: 'ids' holds integers; expected floating point"},
    {"    - y = softmax(ids, s)\n", "", "8:19: error: 'ids' holds integers"},
    {"    - y = ids\n", "", "g.yaml:4:3: error: all outputs are integers"},
    {"    - y = ids + x\n", "", "8:15: error: 'y/add' combines float32 and int32"},
    {"    - y = ids * 0.5\n", "", "8:15: error: 'y/mul' combines integers with 0.5"},
    {"    - y[b] = mean(ids)\n", "", "8:14: error: 'y/mean' is the mean of integers"},
    {"    - y = select(x, ids, c)\n", "", "8:11: error: 'y/select' combines int32 and float32"},
    {"    - y = bit_or(x, 3)\n", "", "8:11: error: 'y/bit_or' is bit_or of floats"},
    {"    - y = convert(x, 3)\n", "",
     "8:22: error: an expression; expected a type such as float32"},
    {"    - y = convert(x, int8)\n", "", "8:22: error: type int8 is not supported in computations"},
    {"    - y = convert(x, flout)\n", "", "8:22: error: "},
    {"    - y = one_hot(x, d)\n", "", "8:19: error: a floating-point array; expected integers"},
    {"    - y = argmax(x, f)\n", "", "8:21: error: the array is [b,s,d] and has no dim 'f'"},
    {"    - y = clamp(1, 2, 3)\n", "", "8:11: error: max of numbers only"},
    {"    - y = greater(1, 2)\n", "", "8:11: error: less of numbers only"},
    {"    - y = embed(t, x)\n", "", "8:20: error: a floating-point array; expected an input with"},
    {"    - y = embed(w, ids)\n", "",
     "8:20: error: 'ids' goes up to 9, but dim 'd' has 8 elements"},
    {"    - y = slice(x, s, h, 3)\n", "", "8:26: error: 4 elements from index 3 exceed 's' of 6"},
    {"    - y = shift(x, s, 7)\n", "",
     "8:23: error: a shift by 7 along 's'; expected a whole number up"},
    {"    - y = rename(x, d, f)\n", "", "8:24: error: dim 'f' has size 16, not 8 as 'd' has"},
    {"    - y = 1 + 2\n", "", "8:13: error: a number; expected an array"},
    {"    - y = x / 0\n", "", "8:15: error: division by 0"},
    {"    - y = x / (1 - 1)\n", "", "8:18: error: division by 0"},
    {"    - x = gelu(x)\n", "", "8:7: error: there is an array 'x' already"},
    {"    - s = gelu(x)\n", "", "8:7: error: 's' is a dim; expected another name for an array"},
    {"    - ct = gelu(x)\n", "", "8:7: error: 'ct' is reserved for the loss's cotangent"},
    {"    - y = gelu_grad(x)\n", "", "g.yaml:4:3: error: 'gelu_grad' has no derivative"},
    {"    - y = x\n", "  outputs: [z]\n", "9:13: error: no op has the result 'z'"},
    {"    - y = x\n", "  outputs: [x]\n", "9:13: error: no op has the result 'x'"},
    {"    - y = x\n", "  outputs: [y, y]\n", "9:16: error: output 'y' appears twice"},
    {"    - {a: b}\n", "", "8:7: error: a map in ops; expected a text of at most 2000 bytes"},
};

static void test_bad(void)
{
    struct text messages = TEXT_INIT;

    for (size_t i = 0; i < COUNT(bad); i++) {
        struct graph *g = build(bad[i].lines, bad[i].rest, &messages);
        const char *found = strstr(text_get(&messages), bad[i].message);

        if (!ok(!g && found && !strchr(found, '\n')[1], "refused: %.*s %.*s",
                (int)strcspn(bad[i].lines + 6, "\n"), bad[i].lines + 6,
                (int)strcspn(bad[i].rest, "\n"), bad[i].rest))
            diag("%s", text_get(&messages));
        graph_destroy(g);
    }
    graph_destroy(build("    - y = xx\n    - z = y + gelu(y)\n    - u = kw\n", "", &messages));
    ok(strstr(text_get(&messages), "8:11: ") && !strstr(text_get(&messages), ":9:") &&
           strstr(text_get(&messages), "10:7: error: there is an array 'u' already"),
       "every fault once, not its consequences");
    text_fini(&messages);
}

/* With several outputs each has a cotangent, and the loss is the sum of all. */
static void test_outputs(void)
{
    struct text messages = TEXT_INIT, names = TEXT_INIT;
    struct graph *g =
        build("    - y = gelu(x)\n    - z[b] = sum(y)\n", "  outputs: [z, y]\n", &messages);

    for (uint32_t n = 0; g && n < g->nnodes; n++)
        if (g->nodes[n].op == GRAPH_INPUT)
            text_addf(&names, "%s ", g->nodes[n].name);
    for (uint32_t o = 0; g && o < g->noutputs; o++)
        if (g->outputs[o].kind != GRAPH_GRADIENT)
            text_addf(&names, "%s ", g->outputs[o].name);
    if (!ok(g && !strcmp(text_get(&names), "x q kv ids ct/z ct/y z y loss "), "several outputs"))
        diag("%s%s", text_get(&names), text_get(&messages));
    graph_destroy(g);
    text_fini(&messages);
    text_fini(&names);
}

static void test_help(void)
{
    struct text help = TEXT_INIT;

    graph_text_print_help(&help);
    ok(strstr(text_get(&help), " gelu") &&
           strstr(text_get(&help), "concat(a, a_dim, b, b_dim, to)"),
       "help names functions and arguments");
    text_fini(&help);
}

int main(void)
{
    plan(0);
    test_parse();
    test_unparsed();
    test_limits();
    test_good();
    test_numbers();
    test_bad();
    test_outputs();
    test_help();
    return done();
}
