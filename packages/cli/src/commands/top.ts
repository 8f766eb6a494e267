import { delay } from '@nodepool/zk-protocol';
import { defineCommand, text, texts } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { parseDuration } from '../command/duration.js';
import { loadIfPresent, withZooKeeper } from '../connection/connection.js';
import { findLauncherUrls } from '../connection/find-launchers.js';
import { Interrupts } from '../terminal/interrupts.js';
import { Look } from '../top/look.js';
import { renderSnapshot } from '../top/render-snapshot.js';
import { Screen } from '../top/screen.js';
import type { Snapshot } from '../top/snapshot.js';
import { LAUNCHER_URL, launcherUrls } from './shared-options.js';

/** `nodepool top`. */
export const command = defineCommand({
  options: {
    every: { type: 'string', requiresArg: true, value: 'TIME', default: '2s', describe: 'time between two looks' },
    url: LAUNCHER_URL,
  },
  parse: (values) => ({
    everyMs: parseDuration(text(values, 'every') ?? '2s', '--every'),
    urls: launcherUrls(texts(values, 'url')),
  }),
  run: showTop,
});

/** What is asked for. */
interface TopArguments {
  readonly everyMs: number;
  /** Web servers to ask instead of those the registry names. */
  readonly urls: readonly string[];
}

/**
 * `nodepool top`: what launchers do, live. Without a terminal it prints one picture.
 * @returns the exit status
 */
function showTop(context: CliContext, { everyMs, urls }: TopArguments): Promise<number> {
  const { clock } = context;
  const show = (look: Look) => (process.stdout.isTTY ? live(context, look, everyMs) : once(look));
  if (urls.length > 0) return show(new Look({ clock, findUrls: () => Promise.resolve(urls) }));
  return withZooKeeper(context, async (zk) => {
    const config = await loadIfPresent(context);
    return show(new Look({ clock, zk, findUrls: () => findLauncherUrls({ ...context, zk }, config?.webapp) }));
  });
}

async function once(look: Look): Promise<number> {
  const snapshot = await look.take();
  for (const line of renderSnapshot(snapshot, { columns: undefined, rows: undefined })) print(line);
  return snapshot.launchers.some(({ lost }) => !lost) ? 0 : 1;
}

async function live({ clock }: CliContext, look: Look, everyMs: number): Promise<number> {
  const interrupts = new Interrupts();
  const quit = new AbortController();
  const ended = AbortSignal.any([interrupts.signal, quit.signal]);
  let last: Snapshot | undefined;
  const { stdout: output, stdin: input } = process;
  const redraw = () => {
    const room = { columns: output.columns, rows: output.rows };
    screen.draw(last ? renderSnapshot(last, room) : ['nodepool top: asking launchers ...'.slice(0, room.columns)]);
  };
  const screen = new Screen({ output, input, quit: () => quit.abort(), redraw });
  screen.open();
  try {
    redraw();
    while (!ended.aborted) {
      last = await look.take();
      redraw();
      await delay(clock, everyMs, ended).catch(() => undefined); // leaving ends the wait
    }
    return 0;
  } finally {
    screen.close();
    interrupts.dispose();
  }
}
