"""The package as it is installed: what is in it, what it needs, and that it works far from where it was built."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Iterator, List

import pytest
from conftest import PARROT, POCKET, ROOT

# What every Linux with a C++ runtime has; the others a wheel for other machines carries (tools/wheel.sh).
SYSTEM = re.compile(r"(linux-vdso|ld-linux[\w-]*|libc|libm|libgcc_s|libstdc\+\+)\.so\.\d+")
ASK = """
from indexshare import LLM, SamplingParams
with LLM({model!r}) as llm:
    question = [{{"role": "user", "content": "What is a parrakeet?"}}]
    print(llm.chat(question, SamplingParams(temperature=0, max_tokens=64))[0].text, llm.model.forward([1, 2]).logits.shape)
"""


def output(*command: object, **environment: str) -> str:
    """What a command prints that succeeds, in an environment that names no place of this tree."""
    clean = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "PATH")}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd="/",
                          env={**clean, **environment}, timeout=3000)  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def binaries(package: pathlib.Path) -> List[pathlib.Path]:
    return [*package.glob("_core.*.so"), package / "bin/indexshare"]


def needed(binary: pathlib.Path) -> List[List[str]]:
    """Of each library that is loaded with it: its name and the file, "not found" for one that nothing has."""
    lines = [line.split("=>") for line in output("ldd", binary).splitlines()]
    return [[word.split("(")[0].strip() for word in line] for line in lines]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """What CMake installs of the component that a wheel is made of."""
    directory = tmp_path_factory.mktemp("installed")
    output("cmake", "--install", os.environ["BUILD"], "--component", "python", "--strip", "--prefix", directory)
    yield directory
    shutil.rmtree(directory)


def test_it_holds_the_module_the_program_the_sources_and_licences_alone(prefix: pathlib.Path) -> None:
    files = {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if not path.is_dir()}
    (module,) = (file for file in files if re.fullmatch(r"indexshare/_core\..*\.so", file))
    sources = {f"indexshare/{path.name}" for path in (ROOT / "python/indexshare").iterdir() if path.is_file()}
    assert files == {module, "indexshare/bin/indexshare", "indexshare/xgrammar-licences.txt", *sources}
    assert not any(path.is_symlink() for path in prefix.rglob("*"))


def test_its_binaries_name_no_place_of_the_tree(prefix: pathlib.Path) -> None:
    for binary in binaries(prefix / "indexshare"):
        assert "PATH" not in output("readelf", "--dynamic", "--wide", binary)  # RPATH, RUNPATH
        for library in needed(binary):
            assert not any("not found" in word or word.startswith(str(ROOT)) for word in library), library
            assert "indexshare" not in library[0], "the engine is in the module and in the program"


def test_it_works_far_from_the_tree(prefix: pathlib.Path) -> None:
    answer = output(sys.executable, "-c", ASK.format(model=str(POCKET)), PYTHONPATH=str(prefix))
    assert answer == f"{PARROT} (2, 4096)\n"


def test_it_brings_the_command_line(prefix: pathlib.Path) -> None:
    command = (sys.executable, "-m", "indexshare")
    program = [output(prefix / "indexshare/bin/indexshare", *arguments) for arguments in (["--version"], ["--help"])]
    assert [output(*command, option, PYTHONPATH=str(prefix)) for option in ("--version", "--help")] == program
    answer = output(*command, "run", POCKET, "What is a parrakeet?", "-q", PYTHONPATH=str(prefix))
    assert answer.strip() == PARROT
    failed = subprocess.run([*command, "run", "/nowhere", "x"], env={"PYTHONPATH": str(prefix)}, capture_output=True)
    assert failed.returncode == 1
    assert b"/nowhere" in failed.stderr


@pytest.mark.long
def test_a_wheel_of_a_clean_clone_works_without_it(tmp_path: pathlib.Path) -> None:
    clone, environment = tmp_path / "clone", tmp_path / "environment"
    output("git", "clone", "--quiet", ROOT, clone)
    wheel = output(clone / "tools/wheel.sh", tmp_path).splitlines()[-1]
    shutil.rmtree(clone)
    output(sys.executable, "-m", "venv", environment)
    output(environment / "bin/pip", "install", "--quiet", wheel)
    (package,) = environment.glob("lib/python*/site-packages/indexshare")
    for binary in binaries(package):
        for name, *path in needed(binary):
            inside = any(pathlib.Path(word).resolve().is_relative_to(package.parent) for word in path)
            assert inside or SYSTEM.fullmatch(pathlib.Path(name).name), (name, path)
    assert output(environment / "bin/python", "-c", ASK.format(model=str(POCKET))) == f"{PARROT} (2, 4096)\n"
    assert output(environment / "bin/indexshare", "run", POCKET, "What is a parrakeet?", "-q").strip() == PARROT
