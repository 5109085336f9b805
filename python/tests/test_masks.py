"""Arrays whose size a mask decides, from PyTorch, executed over two devices: values, gradients, bounds, refusals."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import unittest
from typing import Any, Callable, Dict, List

try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.checkpoint import checkpoint
except ImportError as error:
    raise unittest.SkipTest("PyTorch and numpy are not installed") from error

from shardsim import InputError
from shardsim.trace.torch import from_torch

torch.manual_seed(1)
X, W, IDS = torch.randn(4, 6), torch.randn(6, 5), torch.randint(0, 5, (4, 6))
LABELS = torch.tensor([1, -100, 2, 3])
KEPT = torch.tensor([False, True, True, False])
LAYER = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True)
LINEAR, EMBEDDING = nn.Linear(6, 6), nn.Embedding(5, 3)


def rows(x: Any) -> Any:
    return x[:, 0] > -1.0


def experts(x: Any) -> Any:
    """A mixture of experts as a loop over the rows of each."""
    top, chosen = torch.softmax(x @ W, -1).topk(2, -1)
    hot = F.one_hot(chosen, 5).permute(2, 1, 0)
    made = torch.zeros_like(x)
    for expert in range(5):
        place, token = torch.where(hot[expert])
        each = LINEAR(x[None, token].reshape(-1, 6)) * top[token, place, None]
        made.index_add_(0, token, each)
    return made.square().sum()


def put_back(x: Any) -> Any:
    y = x.clone()
    y[x > 0] = (x * 2)[x > 0]
    y[rows(x)] += LINEAR(x[rows(x)])
    return y.square().sum()


def set_at_ids(x: Any) -> Any:
    y, z = x.clone(), torch.zeros(4, 6)
    ids = torch.nonzero(rows(x)).squeeze(1)
    y[ids] = x[ids] * 3
    z[torch.where(x > 0)] = x[x > 0] * 2
    return y.square().sum() + z.square().sum()


def points(x: Any) -> Any:
    i, j = torch.where(x > 0)
    return torch.zeros(6).index_add(0, j, x[x > 0]).square().sum() + torch.zeros(4).scatter_add(0, i, x[x > 0]).square().sum()


def nested(x: Any) -> Any:
    y = x[rows(x)]
    return y[y[:, 1] > 0].square().sum()


def distances(x: Any) -> Any:
    y = x[rows(x)]
    return (y[:, None] - y[None]).square().sum(-1).exp().reciprocal().sum()


def attention(x: Any) -> Any:
    y = x[rows(x)].view(1, -1, 2, 3).transpose(1, 2)
    return F.scaled_dot_product_attention(y, y, y).square().sum()


def losses(x: Any) -> Any:
    m = x > 0
    return F.mse_loss(x[m], (x * 2 + 1)[m]) + F.smooth_l1_loss(x[m], (x * 3)[m]) + F.binary_cross_entropy_with_logits(x[m], (x > 0.5).float()[m])


def exactly(x: Any) -> Any:
    """Keep a fixed number of patches of each image."""
    kept = x.argsort(1).argsort(1) < 3
    y = x[kept]
    torch._check(y.shape[0] == 12)
    return (LINEAR(y.reshape(2, 6)) * y.view(2, 3, 2).sum(-1).repeat(1, 2)).square().mean()


def few(x: Any) -> Any:
    """None, one, and what else is declared of numbers."""
    none, one, y = x[x > 9], x[x > x.max() - 1e-3], x[x > 0]
    torch._check(none.shape[0] == 0)
    torch._check(one.shape[0] == 1)
    torch._check(y.shape[0] >= 2)
    torch._check(y.shape[0] * 2 < 40)
    torch._check(y.shape[0] // 2 != 1)
    torch._check(x[x > 0].shape[0] <= 23)
    return none.sum() + one.square().sum() + y.sum()


def read(x: Any) -> Any:
    number = (x[0] * 0 + 3).sum().long().item()
    torch._check(number == 18)
    return x.sum() * number


def promised(promise: Callable[[Any], Any], low: float = 0.0) -> Callable[[Any], Any]:
    def fn(x: Any) -> Any:
        y = x[x > low]
        torch._check(promise(y.shape[0]))
        return y.sum()

    return fn


def promised_unused(x: Any) -> Any:
    torch._check(x[x > 0].shape[0] <= 3)
    return x.sum()


def promised_again(x: Any) -> Any:
    y, z = x[x > 0], x[x > 0]
    torch._check(z.shape[0] <= 3)
    return y.sum() + z.sum()


def promised_of_two(x: Any) -> Any:
    y, z = x[x > 0], x[x < 0]
    torch._check(y.shape[0] >= z.shape[0])
    return y.sum() + z.sum()


def promised_of_read(x: Any) -> Any:
    torch._check((x[0] * 0 + 3).sum().long().item() == 3)
    return x.sum()


def at_most(x: Any) -> Any:
    y = x[x > 0]
    torch._check(y.shape[0] <= 20)
    return y.exp().mean() * y.shape[0] + y.sum() / (y.shape[0] + 1) / 3


#: Functions of X, and a bound that is enough.
SELECTED: Dict[str, "tuple[Callable[..., Any], int]"] = {
    "a sum, a mean, a maximum": (lambda x: x[x > 0].sum() + x[x > 0].mean() + x[x < 0].amax() + x[x > 0].min() + x[rows(x)].amax(0).sum(), 23),
    "labels that count": (lambda x: F.cross_entropy((x @ W)[LABELS != -100], LABELS[LABELS != -100]), 3),
    "labels that an argument decides": (lambda x: F.cross_entropy((x @ W)[rows(x)], IDS[:, 0][rows(x)], label_smoothing=0.1, ignore_index=2), 4),
    "losses": (losses, 20),
    "a norm over rows": (lambda x: F.layer_norm(LINEAR(x[rows(x)]).relu(), (6,)).square().mean(), 3),
    "masked_select": (lambda x: x.masked_select(x[:, :1] > -1).square().sum() + x.sum().masked_select(x[0, 0] > 9).sum(), 24),
    "nonzero": (lambda x: x[torch.nonzero(rows(x)).squeeze(-1)].exp().sum() + (torch.nonzero(x.round()).float().sum(0) * x[0, :2]).sum(), 24),
    "places as tuples": (lambda x: x[x.nonzero(as_tuple=True)].square().sum() + x[torch.where(x > 0)].exp().sum(), 24),
    "experts": (experts, 4), "put back": (put_back, 20), "set at ids": (set_at_ids, 20), "points": (points, 20),
    "a mask of what a mask selects": (nested, 3), "distances": (distances, 3), "attention": (attention, 3),
    "a layer": (lambda x: LAYER(x[rows(x)][None]).square().mean(), 3),
    "a softmax over the rows": (lambda x: (x[rows(x)].softmax(0) * 2).square().sum() + x[rows(x)].log_softmax(0).exp().square().sum(), 3),
    "a product over the rows": (lambda x: (x[rows(x)].t() @ (x * 2)[rows(x)]).square().sum() + torch.outer(x[x > 0], x[x > 0]).sum(), 20),
    "columns": (lambda x: F.linear(x.reshape(2, 2, 6)[:, x[:2, 0].abs() > 0], W.t()).square().mean() + x[:, x[0] > 0].flatten().exp().mean(), 6),
    "embeddings": (lambda x: EMBEDDING(IDS[x > 0]).square().sum() * x.sum() + (F.one_hot(IDS[x > 0], 5) * torch.arange(5.0)).sum() * x.sum(), 20),
    "arranged": (lambda x: torch.cat([x[rows(x)], x[rows(x)] * 2], 1).flatten().square().mean() + x[rows(x)].t().reshape(2, 3, -1).exp().sum(), 3),
    "parts of rows": (lambda x: x[rows(x)][:, [1, 3]].exp().sum() + x[rows(x)].gather(1, IDS[rows(x)]).sum() + x[rows(x)].split(3, 1)[1].exp().sum(), 3),
    "whole numbers": (lambda x: (IDS[x > 0].amax() + IDS[x > 0].sum() + torch.count_nonzero(x[rows(x)] > 0)) * x.sum(), 20),
    "added": (lambda x: (x * 1).index_put((rows(x),), x[rows(x)], accumulate=True).index_put((rows(x),), x[0], accumulate=True).square().sum(), 3),
    "one value at ids": (
        lambda x: torch.zeros(6).index_put((IDS[x > 0],), x[0, 0], accumulate=True).square().sum()
        + torch.zeros(6, 6).index_put((IDS[x > 0],), x[:1], accumulate=True).square().sum()
        + torch.zeros(6, 5).index_put((torch.tensor([1]), IDS[x > 0]), x[0, :1]).square().sum(), 20),
    "elements of a source": (lambda x: x.masked_scatter(x[:, :1] > 0, W.flatten()[:24] * x[0, 0]).square().sum(), 24),
    "other types": (lambda x: x.bfloat16()[x > 0].mean().float() + x.double()[x > 0].std().float().detach() + x.double()[x > 0].mean().float(), 20),
    "one array": (lambda x: (y := x.flatten())[y > 0].sum() + 2 * y[y < 0].sum() + y[y > 0].exp().sum(), 20),
    "ids out of range where they do not count": (
        lambda x: EMBEDDING((IDS * 3)[IDS * 3 < x[0, 0] * 0 + 5]).square().sum() * x.sum() + (x @ W).gather(1, IDS * 3 % 5)[IDS * 3 < 5].sum(), 24),
    "none": (lambda x: x[x > 9].sum() + x[x > 9].mean() + x.sum(), 3),
    "masks of bytes": (
        lambda x: x[(x > 0).to(torch.uint8)].square().sum() + (x[KEPT.to(torch.uint8)] * x[None, KEPT][0]).sum()
        + x[..., np.array([0, 1, 0, 1, 0, 0], np.uint8)].exp().sum(), 20),
    "a checkpoint": (lambda x: checkpoint(experts, x, use_reentrant=False), 4),
    "a constant mask": (lambda x: (x[~KEPT].reshape(2, -1).sort(1).values * torch.arange(6.0)).sum() + x[~KEPT].std(0).sum(), 1),
    "numbers that are declared": (few, 24), "a number that is read, and known": (read, 24),
    "a known number": (exactly, 24), "a bound of its own": (at_most, 24),
}  # fmt: skip

SELECTED["complex numbers"] = (
    lambda x: (z := torch.complex(x, x.flip(1)))[x > 0].abs().sum() + z[x > 0].sum().abs() + (z[rows(x)].t() @ z[rows(x)]).abs().sum()
    + (z * 2j).index_put((x > 0,), z[x > 0] * 3).abs().square().sum() + torch.view_as_real(z[rows(x)].conj().resolve_conj()).square().sum() + torch.vdot(z[x > 0], z[x > 0] * 1j).imag
    + (torch.full((4, 6), 1j)[x > 0].sum() * x.sum()).imag, 20)

#: What is refused, and what is said of it.
REFUSED: Dict[str, Callable[..., Any]] = {
    "elements that two masks select": lambda x: x[x[:, 0] > 0] * x[x[:, 1] > 0],
    "two masks select, in one operation": lambda x: torch.stack([x[x[:, 0] > 0], x[x[:, 1] > 0]]).sum(),
    "at the places of another": lambda x: x.index_put((x[:, 1] > 0,), x[x[:, 0] > 0]),
    "'aten.sort.stable' among|'aten.sort.default' among": lambda x: x[x > 0].sort().values,
    "'aten.max.dim' among": lambda x: x[rows(x)].max(0).values,
    "'aten.flip.default' among": lambda x: x[rows(x)].flip(0),
    "'aten.select.int' among": lambda x: x[rows(x)][0],
    "'aten.index.Tensor' among": lambda x: x[rows(x)][IDS[0] % 2],
    "a size computed from the number": lambda x: torch.cat([x[rows(x)], x[rows(x)]]).sum(),
    "'aten.arange.default' of as many": lambda x: torch.arange(x[rows(x)].shape[0]).sum(),
    "a reshape across": lambda x: x[rows(x)].reshape(2, -1).sum(1),
    "'aten.index_add.default' among": lambda x: x[rows(x)].index_add(0, IDS[0, :2] % 2, x[:2]).sum(),
    "'aten.scatter_add.default' among": lambda x: x[rows(x)].scatter_add(0, IDS[:2] % 2, x[:2]).sum(),
    "equal in number": lambda x: x[x > 0].sum() + (torch._check((y := x[x > 0]).shape[0] == 9) or y.sum()),
    "a mask beside other indices": lambda x: x[rows(x), torch.tensor([1])],
    "u0**2, a number made": promised(lambda n: n * n < 4),
    "compute the mask once": lambda x: F.mse_loss(x[x > 0], (x * 2)[x < 0]),
    "how many elements a mask selects is asked": lambda x: x[x > 0].logsumexp(0),
    "is asked (if, while, or a function": lambda x: nn.BatchNorm1d(6)(x[rows(x)]),
    "mask selects is asked": lambda x: x.sum() if x[x > 0].shape[0] > 2 else x,
    "random numbers of as many elements as a mask selects": lambda x: F.dropout(x[x > 0]),
    "(random numbers, for example) of as many": lambda x: torch.randn_like(x[x > 0]),
    "does not trace this (random numbers, for example)": lambda x: torch.rand(x[x > 0].shape),
    "does not trace this .random numbers, for example. of as|compute the mask once": lambda x: F.cosine_similarity(x[rows(x)], x[rows(x)]),
    "at index 0 does not match": lambda x: x[torch.ones(5, dtype=torch.bool)],
    "The shape of the mask": lambda x: x[..., torch.ones(2, 6, dtype=torch.bool)],
    "he shape of the mask": lambda x: x[None, :, torch.ones(5, dtype=torch.uint8)],
    "converted to numpy": lambda x: x[KEPT.numpy()],
    "is converted to numpy": lambda x: x[(x > 0).numpy()],
    "returns how many elements": lambda x: x[rows(x)].shape[0],
}


class Masks(unittest.TestCase):
    def test_values_and_gradients(self) -> None:
        """Elements where the mask has them, and moved to the front."""
        for name, (fn, bound) in SELECTED.items():
            for masked in (None, bound):
                with self.subTest(name, masked=masked):
                    ran = from_torch(fn, X, mesh={"a": 2}, rules=[("x", ("a",))], grad=True, masked=masked).run()
                    (want := fn(x := X.clone().requires_grad_())).backward()
                    self.assertTrue(ran.verify.ok)
                    np.testing.assert_allclose(ran.outputs, want.detach(), rtol=1e-2 if name == "other types" else 1e-4)
                    np.testing.assert_allclose(ran.gradients["x"], x.grad, rtol=1e-2 if name == "other types" else 1e-4, atol=1e-5)

    def test_outputs_of_such_a_size(self) -> None:
        def fn(x: Any) -> List[Any]:
            z = torch.complex(x.relu(), x * 0)
            y = [x[x > 0], torch.nonzero(x > 0), x * 2, x[rows(x)], x[:, x[0] > 0], torch.outer(x[x > 0], x[x > 0])]
            y += [(one > 0.5).nonzero() for one in (y[0], y[3], y[4], y[4].t())]
            return [*y, z[x > -1], torch.nonzero(z * 1j), x[z.bool()]]

        for masked in (None, 20):
            for got, want in zip(from_torch(fn, X, mesh={"a": 2}, rules=[("x", ("a",))], masked=masked).run().outputs, fn(X), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-6)

    def test_nothing_moves_without_a_bound(self) -> None:
        """Rows stay on their devices: only sums are sent."""
        x = torch.randn(8, 6)
        traced = from_torch(lambda x: F.layer_norm(x[rows(x)], (6,)).square().mean(), x, mesh={"a": 2}, rules=[("x", ("a",))], grad=True)
        self.assertEqual(traced.plan().received_bytes.total, 16)

    def test_more_elements_than_the_bound(self) -> None:
        cases: List[Any] = [
            (lambda x: x[x > 0].sum(), 3, "the mask selects more than 3 elements"), (lambda x: torch.nonzero(x > -9).sum(), 23, "more than 23"),
            (lambda x: torch._check((y := x[x > 0]).shape[0] <= 2) or y.sum(), None, "more than 2"),
            (lambda x: torch._check((y := x[x > 0]).shape[0] == 24) or y.sum(), None, "does not select 24"),
            (lambda x: torch._check((y := x[x > -9]).shape[0] == 20) or y.sum(), None, "does not select 20"),
            (lambda x: x.index_put((x > 0,), torch.ones(5)), None, "does not select 5"), (lambda x: x.masked_scatter(x > 0, x[0, :2]), None, "more than 2"),
            (promised(lambda n: n <= 1), None, "more than 1 el"), (promised(lambda n: n < 2), None, "more than 1 el"),
            (promised(lambda n: n == 1), None, "does not select 1 el"), (promised(lambda n: n == 0), None, "does not select 0 el"),
            (promised(lambda n: n == 1, 9.0), None, "does not select 1 el"), (promised(lambda n: n != 0, 9.0), None, "_check.*does not hold"),
            (promised(lambda n: 2 * n <= 5), None, "_check.*does not hold"), (promised(lambda n: n >= 20), None, "_check.*does not hold"),
            (promised(lambda n: n % 24 == 0), None, "_check.*does not hold"), (promised_unused, None, "more than 3"),
            (promised_again, None, "_check.*<= 3.*does not hold"), (promised_of_two, None, "_check.*does not hold, of u0 and u1"),
            (promised_of_read, None, "_check.*does not hold"),
            (lambda x: x[x > 9].amax(), None, "of no elements"), (lambda x: x[x > 9].min(), 3, "of no elements"),
            (lambda x: x[x[:, 0] > 9].amin(0), None, "of no elements"), (lambda x: IDS[x > 9].max(), None, "of no elements"),
        ]  # fmt: skip
        for fn, masked, wanted in cases:
            traced = from_torch(fn, X, mesh={"a": 2}, masked=masked)
            with self.subTest(wanted), self.assertRaisesRegex(InputError, rf"test_masks[.]py:\d+: .*{wanted}"):
                traced.run()
        for masked in (0, True, 1.5, "3"):
            with self.assertRaisesRegex(InputError, f"masked={masked!r} is not"):
                from_torch(lambda x: x, X, mesh={"a": 2}, masked=masked)

    def test_what_is_refused(self) -> None:
        for wanted, fn in REFUSED.items():
            with self.subTest(wanted), self.assertRaisesRegex(InputError, rf"test_masks[.]py:\d+: .*({re.escape(wanted) if '|' not in wanted else wanted})"):
                from_torch(fn, X, mesh={"a": 2})

    def test_sizes_alone(self) -> None:
        with torch.device("meta"):
            head, x, labels = nn.Linear(64, 1000), torch.empty(32, 64), torch.empty(32, dtype=torch.int64)

        def loss(x: Any, labels: Any) -> Any:
            return F.cross_entropy(head(x[labels != -100]), labels[labels != -100])

        products = {m: from_torch(loss, x, labels, mesh={"a": 2}, grad=True, masked=m).plan().figures["flops"] for m in (None, 8)}
        self.assertLess(products[8], products[None] / 3)


if __name__ == "__main__":
    unittest.main()
