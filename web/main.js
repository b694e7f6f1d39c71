// The page: which conversation is open, and what is being answered.
import { fetchModel, streamChat } from "./api.js";
import { scrollToEnd, showConversation } from "./conversation.js";
import { dress } from "./dom.js";
import { openLens } from "./lens.js";
import { showSessions, titleOf } from "./sessions.js";
import { apiKey, openSettings, requestSettings, systemPrompt } from "./settings.js";
import { deleteSession, newSession, openStore, saveSession } from "./store.js";

const SAVE_EVERY = 1000; // milliseconds, while an answer comes

const at = (id) => document.getElementById(id);
const field = at("message");

let sessions = []; // the latest first; one without messages is not among them
let current = newSession();
let views = new Map();
let running = null; // { session, abort }

const actions = { edit: editMessage, regenerate, lens: lookThroughLens };

function say(text) {
  at("status").textContent = text;
}

/** Messages as the server takes them. */
function requestMessages(messages) {
  const system = systemPrompt() ? [{ role: "system", content: systemPrompt() }] : [];
  const said = messages.filter(({ role, content, reasoning }) => role === "user" || content || reasoning);
  return [...system, ...said.map(({ role, content, reasoning }) =>
    reasoning ? { role, content, reasoning_content: reasoning } : { role, content })];
}

function show() {
  views = showConversation(current.messages, actions);
  at("welcome").hidden = current.messages.length > 0;
  at("title").textContent = titleOf(current);
  showList();
  showButtons();
}

function showList() {
  showSessions(sessions, current, { open, renamed, deleted });
}

function showButtons() {
  at("send").hidden = running !== null;
  at("stop").hidden = running === null;
}

function open(session) {
  current = session;
  show();
  closeMenu();
  field.focus();
}

function renamed(session) {
  if (session.messages.length > 0) saveSession(session);
  at("title").textContent = titleOf(current);
  showList();
}

function deleted(session) {
  if (running?.session === session) running.abort.abort();
  sessions = sessions.filter((other) => other !== session);
  deleteSession(session.id);
  if (session === current) open(newSession());
  else showList();
}

function touch(session) {
  session.updated = Date.now();
  sessions = [session, ...sessions.filter((other) => other !== session)];
  saveSession(session).catch(() => { at("unsaved").hidden = false; });
}

async function receive(message, request, signal) {
  let begun = 0;
  let saved = performance.now();
  for await (const piece of streamChat(apiKey(), request, signal)) {
    if (begun === 0 && (piece.content || piece.reasoning)) begun = performance.now();
    message.content += piece.content;
    message.reasoning += piece.reasoning;
    message.finish = piece.finish ?? message.finish;
    message.usage = piece.usage ?? message.usage;
    if (begun > 0) message.seconds = (performance.now() - begun) / 1000;
    views.get(message)?.changed();
    if (performance.now() - saved > SAVE_EVERY) {
      saved = performance.now();
      saveSession(running.session);
    }
  }
}

/** Has the open conversation, which ends with a message of the user, answered. */
async function answer() {
  const session = current;
  const request = { messages: requestMessages(session.messages), ...requestSettings() };
  const message = { role: "assistant", content: "", reasoning: "", running: true };
  session.messages.push(message);
  running = { session, abort: new AbortController() };
  touch(session);
  show();
  say("The model is answering.");
  try {
    await receive(message, request, running.abort.signal);
  } catch (error) {
    if (error.name === "AbortError") message.finish = "stopped";
    else message.error = error.message;
  }
  delete message.running;
  running = null;
  if (sessions.includes(session)) touch(session);
  if (session === current) {
    views.get(message)?.finish(true);
    say(message.error ?? `Answer: ${message.content || "none"}`);
  }
  showList();
  showButtons();
}

function send() {
  const text = field.value.trim();
  if (!text || running) return;
  field.value = "";
  grow();
  current.messages.push({ role: "user", content: text });
  answer();
}

function regenerate() {
  if (running || current.messages.at(-1)?.role !== "assistant") return;
  current.messages.pop();
  answer();
}

function editMessage(index, text) {
  if (running) return;
  current.messages.length = index;
  current.messages.push({ role: "user", content: text });
  answer();
  field.focus();
}

function lookThroughLens() {
  openLens(apiKey(), { messages: requestMessages(current.messages), ...requestSettings() });
}

function stop() {
  running?.abort.abort();
}

function grow() {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, 220)}px`;
}

function closeMenu() {
  document.body.classList.remove("menu-open");
  at("menu").setAttribute("aria-expanded", "false");
  at("shade").hidden = true;
}

function toggleMenu() {
  const isOpen = document.body.classList.toggle("menu-open");
  at("menu").setAttribute("aria-expanded", String(isOpen));
  at("shade").hidden = !isOpen;
  if (isOpen) at("new").focus();
}

function dressTheme() {
  const name = document.documentElement.dataset.theme;
  dress(at("theme"), name, `Colours: ${name}`, { shown: true });
}

async function showModel() {
  try {
    const model = await fetchModel(apiKey());
    at("model").textContent = model.id;
    const full = [...model.schedule].filter((layer) => layer === "F").length;
    at("about").textContent = `${model.id} reads up to ${model.max_model_len.toLocaleString("en")} tokens. ${full} of its ` +
      `${model.schedule.length} layers choose ${model.index_topk.toLocaleString("en")} of the tokens before each one; the others share their choice.`;
  } catch (error) {
    at("about").textContent = error.message;
  }
}

function listen() {
  at("composer").onsubmit = (event) => {
    event.preventDefault();
    send();
  };
  field.oninput = grow;
  field.onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  at("stop").onclick = () => {
    stop();
    field.focus();
  };
  at("new").onclick = () => open(newSession());
  at("menu").onclick = toggleMenu;
  at("shade").onclick = closeMenu;
  at("open-settings").onclick = () => openSettings(showModel);
  at("theme").onclick = () => {
    window.theme.next();
    dressTheme();
  };
  document.onkeydown = (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    if (document.body.classList.contains("menu-open")) {
      closeMenu();
      at("menu").focus();
    } else {
      stop();
    }
  };
}

async function start() {
  dress(at("new"), "plus", "New conversation", { shown: true });
  dress(at("menu"), "menu", "Conversations");
  dress(at("send"), "send", "Send");
  dress(at("stop"), "stop", "Stop");
  dress(at("close-lens"), "close", "Close the index lens");
  dress(at("open-settings"), "settings", "Settings", { shown: true });
  dressTheme();
  listen();
  const store = await openStore();
  sessions = store.sessions;
  at("unsaved").hidden = store.kept;
  current = sessions[0] ?? current;
  show();
  scrollToEnd();
  field.focus();
  await showModel();
}

start();
