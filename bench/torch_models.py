#!/usr/bin/env python3
"""Trace small models of pip packages with gradients, and compare with PyTorch: torch_models.py [REGEX]

Each model has random weights and is built without downloads; it is run over dp=2 and compared with `backward` of PyTorch
in float32.  An error is the largest difference of an array, by its largest element; arrays of gradients that are 0 in exact
arithmetic (below 1e-6 of the largest gradient) are compared by that.  Needs shardsim, torch, transformers, timm,
x-transformers and vit-pytorch.

SPDX-License-Identifier: Apache-2.0
"""

import logging
import re
import sys
import warnings

import numpy as np
import torch
import transformers
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import shardsim

WRONG_ABOVE = 1e-3
SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": 32}
EXPERTS = {**GROUPED, "num_experts_per_tok": 2}


def numbers(*shape, high=None):
    made = torch.Generator().manual_seed(int(np.prod(shape)))
    return torch.randint(high, shape, generator=made) if high else torch.randn(shape, generator=made)


class Language(nn.Module):
    """A model of transformers with its own loss."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask=None):
        made = self.model(ids, attention_mask=mask, labels=ids, return_dict=True)
        return made.loss, made.logits


class Scored(nn.Module):
    """A model with a weighted sum of its outputs as loss."""

    def __init__(self, model, output=lambda made: made):
        super().__init__()
        self.model, self.output = model, output

    def forward(self, *inputs):
        made = self.output(self.model(*inputs))
        return (made * torch.linspace(-1, 1, made.numel()).view(made.shape)).sum(), made


def language(kind, head="ForCausalLM", recompute=None, train=False, **sizes):
    """`recompute`: reentrant checkpoints or others."""
    config = getattr(transformers, f"{kind}Config")(**sizes)
    model = getattr(transformers, kind + head)(config).train(train or recompute is not None)
    if recompute is not None:
        model.gradient_checkpointing_enable({"use_reentrant": recompute})
    return Language(model), [numbers(2, 8, high=64)]


def vision(name, **options):
    import timm

    return Scored(timm.create_model(name, pretrained=False, num_classes=10, **options).eval()), [numbers(2, 3, 32, 32)]


def bert():
    model, inputs = language("Bert", "ForMaskedLM", **SIZES)
    mask = torch.ones(2, 8, dtype=torch.long)
    mask[1, 5:] = 0
    return model, [*inputs, mask]


def t5():
    config = transformers.T5Config(vocab_size=64, d_model=32, d_ff=48, num_layers=2, num_heads=4, d_kv=8, decoder_start_token_id=0)
    return Language(transformers.T5ForConditionalGeneration(config).eval()), [numbers(2, 8, high=64)]


class Masked(nn.Module):
    """Attention of PyTorch with masks that are known."""

    def __init__(self, whole):
        super().__init__()
        self.whole = whole
        self.inner = nn.Transformer(32, 4, 1, 1, 48, 0.0, batch_first=True) if whole else nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        hidden = torch.zeros(2, 8, dtype=torch.bool)
        hidden[1, 6:] = True
        later = nn.Transformer.generate_square_subsequent_mask(8)
        if self.whole:
            return self.inner(x, x, tgt_mask=later, src_key_padding_mask=hidden)
        return self.inner(x, x, x, key_padding_mask=hidden, attn_mask=later.isinf())[0]


class Recomputed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.first, self.up, self.down = nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(32, 16)

    def block(self, x):
        return x + self.down(F.gelu(self.up(x)))

    def forward(self, x):
        return checkpoint(self.block, self.first(x), use_reentrant=self.reentrant)


def x_transformer():
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True)
    return Scored(TransformerWrapper(num_tokens=64, max_seq_len=16, attn_layers=layers).eval()), [numbers(2, 8, high=64)]


def vit():
    from vit_pytorch import ViT

    model = ViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=4, mlp_dim=48)
    return Scored(model.eval()), [numbers(2, 3, 32, 32)]


LATENT = {
    "num_key_value_heads": 4, "moe_intermediate_size": 16, "n_routed_experts": 8, "n_group": 2, "topk_group": 1, "n_shared_experts": 1,
    "first_k_dense_replace": 1, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
}  # fmt: skip
GPT2 = {"head": "LMHeadModel", "vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32}
MODELS = {
    "Llama": lambda: language("Llama", **GROUPED),
    "Llama, checkpointed": lambda: language("Llama", recompute=False, **GROUPED),
    "Llama, reentrant checkpoints": lambda: language("Llama", recompute=True, **GROUPED),
    "Qwen3": lambda: language("Qwen3", head_dim=8, **GROUPED),
    "Gemma 2": lambda: language("Gemma2", head_dim=8, sliding_window=4, **GROUPED),
    "GPT-2": lambda: language("GPT2", **GPT2),
    "GPT-2 with dropout": lambda: language("GPT2", train=True, **GPT2),
    "Mixtral": lambda: language("Mixtral", num_local_experts=4, **EXPERTS),
    "Qwen3-MoE": lambda: language("Qwen3Moe", head_dim=8, moe_intermediate_size=16, num_experts=4, **EXPERTS),
    "GPT-OSS": lambda: language("GptOss", head_dim=8, num_local_experts=4, sliding_window=4, **EXPERTS),
    "DeepSeek-V3": lambda: language("DeepseekV3", **{**EXPERTS, **LATENT}),
    "Mamba 2": lambda: language("Mamba2", vocab_size=64, hidden_size=32, num_hidden_layers=2, num_heads=8, head_dim=8, state_size=16, n_groups=2, chunk_size=4),
    "BERT with a mask": bert,
    "T5": t5,
    "ViT of timm": lambda: vision("vit_tiny_patch16_224", img_size=32, depth=2),
    "ResNet of timm": lambda: vision("resnet10t"),
    "ConvNeXt of timm": lambda: vision("convnext_atto", depths=(1, 1, 1, 1), dims=(8, 16, 24, 32)),
    "x-transformers": x_transformer,
    "vit-pytorch": vit,
    "nn.Transformer with masks": lambda: (Scored(Masked(True)), [numbers(2, 8, 32)]),
    "nn.MultiheadAttention with masks": lambda: (Scored(Masked(False)), [numbers(2, 8, 32)]),
    "checkpoint": lambda: (Scored(Recomputed(False)), [numbers(2, 5, 16)]),
    "reentrant checkpoint": lambda: (Scored(Recomputed(True)), [numbers(2, 5, 16)]),
}


def compare(build):
    """Errors of outputs and of gradients, and whether the run is verified."""
    torch.manual_seed(0)
    model, inputs = build()
    torch.manual_seed(1)
    wanted = model(*inputs)
    wanted[0].backward()
    torch.manual_seed(1)
    rules = [("^(ids|mask|x|inputs)", ("dp",))]
    ran = shardsim.from_torch(model, *inputs, mesh={"dp": 2}, rules=rules, grad=True).run()
    gradients = {name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None}
    least = 1e-6 * max(np.abs(g).max() for g in gradients.values())
    off = max(np.abs(ran.gradients[name] - g).max() / max(np.abs(g).max(), least) for name, g in gradients.items())
    arrays = [w.detach().numpy() for w in wanted]
    return max(np.abs(g - w).max() / np.abs(w).max() for g, w in zip(ran.outputs, arrays)), off, ran.verify.ok


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    chosen = {name: build for name, build in MODELS.items() if re.search(sys.argv[1] if sys.argv[1:] else "", name)}
    right = 0
    print("| model | outputs | gradients |\n|---|--:|--:|")
    for name, build in chosen.items():
        try:
            outputs, gradients, verified = compare(build)
            right += bool(verified and max(outputs, gradients) < WRONG_ABOVE)
            print(f"| {name} | {outputs:.1e} | {gradients:.1e} |", flush=True)
        except shardsim.InputError as error:
            print(f"| {name} | {str(error).splitlines()[-1].strip()[:100]} | |", flush=True)
    print(f"\n{right} of {len(chosen)} right")


if __name__ == "__main__":
    main()
