"""The command line, `indexshare` or `python -m indexshare`: the program that comes with the package."""

from __future__ import annotations

import os
import pathlib
import sys


def main() -> None:
    """Becomes the program, with the arguments that Python was given."""
    program = pathlib.Path(__file__).parent / "bin" / "indexshare"
    os.execv(program, ["indexshare", *sys.argv[1:]])


if __name__ == "__main__":
    main()
