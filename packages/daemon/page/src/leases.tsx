import { useState } from 'preact/hooks';
import { LendForm } from './lend.js';
import { usePrivate } from './live.js';
import { Section, State, Table } from './parts.js';
import { timeLeft } from './text.js';
import type { Lease, LeaseRights, Overview, RequestLine } from './types.js';
import { count, withoutSubject } from './words.js';
import { WriteButton } from './write.js';

/** Beyond so many leases, one searches for them. */
const MANY = 20;
const MOST_SHOWN = 200;
const OPEN = ['active', 'waiting'];

/** The first characters of an id tell leases apart; the whole one is in the address. */
export const shortId = (id: string): string => id.slice(0, 8);

/** Whether a lease has, or will have, machines. */
export const isOpen = ({ state }: Lease): boolean => OPEN.includes(state);

/** Path of a lease in the API. */
export const leasePath = (id: string): string => `leases/${encodeURIComponent(id)}`;

/** Own leases, or those of all owners, and how to get another one. */
export function LeasesPage({ rights, now, overview }: { rights: LeaseRights; now: number; overview: Overview }) {
  const { answer, problem, readAgain } = usePrivate<readonly Lease[]>('leases?limit=500', overview);
  const [search, setSearch] = useState('');
  const all = answer ?? [];
  const found = all.filter((lease) => textOf(lease).includes(search.toLowerCase())).sort(compare);
  const listed = found.slice(0, MOST_SHOWN);
  const owners = [...new Set([rights.owner, ...listed.map(({ owner }) => owner).sort()])];
  const shown = overview.requests?.shown ?? [];
  return (
    <>
      <LendForm rights={rights} overview={overview} />
      {!answer && <p role="status">{problem === '' ? 'Reading …' : `Refused: ${problem}`}</p>}
      {all.length > MANY && (
        <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
          <label>
            Search leases{' '}
            <input type="search" value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />
          </label>
          <span class="note" role="status">
            {found.length} of {all.length}
            {found.length > listed.length && `; the first ${listed.length} are shown`}
          </span>
        </form>
      )}
      {answer &&
        owners.map((owner) => (
          <OwnerLeases
            {...{ owner, now, shown, readAgain, isOwn: owner === rights.owner }}
            leases={listed.filter((lease) => lease.owner === owner)}
            open={all.filter((lease) => lease.owner === owner && isOpen(lease))}
          />
        ))}
    </>
  );
}

/** What leases are searched by. */
const textOf = ({ id, owner, labels, reason, state }: Lease) =>
  [id, owner, ...labels, reason, state].join(' ').toLowerCase();

/** Those with machines first, then those that wait; within these, the latest change first. */
function compare(a: Lease, b: Lease): number {
  const rank = ({ state }: Lease) => (OPEN.includes(state) ? OPEN.indexOf(state) : OPEN.length);
  return rank(a) - rank(b) || b.state_time - a.state_time;
}

/** Options of {@link OwnerLeases}. */
interface OwnerLeasesProps {
  readonly owner: string;
  readonly isOwn: boolean;
  /** Those that are listed. */
  readonly leases: readonly Lease[];
  /** All that have, or will have, machines. */
  readonly open: readonly Lease[];
  readonly now: number;
  /** Requests of which the reason is known. */
  readonly shown: readonly RequestLine[];
  readonly readAgain: () => void;
}

function OwnerLeases({ owner, isOwn, leases, open, now, shown, readAgain }: OwnerLeasesProps) {
  const machines = open.reduce((sum, { labels }) => sum + labels.length, 0);
  const title = isOwn ? `Your leases (${owner})` : `Leases of ${owner}`;
  return (
    <Section title={title} note={`${count(open.length, 'lease')} with ${count(machines, 'machine')}`}>
      <Table
        caption={`What ${owner} has leased`}
        lead="Now"
        columns={['Lease', 'State', 'Labels', 'What for', 'Now', 'Time left', 'Change']}
        rows={leases.map((lease) => [
          <a href={`#/leases/${encodeURIComponent(lease.id)}`}>{shortId(lease.id)}</a>,
          <State name={lease.state} />,
          lease.labels.join(', '),
          lease.reason === '' ? '' : <span class="clamp">{lease.reason}</span>,
          <span class="clamp">{nowOf(lease, shown)}</span>,
          lease.expires === null ? '' : <Until time={lease.expires} now={now} />,
          isOpen(lease) ? <LeaseButtons lease={lease} written={readAgain} /> : '',
        ])}
      />
    </Section>
  );
}

/** Time left; the moment for who points at it. */
function Until({ time, now }: { time: number; now: number }) {
  const at = new Date(time * 1000);
  return (
    <time dateTime={at.toISOString()} title={at.toLocaleString()}>
      {timeLeft(time - now)}
    </time>
  );
}

/** Where its machines are, why it waits, or how it ended. */
function nowOf({ nodes, request, end_reason: ended }: Lease, shown: readonly RequestLine[]): string {
  if (ended !== null) return ended;
  if (nodes.length > 0) return nodes.map(({ username, host }) => [username, host].filter(Boolean).join('@')).join(', ');
  const line = shown.find(({ id }) => id === request);
  return line ? withoutSubject(line.why, line.id) : '';
}

function LeaseButtons({ lease, written }: { lease: Lease; written: () => void }) {
  const { id, ttl, state } = lease;
  const path = leasePath(id);
  return (
    <span class="actions">
      {state === 'active' && (
        <WriteButton
          name={`Extend to ${timeLeft(ttl)}`}
          label={`Extend to ${timeLeft(ttl)}, lease ${shortId(id)}`}
          write={{ method: 'POST', path: `${path}/renew` }}
          done="Extended"
          written={written}
        />
      )}
      <ReturnButton lease={lease} written={written} />
    </span>
  );
}

/** Ends a lease. */
export function ReturnButton({ lease, written }: { lease: Lease; written: () => void }) {
  const { id, state, labels } = lease;
  const name = state === 'active' ? 'Return' : 'Stop waiting';
  const what = `${labels.length === 1 ? 'machine' : 'machines'} of lease ${shortId(id)} (${labels.join(', ')})`;
  return (
    <WriteButton
      name={name}
      label={`${name}, lease ${shortId(id)}`}
      write={{ method: 'DELETE', path: leasePath(id) }}
      done="Ended"
      ask={state === 'active' ? `Return the ${what}? You cannot log in any more.` : `Stop waiting for the ${what}?`}
      written={written}
    />
  );
}
