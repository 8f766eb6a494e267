import { Header, ReadEntry } from 'tar';
import type { HeaderData } from 'tar';
import { expect, it } from 'vitest';
import { judgeMember } from './members.js';

const judge = (data: HeaderData) => judgeMember(new ReadEntry(new Header(data)), 'report');

it.each([
  ['report', 'report'],
  ['./report/', 'report'],
  ['report//a/./b', 'report/a/b'],
  ['report/..x', 'report/..x'],
  ['report/ a ', 'report/ a '],
])('takes a file %j to %j', (path, taken) => {
  expect(judge({ path, type: 'File' })).toEqual({ path: taken });
});

it.each(['/report', '../report', 'report/../x', 'report/..', 'reports', 'x/report', '.', './', '/'])(
  'refuses a file %j',
  (path) => {
    expect(judge({ path, type: 'File' })).toEqual({ refused: 'not the file that was asked for' });
  },
);

it.each([
  ['report/l', 'x'],
  ['report/l', '.'],
  ['report/l', 'not/there'],
  ['report/a/l', '..'],
  ['report/a/l', './../x'],
  ['report/a/b/l', '../../x'],
])('takes a link %j to %j', (path, linkpath) => {
  expect(judge({ path, type: 'SymbolicLink', linkpath })).toEqual({ path, link: linkpath });
});

it.each([
  ['report', 'report/x'],
  ['report/l', '/x'],
  ['report/l', '..'],
  ['report/l', '../report/x'],
  ['report/a/l', '../../x'],
  ['report/a/l', 'link-to-top/..'],
  ['report/a/l', '../x/../y'],
])('refuses a link %j to %j, which leads or could lead elsewhere', (path, linkpath) => {
  expect(judge({ path, type: 'SymbolicLink', linkpath })).toEqual({ refused: 'a link that leads elsewhere' });
});
