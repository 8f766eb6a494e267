import { SshLoginError } from './errors.js';
import { runScript, type LoginOptions, type Script } from './run-script.js';

/**
 * How long the host takes an order after it was ready for it, by its own clock. An order that arrives later, because a process or
 * the network stood still, changes nothing; so after this time, an order that was given up cannot take effect.
 */
const ORDER_VALID_S = 10;
/** How long after it was given up an order may still take effect, with a margin for clocks that run differently. */
export const SETTLED_AFTER_MS = (ORDER_VALID_S + 5) * 1000;

/**
 * Adds or removes one line of `~/.ssh/authorized_keys`; the order and the line arrive on standard input, so nothing is ever part
 * of a command. For any POSIX shell. It
 *
 * - takes a lock beside the file, as two launchers may be at work: a symbolic link, whose target is its time and process id
 * - writes a copy with the owner, mode and label of the file, new lines first, and all other bytes as they are
 * - compares the size of the copy with what it must be, and puts it in place of the file in one step
 *
 * No single quotes: it is the argument of `sh -c`. It ends with 70 if it has changed nothing.
 */
const SCRIPT = [
  'LC_ALL=C; export LC_ALL; umask 077',
  'fail() { echo "$1" >&2; exit 70; }',
  'ready=$(date +%s); echo nodepool-ready',
  'IFS= read -r order && IFS= read -r line || exit 70',
  'cd || fail "cannot enter the home directory"',
  'file=.ssh/authorized_keys; lock=.ssh/.nodepool-lock; copy=.ssh/.nodepool-keys.$$; stamp=$(date +%s).$$',
  'if [ ! -d .ssh ]; then',
  '  [ "$order" = add ] || { echo nodepool-done; exit 0; }',
  '  mkdir .ssh || fail "cannot make the directory ~/.ssh"',
  'fi',
  '[ ! -L $file ] || fail "~/.ssh/authorized_keys is a symbolic link: make it a file"',
  'tries=0',
  'until ln -s $stamp $lock 2>/dev/null; do',
  '  tries=$((tries + 1))',
  '  [ $tries -le 8 ] || fail "cannot make the lock ~/.ssh/.nodepool-lock: let the user write in ~/.ssh, or wait a minute"',
  '  since=$(readlink $lock); since=${since%%.*}',
  '  case $since in "" | *[!0-9]*) ;; *) [ $(($(date +%s) - since)) -le 60 ] || rm -f $lock ;; esac',
  '  sleep 1',
  'done',
  'trap "rm -f $lock $copy" EXIT',
  'trap "exit 72" HUP INT TERM PIPE',
  'found=0; cut=0; size=0; rest=',
  'if [ -e $file ]; then',
  '  cp -p $file $copy || fail "cannot copy ~/.ssh/authorized_keys"',
  '  size=$(($(wc -c <$file)))',
  'fi',
  '{',
  '  [ "$order" != add ] || printf "%s\\n" "$line"',
  '  if [ -e $file ]; then',
  '    while IFS= read -r rest; do',
  '      if [ "$rest" = "$line" ]; then found=1; cut=$((cut + ${#line} + 1)); else printf "%s\\n" "$rest"; fi',
  '    done <$file',
  '    if [ "$rest" = "$line" ]; then found=1; cut=$((cut + ${#line})); else printf %s "$rest"; fi',
  '  fi',
  '} >$copy || fail "cannot write in ~/.ssh"',
  'case $order.$found in',
  '  add.0) cut=$((0 - ${#line} - 1)) ;;',
  '  remove.1) ;;',
  '  *) echo nodepool-done; exit 0 ;;',
  'esac',
  '[ $(($(wc -c <$copy))) -eq $((size - cut)) ] || fail "cannot copy ~/.ssh/authorized_keys as it is: is the disk full?"',
  '[ "$(readlink $lock)" = $stamp ] || fail "lost the lock ~/.ssh/.nodepool-lock"',
  `[ $(($(date +%s) - ready)) -le ${ORDER_VALID_S} ] || fail "the order came too late"`,
  'mv -f $copy $file || fail "cannot replace ~/.ssh/authorized_keys"',
  'echo nodepool-done',
].join('\n');

const UNCHANGED = 70;
const COMMAND = `exec sh -c '${SCRIPT}'`;

/** A change of the keys that may log in. */
export interface KeyOrder {
  readonly order: 'add' | 'remove';
  /** One line without options, as `readPublicKey` returns it. */
  readonly key: string;
  /** Marks the line as ours; letters, digits, dashes. */
  readonly mark: string;
  /** Called when the host is ready, directly before the order is sent. If it throws, nothing is sent. */
  readonly beforeSend?: Script['beforeSend'];
}

/**
 * Adds a key to those that may log in as this user of a host, or removes it. Safe to repeat. Other lines are kept byte for byte.
 * @throws {SshLoginError} the change was not made, or `mayTakeEffect`; errors of `beforeSend` pass through
 */
export async function changeAuthorizedKeys(login: LoginOptions, change: KeyOrder): Promise<void> {
  const { order, key, mark, beforeSend } = change;
  const line = `${key} ${mark}`;
  if (!/^[\x20-\x7e]+$/.test(line)) throw new Error('a line of authorized_keys has control characters');
  const { code, output, errors } = await runScript(login, {
    command: COMMAND,
    ready: 'nodepool-ready',
    input: `${order}\n${line}\n`,
    beforeSend,
  });
  if (code === 0 && lastLine(output) === 'nodepool-done') return;
  const said = lastLine(errors);
  const text = said === '' ? `its shell ended with ${code ?? 'a signal'}` : said;
  throw new SshLoginError('not-done', `${login.username}@${login.host}: cannot ${order} a key: ${text}`, {
    mayTakeEffect: code !== UNCHANGED,
  });
}

function lastLine(bytes: Buffer): string {
  return (
    bytes
      .toString('utf8')
      .trimEnd()
      .split('\n')
      .at(-1)
      ?.replace(/[^\x20-\x7e]/g, '?')
      .slice(0, 300) ?? ''
  );
}
