"""Batch inference: the conversations of a file answered in one batch, a line of JSON each, in their order.

Usage: python examples/python/batch_file.py QUESTIONS ANSWERS [MODEL_DIRECTORY]      default: the bundled model

A line of QUESTIONS has "messages", and may have "id" and what SamplingParams takes ("max_tokens", "seed"...);
questions.jsonl is one. A line of ANSWERS has "id", "text", "finish_reason" and the number of tokens.
"""

import itertools
import json
import pathlib
import sys

from indexshare import LLM, SamplingParams
from tqdm import tqdm

POCKET = pathlib.Path(__file__).resolve().parents[2] / "models/pocket"
LINES_AT_ONCE = 1024  # bounds the memory, whatever the file's size

questions, answers = sys.argv[1:3]
llm = LLM(sys.argv[3] if len(sys.argv) > 3 else POCKET)

with open(questions, "rb") as file:
    total = sum(1 for _ in file)
with open(questions, encoding="utf-8") as file, open(answers, "w", encoding="utf-8") as out:
    bar = tqdm(total=total, desc=pathlib.Path(questions).name)
    numbered = enumerate(file, 1)
    while lines := list(itertools.islice(numbered, LINES_AT_ONCE)):
        conversations, params, ids = [], [], []
        for number, line in lines:
            try:
                question = json.loads(line)
                conversations.append(question.pop("messages"))
                ids.append(question.pop("id", number))
                params.append(SamplingParams(**{"temperature": 0, "max_tokens": 64, **question}))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                sys.exit(f"{questions}:{number}: {type(error).__name__}: {error}")
        for name, output in zip(ids, llm.chat(conversations, params, use_tqdm=False)):
            answer = output.outputs[0]
            tokens = {"prompt_tokens": len(output.prompt_token_ids), "completion_tokens": len(answer.token_ids)}
            said = {"id": name, "text": answer.text, "finish_reason": answer.finish_reason, **tokens}
            out.write(json.dumps(said, ensure_ascii=False) + "\n")
        bar.update(len(lines))
    bar.close()
