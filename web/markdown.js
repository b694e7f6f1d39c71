// Text of the model as elements: Markdown without HTML, and nothing that runs or is fetched from elsewhere.
import "./marked.js";
import "./purify.js";
import { copyButton, element } from "./dom.js";

const { marked, DOMPurify } = window;

// Tags that the model writes are text: the readers of HTML find none.
const tokenizer = { html: () => undefined, tag: () => undefined };
marked.use({ tokenizer, gfm: true, breaks: true, headerIds: false, mangle: false });

const RULES = {
  RETURN_DOM_FRAGMENT: true,
  ALLOW_DATA_ATTR: false,
  FORBID_TAGS: ["style", "form", "button", "textarea", "select", "svg", "math", "audio", "video"],
  FORBID_ATTR: ["style", "id", "name"],
};

function tidy(fragment) {
  for (const image of fragment.querySelectorAll("img")) {
    image.replaceWith(element("a", { href: image.src, textContent: image.alt || image.src }));
  }
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  for (const table of fragment.querySelectorAll("table")) {
    const frame = element("div", { className: "table", tabIndex: 0, role: "region", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const code of fragment.querySelectorAll("pre > code")) {
    const language = /language-([\w+#.-]+)/.exec(code.className)?.[1] ?? "";
    const head = element("div", { className: "code-head" }, element("span", { textContent: language }),
      copyButton(() => code.textContent));
    const frame = element("div", { className: "code" }, head);
    code.parentElement.replaceWith(frame);
    frame.append(element("pre", { tabIndex: 0 }, code));
  }
}

export function renderMarkdown(text) {
  const fragment = DOMPurify.sanitize(marked.parse(text), RULES);
  tidy(fragment);
  return fragment;
}

/** Colours the code in an element; the library for it is only read where there is some. */
export async function highlightCode(parent) {
  const blocks = [...parent.querySelectorAll("pre > code[class*=language-]")];
  if (blocks.length === 0) return;
  await import("./highlight.js");
  const { hljs } = window;
  for (const block of blocks) (hljs.highlightElement ?? hljs.highlightBlock)(block);
}
