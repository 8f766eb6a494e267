import type { LauncherProcess } from './launcher-process.js';
import type { ZuulClient } from './zuul-client.js';

const MAX_LINES = 200;
/** Of the lines before those: what clients did, warnings and errors. */
const MAX_EARLIER_LINES = 50;
const MAX_LENGTH = 500;
const LAST_LINES = 25;
const LOUD = / (WARN|ERROR)/;
// `2026-01-31 12:00:00,123` or ISO 8601 at the beginning of a line
const TIMESTAMP = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{3})/;

interface Line {
  /** Comparable text of the time. */
  time: string;
  text: string;
  /** Kept even if many lines follow. */
  isLoud: boolean;
}

function localTime(ms: number): string {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return date.toISOString().replace('Z', '');
}

function launcherLines(launcher: LauncherProcess, words: readonly string[]): Line[] {
  const lines: Line[] = [];
  let time = '';
  for (const text of launcher.log.split('\n')) {
    const match = TIMESTAMP.exec(text);
    if (match) time = `${match[1]}T${match[2]}.${match[3]}`;
    const isLoud = LOUD.test(text);
    const isTold = isLoud || words.some((word) => text.includes(word));
    if (text !== '' && isTold) lines.push({ time, text: `[${launcher.name}] ${text}`, isLoud });
  }
  return lines;
}

/** What clients did and what launchers logged about it, in the order of time; with warnings and errors. */
export function timeline(clients: readonly ZuulClient[], launchers: readonly LauncherProcess[]): string {
  const words = clients.flatMap(({ submitted }) => submitted);
  const lines = [
    ...clients.flatMap(({ events, systemId }) =>
      events.map(({ ms, text }) => ({
        time: localTime(ms),
        text: `[client ${systemId.slice(0, 6)}] ${localTime(ms)} ${text}`,
        isLoud: true,
      })),
    ),
    ...launchers.flatMap((launcher) => launcherLines(launcher, words)),
  ];
  lines.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  const left = lines.slice(0, -MAX_LINES);
  const shown = [...left.filter(({ isLoud }) => isLoud).slice(-MAX_EARLIER_LINES), ...lines.slice(-MAX_LINES)];
  return [
    `(${lines.length - shown.length} lines left out)`,
    ...shown.map(({ text }) => text.slice(0, MAX_LENGTH)),
  ].join('\n');
}

/** The end of a launcher's log, whatever it is about: what it did when the test failed. */
export function lastLines(launcher: LauncherProcess): string {
  const { name, isRunning, exitCode, log } = launcher;
  const state = isRunning ? 'runs' : `has ended with ${exitCode ?? 'a signal'}`;
  return [`--- ${name} ${state}; the end of its log:`, ...log.trimEnd().split('\n').slice(-LAST_LINES)].join('\n');
}
