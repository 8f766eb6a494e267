import { useRef, useState } from 'preact/hooks';
import { Outcome, Section } from './parts.js';
import { fieldOf, hoursOf, length, secondsOf, timeLeft } from './text.js';
import type { Label, Lease, LeaseRights, Overview, Pool } from './types.js';
import { count } from './words.js';
import { useWrite } from './write.js';

const DEFAULT_TTL_S = 3_600;
const MOST_MACHINES = 100;
/** Beyond so many labels, one searches for them. */
const MANY_LABELS = 12;

/** Options of {@link LendForm}. */
interface LendFormProps {
  readonly rights: LeaseRights;
  readonly overview: Overview;
}

/** Those of these labels that pools have and the token allows. */
function labelsFor({ labels: patterns }: LeaseRights, labels: readonly Label[]): readonly Label[] {
  const escape = (text: string) => text.replace(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
  const allowed = patterns.map((each) => new RegExp(`^${each.split('*').map(escape).join('.*')}$`, 's'));
  return labels.filter(
    ({ label, pools, lendable = true }) =>
      lendable && pools.length > 0 && allowed.some((pattern) => pattern.test(label)),
  );
}

/** How long one waits for a machine, as far as it is known: never a guess. */
export function expectedWait({ label, ready, waiting, usual_wait: usual }: Label, pools: readonly Pool[]): string {
  if (ready > waiting) return `none, ${ready} ready`;
  const facts = [usual === null ? 'not known yet' : `usually ${length(usual)}`];
  const offering = pools.filter(({ labels }) => labels.includes(label));
  if (offering.length > 0 && offering.every(isFull)) facts.push('no capacity is free now');
  if (waiting > 0) facts.push(`${count(waiting, 'request')} waiting`);
  return facts.join('; ');
}

function isFull({ paused, used, max_servers: most }: Pool): boolean {
  return paused || (most !== null && (used?.['instances'] ?? 0) >= most);
}

/** Random, so that a repeated request is the same lease. Works without HTTPS, unlike `crypto.randomUUID`. */
const randomKey = () => crypto.getRandomValues(new Uint32Array(4)).join('-');

/**
 * Lends machines.
 * In one piece: the fields in the order in which they are shown.
 */
export function LendForm({ rights, overview }: LendFormProps) {
  const { labels = [], pools = [], conditions = [] } = overview;
  const { send, outcome, isBusy } = useWrite();
  const sent = useRef({ text: '', key: '' });
  const [search, setSearch] = useState('');
  const [picked, setPicked] = useState('');
  const offered = labelsFor(rights, labels);
  const chosen = offered.length === 1 ? (offered[0]?.label ?? '') : picked;
  const shown = offered.filter(({ label }) => label === chosen || label.includes(search));
  const submit = async (form: HTMLFormElement) => {
    const machines = Math.max(1, Number(fieldOf(form, 'machines')));
    const key = fieldOf(form, 'ssh_key');
    const body = {
      labels: Array<string>(machines).fill(chosen),
      ttl: secondsOf(form, 'hours'),
      reason: fieldOf(form, 'reason'),
      ...(key !== '' && { ssh_key: key }),
    };
    // without an answer, the same key finds the lease that may have been made
    const text = JSON.stringify(body);
    if (sent.current.text !== text) sent.current = { text, key: randomKey() };
    const write = { method: 'POST', path: 'leases', body, idempotencyKey: sent.current.key } as const;
    const lease = (await send(write, 'Requested')) as Lease | undefined;
    if (!lease) return;
    sent.current = { text: '', key: '' };
    location.hash = `/leases/${encodeURIComponent(lease.id)}`;
  };
  const longest = rights.max_ttl ?? undefined;
  const most = Math.min(rights.max_nodes ?? MOST_MACHINES, MOST_MACHINES);
  const problems = conditions.filter(({ kind, name }) => kind === 'label' && name === chosen);
  if (offered.length === 0) {
    return <Section title="Lend me a machine" note="No pool has a label that this token allows." children={null} />;
  }
  return (
    <Section title="Lend me a machine">
      <form
        class="lend"
        aria-label="Lend me a machine"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <fieldset>
          <legend>Label and expected wait</legend>
          {offered.length > MANY_LABELS && (
            <label class="find">
              Search labels{' '}
              <input type="search" value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />
            </label>
          )}
          <div class="choices">
            {shown.map((label) => (
              <label class="choice">
                <input
                  type="radio"
                  name="label"
                  required
                  checked={label.label === chosen}
                  onChange={() => setPicked(label.label)}
                />
                <span>
                  <strong>{label.label}</strong> <span class="note">Wait: {expectedWait(label, pools)}</span>
                </span>
              </label>
            ))}
          </div>
        </fieldset>
        {problems.map(({ message, next_step: next }) => (
          <p class="lost">
            {chosen}: {message}
            {next !== '' && ` (for an operator: ${next})`}
          </p>
        ))}
        <label>
          Machines{' '}
          <input name="machines" type="number" required min="1" max={most} step="1" size={4} defaultValue="1" />
        </label>
        <label>
          for{' '}
          <input
            name="hours"
            type="number"
            required
            min="0.01"
            max={longest === undefined ? undefined : hoursOf(longest)}
            step="any"
            size={5}
            defaultValue={hoursOf(Math.min(DEFAULT_TTL_S, longest ?? DEFAULT_TTL_S))}
          />{' '}
          hours{longest !== undefined && `, at most ${timeLeft(longest)}`}
        </label>
        <label>
          What for <input name="reason" maxLength={1000} />
        </label>
        {offered.some(({ label, takes_ssh_key: takesKey }) => label === chosen && takesKey) && (
          <label class="whole">
            Your SSH public key, to log in with its certificate (optional)
            <textarea name="ssh_key" rows={3} spellcheck={false} placeholder="ssh-ed25519 AAAA... you@laptop" />
          </label>
        )}
        <button type="submit" class="main" disabled={isBusy}>
          Lend me a machine
        </button>
        <Outcome text={outcome} />
      </form>
    </Section>
  );
}
