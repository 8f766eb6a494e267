// Runs the quick start once and draws what it prints as docs/quickstart.svg.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { ensureBuilt, root } from './ensure.mjs';

const CHARACTER_WIDTH = 8.43;
const LINE_HEIGHT = 19;
const MARGIN = 18;
const BAR = 34;

await ensureBuilt('quickstart');
const { stdout, status } = spawnSync(process.execPath, [`${root}quickstart/dist/main.js`, '--once'], {
  cwd: root,
  encoding: 'utf8',
});
if (status !== 0) {
  console.error(stdout);
  process.exit(1);
}

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function color(text) {
  if (/^\$ /.test(text)) return '#e6edf3';
  if (/host key verified|done/.test(text)) return '#7ee787';
  if (/^cloud:/.test(text)) return '#79c0ff';
  if (/^demand grows/.test(text)) return '#ffa657';
  if (/^(What next|\d\.|then start|from Jenkins)/.test(text)) return '#a5b4c3';
  return '#c3ccd6';
}

/** One line: the time dimmed, the rest by what it says. */
function line(text, index) {
  const time = /^ *[\d.]+ s /.exec(text)?.[0] ?? '';
  const rest = text.slice(time.length);
  const y = BAR + MARGIN + index * LINE_HEIGHT;
  const dimmed = time === '' ? '' : `<tspan fill="#6e7b88">${escape(time)}</tspan>`;
  return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${dimmed}<tspan fill="${color(rest.trim())}">${escape(rest)}</tspan></text>`;
}

const lines = ['$ npm start -- --once', ...stdout.trimEnd().split('\n')];
const width = Math.ceil(Math.max(...lines.map((text) => text.length)) * CHARACTER_WIDTH + 2 * MARGIN);
const height = BAR + MARGIN + lines.length * LINE_HEIGHT;
const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
  (fill, i) => `<circle cx="${20 + i * 20}" cy="17" r="6" fill="${fill}"/>`,
);
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Terminal: npm start -- --once">
<rect width="${width}" height="${height}" rx="10" fill="#0d1117"/>
<rect width="${width}" height="${BAR}" rx="10" fill="#161b22"/>
${dots.join('')}
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
${lines.map(line).join('\n')}
</g>
</svg>
`;
writeFileSync(`${root}docs/quickstart.svg`, svg);
console.log(`docs/quickstart.svg: ${lines.length} lines`);
