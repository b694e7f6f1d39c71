"""indexshare chat, through pipes and on a terminal."""

import json
import re
import unittest

from support import PARROT, POCKET, TestCase, Terminal

QUESTION = "What is a parrakeet?"
LONG = ["--ignore-eos", "--max-tokens", "100000"]


class Piped(TestCase):
    def test_answers_line_by_line_without_decoration(self):
        outcome = self.succeeds("chat", POCKET, "--quiet", stdin=f"{QUESTION}\n\n{QUESTION}\n")
        lines = outcome.out.splitlines()
        self.assertEqual((len(lines), lines[0], outcome.err), (2, PARROT, ""))

    def test_a_second_turn_finds_the_first_in_the_cache(self):
        err = self.succeeds("chat", POCKET, stdin=f"{QUESTION}\n{QUESTION}\n").err
        turns = [tuple(map(int, numbers)) for numbers in re.findall(r"(\d+) prompt tokens \((\d+) cached\)", err)]
        self.assertEqual(turns[0][1], 0)
        # The question with its markers, and of the answer all that was run through the model.
        self.assertGreater(turns[1][1], turns[0][0])

    def test_commands(self):
        saved = self.directory / "saved.json"
        script = [f"/system Be brief.", QUESTION, "/reset", "one \\", "two", "//slash", f"/save {saved}", "/exit",
                  "never read"]
        self.succeeds("chat", POCKET, "--max-tokens", "4", stdin="\n".join(script))
        messages = json.loads(saved.read_text())["messages"]
        self.assertEqual([m["role"] for m in messages], ["system", "user", "assistant", "user", "assistant"])
        self.assertEqual([m["content"] for m in messages if m["role"] != "assistant"],
                         ["Be brief.", "one \ntwo", "/slash"])
        rendered = self.succeeds("template", POCKET, "--messages", saved).out
        self.assertTrue(rendered.startswith("[gMASK]<sop><|system|>Be brief.<|user|>one \ntwo<|assistant|>"))

    def test_after_a_reset_the_answer_is_as_at_first(self):
        out = self.succeeds("chat", POCKET, "-q", stdin=f"Define bird.\n/reset\n{QUESTION}\n").out
        self.assertEqual(out.splitlines()[1], PARROT)

    def test_mistakes_end_it(self):
        self.fails(1, "there is no command /fly", "chat", POCKET, stdin="/fly\n")
        self.fails(1, "/save needs the name of a file", "chat", POCKET, stdin="/save\n")
        self.fails(1, "/nowhere/x", "chat", POCKET, stdin="/save /nowhere/x\n")
        self.fails(1, "/dev/full", "chat", POCKET, stdin="/save /dev/full\n")
        self.fails(1, "no room in the context of 8", "chat", POCKET, "--context", "8", stdin=f"{QUESTION}\n")
        self.fails(1, "not UTF-8", "chat", POCKET, stdin=b"\xff\n")


class OnATerminal(TestCase):
    def chat(self, *arguments):
        return Terminal("chat", POCKET, *arguments, state=self.directory)

    def test_a_conversation(self):
        with self.chat() as terminal:
            terminal.wait_for("/help lists the commands.")
            terminal.wait_for_prompt()
            terminal.type(QUESTION + "\r")
            terminal.wait_for(PARROT)
            terminal.wait_for(" generated at ")
            terminal.wait_for_prompt()
            terminal.type("/fly\r")
            terminal.wait_for("there is no command /fly")
            terminal.wait_for_prompt()
            terminal.type("/help\r")
            terminal.wait_for("/system TEXT")
            terminal.wait_for_prompt()
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)
        self.assertIn("parrakeet", (self.directory / "indexshare/chat_history").read_text())

    def test_ctrl_c_stops_the_answer_and_not_the_program(self):
        with self.chat(*LONG) as terminal:
            terminal.wait_for_prompt()
            terminal.type("Define bird.\r")
            terminal.wait_for("bird:")
            terminal.type("\x03")
            terminal.wait_for(" generated at ")
            terminal.wait_for_prompt()
            terminal.type("/exit\r")
            self.assertEqual(terminal.end(), 0)

    def test_ctrl_c_gives_up_a_line(self):
        with self.chat() as terminal:
            terminal.wait_for_prompt()
            terminal.type("never sent\x03")
            terminal.wait_for("^C")
            terminal.wait_for_prompt()
            terminal.type(QUESTION + "\r")
            terminal.wait_for(PARROT)
            terminal.wait_for_prompt()
            terminal.type("\x1b[A")  # the history's last line
            terminal.wait_for(QUESTION)
            terminal.type("\x03")
            terminal.wait_for_prompt()
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)


if __name__ == "__main__":
    unittest.main()
