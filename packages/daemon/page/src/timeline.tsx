import { useEffect, useState } from 'preact/hooks';
import { Section, Table } from './parts.js';
import { length } from './text.js';
import type { Timeline } from './types.js';
import { causeInWords } from './words.js';

const READ_AGAIN_MS = 5_000;

/** What launchers have on record, read again until it is over; `null`: nothing. */
function useTimeline(kind: 'node' | 'request', id: string): Timeline | null | undefined {
  const [timeline, setTimeline] = useState<Timeline | null>();
  useEffect(() => {
    let isCurrent = true;
    let isOver = false;
    const read = async () => {
      const response = await fetch(`api/v1/${kind}s/${encodeURIComponent(id)}/timeline`);
      if (!isCurrent) return;
      if (response.status === 404) setTimeline(null);
      if (!response.ok) return;
      const found = (await response.json()) as Timeline;
      isOver = found.ended_time !== null;
      setTimeline(found);
    };
    const readAgain = () => !isOver && void read().catch(() => undefined); // the banner says that nothing is heard
    readAgain();
    const timer = setInterval(readAgain, READ_AGAIN_MS);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [kind, id]);
  return timeline;
}

/** What a request waited for, or the states of a node, also after it is gone. */
export function TimelineSection({ kind, id, now }: { kind: 'node' | 'request'; id: string; now: number }) {
  const timeline = useTimeline(kind, id);
  if (timeline === undefined) return null;
  if (timeline === null) return <Section title="Timeline" note="No launcher has it on record." children={null} />;
  const { created_time: created, ended_time: ended, state, intervals, silent, request } = timeline;
  const whole = created === null ? '' : ` after ${length((ended ?? now) - created)}`;
  return (
    <Section
      title="Timeline"
      note={ended === null ? `${state} until now` : `${state}${kind === 'request' ? whole : ''}`}
    >
      {request !== null && (
        <p>
          For request <a href={`#/requests/${encodeURIComponent(request)}`}>{request}</a>
        </p>
      )}
      {silent.length > 0 && (
        <p class="why">Not complete: {silent.map(({ url, error }) => `${url} did not answer (${error})`).join('; ')}</p>
      )}
      <Table
        lead="Why"
        caption={kind === 'request' ? 'What it waited for' : 'The states it was in'}
        columns={['From', 'For', kind === 'request' ? 'Cause' : 'State', 'Why']}
        rows={intervals.map(({ begin_time: begin, end_time: end, cause, text }) => [
          new Date(begin * 1000).toLocaleTimeString(),
          length((end ?? now) - begin),
          causeInWords(cause),
          text,
        ])}
      />
    </Section>
  );
}
