/** Largest answer of a service, unless a caller sets another limit. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Options of {@link fetchService}. */
export interface ServiceCall {
  /** Ends the call, its body included. */
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: 64 MiB. */
  readonly mostBytes?: number;
}

/**
 * Asks the web server of a launcher or a builder. Its address may come from a record, which any program with access to ZooKeeper can
 * write: only HTTP is spoken, no redirect is followed, and no more is read than `mostBytes`. Callers send no credentials.
 * @throws the error of `fetch`, or what is wrong with address or answer
 */
export async function fetchService(target: URL, { signal, headers, mostBytes = MOST_BYTES }: ServiceCall) {
  if (target.protocol !== 'http:' && target.protocol !== 'https:') {
    throw new Error(`its address begins with ${target.protocol}, not with http: or https:`);
  }
  const response = await fetch(target, { signal, redirect: 'manual', ...(headers && { headers }) });
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel();
    throw new Error(`it answered with a redirect (status ${response.status}), which is not followed`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`it is larger than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  const body = bytes === 0 ? null : Buffer.concat(chunks);
  return new Response(body, { status: response.status, headers: response.headers });
}
