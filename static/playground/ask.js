// One request to the service and all there is to say of its answer. Never through the browser's cache: what is shown of
// time, age and cache is what the service said now.

/**
 * Sends a GET. A connection that fails is an answer too, with a problem of its own.
 * @throws the signal's reason when that aborts.
 */
export async function ask(url, { signal }) {
  const startedAtMs = performance.now();
  try {
    const response = await fetch(url, { signal, cache: "no-cache" });
    const text = await response.text();
    const ms = performance.now() - startedAtMs;
    const { status, statusText, headers, ok } = response;
    const body = parse(text);
    return {
      url,
      status,
      statusText,
      headers,
      ms,
      bytes: new Blob([text]).size,
      wireBytes: headers.has("content-encoding") ? Number(headers.get("content-length")) : null,
      body: ok ? body : null,
      problem: ok && body !== null ? null : body ?? noAnswer(`status ${status}`),
    };
  } catch (error) {
    signal.throwIfAborted();
    return {
      url,
      status: null,
      ms: performance.now() - startedAtMs,
      headers: new Headers(),
      body: null,
      problem: noAnswer(error.message),
    };
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function noAnswer(reason) {
  return {
    title: "The service did not answer",
    detail: `The request came to nothing (${reason}). Is the service still running?`,
  };
}
