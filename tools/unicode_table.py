#!/usr/bin/env python3
"""Writes src/text/unicode_table.inc: what the reference tokenizer believes about Unicode.

The reference is PyPI `tokenizers`: its regular expressions know Unicode 16, its normalizers Unicode 9.
The libraries used here (PCRE2, utf8proc) may know any version from 14 on, so two lists are kept:

  kCategories  code points whose general category may differ between Unicode 14 and any later version
               (changed up to 16, or unassigned in 16), with their category in Unicode 16;
  kInert       code points that take part in normalization in Unicode 16 but not in the reference
               (the unassigned ones of kCategories are inert as well).

Needs Python 3.11 (its own unicodedata is Unicode 14), unicodedata2==16.0.0 and tokenizers:
  python3 tools/unicode_table.py > src/text/unicode_table.inc
"""

import unicodedata as old
import unicodedata2 as new
from tokenizers import Regex, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
NONCHARACTERS = set(range(0xFDD0, 0xFDF0)) | {p << 16 | e for p in range(17) for e in (0xFFFE, 0xFFFF)}
MONGOLIAN_VOWEL_SEPARATOR = 0x180E  # white space to PCRE2's \s, a format character to the reference
MARKS = "\u0323\u0301\u3099\u0334"  # four combining classes: their order shows the class of a neighbour


def check_categories():
    """The reference's \\p{..} must be Unicode 16's, or the table would be of the wrong version."""
    text = "".join(map(chr, CODE_POINTS))
    names = {new.category(c) for c in text}
    for name in names:
        split = pre_tokenizers.Split(Regex(r"\p{%s}" % name), "removed", invert=True)
        found = {c for piece, _ in split.pre_tokenize_str(text) for c in piece}
        assert found == {c for c in text if new.category(c) == name}, name


def categories():
    for c in CODE_POINTS:
        category = new.category(chr(c))
        unsettled = category == "Cn" and c not in NONCHARACTERS
        if unsettled or category != old.category(chr(c)) or c == MONGOLIAN_VOWEL_SEPARATOR:
            yield c, category


def inert():
    """Code points the reference's normalizers leave alone though Unicode 16 does not."""
    nfd, nfkd, nfc = normalizers.NFD(), normalizers.NFKD(), normalizers.NFC()
    found = set()
    for c in CODE_POINTS:
        char = chr(c)
        same = nfkd.normalize_str(char) == new.normalize("NFKD", char)
        for mark in MARKS:
            text = "a" + char + mark
            same = same and nfd.normalize_str(text) == new.normalize("NFD", text)
        if not same:
            found.add(c)
            assert nfkd.normalize_str(char) == char, hex(c)
        parts = new.normalize("NFD", char)
        if len(parts) > 1 and new.normalize("NFC", char) == char and nfc.normalize_str(parts) != char:
            found.add(ord(parts[0]))  # composes to a character that the reference does not know
    return sorted(found)


def runs(items):
    """(first, last, value) for neighbours of equal value."""
    run = None
    for c, value in items:
        if run and run[1] + 1 == c and run[2] == value:
            run[1] = c
            continue
        if run:
            yield run
        run = [c, c, value]
    if run:
        yield run


def write(name, kind, lines):
    print(f"constexpr {kind} {name}[] = {{")
    row = "   "
    for line in lines:
        if len(row) + 1 + len(line) > 108:
            print(row)
            row = "   "
        row += " " + line
    print(row)
    print("};")


def main():
    assert (old.unidata_version, new.unidata_version) == ("14.0.0", "16.0.0")
    check_categories()
    print("// Written by tools/unicode_table.py; what it holds is told there. Not for editing.")
    write("kCategories", "CategoryRun", (f"{{0x{a:x}, 0x{b:x}, Category::{v}}}," for a, b, v in runs(categories())))
    print()
    write("kInert", "CodePointRun", (f"{{0x{a:x}, 0x{b:x}}}," for a, b, _ in runs((c, 0) for c in inert())))


main()
