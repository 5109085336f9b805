"""The package with the program inside, where the program's source is beside it.

SHARDSIM_PROGRAM names a program to take as it is; otherwise it is configured and made from the repository that this
folder lies in. Without either the wheel has no program, and finds one on PATH.
"""

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Optional

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

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
    subprocess.run([str(TOP / "configure"), "--quiet", "--disable-shared"], cwd=folder, check=True)
    subprocess.run(["make", "--silent", f"-j{os.cpu_count() or 1}", "shardsim"], cwd=folder, check=True)
    return folder / "shardsim"


class WithProgram(build_py):
    def run(self) -> None:
        super().run()
        with tempfile.TemporaryDirectory(prefix="shardsim-build-") as folder:
            program: Optional[Path] = Path(GIVEN) if GIVEN else make_program(Path(folder)) if HAS_SOURCE else None
            if program is not None:
                target = Path(self.build_lib) / "shardsim" / "bin" / "shardsim"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(program, target)


class WithBinary(Distribution):
    """A wheel with a program is of one platform."""

    def has_ext_modules(self) -> bool:
        return bool(GIVEN) or HAS_SOURCE


setup(cmdclass={"build_py": WithProgram}, distclass=WithBinary)
