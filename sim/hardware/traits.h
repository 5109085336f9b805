/* traits.h - what a step does that times of other steps say nothing of: experts, tensor
 * parallelism, products of a type.  A cluster's file says which of it the steps had that were
 * measured.
 *
 * Thread class: immutable tables, pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HARDWARE_TRAITS_H
#define HARDWARE_TRAITS_H

#include <stdint.h>

enum hardware_trait {
    TRAIT_16BIT,
    TRAIT_FLOAT32,
    TRAIT_FLOAT8,
    TRAIT_FLOAT4,
    TRAIT_FUSED,   /* attention in one kernel */
    TRAIT_SCORES,  /* attention that keeps its scores */
    TRAIT_LINEAR,  /* attention with a state in place of keys and values */
    TRAIT_TENSOR,  /* products or their operands cut over devices */
    TRAIT_CONTEXT, /* sequences cut over devices */
    TRAIT_PIPELINE,
    TRAIT_REPLICAS,
    TRAIT_NODES, /* replicas on several nodes */
    TRAIT_EXPERTS,
    TRAIT_DISPATCH,      /* experts on several devices */
    TRAIT_STATE,         /* the optimizer's state cut over replicas: ZeRO 1 and 2 */
    TRAIT_MATRICES,      /* products of the optimizer: Muon */
    TRAIT_WEIGHTS,       /* parameters cut over replicas: ZeRO 3, FSDP */
    TRAIT_PARTS,         /* parts of layers computed again */
    TRAIT_LAYERS,        /* whole layers computed again */
    TRAIT_HOST,          /* arrays or work on the host */
    TRAIT_FROZEN,        /* parameters that are not trained */
    TRAIT_PREFILL,       /* of serving: prompts are taken in, */
    TRAIT_DECODE,        /* or a token of each sequence beside a cache */
    TRAIT_CODED_WEIGHTS, /* quantized weights, dequantized inside the matmul */
    TRAIT_CODED_CACHE,
    TRAIT_CACHE4,
    TRAIT_NFILE, /* the following are no words of files, but follow from their ranges */
    TRAIT_PARAMETERS = TRAIT_NFILE,
    TRAIT_DEVICES,
    TRAIT_LENGTH,
    TRAIT_SOFTWARE,   /* another than was measured */
    TRAIT_ALGORITHMS, /* of collectives, asked for by the scenario */
    TRAIT_NTRAITS
};

/* The word of a cluster's file, and a few words for people; TRAIT_NFILE and above have no word. */
extern const struct hardware_trait_name {
    const char *word, *text;
} hardware_traits[TRAIT_NTRAITS];

#endif /* HARDWARE_TRAITS_H */
