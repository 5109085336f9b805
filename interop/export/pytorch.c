/* Export target: a layout as PyTorch code, with DeviceMesh, and DTensor placements for every
 * parameter and input.
 *
 * DTensor shards a dimension over the mesh's axes in mesh order; a spec with another order is
 * refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/literal.h"
#include "export/roles.h"
#include "export/rounding.h"
#include "export/targets.h"

static const char head[] =
    "import os\n"
    "\n"
    "import torch\n"
    "import torch.distributed as dist\n"
    "from torch.distributed.device_mesh import init_device_mesh\n"
    "from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor\n";

static const char main_part[] =
    "\n\n"
    "def placements(axes):\n"
    "    \"\"\"A placement for each axis of the mesh: the dimension that it shards, or "
    "None.\"\"\"\n"
    "    return [Replicate() if axes.get(a) is None else Shard(axes[a]) for a in MESH]\n"
    "\n\n"
    "def distributed(mesh, name, tensor):\n"
    "    \"\"\"The parameter or input of this name, laid out as planned.\"\"\"\n"
    "    return distribute_tensor(tensor, mesh, placements({**PARAMS, **INPUTS}[name][2]))\n"
    "\n\n"
    "def main():\n"
    "    world = 1\n"
    "    for size in MESH.values():\n"
    "        world *= size\n"
    "    if \"RANK\" in os.environ:  # under torchrun: one process per device\n"
    "        dist.init_process_group()\n"
    "    else:  # alone: this process stands in for rank 0, and nothing is sent\n"
    "        from torch.testing._internal.distributed.fake_pg import FakeStore\n"
    "        dist.init_process_group(\"fake\", rank=0, world_size=world, store=FakeStore())\n"
    "    device = \"cuda\" if torch.cuda.is_available() else \"cpu\"\n"
    "    mesh = init_device_mesh(device, tuple(MESH.values()), mesh_dim_names=tuple(MESH))\n"
    "    for name, (shape, dtype, axes) in {**PARAMS, **INPUTS}.items():\n"
    "        with torch.device(\"meta\"):\n"
    "            local = torch.empty(SHARDS[name], dtype=dtype)\n"
    "        made = DTensor.from_local(local, mesh, placements(axes), run_check=False)\n"
    "        assert tuple(made.shape) == shape, f\"{name}: {tuple(made.shape)}, not {shape}\"\n"
    "    for name, (shape, dtype, axes) in {**PARAMS, **INPUTS}.items():\n"
    "        if torch.Size(shape).numel() > 1 << 24:  # large models: shapes alone, above\n"
    "            continue\n"
    "        found = tuple(distributed(mesh, name, torch.zeros(shape, "
    "dtype=dtype)).to_local().shape)\n"
    "        assert found == SHARDS[name], f\"{name}: DTensor has {found}, shardsim "
    "{SHARDS[name]}\"\n"
    "    print(f\"{len(SHARDS)} arrays with the shards that were planned\")\n"
    "    dist.destroy_process_group()\n"
    "\n\n"
    "if __name__ == \"__main__\":\n"
    "    main()\n";

/* Add {"dp": 0, "tp": 1}: the dimension that each axis shards. */
static int add_axes(struct text *out, const struct graph_node *node,
                    const struct shd_sharding *sharding, struct shd_error *err)
{
    size_t n = 0;

    text_add(out, "{");
    for (size_t d = 0; sharding && d < sharding->rank; d++)
        for (uint8_t i = 0; i < sharding->dims[d].naxes; i++) {
            uint8_t axis = sharding->dims[d].axes[i];

            if (i > 0 && axis < sharding->dims[d].axes[i - 1])
                return shd_error_set(
                    err, SHD_EUNSUPPORTED,
                    "'%.100s' shards a dimension over '%s' inside '%s', but the "
                    "mesh has them the other way round, and DTensor shards in the "
                    "mesh's order; reorder the axes of `mesh` or of the rule",
                    node->name, shd_mesh_axis_name(sharding->mesh, axis),
                    shd_mesh_axis_name(sharding->mesh, sharding->dims[d].axes[i - 1]));
            text_add(out, n++ ? ", " : "");
            literal_add_python(out, shd_mesh_axis_name(sharding->mesh, axis));
            text_addf(out, ": %zu", d);
        }
    text_add(out, "}");
    return SHD_OK;
}

static int add_leaf(struct text *out, const struct export_layout *layout, uint32_t i,
                    struct shd_error *err)
{
    const struct graph_node *node = &layout->graph->nodes[i];
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    graph_shape(layout->graph, i, shape);
    export_add_key(out, node->name);
    text_add(out, "(");
    export_add_shape(out, shape, node->rank);
    text_addf(out, ", torch.%s, ", shd_dtype_name(node->dtype));
    status = add_axes(out, node, export_sharding(layout, i), err);
    text_add(out, "),\n");
    return status;
}

static int add_leaves(struct text *out, const struct export_layout *layout, enum graph_op op,
                      struct shd_error *err)
{
    int status = SHD_OK;

    for (uint32_t i = 0; i < layout->graph->nnodes && status == SHD_OK; i++)
        if (export_is_leaf(&layout->graph->nodes[i], op))
            status = add_leaf(out, layout, i, err);
    return status;
}

static void add_shards(struct text *out, const struct export_layout *layout, enum graph_op op)
{
    for (uint32_t i = 0; i < layout->graph->nnodes; i++)
        if (export_is_leaf(&layout->graph->nodes[i], op))
            export_add_shard(out, layout, i);
}

static void add_mesh(struct text *out, const struct export_layout *layout)
{
    text_add(out, "# Written by 'shardsim export --to pytorch'.  Run alone, it checks the local "
                  "shape of every array\n"
                  "# under a fake process group; under torchrun, it checks on devices.\n"
                  "#\n");
    export_add_title(out, layout);
    text_add(out, head);
    text_add(out, "\n");
    export_add_mesh(out, layout->mesh);
}

static int check_products(struct export_job *job)
{
    return export_check_products(job->source, "DTensor", 0, job->err);
}

static export_check *const choices[] = {check_products, NULL};

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    int status = export_check_pieces(layout, "DTensor", err);

    if (status != SHD_OK)
        return status;
    add_mesh(out, layout);
    text_add(out, "# Each array: shape, type, and the dimension that each mesh axis shards.\n"
                  "PARAMS = {\n");
    status = add_leaves(out, layout, GRAPH_PARAM, err);
    text_add(out, "}\nINPUTS = {\n");
    if (status == SHD_OK)
        status = add_leaves(out, layout, GRAPH_INPUT, err);
    text_add(out, "}\n"
                  "# Shape of each array's shard on one device.\n"
                  "SHARDS = {\n");
    add_shards(out, layout, GRAPH_PARAM);
    add_shards(out, layout, GRAPH_INPUT);
    text_add(out, "}\n");
    text_add(out, main_part);
    return status;
}

const struct export_target export_pytorch = {
    .name = "pytorch",
    .desc = "Python: DeviceMesh and DTensor placements of every parameter and input",
    .write = write,
    .choices = choices,
    .one_stage = true,
    .serves = EXPORT_BOTH};
