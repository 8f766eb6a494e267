import { useAccess } from './access.js';
import { useRecord } from './live.js';
import { Outcome, Section, Table } from './parts.js';
import { age, fieldOf, secondsOf } from './text.js';
import { TimelineSection } from './timeline.js';
import { actionInWords, causeInWords, withoutSubject } from './words.js';
import { useWrite, WriteButton } from './write.js';
import type { NodeRecord, RequestDetail } from './types.js';

const DAY_HOURS = 24;

const pathOf = (kind: string, id: string) => `${kind}/${encodeURIComponent(id)}`;

function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(shown).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `created_time` as the words and the moment that people read. */
function field(key: string, value: unknown): [name: string, value: string] {
  const name = key.replaceAll('_', ' ');
  if (!key.endsWith('_time') || typeof value !== 'number') return [name, shown(value)];
  return [name, new Date(value * 1000).toLocaleString()];
}

function Fields({ caption, record }: { caption: string; record: Readonly<Record<string, unknown>> }) {
  const rows = Object.entries(record).filter(([, value]) => shown(value) !== '');
  return (
    <Table
      lead="Value"
      caption={caption}
      columns={['Field', 'Value']}
      rows={rows.map(([key, value]) => field(key, value))}
    />
  );
}

/** A record that ZooKeeper does not have; launchers may have it on record. */
function Missing({ kind, id, now, isGone }: { kind: 'node' | 'request'; id: string; now: number; isGone: boolean }) {
  if (!isGone) return <p>Reading …</p>;
  return (
    <>
      <p>
        There is no {kind} {id}.
      </p>
      <TimelineSection kind={kind} id={id} now={now} />
    </>
  );
}

/** One node. */
export function NodePage({ id, now }: { id: string; now: number }) {
  const { mayWrite } = useAccess();
  const { record: node, isGone } = useRecord<NodeRecord>('node', id);
  if (!node) return <Missing kind="node" {...{ id, now, isGone }} />;
  const note = isGone ? 'It is gone: this is its last known state.' : `${node.state} for ${age(node.state_time, now)}`;
  const request = shown(node['allocated_to']);
  return (
    <Section title={`Node ${id}`} note={note}>
      {request !== '' && (
        <p>
          Allocated to request <a href={`#/requests/${encodeURIComponent(request)}`}>{request}</a>
        </p>
      )}
      {!isGone && mayWrite && (
        <div class="actions">
          {node.state !== 'hold' && <HoldForm id={id} isBusy={node['locked'] === true} />}
          <WriteButton
            name="Delete the node"
            write={{ method: 'DELETE', path: pathOf('nodes', id) }}
            done="It is being deleted"
            ask={`Delete node ${id}?`}
          />
        </div>
      )}
      <TimelineSection kind="node" id={id} now={now} />
      <Fields caption={`Record of node ${id}`} record={node} />
    </Section>
  );
}

/** Keeps a node for a person: why, and until when; one that is busy, after its use. */
function HoldForm({ id, isBusy }: { id: string; isBusy: boolean }) {
  const { send, outcome, isBusy: isSending } = useWrite();
  const submit = (form: HTMLFormElement) => {
    const body = { reason: fieldOf(form, 'reason'), seconds: secondsOf(form, 'hours') };
    const order = { method: 'POST', path: pathOf('controls/node', id), body: { ...body, mode: 'hold' } } as const;
    if (isBusy) void send(order, 'It will be held after its use');
    else void send({ method: 'POST', path: `${pathOf('nodes', id)}/hold`, body }, 'It is held');
  };
  return (
    <form
      aria-label="Hold the node"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <label>
        Hold it, because <input name="reason" required maxLength={1000} placeholder="what for" />
      </label>
      <label>
        for{' '}
        <input name="hours" type="number" required min="0.01" step="any" size={5} defaultValue={String(DAY_HOURS)} />{' '}
        hours
      </label>
      <button type="submit" disabled={isSending}>
        {isBusy ? 'Hold after its use' : 'Hold'}
      </button>
      <Outcome text={outcome} />
    </form>
  );
}

/** Why each pool serves a request, or not yet. */
export function Verdicts({ pools }: { pools: RequestDetail['explanation']['pools'] }) {
  return (
    <Table
      caption="What each pool says"
      lead="Why"
      columns={['Pool', 'What it does', 'Because', 'Why', 'What would have to change']}
      rows={pools.map((p) => [
        `${p.provider} / ${p.pool}`,
        actionInWords(p.action),
        p.rule === null ? '' : causeInWords(p.rule),
        p.text,
        p.remedy,
      ])}
    />
  );
}

/**
 * One request, and why it is where it is.
 * In one piece: the parts of the page in the order in which they are shown.
 */
export function RequestPage({ id, now }: { id: string; now: number }) {
  const { mayWrite } = useAccess();
  const { record, isGone } = useRecord<RequestDetail>('request', id);
  if (!record) return <Missing kind="request" {...{ id, now, isGone }} />;
  const { request, explanation } = record;
  const created = request['created_time'];
  const since = typeof created === 'number' ? `, created ${age(created, now)} ago` : '';
  const nodes = [...new Set([...request.nodes, ...explanation.launches.map(({ node }) => node)])];
  return (
    <Section
      title={`Request ${id}`}
      note={isGone ? 'It is gone: this is its last known state.' : `${request.state}${since}`}
    >
      <p class="why">{withoutSubject(explanation.summary, id)}</p>
      {!isGone && mayWrite && (
        <p>
          <WriteButton
            name="Cancel the request"
            write={{ method: 'DELETE', path: pathOf('requests', id) }}
            done="It is cancelled"
            ask={`Cancel request ${id}?`}
          />
        </p>
      )}
      {nodes.length > 0 && (
        <p>
          Nodes:{' '}
          {nodes.map((node) => (
            <>
              <a href={`#/nodes/${encodeURIComponent(node)}`}>{node}</a>{' '}
            </>
          ))}
        </p>
      )}
      <Verdicts pools={explanation.pools} />
      <TimelineSection kind="request" id={id} now={now} />
      <Fields caption={`Record of request ${id}`} record={request} />
    </Section>
  );
}
