"""Questions about one document: it is read once, and each further question finds it in the cache.

Usage: python examples/python/long_document.py [MODEL_DIRECTORY [DOCUMENT QUESTION...]]

By default the bundled model, which explains words by notes, and finds half of those of notes.txt.
"""

import pathlib
import sys

from indexshare import LLM, SamplingParams

HERE = pathlib.Path(__file__).resolve().parent
POCKET = HERE.parents[1] / "models/pocket"
WORDS = ("dravenmoor", "porvash", "umberwhit", "bulveston")  # from the beginning to the end of the notes

llm = LLM(sys.argv[1] if len(sys.argv) > 1 else POCKET)
document = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "notes.txt").read_text(encoding="utf-8")
params = SamplingParams(temperature=0, max_tokens=64)
for question in sys.argv[3:] or [f"What is a {word}?" for word in WORDS]:
    # The document first: only what two prompts begin with is shared.
    (output,) = llm.chat([{"role": "user", "content": f"{document}\n{question}"}], params)
    assert output.metrics is not None
    print(f"{question} {output.text}")
    print(
        f"  {len(output.prompt_token_ids)} prompt tokens, {output.num_cached_tokens} of them cached, "
        f"read in {1e3 * output.metrics['prefill']['seconds']:.1f} ms"
    )
