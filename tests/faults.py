"""Holds docs/FAULTS.md against the tests: each one that it names is there.

Usage: faults.py PROJECT
"""

import pathlib
import re
import sys


def main(project):
    page = (project / "docs/FAULTS.md").read_text()
    names = set(re.findall(r"`([A-Z]\w+\.[A-Z]\w+|fuzz\.\w+|test_\w+)`", page))
    sources = [p for folder in ["tests", "python/tests"] for p in (project / folder).rglob("*") if p.suffix in [".cc", ".py", ".txt"]]
    text = "\n".join(p.read_text() for p in sources)
    found = {f"{suite}.{name}" for suite, name in re.findall(r"\bTEST(?:_[PF])?\((\w+), (\w+)\)", text)}
    found |= set(re.findall(r"def (test_\w+)\(", text))
    found |= {f"fuzz.{name}" for name in re.findall(r"indexshare_fuzz\w*\((\w+)", text)}
    missing = names - found
    for name in sorted(missing):
        print(f"docs/FAULTS.md names {name}, which is no test")
    print(f"docs/FAULTS.md names {len(names)} tests")
    return 1 if missing or not names else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
