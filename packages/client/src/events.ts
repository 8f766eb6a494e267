/** An event of a lease has a few KiB for each node. */
const LARGEST_EVENT_CHARS = 16 * 1024 * 1024;

/** The data of each server-sent event of a stream. Comments and other fields are skipped. */
export async function* readEvents(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    if (text.length > LARGEST_EVENT_CHARS) throw new Error(`an event has more than ${LARGEST_EVENT_CHARS} characters`);
    for (const event of events) {
      const data = event.split('\n').flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? []);
      if (data.length > 0) yield data.join('\n');
    }
  }
}
