#!/usr/bin/env python3
"""What keeping index keys in 8 bits does to a model on a text: how much of the selection stays the same, layer by
layer, and how the perplexity changes. Runs `indexshare dump` and `indexshare perplexity` with each form of keys.

  tools/index_keys.py models/pocket text.txt
  tools/index_keys.py models/pocket models/pocket/goldens/goldens.json    (its prompts and answers, one after another)
"""
import argparse
import array
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

FORMS = ("plain", "int8", "screened")


def call(*command, text=None):
    """The standard output of a program that has to succeed."""
    done = subprocess.run([str(part) for part in command], input=text, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} {command[1]} failed with {done.returncode}")
    return done.stdout


def token_ids(program, model, path):
    if path.suffix == ".json":
        prompts = json.loads(path.read_text())["prompts"]
        return [token for prompt in prompts for token in prompt["input_ids"] + prompt["output_ids"]]
    return json.loads(call(program, "tokenize", model, "--json", text=path.read_text()))["ids"]


def read_selections(path):
    """The tensor topk of a dump: [layers][tokens] sets of positions, and the numbers of the layers."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin = file.tell()
        layers, tokens, width = header["topk"]["shape"]
        file.seek(begin + header["topk"]["data_offsets"][0])
        values = array.array("i", file.read(4 * layers * tokens * width))
    if sys.byteorder == "big":
        values.byteswap()
    rows = [frozenset(values[i : i + width]) - {-1} for i in range(0, len(values), width)]
    names = header["__metadata__"]["full_layers"].split(",")
    return [rows[i * tokens : (i + 1) * tokens] for i in range(layers)], names, width


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("text", type=pathlib.Path, help="a text, or a .json file of prompts with ids as in models/pocket")
    parser.add_argument("--program", default="build/release/indexshare")
    parser.add_argument("--threads", default="0")
    arguments = parser.parse_args()

    program, model = arguments.program, arguments.model
    ids = token_ids(program, model, arguments.text)
    selections, results = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        tokens, dump = pathlib.Path(folder, "ids"), pathlib.Path(folder, "dump.safetensors")
        tokens.write_text(" ".join(map(str, ids)))
        for form in FORMS:
            flags = ("--ids-file", tokens, "--index-keys", form, "--threads", arguments.threads)
            call(program, "dump", model, *flags, "--only", "topk", "--out", dump)
            selections[form], names, width = read_selections(dump)
            output = call(program, "perplexity", model, *flags, "--window", max(2, len(ids)), "--json")
            results[form] = json.loads(output)["perplexity"]

    print(f"{len(ids)} tokens, those past number {width} compared with plain keys")
    print(f"{'keys':<10}{'layer':>6}{'same of selection':>19}{'least':>9}{'same rows':>11}")
    for form in FORMS[1:]:
        for name, plain, other in zip(names, selections["plain"], selections[form]):
            same = [len(a & b) / width for a, b in zip(plain[width:], other[width:])]
            if not same:
                continue
            equal = sum(part == 1.0 for part in same) / len(same)
            print(f"{form:<10}{name:>6}{100 * sum(same) / len(same):>17.2f} %{100 * min(same):>7.1f} %{100 * equal:>9.1f} %")
    print(f"\n{'keys':<10}{'perplexity':>12}{'change':>12}")
    for form in FORMS:
        change = 100 * (results[form] / results["plain"] - 1)
        print(f"{form:<10}{results[form]:>12.4f}{change:>+10.3f} %")


if __name__ == "__main__":
    main()
