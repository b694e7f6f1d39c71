// The dialog of settings. A setting that is left empty is not sent.
import { element } from "./dom.js";
import { readSettings, writeSettings } from "./store.js";

const EFFORTS = ["", "none", "low", "medium", "high", "max"];

// name: of the request's field, for those that are sent as they are
const FIELDS = [
  { name: "api_key", label: "API key", type: "password", hint: "kept in this browser" },
  { name: "system", label: "System prompt", type: "text" },
  { name: "reasoning_effort", label: "Reasoning", type: "choice", values: EFFORTS, sent: true },
  { name: "temperature", label: "Temperature", type: "number", min: 0, max: 2, step: 0.05, sent: true },
  { name: "top_p", label: "Top p", type: "number", min: 0, max: 1, step: 0.01, sent: true },
  { name: "top_k", label: "Top k", type: "number", min: 0, step: 1, sent: true },
  { name: "min_p", label: "Min p", type: "number", min: 0, max: 1, step: 0.01, sent: true },
  { name: "max_completion_tokens", label: "Longest answer", type: "number", min: 1, step: 1, hint: "tokens", sent: true },
  { name: "seed", label: "Seed", type: "number", step: 1, sent: true },
  { name: "repetition_penalty", label: "Repetition penalty", type: "number", min: 0.05, max: 2, step: 0.05, sent: true },
  { name: "frequency_penalty", label: "Frequency penalty", type: "number", min: -2, max: 2, step: 0.1, sent: true },
  { name: "presence_penalty", label: "Presence penalty", type: "number", min: -2, max: 2, step: 0.1, sent: true },
];

let settings = readSettings();

export const apiKey = () => settings.api_key ?? "";
export const systemPrompt = () => settings.system ?? "";

/** The fields of a request that the settings fill. */
export function requestSettings() {
  const sent = FIELDS.filter((field) => field.sent && settings[field.name] !== undefined);
  return Object.fromEntries(sent.map((field) => [field.name, settings[field.name]]));
}

function control(field) {
  const id = `setting-${field.name}`;
  const value = settings[field.name] ?? "";
  if (field.type === "text") return element("textarea", { id, rows: 3, value });
  if (field.type === "choice") {
    const options = field.values.map((name) =>
      element("option", { value: name, textContent: name || "as the model has it", selected: name === value }));
    return element("select", { id }, ...options);
  }
  const input = element("input", { id, type: field.type, value });
  for (const limit of ["min", "max", "step"]) if (field[limit] !== undefined) input[limit] = field[limit];
  if (field.type === "password") input.autocomplete = "off";
  return input;
}

function row(field) {
  const label = element("label", { for: `setting-${field.name}`, textContent: field.label });
  if (field.hint) label.append(element("small", { textContent: ` ${field.hint}` }));
  return element("div", { className: field.type === "text" ? "field whole" : "field" }, label, control(field));
}

function readForm() {
  const read = {};
  for (const field of FIELDS) {
    const value = document.getElementById(`setting-${field.name}`).value.trim();
    if (value !== "") read[field.name] = field.type === "number" ? Number(value) : value;
  }
  return read;
}

/** Shows the dialog; `saved` is called when they were changed. */
export function openSettings(saved) {
  const dialog = document.getElementById("settings");
  document.getElementById("settings-fields").replaceChildren(...FIELDS.map(row));
  dialog.returnValue = "";
  dialog.onclose = () => {
    if (dialog.returnValue !== "save") return;
    settings = readForm();
    writeSettings(settings);
    saved();
  };
  dialog.showModal();
}
