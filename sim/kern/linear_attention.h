/* linear_attention.h - attention with a state of fixed size in place of keys and values, forward
 * and backward.
 *
 * Per head, a state S[key_dim][value_dim] goes from token to token:
 *
 *   S' = exp(g_t) S                               decay, of the head or of each channel of the key
 *   S  = S' + k_t v_t^T                           or, by the delta rule,
 *   S  = S' + k_t beta_t (v_t - S'^T k_t)^T
 *   o_t = S^T q_t
 *
 * These are linear attention (Katharopoulos et al. 2020, arXiv 2006.16236), with a constant g
 * lightning attention (2501.08313), with its step in v and g Mamba-2 (2405.21060); by the delta
 * rule with a decay of the head gated DeltaNet (2412.06464), of each channel KDA (2510.26692).
 *
 * The sequence is worked on in chunks, of which the tokens meet in products, and the state passes
 * from chunk to chunk (2406.06484): with G the sums of g since the chunk's start, and w_i = v_i or
 * u_i = beta_i w_i with w_i = v_i - r_i,
 *
 *   r_i = S0^T (exp(G_i) k_i) + sum over j < i of (k_i . exp(G_i - G_j) k_j) u_j
 *   o_i = S0^T (exp(G_i) q_i) + sum over j <= i of (q_i . exp(G_i - G_j) k_j) u_j
 *   S1  = exp(G_end) S0 + sum over j of (exp(G_end - G_j) k_j) u_j^T
 *
 * All exponents are of sums over the tokens between two, so that nothing overflows if no g is above
 * 0.  Everything is computed in float64; results are rounded once.
 *
 * Arrays are row-major:  q, k, dq, dk  [batch][seq][heads][key_dim]
 *                        v, o and so on [batch][seq][heads][value_dim]
 *                        g             [batch][seq][heads], or [..][key_dim]
 *                        beta          [batch][seq][heads]
 *                        state         [batch][heads][key_dim][value_dim], before the first token
 *                                      and, as a further result, behind the last; float32 for
 *                                      16-bit types, else dtype
 *
 * Counted as 2 flops a multiply-add of the products above, and of those of the gradient; factors
 * of decay and exp do not count.  The backward kernel computes states and w again.
 *
 * Workspace: of at most 16 threads forward; backward of at most 4, each with all chunks' states of
 * one head.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_LINEAR_ATTENTION_H
#define KERN_LINEAR_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>

struct kern_linear_attention {
    enum shd_dtype dtype; /* f32, f64, bf16, f16 */
    enum shd_dtype decay_dtype; /* of g: dtype or f32 */
    int64_t batch, seq, heads, key_dim, value_dim; /* local sizes */
    int64_t chunk;                                 /* tokens; at least 1 */
    bool decays, by_channel; /* there is a g; it is one for each channel */
    bool delta;              /* there is a beta */
    bool starts;             /* there is a state before the first token, else it is 0 */
    bool ends;               /* the state behind the last token is a result, or has a gradient */
};

/* Operands; those that there are follow each other without gaps.  Results forward: o, end;
 * backward: gradients of the operands from q to the state before. */
enum kern_linear_operand {
    KERN_LINEAR_Q,
    KERN_LINEAR_K,
    KERN_LINEAR_V,
    KERN_LINEAR_DECAY,
    KERN_LINEAR_BETA,
    KERN_LINEAR_STATE,
    KERN_LINEAR_DO,   /* backward */
    KERN_LINEAR_DEND, /* backward */
    KERN_LINEAR_NOPERANDS
};

/* Whether a kernel has an operand, its number, its width (elements of a token and head, or of a
 * head's state) and its type. */
bool kern_linear_has(const struct kern_linear_attention *a, int operand);
uint32_t kern_linear_number(const struct kern_linear_attention *a, int operand);
int64_t kern_linear_width(const struct kern_linear_attention *a, int operand);
enum shd_dtype kern_linear_type(const struct kern_linear_attention *a, int operand);

/* ---- for the files of the kernel ---- */

/* Elements of all operands of a kind. */
uint64_t kern_linear_elements(const struct kern_linear_attention *a, int operand);

/* The operand that the forward kernel's or the gradient's result `r` is shaped like. */
int kern_linear_result(const struct kern_linear_attention *a, bool backward, uint32_t r);
uint32_t kern_linear_nresults(const struct kern_linear_attention *a, bool backward);

#endif /* KERN_LINEAR_ATTENTION_H */
