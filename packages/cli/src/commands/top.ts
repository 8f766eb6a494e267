import { delay } from '@nodepool/zk-protocol';
import { defineCommand, text, texts } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { parseDuration } from '../command/duration.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { findLauncherUrls } from '../connection/find-launchers.js';
import { Interrupts } from '../terminal/interrupts.js';
import { LauncherPoller } from '../top/launcher-poller.js';
import { renderSnapshot } from '../top/render-snapshot.js';
import { Screen } from '../top/screen.js';
import type { Snapshot } from '../top/snapshot.js';
import { LAUNCHER_URL, launcherUrls } from './shared-options.js';

/** `nodepool top`. */
export const command = defineCommand({
  options: {
    every: { type: 'string', requiresArg: true, value: 'TIME', default: '2s', describe: 'update interval' },
    url: LAUNCHER_URL,
  },
  parse: (values) => ({
    everyMs: parseDuration(text(values, 'every') ?? '2s', '--every'),
    urls: launcherUrls(texts(values, 'url')),
  }),
  run: showTop,
});

interface TopArguments {
  readonly everyMs: number;
  /** Web servers to ask instead of those the registry names. */
  readonly urls: readonly string[];
}

/**
 * `nodepool top`: live state of launchers. Without a terminal it prints one snapshot.
 * @returns the exit status
 */
function showTop(context: CliContext, { everyMs, urls }: TopArguments): Promise<number> {
  const { clock } = context;
  const show = (poller: LauncherPoller) => (process.stdout.isTTY ? live(context, poller, everyMs) : once(poller));
  if (urls.length > 0) return show(new LauncherPoller({ clock, findUrls: () => Promise.resolve(urls) }));
  return withZooKeeper(context, async (zk) => {
    const config = await loadIfPresent(context);
    return show(
      new LauncherPoller({ clock, zk, findUrls: () => findLauncherUrls({ ...context, zk }, config?.webapp) }),
    );
  });
}

async function once(poller: LauncherPoller): Promise<number> {
  const snapshot = await poller.poll();
  for (const line of renderSnapshot(snapshot, { columns: undefined, rows: undefined })) print(line);
  return snapshot.launchers.some(({ lost }) => !lost) ? 0 : 1;
}

async function live({ clock }: CliContext, poller: LauncherPoller, everyMs: number): Promise<number> {
  const interrupts = new Interrupts();
  const quit = new AbortController();
  const ended = AbortSignal.any([interrupts.signal, quit.signal]);
  let last: Snapshot | undefined;
  const { stdout: output, stdin: input } = process;
  const redraw = () => {
    const size = { columns: output.columns, rows: output.rows };
    screen.draw(last ? renderSnapshot(last, size) : ['nodepool top: asking launchers ...'.slice(0, size.columns)]);
  };
  const screen = new Screen({ output, input, quit: () => quit.abort(), redraw });
  screen.open();
  try {
    redraw();
    while (!ended.aborted) {
      last = await poller.poll();
      redraw();
      await delay(clock, everyMs, ended).catch(() => undefined); // leaving ends the wait
    }
    return 0;
  } finally {
    screen.close();
    interrupts.dispose();
  }
}
