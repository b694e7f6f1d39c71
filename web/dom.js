// Small helpers to make elements.

const PATHS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 13l4 4L19 7",
  again: "M20 12a8 8 0 1 1-2.5-5.8M20 4v5h-5",
  lens: "M4 5h4v4H4zM10 5h4v4h-4zM16 5h4v4h-4zM4 15h4v4H4zM16 15h4v4h-4z",
  close: "M6 6l12 12M18 6L6 18",
  settings: "M4 8h9M17 8h3M4 16h3M11 16h9M15 6v4M9 14v4",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M5.6 18.4L7 17M17 7l1.4-1.4",
  dark: "M20 14a8 8 0 0 1-10-10 8 8 0 1 0 10 10z",
};

/** An element with properties, attributes (names with a dash, or "role"), and children. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** Gives a button its icon, with its label beside it, or only as a name for those who do not see. */
export function dress(button, name, label, { shown = false } = {}) {
  button.replaceChildren(icon(name), ...(shown ? [element("span", { textContent: label })] : []));
  button.title = shown ? "" : label;
  button.setAttribute("aria-label", label);
  return button;
}

export function iconButton(name, label, onclick) {
  return dress(element("button", { type: "button", className: "icon-button", onclick }), name, label);
}

/** Copies a text; on pages that are not served safely browsers have no clipboard, then it says false. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function copyButton(text) {
  const button = iconButton("copy", "Copy", async () => {
    const done = await copyText(text());
    dress(button, done ? "check" : "close", done ? "Copied" : "The browser does not allow copying here");
    setTimeout(() => dress(button, "copy", "Copy"), 1500);
  });
  return button;
}
