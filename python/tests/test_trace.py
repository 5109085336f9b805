"""Traced programs without a framework: dimensions, lines and shardings, and what the program makes of them."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import unittest
from typing import Any, Dict, List, Tuple

try:
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest("numpy is not installed") from error

from interpret import evaluate

from shardsim import InputError
from shardsim.trace.arrays import Array, Gap, Program
from shardsim.trace.dims import Axis, match
from shardsim.trace.traced import Traced


def normal(*shape: int) -> Any:
    return np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32)


def sizes(axis: Axis) -> List[int]:
    return [f.size for f in axis.factors()]


def traced(p: Program, mesh: Dict[str, int], *outputs: Array) -> Traced:
    return Traced(p, mesh, list(outputs), list)


class Dims(unittest.TestCase):
    def test_a_reshape_cuts_an_axis_wherever_it_is(self) -> None:
        d, same, h, k = Axis(12), Axis(12), Axis(3), Axis(4)
        d.join(same)
        self.assertTrue(match([d], [h, k]))
        self.assertEqual(sizes(same), [3, 4])
        self.assertIs(same.factors()[0], h.root())

    def test_common_factors_of_two_reshapes(self) -> None:
        d = Axis(24)
        self.assertTrue(match([d], [Axis(2), Axis(12)]))
        self.assertTrue(match([d], [Axis(6), Axis(4)]))
        self.assertEqual(sizes(d), [2, 3, 4])

    def test_joined_axes_have_the_factors_of_both(self) -> None:
        a, b = Axis(24), Axis(24)
        match([a], [Axis(2), Axis(12)])
        match([b], [Axis(4), Axis(6)])
        a.join(b)
        self.assertEqual(sizes(a), [2, 2, 6])
        self.assertEqual(a.factors(), b.factors())

    def test_an_axis_is_not_cut_across_its_pieces(self) -> None:
        d = Axis(12)
        d.pieces.add(4)
        self.assertFalse(match([d], [Axis(3), Axis(4)]))
        self.assertEqual(sizes(d), [12])
        self.assertTrue(match([d], [Axis(2), Axis(6)]))
        self.assertEqual([f.pieces for f in d.factors()], [set(), {2}])

    def test_no_common_factors(self) -> None:
        self.assertFalse(match([Axis(6), Axis(4)], [Axis(4), Axis(6)]))


def attention(p: Program) -> Tuple[Array, Array]:
    """Scores of tokens with themselves, of heads that a reshape makes."""
    x = p.leaf("x", (2, 6, 8), "float32", 0.3 * normal(2, 6, 8), ("dp",))
    w = p.leaf("w", (8, 8), "float32", 0.3 * normal(8, 8), (None, "tp"))
    q = p.reshape(p.einsum(x, w, "bsd", "de", "bse"), (2, 6, 4, 2))
    scores = p.einsum(q, q, "bqhk", "bthk", "bhqt")
    weights = p.map("exp", scores)
    total = p.reduce("sum", weights, [3])
    weights = p.map("div", weights, p.broadcast(total, weights.shape, [0, 1, 2]))
    return scores, p.reshape(p.einsum(weights, q, "bhqt", "bthk", "bqhk"), (2, 6, 8))


class Lines(unittest.TestCase):
    def test_tokens_that_meet_themselves_get_another_name(self) -> None:
        p = Program("attention")
        made = traced(p, {"dp": 2, "tp": 2}, *attention(p)).scenario()
        self.assertIn("rename(", "\n".join(made["graph"]["ops"]))
        self.assertNotIn("reshape(", "\n".join(made["graph"]["ops"]))
        self.assertEqual(made["mesh"], {"dp": 2, "tp": 2})

    def test_a_mesh_axis_that_is_larger_than_a_factor_is_divided(self) -> None:
        p = Program("divided")
        x = p.leaf("x", (3, 8), "float32", normal(3, 8), (None, "tp"))
        made = traced(p, {"tp": 4}, p.reduce("sum", p.reshape(x, (3, 2, 4)), [1])).scenario()
        self.assertEqual(made["mesh"], {"tp_0": 2, "tp_1": 2})
        self.assertEqual(made["params"][0][1], [None, "tp_0", "tp_1"])

    def test_rules_say_which_line_they_are_of(self) -> None:
        p = Program("placed")
        x = p.leaf("x", (8, 4), "float32", normal(8, 4), ("tp", None))
        p.where = f"{os.path.relpath(__file__)}:7"
        y = p.constraint(p.map("exp", x), (None, "tp"))
        p.where = "<a notebook>:3"
        made = traced(p, {"tp": 4}, p.constraint(p.map("exp", y), ("tp", None))).scenario()
        self.assertEqual([rule[0] for rule in made["params"]], ["^x$", ".*"])
        here, line = made["params"][0][2].rsplit(":", 1)
        self.assertTrue(os.path.samefile(here, __file__) and int(line) > 1)
        self.assertEqual([rule[2:] for rule in made["constraints"]], [[p.arrays[-3].where], []])

    def test_all_gaps_are_told_at_once(self) -> None:
        p = Program("gaps")
        p.where = "mine.py:7"
        x = p.leaf("x", (6, 5), "float32", None, ("tp", "up"))
        with self.assertRaises(InputError) as caught:
            Traced(p, {"tp": 4}, [x], list, gaps=["mine.py:3: the operation 'frob' is not known"])
        message = str(caught.exception)
        self.assertIn("mine.py:3: the operation 'frob' is not known", message)
        self.assertIn("argument x: axis 0, of 6 elements, is not cut evenly by 'tp' of 4", message)

    def test_extents_that_differ(self) -> None:
        p = Program("wrong")
        with self.assertRaises(Gap):
            p.map("add", p.leaf("a", (2,), "float32"), p.leaf("b", (3,), "float32"))


    def test_types_that_would_be_computed_as_others(self) -> None:
        for dtype in ("complex64", "int8", "uint8", "float8_e4m3fn"):
            with self.assertRaisesRegex(Gap, f"numbers of the type {dtype}"):
                Program("types").leaf("x", (2,), dtype)

    def test_whole_numbers_beyond_32_bits(self) -> None:
        p = Program("wide")
        step = traced(p, {"dp": 2}, p.convert(p.leaf("ids", (2,), "int64", np.array([1, 2**40])), "float32"))
        with self.assertRaisesRegex(InputError, "'ids' has whole numbers beyond 32 bits"):
            step.run()


class Executed(unittest.TestCase):
    def check(self, p: Program, mesh: Dict[str, int], *outputs: Array) -> Traced:
        step = traced(p, mesh, *outputs)
        ran, planned = step.run(), step.plan()
        assert ran.result.verify is not None
        self.assertTrue(ran.result.verify.ok)
        self.assertEqual(ran.received_bytes.total, planned.received_bytes.total)
        for got, want in zip(ran.outputs, evaluate(list(outputs), {})):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        return step

    def test_attention(self) -> None:
        p = Program("attention")
        self.check(p, {"dp": 2, "tp": 2}, *attention(p))

    def test_attention_as_one_op(self) -> None:
        """Over batch, tokens and heads, which may be those of a reshape, and fewer of keys; with its gradients."""
        for groups, keys, spec, causal in ((4, 6, ("dp", None, "tp"), True), (2, 6, (None, "tp"), False), (1, 8, (None, "tp"), True)):
            with self.subTest(groups=groups, spec=spec):
                p = Program("attention")
                x = p.leaf("x", (2, 6, 12), "float32", normal(2, 6, 12), spec)
                k, v = (p.leaf(n, (2, keys, groups, 3), "float32", normal(2, keys, groups, 3 + i)[..., i:]) for i, n in enumerate("kv"))
                grad = p.transpose(p.leaf("grad", (4, 2, 6, 3), "float32", normal(4, 2, 6, 3)), [1, 2, 0, 3])
                y = p.attention(p.reshape(x, (2, 6, 4, 3)), k, v, 0.4, causal)
                gradients = [p.attention_grad(y, grad, of) for of in "qkv"]
                step = self.check(p, {"dp": 2, "tp": 2}, y, *gradients)
                lines = step.scenario()["graph"]["ops"]
                backs = {line.split(" = ")[1].split(", of")[0] for line in lines if "attention_grad(" in line}
                self.assertEqual(len(backs), 1, lines)  # which one op makes

    def test_attention_of_columns_that_a_reshape_cuts(self) -> None:
        """Heads in two factors, of which one is sharded, are one dimension of the op, and nothing moves."""
        p = Program("attention")
        q = p.leaf("q", (2, 6, 2, 2, 4), "float32", normal(2, 6, 2, 2, 4), (None, None, "tp"))
        q = p.reshape(q, (2, 6, 4, 4))
        y = p.attention(q, q, q, 0.5, False)
        step = self.check(p, {"tp": 2}, p.reshape(y, (2, 6, 2, 2, 4)))
        self.assertEqual(step.plan().received_bytes.total, 0)

    def test_whole_numbers_choices_and_rows(self) -> None:
        p = Program("rows")
        table = p.leaf("table", (10, 4), "float32", normal(10, 4), ("tp",))
        ids = p.leaf("ids", (8,), "int32", np.arange(8) % 5, ("dp",))
        below = p.compare("less", ids, p.number(3, "int32"))
        rows = p.embed(table, p.map("add", ids, p.number(1, "int32")))
        chosen = p.select(p.broadcast(below, rows.shape, [0]), rows, p.map("neg", rows))
        self.check(p, {"dp": 2, "tp": 2}, chosen, p.embed_add(chosen, ids, 10), p.convert(below, "int32"))

    def test_slices_padding_and_joined_pieces(self) -> None:
        p = Program("pieces")
        x = p.leaf("x", (4, 6), "float32", normal(4, 6), ("dp",))
        first, rest = p.slice(x, 1, 0, 2), p.slice(x, 1, 2, 4)
        self.check(p, {"dp": 2}, p.concat([rest, first], 1), p.pad(x, 1, 1, 2, 3.0), p.slice(x, 0, 1, 1))

    def test_columns_sharded_across_what_a_reshape_makes(self) -> None:
        p = Program("fused")
        x = p.leaf("x", (2, 6), "float32", normal(2, 6), ("dp",))
        w = p.leaf("w", (6, 12), "float32", normal(6, 12), (None, "tp"))
        qkv = p.reshape(p.einsum(x, w, "bd", "de", "be"), (2, 3, 2, 2))
        step = self.check(p, {"dp": 2, "tp": 4}, p.map("exp", qkv))
        self.assertEqual(sum("reshape(" in line for line in step.scenario()["graph"]["ops"]), 1)

    def test_values_of_axes_of_one_element_and_options(self) -> None:
        p = Program("ones")
        x = p.leaf("x", (1, 4, 1, 6), "float32", normal(1, 4, 1, 6))
        self.check(p, {"dp": 2}, p.along("cumsum", p.reshape(x, (2, 2, 2, 3)), 3, reverse=True))

    def test_arrays_of_many_dimensions(self) -> None:
        p = Program("many")
        x = p.leaf("x", (2,) * 10, "float32", normal(*(2,) * 10), (None, "a"))
        self.check(p, {"a": 2}, p.map("exp", p.transpose(x, list(range(10))[::-1])))

    def test_a_reshape_without_common_factors(self) -> None:
        p = Program("odd")
        x = p.leaf("x", (6, 4), "float32", normal(6, 4), (None, "tp"))
        self.check(p, {"tp": 2}, p.reshape(x, (4, 6)))

    def test_shapes_alone_are_planned_and_not_executed(self) -> None:
        p = Program("shapes")
        step = traced(p, {"dp": 2}, p.map("exp", p.leaf("x", (4,), "float32", None, ("dp",), data=True)))
        self.assertEqual(step.plan().received_bytes.total, 0)
        with self.assertRaisesRegex(InputError, "'x' was given as a shape alone"):
            step.run()

    def test_saved(self) -> None:
        p = Program("saved")
        x = p.leaf("x", (4,), "float32", normal(4), ("dp",))
        step = self.check(p, {"dp": 2}, p.map("exp", x))
        self.assertEqual(step.scenario("v.safetensors")["graph"]["values"], "v.safetensors")


if __name__ == "__main__":
    unittest.main()
