// The messages of a conversation on the page.
import { copyButton, element, iconButton } from "./dom.js";
import { highlightCode, renderMarkdown } from "./markdown.js";

const parent = document.getElementById("conversation");
const scroller = document.getElementById("scroller");

const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;
export const scrollToEnd = () => { scroller.scrollTop = scroller.scrollHeight; };

const FINISH = {
  stopped: "Stopped.",
  length: "The answer ended at its longest length.",
};

/** Tokens of the prompt, of the answer, and how fast it came where there was enough to measure. */
function figures({ usage, seconds }) {
  if (!usage) return "";
  const { completion_tokens: tokens, prompt_tokens: prompt } = usage;
  const kept = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const parts = [`${prompt} → ${tokens} tokens`];
  if (kept > 0) parts.push(`${kept} reused`);
  if (seconds > 0.2) parts.push(`${(tokens / seconds).toFixed(1)} per second`);
  return parts.join(" · ");
}

/** One answer; update() shows what has come of it, at most as often as showing it takes little of the time. */
class AnswerView {
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.reasoning = element("div", { className: "reasoning-text" });
    this.summary = element("summary");
    this.details = element("details", { className: "reasoning", hidden: true }, this.summary, this.reasoning);
    this.body = element("div", { className: "text markdown" });
    this.notice = element("p", { className: "notice", hidden: true });
    this.foot = element("div", { className: "foot" });
    this.article = element("article", { className: "message assistant", "aria-label": "Answer" }, this.details,
      this.body, this.notice, this.foot);
    this.timer = 0;
  }

  update() {
    if (this.timer) return;
    const begun = performance.now();
    this.show();
    const wait = 30 + 4 * (performance.now() - begun);
    this.timer = setTimeout(() => {
      this.timer = 0;
      if (this.stale) this.update();
    }, wait);
    this.stale = false;
  }

  changed() {
    this.stale = true;
    this.update();
  }

  show() {
    const { message } = this;
    const follow = isAtEnd();
    this.details.hidden = !message.reasoning;
    this.summary.textContent = message.running && !message.content ? "Reasoning…" : "Reasoning";
    this.reasoning.textContent = message.reasoning;
    this.body.replaceChildren(renderMarkdown(message.content));
    this.article.classList.toggle("running", Boolean(message.running));
    this.article.setAttribute("aria-busy", String(Boolean(message.running)));
    if (follow) scrollToEnd();
  }

  /** Shows the whole answer and what can be done with it. */
  finish(isLast) {
    clearTimeout(this.timer);
    this.timer = 0;
    this.stale = false;
    const { message } = this;
    const follow = isAtEnd();
    this.show();
    highlightCode(this.body);
    const notice = message.error ?? FINISH[message.finish];
    this.notice.hidden = !notice;
    this.notice.textContent = notice ?? "";
    this.notice.classList.toggle("error", Boolean(message.error));
    const tools = [];
    if (message.content) tools.push(copyButton(() => message.content));
    if (isLast) tools.push(iconButton("again", message.error ? "Try again" : "Regenerate", () => this.actions.regenerate()));
    if (isLast && (message.content || message.reasoning)) {
      tools.push(iconButton("lens", "Index lens", () => this.actions.lens()));
    }
    this.foot.replaceChildren(...tools, element("span", { className: "figures", textContent: figures(message) }));
    if (follow) scrollToEnd();
  }
}

function userView(message, index, actions) {
  const body = element("div", { className: "text plain", textContent: message.content });
  const foot = element("div", { className: "foot" },
    iconButton("edit", "Edit", () => edit(article, message, index, actions)), copyButton(() => message.content));
  const article = element("article", { className: "message user", "aria-label": "You" }, body, foot);
  return article;
}

function edit(article, message, index, actions) {
  const area = element("textarea", { value: message.content, rows: Math.min(12, message.content.split("\n").length + 1),
    "aria-label": "Edit the message" });
  const cancel = () => {
    const view = userView(message, index, actions);
    article.replaceWith(view);
    view.querySelector("button").focus();
  };
  const send = () => { if (area.value.trim()) actions.edit(index, area.value.trim()); };
  area.onkeydown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      cancel();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  };
  article.classList.add("editing");
  article.replaceChildren(area, element("div", { className: "edit-foot" },
    element("button", { type: "button", textContent: "Cancel", onclick: cancel }),
    element("button", { type: "button", className: "primary", textContent: "Send", onclick: send })));
  area.focus();
}

/** Shows all messages; the views of answers, by their message. `actions`: edit(index, text), regenerate(), lens(). */
export function showConversation(messages, actions) {
  const views = new Map();
  const articles = messages.map((message, index) => {
    if (message.role === "user") return userView(message, index, actions);
    const view = new AnswerView(message, actions);
    views.set(message, view);
    if (message.running) view.show();
    else view.finish(index === messages.length - 1);
    return view.article;
  });
  parent.replaceChildren(...articles);
  scrollToEnd();
  return views;
}
