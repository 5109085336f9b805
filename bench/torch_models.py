#!/usr/bin/env python3
"""Trace small models of pip packages with gradients, and compare with PyTorch: torch_models.py [REGEX]

Each model has random weights and is built without downloads.  It is run in three layouts (batches over 2 devices; batches and
parameters over 2; batches over 2 and columns of weights over 2) and compared with `backward` of PyTorch in float32; of a language
model also the parameters after a step of AdamW.  An error is the largest difference of an array in any layout, by its largest
element; arrays of gradients that are 0 in exact arithmetic (PyTorch's in float64, 1e-12 of the largest gradient) by the largest
gradient, others by 1e-6 of it at least, as a part of a model may compute in float32 whatever its type.  A model is wrong if the
first layout, traced again after the others, is another scenario or has other values, or if the module computes something else
than before.  Needs shardsim, torch, torchvision, transformers, timm, diffusers, x-transformers and
vit-pytorch.

SPDX-License-Identifier: Apache-2.0
"""

import copy
import json
import logging
import re
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
import torch
import transformers
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import shardsim

PACKAGES = ("torch", "torchvision", "transformers", "timm", "diffusers", "x-transformers", "vit-pytorch")
WRONG_ABOVE = 1e-3
LEAST = 1e-6
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


def language(kind, head="ForCausalLM", recompute=None, train=False, config=None, **sizes):
    """`recompute`: reentrant checkpoints or others."""
    config = getattr(transformers, config or f"{kind}Config")(**sizes)
    model = getattr(transformers, kind + head)(config).train(train or recompute is not None)
    if recompute is not None:
        model.gradient_checkpointing_enable({"use_reentrant": recompute})
    return Language(model), [numbers(2, 8, high=64)]


def translation(kind, head="ForConditionalGeneration", **sizes):
    """An encoder and a decoder."""
    model = getattr(transformers, kind + head)(getattr(transformers, f"{kind}Config")(**sizes)).eval()
    return Language(model), [numbers(2, 8, high=64)]


def encoder(kind, *inputs, **sizes):
    """A model of transformers without a loss of its own."""
    model = getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(**sizes)).eval()
    return Scored(model, lambda made: made.last_hidden_state), list(inputs)


def vision(name, size=32, **options):
    import timm

    model = timm.create_model(name, pretrained=False, num_classes=10, **options)
    return Scored(model.eval()), [numbers(2, 3, size, size)]


def of_timm(module, kind, blocks=(), **sizes):
    """By its class: the functions that make it fix its sizes."""
    import importlib

    found = importlib.import_module(f"timm.models.{module}")
    layers = {name: getattr(found, block) for name, block in zip(("block_layer", "mlp_layer"), blocks)}
    return Scored(getattr(found, kind)(**{"num_classes": 10, **layers, **sizes}).eval()), [numbers(2, 3, 32, 32)]


def torchvision_of(name, **options):
    import torchvision

    return Scored(getattr(torchvision.models, name)(weights=None, **options).eval()), [numbers(2, 3, 32, 32)]


class Called(nn.Module):
    """A model called in its own way."""

    def __init__(self, model, call):
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *inputs):
        return self.call(self.model, *inputs)


def diffusion(kind, call, *inputs, **sizes):
    import diffusers

    return Scored(Called(getattr(diffusers, kind)(**sizes).eval(), call)), list(inputs)


def of_vit_pytorch(module, name, size=32, **sizes):
    import importlib

    kind = getattr(importlib.import_module(f"vit_pytorch.{module}"), name)
    return Scored(kind(num_classes=10, **sizes).eval()), [numbers(2, 3, size, size)]


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


class Rotated(nn.Module):
    """Attention of Llama's reference code, whose positions are complex numbers."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96, bias=False), nn.Linear(32, 32, bias=False)
        angles = torch.outer(torch.arange(16).float(), 10000.0 ** (-torch.arange(0, 8, 2) / 8))
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def turned(self, x):
        turns = self.turns[: x.shape[1], None]
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(3)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (4, 8)) for y in self.qkv(x).chunk(3, -1))
        q, k, v = (y.transpose(1, 2) for y in (self.turned(q), self.turned(k), v))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class FourierOperator(nn.Module):
    """Low frequencies of an image, each with a complex matrix of channels."""

    def __init__(self, width=8, kept=4):
        super().__init__()
        self.kept, self.up, self.down = kept, nn.Linear(3, width), nn.Linear(width, 1)
        self.low, self.high = (nn.Parameter(torch.randn(width, width, kept, kept, dtype=torch.cfloat) / width) for _ in range(2))
        self.beside = nn.Conv2d(width, width, 1)

    def forward(self, x):
        x, n = self.up(x).permute(0, 3, 1, 2), self.kept
        spectrum = torch.fft.rfft2(x)
        made = torch.zeros_like(spectrum)
        made[..., :n, :n] = torch.einsum("bixy,ioxy->boxy", spectrum[..., :n, :n], self.low)
        made[..., -n:, :n] = torch.einsum("bixy,ioxy->boxy", spectrum[..., -n:, :n], self.high)
        x = F.gelu(torch.fft.irfft2(made, s=x.shape[-2:]) + self.beside(x))
        return self.down(x.permute(0, 2, 3, 1))


class LongConvolution(nn.Module):
    """Hyena's: a filter as long as the sequence, of positions, applied by spectra between gates."""

    def __init__(self, width=8, n=96):
        super().__init__()
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.filter = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, width))
        self.direct = nn.Parameter(torch.randn(width))
        place = torch.linspace(0, 1, n)[:, None]
        waves = torch.exp(2j * torch.pi * place * torch.tensor([1.0, 2.0]))
        self.register_buffer("places", torch.cat([place, waves.real, waves.imag], 1))

    def forward(self, x):
        n = x.shape[1]
        first, value, gate = self.into(x).transpose(1, 2).chunk(3, 1)
        value, kernel = value * first, self.filter(self.places).t() * torch.exp(-4 * self.places[:, 0])
        made = torch.fft.irfft(torch.fft.rfft(value, n=2 * n) * torch.fft.rfft(kernel, n=2 * n), n=2 * n)[..., :n]
        return self.out(((made + value * self.direct[:, None]) * gate).transpose(1, 2))


class GlobalFilter(nn.Module):
    """A block of GFNet: a complex factor for each frequency of an image, kept as pairs of numbers."""

    def __init__(self, width=8, n=14):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.factors = nn.Parameter(torch.randn(n, n // 2 + 1, width, 2) / 50)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        n = self.factors.shape[0]
        spectrum = torch.fft.rfft2(self.norms[0](x).unflatten(1, (n, n)), dim=(1, 2), norm="ortho")
        made = torch.fft.irfft2(spectrum * torch.view_as_complex(self.factors), s=(n, n), dim=(1, 2), norm="ortho")
        return x + self.mlp(self.norms[1](made.flatten(1, 2)))


class Resynthesized(nn.Module):
    """A signal from its masked spectrogram, and a spectral loss' magnitudes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.mask = nn.Linear(9, 9)

    def forward(self, x):
        spectrum = torch.stft(x, 16, 4, window=self.window, return_complex=True)
        size = spectrum.abs()
        mask = self.mask(size.transpose(1, 2)).sigmoid().transpose(1, 2)
        made = torch.istft(spectrum * mask, 16, 4, window=self.window, length=x.shape[-1])
        return torch.cat([made, torch.stft(made, 8, 2, window=self.window[::2], return_complex=True).abs().flatten(1)], 1)


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


def flux(model, x, text, pooled):
    places = {"img_ids": torch.zeros(16, 3), "txt_ids": torch.zeros(5, 3)}
    return model(hidden_states=x, encoder_hidden_states=text, pooled_projections=pooled, timestep=torch.tensor([0.3, 0.5]), **places).sample


LATENT = {
    "num_key_value_heads": 4, "moe_intermediate_size": 16, "n_routed_experts": 8, "n_group": 2, "topk_group": 1, "n_shared_experts": 1,
    "first_k_dense_replace": 1, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
}  # fmt: skip
BART = {
    "vocab_size": 64, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 32,
}  # fmt: skip
LAYERS = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
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
    **{f"{kind}": lambda kind=kind: language(kind, **GROUPED) for kind in ("StableLm", "Cohere", "Olmo2", "Granite", "Starcoder2", "Nemotron")},
    **{f"{kind}": lambda kind=kind: language(kind, **SIZES) for kind in ("Falcon", "GPTNeoX")},
    **{f"{kind}": lambda kind=kind: language(kind, "ForMaskedLM", **SIZES) for kind in ("Roberta", "MPNet", "LayoutLM")},
    **{f"{kind}": lambda kind=kind: language(kind, "ForMaskedLM", embedding_size=32, **SIZES) for kind in ("Electra", "Albert", "RoFormer")},
    **{f"{kind}": lambda kind=kind: language(kind, "ForMaskedLM", relative_attention=True, pos_att_type=["p2c", "c2p"], **SIZES) for kind in ("Deberta", "DebertaV2")},
    **{f"{kind}": lambda kind=kind: translation(kind, **BART) for kind in ("Bart", "M2M100")},
    "Longformer": lambda: language("Longformer", "ForMaskedLM", attention_window=4, **SIZES),
    "LED": lambda: translation("LED", attention_window=4, max_encoder_position_embeddings=32, max_decoder_position_embeddings=32, **BART),
    "NLLB-MoE": lambda: translation("NllbMoe", num_experts=4, encoder_sparse_step=1, decoder_sparse_step=1, expert_capacity=8, **BART),
    "OLMoE": lambda: language("Olmoe", num_experts=4, **EXPERTS),
    "GPT-J": lambda: language("GPTJ", rotary_dim=4, **{k: v for k, v in GPT2.items() if k != "head"}),
    "Mamba": lambda: language("Mamba", vocab_size=64, hidden_size=32, num_hidden_layers=1, state_size=4),
    "ViT": lambda: encoder("ViT", numbers(2, 3, 16, 16), image_size=16, patch_size=4, **LAYERS),
    "DINOv2": lambda: encoder("Dinov2", numbers(2, 3, 16, 16), image_size=16, patch_size=4, **LAYERS),
    "Wav2Vec2": lambda: encoder("Wav2Vec2", numbers(2, 400), conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, **LAYERS),
    "Swin of transformers": lambda: encoder("Swin", numbers(2, 3, 16, 16), image_size=16, patch_size=2, embed_dim=8, depths=[1, 1], num_heads=[2, 2], window_size=4),
    "Swin of timm": lambda: vision("swin_tiny_patch4_window7_224", img_size=32, window_size=4, embed_dim=8, depths=(1, 1), num_heads=(2, 2)),
    "CoAtNet of timm": lambda: vision("coatnet_pico_rw_224", 64, img_size=64),
    "MobileNet 3 of timm": lambda: vision("mobilenetv3_small_050"),
    "CaiT of timm": lambda: vision("cait_xxs24_224", img_size=32, depth=1),
    "DenseNet of timm": lambda: vision("densenet121", block_config=(2, 2), growth_rate=8),
    "EVA-02 of timm": lambda: vision("eva02_tiny_patch14_224", 28, img_size=28, depth=1),
    "BEiT of timm": lambda: vision("beit_base_patch16_224", img_size=32, depth=1, embed_dim=32, num_heads=4),
    "ConvMixer of timm": lambda: of_timm("convmixer", "ConvMixer", dim=16, depth=2, kernel_size=7, patch_size=7),
    "gMLP of timm": lambda: of_timm("mlp_mixer", "MlpMixer", img_size=32, num_blocks=2, embed_dim=32, mlp_ratio=6, num_classes=0, blocks=("SpatialGatingBlock", "GatedMlp")),
    "ResNet of torchvision": lambda: torchvision_of("resnet18"),
    "Swin of torchvision": lambda: torchvision_of("swin_t"),
    "MobileNet 2 of torchvision": lambda: torchvision_of("mobilenet_v2"),
    "ShuffleNet of torchvision": lambda: torchvision_of("shufflenet_v2_x0_5"),
    "U-Net of diffusers": lambda: diffusion(
        "UNet2DModel", lambda model, x: model(x, torch.tensor([3, 5])).sample, numbers(2, 3, 16, 16), sample_size=16, block_out_channels=(32, 32),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), layers_per_block=1),
    "VAE of diffusers": lambda: diffusion(
        "AutoencoderKL", lambda model, x: model(x).sample, numbers(2, 3, 16, 16), block_out_channels=(32, 32),
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2),
    "DiT of diffusers": lambda: diffusion(
        "DiTTransformer2DModel", lambda model, x: model(x, torch.tensor([3, 5]), torch.tensor([1, 2])).sample, numbers(2, 4, 8, 8),
        num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4, num_layers=1, sample_size=8, patch_size=2, num_embeds_ada_norm=10, norm_num_groups=4),
    "Flux of diffusers": lambda: diffusion(
        "FluxTransformer2DModel", flux, numbers(2, 16, 4), numbers(2, 5, 16), numbers(2, 8), patch_size=1, in_channels=4, num_layers=1, num_single_layers=1,
        attention_head_dim=16, num_attention_heads=2, joint_attention_dim=16, pooled_projection_dim=8, axes_dims_rope=(4, 4, 8)),
    "SimpleViT of vit-pytorch": lambda: of_vit_pytorch("simple_vit", "SimpleViT", image_size=32, patch_size=8, dim=32, depth=1, heads=4, mlp_dim=48),
    "CCT of vit-pytorch": lambda: of_vit_pytorch("cct", "CCT", img_size=32, embedding_dim=32, n_conv_layers=1, num_layers=1, num_heads=4, mlp_ratio=2.0),
    "NesT of vit-pytorch": lambda: of_vit_pytorch("nest", "NesT", image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=2, block_repeats=(1, 1)),
    "MaxViT of vit-pytorch": lambda: of_vit_pytorch("max_vit", "MaxViT", 64, dim=16, depth=(1,), dim_head=8, window_size=4),
    "Llama 4": lambda: language("Llama4", config="Llama4TextConfig", head_dim=8, intermediate_size_mlp=48, num_local_experts=4, **GROUPED),
    "DeepSeek-V2": lambda: language("DeepseekV2", **{**EXPERTS, **LATENT, "q_lora_rank": None, "n_group": 1, "topk_group": 1}),
    "FNet": lambda: language("FNet", "ForMaskedLM", max_position_embeddings=32, **{k: v for k, v in SIZES.items() if k != "num_attention_heads"}),
    "Llama's reference attention": lambda: (Scored(Rotated()), [numbers(2, 12, 32)]),
    "Fourier neural operator": lambda: (Scored(FourierOperator()), [numbers(2, 16, 16, 3)]),
    "Hyena": lambda: (Scored(LongConvolution()), [numbers(2, 96, 8)]),
    "GFNet": lambda: (Scored(GlobalFilter()), [numbers(2, 196, 8)]),
    "a masked spectrogram": lambda: (Scored(Resynthesized()), [numbers(2, 64)]),
    "nn.LSTM": lambda: (Scored(nn.LSTM(8, 8, 2, batch_first=True), lambda made: made[0]), [numbers(2, 5, 8)]),
    "checkpoint": lambda: (Scored(Recomputed(False)), [numbers(2, 5, 16)]),
    "reentrant checkpoint": lambda: (Scored(Recomputed(True)), [numbers(2, 5, 16)]),
}


RATE = 1e-3
INPUTS = "^(ids|mask|x|inputs)"


def layouts(model):
    """Mesh and rules of the three layouts: parameters are sharded where two devices can share them."""
    rows, columns = [], []
    for name, p in model.named_parameters():
        path = f"^{re.escape(name)}$"
        rows += [(path, ("dp",))] if p.dim() and p.shape[0] % 2 == 0 else []
        columns += [(path, (*[None] * (p.dim() - 1), "tp"))] if p.dim() > 1 and p.shape[-1] % 2 == 0 else []
    return [({"dp": 2}, []), ({"dp": 2}, rows), ({"dp": 2, "tp": 2}, columns)]


def seeded(call):
    torch.manual_seed(1)
    return call()


def off(got, want, by=0.0):
    """The largest difference, by the largest element or what it is measured by."""
    return float(np.abs(got - want).max() / max(np.abs(want).max(), by, 1e-30))


def zeros_of(model, inputs):
    """Names of the gradients that are 0 in exact arithmetic; none of a model that does not run in float64."""
    try:
        wide = copy.deepcopy(model).double()
        seeded(lambda: wide(*(x.double() if x.is_floating_point() else x for x in inputs)))[0].backward()
    except RuntimeError:
        return set()
    sizes = {name: p.grad.abs().max().item() for name, p in wide.named_parameters() if p.grad is not None}
    return {name for name, size in sizes.items() if size <= 1e-12 * max(sizes.values())}


def written(traced):
    """A traced step as text and values."""
    return json.dumps(traced.scenario()), {name: x.tobytes() for name, x in traced._contents().items()}


def stepped(model, inputs):
    """The error of parameters after a step of AdamW, by the largest element or the rate: biases begin at 0, and those whose
    gradient is 0 stay there but for its noise, of which the epsilon is above."""
    model = copy.deepcopy(model)
    model.zero_grad()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, eps=1e-3)

    def step(*inputs):
        optimizer.zero_grad()
        loss = model(*inputs)[0]
        loss.backward()
        optimizer.step()
        return loss

    ran = seeded(lambda: shardsim.from_torch(step, *inputs, mesh={"dp": 2}, rules=[(INPUTS, ("dp",))])).run()
    seeded(lambda: step(*inputs))
    changed = {f"model.{name}": p.detach().numpy() for name, p in model.named_parameters() if p.grad is not None}
    assert ran.verify.ok
    return max(off(ran.updated[name], p, RATE) for name, p in changed.items() if name in ran.updated)


def compare(model, inputs):
    """Errors of outputs, of gradients and of a step, seconds of a trace, and whether all else is as it must be."""
    zeros = zeros_of(model, inputs)
    wanted = seeded(lambda: model(*inputs))
    wanted[0].backward()
    gradients = {name: p.grad.numpy() for name, p in model.named_parameters() if p.grad is not None}
    most = max(np.abs(g).max() for g in gradients.values())
    outputs, off_gradients, good, texts, seconds = 0.0, 0.0, True, [], []
    laid = layouts(model)
    for mesh, rules in [*laid, laid[0]]:
        start = time.process_time()
        traced = seeded(lambda: shardsim.from_torch(model, *inputs, mesh=mesh, rules=[(INPUTS, ("dp",)), *rules], grad=True))
        seconds.append(time.process_time() - start)
        texts.append(written(traced))
        if len(texts) > len(laid):
            break
        ran = traced.run()
        good = good and ran.verify.ok
        outputs = max(outputs, *(off(g, w.detach().numpy()) for g, w in zip(ran.outputs, wanted)))
        off_gradients = max(off_gradients, *(off(ran.gradients[name], g, most * (1.0 if name in zeros else LEAST)) for name, g in gradients.items()))
    after = seeded(lambda: model(*inputs))
    good = good and texts[0] == texts[-1] and all(torch.equal(a, b) for a, b in zip(after, wanted))
    step = stepped(model, inputs) if isinstance(model, Language) else None
    return outputs, off_gradients, step, min(seconds), good


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    chosen = {name: build for name, build in MODELS.items() if re.search(sys.argv[1] if sys.argv[1:] else "", name)}
    right = 0
    print(", ".join(f"{name} {version(name)}" for name in PACKAGES))
    print("\n| model | parameters | traced in | outputs | gradients | step of AdamW |\n|---|--:|--:|--:|--:|--:|")
    for name, build in chosen.items():
        torch.manual_seed(0)
        model, inputs = build()
        row = f"| {name} | {sum(p.numel() for p in model.parameters()):,}"
        try:
            *errors, seconds, good = compare(model, inputs)
            good = good and all(e is None or e < WRONG_ABOVE for e in errors)
            right += bool(good)
            cells = ["" if e is None else f"{e:.1e}" for e in errors]
            print(f"{row} | {seconds:.2f} s | {' | '.join(cells)} |{'' if good else ' WRONG'}", flush=True)
        except shardsim.InputError as error:
            why = re.sub(r"\S+/", "", str(error).splitlines()[-1].strip())
            print(f"{row} | refused: {why} | | | |", flush=True)
    print(f"\n{right} of {len(chosen)} right")


if __name__ == "__main__":
    main()
