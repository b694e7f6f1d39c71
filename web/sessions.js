// The list of conversations: open, rename, delete.
import { element, iconButton } from "./dom.js";

const list = document.getElementById("sessions");

export const titleOf = (session) => session.title || session.messages[0]?.content.slice(0, 80) || "New conversation";

function confirmed(text) {
  const dialog = document.getElementById("confirm");
  document.getElementById("confirm-text").textContent = text;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
  });
}

function rename(row, session, actions) {
  const input = element("input", { value: titleOf(session), className: "rename", "aria-label": "Name of the conversation" });
  let done = false;
  const end = (save) => {
    if (done) return;
    done = true;
    if (save && input.value.trim()) session.title = input.value.trim();
    actions.renamed(session);
  };
  input.onkeydown = (event) => {
    if (event.key === "Enter") end(true);
    if (event.key === "Escape") end(false);
    event.stopPropagation();
  };
  input.onblur = () => end(true);
  row.replaceChildren(input);
  input.select();
}

function row(session, current, actions) {
  const title = titleOf(session);
  const open = element("button", { type: "button", className: "session", textContent: title, title, onclick: () => actions.open(session) });
  if (session === current) open.setAttribute("aria-current", "true");
  const item = element("li", {}, open);
  item.append(
    iconButton("edit", `Rename ${title}`, () => rename(item, session, actions)),
    iconButton("trash", `Delete ${title}`, async () => {
      if (await confirmed(`Delete “${title}”?`)) actions.deleted(session);
    }));
  return item;
}

/** `actions`: open(session), renamed(session), deleted(session). */
export function showSessions(sessions, current, actions) {
  list.replaceChildren(...sessions.map((session) => row(session, current, actions)));
}
