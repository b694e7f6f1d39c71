"""--session of run and chat: sequences that outlive the program."""

import json
import os
import random
import signal
import subprocess
import unittest

from support import LIMIT, PARROT, POCKET, PROGRAM, TestCase

GREEDY = ["--temperature", "0", "--ignore-eos", "--json"]


def numbers(ids):
    return ",".join(map(str, ids))


class Run(TestCase):
    def setUp(self):
        super().setUp()
        self.session = self.directory / "session"
        self.prompt = random.Random(1).choices(range(4000), k=700)

    def answer(self, ids, count, *arguments):
        return json.loads(self.succeeds("run", POCKET, "--ids", numbers(ids), "--max-tokens", count, *GREEDY, *arguments).out)

    def test_goes_on_as_if_it_had_never_ended(self):
        whole = self.answer(self.prompt, 40)["ids"]
        first = self.answer(self.prompt, 15, "--session", self.session)
        self.assertEqual((first["ids"], first["usage"]["cached_tokens"]), (whole[:15], 0))
        second = self.answer(self.prompt + first["ids"], 25, "--session", self.session)
        self.assertEqual((second["ids"], second["usage"]["cached_tokens"]), (whole[15:], 714))

    def test_says_what_was_kept(self):
        self.answer(self.prompt, 4, "--session", self.session)
        err = self.succeeds("run", POCKET, "--ids", numbers(self.prompt[:500] + [7, 8]), "--session", self.session).err
        kept = 500 + (self.prompt[500] == 7)
        self.assertTrue(err.startswith(f"{self.session}: {kept} of its 704 tokens begin the prompt\n"), err)

    def test_refuses_what_it_cannot_restore_and_leaves_it(self):
        self.answer(self.prompt, 1, "--session", self.session)
        good = self.session.read_bytes()
        run = ["run", POCKET, "--ids", "1,2,3", "--session", self.session]
        damaged = bytearray(good)
        damaged[-100] ^= 1
        older = bytearray(good)
        older[8] = 0
        for content, sentence, arguments in [(damaged, "is damaged: the checksum of page 2", []), (b"x" * 99, "is not a session file", []),
                                             (older, "is in version 0 of the format of session files", []),
                                             (good[:-1], "truncated or damaged", []),
                                             (good, "was saved by another model", ["--latent-norm-eps", "1e-5"]),
                                             (good, "holds a cache in", ["--cache-dtype", "f32"])]:
            self.session.write_bytes(content)
            self.fails(1, sentence, *run, *arguments)
            self.assertEqual(self.session.read_bytes(), content)
        self.fails(1, "there is no directory /nowhere", *run[:-1], "/nowhere/session")

    def test_ctrl_c_saves_what_was_said(self):
        process = subprocess.Popen([PROGRAM, "run", POCKET, "Define bird.", "--ignore-eos", "--session", str(self.session)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with process:
            os.read(process.stdout.fileno(), 1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 130)
        again = json.loads(self.succeeds("run", POCKET, "Define bird.", "--session", self.session, "--json").out)
        self.assertEqual(again["usage"]["cached_tokens"], again["usage"]["prompt_tokens"] - 1)


class Chat(TestCase):
    QUESTIONS = ["Define bird.", "What is a parrakeet?", "What is a zebra?"]

    def test_a_conversation_goes_on_another_day(self):
        whole = self.succeeds("chat", POCKET, "-q", stdin="\n".join(self.QUESTIONS)).out
        session = self.directory / "session"
        parts = [self.succeeds("chat", POCKET, "--session", session, stdin=question) for question in self.QUESTIONS]
        self.assertEqual("".join(part.out for part in parts), whole)
        for part in parts[1:]:
            self.assertRegex(part.err, r"\d\d+ prompt tokens \(\d\d+ cached\)")
        out = self.succeeds("chat", POCKET, "-q", "--session", session, stdin="/reset\nWhat is a parrakeet?").out
        self.assertEqual(out.strip(), PARROT)

    def test_refuses_what_it_cannot_restore(self):
        self.fails(1, "is not a session file", "chat", POCKET, "--session", self.file("session", "x" * 99), stdin="a")


if __name__ == "__main__":
    unittest.main()
