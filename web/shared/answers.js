/** What the server answers, or why that cannot be used, in words. No page, no ComfyUI. */

/**
 * Send a request to a route of the pack. Resolves to the object that it answers with; rejects with
 * the server's reason, or with words of the page's where nobody answers, or a proxy does. The error
 * has the answer's `status`.
 * @param {(key: string, values?: object) => string} t
 * @param {() => Promise<Response>} send
 */
export async function answerOf(t, send) {
  let response, text;
  try {
    response = await send();
    text = await response.text();
  } catch (reason) {
    throw new Error(t("server.away", { reason: reason.message }));
  }
  const answer = objectOf(text);
  if (response.ok && answer) return answer;
  const status = `${response.status} ${response.statusText}`.trim();
  const words = t(response.ok ? "server.unreadable" : "server.noReason", { status });
  const reason = response.ok || typeof answer?.error !== "string" ? words : answer.error;
  throw Object.assign(new Error(reason), { status: response.status });
}

/** The object of a JSON text; undefined for any other text. */
function objectOf(text) {
  try {
    const found = JSON.parse(text);
    return found !== null && typeof found === "object" && !Array.isArray(found) ? found : undefined;
  } catch {
    return undefined; // whoever asked is told
  }
}
