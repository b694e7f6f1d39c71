#!/usr/bin/env python3
"""Checks what the files of src/ and include/ include: only layers below, each third-party library in one
folder, no cycles, and conditional compilation and SIMD intrinsics in the backends alone."""

import pathlib
import re
import sys

# What a layer may include besides itself. Layers below those named are included too.
BELOW = {
    "base": [],
    "formats": ["base"],
    "cache": ["base"],
    "ops": ["formats", "cache"],
    "cpu": ["ops"],
    "cuda": ["ops"],
    "model": ["ops"],
    "checkpoint": ["formats"],
    "text": ["base"],
    "api": ["text"],
    "sample": ["base"],
    "engine": ["model", "checkpoint", "text", "sample"],
    "c": ["engine"],
    "server": ["engine", "api"],
    "cli": ["engine", "server"],
    "python": ["engine"],
}

# Single headers that a layer may include from elsewhere, and why.
ALSO = {
    "checkpoint": ["model/config.h", "model/weights.h"],  # it fills them
    "engine": ["cpu/backend.h", "cuda/backend.h"],  # it constructs the backend
    "cli": ["cpu/backend.h", "cuda/backend.h", "cpu/kernels.h",  # likewise, and it names the kernel tables
            "cpu/machine_limits.h"],  # and measures what they could reach
}

# The one folder that includes a third-party header, by how the header's name begins.
THIRD_PARTY = {
    "fmt/": "base",
    "nlohmann/": "base",
    "liburing": "checkpoint",
    "cpuid.h": "cpu",
    "immintrin.h": "cpu",
    "arm_neon.h": "cpu",
    "hwy/": "cpu",
    "cuda": "cuda",
    "cublas": "cuda",
    "nvml": "cuda",
    "numa.h": "base",
    "pcre2.h": "text",
    "simdjson": "text",
    "utf8proc": "text",
    "xxhash.h": "base",
    "xgrammar/": "sample",
    "boost/": "server",
    "openssl/": "server",
    "prometheus/": "server",
    "CLI/": "cli",
    "curl/": "cli",
    "editline/": "cli",
    "histedit.h": "cli",
    "nanobind/": "python",
}

# Operating system headers, and the layers that talk to the operating system.
SYSTEM = re.compile(r"(arpa|linux|net|netinet|sys)/\w+\.h|(errno|fcntl|poll|pthread|sched|signal|termios|unistd)\.h")
SYSTEM_LAYERS = {"base", "checkpoint", "cpu", "server", "cli", "python"}  # cpu: it asks for the registers of AMX

# Where #if may stand: the backends, and single files with a reason.
CONDITIONAL_LAYERS = {"cpu", "cuda"}
CONDITIONAL_FILES = {
    "base/thread_pool.cc",  # the instruction that tells a core it is spinning differs by machine
}

STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef)\b")
INTRINSIC = re.compile(r"\b(_mm\d*_\w+|__m(128|256|512)[id]?|__builtin_ia32_\w+|v(ld|st|fma|mla)\w*q_\w+)\b")
SOURCES = {".h", ".cc", ".cu", ".cuh", ".inc"}


def reachable(layer):
    """The layers below `layer`, itself included."""
    found = {layer}
    for below in BELOW[layer]:
        found |= reachable(below)
    return found


def own_include_problem(layer, target, src):
    if target.startswith("indexshare/"):
        return "" if (src.parent / "include" / target).is_file() else "no such public header"
    if not (src / target).is_file():
        return "no such file (own headers are named from src/)"
    if target in ALSO.get(layer, []) or target.split("/")[0] in reachable(layer):
        return ""
    return f"{layer}/ may include {', '.join(sorted(reachable(layer)))}"


def foreign_include_problem(layer, target):
    for prefix, folder in THIRD_PARTY.items():
        if target.startswith(prefix):
            return "" if layer == folder else f"only {folder}/ includes {prefix}"
    if STANDARD.fullmatch(target):
        return ""
    if SYSTEM.fullmatch(target):
        return "" if layer in SYSTEM_LAYERS else f"only {', '.join(sorted(SYSTEM_LAYERS))} call the system"
    return "a third-party header that tests/layering.py does not assign to a folder"


def check_binding(path, root):
    """Yields the problems of one file of python/binding, which includes its neighbours by their bare names."""
    src = root / "src"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match or (path.parent / match.group(2)).is_file():
            continue
        quote, target = match.groups()
        problem = own_include_problem("python", target, src) if quote == '"' else foreign_include_problem("python", target)
        if problem:
            yield f"{path.relative_to(root)}:{number}: includes {target}: {problem}"


def check_file(path, src, includes):
    """Yields the problems of one file of src/ and notes its own includes."""
    name = path.relative_to(src).as_posix()
    layer = name.split("/")[0]
    if layer not in BELOW:
        yield f"src/{name}: the layer {layer} is not listed in tests/layering.py"
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"src/{name}:{number}"
        if match := INCLUDE.match(line):
            quote, target = match.groups()
            if quote == '"':
                problem = own_include_problem(layer, target, src)
                includes.setdefault(name, []).append(target)
            else:
                problem = foreign_include_problem(layer, target)
            if problem:
                yield f"{where}: includes {target}: {problem}"
        if CONDITION.match(line) and layer not in CONDITIONAL_LAYERS and name not in CONDITIONAL_FILES:
            yield f"{where}: conditional compilation belongs into cpu/ and cuda/"
        if INTRINSIC.search(line) and layer not in CONDITIONAL_LAYERS and name not in CONDITIONAL_FILES:
            yield f"{where}: SIMD intrinsics belong into cpu/"


def check_public(path, root):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(2)
        standard = STANDARD.fullmatch(target) or target in {"stddef.h", "stdint.h", "stdbool.h"}
        if not standard and not (root / "include" / target).is_file():
            yield f"{path.relative_to(root)}:{number}: a public header includes {target}"


def cycles(includes):
    """Yields each chain of files that include each other in a ring."""
    done, path = set(), []

    def visit(name):
        if name in path:
            yield "a cycle of includes: " + " -> ".join(path[path.index(name):] + [name])
        elif name not in done:
            path.append(name)
            for target in includes.get(name, []):
                yield from visit(target)
            path.pop()
            done.add(name)

    for name in sorted(includes):
        yield from visit(name)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    src, includes, problems, files = root / "src", {}, [], 0
    for path in sorted(p for p in src.rglob("*") if p.suffix in SOURCES):
        problems += check_file(path, src, includes)
        files += 1
    for path in sorted(p for p in (root / "python/binding").rglob("*") if p.suffix in SOURCES):
        problems += check_binding(path, root)
        files += 1
    for path in sorted((root / "include").rglob("*.h")):
        problems += check_public(path, root)
        files += 1
    problems += cycles(includes)
    print("\n".join(problems) if problems else f"{files} files keep to the layers")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
