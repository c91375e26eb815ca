// Deliveries of a webhook as GitHub signs them.

/** `X-Hub-Signature-256` of a body (docs.github.com, "Validating webhook deliveries"). */
export async function signatureOf(
  body: string | Uint8Array<ArrayBuffer>,
  secret: string,
): Promise<string> {
  const encoder = new TextEncoder();
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const raw = encoder.encode(secret);
  const key = await crypto.subtle.importKey("raw", raw, algorithm, false, ["sign"]);
  return `sha256=${new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes)).toHex()}`;
}
