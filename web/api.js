// What the page asks of the server. What goes wrong is an Error whose message is a sentence for people.

const UNREACHABLE = "The server cannot be reached.";

/** What the server says, as a sentence; the name of a field stays as it is. */
function sentence(text) {
  const whole = /^\w*_/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

async function errorOf(response) {
  if (response.status === 401) return new Error("This server wants an API key: enter it in the settings.");
  try {
    return new Error(sentence((await response.json()).error.message));
  } catch {
    return new Error(`The server answered with status ${response.status}.`);
  }
}

async function ask(path, { key, body, signal } = {}) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(UNREACHABLE);
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** The model that is served, as /v1/models describes it. */
export async function fetchModel(key) {
  return (await (await ask("/v1/models", { key })).json()).data[0];
}

/** Which earlier tokens the index selected; docs/SERVER.md says what comes back. */
export async function fetchLens(key, body, signal) {
  return (await ask("/v1/index-lens", { key, body, signal })).json();
}

/** The data of each server-sent event of a response. */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) {
        const data = event.split("\n").filter((line) => line.startsWith("data:"));
        if (data.length > 0) yield data.map((line) => line.slice(5).trimStart()).join("\n");
      }
    }
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error("The answer broke off: the connection was lost.");
  } finally {
    reader.releaseLock();
  }
}

/** Yields pieces of an answer: { content, reasoning, finish, usage }, each where there is one. */
export async function* streamChat(key, body, signal) {
  const whole = { ...body, stream: true, stream_options: { include_usage: true } };
  const response = await ask("/v1/chat/completions", { key, body: whole, signal });
  for await (const data of eventsOf(response)) {
    if (data === "[DONE]") return;
    const event = JSON.parse(data);
    if (event.error) throw new Error(sentence(event.error.message));
    const choice = event.choices?.[0];
    yield {
      content: choice?.delta?.content ?? "",
      reasoning: choice?.delta?.reasoning_content ?? "",
      finish: choice?.finish_reason ?? null,
      usage: event.usage ?? null,
    };
  }
  throw new Error("The answer broke off: the server ended it early.");
}
