"""The package with the program inside, where the program's source is beside it.

SHARDSIM_PROGRAM names a program to take as it is, with the scenarios and pages that were installed with it; otherwise
both are made from the repository that this folder lies in. Without either the wheel has no program, and finds one on PATH.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Optional, Tuple

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

TOP = Path(__file__).resolve().parent.parent
HAS_SOURCE = (TOP / "configure.ac").exists()
GIVEN = os.environ.get("SHARDSIM_PROGRAM")


def make_program(folder: Path) -> Path:
    """Configure and make the program with its libraries inside, apart from other builds."""
    if (TOP / "config.status").exists():
        raise SetupError(
            f"{TOP} is configured in place, and nothing can be built from it elsewhere: run 'make distclean' there, "
            "or name a program in SHARDSIM_PROGRAM"
        )
    if not (TOP / "configure").exists():
        subprocess.run(["autoreconf", "--install"], cwd=TOP, check=True)
    prefix = folder / "installed"
    options = ["--quiet", "--disable-shared", f"--prefix={prefix}"]
    subprocess.run([str(TOP / "configure"), *options], cwd=folder, check=True)
    make = ["make", "--silent", f"-j{os.cpu_count() or 1}"]
    subprocess.run([*make, "install-strip"], cwd=folder, check=True)
    return prefix / "bin" / "shardsim"


class WithProgram(build_py):
    def run(self) -> None:
        super().run()
        with tempfile.TemporaryDirectory(prefix="shardsim-build-") as folder:
            program: Optional[Path] = Path(GIVEN) if GIVEN else make_program(Path(folder)) if HAS_SOURCE else None
            if program is not None:
                inside = Path(self.build_lib) / "shardsim"
                (inside / "bin").mkdir(parents=True, exist_ok=True)
                shutil.copy2(program, inside / "bin" / "shardsim")
                share = program.resolve().parent.parent / "share" / "shardsim"
                if share.is_dir():
                    shutil.copytree(share, inside / "share" / "shardsim", dirs_exist_ok=True)


class WithBinary(Distribution):
    """A wheel with a program is of one platform."""

    def has_ext_modules(self) -> bool:
        return bool(GIVEN) or HAS_SOURCE


class AnyPython(bdist_wheel):  # type: ignore[misc]
    """A wheel whose tag names the platform that its program is built for, but no version of Python."""

    def get_tag(self) -> Tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"build_py": WithProgram, "bdist_wheel": AnyPython}, distclass=WithBinary)
