// Conversations, kept in the browser. Where it does not allow that they live as long as the page.

const NAME = "indexshare";
const STORE = "sessions";

/** What an IndexedDB request comes to. */
function outcome(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function openDatabase() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
  return outcome(request);
}

let database = null;

/** All conversations, the latest first, and whether later ones will be kept. */
export async function openStore() {
  try {
    database = await openDatabase();
    const sessions = await outcome(database.transaction(STORE).objectStore(STORE).getAll());
    return { sessions: sessions.sort((a, b) => b.updated - a.updated), kept: true };
  } catch {
    database = null;
    return { sessions: [], kept: false };
  }
}

/** What comes of an answer after it is saved is lost with the page: it is kept as one that was stopped. */
export async function saveSession(session) {
  const messages = session.messages.map(({ running, ...message }) => (running ? { ...message, finish: "stopped" } : message));
  if (database) await outcome(database.transaction(STORE, "readwrite").objectStore(STORE).put({ ...session, messages }));
}

export async function deleteSession(id) {
  if (database) await outcome(database.transaction(STORE, "readwrite").objectStore(STORE).delete(id));
}

export function newSession() {
  const random = crypto.getRandomValues(new Uint32Array(2));
  return { id: `${Date.now()}-${random.join("-")}`, title: "", updated: Date.now(), messages: [] };
}

export function readSettings() {
  try {
    const settings = JSON.parse(localStorage.getItem("indexshare.settings") ?? "{}");
    return settings !== null && typeof settings === "object" ? settings : {};
  } catch {
    return {};
  }
}

export function writeSettings(settings) {
  try {
    localStorage.setItem("indexshare.settings", JSON.stringify(settings));
  } catch {
    // They hold for as long as the page is open.
  }
}
