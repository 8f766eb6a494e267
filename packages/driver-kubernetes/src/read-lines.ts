import { ProviderUnavailableError } from '@nodepool/core';

/** Lines of a stream of bytes, without empty ones. A last line without its end is dropped: it is incomplete. */
export async function* readLines(stream: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxBytes) throw new ProviderUnavailableError(`a line is longer than ${maxBytes} bytes`);
    for (const line of lines) if (line.trim() !== '') yield line;
  }
}
