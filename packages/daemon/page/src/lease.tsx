import { Copyable } from './copyable.js';
import { isOpen, leasePath, ReturnButton, shortId } from './leases.js';
import { expectedWait } from './lend.js';
import { usePrivate } from './live.js';
import { Ago, Outcome, Section, State } from './parts.js';
import { Verdicts } from './records.js';
import { hoursOf, secondsOf, timeLeft } from './text.js';
import type { LeaseDetail, LeasedNode, Overview } from './types.js';
import { count, sshCommand, withoutSubject } from './words.js';
import { useWrite } from './write.js';

/** One lease: why it waits, how to log in, how it ended. */
export function LeasePage({ id, now, overview }: { id: string; now: number; overview: Overview }) {
  const { answer: lease, problem, readAgain } = usePrivate<LeaseDetail>(leasePath(id), overview);
  if (!lease) return <p role="status">{problem === '' ? 'Reading …' : `Refused: ${problem}`}</p>;
  const { state, owner, labels, reason, expires, nodes } = lease;
  return (
    <>
      <Section title={`Lease ${shortId(id)}`}>
        <p class="why" role="status">
          <State name={state} /> {sentenceOf(lease)}
        </p>
        <p class="note">
          {labels.join(', ')}, for {owner}
          {reason !== '' && `: ${reason}`}; requested <Ago time={lease.created_time} now={now} />
        </p>
        {expires !== null && (
          <p>
            Time left: <strong>{timeLeft(expires - now)}</strong>, until {new Date(expires * 1000).toLocaleString()}
          </p>
        )}
        {isOpen(lease) && (
          <div class="actions">
            {state === 'active' && <ExtendForm lease={lease} written={readAgain} />}
            <ReturnButton lease={lease} written={readAgain} />
          </div>
        )}
        {state === 'waiting' && <Waiting {...{ lease, now, overview }} />}
      </Section>
      {nodes.map((node, index) => (
        <Login key={node.id} node={node} name={nodes.length > 1 ? ` ${index + 1}` : ''} />
      ))}
    </>
  );
}

/** What its owner wants to know first. */
function sentenceOf({ state, labels, position, explanation, end_reason: ended }: LeaseDetail): string {
  if (ended !== null) return withoutSubject(ended, '');
  if (state === 'active') return labels.length === 1 ? 'The machine is yours.' : 'The machines are yours.';
  if (position === undefined || !explanation) return 'Requested.';
  return position === null ? 'A pool has accepted it.' : `${count(position, 'request')} ahead of it in the queue.`;
}

/** Why it waits, and for how long. */
function Waiting({ lease, overview, now }: { lease: LeaseDetail; overview: Overview; now: number }) {
  const { explanation, request, gives_up: givesUp } = lease;
  const { labels = [], pools = [] } = overview;
  const wanted = labels.filter(({ label }) => lease.labels.includes(label));
  return (
    <>
      {wanted.map((label) => (
        <p>
          Expected wait for {label.label}: {expectedWait({ ...label, waiting: Math.max(0, label.waiting - 1) }, pools)}
        </p>
      ))}
      {givesUp !== null && <p>It gives up in {timeLeft(givesUp - now)}.</p>}
      {explanation && (
        <>
          <p>{withoutSubject(explanation.summary, request ?? '')}</p>
          <Verdicts pools={explanation.pools} />
        </>
      )}
    </>
  );
}

/** Keeps a lease for longer. */
function ExtendForm({ lease, written }: { lease: LeaseDetail; written: () => void }) {
  const { send, outcome, isBusy } = useWrite();
  const submit = async (form: HTMLFormElement) => {
    const body = { ttl: secondsOf(form, 'hours') };
    const write = { method: 'POST', path: `${leasePath(lease.id)}/renew`, body } as const;
    if ((await send(write, 'Extended')) !== undefined) written();
  };
  return (
    <form
      aria-label="Extend the lease"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <label>
        Keep it for{' '}
        <input name="hours" type="number" required min="0.01" step="any" size={5} defaultValue={hoursOf(lease.ttl)} />{' '}
        hours from now
      </label>
      <button type="submit" disabled={isBusy}>
        Extend
      </button>
      <Outcome text={outcome} />
    </form>
  );
}

/** The certificate of the key that the lessee gave, where the machine takes one. */
function Certificate({ node }: { node: LeasedNode }) {
  const { certificate = null, certificate_expires: expires = null, certificate_problem: problem = null } = node;
  if (problem !== null) return <p role="alert">{problem}</p>;
  if (certificate === null || expires === null) return null;
  return (
    <Copyable name="certificate" text={certificate}>
      Save the certificate of your key beside the private key, such as <code>~/.ssh/id_ed25519-cert.pub</code>. It logs
      in until {new Date(expires * 1000).toLocaleTimeString()}; this page has a fresh one then:
    </Copyable>
  );
}

/** How to log in to a machine. */
function Login({ node, name }: { node: LeasedNode; name: string }) {
  const { label, provider, pool, known_hosts: knownHosts, connection_type: type, host, port, username } = node;
  const command = sshCommand(node);
  return (
    <Section title={`Log in to machine${name}: ${label}`} note={`Node ${node.id} of ${provider ?? ''} / ${pool ?? ''}`}>
      {command === undefined ? (
        <p>
          {host === null
            ? 'The machine has no address.'
            : `By ${type}: host ${host}, port ${port ?? 'not known'}, user ${username ?? 'not known'}`}
        </p>
      ) : (
        <>
          {knownHosts.length > 0 ? (
            <Copyable name="host keys" text={knownHosts.join('\n')}>
              Add the host keys to <code>~/.ssh/known_hosts</code>:
            </Copyable>
          ) : (
            <p>Nodepool knows no host key of this machine: ssh asks you whether to trust it.</p>
          )}
          <Certificate node={node} />
          <Copyable name="ssh command" text={command}>
            Log in, with the key that you gave, else with one that the machine accepts already:
          </Copyable>
        </>
      )}
    </Section>
  );
}
