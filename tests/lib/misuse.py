"""Print a C program that calls each public function wrongly, from the declarations in the public headers.

    misuse.py HEADER... >misuse.c

A function is called as a program would, then with one argument spoilt: each pointer NULL, each struct cleared,
each enumerator, index and count out of range; and with all arguments 0. No call may crash; a status other than
SHD_OK comes with a message; and a pointer is either one that may be left out or named by the message.
A type for which GIVEN has no argument is an error, so that no new function is left out.

SPDX-License-Identifier: Apache-2.0
"""

import re
import sys

# What a program gives for a parameter: "FUNCTION NAME", "TYPE NAME", "TYPE" or, of numbers, "NAME". Expressions on the
# objects of misuse.h. A pointer to what is not constant and not here is where the call writes.
GIVEN = {
    # objects
    "const struct shd_auto_options *": "&auto_options",
    "const struct shd_axis_override *": "overrides",
    "const struct shd_call *": "call",
    "const struct shd_chunker *": "&chunker",
    "const struct shd_cluster *": "&cluster",
    "const struct shd_compiled *": "compiled",
    "const struct shd_context *": "&context",
    "const struct shd_device *": "device",
    "const struct shd_device_list *": "&device_list",
    "const struct shd_fetch *": "&fetch",
    "const struct shd_graph *": "graph",
    "const struct shd_graph_opts *": "&graph_opts",
    "const struct shd_graph_spec *": "graph_specs",
    "const struct shd_groups *": "&groups",
    "const struct shd_leaf *": "&leaf",
    "const struct shd_local *": "&local",
    "const struct shd_logical_rules *": "logical_rules",
    "const struct shd_match *": "&match",
    "const struct shd_match_options *": "&match_options",
    "const struct shd_mesh *": "mesh",
    "const struct shd_mesh_request *": "&request",
    "const struct shd_parallel *": "&parallel",
    "const struct shd_parallel_group *": "&parallel_group",
    "const struct shd_parallel_sizes *": "&parallel_sizes",
    "const struct shd_params *": "params",
    "const struct shd_partition_axis *": "partition_axis",
    "const struct shd_partition_opts *": "&partition_opts",
    "const struct shd_partitioned *": "partitioned",
    "const struct shd_partitioner *": "partitioner",
    "const struct shd_partitioner_opts *": "&partitioner_opts",
    "const struct shd_pattern *": "pattern",
    "const struct shd_prefix *": "prefixes",
    "const struct shd_rank_sizes *": "&rank_sizes",
    "const struct shd_reach *": "&reach",
    "const struct shd_regex *": "regex",
    "const struct shd_reshard_bound *": "&reshard_bound",
    "const struct shd_reshard_figures *": "&reshard_figures",
    "const struct shd_reshard_opts *": "&reshard_opts",
    "const struct shd_reshard_plan *": "&reshard_plan",
    "const struct shd_reshard_step *": "&reshard_plan.steps[0]",
    "const struct shd_rules *": "rules",
    "const struct shd_run_opts *": "&run_opts",
    "const struct shd_sharding *": "&sharding",
    "const struct shd_sharding * to": "&whole",
    "const struct shd_spec *": "spec",
    "const struct shd_spec *const *": "specs",
    "const struct shd_spec_entry *": "entries",
    "const struct shd_split *": "&split",
    "const struct shd_store *": "store",
    "const struct shd_topology *": "&topology",
    "const struct shd_topology_device *": "&topology_device",
    "const struct shd_tpu_mesh_opts *": "&tpu_mesh_opts",
    "const struct shd_tree *": "tree",
    "struct shd_call *": "call",
    "struct shd_compiled *": "compiled",
    "struct shd_device *": "device",
    "struct shd_error *": "&err",
    "struct shd_graph *": "graph",
    "struct shd_logical_rules *": "logical_rules",
    "struct shd_mesh *": "mesh",
    "struct shd_parallel * parallel": "&fresh_parallel",
    "struct shd_params *": "params",
    "struct shd_params *const *": "params_list",
    "struct shd_partition_axis *": "partition_axis",
    "struct shd_partitioned *": "partitioned",
    "struct shd_partitioner *": "partitioner",
    "struct shd_pattern *": "pattern",
    "struct shd_regex *": "regex",
    "struct shd_rules *": "rules",
    "struct shd_spec *": "spec",
    "struct shd_store *": "store",
    "struct shd_tree *": "tree",
    "struct shd_attention_variant": "variant",
    "shd_device_fn": "nothing",
    "shd_extract_shardings values": "extract_values",
    "shd_extract_structure values": "extract_values",
    "shd_extract_specs values": "extract_values",
    "const struct shd_argument *": "arguments",
    "shd_store_destroy store": "spare_store",
    "shd_compiled_call args": "params_list",
    # arrays
    "const char *const * axes": "axis_names",
    "const char *const * names": "axis_names",
    "const int32_t *": "int32s",
    "const int32_t * sizes": "two_by_two",
    "const int32_t * dims": "two_by_two",
    "const int64_t *": "shape",
    "shd_mesh_dims_fill dims": "two_by_two_wide",
    "shd_mesh_create_by_dims dims": "two_by_two_wide",
    "shd_mesh_grid_init dims": "two_by_two_wide",
    "const int64_t * dcn": "ones",
    "const int64_t * ici": "two_by_two_wide",
    "const uint32_t *": "source",
    "const uint8_t *": "axes",
    "const void *": "scratch[15]",
    "const void *const *": "host_list",
    "void *const *": "host_list",
    "void * memory": "NULL",
    "void * arg": "NULL",
    # text
    "const char *": '"x"',
    "const char * dims": '"b"',
    "const char * fmt": '"%s"',
    "const char * function": '"gelu"',
    "const char * line": '"y[b] = gelu(a)"',
    "const char * order": '"tp-cp-ep-dp-pp"',
    "shd_dtype_parse name": '"float32"',
    "shd_tree_find name": '"w"',
    "shd_pattern_find name": '"w"',
    "shd_graph_run specs": "graph_specs",
    "shd_topology_init_chips kind": '"TPU v4"',
    "shd_mesh_dims_parse text": '"2,2"',
    "shd_mesh_parse text": '"2,2"',
    "shd_spec_parse text": '"[x]"',
    "shd_pattern_create text": '"w:[x]"',
    "shd_pattern_create_strict text": '"w:[x]"',
    "shd_rank_order_groups axes": '"x"',
    "shd_data_layout_init batch_size": "4",
    "shd_partitioner_data_layout batch_size": "4",
    "shd_error_set status": "0",
    "shd_partition_axis_spec names": "field_names",
    "shd_pattern_create_strict text": '"w->x"',
    "shd_partitioner_data_layout chunker": "&data_chunker",
    "shd_vocab_range vocab_size": "8",
    "shd_vocab_range rank": "0",
    "const int64_t * submesh": "ones",
    "shd_tree_add leaf": "&other_leaf",
    "shd_analysis_destroy analysis": "analysis",
    "shd_device_send to": "1",
    "shd_device_recv from": "0",
    "shd_hybrid_mesh_create ici": "chips",
    "shd_tpu_mesh_create topology": "&tpu_topology",
    "shd_default_mesh_create topology": "&tpu_topology",
    # numbers
    "nspecs": "1",
    "naxes": "1",
    "shd_mesh_create naxes": "2",
    "shd_mesh_create_with_ids naxes": "2",
    "shd_hybrid_mesh_create naxes": "2",
    "nlocal": "1",
    "rank": "2",
    "nici": "2",
    "ndcn": "2",
    "nsubmesh": "4",
    "shd_graph_dim size": "4",
    "size": "1000",
    "ndims": "2",
    "nnames": "2",
    "ndevices": "4",
    "total": "4",
    "world_size": "4",
    "nprocesses": "1",
    "member": "0",
    "shd_device_send to": "0",
}

DEVICE_CALLS = "all_gather all_reduce all_to_all barrier broadcast gather group permute reduce reduce_scatter scatter".split()

# What may be left out: NULL stands for a default that the header names.
OPTIONAL = {
    *"additional arg device_ids empty fallback given label sharding_mesh stats".split(),
    *(f"shd_device_{kind} axes" for kind in DEVICE_CALLS),
    *(f"shd_reshard_{kind} opts" for kind in "bound build_with candidate measure".split()),
    *(f"shd_constraint_{kind} {name}" for kind in ("applies", "applies_strict") for name in ("spec", "context")),
    "shd_call_constrain spec",
    "shd_error_set fmt",
    "shd_graph_run opts",
    "shd_mesh_create_by_dims dcn",
    "shd_mesh_find context",
    "shd_mesh_grid_init dcn",
    "shd_params_create specs",
    "shd_partitioner_leaf_axes leaf",
    "shd_rules_add_late spec",
    "shd_run opts",
    "shd_store_create opts",
    "shd_tpu_mesh_create opts",
    "shd_tpu_mesh_create_from opts",
}

# What a message calls an argument, where not by its name.
SAID = {
    "shd_run fn": "function",
    "shd_store_run fn": "function",
    **{f"shd_device_{kind} in": "operand" for kind in DEVICE_CALLS},
}

# There is no other device in the test that would answer.
ALONE = ("shd_device_send", "shd_device_recv")

INDEXES = set("a arg axis b chunk device_id dim entry group host i id leaf member position result root rule value".split())


def declarations(text):
    """(returned type, name, parameters) of each public function."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    for found in re.finditer(r"^SHD_API\s+(.*?)\s*;", text, flags=re.S | re.M):
        words = " ".join(found.group(1).replace("SHD_MUST_CHECK", "").split())
        words = re.sub(r"\) SHD_PRINTF\(.*", ")", words)
        returned, name, parameters = re.fullmatch(r"(.*?[ *])(shd_\w+)\((.*)\)", words).groups()
        yield returned.strip(), name, [] if parameters == "void" else split(parameters)


def split(parameters):
    """(type, name) of each parameter; an array is passed as a pointer."""
    result = []
    for parameter in parameters.split(", "):
        if parameter == "...":
            continue
        kind, name = re.fullmatch(r"(.*?[ *])(\w+)(?:\[\w+\])?", parameter).groups()
        result.append(((kind.strip() + " *" if parameter.endswith("]") else kind.strip()), name))
    return result


def given(function, kind, name, at):
    for key in (f"{function} {name}", f"{kind} {name}", kind, "" if is_pointer(kind) else name):
        if key in GIVEN:
            return GIVEN[key]
    if is_pointer(kind):
        if kind.startswith("const") and kind.count("*") == 1:
            raise SystemExit(f"misuse.py: {function}() takes a {kind}{name}: GIVEN has none")
        return f"(void *)scratch[{at}]"
    return "0" if kind.startswith("enum") or name in INDEXES or kind == "bool" else "1"


def is_pointer(kind):
    return kind.endswith("*") or kind.endswith("_fn")


def spoilt(kind, name, defined, destroys):
    """(value, what it is) for each way to spoil an argument."""
    if is_pointer(kind):
        yield "NULL", "NULL"
        struct = re.fullmatch(r"(?:const )?struct (\w+) \*", kind)
        if struct and struct.group(1) in defined and not destroys:
            yield "(void *)zeros", "cleared"
    elif kind.startswith("enum"):
        yield f"({kind})99", "99"
        yield f"({kind})-1", "-1"
    elif name in INDEXES:
        yield f"({kind})-1", "-1"
        yield "MAX" if kind != "size_t" else "1000000", "beyond"
    elif kind == "size_t":
        yield "40", "40"
    elif kind not in ("bool", "float", "double") and not kind.startswith("struct"):
        yield "0", "0"
        yield f"({kind})-1", "-1"


def tries(function, parameters, defined):
    """(what, arguments, name that a message must contain, may be left out, how good they are) of each call."""
    good = [given(function, kind, name, at) for at, (kind, name) in enumerate(parameters)]
    yield "good arguments", good, None, False, "BAD" if function in ALONE else "GOOD"
    if parameters:
        yield "all 0", ["variant" if g == "variant" else "0" for g in good], None, False, "SILENT"
    for at, (kind, name) in enumerate(parameters):
        if name == "err":
            continue
        for value, what in spoilt(kind, name, defined, function.endswith("_destroy")):
            arguments = [*good[:at], value, *good[at + 1 :]]
            named = SAID.get(f"{function} {name}", name) if value == "NULL" and function not in ALONE else None
            how = "REFUSED" if kind.startswith("enum") and "*" not in kind else "BAD"
            yield f"{name} {what}", arguments, named, f"{function} {name}" in OPTIONAL or name in OPTIONAL, how


def main(paths):
    texts = [open(path, encoding="utf-8").read() for path in paths]
    defined = {name for text in texts for name in re.findall(r"^struct (\w+) \{", text, flags=re.M)}
    print('#include "misuse.h"\n')
    tests = []
    n = 0
    for text in texts:
        for returned, function, parameters in declarations(text):
            rows = []
            status = returned == "int" and any(name == "err" for _, name in parameters)
            for what, arguments, named, optional, how in tries(function, parameters, defined):
                if function == "shd_error_set":
                    arguments = [*arguments, '"x"']
                call = f"{function}({', '.join(arguments)})"
                body = f"return {call};" if status else f"(void){call};\n    return 0;"
                print(f"static int call_{n}(void)\n{{\n    {body}\n}}\n")
                row = [f'"{what}"', f"call_{n}", f'"{named}"' if named else "NULL", str(optional).lower(), how]
                rows.append("{" + ", ".join(row) + "}")
                n += 1
            kinds = {kind for kind, _ in parameters}
            where = "IN_CALL" if any("shd_call " in k for k in kinds) else "ON_DEVICE" if any("shd_device " in k for k in kinds) else "OUTSIDE"
            print(f"static const struct try {function}_tries[] = {{")
            print("".join(f"    {row},\n" for row in rows) + "    {NULL, NULL, NULL, false, BAD},\n};\n")
            tests.append(f'    test("{function}", {function}_tries, {where}, {str(status).lower()});')
    print("int main(void)\n{\n    make();")
    print("\n".join(tests))
    print('    printf("1..%d\\n", ntests);\n    return 0;\n}')


if __name__ == "__main__":
    main(sys.argv[1:])
