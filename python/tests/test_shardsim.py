"""The package compared with the program: the same figures and messages."""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import tempfile
import unittest
from typing import Any, Dict
from unittest import mock

import shardsim
from shardsim.program import find

SOURCE = os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), "..", ".."))
MINE: Dict[str, Any] = {
    "version": 1,
    "name": "mine",
    "mesh": {"tp": 2},
    "model": {"kind": "mlp", "d_model": 8, "d_ff": 16},
    "batch": {"size": 2, "seq": 4},
    "step": ["forward"],
    "params": [["mlp/up/kernel", [None, "tp"]], ["mlp/down/kernel", ["tp"]]],
}


def scenario(name: str) -> str:
    return os.path.join(SOURCE, "scenarios", name)


def printed(*arguments: str) -> Any:
    return json.loads(subprocess.run([find(), *arguments], capture_output=True, check=True).stdout)


def printed_text(*arguments: str) -> str:
    return subprocess.run([find(), *arguments], capture_output=True, check=True, encoding="utf-8").stdout


class Commands(unittest.TestCase):
    def test_plan_has_the_figures_of_the_program(self) -> None:
        results, raw = shardsim.plan(scenario("strategies.yaml")), printed("plan", "--json", scenario("strategies.yaml"))
        self.assertEqual([r.strategy for r in results], [r["strategy"] for r in raw])
        for result, one in zip(results, raw):
            self.assertEqual(result.received_bytes.total, one["received_bytes"]["total"])
            self.assertEqual(result.received_bytes.per_device.total, one["received_bytes"]["total"])
            self.assertEqual(result.memory.peak_bytes.most, max(one["memory"]["peak_bytes"]))
            self.assertEqual(sum(c.received_bytes for c in result.collectives), result.received_bytes.total)
            self.assertEqual(result.raw, one)

    def test_texts_of_commands(self) -> None:
        self.assertEqual(shardsim.explain(scenario("fsdp.yaml")), printed_text("explain", scenario("fsdp.yaml")))
        self.assertIn("all-gather", shardsim.explain({**MINE, "mesh": {"fsdp": 2}, "params": [[".*", ["fsdp"]]], "axes": {"batch": "fsdp"}}))
        self.assertEqual(shardsim.show("mesh", "--mesh", "tp=2"), printed_text("show", "mesh", "--mesh", "tp=2"))
        self.assertIn("<html", shardsim.report(scenario("fsdp.yaml"), execute=False))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "layouts")
            os.mkdir(path)
            with open(os.path.join(path, "mine.yaml"), "w", encoding="utf-8") as file:
                json.dump(MINE, file)
            with mock.patch.dict(os.environ):
                os.environ.pop("CI", None)
                self.assertTrue(shardsim.check(path, update=True)[0])
                with open(os.path.join(path, "mine.yaml"), "w", encoding="utf-8") as file:
                    json.dump({**MINE, "mesh": {"tp": 4}}, file)
                same, why = shardsim.check(path)
            self.assertFalse(same)
            self.assertIn("mesh", why)

    def test_run_is_verified(self) -> None:
        result = shardsim.run(scenario("fsdp.yaml")).only
        assert result.verify is not None
        self.assertTrue(result.verify.ok)
        self.assertEqual(result.mode, "execute")
        self.assertGreater(result.times.measured or 0, 0)
        self.assertIsNone(result.times.modelled)
        self.assertEqual(result.received_bytes, shardsim.plan(scenario("fsdp.yaml")).only.received_bytes)

    def test_set(self) -> None:
        by_keyword = shardsim.plan(scenario("fsdp.yaml"), mesh__fsdp=4).only
        by_name = shardsim.plan(scenario("fsdp.yaml"), set={"mesh.fsdp": 4}).only
        self.assertEqual(by_keyword.devices, 4)
        self.assertEqual(by_keyword, by_name)

    def test_scenario_as_mapping_and_as_text(self) -> None:
        self.assertEqual(shardsim.plan(MINE).only, shardsim.plan(json.dumps(MINE, indent=1)).only)
        self.assertEqual(shardsim.plan(MINE).only.mesh, (("tp", 2),))

    def test_strategy(self) -> None:
        self.assertEqual(shardsim.plan(scenario("strategies.yaml"), strategy="fsdp").only.strategy, "fsdp")
        results = shardsim.plan(scenario("strategies.yaml"))
        self.assertEqual(results["fsdp"].strategy, "fsdp")
        with self.assertRaisesRegex(KeyError, "unknown strategy 'none'; there are data-and-tensor, data"):
            results["none"]
        with self.assertRaisesRegex(ValueError, "choose one"):
            results.only

    def test_what_does_not_fit_is_a_result(self) -> None:
        result = shardsim.plan(scenario("fsdp.yaml"), limits__memory="1KiB").only
        self.assertIs(result.fits, False)
        self.assertIsNone(shardsim.plan(MINE).only.fits)

    def test_fits_the_cluster(self) -> None:
        self.assertIs(shardsim.plan(MINE, hardware="h100-sxm").only.fits, True)
        large = shardsim.plan(
            MINE, hardware="h100-sxm", model__d_model=65536, model__d_ff=1 << 20
        ).only
        self.assertIs(large.fits, False)

    def test_figures(self) -> None:
        result = shardsim.plan(scenario("train_pipeline.yaml"), strategy="1f1b", hardware="h100-sxm").only
        self.assertEqual(result.bubble, result.raw["pipeline"]["bubble"])
        self.assertEqual(result.mfu, result.times.mfu)
        self.assertGreater(result.mfu or 0, 0)
        self.assertEqual(sum(result.memory.by_kind.values()), result.memory.peak_bytes.most)
        self.assertIsNone(shardsim.plan(MINE).only.mfu)
        self.assertIsNone(shardsim.plan(MINE).only.bubble)

    def test_classes(self) -> None:
        result = shardsim.plan(scenario("block_1024_devices.yaml")).only
        self.assertEqual(result.memory.peak_bytes.devices, 1024)
        self.assertEqual(result.received_bytes.per_device.total, result.received_bytes.total)

    def test_traffic(self) -> None:
        result = shardsim.plan(MINE).only
        rows = result.traffic()
        self.assertEqual(sum(sum(row) for row in rows), result.received_bytes.total)
        self.assertEqual(rows[0][0], 0)

    def test_compare(self) -> None:
        got = shardsim.compare(scenario("strategies.yaml"), execute=False)
        self.assertEqual(got.results[0].strategy, "data-and-tensor")
        self.assertIn("fewest bytes", got.verdict)
        self.assertIn(got.verdict, got._repr_html_())
        self.assertEqual(sum(map(sum, got.results["data"].traffic())), got.results["data"].received_bytes.total)
        two = shardsim.compare(scenario("fsdp.yaml"), scenario("tensor_parallel.yaml"), execute=False)
        self.assertEqual([r.scenario for r in two.results], ["fsdp", "tensor-parallel"])
        with self.assertRaisesRegex(ValueError, "several scenarios"):
            two.results[0].traffic()
        with self.assertRaisesRegex(ValueError, "at most one of several scenarios"):
            shardsim.compare(MINE, MINE)

    def test_search(self) -> None:
        found = shardsim.search(scenario("train_zero.yaml"), strategy="dp", top=2, hardware="b200")
        self.assertEqual(len(found.layouts), 2)
        self.assertLessEqual(found.best.step_seconds, found.layouts[1].step_seconds)
        self.assertEqual(found.best.choices["tp"] * found.best.choices["dp"], 4)
        self.assertTrue(found.proven)
        self.assertFalse(dataclasses.replace(found, proven_seconds=found.best.step_seconds / 2).proven)

    def test_results_do_not_change(self) -> None:
        with self.assertRaises(dataclasses.FrozenInstanceError):
            shardsim.plan(MINE).only.devices = 3  # type: ignore[misc]


class Errors(unittest.TestCase):
    def test_input(self) -> None:
        with self.assertRaisesRegex(shardsim.InputError, r"\d+:\d+: error: .*mesh"):
            shardsim.plan({"version": 1, "name": "a"})
        with self.assertRaisesRegex(shardsim.InputError, "no-such-file"):
            shardsim.run("no-such-file.yaml")

    def test_names_are_no_options(self) -> None:
        """A file may have any name; no name makes the program write another file."""
        text, wanted, here = json.dumps(MINE), shardsim.plan(MINE).only.traffic(), os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for name in ("--output=x.csv", "--help", "-q", "-"):
                    with open(name, "w", encoding="utf-8") as file:
                        file.write(text)
                    self.assertEqual(shardsim.plan(name).only.traffic(), wanted)
                self.assertIn("<svg", shardsim.plan("-q").only.picture("matrix").svg)
                self.assertEqual(len(shardsim.compare("--help", "-q", execute=False).results), 2)
                os.remove("--output=x.csv")
                with self.assertRaisesRegex(shardsim.InputError, "output=x.csv"):
                    shardsim.compare("--output=x.csv", "-q", execute=False)
                with self.assertRaisesRegex(shardsim.InputError, "journal=j"):
                    shardsim.search("--journal=j")
                self.assertEqual(sorted(os.listdir(".")), ["-", "--help", "-q"])
            finally:
                os.chdir(here)

    def test_no_program(self) -> None:
        with mock.patch.dict(os.environ, {"SHARDSIM": "/no/such/program"}):
            with self.assertRaisesRegex(shardsim.CannotRun, "set SHARDSIM"):
                shardsim.plan(MINE)

    def test_a_program_that_fails(self) -> None:
        with mock.patch.dict(os.environ, {"SHARDSIM": "false"}):
            with self.assertRaisesRegex(shardsim.CannotRun, "ended with status 1"):
                shardsim.plan(MINE)


class Sessions(unittest.TestCase):
    def test_questions(self) -> None:
        with shardsim.Session() as session:
            for extent in (4, 8):
                out = session.ask("sharding.shards", mesh=[["tp", 2]], shape=[extent, 6], spec=["tp", None])
                self.assertIn(str(extent // 2), json.dumps(out))
            with self.assertRaises(shardsim.QueryError) as caught:
                session.ask("nothing")
            self.assertEqual(caught.exception.kind, "unknown-op")
            self.assertEqual(
                session.ask("scenario.plan", yaml=json.dumps(MINE))["received_bytes"]["total"],
                shardsim.plan(MINE).only.received_bytes.total,
            )

    def test_closed(self) -> None:
        session = shardsim.Session()
        with self.assertRaisesRegex(shardsim.CannotRun, "the session is closed"):
            session.ask("sharding.shards")
        with session:
            pass
        session.close()

    def test_a_program_that_ends(self) -> None:
        with mock.patch.dict(os.environ, {"SHARDSIM": "true"}):
            with shardsim.Session() as session:
                with self.assertRaisesRegex(shardsim.CannotRun, "without an answer"):
                    session.ask("sharding.shards")


class Notebooks(unittest.TestCase):
    def test_tables(self) -> None:
        html = shardsim.plan(scenario("strategies.yaml"))._repr_html_()
        self.assertEqual(html.count("<tr>"), 6)
        self.assertIn("<td>data-and-tensor</td>", html)
        self.assertNotIn("verified", html)
        renamed = shardsim.plan({**MINE, "name": "a<b"}).only._repr_html_()
        self.assertIn("a&lt;b", renamed)

    def test_pictures(self) -> None:
        svg = shardsim.plan(MINE).only.picture("matrix")._repr_svg_()
        self.assertTrue(svg.lstrip().startswith("<"))
        self.assertIn("</svg>", svg)
        with self.assertRaises(shardsim.InputError):
            shardsim.plan(MINE).only.picture("nothing")


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        try:
            import numpy
            import pandas
        except ImportError:
            self.skipTest("numpy and pandas are not installed")
        del numpy, pandas

    def test_frames(self) -> None:
        results = shardsim.plan(scenario("strategies.yaml"))
        self.assertEqual(list(results.to_frame()["strategy"]), [r.strategy for r in results])
        one = results["tensor"]
        self.assertEqual(int(one.to_frame()["received_bytes"].sum()), one.received_bytes.total)

    def test_matrix(self) -> None:
        one = shardsim.plan(scenario("strategies.yaml"), strategy="tensor").only
        self.assertEqual(one.matrix().shape, (8, 8))
        self.assertEqual(int(one.matrix().sum()), one.received_bytes.total)


if __name__ == "__main__":
    unittest.main()
