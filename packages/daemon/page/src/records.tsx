import { useEffect, useState } from 'preact/hooks';
import { useRecord } from './live.js';
import { Section, Table } from './parts.js';
import { age } from './text.js';
import { TimelineSection } from './timeline.js';
import { WriteButton } from './write.js';
import type { NodeRecord, RequestDetail } from './types.js';

/** Nodes shown of one state; the others are counted. */
const MOST_NODES = 500;
const READ_AGAIN_MS = 5_000;

const pathOf = (kind: string, id: string) => `${kind}/${encodeURIComponent(id)}`;

function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function Fields({ caption, record }: { caption: string; record: Readonly<Record<string, unknown>> }) {
  const rows = Object.entries(record).filter(([, value]) => shown(value) !== '' && shown(value) !== '[]');
  return (
    <Table caption={caption} columns={['Field', 'Value']} rows={rows.map(([key, value]) => [key, shown(value)])} />
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
  const { record: node, isGone } = useRecord<NodeRecord>('node', id);
  if (!node) return <Missing kind="node" {...{ id, now, isGone }} />;
  const note = isGone ? 'It is gone; this is how it was last seen.' : `${node.state} for ${age(node.state_time, now)}`;
  const request = shown(node['allocated_to']);
  return (
    <Section title={`Node ${id}`} note={note}>
      {request !== '' && (
        <p>
          Allocated to request <a href={`#/requests/${encodeURIComponent(request)}`}>{request}</a>
        </p>
      )}
      {!isGone && (
        <p>
          <WriteButton name="Hold" write={{ method: 'POST', path: `${pathOf('nodes', id)}/hold` }} done="It is held" />
          <WriteButton
            name="Delete"
            write={{ method: 'DELETE', path: pathOf('nodes', id) }}
            done="It is being deleted"
            ask={`Delete node ${id}?`}
          />
        </p>
      )}
      <TimelineSection kind="node" id={id} now={now} />
      <Fields caption={`Record of node ${id}`} record={node} />
    </Section>
  );
}

/**
 * One request, and why it is where it is.
 * In one piece: the parts of the page in the order in which they are shown.
 */
export function RequestPage({ id, now }: { id: string; now: number }) {
  const { record, isGone } = useRecord<RequestDetail>('request', id);
  if (!record) return <Missing kind="request" {...{ id, now, isGone }} />;
  const { request, explanation } = record;
  const created = request['created_time'];
  const since = typeof created === 'number' ? `, made ${age(created, now)} ago` : '';
  const nodes = [...new Set([...request.nodes, ...explanation.launches.map(({ node }) => node)])];
  return (
    <Section
      title={`Request ${id}`}
      note={isGone ? 'It is gone; this is how it was last seen.' : `${request.state}${since}`}
    >
      <p class="why">{explanation.summary}</p>
      {!isGone && (
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
      <Table
        caption="What each pool says"
        columns={['Pool', 'Does', 'Rule', 'Why', 'What would have to change']}
        rows={explanation.pools.map((p) => [`${p.provider} / ${p.pool}`, p.action, p.rule ?? '', p.text, p.remedy])}
      />
      <TimelineSection kind="request" id={id} now={now} />
      <Fields caption={`Record of request ${id}`} record={request} />
    </Section>
  );
}

/** The nodes in one state. */
export function NodeList({ state, now }: { state: string; now: number }) {
  const [nodes, setNodes] = useState<readonly NodeRecord[]>();
  useEffect(() => {
    let isCurrent = true;
    const read = async () => {
      const response = await fetch(`api/v1/nodes?state=${encodeURIComponent(state)}`);
      if (isCurrent && response.ok) setNodes((await response.json()) as NodeRecord[]);
    };
    const readAgain = () => void read().catch(() => undefined); // the banner says that nothing is heard
    readAgain();
    const timer = setInterval(readAgain, READ_AGAIN_MS);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [state]);
  if (!nodes) return <p>Reading …</p>;
  const first = nodes.slice(0, MOST_NODES);
  return (
    <Section
      title={`Nodes in state ${state}`}
      note={`${nodes.length} nodes${nodes.length > first.length ? `, the first ${MOST_NODES} shown` : ''}`}
    >
      <Table
        caption={`Each node that is ${state}`}
        columns={['Node', 'Labels', 'Provider', 'Pool', 'Since']}
        rows={first.map((node) => [
          <a href={`#/nodes/${encodeURIComponent(node.id)}`}>{node.id}</a>,
          node.labels.join(', '),
          node.provider ?? '',
          node.pool ?? '',
          age(node.state_time, now),
        ])}
      />
    </Section>
  );
}
