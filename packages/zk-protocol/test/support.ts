import type { ZooKeeperLogger } from '../src/base/logger.js';

/** A logger that remembers. */
export function recordingLogger(): ZooKeeperLogger & { messages(level: string): string[] } {
  const lines: { level: string; message: string }[] = [];
  const log = (level: string) => (message: string) => {
    lines.push({ level, message });
  };
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    messages: (level) => lines.filter((line) => line.level === level).map(({ message }) => message),
  };
}

/** Waits until the condition holds, looking after every turn of the event loop; the test's own time limit ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}
