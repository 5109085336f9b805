"""Traced programs without a framework: dimensions, lines and shardings, and the program's results."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
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
from shardsim.trace.special import ELEMENTWISE
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
    """Self-attention scores, with heads from a reshape."""
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
            Traced(p, {"tp": 4}, [x], list, gaps=["mine.py:3: the operation 'frob' is not supported"])
        message = str(caught.exception)
        self.assertIn("mine.py:3: the operation 'frob' is not supported", message)
        self.assertIn("argument x: axis 0, of 6 elements, is not sharded evenly by 'tp' of 4", message)

    def test_extents_that_differ(self) -> None:
        p = Program("wrong")
        with self.assertRaises(Gap):
            p.map("add", p.leaf("a", (2,), "float32"), p.leaf("b", (3,), "float32"))


    def test_types_that_would_be_computed_as_others(self) -> None:
        for dtype in ("complex64", "int8", "uint8", "float8_e4m3fn"):
            with self.assertRaisesRegex(Gap, f"'x' is an array of {dtype}"):
                Program("types").leaf("x", (2,), dtype)

    def test_whole_numbers_beyond_32_bits(self) -> None:
        """Integers that float64 cannot represent are refused, in inputs and in results of a run."""
        p = Program("wide")
        step = traced(p, {"dp": 2}, p.convert(p.leaf("ids", (2,), "int64", np.array([1, 2**53 + 2])), "float32"))
        with self.assertRaisesRegex(InputError, "'ids' has integers beyond 2.53"):
            step.run()
        for given, good in ((3_000_000, True), (2**30, False)):
            p = Program("wide")
            p.where = "hash.py:7"
            ids = p.leaf("ids", (2,), "int64", np.array([1, given]))
            step = traced(p, {"dp": 2}, p.map("mul", p.map("mul", ids, p.number(1_000_003, "int64")), p.number(1_000, "int64")))
            if good:
                np.testing.assert_array_equal(step.run().outputs[0], np.array([1, given]) * 1_000_003_000)
                continue
            with self.assertRaisesRegex(InputError, "hash.py:7: integers beyond 2.53"):
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

    def test_outputs_beside_those_returned(self) -> None:
        p = Program("step")
        x = p.leaf("x", (4,), "float32", np.arange(4.0))
        arrays = [p.map("mul", x, p.number(n, "float32")) for n in (2.0, 3.0, 5.0)]
        ran = Traced(p, {"dp": 2}, arrays, list, {"w": 1}, updated={"m": 2}).run()
        for got, want in ((ran.outputs[0], 2), (ran.gradients["w"], 3), (ran.updated["m"], 5)):
            np.testing.assert_array_equal(got, want * np.arange(4.0))
        self.assertEqual(len(ran.outputs), 1)

    def test_what_expressions_do_not_have(self) -> None:
        """A division by 0, and the log of sums of exponentials so far."""
        p = Program("lines")
        x = p.leaf("x", (2, 4), "float32", np.arange(8.0).reshape(2, 4) - 3)
        ran = traced(p, {"dp": 2}, p.map("div", x, p.number(-0.0, "float32")), p.along("cumlogsumexp", x, 1)).run()
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(ran.outputs[0], (np.arange(8.0).reshape(2, 4) - 3) / -0.0)
        np.testing.assert_allclose(ran.outputs[1], np.logaddexp.accumulate(np.arange(8.0).reshape(2, 4) - 3, 1), rtol=1e-5)

    def test_tiny_numbers_are_verified(self) -> None:
        """The square of their roundings is 0 in float64."""
        p, values = Program("tiny"), np.random.RandomState(1).randn(40, 6) * 1e-187
        x = p.leaf("x", values.shape, "float64", values, ("a",))
        self.assertTrue(traced(p, {"a": 2}, p.reduce("sum", x, [0])).run().verify.ok)

    def test_derived_functions(self) -> None:
        """In float32, far from 0 on both sides and close to it."""
        numbers = np.array([-30, -15, -1e-4, 15, 89, -1e30, np.inf, 0], np.float32)
        small = np.array([-0.999999, -0.9, -1e-4, 0.999999, 0], np.float32)
        for name, values in {"sinh": numbers, "asinh": numbers, "atanh": small, "cbrt": numbers}.items():
            with self.subTest(name), np.errstate(over="ignore"):
                p = Program(name)
                ran = traced(p, {"a": 1}, ELEMENTWISE[name](p, p.leaf("x", values.shape, "float32", values))).run()
                want = getattr(np, name.replace("a", "arc", 1))(values.astype(np.float64)).astype(np.float32)
                np.testing.assert_allclose(ran.outputs[0], want, rtol=1e-6)

    def test_inverse_error_function(self) -> None:
        """To the precision of its type: the error function of it is the number again."""
        for dtype, precision in (("float32", 1e-6), ("float64", 1e-14)):
            x = np.array([0, 1e-9, -0.3, 0.9, -0.9999], dtype)
            p = Program("inverse")
            (made,) = traced(p, {"a": 1}, ELEMENTWISE["erf_inv"](p, p.leaf("x", x.shape, dtype, x))).run().outputs
            np.testing.assert_allclose([math.erf(y) for y in made], x, rtol=precision)

    def test_attention(self) -> None:
        p = Program("attention")
        self.check(p, {"dp": 2, "tp": 2}, *attention(p))

    def test_attention_as_one_op(self) -> None:
        """Attention over batch, tokens and heads (also from a reshape, also fewer KV heads), with gradients."""
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
        """Heads in two factors, one of them sharded, are one dimension of the op, without communication."""
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

    def executed(self, p: Program, *pairs: Any) -> None:
        """Pairs of an output and numpy's result."""
        ran = traced(p, {"dp": 2}, *(made for made, _ in pairs)).run()
        self.assertTrue(ran.verify.ok)
        for k, (got, (_, want)) in enumerate(zip(ran.outputs, pairs, strict=True)):
            np.testing.assert_array_equal(got, want, f"output {k}")

    def test_words_without_a_sign(self) -> None:
        """Words with the first bit set are the largest."""
        p = Program("words")
        a, b = np.array([1, 4_000_000_000, 7, 3_000_000_000], np.uint32), np.array([3, 2, 2**32 - 1, 2**31], np.uint32)
        x, y = p.leaf("x", (4,), "uint32", a, ("dp",)), p.leaf("y", (4,), "uint32", b)
        halves = p.map("mul", p.convert(x, "float64"), p.number(0.5, "float64"))
        self.executed(
            p, (p.take_along(x, p.argsort(x, 0), 0), np.sort(a)), (p.reduce("max", x, [0]), a.max()), (p.reduce("argmin", y, [0]), b.argmin()),
            (p.map("max", x, y), np.maximum(a, b)), (p.map("min", x, y), np.minimum(a, b)), (p.map("div", x, y), a // b),
            (p.map("rem", x, y), a % b), (p.compare("less", x, y), a < b), (p.convert(x, "float64"), a.astype(np.float64)),
            (p.convert(halves, "uint32"), a // 2), (p.along("cummax", x, 0), np.maximum.accumulate(a)), (p.map("sign", x), a > 0),
            (p.convert(x, "int64"), a.astype(np.int64)), (p.map("sub", x, y), a - b), (p.along("topk", y, 0, 2, dtype="int32"), [2, 3]),
        )  # fmt: skip

    def test_whole_numbers_of_64_bits(self) -> None:
        p = Program("longs")
        a, b = np.array([40_000, -50_000, 2**33 + 5, 9], np.int64), np.array([1_000_003, 7, -3, 2**31], np.int64)
        x, y = p.leaf("x", (4,), "int64", a, ("dp",)), p.leaf("y", (4,), "int64", b)
        table = p.leaf("table", (97, 2), "float32", normal(97, 2))
        product, ids = a * b, np.abs(a * b) % 97
        made = p.map("mul", x, y)
        rest = p.map("rem", p.map("abs", made), p.number(97, "int64"))
        self.assertEqual(rest.carrier, "int32")
        self.executed(
            p, (made, product), (rest, ids), (p.embed(table, rest), normal(97, 2)[ids]), (p.map("bit_xor", x, y), a ^ b),
            (p.map("bit_and", x, y), a & b), (p.map("bit_not", x), ~a), (p.map("div", made, y), a), (p.reduce("sum", made, [0]), product.sum()),
            (p.along("cumsum", made, 0), product.cumsum()), (p.convert(made, "int32"), product.astype(np.int32)),
            (p.map("shift_left", y, p.number(5, "int64")), b << 5), (p.compare("less", x, y), a < b), (p.reduce("max", x, [0]), a.max()),
            (p.select(p.compare("less", x, y), x, y), np.minimum(a, b)), (p.take_along(x, p.argsort(x, 0), 0), np.sort(a)),
            (p.convert(p.map("mul", p.convert(x, "float64"), p.number(1.5, "float64")), "int64"), np.trunc(a * 1.5).astype(np.int64)),
            (p.einsum(x, y, "a", "a", ""), a @ b), (p.concat([x, rest], 0), np.concatenate([a, ids])),
        )  # fmt: skip

    def test_whole_numbers_beside_one_that_is_larger(self) -> None:
        def masked(number: int) -> Tuple[Program, Array]:
            p = Program("masked")
            x = p.leaf("x", (3,), "int64", np.array([5, -7, 2]))
            return p, p.select(p.compare("less", x, p.number(0, "int64")), p.number(number, "int64"), x)

        p, made = masked(2**40)
        self.executed(p, (made, [5, 2**40, 2]))
        p, made = masked(2**63 - 1)
        self.executed(p, (p.reduce("min", made, [0]), 2))
        p, made = masked(2**63 - 1)
        with self.assertRaisesRegex(InputError, "integers beyond 2.53 are not exact"):
            traced(p, {"a": 1}, made).run()

    def test_what_is_no_number(self) -> None:
        """NaN where the program itself has NaN is right, and is the largest element."""
        p = Program("unknown")
        a = np.array([[1, -4, 9, 0], [4, 4, 1, 0], [np.inf, -1, np.nan, 4]], np.float32)
        x = p.map("sqrt", p.leaf("x", a.shape, "float32", a, (None, "dp")))
        with np.errstate(invalid="ignore"):
            want = np.sqrt(a)
        self.executed(
            p, (x, want), (p.reduce("argmax", x, [1]), want.argmax(1)), (p.reduce("argmin", x, [0]), want.argmin(0)),
            (p.argsort(x, 1), want.argsort(1, kind="stable")), (p.along("topk", x, 1, 2, dtype="int32"), [[1, 2], [0, 1], [1, 2]]),
        )  # fmt: skip

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

    def test_a_sum_over_devices_that_is_read_and_returned_is_made_once(self) -> None:
        p = Program("sum")
        x, y = (p.leaf(name, (4, n), "float32", normal(4, n), ("dp",)) for name, n in (("x", 6), ("y", 5)))
        g = p.einsum(x, y, "ab", "ac", "bc")
        step = self.check(p, {"dp": 2}, p.map("mul", g, g), g, g)
        self.assertEqual(step.plan().received_bytes.total, 2 * 6 * 5 * 4)

    def test_gradients_for_a_sharded_state_are_scattered(self) -> None:
        """Also if they are only scaled and squared before they meet the state, and if it has another order of dimensions."""
        p = Program("moments")
        x, y = (p.leaf(name, (4, n), "float32", normal(4, n), ("dp",), data=True) for name, n in (("x", 6), ("y", 8)))
        g = p.transpose(p.einsum(x, y, "ab", "ac", "bc"), (1, 0))
        made = [p.map("mul", z, p.number(0.1, "float32")) for z in (g, p.map("mul", g, g))]
        states = [p.leaf(name, (8, 6), "float32", normal(8, 6), ("dp",)) for name in "mv"]
        step = self.check(p, {"dp": 2}, *(p.constraint(p.map("add", z, s), ("dp",)) for z, s in zip(made, states)))
        self.assertEqual(step.plan().received_bytes.total, 6 * 8 * 4)

    def test_rows_of_one(self) -> None:
        p = Program("row")
        x, ids = p.leaf("x", (4, 2), "float32", normal(4, 2)), p.leaf("ids", (4,), "int64", np.array([0, 0, -1, 0]))
        self.check(p, {"dp": 2}, p.embed_add(x, ids, 1), p.embed(p.slice(x, 0, 1, 1), ids))

    def test_what_the_program_refuses_is_told_at_the_line_of_the_source(self) -> None:
        p = Program("refused")
        ids = p.leaf("ids", (4,), "int32", np.arange(4, dtype=np.int32))
        p.where = "mine.py:7"
        wrong = traced(p, {"dp": 2}, p.map("neg", p.plain("gelu", [ids], "int32")))
        expected = "^mine.py:7: .*holds integers; expected floating point"
        with self.assertRaisesRegex(InputError, expected):
            wrong.run()
        with self.assertRaisesRegex(InputError, expected):
            wrong.plan()

    def test_scans_of_one_element(self) -> None:
        p = Program("one")
        x = p.leaf("x", (1, 4), "float32", normal(1, 4), (None, "dp"))
        self.check(p, {"dp": 2}, p.along("cumprod", x, 0, reverse=True), p.along("cumsum", p.map("exp", x), 0))

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
        with self.assertRaisesRegex(InputError, "'x' has a shape but no values"):
            step.run()

    def test_saved(self) -> None:
        p = Program("saved")
        x = p.leaf("x", (4,), "float32", normal(4), ("dp",))
        step = self.check(p, {"dp": 2}, p.map("exp", x))
        self.assertEqual(step.scenario("v.safetensors")["graph"]["values"], "v.safetensors")


if __name__ == "__main__":
    unittest.main()
