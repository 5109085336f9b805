/* The names of what steps do (traits.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/traits.h"

#include <stddef.h>

const struct hardware_trait_name hardware_traits[TRAIT_NTRAITS] = {
    [TRAIT_16BIT] = {"16-bit", "matmuls in 16 bits"},
    [TRAIT_FLOAT32] = {"float32", "matmuls in float32"},
    [TRAIT_FLOAT8] = {"float8", "matmuls in 8 bits"},
    [TRAIT_FLOAT4] = {"float4", "matmuls in 4 bits"},
    [TRAIT_FUSED] = {"fused-attention", "fused attention"},
    [TRAIT_SCORES] = {"scores", "attention with stored scores"},
    [TRAIT_LINEAR] = {"linear-attention", "linear attention"},
    [TRAIT_TENSOR] = {"tensor", "tensor parallelism"},
    [TRAIT_CONTEXT] = {"context", "context parallelism"},
    [TRAIT_PIPELINE] = {"pipeline", "pipeline parallelism"},
    [TRAIT_REPLICAS] = {"replicas", "data parallelism"},
    [TRAIT_NODES] = {"nodes", "data parallelism over nodes"},
    [TRAIT_EXPERTS] = {"experts", "experts"},
    [TRAIT_DISPATCH] = {"expert-parallel", "expert parallelism"},
    [TRAIT_STATE] = {"zero-1", "ZeRO 1 or 2"},
    [TRAIT_MATRICES] = {"optimizer-matmuls", "matmuls of the optimizer"},
    [TRAIT_WEIGHTS] = {"zero-3", "ZeRO 3"},
    [TRAIT_PARTS] = {"recompute-parts", "recomputation of parts"},
    [TRAIT_LAYERS] = {"recompute-layers", "recomputation of layers"},
    [TRAIT_HOST] = {"offload", "offload"},
    [TRAIT_FROZEN] = {"frozen", "frozen parameters"},
    [TRAIT_PREFILL] = {"prefill", "prefill"},
    [TRAIT_DECODE] = {"decode", "decoding"},
    [TRAIT_CODED_WEIGHTS] = {"coded-weights", "quantized weights"},
    [TRAIT_CODED_CACHE] = {"coded-cache", "KV cache in 8 bits"},
    [TRAIT_CACHE4] = {"4-bit-cache", "KV cache in 4 bits"},
    [TRAIT_PARAMETERS] = {NULL, "the model's size"},
    [TRAIT_DEVICES] = {NULL, "the number of devices"},
    [TRAIT_LENGTH] = {NULL, "the length of sequences"},
    [TRAIT_SOFTWARE] = {NULL, "the software"},
    [TRAIT_ALGORITHMS] = {NULL, "algorithms of collectives"}};
