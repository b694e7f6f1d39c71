// The index lens: which earlier tokens each full layer's index selected where the last answer was written.
import { fetchLens } from "./api.js";
import { element } from "./dom.js";
import { drawHeatMap, rowAt } from "./heat_map.js";
import { Selections } from "./selections.js";

const MOST_BETWEEN = 24; // tokens that are shown between two that were selected

const at = (id) => document.getElementById(id);
const dialog = at("lens");

let lens = null; // what the server told, and of each group its selections and its picture
let row = 0; // of the token that is looked at
let group = 0;

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const layersOf = ({ layers }) => (layers.length === 1 ? `layer ${layers[0]}` : `layers ${layers[0]} to ${layers.at(-1)}`);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const visible = (token) => token.replaceAll("\n", "↵").replaceAll("\t", "⇥");
const optionId = (number) => `lens-token-${number}`;

function shareOf(byPart) {
  const total = Object.values(byPart).reduce((sum, value) => sum + value, 0);
  return byPart.index / total;
}

function sharesTable() {
  const { work, flops_per_token: flops } = lens;
  const rows = [
    ["of the time of these tokens, run in one pass", shareOf(work.seconds)],
    ["of their FLOPs", shareOf(work.flops)],
    ["of the FLOPs of a token at the end, by the published formula", flops.shared.index / flops.shared.total],
    ["the same if every layer built an index of its own", flops.unshared.index / flops.unshared.total],
  ];
  return element("table", {}, element("caption", { textContent: "The share of the index" }),
    element("tbody", {}, ...rows.map(([name, share]) =>
      element("tr", {}, element("th", { scope: "row", textContent: name }), element("td", { textContent: percent(share) })))));
}

function overlapCell(a, b) {
  const share = a.selections.overlap(b.selections);
  const cell = element("td", { textContent: `${(100 * share).toFixed(0)} %` });
  cell.style.setProperty("--share", `${(60 * share).toFixed(0)}%`);
  return cell;
}

function overlapTable() {
  const heads = lens.groups.map((one) => element("th", { scope: "col", textContent: capital(layersOf(one)) }));
  const rows = lens.groups.map((one) => element("tr", {}, element("th", { scope: "row", textContent: capital(layersOf(one)) }),
    ...lens.groups.map((other) => overlapCell(one, other))));
  return element("div", { className: "table", tabIndex: 0, role: "region", "aria-label": "Overlap of the selections" },
    element("table", { className: "overlap" },
      element("caption", { textContent: "How much of what one group selected another did too, on average over the tokens" }),
      element("thead", {}, element("tr", {}, element("td"), ...heads)), element("tbody", {}, ...rows)));
}

function maps() {
  const list = lens.groups.map((one, number) => {
    const radio = element("input", { type: "radio", name: "lens-group", checked: number === group, onchange: () => choose(row, number) });
    const full = `${capital(layersOf(one))}`;
    one.canvas = element("canvas", { role: "img", "aria-label": `Heat map of ${layersOf(one)}` });
    one.canvas.onclick = (event) => {
      radio.checked = true;
      choose(rowAt(one.canvas, event), number);
    };
    return element("div", { className: "map" }, element("label", {}, radio, full), one.canvas);
  });
  return element("fieldset", {}, element("legend", { textContent: "What each group of layers selected" }),
    element("p", { className: "hint", textContent:
      "A row for each token of the answer, the tokens of the conversation from left to right. The first layer of a group builds the index, all of it use it." }),
    ...list);
}

function tokenList() {
  const options = lens.tokens.slice(lens.first).map((token, number) =>
    element("span", { role: "option", id: optionId(number), textContent: visible(token), onclick: () => choose(number, group) }));
  const list = element("div", { id: "lens-tokens", className: "lens-tokens", role: "listbox", tabIndex: 0,
    "aria-labelledby": "lens-tokens-title" }, ...options);
  const moves = { ArrowLeft: () => row - 1, ArrowUp: () => row - 1, ArrowRight: () => row + 1, ArrowDown: () => row + 1, Home: () => 0,
    End: () => options.length - 1 };
  list.onkeydown = (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(options.length - 1, move())), group);
  };
  return list;
}

/** The conversation up to the chosen token, what it selected marked, the middle of long gaps left out. */
function markedText() {
  const { selections } = lens.groups[group];
  const own = lens.first + row;
  const text = (begin, end) => lens.tokens.slice(begin, end).join("");
  const pieces = [];
  for (let begin = 0; begin <= own;) {
    const selected = selections.has(row, begin);
    let end = begin + 1;
    while (end <= own && selections.has(row, end) === selected) end++;
    if (selected) {
      pieces.push(element("mark", { textContent: text(begin, end) }));
    } else if (end - begin > MOST_BETWEEN) {
      const half = MOST_BETWEEN / 2;
      pieces.push(text(begin, begin + half), element("span", { className: "gap", textContent: ` … ${end - begin - 2 * half} tokens … ` }),
        text(end - half, end));
    } else {
      pieces.push(text(begin, end));
    }
    begin = end;
  }
  return pieces;
}

function draw() {
  for (const one of lens.groups) drawHeatMap(one.canvas, one.selections, { first: lens.first, chosen: row });
}

/** Shows what a token selected in a group of layers. */
function choose(newRow, newGroup) {
  row = newRow;
  group = newGroup;
  const list = at("lens-tokens");
  list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
  const option = at(optionId(row));
  option.setAttribute("aria-selected", "true");
  const isAbove = option.offsetTop < list.scrollTop;
  const isBelow = option.offsetTop + option.offsetHeight > list.scrollTop + list.clientHeight;
  if (isAbove || isBelow) list.scrollTop = option.offsetTop - list.clientHeight / 2;
  list.setAttribute("aria-activedescendant", option.id);
  const own = lens.first + row;
  const { selections } = lens.groups[group];
  const selected = selections.count(row, own + 1);
  const ofPrompt = selections.count(row, Math.min(own + 1, lens.prompt_tokens));
  at("lens-chosen").textContent = `“${visible(lens.tokens[own]).trim() || "space"}” selected ${selected} of the ${own + 1} tokens up to itself ` +
    `in ${layersOf(lens.groups[group])}, ${ofPrompt} of them in the prompt.`;
  const text = at("lens-text");
  text.replaceChildren(...markedText());
  text.scrollTop = text.scrollHeight; // to the token itself
  draw();
}

function about() {
  const count = lens.ids.length - lens.first;
  const most = lens.index_topk.toLocaleString("en");
  const text = `${lens.ids.length.toLocaleString("en")} tokens, ${count === lens.ids.length - lens.prompt_tokens ? "the" : "the last"} ` +
    `${count} of the answer looked at. A token attends to at most ${most}.`;
  return lens.ids.length > lens.index_topk ? text : `${text} The conversation is no longer: each selects all there are.`;
}

function show(told) {
  lens = told;
  for (const one of lens.groups) one.selections = new Selections(one.selected, lens.ids.length);
  row = 0;
  group = lens.groups.reduce((best, one, number) => (one.layers.length > lens.groups[best].layers.length ? number : best), 0);
  at("lens-about").textContent = about();
  at("lens-body").replaceChildren(
    maps(),
    element("div", { className: "lens-one" },
      element("h3", { id: "lens-tokens-title", textContent: "Tokens of the answer: choose one" }),
      tokenList(),
      element("p", { id: "lens-chosen", className: "lens-chosen", role: "status" }),
      element("div", { id: "lens-text", className: "lens-text", tabIndex: 0, role: "region", "aria-label": "What it selected" })),
    overlapTable(), sharesTable());
  choose(row, group);
}

/** Opens the lens on the conversation in `request`, which ends with an answer. */
export async function openLens(key, request) {
  const abort = new AbortController();
  lens = null;
  at("lens-about").textContent = "The model reads the answer again…";
  at("lens-body").replaceChildren();
  dialog.onclose = () => abort.abort();
  dialog.showModal();
  try {
    show(await fetchLens(key, request, abort.signal));
  } catch (error) {
    if (error.name !== "AbortError") at("lens-about").textContent = error.message;
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => lens && dialog.open && draw());
